"""Where the best act changes along the line: in closed form for Gaussians, else by search."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import combinations, pairwise
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from credo._types import F64, Int, Label
from credo.decisions.predictive import as_normal
from credo.exceptions import InputError, ShapeError
from credo.families import Histogram
from credo.posterior.posterior import log_sum_exp

#: Two ends of an interval, either of which may be infinite.
Range: TypeAlias = tuple[float, float]

#: A stretch of the line and the index of the act taken there; minus one where no class has mass.
Cell: TypeAlias = tuple[float, float, int]

#: True and false, one per step.
Mask: TypeAlias = npt.NDArray[np.bool_]

#: How far from one the mass of a density may be.
MASS_TOLERANCE = 1e-9
#: Probability on either side of whole numbers that is not looked at, and their largest number.
_LEFT_OUT, _MOST_VALUES = 1e-16, 2**20

_TAILS = np.array([1e-12, 1e-9, 1e-6, 1e-4, 1e-3])
#: Levels at which a density is looked at: the body in steps of 1/64, and both tails.
_LEVELS = np.concatenate([_TAILS, np.arange(1, 64) / 64, 1 - _TAILS[::-1]])
_EPS = float(np.finfo(np.float64).eps)
_LOG_TINY = float(np.log(np.finfo(np.float64).tiny))
#: Stands for the logarithm of an infinite density; that of a finite one is below 710.
_LOG_MOST = 1e3
#: Doublings of a class's width that are looked at; squares of 2**330 are still finite.
_DOUBLINGS = 2.0 ** np.arange(-3, 331)
#: Halvings of the way to a finite end of a support.
_HALVINGS = 2.0 ** -np.arange(1, 201)
#: A posterior may move by so much from one point of the search to the next.
_STEP = 1 / 16
#: Log regrets that are rounded by more than this are too coarse to call a tie.
_BLUR = 1e-6
#: Rounds of halving in the search: enough to pin a jump to a millionth of a millionth.
_ROUNDS = 40
#: Points after which the search stops to refine: a density as rough as that has no fine shape.
_MOST_POINTS = 100_000


def on_a_line(source: Any) -> bool:
    """Tell whether something answers as a distribution of single numbers does."""
    log = "logpmf" if hasattr(source, "logpmf") else "logpdf"
    return all(callable(getattr(source, method, None)) for method in (log, "cdf", "ppf"))


class Density:
    """The distribution of one class on the line."""

    def __init__(self, source: Any, name: Label, support: Range | None) -> None:
        if not on_a_line(source):
            raise InputError(
                f"regions: the density of {name!r} must be a family of credo.families, a "
                "one-dimensional SciPy distribution with its parameters set, or an object with "
                f"logpdf or logpmf, cdf and ppf. Got {type(source).__name__}. A function can be "
                "the _pdf of a subclass of scipy.stats.rv_continuous."
            )
        if np.shape(source.cdf(0.0)) != ():
            raise ShapeError(
                f"regions: the density of {name!r} must be one distribution. Got an array of "
                f"them, of shape {np.shape(source.cdf(0.0))}."
            )
        normal = as_normal(source)
        self._source: Any = source if normal is None else normal
        self._sf = getattr(self._source, "sf", lambda x: 1 - self._source.cdf(x))
        #: Whether it is of whole numbers, and has probabilities instead of densities.
        self.discrete = hasattr(source, "logpmf")
        self._log = getattr(self._source, "logpmf" if self.discrete else "logpdf")
        #: Mean and variance, if it is a Gaussian.
        self.gaussian = None if normal is None else (float(normal.mean), float(normal.variance))
        self.low, self.high = self.quantile(np.array([0.0, 1.0])).tolist()
        #: Whole numbers between which all but 1e-16 of the probability is; none of densities.
        self.numbers = self._whole_numbers(name) if self.discrete else np.empty(0)
        #: Where the density may jump.
        self.jumps: list[float] = [self.low, self.high]
        if isinstance(source, Histogram):
            self.jumps += source.edges.tolist()
        if not self.low < self.high:
            raise InputError(
                f"regions: the density of {name!r} has no support, so its parameters are out of "
                "range."
            )
        outside = 0.0
        if support is not None:
            outside = float(self._source.cdf(support[0]) + self._sf(support[1]))
        if outside > MASS_TOLERANCE:
            raise InputError(
                f"regions: the density of {name!r} must integrate to 1 on the support {support}. "
                f"It integrates to {1 - outside:.9g} there. Widen the support, or leave it out."
            )

    def log_density(self, x: F64) -> F64:
        """Return the log density; minus infinity outside [low, high]."""
        # Far from the body, squares overflow and logarithms of zero occur; both mean zero.
        with np.errstate(all="ignore"):
            values = np.asarray(self._log(x), dtype=np.float64)
        # SciPy standardises x first, which can round a point just outside to the end itself.
        inside = (x >= self.low) & (x <= self.high) & ~np.isnan(values)
        return np.where(inside, values, -np.inf)

    def mass(self, low: float, high: float) -> float:
        """Return the probability between two points; above the median by the upper tail."""
        below = float(self._source.cdf(low))
        if below < 0.5:
            return max(0.0, float(self._source.cdf(high)) - below)
        return max(0.0, float(self._sf(low)) - float(self._sf(high)))

    def _whole_numbers(self, name: Label) -> F64:
        """Find the numbers that a discrete distribution is on, and its ends."""
        first, last = self._reach(-1, name), self._reach(1, name)
        self.low = -np.inf if self._source.cdf(first - 1) > 0 else first - 0.5
        self.high = np.inf if self._sf(last) > 0 else last + 0.5
        numbers = np.arange(first, last + 1)
        seen = float(np.exp(self.log_density(numbers)).sum())
        if abs(seen - 1) > MASS_TOLERANCE:
            raise InputError(
                f"regions: the probabilities of {name!r} at whole numbers add up to {seen:.9g}, "
                "not to 1. Multiply its values, so that they are whole."
            )
        return numbers

    def _reach(self, side: int, name: Label) -> float:
        """Return the whole number on one side beyond which no more than 1e-16 is left."""
        middle, step = float(self.quantile(np.array(0.5))), 64

        def beyond(x: Any) -> Any:
            return self._sf(x) if side > 0 else self._source.cdf(x - 1)

        while not beyond(middle + side * step) <= _LEFT_OUT:  # nor if the median is not known
            step *= 4
            if step > _MOST_VALUES:
                raise InputError(
                    f"regions: the distribution of {name!r} spreads over more than {_MOST_VALUES} "
                    "whole numbers. Use a continuous distribution that is near it."
                )
        x = middle + side * np.arange(step + 1.0)
        return float(x[np.argmax(beyond(x) <= _LEFT_OUT)])

    def quantile(self, levels: F64) -> F64:
        """Return quantiles."""
        return np.asarray(self._source.ppf(levels), dtype=np.float64)

    def points(self) -> F64:
        """Return where the class is looked at: body, tails, and doubling distances from both."""
        quantiles = self.quantile(_LEVELS)
        lower, centre, upper = self.quantile(np.array([0.25, 0.5, 0.75]))
        away = max(upper - lower, np.spacing(abs(centre))) * _DOUBLINGS
        return np.concatenate([quantiles[np.isfinite(quantiles)], centre - away, centre + away])


@dataclass(frozen=True, slots=True, eq=False)
class Setting:
    """Densities, priors and regrets lined up by truth; a regret is the loss above the least."""

    densities: tuple[Density, ...]
    priors: F64
    regrets: F64
    support: Range

    @property
    def discrete(self) -> bool:
        """Whether the classes are distributions of whole numbers."""
        return self.densities[0].discrete

    @property
    def numbers(self) -> F64:
        """The whole numbers that some class is on, in ascending order."""
        return np.unique(np.concatenate([density.numbers for density in self.densities]))

    @property
    def active(self) -> Int:
        """Indices of the classes with a positive prior."""
        return np.flatnonzero(self.priors)

    def log_joint(self, x: F64) -> F64:
        """Return log prior + log density, shape (n, K); all minus infinity where unknown."""
        joint = np.full((len(x), len(self.densities)), -np.inf)
        silent = np.zeros(len(x), dtype=bool)
        for k in self.active:
            density = self.densities[k]
            values = density.log_density(x)
            if not density.discrete:  # a probability of zero is zero
                silent |= np.isneginf(values) & (x > density.low) & (x < density.high)
            joint[:, k] = np.log(self.priors[k]) + np.minimum(values, _LOG_MOST)
        # A density that underflowed is only known to be below the least number there is; if the
        # others are below it too, nobody can say which is larger.
        joint[silent & (joint.max(axis=1) < _LOG_TINY)] = -np.inf
        return joint

    def log_regrets(self, joint: F64) -> F64:
        """Return the log of Σ_k prior × density × regret for each act, shape (n, A)."""
        with np.errstate(divide="ignore"):
            terms = joint[:, None, :] + np.log(self.regrets.T)
        return log_sum_exp(terms.reshape(-1, joint.shape[1])).reshape(len(joint), -1)

    def acts(self, x: F64) -> Int:
        """Return the index of the best act, the first of tied ones; -1 where nothing is."""
        joint = self.log_joint(x)
        return self.choose(joint, self.log_regrets(joint))

    def choose(self, joint: F64, regrets: F64) -> Int:
        """Return the index of the first act whose regret is least, up to rounding."""
        rounding = _rounding(joint)
        level = regrets <= (regrets.min(axis=1) + rounding)[:, None]
        # So far out that rounding hides the difference, a tie says nothing.
        blind = (rounding > _BLUR) & (level.sum(axis=1) > 1)
        known = np.isfinite(joint.max(axis=1)) & ~blind
        return np.where(known, level.argmax(axis=1), -1)


def _rounding(joint: F64) -> F64:
    """Bound the rounding error of a log regret, by row.

    A log density is rounded relative to its own size, and a sum of K terms by K units more.
    """
    top = joint.max(axis=1)
    size = np.abs(np.where(np.isfinite(top), top, 0.0))
    return _EPS * (joint.shape[1] + 2 + size)


def cells_of(setting: Setting) -> list[Cell]:
    """Cut the support into stretches of one act each; neighbours have different acts."""
    if setting.discrete:
        return _merged(_one_by_one(setting))
    thresholds = closed_thresholds(setting)
    cells = _searched(setting) if thresholds is None else _between(setting, thresholds)
    return _merged(_without_gaps(cells))


# --- closed form ------------------------------------------------------------------------------


def closed_thresholds(setting: Setting) -> F64 | None:
    """Find all points where two acts are level, if Gaussians and losses allow a closed form."""
    active = setting.active
    normals = [normal for k in active if (normal := setting.densities[k].gaussian) is not None]
    if len(normals) < len(active):
        return None
    roots: list[float] = []
    for a, b in combinations(range(setting.regrets.shape[1]), 2):
        gain = setting.regrets[active, a] - setting.regrets[active, b]
        up, down = np.flatnonzero(gain > 0), np.flatnonzero(gain < 0)
        if not up.size or not down.size:
            continue
        if up.size + down.size > 2:
            return None
        i, j = int(up[0]), int(down[0])
        log_weights = np.log(np.abs(gain)[[i, j]]) + np.log(setting.priors[active[[i, j]]])
        roots += gaussian_crossings(normals[i], normals[j], float(-np.diff(log_weights)[0]))
    low, high = setting.support
    return np.array(sorted({root for root in roots if low < root < high}))


def gaussian_crossings(first: Range, second: Range, log_ratio: float) -> list[float]:
    r"""Solve :math:`\rho + \log N(x; \mu_0, v_0) = \log N(x; \mu_1, v_1)` for x.

    With :math:`x = \mu_0 + \sqrt{v_1}\, w` and :math:`d = \mu_1 - \mu_0` it reads
    :math:`A w^2 + B w + C = 0`. The discriminant is written without the difference of its two
    large terms, and the root that would cancel is taken from the product of the roots. So equal
    variances are no special case: A vanishes and one root goes to infinity.
    """
    (mean_0, variance_0), (mean_1, variance_1) = first, second
    gap = mean_1 - mean_0
    excess = (variance_0 - variance_1) / variance_0
    log_variances = (
        np.log1p(-excess) if abs(excess) < 0.5 else np.log(variance_1) - np.log(variance_0)
    )
    level = log_ratio + 0.5 * log_variances
    A = 0.5 * excess
    B = -gap / np.sqrt(variance_1)
    C = 0.5 * gap**2 / variance_1 + level
    discriminant = gap**2 / variance_0 - 2 * level * excess
    if discriminant < 0:
        return []
    q = -0.5 * (B + np.copysign(np.sqrt(discriminant), B))
    if q == 0:
        return [mean_0] if A != 0 else []
    with np.errstate(divide="ignore", over="ignore"):
        scaled = np.array([np.divide(q, A), C / q])
        roots = mean_0 + np.sqrt(variance_1) * scaled
    return [float(root) for root in roots if np.isfinite(root)]


def _between(setting: Setting, thresholds: F64) -> list[Cell]:
    """Ask for the act in each stretch between neighbouring thresholds."""
    ends = [setting.support[0], *thresholds.tolist(), setting.support[1]]
    means, variances = np.array([setting.densities[k].gaussian for k in setting.active]).T
    inner = np.array([_inside(low, high, means, variances) for low, high in pairwise(ends)])
    return list(zip(ends[:-1], ends[1:], setting.acts(inner).tolist(), strict=True))


def _inside(low: float, high: float, means: F64, variances: F64) -> float:
    """Choose a point well inside a stretch, which may be unbounded."""
    if np.isinf(low) and np.isinf(high):
        # Not at a mean, where densities that only touch are level.
        return float(means.max() + np.sqrt(variances.max()))
    anchor = high if np.isinf(low) else low
    away = np.abs(means - anchor).max() + np.sqrt(variances.max())
    if np.isinf(high):
        return float(low + away)
    return float(high - away) if np.isinf(low) else 0.5 * low + 0.5 * high


# --- whole numbers ----------------------------------------------------------------------------


def _one_by_one(setting: Setting) -> list[Cell]:
    """Ask for the act at each whole number that is possible; cells end halfway between two."""
    x = setting.numbers
    acts = setting.acts(x)
    x, acts = x[acts >= 0], acts[acts >= 0]
    ends = [setting.support[0], *(np.floor(0.5 * (x[:-1] + x[1:])) + 0.5), setting.support[1]]
    return [
        (float(a), float(b), int(act)) for (a, b), act in zip(pairwise(ends), acts, strict=True)
    ]


# --- search -----------------------------------------------------------------------------------


def _searched(setting: Setting) -> list[Cell]:
    """Search between the places where densities may jump, such as the ends of a support."""
    low, high = setting.support
    classes = [setting.densities[k] for k in setting.active]
    ends = {end for c in classes for end in c.jumps if low < end < high}
    points = np.unique(np.concatenate([c.points() for c in classes]))
    return [
        cell
        for start, stop in pairwise([low, *sorted(ends), high])
        for cell in _piece(setting, points, start, stop)
    ]


def _piece(setting: Setting, points: F64, low: float, high: float) -> list[Cell]:
    """Find the acts on one piece, on which no density jumps."""
    width = high - low if np.isfinite(high - low) else 1.0
    close = np.concatenate([low + width * _HALVINGS, high - width * _HALVINGS])
    candidates = np.concatenate([points, close[np.isfinite(close)]])
    x = np.unique(candidates[(candidates > low) & (candidates < high)])
    if not x.size:
        return [(low, high, -1)]
    x, acts = _refined(setting, x)
    thresholds, after = _changes(setting, x, acts)
    ends = [low, *thresholds, high]
    return list(zip(ends[:-1], ends[1:], [int(acts[0]), *after], strict=True))


def _refined(setting: Setting, x: F64) -> tuple[F64, Int]:
    """Halve the steps of ``x`` until nothing can hide between two points."""
    joint = setting.log_joint(x)
    regrets = setting.log_regrets(joint)
    for _ in range(_ROUNDS):
        wide = _moves(joint) | _dips(regrets, _rounding(joint))
        middle = 0.5 * x[:-1][wide] + 0.5 * x[1:][wide]
        fresh = np.setdiff1d(middle, x)
        if not fresh.size or len(x) > _MOST_POINTS:
            break
        more = setting.log_joint(fresh)
        order = np.argsort(np.concatenate([x, fresh]))
        x = np.concatenate([x, fresh])[order]
        joint = np.concatenate([joint, more])[order]
        regrets = np.concatenate([regrets, setting.log_regrets(more)])[order]
    return x, setting.choose(joint, regrets)


def _moves(joint: F64) -> Mask:
    """Mark steps over which the posterior moves much; not those into a stretch without density."""
    total = log_sum_exp(joint)
    known = np.isfinite(total)
    posterior = np.exp(joint - np.where(known, total, 0.0)[:, None])
    moved: Mask = np.abs(np.diff(posterior, axis=0)).max(axis=1) > _STEP
    return moved & known[1:] & known[:-1]


def _dips(regrets: F64, rounding: F64) -> Mask:
    """Mark the steps beside a point where a losing act comes so near that it may win beyond."""
    with np.errstate(invalid="ignore"):
        behind = np.nan_to_num(regrets - regrets.min(axis=1, keepdims=True), posinf=1e6)
    middle = behind[1:-1]
    left, right = behind[:-2] - middle, behind[2:] - middle
    # A parabola through three points falls below the middle one by less than the larger side
    # step; four times that leaves room for other shapes.
    near = (left >= 0) & (right >= 0) & (middle <= 4 * np.maximum(left, right))
    dip = np.zeros(len(regrets), dtype=bool)
    dip[1:-1] = (near & (middle > rounding[1:-1, None])).any(axis=1)
    return dip[:-1] | dip[1:]


def _changes(setting: Setting, x: F64, acts: Int) -> tuple[list[float], list[int]]:
    """Halve each step over which the act changes down to neighbouring floats.

    Another act may turn up on the way; then the rest of the step is halved in turn.
    """
    found: list[tuple[float, int]] = []
    changed = np.flatnonzero(np.diff(acts))
    left, right = x[changed], x[changed + 1]
    before, goal = acts[changed], acts[changed + 1]
    while left.size:
        high = _bisected(setting, left, right, before)
        after = setting.acts(high)
        found += zip(high.tolist(), after.tolist(), strict=True)
        more = (after != goal) & (high < right)
        left, right, before, goal = high[more], right[more], after[more], goal[more]
    found.sort()
    return [place for place, _ in found], [act for _, act in found]


def _bisected(setting: Setting, low: F64, high: F64, act: Int) -> F64:
    """Close in on the first point without ``act``, for many brackets at once."""
    while True:
        middle = 0.5 * low + 0.5 * high
        open_ = (middle > low) & (middle < high)
        if not open_.any():
            return high
        same = setting.acts(middle) == act
        low = np.where(open_ & same, middle, low)
        high = np.where(open_ & ~same, middle, high)


# --- tidying ----------------------------------------------------------------------------------


def _without_gaps(cells: list[Cell]) -> list[Cell]:
    """Return stretches without density to their neighbours, half to each."""
    joined = _merged(cells)
    result: list[Cell] = []
    for i, (low, high, act) in enumerate(joined):
        if act >= 0:
            result.append((low, high, act))
            continue
        before = joined[i - 1][2] if i else joined[i + 1][2]
        after = joined[i + 1][2] if i + 1 < len(joined) else before
        middle = high if before == after else 0.5 * low + 0.5 * high
        result += [(low, middle, before), (middle, high, after)]
    return [cell for cell in result if cell[0] < cell[1]]


def _merged(cells: Iterable[Cell]) -> list[Cell]:
    """Join neighbours with the same act."""
    result: list[Cell] = []
    for low, high, act in cells:
        if result and result[-1][2] == act:
            result[-1] = (result[-1][0], high, act)
        else:
            result.append((low, high, act))
    return result
