"""What is believed about a number: draws, quantiles, Gaussians and SciPy's distributions.

A loss asks all of them the same, for all rows at once: ``moments`` for mean and variance,
``quantile``, ``pinball`` for the expected loss of a value, ``window`` for the centre of the most
probable interval and the probability outside it, and ``cumulant`` for the mean m and
log E[exp(-rate (truth - m))]; or, without a closed form, for one row's ``case`` to search on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, TypeAlias
from warnings import catch_warnings, simplefilter

import numpy as np
import scipy

from credo import _checks as check
from credo._results import Immutable
from credo._types import F64, Int
from credo.exceptions import InputError, NumericalError, ShapeError
from credo.families import Categorical, DiagonalGaussian, Gaussian, MultivariateGaussian
from credo.families.family import OnALine

#: A function of an array of truths.
Curve: TypeAlias = Callable[[F64], F64]

_EPS = float(np.finfo(np.float64).eps)
_NONE = np.empty(0)
#: Sixteen Gauss-Legendre nodes integrate polynomials of degree 31 exactly.
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(16)
#: At most this many draws are candidates of a search.
_CANDIDATES = 257


def rounding(value: Any, truth: Any) -> Any:
    """Return four units in the last place of the larger number."""
    return 4.0 * _EPS * np.maximum(np.abs(value), np.abs(truth))


def pinball_loss(q: float, value: Any, truth: Any) -> Any:
    """Charge q below the truth and 1 - q above it, per unit."""
    short = np.asarray(truth, dtype=np.float64) - value
    return np.maximum(q * short, (q - 1.0) * short)


def log_excess(y: Any) -> F64:
    """Return log(exp(y) - 1 - y), without cancellation near 0 and without overflow."""
    y = np.asarray(y, dtype=np.float64)
    near, far, low = np.clip(y, -1.0, 1.0), np.maximum(y, 1.0), np.minimum(y, -1.0)
    with np.errstate(divide="ignore"):  # y = 0 has no excess: log 0
        # exp(y) - 1 - y = y**2 / 2 * 1F1(1; 3; y), from the power series of both sides.
        small = 2.0 * np.log(np.abs(near)) + np.log(0.5 * scipy.special.hyp1f1(1.0, 3.0, near))
    large = far + np.log1p(-(1.0 + far) * np.exp(-far))
    return np.where(y >= 1.0, large, np.where(y <= -1.0, np.log(np.exp(low) - 1 - low), small))


def columns(pairs: Iterable[tuple[float, float]]) -> tuple[F64, F64]:
    """Return the first and the second numbers of pairs."""
    table = np.array(list(pairs)).reshape(-1, 2)
    return table[:, 0], table[:, 1]


# --- draws ----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class Samples(Immutable):
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
        draws = np.array(check.finite(values, "values of Samples"))
        if draws.ndim not in (1, 2) or not draws.shape[-1]:
            raise ShapeError(
                "The values of Samples must have shape (S,) or (n, S) with at least one draw. Got "
                f"shape {draws.shape}."
            )
        given = None if weights is None else _weights(weights, draws)
        self._set(values=check.frozen(draws), weights=given)

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the decisions: (n,), or () for a single case."""
        return self.values.shape[:-1]

    def __repr__(self) -> str:
        kind = "draws" if self.weights is None else "weighted draws"
        rows = f" for each of {len(self.values)} rows" if self.shape else ""
        return f"Samples({self.values.shape[-1]} {kind}{rows})"

    def _table(self) -> tuple[F64, F64]:
        """Return draws and normalised weights, both of shape (n, S)."""
        x = np.atleast_2d(self.values)
        w = np.ones(x.shape[1]) if self.weights is None else self.weights
        return x, np.broadcast_to(w / w.sum(axis=-1, keepdims=True), x.shape)

    def moments(self) -> tuple[F64, F64]:
        """Return mean and variance of each row."""
        x, w = self._table()
        first = x[:, :1]  # taken off and put back, so that a large offset costs no digits
        mean = first + (w * (x - first)).sum(axis=1, keepdims=True)
        with np.errstate(over="ignore"):
            return mean[:, 0], (w * np.square(x - mean)).sum(axis=1)

    def quantile(self, q: float) -> F64:
        """Return the smallest draw whose cumulative weight reaches ``q``, up to rounding."""
        x, w = self._table()
        order = np.argsort(x, axis=1, kind="stable")
        share = np.take_along_axis(w, order, axis=1)
        reached = (np.cumsum(share, axis=1) >= q - x.shape[1] * _EPS) & (share > 0)
        first = np.take_along_axis(order, reached.argmax(axis=1)[:, None], axis=1)
        return np.take_along_axis(x, first, axis=1)[:, 0]

    def pinball(self, q: float, value: F64) -> F64:
        """Average the pinball loss over each row."""
        x, w = self._table()
        return (w * pinball_loss(q, value[:, None], x)).sum(axis=1)

    def window(self, width: float) -> tuple[F64, F64]:
        """Slide an interval over the sorted draws of each row; the first best one counts."""
        cases = map(self.case, range(len(np.atleast_2d(self.values))))
        return columns(_heaviest(case.atoms, case.masses, width) for case in cases)

    def cumulant(self, rate: float) -> tuple[F64, F64]:
        """Return mean and log E[exp(-rate (truth - mean))] of each row."""
        (x, w), mean = self._table(), self.moments()[0]
        # E[exp(y)] = 1 + E[exp(y) - 1 - y], because y has mean zero; no term is negative.
        logs = log_excess(-rate * (x - mean[:, None]))
        return mean, np.logaddexp(0.0, scipy.special.logsumexp(logs, b=w, axis=1))

    def case(self, row: int) -> Case:
        """Return one row as sorted atoms."""
        x, w = np.atleast_2d(self.values)[row], self.weights
        share = np.ones(len(x)) if w is None else w[row] if w.ndim == 2 else w
        here = np.flatnonzero(share)
        order = here[np.argsort(x[here], kind="stable")]
        grid = np.unique(x[order])
        if grid.size > _CANDIDATES:
            grid = grid[np.linspace(0, grid.size - 1, _CANDIDATES).round().astype(np.intp)]
        return Case(x[order], share[order] / share.sum(), _NONE, np.zeros_like, grid)


