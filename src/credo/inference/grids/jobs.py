"""The order in which messages of labels are gathered and sent, as rows of numbers."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from credo.inference.grids.layout import Int64

#: What a job does; as in _kernels.grid_labels.
_GATHER, _SEND = 0, 1
#: Jobs that are listed together: a megabyte or so.
_AT_A_TIME = 2**14


def flood_jobs(slabs: int, cross: Int64, colours: Int64) -> Iterator[Int64]:
    """List the jobs of a sweep for each colour, one slab behind the other, some at a time.

    ``cross`` tells which axes lead to the next slab. What goes there is held, by every sweep for
    itself, until that slab has gathered what it had before.
    """
    steps, levels = slabs + len(colours) - 1, len(colours)
    some = max(1, _AT_A_TIME // (4 * levels * len(cross)))
    for first in range(0, steps, some):
        numbers = np.arange(first * levels, min(first + some, steps) * levels)
        step, level = np.divmod(numbers, levels)
        yield _flooding(step - level, level, slabs, cross, colours)


def _flooding(slab: Int64, level: Int64, slabs: int, cross: Int64, colours: Int64) -> Int64:
    """List the jobs at slabs, each for one of the sweeps; those that do not exist are left out."""
    n_axes = len(cross)
    inside = (slab >= 0) & (slab < slabs)
    slab, level = slab[inside], level[inside]
    parts = []
    for way in range(2 * n_axes):
        room = _room(way, cross, level, slab % 2)
        parts.append(_jobs(_GATHER, way, slab, room, colours[level]))
    for way in range(2 * n_axes):
        room = _room(way, cross, level, 1 - slab % 2)
        target = slab - cross[way // 2] * (way % 2)
        jobs = _jobs(_SEND, way, target, room, colours[level])
        jobs[(slab == 0) & (cross[way // 2] == 1)] = -1
        parts.append(jobs)
    every = np.stack(parts, axis=1).reshape(-1, 5)
    return np.ascontiguousarray(every[every[:, 0] >= 0])


def sweep_jobs(slabs: int, cross: Int64, *, backward: bool) -> Iterator[Int64]:
    """List the jobs that pass messages from slab to slab, some at a time."""
    every = np.arange(slabs - 1, 0, -1) if backward else np.arange(slabs - 1)
    some = max(1, _AT_A_TIME // (2 * len(cross)))
    for first in range(0, len(every), some):
        yield _sweeping(every[first : first + some], cross, backward=backward)


def _sweeping(source: Int64, cross: Int64, *, backward: bool) -> Int64:
    """List the jobs that pass on what slabs know."""
    target = source - 1 if backward else source + 1
    parts = []
    for axis in np.flatnonzero(cross):
        way = 2 * int(axis) + int(backward)
        parts.append(_jobs(_GATHER, way, source, 0, -1))
        parts.append(_jobs(_SEND, way, target, 0, -1))
    return np.ascontiguousarray(np.stack(parts, axis=1).reshape(-1, 5))


def rooms_needed(n_axes: int, levels: int) -> int:
    """Count the rooms of flooding: one for each direction, and two for each axis and sweep."""
    return 2 * n_axes * (1 + levels)


def _room(way: int, cross: Int64, level: Int64, parity: Int64) -> Int64:
    """Tell where the products of a direction are kept."""
    n_axes, axis = len(cross), way // 2
    if way % 2 or not cross[axis]:
        return np.full(len(level), way)
    return 2 * n_axes + (2 * level + parity) * n_axes + axis


def _jobs(what: int, way: int, slab: Int64, room: Int64 | int, colour: Int64 | int) -> Int64:
    """Write jobs as rows."""
    jobs = np.empty((len(slab), 5), np.int64)
    for column, value in enumerate((what, way, slab, room, colour)):
        jobs[:, column] = value
    return jobs
