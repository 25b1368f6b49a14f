"""Discrete families: Bernoulli, Poisson, Categorical and Multinomial."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Self, final

import numpy as np
import scipy

from credo import _checks as check
from credo._types import F64, Bool, Int, RandomState
from credo.exceptions import InputError, ShapeError
from credo.families.family import MOST, AbstractFamily, DiscreteOnALine, S, Support, place, within
from credo.families.likelihood import log_of
from credo.families.summaries import CountSummary, SumSummary

#: Larger draws would not fit into an integer of 64 bits.
_MOST_DRAWN = 2.0**62
#: A code above this is a number or a name, not a category, and would ask for as many counts.
_MOST_CATEGORIES = 2**20


def _is_count(values: F64) -> Bool:
    """Tell which values are whole numbers from 0 to so many that logarithms of factorials end."""
    return (values >= 0) & (values <= MOST) & (values == np.floor(values))


def distributions(values: Any, owner: str, what: str = "probabilities") -> F64:
    """Check distributions on the last axis, and rescale them to sum to one."""
    array = check.floats(values, f"{what} of {owner}")
    if array.ndim < 1 or not array.shape[-1]:
        raise ShapeError(
            f"The {what} of {owner} need a last axis, one entry per category. "
            f"Got shape {array.shape}."
        )
    flat = array.reshape(-1, array.shape[-1])
    check.distributions(flat, f"{owner}, {what}", first_row=None if array.ndim == 1 else 0)
    return array / array.sum(axis=-1, keepdims=True)


def cumulated(probabilities: F64) -> tuple[F64, F64]:
    """Return the probabilities below each place between categories, 0 to 1, and above it."""
    none = np.zeros((*probabilities.shape[:-1], 1))
    below = np.cumsum(np.concatenate([none, probabilities], axis=-1), axis=-1)
    above = np.cumsum(np.concatenate([none, probabilities[..., ::-1]], axis=-1), axis=-1)[..., ::-1]
    return np.where(above == 0, 1.0, below), np.where(below == 0, 1.0, above)


def reaching(levels: F64, below: F64) -> Int:
    """Return the first category of positive probability up to which each level is reached."""
    inner = below[..., 1:-1]
    return np.asarray(((levels[..., None] > inner) | (inner == 0)).sum(axis=-1))


def looked_up(table: Any, places: Int) -> Any:
    """Return the entry at each place, in tables on the last axis."""
    wide = np.broadcast_to(table, (*places.shape, table.shape[-1]))
    return np.take_along_axis(wide, places[..., None], axis=-1)[..., 0]


def as_levels(q: Any, owner: str) -> F64:
    """Check levels of quantiles; what is not from 0 to 1 becomes NaN, as in SciPy."""
    levels = check.floats(q, f"levels of {owner}.ppf")
    return np.where((levels >= 0) & (levels <= 1), levels, np.nan)


def _smooth(counts: F64, amount: F64, target: F64 | None, owner: str) -> F64:
    r"""Return :math:`(n_c + A t_c) / (n + A)` on the last axis of C categories.

    A is the sum of the pseudo-counts, a C if they are all a. t is the target; if None, each
    category gets its own pseudo-count.
    """
    size, more = counts.shape[-1], amount
    if target is not None:
        each = amount.shape[-1:] == (size,)
        more = (amount.sum(axis=-1, keepdims=True) if each else amount * size) * target
    numerators = counts + more
    totals = numerators.sum(axis=-1, keepdims=True)
    empty = ~(totals[..., 0] > 0)
    if empty.any():
        raise InputError(
            f"{owner}: nothing was counted{place(empty)}. Add rows, or pass a pseudo_count."
        )
    return numerators / totals


def _fitting(values: F64, shape: tuple[int, ...], what: str) -> F64:
    """Return what an estimate is smoothed by, or say that it does not broadcast to its shape."""
    try:
        np.broadcast_to(values, shape)
    except ValueError:
        raise ShapeError(
            f"The {what} must fit the estimate, of shape {shape}. Got shape {values.shape}."
        ) from None
    return values


def _pseudo_counts(given: Any, shape: tuple[int, ...], owner: str) -> F64:
    """Check pseudo-counts: one number, or an array that broadcasts to the shape."""
    what = f"pseudo_count of {owner}"
    return _fitting(within(given, what, 0, MOST), shape, what)


# --- 0 and 1, and counts --------------------------------------------------------------------------


@final
@dataclass(frozen=True, slots=True, eq=False, init=False)
class Bernoulli(DiscreteOnALine[SumSummary]):
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

    _support = Support(lambda x: (x == 0) | (x == 1), "0 or 1 (or False or True)", 0.0)
    _summary = SumSummary

    def __init__(self, probability: Any) -> None:
        p = within(probability, "probability of Bernoulli", 0, 1)
        self._set(probability=p, _complement=1.0 - p)

    @property
    def _log_complement(self) -> F64:
        """Log of one minus the probability, from whichever of the two is small."""
        p = self.probability
        return np.where(p < 0.5, np.log1p(-np.minimum(p, 0.5)), log_of(self._complement))

    @property
    def mean(self) -> F64:
        """Mean, the probability."""
        return self.probability

    @property
    def variance(self) -> F64:
        """Variance p (1 - p)."""
        return self.probability * self._complement

    def _log_density(self, values: F64) -> F64:
        return np.where(values == 1.0, log_of(self.probability), self._log_complement)

    @property
    def natural_parameters(self) -> F64:
        """Natural parameter log(p / (1 - p)); infinite at p = 0 or 1."""
        result: F64 = log_of(self.probability) - self._log_complement
        return result[..., None]

    @property
    def log_partition(self) -> F64:
        """Log partition -log(1 - p); infinite at p = 1."""
        return -self._log_complement

    @property
    def _scipy(self) -> Any:
        return scipy.stats.bernoulli(self.probability)

    def _draw(self, rng: np.random.Generator, shape: tuple[int, ...]) -> Int:
        return (rng.random(shape) < self.probability).astype(np.intp)

    @classmethod
    def estimate(cls, summary: SumSummary, pseudo_count: Any = 0.0, target: Any = None) -> Self:
        r"""Return the share of ones, smoothed if asked.

        .. math:: p = \frac{n_1 + 2 a t}{n + 2 a}

        Parameters
        ----------
        summary
            Made by ``Bernoulli.summarise``, merged or not.
        pseudo_count : float or array-like
            Weight a added to each of 0 and 1; one number, or one for each column.
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
        cls._check_summary(summary, empty=True)
        owner, ones = "Bernoulli.estimate", summary.total
        goal = None
        if target is not None:
            share = within(target, f"target of {owner}", 0, 1)
            t = _fitting(share, ones.shape, f"target of {owner}")
            goal = np.stack([1.0 - t, t], axis=-1)
        zeros = np.maximum(summary.weight - ones, 0.0)  # the sums are rounded
        counts = np.moveaxis(np.stack([zeros, ones]), 0, -1)  # two planes: fast to add up
        amount = _pseudo_counts(pseudo_count, ones.shape, owner)[..., None]
        both = _smooth(counts, amount, goal, owner)
        made = cls.__new__(cls)  # from both: either may be tiny
        made._set(probability=both[..., 1], _complement=both[..., 0])  # noqa: SLF001 - its own
        return made


