"""Predictive distributions of a number, given by draws or by quantiles."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from scipy.special import logsumexp

from credo._types import F64
from credo._validation.arrays import as_finite, frozen
from credo.decisions.atoms import heaviest_window, sorted_atoms
from credo.decisions.value_losses import Pinball
from credo.decisions.value_numbers import log_excess, rounding
from credo.decisions.value_search import Case
from credo.exceptions import InputError, ShapeError

_EPS = float(np.finfo(np.float64).eps)
#: At most this many candidates are scanned for a loss without a closed form.
_CANDIDATES = 257
#: Eight Gauss-Legendre nodes integrate exp(y) over |y| <= 1 to rounding: the error is below
#: 2**17 (8!)**4 / (17 (16!)**3) e, about 6e-18.
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(8)


@dataclass(frozen=True, slots=True, eq=False)
class Samples:
    r"""Describe a predictive distribution by draws from it, with weights if need be.

    .. math:: p(t) = \sum_s w_s\, \delta(t - t_s), \qquad \sum_s w_s = 1

    Parameters
    ----------
    values : array-like of shape (S,) or (n, S)
        Draws for one case, or one row of draws for each case.
    weights : array-like of shape (S,) or the shape of ``values``, optional
        How much each draw counts, at least 0; scaled to sum to one. Equal by default.

    Raises
    ------
    InputError
        If a draw is not finite, or a row of weights is negative or all zero.
    ShapeError
        If the shapes do not fit.

    See Also
    --------
    credo.decide_value : The best value under a loss.
    Quantiles : A predictive known by some of its quantiles.

    Notes
    -----
    Decisions are exact for the draws as given; how well the draws stand for the predictive is up
    to their number. Time O(n S log S).

    References
    ----------
    .. [1] C. P. Robert and G. Casella, *Monte Carlo Statistical Methods*, 2nd ed., 2004,
       section 3.2.

    Examples
    --------
    >>> import credo
    >>> from credo.decisions import Samples
    >>> draws = Samples([[1.0, 2.0, 6.0], [0.0, 0.0, 3.0]])
    >>> credo.decide_value(draws, "squared").value
    array([3., 1.])
    """

    values: F64
    weights: F64 | None = None

    def __init__(self, values: Any, weights: Any = None) -> None:
        draws = np.array(as_finite(values, "Samples", "values"))
        if draws.ndim not in (1, 2) or not draws.shape[-1]:
            raise ShapeError(
                "The values of Samples must have shape (S,) or (n, S) with at least one draw. Got "
                f"shape {draws.shape}."
            )
        object.__setattr__(self, "values", frozen(draws))
        object.__setattr__(self, "weights", None if weights is None else _weights(weights, draws))

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the decisions: (n,), or () for a single case."""
        return self.values.shape[:-1]

    def __repr__(self) -> str:
        kind = "draws" if self.weights is None else "weighted draws"
        rows = f" for each of {len(self.values)} rows" if self.shape else ""
        return f"Samples({self.values.shape[-1]} {kind}{rows})"

    def moments(self) -> tuple[F64, F64]:
        """Give weighted mean and variance of each row."""
        x, w = self._table()
        first = x[:, :1]  # taken off and put back, so that a large offset costs no digits
        mean = first + (w * (x - first)).sum(axis=1, keepdims=True)
        with np.errstate(over="ignore"):
            return mean[:, 0], (w * np.square(x - mean)).sum(axis=1)

    def quantile(self, q: float) -> F64:
        """Give the smallest draw whose cumulative weight reaches ``q``, up to rounding."""
        x, w = self._table()
        order = np.argsort(x, axis=1, kind="stable")
        share = np.take_along_axis(w, order, axis=1)
        reached = (np.cumsum(share, axis=1) >= q - x.shape[1] * _EPS) & (share > 0)
        first = np.take_along_axis(order, reached.argmax(axis=1)[:, None], axis=1)
        return np.take_along_axis(x, first, axis=1)[:, 0]

    def pinball(self, q: float, value: F64) -> F64:
        """Average the pinball loss over each row."""
        x, w = self._table()
        return (w * Pinball(q)(value[:, None], x)).sum(axis=1)

    def window(self, width: float) -> tuple[F64, F64]:
        """Slide an interval over the sorted draws of each row; the first best one counts."""
        rows = zip(*self._table(), strict=True)
        found = [heaviest_window(*sorted_atoms(x, w), width) for x, w in rows]
        both = np.array(found).reshape(-1, 2)
        return both[:, 0], both[:, 1]

    def cumulant(self, rate: float) -> tuple[F64, F64]:
        """Give mean and centred cumulant of each row, in the log domain."""
        x, w = self._table()
        mean = self.moments()[0]
        # E[exp(y)] = 1 + E[exp(y) - 1 - y], because y has mean zero; no term is negative.
        excess = logsumexp(log_excess(-rate * (x - mean[:, None])), b=w, axis=1)
        return mean, np.logaddexp(0.0, excess)

    def case(self, row: int) -> Case:
        """Give one row as sorted atoms."""
        x, w = np.atleast_2d(self.values)[row], self.weights
        share = np.ones(len(x)) if w is None else w[row] if w.ndim == 2 else w
        atoms, masses = sorted_atoms(x, share / share.sum())
        unique = np.unique(atoms)
        if unique.size > _CANDIDATES:
            unique = unique[np.linspace(0, unique.size - 1, _CANDIDATES).round().astype(np.intp)]
        return Case(atoms, masses, np.empty(0), np.zeros_like, unique)

    def _table(self) -> tuple[F64, F64]:
        """Give draws and normalised weights, both of shape (n, S)."""
        x = np.atleast_2d(self.values)
        w = np.ones(x.shape[1]) if self.weights is None else self.weights
        return x, np.broadcast_to(w / w.sum(axis=-1, keepdims=True), x.shape)


