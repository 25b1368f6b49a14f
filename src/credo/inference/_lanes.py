"""Where things lie on a junction tree, for the kernel that runs many rows of evidence at once."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from credo.graphs.problems import Problem
from credo.inference._layout import Layout
from credo.inference._tables import Homes, Places

Int64: TypeAlias = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Room:
    """Where things lie in the room: tables, then each message with four numbers, then spare."""

    message: Int64
    total: Int64  #: behind each message
    spare: int
    scratch: int  #: for sums that nobody looks at
    n_cells: int

    @staticmethod
    def of(layout: Layout, widest: int) -> Room:
        """Lay out the room of a tree; the spare cells hold a message, or a variable's states."""
        rows = np.diff(layout.row_start)
        message = layout.n_cells + layout.row_start[:-1] + 4 * np.arange(len(rows))
        spare = layout.n_cells + int(layout.row_start[-1]) + 4 * len(rows)
        scratch = spare + max(widest, int(rows.max(initial=1)))
        return Room(message, message + rows, spare, scratch, scratch + 2)


@dataclass(frozen=True, slots=True, eq=False)
class Program:
    """What the kernel takes of one junction tree; see there for the fields of each row."""

    nodes: Int64
    columns: Int64
    wanted: Int64
    lengths: Int64  #: of all loops: above each node, its own, those of columns and of the wanted
    strides: Int64
    spare: int
    scratch: int
    n_cells: int  #: of the room
    depth: int  #: the most loops inside each other

    def arrays(self) -> tuple[Int64 | int, ...]:
        """Give what the kernel takes, in its order."""
        rows = self.nodes, self.columns, self.wanted
        return (*rows, self.lengths, self.strides, self.spare, self.scratch)


def write_program(
    problem: Problem, layout: Layout, homes: Homes, places: Places, columns: Int64, wanted: Int64
) -> Program:
    """Find where everything lies on a tree.

    Parameters
    ----------
    problem, layout
        What to sum, and the tree.
    homes, places
        Where beliefs are read, and where variables end.
    columns
        The variables that may be observed, in the order of the columns of codes.
    wanted
        The variables whose beliefs are written, in the order of the result.
    """
    room = Room.of(layout, int(problem.n_states.max(initial=1)))
    loops = _Loops(layout)
    nodes = _nodes(layout, room, _reads(layout, homes, wanted), loops)
    ends = np.array([places[v] for v in columns.tolist()], np.int64).reshape(-1, 2)
    sizes, card = np.diff(layout.table_start)[ends[:, 0]], problem.n_states[columns]
    entered = np.stack([ends[:, 0], card, loops.axes(sizes, card, ends[:, 1])], axis=1)
    start, sizes = _homes(layout, room, homes.home[wanted])
    card = problem.n_states[wanted]
    axes = loops.axes(sizes, card, homes.inner[wanted])
    written = np.stack([start, card, axes, np.cumsum(card) - card], axis=1)
    depth = max(3, int(np.diff(layout.group_start).max(initial=0)))
    return Program(
        nodes, entered, written, *loops.joined(), room.spare, room.scratch, room.n_cells, depth
    )


def bytes_of(record: Any) -> int:
    """Count the bytes of the arrays that a data class holds."""
    held = (getattr(record, field.name) for field in fields(record))
    return sum(array.nbytes for array in held if isinstance(array, np.ndarray))


class _Loops:
    """Loops of messages inside tables, one after the other: lengths, and strides in the message."""

    def __init__(self, layout: Layout) -> None:
        self.count = int(layout.group_start[-1])
        self.lengths = [layout.lengths[: self.count]]
        self.strides = [layout.strides[: self.count]]

    def add(self, lengths: Int64, strides: list[int]) -> Int64:
        """Append a row of loops for each of several messages; give where each row starts."""
        first = self.count + len(strides) * np.arange(len(lengths))
        self.count += lengths.size
        self.lengths.append(lengths.ravel())
        self.strides.append(np.tile(np.array(strides, np.int64), len(lengths)))
        return first

    def axes(self, cells: Int64, card: Int64, inner: Int64) -> Int64:
        """Append the loops of single variables' states inside runs of cells."""
        return self.add(np.stack([cells // (card * inner), card, inner], axis=1), [0, 1, 0])

    def joined(self) -> tuple[Int64, Int64]:
        """Give all lengths, and all strides."""
        return np.concatenate(self.lengths), np.concatenate(self.strides)


def _nodes(layout: Layout, room: Room, reads: Int64, loops: _Loops) -> Int64:
    """Give a row for each node."""
    rows = room.total - room.message
    own = loops.add(np.stack([rows, np.diff(layout.table_start) // rows], axis=1), [1, 0])
    tables, groups = layout.table_start, layout.group_start
    where = layout.parent, tables[:-1], tables[1:], room.message, room.total
    return np.stack([*where, _rescales(layout), reads, own, groups[:-1], groups[1:]], axis=1)


def _homes(layout: Layout, room: Room, home: Int64) -> tuple[Int64, Int64]:
    """Give where homes of beliefs start, and their cells; negative ones are tables."""
    is_table = home < 0
    node = np.where(is_table, -1 - home, home)
    start = np.where(is_table, layout.table_start[node], room.message[node])
    stop = np.where(is_table, layout.table_start[node + 1], room.total[node])
    return start, stop - start


def _reads(layout: Layout, homes: Homes, wanted: Int64) -> Int64:
    """Mark the nodes that beliefs are read from: from their separators, or from their tables."""
    from credo._kernels.junction_lanes import SEPARATOR, WHOLE_TABLE  # noqa: PLC0415

    home = homes.home[wanted]
    marks = np.zeros(len(layout.parent), np.int64)
    marks[home[home >= 0]] = SEPARATOR
    marks[-1 - home[home < 0]] = WHOLE_TABLE
    reads = marks.tolist()
    for node, parent in enumerate(layout.parent.tolist()):
        if reads[node] and parent >= 0:
            reads[parent] = WHOLE_TABLE
    return np.array(reads, np.int64)


def _rescales(layout: Layout) -> Int64:
    """Mark the nodes after whose message the parent's table is scaled."""
    from credo._kernels.junction_lanes import RESCALE_AFTER  # noqa: PLC0415

    order = np.argsort(layout.parent, kind="stable")
    parents = layout.parent[order]
    heard = 1 + np.arange(len(order)) - np.searchsorted(parents, parents)
    marks = np.zeros(len(order), np.int64)
    marks[order] = (heard % RESCALE_AFTER == 0) & (parents >= 0)
    return marks