def _weights(weights: Any, draws: F64) -> F64:
    """Check the weights of Samples."""
    array = np.array(check.finite(weights, "weights of Samples"))
    if array.shape not in (draws.shape, draws.shape[-1:]):
        raise ShapeError(
            f"The weights of Samples must have shape {draws.shape[-1:]}, one for each draw, or the "
            f"shape of the values, {draws.shape}. Got shape {array.shape}."
        )
    table = np.atleast_2d(array)
    with np.errstate(over="ignore"):
        totals = table.sum(axis=1)
    for row in np.flatnonzero((table < 0).any(axis=1) | ~((totals > 0) & (totals < np.inf))):
        got = "a negative weight" if (table[row] < 0).any() else f"a sum of {totals[row]:g}"
        raise InputError(
            "The weights of Samples must be at least 0, with a positive and finite sum. Got "
            f"{got} in row {row}."
        )
    return check.frozen(array)


def _heaviest(atoms: F64, masses: F64, width: float) -> tuple[float, float]:
    """Return the middle of the heaviest interval of sorted atoms, and the mass outside it."""
    if not width:  # the first value with the largest mass
        values, index, counts = np.unique(atoms, return_inverse=True, return_counts=True)
        sums = np.bincount(index, weights=masses)
        best = int(np.argmax(sums >= sums.max() * (1 - counts.max() * _EPS)))
        return float(values[best]), float(masses[index != best].sum())
    reach = atoms + width
    stop = np.searchsorted(atoms, reach + rounding(atoms, reach), side="right")
    total = np.r_[0.0, np.cumsum(masses)]
    inside = total[stop] - total[:-1]
    start = int(np.argmax(inside >= inside.max() - len(atoms) * _EPS))
    middle = 0.5 * atoms[start] + 0.5 * atoms[stop[start] - 1]
    return float(middle), float(masses[:start].sum() + masses[stop[start] :].sum())


