"""Which tree answers which rows: one for all, one per pattern of evidence, or a row on its own."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from credo._types import F64
from credo.graphs.evidence import Evidence, Finding
from credo.graphs.ordering import Order, find_order
from credo.graphs.problems import Problem, pose
from credo.graphs.wiring import Wiring
from credo.inference._many_rows import Codes
from credo.inference._many_runs import COPIES, patterns
from credo.inference._many_tree import RowTree, whole_sum
from credo.inference.cliques import calibrate, plant
from credo.inference.question import Budget, as_bytes, refuse_above

Int64: TypeAlias = npt.NDArray[np.int64]
#: Seconds per cell and row on a tree with lanes, per cell of a row on its own, per cell for making
#: a tree, and what making one costs anyway, as measured.
_PER_CELL, _PER_OWN_CELL, _PER_NEW_CELL, _TREE = 8e-9, 2e-8, 6e-8, 5e-3
#: Seconds per variable of a row on its own, and bytes per variable of a tree beside its tables: its
#: factors, layout and program; both as measured on chains.
_PER_VARIABLE, _BYTES = 4e-6, 500.0

Part: TypeAlias = tuple[slice, RowTree | None, Int64]


class Routes:
    """Choose trees: one for all rows if it is small, else what is cheapest for each pattern.

    Parameters
    ----------
    wiring
        The model, of tables.
    query
        The wanted variables; None for all.
    budget, seed
        Memory for tables; seed of the search for elimination orders.
    owner
        Who asks.
    """

    def __init__(
        self, wiring: Wiring, query: list[int] | None, budget: Budget, seed: int, owner: str
    ) -> None:
        self.wiring, self.query, self.budget, self.seed = wiring, query, budget, seed
        self.owner = owner
        visible = range(len(wiring.names))
        self.wanted = np.array(visible if query is None else query, np.int64)
        self._columns: tuple[int, ...] | None = None
        self._common: RowTree | None = None

    def held_with(self, tree: RowTree | None) -> float:
        """Give the bytes that a tree, and the one for all rows, take before they run any."""
        kept = {id(t): t.n_bytes for t in (self._common, tree) if t is not None}
        return float(sum(kept.values()))

    def parts(self, variables: tuple[int, ...], codes: Codes) -> Iterator[Part]:
        """Cut rows, sorted by pattern, into parts with a tree and the columns it takes."""
        if self._columns != variables:  # the next rows will most likely have the same columns
            self._columns = self._common = None  # first of all, give its memory back
            self._common = self._tree(variables, 2.0, np.inf, 0)
            self._columns = variables
        common, every = self._common, np.arange(len(variables))
        if common is not None and _PER_CELL * common.n_cells <= _TREE:
            yield slice(0, len(codes)), common, every
            return
        waiting = 0  # rows from here on are for the tree for all, and run together
        for part, columns in patterns(codes):
            observed = tuple(variables[j] for j in columns)
            tree = self._cheapest(observed, part.stop - part.start)
            if tree is not common or common is None:
                if part.start > waiting:
                    yield slice(waiting, part.start), common, every
                yield part, tree, columns
                waiting = part.stop
        if len(codes) > waiting:
            yield slice(waiting, len(codes)), common, every

    def own(self, variables: tuple[int, ...], codes: Codes, out: F64) -> float:
        """Answer one row with its observed variables cut out of the tables."""
        evidence = findings(self.wiring, variables, codes)
        problem = self._cut(evidence)
        order = _order(problem, 0.0, self.seed)
        refuse_above(self.budget, problem, order, self.owner)
        beliefs = calibrate(problem, plant(problem, order.sequence))
        if beliefs.are_impossible:
            return -np.inf
        observed = evidence.observed(len(self.wiring.n_states))
        place = 0
        for v in self.wanted.tolist():
            k, free = int(self.wiring.n_states[v]), beliefs.of(v)
            out[place : place + k] = np.arange(k) == observed[v] if free is None else free
            place += k
        return whole_sum(beliefs)

    def _cheapest(self, observed: tuple[int, ...], n_rows: int) -> RowTree | None:
        """Choose for one pattern: the tree for all, one of its own, or None for row by row."""
        firsts = np.zeros(len(observed), np.int32)
        problem = self._cut(findings(self.wiring, observed, firsts))
        own = n_rows * (_TREE + _PER_VARIABLE * len(problem.variables))
        common = np.inf
        if self._common is not None:
            common = n_rows * _PER_CELL * self._common.n_cells
        if self.query is None and common <= own:
            return self._common
        own += n_rows * _PER_OWN_CELL * _order(problem, 0.0, self.seed).cells
        if self.query is not None:
            tree = self._tree(observed, 0.0, min(own, common), n_rows)
            if tree is not None:
                return tree
        return self._common if common <= own else None

    def _tree(
        self, variables: tuple[int, ...], effort: float, most: float, n_rows: int
    ) -> RowTree | None:
        """Make a tree for rows with these columns, unless it costs too much or does not fit."""
        needed = None if self.query is None else sorted({*self.query, *variables})
        problem = pose(self.wiring, Evidence(()), needed, whole=True)
        order = _order(problem, effort, self.seed)
        left = as_bytes(self.budget, self.owner) - self.held_with(None)
        needed_bytes = 8.0 * order.cells * (COPIES + 2) + _BYTES * len(problem.variables)
        fits = needed_bytes <= left
        if not fits or _TREE + (_PER_NEW_CELL + n_rows * _PER_CELL) * order.cells > most:
            return None
        places = np.searchsorted(problem.variables, np.array(variables, np.int64))
        wanted = np.searchsorted(problem.variables, self.wanted)
        return RowTree(problem, plant(problem, order.sequence), places, wanted)

    def _cut(self, evidence: Evidence) -> Problem:
        """Cut observed variables out; how large the rest is depends on which they are."""
        return pose(self.wiring, evidence, self.query, whole=True)


def _order(problem: Problem, effort: float, seed: int) -> Order:
    return find_order(
        problem.n_states, problem.scope_start, problem.scope, effort=effort, seed=seed
    )


def findings(wiring: Wiring, variables: tuple[int, ...], codes: Codes) -> Evidence:
    """Give a row of state indices as evidence."""
    return Evidence(
        tuple(
            Finding(v, int(x), None, wiring.names[v], wiring.states[v][int(x)])
            for v, x in zip(variables, codes, strict=True)
            if x >= 0
        )
    )