def _weights(weights: Any, draws: F64) -> F64:
    """Check the weights of Samples."""
    array = np.array(as_finite(weights, "Samples", "weights"))
    if array.shape not in (draws.shape, draws.shape[-1:]):
        raise ShapeError(
            f"The weights of Samples must have shape {draws.shape[-1:]}, one for each draw, or the "
            f"shape of the values, {draws.shape}. Got shape {array.shape}."
        )
    table = np.atleast_2d(array)
    with np.errstate(over="ignore"):
        totals = table.sum(axis=1)
    bad = (table < 0).any(axis=1) | ~((totals > 0) & (totals < np.inf))
    if bad.any():
        row = int(bad.argmax())
        got = "a negative weight" if (table[row] < 0).any() else f"a sum of {totals[row]:g}"
        raise InputError(
            "The weights of Samples must be at least 0, with a positive and finite sum. Got "
            f"{got} in row {row}."
        )
    return frozen(array)


@dataclass(frozen=True, slots=True, eq=False)
class Quantiles:
    r"""Describe a predictive distribution by some of its quantiles.

    The distribution function is taken to be linear between the given quantiles:

    .. math:: F(x_i) = \ell_i, \qquad
              F(x) = \ell_i + (\ell_{i+1} - \ell_i) \frac{x - x_i}{x_{i+1} - x_i}

    Parameters
    ----------
    levels : array-like of shape (m,)
        Probabilities from 0 to 1, strictly increasing, at least two.
    values : array-like of shape (m,) or (n, m)
        The quantile at each level, non-decreasing; one row for each case.

    Raises
    ------
    InputError
        If levels or values are out of order; the row is named.
    ShapeError
        If the shapes do not fit.

    See Also
    --------
    credo.decide_value : The best value under a loss.
    Samples : A predictive known by draws.

    Notes
    -----
    An approximation, and decisions are exact for it: the mass outside the outermost levels sits
    at the outermost values, so means and variances are pulled inwards unless the levels reach
    nearly to 0 and 1. Only for the mode (``ZeroOne`` of width 0) are these two masses left out:
    it is the middle of the steepest piece, or the value that is repeated most. Time O(n m).

    References
    ----------
    .. [1] R. J. Hyndman and Y. Fan, "Sample Quantiles in Statistical Packages", *The American
       Statistician* 50, 1996.

    Examples
    --------
    >>> import credo
    >>> from credo.decisions import Pinball, Quantiles
    >>> forecast = Quantiles(levels=[0.1, 0.5, 0.9], values=[10.0, 20.0, 60.0])
    >>> round(credo.decide_value(forecast, Pinball(0.7)).value, 6)
    40.0
    """

    levels: F64
    values: F64

    def __init__(self, levels: Any, values: Any) -> None:
        grid = np.array(as_finite(levels, "Quantiles", "levels"))
        cuts = np.array(as_finite(values, "Quantiles", "values"))
        if grid.ndim != 1 or len(grid) < 2 or cuts.ndim not in (1, 2):
            raise ShapeError(
                "Quantiles needs levels of shape (m,), at least two, and values of shape (m,) or "
                f"(n, m). Got shapes {grid.shape} and {cuts.shape}."
            )
        if cuts.shape[-1] != len(grid):
            raise ShapeError(
                f"Quantiles has {len(grid)} levels but {cuts.shape[-1]} values per row: one value "
                "for each level is needed."
            )
        if not (grid[0] >= 0 and grid[-1] <= 1 and (np.diff(grid) > 0).all()):
            raise InputError(
                "The levels of Quantiles must be strictly increasing from at least 0 to at most 1. "
                f"Got {grid.tolist()}."
            )
        _check_order(cuts)
        object.__setattr__(self, "levels", frozen(grid))
        object.__setattr__(self, "values", frozen(cuts))

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the decisions: (n,), or () for a single case."""
        return self.values.shape[:-1]

    def __repr__(self) -> str:
        rows = f" for each of {len(self.values)} rows" if self.shape else ""
        return f"Quantiles({len(self.levels)} levels{rows})"

    def moments(self) -> tuple[F64, F64]:
        """Integrate mean and variance of each row."""
        x, share, (low, high) = self._pieces()
        first = x[:, :1]
        d = x - first
        mean = first[:, 0] + 0.5 * (d[:, :-1] + d[:, 1:]) @ share + high * d[:, -1]
        a, b = x[:, :-1] - mean[:, None], x[:, 1:] - mean[:, None]
        spread = ((a * a + a * b + b * b) / 3.0) @ share
        return mean, spread + low * a[:, 0] ** 2 + high * b[:, -1] ** 2

    def quantile(self, q: float) -> F64:
        """Interpolate the quantile of each row."""
        x, share, _ = self._pieces()
        i = int(np.clip(np.searchsorted(self.levels, q) - 1, 0, len(share) - 1))
        part = np.clip((q - self.levels[i]) / share[i], 0.0, 1.0)
        return x[:, i] + part * (x[:, i + 1] - x[:, i])

    def pinball(self, q: float, value: F64) -> F64:
        """Integrate the pinball loss of each row."""
        x, share, (low, high) = self._pieces()
        v = value[:, None]
        a, b = x[:, :-1], x[:, 1:]
        cut = np.clip(v, a, b)
        width = np.where(b > a, b - a, 1.0)
        below = np.where(b > a, (cut - a) / width, v >= a)
        above = 1.0 - below
        loss = Pinball(q)
        # On each side of the value the loss is linear: its mean is its value at the middle.
        inner = below * loss(v, 0.5 * (a + cut)) + above * loss(v, 0.5 * (cut + b))
        ends = low * loss(value, x[:, 0]) + high * loss(value, x[:, -1])
        return inner @ share + ends

    def window(self, width: float) -> tuple[F64, F64]:
        """Compare the intervals that begin or end at a quantile; or find the steepest piece."""
        found = [self._interval(row, width) for row in np.atleast_2d(self.values)]
        both = np.array(found).reshape(-1, 2)
        return both[:, 0], both[:, 1]

    def cumulant(self, rate: float) -> tuple[F64, F64]:
        """Give mean and centred cumulant of each row, in the log domain."""
        mean = self.moments()[0]
        x, share, (low, high) = self._pieces()
        y = -rate * (x - mean[:, None])
        a, b = y[:, :-1], y[:, 1:]
        gap = np.abs(b - a)
        flat = np.where(gap > 0, gap, 1.0)
        log_mean = np.maximum(a, b) + np.where(gap > 0, np.log(-np.expm1(-flat) / flat), 0.0)
        terms = np.concatenate([y[:, :1], log_mean, y[:, -1:]], axis=1)
        wide = logsumexp(terms, b=np.r_[low, share, high], axis=1)
        return mean, np.where(np.abs(y).max(axis=1) > 1.0, wide, self._small_cumulant(y))

    def _small_cumulant(self, y: F64) -> F64:
        """Give the cumulant where all exponents are at most one; exact to rounding there."""
        _, share, (low, high) = self._pieces()
        y = np.clip(y, -1.0, 1.0)
        centre, half = 0.5 * (y[:, :-1] + y[:, 1:]), 0.5 * np.diff(y, axis=1)
        nodes = centre[..., None] + half[..., None] * _NODES
        inner = (np.exp(log_excess(nodes)) @ (0.5 * _WEIGHTS)) @ share
        ends = np.exp(log_excess(y[:, [0, -1]])) @ np.array([low, high])
        return np.log1p(inner + ends)

    def case(self, row: int) -> Case:
        """Give one row as a piecewise constant density, with atoms where it jumps."""
        table, share, (low, high) = self._pieces()
        x = table[row]
        gap = np.diff(x)
        jump = gap == 0
        atoms, masses = np.r_[x[0], x[:-1][jump], x[-1]], np.r_[low, share[jump], high]
        edges, heights = np.unique(x), share[~jump] / gap[~jump]

        def density(t: F64) -> F64:
            piece = np.searchsorted(edges, t, side="right") - 1
            return heights[np.clip(piece, 0, len(heights) - 1)]

        grid = np.unique(np.r_[x, 0.5 * (x[:-1] + x[1:])])
        here = masses > 0
        return Case(atoms[here], masses[here], edges if heights.size else edges[:0], density, grid)

    def _pieces(self) -> tuple[F64, F64, tuple[float, float]]:
        """Give the values (n, m), the mass of each piece, and the masses at both ends."""
        ends = float(self.levels[0]), float(1.0 - self.levels[-1])
        return np.atleast_2d(self.values), np.diff(self.levels), ends

    def _interval(self, x: F64, width: float) -> tuple[float, float]:
        """Give the best value of one row, and the mass further than half a width from it."""
        half = width / 2
        values = np.r_[x - half, x + half] if width else _steepest(x, np.diff(self.levels))
        slack = rounding(values, values + half)
        below = self._share(x, values - half - slack, "left")
        outside = below + 1.0 - self._share(x, values + half + slack, "right")
        best = int(np.argmax(outside <= outside.min() + len(values) * _EPS))
        return float(values[best]), float(outside[best])

    def _share(self, x: F64, t: F64, side: Literal["left", "right"]) -> F64:
        """Give the probability of less than ``t`` (left), or of at most ``t`` (right)."""
        i = np.searchsorted(x, t, side=side)
        lower, upper = np.maximum(i - 1, 0), np.minimum(i, len(x) - 1)
        gap = x[upper] - x[lower]
        part = (t - x[lower]) / np.where(gap > 0, gap, 1.0)
        inner = self.levels[lower] + part * (self.levels[upper] - self.levels[lower])
        return np.where(i == 0, 0.0, np.where(i == len(x), 1.0, inner))


def _check_order(cuts: F64) -> None:
    """Check that the values of Quantiles never fall along a row."""
    falls = np.atleast_2d(np.diff(cuts) < 0)
    if falls.any():
        row, i = (int(k) for k in np.argwhere(falls)[0])
        a, b = np.atleast_2d(cuts)[row, i : i + 2]
        where = f" (row {row})" if cuts.ndim == 2 else ""
        raise InputError(
            f"The values of Quantiles must not fall from one level to the next. Got {a:g} before "
            f"{b:g}{where}. Sort each row to mend crossing quantiles."
        )


def _steepest(x: F64, share: F64) -> F64:
    """Give the middle of the steepest piece, or the value repeated over the largest mass."""
    gap = np.diff(x)
    if (gap > 0).all():
        i = int(np.argmax(share / gap))
        return np.array([0.5 * (x[i] + x[i + 1])])
    values, group = np.unique(x[:-1], return_inverse=True)
    jumps = np.bincount(group, weights=share * (gap == 0), minlength=len(values))
    return values[[int(np.argmax(jumps))]]
