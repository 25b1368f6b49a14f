"""Clique tables in the log domain: maxima, and sums of any range."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from credo._types import F64
from credo.graphs.problems import Problem
from credo.inference._layout import Layout
from credo.inference._tables import Homes, Weights


class LogTables:
    """Max-product, or sum-product for factors that span more than float64 holds.

    Parameters
    ----------
    problem, layout
        What to sum or maximise, and the tree.
    maximum
        Take maxima in place of sums.
    """

    def __init__(self, problem: Problem, layout: Layout, *, maximum: bool) -> None:
        self.problem = problem
        self.layout = layout
        self.maximum = maximum
        self.table: F64 = np.empty(layout.n_cells)
        self.message: F64 = np.empty(int(layout.row_start[-1]))

    def fill(self, logs: F64) -> float:
        """Add the factors' logs up in the tables; give the sum of those without variables."""
        from credo._kernels.junction_fill import fill_outward  # noqa: PLC0415
        from credo._kernels.junction_sums import ordered_factors  # noqa: PLC0415

        problem, layout = self.problem, self.layout
        start, cells = problem.scope_start, problem.cell_start
        constant = fill_outward(
            self.table,
            layout.table_start,
            layout.home,
            layout.factor_group_start,
            layout.factor_lengths,
            layout.factor_strides,
            cells,
            ordered_factors(problem.n_states, start, problem.scope, layout.ordered, cells, logs),
        )
        return problem.log_constant + float(constant)

    def collect(self, weights: Weights | None = None) -> float:
        """Fill the tables and send messages to the roots; give the log of the sum or maximum."""
        from credo._kernels import junction_logs as kernels  # noqa: PLC0415

        constant = self.fill(self.problem.log_values())
        if weights is not None:
            with np.errstate(divide="ignore"):
                kernels.enter_log_evidence(
                    self.table,
                    self.layout.table_start,
                    weights.nodes,
                    weights.inners,
                    weights.starts,
                    np.log(weights.values),
                )
        return float(kernels.collect_logs(*self._arguments())) + constant

    def distribute(self) -> None:
        """Turn tables and messages into log beliefs, or max-marginals."""
        from credo._kernels.junction_logs import distribute_logs  # noqa: PLC0415

        distribute_logs(*self._arguments())

    def _arguments(self) -> tuple[npt.NDArray[np.generic] | bool, ...]:
        layout = self.layout
        return (
            self.table,
            layout.table_start,
            layout.row_start,
            layout.parent,
            layout.group_start,
            layout.lengths,
            layout.strides,
            self.message,
            self.maximum,
        )

    def log_marginals(self, homes: Homes) -> F64:
        """Read the log beliefs, or max-marginals, of all variables, each less its largest."""
        from credo._kernels.junction_logs import read_log_marginals  # noqa: PLC0415

        layout, start = self.layout, homes.start
        out = np.empty(int(start[-1]))
        read_log_marginals(
            self.table,
            layout.table_start,
            self.message,
            layout.row_start,
            homes.home,
            homes.inner,
            self.problem.n_states,
            start,
            out,
            self.maximum,
        )
        out -= np.repeat(np.maximum.reduceat(out, start[:-1]), np.diff(start))
        return out

    def marginals(self, homes: Homes) -> F64:
        """Read the beliefs of all variables, each scaled to one."""
        values = self.log_marginals(homes)
        np.exp(values, out=values)
        values /= np.repeat(np.add.reduceat(values, homes.start[:-1]), np.diff(homes.start))
        return values


def as_probabilities(logs: F64) -> F64:
    """Exponentiate logs, one of them finite, and scale them to sum one: in place."""
    logs -= logs.max()
    np.exp(logs, out=logs)
    logs /= logs.sum()
    return logs
