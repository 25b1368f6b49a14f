"""The edges of a grid, axis by axis: offsets, shapes, slices and lists."""

from __future__ import annotations

import math
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from credo.exceptions import InputError

#: How many pixels an array has along each of its dimensions.
Shape: TypeAlias = tuple[int, ...]

#: The step from the lower pixel of an edge to the upper one; -1, 0 or 1 in each dimension.
Axis: TypeAlias = tuple[int, ...]

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
