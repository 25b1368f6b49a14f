"""The Poisson distribution of counts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self, final

from scipy.special import gammaln, xlogy

from credo._types import F64, Int, RandomState
from credo._validation.arrays import as_finite, frozen
from credo.exceptions import InputError
from credo.families._base import AbstractFamily
from credo.families._degenerate import refuse_empty
from credo.families._draws import ready
from credo.families._logarithms import log_of
from credo.families._parameters import MOST
from credo.families._rows import Rows
from credo.families._support import COUNTS, Support
from credo.families.summaries import SumSummary

#: Larger draws would not fit into an integer of 64 bits.
_MOST_DRAWN = 2.0**62


@final
@dataclass(frozen=True, slots=True, eq=False)
class Poisson(AbstractFamily[SumSummary]):
    r"""Describe a count by its rate.

    .. math:: \log p(x) = x \log \lambda - \lambda - \log x!

    Parameters
    ----------
    rate : float or array-like
        Expected count :math:`\lambda`, 0 or more.

    Raises
    ------
    InputError
        If a rate is negative.

    See Also
    --------
    credo.families.Exponential : Times between the events that are counted.

    Notes
    -----
    Exact up to the rounding of the terms, about 1e-16 times :math:`x \log x`. The estimate is the
    mean. Natural form: :math:`\eta = \log \lambda`, T(x) = x, :math:`A = \lambda` and
    :math:`h = 1/x!`; minus infinity at rate 0, where all weight is on 0.

    References
    ----------
    .. [1] N. L. Johnson, A. W. Kemp, S. Kotz, *Univariate Discrete Distributions*, 3rd ed., 2005,
       section 4.7.

    Examples
    --------
    >>> from credo.families import Poisson
    >>> Poisson.fit([3, 0, 1, 4])
    Poisson(rate=array(2.))
    """

    rate: F64

    _support: ClassVar[Support] = COUNTS

    def __init__(self, rate: Any) -> None:
        values = as_finite(rate, "Poisson", "rate")
        if values.min(initial=0.0) < 0 or values.max(initial=0.0) > MOST:
            raise InputError(
                f"The rate of Poisson must be between 0 and {MOST:g}. Got {values.min():g} to "
                f"{values.max():g}."
            )
        object.__setattr__(self, "rate", frozen(values.copy()))

    @property
    def mean(self) -> F64:
        """Mean, the rate."""
        return self.rate

    @property
    def variance(self) -> F64:
        """Variance, the rate."""
        return self.rate

    def _log_density(self, values: F64) -> F64:
        return xlogy(values, self.rate) - self.rate + self._log_base(values)

    @property
    def natural_parameters(self) -> F64:
        """Natural parameter log rate; minus infinity at rate 0."""
        return log_of(self.rate)[..., None]

    @property
    def log_partition(self) -> F64:
        """Log partition, the rate."""
        return self.rate

    def _statistics(self, values: F64) -> F64:
        return values[..., None]

    def _log_base(self, values: F64) -> F64:
        return -gammaln(values + 1.0)

    @property
    def n_parameters(self) -> int:
        """Number of free parameters: one each."""
        return self.rate.size

    def sample(self, n: int, random_state: RandomState = None) -> Int:
        """Draw ``n`` counts from each; see ``AbstractFamily.sample``."""
        size, rng = ready(n, random_state, "Poisson.sample")
        if self.rate.max(initial=0.0) > _MOST_DRAWN:
            raise InputError(
                f"Poisson.sample needs rates up to {_MOST_DRAWN:g}, so that counts fit into 64 "
                f"bits. Got {self.rate.max():g}."
            )
        return rng.poisson(self.rate, (size, *self.rate.shape))

    @classmethod
    def _collect(cls, rows: Rows) -> SumSummary:
        return SumSummary.of(rows)

    @classmethod
    def estimate(cls, summary: SumSummary) -> Self:
        """Give the mean count; see ``AbstractFamily.estimate``."""
        cls._check_summary(summary)
        refuse_empty("Poisson.estimate", summary.weight)
        return cls(summary.total / summary.weight)
