"""The pixels of a grid: their names, their edges along each axis, and maps of their labels."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import product
from typing import Any, TypeAlias, final, overload

import numpy as np
import numpy.typing as npt

from credo._types import F64, Labels
from credo._validation.labels import hint, listing, names_in, plain
from credo.exceptions import InputError, LabelError, ShapeError

#: How many pixels an array has along each of its dimensions.
Shape: TypeAlias = tuple[int, ...]

#: The step from the lower pixel of an edge to the upper one; -1, 0 or 1 in each dimension.
Axis: TypeAlias = tuple[int, ...]

#: The strength of the edges along one axis: the same for all, or one for each.
AxisStrength: TypeAlias = float | F64

#: The axes by number of dimensions and of neighbours; the first entry is the default.
_AXES: dict[int, dict[int, tuple[Axis, ...]]] = {
    2: {
        4: ((1, 0), (0, 1)),
        8: ((1, 0), (0, 1), (1, 1), (1, -1)),
    },
    3: {6: ((1, 0, 0), (0, 1, 0), (0, 0, 1))},
}


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
    """Give the slices of the pixels from which edges along an axis start."""
    return tuple(
        slice(max(0, -step), size - max(0, step)) for size, step in zip(shape, axis, strict=True)
    )


def upper_pixels(shape: Shape, axis: Axis) -> tuple[slice, ...]:
    """Give the slices of the pixels at which edges along an axis end."""
    return lower_pixels(shape, tuple(-step for step in axis))


def edge_list(shape: Shape, axis: Axis) -> npt.NDArray[np.int32]:
    """List the two pixels of each edge, as row-major positions, by the lower one; (m, 2)."""
    numbers = np.arange(math.prod(shape), dtype=np.int32).reshape(shape)
    ends = [numbers[lower_pixels(shape, axis)].ravel(), numbers[upper_pixels(shape, axis)].ravel()]
    return np.stack(ends, axis=1)


#: The name of a pixel: (row, column), or (layer, row, column).
Pixel = tuple[int, ...]


@final
class Coordinates(Sequence[Pixel]):
    """The pixels of a picture in row-major order; found by arithmetic, never by searching."""

    __slots__ = ("_chosen", "shape")

    def __init__(self, shape: Shape, chosen: range | None = None) -> None:
        self.shape = shape
        self._chosen = range(math.prod(shape)) if chosen is None else chosen

    def __len__(self) -> int:
        return len(self._chosen)

    @overload
    def __getitem__(self, index: int) -> Pixel: ...
    @overload
    def __getitem__(self, index: slice) -> Coordinates: ...
    def __getitem__(self, index: int | slice) -> Pixel | Coordinates:
        chosen = self._chosen[index]
        if isinstance(chosen, range):
            return Coordinates(self.shape, chosen)
        return pixel_at(chosen, self.shape)

    def __iter__(self) -> Iterator[Pixel]:
        if len(self) == math.prod(self.shape) and self._chosen.step == 1:
            return product(*map(range, self.shape))
        return (pixel_at(place, self.shape) for place in self._chosen)

    def __contains__(self, item: object) -> bool:
        try:
            return self.index(item) >= 0
        except ValueError:
            return False

    def __repr__(self) -> str:
        return f"<{len(self)} pixels of {self.shape}>"

    def index(self, value: Any, start: int = 0, stop: int | None = None) -> int:
        """Find the position of a pixel."""
        if not self._is_inside(value):
            raise ValueError(f"{value!r} is no pixel of {self.shape}")
        place = 0
        for part, size in zip(value, self.shape, strict=True):
            place = place * size + int(part)
        found = self._chosen.index(place)
        if found not in range(len(self))[start:stop]:
            raise ValueError(f"{value!r} is not there")
        return found

    def _is_inside(self, value: Any) -> bool:
        """Tell whether a value is a tuple of whole numbers within the picture."""
        if not isinstance(value, tuple) or len(value) != len(self.shape):
            return False
        parts = zip(value, self.shape, strict=True)
        return all(isinstance(part, (int, np.integer)) and 0 <= part < size for part, size in parts)


def pixel_at(place: int, shape: Shape) -> Pixel:
    """Give the coordinates of a row-major position."""
    parts = []
    for size in reversed(shape):
        place, part = divmod(place, size)
        parts.append(part)
    return tuple(reversed(parts))


#: Labels that are whole numbers this near to each other are looked up in a table.
_MOST_SPAN = 2**16


def as_picture(values: Any, owner: str) -> Any:
    """Turn values into an array of labels; in lists of several types each keeps its own."""
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


def as_map(values: Any, shape: Shape, owner: str) -> Any:
    """Turn a map into an array of the field's shape."""
    array = as_picture(values, owner)
    if array.shape != shape:
        raise ShapeError(f"{owner} needs a map of shape {shape}. Got shape {array.shape}.")
    return array


