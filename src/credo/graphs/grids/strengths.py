"""Strengths of edges: one number, one per axis, or one per edge."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np

from credo._types import F64
from credo._validation.arrays import as_finite, as_number, frozen
from credo._validation.labels import listing
from credo.exceptions import InputError, ShapeError
from credo.graphs.grids.axes import Axis, Shape, edge_shape

#: The strength along one axis: the same for all its edges, or one for each.
AxisStrength: TypeAlias = float | F64

#: One strength for all edges, or one entry per axis.
Strength: TypeAlias = float | tuple[AxisStrength, ...]


def as_strength(given: Any, owner: str, what: str, *, least: float = -np.inf) -> Strength:
    """Check a number, or one number or array per axis; arrays are copied and read-only."""
    if _is_single(given):
        return _at_least(as_number(given, owner, what), least, owner, what)
    if not len(given):
        raise InputError(f"The {what} of {owner} needs one entry per axis. Got none.")
    return tuple(_entry(entry, least, owner, what) for entry in given)


def _is_single(given: Any) -> bool:
    """Tell one value from a sequence with an entry per axis."""
    is_array = isinstance(given, np.ndarray) and given.ndim > 0
    return not (is_array or (isinstance(given, Sequence) and not isinstance(given, str)))


def _entry(entry: Any, least: float, owner: str, what: str) -> AxisStrength:
    """Check what is given for one axis."""
    array = as_finite(entry, owner, what)
    if not array.ndim:
        return _at_least(float(array), least, owner, what)
    if array.size:
        _at_least(float(array.min()), least, owner, what)
    copied: F64 = frozen(np.array(array, order="C"))
    return copied


def _at_least(number: float, least: float, owner: str, what: str) -> float:
    """Refuse a number below the least."""
    if number < least:
        raise InputError(f"The {what} of {owner} must be at least {least:g}. Got {number:g}.")
    return number


def strengths_on(
    strength: Strength, shape: Shape, axes: Sequence[Axis], owner: str
) -> tuple[AxisStrength, ...]:
    """Give the strength along each axis of a picture; arrays must have an entry per edge."""
    if isinstance(strength, float):
        return (strength,) * len(axes)
    if len(strength) != len(axes):
        raise ShapeError(
            f"{owner} needs one number, or one entry for each of the {len(axes)} axes "
            f"{listing(axes)}. Got {len(strength)}."
        )
    for entry, axis in zip(strength, axes, strict=True):
        wanted = edge_shape(shape, axis)
        if not isinstance(entry, float) and entry.shape != wanted:
            shapes = ", ".join(f"{edge_shape(shape, each)} along {each}" for each in axes)
            raise ShapeError(
                f"{owner} needs one number per edge of a picture of shape {shape}: arrays of shape "
                f"{shapes}. Got shape {entry.shape} along {axis}."
            )
    return strength
