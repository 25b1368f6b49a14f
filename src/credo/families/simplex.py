"""Families of shares that sum to one: Beta and Dirichlet."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self, final

import numpy as np
import scipy

from credo import _checks as check
from credo._types import F64, Bool
from credo.exceptions import ShapeError
from credo.families.family import (
    ROUNDING,
    TINY,
    AbstractFamily,
    Support,
    log_gammas,
    positive,
    refuse_constant,
)
from credo.families.likelihood import dirichlet_concentration
from credo.families.summaries import GroupedRows, PositiveSummary

#: The largest number below one.
_BELOW_ONE = 1.0 - float(np.finfo(np.float64).epsneg)


@final
@dataclass(frozen=True, slots=True, eq=False, init=False)
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

    _support = Support(lambda x: (x > 0) & (x < 1), "numbers strictly between 0 and 1", 0.5)

    def __init__(self, alpha: Any, beta: Any) -> None:
        self._set(alpha=positive(alpha, "Beta", "alpha"), beta=positive(beta, "Beta", "beta"))

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

    def _draw(self, rng: np.random.Generator, shape: tuple[int, ...]) -> F64:
        log_odds = log_gammas(rng, self.alpha, shape) - log_gammas(rng, self.beta, shape)
        return np.clip(scipy.special.expit(log_odds), TINY, _BELOW_ONE)

    @classmethod
    def _collect(cls, rows: GroupedRows) -> PositiveSummary:
        return PositiveSummary.of(rows, np.stack([rows.values, 1.0 - rows.values], axis=-1))

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

    def __init__(self, concentration: Any) -> None:
        values = positive(concentration, "Dirichlet", "concentration")
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
        logs = log_gammas(rng, self.concentration, (*shape, self.concentration.shape[-1]))
        shares = np.exp(logs - scipy.special.logsumexp(logs, axis=-1, keepdims=True))
        return np.maximum(shares, TINY)

    @classmethod
    def _collect(cls, rows: GroupedRows) -> PositiveSummary:
        return PositiveSummary.of(rows, _rescaled(rows.values))

    @classmethod
    def _estimate(cls, summary: PositiveSummary) -> Self:
        return cls(_concentration(summary))


def _concentration(summary: PositiveSummary) -> F64:
    """Return the concentration of maximum likelihood, or refuse columns without one."""
    gap = summary.divergence / summary.weight[..., None]
    constant = np.asarray((gap <= 0.5 * ROUNDING**2).all(axis=-1))
    refuse_constant(summary, constant, "the concentration would be infinite")
    return dirichlet_concentration(summary.mean, gap)
