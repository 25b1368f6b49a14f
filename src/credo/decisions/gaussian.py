"""A Gaussian by mean and variance, for one case or for an array of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import log_ndtr, ndtr, ndtri

from credo._types import F64
from credo._validation.arrays import as_finite, frozen
from credo.exceptions import InputError, ShapeError

#: Squares of larger numbers are no longer finite.
_MOST = 1e150


@dataclass(frozen=True, slots=True, eq=False)
class Gaussian:
    r"""Describe :math:`\mathcal{N}(\mu, \sigma^2)` by its mean and its variance.

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

    Notes
    -----
    Lighter than a SciPy distribution: no import of ``scipy.stats``. All methods are exact to
    rounding, in the tails too.

    Examples
    --------
    >>> from credo.decisions import Gaussian
    >>> float(Gaussian(mean=0.0, variance=4.0).cdf(0.0))
    0.5
    """

    mean: F64
    variance: F64

    def __init__(self, mean: Any, variance: Any) -> None:
        mu = as_finite(mean, "Gaussian", "mean")
        spread = as_finite(variance, "Gaussian", "variance")
        if (spread <= 0).any():
            raise InputError(
                f"The variance of Gaussian must be positive. Got {spread.min():g}. It is the "
                "square of the standard deviation."
            )
        furthest = np.abs(mu).max(initial=0.0) / _MOST
        least, most = spread.min(initial=1.0), spread.max(initial=1.0)
        if most > _MOST or least < 1 / _MOST or furthest > np.sqrt(least):
            raise InputError(
                "Gaussian: the mean over the standard deviation, or the variance or its inverse, "
                f"is above {_MOST:g}, where squares are no longer numbers. Rescale the unit."
            )
        try:
            both = np.broadcast_arrays(mu, spread)
        except ValueError:
            raise ShapeError(
                f"Gaussian: mean {mu.shape} and variance {spread.shape} do not fit together."
            ) from None
        object.__setattr__(self, "mean", frozen(both[0].copy()))
        object.__setattr__(self, "variance", frozen(both[1].copy()))

    @property
    def scale(self) -> F64:
        """Standard deviation."""
        return np.sqrt(self.variance)

    def logpdf(self, x: Any) -> F64:
        """Give the log density at ``x``."""
        z = (np.asarray(x, dtype=np.float64) - self.mean) / self.scale
        result: F64 = -0.5 * (z * z + np.log(2 * np.pi * self.variance))
        return result

    def pdf(self, x: Any) -> F64:
        """Give the density at ``x``."""
        return np.exp(self.logpdf(x))

    def cdf(self, x: Any) -> F64:
        """Give the probability of at most ``x``."""
        result: F64 = ndtr((np.asarray(x, dtype=np.float64) - self.mean) / self.scale)
        return result

    def sf(self, x: Any) -> F64:
        """Give the probability of more than ``x``, exact in the upper tail."""
        result: F64 = ndtr((self.mean - np.asarray(x, dtype=np.float64)) / self.scale)
        return result

    def logcdf(self, x: Any) -> F64:
        """Give the logarithm of the probability of at most ``x``."""
        result: F64 = log_ndtr((np.asarray(x, dtype=np.float64) - self.mean) / self.scale)
        return result

    def ppf(self, q: Any) -> F64:
        """Give the ``q``-quantile."""
        result: F64 = self.mean + self.scale * ndtri(np.asarray(q, dtype=np.float64))
        return result
