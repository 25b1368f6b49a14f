"""A picture seen along another of its dimensions, so that every sweep goes from slab to slab."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from credo.graphs.grid_coordinates import Axis
from credo.inference.grids.layout import Floats, Int64, Layout


@dataclass(frozen=True, slots=True, eq=False)
class Rotation:
    """The layout with one dimension in front, and which direction is which there."""

    dimension: int
    home: Layout
    layout: Layout
    directions: Int64  #: for each direction in the rotated picture, that in the original

    def there(self, lines: Floats) -> Floats:
        """Bring lines (…, slabs, length) of the original into the order of the rotated picture."""
        if self.dimension == 0:
            return lines
        planes = self.home.planes(lines)
        front = planes.ndim - len(self.home.shape)
        turned = np.moveaxis(planes, front + self.dimension, front)
        return np.ascontiguousarray(self.layout.lines(turned, 1.0))

    def back(self, lines: Floats) -> Floats:
        """Bring lines of the rotated picture back."""
        if self.dimension == 0:
            return lines
        planes = self.layout.planes(lines)
        front = planes.ndim - len(self.home.shape)
        turned = np.moveaxis(planes, front, front + self.dimension)
        return np.ascontiguousarray(self.home.lines(turned, 1.0))


def rotations(layout: Layout, axes: Sequence[Axis]) -> list[Rotation]:
    """Give a rotation for each dimension."""
    return [_rotation(layout, axes, dimension) for dimension in range(len(layout.shape))]


def _rotation(layout: Layout, axes: Sequence[Axis], dimension: int) -> Rotation:
    """Bring a dimension to the front; an axis that then leads backwards is turned round."""
    turned, directions = [], []
    for number, axis in enumerate(axes):
        moved = _in_front(axis, dimension)
        is_back = next(step for step in moved if step) < 0
        turned.append(tuple(-step for step in moved) if is_back else moved)
        there, back = 2 * number, 2 * number + 1
        directions += [back, there] if is_back else [there, back]
    shape = _in_front(layout.shape, dimension)
    return Rotation(dimension, layout, Layout.of(shape, turned), np.array(directions, np.int64))


def _in_front(entries: tuple[int, ...], dimension: int) -> tuple[int, ...]:
    """Move an entry to the front."""
    rest = entries[:dimension] + entries[dimension + 1 :]
    return (entries[dimension], *rest)
