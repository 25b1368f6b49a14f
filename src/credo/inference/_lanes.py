"""The program of a junction tree, for the kernel that runs many rows of evidence at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from credo.graphs.problems import Problem
from credo.inference._layout import Layout
from credo.inference._tables import Homes

Int64: TypeAlias = npt.NDArray[np.int64]
_Loops: TypeAlias = tuple[list[int], list[int]]
#: What is read of a node.
_SEPARATOR, _TABLE = 1, 2


@dataclass(frozen=True, slots=True)
class Places:
    """Where things lie in the room: tables, then each message with four numbers, then spare."""

    table: Int64
    message: Int64
    rows: Int64  #: of each message
    spare: int
    scratch: int  #: for sums that nobody looks at
    n_cells: int

    @staticmethod
    def of(layout: Layout, widest: int) -> Places:
        """Lay out the room of a tree; the spare cells hold a message, or a variable's states."""
        rows = np.diff(layout.row_start)
        message = layout.n_cells + layout.row_start[:-1] + 4 * np.arange(len(rows))
        spare = layout.n_cells + int(layout.row_start[-1]) + 4 * len(rows)
        scratch = spare + max(widest, int(rows.max(initial=1)))
        return Places(layout.table_start, message, rows, spare, scratch, scratch + 2)


@dataclass(frozen=True, slots=True, eq=False)
class Program:
    """Steps for one junction tree: enter evidence, collect, distribute, write beliefs."""

    places: Places
    steps: Int64
    upward: Int64  #: those of a run without evidence, up to the roots
    loops: Int64
    nodes: Int64
    columns: Int64  #: the node of each column
    n_flags: int


def write_program(problem: Problem, layout: Layout, columns: Int64, wanted: Int64) -> Program:
    """Write the program of a tree.

    Parameters
    ----------
    problem, layout
        What to sum, and the tree.
    columns
        The variables that may be observed, in the order of the columns of codes.
    wanted
        The variables whose beliefs are written, in the order of the result.
    """
    homes = Homes(problem, layout)
    writer = _Writer(problem, layout, len(columns), _reads(layout, homes, wanted))
    for column, variable in enumerate(columns.tolist()):
        writer.enter(column, variable)
    for node in range(writer.n_nodes):
        writer.collect(node)
    for node in range(writer.n_nodes - 1, -1, -1):
        writer.distribute(node)
    place = 0
    for variable in wanted.tolist():
        writer.write(variable, int(homes.home[variable]), int(homes.inner[variable]), place)
        place += int(problem.n_states[variable])
    return writer.program(layout.node[layout.position[columns]])


def _reads(layout: Layout, homes: Homes, wanted: Int64) -> Int64:
    """Mark the nodes that beliefs are read from: from their separators, or from their tables."""
    reads = np.zeros(len(layout.parent), np.int64)
    for home in homes.home[wanted].tolist():
        node = -1 - home if home < 0 else home
        reads[node] = max(reads[node], _TABLE if home < 0 else _SEPARATOR)
    for node in range(len(reads)):
        if reads[node] and layout.parent[node] >= 0:
            reads[layout.parent[node]] = _TABLE
    return reads


def _rescales(layout: Layout) -> Int64:
    """Mark the nodes after whose message the parent's table is scaled."""
    from credo._kernels.junction_lanes import RESCALE_AFTER  # noqa: PLC0415

    heard = np.zeros(len(layout.parent), np.int64)
    marks = np.zeros(len(layout.parent), np.int64)
    for node, parent in enumerate(layout.parent.tolist()):
        if parent >= 0:
            heard[parent] += 1
            marks[node] = heard[parent] % RESCALE_AFTER == 0
    return marks