# --- quantiles ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class Quantiles(Immutable):
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
        grid = np.array(check.finite(levels, "levels of Quantiles"))
        cuts = np.array(check.finite(values, "values of Quantiles"))
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
        for row, i in np.argwhere(np.atleast_2d(np.diff(cuts) < 0)):
            a, b = np.atleast_2d(cuts)[row, i : i + 2]
            raise InputError(
                f"The values of Quantiles must not fall from one level to the next. Got {a:g} "
                f"before {b:g}{f' (row {row})' * (cuts.ndim == 2)}. Sort each row to fix crossing "
                "quantiles."
            )
        self._set(levels=check.frozen(grid), values=check.frozen(cuts))

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the decisions: (n,), or () for a single case."""
        return self.values.shape[:-1]

    def __repr__(self) -> str:
        rows = f" for each of {len(self.values)} rows" if self.shape else ""
        return f"Quantiles({len(self.levels)} levels{rows})"

    def _pieces(self) -> tuple[F64, F64, tuple[float, float]]:
        """Return the values (n, m), the mass of each piece, and the masses at both ends."""
        ends = float(self.levels[0]), float(1.0 - self.levels[-1])
        return np.atleast_2d(self.values), np.diff(self.levels), ends

    def moments(self) -> tuple[F64, F64]:
        """Integrate mean and variance of each row."""
        x, share, (low, high) = self._pieces()
        d = x - x[:, :1]
        mean = x[:, 0] + 0.5 * (d[:, :-1] + d[:, 1:]) @ share + high * d[:, -1]
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
        v, a, b = value[:, None], x[:, :-1], x[:, 1:]
        cut = np.clip(v, a, b)
        below = np.where(b > a, (cut - a) / np.where(b > a, b - a, 1.0), v >= a)
        # On each side of the value the loss is linear: its mean is its value at the middle.
        under, over = (pinball_loss(q, v, 0.5 * (end + cut)) for end in (a, b))
        ends = low * pinball_loss(q, value, x[:, 0]) + high * pinball_loss(q, value, x[:, -1])
        return (below * under + (1.0 - below) * over) @ share + ends

    def window(self, width: float) -> tuple[F64, F64]:
        """Compare the intervals that begin or end at a quantile; or find the steepest piece."""
        return columns(self._interval(row, width) for row in np.atleast_2d(self.values))

    def cumulant(self, rate: float) -> tuple[F64, F64]:
        """Return mean and log E[exp(-rate (truth - mean))] of each row."""
        mean = self.moments()[0]
        x, share, (low, high) = self._pieces()
        y = -rate * (x - mean[:, None])
        a, gap = np.maximum(y[:, :-1], y[:, 1:]), np.abs(np.diff(y))
        flat = np.where(gap > 0, gap, 1.0)
        inner = a + np.where(gap > 0, np.log(-np.expm1(-flat) / flat), 0.0)
        terms = np.concatenate([y[:, :1], inner, y[:, -1:]], axis=1)
        wide = scipy.special.logsumexp(terms, b=np.r_[low, share, high], axis=1)
        # Where all exponents are at most one, that would cancel: integrate exp(y) - 1 - y instead.
        near = np.clip(y, -1.0, 1.0)
        centre, half = 0.5 * (near[:, :-1] + near[:, 1:]), 0.5 * np.diff(near)
        nodes = np.exp(log_excess(centre[..., None] + half[..., None] * _NODES))
        ends = np.exp(log_excess(near[:, [0, -1]])) @ np.array([low, high])
        small = np.log1p((nodes @ (0.5 * _WEIGHTS)) @ share + ends)
        return mean, np.where(np.abs(y).max(axis=1) > 1.0, wide, small)

    def case(self, row: int) -> Case:
        """Return one row as a piecewise constant density, with atoms where it jumps."""
        table, share, (low, high) = self._pieces()
        x, gap = table[row], np.diff(table[row])
        jump = gap == 0
        atoms, masses = np.r_[x[0], x[:-1][jump], x[-1]], np.r_[low, share[jump], high]
        edges, heights = np.unique(x), share[~jump] / gap[~jump]

        def density(t: F64) -> F64:
            piece = np.searchsorted(edges, t, side="right") - 1
            return heights[np.clip(piece, 0, len(heights) - 1)]

        grid, here = np.unique(np.r_[x, 0.5 * (x[:-1] + x[1:])]), masses > 0
        return Case(atoms[here], masses[here], edges if heights.size else _NONE, density, grid)

    def _interval(self, x: F64, width: float) -> tuple[float, float]:
        """Return the best value of one row, and the mass further than half a width from it."""
        half = width / 2
        values = np.r_[x - half, x + half] if width else _steepest(x, np.diff(self.levels))
        slack = rounding(values, values + half)
        below = self._share(x, values - half - slack, "left")
        outside = below + 1.0 - self._share(x, values + half + slack, "right")
        best = int(np.argmax(outside <= outside.min() + len(values) * _EPS))
        return float(values[best]), float(outside[best])

    def _share(self, x: F64, t: F64, side: Literal["left", "right"]) -> F64:
        """Return the probability of less than ``t`` (left), or of at most ``t`` (right)."""
        i = np.searchsorted(x, t, side=side)
        lower, upper = np.maximum(i - 1, 0), np.minimum(i, len(x) - 1)
        gap = x[upper] - x[lower]
        part = (t - x[lower]) / np.where(gap > 0, gap, 1.0)
        inner = self.levels[lower] + part * (self.levels[upper] - self.levels[lower])
        return np.where(i == 0, 0.0, np.where(i == len(x), 1.0, inner))


def _steepest(x: F64, share: F64) -> F64:
    """Return the middle of the steepest piece, or the value repeated over the largest mass."""
    gap = np.diff(x)
    if (gap > 0).all():
        i = int(np.argmax(share / gap))
        return np.array([0.5 * (x[i] + x[i + 1])])
    values, group = np.unique(x[:-1], return_inverse=True)
    return values[[int(np.argmax(np.bincount(group, share * (gap == 0))))]]


# --- distributions --------------------------------------------------------------------------------

_METHODS = ("ppf", "isf", "mean", "var", "support")
#: Probability that may be cut off on either side of a discrete distribution.
_CUT = 5e-16
#: Numbers looked at on either side of the median of a discrete distribution: about a second.
_MOST_ATOMS = 2**20
#: Pieces of a density end at these quantiles, so that each holds a fair share of its mass.
_LEVELS = np.array([1e-10, 1e-6, 1e-3, 0.05, 0.25, 0.5])
#: Beyond the outermost quantile a tail has pieces of doubling width. 2**300 is about 1e90: a cube
#: of it is still a number, and of a tail 1 / t**1.1 no more than 1e-9 of the mean is beyond it.
_TAIL = 2.0 ** np.arange(1, 301) - 1.0
#: Pieces of a Gaussian, in standard deviations; at 38 its density is about 1e-314.
_DEVIATIONS = np.r_[-38:-6:4, -6:6.5:0.5, 10:39:4].astype(np.float64)
#: Candidates for a mode: evenly spread over the probability.
_SCAN = np.linspace(0.0025, 0.9975, 200)


def as_normal(source: Any) -> Gaussian | None:
    """Return a one-dimensional normal distribution, Credo's or SciPy's, as a Gaussian."""
    if isinstance(source, Gaussian):
        return source
    if getattr(getattr(source, "dist", None), "name", None) != "norm":
        return None
    mean, scale = source.mean(), source.std()
    if not (np.isfinite(mean).all() and (np.asarray(scale) > 0).all()):
        raise InputError(
            "A SciPy norm distribution has parameters out of range: its scale must be positive. "
            f"Got mean {mean} and standard deviation {scale}."
        )
    return Gaussian(mean, np.square(scale))


def as_cases(predictive: Any, who: str) -> Any:
    """Return a predictive as something that a loss can ask."""
    if isinstance(predictive, (Samples, Quantiles, EachRow)):
        return predictive
    normal = as_normal(predictive)
    if normal is not None:
        return _Gaussians(normal)
    if isinstance(predictive, (np.ndarray, Sequence, int, float, np.number)):
        raise InputError(
            f"{who} cannot tell what the numbers of a {type(predictive).__name__} are. Wrap them "
            "in Samples(values), Quantiles(levels, values) or Gaussian(mean, variance)."
        )
    if isinstance(predictive, (DiagonalGaussian, MultivariateGaussian)):
        return Vectors(predictive)
    if isinstance(predictive, Categorical):  # its mean is of indicators, not of codes
        codes = np.arange(predictive.probabilities.shape[-1], dtype=np.float64)
        weights = predictive.probabilities
        return Samples(np.broadcast_to(codes, weights.shape), weights)
    if isinstance(predictive, OnALine):
        return EachRow(predictive.batch_shape, [_Own(each) for each in predictive.each()])
    missing = [name for name in _METHODS if not callable(getattr(predictive, name, None))]
    if missing or not (hasattr(predictive, "pdf") or hasattr(predictive, "pmf")):
        raise InputError(
            f"{who} needs a Gaussian, Samples, Quantiles or a frozen SciPy distribution. Got "
            f"{type(predictive).__name__}, which has no method {[*missing, 'pdf or pmf'][0]!r}."
        )
    return EachRow(*_frozen(predictive, who))


class Vectors:
    """Gaussian vectors as rows; only their moments are asked for."""

    def __init__(self, gaussian: DiagonalGaussian | MultivariateGaussian) -> None:
        self.shape = gaussian.batch_shape
        size = gaussian.mean.shape[-1]
        self._mean = gaussian.mean.reshape(-1, size)
        self._variance = gaussian.variance.reshape(-1, size).sum(axis=1)

    def moments(self) -> tuple[F64, F64]:
        """Return mean vectors, and the sum of the variances, of each row."""
        return self._mean, self._variance


class _Gaussians:
    """Gaussians as rows; every answer has a closed form."""

    def __init__(self, gaussian: Gaussian) -> None:
        self.shape = gaussian.mean.shape
        self._mean, self._scale = gaussian.mean.ravel(), gaussian.scale.ravel()
        self._variance = gaussian.variance.ravel()

    def moments(self) -> tuple[F64, F64]:
        return self._mean, self._variance

    def quantile(self, q: float) -> F64:
        return self._mean + self._scale * float(scipy.special.ndtri(q))

    def pinball(self, q: float, value: F64) -> F64:
        z = (value - self._mean) / self._scale  # the second term is zero at the quantile
        density = np.exp(-0.5 * z * z) / np.sqrt(2 * np.pi)
        return self._scale * (density + z * (scipy.special.ndtr(z) - q))

    def window(self, width: float) -> tuple[F64, F64]:
        return self._mean, 2.0 * scipy.special.ndtr(-0.5 * width / self._scale)

    def cumulant(self, rate: float) -> tuple[F64, F64]:
        return self._mean, 0.5 * np.square(rate * self._scale)

    def case(self, row: int) -> Case:
        one = Gaussian(self._mean[row], self._variance[row])
        edges = one.mean + one.scale * _DEVIATIONS
        return Case(_NONE, _NONE, edges, one.pdf, edges[8:-8])


def _frozen(distribution: Any, who: str) -> tuple[tuple[int, ...], list[Any]]:
    """Return the shape of a SciPy distribution, which may have arrays as parameters, and rows."""
    try:
        median = np.asarray(distribution.ppf(0.5))
    except TypeError as error:
        raise InputError(
            f"{who}: the distribution has no parameters yet. Freeze it first, as in "
            "scipy.stats.gamma(a=2.0)."
        ) from error
    for row in np.flatnonzero(~np.isfinite(median.ravel())):
        where = f" (row {row})" if median.ndim else ""
        raise InputError(f"{who}: the predictive has no median{where}. Check its parameters.")
    if not median.ndim:
        return (), [distribution]
    names, n_args = list(distribution.kwds), len(distribution.args)
    given = (*distribution.args, *distribution.kwds.values(), median)
    rows = zip(*(a.ravel().tolist() for a in np.broadcast_arrays(*given)), strict=True)
    return median.shape, [
        distribution.dist(*row[:n_args], **dict(zip(names, row[n_args:-1], strict=True)))
        for row in rows
    ]


class _Own:
    """One distribution of a family, with what SciPy's have beside density and quantiles."""

    def __init__(self, family: Any) -> None:
        self.ppf, self._family = family.ppf, family
        self.jumps = getattr(family, "edges", _NONE)
        for name in ("pmf",) if hasattr(family, "pmf") else ("pdf", "logpdf"):
            setattr(self, name, getattr(family, name))

    def isf(self, q: F64) -> F64:
        return np.asarray(self.ppf(1 - q))

    def support(self) -> F64:
        return np.asarray(self.ppf(np.array([0.0, 1.0])))

    def mean(self) -> F64:
        return np.asarray(self._family.mean)

    def var(self) -> F64:
        return np.asarray(self._family.variance)


