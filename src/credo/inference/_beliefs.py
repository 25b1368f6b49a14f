"""Run a problem on a junction tree: in scaled arithmetic or, if that loses terms, in logs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from credo._types import F64
from credo.graphs.ordering import find_order
from credo.graphs.problems import Problem
from credo.inference._budget import Budget, refuse_above
from credo.inference._layout import Layout, lay_out
from credo.inference._log_tables import LogTables
from credo.inference._tables import Homes, SumTables, Weights

Int64: TypeAlias = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Beliefs:
    """Marginals of the free variables of a problem, one after the other, and the log of the sum."""

    variables: Int64  #: ascending, as numbered in the wiring
    start: Int64
    values: F64
    log_z: float | None  #: None where parts were left out

    @property
    def are_impossible(self) -> bool:
        """Whether nothing is possible."""
        return self.log_z == -np.inf

    def of(self, variable: int) -> F64 | None:
        """Give the marginal of one variable, or None if it is not free."""
        i = variable
        if i >= len(self.variables) or self.variables[i] != variable:
            i = int(np.searchsorted(self.variables, variable))
            if i == len(self.variables) or self.variables[i] != variable:
                return None
        return self.values[self.start[i] : self.start[i + 1]]


def calibrate(problem: Problem, layout: Layout) -> Beliefs:
    """Compute the marginals of all free variables; ``log_z`` is -inf where nothing is possible."""
    homes = Homes(problem, layout)
    found = None if problem.is_wide else _calibrated(problem, layout, homes)
    return calibrate_in_logs(problem, layout, homes) if found is None else found


def _calibrated(problem: Problem, layout: Layout, homes: Homes) -> Beliefs | None:
    """Do so in scaled arithmetic; None if a term was lost, or nothing is possible."""
    tables = SumTables(problem, layout)
    log_z, lost = tables.collect()
    if lost or log_z == -np.inf:
        return None
    tables.distribute()
    return _beliefs(problem, homes, tables.marginals(homes), log_z)


def calibrate_in_logs(
    problem: Problem, layout: Layout, homes: Homes, weights: Weights | None = None
) -> Beliefs:
    """Do the same in the log domain: any range, at the price of an exponential per cell."""
    logs = LogTables(problem, layout, maximum=False)
    log_z = logs.collect(weights)
    if log_z == -np.inf:
        return Beliefs(problem.variables, homes.start, np.empty(0), log_z)
    logs.distribute()
    return _beliefs(problem, homes, logs.marginals(homes), log_z)


def _beliefs(problem: Problem, homes: Homes, values: F64, log_z: float) -> Beliefs:
    whole = log_z if problem.is_complete else None
    return Beliefs(problem.variables, homes.start, values, whole)


def log_sum(problem: Problem, owner: str, budget: Budget) -> float:
    """Compute the log of the sum over everything, by one pass."""
    order = find_order(problem.n_states, problem.scope_start, problem.scope)
    refuse_above(budget, problem, order, owner)
    layout = lay_out(problem, order.sequence)
    log_z, lost = (0.0, True) if problem.is_wide else SumTables(problem, layout).collect()
    return LogTables(problem, layout, maximum=False).collect() if lost else log_z
