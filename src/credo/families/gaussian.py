"""Gaussian families: numbers, independent features, and vectors with a full covariance."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self, final

import numpy as np
import scipy

from credo import _checks as check
from credo._types import F64
from credo.exceptions import InputError, ShapeError
from credo.families.class_gaussians import ClassGaussians
from credo.families.covariances import Names, SingularCovarianceError, whiten
from credo.families.family import (
    REALS,
    ROUNDING,
    AbstractFamily,
    Support,
    refuse_constant,
    together,
)
from credo.families.summaries import MomentSummary

#: Squares of larger numbers are no longer finite.
_MOST = 1e150
_EPS = float(np.finfo(np.float64).eps)


# --- without correlations -------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False, init=False)
class _Independent(AbstractFamily[MomentSummary]):
    """What Gaussians by mean and variance share; ``_pair`` puts two statistics side by side."""

    mean: F64
    variance: F64

    _summary = MomentSummary
    _pair: ClassVar[Callable[..., F64]]

    def __init__(self, mean: Any, variance: Any) -> None:
        owner = type(self).__name__
        self._set(**_checked_moments(mean, variance, owner))
        if 0 in (self.mean.shape[-1:] or (0,)) and self._n_own_axes:
            raise ShapeError(
                f"{owner} needs a last axis of features. Got parameters of shape "
                f"{self.mean.shape}. For single numbers use Gaussian."
            )

    def _log_density(self, values: F64) -> F64:
        return _log_normals(values, self.mean, self.variance)

    @property
    def natural_parameters(self) -> F64:
        r"""Natural parameters, :math:`\mu / \sigma^2` and :math:`-1 / (2 \sigma^2)`."""
        return self._pair([self.mean / self.variance, -0.5 / self.variance], axis=-1)

    @property
    def log_partition(self) -> F64:
        r"""Log partition :math:`\mu^2 / (2 \sigma^2) + \frac12 \log(2 \pi \sigma^2)`."""
        return self._joined(-_log_normals(np.zeros(()), self.mean, self.variance))

    def _statistics(self, values: F64) -> F64:
        with np.errstate(over="ignore"):
            return self._pair([values, values * values], axis=-1)

    def _draw(self, rng: np.random.Generator, shape: tuple[int, ...]) -> F64:
        event = self.mean.shape[len(self.batch_shape) :]
        return rng.normal(self.mean, np.sqrt(self.variance), shape + event)

    @classmethod
    def _estimate(cls, summary: MomentSummary) -> Self:
        variance = summary.scatter / summary.weight
        _refuse_constant(summary, variance)
        return cls(summary.mean, variance)


@final
@dataclass(frozen=True, slots=True, eq=False, init=False)
class Gaussian(_Independent):
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

    _support = REALS
    _pair = staticmethod(np.stack)

    @property
    def scale(self) -> F64:
        """Standard deviation."""
        return np.sqrt(self.variance)

    def _standardised(self, x: Any) -> F64:
        """Return how many standard deviations numbers are above the mean."""
        result: F64 = (np.asarray(x, dtype=np.float64) - self.mean) / self.scale
        return result

    def logpdf(self, x: Any) -> F64:
        """Return the log density at ``x``; unlike ``log_density``, NaN gives NaN."""
        return _log_normals(np.asarray(x, dtype=np.float64), self.mean, self.variance)

    def pdf(self, x: Any) -> F64:
        """Return the density at ``x``."""
        return np.exp(self.logpdf(x))

    def cdf(self, x: Any) -> F64:
        """Return the probability of at most ``x``."""
        return scipy.special.ndtr(self._standardised(x))

    def sf(self, x: Any) -> F64:
        """Return the probability of more than ``x``, exact in the upper tail."""
        return scipy.special.ndtr(-self._standardised(x))

    def logcdf(self, x: Any) -> F64:
        """Return the logarithm of the probability of at most ``x``."""
        return scipy.special.log_ndtr(self._standardised(x))

    def ppf(self, q: Any) -> F64:
        """Return the ``q``-quantile."""
        return self.mean + self.scale * scipy.special.ndtri(np.asarray(q, dtype=np.float64))


@final
@dataclass(frozen=True, slots=True, eq=False, init=False)
class DiagonalGaussian(_Independent):
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

    _support = replace(REALS, vectors=True)
    _n_own_axes = 1
    _pair = staticmethod(np.concatenate)

    def _joined(self, logs: F64) -> F64:
        return logs.sum(axis=-1)


def _checked_moments(mean: Any, variance: Any, owner: str) -> dict[str, F64]:
    """Check means and variances."""
    mu = check.finite(mean, f"mean of {owner}")
    spread = check.finite(variance, f"variance of {owner}")
    if (spread <= 0).any():
        raise InputError(
            f"The variance of {owner} must be positive. Got {spread.min():g}. It is the "
            "square of the standard deviation."
        )
    furthest = np.abs(mu).max(initial=0.0) / _MOST
    least, most = spread.min(initial=1.0), spread.max(initial=1.0)
    if most > _MOST or least < 1 / _MOST or furthest > np.sqrt(least):
        means, squares = together(owner, mean=mu, variance=spread)
        wide = (squares > _MOST) | (squares < 1 / _MOST)
        wrong = np.argwhere(wide | (np.abs(means) / _MOST > np.sqrt(squares)))
        if len(wrong):
            raise InputError(
                f"{owner}: the mean over the standard deviation, or the variance or its inverse, "
                f"is above {_MOST:g} at index {wrong[0].tolist()}, where squares are no longer "
                "numbers. Rescale the unit."
            )
    return {"mean": mu, "variance": spread}


def _log_normals(x: F64, mean: F64, variance: F64) -> F64:
    """Return the log density of each number; minus infinity at infinity."""
    with np.errstate(over="ignore"):
        z = (x - mean) / np.sqrt(variance)
        result: F64 = -0.5 * (z * z + np.log(2 * np.pi * variance))
    return result


def _refuse_constant(summary: MomentSummary, variance: F64) -> None:
    """Refuse columns whose values are equal but for their own rounding."""
    constant = np.sqrt(variance) <= ROUNDING * np.abs(summary.mean)
    refuse_constant(summary, constant, "the variance would be 0")


# --- with correlations ----------------------------------------------------------------------------


@final
@dataclass(frozen=True, slots=True, eq=False, init=False)
class MultivariateGaussian(AbstractFamily[MomentSummary]):
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
    entries are marginalised: the density is that of the observed entries, with one small factor
    for each pattern. A summary needs complete rows. Whether a covariance is
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

    _support = Support(
        lambda x: np.asarray(~np.isnan(x).any(axis=-1)),
        "rows of numbers",
        0.0,
        vectors=True,
        whole=True,
        complete="A full covariance has no finite summary of rows with missing entries: drop those "
        "rows, or fit a credo.GaussianClassifier, which runs EM.",
    )
    _summary = MomentSummary
    _n_own_axes = 1

    def __init__(self, mean: Any, covariance: Any) -> None:
        mu, matrix = _checked_covariance(mean, covariance)
        try:
            factors, logs = _factored(matrix, "MultivariateGaussian")
        except SingularCovarianceError:
            scales = np.sqrt(np.diagonal(matrix, axis1=-2, axis2=-1))
            correlation = matrix / scales[..., None, :] / scales[..., None]
            raise InputError(
                "The covariance of MultivariateGaussian must be positive definite. With unit "
                f"variances its least eigenvalue is {np.linalg.eigvalsh(correlation).min():.3g}. "
                "Drop features that are combinations of others, or add a little to the diagonal."
            ) from None
        own = {"mean": mu, "covariance": matrix, "_factors": factors, "_log_determinants": logs}
        for name, array in own.items():
            self._set(**{name: array})

    # --- density ----------------------------------------------------------------------------

    def log_density(self, x: Any) -> F64:
        """Return the log density of what is observed of ``x``; see ``AbstractFamily``."""
        values = self._as_values(x)
        with np.errstate(over="ignore", invalid="ignore"):
            logs = np.array(self._log_normal(_times(values - self.mean, self._factors)))
        missing = np.broadcast_to(np.isnan(values), (*logs.shape, values.shape[-1]))
        for index in np.ndindex(self.batch_shape) if missing.any() else ():
            here = (..., *index)
            lacking = missing[(*here, slice(None))].any(axis=-1)
            rows = np.broadcast_to(values, missing.shape)[(*here, slice(None))][lacking]
            with np.errstate(over="ignore", invalid="ignore"):
                logs[here][lacking] = self._alone(index).scores_of_observed(rows, "densities")[0]
        logs[np.isnan(logs)] = -np.inf
        return logs

    def _log_normal(self, z: F64) -> F64:
        """Return log densities of whitened gaps."""
        squares = np.einsum("...i,...i->...", z, z)
        return -0.5 * (squares + self._log_determinants + z.shape[-1] * np.log(2 * np.pi))

    def _alone(self, index: tuple[int, ...] = ()) -> ClassGaussians:
        """Return one distribution of the batch as that of a single class."""
        one, every = (*index, None), np.ones(self.mean.shape[-1], dtype=bool)
        matrices = self.covariance[one], self._factors[one]
        return ClassGaussians("full", self.mean[one], *matrices, self._log_determinants[one], every)

    # --- natural form -----------------------------------------------------------------------

    @property
    def natural_parameters(self) -> F64:
        r"""Natural parameters, :math:`P \mu` and the entries of :math:`-P/2`."""
        turned = self._factors.swapaxes(-1, -2)
        pull = _times(_times(self.mean, self._factors), turned)
        return _flattened(pull, -0.5 * (turned @ self._factors))

    @property
    def log_partition(self) -> F64:
        r"""Log partition :math:`\frac12 \mu^T P \mu + \frac12 \log |2 \pi \Sigma|`."""
        return -self._log_normal(_times(self.mean, self._factors))

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
        r"""Return the distribution of some of the features, whatever the others are.

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
        owner = "MultivariateGaussian.marginal"
        kept = check.indices(columns, self.mean.shape[-1], f"columns of {owner}")
        if kept.ndim != 1 or not kept.size or len(np.unique(kept)) < len(kept):
            raise InputError(
                f"{owner} needs a list of columns, at least one and each once. Got {columns!r}."
            )
        covariance = self.covariance[..., kept[:, None], kept]
        return MultivariateGaussian(self.mean[..., kept], covariance)

    def condition(self, values: Any) -> MultivariateGaussian:
        r"""Return the distribution of the missing features given the observed ones.

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
        Exact to rounding: the missing features are the free parameters of a least-squares problem
        with the factor of the covariance, which its variances are read off, too. Time O(D³).

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
        owner = "MultivariateGaussian.condition"
        if self.batch_shape:
            raise ShapeError(
                f"{owner} needs a single distribution. Got a batch of shape {self.batch_shape}."
            )
        given = check.floats(values, f"values of {owner}")
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
        if np.isnan(given).all():
            return self
        _, rows, gone, covariances, _ = next(self._alone().filled(given[None], 0))
        return MultivariateGaussian(rows[0, gone[0]], covariances[0])

    # --- sampling and learning --------------------------------------------------------------

    def _draw(self, rng: np.random.Generator, shape: tuple[int, ...]) -> F64:
        noise = rng.standard_normal((*shape, self.mean.shape[-1]))
        root = np.asarray(np.linalg.cholesky(self.covariance), dtype=np.float64)
        return np.asarray(self.mean + _times(noise, root))

    @classmethod
    def estimate(cls, summary: MomentSummary) -> Self:
        """Return mean and covariance of maximum likelihood; see ``AbstractFamily.estimate``.

        Parameters
        ----------
        summary : MomentSummary
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
        covariance = summary.scatter / summary.weight[..., None, None]
        _refuse_constant(summary, np.diagonal(covariance, axis1=-2, axis2=-1))
        try:
            _factored(covariance, "MultivariateGaussian.estimate")
        except SingularCovarianceError as singular:
            raise SingularCovarianceError(
                singular.fault,
                f"Drop it, add rows (at least {covariance.shape[-1] + 1} are needed), or fit a "
                "credo.GaussianClassifier, which can shrink.",
            ) from None
        return cls(summary.mean, covariance)


