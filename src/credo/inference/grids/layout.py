"""Pictures and volumes as slabs: lines of numbers, one behind the other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self, TypeAlias

import numpy as np
import numpy.typing as npt

from credo.graphs import GridField
from credo.graphs.grid_coordinates import Axis, lower_pixels, upper_pixels

Floats: TypeAlias = npt.NDArray[Any]
Int64: TypeAlias = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Layout:
    """Where pixels and their neighbours are.

    The rows of a plane are slabs, and the planes of a volume. In a slab of a volume a row is
    followed by one or two places that are no pixels, so that the last pixel of a row is no
    neighbour of the first of the next; their number is such that the pixels of a checkerboard's
    colour are every second place.
    """

    shape: tuple[int, ...]
    pitch: int  #: places of a row
    axes: Int64  #: for each axis its offset within a slab, and whether it leads to the next one
    outside: Int64  #: places of a slab that are no pixels

    @classmethod
    def of(cls, shape: tuple[int, ...], axes: Sequence[Axis]) -> Self:
        """Lay out a picture or a volume."""
        width = shape[-1]
        pitch = width if len(shape) == 2 else width + 1 + width % 2
        ways = [(_offset(axis, pitch), axis[0]) for axis in axes]
        rows = 1 if len(shape) == 2 else shape[1]
        places = np.arange(rows * pitch).reshape(rows, pitch)
        return cls(shape, pitch, np.array(ways, np.int64), places[:, width:].ravel())

    @property
    def slabs(self) -> int:
        """Count the slabs."""
        return self.shape[0]

    @property
    def length(self) -> int:
        """Count the places of a slab."""
        return self.pitch * (1 if len(self.shape) == 2 else self.shape[1])

    @property
    def margin(self) -> int:
        """Count the places that a line of products needs at either end."""
        return int(np.abs(self.axes[:, 0]).max())

    def lines(self, planes: Floats, fill: float = 0.0) -> Floats:
        """Lay planes (…, *shape) out as lines (…, slabs, length); a view if they are so already.

        Some of the slabs will do.
        """
        *lead, slabs = planes.shape[: 1 - len(self.shape)]
        missing = self.pitch - self.shape[-1]
        if missing:
            ends = [(0, 0)] * (planes.ndim - 1) + [(0, missing)]
            planes = np.pad(planes, ends, constant_values=fill)
        return planes.reshape(*lead, slabs, self.length)

    def pixels(self, lines: Floats) -> Floats:
        """Leave out the places of lines (…, length) that are no pixels."""
        return lines.reshape(*lines.shape[:-1], -1, self.pitch)[..., : self.shape[-1]]

    def planes(self, lines: Floats) -> Floats:
        """Give lines (…, slabs, length) as planes (…, *shape)."""
        full = lines.reshape(*lines.shape[:-2], *self.shape[:-1], self.pitch)
        return full[..., : self.shape[-1]]


def _offset(axis: Axis, pitch: int) -> int:
    """Give how many places an axis moves within a slab."""
    return axis[1] if len(axis) == 2 else axis[1] * pitch + axis[2]


def directed_strengths(field: GridField, layout: Layout) -> Floats:
    """Give the strengths of edges where messages arrive, (slabs or 1, 2 * axes, length).

    There is one slab for all if the strength along each axis is a number.
    """
    if all(isinstance(strength, float) for strength in field.strengths):
        both = np.repeat(np.array(field.strengths, dtype=np.float64), 2)
        return np.broadcast_to(both[:, np.newaxis], (1, len(both), layout.length))
    arriving = []
    for number, axis in enumerate(field.axes):
        plane = field.strength_plane(number)
        arriving += [moved(plane, axis), plane]
    return np.ascontiguousarray(np.swapaxes(layout.lines(np.stack(arriving)), 0, 1))


def moved(plane: Floats, axis: Axis) -> Floats:
    """Move a plane along an axis; zeros come in."""
    out = np.zeros_like(plane)
    out[upper_pixels(plane.shape, axis)] = plane[lower_pixels(plane.shape, axis)]
    return out