@final
@dataclass(frozen=True, slots=True, eq=False, init=False)
class Poisson(DiscreteOnALine[SumSummary]):
    r"""Describe a count by its rate.

    .. math:: \log p(x) = x \log \lambda - \lambda - \log x!

    Parameters
    ----------
    rate : float or array-like
        Expected count :math:`\lambda`, 0 or more.

    Raises
    ------
    InputError
        If a rate is negative.

    See Also
    --------
    credo.families.Exponential : Times between the events that are counted.

    Notes
    -----
    Exact up to the rounding of the terms, about 1e-16 times :math:`x \log x`. The estimate is the
    mean. Natural form: :math:`\eta = \log \lambda`, T(x) = x, :math:`A = \lambda` and
    :math:`h = 1/x!`; minus infinity at rate 0, where all weight is on 0.

    References
    ----------
    .. [1] N. L. Johnson, A. W. Kemp, S. Kotz, *Univariate Discrete Distributions*, 3rd ed., 2005,
       section 4.7.

    Examples
    --------
    >>> from credo.families import Poisson
    >>> Poisson.fit([3, 0, 1, 4])
    Poisson(rate=array(2.))
    """

    rate: F64

    _support = Support(_is_count, "whole numbers, 0 or more", 0.0)
    _summary = SumSummary

    def __init__(self, rate: Any) -> None:
        self._set(rate=within(rate, "rate of Poisson", 0, MOST))

    @property
    def mean(self) -> F64:
        """Mean, the rate."""
        return self.rate

    @property
    def variance(self) -> F64:
        """Variance, the rate."""
        return self.rate

    @property
    def natural_parameters(self) -> F64:
        """Natural parameter log rate; minus infinity at rate 0."""
        return log_of(self.rate)[..., None]

    @property
    def log_partition(self) -> F64:
        """Log partition, the rate."""
        return self.rate

    def _log_base(self, values: F64) -> F64:
        return -scipy.special.gammaln(values + 1.0)

    @property
    def _scipy(self) -> Any:
        return scipy.stats.poisson(self.rate)

    def _draw(self, rng: np.random.Generator, shape: tuple[int, ...]) -> Int:
        if self.rate.max(initial=0.0) > _MOST_DRAWN:
            raise InputError(
                f"Poisson.sample needs rates up to {_MOST_DRAWN:g}, so that counts fit into 64 "
                f"bits. Got {self.rate.max():g}."
            )
        return rng.poisson(self.rate, shape)

    @classmethod
    def _estimate(cls, summary: SumSummary) -> Self:
        return cls(summary.total / summary.weight)


