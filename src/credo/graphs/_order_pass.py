"""One pass of elimination over a graph: the room it needs, its order and what that costs."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from credo._kernels import elimination_order as kernels
from credo._kernels.elimination_graph import (
    CELLS,
    DEAD,
    DEGREE,
    KEY,
    LENGTH,
    LOG,
    MISSING,
    PLACE,
    START,
    STATES,
    TIE,
    Floats,
    Graph,
    Ints,
)

#: Cliques that are listed at a time; with 62 members each, 32 MB.
_BLOCK = 1 << 16


class Costs(NamedTuple):
    """What an order costs, or at least costs if that is not exact, and its largest clique."""

    log2_largest: float
    cells: float
    cells_all: float
    width: int
    clique: Ints
    exact: bool


class Pass:
    """A pass of elimination: its order, the lists of neighbours, and the work."""

    def __init__(self, graph: Graph, group: Ints, sequence: Ints) -> None:
        n, m = group.shape[0], graph.edges.shape[0]
        self.group = group
        self.sequence = sequence.copy()
        self.count, self.real = graph.rows()
        self.pool = np.empty(4 * m + 16, np.int64)
        self.pool[2 * m : 4 * m] = graph.edges.ravel()
        tabled = bool(graph.degree.max(initial=0) > kernels.HUB)
        self.table = _table_for(m if tabled else 0)
        self.heap, self.stale = np.empty(n, np.int64), np.empty(n + 1, np.int64)
        self.state = np.zeros(12, np.int64)
        self.state[kernels.USED] = 2 * m
        self.state[kernels.EDGES] = m
        self.state[kernels.WORK] = 4 * n + 2 * m
        self.state[kernels.ENTER] = 1
        self.state[kernels.TABLED] = tabled
        self.exact = True

    def run(self, kind: int, limit: float, bound: float) -> bool:
        """Eliminate; tell whether the order costs at most ``bound`` cells."""
        spent = np.array([0.0, bound])
        if kind != kernels.GIVEN:
            self._enter(0)
        told = kernels.NEXT
        while told in (kernels.NEXT, kernels.MORE):
            told = kernels.eliminate(
                self.count,
                self.real,
                self.pool,
                self.table,
                self.heap,
                self.stale,
                self.state,
                kind,
                limit,
                spent,
                self.sequence,
            )
            if told == kernels.NEXT:
                self._enter(1)
            elif told == kernels.MORE:
                self._make_room()
        if told == kernels.DONE and self.tail < self.group.shape[0]:
            self._finish(kind)
        return bool(told == kernels.DONE)

    @property
    def tail(self) -> int:
        """Where the last clique starts, or the first that is beyond the limit."""
        return int(self.state[kernels.STEP])

    @property
    def joins(self) -> int:
        """Pairs that were joined."""
        return int(self.state[kernels.JOINS])

    @property
    def work(self) -> int:
        """Units of work."""
        return int(self.state[kernels.WORK])

    def _enter(self, which: int) -> None:
        """Let the variables of a group in. They are ranked from the last that is stale."""
        members = np.flatnonzero(self.group == which)
        ranked = np.concatenate((np.flatnonzero(self.group > which), members[::-1]))
        self.heap[: members.shape[0]] = members
        self.stale[: ranked.shape[0]] = ranked
        self.count[members, PLACE] = np.arange(members.shape[0])
        self.state[kernels.STALE] = ranked.shape[0]
        self.state[kernels.ENTER] = 1
        if which:
            self.state[kernels.EDGES] = 0

    def _make_room(self) -> None:
        """Give the pool the room it asks for and as much again, or else the table of edges."""
        need = int(self.state[kernels.NEED])
        if need > self.pool.shape[0]:
            used = int(self.state[kernels.USED])
            old, self.pool = self.pool, np.empty(used + need, np.int64)
            self.pool[:used] = old[:used]
            return
        v = self.heap[0] if self.state[kernels.SIZE] else self.sequence[self.tail]
        living = self.count[:, PLACE] != DEAD
        edges = self.count[living, DEGREE].sum() // 2 + self.count[v, MISSING]
        self.table = _table_for(int(edges))
        kernels.write_table(self.count, self.pool, self.table, self.state)

    def _finish(self, kind: int) -> None:
        """List what is left: one clique, unless the next one is beyond the limit."""
        left = self.sequence[self.tail :]
        if kind != kernels.GIVEN:
            living = np.flatnonzero(self.count[:, PLACE] != DEAD)
            ranks = (living, self.real[living, TIE], self.real[living, KEY], self.group[living])
            left[:] = living[np.lexsort(ranks)]
        self.exact = bool(self.count[left[0], DEGREE] == left.shape[0] - 1)

    def costs(self) -> Costs:
        """Count the cells of the order, or of its cliques up to the first beyond the limit."""
        if not self.group.shape[0]:
            return Costs(0.0, 0.0, 0.0, 0, np.empty(0, np.int64), exact=True)
        cells, size = self.tables()
        top = int(np.argmax(cells))
        clique = self._clique(top)
        maximal = cells[self.maximal(size, self.parents())] if self.exact else cells[top : top + 1]
        return Costs(
            float(self.real[clique, LOG].sum()),
            float(maximal.sum()),
            float(cells.sum()),
            int(size.max()),
            clique,
            exact=self.exact,
        )

    def tables(self) -> tuple[Floats, Ints]:
        """Give, by step, the cells of the cliques that are known and their later members."""
        n, tail = self.group.shape[0], self.tail
        order = self.sequence if self.exact else self.sequence[: tail + 1]
        cells, size = self.real[order, CELLS], self.count[order, LENGTH]
        if tail < n:
            with np.errstate(over="ignore"):
                last = np.cumprod(self.real[self._clique(tail)[::-1], STATES])[::-1]
            cells[tail:] = last[: order.shape[0] - tail]
            size[tail:] = np.arange(last.shape[0])[::-1][: order.shape[0] - tail]
        return cells, size

    def parents(self) -> Ints:
        """Give, by step, the step of the first later member, or n if there is none."""
        n, tail = self.group.shape[0], self.tail
        position = np.empty(n, np.int64)
        position[self.sequence] = np.arange(n)
        parent = np.arange(1, n + 1)
        for low in range(0, tail, _BLOCK):
            order = self.sequence[low : min(low + _BLOCK, tail)]
            size = self.count[order, LENGTH]
            parent[low : low + order.shape[0]] = n
            some = np.flatnonzero(size)
            if some.shape[0]:
                first = np.cumsum(size) - size
                at = np.repeat(self.count[order, START] - first, size) + np.arange(size.sum())
                parent[low + some] = np.minimum.reduceat(position[self.pool[at]], first[some])
        return parent

    @staticmethod
    def maximal(size: Ints, parent: Ints) -> npt.NDArray[np.bool_]:
        """Tell, by step, which cliques are not inside an earlier one."""
        told = np.ones(size.shape[0], np.bool_)
        below = np.flatnonzero(parent < size.shape[0])
        told[parent[below[size[below] == size[parent[below]] + 1]]] = False
        return told

    def _clique(self, step: int) -> Ints:
        """List the clique of a step."""
        if step >= self.tail and self.exact:
            return self.sequence[step:].copy()
        v = int(self.sequence[step])
        start, length = self.count[v, START], self.count[v, LENGTH]
        return np.concatenate(([v], self.pool[start : start + length]))


def core_costs(graph: Graph, clique: Ints) -> Costs:
    """Give what any order costs that cannot do without this clique: at least its cells."""
    with np.errstate(over="ignore"):
        cells = float(np.prod(graph.states[clique]))
    weight = float(graph.logs[clique].sum())
    return Costs(weight, cells, cells, clique.shape[0] - 1, clique, exact=False)


def _table_for(edges: int) -> Ints:
    """Make an empty table of edges, at most a quarter full with these."""
    return np.zeros(1 << max(4, (4 * edges - 1).bit_length()), np.int64)