def _checked_covariance(mean: Any, covariance: Any) -> tuple[F64, F64]:
    """Check means and symmetric covariances, and broadcast them."""
    owner = "MultivariateGaussian"
    mu = check.finite(mean, f"mean of {owner}")
    matrix = check.finite(covariance, f"covariance of {owner}")
    size = mu.shape[-1] if mu.ndim else 0
    if not size or matrix.shape[-2:] != (size, size):
        raise ShapeError(
            f"{owner} needs a mean of shape (..., D) and a covariance of shape (..., D, D). Got "
            f"{mu.shape} and {matrix.shape}. For single numbers use Gaussian."
        )
    variance = np.diagonal(matrix, axis1=-2, axis2=-1)
    mu, variance = together(owner, **_checked_moments(mu, variance, owner))
    matrix = np.broadcast_to(matrix, (*mu.shape, size))
    turned, scales = matrix.swapaxes(-1, -2), np.sqrt(variance)
    products = scales[..., :, None] * scales[..., None, :]
    if (np.abs(matrix / 2 - turned / 2) > 4 * size * _EPS * products).any():
        raise InputError(f"The covariance of {owner} must be symmetric.")
    beyond = np.abs(matrix) > products * (1 + 4 * size * _EPS)
    if beyond.any():
        *_, i, j = np.argwhere(beyond)[0]
        raise InputError(
            f"The covariance of {owner} must be positive definite. That of features {i} and {j} "
            "exceeds the product of their standard deviations."
        )
    return mu, 0.5 * matrix + 0.5 * turned


