"""Summaries: all that an estimate needs to know of the rows, and merged without them."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, fields, replace
from typing import Annotated, Any, ClassVar, Self, final

import numpy as np

from credo import _checks as check
from credo._types import F64, Bool, Int
from credo.exceptions import InputError, ShapeError
from credo.families.likelihood import excess
from credo.families.moments import ClassMoments, Detail, class_sums, pool_means, two_sum

#: Points that a sketch keeps per column: 64 kB with their weights.
MOST_POINTS = 4096
#: Ranks are cut into this many equal cells. A point of at least a cell's weight stays alone, which
#: adds two cuts, and there are at most as many such points as cells; the same for the two points of
#: the median. That leaves at most 3 x 1024 + 4 points of more than 4096.
_CELLS = MOST_POINTS // 4
_EPS = float(np.finfo(np.float64).eps)


@final
@dataclass(frozen=True, slots=True, eq=False)
class GroupedRows:
    """Rows that a family has checked, with weights and groups; sums over rows are made here.

    Rows of weight zero are gone. The shape of a sum is ``lead`` (one axis of groups, or nothing)
    and then that of a row.
    """

    family: str
    #: NaN, in some entries at least, where not observed.
    values: F64
    #: None if nothing is missing.
    observed: Bool | None
    row_weight: F64
    #: All 0 if there are no groups.
    groups: Int
    lead: tuple[int, ...]
    batch: tuple[int, ...]

    @property
    def n_groups(self) -> int:
        """Number of groups, 1 if there are none."""
        return math.prod(self.lead)

    @property
    def weight(self) -> F64:
        """Total weight of what was observed, of shape ``lead`` and then the batch."""
        ones = np.ones((len(self.values), *(1,) * len(self.batch)))
        seen = ones if self.observed is None else self.observed.astype(np.float64)
        return np.broadcast_to(self.sum(seen), self.lead + self.batch).copy()

    def sum(self, statistics: F64) -> F64:
        """Add up weight × statistic over the observed rows, by group; one pass."""
        terms, n, shape = statistics, len(statistics), statistics.shape[1:]
        if self.observed is not None:
            hidden = terms.ndim - self.observed.ndim
            seen = self.observed.reshape(self.observed.shape + (1,) * hidden)
            terms = np.where(seen, terms, 0.0)
        flat = terms.reshape(n, math.prod(shape))
        sums = class_sums(flat, self.groups, self.row_weight, self.n_groups)
        return sums.reshape(self.lead + shape)

    def per_row(self, statistics: F64) -> F64:
        """Return the statistic of each row's group."""
        return statistics[self.groups] if self.lead else statistics[None]

    def entries(self) -> tuple[Int, F64, F64]:
        """List the observed numbers: place among groups and columns, value, weight."""
        tall, shape = (-1, *(1,) * len(self.batch)), self.values.shape
        columns = np.arange(math.prod(self.batch), dtype=np.intp).reshape(self.batch)
        places = self.groups.reshape(tall) * columns.size + columns
        weights = np.broadcast_to(self.row_weight.reshape(tall), shape)
        seen = self.observed
        if seen is None:
            return places.ravel(), self.values.ravel(), weights.ravel()
        return places[seen], self.values[seen], weights[seen]


