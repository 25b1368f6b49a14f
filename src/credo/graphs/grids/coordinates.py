"""Names of pixels: tuples of whole numbers that are made when looked at."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import product
from typing import Any, final, overload

import numpy as np

from credo.graphs.grids.axes import Shape

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
