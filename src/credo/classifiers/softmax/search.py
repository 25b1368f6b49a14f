"""How far to go along a direction, judged by slopes where losses differ by rounding only."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from credo._types import F64
from credo.classifiers.softmax.objective import Objective, Value

#: Share of the decrease that the slope promises which is enough.
_ENOUGH = 1e-4
#: Sums of positive losses in blocks are right to about this share.
_ROUNDING = 1e-14
#: Near the minimum, a slope that falls to this share in size is progress.
_FLATTER = 0.9
_MOST_TRIALS = 40


@dataclass(frozen=True, slots=True)
class Move:
    """A place that is better."""

    theta: F64
    value: Value


def search(objective: Objective, theta: F64, value: Value, step: F64) -> Move | None:
    """Go along ``step``, all of it if that is progress; None if no part of it is."""
    slope = float((value.gradient * step).sum())
    if not slope < 0:
        return None
    share = 1.0
    for _ in range(_MOST_TRIALS):
        place = theta + share * step
        there = objective.value(place)
        if np.isfinite(there.loss):
            new_slope = float((there.gradient * step).sum())
            gain = value.loss - there.loss
            flatter = abs(new_slope) <= _FLATTER * -slope
            if gain >= -_ENOUGH * share * slope or (flatter and gain >= -_noise(value)):
                return Move(place, there)
            share *= _shrink(slope, new_slope)
        else:
            share *= 0.1
    return None


def _noise(value: Value) -> float:
    """Tell how far a loss may be off."""
    return _ROUNDING * abs(value.loss)


def _shrink(slope: float, new_slope: float) -> float:
    """Give the zero of the slope if it were linear, kept away from both ends."""
    if new_slope <= 0:
        return 0.5
    return float(np.clip(slope / (slope - new_slope), 0.1, 0.5))
