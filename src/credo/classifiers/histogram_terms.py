"""Numbers in cells, a term of naive Bayes; and the choice between cells and a Gaussian."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Self, final

import numpy as np

from credo import families
from credo._types import F64, Int
from credo.classifiers.naive_terms import (
    FINITE,
    ColumnNames,
    ColumnPart,
    GaussianTerm,
    Known,
    Term,
    check_size,
    estimate_smoothed,
)
from credo.columns import Table
from credo.exceptions import InputError
from credo.families.family import MOST
from credo.families.histogram import NumberSummary, PointSummary, within_memory
from credo.families.moments import ClassMoments, Rows, rounding_variance
from credo.families.summaries import CountSummary

#: Cells of equal frequency if their number is not given, and the weight above which they are cut
#: by minimum description length instead. Measured on 16 tables and on KDD-99.
_CELLS, _MANY = 10, 1e4


@final
@dataclass(frozen=True, eq=False)
class HistogramTerm(Term):
    """Looks up the logarithm of the probability of the cell that a number is in.

    All classes have the same cells, so that widths and tails cancel in posteriors.
    """

    #: The value of a column that has one only, NaN if it has none; None if it varies.
    only: float | None = field(kw_only=True)

    @classmethod
    def summarise(cls, rows: Rows, part: ColumnPart, names: ColumnNames) -> PointSummary:
        """Count the values of a column."""
        (found,) = _points(rows, part, names)
        if not np.isfinite(found.points).all():
            x = rows.X.floats(part.columns, slice(None))
            names.refuse(FINITE, x, part, range(len(x)))
        return found

    @classmethod
    def estimate(
        cls, part: ColumnPart, summary: PointSummary, how: Any, names: ColumnNames
    ) -> Self:
        """Cut the column, and estimate the probabilities of cells as those of categories are."""
        points, total = summary.points, summary.weights.sum(axis=0)
        only = None if len(points) > 1 else float(points.sum()) if len(points) else np.nan
        cuts = _cuts(summary, how.cells)
        shares, amount = _smoothed(_count_cells(summary, cuts), part, how, names)
        edges = _edges(points, total, cuts)
        family = families.Histogram(edges, shares[:, None], tails=True)
        return cls(part, family, names, smoothing=amount, only=only)

    @classmethod
    def known(cls, part: ColumnPart, given: Known, how: Any, names: ColumnNames) -> Self:  # noqa: ARG003
        """Take cells that were given: the same for all classes, with tails or without."""
        own = given.family(part)
        if (own.edges != own.edges[:1]).any() or (own.tails != own.tails[:1]).any():
            raise InputError("Histograms of one column must have the same edges and tails.")
        return cls(part, own, names, only=None)

    @cached_property
    def _table(self) -> F64:
        """Return log p of each cell and 0 of what is missing: (K, C + 1)."""
        logs = self.family.natural_parameters[:, 0]
        return np.concatenate([logs, np.zeros((len(logs), 1))], axis=1)

    @cached_property
    def _cuts(self) -> F64:
        """Return the inner edges."""
        return np.ascontiguousarray(self.family.edges[0, 0, 1:-1])

    @cached_property
    def _shared(self) -> families.Histogram:
        """Return the distribution of the first class; its base is that of all classes."""
        first = self.family.edges[0, 0], self.family.probabilities[0, 0]
        return families.Histogram(*first, tails=self.family.tails[0, 0])

    def _cells(self, rows: Table, block: slice) -> tuple[F64, Int]:
        """Return the numbers of a block, (B, 1), and their cells; one more is for a missing one."""
        x = self._block(rows, block)
        if np.isinf(x).any():
            self.names.refuse(FINITE, x, self.part, range(block.start, block.stop))
        cells = np.searchsorted(self._cuts, x[:, 0], side="right")
        cells[np.isnan(x[:, 0])] = len(self._cuts) + 1
        return x, cells

    def score(self, ready: Table, block: slice, *, whole: bool) -> F64:
        """Look the cells up; see ``Term.score``."""
        x, cells = self._cells(ready, block)
        scores = np.take(self._table, cells, axis=1)
        if whole:
            scores += self._shared.log_base(x[:, 0])
        return scores

    def moments(self, k: int) -> tuple[Any, Any]:
        """Return mean and variance; see ``Term.moments``."""
        return super().moments(k) if self.only is None else (self.only, 0.0)

    def sample(self, codes: Int, total: int, rng: np.random.Generator) -> list[Any]:
        """Draw numbers; the one value of a column that has no other."""
        if self.only is not None:
            return [np.full(len(codes), self.only)]
        drawn: list[Any] = super().sample(codes, total, rng)
        return drawn

    def statistics(self, rows: Table, block: slice) -> F64:
        """Return which cell it is, as zeros and a one; NaN where it is missing."""
        table = np.eye(len(self._cuts) + 2, len(self._cuts) + 1)
        table[-1] = np.nan
        return table[self._cells(rows, block)[1]]

    def statistic_names(self) -> list[str]:
        """Name the cells."""
        name = self.names.name_of(self.part.columns[0])
        cuts = [f"{cut:.6g}" for cut in self._cuts.tolist()]
        pairs = zip(
            ["", *(f"{cut} ≤ " for cut in cuts)], [*(f" < {c}" for c in cuts), ""], strict=True
        )
        return [f"[{left}{name}{right}]" for left, right in pairs]


def _points(rows: Rows, part: ColumnPart, names: ColumnNames) -> Iterator[PointSummary]:
    """Yield the points of each column."""
    check_size(rows.n_classes, len(part.columns), names.owner)
    codes = rows.codes.astype(np.int16) if rows.n_classes < 2**15 else rows.codes  # by radix
    by_class = np.argsort(codes, kind="stable")
    ends = np.cumsum(np.bincount(codes, minlength=rows.n_classes))
    for column in part.columns:
        x = rows.X.floats([column], slice(None))[:, 0]
        yield PointSummary.of(x, rows.weights, by_class, ends)


def _cuts(summary: PointSummary, cells: Any) -> F64:
    """Cut a column as the classifier was told to."""
    if cells == "auto":
        cells = "mdl" if summary.weights.sum() > _MANY else _CELLS
    return summary.cuts(cells) if len(summary.points) else np.empty(0)


def _count_cells(summary: PointSummary, cuts: F64) -> F64:
    """Return the weight of each class in each cell, (K, C)."""
    if not len(summary.points):
        return np.zeros((len(summary.weights), 1))
    starts = np.append(0, np.searchsorted(summary.points, cuts))
    counts: F64 = np.add.reduceat(summary.weights, starts, axis=1)
    return counts


def _smoothed(counts: F64, part: ColumnPart, how: Any, names: ColumnNames) -> tuple[F64, Any]:
    """Return the probabilities of cells, smoothed as those of categories, and by how much."""
    column = ColumnPart("categorical", part.columns)
    found = CountSummary("Categorical", counts.sum(axis=1), counts)
    values = tuple(range(counts.shape[1]))
    family, amount = estimate_smoothed(
        column, found, how, names, values, n_categories=counts.shape[1]
    )
    return family.mean, amount


def _edges(points: F64, weights: F64, cuts: F64) -> F64:
    """Return the cuts, and ends for tails of the mean distance that points have from the cut.

    Without a cut both tails fall from the mean. A column of one value has the density 1 there.
    """
    if len(points) < 2:
        centre = points.sum()
        return np.array([centre - 0.5, centre + 0.5])
    if not len(cuts):
        centre = np.average(points, weights=weights)
        scale = np.average(np.abs(points - centre), weights=weights)
        return np.array([centre - scale, centre + scale])
    low, high = points < cuts[0], points >= cuts[-1]
    below = cuts[0] - np.average(points[low], weights=weights[low])
    above = np.average(points[high], weights=weights[high]) - cuts[-1]
    least = np.spacing(np.abs(cuts))  # should a value be the cut
    return np.array([cuts[0] - max(below, least[0]), *cuts, cuts[-1] + max(above, least[-1])])


# --- Gaussian or cells ----------------------------------------------------------------------------


@final
class NumberTerms:
    """Columns of numbers whose family the values decide: Gaussian unless cells predict better."""

    @classmethod
    def summarise(cls, rows: Rows, part: ColumnPart, names: ColumnNames) -> NumberSummary:
        """Return moments and points."""
        moments = GaussianTerm.summarise(rows, part, names)
        return NumberSummary(moments, within_memory(_points(rows, part, names)))

    @classmethod
    def estimate(
        cls, part: ColumnPart, summary: NumberSummary, how: Any, names: ColumnNames
    ) -> tuple[Term, ...]:
        """Estimate one Gaussian term, and a term of cells for each column that it does not fit."""
        gaussian = ColumnPart("gaussian", part.columns)
        whole = GaussianTerm.estimate(gaussian, summary.moments, how, names)
        found = enumerate(summary.points)
        cells = [j for j, each in found if _refuted(whole, summary.moments, j, each, how)]
        if not cells:
            return (whole,)
        kept = [j for j in range(len(part.columns)) if j not in cells]
        terms: list[Term] = []
        if kept:
            gaussian = ColumnPart("gaussian", tuple(part.columns[j] for j in kept))
            moments = summary.moments.columns(kept)
            terms.append(GaussianTerm.estimate(gaussian, moments, how, names))
        for j in cells:
            column = ColumnPart("histogram", (part.columns[j],))
            terms.append(HistogramTerm.estimate(column, summary.points[j], how, names))
        return tuple(terms)


def _refuted(
    term: GaussianTerm, moments: ClassMoments, column: int, summary: PointSummary, how: Any
) -> bool:
    r"""Tell whether cells predict the class from one column better than the Gaussian does.

    By the mean of :math:`-\log p(y_i \mid x_i)`, each row left out of the estimates in turn, but
    not of the cuts. A row weighs one, or the mean weight of its class if that is less. Cells are
    not taken if they have as many probabilities as there are rows.
    """
    points, weights = summary.points, summary.weights
    if len(points) < 2 or not term.model.active[column]:
        return False
    own = np.minimum(1.0, moments.weights / np.maximum(moments.counts, 1))[:, None]
    counted = weights * (weights.sum(axis=1, keepdims=True) > own * (1 + 1e-9))
    cuts = _cuts(summary, how.cells)
    if weights.sum() <= len(weights) * (len(cuts) + 1):
        return False
    cells = np.searchsorted(cuts, points, side="right")
    with np.errstate(all="ignore"):
        gaussian = _gaussian_losses(term, moments, column, points, own, how)
        counts = _count_cells(summary, cuts)
        column_part = ColumnPart("histogram", (term.part.columns[column],))
        shares, amount = _smoothed(counts, column_part, how, term.names)
        histogram = _cell_losses(counts, own, shares, amount)[:, cells]
        gains = np.minimum(gaussian, MOST) - np.minimum(histogram, MOST)
    gains = np.where(counted > 0, gains, 0.0)
    return bool((counted * gains).sum() > 0)


def _gaussian_losses(
    term: GaussianTerm, moments: ClassMoments, column: int, x: F64, own: F64, how: Any
) -> F64:
    """Return minus log p(k | x) of points as rows of class k that are left out, (K, P).

    What a variance was raised by stays; one that is zero without the row is repaired as in a fit.
    """
    mean, variance = term.family.mean[:, [column]], term.family.variance[:, [column]]
    n, scatter = moments.feature_weights[:, [column]], moments.diagonals()[:, [column]]
    rest, total, pooled = n - own, n.sum(), scatter.sum()
    overall = (pooled + (n * (mean - moments.grand_mean()[column]) ** 2).sum()) / total
    lost = own * (x - mean) ** 2 * (n / rest)
    left = np.maximum(scatter - lost, 0.0) / rest
    spare = np.maximum(pooled - lost, 0.0) / (total - own)
    spare = np.where(spare > 0, spare, overall) / (rest + 1.0)
    flat = left <= rounding_variance(mean)
    without = np.where(flat, spare, left + np.maximum(variance - scatter / n, 0.0))
    without = np.maximum(without, how.variance_floor * overall)
    centre = mean - own * (x - mean) / rest
    joint = np.log(n) - 0.5 * ((x - mean) ** 2 / variance + np.log(variance))
    return _losses(joint, np.log(rest) - 0.5 * ((x - centre) ** 2 / without + np.log(without)))


def _cell_losses(counts: F64, own: F64, shares: F64, amount: Any) -> F64:
    """Return minus log p(k | c) of cells, for rows of class k that are left out, (K, C).

    What they are smoothed towards stays.
    """
    n = counts.sum(axis=1, keepdims=True)
    extra = counts.shape[1] * float(np.ravel(amount)[0])
    given = np.maximum(shares * (n + extra) - counts, 0.0)
    without = (np.maximum(counts - own, 0.0) + given) / (n - own + extra)
    return _losses(np.log(n) + np.log(shares), np.log(n - own) + np.log(without))


def _losses(joint: F64, own: F64) -> F64:
    """Return minus the log posterior of each class k with ``own[k]`` in place of ``joint[k]``."""
    none = np.full((1, joint.shape[1]), -np.inf)
    before = np.logaddexp.accumulate(np.concatenate([none, joint[:-1]]), axis=0)
    after = np.logaddexp.accumulate(np.concatenate([none, joint[:0:-1]]), axis=0)[::-1]
    return np.logaddexp(np.logaddexp(before, after), own) - own
