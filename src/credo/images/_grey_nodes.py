"""How a grey value comes about: a level with Gaussian noise, clipped; or an impulse."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from scipy.special import log_ndtr

from credo._types import F64

#: Of the impulses one half are black or white, as salt and pepper are; the others have any value.
#: An impulse of either kind is then at most twice as likely as it is said to be.
_EXTREME = 0.5
#: Fractional values count as told apart at so many steps of their range, as those of 8 bits are.
_STEPS = 255


@dataclass(frozen=True, slots=True, eq=False)
class GreyNodes:
    """Hold the different values of a plane, and which one each pixel has.

    What a pixel says of the levels depends on its value only, so that tables with one row per
    value are all there is to compute. NaN is one more value: it says nothing.
    """

    values: F64
    rows: npt.NDArray[np.intp]
    levels: F64
    quantum: float

    @classmethod
    def of(cls, plane: npt.NDArray[Any], levels: F64) -> Self:
        """Sort the values of a plane; whole numbers are one apart."""
        values, rows = np.unique(plane, return_inverse=True)
        is_whole = plane.dtype.kind in "iub"
        quantum = 1.0 if is_whole else float(levels[-1] - levels[0]) / _STEPS
        return cls(values.astype(np.float64), rows.reshape(plane.shape), levels, quantum)

    @property
    def is_extreme(self) -> npt.NDArray[np.bool_]:
        """Which values are the darkest or the lightest, or beyond."""
        return (self.values <= self.levels[0]) | (self.values >= self.levels[-1])

    def log_gaussian(self, sigma: float) -> F64:
        """Give log p(value | level) without impulses; extremes have the whole tail, by clipping."""
        distance = (self.values[:, None] - self.levels) / sigma
        table: F64 = math.log(self.quantum / (math.sqrt(2 * math.pi) * sigma)) - 0.5 * distance**2
        half = self.quantum / (2 * sigma)
        dark, light = self.values <= self.levels[0], self.values >= self.levels[-1]
        table[dark] = log_ndtr((self.levels[0] - self.levels) / sigma + half)
        table[light] = log_ndtr((self.levels - self.levels[-1]) / sigma + half)
        return table

    def gaussian(self, sigma: float) -> F64:
        """Give p(value | level) without impulses."""
        return np.exp(self.log_gaussian(sigma))

    def impulses(self) -> F64:
        """Give p(value | impulse)."""
        spread = self.quantum / (self.levels[-1] - self.levels[0] + self.quantum)
        return (1 - _EXTREME) * spread + np.where(self.is_extreme, _EXTREME / 2, 0.0)

    def log_table(self, sigma: float, impulse: float) -> F64:
        """Give log p(value | level); zero for NaN."""
        with np.errstate(divide="ignore", invalid="ignore"):
            shares = np.log1p(-impulse), np.log(impulse * self.impulses())
            mixed: F64 = np.logaddexp(shares[0] + self.log_gaussian(sigma), shares[1][:, None])
        mixed[np.isnan(self.values)] = 0.0
        return mixed

    def table(self, sigma: float, impulse: float) -> F64:
        """Give p(value | level); one for NaN."""
        return np.exp(self.log_table(sigma, impulse))
