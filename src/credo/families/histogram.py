"""``Histogram``: cells of a number, how they are cut, and the points that they are learned from."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, Self, final

import numpy as np
import scipy

from credo import _checks as check
from credo._types import F64, Bool, Int
from credo.exceptions import InputError, ShapeError
from credo.families.discrete import as_levels, cumulated, distributions, looked_up, reaching
from credo.families.family import ROUNDING, ContinuousOnALine, Support, refuse_constant, within
from credo.families.likelihood import log_of
from credo.families.moments import ClassMoments
from credo.families.summaries import MOST_POINTS, SketchSummary

#: The largest edge: its square is a number.
_FARTHEST = 1e154
#: Weights of points in all columns together, 256 MiB; above it they are not kept.
_MOST_WEIGHTS = 2**25
#: Bits of a float64 without its sign, and the largest number as an integer.
_MOST_BITS = 63
_GREATEST = int(np.array(np.finfo(np.float64).max).view(np.int64))


@final
@dataclass(frozen=True, slots=True, eq=False, init=False)
class Histogram(ContinuousOnALine[SketchSummary]):
    r"""Describe a number by the probabilities of cells, and a constant density in each of them.

    .. math:: \log p(x) = \log p_c - \log(e_{c+1} - e_c), \qquad e_c \le x < e_{c+1}

    Parameters
    ----------
    edges : array-like of shape (batch, C + 1)
        Edges e of the cells in ascending order. A cell of width zero is empty; the last must not
        be. The last edge belongs to the last cell.
    probabilities : array-like of shape (batch, C)
        Probability of each cell; they sum to one on the last axis.
    tails : bool or array-like
        False: the density is zero beyond the edges. True: in the two end cells it falls
        exponentially from the inner edge on, with their width for its scale, and never ends; of a
        single cell it falls on either side of the middle, with half the width.

    Raises
    ------
    InputError
        If edges are not in order, or probabilities do not sum to one.
    ShapeError
        If there is not one edge more than there are cells.

    See Also
    --------
    credo.families.SketchSummary : What it learns from, and when that is exact.

    Notes
    -----
    Exact to rounding; a log density costs O(C). An exponential family for known edges, with one
    parameter more than is free: :math:`\eta_c = \log p_c`, :math:`T_c(x) = [x \in c]`, A = 0, and
    h is one over the width. The estimate has cells of about equal weight, cut halfway between
    neighbouring values, and ends at the least and the greatest value; for these edges the
    probabilities, shares of the weight, are those of maximum likelihood.

    References
    ----------
    .. [1] C. M. Bishop, *Pattern Recognition and Machine Learning*, 2006, section 2.5.

    Examples
    --------
    >>> from credo.families import Histogram
    >>> fitted = Histogram.fit([0, 0, 0, 0, 1, 2, 4, 9], cells=2)
    >>> fitted.edges, fitted.probabilities
    (array([0. , 0.5, 9. ]), array([0.5, 0.5]))
    >>> fitted.log_density([0.2, 5.0, 12.0]).round(3)
    array([ 0.   , -2.833,   -inf])
    """

    edges: F64
    probabilities: F64
    tails: F64

    _support = Support(lambda x: ~np.isnan(x), "numbers", np.nan)
    _summary = SketchSummary

    def __init__(self, edges: Any, probabilities: Any, tails: Any = 0) -> None:
        limits = within(edges, "edges of Histogram", -_FARTHEST, _FARTHEST)
        shares = distributions(probabilities, "Histogram")
        fade = within(tails, "tails of Histogram", 0, 1)
        if limits.ndim < 1 or limits.shape[-1] != shares.shape[-1] + 1:
            raise ShapeError(
                "Histogram needs one edge more than probabilities on the last axis. Got shapes "
                f"{limits.shape} and {shares.shape}."
            )
        widths = np.diff(limits)
        if (widths < 0).any() or (widths[..., -1] <= 0).any() or (shares * (widths <= 0)).any():
            raise InputError(
                "The edges of Histogram must ascend; only cells of probability zero may be empty, "
                f"and not the last. Got {limits.tolist()}."
            )
        batch = np.broadcast_shapes(limits.shape[:-1], shares.shape[:-1], fade.shape)
        for name, array in {"edges": limits, "probabilities": shares}.items():
            wide = np.broadcast_to(array, (*batch, array.shape[-1])).copy()
            object.__setattr__(self, name, check.frozen(wide))
        object.__setattr__(self, "tails", check.frozen(np.broadcast_to(fade, batch).copy()))

    # --- cells --------------------------------------------------------------------------------

    def _ends(self) -> tuple[Bool, Bool]:
        """Tell which cell is the first that is not empty, and which is the last, if they fade."""
        places, fade = np.arange(self.probabilities.shape[-1]), self.tails[..., None] > 0
        first = (np.diff(self.edges) > 0).argmax(axis=-1)[..., None]
        return (places == first) & fade, (places == places[-1]) & fade

    def _cells(self, values: F64) -> Int:
        """Find the cell of each value, the nearest one if it is beyond the edges."""
        cells = (np.diff(self.edges) > 0).argmax(axis=-1) + np.zeros(values.shape, np.intp)
        for place in range(1, self.probabilities.shape[-1]):
            cells = np.maximum(cells, place * (values >= self.edges[..., place]))
        return np.asarray(cells)

    def _log_base(self, values: F64) -> F64:
        cells = self._cells(values)
        left, right = looked_up(self.edges, cells), looked_up(self.edges, cells + 1)
        first, last = (looked_up(each, cells) for each in self._ends())
        with np.errstate(over="ignore", invalid="ignore"):
            far = np.where(last, values - left, 0.0) + np.where(first, right - values, 0.0)
            far = np.where(first & last, np.abs(2 * values - left - right), far)
            inside = first | last | ((values >= left) & (values <= right))
            logs = np.where(inside, -np.log(right - left) - far / (right - left), -np.inf)
        return np.where(np.isnan(values), 0.0, logs)

    def _log_density(self, values: F64) -> F64:
        logs = looked_up(self.natural_parameters, self._cells(values))
        return logs + self._log_base(values)

    def _parts(self, x: Any) -> tuple[F64, F64]:
        """Return the probability below each value and above it."""
        values = self._as_values(x)
        cells = self._cells(values)
        left, right = looked_up(self.edges, cells), looked_up(self.edges, cells + 1)
        first, last = (looked_up(each, cells) for each in self._ends())
        with np.errstate(over="ignore", invalid="ignore"):
            past, ahead = (values - left) / (right - left), (right - values) / (right - left)
            low, high = np.exp(-ahead), np.exp(-past)  # tails
            half = 0.5 * np.exp(-np.abs(past - ahead))
        below = np.where(first, low, np.where(last, 1 - high, np.clip(past, 0, 1)))
        above = np.where(last, high, np.where(first, 1 - low, np.clip(ahead, 0, 1)))
        below = np.where(first & last, np.where(past < ahead, half, 1 - half), below)
        above = np.where(first & last, np.where(past > ahead, half, 1 - half), above)
        before, beyond = cumulated(self.probabilities)
        share = looked_up(self.probabilities, cells)
        return (
            looked_up(before, cells) + share * below,
            looked_up(beyond, cells + 1) + share * above,
        )

    def cdf(self, x: Any) -> F64:
        """Return the probability of at most ``x``."""
        return self._parts(x)[0]

    def sf(self, x: Any) -> F64:
        """Return the probability of more than ``x``, exact in the upper tail."""
        return self._parts(x)[1]

    def ppf(self, q: Any) -> F64:
        """Return the ``q``-quantile."""
        levels, (before, _) = as_levels(q, "Histogram"), cumulated(self.probabilities)
        cells = reaching(levels, before)
        left, right = looked_up(self.edges, cells), looked_up(self.edges, cells + 1)
        first, last = (looked_up(each, cells) for each in self._ends())
        share = looked_up(self.probabilities, cells)
        part = np.clip((levels - looked_up(before, cells)) / share, 0, 1)
        with np.errstate(divide="ignore"):
            rise, fall = np.log(part), -np.log1p(-part)
        either = 0.5 + 0.5 * np.where(part < 0.5, math.log(2) + rise, fall - math.log(2))
        place = np.where(last, np.where(first, either, fall), np.where(first, 1 + rise, part))
        return np.asarray(left + place * (right - left))

    @property
    def natural_parameters(self) -> F64:
        """Natural parameters log p, for known edges; minus infinity at p = 0."""
        return log_of(self.probabilities)

    @property
    def log_partition(self) -> F64:
        """Log partition 0: the natural parameters are normalised."""
        return np.zeros(self.tails.shape)

    def _statistics(self, values: F64) -> F64:
        return np.eye(self.probabilities.shape[-1])[self._cells(values)]

    def _middles(self) -> F64:
        """Return the mean of each cell."""
        (first, last), widths = self._ends(), np.diff(self.edges)
        return self.edges[..., :-1] + 0.5 * widths * (1.0 + last - first)

    @property
    def mean(self) -> F64:
        """Mean, of the means of the cells."""
        return np.asarray((self.probabilities * self._middles()).sum(axis=-1))

    @property
    def variance(self) -> F64:
        """Variance: within cells, a twelfth of the squared width or more in tails; and between."""
        first, last = self._ends()
        within_cells = np.where(first & last, 1 / 2, np.where(first | last, 1.0, 1 / 12))
        squares = within_cells * np.diff(self.edges) ** 2
        squares += (self._middles() - self.mean[..., None]) ** 2
        return np.asarray((self.probabilities * squares).sum(axis=-1))

    @property
    def n_parameters(self) -> int:
        """Number of free parameters for known edges: one less than cells, each."""
        return int((np.diff(self.edges) > 0).sum()) - self.tails.size

    def _draw(self, rng: np.random.Generator, shape: tuple[int, ...]) -> F64:
        ranks, places, side = rng.random((3, *shape))
        cells = np.zeros(shape, np.intp)
        shares = np.cumsum(self.probabilities, axis=-1)
        for place in range(shares.shape[-1] - 1):
            cells += ranks * shares[..., -1] >= shares[..., place]
        left, right = looked_up(self.edges, cells), looked_up(self.edges, cells + 1)
        first, last = (looked_up(each, cells) for each in self._ends())
        falling = -np.log1p(-places) * (right - left)
        draws = np.where(last, left + falling, left + places * (right - left))
        draws = np.where(first & ~last, right - falling, draws)
        either = 0.5 * (left + right + np.where(side < 0.5, -falling, falling))
        return np.where(first & last, either, draws)

    # --- learning -----------------------------------------------------------------------------

    @classmethod
    def estimate(cls, summary: SketchSummary, cells: int = 10) -> Self:
        """Return cells of about equal weight, and their shares of it.

        Parameters
        ----------
        summary
            Made by ``Histogram.summarise``, merged or not.
        cells : int
            How many, at most: equal values are in one cell. A column with fewer of them than
            another has empty ones in front.

        Returns
        -------
        Histogram
            Without tails.

        Raises
        ------
        InputError
            If a column has no weight, or all its values are equal.
        """
        cls._check_summary(summary)
        size = check.count(cells, "cells of Histogram.estimate")
        least, most = np.nanmin(summary.points, axis=-1), np.nanmax(summary.points, axis=-1)
        limit = ROUNDING * np.maximum(np.abs(least), np.abs(most))
        refuse_constant(summary, np.asarray(most - least <= limit), "cells would have no width")
        edges, shares = np.empty((*least.shape, size + 1)), np.zeros((*least.shape, size))
        for place in np.ndindex(least.shape):
            seen = summary.point_weights[place] > 0
            x, w = summary.points[place][seen], summary.point_weights[place][seen]
            after = equal_frequency(w, size)
            cuts = cuts_between(x[after], x[after + 1])
            edges[place] = least[place]
            edges[place][size - len(cuts) :] = [*cuts, most[place]]
            shares[place][size - len(cuts) - 1 :] = np.add.reduceat(w, [0, *(after + 1)])
        return cls(edges, shares / summary.weight[..., None])

    @classmethod
    def fit(cls, x: Any, weight: Any = None, cells: int = 10) -> Self:
        """Summarise rows and return cells of about equal weight.

        Parameters
        ----------
        x : array-like of shape (n, batch)
            Rows on the first axis; NaN is skipped.
        weight : array-like of shape (n,), optional
            Weights of rows.
        cells : int
            How many, at most.

        Returns
        -------
        Histogram
            The same as ``estimate(summarise(x, weight), cells)``.
        """
        return cls.estimate(cls.summarise(x, weight), cells)


# --- cuts -----------------------------------------------------------------------------------------


def equal_frequency(weights: F64, n: int) -> Int:
    """Cut points of these weights into at most ``n`` cells by their mid-ranks.

    Return the points behind which there is a cut. A point is never split, and one that has more
    weight than a cell does not draw the next one into its cell.
    """
    ranks = np.cumsum(weights) - 0.5 * weights
    return np.flatnonzero(np.diff(np.floor(n * ranks / weights.sum())))


def least_description(weights: F64) -> Int:
    r"""Cut points of these weights (K, P) where it tells the classes apart.

    The cut of least entropy is made, and either side cut again, as long as the gain pays for
    describing the cut (Fayyad and Irani 1993):
    :math:`n\,\text{gain} > \log_2(n - 1) + \log_2(3^k - 2) - (k E - k_1 E_1 - k_2 E_2)`.
    Return the points behind which there is a cut. Time O(K P) per cell.
    """
    found, pieces = list[int](), [(0, weights.shape[1])]
    while pieces:
        start, stop = pieces.pop()
        if stop - start < 2:
            continue
        left = np.cumsum(weights[:, start:stop], axis=1)
        total, left = left[:, -1], left[:, :-1]
        bits = _bits(left) + _bits(np.maximum(total[:, None] - left, 0.0))
        cut = start + int(bits.argmin()) + 1
        parts = weights[:, start:cut], weights[:, cut:stop]
        price = math.log2(max(float(total.sum()) - 1.0, 1.0))
        price += math.log2(3 ** int((total > 0).sum()) - 2)
        price += sum(_share(part.sum(axis=1)) for part in parts) - _share(total)
        if float(_bits(total) - bits.min()) > price:
            found.append(cut - 1)
            pieces += [(start, cut), (cut, stop)]
    return np.sort(np.array(found, dtype=np.intp))


def _bits(weights: F64) -> F64:
    """Return n times the entropy of classes of these weights (K, ...), in bits."""
    total, xlogy = weights.sum(axis=0), scipy.special.xlogy
    return np.asarray((xlogy(total, total) - xlogy(weights, weights).sum(axis=0)) / math.log(2))


def _share(weights: F64) -> float:
    """Return the number of classes that there are, times their entropy."""
    return float((weights > 0).sum() * _bits(weights) / weights.sum())


def cuts_between(lower: F64, upper: F64) -> F64:
    """Return cuts halfway between numbers, or at the upper ones where nothing is between."""
    middle = 0.5 * lower + 0.5 * upper
    return np.where(middle > lower, middle, upper)


# --- points ---------------------------------------------------------------------------------------


@final
@dataclass(frozen=True, slots=True, eq=False)
class PointSummary:
    """Hold the distinct values of a column, in order, with the weight of each class.

    Exact up to 4096 distinct values. With more, values that agree but for the last ``dropped`` bits
    of their float64 are one point, for the least number of bits that leaves 4096 points. As that
    depends on the values only, batches merge to the summary of all rows, exactly.
    """

    #: The middle of the numbers that a point stands for.
    points: Annotated[F64, "P"]
    weights: Annotated[F64, "K P", ">= 0"]
    dropped: int

    def __post_init__(self) -> None:
        check.frozen(self.points)
        check.frozen(self.weights)

    @classmethod
    def of(cls, x: F64, weights: F64 | None, by_class: Int, ends: Int) -> PointSummary:
        """Summarise a column; ``by_class`` are its rows by class, and ``ends`` ends the classes.

        Sorts each class once. How many bits are dropped is known from some rows, at least.
        """
        values, ends = x[by_class], ends.tolist()
        values += 0.0  # minus zero is zero
        some = np.sort(values[:: max(1, len(x) // (2 * MOST_POINTS))])
        least = _bits_to_drop(_keys(some[: int(np.searchsorted(some, np.nan))], 0))
        parts = []
        for k, (start, stop) in enumerate(zip([0, *ends[:-1]], ends, strict=True)):
            mine, found = values[start:stop], None
            if weights is None:
                mine.sort()
            else:
                order = np.argsort(mine)
                mine, found = mine[order], weights[by_class[start:stop]][order]
            n = int(np.searchsorted(mine, np.nan))
            starts = _starts(mine[:n].view(np.uint64), least)
            counts = np.diff(starts, append=n).astype(np.float64)
            if found is not None and n:
                counts = np.add.reduceat(found[:n], starts)
            parts.append((slice(k, k + 1), _keys(mine[starts], least), counts[None]))
        return _joined(parts, len(ends), least)

    def merge(self, other: Self) -> PointSummary:
        """Join two summaries of the same classes."""
        dropped = max(self.dropped, other.dropped)
        parts = [(slice(None), _keys(each.points, dropped), each.weights) for each in (self, other)]
        return _joined(parts, len(self.weights), dropped)

    def spread(self, places: Int, n_classes: int) -> PointSummary:
        """Put class i at ``places[i]`` among ``n_classes``; the others are empty."""
        weights = np.zeros((n_classes, len(self.points)))
        weights[places] = self.weights
        return replace(self, weights=weights)

    def _check(self) -> None:
        """Refuse points from a file that are not in order, or that no row has."""
        fits = 0 <= self.dropped < _MOST_BITS and (self.weights.sum(axis=0) > 0).all()
        keys = _keys(self.points, self.dropped) if fits else self.points
        if not fits or len(keys) > MOST_POINTS or not (np.diff(keys) > 0).all():
            raise InputError("The points of the summary are not those of any rows.")

    def cuts(self, cells: int | str) -> F64:
        """Cut the column into cells: so many of equal frequency, or by ``"mdl"``."""
        if cells == "mdl":
            after = least_description(self.weights)
        else:
            after = equal_frequency(self.weights.sum(axis=0), int(cells))
        lowest, highest = _span(_keys(self.points, self.dropped), self.dropped)
        return cuts_between(highest[after], lowest[after + 1])


def _keys(x: F64, dropped: int) -> Int:
    """Return numbers as integers in the same order, without some of their last bits."""
    sizes = np.abs(x).view(np.int64) >> dropped
    return np.where(x < 0, ~sizes, sizes)


def _span(keys: Int, dropped: int) -> tuple[F64, F64]:
    """Return the least and the greatest number of each key."""
    sizes = np.where(keys < 0, ~keys, keys)
    near = (sizes << dropped).view(np.float64)
    far = np.minimum(((sizes + 1) << dropped) - 1, _GREATEST).view(np.float64)
    return np.where(keys < 0, -far, near), np.where(keys < 0, -near, far)


def _starts(bits: Any, dropped: int) -> Int:
    """Tell where sorted bits, or keys, change but for the last ones; the first is a change, too."""
    changes = (bits[1:] ^ bits[:-1]).view(np.uint64) >= np.uint64(1 << dropped)
    return np.append(0, np.flatnonzero(changes) + 1)[: len(bits)]


def _bits_to_drop(keys: Int) -> int:
    """Return the least number of bits without which sorted keys have no more than 4096 values."""
    levels = range(_MOST_BITS)
    return bisect_left(levels, True, key=lambda bits: len(_starts(keys, bits)) <= MOST_POINTS)  # noqa: FBT003


def _joined(parts: Sequence[tuple[slice, Int, F64]], n_classes: int, dropped: int) -> PointSummary:
    """Make a summary of some classes, sorted keys and weights each, at so many bits or more."""
    known = np.sort(np.concatenate([keys for _, keys, _ in parts]))
    more = _bits_to_drop(known)
    known = known[_starts(known, more)] >> more
    weights = np.zeros((n_classes, len(known)))
    for classes, keys, found in parts:
        starts = _starts(keys, more)
        if len(starts):
            places = np.searchsorted(known, keys[starts] >> more)
            weights[classes, places] += np.add.reduceat(found, starts, axis=1)
    seen = weights.sum(axis=0) > 0
    lowest, highest = _span(known[seen], dropped + more)
    points = lowest + 0.5 * (highest - lowest)
    return PointSummary(points, weights[:, seen], dropped + more)


@final
@dataclass(frozen=True, slots=True, eq=False)
class NumberSummary:
    """Hold the moments of columns of numbers, and their points; none if they need too much room."""

    moments: Annotated[ClassMoments, "K D"]
    points: Annotated[tuple[PointSummary, ...], "K"]

    def merge(self, other: Self) -> NumberSummary:
        """Join two summaries of the same classes and columns."""
        pairs = zip(self.points, other.points, strict=False)  # none if either has none
        points = within_memory(one.merge(two) for one, two in pairs)
        return NumberSummary(self.moments.merge(other.moments), points)

    def spread(self, places: Int, n_classes: int) -> NumberSummary:
        """Put class i at ``places[i]`` among ``n_classes``; the others are empty."""
        points = within_memory(each.spread(places, n_classes) for each in self.points)
        return NumberSummary(self.moments.spread(places, n_classes), points)

    def _check(self) -> None:
        """Refuse parts from a file that do not fit each other."""
        seen = self.moments.feature_weights.T
        fits = len(self.points) in (0, len(seen)) and self.moments.detail == "diagonal"
        pairs = zip(self.points, seen, strict=False)
        if not fits or not all(np.allclose(each.weights.sum(axis=1), n) for each, n in pairs):
            raise InputError("The moments and the points of the summary are of different rows.")


def within_memory(columns: Iterable[PointSummary]) -> tuple[PointSummary, ...]:
    """Return the points of all columns, or none as soon as they are too many."""
    found, size = list[PointSummary](), 0
    for each in columns:
        found.append(each)
        size += each.weights.size
        if size > _MOST_WEIGHTS:
            return ()
    return tuple(found)