class EachRow:
    """Distributions that speak SciPy's language, asked one by one."""

    def __init__(self, shape: tuple[int, ...], parts: list[Any]) -> None:
        self.shape = shape
        self._parts = [(_Discrete if hasattr(p, "pmf") else _Continuous)(p) for p in parts]

    def __repr__(self) -> str:
        return f"Distributions of {len(self._parts)} row{'s' * (len(self._parts) != 1)}"

    def moments(self) -> tuple[F64, F64]:
        """Return mean and variance of each row."""
        return columns(part.moments() for part in self._parts)

    def quantile(self, q: float) -> F64:
        """Return the quantile of each row."""
        return np.array([part.quantile(q) for part in self._parts])

    def pinball(self, q: float, value: F64) -> F64:
        """Return the expected pinball loss of each row."""
        pairs = zip(self._parts, value.tolist(), strict=True)
        return np.array([part.pinball(q, v) for part, v in pairs])

    def window(self, width: float) -> tuple[F64, F64]:
        """Return the mode of each row, or the best interval of a discrete one."""
        return columns(part.window(width) for part in self._parts)

    def cumulant(self, rate: float) -> tuple[F64, F64]:
        """Refuse: SciPy has no closed form."""
        raise _refusal(f"Linex(a={rate:g})")

    def case(self, row: int) -> Case:
        """Return one row."""
        return self._parts[row].case()


