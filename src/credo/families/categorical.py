"""The categorical distribution of codes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self, final

import numpy as np

from credo._types import F64, Int, RandomState
from credo._validation.arrays import frozen, positive_int
from credo.exceptions import InputError
from credo.families._base import AbstractFamily
from credo.families._draws import ready
from credo.families._logarithms import log_of
from credo.families._parameters import distributions
from credo.families._rows import Rows
from credo.families._smoothing import smoothed
from credo.families._support import CODES, Support
from credo.families.summaries import CountSummary

#: A code above this is a number or a name, not a category, and would ask for as many counts.
_MOST_CATEGORIES = 2**20


@final
@dataclass(frozen=True, slots=True, eq=False)
class Categorical(AbstractFamily[CountSummary]):
    r"""Describe one of C categories, coded 0 to C - 1, by their probabilities.

    .. math:: \log p(x) = \log p_x

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
    credo.families.Multinomial : Counts of categories.
    credo.families.Bernoulli : Two categories.

    Notes
    -----
    Exact to rounding. Natural form, with one parameter more than is free:
    :math:`\eta_c = \log p_c`, :math:`T_c(x) = [x = c]` and A = 0; minus infinity where
    :math:`p_c = 0`. Codes are names, so mean and variance are those of the indicators T.

    References
    ----------
    .. [1] C. M. Bishop, *Pattern Recognition and Machine Learning*, 2006, sections 2.2 and 2.4.

    Examples
    --------
    >>> from credo.families import Categorical
    >>> Categorical.fit([0, 2, 2, 1, 2])
    Categorical(probabilities=array([0.2, 0.2, 0.6]))

    Pseudo-counts, and a category that was never seen:

    >>> Categorical.estimate(Categorical.summarise([0, 1]), pseudo_count=1, n_categories=3)
    Categorical(probabilities=array([0.4, 0.4, 0.2]))
    """

    probabilities: F64

    _support: ClassVar[Support] = CODES
    _n_own_axes: ClassVar[int] = 1

    def __init__(self, probabilities: Any) -> None:
        p = distributions(probabilities, "Categorical")
        object.__setattr__(self, "probabilities", frozen(p))

    @property
    def mean(self) -> F64:
        """Mean of the indicators, the probabilities."""
        return self.probabilities

    @property
    def variance(self) -> F64:
        """Variance of the indicators, p (1 - p)."""
        return self.probabilities * (1.0 - self.probabilities)

    def _log_density(self, values: F64) -> F64:
        size = self.probabilities.shape[-1]
        known = values < size
        codes = np.where(known, values, 0.0).astype(np.intp)
        first = np.arange(int(np.prod(self.batch_shape))).reshape(self.batch_shape) * size
        logs = log_of(self.probabilities).ravel()[first + codes]
        return np.where(known, logs, -np.inf)

    @property
    def natural_parameters(self) -> F64:
        """Natural parameters log p; minus infinity at p = 0."""
        return log_of(self.probabilities)

    @property
    def log_partition(self) -> F64:
        """Log partition 0: the natural parameters are normalised."""
        return np.zeros(self.batch_shape)

    def _statistics(self, values: F64) -> F64:
        size = self.probabilities.shape[-1]
        if (values >= size).any():
            raise InputError(
                f"Categorical.sufficient_statistics needs codes from 0 to {size - 1}. "
                f"Got {values.max():g}."
            )
        return (values[..., None] == np.arange(size)).astype(np.float64)

    @property
    def n_parameters(self) -> int:
        """Number of free parameters: C - 1 each."""
        return self.probabilities.size - int(np.prod(self.batch_shape))

    def sample(self, n: int, random_state: RandomState = None) -> Int:
        """Draw ``n`` codes from each; see ``AbstractFamily.sample``."""
        size, rng = ready(n, random_state, "Categorical.sample")
        edges = np.cumsum(self.probabilities, axis=-1)
        edges /= edges[..., -1:]  # so that no draw goes beyond the last possible category
        uniform = rng.random((size, *self.batch_shape))
        codes = np.zeros(uniform.shape, dtype=np.intp)
        for c in range(edges.shape[-1] - 1):
            codes += uniform >= edges[..., c]
        return codes

    @classmethod
    def _collect(cls, rows: Rows) -> CountSummary:
        largest = rows.values.max(initial=0.0)
        if largest >= _MOST_CATEGORIES:
            raise InputError(
                f"Categorical.summarise needs codes below {_MOST_CATEGORIES}. Got {largest:g}. "
                "Number the categories from 0; a missing value is NaN."
            )
        return CountSummary.of(rows)

    @classmethod
    def estimate(
        cls,
        summary: CountSummary,
        pseudo_count: float = 0.0,
        target: Any = None,
        n_categories: int | None = None,
    ) -> Self:
        r"""Give the share of each category, smoothed if asked.

        .. math:: p_c = \frac{n_c + a C t_c}{n + a C}

        Parameters
        ----------
        summary
            Made by ``Categorical.summarise``, merged or not.
        pseudo_count : float
            Weight a added to each category.
        target : array-like of shape (..., C), optional
            Distribution t that is smoothed towards; uniform by default.
        n_categories : int, optional
            How many categories C there are; by default one more than the largest code seen.

        Returns
        -------
        Categorical
            By maximum likelihood if there is no pseudo-count.

        Raises
        ------
        InputError
            If a column has no weight and there is no pseudo-count, or if more categories were
            seen than there are.
        """
        cls._check_summary(summary)
        owner = "Categorical.estimate"
        seen = summary.counts.shape[-1]
        size = seen if n_categories is None else positive_int(n_categories, owner, "n_categories")
        if size < seen:
            raise InputError(f"{owner}: code {seen - 1} was seen, but n_categories is {size}.")
        goal = None if target is None else distributions(target, owner, "target")
        return cls(smoothed(summary.padded(size), pseudo_count, goal, owner))
