"""Pictures and volumes as slabs, lines of numbers one behind the other; turned, or in blocks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Self, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from credo.graphs import GridField
from credo.graphs.grid_coordinates import Axis, lower_pixels, upper_pixels
from credo.graphs.wiring import Int64

Floats: TypeAlias = npt.NDArray[Any]
Result = TypeVar("Result")


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
        """How many slabs there are."""
        return self.shape[0]

    @property
    def length(self) -> int:
        """How many places a slab has."""
        return self.pitch * (1 if len(self.shape) == 2 else self.shape[1])

    @property
    def margin(self) -> int:
        """How many places a line of products needs at either end."""
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
        """Return lines (…, slabs, length) as planes (…, *shape)."""
        full = lines.reshape(*lines.shape[:-2], *self.shape[:-1], self.pitch)
        return full[..., : self.shape[-1]]


def _offset(axis: Axis, pitch: int) -> int:
    """Return how many places an axis moves within a slab."""
    return axis[1] if len(axis) == 2 else axis[1] * pitch + axis[2]


def is_even(field: GridField) -> bool:
    """Tell whether the strength along each axis is one number."""
    return all(isinstance(strength, float) for strength in field.strengths)


def directed_strengths(field: GridField, layout: Layout) -> Floats:
    """Return the strengths of edges where messages arrive, (slabs or 1, 2 * axes, length).

    There is one slab for all if the field is even.
    """
    if is_even(field):
        both = np.repeat(np.array(field.strengths, dtype=np.float64), 2)
        return np.broadcast_to(both[:, np.newaxis], (1, len(both), layout.length))
    arriving = []
    for number, axis in enumerate(field.axes):
        plane = field.strength_plane(number)
        arriving += [_moved(plane, axis), plane]
    return np.ascontiguousarray(np.swapaxes(layout.lines(np.stack(arriving)), 0, 1))


def _moved(plane: Floats, axis: Axis) -> Floats:
    """Return a plane moved along an axis; zeros come in."""
    out = np.zeros_like(plane)
    out[upper_pixels(plane.shape, axis)] = plane[lower_pixels(plane.shape, axis)]
    return out


@dataclass(frozen=True, slots=True, eq=False)
class Rotation:
    """A picture with one dimension in front, so that sweeps along it go from slab to slab."""

    dimension: int
    home: Layout
    layout: Layout
    directions: Int64  #: for each direction in the rotated picture, that in the original

    @classmethod
    def of(cls, layout: Layout, axes: Sequence[Axis], dimension: int) -> Self:
        """Bring a dimension to the front; an axis that then leads backwards is turned round."""
        turned, directions = [], []
        for number, axis in enumerate(axes):
            moved = _in_front(axis, dimension)
            is_back = next(step for step in moved if step) < 0
            turned.append(tuple(-step for step in moved) if is_back else moved)
            there, back = 2 * number, 2 * number + 1
            directions += [back, there] if is_back else [there, back]
        shape = _in_front(layout.shape, dimension)
        return cls(dimension, layout, Layout.of(shape, turned), np.array(directions, np.int64))

    def there(self, lines: Floats, *, directed: bool = True) -> Floats:
        """Return lines (slabs, directions, …, length) as they are in the rotated picture."""
        ways = self.directions if directed else slice(None)
        return self._turned(np.moveaxis(lines, 0, -2)[ways], self.home, self.layout)

    def back(self, lines: Floats) -> Floats:
        """Return lines of the rotated picture as they are in the original."""
        ways = np.argsort(self.directions)
        return self._turned(np.moveaxis(lines, 0, -2)[ways], self.layout, self.home)

    def _turned(self, lines: Floats, old: Layout, new: Layout) -> Floats:
        """Return lines (…, slabs, length) of one layout as (slabs, …, length) of the other."""
        if self.dimension:
            planes = old.planes(lines)
            front = planes.ndim - len(old.shape)
            ends = (front + self.dimension, front)
            lines = new.lines(np.moveaxis(planes, *(ends if old is self.home else ends[::-1])), 1.0)
        return np.ascontiguousarray(np.moveaxis(lines, -2, 0))


def _in_front(entries: tuple[int, ...], dimension: int) -> tuple[int, ...]:
    """Return entries with one of them moved to the front."""
    rest = entries[:dimension] + entries[dimension + 1 :]
    return (entries[dimension], *rest)


@dataclass(slots=True, eq=False)
class Block:
    """Some slabs: those from ``low`` to ``high`` count, the others, from ``first`` on, are rim.

    Each block has its own messages and a rim of its neighbours', and runs by itself.
    """

    first: int
    low: int
    high: int
    nodes: Floats  #: potentials, slabs first
    messages: Floats  #: for each slab those of all directions
    weights: Floats  #: for each slab those of all directions, or one slab for all

    @property
    def core(self) -> slice:
        """The slabs that count, as places in the arrays."""
        return slice(self.low - self.first, self.high - self.first)


def cut(
    slabs: int, make: Callable[[int, int], tuple[Floats, Floats, Floats]], threads: int, rim: int
) -> list[Block]:
    """Cut a picture into as many blocks as there are threads, if each has slabs enough.

    ``make`` returns the potentials, the first messages and the weights of a range of slabs.
    """
    count = max(1, min(threads, slabs // max(rim, 1)))
    bounds = np.linspace(0, slabs, count + 1).astype(int).tolist()

    def made(ends: tuple[int, int]) -> Block:
        first, last = max(0, ends[0] - rim), min(slabs, ends[1] + rim)
        return Block(first, *ends, *make(first, last))

    return on_threads(made, list(pairwise(bounds)))


def on_threads(job: Callable[[Any], Result], items: Sequence[Any]) -> list[Result]:
    """Do a job for several things side by side, and return what comes of each."""
    if len(items) == 1:
        return [job(items[0])]
    with ThreadPoolExecutor(len(items)) as pool:
        return list(pool.map(job, items))


def exchange(above: Block, below: Block) -> None:
    """Copy to the rim of each of two blocks what the other has computed there."""
    rim = slice(below.first - above.first, below.low - above.first)
    below.messages[: below.low - below.first] = above.messages[rim]
    reach = len(above.messages) - (above.high - above.first)
    start = below.low - below.first
    above.messages[above.high - above.first :] = below.messages[start : start + reach]
