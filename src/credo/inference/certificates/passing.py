"""Pass tree-reweighted messages on a reduced problem, with the kernel of loopy propagation."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from credo._types import F64
from credo._validation.arrays import frozen
from credo.graphs.wiring import starts
from credo.inference.certificates.reduction import Reduced
from credo.inference.loopy._old_net import TABLE
from credo.inference.loopy.options import Options
from credo.inference.loopy.sweeping import Ending, run


class Passer:
    """Fractional belief propagation, factor after factor, with a power for each factor.

    Unary logs are tables of one variable after the factors; their messages never change.
    """

    def __init__(self, reduced: Reduced, options: Options) -> None:
        self._options = options
        self._factors = reduced.n_factors
        self._unary = reduced.unary
        scope = np.concatenate([reduced.scope, np.arange(reduced.n)])
        arity = np.concatenate([np.diff(reduced.scope_start), np.ones(reduced.n, np.int64)])
        cells = np.concatenate([np.diff(reduced.cell_start), reduced.n_states])
        self._logs = reduced.logs
        self._shape = {
            "scope_start": starts(arity),
            "scope": scope,
            "kind": np.full(len(arity), TABLE, np.int64),
            "cell_start": starts(cells),
            "message_start": starts(reduced.n_states[scope]),
            "state_start": reduced.state_start,
            "incident_start": starts(np.bincount(scope, minlength=reduced.n)),
            "incident": np.argsort(scope, kind="stable"),
            "factor_of": np.repeat(np.arange(len(arity)), arity),
        }
        self._room = self._make_room(arity, cells)
        self.updates = 0

    def pass_messages(self, rho: F64, shift: F64, *, sweeps: int) -> tuple[F64, Ending]:
        """Sweep from the given log messages; give the last ones, and how it ended."""
        from credo._kernels.loopy_messages import State  # noqa: PLC0415 - loads Numba

        n_states = int(self._shape["state_start"][-1])
        messages = np.concatenate([shift, self._unary])
        self._state = State(messages, np.zeros(n_states), np.zeros(n_states, np.int64))
        self._wires = self._wires_of(rho)
        ending = run(self, replace(self._options, sweeps=sweeps))
        return self._state.messages[: len(shift)].copy(), ending

    def sweep(self, eta: float) -> float:
        """Pass all messages once; give the largest change."""
        from credo._kernels.loopy_messages import add_up  # noqa: PLC0415
        from credo._kernels.loopy_sweeps import visit  # noqa: PLC0415

        add_up(self._wires, self._state)
        order = np.arange(self._factors)
        self.updates += int(self._shape["scope_start"][self._factors])
        in_logs, maximum = True, False
        return float(visit(self._wires, self._state, self._room, order, eta, in_logs, maximum))

    def beliefs(self) -> F64:
        """Give the beliefs of all variables; no message is a zero, so none of them is."""
        start = self._shape["state_start"]
        sizes = np.diff(start)
        logs = self._state.total - np.repeat(
            np.maximum.reduceat(self._state.total, start[:-1]), sizes
        )
        weights = np.exp(logs)
        return np.asarray(weights / np.repeat(np.add.reduceat(weights, start[:-1]), sizes))

    def snapshot(self) -> F64:
        """Give a copy of all messages, the largest entry of each being one."""
        return np.asarray(np.exp(self._state.messages))

    def sample(self) -> F64:
        """Give a copy of all messages too: the nets are of moderate size."""
        return self.snapshot()

    @property
    def rounding(self) -> float:
        """How far equal messages may be apart by rounding."""
        return 64 * float(np.finfo(np.float64).eps)

    def _wires_of(self, rho: F64) -> Any:
        """Give the arrays that the kernel reads, for given powers of the factors."""
        from credo._kernels.loopy_messages import Wires  # noqa: PLC0415

        start = self._shape["cell_start"]
        counting = np.concatenate([rho, np.ones(len(start) - 1 - len(rho))])
        logs = np.concatenate([self._logs, self._unary]) / np.repeat(counting, np.diff(start))
        least = np.minimum.reduceat(np.where(logs > -np.inf, logs, 0.0), start[:-1])
        wires = Wires(**self._shape, values=np.exp(logs), logs=logs, span=-least, counting=counting)
        return Wires(*(frozen(np.ascontiguousarray(array).view()) for array in wires))

    def _make_room(self, arity: Any, cells: Any) -> Any:
        """Make scratch space for one factor."""
        from credo._kernels.loopy_messages import Room  # noqa: PLC0415

        widths = np.diff(self._shape["message_start"][self._shape["scope_start"]])
        width, most = int(widths.max(initial=1)), int(arity.max(initial=1))
        return Room(
            np.zeros(width),
            np.zeros(width),
            np.zeros(most),
            np.zeros(width + 2),
            np.zeros(int(cells.max(initial=1))),
            np.zeros(4 * most),
        )
