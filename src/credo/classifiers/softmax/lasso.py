r"""L1-penalised fits: Newton steps on a quadratic model with :math:`\lambda |\theta|`.

Few coefficients: a quadratic model of the loss, whose L1-penalised minimum is found exactly by
active sets. Many: SciPy's L-BFGS-B on positive and negative parts, θ = a - b with a, b ≥ 0.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.optimize import minimize

from credo._types import F64
from credo.classifiers.softmax.active_set import quadratic_minimum
from credo.classifiers.softmax.metric import hessian_of
from credo.classifiers.softmax.newton import Outcome, Rules
from credo.classifiers.softmax.objective import Objective, Value

#: A Hessian is kept while the subgradient falls to this share at each step.
_KEEP = 0.3
#: Share of the decrease that the model promises which is enough, and rounding of a loss.
_ENOUGH, _ROUNDING = 1e-4, 1e-14
#: Added to the diagonal, times its largest entry: several classes have a flat direction.
_RIDGE = 1e-10
_MOST_TRIALS = 30
#: Steps that L-BFGS-B remembers.
_MEMORY = 20


@dataclass(frozen=True, slots=True)
class Penalised:
    """A loss with λ |θ|, one λ per column; zero for the intercept."""

    smooth: Objective
    amounts: F64

    def total(self, theta: F64, value: Value) -> float:
        """Give loss and penalty."""
        return value.loss + float((self.amounts * np.abs(theta)).sum())

    def reported(self, theta: F64, value: Value) -> Value:
        """Give the value with the penalty in its loss."""
        return replace(value, loss=self.total(theta, value))

    def norm(self, theta: F64, value: Value) -> float:
        """Give the largest entry of the least subgradient: zero at the minimum only."""
        g, amounts = value.gradient, np.broadcast_to(self.amounts, theta.shape)
        at_zero = np.maximum(np.abs(g) - amounts, 0.0)
        rest = np.where(theta == 0, at_zero, np.abs(g + amounts * np.sign(theta)))
        return float(rest.max(initial=0.0))


def minimise_lasso(problem: Penalised, theta: F64, rules: Rules) -> Outcome:
    """Search from ``theta`` with exact minima of quadratic models."""
    value, hessian = _curved(problem, theta)
    norm, is_fresh = problem.norm(theta, value), True
    for iteration in range(rules.max_iter):
        rules.told(iteration, problem.reported(theta, value))
        if rules.met(norm, problem.total(theta, value)):
            return Outcome(theta, value, iteration, converged=True)
        move = _step(problem, theta, value, hessian)
        if move is None:
            if is_fresh:
                return Outcome(theta, value, iteration, converged=False)
            (value, hessian), is_fresh = _curved(problem, theta), True
            continue
        theta, value = move
        before, norm, is_fresh = norm, problem.norm(theta, value), False
        if norm > _KEEP * before and not rules.met(norm, problem.total(theta, value)):
            (value, hessian), is_fresh = _curved(problem, theta), True
    met = rules.met(norm, problem.total(theta, value))
    return Outcome(theta, value, rules.max_iter, met)


def _curved(problem: Penalised, theta: F64) -> tuple[Value, F64]:
    """Pass over the rows for value and Hessian."""
    value = problem.smooth.value(theta, curved=True)
    hessian = hessian_of(
        np.asarray(value.moments),
        problem.smooth.design.n_classes,
        problem.smooth.ridge,
        reduced=False,
    )
    diagonal = np.diagonal(hessian).copy()
    np.fill_diagonal(hessian, diagonal + _RIDGE * diagonal.max())
    return value, hessian


def _step(problem: Penalised, theta: F64, value: Value, hessian: F64) -> tuple[F64, Value] | None:
    """Go to the minimum of the model, or part of the way; None if no part is progress."""
    amounts = np.broadcast_to(problem.amounts, theta.shape)
    linear = value.gradient.ravel() - hessian @ theta.ravel()
    goal = quadratic_minimum(hessian, linear, amounts.ravel(), theta.ravel()).reshape(theta.shape)
    step = goal - theta
    promise = float((value.gradient * step).sum())
    promise += float((amounts * (np.abs(goal) - np.abs(theta))).sum())
    here, share = problem.total(theta, value), 1.0
    if not promise < 0:
        return None
    for _ in range(_MOST_TRIALS):
        place = goal if share == 1.0 else theta + share * step
        there = problem.smooth.value(place)
        if problem.total(place, there) <= here + _ENOUGH * share * promise + _ROUNDING * here:
            return place, there
        share *= 0.5
    return None


def minimise_split(problem: Penalised, theta: F64, rules: Rules) -> Outcome:
    """Search from ``theta`` with gradients only."""
    shape, size = theta.shape, theta.size
    amounts = np.broadcast_to(problem.amounts, shape).ravel()
    count, last = [0], [problem.smooth.value(theta)]

    def together(parts: F64) -> tuple[float, F64]:
        place = (parts[:size] - parts[size:]).reshape(shape)
        value = problem.smooth.value(place)
        gradient = value.gradient.ravel()
        loss = value.loss + float(amounts @ (parts[:size] + parts[size:]))
        last[0] = replace(value, loss=loss)
        return loss, np.concatenate([gradient + amounts, amounts - gradient])

    def next_one(_parts: Any) -> None:
        rules.told(count[0], last[0])
        count[0] += 1

    flat = theta.ravel()
    found = minimize(
        together,
        np.concatenate([np.maximum(flat, 0.0), np.maximum(-flat, 0.0)]),
        jac=True,
        method="L-BFGS-B",
        bounds=[(0.0, None)] * (2 * size),
        callback=next_one,
        options={
            "maxiter": rules.max_iter,
            "maxfun": 10 * rules.max_iter,
            "gtol": 0.25 * rules.tol * min(1.0, last[0].loss),
            "ftol": 0.0,
            "maxcor": _MEMORY,
        },
    )
    theta = (found.x[:size] - found.x[size:]).reshape(shape)
    value = problem.smooth.value(theta)
    met = rules.met(problem.norm(theta, value), problem.total(theta, value))
    return Outcome(theta, value, int(found.nit), met)
