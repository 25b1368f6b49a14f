"""The energy of a map of labels: the log of its unnormalised probability."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from credo._types import F64
from credo.graphs.grids.axes import Axis, lower_pixels, upper_pixels
from credo.graphs.grids.strengths import AxisStrength


def edge_energy(
    positions: Any, axes: Sequence[Axis], strengths: Sequence[AxisStrength], units: F64
) -> float:
    """Sum the log potentials of all edges; ``units`` holds them by distance, for strength one."""
    total = 0.0
    for axis, strength in zip(axes, strengths, strict=True):
        lower = positions[lower_pixels(positions.shape, axis)]
        upper = positions[upper_pixels(positions.shape, axis)]
        if isinstance(strength, float):
            total += strength * float((_counts(lower, upper, units) * units).sum())
        else:
            total += float((strength * units[_distances(lower, upper)]).sum())
    return total


def _counts(lower: Any, upper: Any, units: F64) -> Any:
    """Count the edges by distance; if all unequal labels are alike, those at distance one."""
    if (units[1:] != units[1:2]).any():
        return np.bincount(_distances(lower, upper).ravel(), minlength=len(units))
    counts = np.zeros(len(units))
    counts[0] = np.count_nonzero(lower == upper)
    counts[1:2] = lower.size - counts[0]
    return counts


def _distances(lower: Any, upper: Any) -> Any:
    """Give how far apart the positions are; they are unsigned."""
    return np.maximum(lower, upper) - np.minimum(lower, upper)
