"""The exponential distribution of waiting times."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self, final

import numpy as np

from credo._types import F64, RandomState
from credo._validation.arrays import frozen
from credo.exceptions import InputError
from credo.families._base import AbstractFamily
from credo.families._degenerate import place, refuse_empty
from credo.families._draws import ready
from credo.families._parameters import positive
from credo.families._rows import Rows
from credo.families._support import NON_NEGATIVE, Support
from credo.families.summaries import SumSummary


@final
@dataclass(frozen=True, slots=True, eq=False)
class Exponential(AbstractFamily[SumSummary]):
    r"""Describe a waiting time by its rate.

    .. math:: \log p(x) = \log \lambda - \lambda x, \qquad x \ge 0

    Parameters
    ----------
    rate : float or array-like
        Rate :math:`\lambda`, one over the mean, positive.

    Raises
    ------
    InputError
        If a rate is not positive.

    See Also
    --------
    credo.families.Gamma : A shape parameter more.

    Notes
    -----
    Exact to rounding. The estimate is one over the mean. Natural form:
    :math:`\eta = -\lambda`, T(x) = x, :math:`A = -\log \lambda`.

    References
    ----------
    .. [1] N. L. Johnson, S. Kotz, N. Balakrishnan, *Continuous Univariate Distributions*,
       vol. 1, 2nd ed., 1994, section 19.7.

    Examples
    --------
    >>> from credo.families import Exponential
    >>> Exponential.fit([0.5, 3.5])
    Exponential(rate=array(0.5))
    """

    rate: F64

    _support: ClassVar[Support] = NON_NEGATIVE

    def __init__(self, rate: Any) -> None:
        values = positive(rate, "Exponential", "rate")
        object.__setattr__(self, "rate", frozen(values.copy()))

    @property
    def mean(self) -> F64:
        """Mean, one over the rate."""
        return 1.0 / self.rate

    @property
    def variance(self) -> F64:
        """Variance, the square of the mean."""
        return self.rate**-2.0

    def _log_density(self, values: F64) -> F64:
        with np.errstate(over="ignore"):
            result: F64 = np.log(self.rate) - self.rate * values
        return result

    @property
    def natural_parameters(self) -> F64:
        """Natural parameter, minus the rate."""
        return -self.rate[..., None]

    @property
    def log_partition(self) -> F64:
        """Log partition, minus the log rate."""
        return -np.log(self.rate)

    def _statistics(self, values: F64) -> F64:
        return values[..., None]

    @property
    def n_parameters(self) -> int:
        """Number of free parameters: one each."""
        return self.rate.size

    def sample(self, n: int, random_state: RandomState = None) -> F64:
        """Draw ``n`` values from each; see ``AbstractFamily.sample``."""
        size, rng = ready(n, random_state, "Exponential.sample")
        return rng.exponential(1.0 / self.rate, (size, *self.rate.shape))

    @classmethod
    def _collect(cls, rows: Rows) -> SumSummary:
        return SumSummary.of(rows)

    @classmethod
    def estimate(cls, summary: SumSummary) -> Self:
        """Give one over the mean; see ``AbstractFamily.estimate``."""
        cls._check_summary(summary)
        refuse_empty("Exponential.estimate", summary.weight)
        zero = summary.total <= 0
        if zero.any():
            raise InputError(
                f"Exponential.estimate: all values{place(zero)} are 0, so that the rate would be "
                "infinite. Drop that column, or add rows."
            )
        return cls(summary.weight / summary.total)
