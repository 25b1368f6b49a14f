"""Predictive distributions as the losses ask them: moments, quantiles, windows, cumulants."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any
from warnings import catch_warnings, simplefilter

import numpy as np
from scipy.optimize import brentq
from scipy.special import logsumexp, ndtr, ndtri

from credo._types import F64
from credo.decisions.densities import as_normal
from credo.decisions.predictive import Quantiles, Samples
from credo.decisions.value_losses import Cases, Pinball
from credo.decisions.value_numbers import log_excess
from credo.decisions.value_search import (
    NODES,
    UNSETTLED,
    Case,
    Curve,
    bracket,
    dips,
    integral,
    minimise,
)
from credo.exceptions import InputError, NumericalError
from credo.families.gaussian import Gaussian

_METHODS = ("ppf", "isf", "cdf", "sf", "mean", "var", "support")

#: Probability that may be cut off on either side of a discrete distribution.
_CUT = 5e-16
#: Numbers looked at on either side of the median of a discrete distribution: about a second.
_MOST_ATOMS = 2**20
#: Terms of an exponential sum after which it counts as divergent.
_MOST_TERMS = 2**18
#: Pieces of a density end at these quantiles, so that each holds a fair share of its mass.
_LEVELS = np.array([1e-10, 1e-6, 1e-3, 0.05, 0.25, 0.5])
#: Beyond the outermost quantile a tail has pieces of doubling width. 2**300 is about 1e90: a cube
#: of it is still a number, and of a tail 1 / t**1.1 no more than 1e-9 of the mean is beyond it.
_TAIL = 2.0 ** np.arange(1, 301) - 1.0
#: Pieces of a Gaussian, in standard deviations.
_DEVIATIONS = np.r_[-38:-6:4, -6:6.5:0.5, 10:39:4].astype(np.float64)
#: Candidates for a mode: evenly spread over the probability.
_SCAN = np.linspace(0.0025, 0.9975, 200)


def cases_of(predictive: Any, owner: str) -> Cases:
    """Turn a predictive into what a loss can ask."""
    if isinstance(predictive, (Samples, Quantiles)):
        return predictive
    normal = as_normal(predictive)
    if normal is not None:
        return Gaussians(normal)
    if isinstance(predictive, (np.ndarray, Sequence, int, float, np.number)):
        raise InputError(
            f"{owner} cannot tell what the numbers of a {type(predictive).__name__} are. Wrap them "
            "in Samples(values), Quantiles(levels, values) or Gaussian(mean, variance)."
        )
    missing = [name for name in _METHODS if not callable(getattr(predictive, name, None))]
    if missing or not (hasattr(predictive, "pdf") or hasattr(predictive, "pmf")):
        raise InputError(
            f"{owner} needs a Gaussian, Samples, Quantiles or a frozen SciPy distribution. Got "
            f"{type(predictive).__name__}, which has no method {[*missing, 'pdf or pmf'][0]!r}."
        )
    parts, shape = _split(predictive, owner)
    kind: Callable[[Any], Any] = _Discrete if hasattr(predictive, "pmf") else Continuous
    return _Stack([kind(part) for part in parts], shape)


def _split(distribution: Any, owner: str) -> tuple[list[Any], tuple[int, ...]]:
    """Cut a distribution with arrays of parameters into one for each row."""
    try:
        median = np.asarray(distribution.ppf(0.5))
    except TypeError as error:
        raise InputError(
            f"{owner}: the distribution has no parameters yet. Freeze it first, as in "
            "scipy.stats.gamma(a=2.0)."
        ) from error
    bad = ~np.isfinite(median.ravel())
    if bad.any():
        where = f" (row {int(bad.argmax())})" if median.ndim else ""
        raise InputError(f"{owner}: the predictive has no median{where}. Check its parameters.")
    if not median.ndim:
        return [distribution], ()
    names = list(distribution.kwds)
    arrays = np.broadcast_arrays(*distribution.args, *distribution.kwds.values(), median)[:-1]
    n_args = len(distribution.args)
    rows = zip(*(array.ravel().tolist() for array in arrays), strict=True)
    parts = [
        distribution.dist(*row[:n_args], **dict(zip(names, row[n_args:], strict=True)))
        for row in rows
    ]
    return parts, median.shape


class _Stack:
    """Distributions of one case each, as rows."""

    def __init__(self, parts: Sequence[Any], shape: tuple[int, ...]) -> None:
        self._parts = parts
        self.shape = shape

    def _both(self, ask: Callable[[Any], tuple[F64, F64]]) -> tuple[F64, F64]:
        table = np.array([ask(part) for part in self._parts]).reshape(-1, 2)
        return table[:, 0], table[:, 1]

    def moments(self) -> tuple[F64, F64]:
        return self._both(lambda part: part.moments())

    def quantile(self, q: float) -> F64:
        return np.array([part.quantile(q)[0] for part in self._parts])

    def pinball(self, q: float, value: F64) -> F64:
        pairs = zip(self._parts, value[:, None], strict=True)
        return np.array([part.pinball(q, v)[0] for part, v in pairs])

    def window(self, width: float) -> tuple[F64, F64]:
        return self._both(lambda part: part.window(width))

    def cumulant(self, rate: float) -> tuple[F64, F64]:
        return self._both(lambda part: part.cumulant(rate))

    def case(self, row: int) -> Any:
        return self._parts[row].case(0)


class _Discrete:
    """One discrete distribution that speaks SciPy's language, as weighted atoms."""

    def __init__(self, distribution: Any) -> None:
        self._dist = distribution
        self._support = low, high = distribution.support()
        median = float(distribution.ppf(0.5))
        self._range = first, last = self._reach(median, low), self._reach(median, high)
        atoms = np.arange(first, last + 1.0)
        masses = np.asarray(distribution.pmf(atoms))
        if not abs(masses.sum() - 1.0) < 1e-6:  # what SciPy's own masses miss at large parameters
            raise InputError(
                "decide_value: the probabilities of the discrete predictive at the numbers "
                f"{atoms[0]:g}, {atoms[0] + 1:g}, … sum to {masses.sum():.6g}, not to 1. Pass "
                "Samples(values, weights) instead."
            )
        bulk = Samples(atoms, masses)
        self.quantile, self.pinball = bulk.quantile, bulk.pinball
        self.window, self._bulk = bulk.window, bulk

    def _reach(self, median: float, end: float) -> float:
        """Walk towards an end of the support in growing steps, until a step has no mass."""
        if abs(end - median) <= _MOST_TERMS:
            return end
        sign, here, step = math.copysign(1.0, end - median), median, 1024.0
        while abs(here - median) < _MOST_ATOMS:
            block = here + sign * np.arange(1.0, step + 1.0)
            if not self._dist.pmf(block).sum() > _CUT:
                return here
            here, step = float(block[-1]), 2 * step
        raise NumericalError(
            f"decide_value: the discrete predictive spreads over more than {_MOST_ATOMS} numbers, "
            f"from {median:g} to {here:g} and beyond. Pass Samples instead."
        )

    def moments(self) -> tuple[F64, F64]:
        """Give mean and variance, as the distribution states them."""
        return np.array([moment(self._dist.mean)]), np.array([moment(self._dist.var)])

    def case(self, _: int) -> Any:
        """Give the atoms, and say on which side there are more."""
        low, high = np.isinf(self._support).tolist()
        return replace(self._bulk.case(0), endless=(low, high))

    def cumulant(self, rate: float) -> tuple[F64, F64]:
        """Sum over a range that grows until its ends no longer count, or there is no end."""
        mean = self.moments()[0]
        (low, high), (first, last) = self._support, self._range
        step = max(last - first, 16.0)
        while step <= 2 * _MOST_TERMS:
            atoms = np.arange(first, last + 1.0)
            terms = log_excess(-rate * (atoms - mean)) + self._dist.logpmf(atoms)
            small = terms[[0, -1]] < terms.max() + np.log(_CUT)
            if (small | np.array([first == low, last == high])).all():
                return mean, np.logaddexp(0.0, [logsumexp(terms)])
            first, last, step = max(low, first - step), min(high, last + step), 2 * step
        return mean, np.array([np.inf])