# --- one of C categories, and counts of them ------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False, init=False)
class _Categories(AbstractFamily[S]):
    """What families of C categories share: their probabilities, and moments of a single draw."""

    probabilities: F64

    _n_own_axes = 1

    def __init__(self, probabilities: Any) -> None:
        self._set(probabilities=distributions(probabilities, type(self).__name__))

    @property
    def mean(self) -> F64:
        """Mean of the indicators of a single draw, the probabilities."""
        return self.probabilities

    @property
    def variance(self) -> F64:
        """Variance of the indicators of a single draw, p (1 - p)."""
        return self.probabilities * (1.0 - self.probabilities)

    @property
    def natural_parameters(self) -> F64:
        """Natural parameters log p; minus infinity at p = 0."""
        return log_of(self.probabilities)

    @property
    def log_partition(self) -> F64:
        """Log partition 0: the natural parameters are normalised."""
        return np.zeros(self.batch_shape)

    @property
    def n_parameters(self) -> int:
        """Number of free parameters: C - 1 each."""
        return self.probabilities.size - int(np.prod(self.batch_shape))

    @classmethod
    def _smoothed(cls, counts: F64, pseudo_count: Any, target: Any) -> Self:
        """Return the share of each category, drawn towards a target."""
        owner = f"{cls.__name__}.estimate"
        goal = None
        if target is not None:
            goal = distributions(target, owner, "target")
            _fitting(goal, counts.shape, f"target of {owner}")
        return cls(_smooth(counts, _pseudo_counts(pseudo_count, counts.shape, owner), goal, owner))


