"""Probabilities: rows that sum to one, priors by name, weights."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from credo._types import F64, Int, Labels
from credo._validation.arrays import as_finite, as_floats
from credo._validation.labels import order_of, plain
from credo.exceptions import InputError, ShapeError

#: Rounding to six decimals moves an entry by at most this.
_SIXTH_DECIMAL = 0.5e-6

#: The largest sample weight, and one over the least.
_MOST_WEIGHT = 1e100

#: Bytes worked on at once: what stays in a core's own cache, and what a large input needs beyond
#: itself and the answer.
BLOCK_BYTES = 3 * 2**20


def block_rows(n_columns: int) -> int:
    """Tell how many rows of so many float64 numbers are worked on at once."""
    return max(1, BLOCK_BYTES // (8 * n_columns))


def blocks(n_rows: int, size: int) -> Iterator[slice]:
    """Cut ``n_rows`` into slices of at most ``size`` rows."""
    for start in range(0, n_rows, size):
        yield slice(start, min(start + size, n_rows))


def tolerance(n_entries: int) -> float:
    """Tell how far from one the sum of ``n_entries`` probabilities of six decimals may be.

    At worst K times half a unit; but K independent roundings, each with standard deviation
    half a unit / √3, add up like √K, and nine of their standard deviations never happen.
    """
    return _SIXTH_DECIMAL * min(n_entries, 9 * math.sqrt(n_entries / 3))


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
    raise InputError(f"{owner}: {where} {row_fault(p[row], remedy, normalise=normalise)}")


def first_wrong_row(p: F64, *, normalise: bool = False) -> int | None:
    """Find the first row of the 2-D ``p`` that is no distribution, or no weights to normalise."""
    for block in blocks(len(p), block_rows(p.shape[1])):
        part = p[block]
        with np.errstate(over="ignore", invalid="ignore"):
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


def row_fault(
    row: F64, remedy: str = "", *, normalise: bool = False, names: Labels | None = None
) -> str:
    """Say what is wrong with one row, a sentence without its subject, and the remedy for a sum."""

    def place(wrong: Any) -> str:
        k = int(np.argmax(wrong))
        return f"at position {k}" if names is None else f"in column {names[k]!r}"

    if np.isnan(row).any():
        return f"has NaN {place(np.isnan(row))}."
    if (row < 0).any():
        return f"has the negative entry {row[row < 0][0]:g} {place(row < 0)}."
    goal = "to a positive, finite number" if normalise else "to 1"
    with np.errstate(over="ignore"):
        return f"sums to {row.sum():.9g}, not {goal}. {remedy}".rstrip()


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


def by_name(values: Any, labels: Labels = ()) -> Mapping[Any, Any] | None:
    """Give values that come with names as a mapping: a mapping itself, or a pandas Series.

    A Series numbered from zero is in order and has no names, unless the labels are these numbers.
    """
    if isinstance(values, Mapping):
        return values
    if not (hasattr(values, "items") and hasattr(values, "index")):
        return None
    named = dict(values.items())
    numbers = set(range(len(named)))
    return None if set(named) == numbers and set(labels) != numbers else named


def per_label(values: Any, labels: Labels, owner: str, what: str) -> F64:
    """Turn one number per label, by name or in order, into an array in label order."""
    named = by_name(values, labels)
    if named is not None:
        names = tuple(plain(name) for name in named)
        order = order_of(labels, names, owner, f"the {what}")
        return as_finite(list(named.values()), owner, what)[order]
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
    if array.min(initial=0.0) < 0 or not array.max(initial=0.0) > 0:
        raise InputError(f"The sample weights of {owner} must be at least zero and not all zero.")
    some = array[array > 0]
    if some.max() > _MOST_WEIGHT or some.min() < 1 / _MOST_WEIGHT:
        raise InputError(
            f"The sample weights of {owner} must be 0 or between {1 / _MOST_WEIGHT:g} and "
            f"{_MOST_WEIGHT:g}, so that their squares are numbers. Rescale them."
        )
    return array