@dataclass(frozen=True, slots=True, eq=False)
class AbstractSummary(ABC):
    """Hold the sufficient statistics of a family.

    Attributes
    ----------
    family : str
        Name of the family that made it.
    weight : ndarray of shape (groups, batch)
        Total weight of the rows that were observed, in each column.

    Notes
    -----
    Immutable, and a monoid: ``merge`` is associative and commutative to rounding, and a summary
    of no rows changes nothing. Fields declare the shapes that files hold (``credo._records``): K
    groups of D columns; other batches are never stored.
    """

    family: str
    weight: Annotated[F64, ("K", "K D"), ">= 0"]

    #: The field that shows how long events are.
    _events: ClassVar[str] = "weight"
    #: What an empty group holds, where that is not 0.
    _empty: ClassVar[dict[str, float]] = {}

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if isinstance(value, np.ndarray):
                check.frozen(value)

    def merge(self, other: Self) -> Self:
        """Return the summary of the rows of both.

        Parameters
        ----------
        other : summary of the same family and shape
            Made from other rows.

        Returns
        -------
        summary
            As if all rows had been summarised at once.

        Raises
        ------
        InputError
            If the other is not a summary of the same family.
        ShapeError
            If it has another shape.
        """
        if not isinstance(other, type(self)) or other.family != self.family:
            kind = getattr(other, "family", type(other).__name__)
            raise InputError(
                f"A summary of {self.family} merges with another of {self.family} only. Got {kind}."
            )
        same = {"weight": "groups and columns agree"}
        same.setdefault(self._events, "their events have the same length")
        for name, what in same.items():
            mine, theirs = getattr(self, name).shape, getattr(other, name).shape
            if mine != theirs:
                raise ShapeError(
                    f"Summaries of {self.family} merge if {what}. Got shapes {mine} and {theirs}."
                )
        return type(self)(self.family, self.weight + other.weight, *self._pool(other))

    @abstractmethod
    def _pool(self, other: Self) -> tuple[F64, ...]:
        """Return the fields behind the weight for the rows of both."""

    def spread(self, places: Int, n_groups: int) -> Self:
        """Put group i at ``places[i]`` among ``n_groups``; the others are empty.

        Parameters
        ----------
        places : array of int of shape (groups,)
            Distinct positions.
        n_groups : int
            How many groups there will be.

        Returns
        -------
        summary
            It merges with others of as many groups.
        """
        changed: dict[str, Any] = {}
        for field in fields(self):
            value = getattr(self, field.name)
            if isinstance(value, np.ndarray):
                wide = np.full((n_groups, *value.shape[1:]), self._empty.get(field.name, 0.0))
                wide[places] = value
                changed[field.name] = wide
        return replace(self, **changed)


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

    total: Annotated[F64, "K D", ">= 0"]

    _events = "total"

    @classmethod
    def of(cls, rows: GroupedRows) -> Self:
        """Summarise checked rows in one pass."""
        return cls(rows.family, rows.weight, rows.sum(rows.values))

    def _pool(self, other: Self) -> tuple[F64, ...]:
        return (self.total + other.total,)


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

    counts: Annotated[F64, "K S", ">= 0"]

    @classmethod
    def of(cls, rows: GroupedRows) -> Self:
        """Count checked rows in one pass, whatever the number of groups and categories."""
        places, codes, weight = rows.entries()
        shape = (*rows.lead, *rows.batch, int(codes.max(initial=0)) + 1)
        cells = places * shape[-1] + codes.astype(np.intp)
        flat: F64 = np.bincount(cells, weight, int(np.prod(shape))).astype(float)
        return cls(rows.family, rows.weight, flat.reshape(shape))

    def padded(self, n_categories: int) -> F64:
        """Return the counts of so many categories, with zeros for those never seen."""
        spare = n_categories - self.counts.shape[-1]
        return np.pad(self.counts, [(0, 0)] * self.weight.ndim + [(0, spare)])

    def _pool(self, other: Self) -> tuple[F64, ...]:
        size = max(self.counts.shape[-1], other.counts.shape[-1])
        return (self.padded(size) + other.padded(size),)


