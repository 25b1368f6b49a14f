"""Damping, tolerance, oscillations and callbacks: the one loop around every engine that sweeps."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from credo import _checks as check
from credo._types import F64
from credo.exceptions import InputError
from credo.inference.question import Callback, Status

#: Adaptive damping: the share of the new message is halved, down to a sixteenth, whenever the
#: residuals of so many sweeps are, on average, about as large as those of as many before. Slow
#: convergence, by less than 0.5 % in a window, is taken for none; residuals that grow by more than
#: a fifth are leaving a point where nothing holds them, and are left alone until they have left it.
_WINDOW, _LEAST_ETA, _PROGRESS, _GROWTH = 12, 1.0 / 16, 0.995, 1.2
#: Messages have come back if they are nearer than this share of what one sweep changes; looked for
#: from this sweep on, when a run that converges has mostly done so. A few of them are looked at
#: first.
_NEAR, _FIRST_LOOK, _SAMPLE = 1e-6, 16, 4096
#: A belief is a product of messages and may move more than each of them: so many times as far.
_LEVER = 100.0


class Sweeper(Protocol):
    """Whatever passes all messages once."""

    rounding: float  #: how far equal messages may be apart by rounding

    def sweep(self, eta: float) -> float:
        """Pass all messages once; return the largest change, infinity for a contradiction."""

    def beliefs(self) -> F64:
        """Return the beliefs of all variables."""

    def snapshot(self) -> F64:
        """Return all messages, to be compared with themselves later."""


@dataclass(frozen=True, slots=True)
class Pace:
    """How long to sweep, and how much of each new message to take."""

    eta: float  #: the share of the new message, at first
    is_adaptive: bool
    sweeps: int
    tolerance: float
    callback: Callback | None = None

    @classmethod
    def of(
        cls, who: str, momentum: Any, sweeps: Any, tolerance: Any, callback: Callback | None
    ) -> Pace:
        """Check the settings that engines have in common."""
        is_adaptive = isinstance(momentum, str) and momentum == "adaptive"
        is_word = isinstance(momentum, str) and not is_adaptive
        eta = 1.0 if isinstance(momentum, str) else check.number(momentum, f"momentum of {who}")
        if is_word or not 0.0 < eta <= 1.0:
            raise InputError(
                f"The momentum of {who} is the share of the new message, above 0 and at most 1, or "
                f"'adaptive'. Got {momentum!r}."
            )
        tolerance = check.number(tolerance, f"tolerance of {who}", 0)
        if callback is not None and not callable(callback):
            raise InputError(f"The callback of {who} must be a function of sweep and residual.")
        count = check.count(sweeps, f"sweeps of {who}")
        return cls(eta, is_adaptive, count, float(tolerance), callback)

    def fixed(self, sweeps: int) -> Pace:
        """Return a pace without damping."""
        return replace(self, eta=1.0, is_adaptive=False, sweeps=sweeps)


@dataclass(frozen=True, slots=True, eq=False)
class Ending:
    """How a run ended."""

    status: Status
    residuals: F64
    period: int = 0  #: sweeps after which messages come back
    eta: float = 1.0  #: the share of the new message in the last sweep
    is_impossible: bool = False


def drive(sweeper: Sweeper, pace: Pace) -> Ending:
    """Sweep until nothing moves, or messages come back, or sweeps run out.

    Nothing moves if that is seen twice in a row: the second time without damping, and the beliefs
    must stay where they are too, because a message whose small entry has far to go moves by next
    to nothing in each damped sweep.
    """
    residuals: list[float] = []
    cycle, damper = _Cycle(sweeper), _Damper(pace)
    before: F64 | None = None  # beliefs, where the last sweep moved nothing
    status: Status = "MAX_SWEEPS"
    for number in range(1, pace.sweeps + 1):
        residual = sweeper.sweep(damper.eta if before is None else 1.0)
        residuals.append(residual)
        if pace.callback is not None:
            pace.callback(number, residual)
        if residual == np.inf:
            return Ending(status, np.array(residuals), 0, damper.eta, is_impossible=True)
        now = sweeper.beliefs() if residual <= pace.tolerance else None
        if _is_at_rest(before, now, pace.tolerance):
            status = "CONVERGED"
            break
        before = now
        if damper.is_final and cycle.came_back(residual, damper.eta):
            status = "OSCILLATING"
            break
        if damper.take(residual):
            cycle = _Cycle(sweeper)  # the rule of motion has changed
    if status == "MAX_SWEEPS" and residuals[-1] <= sweeper.rounding:
        status = "CONVERGED"  # as far as numbers of this size can
    period = cycle.period if status == "OSCILLATING" else 0
    return Ending(status, np.array(residuals), period, damper.eta)


def _is_at_rest(before: F64 | None, now: F64 | None, tolerance: float) -> bool:
    """Tell whether beliefs stay where they are, after two sweeps that moved nothing."""
    if before is None or now is None:
        return False
    return bool(np.abs(now - before).max(initial=0.0) <= _LEVER * tolerance)


class _Damper:
    """Choose the share of the new message."""

    def __init__(self, pace: Pace) -> None:
        self.eta = pace.eta
        self._is_adaptive = pace.is_adaptive
        self._heard: list[float] = []

    @property
    def is_final(self) -> bool:
        """Whether the share will not change any more."""
        return not self._is_adaptive or self.eta <= _LEAST_ETA

    def take(self, residual: float) -> bool:
        """Take note of a residual; return whether the share was changed."""
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


class _Cycle:
    """Find out whether messages come back to where they were.

    Some of them are compared with a snapshot taken at doubling distances (Brent's way). Once these
    are back, all are kept, and compared when the same number of sweeps has passed again.
    """

    def __init__(self, sweeper: Sweeper) -> None:
        self._sweeper = sweeper
        self.period = 0
        self._some: F64 | None = None
        self._all: F64 | None = None
        self._since, self._residual, self._next = 0, 0.0, _FIRST_LOOK

    def came_back(self, residual: float, eta: float) -> bool:
        """Tell whether the messages have come back, twice after the same number of sweeps.

        They are back if they are much nearer than one sweep moves them: else they creep.
        """
        self._since += 1
        rounding = self._sweeper.rounding
        if residual <= rounding:
            return False
        near = min(_NEAR * residual + rounding, 0.1 * eta * residual)
        if self._all is not None:
            if self._since < self.period:
                return False
            if np.abs(self._sweeper.snapshot() - self._all).max() <= near:
                return True
            self.period, self._all = 0, None
        elif self._since > 1 and self._is_near(residual, near):
            self.period, self._since = self._since, 0
            self._all = self._sweeper.snapshot().copy()
            return False
        if self._since >= self._next:
            self._next *= 2 if self._some is not None else 1
            self._some, self._since = self._sample(), 0
            self._residual = residual
        return False

    def _is_near(self, residual: float, near: float) -> bool:
        """Tell whether some messages, and before them the residual, are what they were."""
        if self._some is None or abs(residual - self._residual) > 1e-3 * self._residual:
            return False
        return bool(np.abs(self._sample() - self._some).max() <= near)

    def _sample(self) -> F64:
        """Return a few thousand messages, spread evenly."""
        messages = self._sweeper.snapshot()
        return messages[:: max(1, len(messages) // _SAMPLE)].copy()
