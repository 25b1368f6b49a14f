"""The Bernoulli distribution of 0 and 1."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar, Self, final

import numpy as np

from credo._types import F64, Int, RandomState
from credo._validation.arrays import frozen
from credo.families._base import AbstractFamily
from credo.families._draws import ready
from credo.families._logarithms import log_of
from credo.families._parameters import probabilities
from credo.families._rows import Rows
from credo.families._smoothing import shares
from credo.families._support import BINARY, Support
from credo.families.summaries import SumSummary


@final
@dataclass(frozen=True, slots=True, eq=False)
class Bernoulli(AbstractFamily[SumSummary]):
    r"""Describe a 0 or 1 by the probability of 1.

    .. math:: \log p(x) = x \log p + (1 - x) \log(1 - p)

    Parameters
    ----------
    probability : float or array-like
        Probability p of 1, from 0 to 1.

    Raises
    ------
    InputError
        If a probability is not between 0 and 1.

    See Also
    --------
    credo.families.Categorical : More than two categories.

    Notes
    -----
    Exact to rounding. Natural form: :math:`\eta = \log(p / (1 - p))`, T(x) = x,
    :math:`A = -\log(1 - p)`; minus infinity at p = 0, and infinity, as A is, at p = 1. The log
    density is right there too.

    References
    ----------
    .. [1] C. M. Bishop, *Pattern Recognition and Machine Learning*, 2006, sections 2.1 and 2.4.

    Examples
    --------
    >>> from credo.families import Bernoulli
    >>> Bernoulli.fit([1, 0, 0, 1, 1])
    Bernoulli(probability=array(0.6))

    Smoothing keeps what was never seen possible:

    >>> Bernoulli.estimate(Bernoulli.summarise([1, 1, 1]), pseudo_count=1)
    Bernoulli(probability=array(0.8))
    """

    probability: F64
    #: One minus it, with all digits that an estimate has.
    _complement: F64 = field(repr=False)

    _support: ClassVar[Support] = BINARY

    def __init__(self, probability: Any) -> None:
        p = probabilities(probability, "Bernoulli").copy()
        object.__setattr__(self, "probability", frozen(p))
        object.__setattr__(self, "_complement", frozen(np.asarray(1.0 - p)))

    @classmethod
    def _of_both(cls, ones: F64, zeros: F64) -> Self:
        """Make one from both probabilities, of which either may be tiny."""
        made = cls.__new__(cls)
        object.__setattr__(made, "probability", frozen(ones))
        object.__setattr__(made, "_complement", frozen(zeros))
        return made

    @property
    def _log_complement(self) -> F64:
        """Log of one minus the probability, from whichever of the two is small."""
        p = self.probability
        with np.errstate(divide="ignore"):
            return np.where(p < 0.5, np.log1p(-np.minimum(p, 0.5)), np.log(self._complement))

    @property
    def mean(self) -> F64:
        """Mean, the probability."""
        return self.probability

    @property
    def variance(self) -> F64:
        """Variance p (1 - p)."""
        return self.probability * (1.0 - self.probability)

    def _log_density(self, values: F64) -> F64:
        logs = np.where(values == 1.0, log_of(self.probability), self._log_complement)
        return np.asarray(logs)

    @property
    def natural_parameters(self) -> F64:
        """Natural parameter log(p / (1 - p)); infinite at p = 0 or 1."""
        result: F64 = log_of(self.probability) - self._log_complement
        return result[..., None]

    @property
    def log_partition(self) -> F64:
        """Log partition -log(1 - p); infinite at p = 1."""
        return -self._log_complement

    def _statistics(self, values: F64) -> F64:
        return values[..., None]

    @property
    def n_parameters(self) -> int:
        """Number of free parameters: one each."""
        return self.probability.size

    def sample(self, n: int, random_state: RandomState = None) -> Int:
        """Draw ``n`` zeros and ones from each; see ``AbstractFamily.sample``."""
        size, rng = ready(n, random_state, "Bernoulli.sample")
        return (rng.random((size, *self.probability.shape)) < self.probability).astype(np.intp)

    @classmethod
    def _collect(cls, rows: Rows) -> SumSummary:
        return SumSummary.of(rows)

    @classmethod
    def estimate(cls, summary: SumSummary, pseudo_count: float = 0.0, target: Any = None) -> Self:
        r"""Give the share of ones, smoothed if asked.

        .. math:: p = \frac{n_1 + 2 a t}{n + 2 a}

        Parameters
        ----------
        summary
            Made by ``Bernoulli.summarise``, merged or not.
        pseudo_count : float
            Weight a added to each of 0 and 1.
        target : float or array-like, optional
            Probability t that is smoothed towards; 1/2 by default.

        Returns
        -------
        Bernoulli
            By maximum likelihood if there is no pseudo-count.

        Raises
        ------
        InputError
            If a column has no weight and there is no pseudo-count.
        """
        cls._check_summary(summary)
        owner = "Bernoulli.estimate"
        goal = None if target is None else probabilities(target, owner, "target")
        return cls._of_both(*shares(summary.weight, summary.total, pseudo_count, goal, owner))
