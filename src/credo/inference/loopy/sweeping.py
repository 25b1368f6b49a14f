"""Sweep after sweep until nothing changes: damping, oscillations, and how a run ended."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from credo._types import F64
from credo.inference.loopy.options import Options
from credo.inference.question import Status

#: Adaptive damping: the share of the new message is halved, down to a sixteenth, whenever the
#: residuals of so many sweeps are, on average, about as large as those of as many before. Slow
#: convergence, by less than 0.5 % in a window, is taken for none; residuals that grow by more than
#: a fifth are leaving a point where nothing holds them, and are left alone until they have left it.
_WINDOW, _LEAST_ETA, _PROGRESS, _GROWTH = 12, 1.0 / 16, 0.995, 1.2
#: Messages have come back if they are nearer than this share of what one sweep changes; looked for
#: from this sweep on, when a run that converges has mostly done so.
_NEAR, _FIRST_LOOK = 1e-6, 16
#: A belief is a product of messages and may move more than each of them: so many times as far.
_LEVER = 100.0


class Sweeper(Protocol):
    """Whatever passes all messages once."""

    def sweep(self, eta: float) -> float:
        """Pass all messages once; give the largest change, infinity for a contradiction."""

    def beliefs(self) -> F64:
        """Give the beliefs of all variables."""

    def snapshot(self) -> F64:
        """Give a copy of all messages."""

    def sample(self) -> F64:
        """Give a copy of a few thousand of them, spread evenly."""

    @property
    def rounding(self) -> float:
        """How far equal messages may be apart by rounding."""


@dataclass(frozen=True, slots=True, eq=False)
class Ending:
    """How a run ended."""

    status: Status
    residuals: F64
    period: int
    eta: float  #: the share of the new message in the last sweep
    is_impossible: bool


def run(sweeper: Sweeper, options: Options) -> Ending:
    """Sweep until the residual is at the tolerance, or messages come back, or sweeps run out."""
    residuals: list[float] = []
    watch, damper = Cycle(sweeper), _Damper(options)
    proof = _Proof(sweeper, options.tolerance)
    status: Status = "MAX_SWEEPS"
    for number in range(1, options.sweeps + 1):
        residual = sweeper.sweep(1.0 if proof.is_on else damper.eta)
        residuals.append(residual)
        if options.callback is not None:
            options.callback(number, residual)
        if residual == np.inf:
            return Ending(status, np.array(residuals), 0, damper.eta, is_impossible=True)
        if proof.is_done(residual):
            status = "CONVERGED"
            break
        if damper.is_final and watch.came_back(residual, damper.eta):
            status = "OSCILLATING"
            break
        if damper.take(residual):
            watch.restart()
    if status == "MAX_SWEEPS" and residuals[-1] <= sweeper.rounding:
        status = "CONVERGED"  # as far as numbers of this size can
    period = watch.period if status == "OSCILLATING" else 0
    return Ending(status, np.array(residuals), period, damper.eta, is_impossible=False)


class _Proof:
    """Find out whether a run has converged: twice in a row nothing moves.

    The second time without damping, and the beliefs must stay where they are too: a message whose
    small entry has far to go moves by next to nothing in each damped sweep.
    """

    def __init__(self, sweeper: Sweeper, tolerance: float) -> None:
        self._sweeper = sweeper
        self._tolerance = tolerance
        self._before: F64 | None = None

    @property
    def is_on(self) -> bool:
        """Whether the next sweep is to be without damping."""
        return self._before is not None

    def is_done(self, residual: float) -> bool:
        """Hear of a residual; tell whether nothing moves any more."""
        if residual > self._tolerance:
            self._before = None
            return False
        now = self._sweeper.beliefs()
        before, self._before = self._before, now
        if before is None:
            return False
        return bool(np.abs(now - before).max(initial=0.0) <= _LEVER * self._tolerance)


class _Damper:
    """Choose the share of the new message."""

    def __init__(self, options: Options) -> None:
        self.eta = options.eta
        self._is_adaptive = options.is_adaptive
        self._heard: list[float] = []

    @property
    def is_final(self) -> bool:
        """Whether the share will not change any more."""
        return not self._is_adaptive or self.eta <= _LEAST_ETA

    def take(self, residual: float) -> bool:
        """Hear of a residual; tell whether the share was changed."""
        if self.is_final:
            return False
        self._heard.append(residual)
        if len(self._heard) < 2 * _WINDOW:
            return False
        before, now = sum(self._heard[:_WINDOW]), sum(self._heard[_WINDOW:])
        if now < _PROGRESS * before or now > _GROWTH * before:
            del self._heard[:_WINDOW]
            return False
        self.eta /= 2.0
        self._heard.clear()
        return True


class Cycle:
    """Find out whether messages come back to where they were.

    Some of them are compared with a snapshot taken at doubling distances (Brent's way). Once these
    are back, all are kept, and compared when the same number of sweeps has passed again.
    """

    def __init__(self, sweeper: Sweeper) -> None:
        self._sweeper = sweeper
        self.period = 0
        self.restart()

    def restart(self) -> None:
        """Forget everything: the rule of motion has changed."""
        self._some: F64 | None = None
        self._all: F64 | None = None
        self._since = 0
        self._residual = 0.0
        self._next = _FIRST_LOOK

    def came_back(self, residual: float, eta: float) -> bool:
        """Tell whether the messages have come back, twice after the same number of sweeps.

        They are back if they are much nearer than one sweep moves them: else they creep.
        """
        self._since += 1
        if residual <= self._sweeper.rounding:
            return False
        near = min(_NEAR * residual + self._sweeper.rounding, 0.1 * eta * residual)
        if self._all is not None:
            if self._since < self.period:
                return False
            if np.abs(self._sweeper.snapshot() - self._all).max() <= near:
                return True
            self.period, self._all = 0, None
        elif self._since > 1 and self._is_near(residual, near):
            self.period, self._since = self._since, 0
            self._all = self._sweeper.snapshot()
            return False
        if self._since >= self._next:
            self._next *= 2 if self._some is not None else 1
            self._some, self._since = self._sweeper.sample(), 0
            self._residual = residual
        return False

    def _is_near(self, residual: float, near: float) -> bool:
        """Tell whether some messages, and before them the residual, are what they were."""
        if self._some is None or abs(residual - self._residual) > 1e-3 * self._residual:
            return False
        return bool(np.abs(self._sweeper.sample() - self._some).max() <= near)
