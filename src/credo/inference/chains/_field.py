"""A problem as Markov chains see it: what each variable weighs alone, and who is near whom."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from credo._types import F64
from credo.graphs.problems import Problem
from credo.graphs.wiring import ranges

Int64: TypeAlias = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Field:
    """Logs of all factors, those of one variable added up, and the links of the others.

    A *link* is an entry of ``scope``: a factor and one of its variables. Factors of the same
    variables are one.
    """

    start: Int64  #: where the states of each variable begin
    weights: F64  #: (2, S): log of the base, and of what depends on a variable alone
    logs: F64
    cell_start: Int64
    scope_start: Int64
    scope: Int64
    stride: Int64  #: in the table, by link
    near_start: Int64
    near: Int64  #: (L, 2): factor and stride of links, sorted by variable
    ends: Int64  #: variables of these
    place: Int64  #: where in this order each link is
    log_constant: float

    @property
    def n_variables(self) -> int:
        """The number of variables."""
        return len(self.start) - 1

    @property
    def n_states(self) -> int:
        """The number of states of all variables together."""
        return int(self.start[-1])

    @property
    def cells(self) -> Int64:
        """Where in the logs the cells of the factors are, factor after factor."""
        return ranges(self.cell_start, self.sizes)

    @property
    def sizes(self) -> Int64:
        """How many cells each factor has."""
        first = self.scope_start[:-1]
        return self.stride[first] * np.diff(self.start)[self.scope[first]]


def read_field(problem: Problem) -> Field | None:
    """Take a problem apart; None if a factor, or the weights of a variable, leave nothing."""
    start = np.concatenate([[0], np.cumsum(problem.n_states)]).astype(np.int64)
    logs = problem.log_values()
    arity = np.diff(problem.scope_start)
    first = problem.cell_start[:-1]
    constant = problem.log_constant + float(logs[first[arity == 0]].sum())
    alone = np.zeros((2, int(start[-1])))
    one = np.flatnonzero(arity == 1)
    over = problem.scope[problem.scope_start[one]]
    width = problem.n_states[over]
    np.add.at(alone[1], ranges(start[over], width), logs[ranges(first[one], width)])
    if constant == -np.inf or not _all_possible(alone[1], start[:-1]):
        return None
    return _linked(problem, np.flatnonzero(arity > 1), start, alone, logs, constant)


def _all_possible(logs: F64, first: Int64) -> bool:
    """Tell whether something is positive in each part."""
    return not len(first) or bool((np.maximum.reduceat(logs, first) > -np.inf).all())


def _linked(
    problem: Problem, kept: Int64, start: Int64, alone: F64, logs: F64, constant: float
) -> Field | None:
    """Link the factors of two or more variables."""
    kept = _without_repeats(problem, kept, logs)
    arity = np.diff(problem.scope_start)[kept]
    scope_start = np.concatenate([[0], np.cumsum(arity)]).astype(np.int64)
    scope = problem.scope[ranges(problem.scope_start[kept], arity)].astype(np.int64)
    stride = _strides(problem.n_states, scope_start, scope)
    order = np.argsort(scope, kind="stable")
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    degree = np.bincount(scope, minlength=len(start) - 1)
    field = Field(
        start,
        alone,
        logs,
        problem.cell_start[kept],
        scope_start,
        scope,
        stride,
        np.concatenate([[0], np.cumsum(degree)]).astype(np.int64),
        np.column_stack([np.repeat(np.arange(len(kept)), arity)[order], stride[order]]),
        scope[order],
        place,
        constant,
    )
    sizes = field.sizes
    return field if _all_possible(logs[field.cells], np.cumsum(sizes) - sizes) else None


def _strides(n_states: Int64, scope_start: Int64, scope: Int64) -> Int64:
    """Give the stride of each variable in its factor's table, the last axis being the fastest."""
    after = np.repeat(scope_start[1:], np.diff(scope_start)) - 1 - np.arange(len(scope))
    stride = np.ones(len(scope), np.int64)
    for n in range(1, int(after.max(initial=0)) + 1):
        here = np.flatnonzero(after == n)
        stride[here] = stride[here + 1] * n_states[scope[here + 1]]
    return stride


def _without_repeats(problem: Problem, kept: Int64, logs: F64) -> Int64:
    """Add factors of the same variables to the first of them; give those that are left.

    Otherwise any two of them would close a cycle.
    """
    arity = np.diff(problem.scope_start)
    left = np.ones(len(arity), np.bool_)
    for n in np.unique(arity[kept]).tolist():
        alike = kept[arity[kept] == n]
        names = problem.scope[problem.scope_start[alike][:, None] + np.arange(n)]
        rows = np.sort(names, axis=1)
        order = np.lexsort(rows.T)
        same = np.concatenate([[False], (rows[order][1:] == rows[order][:-1]).all(axis=1)])
        into = 0
        for i in np.flatnonzero(same | np.append(same[1:], False)).tolist():
            if same[i]:
                _add(problem, int(alike[order[i]]), into, logs)
                left[alike[order[i]]] = False
            else:
                into = int(alike[order[i]])
    return kept[left[kept]]


def _add(problem: Problem, factor: int, into: int, logs: F64) -> None:
    """Add the logs of a factor to those of another one over the same variables."""
    axes, cells = [], []
    for f in (factor, into):
        scope = problem.scope[problem.scope_start[f] : problem.scope_start[f + 1]]
        axes.append(scope.tolist())
        table = logs[problem.cell_start[f] : problem.cell_start[f + 1]]
        cells.append(table.reshape(problem.n_states[scope]))
    cells[1] += cells[0].transpose([axes[0].index(v) for v in axes[1]])
