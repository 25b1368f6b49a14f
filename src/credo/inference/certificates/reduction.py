"""Reduce a problem to what bounds have to work on: possible states, and factors of most variables.

States that no configuration can use are found by arc consistency and left out, with the variables
that have one state left. Factors of one variable become its unary logs, and a factor whose
variables all lie in a larger one is multiplied into that. The sum over everything stays the same.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from credo._types import F64
from credo.graphs.problems import Problem
from credo.graphs.wiring import starts
from credo.inference.question import Beliefs

Int64: TypeAlias = npt.NDArray[np.int64]
Flags: TypeAlias = npt.NDArray[np.uint8]


@dataclass(frozen=True, slots=True, eq=False)
class Reduced:
    """Variables of two or more states, their unary logs, and factors of two or more of them.

    Every state has a positive cell in each factor; no factor's variables all lie in another. The
    largest log of each table is zero.
    """

    problem: Problem
    alive: Flags  #: of each state of the problem: whether it may be possible
    kept: Int64  #: the variables that are left, as numbered in the problem
    place: Int64  #: of each state that is left: where it is among the states of the problem
    n_states: Int64
    state_start: Int64
    unary: F64
    scope_start: Int64
    scope: Int64
    cell_start: Int64
    logs: F64
    constant: float  #: to be added to the log of the sum
    wear: float  #: in eps: how far rounding may have moved the log of the sum already
    is_possible: bool = True  #: False where arc consistency leaves nothing

    @property
    def n(self) -> int:
        """Count the variables."""
        return len(self.n_states)

    @property
    def n_factors(self) -> int:
        """Count the factors."""
        return len(self.scope_start) - 1

    def tables(self) -> Any:
        """Give the factors as the kernels of arc consistency read them."""
        return tables_of(self.n_states, self.scope_start, self.scope, self.cell_start, self.logs)

    def beliefs(self, marginals: F64, log_z: float) -> Beliefs:
        """Turn marginals of the states that are left into those of the problem."""
        problem = self.problem
        start = starts(problem.n_states)
        if not self.is_possible:
            return Beliefs(problem.variables, start, np.empty(0), log_z)
        values = self.alive.astype(np.float64)
        values[self.place] = marginals
        return Beliefs(problem.variables, start, values, log_z if problem.is_complete else None)


def tables_of(
    n_states: Int64, scope_start: Int64, scope: Int64, cell_start: Int64, logs: F64
) -> Any:
    """Give factors as the kernels of arc consistency read them."""
    from credo._kernels.supports import Tables  # noqa: PLC0415 - loads Numba

    arity = np.diff(scope_start)
    factor_of = np.repeat(np.arange(len(arity)), arity)
    return Tables(
        n_states=n_states,
        state_start=starts(n_states),
        scope_start=scope_start,
        scope=scope,
        cell_start=cell_start,
        logs=logs,
        incident_start=starts(np.bincount(scope, minlength=len(n_states))),
        incident=factor_of[np.argsort(scope, kind="stable")],
    )


def states_of(tables: Any, alive: Flags) -> Any:
    """Make room for arc consistency; ``alive`` is changed in place."""
    from credo._kernels.supports import States  # noqa: PLC0415

    n_factors = len(tables.scope_start) - 1
    widest = int(_sums(tables.n_states[tables.scope], tables.scope_start).max(initial=0))
    return States(
        alive=alive,
        left=_sums(alive, tables.state_start),
        queue=np.arange(n_factors),
        waiting=np.zeros(n_factors, np.uint8),
        seen=np.empty(widest, np.uint8),
        digit=digits(tables),
    )


def digits(tables: Any) -> Int64:
    """Make a counter for each axis of the widest factor."""
    return np.zeros(int(np.diff(tables.scope_start).max(initial=0)) + 1, np.int64)


def reduce(problem: Problem, states: Mapping[int, int] | None = None) -> Reduced:
    """Reduce a problem; with ``states``, given those states of some of its variables."""
    tables = tables_of(
        np.array(problem.n_states, np.int64),
        np.array(problem.scope_start, np.int64),
        np.array(problem.scope, np.int64),
        np.array(problem.cell_start, np.int64),
        problem.log_values(),
    )
    alive = np.ones(int(tables.n_states.sum()), np.uint8)
    for v, x in (states or {}).items():
        first, stop = tables.state_start[v : v + 2]
        alive[first:stop] = 0
        alive[first + x] = 1
    rest = _Rest(tables, alive.copy(), np.arange(len(problem.n_states)), np.arange(len(alive)))
    rest.terms.append(problem.log_constant)
    rest.wear = 4.0 * abs(problem.log_constant)
    while rest.is_loose:
        if not rest.tighten():
            return _nothing(problem, alive)
        alive[:] = 0
        alive[rest.fixed] = 1
        alive[rest.place] = 1
    return rest.as_reduced(problem, alive)


class _Rest:
    """What is left of a problem while it is reduced."""

    def __init__(self, tables: Any, alive: Flags, kept: Int64, place: Int64) -> None:
        self.tables = tables
        self.alive = alive  #: of the states that are left
        self.kept = kept
        self.place = place
        self.fixed = np.empty(0, np.int64)  #: the only state, among all, of variables that went
        self.unary: F64 = np.empty(0)
        self.terms: list[float] = []  #: they add up to the constant
        self.wear = 0.0
        self.is_loose = True

    def tighten(self) -> bool:
        """Leave out states without support, then merge factors; tell if anything is possible.

        Merged factors may have zeros that none of them had alone: then it has to be done again.
        """
        from credo._kernels.supports import propagate  # noqa: PLC0415

        room = states_of(self.tables, self.alive)
        room.waiting[:] = 1
        if not propagate(self.tables, room, len(room.queue)):
            return False
        several = np.repeat(room.left > 1, self.tables.n_states)
        is_alive = self.alive.astype(np.bool_)
        self.fixed = np.concatenate([self.fixed, self.place[is_alive & ~several]])
        self.place, self.kept = self.place[is_alive & several], self.kept[room.left > 1]
        self._merge(_restricted(self.tables, self.alive, room.left))
        self.alive = np.ones(len(self.unary), np.uint8)
        room = states_of(self.tables, self.alive)
        room.waiting[:] = 1
        possible = bool(propagate(self.tables, room, len(room.queue)))
        self.is_loose = not self.alive.all()
        if self.is_loose:
            self.tables = _with_unary(self.tables, self.unary)
        return possible

    def _merge(self, tables: Any) -> None:
        """Add the logs of factors up: of one variable on it, of several in the largest factor."""
        from credo._kernels.supports import absorb, find_hosts  # noqa: PLC0415

        arity = np.diff(tables.scope_start)
        host = np.empty(len(arity), np.int64)
        find_hosts(tables, np.full(len(tables.n_states), -1, np.int64), host)
        stays = (host == np.arange(len(host))) & (arity > 1)
        cells = starts(np.where(stays, np.diff(tables.cell_start), 0))
        logs, unary = np.zeros(int(cells[-1])), np.zeros(int(tables.n_states.sum()))
        absorb(tables, host, cells, logs, unary, digits(tables), digits(tables))
        cell_start = cells[np.concatenate([stays, [True]])]
        alone = tables.logs[tables.cell_start[:-1][arity == 0]]
        tops = _levelled(logs, cell_start), _levelled(unary, tables.state_start)
        self.terms += np.concatenate([alone, *tops]).tolist()
        self.wear += _wear(tables, host)
        scope = tables.scope[np.repeat(stays, arity)]
        self.tables = tables_of(tables.n_states, starts(arity[stays]), scope, cell_start, logs)
        self.unary = unary

    def as_reduced(self, problem: Problem, alive: Flags) -> Reduced:
        """Give what is left, once nothing more can go."""
        return Reduced(
            problem=problem,
            alive=alive,
            kept=self.kept,
            place=self.place,
            n_states=self.tables.n_states,
            state_start=self.tables.state_start,
            unary=self.unary,
            scope_start=self.tables.scope_start,
            scope=self.tables.scope,
            cell_start=self.tables.cell_start,
            logs=self.tables.logs,
            constant=math.fsum(self.terms),
            wear=self.wear,
        )


def _with_unary(tables: Any, unary: F64) -> Any:
    """Append unary logs as factors of one variable."""
    n = len(tables.n_states)
    return tables_of(
        tables.n_states,
        np.concatenate([tables.scope_start, tables.scope_start[-1] + 1 + np.arange(n)]),
        np.concatenate([tables.scope, np.arange(n)]),
        np.concatenate([tables.cell_start, tables.cell_start[-1] + tables.state_start[1:]]),
        np.concatenate([tables.logs, unary]),
    )


def _nothing(problem: Problem, alive: Flags) -> Reduced:
    """Give what is left where nothing is possible."""
    none, start = np.empty(0, np.int64), np.zeros(1, np.int64)
    return Reduced(
        problem=problem,
        alive=alive,
        kept=none,
        place=none,
        n_states=none,
        state_start=start,
        unary=np.empty(0),
        scope_start=start,
        scope=none,
        cell_start=start,
        logs=np.empty(0),
        constant=-np.inf,
        wear=0.0,
        is_possible=False,
    )


def _restricted(tables: Any, alive: Flags, left: Int64) -> Any:
    """Keep the cells of alive states, and in the scopes the variables of two or more of them."""
    from credo._kernels.supports import restrict  # noqa: PLC0415

    kept = np.empty(len(tables.logs))
    cells = np.empty(len(tables.scope_start) - 1, np.int64)
    total = restrict(tables, alive, digits(tables), kept, cells)
    stays = left[tables.scope] > 1
    new = np.cumsum(left > 1) - 1
    scope_start = starts(_sums(stays, tables.scope_start))
    return tables_of(
        left[left > 1], scope_start, new[tables.scope[stays]], starts(cells), kept[:total].copy()
    )


def _wear(tables: Any, host: Int64) -> float:
    """Bound, in eps, how far merging moves the log of the sum by rounding.

    A log is off by a unit of its last place; so is each of the sums with the others that join it,
    and what is left after the largest was taken away.
    """
    if not len(host):
        return 0.0
    sizes = np.where(tables.logs > -np.inf, np.abs(tables.logs), 0.0)
    largest = np.maximum.reduceat(sizes, tables.cell_start[:-1])
    arity, n = np.diff(tables.scope_start), len(tables.n_states)
    to = np.where(arity > 1, n + host, n + len(host))
    to[arity == 1] = tables.scope[tables.scope_start[:-1][arity == 1]]
    joined = np.bincount(to, minlength=n + len(host) + 1)
    joined[-1] = 0  # constants are summed without error
    return float((largest * (4.0 + joined[to])).sum())


def _levelled(logs: F64, start: Int64) -> F64:
    """Subtract the largest log of each part from it, in place; give these, 0 for a zero part."""
    if len(start) < 2:
        return np.empty(0)
    top = np.maximum.reduceat(logs, start[:-1])
    top[top == -np.inf] = 0.0
    logs -= np.repeat(top, np.diff(start))
    return np.asarray(top)


def _sums(values: npt.NDArray[Any], start: Int64) -> Int64:
    """Sum runs of integers, empty ones too."""
    return np.diff(np.concatenate([[0], np.cumsum(values, dtype=np.int64)])[start])
