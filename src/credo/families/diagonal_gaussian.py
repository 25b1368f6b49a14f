"""Vectors of independent Gaussians."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self, final

import numpy as np

from credo._types import F64, RandomState
from credo.exceptions import ShapeError
from credo.families._base import AbstractFamily
from credo.families._draws import ready
from credo.families._rows import Rows
from credo.families._support import REAL_VECTORS, Support
from credo.families.gaussian import (
    checked_moments,
    gaussian_log_density,
    gaussian_log_partition,
    moments_of,
)
from credo.families.summaries import MomentSummary


@final
@dataclass(frozen=True, slots=True, eq=False)
class DiagonalGaussian(AbstractFamily[MomentSummary]):
    r"""Describe a Gaussian vector with a diagonal covariance.

    .. math:: \log p(x) = -\frac12 \sum_d \left(\frac{(x_d - \mu_d)^2}{\sigma_d^2}
              + \log(2 \pi \sigma_d^2)\right)

    Parameters
    ----------
    mean : array-like of shape (batch, D)
        Mean of each feature.
    variance : array-like of shape (batch, D)
        Variance of each feature, positive; broadcast against the mean.

    Raises
    ------
    InputError
        If a variance is not positive.
    ShapeError
        If there is no axis of features.

    See Also
    --------
    credo.families.Gaussian : The same for each number by itself.
    credo.families.MultivariateGaussian : Vectors with correlations.

    Notes
    -----
    Exact to rounding. A missing feature is marginalised: the sum is over the observed ones. The
    weight in a summary is one per feature. Natural form: the :math:`\mu_d / \sigma_d^2`, then the
    :math:`-1 / (2 \sigma_d^2)`; T(x) is x, then its squares.

    References
    ----------
    .. [1] C. M. Bishop, *Pattern Recognition and Machine Learning*, 2006, section 2.3.

    Examples
    --------
    >>> import numpy as np
    >>> from credo.families import DiagonalGaussian
    >>> normal = DiagonalGaussian(mean=[0.0, 5.0], variance=[1.0, 1.0])
    >>> np.round(normal.log_density([[0.0, 5.0], [0.0, np.nan], [np.nan, np.nan]]), 3) + 0.0
    array([-1.838, -0.919,  0.   ])
    """

    mean: F64
    variance: F64

    _support: ClassVar[Support] = REAL_VECTORS
    _n_own_axes: ClassVar[int] = 1

    def __init__(self, mean: Any, variance: Any) -> None:
        both = checked_moments(mean, variance, "DiagonalGaussian")
        if not both[0].ndim or not both[0].shape[-1]:
            raise ShapeError(
                "DiagonalGaussian needs a last axis of features. Got parameters of shape "
                f"{both[0].shape}. For single numbers use Gaussian."
            )
        object.__setattr__(self, "mean", both[0])
        object.__setattr__(self, "variance", both[1])

    def _log_density(self, values: F64) -> F64:
        return gaussian_log_density(values, self.mean, self.variance)

    def _joined(self, logs: F64) -> F64:
        return logs.sum(axis=-1)

    @property
    def natural_parameters(self) -> F64:
        r"""Natural parameters, the :math:`\mu_d/\sigma_d^2` and the :math:`-1/(2 \sigma_d^2)`."""
        return np.concatenate([self.mean / self.variance, -0.5 / self.variance], axis=-1)

    @property
    def log_partition(self) -> F64:
        """Log partition, the sum of those of the features."""
        return gaussian_log_partition(self.mean, self.variance).sum(axis=-1)

    def _statistics(self, values: F64) -> F64:
        with np.errstate(over="ignore"):
            return np.concatenate([values, values * values], axis=-1)

    @property
    def n_parameters(self) -> int:
        """Number of free parameters: two per feature."""
        return 2 * self.mean.size

    def sample(self, n: int, random_state: RandomState = None) -> F64:
        """Draw ``n`` vectors from each; see ``AbstractFamily.sample``."""
        size, rng = ready(n, random_state, "DiagonalGaussian.sample")
        return rng.normal(self.mean, np.sqrt(self.variance), (size, *self.mean.shape))

    @classmethod
    def _collect(cls, rows: Rows) -> MomentSummary:
        return MomentSummary.of(rows)

    @classmethod
    def estimate(cls, summary: MomentSummary) -> Self:
        """Give means and variances of maximum likelihood; see ``AbstractFamily.estimate``."""
        cls._check_summary(summary)
        return cls(*moments_of(summary))
