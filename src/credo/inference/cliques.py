"""Clique trees: the tables of an elimination order, messages between them, and what they tell."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from credo._kernels import cliques as kernels
from credo._kernels.cliques import LOG_SUM, SUM
from credo._kernels.evidence_slices import sliced_factors
from credo._types import F64
from credo.graphs.ordering import Order, find_order
from credo.graphs.problems import Problem
from credo.inference.question import Beliefs, Budget, refuse_above

Int64: TypeAlias = npt.NDArray[np.int64]
_NOTHING: Int64 = np.empty(0, np.int64)


@dataclass(frozen=True, slots=True, eq=False)
class CliqueTree:
    """Cliques (nodes), children before parents, their tables and messages, as flat arrays.

    The axes of a table are its separator's, then those of the variables that end in the node. A
    message to the parent is indexed by the separator, whose joint states are the table's rows.
    """

    position: Int64  #: of each variable in the order
    node: Int64  #: where the variable at each position ends
    parent: Int64  #: of each node, -1 for roots
    dim_start: Int64
    dims: Int64  #: variables of each node, in the order of its axes
    residual: Int64  #: how many of them end in the node
    table_start: Int64
    row_start: Int64  #: where each message starts
    group_start: Int64
    lengths: Int64  #: loops of each message inside its parent's table
    strides: Int64
    home: Int64  #: node of each factor, -1 for constants
    ordered: Int64  #: variables of each factor, in the order of the node's axes
    factor_loops: tuple[Int64, Int64, Int64]  #: of each factor inside its node's table
    last: Int64  #: node where each variable ends
    last_step: Int64  #: cells of one step of it there
    read_from: Int64  #: smallest table (-1 - node) or separator that holds each variable
    read_step: Int64
    start: Int64  #: where the marginal of each variable starts

    @property
    def n_cells(self) -> int:
        """Cells of all clique tables."""
        return int(self.table_start[-1])

    @property
    def shapes(self) -> tuple[Int64, ...]:
        """What tells where the cell of a configuration lies."""
        return self.table_start, self.row_start, self.dim_start, self.dims, self.residual

    @property
    def loops(self) -> tuple[Int64, ...]:
        """Who a node's parent is, and how its message lies in the parent's table."""
        return self.parent, self.group_start, self.lengths, self.strides

    def variables_of(self, node: int) -> Int64:
        """Return the variables of a node, in the order of its axes."""
        return self.dims[self.dim_start[node] : self.dim_start[node + 1]]

    def separator_of(self, node: int) -> Int64:
        """Return the variables that a node shares with its parent."""
        return self.variables_of(node)[: -int(self.residual[node])]


def plant(problem: Problem, order: Int64) -> CliqueTree:
    """Build the clique tree of an elimination order."""
    n_states, start, scope = problem.n_states, problem.scope_start, problem.scope
    position, cliques, *_ = kernels.elimination_cliques(n_states, start, scope, order, np.inf)
    node, bottom, residual, parent = kernels.clique_tree(*cliques)
    shapes = kernels.clique_shapes(n_states, order, *cliques[:2], bottom, residual)
    dim_start, dims, table_start, row_start = shapes
    into = n_states, dim_start, dims
    loops: tuple[Int64, Int64, Int64] = kernels.loops_inside(
        *into, parent, dim_start[:-1], dim_start[1:] - residual, dims
    )
    home, ordered = kernels.order_scopes(start, scope, position, node)
    factor_loops = kernels.loops_inside(*into, home, start[:-1], start[1:], ordered)
    states = np.zeros(len(n_states) + 1, np.int64)
    np.cumsum(n_states, out=states[1:])
    homes: tuple[Int64, Int64, Int64] = kernels.find_homes(
        dim_start, dims, residual, table_start, row_start, n_states
    )
    sizes = table_start, row_start
    axes = dim_start, dims, residual
    factors = home, ordered, factor_loops
    return CliqueTree(
        position, node, parent, *axes, *sizes, *loops, *factors, node[position], *homes, states
    )


class CliqueTables:
    """The tables of a clique tree in one arithmetic: scaled numbers, logs, or logs of maxima.

    Parameters
    ----------
    problem, tree
        What to sum or maximise, and the tree.
    mode
        ``SUM``: fast, and exact unless ``lost`` says that a term may have been. ``LOG_SUM``: any
        range, at the price of an exponential per cell. ``LOG_MAX``: maxima, of any range.
    reusable
        Keep the product of the factors apart from the beliefs, to be run again with other weights.
    summed
        For maxima of sums: how many cells in a row of each node are summed first.
    """

    def __init__(
        self,
        problem: Problem,
        tree: CliqueTree,
        mode: int = SUM,
        *,
        reusable: bool = False,
        summed: Int64 = _NOTHING,
    ) -> None:
        self.problem, self.tree, self.mode, self.summed = problem, tree, mode, summed
        self.logs: F64 = np.empty(0) if mode == SUM else problem.log_values()  #: of the factors
        cells = problem.cell_start
        every = np.arange(len(tree.home)), cells, problem.values if mode == SUM else self.logs
        nothing = np.ones(len(tree.home), np.bool_), np.full_like(tree.last, -1), tree.last
        scopes = problem.n_states, problem.scope_start, problem.scope, tree.ordered
        values = sliced_factors(*scopes, *every, *nothing)[3]  # with the axes of the node
        self.base: F64 = np.empty(tree.n_cells)
        self.low: F64 = np.empty(len(tree.parent))  #: bounds of the least positive numbers
        log_scale, lost = kernels.fill(
            self.base,
            self.low,
            tree.table_start,
            tree.home,
            *tree.factor_loops,
            cells,
            values,
            mode,
        )
        del values  # before the next table is made
        self.log_scale = problem.log_constant + float(log_scale)
        self.is_lossy = bool(lost)  #: whether a term may be lost before any message is sent
        self.lost = self.is_lossy
        self.table: F64 = np.empty(tree.n_cells) if reusable else self.base
        self.message: F64 = np.empty(int(tree.row_start[-1]))
        self.scale: F64 = np.empty(len(tree.parent))
        self._fresh = np.ones(len(tree.parent), np.bool_)  # whose table is still the base

    def collect(self, weights: Mapping[int, F64] | None = None) -> float:
        """Send messages to the roots; return the log of the sum, or of the maximum.

        Weights multiply the states of single variables. Says in ``lost`` whether a term may have
        been lost.
        """
        tree, mode, low = self.tree, self.mode, self.low.copy()
        self._fresh[:] = True
        tables = self.base, self.table, self._fresh, low, tree.table_start
        log_z, self.lost = self.log_scale, self.is_lossy
        if weights:
            more, lost = kernels.enter(*tables, *self._placed(weights), mode)
            log_z += float(more)
            self.lost |= bool(lost)
        places = tree.row_start, *tree.loops, self.summed, self.message, self.scale
        product, lost = kernels.collect(*tables, *places, mode)
        self.lost |= bool(lost)
        log_z += float(product)
        if mode != SUM and log_z > -np.inf:
            log_z = math.fsum((*self.scale.tolist(), log_z))
        return log_z

    def _placed(self, weights: Mapping[int, F64]) -> tuple[Int64, Int64, Int64, F64]:
        """Find the tables in which the weighted variables end, and lay the weights out."""
        variables, tree = list(weights), self.tree
        starts = np.array([0, *(len(w) for w in weights.values())]).cumsum()
        values = np.concatenate([*weights.values()])
        if self.mode != SUM:
            with np.errstate(divide="ignore"):
                values = np.log(values)
        return tree.last[variables], tree.last_step[variables], starts, values

    def distribute(self) -> None:
        """Send messages back: tables and messages become beliefs, or max-marginals."""
        tree = self.tree
        where = self.base, self.table, self._fresh, tree.table_start, tree.row_start
        kernels.distribute(*where, *tree.loops, self.message, self.scale, self.mode)

    def marginals(self) -> F64:
        """Read the beliefs of all variables, each of sum one; for maxima, logs of largest zero."""
        tree = self.tree
        out = np.empty(int(tree.start[-1]))
        tables = self.table, tree.table_start, self.message, tree.row_start
        homes = tree.read_from, tree.read_step, self.problem.n_states, tree.start
        kernels.read(*tables, *homes, out, self.mode)
        return out

    def root_table(self, query: Sequence[int]) -> F64:
        """Sum the last root's table, after collecting, down to the query, in the query's order."""
        tree, n_states = self.tree, self.problem.n_states
        root = int(tree.node[-1])
        cells = self.table[tree.table_start[root] : tree.table_start[root + 1]]
        if self.mode == LOG_SUM:
            cells = np.exp(cells - cells.max())
        axes = [int(v) for v in tree.variables_of(root) if n_states[v] > 1]
        rest = tuple(i for i, v in enumerate(axes) if v not in query)
        summed = cells.reshape(n_states[axes]).sum(axis=rest)
        kept = [v for v in axes if v in query]
        ordered = summed.transpose([kept.index(v) for v in query if n_states[v] > 1])
        return np.asarray(ordered.reshape(n_states[list(query)]) / summed.sum())


def collect_sums(
    problem: Problem,
    tree: CliqueTree,
    weights: Mapping[int, F64] | None = None,
    filled: CliqueTables | None = None,
    *,
    in_logs: bool = False,
) -> tuple[CliqueTables, float]:
    """Collect in scaled arithmetic or, where that could lose a term, in logs; give log Z too.

    Weights multiply the states of single variables; tables that are ``filled`` are used again.
    """
    if not (problem.is_wide or in_logs):
        tables = CliqueTables(problem, tree) if filled is None else filled
        log_z = tables.collect(weights)
        if not tables.lost and log_z > -np.inf:
            return tables, log_z
    tables = CliqueTables(problem, tree, LOG_SUM)
    return tables, tables.collect(weights)


def sum_out(
    problem: Problem,
    owner: str,
    budget: Budget,
    *,
    order: Order | None = None,
    last: Sequence[int] = (),
) -> tuple[CliqueTables, float]:
    """Sum over everything by one pass; give the tables, and log Z.

    Without an order one is looked for, that ends with the variables ``last``.
    """
    if order is None:
        order = find_order(problem.n_states, problem.scope_start, problem.scope, last=list(last))
    refuse_above(budget, problem, order, owner)
    return collect_sums(problem, plant(problem, order.sequence))


def calibrate(
    problem: Problem,
    tree: CliqueTree,
    weights: Mapping[int, F64] | None = None,
    filled: CliqueTables | None = None,
    *,
    in_logs: bool = False,
) -> Beliefs:
    """Compute the marginals of all free variables; ``log_z`` is -inf where nothing is possible."""
    tables, log_z = collect_sums(problem, tree, weights, filled, in_logs=in_logs)
    if log_z == -np.inf:
        return Beliefs(problem.variables, tree.start, np.empty(0), log_z)
    tables.distribute()
    whole = log_z if problem.is_complete else None
    return Beliefs(problem.variables, tree.start, tables.marginals(), whole)