def _refusal(loss: str) -> InputError:
    """Return the error about a loss that SciPy's distributions have no closed form for."""
    return InputError(
        f"{loss} needs a Gaussian, Samples or Quantiles, not a SciPy distribution. Draw from it, "
        "as in Samples(distribution.rvs(size=100_000, random_state=0))."
    )


class _Continuous:
    """One continuous distribution that speaks SciPy's language."""

    def __init__(self, distribution: Any) -> None:
        self._dist = distribution
        self._ends = np.array(distribution.support(), dtype=np.float64)

    def moments(self) -> tuple[float, float]:
        """Return mean and variance, as the distribution states them; NaN or infinity is fine."""
        with np.errstate(all="ignore"), catch_warnings():
            simplefilter("ignore")
            return float(self._dist.mean()), float(self._dist.var())

    def quantile(self, q: float) -> float:
        return float(self._dist.ppf(q))

    def pinball(self, q: float, value: float) -> float:
        """Integrate the pinball loss; infinite if there is no mean."""
        if not np.isfinite(self.moments()[0]):
            return np.inf
        case = self.case()

        def loss(v: float, truth: F64) -> Any:
            return pinball_loss(q, v, truth)

        expected = case.expect(loss, value)
        case.check_tails(loss, value, expected)
        return expected

    def window(self, width: float) -> tuple[float, float]:
        """Search for the mode."""
        if width:
            raise _refusal(f"ZeroOne(width={width:g})")
        grid = np.r_[self._cuts, self._dist.ppf(_SCAN), self._ends]
        grid = np.unique(grid[np.isfinite(grid)])

        def depth(v: Any) -> F64:
            return -self._ask("logpdf", v)

        values = []
        for i in _dips(depth(grid)):
            centre, low, high = _bracket(grid, i)
            values += [centre, _minimise(lambda v: float(depth(v)), centre, low, high)]
        return values[int(np.argmin(depth(np.array(values))))], 1.0

    def case(self) -> Case:
        """Return the density on its pieces, without tails where it is zero in double precision."""
        far = np.ptp(self._cuts) * _TAIL
        below, above = self._cuts[0] - far, self._cuts[-1] + far
        low, high = self._ends
        edges = np.unique(
            np.r_[
                [low] if np.isfinite(low) else below,
                self._cuts,
                [high] if np.isfinite(high) else above,
            ]
        )
        there = np.flatnonzero(self._ask("pdf", edges) > 0)
        first, last = max(there[0] - 1, 0), min(there[-1] + 2, len(edges))
        endless = np.isinf(self._ends) & [first == 0, last == len(edges)]
        grid = np.unique(self._dist.ppf(_SCAN[::5]))
        jumps = getattr(self._dist, "jumps", _NONE)
        pieces = np.unique(np.concatenate([edges[first:last], grid, jumps]))
        return Case(_NONE, _NONE, pieces, lambda t: self._ask("pdf", t), grid, endless)

    @cached_property
    def _cuts(self) -> F64:
        """Quantiles that cut the density into pieces."""
        cuts = np.r_[self._dist.ppf(_LEVELS), self._dist.isf(_LEVELS)]
        inner = np.unique(cuts[np.isfinite(cuts)])
        if inner.size < 2:
            raise NumericalError(
                "decide_value: the quantiles of the predictive are all equal. Shift it towards 0."
            )
        return inner

    def _ask(self, name: str, x: Any) -> F64:
        """Ask the distribution, which need not mind huge arguments."""
        try:
            with np.errstate(all="ignore"):
                return np.asarray(getattr(self._dist, name)(x), dtype=np.float64)
        except OverflowError as error:
            raise NumericalError(
                f"decide_value: the {name} of the predictive overflows. Draw from it and pass "
                "Samples instead."
            ) from error