@final
@dataclass(frozen=True, slots=True, eq=False)
class MomentSummary(AbstractSummary):
    r"""Hold weights, means and centred scatter, :math:`\sum_i w_i (x_i - m)^2`.

    Made by ``summarise`` of Gaussian and DiagonalGaussian, and by that of MultivariateGaussian
    with matrices of scatter, :math:`\sum_i w_i (x_i - m)(x_i - m)^T`.

    Attributes
    ----------
    family : str
        Name of the family that made it.
    weight : ndarray of shape (groups, batch)
        Total weight of the rows that were observed, in each column.
    mean : ndarray of shape (groups, batch[, D])
        Weighted mean m, rounded; 0 where nothing was observed.
    rest : ndarray of shape (groups, batch[, D])
        What rounding took from the mean; m is the sum of both.
    scatter : ndarray of shape (groups, batch[, D, D])
        Weighted sum of squared deviations from m, or of their products; symmetric.

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
    >>> from credo.families import Gaussian, MultivariateGaussian
    >>> both = Gaussian.summarise([1.0, 3.0]).merge(Gaussian.summarise([7.0, 9.0]))
    >>> float(both.mean), float(both.scatter)
    (5.0, 40.0)
    >>> one = MultivariateGaussian.summarise([[1.0, 0.0], [3.0, 2.0]])
    >>> one.merge(MultivariateGaussian.summarise([[8.0, 4.0]])).scatter
    array([[26., 14.],
           [14.,  8.]])
    """

    mean: Annotated[F64, "K D"]
    rest: Annotated[F64, "K D"]
    scatter: Annotated[F64, ("K D", "K D D")]

    _events = "mean"

    @classmethod
    def of(cls, rows: GroupedRows) -> Self:
        """Summarise checked rows by ``ClassMoments``: groups are classes, columns are features.

        Of vectors, each entry of the batch is a class of its own.
        """
        values, codes, weights = rows.values, rows.groups, rows.row_weight
        size, shape = math.prod(rows.batch), rows.lead + values.shape[1:]
        if values.ndim == 1 + len(rows.batch):
            flat = values.reshape(len(values), size)
            found = ClassMoments.of(flat, codes, weights, rows.n_groups, "diagonal")
            weight = found.feature_weights
        else:
            codes = (codes[:, None] * size + np.arange(size)).ravel()
            flat, weights = values.reshape(len(codes), values.shape[-1]), np.repeat(weights, size)
            found = ClassMoments.of(flat, codes, weights, rows.n_groups * size, "full")
            weight = found.weights
        weight = weight.reshape(rows.lead + rows.batch).copy()
        return cls(rows.family, weight, *_shaped(found, shape))

    def _pool(self, other: Self) -> tuple[F64, ...]:
        return _shaped(self._moments().merge(other._moments()), self.mean.shape)

    def _check(self) -> None:
        """Refuse numbers from a file that are no scatter."""
        matrices = self.scatter.ndim > self.mean.ndim
        squares = np.einsum("...ii->...i", self.scatter) if matrices else self.scatter
        if (squares < 0).any() or (matrices and not np.allclose(self.scatter, self.scatter.mT)):
            raise InputError("The scatter of the summary is not that of any rows.")

    def _moments(self) -> ClassMoments:
        """Return the moments as those of one class for each weight."""
        n, matrices = self.weight.size, self.scatter.ndim > self.mean.ndim
        shape = (n, self.mean.shape[-1] if matrices else 1)
        scatter = self.scatter.reshape(shape + shape[1:] * matrices)
        means, rests = self.mean.reshape(shape), self.rest.reshape(shape)
        counts = np.zeros(n, np.intp)  # unknown, and not asked for
        detail: Detail = "full" if matrices else "diagonal"
        return ClassMoments(counts, self.weight.ravel(), means, detail, scatter, None, rests)