def _axis(cells: int, card: int, inner: int) -> _Loops:
    """Give the loops of one variable's states inside a run of cells."""
    return [cells // (card * inner), card, inner], [0, 1, 0]


class _Writer:
    """Write steps; the guards are flags: nodes, calm nodes, columns, and one that is always set."""

    def __init__(self, problem: Problem, layout: Layout, n_columns: int, reads: Int64) -> None:
        from credo._kernels import junction_lanes as kernel  # noqa: PLC0415

        self.kernel = kernel
        self.problem, self.layout, self.reads = problem, layout, reads
        self.places = Places.of(layout, int(problem.n_states.max(initial=1)))
        self.rescales = _rescales(layout)
        self.n_nodes = len(layout.parent)
        self.always = 2 * self.n_nodes + n_columns
        self.steps: list[tuple[int, ...]] = []
        self.lengths: list[int] = []
        self.strides: list[int] = []
        for node in range(self.n_nodes):
            self._step(kernel.START, node, *self._table(node))

    def _step(self, kind: int, guard: int, a: int, b: int, extra: int = 0) -> None:
        """Append a step without loops."""
        self.steps.append((kind, guard, self.always, a, b, extra, 0, 0))

    def _combine(self, kind: int, guard: int, a: int, b: int, loops: _Loops) -> None:
        """Append a step with loops; there is at least one."""
        first = len(self.lengths)
        self.lengths += loops[0] or [1]
        self.strides += loops[1] or [0]
        self.steps.append((kind, guard, self.always, a, b, 0, first, len(self.lengths)))

    def _table(self, node: int) -> tuple[int, int]:
        """Give the first cell of a node's table, and the first one behind it."""
        return int(self.places.table[node]), int(self.places.table[node + 1])

    def _message(self, node: int) -> tuple[int, int]:
        """Give the first cell of a node's message, and the first one behind it."""
        start = int(self.places.message[node])
        return start, start + int(self.places.rows[node])

    def _own(self, node: int) -> _Loops:
        """Give the loops of a node's message inside its own table."""
        start, stop = self._table(node)
        rows = int(self.places.rows[node])
        return [rows, (stop - start) // rows], [1, 0]

    def _above(self, node: int) -> _Loops:
        """Give the loops of a node's message inside its parent's table."""
        part = slice(*self.layout.group_start[node : node + 2].tolist())
        return self.layout.lengths[part].tolist(), self.layout.strides[part].tolist()

    def enter(self, column: int, variable: int) -> None:
        """Multiply the findings of a column into the table where its variable ends."""
        kernel, layout, spare = self.kernel, self.layout, self.places.spare
        node = int(layout.node[layout.position[variable]])
        axes = layout.variables_of(node).tolist()
        inner = int(np.prod(self.problem.n_states[axes[axes.index(variable) + 1 :]]))
        card = int(self.problem.n_states[variable])
        start, stop = self._table(node)
        flag = 2 * self.n_nodes + column
        self._step(kernel.CALM, flag, spare, spare + card)
        self._step(kernel.WEIGH, flag, column, spare, card)
        self._combine(kernel.MULTIPLY, flag, start, spare, _axis(stop - start, card, inner))

    def collect(self, node: int) -> None:
        """Send a node's message, scaled to sum one, to its parent."""
        kernel, parent = self.kernel, int(self.layout.parent[node])
        message, stop = self._message(node)
        self._step(kernel.START, node, message, stop)
        self._combine(kernel.ADD, node, self._table(node)[0], message, self._own(node))
        self._step(kernel.SCALE, node, message, stop, stop)
        heard = parent if parent >= 0 and not self.reads[node] else self.always
        self.steps.append((kernel.CALM, self.n_nodes + node, heard, message, stop + 4, 0, 0, 0))
        if parent >= 0:
            table, end = self._table(parent)
            self._combine(kernel.MULTIPLY, parent, table, message, self._above(node))
            if self.rescales[node]:
                self._step(kernel.SCALE, parent, table, end, stop + 2)

    def distribute(self, node: int) -> None:
        """Turn a node's message, and its table if it is read from, into beliefs."""
        kernel, spare, parent = self.kernel, self.places.spare, int(self.layout.parent[node])
        rows = int(self.places.rows[node])
        if self.reads[node] == _TABLE:
            self._step(kernel.CALM, self.n_nodes + node, *self._table(node))
        if parent < 0 or not self.reads[node]:
            return
        self._step(kernel.START, self.always, spare, spare + rows)
        self._combine(kernel.ADD, self.always, self._table(parent)[0], spare, self._above(node))
        self._step(kernel.SCALE, self.always, spare, spare + rows, self.places.scratch)
        self._step(kernel.DIVIDE, self.always, spare, self._message(node)[0], rows)
        if self.reads[node] == _TABLE:
            table = self._table(node)[0]
            self._combine(kernel.MULTIPLY, self.always, table, spare, self._own(node))

    def write(self, variable: int, home: int, inner: int, place: int) -> None:
        """Sum a variable's belief out of its home into columns of the result."""
        kernel, spare = self.kernel, self.places.spare
        card = int(self.problem.n_states[variable])
        start, stop = self._table(-1 - home) if home < 0 else self._message(home)
        loops = _axis(stop - start, card, inner)
        self._step(kernel.START, self.always, spare, spare + card)
        self._combine(kernel.ADD, self.always, start, spare, loops)
        self._step(kernel.SCALE, self.always, spare, spare + card, self.places.scratch)
        self._step(kernel.WRITE, self.always, spare, place, card)

    def program(self, columns: Int64) -> Program:
        """Give all that was written."""
        steps = np.array(self.steps, np.int64).reshape(-1, 8)
        upward = steps[steps[:, self.kernel.GUARD] < self.n_nodes]
        upward[:, self.kernel.GUARD] = self.always
        totals = self.places.message + self.places.rows
        nodes = np.stack([self.layout.parent, totals, self.rescales], axis=1)
        loops = np.array([self.lengths, self.strides], np.int64)
        return Program(self.places, steps, upward, loops, nodes, columns, self.always + 1)