class _Discrete(_Continuous):
    """One discrete distribution, as weighted atoms."""

    def __init__(self, distribution: Any) -> None:
        super().__init__(distribution)
        median = float(distribution.ppf(0.5))
        first, last = (self._reach(median, end) for end in self._ends.tolist())
        atoms = np.arange(first, last + 1.0)
        masses = np.asarray(distribution.pmf(atoms))
        if not abs(masses.sum() - 1.0) < 1e-6:  # what SciPy's own masses miss at large parameters
            raise InputError(
                "decide_value: the probabilities of the discrete predictive at the numbers "
                f"{atoms[0]:g}, {atoms[0] + 1:g}, … sum to {masses.sum():.6g}, not to 1. Pass "
                "Samples(values, weights) instead."
            )
        self._bulk = Samples(atoms, masses)

    def _reach(self, median: float, end: float) -> float:
        """Walk towards an end in growing steps until one has no mass; SciPy's ppf may never end."""
        if abs(end - median) <= _MOST_ATOMS / 4:
            return end
        sign, here, step = np.sign(end - median), median, 1024.0
        while abs(here - median) < _MOST_ATOMS:
            block = here + sign * np.arange(1.0, step + 1.0)
            if not self._dist.pmf(block).sum() > _CUT:
                return here
            here, step = float(block[-1]), 2 * step
        raise NumericalError(
            f"decide_value: the discrete predictive spreads over more than {_MOST_ATOMS} numbers, "
            f"from {median:g} to {here:g} and beyond. Pass Samples instead."
        )

    def quantile(self, q: float) -> float:
        return float(self._bulk.quantile(q)[0])

    def pinball(self, q: float, value: float) -> float:
        return float(self._bulk.pinball(q, np.array([value]))[0])

    def window(self, width: float) -> tuple[float, float]:
        case = self._bulk.case(0)
        return _heaviest(case.atoms, case.masses, width)

    def case(self) -> Case:
        return replace(self._bulk.case(0), endless=np.isinf(self._ends))


