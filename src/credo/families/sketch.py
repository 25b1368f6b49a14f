"""A bounded sample of points for medians: exact while everything fits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Self, final

import numpy as np

from credo._types import F64, Bool, Int
from credo.families._rows import Rows
from credo.families._summary import AbstractSummary

#: Points kept per column: 64 kB with their weights.
MOST_POINTS = 4096
#: Ranks are cut into this many equal cells. A point of at least a cell's weight stays alone, which
#: adds two cuts, and there are at most as many such points as cells; the same for the two points of
#: the median. That leaves at most 3 x 1024 + 4 points of more than 4096.
_CELLS = MOST_POINTS // 4
_EPS = float(np.finfo(np.float64).eps)


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

    points: F64
    point_weights: F64
    rank_error: F64

    _empty: ClassVar[dict[str, float]] = {"points": np.nan}

    @classmethod
    def of(cls, rows: Rows) -> Self:
        """Summarise checked rows by sorting them."""
        shape = rows.lead + rows.batch
        columns = np.arange(int(np.prod(rows.batch)), dtype=np.intp).reshape(rows.batch)
        step = np.zeros(len(rows.values), np.intp) if rows.groups is None else rows.groups
        tall = (-1, *(1,) * len(rows.batch))
        place = columns + (step * columns.size).reshape(tall)
        weight = np.broadcast_to(rows.row_weight.reshape(tall), rows.values.shape)
        seen = np.ones(rows.values.shape, bool) if rows.observed is None else rows.observed
        flat = place[seen], rows.values[seen], weight[seen]
        return cls(rows.family, rows.weight, *_sketch(*flat, np.zeros(shape)))

    def merge(self, other: Self) -> Self:
        """Join the points and thin them if they are too many; see ``AbstractSummary.merge``."""
        self._check_mergeable(other)
        mine, theirs = _flat(self), _flat(other)
        place = np.concatenate([mine[0], theirs[0]])
        values = np.concatenate([mine[1], theirs[1]])
        weights = np.concatenate([mine[2], theirs[2]])
        joined = _sketch(place, values, weights, self.rank_error + other.rank_error)
        return type(self)(self.family, self.weight + other.weight, *joined)

    def median(self) -> F64:
        """Give the weighted median of each column, the middle of the two if there are two."""
        seen = self.point_weights > 0
        first, second = median_positions(self.point_weights)
        points = np.where(seen, self.points, 0.0)
        low = np.take_along_axis(points, first[..., None], axis=-1)[..., 0]
        high = np.take_along_axis(points, second[..., None], axis=-1)[..., 0]
        return 0.5 * (low + high)

    def mean_deviation(self, centre: F64) -> F64:
        """Give the weighted mean of the distances from a centre."""
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


def _flat(summary: SketchSummary) -> tuple[Int, F64, F64]:
    """List the points of all columns: column, value, weight."""
    seen = summary.point_weights > 0
    columns = np.arange(summary.weight.size, dtype=np.intp).reshape(summary.weight.shape)
    place = np.broadcast_to(columns[..., None], seen.shape)
    return place[seen], summary.points[seen], summary.point_weights[seen]


def _sketch(place: Int, values: F64, weights: F64, error: F64) -> tuple[F64, F64, F64]:
    """Sort listed points, join equal ones, thin columns with too many, and make a table of them."""
    order = np.lexsort((values, place))
    place, values, weights = place[order], values[order], weights[order]
    starts = _starts((place[1:] != place[:-1]) | (values[1:] != values[:-1]), len(place))
    weights = np.add.reduceat(weights, starts) if starts.size else weights
    place, values = place[starts], values[starts]
    columns = np.split(np.arange(len(place)), np.cumsum(np.bincount(place, minlength=error.size)))
    kept = []
    growth = np.zeros(error.size)
    for column, points in enumerate(columns[:-1]):
        x, w = values[points], weights[points]
        if len(points) > MOST_POINTS:
            x, w, growth[column] = _thinned(x, w)
        kept.append((x, w))
    width = max((len(pair[0]) for pair in kept), default=0)
    table = np.full((2, error.size, width), [[[np.nan]], [[0.0]]])
    for column, pair in enumerate(kept):
        table[:, column, : len(pair[0])] = pair
    shape = (*error.shape, width)
    return table[0].reshape(shape), table[1].reshape(shape), error + growth.reshape(error.shape)


def _starts(changes: Bool, n: int) -> Int:
    """Give where runs start, from the changes between neighbours among n entries."""
    first = np.zeros(min(n, 1), np.intp)
    return np.concatenate([first, np.flatnonzero(changes) + 1])


def _thinned(values: F64, weights: F64) -> tuple[F64, F64, float]:
    """Replace neighbours by their mean, cell by cell of rank; give the heaviest cell, too."""
    total = weights.sum()
    cell = np.floor((np.cumsum(weights) - weights) * (_CELLS / total))
    alone = weights >= total / _CELLS
    alone[list(median_positions(weights))] = True
    starts = _starts((cell[1:] != cell[:-1]) | alone[1:] | alone[:-1], len(values))
    sums = np.add.reduceat(weights, starts)
    lengths = np.diff(starts, append=len(values))
    gaps = values - np.repeat(values[starts], lengths)
    means = values[starts] + np.add.reduceat(gaps * weights, starts) / sums
    return means, sums, float(sums[lengths > 1].max())
