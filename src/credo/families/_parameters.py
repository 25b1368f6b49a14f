"""Parameters at the door: positive, broadcast together, or distributions."""

from __future__ import annotations

from typing import Any

import numpy as np

from credo._types import F64
from credo._validation.arrays import as_finite, as_floats, frozen
from credo._validation.probabilities import check_rows
from credo.exceptions import InputError, ShapeError

#: The largest parameter, value or weight, and one over the least parameter: a product of three
#: of them, such as a weight times a square, is still a number.
MOST = 1e100


def positive(values: Any, owner: str, what: str) -> F64:
    """Check parameters that must be positive, and moderate enough for their squares."""
    array = as_finite(values, owner, what)
    if (array <= 0).any():
        raise InputError(f"The {what} of {owner} must be positive. Got {array.min():g}.")
    if array.max(initial=1.0) > MOST or array.min(initial=1.0) < 1 / MOST:
        raise InputError(
            f"The {what} of {owner} must be between {1 / MOST:g} and {MOST:g}, so that squares are "
            "numbers. Rescale the unit."
        )
    return array


def together(owner: str, **parameters: F64) -> tuple[F64, ...]:
    """Broadcast parameters against each other and make read-only copies."""
    try:
        wide = np.broadcast_arrays(*parameters.values())
    except ValueError:
        shapes = " and ".join(f"{what} {array.shape}" for what, array in parameters.items())
        raise ShapeError(f"{owner}: {shapes} do not fit together.") from None
    return tuple(frozen(array.copy()) for array in wide)


def probabilities(values: Any, owner: str, what: str = "probability") -> F64:
    """Check numbers between zero and one."""
    array = as_finite(values, owner, what)
    if ((array < 0) | (array > 1)).any():
        wrong = array[(array < 0) | (array > 1)][0]
        raise InputError(f"The {what} of {owner} must be between 0 and 1. Got {wrong:g}.")
    return array


def distributions(values: Any, owner: str, what: str = "probabilities") -> F64:
    """Check distributions on the last axis, and rescale them to sum to one."""
    array = as_floats(values, owner, what)
    if array.ndim < 1 or not array.shape[-1]:
        raise ShapeError(
            f"The {what} of {owner} need a last axis, one entry per category. "
            f"Got shape {array.shape}."
        )
    flat = array.reshape(-1, array.shape[-1])
    check_rows(flat, f"{owner}, {what}", first_row=None if array.ndim == 1 else 0)
    return array / array.sum(axis=-1, keepdims=True)
