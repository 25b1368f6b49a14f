"""Clique tables of maxima, or of maxima of sums, and the configurations read off them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import numpy.typing as npt

from credo._types import F64, Bool
from credo.graphs.problems import Problem
from credo.inference._layout import Layout
from credo.inference._log_tables import LogTables

if TYPE_CHECKING:
    from credo.inference._tables import Homes

Int64: TypeAlias = npt.NDArray[np.int64]


class MaxTables:
    """Max-product on a junction tree, in logs; some variables may be summed out first.

    Parameters
    ----------
    problem, layout
        What to maximise, and the tree. The summed variables come first in its order.
    is_summed
        Marks the variables to sum out.
    """

    def __init__(self, problem: Problem, layout: Layout, is_summed: Bool) -> None:
        from credo._kernels.junction_decode import summed_cells  # noqa: PLC0415

        self.problem = problem
        self.layout = layout
        self.logs = problem.log_values()
        self.constant = 0.0  #: log of what is left of factors whose variables are all observed
        self.tables = LogTables(problem, layout, maximum=True)
        self.shift: F64 = np.empty(len(layout.parent))
        self.error: F64 = np.empty(len(layout.parent))
        self.inner: Int64 = summed_cells(
            layout.dim_start, layout.dims, layout.residual, problem.n_states, is_summed
        )

    def collect(self) -> bool:
        """Fill the tables and send maxima to the roots; tell whether anything is possible."""
        from credo._kernels import junction_decode as kernels  # noqa: PLC0415

        layout, tables = self.layout, self.tables
        self.constant = tables.fill(self.logs)
        possible = kernels.collect_maxima(
            tables.table,
            layout.table_start,
            layout.row_start,
            layout.parent,
            layout.group_start,
            layout.lengths,
            layout.strides,
            self.inner,
            tables.message,
            self.shift,
            self.error,
            *kernels.factor_sizes(
                layout.home, self.problem.cell_start, self.logs, len(layout.parent)
            ),
        )
        return bool(possible) and self.constant > -np.inf

    def score(self, states: Int64) -> float:
        """Give the log of the product of all factors at a best configuration, summed where asked.

        Without sums it does not come from the tables: the factors' logs are added up, with a
        single rounding error.
        """
        from credo._kernels.junction_decode import chosen_logs  # noqa: PLC0415

        if (self.inner > 1).any():
            return math.fsum((*self.shift.tolist(), self.constant))
        problem = self.problem
        chosen = np.empty(len(problem.scope_start) - 1)
        chosen_logs(
            problem.n_states,
            problem.scope_start,
            problem.scope,
            problem.cell_start,
            self.logs,
            states,
            chosen,
        )
        return math.fsum((*chosen.tolist(), problem.log_constant))

    def decode(self) -> tuple[Int64, bool]:
        """Give a best configuration, and whether there are more; summed variables stay at 0."""
        from credo._kernels.junction_decode import decode  # noqa: PLC0415

        states = np.zeros(len(self.problem.variables), np.int64)
        tie = decode(len(self.layout.parent) - 1, states, *self._rows())
        return states, bool(tie)

    def tied(self) -> Bool:
        """Mark the variables that are not in the same state in all best configurations."""
        from credo._kernels import junction_decode as kernels  # noqa: PLC0415

        layout = self.layout
        is_best = np.zeros(layout.n_cells, np.bool_)
        kernels.mark_best(
            self.tables.table,
            layout.table_start,
            layout.row_start,
            layout.parent,
            layout.group_start,
            layout.lengths,
            layout.strides,
            self.inner,
            self.tables.message,
            self.error,
            is_best,
            np.zeros(len(self.tables.message), np.bool_),
        )
        return kernels.tied_variables(is_best, *self._rows()[1:-2])

    def k_best(self, k: int) -> Int64:
        """Give the k best configurations, one per row, or all that are possible."""
        from credo._kernels.junction_decode import k_best  # noqa: PLC0415

        states = np.zeros((k, len(self.problem.variables)), np.int64)
        return states[: k_best(states, *self._rows())]

    def log_max_marginals(self, homes: Homes) -> F64:
        """Send messages back; give each variable's log max-marginals, less their largest."""
        self.tables.distribute()
        return self.tables.log_marginals(homes)

    def _rows(self) -> tuple[npt.NDArray[np.generic], ...]:
        """Give the arrays that decoding reads, in its order."""
        layout = self.layout
        return (
            self.tables.table,
            layout.table_start,
            layout.row_start,
            layout.dim_start,
            layout.dims,
            layout.residual,
            self.inner,
            self.problem.n_states,
            self.tables.message,
            self.error,
        )
