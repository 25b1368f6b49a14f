"""A junction tree as flat arrays: what the kernels need, made once per order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from credo.graphs.problems import Problem

Int64: TypeAlias = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Layout:
    """Cliques (nodes) with children before parents, their tables and their messages.

    The axes of a table are its separator's, then those of the variables that end in the node. A
    message to the parent is indexed by the separator.
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
    factor_group_start: Int64
    factor_lengths: Int64
    factor_strides: Int64

    @property
    def n_cells(self) -> int:
        """Cells of all clique tables."""
        return int(self.table_start[-1])

    def variables_of(self, node: int) -> Int64:
        """Give the variables of a node, in the order of its axes."""
        return self.dims[self.dim_start[node] : self.dim_start[node + 1]]

    def separator_of(self, node: int) -> Int64:
        """Give the variables that a node shares with its parent."""
        return self.variables_of(node)[: -int(self.residual[node])]


def lay_out(problem: Problem, order: Int64) -> Layout:
    """Build the junction tree of an elimination order."""
    from credo._kernels import junction_layout as kernels  # noqa: PLC0415

    n_states, start, scope = problem.n_states, problem.scope_start, problem.scope
    position, first, members, parent = kernels.elimination_cliques(start, scope, order)
    node, bottom, residual, above = kernels.maximal_cliques(first, parent)
    bottom, residual, above = kernels.attach_to_smaller(
        n_states, order, first, members, node, bottom, residual, above
    )
    dim_start, dims, table_start, row_start = kernels.clique_shapes(
        n_states, order, first, members, bottom, residual
    )
    groups: tuple[Int64, Int64, Int64] = kernels.message_groups(
        n_states, dim_start, dims, residual, above
    )
    factors: tuple[Int64, Int64, Int64, Int64, Int64] = kernels.factor_groups(
        n_states, start, scope, position, node, dim_start, dims
    )
    return Layout(
        position,
        node,
        above,
        dim_start,
        dims,
        residual,
        table_start,
        row_start,
        *groups,
        *factors,
    )
