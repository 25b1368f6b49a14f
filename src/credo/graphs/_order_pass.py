"""One pass of elimination over a graph: the room it needs, its order and what that costs."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from credo._kernels import elimination_order as kernels
from credo._kernels.elimination_graph import (
    CELLS,
    DEAD,
    DEGREE,
    HELD,
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
        self.state = np.zeros(13, np.int64)
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
        """Count the cells of the order, as far as its cliques are known."""
        cells, size = self.cliques()
        if not cells.shape[0]:
            return Costs(0.0, 0.0, 0.0, 0, np.empty(0, np.int64), exact=True)
        top = int(np.argmax(np.abs(cells)))
        clique = self._clique(top)
        return Costs(
            float(self.real[clique, LOG].sum()),
            float(cells[cells > 0.0].sum()),
            float(np.abs(cells).sum()),
            int(size.max()),
            clique,
            exact=self.exact,
        )

    def cliques(self) -> tuple[Floats, Ints]:
        """Give the cells of the cliques known, negative if not maximal, and the later members."""
        n, tail = self.group.shape[0], self.tail
        known = n if self.exact else tail + 1
        order = self.sequence[:known]
        cells, size = self.real[order, CELLS], self.count[order, LENGTH]
        if tail < n:
            held = self.real[order[tail], CELLS] == HELD
            clique = self._clique(tail)[::-1]
            with np.errstate(over="ignore"):
                left = np.cumprod(self.real[clique, STATES])[::-1][: known - tail]
            cells[tail:] = -left
            cells[tail] = -left[0] if held else left[0]
            size[tail:] = np.arange(clique.shape[0] - 1, clique.shape[0] - 1 - left.shape[0], -1)
        return cells, size

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
