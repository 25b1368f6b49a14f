"""Data that determine no estimate: refused by name of the place."""

from __future__ import annotations

import numpy as np

from credo._types import F64, Bool
from credo.exceptions import InputError

#: A spread below this many units in the last place of the mean is the values' own rounding.
ROUNDING = 64 * float(np.finfo(np.float64).eps)


def place(wrong: Bool) -> str:
    """Say where the first wrong entry of a summary is; nothing if there is only one entry."""
    first = [int(i) for i in np.argwhere(wrong)[0]]
    return f" at index {first} (groups come first, if there are any)" if first else ""


def refuse_empty(owner: str, weight: F64) -> None:
    """Refuse a summary in which some entry has seen nothing."""
    empty = ~(weight > 0)
    if empty.any():
        raise InputError(
            f"{owner}: the total weight is 0{place(empty)}. At least one observed row of positive "
            "weight is needed."
        )


def refuse_constant(owner: str, constant: Bool, what: str) -> None:
    """Refuse a summary in which some entry has seen one value only."""
    if constant.any():
        raise InputError(
            f"{owner}: all values{place(constant)} are equal, up to rounding, so that {what}. "
            "Drop that column, or add rows."
        )
