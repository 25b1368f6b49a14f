"""A problem as a field: weights on nodes, and tables on pairs of nodes."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from credo._types import F64
from credo.graphs.problems import Problem
from credo.graphs.wiring import ranges, starts

Int64: TypeAlias = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Field:
    """Log weights of the states of nodes, and of pairs of states.

    The first nodes are the variables of the problem. Then comes a cluster for each factor of more
    than two variables: its states are the cells of the factor that are not zero, and a pair ties it
    to each of its variables. Factors over the same variables are added up. Variables of one state
    are in no pair.
    """

    n_variables: int
    n_states: Int64
    start: Int64  #: where the weights of each node start
    values: F64
    codes: Int64  #: the cell that each state of a cluster stands for; beside ``values``, or empty
    pairs: Int64  #: (pairs, 2), the lower node first, in ascending order
    stride: Int64  #: zero for a table; for a cluster, that of the variable's axis
    table: Int64  #: where the table of each pair starts, the lower node's axis first
    tables: F64
    constant: float  #: to be added to every score; -inf where nothing is possible


@dataclass(frozen=True, slots=True, eq=False)
class _Scopes:
    """The scopes of the factors without variables of one state; tables are as before."""

    start: Int64
    scope: Int64
    stride: Int64  #: of each variable's axis
    arity: Int64


def make_field(problem: Problem, logs: F64) -> Field:
    """Sort the factors of a problem by the number of variables, and add them up."""
    scopes = _narrowed(problem)
    n = len(problem.n_states)
    none = problem.cell_start[:-1][scopes.arity == 0]
    constant = math.fsum((*logs[none].tolist(), problem.log_constant))
    values = _weights(problem, logs, scopes)
    pairs, table, tables = _pairs(problem, logs, scopes)
    clusters = np.flatnonzero(scopes.arity > 2)
    n_states = problem.n_states
    codes: Int64 = np.empty(0, np.int64)
    stride: Int64 = np.zeros(len(pairs), np.int64)
    if len(clusters):
        sizes, codes, weights = _cells(problem, logs, clusters)
        constant = constant if sizes.all() else -math.inf
        n_states = np.concatenate([n_states, sizes])
        codes = np.concatenate([np.zeros(len(values), np.int64), codes])
        values = np.concatenate([values, weights])
        slots = ranges(scopes.start[clusters], scopes.arity[clusters])
        owner = n + np.repeat(np.arange(len(clusters)), scopes.arity[clusters])
        pairs = np.concatenate([pairs, np.column_stack([scopes.scope[slots], owner])])
        stride = np.concatenate([stride, scopes.stride[slots]])
        table = np.concatenate([table, np.zeros(len(slots), np.int64)])
    return Field(
        n, n_states, starts(n_states), values, codes, pairs, stride, table, tables, constant
    )


def _narrowed(problem: Problem) -> _Scopes:
    """Leave variables of one state out of the scopes."""
    from credo._kernels.local_moves import axis_strides  # noqa: PLC0415

    stride: Int64 = np.empty(len(problem.scope), np.int64)
    axis_strides(problem.n_states, problem.scope_start, problem.scope, stride)
    counts = problem.n_states[problem.scope] > 1
    start = starts(counts.astype(np.intp))[problem.scope_start]
    return _Scopes(start, problem.scope[counts], stride[counts], np.diff(start))


def single_weights(problem: Problem, logs: F64) -> F64:
    """Add up the factors of one variable, variable after variable."""
    return _weights(problem, logs, _narrowed(problem))


def _weights(problem: Problem, logs: F64, scopes: _Scopes) -> F64:
    """Add up the factors of one variable, variable after variable."""
    start = starts(problem.n_states)
    values = np.zeros(int(start[-1]))
    single = np.flatnonzero(scopes.arity == 1)
    variable = scopes.scope[scopes.start[single]]
    size = problem.n_states[variable]
    np.add.at(values, ranges(start[variable], size), logs[ranges(problem.cell_start[single], size)])
    return values


def _pairs(problem: Problem, logs: F64, scopes: _Scopes) -> tuple[Int64, Int64, F64]:
    """Add up the factors of two variables, pair after pair."""
    from credo._kernels.trws_messages import add_pairs  # noqa: PLC0415

    n = len(problem.n_states)
    double = np.flatnonzero(scopes.arity == 2)
    one = scopes.scope[scopes.start[double]]
    other = scopes.scope[scopes.start[double] + 1]
    keys = np.minimum(one, other) * n + np.maximum(one, other)
    found, place = np.unique(keys, return_inverse=True)
    pairs = np.column_stack([found // max(n, 1), found % max(n, 1)])
    start = starts(problem.n_states[pairs].prod(axis=1))
    tables = np.zeros(int(start[-1]))
    add_pairs(
        logs,
        problem.cell_start[double],
        problem.n_states[one],
        problem.n_states[other],
        one > other,
        start[place],
        tables,
    )
    return pairs, start[:-1], tables


def _cells(problem: Problem, logs: F64, factors: Int64) -> tuple[Int64, Int64, F64]:
    """List the cells of factors that are not zero: how many, which, and their logs."""
    start, size = problem.cell_start[factors], np.diff(problem.cell_start)[factors]
    cells = ranges(start, size)
    kept = logs[cells] > -np.inf
    which = np.repeat(np.arange(len(factors)), size)[kept]
    counts = np.bincount(which, minlength=len(factors)).astype(np.int64)
    return counts, cells[kept] - start[which], logs[cells[kept]]
