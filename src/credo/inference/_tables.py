"""Clique tables and what is done with them: fill, collect, distribute, read."""

from __future__ import annotations

import math
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from credo._types import F64
from credo.graphs.problems import Problem
from credo.inference._layout import Layout

Int64: TypeAlias = npt.NDArray[np.int64]


class Homes:
    """Where to read each variable's belief: the smallest table or separator that holds it."""

    __slots__ = ("home", "inner", "start")

    def __init__(self, problem: Problem, layout: Layout) -> None:
        from credo._kernels.junction_sums import smallest_homes  # noqa: PLC0415

        self.home, self.inner = smallest_homes(
            layout.dim_start,
            layout.dims,
            layout.residual,
            layout.table_start,
            layout.row_start,
            problem.n_states,
        )
        self.start = np.zeros(len(problem.n_states) + 1, np.int64)
        np.cumsum(problem.n_states, out=self.start[1:])


class Weights:
    """Weights on single variables, placed in the tables where these variables end."""

    __slots__ = ("inners", "nodes", "starts", "values")

    def arrays(self) -> tuple[Int64, Int64, Int64, F64]:
        """Give what the kernel takes; it scales the weights, so they are copied."""
        return self.nodes, self.inners, self.starts, self.values.copy()

    def __init__(self, places: Places, soft: dict[int, F64]) -> None:
        variables = sorted(soft)
        found = [places[v] for v in variables]
        self.nodes = np.array([node for node, _ in found], np.int64)
        self.inners = np.array([inner for _, inner in found], np.int64)
        ends = [0]
        for v in variables:
            ends.append(ends[-1] + len(soft[v]))
        self.starts = np.array(ends, np.int64)
        self.values = np.concatenate([soft[v] for v in variables])


class Places:
    """The node where each variable ends, and how far apart its states are there; found once."""

    __slots__ = ("_known", "_layout", "_n_states")

    def __init__(self, layout: Layout, n_states: Int64) -> None:
        self._layout = layout
        self._n_states = n_states
        self._known: dict[int, tuple[int, int]] = {}

    def __getitem__(self, variable: int) -> tuple[int, int]:
        if variable not in self._known:
            layout = self._layout
            node = int(layout.node[layout.position[variable]])
            axes = layout.variables_of(node).tolist()
            inner = math.prod(self._n_states[axes[axes.index(variable) + 1 :]].tolist())
            self._known[variable] = node, inner
        return self._known[variable]


class SumTables:
    """Sum-product in scaled arithmetic.

    Parameters
    ----------
    problem, layout
        What to sum, and the tree.
    reusable
        Keep the product of the factors apart from the beliefs, to be run again with other weights.
    """

    def __init__(self, problem: Problem, layout: Layout, *, reusable: bool = False) -> None:
        from credo._kernels.junction_sums import fill, ordered_factors  # noqa: PLC0415

        self.problem = problem
        self.layout = layout
        self.base: F64 = np.empty(layout.n_cells)
        values = ordered_factors(
            problem.n_states,
            problem.scope_start,
            problem.scope,
            layout.ordered,
            problem.cell_start,
            problem.values,
        )
        self.low: F64 = np.empty(len(layout.parent))
        log_scale, self.lost = fill(
            self.base,
            self.low,
            layout.table_start,
            layout.home,
            layout.factor_group_start,
            layout.factor_lengths,
            layout.factor_strides,
            problem.cell_start,
            values,
        )
        del values  # before the next table is made
        self.log_scale = problem.log_constant + float(log_scale)
        self.table: F64 = np.empty(layout.n_cells) if reusable else self.base
        self.message: F64 = np.empty(int(layout.row_start[-1]))
        self.scale: F64 = np.empty(len(layout.parent))
        self.fresh = np.ones(len(layout.parent), np.bool_)

    def collect(self, weights: Weights | None = None) -> tuple[float, bool]:
        """Sum everything; give the log of the sum and whether terms may have been lost."""
        from credo._kernels import junction_sums as kernels  # noqa: PLC0415

        layout = self.layout
        self.fresh[:] = True
        low = self.low.copy()
        log_weights, lost_weights = 0.0, False
        if weights is not None:
            tables = (self.base, self.table, self.fresh, low, layout.table_start)
            log_weights, lost_weights = kernels.enter_weights(*tables, *weights.arrays())
        log_z, lost = kernels.collect(
            self.base,
            self.table,
            self.fresh,
            low,
            layout.table_start,
            layout.row_start,
            layout.parent,
            layout.group_start,
            layout.lengths,
            layout.strides,
            self.message,
            self.scale,
        )
        total = float(log_z) + float(log_weights) + self.log_scale
        return total, bool(lost or lost_weights or self.lost)

    def distribute(self) -> None:
        """Turn tables and messages into beliefs."""
        from credo._kernels.junction_sums import distribute  # noqa: PLC0415

        layout = self.layout
        distribute(
            self.base,
            self.table,
            self.fresh,
            layout.table_start,
            layout.row_start,
            layout.parent,
            layout.group_start,
            layout.lengths,
            layout.strides,
            self.message,
            self.scale,
        )

    def marginals(self, homes: Homes) -> F64:
        """Read the beliefs of all variables, one after the other."""
        from credo._kernels.junction_sums import read_marginals  # noqa: PLC0415

        layout = self.layout
        out = np.empty(int(homes.start[-1]))
        read_marginals(
            self.table,
            layout.table_start,
            self.message,
            layout.row_start,
            homes.home,
            homes.inner,
            self.problem.n_states,
            homes.start,
            out,
        )
        return out