class Continuous:
    """One continuous distribution that speaks SciPy's language."""

    def __init__(self, distribution: Any) -> None:
        self._dist = distribution

    @cached_property
    def _mean(self) -> float:
        return moment(self._dist.mean)

    @cached_property
    def _support(self) -> tuple[float, float]:
        low, high = self._dist.support()
        return float(low), float(high)

    @cached_property
    def _inner(self) -> F64:
        """Quantiles that cut the density into pieces."""
        cuts = np.r_[self._dist.ppf(_LEVELS), self._dist.isf(_LEVELS)]
        inner = np.unique(cuts[np.isfinite(cuts)])
        if inner.size < 2:
            raise NumericalError(
                "decide_value: the quantiles of the predictive are all alike. Shift it towards 0."
            )
        return inner

    @cached_property
    def _edges(self) -> F64:
        """All pieces, out to the ends of the support or as good as infinity."""
        low, high = self._support
        far = np.ptp(self._inner) * _TAIL
        below = [low] if np.isfinite(low) else self._inner[0] - far
        above = [high] if np.isfinite(high) else self._inner[-1] + far
        return np.unique(np.r_[below, self._inner, above])

    def _quiet(self, name: str) -> Curve:
        """Give a method of the distribution that does not mind huge arguments."""
        method = getattr(self._dist, name)

        def call(x: F64) -> F64:
            try:
                with np.errstate(all="ignore"):
                    return np.asarray(method(x), dtype=np.float64)
            except OverflowError as error:
                raise NumericalError(
                    f"decide_value: the {name} of the predictive overflows. Draw from it and pass "
                    "Samples instead."
                ) from error

        return call

    def moments(self) -> tuple[F64, F64]:
        """Give mean and variance, as the distribution states them."""
        return np.array([self._mean]), np.array([moment(self._dist.var)])

    def quantile(self, q: float) -> F64:
        """Give the quantile, as the distribution states it."""
        return np.array([float(self._dist.ppf(q))])

    def pinball(self, q: float, value: F64) -> F64:
        """Integrate the pinball loss; infinite if there is no mean."""
        if not np.isfinite(self._mean):
            return np.array([np.inf])
        loss, case, v = Pinball(q), self.case(0), float(value[0])
        expected = case.expect(loss, v)
        case.check_tails(loss, v, expected)
        return np.array([expected])

    def window(self, width: float) -> tuple[F64, F64]:
        """Search for the centre of the most probable interval, or for the mode."""
        half = width / 2
        low, high = self._support
        grid = np.r_[self._inner, self._dist.ppf(_SCAN), low, high, low + half, high - half]
        grid = np.unique(grid[np.isfinite(grid)])
        cdf, sf, log_pdf = (self._quiet(name) for name in ("cdf", "sf", "logpdf"))

        def score(v: F64) -> F64:
            return cdf(v - half) + sf(v + half) if half else -log_pdf(v)

        scores = score(grid)
        values = np.array([v for i in dips(scores) for v in self._peaks(score, half, grid, i)])
        value = values[np.argmin(score(values))]
        return np.array([value]), np.array([float(score(value)) if half else 1.0])

    def _peaks(self, score: Curve, half: float, grid: F64, i: int) -> list[float]:
        """Give a scanned value and its refinement, where both ends of the interval are alike."""
        centre, low, high = bracket(grid, i)
        pdf = self._quiet("pdf")

        def slope(s: float) -> float:
            return float(pdf(np.array(centre + s + half)) - pdf(np.array(centre + s - half)))

        if half and slope(low) > 0 > slope(high):
            return [centre, centre + float(brentq(slope, low, high))]
        return [centre, centre + minimise(lambda s: float(score(np.array(centre + s))), low, high)]

    def cumulant(self, rate: float) -> tuple[F64, F64]:
        """Integrate exp(y) - 1 - y with y = -rate (t - mean), in the log domain."""
        mean, log_pdf = self._mean, self._quiet("logpdf")
        if not np.isfinite(mean):
            return np.array([mean]), np.array([np.nan])

        def log_f(t: F64) -> F64:
            height = log_pdf(t)
            height = np.where(np.isposinf(height), -np.inf, height)  # a pole, hit by rounding
            return log_excess(-rate * (t - mean)) + height

        edges = self._edges
        peak, near = _summit(log_f, edges)
        scale = np.log(np.ptp(self._inner))
        for end in edges[[0, -1]][~np.isfinite(self._support)]:
            if not log_f(end) + np.log(abs(end - mean)) < peak + scale + np.log(UNSETTLED):
                return np.array([mean]), np.array([np.inf])
        cuts = np.unique(np.clip(np.r_[edges, near], edges[0], edges[-1]))
        total = integral(lambda t: np.exp(log_f(t) - peak), cuts)
        return np.array([mean]), np.array([np.logaddexp(0.0, peak + np.log(total))])

    def case(self, _: int) -> Case:
        """Give the density on its pieces, without tails where it is zero in double precision."""
        density = self._quiet("pdf")
        there = np.flatnonzero(density(self._edges) > 0)
        first, last = max(there[0] - 1, 0), min(there[-1] + 2, len(self._edges))
        endless = ~np.isfinite(self._support) & [first == 0, last == len(self._edges)]
        grid, none = np.unique(self._dist.ppf(_SCAN[::5])), np.empty(0)
        edges = np.union1d(self._edges[first:last], grid)
        return Case(none, none, edges, density, grid, (bool(endless[0]), bool(endless[1])))


