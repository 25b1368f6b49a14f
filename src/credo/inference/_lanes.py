"""Where things lie on a junction tree, for the kernel that runs many rows of evidence at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from credo.graphs.problems import Problem
from credo.inference.cliques import CliqueTree

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
    def of(layout: CliqueTree, widest: int) -> Room:
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
    spare: int
    scratch: int
    n_cells: int  #: of the room


def write_program(problem: Problem, layout: CliqueTree, columns: Int64, wanted: Int64) -> Program:
    """Find where everything lies on a tree.

    Parameters
    ----------
    problem, layout
        What to sum, and the tree.
    columns
        The variables that may be observed, in the order of the columns of codes.
    wanted
        The variables whose beliefs are written, in the order of the result.
    """
    room = Room.of(layout, int(problem.n_states.max(initial=1)))
    node, inner = layout.last[columns], layout.last_step[columns]
    cells = np.diff(layout.table_start)[node]
    entered = _states(node, cells, problem.n_states[columns], inner)
    start, cells = _homes(layout, room, layout.read_from[wanted])
    written = _states(start, cells, problem.n_states[wanted], layout.read_step[wanted])
    tables = layout.table_start[:-1], layout.table_start[1:]
    where = layout.parent, *tables, room.message, room.total
    marks = _rescales(layout), _reads(layout, wanted)
    nodes = np.stack([*where, *marks], axis=1)
    return Program(nodes, entered, written, room.spare, room.scratch, room.n_cells)


def _states(where: Int64, cells: Int64, states: Int64, inner: Int64) -> Int64:
    """Give a row for each of several variables, whose states lie in runs of cells."""
    times = cells // (states * inner)
    return np.stack([where, times, states, inner, np.cumsum(states) - states], axis=1)


def _homes(layout: CliqueTree, room: Room, home: Int64) -> tuple[Int64, Int64]:
    """Give where homes of beliefs start, and their cells; negative ones are tables."""
    is_table = home < 0
    node = np.where(is_table, -1 - home, home)
    start = np.where(is_table, layout.table_start[node], room.message[node])
    stop = np.where(is_table, layout.table_start[node + 1], room.total[node])
    return start, stop - start


def _reads(layout: CliqueTree, wanted: Int64) -> Int64:
    """Mark the nodes that beliefs are read from: from their separators, or from their tables."""
    from credo._kernels.junction_lanes import SEPARATOR, WHOLE_TABLE  # noqa: PLC0415

    home = layout.read_from[wanted]
    marks = np.zeros(len(layout.parent), np.int64)
    marks[home[home >= 0]] = SEPARATOR
    marks[-1 - home[home < 0]] = WHOLE_TABLE
    reads = marks.tolist()
    for node, parent in enumerate(layout.parent.tolist()):
        if reads[node] and parent >= 0:
            reads[parent] = WHOLE_TABLE
    return np.array(reads, np.int64)


def _rescales(layout: CliqueTree) -> Int64:
    """Mark the nodes after whose message the parent's table is scaled."""
    from credo._kernels.junction_lanes import RESCALE_AFTER  # noqa: PLC0415

    order = np.argsort(layout.parent, kind="stable")
    parents = layout.parent[order]
    heard = 1 + np.arange(len(order)) - np.searchsorted(parents, parents)
    marks = np.zeros(len(order), np.int64)
    marks[order] = (heard % RESCALE_AFTER == 0) & (parents >= 0)
    return marks
