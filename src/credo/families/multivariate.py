"""A Gaussian vector with a full covariance."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar, Self, final

import numpy as np
from scipy.linalg import solve_triangular

from credo._types import F64, Int, RandomState
from credo._validation.arrays import as_floats, frozen
from credo.exceptions import InputError, ShapeError
from credo.families._base import AbstractFamily
from credo.families._covariances import (
    as_columns,
    checked_covariance,
    cholesky,
    log_normal,
    refuse_singular,
    times,
    whitening,
)
from credo.families._degenerate import ROUNDING, refuse_constant, refuse_empty
from credo.families._draws import ready
from credo.families._rows import Rows
from credo.families._support import REAL_ROWS, Support
from credo.families.class_gaussians import ClassGaussians
from credo.families.summaries import ScatterSummary


@final
@dataclass(frozen=True, slots=True, eq=False, init=False)
class MultivariateGaussian(AbstractFamily[ScatterSummary]):
    r"""Describe a Gaussian vector by its mean and its covariance.

    .. math:: \log p(x) = -\tfrac12 (x - \mu)^T \Sigma^{-1} (x - \mu)
              - \tfrac12 \log |2 \pi \Sigma|

    Parameters
    ----------
    mean : array-like of shape (batch, D)
        Mean of each feature.
    covariance : array-like of shape (batch, D, D)
        Covariance, symmetric and positive definite; its batch is broadcast against the mean's.

    Raises
    ------
    InputError
        If a covariance is not symmetric or not positive definite.
    ShapeError
        If the shapes do not fit together.

    See Also
    --------
    credo.families.DiagonalGaussian : The same without correlations.
    credo.GaussianClassifier : One per class, shrunk or tied if asked, learnt from NaN too.

    Notes
    -----
    Exact to rounding; time O(D³) for each covariance, once, and O(D²) for each row. Missing
    entries are marginalised: the density is that of the observed entries, with one factor of
    their covariance for each pattern. A summary needs complete rows. Whether a covariance is
    singular is decided with unit variances, so that the units of the features do not matter.
    Natural form, with the precision :math:`P = \Sigma^{-1}`: :math:`P \mu`, then the entries of
    :math:`-P/2` row by row; T(x) is x, then the entries of :math:`x x^T`.

    References
    ----------
    .. [1] C. M. Bishop, *Pattern Recognition and Machine Learning*, 2006, section 2.3.

    Examples
    --------
    >>> import numpy as np
    >>> from credo.families import MultivariateGaussian
    >>> both = MultivariateGaussian(mean=[0.0, 1.0], covariance=[[1.0, 0.5], [0.5, 1.0]])
    >>> np.round(both.log_density([[0.0, 1.0], [0.0, np.nan], [np.nan, np.nan]]), 3) + 0.0
    array([-1.694, -0.919,  0.   ])
    >>> both.condition([2.0, np.nan])
    MultivariateGaussian(mean=array([2.]), covariance=array([[0.75]]))
    """

    mean: F64
    covariance: F64
    #: W with W Σ Wᵀ = I, lower triangular, and log |Σ|.
    _factors: F64 = field(repr=False)
    _log_determinants: F64 = field(repr=False)

    _support: ClassVar[Support] = REAL_ROWS
    _n_own_axes: ClassVar[int] = 1

    def __init__(self, mean: Any, covariance: Any) -> None:
        mu, matrix = checked_covariance(mean, covariance, "MultivariateGaussian")
        factors, log_determinants = whitening(matrix, "MultivariateGaussian")
        object.__setattr__(self, "mean", mu)
        object.__setattr__(self, "covariance", matrix)
        object.__setattr__(self, "_factors", frozen(factors))
        object.__setattr__(self, "_log_determinants", frozen(log_determinants))

    # --- density ----------------------------------------------------------------------------

    def log_density(self, x: Any) -> F64:
        """Give the log density of what is observed of ``x``; see ``AbstractFamily.log_density``."""
        values = self._as_values(x)
        lacking = np.asarray(np.isnan(values).any(axis=-1))
        if not lacking.any():
            return self._log_density(values)
        logs = np.array(self._log_density(np.where(lacking[..., None], self.mean, values)))
        holes = np.broadcast_to(lacking, logs.shape)
        entries = np.arange(int(np.prod(self.batch_shape))).reshape(self.batch_shape)
        rows = np.broadcast_to(values, (*logs.shape, values.shape[-1]))[holes]
        logs[holes] = self._log_marginals(rows, np.broadcast_to(entries, logs.shape)[holes])
        return logs

    def _log_density(self, values: F64) -> F64:
        with np.errstate(over="ignore", invalid="ignore"):
            return log_normal(times(values - self.mean, self._factors), self._log_determinants)

    def _log_marginals(self, rows: F64, entries: Int) -> F64:
        """Give the log density of the observed entries of rows, each of an entry of the batch.

        Rows of the same entry with the same pattern share a factor.
        """
        size, logs = rows.shape[1], np.empty(len(rows))
        means, factors = self.mean.reshape(-1, size), self._factors.reshape(-1, size, size)
        covariances, determinants = self.covariance.reshape(factors.shape), self._log_determinants
        for i in np.unique(entries):
            alone = means[[i]], covariances[i], factors[i], determinants.reshape(-1)[[i]]
            model = ClassGaussians("tied", *alone, np.ones(size, dtype=bool))
            with np.errstate(over="ignore", invalid="ignore"):
                logs[entries == i] = model.scores_of_observed(rows[entries == i], "densities")[0]
        return np.where(np.isnan(logs), -np.inf, logs)

    # --- natural form -----------------------------------------------------------------------

    @property
    def natural_parameters(self) -> F64:
        r"""Natural parameters, :math:`P \mu` and the entries of :math:`-P/2`."""
        turned = self._factors.swapaxes(-1, -2)
        pull = times(times(self.mean, self._factors), turned)
        return _flattened(pull, -0.5 * (turned @ self._factors))

    @property
    def log_partition(self) -> F64:
        r"""Log partition :math:`\frac12 \mu^T P \mu + \frac12 \log |2 \pi \Sigma|`."""
        return -log_normal(times(self.mean, self._factors), self._log_determinants)

    def _statistics(self, values: F64) -> F64:
        with np.errstate(over="ignore", invalid="ignore"):
            return _flattened(values, values[..., :, None] * values[..., None, :])

    @property
    def variance(self) -> F64:
        """Variance of each feature, the diagonal of the covariance."""
        return np.diagonal(self.covariance, axis1=-2, axis2=-1)

    @property
    def n_parameters(self) -> int:
        """Number of free parameters: D + D (D + 1) / 2 each."""
        size: int = self.mean.shape[-1]
        return self.mean.size // size * (size + size * (size + 1) // 2)

    # --- parts ------------------------------------------------------------------------------

    def marginal(self, columns: Any) -> MultivariateGaussian:
        r"""Give the distribution of some of the features, whatever the others are.

        .. math:: x_c \sim \mathcal{N}(\mu_c, \Sigma_{cc})

        Parameters
        ----------
        columns : array-like of int
            Features to keep, in the order they are to have; each once, counted from 0.

        Returns
        -------
        MultivariateGaussian
            With the same batch.

        Raises
        ------
        InputError
            If a column does not exist or occurs twice, or there is none.

        See Also
        --------
        condition : The distribution of some features given the others.

        Notes
        -----
        Exact: entries of mean and covariance are taken out.

        References
        ----------
        .. [1] C. M. Bishop, *Pattern Recognition and Machine Learning*, 2006, section 2.3.2.

        Examples
        --------
        >>> from credo.families import MultivariateGaussian
        >>> two = MultivariateGaussian(mean=[0.0, 5.0], covariance=[[1.0, 0.5], [0.5, 4.0]])
        >>> two.marginal([1])
        MultivariateGaussian(mean=array([5.]), covariance=array([[4.]]))
        """
        kept = as_columns(columns, self.mean.shape[-1], "MultivariateGaussian.marginal")
        covariance = self.covariance[..., kept[:, None], kept]
        return MultivariateGaussian(self.mean[..., kept], covariance)

    def condition(self, values: Any) -> MultivariateGaussian:
        r"""Give the distribution of the missing features given the observed ones.

        .. math:: x_m \mid x_o \sim \mathcal{N}\left(\mu_m + \Sigma_{mo} \Sigma_{oo}^{-1}
                  (x_o - \mu_o),\; \Sigma_{mm} - \Sigma_{mo} \Sigma_{oo}^{-1} \Sigma_{om}\right)

        Parameters
        ----------
        values : array-like of shape (D,)
            Observed features as numbers, missing ones as NaN.

        Returns
        -------
        MultivariateGaussian
            Of the missing features, in their order.

        Raises
        ------
        InputError
            If nothing is missing, or a value is infinite.
        ShapeError
            If there is a batch, or not one value per feature.

        See Also
        --------
        marginal : The distribution of some features if nothing is known of the others.

        Notes
        -----
        Exact to rounding, from one factor of the covariance with the observed features first: the
        block of the missing ones is the factor of what is left. Time O(D³).

        References
        ----------
        .. [1] C. M. Bishop, *Pattern Recognition and Machine Learning*, 2006, section 2.3.1.

        Examples
        --------
        >>> import numpy as np
        >>> from credo.families import MultivariateGaussian
        >>> two = MultivariateGaussian(mean=[0.0, 5.0], covariance=[[1.0, 0.5], [0.5, 4.0]])
        >>> two.condition([2.0, np.nan])
        MultivariateGaussian(mean=array([6.]), covariance=array([[3.75]]))
        """
        given = self._as_partial(values)
        missing = np.isnan(given)
        if missing.all():
            return self
        order = np.argsort(missing, kind="stable")
        n_seen = len(given) - int(missing.sum())
        seen, gone = order[:n_seen], order[n_seen:]
        factor = cholesky(self.covariance[np.ix_(order, order)])
        z = solve_triangular(factor[:n_seen, :n_seen], given[seen] - self.mean[seen], lower=True)
        own = factor[n_seen:, n_seen:]
        return MultivariateGaussian(self.mean[gone] + factor[n_seen:, :n_seen] @ z, own @ own.T)

    def _as_partial(self, values: Any) -> F64:
        """Check one value per feature of a single distribution, some of them NaN."""
        owner = "MultivariateGaussian.condition"
        if self.batch_shape:
            raise ShapeError(
                f"{owner} needs a single distribution. Got a batch of shape {self.batch_shape}."
            )
        given = as_floats(values, owner, "values")
        if given.shape != self.mean.shape:
            raise ShapeError(
                f"{owner} needs one value per feature, {len(self.mean)}, NaN where it is missing. "
                f"Got shape {given.shape}."
            )
        if np.isinf(given).any() or not np.isnan(given).any():
            fault = "infinity" if np.isinf(given).any() else "no NaN"
            raise InputError(
                f"{owner} needs numbers where features are observed and NaN where they are "
                f"missing, at least once. Got {fault}."
            )
        return given

    # --- sampling and learning --------------------------------------------------------------

    def sample(self, n: int, random_state: RandomState = None) -> F64:
        """Draw ``n`` vectors from each; see ``AbstractFamily.sample``."""
        size, rng = ready(n, random_state, "MultivariateGaussian.sample")
        noise = rng.standard_normal((size, *self.mean.shape))
        return self.mean + times(noise, cholesky(self.covariance))

    @classmethod
    def _collect(cls, rows: Rows) -> ScatterSummary:
        return ScatterSummary.of(rows)

    @classmethod
    def estimate(cls, summary: ScatterSummary) -> Self:
        """Give mean and covariance of maximum likelihood; see ``AbstractFamily.estimate``.

        Parameters
        ----------
        summary : ScatterSummary
            Made by ``summarise``, merged or not.

        Returns
        -------
        MultivariateGaussian
            With the scatter divided by the weight.

        Raises
        ------
        InputError
            If there is no weight, or a column is constant.
        NumericalError
            If the covariance is singular; the columns are named.
        """
        cls._check_summary(summary)
        owner = "MultivariateGaussian.estimate"
        refuse_empty(owner, summary.weight)
        covariance = summary.scatter / summary.weight[..., None, None]
        spread = np.sqrt(np.diagonal(covariance, axis1=-2, axis2=-1))
        refuse_constant(owner, spread <= ROUNDING * np.abs(summary.mean), "the variance would be 0")
        refuse_singular(covariance, owner)
        return cls(summary.mean, covariance)


def _flattened(vectors: F64, matrices: F64) -> F64:
    """Put the entries of matrices behind those of vectors."""
    entries = matrices.reshape(*matrices.shape[:-2], matrices.shape[-1] ** 2)
    return np.concatenate([vectors, entries], axis=-1)
