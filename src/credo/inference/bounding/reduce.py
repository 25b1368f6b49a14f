"""Reduce a problem to what bounds have to work on: possible states, and factors of most variables.

States that no configuration can use are found by arc consistency and left out, with the variables
that have one state left. Factors of one variable become its unary logs, and a factor whose
variables all lie in a larger one is multiplied into that. The sum over everything stays the same.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from credo import _checks as check
from credo._kernels.forest import CycleError, Graph, make_graph, plant
from credo._kernels.supports import States, Tables, absorb, find_hosts, propagate, restrict
from credo._types import F64
from credo.exceptions import InputError
from credo.graphs.problems import Problem
from credo.graphs.wiring import starts
from credo.inference.question import Beliefs, indices

Int64: TypeAlias = npt.NDArray[np.int64]
Flags: TypeAlias = npt.NDArray[np.uint8]


@dataclass(frozen=True, eq=False)
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
    constant: float  #: to be added to the log of the sum; -inf if arc consistency leaves nothing
    wear: float  #: in eps: how far rounding may have moved the log of the sum already

    @classmethod
    def of(cls, problem: Problem, alive: Flags, kept: Int64, place: Int64, *found: Any) -> Reduced:
        """Take the tables of single variables, which come last, apart."""
        tables, constant, wear = found
        factors = len(tables.scope_start) - 1 - len(kept)
        cells = tables.cell_start[factors]
        return cls(
            problem=problem,
            alive=alive,
            kept=kept,
            place=place,
            n_states=tables.n_states,
            state_start=tables.state_start,
            unary=tables.logs[cells:],
            scope_start=tables.scope_start[: factors + 1],
            scope=tables.scope[: tables.scope_start[factors]],
            cell_start=tables.cell_start[: factors + 1],
            logs=tables.logs[:cells],
            constant=constant,
            wear=wear,
        )

    @property
    def n(self) -> int:
        """Count the variables."""
        return len(self.n_states)

    @property
    def is_possible(self) -> bool:
        """Tell whether anything is possible, as far as arc consistency sees."""
        return self.constant > -np.inf

    @cached_property
    def graph(self) -> Graph:
        """Lay the factors out for the kernels of forests."""
        return make_graph(self.n_states, self.scope_start, self.scope, self.cell_start)

    def beliefs(self, marginals: F64, log_z: float | None) -> Beliefs:
        """Return marginals of the problem from those of the states that are left."""
        problem, values = self.problem, np.empty(0)
        if self.is_possible:
            values = self.alive.astype(np.float64)
            values[self.place] = marginals
        known = log_z if problem.is_complete or not self.is_possible else None
        return Beliefs(problem.variables, starts(problem.n_states), values, known)


def fold(combine: np.ufunc, values: npt.NDArray[Any], start: Int64) -> npt.NDArray[Any]:
    """Combine the numbers of each run, none of which is empty, by a sum, product or maximum."""
    return np.asarray(combine.reduceat(values, start[:-1])) if len(start) > 1 else values[:0]


def largest(values: F64, start: Int64) -> F64:
    """Return the largest size of the numbers of each run; infinities do not count."""
    return fold(np.maximum, np.where(np.isfinite(values), np.abs(values), 0.0), start)


def reduce(problem: Problem, states: Mapping[int, int] | None = None) -> Reduced:
    """Reduce a problem; with ``states``, given those states of some of its variables.

    Merged factors may have zeros that none of them had alone: then it is done again.
    """
    scales = problem.wiring.log_scale[problem.wiring.table[problem.keep]]
    terms, wear = [*scales.tolist()], 2.0 * float(np.abs(scales).sum())
    tables = tables_of(
        problem.n_states,
        problem.scope_start,
        problem.scope,
        problem.cell_start,
        problem.log_values(),
    )
    alive = np.ones(int(tables.n_states.sum()), np.uint8)
    for v, x in (states or {}).items():
        alive[tables.state_start[v] : tables.state_start[v + 1]] = 0
        alive[tables.state_start[v] + x] = 1
    kept, place, all_alive = np.arange(len(problem.n_states)), np.arange(len(alive)), alive.copy()
    is_merged = False
    while True:
        left = _tighten(tables, alive)
        if left is None:
            none = np.empty(0, np.int64)
            nothing = tables_of(none, [0], none, [0], np.empty(0))
            return Reduced.of(problem, all_alive, none, none, nothing, -np.inf, 0.0)
        all_alive[place[alive == 0]] = 0
        if is_merged and alive.all():
            return Reduced.of(problem, all_alive, kept, place, tables, math.fsum(terms), wear)
        place = place[(alive > 0) & np.repeat(left > 1, tables.n_states)]
        kept = kept[left > 1]
        tables, more, worn = _merge(_restrict(tables, alive, left))
        terms, wear = [*terms, *more], wear + worn
        alive, is_merged = np.ones(len(place), np.uint8), True


def named_blocks(reduced: Reduced, blocks: Any, who: str, *words: str | None) -> Int64:
    """Return the block of each variable as the user named them; others are alone.

    ``words`` may be given in place of names; the last one of them asks for blocks.
    """
    if isinstance(blocks, str) or not isinstance(blocks, Iterable):
        raise InputError(
            f"The blocks of {who} must be {', '.join(map(repr, words))}, or a list of lists of "
            f"names. Got {blocks!r}."
        )
    wiring = reduced.problem.wiring
    asked = np.full(len(wiring.n_states), -1, np.int64)
    for i, names in enumerate(blocks):
        found = indices(wiring, names, who, f"blocks, number {i},") or []
        twice = [wiring.names[v] for v in found if asked[v] >= 0]
        if twice:
            raise InputError(
                f"The blocks of {who} must have no variable in common. {twice[0]!r} is in two of "
                "them."
            )
        asked[found] = i
    variables = reduced.problem.variables[reduced.kept]
    alone = len(asked) + np.arange(reduced.n)
    block = np.where(asked[variables] < 0, alone, asked[variables])
    block = np.unique(block, return_inverse=True)[1].astype(np.int64)
    try:
        plant(reduced.graph, block)
    except CycleError as error:
        last = int(reduced.graph.scope[error.slot])
        inside = [wiring.names[v] for v in variables[block == block[last]]]
        raise InputError(
            f"The blocks of {who} must be trees: among the variables of a block, factors may close "
            f"no cycle. Those of {check.listing(inside)} close one through "
            f"{wiring.names[variables[last]]!r}. Take a variable of it out, or pass "
            f"blocks={words[-1]!r}."
        ) from None
    return block


def tables_of(n_states: Any, scope_start: Any, scope: Any, cell_start: Any, logs: F64) -> Tables:
    """Lay factors out for the kernels of arc consistency."""
    n_states, scope = np.array(n_states, np.int64), np.array(scope, np.int64)
    arity = np.diff(scope_start)
    return Tables(
        n_states=n_states,
        state_start=starts(n_states),
        scope_start=np.array(scope_start, np.int64),
        scope=scope,
        cell_start=np.array(cell_start, np.int64),
        logs=logs,
        incident_start=starts(np.bincount(scope, minlength=len(n_states))),
        incident=np.repeat(np.arange(len(arity)), arity)[np.argsort(scope, kind="stable")],
    )


def states_of(tables: Tables, alive: Flags) -> States:
    """Make room for arc consistency, which changes ``alive`` in place."""
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


def digits(tables: Tables) -> Int64:
    """Make a counter for each axis of the widest factor."""
    return np.zeros(int(np.diff(tables.scope_start).max(initial=0)) + 1, np.int64)


def _tighten(tables: Tables, alive: Flags) -> Int64 | None:
    """Leave states without support out; return how many each variable has left, or None."""
    room = states_of(tables, alive)
    room.waiting[:] = 1
    return np.asarray(room.left) if propagate(tables, room, len(room.queue)) else None


def _restrict(tables: Tables, alive: Flags, left: Int64) -> Tables:
    """Keep the cells of alive states, and in the scopes the variables of two or more of them."""
    kept, cells = np.empty(len(tables.logs)), np.empty(len(tables.scope_start) - 1, np.int64)
    total = restrict(tables, alive, digits(tables), kept, cells)
    stays = left[tables.scope] > 1
    new = (np.cumsum(left > 1) - 1)[tables.scope[stays]]
    scope_start = starts(_sums(stays, tables.scope_start))
    return tables_of(left[left > 1], scope_start, new, starts(cells), kept[:total].copy())


def _merge(tables: Tables) -> tuple[Tables, list[float], float]:
    """Add the logs of factors up: of one variable on it, of several in the largest factor.

    Returns the factors, then the unary logs as such; what was taken off so that the largest log of
    each is zero; and, in eps, how far rounding may have moved the log of the sum: see
    docs/explanation/bounds_numerics.md.
    """
    n, arity = len(tables.n_states), np.diff(tables.scope_start)
    host = np.empty(len(arity), np.int64)
    find_hosts(tables, np.full(n, -1, np.int64), host)
    stays = (host == np.arange(len(host))) & (arity > 1)
    cells = starts(np.where(stays, np.diff(tables.cell_start), 0))
    logs, unary = np.zeros(int(cells[-1])), np.zeros(int(tables.n_states.sum()))
    absorb(tables, host, cells, logs, unary, digits(tables), digits(tables))
    to = np.where(arity > 1, n + host, -1)
    to[arity == 1] = tables.scope[tables.scope_start[:-1][arity == 1]]
    joined = np.bincount(to + 1, minlength=1)[to + 1] * (arity > 0)
    wear = (largest(tables.logs, tables.cell_start) * (4.0 + joined) + 2.0).sum()
    merged = tables_of(
        tables.n_states,
        starts(np.append(arity[stays], np.ones(n, np.int64))),
        np.append(tables.scope[np.repeat(stays, arity)], np.arange(n)),
        np.append(cells[:-1][stays], cells[-1] + tables.state_start),
        np.append(logs, unary),
    )
    tops = fold(np.maximum, merged.logs, merged.cell_start)
    tops[tops == -np.inf] = 0.0
    merged.logs[:] -= np.repeat(tops, np.diff(merged.cell_start))
    alone = tables.logs[tables.cell_start[:-1][arity == 0]]
    return merged, [*alone.tolist(), *tops.tolist()], float(wear)


def _sums(values: npt.NDArray[Any], start: Int64) -> Int64:
    """Sum runs of integers, empty ones too."""
    return np.diff(np.concatenate([[0], np.cumsum(values, dtype=np.int64)])[start])
