"""Pass tree-reweighted messages on a reduced problem, with the messages of loopy propagation."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from credo._types import F64
from credo.inference.certificates.reduction import Reduced
from credo.inference.drive import Ending, Pace, drive
from credo.inference.loopy.messages import LogMessages
from credo.inference.loopy.net import Net, wire


class Passer:
    """Fractional belief propagation, factor after factor, with a power for each factor."""

    def __init__(self, reduced: Reduced, pace: Pace) -> None:
        self._reduced, self._pace = reduced, pace
        self.updates = 0

    def pass_messages(self, rho: F64, shift: F64, *, sweeps: int) -> tuple[F64, Ending]:
        """Sweep from the given log messages; return the last ones, and how it ended."""
        reduced = self._reduced
        wires, constant = wire(reduced, reduced.logs.copy(), reduced.unary.copy(), rho)
        net = Net(reduced.problem, np.arange(reduced.n_factors), wires, constant)
        messages = LogMessages(net, "sequential", in_logs=True)
        messages.start_from(shift)
        ending = drive(messages, replace(self._pace, sweeps=sweeps))
        self.updates += messages.updates
        return messages.log_messages().copy(), ending
