"""Summaries: all that an estimate needs to know of the rows, and merged without them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Self, TypeAlias, final

import numpy as np

from credo._types import F64
from credo.exceptions import ShapeError
from credo.families._logarithms import excess
from credo.families._rows import Rows
from credo.families._summary import AbstractSummary
from credo.families.moments import two_sum


@final
@dataclass(frozen=True, slots=True, eq=False)
class SumSummary(AbstractSummary):
    r"""Hold weights and sums, :math:`\sum_i w_i` and :math:`\sum_i w_i x_i`.

    Made by ``summarise`` of Bernoulli, Multinomial, Poisson and Exponential.

    Attributes
    ----------
    family : str
        Name of the family that made it.
    weight : ndarray of shape (groups, batch)
        Total weight of the rows that were observed.
    total : ndarray of shape (groups, batch[, event])
        Weighted sum of the values.

    Examples
    --------
    >>> from credo.families import Poisson
    >>> first, second = Poisson.summarise([3, 0]), Poisson.summarise([1, 2, 4])
    >>> float(first.merge(second).total)
    10.0
    """

    total: F64

    @classmethod
    def of(cls, rows: Rows) -> Self:
        """Summarise checked rows in one pass."""
        return cls(rows.family, rows.weight, rows.sum(rows.values))

    def merge(self, other: Self) -> Self:
        """Add weights and sums; see ``AbstractSummary.merge``."""
        self._check_mergeable(other)
        _check_events(self, self.total, other.total)
        return type(self)(self.family, self.weight + other.weight, self.total + other.total)


@final
@dataclass(frozen=True, slots=True, eq=False)
class CountSummary(AbstractSummary):
    r"""Hold the weight of each category, :math:`n_c = \sum_i w_i [x_i = c]`.

    Made by ``summarise`` of Categorical.

    Attributes
    ----------
    family : str
        Name of the family that made it.
    weight : ndarray of shape (groups, batch)
        Total weight of the rows that were observed.
    counts : ndarray of shape (groups, batch, C)
        Weight of each category, C being one more than the largest code seen.

    Notes
    -----
    Merging takes the larger C of the two: a category that one batch has not seen has weight 0.

    Examples
    --------
    >>> from credo.families import Categorical
    >>> Categorical.summarise([0, 1]).merge(Categorical.summarise([2, 1])).counts
    array([1., 2., 1.])
    """

    counts: F64

    @classmethod
    def of(cls, rows: Rows) -> Self:
        """Count checked rows in one pass, whatever the number of groups and categories."""
        codes = rows.values.astype(np.intp)
        size = int(codes.max(initial=0)) + 1
        columns = np.arange(int(np.prod(rows.batch)), dtype=np.intp).reshape(rows.batch)
        if rows.groups is not None:
            first = rows.groups.reshape(-1, *(1,) * len(rows.batch))
            columns = columns + first * columns.size
        cells = columns * size + codes
        weight = np.broadcast_to(rows.row_weight.reshape(-1, *(1,) * len(rows.batch)), cells.shape)
        if rows.observed is not None:
            cells, weight = cells[rows.observed], weight[rows.observed]
        shape = (*rows.lead, *rows.batch, size)
        flat: F64 = np.bincount(cells.ravel(), weight.ravel(), int(np.prod(shape))).astype(float)
        return cls(rows.family, rows.weight, flat.reshape(shape))

    def padded(self, n_categories: int) -> F64:
        """Give the counts of so many categories, with zeros for those never seen."""
        spare = n_categories - self.counts.shape[-1]
        return np.pad(self.counts, [(0, 0)] * self.weight.ndim + [(0, spare)])

    def merge(self, other: Self) -> Self:
        """Add the weights of each category; see ``AbstractSummary.merge``."""
        self._check_mergeable(other)
        size = max(self.counts.shape[-1], other.counts.shape[-1])
        counts = self.padded(size) + other.padded(size)
        return type(self)(self.family, self.weight + other.weight, counts)


@final
@dataclass(frozen=True, slots=True, eq=False)
class MomentSummary(AbstractSummary):
    r"""Hold weights, means and centred scatter, :math:`\sum_i w_i (x_i - m)^2`.

    Made by ``summarise`` of Gaussian and DiagonalGaussian.

    Attributes
    ----------
    family : str
        Name of the family that made it.
    weight : ndarray of shape (groups, batch)
        Total weight of the rows that were observed, in each column.
    mean : ndarray of shape (groups, batch)
        Weighted mean m, rounded; 0 where nothing was observed.
    rest : ndarray of shape (groups, batch)
        What rounding took from the mean; m is the sum of both.
    scatter : ndarray of shape (groups, batch)
        Weighted sum of squared deviations from m.

    Notes
    -----
    Never from sums of squares, and with twice the digits for the mean: data with mean 1e8 and
    variance 1 keep more than ten digits of the variance, merged or not.

    References
    ----------
    .. [1] T. F. Chan, G. H. Golub, R. J. LeVeque, "Algorithms for computing the sample variance",
       The American Statistician 37, 1983, equation 2.1.

    Examples
    --------
    >>> from credo.families import Gaussian
    >>> both = Gaussian.summarise([1.0, 3.0]).merge(Gaussian.summarise([8.0]))
    >>> float(both.mean), float(both.scatter)
    (4.0, 26.0)
    """

    mean: F64
    rest: F64
    scatter: F64

    @classmethod
    def of(cls, rows: Rows) -> Self:
        """Summarise checked rows: the mean first, then deviations from it."""
        weight = rows.weight
        mean, rest = rows.mean(rows.values, weight)
        gap = (rows.values - rows.per_row(mean)) - rows.per_row(rest)
        return cls(rows.family, weight, mean, rest, rows.sum(gap * gap))

    def merge(self, other: Self) -> Self:
        """Pool means and scatter; see ``AbstractSummary.merge``."""
        self._check_mergeable(other)
        weight = self.weight + other.weight
        gap = (other.mean - self.mean) + (other.rest - self.rest)
        harmonic = self.weight * (other.weight / np.where(weight > 0, weight, 1.0))
        scatter = self.scatter + other.scatter + gap * gap * harmonic
        return type(self)(self.family, weight, *_pooled(self, other), scatter)


@final
@dataclass(frozen=True, slots=True, eq=False)
class ScatterSummary(AbstractSummary):
    r"""Hold weights, means and centred scatter matrices, :math:`\sum_i w_i (x_i - m)(x_i - m)^T`.

    Made by ``summarise`` of MultivariateGaussian.

    Attributes
    ----------
    family : str
        Name of the family that made it.
    weight : ndarray of shape (groups, batch)
        Total weight of the rows.
    mean : ndarray of shape (groups, batch, D)
        Weighted mean m, rounded; 0 where there were no rows.
    rest : ndarray of shape (groups, batch, D)
        What rounding took from the mean; m is the sum of both.
    scatter : ndarray of shape (groups, batch, D, D)
        Weighted sum of the products of deviations from m; symmetric.

    Notes
    -----
    As precise as a MomentSummary, and merged by the same formula.

    Examples
    --------
    >>> from credo.families import MultivariateGaussian
    >>> one = MultivariateGaussian.summarise([[1.0, 0.0], [3.0, 2.0]])
    >>> one.merge(MultivariateGaussian.summarise([[8.0, 4.0]])).scatter
    array([[26., 14.],
           [14.,  8.]])
    """

    mean: F64
    rest: F64
    scatter: F64

    @classmethod
    def of(cls, rows: Rows) -> Self:
        """Summarise checked rows: the mean first, then products of deviations from it."""
        weight = rows.weight
        mean, rest = rows.mean(rows.values, weight[..., None])
        gap = (rows.values - rows.per_row(mean)) - rows.per_row(rest)
        return cls(rows.family, weight, mean, rest, rows.products(gap))

    def merge(self, other: Self) -> Self:
        """Pool means and scatter; see ``AbstractSummary.merge``."""
        self._check_mergeable(other)
        _check_events(self, self.mean, other.mean)
        weight = self.weight + other.weight
        gap = (other.mean - self.mean) + (other.rest - self.rest)
        harmonic = self.weight * (other.weight / np.where(weight > 0, weight, 1.0))
        part = np.sqrt(harmonic)[..., None] * gap  # squared as a whole: the sum stays symmetric
        scatter = self.scatter + other.scatter + part[..., :, None] * part[..., None, :]
        return type(self)(self.family, weight, *_pooled(self, other), scatter)


@final
@dataclass(frozen=True, slots=True, eq=False)
class PositiveSummary(AbstractSummary):
    r"""Hold weights, means and centred logarithms of positive values.

    .. math:: d = \sum_i w_i \left(\frac{x_i}{m} - 1 - \log\frac{x_i}{m}\right)
                = \sum_i w_i (\log m - \log x_i)

    Made by ``summarise`` of Gamma, Beta (of x and 1 - x) and Dirichlet.

    Attributes
    ----------
    family : str
        Name of the family that made it.
    weight : ndarray of shape (groups, batch)
        Total weight of the rows that were observed.
    mean : ndarray of shape (groups, batch[, event])
        Weighted mean m, rounded; 1 where nothing was observed.
    rest : ndarray of shape (groups, batch[, event])
        What rounding took from the mean; m is the sum of both.
    divergence : ndarray of shape (groups, batch[, event])
        The sum d above; its terms are 0 at the mean and positive elsewhere.

    Notes
    -----
    Mean and mean logarithm determine the estimates. Their difference is what shows the spread; it
    is kept itself, and merged as Chan merges squares, because a difference of two sums would lose
    the digits of nearly constant data.

    Examples
    --------
    >>> from credo.families import Gamma
    >>> summary = Gamma.summarise([1.0, 4.0])
    >>> float(summary.mean), round(float(summary.divergence), 6)  # 2 log 2.5 - log 4
    (2.5, 0.446287)
    """

    mean: F64
    rest: F64
    divergence: F64

    _empty: ClassVar[dict[str, float]] = {"mean": 1.0}

    @classmethod
    def of(cls, rows: Rows, values: F64) -> Self:
        """Summarise positive values of checked rows, one or several per observation."""
        weight = rows.weight
        wide = weight.reshape(weight.shape + (1,) * (values.ndim - 1 - len(rows.batch)))
        mean, rest = rows.mean(values, wide)
        mean = np.where(wide > 0, mean, 1.0)
        terms = excess(values, rows.per_row(mean), rows.per_row(rest))
        return cls(rows.family, weight, mean, rest, rows.sum(terms))

    def merge(self, other: Self) -> Self:
        """Pool means and centred logarithms; see ``AbstractSummary.merge``."""
        self._check_mergeable(other)
        _check_events(self, self.mean, other.mean)
        mean, rest = _pooled(self, other)
        divergence = self.divergence + other.divergence
        for part in (self, other):
            divergence = divergence + _wide(part) * excess(part.mean, mean, rest - part.rest)
        return type(self)(self.family, self.weight + other.weight, mean, rest, divergence)


#: Summaries with a mean and what rounding took from it.
_Centred: TypeAlias = MomentSummary | ScatterSummary | PositiveSummary


def _wide(summary: _Centred) -> F64:
    """Give the weights with the axes of the means."""
    weight = summary.weight
    return weight.reshape(weight.shape + (1,) * (summary.mean.ndim - weight.ndim))


def _pooled(first: _Centred, second: _Centred) -> tuple[F64, F64]:
    """Pool two means, from the heavier one: equal means stay, and small ones are not swamped."""
    a, b = _wide(first), _wide(second)
    total = a + b
    swap = a < b
    near, far = np.where(swap, second.mean, first.mean), np.where(swap, first.mean, second.mean)
    rest, other = np.where(swap, second.rest, first.rest), np.where(swap, first.rest, second.rest)
    gap = (far - near) + (other - rest)
    step = gap * (np.minimum(a, b) / np.where(total > 0, total, 1.0))
    return two_sum(near, rest + step)


def _check_events(summary: AbstractSummary, first: F64, second: F64) -> None:
    """Check that events have the same length."""
    if first.shape != second.shape:
        raise ShapeError(
            f"Summaries of {summary.family} merge if their events have the same length. Got "
            f"shapes {first.shape} and {second.shape}."
        )
