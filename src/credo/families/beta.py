"""The beta distribution of numbers between 0 and 1."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self, final

import numpy as np
from scipy.special import betaln, expit, xlog1py, xlogy

from credo._types import F64, RandomState
from credo.families._base import AbstractFamily
from credo.families._draws import TINY, log_gammas, ready
from credo.families._likelihood_equations import concentration_of
from credo.families._parameters import positive, together
from credo.families._rows import Rows
from credo.families._support import UNIT, Support
from credo.families.summaries import PositiveSummary

#: The largest number below one.
_BELOW_ONE = 1.0 - float(np.finfo(np.float64).epsneg)


@final
@dataclass(frozen=True, slots=True, eq=False)
class Beta(AbstractFamily[PositiveSummary]):
    r"""Describe a number strictly between 0 and 1, such as a share.

    .. math:: \log p(x) = (\alpha - 1) \log x + (\beta - 1) \log(1 - x) - \log B(\alpha, \beta)

    Parameters
    ----------
    alpha : float or array-like
        First shape, positive.
    beta : float or array-like
        Second shape, positive; broadcast against the first.

    Raises
    ------
    InputError
        If a parameter is not positive.

    See Also
    --------
    credo.families.Dirichlet : Several shares that sum to one.

    Notes
    -----
    The log density is exact up to the rounding of its terms. The estimate is that of a Dirichlet
    with two entries. Natural form: :math:`\eta = (\alpha - 1, \beta - 1)`,
    :math:`T(x) = (\log x, \log(1 - x))`, :math:`A = \log B(\alpha, \beta)`. Draws that would be
    rounded to 0 or 1 are given as the nearest number inside.

    References
    ----------
    .. [1] N. L. Johnson, S. Kotz, N. Balakrishnan, *Continuous Univariate Distributions*,
       vol. 2, 2nd ed., 1995, section 25.4.

    Examples
    --------
    >>> from credo.families import Beta
    >>> fitted = Beta.fit([0.2, 0.4, 0.5, 0.7])
    >>> round(float(fitted.alpha), 3), round(float(fitted.beta), 3)
    (3.171, 3.889)
    """

    alpha: F64
    beta: F64

    _support: ClassVar[Support] = UNIT

    def __init__(self, alpha: Any, beta: Any) -> None:
        a, b = positive(alpha, "Beta", "alpha"), positive(beta, "Beta", "beta")
        both = together("Beta", alpha=a, beta=b)
        object.__setattr__(self, "alpha", both[0])
        object.__setattr__(self, "beta", both[1])

    @property
    def mean(self) -> F64:
        """Mean, alpha over the sum of both."""
        return self.alpha / (self.alpha + self.beta)

    @property
    def variance(self) -> F64:
        """Variance m (1 - m) / (alpha + beta + 1), m being the mean."""
        total = self.alpha + self.beta
        return (self.alpha / total) * (self.beta / total) / (total + 1.0)

    def _log_density(self, values: F64) -> F64:
        inner = xlogy(self.alpha - 1.0, values) + xlog1py(self.beta - 1.0, -values)
        return inner - self.log_partition

    @property
    def natural_parameters(self) -> F64:
        """Natural parameters (alpha - 1, beta - 1)."""
        return np.stack([self.alpha - 1.0, self.beta - 1.0], axis=-1)

    @property
    def log_partition(self) -> F64:
        """Log partition, the logarithm of the beta function."""
        return betaln(self.alpha, self.beta)

    def _statistics(self, values: F64) -> F64:
        return np.stack([np.log(values), np.log1p(-values)], axis=-1)

    @property
    def n_parameters(self) -> int:
        """Number of free parameters: two each."""
        return 2 * self.alpha.size

    def sample(self, n: int, random_state: RandomState = None) -> F64:
        """Draw ``n`` values from each; see ``AbstractFamily.sample``."""
        size, rng = ready(n, random_state, "Beta.sample")
        log_odds = log_gammas(rng, self.alpha, size) - log_gammas(rng, self.beta, size)
        return np.clip(expit(log_odds), TINY, _BELOW_ONE)

    @classmethod
    def _collect(cls, rows: Rows) -> PositiveSummary:
        return PositiveSummary.of(rows, np.stack([rows.values, 1.0 - rows.values], axis=-1))

    @classmethod
    def estimate(cls, summary: PositiveSummary) -> Self:
        """Give both shapes of maximum likelihood; see ``AbstractFamily.estimate``."""
        cls._check_summary(summary)
        both = concentration_of(summary)
        return cls(both[..., 0], both[..., 1])
