"""A problem as a field: weights on nodes, and tables on pairs of nodes."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from credo._kernels.configurations import chosen_logs
from credo._kernels.forest import make_graph
from credo._types import F64, Bool
from credo.graphs.problems import Problem
from credo.graphs.wiring import Int64, ranges, starts
from credo.inference.configurations import ROUNDING
from credo.inference.maxima.kernels import Field, add_pairs


@dataclass(frozen=True, slots=True, eq=False)
class Maximum:
    """The best configuration that an engine found, and an upper bound on all others."""

    engine: str
    states: Int64  #: of the free variables
    log_score: float  #: the log of the product of all factors, -inf if the states are impossible
    bound: float = math.inf  #: no configuration has a larger log score; inf: nothing is known
    tied: Bool | None = None  #: marks variables in another state in some best configuration

    @classmethod
    def impossible(cls, engine: str, problem: Problem) -> Maximum:
        """Say that it is proven that no configuration is possible."""
        return cls(engine, np.zeros(len(problem.variables), np.int64), -math.inf, -math.inf)

    @property
    def is_impossible(self) -> bool:
        """Whether it is proven that no configuration is possible."""
        return self.bound == -math.inf

    @property
    def is_proven(self) -> bool:
        """Whether the bound is reached, up to rounding."""
        return not is_below(self.log_score, self.bound)


def is_below(score: float, other: float) -> bool:
    """Tell whether a score is below another by more than what processors differ in."""
    return other > score and not other - score <= ROUNDING * max(1.0, abs(other))


def log_score(problem: Problem, logs: F64, states: Int64) -> float:
    """Return the sum of the logs of the cells that the states choose, rounded once."""
    chosen = np.empty(len(problem.scope_start) - 1)
    shape = problem.n_states, problem.scope_start, problem.scope, problem.cell_start
    chosen_logs(*shape, logs, states, chosen)
    if chosen.min(initial=0.0) == -np.inf:
        return -math.inf
    return math.fsum((*chosen.tolist(), problem.log_constant))


def make_field(problem: Problem, logs: F64) -> Field:
    """Sort the factors of a problem by the number of variables, and add them up."""
    n_states, n = problem.n_states, len(problem.n_states)
    counts = n_states[problem.scope] > 1
    start = starts(counts)[problem.scope_start]
    scope, arity = problem.scope[counts], np.diff(start)
    none = logs[problem.cell_start[:-1][arity == 0]]
    constant = math.fsum((*none.tolist(), problem.log_constant))
    values = np.zeros(int(n_states.sum()))
    single = np.flatnonzero(arity == 1)
    over = scope[start[single]]
    of = ranges(problem.cell_start[single], n_states[over])
    np.add.at(values, ranges(starts(n_states)[over], n_states[over]), logs[of])
    double = np.flatnonzero(arity == 2)
    first, second, table, tables = _pairs(problem, logs, double, scope, start[double])
    clusters = np.flatnonzero(arity > 2)
    codes: Int64 = np.zeros(len(values), np.int64)
    strides: Int64 = np.zeros(len(first), np.int64)
    if len(clusters):
        sizes, cells, weights = _cells(problem, logs, clusters)
        shape = problem.scope_start, problem.scope, problem.cell_start
        stride = make_graph(n_states, *shape).stride[counts]
        n_states, values = np.append(n_states, sizes), np.append(values, weights)
        codes = np.append(codes, cells)
        slots, owner = ranges(start[clusters], arity[clusters]), n + np.arange(len(clusters))
        first = np.append(first, scope[slots])
        second = np.append(second, np.repeat(owner, arity[clusters]))
        strides = np.append(strides, stride[slots])
        table = np.append(table, np.zeros(len(slots), np.int64))
    return Field(
        n_states,
        starts(n_states),
        values,
        codes,
        first,
        second,
        strides,
        table,
        tables,
        n,
        constant,
    )


def _pairs(
    problem: Problem, logs: F64, factors: Int64, scope: Int64, place: Int64
) -> tuple[Int64, Int64, Int64, F64]:
    """Add up the factors of two variables: return both ends, where tables start, and these."""
    n_states, n = problem.n_states, max(len(problem.n_states), 1)
    one, other = scope[place], scope[place + 1]
    found, pair = np.unique(
        np.minimum(one, other) * n + np.maximum(one, other), return_inverse=True
    )
    first, second = found // n, found % n
    start = starts(n_states[first] * n_states[second])
    tables = np.zeros(int(start[-1]))
    sizes = n_states[one], n_states[other]
    add_pairs(logs, problem.cell_start[factors], *sizes, one > other, start[pair], tables)
    return first, second, start[:-1], tables


def _cells(problem: Problem, logs: F64, factors: Int64) -> tuple[Int64, Int64, F64]:
    """List the cells of factors that are not zero: how many, which, and their logs."""
    start, size = problem.cell_start[factors], np.diff(problem.cell_start)[factors]
    cells = ranges(start, size)
    kept = logs[cells] > -np.inf
    which = np.repeat(np.arange(len(factors)), size)[kept]
    counts = np.bincount(which, minlength=len(factors)).astype(np.int64)
    return counts, cells[kept] - start[which], logs[cells[kept]]
