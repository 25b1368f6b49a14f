"""The pixels of a grid: their names, their edges along each axis, and maps of their labels."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import product
from typing import Any, TypeAlias, final

import numpy as np
import numpy.typing as npt

from credo import _checks as check
from credo._types import F64, Labels
from credo.exceptions import InputError, LabelError

#: How many pixels an array has along each of its dimensions.
Shape: TypeAlias = tuple[int, ...]

#: The name of a pixel: (row, column), or (layer, row, column).
Pixel: TypeAlias = tuple[int, ...]

#: The step from the lower pixel of an edge to the upper one; -1, 0 or 1 in each dimension.
Axis: TypeAlias = tuple[int, ...]

#: The strength of the edges along one axis: the same for all, or one for each.
AxisStrength: TypeAlias = float | F64

#: The axes by number of dimensions and of neighbours; the first entry is the default.
_AXES: dict[int, dict[int, tuple[Axis, ...]]] = {
    2: {4: ((1, 0), (0, 1)), 8: ((1, 0), (0, 1), (1, 1), (1, -1))},
    3: {6: ((1, 0, 0), (0, 1, 0), (0, 0, 1))},
}

#: Labels that are whole numbers this near to each other are looked up in a table.
_MOST_SPAN = 2**16


@final
class Coordinates(Sequence[Pixel]):
    """The pixels of a picture in row-major order; found by arithmetic, never by searching."""

    __slots__ = ("_places", "shape")

    def __init__(self, shape: Shape) -> None:
        self.shape = shape
        self._places = range(math.prod(shape))

    def __len__(self) -> int:
        return len(self._places)

    def __getitem__(self, index: Any) -> Any:
        chosen = self._places[index]
        if isinstance(chosen, range):
            return tuple(pixel_at(place, self.shape) for place in chosen)
        return pixel_at(chosen, self.shape)

    def __iter__(self) -> Iterator[Pixel]:
        return product(*map(range, self.shape))

    def __contains__(self, item: object) -> bool:
        try:
            return self.index(item) >= 0
        except ValueError:
            return False

    def __repr__(self) -> str:
        return f"<{len(self)} pixels of {self.shape}>"

    def index(self, value: Any, start: int = 0, stop: int | None = None) -> int:
        """Return the position of a pixel, a tuple of whole numbers within the picture."""
        are_whole = isinstance(value, tuple) and all(
            isinstance(p, (int, np.integer)) for p in value
        )
        if are_whole and len(value) == len(self.shape):  # NumPy raises ValueError if it is outside
            place = int(np.ravel_multi_index(value, self.shape))
            if place in self._places[start:stop]:
                return place
        raise ValueError(f"{value!r} is not a pixel of {self.shape}")


def pixel_at(place: int, shape: Shape) -> Pixel:
    """Return the coordinates of a row-major position."""
    return tuple(map(int, np.unravel_index(place, shape)))


def first_pixel(wrong: Any) -> Pixel:
    """Return the first pixel at which something is the case."""
    return pixel_at(int(np.argmax(wrong)), wrong.shape)


# --- edges ----------------------------------------------------------------------------------------


def neighbours_in(n_dimensions: int, neighbours: Any, owner: str) -> int:
    """Check the number of neighbours of a pixel; None stands for the default."""
    known = list(_AXES[n_dimensions])
    if neighbours is None:
        return known[0]
    if isinstance(neighbours, bool) or neighbours not in known:
        raise InputError(
            f"{owner} in {n_dimensions} dimensions needs {' or '.join(map(str, known))} "
            f"neighbours. Got {neighbours!r}."
        )
    return int(neighbours)


def axes_of(n_dimensions: int, neighbours: int) -> tuple[Axis, ...]:
    """List the axes of a neighbourhood."""
    return _AXES[n_dimensions][neighbours]


def edge_shape(shape: Shape, axis: Axis) -> Shape:
    """Count the edges along an axis, dimension by dimension."""
    return tuple(size - abs(step) for size, step in zip(shape, axis, strict=True))


def lower_pixels(shape: Shape, axis: Axis) -> tuple[slice, ...]:
    """Return the slices of the pixels from which edges along an axis start."""
    return tuple(
        slice(max(0, -step), size - max(0, step)) for size, step in zip(shape, axis, strict=True)
    )


def upper_pixels(shape: Shape, axis: Axis) -> tuple[slice, ...]:
    """Return the slices of the pixels at which edges along an axis end."""
    return lower_pixels(shape, tuple(-step for step in axis))


def edge_list(shape: Shape, axis: Axis) -> npt.NDArray[np.int32]:
    """List the two pixels of each edge, as row-major positions, by the lower one; (m, 2)."""
    numbers = np.arange(math.prod(shape), dtype=np.int32).reshape(shape)
    ends = [numbers[lower_pixels(shape, axis)].ravel(), numbers[upper_pixels(shape, axis)].ravel()]
    return np.stack(ends, axis=1)


def edge_energy(
    positions: Any, axes: Sequence[Axis], strengths: Sequence[AxisStrength], units: F64
) -> float:
    """Sum the log potentials of all edges; ``units`` holds them by distance, for strength one."""
    total = 0.0
    for axis, strength in zip(axes, strengths, strict=True):
        lower = positions[lower_pixels(positions.shape, axis)]
        upper = positions[upper_pixels(positions.shape, axis)]
        if isinstance(strength, float) and (units[1:] == units[1:2]).all():  # equal, or not
            equal = np.count_nonzero(lower == upper)
            total += strength * float(equal * units[0] + (lower.size - equal) * units[1:2].sum())
            continue
        distance = np.maximum(lower, upper) - np.minimum(lower, upper)  # they are unsigned
        if isinstance(strength, float):
            counts = np.bincount(distance.ravel(), minlength=len(units))
            total += strength * float((counts * units).sum())
        else:
            total += float((strength * units[distance]).sum())
    return total


# --- maps of labels -------------------------------------------------------------------------------


def as_picture(values: Any, owner: str) -> Any:
    """Return an array of labels; in lists of several types each keeps its own."""
    if np.ma.is_masked(values):
        raise InputError(f"{owner} needs a label at every pixel. Some are masked.")
    try:
        array = np.asarray(values)
        if array.dtype.kind == "U" and isinstance(values, (list, tuple)):
            mixed = np.asarray(values, dtype=object)
            return array if all(isinstance(each, str) for each in mixed.flat) else mixed
    except ValueError as error:
        raise InputError(f"{owner} needs labels in a rectangular array. {error}.") from error
    return array


def positions_in(values: Any, labels: Labels, owner: str) -> Any:
    """Return the position of the label at each pixel, in the least unsigned integers for it."""
    unknown = len(labels)
    dtype = np.min_scalar_type(unknown)
    known = check.names_array(labels)
    kinds = known.dtype.kind, values.dtype.kind
    low, high = (int(known.min()), int(known.max())) if kinds[0] in "biu" else (0, _MOST_SPAN)
    if unknown == 2 and all(kind in "biuf" for kind in kinds):
        first, second = values == labels[0], values == labels[1]
        found = second.astype(dtype)
        if not (first | second).all():
            found[~(first | second)] = unknown
    elif high - low < _MOST_SPAN and kinds[1] in "biu":
        table = np.full(high - low + 2, unknown, dtype)
        table[known.astype(np.int64) - low] = np.arange(unknown, dtype=dtype)
        inside = (values >= low) & (values <= high)
        found = table[np.where(inside, values.astype(np.int64) - low, high - low + 1)]
    elif all(kind in "biuf" for kind in kinds) or kinds == ("U", "U"):
        order = np.argsort(known)
        places = order[np.searchsorted(known, values, sorter=order).clip(max=unknown - 1)]
        found = np.where(known[places] == values, places, unknown).astype(dtype)
    else:
        lookup = {name: i for i, name in enumerate(labels)}
        codes = (lookup.get(check.plain(value), unknown) for value in values.ravel())
        found = np.fromiter(codes, dtype=dtype, count=values.size).reshape(values.shape)
    if found.max(initial=0) == unknown:
        pixel = first_pixel(found == unknown)
        wanted = check.plain(values[pixel])
        raise LabelError(
            f"{owner} has no label {wanted!r} (pixel {pixel}). Known: {check.listing(labels)}."
            f"{check.hint(wanted, labels)}"
        )
    return found
