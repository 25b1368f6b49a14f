"""Minimise a smooth convex function, the same way under any number of threads.

SciPy's L-BFGS-B takes inner products from a linear algebra library whose sums depend on threads.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from credo._types import F64
from credo.inference.certificates.dual import Evaluation

#: Pairs of steps and changes of slope that are remembered, as in most implementations.
_MEMORY = 10
#: A step must gain this share of what the slope promises (Armijo), or it is halved, so many times.
_GAIN, _HALVINGS = 1e-4, 20


def minimised(
    evaluate: Callable[[F64], Evaluation], start: Evaluation, steps: int, tolerance: float
) -> Evaluation:
    """Follow limited-memory BFGS directions until the slope is at the tolerance, or steps run out.

    References
    ----------
    .. [1] J. Nocedal and S. J. Wright, *Numerical Optimization*, 2nd ed., 2006, algorithm 7.4.
    """
    memory: deque[tuple[F64, F64, float]] = deque(maxlen=_MEMORY)
    now = start
    for _ in range(steps):
        if now.residual <= tolerance:
            break
        step = _direction(now.slope, memory)
        found = _searched(evaluate, now, step)
        if found is None:
            break
        moved, turned = found.shift - now.shift, found.slope - now.slope
        curvature = _dot(moved, turned)
        if curvature > 0:
            memory.append((moved, turned, curvature))
        now = found
    return now


def _searched(
    evaluate: Callable[[F64], Evaluation], now: Evaluation, step: F64
) -> Evaluation | None:
    """Halve a step until it gains enough; None if it never does."""
    promise = _dot(now.slope, step)
    size = 1.0
    for _ in range(_HALVINGS):
        found = evaluate(now.shift + size * step)
        if found.value <= now.value + _GAIN * size * promise:
            return found
        size *= 0.5
    return None


def _direction(slope: F64, memory: deque[tuple[F64, F64, float]]) -> F64:
    """Multiply the slope by the remembered inverse curvature, downhill."""
    step = -slope
    shares = []
    for moved, turned, curvature in reversed(memory):
        share = _dot(moved, step) / curvature
        shares.append(share)
        step = step - share * turned
    if memory:
        _, turned, curvature = memory[-1]
        step = step * (curvature / _dot(turned, turned))
    for (moved, turned, curvature), share in zip(memory, reversed(shares), strict=True):
        step = step + (share - _dot(turned, step) / curvature) * moved
    return step


def _dot(a: F64, b: F64) -> float:
    """Multiply and sum, in an order that does not depend on threads."""
    return float((a * b).sum())
