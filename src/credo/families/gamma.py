"""The gamma distribution of positive numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self, final

import numpy as np
from scipy.special import gammaln, xlogy

from credo._types import F64, RandomState
from credo.families._base import AbstractFamily
from credo.families._degenerate import ROUNDING, refuse_constant, refuse_empty
from credo.families._draws import TINY, log_gammas, ready
from credo.families._likelihood_equations import gamma_shape
from credo.families._parameters import positive, together
from credo.families._rows import Rows
from credo.families._support import POSITIVE, Support
from credo.families.summaries import PositiveSummary


@final
@dataclass(frozen=True, slots=True, eq=False)
class Gamma(AbstractFamily[PositiveSummary]):
    r"""Describe a positive number by a shape and a rate.

    .. math:: \log p(x) = (a - 1) \log x - b x + a \log b - \log \Gamma(a), \qquad x > 0

    Parameters
    ----------
    shape : float or array-like
        Shape a, positive.
    rate : float or array-like
        Rate b, one over the scale, positive; broadcast against the shape.

    Raises
    ------
    InputError
        If a parameter is not positive.

    See Also
    --------
    credo.families.Exponential : Shape one, and 0 is a value too.

    Notes
    -----
    The log density is exact up to the rounding of its terms. The estimate solves
    :math:`\log a - \psi(a) = \log \bar x - \overline{\log x}` by Newton's method to rounding, in
    at most a handful of steps, for nearly constant data too. Natural form:
    :math:`\eta = (a - 1, -b)`, :math:`T(x) = (\log x, x)`. Draws below 2.2e-308 are given as that.

    References
    ----------
    .. [1] N. L. Johnson, S. Kotz, N. Balakrishnan, *Continuous Univariate Distributions*,
       vol. 1, 2nd ed., 1994, section 17.7.2.

    Examples
    --------
    >>> from credo.families import Gamma
    >>> fitted = Gamma.fit([1.0, 2.0, 4.0])
    >>> round(float(fitted.shape), 4), round(float(fitted.shape / fitted.rate), 4)
    (3.4012, 2.3333)
    """

    shape: F64
    rate: F64

    _support: ClassVar[Support] = POSITIVE

    def __init__(self, shape: Any, rate: Any) -> None:
        a, b = positive(shape, "Gamma", "shape"), positive(rate, "Gamma", "rate")
        both = together("Gamma", shape=a, rate=b)
        object.__setattr__(self, "shape", both[0])
        object.__setattr__(self, "rate", both[1])

    @property
    def mean(self) -> F64:
        """Mean, shape over rate."""
        return self.shape / self.rate

    @property
    def variance(self) -> F64:
        """Variance, shape over the square of the rate."""
        return self.shape / self.rate**2

    def _log_density(self, values: F64) -> F64:
        with np.errstate(over="ignore"):
            scaled = self.rate * values
        return xlogy(self.shape - 1.0, values) - scaled - self.log_partition

    @property
    def natural_parameters(self) -> F64:
        """Natural parameters (shape - 1, -rate)."""
        return np.stack([self.shape - 1.0, -self.rate], axis=-1)

    @property
    def log_partition(self) -> F64:
        r"""Log partition :math:`\log \Gamma(a) - a \log b`."""
        return gammaln(self.shape) - self.shape * np.log(self.rate)

    def _statistics(self, values: F64) -> F64:
        return np.stack([np.log(values), values], axis=-1)

    @property
    def n_parameters(self) -> int:
        """Number of free parameters: two each."""
        return 2 * self.shape.size

    def sample(self, n: int, random_state: RandomState = None) -> F64:
        """Draw ``n`` values from each; see ``AbstractFamily.sample``."""
        size, rng = ready(n, random_state, "Gamma.sample")
        logs = log_gammas(rng, self.shape, size) - np.log(self.rate)
        return np.maximum(np.exp(logs), TINY)

    @classmethod
    def _collect(cls, rows: Rows) -> PositiveSummary:
        return PositiveSummary.of(rows, rows.values)

    @classmethod
    def estimate(cls, summary: PositiveSummary) -> Self:
        """Give shape and rate of maximum likelihood; see ``AbstractFamily.estimate``."""
        cls._check_summary(summary)
        owner = "Gamma.estimate"
        refuse_empty(owner, summary.weight)
        gap = summary.divergence / summary.weight
        refuse_constant(owner, gap <= 0.5 * ROUNDING**2, "the shape would be infinite")
        shape = gamma_shape(gap)
        return cls(shape, shape / summary.mean)
