"""One junction tree for many rows of evidence, with its tables before any evidence."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from credo._types import F64, Bool
from credo.graphs.problems import Problem
from credo.graphs.wiring import ranges
from credo.inference._lanes import write_program
from credo.inference._many_rows import Codes
from credo.inference.cliques import CliqueTables, CliqueTree, bytes_of, calibrate
from credo.inference.question import Beliefs

Int64: TypeAlias = npt.NDArray[np.int64]
#: More lanes than this gain nothing; fewer are used while the room passes this many bytes, half of
#: a usual last cache; but eight always pay, as measured on tables of 1e3 to 1e7 cells.
_MOST_LANES, _CACHE, _LEAST_LANES = 64, 16e6, 8


class RowTree:
    """A junction tree that answers rows of state indices.

    Parameters
    ----------
    problem
        The factors, with nothing observed.
    layout
        The tree.
    columns
        The variables that may be observed, in the order of the columns of codes.
    wanted
        The variables whose beliefs are wanted, in the order of the result.
    """

    def __init__(self, problem: Problem, layout: CliqueTree, columns: Int64, wanted: Int64) -> None:
        self.problem, self.layout = problem, layout
        self.columns = columns
        self.program = write_program(problem, layout, columns, wanted)
        self.n_cells = self.program.n_cells
        self.cells = ranges(layout.start[wanted], problem.n_states[wanted])
        tables = CliqueTables(problem, layout)
        self.log_scale = tables.log_scale
        self.is_wide = problem.is_wide or tables.lost
        self.least = tables.low
        self.base = self.calm = tables.base
        self.calm = self._without_evidence()

    @property
    def lanes(self) -> int:
        """How many rows to run at a time, if memory is no matter."""
        fitting = int(_CACHE / (8 * self.n_cells))
        return max(_LEAST_LANES, min(_MOST_LANES, 1 << max(fitting, 1).bit_length() - 1))

    @property
    def n_bytes(self) -> int:
        """Bytes that the tree takes before it runs any rows."""
        records = self.problem, self.layout, self.program
        arrays = self.base, self.calm, self.least, self.cells
        return sum(map(bytes_of, records)) + sum(array.nbytes for array in arrays)

    def room(self, lanes: int) -> F64:
        """Make room for so many rows at a time."""
        return np.zeros((self.n_cells, lanes))

    def _without_evidence(self) -> F64:
        """Run up to the roots without evidence."""
        room, none = self.room(1), np.full((1, len(self.columns)), -1, np.int32)
        unused = np.empty((1, 0)), np.empty(1), np.empty(1, np.bool_)
        self._call(room, none, *unused, upward=True)
        return room.ravel()

    def run(self, codes: Codes, room: F64, out: F64, log_z: F64) -> None:
        """Run rows: write their beliefs, and the logs of their sums, -inf for impossible rows."""
        if self.is_wide:
            lost = np.ones(len(codes), np.bool_)
        else:
            lost = np.empty(len(codes), np.bool_)
            self._call(room, codes, out, log_z, lost, upward=False)
            log_z += self.log_scale
        for row in np.flatnonzero(lost).tolist():
            log_z[row] = self._in_logs(codes[row], out[row])

    def _call(
        self, room: F64, codes: Codes, out: F64, log_z: F64, lost: Bool, *, upward: bool
    ) -> None:
        """Call the kernel."""
        from credo._kernels.junction_lanes import FIELDS, STEPS, run_lanes  # noqa: PLC0415

        program, layout, n_nodes = self.program, self.layout, len(self.least)
        most_loops = int(np.diff(layout.group_start).max(initial=0))
        with np.errstate(all="ignore"):  # where kernels run as plain Python: lost rows overflow
            run_lanes(
                room,
                self.base,
                self.calm,
                self.least,
                program.nodes,
                program.columns,
                program.wanted,
                layout.group_start,
                layout.lengths,
                layout.strides,
                program.spare,
                program.scratch,
                codes,
                np.empty(n_nodes + len(self.columns), np.bool_),
                np.empty((STEPS, FIELDS), np.int64),
                np.empty(most_loops, np.int64),
                np.empty(n_nodes),
                out,
                log_z,
                lost,
                upward,
            )

    def _in_logs(self, codes: Codes, out: F64) -> float:
        """Run one row in the log domain: slower, and nothing is lost."""
        n_states = self.problem.n_states
        soft = {
            int(v): np.eye(int(n_states[v]))[x]
            for v, x in zip(self.columns, codes, strict=True)
            if x >= 0
        }
        beliefs = calibrate(self.problem, self.layout, soft, in_logs=True)
        if beliefs.are_impossible:
            return -np.inf
        out[:] = beliefs.values[self.cells]
        return whole_sum(beliefs)


def whole_sum(beliefs: Beliefs) -> float:
    """Give the log of the sum of everything; parts that were left out would make it wrong."""
    if beliefs.log_z is None:
        raise AssertionError("The sum of many rows must be whole: pose with whole=True.")
    return beliefs.log_z