@final
@dataclass(frozen=True, slots=True, eq=False, init=False)
class Categorical(_Categories[CountSummary], DiscreteOnALine[CountSummary]):
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
    :math:`p_c = 0`. Codes are names, so mean and variance are those of the indicators T;
    ``cdf``, ``sf`` and ``ppf`` are in the order of the codes.

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

    _support = Support(_is_count, "the codes of categories, whole numbers from 0", 0.0)
    _summary = CountSummary

    def _log_density(self, values: F64) -> F64:
        size = self.probabilities.shape[-1]
        known = values < size
        codes = np.where(known, values, 0.0).astype(np.intp)
        first = np.arange(int(np.prod(self.batch_shape))).reshape(self.batch_shape) * size
        logs = log_of(self.probabilities).ravel()[first + codes]
        return np.where(known, logs, -np.inf)

    def _statistics(self, values: F64) -> F64:
        size = self.probabilities.shape[-1]
        if (values >= size).any():
            raise InputError(
                f"Categorical.sufficient_statistics needs codes from 0 to {size - 1}. "
                f"Got {np.nanmax(values):g}."
            )
        return (values[..., None] == np.arange(size)).astype(np.float64)

    def _at(self, x: Any, table: F64) -> F64:
        """Look up what is between the codes up to ``x`` and those above."""
        values = self._as_values(x)
        places = np.clip(np.floor(values) + 1, 0, table.shape[-1] - 1)
        places = np.where(np.isnan(values), 0, places) + np.zeros(self.batch_shape)
        return np.where(np.isnan(values), np.nan, looked_up(table, places.astype(np.intp)))

    def cdf(self, x: Any) -> F64:
        """Return the probability of a code of at most ``x``."""
        return self._at(x, cumulated(self.probabilities)[0])

    def sf(self, x: Any) -> F64:
        """Return the probability of a code above ``x``."""
        return self._at(x, cumulated(self.probabilities)[1])

    def ppf(self, q: Any) -> F64:
        """Return the least possible code up to which the probability reaches ``q``."""
        levels, (below, _) = as_levels(q, "Categorical"), cumulated(self.probabilities)
        return np.where(np.isnan(levels), np.nan, reaching(levels, below))

    def _draw(self, rng: np.random.Generator, shape: tuple[int, ...]) -> Int:
        edges = np.cumsum(self.probabilities, axis=-1)
        edges /= edges[..., -1:]  # so that no draw goes beyond the last possible category
        uniform = rng.random(shape)
        codes = np.zeros(shape, dtype=np.intp)
        for c in range(edges.shape[-1] - 1):
            codes += uniform >= edges[..., c]
        return codes

    @classmethod
    def _summarised(cls, values: F64) -> F64:
        largest = np.fmax.reduce(values, axis=None, initial=0.0)
        if largest >= _MOST_CATEGORIES:
            raise InputError(
                f"Categorical.summarise needs codes below {_MOST_CATEGORIES}. Got {largest:g}. "
                "Number the categories from 0; a missing value is NaN."
            )
        return values

    @classmethod
    def estimate(
        cls,
        summary: CountSummary,
        pseudo_count: Any = 0.0,
        target: Any = None,
        n_categories: int | None = None,
    ) -> Self:
        r"""Return the share of each category, smoothed if asked.

        .. math:: p_c = \frac{n_c + a C t_c}{n + a C}

        Parameters
        ----------
        summary
            Made by ``Categorical.summarise``, merged or not.
        pseudo_count : float or array-like of shape (..., C)
            Weight a added to each category, or one for each; aC is then their sum.
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
        cls._check_summary(summary, empty=True)
        size = seen = summary.counts.shape[-1]
        if n_categories is not None:
            size = check.count(n_categories, "n_categories of Categorical.estimate")
        if size < seen:
            raise InputError(
                f"Categorical.estimate: code {seen - 1} was seen, but n_categories is {size}."
            )
        return cls._smoothed(summary.padded(size), pseudo_count, target)


@final
@dataclass(frozen=True, slots=True, eq=False, init=False)
class Multinomial(_Categories[SumSummary]):
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

    _support = Support(
        lambda x: np.asarray(_is_count(x).all(axis=-1)),
        "rows of counts, whole numbers, 0 or more",
        0.0,
        vectors=True,
        whole=True,
    )
    _summary = SumSummary

    def _statistics(self, values: F64) -> F64:
        return values

    def _log_base(self, values: F64) -> F64:
        gammaln = scipy.special.gammaln
        return gammaln(values.sum(axis=-1) + 1.0) - gammaln(values + 1.0).sum(axis=-1)

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
        size = check.count(n, "n of Multinomial.sample", 0)
        rng = check.generator(random_state, "random_state of Multinomial.sample")
        return self._draw(rng, (size, *self.batch_shape), total)

    def _draw(self, rng: np.random.Generator, shape: tuple[int, ...], total: int = 1) -> Int:
        n = check.count(total, "total of Multinomial.sample", 0)
        if n > np.iinfo(np.int64).max:
            raise InputError(f"The total of Multinomial.sample must be below 2**63. Got {total}.")
        return rng.multinomial(n, self.probabilities, shape)

    @classmethod
    def estimate(cls, summary: SumSummary, pseudo_count: Any = 0.0, target: Any = None) -> Self:
        r"""Return the share of each category in all counts, smoothed if asked.

        .. math:: p_c = \frac{n_c + a C t_c}{n + a C}

        Parameters
        ----------
        summary
            Made by ``Multinomial.summarise``, merged or not.
        pseudo_count : float or array-like of shape (..., C)
            Count a added to each category, or one for each; aC is then their sum.
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
        cls._check_summary(summary, empty=True)
        return cls._smoothed(summary.total, pseudo_count, target)
