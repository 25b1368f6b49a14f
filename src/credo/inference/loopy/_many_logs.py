"""Rows of evidence one by one in the log domain: slower, and nothing is lost."""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from credo._types import F64
from credo.graphs.evidence import Evidence, Finding
from credo.graphs.wiring import Wiring
from credo.inference.loopy._many_layout import lay_out_lanes
from credo.inference.loopy._old_net import TABLE, Net, build
from credo.inference.loopy.general import General
from credo.inference.loopy.options import Options

#: What a cell whose number underflows counts as where only zeros matter.
_POSITIVE = 1e-300


class Outcome(NamedTuple):
    """How one row ended: its end as the kernels number it, sweeps, residual, log sum, beliefs."""

    end: int
    sweeps: int
    residual: float
    log_z: float
    beliefs: F64


class LogRows:
    """A net with weights on every variable, for one row after the other.

    Parameters
    ----------
    wiring
        The compiled model.
    options
        Settings of the run; it is flooding.
    until_possible
        Whether to stop once the most probable states are possible together.
    """

    def __init__(self, wiring: Wiring, options: Options, *, until_possible: bool) -> None:
        self._options, self._until_possible = options, until_possible
        self._net = _weighted(wiring, sum_product=options.temperature == 1.0)
        nobody = np.empty(0, np.int64)
        self._layout = lay_out_lanes(self._net, nobody, np.float64, options.temperature)

    def run(self, log_weights: F64) -> Outcome:
        """Run a row, given the logs of its weights on all states."""
        from credo._kernels import loopy_lane_rows as ends  # noqa: PLC0415

        options, row = self._options, _Row(self._net, self._options, log_weights)
        impossible = Outcome(ends.IMPOSSIBLE, 0, np.nan, -np.inf, np.empty(0))
        end, sweeps, residual = ends.MAX_SWEEPS, 0, np.inf
        for sweeps in range(1, options.sweeps + 1):
            residual = row.sweep(options.eta)
            if residual == np.inf:
                return impossible._replace(sweeps=sweeps)
            if self._until_possible and self._is_possible(row):
                end = ends.SATISFIED
                break
            if residual <= options.tolerance:
                end = ends.CONVERGED
                break
        log_z = row.log_sum()
        if log_z == -np.inf:
            return impossible._replace(sweeps=sweeps)
        return Outcome(end, sweeps, residual, log_z, row.beliefs())

    def _is_possible(self, row: General) -> bool:
        """Tell whether no factor forbids the most probable states."""
        from credo._kernels.loopy_lane_products import LANES  # noqa: PLC0415
        from credo._kernels.loopy_lane_rows import BROKEN, check  # noqa: PLC0415

        layout, wires, beliefs = self._layout, row.wires, row.beliefs()
        values = np.where(wires.logs > -np.inf, np.maximum(wires.values, _POSITIVE), 0.0)
        best = [int(beliefs[a:b].argmax()) for a, b in pairwise(wires.state_start.tolist())]
        choice = np.repeat(np.array(best, np.int64), LANES)
        lanes = np.zeros((4, LANES), np.int64)
        check(values, layout.factors, layout.slots, choice, lanes)
        return bool(lanes[BROKEN, 0] == 0)


class _Row(General):
    """The messages of a net in which every variable has weights, those of one row."""

    def __init__(self, net: Net, options: Options, log_weights: F64) -> None:
        self._log_weights = log_weights
        super().__init__(net, options)

    def log_sum(self) -> float:
        """Give the Bethe estimate, with all that tables were divided by."""
        heat = self._options.temperature or 1.0
        return self.log_z() + float(self.shift.sum()) + self.net.problem.log_constant / heat

    def _state_unary(self) -> None:
        """Say what single tables say, and in the place of the last of them the weights."""
        super()._state_unary()
        is_single = (np.diff(self.net.scope_start) == 1) & (self.net.kind == TABLE)
        slots = self.net.scope_start[np.flatnonzero(is_single)]
        first = int(self.net.message_start[slots[-len(self.net.n_states)]])
        self.state.messages[first : first + len(self._log_weights)] = self._log_weights
        self._add_up()


def _weighted(wiring: Wiring, *, sum_product: bool) -> Net:
    """Make a net with a table of ones on each variable, in their order, after all other tables."""
    ones = (
        Finding(v, -1, np.ones(int(k)), wiring.names[v], None)
        for v, k in enumerate(wiring.n_states.tolist())
    )
    return build(wiring, Evidence(tuple(ones)), None, sum_product=sum_product)