# --- search ---------------------------------------------------------------------------------------

#: A piece is cut in two until that changes the integral by less than this share of it.
_TOLERANCE = 1e-13
#: An integral that could not be settled to this share is an error, not an answer.
_UNSETTLED = 1e-6
#: Fifty halvings reach the rounding error of a piece's own width.
_HALVINGS = 50
#: More unsettled pieces than this are noise, which halving cannot remove.
_MOST_PIECES = 2048
#: The range of candidates may double this often before the search gives up.
_DOUBLINGS = 60
#: How many of the scanned local minima are refined.
_REFINED = 3


@dataclass(frozen=True, slots=True, eq=False)
class Case:
    """One distribution: atoms, pieces of density, candidates, and which sides have no end."""

    atoms: F64
    masses: F64
    edges: F64
    density: Curve
    grid: F64
    endless: Any = (False, False)

    def expect(self, loss: Any, value: float, *, rough: bool = False) -> float:
        """Return the expected loss of ``value``; a rough one does not refine the pieces."""
        total = 0.0
        if self.atoms.size:
            total += float(self.masses @ _losses(loss, value, self.atoms))
        if self.edges.size:
            edges = np.union1d(self.edges, np.clip(value, self.edges[0], self.edges[-1]))
            total += integral(lambda t: self._product(loss, value, t), edges, rough=rough)
        return total

    def check_tails(self, loss: Any, value: float, expected: float) -> None:
        """Raise if the outermost atoms or pieces of an endless side still count."""
        ends = np.zeros(2)
        if self.atoms.size:
            ends += (self.masses * np.abs(_losses(loss, value, self.atoms)))[[0, -1]]
        if self.edges.size:
            outer = self.edges[[0, -2]], self.edges[[1, -1]]
            ends += np.abs(rule(lambda t: self._product(loss, value, t), *outer))
        if (ends[np.array(self.endless)] > 1e-2 * _UNSETTLED * abs(expected)).any():
            raise NumericalError(
                f"The expected loss of {value:g} does not settle: the loss grows too fast for the "
                "tails of the predictive. Use a loss that grows more slowly, or Samples."
            )

    def _product(self, loss: Any, value: float, truth: F64) -> F64:
        """Multiply loss and density, calling the loss only where there is density."""
        density = self.density(truth)
        here = (density > 0) & np.isfinite(density)  # a pole may be hit by rounding
        result = np.zeros_like(density)
        result[here] = density[here] * _losses(loss, value, truth[here])
        return result


def _losses(loss: Any, value: float, truth: F64) -> F64:
    """Call the loss, and check what it gives."""
    with np.errstate(over="ignore"):
        result = check.floats(loss(value, truth), "losses of decide_value")
    if result.shape != truth.shape:
        raise ShapeError(
            f"decide_value: the loss must give one number per truth, shape {truth.shape}. Got "
            f"shape {result.shape}. Write it with NumPy functions, so that truth may be an array."
        )
    for i in np.flatnonzero(~np.isfinite(result)):
        raise InputError(
            f"decide_value: the loss must be finite. Got {result[i]} for value {value:g} and "
            f"truth {truth[i]:g}. If it grows fast, there may be no expectation under the "
            "predictive's tails."
        )
    return result


def rule(f: Callable[..., F64], left: F64, right: F64, *which: Int) -> F64:
    """Integrate ``f`` over each piece with the Gauss-Legendre rule; tell it whose it is."""
    half = 0.5 * (right - left)
    points = (0.5 * (left + right))[:, None] + half[:, None] * _NODES
    found = f(points.ravel(), *(np.repeat(each, len(_NODES)) for each in which))
    return (found.reshape(points.shape) @ _WEIGHTS) * half


def integral(f: Curve, edges: F64, *, rough: bool = False) -> float:
    """Integrate ``f`` from the first edge to the last; a rough integral does not halve pieces."""
    if rough:
        return float(rule(f, edges[:-1], edges[1:]).sum())
    return float(pieces(lambda t, _: f(t), edges)[2].sum())


