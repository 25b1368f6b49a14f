"""The pixels of a large picture that its numbers are learnt from, without reading the others."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from credo._types import Int, Labels
from credo.images._estimate_sample import TILE, Sample
from credo.images._tile_inputs import second_in
from credo.images._tile_regions import Shape, Window


def sample_windows(shape: Shape) -> list[list[Window]]:
    """Give the windows that estimates look at, rows of them; a small picture is one window."""
    taken = Sample.of(shape).taken
    if taken is None:
        return [[(slice(0, shape[0]), slice(0, shape[1]))]]
    rows, columns = (_runs(*side) for side in zip(taken, shape, strict=True))
    return [[(r, c) for c in columns] for r in rows]


def _runs(taken: Int, length: int) -> list[slice]:
    """Give the pieces of a side that are taken: all of it, or one for each tile."""
    if len(taken) == length:
        return [slice(0, length)]
    return [slice(start, start + TILE) for start in taken[::TILE].tolist()]


def learnt(
    mosaics: tuple[npt.NDArray[Any], npt.NDArray[Any] | None],
    shape: Shape,
    labels: Labels,
    numbers: tuple[Any, Any],
    neighbours: Any,
    who: str,
) -> tuple[Any, Any]:
    """Learn the flip probability and the coupling as from the whole picture.

    ``mosaics`` are the sampled windows of the picture, and of a map of flip probabilities if there
    is one; ``numbers`` what is given or to be estimated.
    """
    from credo.images.flip_planes import estimated  # noqa: PLC0415 - not for given numbers

    seen, plane = mosaics
    flips, coupling = numbers
    states = np.where(second_in(seen, labels, who), np.int8(1), np.int8(-1))
    flips = flips if plane is None else _stand_in(plane, shape, 0.5)
    found = estimated(_stand_in(states, shape, np.int8(1)), flips, coupling, neighbours)
    return found[0], found[1]


def _stand_in(mosaic: npt.NDArray[Any], shape: Shape, fill: Any) -> npt.NDArray[Any]:
    """Make a smaller picture of which estimates see the same pixels as of the large one.

    Sides of which all is taken stay as they are; others are twice as long as their tiles. The
    number of tiles follows from the number of pixels to be taken, so that it is the same.
    """
    taken = Sample.of(shape).taken
    if taken is None:
        return mosaic
    small = [n if len(side) == n else 2 * len(side) for side, n in zip(taken, shape, strict=True)]
    again = Sample.of(tuple(small)).taken
    picture = np.full(small, fill, dtype=mosaic.dtype)
    picture[np.ix_(*(again or ()))] = mosaic
    return picture
