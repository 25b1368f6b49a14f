"""Enumeration: the sum over all configurations, written as it reads. The oracle of the engines."""

from __future__ import annotations

import numpy as np
from scipy.special import logsumexp

from credo._types import F64
from credo.exceptions import BudgetError
from credo.graphs.problems import Problem
from credo.inference._beliefs import Beliefs
from credo.inference._budget import Budget, as_bytes, as_text


def enumerate_beliefs(problem: Problem, budget: Budget) -> Beliefs:
    """Sum a problem's factors over the table of all configurations, in the log domain."""
    joint = log_joint(problem, budget)
    n = len(problem.variables)
    start = np.zeros(n + 1, np.int64)
    np.cumsum(problem.n_states, out=start[1:])
    log_z = float(logsumexp(joint))
    if log_z == -np.inf:
        return Beliefs(problem.variables, start, np.empty(0), log_z)
    joint -= log_z
    values = [np.empty(0)]
    for v in range(n):
        others = tuple(i for i in range(n) if i != v)
        values.append(np.exp(logsumexp(joint, axis=others)))
    return Beliefs(
        problem.variables, start, np.concatenate(values), log_z if problem.is_complete else None
    )


def log_joint(problem: Problem, budget: Budget) -> F64:
    """Give the log of the product of all factors for every configuration, one axis per variable."""
    n = len(problem.variables)
    cells = float(np.prod(problem.n_states.astype(float)))
    if 8 * cells > as_bytes(budget, "enumeration") or n > 64:
        raise BudgetError(
            f"Enumeration needs one table over all {n} variables, at most 64 axes, with "
            f"{as_text(8 * cells)}; the budget is {budget}. Use method='auto'."
        )
    joint = np.full(tuple(problem.n_states), problem.log_constant)
    logs = problem.log_values()
    for f in range(len(problem.scope_start) - 1):
        scope = problem.scope[problem.scope_start[f] : problem.scope_start[f + 1]]
        table = logs[problem.cell_start[f] : problem.cell_start[f + 1]]
        shaped = table.reshape(tuple(problem.n_states[scope]))
        ordered = np.transpose(shaped, np.argsort(scope))
        axes = [int(problem.n_states[v]) if v in scope else 1 for v in range(n)]
        joint += ordered.reshape(axes)
    return joint