def pieces(
    f: Callable[[F64, Int], F64], edges: F64, n: int = 1, tolerance: float = _TOLERANCE
) -> tuple[F64, F64, F64, Int]:
    """Halve pieces until ``n`` functions settle, each against its own size.

    ``f(t, i)`` is function i at t. Return the ends of the pieces, the integrals over them, and
    whose they are.
    """
    left, right = np.tile(edges[:-1], n), np.tile(edges[1:], n)
    which = np.repeat(np.arange(n), len(edges) - 1)
    whole, size, settled = rule(f, left, right, which), np.zeros(n), []
    for _ in range(_HALVINGS):
        middle = 0.5 * (left + right)
        lower, upper = rule(f, left, middle, which), rule(f, middle, right, which)
        scale = size + np.bincount(which, np.abs(lower) + np.abs(upper), n)
        change = np.abs(lower + upper - whole)
        again = change > tolerance * scale[which]
        done = ~again
        settled.append((left[done], right[done], (lower + upper)[done], which[done]))
        size += np.bincount(which[done], np.abs(lower + upper)[done], n)
        missed = np.bincount(which[again], change[again], n)
        whole, which = np.r_[lower[again], upper[again]], np.tile(which[again], 2)
        left, right = np.r_[left[again], middle[again]], np.r_[middle[again], right[again]]
        if not 0 < whole.size <= _MOST_PIECES * n:
            break
    for i in np.flatnonzero(~(missed <= _UNSETTLED * scale)):
        raise NumericalError(
            "An integral over the predictive did not settle: its error is about "
            f"{missed[i]:.1g} of {scale[i]:.3g}. Draw from the predictive and pass Samples instead."
        )
    settled.append((left, right, whole, which))
    starts, stops, sums, whose = (np.concatenate(part) for part in zip(*settled, strict=True))
    return starts, stops, sums, whose


def search(loss: Any, case: Case) -> tuple[float, float]:
    """Find the value with the least expected loss: scan, widen until it is inside, refine."""
    span = float(np.ptp(case.grid)) or max(1.0, abs(float(case.grid[0])))
    grid = [case.grid[0] - span / 2, *case.grid.tolist(), case.grid[-1] + span / 2]
    risks = [case.expect(loss, v, rough=True) for v in grid]
    for _ in range(_DOUBLINGS):
        span *= 2
        if risks[0] < min(risks[1:]):
            grid.insert(0, grid[0] - span)
            risks.insert(0, case.expect(loss, grid[0], rough=True))
        elif risks[-1] < min(risks[:-1]):
            grid.append(grid[-1] + span)
            risks.append(case.expect(loss, grid[-1], rough=True))
        else:
            break
    else:
        end = grid[0] if risks[0] < risks[-1] else grid[-1]
        raise NumericalError(
            f"decide_value found no minimum: the expected loss still falls at value {end:.3g}. "
            "Check that the loss grows on both sides of the truth."
        )
    values: list[float] = []
    for i in _dips(np.array(risks)):
        centre, low, high = _bracket(np.array(grid), i)
        found = _minimise(lambda v: case.expect(loss, v), centre, low, high)
        after = int(np.searchsorted(case.atoms, found))
        values += [centre, found, *case.atoms[max(after - 1, 0) : after + 1].tolist()]
    expected, value = min((case.expect(loss, v), v) for v in values)
    case.check_tails(loss, value, expected)
    return value, expected


def _dips(scores: F64) -> list[int]:
    """Return the positions of the best few local minima, best first."""
    low = np.r_[np.inf, scores[:-1]] >= scores
    high = scores <= np.r_[scores[1:], np.inf]
    minima = np.flatnonzero(low & high)
    return minima[np.argsort(scores[minima], kind="stable")][:_REFINED].tolist()


def _bracket(grid: F64, i: int) -> tuple[float, float, float]:
    """Return a point of the grid, and how far its neighbours are."""
    centre = float(grid[i])
    low, high = grid[max(i - 1, 0)], grid[min(i + 1, len(grid) - 1)]
    return centre, float(low) - centre, float(high) - centre


def _minimise(f: Callable[[float], float], centre: float, low: float, high: float) -> float:
    """Minimise ``f`` around ``centre`` by golden sections and parabolas.

    The search runs over the offset, because its tolerance is relative to its argument.
    """
    options: Any = {"xatol": 1e-9 * (high - low)}
    found = scipy.optimize.minimize_scalar(
        lambda s: f(centre + s), bounds=(low, high), method="bounded", options=options
    )
    return centre + float(found.x)
