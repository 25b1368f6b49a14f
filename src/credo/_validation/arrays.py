"""Numbers of rooms that name the owner of an argument apart; see ``credo._checks``."""

from __future__ import annotations

from typing import Any

import numpy as np

from credo import _checks as check
from credo._types import F64, RandomState

frozen = check.frozen
is_read_only = check.is_read_only


def as_floats(values: Any, owner: str, what: str) -> F64:
    """Return a float64 array of ``values``."""
    return check.floats(values, f"{what} of {owner}")


def as_finite(values: Any, owner: str, what: str) -> F64:
    """Return a finite float64 array of ``values``."""
    return check.finite(values, f"{what} of {owner}")


def as_vector(values: Any, owner: str, what: str) -> F64:
    """Return a finite 1-D array with at least one entry."""
    return check.vector(values, f"{what} of {owner}")


def as_number(value: Any, owner: str, what: str) -> float:
    """Return one finite number."""
    return check.number(value, f"{what} of {owner}")


def in_unit_interval(value: float, owner: str, what: str, *, open_ends: bool = False) -> float:
    """Return a number between zero and one; with ``open_ends``, strictly between."""
    whole = f"{what} of {owner}"
    return check.level(value, whole) if open_ends else check.number(value, whole, 0, 1)


def generator(random_state: RandomState, owner: str) -> np.random.Generator:
    """Return a random generator made from a seed, or the generator given."""
    return check.generator(random_state, f"random_state of {owner}")


def positive_int(value: int, owner: str, what: str, least: int = 1) -> int:
    """Return a whole number that is at least ``least``."""
    return check.count(value, f"{what} of {owner}", least)
