"""Continuous families: Exponential, Gamma, Laplace, Beta, Dirichlet; not the Gaussian ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self, final

import numpy as np
import scipy

from credo import _checks as check
from credo._types import F64, Bool
from credo.exceptions import InputError, ShapeError
from credo.families.family import (
    MOST,
    REALS,
    ROUNDING,
    AbstractFamily,
    ContinuousOnALine,
    Support,
    place,
    positive,
    refuse_constant,
    within,
)
from credo.families.likelihood import dirichlet_concentration, gamma_shape
from credo.families.summaries import PositiveSummary, SketchSummary, SumSummary

#: The least positive number of full precision; what would be smaller is drawn as this.
_TINY = float(np.finfo(np.float64).tiny)
#: The largest number below one.
_BELOW_ONE = 1.0 - float(np.finfo(np.float64).epsneg)


def _log_gammas(rng: np.random.Generator, a: F64, shape: tuple[int, ...]) -> F64:
    r"""Draw logarithms of gammas, right for shapes so small that the gammas would be zero.

    If G has shape a + 1 and E is exponential, :math:`\log G - E / a` has the law of the logarithm
    of a gamma of shape a (Marsaglia and Tsang 2000, section 6).
    """
    result: F64 = np.log(rng.standard_gamma(a + 1.0, shape))
    result -= rng.standard_exponential(shape) / a
    return result


# --- numbers --------------------------------------------------------------------------------------


@final
@dataclass(frozen=True, slots=True, eq=False, init=False)
class Exponential(ContinuousOnALine[SumSummary]):
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

    _support = Support(lambda x: (x >= 0) & (x < np.inf), "numbers that are 0 or more", 1.0)
    _summary = SumSummary

    def __init__(self, rate: Any) -> None:
        self._set(rate=positive(rate, "rate of Exponential"))

    @property
    def mean(self) -> F64:
        """Mean, one over the rate."""
        return 1.0 / self.rate

    @property
    def variance(self) -> F64:
        """Variance, the square of the mean."""
        return self.rate**-2.0

    @property
    def natural_parameters(self) -> F64:
        """Natural parameter, minus the rate."""
        return -self.rate[..., None]

    @property
    def log_partition(self) -> F64:
        """Log partition, minus the log rate."""
        return -np.log(self.rate)

    @property
    def _scipy(self) -> Any:
        return scipy.stats.expon(scale=1.0 / self.rate)

    def _draw(self, rng: np.random.Generator, shape: tuple[int, ...]) -> F64:
        return rng.exponential(1.0 / self.rate, shape)

    @classmethod
    def _estimate(cls, summary: SumSummary) -> Self:
        zero = summary.total <= 0
        if zero.any():
            raise InputError(
                f"Exponential.estimate: all values{place(zero)} are 0, so that the rate would be "
                "infinite. Drop that column, or add rows."
            )
        return cls(summary.weight / summary.total)


@final
@dataclass(frozen=True, slots=True, eq=False, init=False)
class Gamma(ContinuousOnALine[PositiveSummary]):
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

    _support = Support(lambda x: (x > 0) & (x < np.inf), "numbers above 0", 1.0)
    _summary = PositiveSummary

    def __init__(self, shape: Any, rate: Any) -> None:
        self._set(shape=positive(shape, "shape of Gamma"), rate=positive(rate, "rate of Gamma"))

    @property
    def mean(self) -> F64:
        """Mean, shape over rate."""
        return self.shape / self.rate

    @property
    def variance(self) -> F64:
        """Variance, shape over the square of the rate."""
        return self.shape / self.rate**2

    @property
    def natural_parameters(self) -> F64:
        """Natural parameters (shape - 1, -rate)."""
        return np.stack([self.shape - 1.0, -self.rate], axis=-1)

    @property
    def log_partition(self) -> F64:
        r"""Log partition :math:`\log \Gamma(a) - a \log b`."""
        return scipy.special.gammaln(self.shape) - self.shape * np.log(self.rate)

    def _statistics(self, values: F64) -> F64:
        return np.stack([np.log(values), values], axis=-1)

    @property
    def _scipy(self) -> Any:
        return scipy.stats.gamma(self.shape, scale=1.0 / self.rate)

    def _draw(self, rng: np.random.Generator, shape: tuple[int, ...]) -> F64:
        logs = _log_gammas(rng, self.shape, shape) - np.log(self.rate)
        return np.maximum(np.exp(logs), _TINY)

    @classmethod
    def _estimate(cls, summary: PositiveSummary) -> Self:
        gap = summary.divergence / summary.weight
        refuse_constant(summary, gap <= 0.5 * ROUNDING**2, "the shape would be infinite")
        shape = gamma_shape(gap)
        return cls(shape, shape / summary.mean)


@final
@dataclass(frozen=True, slots=True, eq=False, init=False)
class Laplace(ContinuousOnALine[SketchSummary]):
    r"""Describe a Laplace distribution by its location and its scale.

    .. math:: \log p(x) = -\frac{|x - m|}{b} - \log(2 b)

    Parameters
    ----------
    location : float or array-like
        Median m.
    scale : float or array-like
        Mean absolute deviation b from it, positive; broadcast against the location.

    Raises
    ------
    InputError
        If a scale is not positive.

    See Also
    --------
    credo.families.SketchSummary : What it learns from, and when that is exact.

    Notes
    -----
    An exponential family for a known location only: :math:`\eta = -1/b` and
    :math:`T(x) = |x - m|`. The estimates are the median, the middle one of two, and the mean
    absolute deviation from it; exact for one batch of any size, and for merged batches while
    their distinct values fit. Summarising sorts: time :math:`O(n \log n)` per column.

    References
    ----------
    .. [1] N. L. Johnson, S. Kotz, N. Balakrishnan, *Continuous Univariate Distributions*,
       vol. 2, 2nd ed., 1995, section 24.5.

    Examples
    --------
    >>> from credo.families import Laplace
    >>> Laplace.fit([0.0, 1.0, 1.0, 2.0, 96.0])
    Laplace(location=array(1.), scale=array(19.4))
    """

    location: F64
    scale: F64

    _support = REALS
    _summary = SketchSummary

    def __init__(self, location: Any, scale: Any) -> None:
        centre = within(location, "location of Laplace", -MOST, MOST)
        self._set(location=centre, scale=positive(scale, "scale of Laplace"))

    @property
    def mean(self) -> F64:
        """Mean, the location."""
        return self.location

    @property
    def variance(self) -> F64:
        """Variance, twice the square of the scale."""
        return 2.0 * self.scale**2

    @property
    def natural_parameters(self) -> F64:
        """Natural parameter -1 / scale, for a known location."""
        return -1.0 / self.scale[..., None]

    @property
    def log_partition(self) -> F64:
        """Log partition log(2 scale)."""
        return np.log(2.0 * self.scale)

    def _statistics(self, values: F64) -> F64:
        return np.abs(values - self.location)[..., None]

    @property
    def _scipy(self) -> Any:
        return scipy.stats.laplace(self.location, self.scale)

    def _draw(self, rng: np.random.Generator, shape: tuple[int, ...]) -> F64:
        return rng.laplace(self.location, self.scale, shape)

    @classmethod
    def estimate(cls, summary: SketchSummary, least_scale: Any = 0.0) -> Self:
        """Return median and mean deviation.

        Parameters
        ----------
        summary
            Made by ``Laplace.summarise``, merged or not.
        least_scale : float or array-like
            The scale is at least this; broadcast against the estimate.

        Returns
        -------
        Laplace
            By maximum likelihood if no scale had to be raised.

        Raises
        ------
        InputError
            If a column has no weight, or all its values are equal and no scale is given.
        """
        cls._check_summary(summary)
        location = summary.median()
        scale = summary.mean_deviation(location)
        scale = np.maximum(scale, check.finite(least_scale, "least_scale of Laplace.estimate"))
        constant = scale <= ROUNDING * np.abs(location)
        refuse_constant(summary, constant, "the scale would be 0")
        return cls(location, scale)


# --- shares that sum to one -----------------------------------------------------------------------


@final
@dataclass(frozen=True, slots=True, eq=False, init=False)
class Beta(ContinuousOnALine[PositiveSummary]):
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

    _support = Support(lambda x: (x > 0) & (x < 1), "numbers strictly between 0 and 1", 0.5)
    _summary = PositiveSummary

    def __init__(self, alpha: Any, beta: Any) -> None:
        self._set(alpha=positive(alpha, "alpha of Beta"), beta=positive(beta, "beta of Beta"))

    @property
    def mean(self) -> F64:
        """Mean, alpha over the sum of both."""
        return self.alpha / (self.alpha + self.beta)

    @property
    def variance(self) -> F64:
        """Variance m (1 - m) / (alpha + beta + 1), m being the mean."""
        total = self.alpha + self.beta
        return (self.alpha / total) * (self.beta / total) / (total + 1.0)

    @property
    def natural_parameters(self) -> F64:
        """Natural parameters (alpha - 1, beta - 1)."""
        return np.stack([self.alpha - 1.0, self.beta - 1.0], axis=-1)

    @property
    def log_partition(self) -> F64:
        """Log partition, the logarithm of the beta function."""
        return scipy.special.betaln(self.alpha, self.beta)

    def _statistics(self, values: F64) -> F64:
        return np.stack([np.log(values), np.log1p(-values)], axis=-1)

    @property
    def _scipy(self) -> Any:
        return scipy.stats.beta(self.alpha, self.beta)

    def _draw(self, rng: np.random.Generator, shape: tuple[int, ...]) -> F64:
        log_odds = _log_gammas(rng, self.alpha, shape) - _log_gammas(rng, self.beta, shape)
        return np.clip(scipy.special.expit(log_odds), _TINY, _BELOW_ONE)

    @classmethod
    def _summarised(cls, values: F64) -> F64:
        return np.stack([values, 1.0 - values], axis=-1)

    @classmethod
    def _estimate(cls, summary: PositiveSummary) -> Self:
        both = _concentration(summary)
        return cls(both[..., 0], both[..., 1])


def _on_simplex(values: F64) -> Bool:
    """Tell which vectors are strictly positive and sum to one."""
    with np.errstate(invalid="ignore", over="ignore"):
        near = np.abs(values.sum(axis=-1) - 1.0) <= check.tolerance(values.shape[-1])
    return (values > 0).all(axis=-1) & near


def _rescaled(values: F64) -> F64:
    """Return shares that sum to one."""
    return values / values.sum(axis=-1, keepdims=True)


@final
@dataclass(frozen=True, slots=True, eq=False, init=False)
class Dirichlet(AbstractFamily[PositiveSummary]):
    r"""Describe C positive shares that sum to one.

    .. math:: \log p(x) = \sum_c (\alpha_c - 1) \log x_c + \log \Gamma(\textstyle\sum_c \alpha_c)
              - \sum_c \log \Gamma(\alpha_c)

    Parameters
    ----------
    concentration : array-like of shape (batch, C)
        Positive :math:`\alpha`, for at least two shares.

    Raises
    ------
    InputError
        If an entry is not positive.
    ShapeError
        If there are fewer than two shares.

    See Also
    --------
    credo.families.Beta : Two shares, given by the first.

    Notes
    -----
    The density is that of the first C - 1 shares, exact up to the rounding of its terms. Shares
    may be off a sum of one by the rounding of six decimals, and are rescaled. A row with a missing
    share is missing as a whole. The estimate solves
    :math:`\psi(\alpha_c) - \psi(\sum_j \alpha_j) = \overline{\log x_c}` by Newton's method to
    rounding. Natural form: :math:`\eta = \alpha - 1`, :math:`T(x) = \log x`. Draws below 2.2e-308
    are given as that.

    References
    ----------
    .. [1] T. P. Minka, *Estimating a Dirichlet distribution*, technical report, 2000, section 1
       and appendix C.

    Examples
    --------
    >>> import numpy as np
    >>> from credo.families import Dirichlet
    >>> np.round(Dirichlet.fit([[0.2, 0.3, 0.5], [0.1, 0.5, 0.4], [0.3, 0.3, 0.4]]).mean, 3)
    array([0.194, 0.366, 0.44 ])
    """

    concentration: F64

    _n_own_axes = 1
    _support = Support(
        _on_simplex, "rows of positive numbers that sum to 1", 1.0, vectors=True, whole=True
    )
    _summary = PositiveSummary

    def __init__(self, concentration: Any) -> None:
        values = positive(concentration, "concentration of Dirichlet")
        if values.ndim < 1 or values.shape[-1] < 2:
            raise ShapeError(
                f"Dirichlet needs a last axis of at least two shares. Got shape {values.shape}."
            )
        self._set(concentration=values)

    @property
    def mean(self) -> F64:
        """Mean, the concentration over its sum."""
        return _rescaled(self.concentration)

    @property
    def variance(self) -> F64:
        """Variance m (1 - m) / (s + 1) of each share, m the mean and s the sum."""
        mean = self.mean
        return mean * (1.0 - mean) / (self.concentration.sum(axis=-1, keepdims=True) + 1.0)

    @property
    def natural_parameters(self) -> F64:
        """Natural parameters, the concentration minus one."""
        return self.concentration - 1.0

    @property
    def log_partition(self) -> F64:
        """Log partition, the logarithm of the multivariate beta function."""
        gammaln, total = scipy.special.gammaln, self.concentration.sum(axis=-1)
        return gammaln(self.concentration).sum(axis=-1) - gammaln(total)

    def _statistics(self, values: F64) -> F64:
        return np.log(_rescaled(values))

    def _draw(self, rng: np.random.Generator, shape: tuple[int, ...]) -> F64:
        logs = _log_gammas(rng, self.concentration, (*shape, self.concentration.shape[-1]))
        shares = np.exp(logs - scipy.special.logsumexp(logs, axis=-1, keepdims=True))
        return np.maximum(shares, _TINY)

    @classmethod
    def _summarised(cls, values: F64) -> F64:
        return _rescaled(values)

    @classmethod
    def _estimate(cls, summary: PositiveSummary) -> Self:
        return cls(_concentration(summary))


def _concentration(summary: PositiveSummary) -> F64:
    """Return the concentration of maximum likelihood, or refuse columns without one."""
    gap = summary.divergence / summary.weight[..., None]
    constant = np.asarray((gap <= 0.5 * ROUNDING**2).all(axis=-1))
    refuse_constant(summary, constant, "the concentration would be infinite")
    return dirichlet_concentration(summary.mean, gap)
