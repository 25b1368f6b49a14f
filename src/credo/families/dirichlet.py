"""The Dirichlet distribution of shares that sum to one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self, final

import numpy as np
from scipy.special import gammaln, logsumexp, xlogy

from credo._types import F64, RandomState
from credo._validation.arrays import frozen
from credo.exceptions import ShapeError
from credo.families._base import AbstractFamily
from credo.families._draws import TINY, log_gammas, ready
from credo.families._likelihood_equations import concentration_of
from credo.families._parameters import positive
from credo.families._rows import Rows
from credo.families._support import SIMPLEX, Support
from credo.families.summaries import PositiveSummary


@final
@dataclass(frozen=True, slots=True, eq=False)
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

    _support: ClassVar[Support] = SIMPLEX
    _n_own_axes: ClassVar[int] = 1

    def __init__(self, concentration: Any) -> None:
        values = positive(concentration, "Dirichlet", "concentration")
        if values.ndim < 1 or values.shape[-1] < 2:
            raise ShapeError(
                f"Dirichlet needs a last axis of at least two shares. Got shape {values.shape}."
            )
        object.__setattr__(self, "concentration", frozen(values.copy()))

    @property
    def mean(self) -> F64:
        """Mean, the concentration over its sum."""
        return self.concentration / self.concentration.sum(axis=-1, keepdims=True)

    @property
    def variance(self) -> F64:
        """Variance m (1 - m) / (s + 1) of each share, m the mean and s the sum."""
        mean = self.mean
        return mean * (1.0 - mean) / (self.concentration.sum(axis=-1, keepdims=True) + 1.0)

    def _log_density(self, values: F64) -> F64:
        terms = xlogy(self.concentration - 1.0, _rescaled(values))
        return terms.sum(axis=-1) - self.log_partition

    @property
    def natural_parameters(self) -> F64:
        """Natural parameters, the concentration minus one."""
        return self.concentration - 1.0

    @property
    def log_partition(self) -> F64:
        """Log partition, the logarithm of the multivariate beta function."""
        total = self.concentration.sum(axis=-1)
        return gammaln(self.concentration).sum(axis=-1) - gammaln(total)

    def _statistics(self, values: F64) -> F64:
        return np.log(_rescaled(values))

    @property
    def n_parameters(self) -> int:
        """Number of free parameters: C each."""
        return self.concentration.size

    def sample(self, n: int, random_state: RandomState = None) -> F64:
        """Draw ``n`` vectors of shares from each; see ``AbstractFamily.sample``."""
        size, rng = ready(n, random_state, "Dirichlet.sample")
        logs = log_gammas(rng, self.concentration, size)
        shares = np.exp(logs - logsumexp(logs, axis=-1, keepdims=True))
        return np.maximum(shares, TINY)

    @classmethod
    def _collect(cls, rows: Rows) -> PositiveSummary:
        return PositiveSummary.of(rows, _rescaled(rows.values))

    @classmethod
    def estimate(cls, summary: PositiveSummary) -> Self:
        """Give the concentration of maximum likelihood; see ``AbstractFamily.estimate``."""
        cls._check_summary(summary)
        return cls(concentration_of(summary))


def _rescaled(values: F64) -> F64:
    """Make shares sum to one."""
    return values / values.sum(axis=-1, keepdims=True)
