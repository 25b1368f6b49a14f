"""The multinomial distribution of counts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self, final

import numpy as np
from scipy.special import gammaln, xlogy

from credo._types import F64, Int, RandomState
from credo._validation.arrays import frozen, positive_int
from credo.families._base import AbstractFamily
from credo.families._draws import ready
from credo.families._logarithms import log_of
from credo.families._parameters import distributions
from credo.families._rows import Rows
from credo.families._smoothing import smoothed
from credo.families._support import COUNT_VECTORS, Support
from credo.families.summaries import SumSummary


@final
@dataclass(frozen=True, slots=True, eq=False)
class Multinomial(AbstractFamily[SumSummary]):
    r"""Describe counts of C categories, given their sum, by the probabilities.

    .. math:: \log p(x) = \log \frac{(\sum_c x_c)!}{\prod_c x_c!} + \sum_c x_c \log p_c

    Parameters
    ----------
    probabilities : array-like of shape (batch, C)
        Probability of each category; they sum to one on the last axis.

    Raises
    ------
    InputError
        If some are negative or do not sum to one.

    See Also
    --------
    credo.families.Categorical : A single draw, by its code.

    Notes
    -----
    Exact to rounding. The sum of the counts is not a parameter: each event has its own. Mean and
    variance are those of a single draw. A row with a missing count is missing as a whole. Natural
    form, with one parameter more than is free: :math:`\eta_c = \log p_c`, T(x) = x and A = 0; the
    base measure is the coefficient. Minus infinity where :math:`p_c = 0`.

    References
    ----------
    .. [1] C. M. Bishop, *Pattern Recognition and Machine Learning*, 2006, section 2.2.

    Examples
    --------
    >>> from credo.families import Multinomial
    >>> words = Multinomial.fit([[2, 0, 1], [1, 1, 5]])
    >>> words
    Multinomial(probabilities=array([0.3, 0.1, 0.6]))
    >>> round(float(words.log_density([0, 0, 2])), 3)  # 2 log 0.6
    -1.022
    """

    probabilities: F64

    _support: ClassVar[Support] = COUNT_VECTORS
    _n_own_axes: ClassVar[int] = 1

    def __init__(self, probabilities: Any) -> None:
        p = distributions(probabilities, "Multinomial")
        object.__setattr__(self, "probabilities", frozen(p))

    @property
    def mean(self) -> F64:
        """Mean of a single draw, the probabilities."""
        return self.probabilities

    @property
    def variance(self) -> F64:
        """Variance of a single draw, p (1 - p)."""
        return self.probabilities * (1.0 - self.probabilities)

    def _log_density(self, values: F64) -> F64:
        return xlogy(values, self.probabilities).sum(axis=-1) + self._log_base(values)

    @property
    def natural_parameters(self) -> F64:
        """Natural parameters log p; minus infinity at p = 0."""
        return log_of(self.probabilities)

    @property
    def log_partition(self) -> F64:
        """Log partition 0: the natural parameters are normalised."""
        return np.zeros(self.batch_shape)

    def _statistics(self, values: F64) -> F64:
        return values

    def _log_base(self, values: F64) -> F64:
        return gammaln(values.sum(axis=-1) + 1.0) - gammaln(values + 1.0).sum(axis=-1)

    @property
    def n_parameters(self) -> int:
        """Number of free parameters: C - 1 each."""
        return self.probabilities.size - int(np.prod(self.batch_shape))

    def sample(self, n: int, random_state: RandomState = None, total: int = 1) -> Int:
        """Draw ``n`` vectors of counts from each.

        Parameters
        ----------
        n : int
            How many vectors.
        random_state : int, numpy.random.Generator or None
            Seed or generator.
        total : int
            What the counts of a vector sum to.

        Returns
        -------
        ndarray of int of shape (n, batch, C)
            The counts.
        """
        size, rng = ready(n, random_state, "Multinomial.sample")
        draws = positive_int(total, "Multinomial.sample", "total", least=0)
        return rng.multinomial(draws, self.probabilities, (size, *self.batch_shape))

    @classmethod
    def _collect(cls, rows: Rows) -> SumSummary:
        return SumSummary.of(rows)

    @classmethod
    def estimate(cls, summary: SumSummary, pseudo_count: float = 0.0, target: Any = None) -> Self:
        r"""Give the share of each category in all counts, smoothed if asked.

        .. math:: p_c = \frac{n_c + a C t_c}{n + a C}

        Parameters
        ----------
        summary
            Made by ``Multinomial.summarise``, merged or not.
        pseudo_count : float
            Count a added to each category.
        target : array-like of shape (..., C), optional
            Distribution t that is smoothed towards; uniform by default.

        Returns
        -------
        Multinomial
            By maximum likelihood if there is no pseudo-count.

        Raises
        ------
        InputError
            If nothing was counted and there is no pseudo-count.
        """
        cls._check_summary(summary)
        owner = "Multinomial.estimate"
        goal = None if target is None else distributions(target, owner, "target")
        return cls(smoothed(summary.total, pseudo_count, goal, owner))
