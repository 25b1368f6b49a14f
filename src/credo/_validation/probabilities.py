"""Probabilities: rows that sum to one, priors by name, weights."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from credo._types import F64, Int, Labels
from credo._validation.arrays import as_finite, as_floats
from credo._validation.labels import order_of, plain
from credo.exceptions import InputError, ShapeError

#: A row may miss one by half a unit in the sixth decimal for each entry: that is what rounding
#: to six decimals can do. More is a mistake, not rounding.
ROUNDING_PER_ENTRY = 0.5e-6
#: However many entries there are, a row that misses one by more is no distribution.
MOST_ROUNDING = 1e-5

#: Bytes worked on at once: what stays in a core's own cache, and what a large input needs beyond
#: itself and the answer.
BLOCK_BYTES = 3 * 2**19


def block_rows(n_columns: int) -> int:
    """Tell how many rows of so many float64 numbers are worked on at once."""
    return max(1, BLOCK_BYTES // (8 * n_columns))


def blocks(n_rows: int, size: int) -> Iterator[slice]:
    """Cut ``n_rows`` into slices of at most ``size`` rows."""
    for start in range(0, n_rows, size):
        yield slice(start, min(start + size, n_rows))


def tolerance(n_entries: int) -> float:
    """Tell how far from one the sum of ``n_entries`` rounded probabilities may be."""
    return min(ROUNDING_PER_ENTRY * n_entries, MOST_ROUNDING)


def wrong_rows(totals: F64, n_entries: int) -> Int:
    """Give the indices of totals that are not one; NaN counts as not one."""
    return np.flatnonzero(~(np.abs(totals - 1.0) <= tolerance(n_entries)))


def check_rows(
    p: F64, owner: str, remedy: str = "", *, normalise: bool = False, first_row: int | None = 0
) -> None:
    """Check that each row of the 2-D ``p`` is a distribution; name the first that is not.

    ``first_row`` is what the first row is called in messages; None for a single distribution.
    ``remedy`` is what to do about a sum that is not one.
    """
    row = first_wrong_row(p, normalise=normalise)
    if row is None:
        return
    where = "it" if first_row is None else f"row {first_row + row}"
    advice = f" {remedy}" if remedy and np.isfinite(p[row]).all() and (p[row] >= 0).all() else ""
    raise InputError(f"{owner}: {where} {row_fault(p[row], normalise=normalise)}.{advice}")


def first_wrong_row(p: F64, *, normalise: bool = False) -> int | None:
    """Find the first row of the 2-D ``p`` that is no distribution, or no weights to normalise."""
    for block in blocks(len(p), block_rows(p.shape[1])):
        part = p[block]
        totals = part @ np.ones(p.shape[1])
        bad = (
            np.flatnonzero(~((totals > 0) & (totals < np.inf)))
            if normalise
            else wrong_rows(totals, p.shape[1])
        )
        if bad.size or part.min(initial=0.0) < 0:
            negative = np.flatnonzero((part < 0).any(axis=1))
            return int(block.start + min([*bad[:1], *negative[:1]]))
    return None


def row_fault(row: F64, *, normalise: bool = False) -> str:
    """Say what is wrong with one row of probabilities: a sentence without subject and stop."""
    if np.isnan(row).any():
        return f"has NaN at position {int(np.argmax(np.isnan(row)))}"
    if (row < 0).any():
        k = int(np.argmax(row < 0))
        return f"has the negative entry {row[k]:g} at position {k}"
    goal = "to a positive number" if normalise else "to 1"
    return f"sums to {row.sum():.9g}, not {goal}"


def as_rows(p: Any, labels: Labels, owner: str, *, normalise: bool = False) -> F64:
    """Turn ``p`` into checked probabilities of shape (K,) or (n, K); they are not rescaled."""
    array = as_floats(p, owner, "probabilities")
    check_width(array, labels, owner)
    check_rows(
        np.atleast_2d(array),
        owner,
        "" if normalise else "Pass normalise=True if these are weights.",
        normalise=normalise,
        first_row=None if array.ndim == 1 else 0,
    )
    return array


def check_width(array: F64, labels: Labels, owner: str) -> None:
    """Check for one column per label."""
    if array.ndim not in (1, 2) or array.shape[-1] != len(labels):
        raise ShapeError(
            f"{owner} needs shape (K,) or (n, K) with K = {len(labels)}, one column per label. "
            f"Got shape {array.shape}."
        )


def as_priors(priors: Any, labels: Labels, owner: str, what: str = "priors") -> F64:
    """Turn priors by name or in label order into a distribution that sums to one exactly."""
    values = per_label(priors, labels, owner, what)
    if values.min() < 0 or wrong_rows(np.array([values.sum()]), len(labels)).size:
        raise InputError(
            f"The {what} of {owner} must be at least 0 and sum to 1. Got {values.tolist()}, which "
            f"sums to {values.sum():.9g}."
        )
    result: F64 = values / values.sum()
    return result


def per_label(values: Any, labels: Labels, owner: str, what: str) -> F64:
    """Turn one number per label, by name or in order, into an array in label order."""
    if isinstance(values, Mapping):
        names = tuple(plain(name) for name in values)
        order = order_of(labels, names, owner, f"the {what}")
        return as_finite(list(values.values()), owner, what)[order]
    array = as_finite(values, owner, what)
    if array.shape != (len(labels),):
        raise ShapeError(
            f"The {what} of {owner} must be {len(labels)} numbers, one per label. "
            f"Got shape {array.shape}."
        )
    return array


def as_weights(weights: Any, n_rows: int, owner: str) -> F64:
    """Turn sample weights into non-negative numbers with a positive sum; None means ones."""
    if weights is None:
        return np.ones(n_rows)
    array = as_finite(weights, owner, "sample weights")
    if array.shape != (n_rows,):
        raise ShapeError(
            f"{owner} needs one sample weight per row, {n_rows}. Got shape {array.shape}."
        )
    if array.min(initial=0.0) < 0 or not array.sum() > 0:
        raise InputError(f"The sample weights of {owner} must be at least 0 and not all 0.")
    return array