def positions_in(values: Any, labels: Labels, owner: str) -> Any:
    """Give the position of the label at each pixel, in the least unsigned integers that hold it."""
    dtype = np.min_scalar_type(len(labels))  # one more than the last position: the unknown
    known = names_in(labels)
    numbers = known.dtype.kind in "biuf" and values.dtype.kind in "biuf"
    if numbers and len(labels) == 2:
        found = _of_two(values, labels, dtype)
    elif _are_near(values, known):
        found = _by_table(values, known, dtype)
    elif numbers or known.dtype.kind == values.dtype.kind == "U":
        found = _by_order(values, known, dtype)
    else:
        found = _one_by_one(values, labels, dtype)
    if found.max(initial=0) == len(labels):
        pixel = tuple(int(i) for i in np.argwhere(found == len(labels))[0])
        wanted = plain(values[pixel])
        raise LabelError(
            f"{owner} has no label {wanted!r} (pixel {pixel}). Known: {listing(labels)}."
            f"{hint(wanted, labels)}"
        )
    return found


def _of_two(values: Any, labels: Labels, dtype: Any) -> Any:
    """Compare numbers with both labels."""
    is_first, is_second = values == labels[0], values == labels[1]
    found = is_second.astype(dtype)
    if not (is_first | is_second).all():
        found[~(is_first | is_second)] = 2
    return found


def _are_near(values: Any, known: Any) -> bool:
    """Tell whether labels and map are whole numbers and the labels span little."""
    whole = values.dtype.kind in "biu" and known.dtype.kind in "biu"
    return whole and int(known.max()) - int(known.min()) < _MOST_SPAN


def _by_table(values: Any, known: Any, dtype: Any) -> Any:
    """Look whole numbers up; those outside of the table are unknown."""
    low, high = int(known.min()), int(known.max())
    table = np.full(high - low + 2, len(known), dtype)
    table[known.astype(np.int64) - low] = np.arange(len(known), dtype=dtype)
    inside = (values >= low) & (values <= high)
    return table[np.where(inside, values.astype(np.int64) - low, high - low + 1)]


def _by_order(values: Any, known: Any, dtype: Any) -> Any:
    """Search the sorted labels."""
    order = np.argsort(known)
    places = order[np.searchsorted(known, values, sorter=order).clip(max=len(known) - 1)]
    return np.where(known[places] == values, places, len(known)).astype(dtype)


def _one_by_one(values: Any, labels: Labels, dtype: Any) -> Any:
    """Look up labels of any kind."""
    lookup = {name: i for i, name in enumerate(labels)}
    codes = (lookup.get(plain(value), len(labels)) for value in values.ravel())
    return np.fromiter(codes, dtype=dtype, count=values.size).reshape(values.shape)


def edge_energy(
    positions: Any, axes: Sequence[Axis], strengths: Sequence[AxisStrength], units: F64
) -> float:
    """Sum the log potentials of all edges; ``units`` holds them by distance, for strength one."""
    total = 0.0
    for axis, strength in zip(axes, strengths, strict=True):
        lower = positions[lower_pixels(positions.shape, axis)]
        upper = positions[upper_pixels(positions.shape, axis)]
        if isinstance(strength, float):
            total += strength * float((_counts(lower, upper, units) * units).sum())
        else:
            total += float((strength * units[_distances(lower, upper)]).sum())
    return total


def _counts(lower: Any, upper: Any, units: F64) -> Any:
    """Count the edges by distance; if all unequal labels are alike, those at distance one."""
    if (units[1:] != units[1:2]).any():
        return np.bincount(_distances(lower, upper).ravel(), minlength=len(units))
    counts = np.zeros(len(units))
    counts[0] = np.count_nonzero(lower == upper)
    counts[1:2] = lower.size - counts[0]
    return counts


def _distances(lower: Any, upper: Any) -> Any:
    """Give how far apart the positions are; they are unsigned."""
    return np.maximum(lower, upper) - np.minimum(lower, upper)
