"""The log potentials of pixels, held as one plane or as one plane per label."""

from __future__ import annotations

import math
from typing import Any, TypeAlias, final

import numpy as np

from credo._validation.arrays import as_floats, frozen, is_read_only
from credo.exceptions import InputError, ShapeError
from credo.graphs.grids.axes import Shape
from credo.graphs.grids.coordinates import pixel_at

#: Floats of either width.
Floats: TypeAlias = Any


@final
class OddsPlane:
    """Two labels by half their log odds h: the log potentials are -h and +h.

    Where h is infinite one label is certain: its log potential is 0 and the other's -inf.
    """

    __slots__ = ("half",)
    n_labels = 2

    def __init__(self, half: Floats) -> None:
        self.half = frozen(half)

    def __reduce__(self) -> tuple[Any, ...]:
        """Be read-only again after a way through another process."""
        return OddsPlane, (self.half,)

    @property
    def shape(self) -> Shape:
        """Give the shape of the picture."""
        return self.half.shape

    def log_potentials(self) -> Floats:
        """Make both planes."""
        both = np.stack((-self.half, self.half), axis=-1)
        if math.isinf(both.max()):
            both[np.isposinf(both)] = 0
        return frozen(both)

    def log_odds(self, rows: slice) -> Floats:
        """Double some rows of the plane."""
        with np.errstate(over="ignore"):
            return frozen(2 * self.half[rows])

    def total(self, positions: Any) -> float:
        """Sum the log potentials of labels given by their positions."""
        terms = np.where(positions, self.half, -self.half)
        if math.isinf(terms.max()):
            terms[np.isposinf(terms)] = 0
        return float(terms.sum(dtype=np.float64))


@final
class LogPlanes:
    """Any number of labels: one log potential each, on the last axis."""

    __slots__ = ("logs",)

    def __init__(self, logs: Floats) -> None:
        self.logs = frozen(logs)

    def __reduce__(self) -> tuple[Any, ...]:
        """Be read-only again after a way through another process."""
        return LogPlanes, (self.logs,)

    @property
    def shape(self) -> Shape:
        """Give the shape of the picture."""
        return self.logs.shape[:-1]

    @property
    def n_labels(self) -> int:
        """Count the labels."""
        return int(self.logs.shape[-1])

    def log_potentials(self) -> Floats:
        """Give what is held."""
        return self.logs

    def log_odds(self, rows: slice) -> Floats:
        """Subtract some rows of the first label's plane from the second's."""
        with np.errstate(over="ignore"):
            return frozen(self.logs[rows, ..., 1] - self.logs[rows, ..., 0])

    def total(self, positions: Any) -> float:
        """Sum the log potentials of labels given by their positions."""
        places = positions.astype(np.intp)[..., np.newaxis]
        return float(np.take_along_axis(self.logs, places, axis=-1).sum(dtype=np.float64))


#: The log potentials of pixels, however they are held.
Nodes: TypeAlias = OddsPlane | LogPlanes


def as_plane(half: Any, owner: str) -> OddsPlane:
    """Check half log odds: numbers, which may be infinite."""
    plane = owned_floats(half, owner, "field")
    check_picture(plane.shape, owner, "field")
    if math.isnan(plane.min()):
        pixel = first_pixel(np.isnan(plane))
        raise InputError(
            f"The field of {owner} is NaN at pixel {pixel}. Pass 0 where nothing is known."
        )
    return OddsPlane(plane)


def as_planes(logs: Any, owner: str) -> LogPlanes:
    """Check log potentials: finite or minus infinity, and one label possible at each pixel."""
    array = owned_floats(logs, owner, "log potentials")
    if array.ndim not in (3, 4) or not array.size:
        raise ShapeError(
            f"{owner} needs log potentials of shape (height, width, n_labels) or (depth, height, "
            f"width, n_labels), all at least 1. Got shape {array.shape}."
        )
    low, high = float(array.min()), float(array.max())
    if math.isnan(low) or high == math.inf:
        bad = np.argwhere(np.isnan(array) | np.isposinf(array))[0].tolist()
        raise InputError(
            f"The log potentials of {owner} must be finite or minus infinity. Got "
            f"{array[tuple(bad)]:g} at pixel {tuple(bad[:-1])}, label number {bad[-1]}."
        )
    if low == -math.inf:
        check_some_label(array.max(axis=-1), owner)
    return LogPlanes(array)


def check_some_label(top: Floats, owner: str) -> None:
    """Refuse a pixel whose largest log potential is minus infinity."""
    none = np.isneginf(top)
    if none.any():
        raise InputError(
            f"{owner}: pixel {first_pixel(none)} allows no label: all its log potentials are "
            "minus infinity."
        )


def check_picture(shape: Shape, owner: str, what: str) -> None:
    """Check that there are two or three dimensions and at least one pixel."""
    if len(shape) not in (2, 3) or not math.prod(shape):
        raise ShapeError(
            f"The {what} of {owner} must have shape (height, width) or (depth, height, width), all "
            f"at least 1. Got shape {shape}."
        )


def first_pixel(wrong: Any) -> tuple[int, ...]:
    """Name the first pixel at which something is the case."""
    return pixel_at(int(np.argmax(wrong)), wrong.shape)


def owned_floats(values: Any, owner: str, what: str) -> Floats:
    """Turn values into read-only floats that nobody else can write to; float32 stays float32.

    They are copied once, or not at all if they are read-only already.
    """
    array = floats_as_given(values, owner, what)
    made = isinstance(values, (np.ndarray, list, tuple)) and array is not values
    is_ours = (made and array.base is None) or is_read_only(array)
    if not (is_ours and array.flags.c_contiguous):
        array = np.array(array, order="C")
    return frozen(array)


def floats_as_given(values: Any, owner: str, what: str) -> Floats:
    """Turn values into an array of native float32 if they are of this type, float64 if not."""
    is_single = getattr(values, "dtype", None) == np.float32
    if is_single and not np.ma.is_masked(values):
        return np.asarray(values, dtype=np.float32)
    return as_floats(values, owner, what)
