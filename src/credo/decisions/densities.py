"""Densities on the line: one shape for Gaussians, SciPy distributions and plain functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, TypeAlias

import numpy as np
from scipy.integrate import quad
from scipy.optimize import minimize_scalar

from credo._types import F64, Label
from credo._validation.arrays import as_floats
from credo.exceptions import InputError, ShapeError
from credo.families.gaussian import Gaussian

#: Two ends of an interval, either of which may be infinite.
Range: TypeAlias = tuple[float, float]

#: How far from one the mass of a density may be.
MASS_TOLERANCE = 1e-9

#: What a distribution must be able to answer.
METHODS = ("logpdf", "cdf", "sf", "ppf")
_TINY = float(np.finfo(np.float64).tiny)
_TAILS = np.array([1e-12, 1e-9, 1e-6, 1e-4, 1e-3])
#: Levels at which a density is looked at: the body in steps of 1/64, and both tails.
LEVELS = np.concatenate([_TAILS, np.arange(1, 64) / 64, 1 - _TAILS[::-1]])


class Density(Protocol):
    """What decision regions ask of a density."""

    low: float
    high: float
    gaussian: Range | None  # mean and variance, if it is one

    def log_density(self, x: F64) -> F64:
        """Give the log density; minus infinity outside (low, high)."""

    def mass(self, low: float, high: float) -> float:
        """Give the probability between two points."""

    def quantile(self, levels: F64) -> F64:
        """Give quantiles, exact or good enough to look around."""

    def landmarks(self) -> F64:
        """Give finite points where the density shows its shape."""


def as_density(source: Any, name: Label, support: Range | None) -> Density:
    """Wrap the density of class ``name``, or say what a density must be."""
    if hasattr(source, "pmf"):
        raise InputError(
            f"regions: the distribution of {name!r} is discrete, so it has no density. Use "
            "Posterior.from_bayes with its probabilities, then credo.decide."
        )
    if all(callable(getattr(source, method, None)) for method in METHODS):
        return DistributionDensity(source, name, support)
    if callable(source):
        return FunctionDensity(source, name, support or (-np.inf, np.inf))
    raise InputError(
        f"regions: the density of {name!r} must be a credo.families.Gaussian, a continuous "
        f"one-dimensional SciPy distribution or a function. Got {type(source).__name__}."
    )


def as_normal(source: Any) -> Gaussian | None:
    """Recognise a one-dimensional normal distribution, Credo's or SciPy's."""
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


class DistributionDensity:
    """A distribution that knows its own integrals."""

    def __init__(self, source: Any, name: Label, support: Range | None) -> None:
        if np.shape(source.cdf(0.0)) != ():
            raise ShapeError(
                f"regions: the density of {name!r} must be one distribution. Got an array of "
                f"them, of shape {np.shape(source.cdf(0.0))}."
            )
        normal = as_normal(source)
        self._source = source if normal is None else normal
        self.gaussian = None if normal is None else (float(normal.mean), float(normal.variance))
        self.low, self.high = (float(end) for end in self._source.ppf(np.array([0.0, 1.0])))
        if not self.low < self.high:
            raise InputError(
                f"regions: the density of {name!r} has no support, so its parameters are out of "
                "range."
            )
        if support is not None:
            self._check_mass(name, support)

    def _check_mass(self, name: Label, support: Range) -> None:
        outside = float(self._source.cdf(support[0]) + self._source.sf(support[1]))
        if outside > MASS_TOLERANCE:
            raise InputError(
                f"regions: the density of {name!r} must integrate to 1 on the support "
                f"{support}. It integrates to {1 - outside:.9g} there. Widen the support, or "
                "leave it out."
            )

    def log_density(self, x: F64) -> F64:
        """Give the log density; minus infinity outside [low, high]."""
        # Far from the body, squares overflow and logarithms of zero occur; both mean zero.
        with np.errstate(all="ignore"):
            values = np.asarray(self._source.logpdf(x), dtype=np.float64)
        # SciPy standardises x first, which can round a point just outside to the end itself.
        inside = (x >= self.low) & (x <= self.high) & ~np.isnan(values)
        return np.where(inside, values, -np.inf)

    def mass(self, low: float, high: float) -> float:
        """Give the probability between two points; above the median by the upper tail."""
        below = float(self._source.cdf(low))
        if below < 0.5:
            return max(0.0, float(self._source.cdf(high)) - below)
        return max(0.0, float(self._source.sf(low)) - float(self._source.sf(high)))

    def quantile(self, levels: F64) -> F64:
        """Give quantiles."""
        return np.asarray(self._source.ppf(levels), dtype=np.float64)

    def landmarks(self) -> F64:
        """Give the quantiles of ``LEVELS``, those that are finite."""
        points = self.quantile(LEVELS)
        return points[np.isfinite(points)]


#: Where the scan of an unbounded function stops; beyond, the tail is one integral.
_REACH = 1e8
_SCAN = 4000
#: A tail or a body is integrated in panels of so many steps of the scan.
_STEPS_PER_PANEL = 20
_MOST_PEAKS = 16
#: Error allowed in each panel; a thousand of them stay far below ``MASS_TOLERANCE``.
_ABSOLUTE, _RELATIVE = 1e-14, 1e-11
#: Gauss-Legendre rules of 10 and 21 points, to be compared with each other.
_RULES = [np.polynomial.legendre.leggauss(n) for n in (10, 21)]


class FunctionDensity:
    """A function that must be scanned and integrated."""

    gaussian: Range | None = None

    def __init__(self, function: Callable[[Any], Any], name: Label, support: Range) -> None:
        self.low, self.high = support
        self._name = name
        self._function = function
        scan = _scan(support)
        self._takes_arrays = _takes_arrays(function, scan[1:3])
        self._edges = self._panels(scan)
        self._masses = self._integrals(self._edges[:-1], self._edges[1:])
        total = float(self._masses.sum())
        if abs(total - 1) > MASS_TOLERANCE:
            remedy = (
                "If its mass sits far out or on a narrow piece, pass support=(low, high)."
                if np.isinf(support).any()
                else "If it jumps or is narrow, pass a support that fits it; else divide it by its "
                "integral."
            )
            raise InputError(
                f"regions: the density of {name!r} must integrate to 1 on {support}. The integral "
                f"found is {total:.9g}. {remedy}"
            )

    def density(self, x: F64) -> F64:
        """Evaluate the function at points inside the support; below the least normal number, 0."""
        with np.errstate(all="ignore"):
            raw = self._function(x) if self._takes_arrays else [self._at(float(v)) for v in x]
        values = as_floats(raw, "regions", f"density of {self._name!r}").reshape(x.shape)
        bad = ~(values >= 0)
        if bad.any():
            where = int(np.argmax(bad))
            raise InputError(
                f"regions: the density of {self._name!r} must be at least 0. Got {values[where]:g} "
                f"at x = {x[where]:g}. Pass support=(low, high) if it only holds there."
            )
        return np.where(values < _TINY, 0.0, values)

    def _at(self, x: float) -> Any:
        """Evaluate at one number; Python's own overflow, far out, counts as no density."""
        try:
            return self._function(x)
        except OverflowError:
            return 0.0

    def log_density(self, x: F64) -> F64:
        """Give the log density; minus infinity outside (low, high)."""
        values = np.full(x.shape, -np.inf)
        inside = (x > self.low) & (x < self.high)
        with np.errstate(divide="ignore"):
            values[inside] = np.log(self.density(x[inside]))
        return values

    def mass(self, low: float, high: float) -> float:
        """Give the probability between two points of the support, panel by panel."""
        first, last = np.searchsorted(self._edges, [low, high], side="right")
        inner = self._edges[first : last if high > self._edges[last - 1] else last - 1]
        if not inner.size:
            return self._panel(low, high)
        whole = self._masses[first : first + len(inner) - 1].sum()
        return float(self._panel(low, inner[0]) + whole + self._panel(inner[-1], high))

    def quantile(self, levels: F64) -> F64:
        """Give quantiles, interpolated between the panels' edges."""
        finite = np.isfinite(self._edges)
        reached = np.concatenate([[0.0], np.cumsum(self._masses)])[finite]
        return np.interp(levels, reached, self._edges[finite])

    def landmarks(self) -> F64:
        """Give the panels' edges and some quantiles."""
        return np.concatenate([self._edges[np.isfinite(self._edges)], self.quantile(LEVELS)])

    def _panels(self, scan: F64) -> F64:
        """Cut the support: evenly along the scan, ever finer towards each peak."""
        values = self.density(scan)
        rises = (values[1:-1] > values[:-2]) & (values[1:-1] >= values[2:])
        peaks = 1 + np.flatnonzero(rises)
        highest = peaks[np.argsort(-values[peaks], kind="stable")[:_MOST_PEAKS]]
        fine = [self._around_peak(scan[i - 1], scan[i + 1]) for i in highest]
        edges = np.concatenate([scan[::_STEPS_PER_PANEL], *fine])
        inside = edges[(edges > self.low) & (edges < self.high)]
        return np.unique(np.concatenate([[self.low], inside, [self.high]]))

    def _around_peak(self, low: float, high: float) -> F64:
        """Give points that close in on the peak between ``low`` and ``high`` by factors of 4."""

        def height(x: float) -> float:
            return -float(np.log(max(self.density(np.array([x]))[0], _TINY)))

        width = high - low
        peak = float(minimize_scalar(height, bounds=(low, high), options={"xatol": 1e-6 * width}).x)
        away = width / 4.0 ** np.arange(12)
        return np.concatenate([peak - away, [peak], peak + away])

    def _integrals(self, low: F64, high: F64) -> F64:
        """Integrate over all panels at once; where two rules disagree, one by one."""
        bounded = np.isfinite(high - low)
        centre = (0.5 * low[bounded] + 0.5 * high[bounded])[:, None]
        half = 0.5 * (high - low)[bounded, None]
        sums = []
        for nodes, weights in _RULES:
            x = centre + half * nodes
            sums.append(half[:, 0] * (self.density(x.ravel()).reshape(x.shape) @ weights))
        coarse, fine = sums
        agree = np.abs(fine - coarse) <= _ABSOLUTE + _RELATIVE * fine
        masses = np.full(len(low), np.nan)
        masses[bounded] = np.where(agree, fine, np.nan)
        for i in np.flatnonzero(np.isnan(masses)):
            masses[i] = self._panel(low[i], high[i])
        return masses

    def _panel(self, low: float, high: float) -> float:
        """Integrate over one panel; an unbounded one in units of its finite end."""
        # Without this change of units the mass of a heavy tail hides near the end of quad's map
        # of the half-line, which has unit 1.
        finite = low if np.isinf(high) else high
        unit = max(1.0, abs(finite)) if np.isinf(high - low) else 1.0

        def height(t: float) -> float:
            return unit * float(self.density(np.array([unit * t]))[0])

        ends = low / unit, high / unit
        value, *_ = quad(
            height, *ends, epsabs=_ABSOLUTE, epsrel=_RELATIVE, limit=200, full_output=1
        )
        return float(value)


def _scan(support: Range) -> F64:
    """Give points strictly inside the support: even, or geometric towards an infinite end."""
    low, high = support
    far = float(np.arcsinh(_REACH))
    if np.isinf(low) and np.isinf(high):
        return np.sinh(np.linspace(-far, far, _SCAN + 1))
    if np.isinf(high):
        return low + np.sinh(np.linspace(0.0, far, _SCAN + 1)[1:])
    if np.isinf(low):
        return high - np.sinh(np.linspace(far, 0.0, _SCAN + 1)[:-1])
    return np.linspace(low, high, _SCAN + 1)[1:-1]


def _takes_arrays(function: Callable[[Any], Any], probe: F64) -> bool:
    """Find out whether a function answers an array with an array."""
    try:
        return bool(np.shape(function(probe)) == probe.shape)
    except (TypeError, ValueError):
        return False
