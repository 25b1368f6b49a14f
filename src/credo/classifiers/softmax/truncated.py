"""Newton's method for many coefficients: steps by conjugate gradients, stopped early.

Directions are exact enough in single precision; gradients, which decide where it ends, are not
computed in it.
"""

from __future__ import annotations

import numpy as np

from credo._types import F64
from credo.classifiers.softmax.curvature import Curvature, KeptRows
from credo.classifiers.softmax.newton import Outcome, Rules
from credo.classifiers.softmax.objective import Objective
from credo.classifiers.softmax.search import search

#: A step may leave at most this share of the gradient, in the norm of the diagonal.
_FORCING = 0.3
#: Products per step.
_MOST_PRODUCTS = 200


def minimise_truncated(
    objective: Objective, theta: F64, rules: Rules, kept: KeptRows | None
) -> Outcome:
    """Search from ``theta`` with products only."""
    value = objective.value(theta)
    step: F64 | None = None
    earlier: float | None = None
    for iteration in range(rules.max_iter):
        rules.told(iteration, value)
        is_met = rules.met(value.norm, value.loss)
        if is_met or rules.doubt(theta, value, step):
            return Outcome(theta, value, iteration, is_met)
        curvature = Curvature(objective, theta, kept)
        size = _size(value.gradient, curvature)
        share = _FORCING if earlier is None else min(_FORCING, 0.9 * (size / earlier) ** 2)
        share = max(share, _FORCING * rules.tol * min(1.0, value.loss) / value.norm)
        earlier = size
        move = search(objective, theta, value, conjugate(curvature, -value.gradient, share))
        if move is None:
            return Outcome(theta, value, iteration, converged=False)
        step, theta, value = move.theta - theta, move.theta, move.value
    return Outcome(theta, value, rules.max_iter, rules.met(value.norm, value.loss))


def _size(gradient: F64, curvature: Curvature) -> float:
    """Measure a gradient in the norm of the inverse diagonal."""
    return float(np.sqrt((gradient**2 * _inverse(curvature.diagonal)).sum()))


def _inverse(diagonal: F64) -> F64:
    """Invert a diagonal; entries that vanish count as the least that counts."""
    floor = max(float(diagonal.max()) * 1e-12, np.finfo(np.float64).tiny)
    return 1.0 / np.maximum(diagonal, floor)


def conjugate(curvature: Curvature, right: F64, share: float) -> F64:
    """Solve H d = right until ``share`` of it is left; the diagonal of H is divided out."""
    scale = _inverse(curvature.diagonal)
    answer = np.zeros_like(right)
    rest = right.copy()
    scaled = scale * rest
    towards = scaled.copy()
    size = float((rest * scaled).sum())
    goal = share**2 * size
    for _ in range(_MOST_PRODUCTS):
        product = curvature.times(towards)
        bend = float((towards * product).sum())
        if bend <= 0:  # flat but for rounding
            return answer if answer.any() else towards
        amount = size / bend
        answer += amount * towards
        rest -= amount * product
        np.multiply(scale, rest, out=scaled)
        new_size = float((rest * scaled).sum())
        if new_size <= goal:
            break
        towards *= new_size / size
        towards += scaled
        size = new_size
    return answer
