"""Conditional probabilities: rows that sum to one."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from credo._types import F64


class Rows(NamedTuple):
    """Rows divided by their sums, and the first that is no distribution, or -1, with its sum."""

    values: F64
    fault: int
    total: float


def divided(values: F64, lengths: npt.NDArray[np.int64], tolerance: float) -> Rows:
    """Divide contiguous rows of the given lengths by their sums, if these are nearly one.

    The sum of k numbers that add up to one is off by less than k roundings, so that rows that
    were divided once are within four times that and are left alone the second time.
    """
    starts = np.cumsum(lengths) - lengths
    slack = 4 * np.finfo(np.float64).eps * lengths
    with np.errstate(invalid="ignore", over="ignore"):
        totals = np.add.reduceat(values, starts)
        gaps = np.abs(totals - 1.0)
    wrong = ~(gaps <= tolerance + slack)
    wrong |= ~(totals > 0)
    if not values.min() >= 0:
        wrong |= np.minimum.reduceat(values, starts) < 0
    if wrong.any():
        fault = int(np.argmax(wrong))
        return Rows(values, fault, float(totals[fault]))
    off = gaps > slack
    if off.any():
        values = values / np.repeat(np.where(off, totals, 1.0), lengths)
    return Rows(values, -1, 1.0)


def fault_of(
    row: F64, total: float, tolerance: float, remedy: str = ", or pass a larger tolerance"
) -> str:
    """Say what is wrong with a row, a sentence without its subject, and what to do."""
    if np.isnan(row).any():
        return "has NaN."
    if (row < 0).any():
        return f"has the negative entry {row[row < 0][0]:g}."
    if not total:
        return "is all zeros. A row of probabilities must sum to 1."
    return f"sums to {total:.9g}, not to 1 within {tolerance:g}. Mend the row{remedy}."