def _shaped(found: ClassMoments, shape: tuple[int, ...]) -> tuple[F64, F64, F64]:
    """Return means of this shape, their rests, and the scatter."""
    rests: Any = found.rests
    scatter = found.scatter.reshape(shape + found.scatter.shape[2:])
    return found.means.reshape(shape), rests.reshape(shape), scatter


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

    mean: Annotated[F64, ("K D", "K D 2")]
    rest: Annotated[F64, ("K D", "K D 2")]
    divergence: Annotated[F64, ("K D", "K D 2")]

    _events = "mean"
    _empty: ClassVar[dict[str, float]] = {"mean": 1.0}

    @classmethod
    def of(cls, rows: GroupedRows) -> Self:
        """Summarise positive values of checked rows, one or several per observation."""
        x, weight, near = rows.values, rows.weight, rows.sum(rows.values)
        wide = _wide(weight, near)
        safe = np.where(wide > 0, wide, 1.0)
        near = near / safe
        # The second sum corrects the first: the mean of equal numbers is that number.
        mean, rest = two_sum(near, rows.sum(x - rows.per_row(near)) / safe)
        mean = np.where(wide > 0, mean, 1.0)
        terms = excess(x, rows.per_row(mean), rows.per_row(rest))
        return cls(rows.family, weight, mean, rest, rows.sum(terms))

    def _pool(self, other: Self) -> tuple[F64, ...]:
        mine, theirs = _wide(self.weight, self.mean), _wide(other.weight, other.mean)
        means, rests = (self.mean, other.mean), (self.rest, other.rest)
        mean, rest, _ = pool_means(means, rests, (mine, theirs))
        divergence = self.divergence + other.divergence
        divergence = divergence + mine * excess(self.mean, mean, rest - self.rest)
        divergence = divergence + theirs * excess(other.mean, mean, rest - other.rest)
        return mean, rest, divergence


def _wide(weight: F64, values: F64) -> F64:
    """Return weights with the axes of values."""
    return weight.reshape(weight.shape + (1,) * (values.ndim - weight.ndim))


@final
@dataclass(frozen=True, slots=True, eq=False)
class SketchSummary(AbstractSummary):
    r"""Hold the weight of each distinct value, or of neighbouring values if there are too many.

    Made by ``summarise`` of Laplace, whose estimate needs a median.

    Attributes
    ----------
    family : str
        Name of the family that made it.
    weight : ndarray of shape (groups, batch)
        Total weight of the rows that were observed, in each column.
    points : ndarray of shape (groups, batch, M)
        Distinct values in ascending order, NaN at the end where a column has fewer than M.
    point_weights : ndarray of shape (groups, batch, M)
        Their weights, 0 at the end.
    rank_error : ndarray of shape (groups, batch)
        How far, in weight, the rank of any number among the points may be from its rank among the
        rows; 0 while the points are the values.

    Notes
    -----
    Exact while a column has at most 4096 distinct values. With more, neighbours are replaced by
    their weighted mean, in cells of about 1/1024 of the weight and never across the median: the
    median and the mean deviation from it stay exact for one batch of any size. Merging such
    batches is approximate. Each time that points are thinned, ``rank_error`` grows by the weight
    of the heaviest cell, less than 1/512 of the weight so far. For batches merged pairwise, d deep,
    it is at most (d + 1)/512 of the whole; for k equal batches one after the other, (k + 3)/1024.
    The rank of the median is off by no more than this and the weight of one point. These are
    bounds: errors have either sign, and are far smaller as a rule.

    Examples
    --------
    >>> from credo.families import Laplace
    >>> Laplace.summarise([3.0, 1.0, 3.0]).merge(Laplace.summarise([2.0])).points
    array([1., 2., 3.])
    """

    points: Annotated[F64, "K D M", "any"]
    point_weights: Annotated[F64, "K D M", ">= 0"]
    rank_error: Annotated[F64, "K D", ">= 0"]

    _empty: ClassVar[dict[str, float]] = {"points": np.nan}

    @classmethod
    def of(cls, rows: GroupedRows) -> Self:
        """Summarise checked rows by sorting them."""
        exact = np.zeros(rows.lead + rows.batch)
        return cls(rows.family, rows.weight, *_sketch(*rows.entries(), exact))

    def _pool(self, other: Self) -> tuple[F64, ...]:
        pairs = zip(self._entries(), other._entries(), strict=True)
        place, values, weights = (np.concatenate(pair) for pair in pairs)
        return _sketch(place, values, weights, self.rank_error + other.rank_error)

    def _check(self) -> None:
        """Refuse points from a file that are no numbers, not in order, or of another weight."""
        seen = self.point_weights > 0
        points = np.where(seen, self.points, np.inf)
        fits = np.isfinite(self.points[seen]).all() and (points[..., 1:] >= points[..., :-1]).all()
        if not fits or not np.allclose(self.point_weights.sum(axis=-1), self.weight):
            raise InputError("The points of the summary are not those of any rows.")

    def _entries(self) -> tuple[Int, F64, F64]:
        """List the points of all columns: place among groups and columns, value, weight."""
        seen = self.point_weights > 0
        places = np.arange(self.weight.size, dtype=np.intp).reshape(self.weight.shape)
        places = np.broadcast_to(places[..., None], seen.shape)
        return places[seen], self.points[seen], self.point_weights[seen]

    def median(self) -> F64:
        """Return the weighted median of each column, the middle of the two if there are two."""
        points = np.where(self.point_weights > 0, self.points, 0.0)
        middle = np.stack(median_positions(self.point_weights), axis=-1)
        return np.take_along_axis(points, middle, axis=-1).mean(axis=-1)

    def mean_deviation(self, centre: F64) -> F64:
        """Return the weighted mean of the distances from a centre."""
        seen = self.point_weights > 0
        far = np.where(seen, np.abs(self.points - centre[..., None]), 0.0)
        return (far * self.point_weights).sum(axis=-1) / self.weight


