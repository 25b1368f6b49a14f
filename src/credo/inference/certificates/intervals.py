"""Intervals that hold log Z for certain, and probabilities from them."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import logsumexp

from credo._types import F64
from credo.inference.certificates.ascent import Effort
from credo.inference.certificates.dual import EPS
from credo.inference.certificates.mean_field import independent_ascent
from credo.inference.certificates.reduction import Reduced
from credo.inference.certificates.structured import block_ascent
from credo.inference.certificates.tree_reweighted import bound_above
from credo.inference.loopy.options import Options


@dataclass(frozen=True, slots=True)
class Interval:
    """Bounds on log Z, and what each was found by."""

    lower: float
    upper: float
    lower_by: str
    upper_by: str


@dataclass(frozen=True, slots=True, eq=False)
class Methods:
    """How hard to try."""

    rounds: int
    options: Options
    effort: Effort


def interval(reduced: Reduced, methods: Methods) -> Interval:
    """Bound the log of the sum over a reduced problem from both sides."""
    if not reduced.is_possible:
        return Interval(-np.inf, -np.inf, "arc consistency", "arc consistency")
    above = bound_above(reduced, methods.options, methods.rounds)
    if above.status == "EXACT":
        low, high = above.log_z - above.rounding, above.log_z + above.rounding
        return Interval(low, high, "exact forest", "exact forest")
    guide = above.marginals
    alone = independent_ascent(reduced, guide, methods.effort)
    blocks = block_ascent(reduced, guide, methods.effort, alone)
    lower = [(-np.inf, "nothing")]
    lower += [] if alone is None else [(alone.log_z, "mean field")]
    lower += [] if blocks is None else [(blocks.log_z, "structured mean field")]
    upper = [(above.log_z, "tree-reweighted"), (_maxima(reduced), "maxima of factors")]
    return Interval(*_turned(max(lower), min(upper)))


def _turned(low: tuple[float, str], high: tuple[float, str]) -> tuple[float, float, str, str]:
    """Put values before names."""
    return low[0], high[0], low[1], high[1]


def _maxima(reduced: Reduced) -> float:
    """Bound every factor of several variables by its largest cell, which is one."""
    parts = [
        float(logsumexp(reduced.unary[first:stop]))
        for first, stop in zip(reduced.state_start[:-1], reduced.state_start[1:], strict=True)
    ]
    value = reduced.constant + float(np.sum(parts))
    sizes = float(np.abs(reduced.unary).sum()) + len(reduced.unary) + abs(value)
    return value + EPS * (reduced.wear + 4.0 * sizes * (1.0 + math.log2(1.0 + len(parts))))


def probabilities(lower: F64, upper: F64) -> F64:
    """Turn bounds on the log of each state's sum into bounds on its probability.

    A state is least probable where its own sum is least and the others' are greatest.
    """
    n = len(lower)
    result = np.zeros((n, 2))
    possible = np.flatnonzero(upper > -np.inf)
    if len(possible) == 1:
        result[possible] = 1.0
        return result
    for s in possible:
        for side, (own, others) in enumerate(((lower, upper), (upper, lower))):
            terms = others.copy()
            terms[s] = own[s]
            if own[s] > -np.inf:
                result[s, side] = np.exp(own[s] - logsumexp(terms))
    sizes = np.concatenate([lower[lower > -np.inf], upper[possible]])
    off = EPS * (4.0 * float(np.abs(sizes).max()) + 8.0 * n)
    return np.asarray(np.clip(result * np.array([1.0 - off, 1.0 + off]), 0.0, 1.0))
