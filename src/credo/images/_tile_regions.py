"""Tiles: rectangles of a picture, each with the halo of pixels that have a say in it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias, final

#: Rows and columns.
Window: TypeAlias = tuple[slice, slice]
Shape: TypeAlias = tuple[int, int]


@final
@dataclass(frozen=True, slots=True)
class Tile:
    """The pixels that a tile decides, and those that it looks at for this."""

    core: Window
    outer: Window
    ends_row: bool  #: whether no tile is to its right

    @property
    def inside(self) -> Window:
        """The core, as seen from the corner of the outer window."""
        rows, columns = (
            slice(own.start - wide.start, own.stop - wide.start)
            for own, wide in zip(self.core, self.outer, strict=True)
        )
        return rows, columns


def tiles_of(shape: Shape, size: int, halo: int) -> Iterator[Tile]:
    """Cut a picture into tiles of at most ``size`` rows and columns, row by row."""
    for rows, wide_rows in _stretches(shape[0], size, halo):
        for columns, wide_columns in _stretches(shape[1], size, halo):
            ends_row = columns.stop == shape[1]
            yield Tile((rows, columns), (wide_rows, wide_columns), ends_row)


def count_tiles(shape: Shape, size: int) -> int:
    """Tell how many tiles a picture is cut into."""
    return math.ceil(shape[0] / size) * math.ceil(shape[1] / size)


def _stretches(length: int, size: int, halo: int) -> Iterator[tuple[slice, slice]]:
    """Cut a side, and widen each piece by the halo as far as there are pixels."""
    for start in range(0, length, size):
        stop = min(start + size, length)
        yield slice(start, stop), slice(max(0, start - halo), min(length, stop + halo))