def moment(method: Callable[[], Any]) -> float:
    """Ask for a moment; one that diverges may warn, and its value then says so."""
    with np.errstate(all="ignore"), catch_warnings():
        simplefilter("ignore")
        return float(method())


def _summit(log_f: Curve, edges: F64) -> tuple[float, F64]:
    """Find the highest point of ``log_f``, and points that close in on it from both sides."""
    half = 0.5 * np.diff(edges)[:, None]
    points = (edges[:-1, None] + half + half * NODES).ravel()
    heights = log_f(points)
    i = int(np.argmax(heights))
    centre, low, high = bracket(points, i)
    offset = minimise(lambda s: -float(log_f(np.array(centre + s))), low, high)
    height = max(float(heights[i]), float(log_f(np.array(centre + offset))))
    steps = 0.5 ** np.arange(40) * (high - low)
    top = centre + offset
    return height, np.r_[top, top - steps, top + steps]


class Gaussians:
    """Gaussians as rows; every answer has a closed form."""

    def __init__(self, gaussian: Gaussian) -> None:
        self.shape = gaussian.mean.shape
        self._mean, self._scale = gaussian.mean.ravel(), gaussian.scale.ravel()
        self._variance = gaussian.variance.ravel()

    def moments(self) -> tuple[F64, F64]:
        """Give mean and variance."""
        return self._mean, self._variance

    def quantile(self, q: float) -> F64:
        """Give the quantile."""
        return self._mean + self._scale * float(ndtri(q))

    def pinball(self, q: float, value: F64) -> F64:
        """Give scale (phi(z) + z (Phi(z) - q)); the second term is zero at the quantile."""
        z = (value - self._mean) / self._scale
        density = np.exp(-0.5 * z * z) / np.sqrt(2 * np.pi)
        return self._scale * (density + z * (ndtr(z) - q))

    def window(self, width: float) -> tuple[F64, F64]:
        """Give the mean, and both tails outside the interval around it."""
        return self._mean, 2.0 * ndtr(-0.5 * width / self._scale)

    def cumulant(self, rate: float) -> tuple[F64, F64]:
        """Give the mean and half the squared rate times the variance."""
        return self._mean, 0.5 * np.square(rate * self._scale)

    def case(self, row: int) -> Case:
        """Give the density between 38 standard deviations, where it is about 1e-314."""
        one = Gaussian(self._mean[row], self._variance[row])
        edges = one.mean + one.scale * _DEVIATIONS
        return Case(np.empty(0), np.empty(0), edges, one.pdf, edges[8:-8])
