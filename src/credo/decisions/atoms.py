"""Weighted points on the line: sorted, and the interval that holds most of them."""

from __future__ import annotations

import numpy as np

from credo._types import F64
from credo.decisions.value_numbers import rounding

_EPS = float(np.finfo(np.float64).eps)


def sorted_atoms(x: F64, w: F64) -> tuple[F64, F64]:
    """Give the draws that have weight, sorted, and their weights."""
    here = w > 0
    order = np.argsort(x[here], kind="stable")
    return x[here][order], w[here][order]


def heaviest_window(atoms: F64, masses: F64, width: float) -> tuple[float, float]:
    """Give the middle of the heaviest interval of sorted atoms, and the mass outside it."""
    if width == 0:
        return _heaviest(atoms, masses)
    reach = atoms + width
    stop = np.searchsorted(atoms, reach + rounding(atoms, reach), side="right")
    total = np.r_[0.0, np.cumsum(masses)]
    inside = total[stop] - total[:-1]
    start = int(np.argmax(inside >= inside.max() - len(atoms) * _EPS))
    middle = 0.5 * atoms[start] + 0.5 * atoms[stop[start] - 1]
    outside = masses[:start].sum() + masses[stop[start] :].sum()
    return float(middle), float(outside)


def _heaviest(atoms: F64, masses: F64) -> tuple[float, float]:
    """Give the first value with the largest mass, and the mass of the others."""
    values, index, counts = np.unique(atoms, return_inverse=True, return_counts=True)
    sums = np.bincount(index, weights=masses)
    best = int(np.argmax(sums >= sums.max() * (1 - counts.max() * _EPS)))
    return float(values[best]), float(masses[index != best].sum())
