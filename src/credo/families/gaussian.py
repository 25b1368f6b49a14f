"""A Gaussian by mean and variance, for one case or for an array of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self, final

import numpy as np
from scipy.special import log_ndtr, ndtr, ndtri

from credo._types import F64, RandomState
from credo._validation.arrays import as_finite
from credo.exceptions import InputError
from credo.families._base import AbstractFamily
from credo.families._degenerate import ROUNDING, refuse_constant, refuse_empty
from credo.families._draws import ready
from credo.families._parameters import together
from credo.families._rows import Rows
from credo.families._support import REALS, Support
from credo.families.summaries import MomentSummary

#: Squares of larger numbers are no longer finite.
_MOST = 1e150


@final
@dataclass(frozen=True, slots=True, eq=False)
class Gaussian(AbstractFamily[MomentSummary]):
    r"""Describe :math:`\mathcal{N}(\mu, \sigma^2)` by its mean and its variance.

    .. math:: \log p(x) = -\frac{(x - \mu)^2}{2 \sigma^2} - \frac12 \log(2 \pi \sigma^2)

    Parameters
    ----------
    mean : float or array-like
        Mean, of one case or of each row.
    variance : float or array-like
        Variance (not the standard deviation), positive; broadcast against the mean.

    Raises
    ------
    InputError
        If a variance is not positive.

    See Also
    --------
    credo.families.DiagonalGaussian : Vectors of independent Gaussians as one event.

    Notes
    -----
    Lighter than a SciPy distribution: no import of ``scipy.stats``. All methods are exact to
    rounding, in the tails too. The estimate is the mean and the variance divided by the weight.
    Natural form: :math:`\eta = (\mu/\sigma^2, -1/(2\sigma^2))`, :math:`T(x) = (x, x^2)`.

    References
    ----------
    .. [1] C. M. Bishop, *Pattern Recognition and Machine Learning*, 2006, sections 1.2.4 and 2.4.

    Examples
    --------
    >>> from credo.families import Gaussian
    >>> float(Gaussian(mean=0.0, variance=4.0).cdf(0.0))
    0.5

    Two columns, one of them with a missing value:

    >>> Gaussian.fit([[1.0, 5.0], [3.0, float("nan")], [5.0, 7.0]])
    Gaussian(mean=array([3., 6.]), variance=array([2.66666667, 1.        ]))
    """

    mean: F64
    variance: F64

    _support: ClassVar[Support] = REALS

    def __init__(self, mean: Any, variance: Any) -> None:
        both = checked_moments(mean, variance, "Gaussian")
        object.__setattr__(self, "mean", both[0])
        object.__setattr__(self, "variance", both[1])

    @property
    def scale(self) -> F64:
        """Standard deviation."""
        return np.sqrt(self.variance)

    def logpdf(self, x: Any) -> F64:
        """Give the log density at ``x``; unlike ``log_density``, NaN gives NaN."""
        return gaussian_log_density(np.asarray(x, dtype=np.float64), self.mean, self.variance)

    def pdf(self, x: Any) -> F64:
        """Give the density at ``x``."""
        return np.exp(self.logpdf(x))

    def cdf(self, x: Any) -> F64:
        """Give the probability of at most ``x``."""
        return ndtr((np.asarray(x, dtype=np.float64) - self.mean) / self.scale)

    def sf(self, x: Any) -> F64:
        """Give the probability of more than ``x``, exact in the upper tail."""
        return ndtr((self.mean - np.asarray(x, dtype=np.float64)) / self.scale)

    def logcdf(self, x: Any) -> F64:
        """Give the logarithm of the probability of at most ``x``."""
        return log_ndtr((np.asarray(x, dtype=np.float64) - self.mean) / self.scale)

    def ppf(self, q: Any) -> F64:
        """Give the ``q``-quantile."""
        return self.mean + self.scale * ndtri(np.asarray(q, dtype=np.float64))

    def _log_density(self, values: F64) -> F64:
        return gaussian_log_density(values, self.mean, self.variance)

    @property
    def natural_parameters(self) -> F64:
        r"""Natural parameters :math:`(\mu / \sigma^2, -1 / (2 \sigma^2))`."""
        return np.stack([self.mean / self.variance, -0.5 / self.variance], axis=-1)

    @property
    def log_partition(self) -> F64:
        r"""Log partition :math:`\mu^2 / (2 \sigma^2) + \frac12 \log(2 \pi \sigma^2)`."""
        return gaussian_log_partition(self.mean, self.variance)

    def _statistics(self, values: F64) -> F64:
        with np.errstate(over="ignore"):
            return np.stack([values, values * values], axis=-1)

    @property
    def n_parameters(self) -> int:
        """Number of free parameters: two each."""
        return 2 * self.mean.size

    def sample(self, n: int, random_state: RandomState = None) -> F64:
        """Draw ``n`` values from each; see ``AbstractFamily.sample``."""
        size, rng = ready(n, random_state, "Gaussian.sample")
        return rng.normal(self.mean, self.scale, (size, *self.mean.shape))

    @classmethod
    def _collect(cls, rows: Rows) -> MomentSummary:
        return MomentSummary.of(rows)

    @classmethod
    def estimate(cls, summary: MomentSummary) -> Self:
        """Give mean and variance of maximum likelihood; see ``AbstractFamily.estimate``."""
        cls._check_summary(summary)
        return cls(*moments_of(summary))


def checked_moments(mean: Any, variance: Any, owner: str) -> tuple[F64, ...]:
    """Check means and variances, and broadcast them to read-only copies."""
    mu = as_finite(mean, owner, "mean")
    spread = as_finite(variance, owner, "variance")
    if (spread <= 0).any():
        raise InputError(
            f"The variance of {owner} must be positive. Got {spread.min():g}. It is the "
            "square of the standard deviation."
        )
    furthest = np.abs(mu).max(initial=0.0) / _MOST
    least, most = spread.min(initial=1.0), spread.max(initial=1.0)
    if most > _MOST or least < 1 / _MOST or furthest > np.sqrt(least):
        raise InputError(
            f"{owner}: the mean over the standard deviation, or the variance or its inverse, "
            f"is above {_MOST:g}, where squares are no longer numbers. Rescale the unit."
        )
    return together(owner, mean=mu, variance=spread)


def gaussian_log_density(x: F64, mean: F64, variance: F64) -> F64:
    """Give the log density of each number; minus infinity at infinity."""
    with np.errstate(over="ignore"):
        z = (x - mean) / np.sqrt(variance)
        result: F64 = -0.5 * (z * z + np.log(2 * np.pi * variance))
    return result


def gaussian_log_partition(mean: F64, variance: F64) -> F64:
    """Give the log partition of each Gaussian."""
    z = mean / np.sqrt(variance)
    return 0.5 * (z * z + np.log(2 * np.pi * variance))


def moments_of(summary: MomentSummary) -> tuple[F64, F64]:
    """Give mean and variance, or refuse columns that have none."""
    owner = f"{summary.family}.estimate"
    refuse_empty(owner, summary.weight)
    variance = summary.scatter / summary.weight
    constant = np.sqrt(variance) <= ROUNDING * np.abs(summary.mean)
    refuse_constant(owner, constant, "the variance would be 0")
    return summary.mean, variance