def _factored(covariance: F64, owner: str) -> tuple[F64, F64]:
    r"""Return lower triangular W with :math:`W \Sigma W^T = I` and :math:`\log |\Sigma|`.

    How many rows there were is unknown, and is taken to be enough.
    """
    size = covariance.shape[-1]
    factors = np.empty(covariance.shape)
    determinants = np.empty(covariance.shape[:-2])
    for index in np.ndindex(determinants.shape):
        name = f"index {list(index)}" if index else "the rows"
        names = Names(owner, (name,), tuple(range(size)))
        every = np.ones(size, dtype=bool)
        found = whiten(covariance[index], factors[index], every, names, 0, size + 1)
        determinants[index] = found
    return factors, determinants


def _flattened(vectors: F64, matrices: F64) -> F64:
    """Put the entries of matrices behind those of vectors."""
    entries = matrices.reshape(*matrices.shape[:-2], matrices.shape[-1] ** 2)
    return np.concatenate([vectors, entries], axis=-1)


def _times(rows: F64, matrices: F64) -> F64:
    """Multiply vectors of shape (..., batch, D) by matrices of shape (batch, D, D).

    The batch comes first, so that all vectors of an entry are multiplied at once.
    """
    lead = rows.ndim + 1 - matrices.ndim
    flat = rows.reshape(int(np.prod(rows.shape[:lead])), *rows.shape[lead:])
    product = np.moveaxis(flat, 0, -2) @ matrices.swapaxes(-1, -2)
    return np.moveaxis(product, -2, 0).reshape(rows.shape)
