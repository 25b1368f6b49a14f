"""One junction tree for many rows of evidence, with its tables before any evidence."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from credo._types import F64, Bool
from credo.graphs.problems import Problem
from credo.inference._beliefs import calibrate_in_logs
from credo.inference._lanes import write_program
from credo.inference._layout import Layout
from credo.inference._many_rows import Codes
from credo.inference._tables import Homes, Places, SumTables, Weights

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

    def __init__(self, problem: Problem, layout: Layout, columns: Int64, wanted: Int64) -> None:
        self.problem, self.layout = problem, layout
        self.columns, self.wanted = columns, wanted
        self.program = write_program(problem, layout, columns, wanted)
        self.n_cells = self.program.places.n_cells
        tables = SumTables(problem, layout)
        self.log_scale = tables.log_scale
        self.is_wide = problem.is_wide or tables.lost
        self.least = tables.low
        self.still = np.zeros((2, self.n_cells))  # at the start, and without evidence
        self.still[0, : layout.n_cells] = tables.base
        self.still[1] = self._without_evidence()

    @property
    def lanes(self) -> int:
        """How many rows to run at a time, if memory is no matter."""
        fitting = int(_CACHE / (8 * self.n_cells))
        return max(_LEAST_LANES, min(_MOST_LANES, 1 << max(fitting, 1).bit_length() - 1))

    def room(self, lanes: int) -> F64:
        """Make room for so many rows at a time."""
        return np.zeros((self.n_cells, lanes))

    def _without_evidence(self) -> F64:
        """Run up to the roots without evidence."""
        room = self.room(1)
        none = np.full((1, len(self.columns)), -1, np.int32)
        unused = np.empty((1, 0)), np.empty(1), np.empty(1, np.bool_)
        self._call(room, self.program.upward, none, *unused)
        calm = room[:, 0].copy()
        calm[self.program.places.spare :] = 1.0
        return calm

    def run(self, codes: Codes, room: F64, out: F64, log_z: F64) -> None:
        """Run rows: write their beliefs, and the logs of their sums, -inf for impossible rows."""
        if self.is_wide:
            lost = np.ones(len(codes), np.bool_)
        else:
            lost = np.empty(len(codes), np.bool_)
            self._call(room, self.program.steps, codes, out, log_z, lost)
            log_z += self.log_scale
        for row in np.flatnonzero(lost).tolist():
            log_z[row] = self._in_logs(codes[row], out[row])

    def _call(
        self, room: F64, steps: Int64, codes: Codes, out: F64, log_z: F64, lost: Bool
    ) -> None:
        """Call the kernel."""
        from credo._kernels.junction_lanes import run_lanes  # noqa: PLC0415

        program = self.program
        with np.errstate(all="ignore"):  # where kernels run as plain Python: lost rows overflow
            run_lanes(
                room,
                self.still,
                self.least,
                program.nodes,
                steps,
                program.loops,
                program.columns,
                codes,
                np.ones(program.n_flags, np.bool_),
                np.zeros(program.loops.shape[1], np.int64),
                np.empty(len(self.least)),
                out,
                log_z,
                lost,
            )

    def _in_logs(self, codes: Codes, out: F64) -> float:
        """Run one row in the log domain: slower, and nothing is lost."""
        n_states = self.problem.n_states
        soft = {
            int(v): np.eye(int(n_states[v]))[x]
            for v, x in zip(self.columns, codes, strict=True)
            if x >= 0
        }
        weights = Weights(Places(self.layout, n_states), soft) if soft else None
        homes = Homes(self.problem, self.layout)
        beliefs = calibrate_in_logs(self.problem, self.layout, homes, weights)
        if beliefs.values.size:
            spans = [np.arange(homes.start[v], homes.start[v + 1]) for v in self.wanted]
            out[:] = beliefs.values[np.concatenate([np.empty(0, np.int64), *spans])]
        return -np.inf if beliefs.are_impossible else float(beliefs.log_z or 0.0)
