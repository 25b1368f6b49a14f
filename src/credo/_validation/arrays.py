"""Numbers: finite float64 arrays, or an error that names the place."""

from __future__ import annotations

from typing import Any

import numpy as np

from credo._types import F64, RandomState
from credo.exceptions import InputError, ShapeError


def as_floats(values: Any, owner: str, what: str) -> F64:
    """Turn ``values`` into a float64 array, or say what they were."""
    try:
        if np.ma.is_masked(values):
            raise TypeError("Some are masked")  # noqa: TRY301 - NumPy would show what is behind
        if np.asarray(values).dtype.kind == "c":
            raise TypeError("They are complex")  # noqa: TRY301 - NumPy would drop a part of them
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(
            f"The {what} of {owner} must be numbers in a rectangular array. {error}."
        ) from error


def as_finite(values: Any, owner: str, what: str) -> F64:
    """Turn ``values`` into a finite float64 array; name the first entry that is not."""
    array = as_floats(values, owner, what)
    bad = ~np.isfinite(array)
    if bad.any():
        where = tuple(int(i) for i in np.argwhere(bad)[0])
        raise InputError(
            f"The {what} of {owner} must be finite. Got {array[where]} at index {list(where)}."
        )
    return array


def as_vector(values: Any, owner: str, what: str) -> F64:
    """Turn ``values`` into a finite 1-D array with at least one entry."""
    array = np.atleast_1d(as_finite(values, owner, what))
    if array.ndim != 1 or not array.size:
        raise ShapeError(
            f"The {what} of {owner} must be 1-D with at least one entry. Got shape {array.shape}."
        )
    return array


def as_number(value: Any, owner: str, what: str) -> float:
    """Turn ``value`` into one finite number."""
    try:
        number = np.asarray(value, np.float64)
    except (TypeError, ValueError):
        raise InputError(f"The {what} of {owner} must be a number. Got {value!r}.") from None
    if number.ndim:
        raise ShapeError(f"The {what} of {owner} must be one number. Got shape {number.shape}.")
    if not np.isfinite(number):
        raise InputError(f"The {what} of {owner} must be finite. Got {number}.")
    return float(number)


def frozen(array: Any) -> Any:
    """Mark an array as read-only and return it."""
    array.flags.writeable = False
    return array


def is_read_only(array: Any) -> bool:
    """Tell whether neither the array nor what it is a view of can be written to."""
    while isinstance(array, np.ndarray):
        if array.flags.writeable:
            return False
        array = array.base
    return True


def in_unit_interval(value: float, owner: str, what: str, *, open_ends: bool = False) -> float:
    """Check a number between zero and one; with ``open_ends``, strictly between."""
    number = as_number(value, owner, what)
    inside = 0 < number < 1 if open_ends else 0 <= number <= 1
    if not inside:
        kind = "strictly between 0 and 1" if open_ends else "between 0 and 1"
        raise InputError(f"The {what} of {owner} must be {kind}. Got {number:g}.")
    return number


def generator(random_state: RandomState, owner: str) -> np.random.Generator:
    """Make a random generator from a seed, or take the one given."""
    try:
        return np.random.default_rng(random_state)
    except (TypeError, ValueError) as error:
        raise InputError(
            f"The random_state of {owner} must be a seed or a generator. {error}."
        ) from error


def positive_int(value: int, owner: str, what: str, least: int = 1) -> int:
    """Check a whole number that is at least ``least``."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < least:
        raise InputError(
            f"The {what} of {owner} must be a whole number, at least {least}. Got {value!r}."
        )
    return int(value)