def median_positions(weights: F64) -> tuple[Int, Int]:
    """Find the point, or the two points, in the middle of sorted weights on the last axis.

    Half of the weight may be met only up to the rounding of the sums.
    """
    ranks = np.cumsum(weights, axis=-1)
    half = 0.5 * ranks[..., -1:]
    slack = ranks.shape[-1] * _EPS * half
    first = np.argmax(ranks >= half - slack, axis=-1)
    met = np.take_along_axis(ranks, first[..., None], axis=-1) <= half + slack
    return first, np.minimum(first + met[..., 0], ranks.shape[-1] - 1)


def _sketch(place: Int, values: F64, weights: F64, error: F64) -> tuple[F64, F64, F64]:
    """Sort listed points, join equal ones, thin columns with too many, and make a table of them."""
    ends = np.cumsum(np.bincount(place, minlength=error.size))
    kept, growth = [], np.zeros(error.size)
    for column, points in enumerate(np.split(np.argsort(place, kind="stable"), ends)[:-1]):
        x, which = np.unique(values[points], return_inverse=True)
        w: F64 = np.bincount(which, weights[points], len(x)).astype(np.float64)
        if len(x) > MOST_POINTS:
            x, w, growth[column] = _thinned(x, w)
        kept.append((x, w))
    shape = (*error.shape, max((len(x) for x, _ in kept), default=1))
    table = np.full((2, error.size, shape[-1]), [[[np.nan]], [[0.0]]])
    for column, pair in enumerate(kept):
        table[:, column, : len(pair[0])] = pair
    return table[0].reshape(shape), table[1].reshape(shape), error + growth.reshape(error.shape)


def _thinned(values: F64, weights: F64) -> tuple[F64, F64, float]:
    """Replace neighbours by their mean, cell by cell of rank; return the heaviest cell, too."""
    total = weights.sum()
    cell = np.floor((np.cumsum(weights) - weights) * (_CELLS / total))
    alone = weights >= total / _CELLS
    alone[list(median_positions(weights))] = True
    changes = (cell[1:] != cell[:-1]) | alone[1:] | alone[:-1]
    starts = np.flatnonzero(np.r_[True, changes])
    sums = np.add.reduceat(weights, starts)
    lengths = np.diff(starts, append=len(values))
    gaps = values - np.repeat(values[starts], lengths)
    means = values[starts] + np.add.reduceat(gaps * weights, starts) / sums
    return means, sums, float(sums[lengths > 1].max())
