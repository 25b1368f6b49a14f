r"""The minimum of :math:`\frac{1}{2} u^T H u + q^T u + \sum_j \lambda_j |u_j|`, exactly.

Feature-sign search: guess the signs, solve for the entries that are not zero, and walk towards
the solution; on the way, entries that reach zero stay there if that is lowest. Each walk lowers
the objective and there are finitely many sign patterns, so it ends.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from credo._types import F64, Bool

#: Conditions hold if they do to this share of the terms that make them up.
_EXACT = 1e-11
#: Walks per entry: it takes about one to switch an entry on or off.
_WALKS = 10


def quadratic_minimum(hessian: F64, linear: F64, amounts: F64, start: F64) -> F64:
    """Search from ``start``; it need not be near."""
    u = start.copy()
    signs = np.sign(u)
    free = amounts == 0
    for _ in range(_WALKS * len(u) + 10):
        gradient = hessian @ u + linear
        scale = np.abs(hessian) @ np.abs(u) + np.abs(linear)  # a penalty is met by these
        active = (u != 0) | free
        rest = np.abs(gradient + amounts * signs)
        if (rest <= _EXACT * scale)[active].all():
            excess = np.where(active, 0.0, np.abs(gradient) - amounts - _EXACT * scale)
            worst = int(excess.argmax())
            if excess[worst] <= 0:
                return u
            active[worst] = True
            signs[worst] = -np.sign(gradient[worst])
        u = _walk(hessian, linear, amounts, u, (active, signs))
        signs = np.where(u != 0, np.sign(u), 0.0)
    return u


def _walk(hessian: F64, linear: F64, amounts: F64, u: F64, pattern: tuple[Bool, F64]) -> F64:
    """Go towards the minimum for these signs, as far as the objective falls."""
    active, signs = pattern
    goal = np.zeros_like(u)
    right = -(linear + amounts * signs)[active]
    goal[active] = _solved(hessian[np.ix_(active, active)], right)
    step = goal - u
    with np.errstate(divide="ignore", invalid="ignore"):
        crossings = np.where((u != 0) & (amounts > 0), -u / step, np.inf)
    stops = crossings[(crossings > 0) & (crossings < 1)]
    shares = np.append(np.sort(stops), 1.0)
    slope, bend = float(linear @ step + u @ hessian @ step), float(step @ hessian @ step)
    values = [
        share * slope + 0.5 * share**2 * bend + float(amounts @ np.abs(u + share * step))
        for share in shares
    ]
    best = shares[int(np.argmin(values))]
    place: F64 = u + best * step if best < 1 else goal
    place[crossings == best] = 0.0
    return place


def _solved(matrix: F64, right: F64) -> F64:
    """Solve a positive definite system, or the nearest to it."""
    try:
        answer: F64 = cho_solve(cho_factor(matrix, check_finite=False), right, check_finite=False)
    except LinAlgError:
        return np.asarray(np.linalg.lstsq(matrix, right, rcond=None)[0], dtype=np.float64)
    return answer
