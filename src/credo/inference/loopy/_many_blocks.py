"""Rows in blocks, on threads, within a budget; the answer depends on none of these."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self, TypeAlias

import numpy as np
import numpy.typing as npt

from credo._types import F64
from credo.inference.loopy._many_layout import LaneLayout
from credo.inference.loopy._many_weights import RowWeights
from credo.inference.loopy.options import Options
from credo.inference.many_rows import run_in_rooms

Int64: TypeAlias = npt.NDArray[np.int64]
#: Rows of a block, as long as their weights take no more bytes than this; then fewer, but enough to
#: keep the lanes busy until the last rows.
_BLOCK, _BLOCK_BYTES, _FILLINGS = 1024, 16e6, 2
#: Copies of the weights of a block while they are made.
_COPIES = 4
#: Bytes of a line of the cache: numbers of one lane that lie on two take twice as long.
_LINE = 64
#: The end of a row whose numbers were too small, as the kernels number it.
_LOST = 5


@dataclass(frozen=True, slots=True, eq=False)
class Run:
    """What becomes of each row; the kernels write into it."""

    beliefs: F64
    log_z: F64
    residuals: F64
    report: Int64  #: the end, as the kernels number it, and the sweeps

    @classmethod
    def empty(cls, n_rows: int, width: int) -> Self:
        """Make room for so many rows."""
        return cls(
            np.zeros((n_rows, width)),
            np.zeros(n_rows),
            np.zeros(n_rows),
            np.zeros((n_rows, 2), np.int64),
        )

    @property
    def ends(self) -> Int64:
        """How each row ended."""
        return self.report[:, 0]


@dataclass(frozen=True, slots=True, eq=False)
class Lanes:
    """Rows side by side: a layout, and settings as the kernels read them."""

    layout: LaneLayout
    options: Options
    dtype: Any
    until_possible: bool
    log_sums: bool

    def block_size(self, n_rows: int) -> int:
        """Rows of a block, if a thread has so many: as many as there are lanes, or a few times."""
        from credo._kernels.loopy_lane_products import LANES  # noqa: PLC0415

        fitting = int(_BLOCK_BYTES / (8.0 * max(len(self.layout.base), 1)))
        return max(LANES, min(n_rows, max(_FILLINGS * LANES, min(_BLOCK, fitting))))

    def n_bytes(self, n_rows: int) -> float:
        """Bytes that one thread needs: messages, and a few copies of the weights of a block."""
        weights = _COPIES * 8.0 * len(self.layout.base) * min(n_rows, self.block_size(n_rows))
        return float(self.layout.size * np.dtype(self.dtype).itemsize) + weights

    def room(self) -> Any:
        """Make room for messages, beginning where a line of the cache does."""
        item = np.dtype(self.dtype).itemsize
        room = np.zeros(self.layout.size + _LINE // item, self.dtype)
        skip = -room.ctypes.data % _LINE // item
        return room[skip : skip + self.layout.size]

    def run(self, weights: RowWeights, chosen: Int64, room: Any, run: Run) -> None:
        """Run some rows; write what becomes of them."""
        block = weights.block(chosen, self.layout.base)
        part = Run.empty(len(chosen), run.beliefs.shape[1])
        self._call(room, block.weights, part)
        sums = part.log_z + block.log_scale + self.layout.log_constant
        part.log_z[:] = np.where(np.isneginf(part.log_z), -np.inf, sums)
        part.report[block.are_lost, 0] = _LOST
        run.beliefs[chosen], run.log_z[chosen] = part.beliefs, part.log_z
        run.residuals[chosen], run.report[chosen] = part.residuals, part.report

    def _call(self, room: Any, weights: F64, part: Run) -> None:
        """Call the kernel."""
        from credo._kernels.loopy_lane_products import LANES  # noqa: PLC0415
        from credo._kernels.loopy_lanes import run_rows  # noqa: PLC0415

        layout, options = self.layout, self.options
        shares = options.eta, 1.0 - options.eta
        numbers = np.array([0, 1, *shares, layout.floor, not options.maximum], self.dtype)
        is_exact = np.dtype(self.dtype) == np.dtype(np.float64)
        switches = self.until_possible, is_exact, self.log_sums
        settings = np.array([options.sweeps, *switches], np.int64)
        arity = int(np.diff(layout.factors[:, 1:3], axis=1).max(initial=1))
        run_rows(
            room,
            layout.variables,
            layout.slots,
            layout.factors,
            layout.values,
            layout.floors,
            numbers,
            layout.shift,
            layout.outs,
            options.tolerance,
            settings,
            weights,
            part.beliefs,
            part.log_z,
            part.residuals,
            part.report,
            np.zeros((4, LANES), np.int64),
            np.zeros(len(layout.variables) * LANES, np.int64),
            np.zeros(arity, np.int64),
            np.zeros(max(LANES, int(layout.variables[:, 1].max(initial=1)))),
        )


def run_blocks(
    lanes: Lanes,
    weights: RowWeights,
    chosen: Int64,
    run: Run,
    threads: int,
    report: Callable[[Int64], None],
) -> None:
    """Run the chosen rows in blocks, on threads."""
    size = lanes.block_size(-(-len(chosen) // threads))
    blocks = [chosen[i : i + size] for i in range(0, len(chosen), size)]
    rooms = [lanes.room() for _ in range(min(threads, len(blocks)))]

    def run_block(block: Int64, room: Any) -> None:
        lanes.run(weights, block, room, run)

    run_in_rooms(blocks, rooms, run_block, report)
