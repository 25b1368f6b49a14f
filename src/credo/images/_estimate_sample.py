"""The part of a plane that numbers are learnt from: all of it, or tiles if it is large."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Self, TypeAlias

import numpy as np
import numpy.typing as npt

from credo._types import Int

Plane: TypeAlias = npt.NDArray[Any]

#: More pixels teach nothing new: a flip probability of a tenth is known to one in a hundred.
MOST_PIXELS = 2**16
#: Pixels along a side of a tile: as many as let 64 tiles see all parts of a picture.
TILE = 32
#: Pixels along each side of a tile that are not counted: they have strangers for neighbours.
_SEAM = 4


@dataclass(frozen=True, slots=True, eq=False)
class Sample:
    """Hold which pixels are taken, dimension by dimension, and which of these are counted.

    The tiles stand in a fixed lattice, the same for both dimensions, so that a picture and its
    transpose are sampled alike.
    """

    taken: tuple[Int, ...] | None
    counted: tuple[Int, ...] | None

    @classmethod
    def of(cls, shape: tuple[int, ...], most: int = MOST_PIXELS) -> Self:
        """Choose from a plane of some shape; from a small one everything."""
        if math.prod(shape) <= most:
            return cls(None, None)
        tiles = _tiles(shape, most)
        return cls(
            tuple(_indices(n, k) for n, k in zip(shape, tiles, strict=True)),
            tuple(_counted(n, k) for n, k in zip(shape, tiles, strict=True)),
        )

    def take(self, plane: Plane) -> Plane:
        """Give the pixels taken, tile beside tile."""
        return plane if self.taken is None else plane[np.ix_(*self.taken)]

    def count(self, plane: Plane) -> Plane:
        """Give the pixels counted of those taken."""
        return plane if self.counted is None else plane[np.ix_(*self.counted)]


def _tiles(shape: tuple[int, ...], most: int) -> list[int | None]:
    """Tell how many tiles to take along each dimension; None for all of a short one.

    Short dimensions come first and leave what they do not use to the others.
    """
    tiles: list[int | None] = [None] * len(shape)
    order = sorted(range(len(shape)), key=lambda dimension: shape[dimension])
    for used, dimension in enumerate(order):
        side = int(round(most ** (1 / (len(shape) - used)), 9))
        if shape[dimension] > max(side, TILE):
            tiles[dimension] = max(1, side // TILE)
        most //= min(shape[dimension], max(side, TILE))
    return tiles


def _indices(length: int, tiles: int | None) -> Int:
    """Give the indices that tiles take along a dimension, evenly spread."""
    if tiles is None:
        return np.arange(length)
    starts = (length - TILE) * (2 * np.arange(tiles) + 1) // (2 * tiles)
    return (starts[:, None] + np.arange(TILE)).ravel()


def _counted(length: int, tiles: int | None) -> Int:
    """Give the places, among the indices taken, that are not at a seam."""
    if tiles is None:
        return np.arange(length)
    return (TILE * np.arange(tiles)[:, None] + np.arange(_SEAM, TILE - _SEAM)).ravel()
