"""The course of a run: residuals, whether they still fall, and whether they come round again."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from credo._types import F64
from credo.inference.question import Callback, Status

#: The share of the least residual before that the residual has to fall to.
SHARE = 0.9
#: A run is back where it was if no belief differs by more than this share of the residual. In a
#: run that still converges, however slowly, beliefs move by the momentum times the residual.
BACK = 1e-3


@dataclass
class Course:
    """What happened in a run so far."""

    callback: Callback | None
    residuals: list[float] = field(default_factory=list)
    status: Status = "MAX_SWEEPS"
    period: int = 0
    _since: int = 0  #: the sweep from which on stalling is judged
    _kept: F64 = field(default_factory=lambda: np.empty(0))
    _kept_at: int = 0

    def note(self, residual: float) -> None:
        """Keep the residual of a sweep and tell the caller."""
        self.residuals.append(residual)
        if self.callback is not None:
            self.callback(len(self.residuals), residual)

    def restart(self) -> None:
        """Judge from here on, because the rule of the run has changed."""
        self._since = len(self.residuals)
        self._kept_at = 0

    def is_stalled(self, window: int) -> bool:
        """Tell whether the residual has not fallen in so many sweeps."""
        before = self.residuals[self._since : -window]
        return bool(before) and min(self.residuals[-window:]) > SHARE * min(before)

    def find_period(self, beliefs: F64) -> int:
        """Give the number of sweeps after which the beliefs are the same again, or zero.

        They are compared with those after the last power of two sweeps, so that every period is
        found in the end (Brent, 1980). Sweeps go to and fro, so that only even numbers count.
        """
        done = len(self.residuals) - self._since
        if done % 2:
            return 0
        shares = np.exp(beliefs)
        gap = self.residuals[-1]
        if self._kept_at and np.abs(shares - self._kept).max(initial=0.0) < BACK * gap:
            return done - self._kept_at
        if done & (done - 1) == 0:
            self._kept, self._kept_at = shares, done
        return 0
