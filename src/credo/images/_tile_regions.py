"""Tiles: rectangles of a picture, each with the halo of pixels that have a say in it."""

from __future__ import annotations

import math
import mmap
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias, final

import numpy as np

from credo.exceptions import InputError

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


def as_window(index: Any, shape: Shape, who: str) -> Window:
    """Check an index of up to two slices with a step of one; give where they start and stop."""
    slices = index if isinstance(index, tuple) else (index,)
    slices = tuple(slice(None) if each is Ellipsis else each for each in slices)
    plain = [each for each in slices if isinstance(each, slice) and each.step in (None, 1)]
    if len(plain) != len(slices) or len(slices) > 2:
        raise InputError(
            f"{who} takes rows and columns as slices, such as [0:100, 50:80]. Got {index!r}."
        )
    pairs = zip(shape, (*plain, slice(None), slice(None)), strict=False)
    rows, columns = (slice(*each.indices(length)[:2]) for length, each in pairs)
    return _not_negative(rows), _not_negative(columns)


def _not_negative(side: slice) -> slice:
    """Make a slice that ends before it starts an empty one."""
    return slice(side.start, max(side.start, side.stop))


class Piece(NamedTuple):
    """Where a window and a cell of a raster meet."""

    row: int  #: which cell
    column: int
    there: Window  #: the pixels, from the corner of the window
    here: Window  #: the same pixels, from the corner of the cell


def pieces(window: Window, cell: Shape) -> Iterator[Piece]:
    """Cut a window along a raster of cells of equal size, row by row."""
    for row, there_rows, here_rows in _cut(window[0], cell[0]):
        for column, there_columns, here_columns in _cut(window[1], cell[1]):
            yield Piece(row, column, (there_rows, there_columns), (here_rows, here_columns))


def _cut(side: slice, size: int) -> Iterator[tuple[int, slice, slice]]:
    """Cut a side of a window at the multiples of a size."""
    for number in range(side.start // size, -(-side.stop // size)):
        low, high = max(side.start, number * size), min(side.stop, (number + 1) * size)
        there = slice(low - side.start, high - side.start)
        yield number, there, slice(low - number * size, high - number * size)


def let_go(array: Any) -> None:
    """Tell the system that the pages of a memory-mapped file are not needed for now.

    What was written to them stays, in the file. Those of a private copy would be lost; they are
    not touched.
    """
    if hasattr(array, "let_go"):
        array.let_go()
        return
    mapped = None
    while isinstance(array, np.ndarray):
        mapped = array if isinstance(array, np.memmap) else mapped
        array = array.base
    is_shared = mapped is not None and mapped.mode != "c"
    if is_shared and isinstance(array, mmap.mmap) and hasattr(mmap, "MADV_DONTNEED"):
        array.madvise(mmap.MADV_DONTNEED)
