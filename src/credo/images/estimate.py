"""Noise and smoothness learnt from one noisy plane: one climb, on two kinds of picture.

The numbers learnt are those under which each noisy pixel is best foretold from all the others, a
pseudo-likelihood of what was seen. Each round takes EM's step for the noise, and the pull of the
neighbours that is best by a parabola through three. Deterministic.

Why not the likelihood: real pictures are not drawn from an Ising field. Its most likely coupling is
the one that matches how often neighbours agree, which is ruled by phase transition rather than by
how well a pixel is restored. Foretelling pixels is what the restored image does: with the restored
pixel in the place of the noisy one it is the expected error itself.

References: J. Besag, On the statistical analysis of dirty pictures, *Journal of the Royal
Statistical Society B* 48 (1986), section 5. T. Weissman and others, Universal discrete denoising:
known channel, *IEEE Transactions on Information Theory* 51 (2005), section IV. For the first guess
of sigma: J. Immerkaer, Fast noise variance estimation, *Computer Vision and Image Understanding* 64
(1996), section 2.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, Self, TypeAlias

import numpy as np
import numpy.typing as npt
import scipy

from credo._types import F64, Bool
from credo.graphs import GridField, TruncatedLinear
from credo.graphs.grid_coordinates import axes_of, lower_pixels, upper_pixels
from credo.images.coding import Plane
from credo.inference.grids.engine import messages_on, settings_for
from credo.posterior import PosteriorMap

#: Called before each run of messages, so that nobody waits in silence.
Watch: TypeAlias = Callable[[], Any]

#: Pixels that are sampled at most. More of two values teach nothing new: a flip probability of a
#: tenth is known to one in a hundred. Of grey levels nine tiles are enough for the noise to one in
#: a hundred, as sums over many levels take long.
MOST_PIXELS, _MOST_GREY = 2**16, 9 * 32 * 32
#: Pixels along a side of a tile: as many as let 64 tiles see all parts of a picture.
TILE = 32
#: Pixels along each side of a tile that are not counted: they have strangers for neighbours.
_SEAM = 4

#: Flooding sweeps without momentum. In so few, hardly anything that a pixel said has come back to
#: it, so that what its neighbours foretell is not its own echo; with more, nothing gets better.
_SWEEPS, _GREY_SWEEPS = 6, 4

#: Rounds at most. From 5 to 40 % of flips, pictures need four; where EM has little to see it
#: creeps, and what more rounds would bring is not worth their time.
_MOST_ROUNDS = 9
#: Stop when no parameter of the noise moves by more than this share of itself: ten times less than
#: the tenth of a flip probability is known to from a 128 x 128 picture.
_LEAST_MOVE = 0.01
#: A place nearer to the least pull than this share of a step is taken for it.
_NARROW = 1e-3

#: What to restore with where nothing can be learnt. With e = 0.1, this coupling of four neighbours
#: has the fewest wrong pixels of 0.7, 0.75, 0.8 and 0.9, over five 128 x 128 pictures at e = 0.05,
#: 0.10, 0.15 and 0.20; of eight neighbours each has half of it.
DEFAULT_FLIP_PROBABILITY, DEFAULT_COUPLING = 0.1, 0.75
#: No estimate is surer than one flip in ten thousand, nor than half a flip in the picture; and none
#: reaches one half, where a pixel says nothing. The climb starts from a guess between two others.
_LEAST_FLIP, _LEAST_FLIPS, MOST_FLIP = 1e-4, 0.5, 0.49
_EARLIEST, _LATEST = 0.01, 0.4
#: Given probabilities are taken as no surer than this, so that their logarithms are numbers.
_SUREST = 1e-6
#: Neighbours agree by more than chance if the sum of their products is beyond so many standard
#: deviations of that of fair coins, which is the root of how many pairs there are.
_DEVIATIONS = 3.0

#: How many grey levels are told apart unless asked otherwise: of 8 bits every eighth; their mean
#: has all values between. Of 16, 24, 32 and 64 they restored best, over nine pictures at sigma 10,
#: 20 and 40: fewer are too coarse for little noise; more are less often equal, and blur flat parts.
DEFAULT_LEVELS, MOST_LEVELS = 32, 256
#: What a jump costs at most, in nats for one of four neighbours. Of 2.5, 3.2, 4 and 6 it has the
#: highest mean PSNR over 24 noisy pictures. With less, impulses that touch are kept as if they
#: were drawn; with more, edges are blurred. It is not learnt: where impulses are any value, the
#: pseudo-likelihood would rather have them drawn.
JUMP = 3.2
#: The slope to start from, and without anything to learn from: for a 63rd of the range. Its
#: logarithm is held there, in nats per pixel. Of 0.1, 0.04, 0.02 and 0.01 the last had the least
#: errors in the geometric mean, over these pictures and over 21 others: flat ones need up to four
#: times that slope.
DEFAULT_SLOPE, _HOLD = 0.25, 0.01
#: Impulses from one in a thousand, which also keeps all potentials above zero, to one half.
LEAST_IMPULSE, _MOST_IMPULSE, _FIRST_IMPULSE = 1e-3, 0.5, 0.05
#: Noise by which nobody is misled, as a share of the range, where there is nothing to see.
_WILD_GUESS = 0.05
#: Pairs of neighbours below which nothing is learnt, as for binary images.
_FEWEST_PAIRS = 10
#: Of the impulses one half are black or white, as salt and pepper are; the others have any value.
#: An impulse of either kind is then at most twice as likely as it is said to be.
_EXTREME = 0.5
#: Fractional values count as told apart at so many steps of their range, as those of 8 bits are.
_STEPS = 255


class Estimate(NamedTuple):
    """What was learnt; numbers that were given are as they were used."""

    noise: tuple[Any, ...]  #: the flip probability; or sigma and the share of impulses
    smoothness: tuple[Any, ...]  #: the coupling; or slope and limit of ``TruncatedLinear``
    objective: tuple[float, ...]  #: nats per pixel, at the start and after each round; it rises
    status: str  #: as in ``Restoration.learning_status``


# --- the part of a plane that is looked at --------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class Sample:
    """Hold which pieces of a plane's sides are taken, and which parts of these are counted.

    All of a small plane; of others tiles in a fixed lattice, the same for both dimensions, so that
    a picture and its transpose are sampled alike.
    """

    taken: tuple[list[slice], list[slice]]
    counted: tuple[list[slice], list[slice]]

    @classmethod
    def of(cls, shape: tuple[int, ...], most: int = MOST_PIXELS) -> Self:
        """Choose from a plane of some shape; from a small one everything.

        The shorter side comes first and leaves what it does not use to the other.
        """
        short = min((0, 1), key=lambda dimension: shape[dimension])
        room = max(TILE, math.isqrt(most))
        rest = max(TILE, most // min(shape[short], room))
        rooms = (rest, room) if short else (room, rest)
        (rows, counted_rows), (columns, counted_columns) = map(_spread, shape, rooms)
        return cls((rows, columns), (counted_rows, counted_columns))

    def take(self, plane: Any) -> Any:
        """Return the pixels taken, tile beside tile, of anything that can be sliced."""
        return _join(plane, *self.taken)

    def count(self, plane: Plane) -> Plane:
        """Return the pixels counted of those taken."""
        return _join(plane, *self.counted)


def _spread(length: int, room: int) -> tuple[list[slice], list[slice]]:
    """Spread tiles evenly along a side that is longer than there is room; return taken, counted."""
    if length <= room:
        return [slice(0, length)], [slice(0, length)]
    tiles = range(room // TILE)
    starts = [(length - TILE) * (2 * i + 1) // (2 * len(tiles)) for i in tiles]
    counted = [slice(TILE * i + _SEAM, TILE * (i + 1) - _SEAM) for i in tiles]
    return [slice(start, start + TILE) for start in starts], counted


def _join(plane: Any, rows: list[slice], columns: list[slice]) -> Any:
    """Put pieces of a plane side by side."""
    return np.concatenate([np.concatenate([plane[r, c] for c in columns], axis=1) for r in rows])


# --- the climb ------------------------------------------------------------------------------------


class Point(NamedTuple):
    """Parameters, how well they foretell, and what EM makes of the noise from here."""

    noise: tuple[Any, ...]
    pull: Any
    objective: float
    next_noise: tuple[Any, ...]


class Scale(NamedTuple):
    """How the pull of the neighbours is moved.

    ``place`` maps it, one to one, to where the objective is nearest to a parabola; ``least_gain``
    is in nats per pixel, and steps are those of the pull: so long that rounding is nothing and so
    short that a parabola is a fair likeness.
    """

    place: Callable[[float], float]
    pull: Callable[[float], float]
    least: float
    most: float
    least_step: float
    most_step: float
    least_gain: float


#: Of flips, the coupling of all neighbours together, so that 4 and 8 are moved alike. The objective
#: falls steeply to small couplings and gently to large ones; in exp(-pull) it is nearly symmetric.
#: From a pull that is nothing to one that nothing withstands; the gain is a third of a nat on
#: 128 x 128 pixels, by which nobody would tell two models apart.
_COUPLINGS = Scale(lambda p: math.exp(-p), lambda p: -math.log(p), 0.02, 8.0, 0.2, 0.6, 2e-5)
#: Of grey levels, the logarithm of the slope for a 63rd of the range, for four neighbours: from one
#: that is nothing to one at which every step is a jump. Less gain does not show in the image.
_SLOPES = Scale(float, float, math.log(0.02), math.log(3.0), 0.2, 0.5, 3e-4)


@dataclass(slots=True)
class Climb:
    """Hold a point and what may still move from it."""

    at: Callable[[tuple[Any, ...], Any], Point]
    here: Point
    scale: Scale
    moves_noise: bool
    moves_pull: bool
    step: float = math.inf

    def to_the_top(self) -> tuple[tuple[float, ...], str]:
        """Climb until it no longer rises; return the objective of each round, how it ended."""
        trace = [self.here.objective]
        for _ in range(_MOST_ROUNDS):
            there = self._next()
            if there is None:
                return tuple(trace), "CONVERGED"
            gain = there.objective - self.here.objective
            self.here = there
            trace.append(there.objective)
            if gain < self.scale.least_gain:
                return tuple(trace), "CONVERGED"
        return tuple(trace), "MAX_ROUNDS"

    def _next(self) -> Point | None:
        """Return a higher point, or None at the top.

        The noise takes EM's step. That need not rise, as what the neighbours say moves with it:
        where it does not, the noise is settled and the pull goes on alone.
        """
        noise = self.here.next_noise if self.moves_noise else self.here.noise
        pull, foretold = self._best_pull() if self.moves_pull else (self.here.pull, 0.0)
        is_flat = foretold < self.scale.least_gain
        pairs = zip(noise, self.here.noise, strict=True)
        if is_flat and not (
            self.moves_noise and any(abs(a - b) > _LEAST_MOVE * b for a, b in pairs)
        ):
            return None
        there = self.at(noise, pull)
        if there.objective <= self.here.objective and self.moves_noise:
            self.moves_noise = False
            there = self.here if is_flat else self.at(self.here.noise, pull)
        return there if there.objective > self.here.objective else None

    def _best_pull(self) -> tuple[float, float]:
        """Return the pull at the top of a parabola through three, and the rise foretold there."""
        scale, here = self.scale, self.here.pull
        step = min(self.step, scale.most_step)
        below = max(here - step, (here + scale.least) / 2)
        is_least = here - below < _NARROW * step  # then both sides are above
        sides = (here + step / 2 if is_least else below), here + step
        ends = [self.at(self.here.noise, side).objective for side in sides]
        places = [scale.place(pull) for pull in (sides[0], here, sides[1])]
        low, high = max(here - 2 * step, scale.least), min(here + 2 * step, scale.most)
        span = sorted((scale.place(low), scale.place(high)))
        place, height = find_top(places, [ends[0], self.here.objective, ends[1]], *span)
        there = scale.pull(place)
        self.step = max(abs(there - here), scale.least_step)
        return there, height - self.here.objective


def find_top(
    places: list[float], heights: list[float], low: float, high: float
) -> tuple[float, float]:
    """Return the highest place of a range on the parabola through three points, and its height.

    It is one of the ends of the range if the parabola has no top.
    """
    (a, b, c), (f, g, h) = places, heights
    first = (g - f) / (b - a)  # Newton's divided differences
    second = ((h - g) / (c - b) - first) / (c - a)

    def height(place: float) -> float:
        return f + (place - a) * (first + second * (place - b))

    if second >= 0:
        top = max(low, high, key=height)
    else:
        top = min(max((a + b - first / second) / 2, low), high)
    return top, height(top)


def _believe(field: GridField, sweeps: int, watch: Watch | None) -> PosteriorMap:
    """Return the beliefs of a field after a few flooding sweeps without momentum."""
    if watch is not None:
        watch()
    messages = messages_on(field, settings_for(field, "sum-product", 1.0, who="denoise"))
    messages.advance(sweeps)
    return messages.posterior()


# --- two values, some of them flipped -------------------------------------------------------------


def estimate_flips(
    states: npt.NDArray[np.int8],
    sample: Sample,
    *,
    flip: Any = None,
    coupling: Any = None,
    neighbours: int = 4,
    watch: Watch | None = None,
) -> Estimate:
    r"""Learn flip probability and coupling from one noisy binary plane.

    .. math:: \ell(\epsilon, J) = \frac1n \sum_i \log p(y_i \mid y_{-i})
              = -\frac1n \sum_i \log\left(\frac{1 - d_i}{1 - \epsilon} + \frac{d_i}{\epsilon}
                \right),

    where :math:`d_i` is the belief that the true pixel differs from the noisy one, by Bayes' rule
    on the one pixel. EM makes :math:`\epsilon` the mean of d.

    Parameters
    ----------
    states : ndarray of int8
        The pixels of the noisy plane that the sample takes, -1 and +1; 0 if not observed.
    sample : Sample
        Which of them count.
    flip : float, ndarray or None
        Held fixed if given, for all pixels or for each of those taken.
    coupling : float, one per axis, arrays per edge, or None
        Held fixed if given.
    neighbours : {4, 8}
        Which pixels are neighbours.
    watch : callable, optional
        Called before each run of messages; there are two to three times as many as rounds.

    Returns
    -------
    Estimate
        Alike for a plane, its inverse and its transpose. ``"NO_STRUCTURE"`` if neighbours agree no
        more often than fair coins do: the coupling is 0, and the flip probability just below one
        half. ``"TOO_SMALL"`` if there are fewer than ten pairs of neighbours: the defaults.
    """
    known, counted = states[states != 0], sample.count(states) != 0
    total = int(known.sum(dtype=np.int64))
    is_dark = total < 0 or (total == 0 and known[:1].sum() < 0)
    seen = -states if is_dark else states  # a plane and its inverse are looked at alike
    least = max(_LEAST_FLIP, _LEAST_FLIPS / max(known.size, 1))
    agreement, pairs = _products(seen, axes_of(2, neighbours), 1)
    if pairs <= _DEVIATIONS**2 or not counted.any():  # all of them could agree by chance
        guess, pull, status = DEFAULT_FLIP_PROBABILITY, DEFAULT_COUPLING * 4, "TOO_SMALL"
    elif abs(agreement) <= _DEVIATIONS * math.sqrt(pairs):
        guess, pull, status = MOST_FLIP, 0.0, "NO_STRUCTURE"
    else:
        guess = min(max(_guess_flip(seen), _EARLIEST, least), _LATEST)
        pull, status = math.copysign(DEFAULT_COUPLING * 4, agreement), ""
    noise = (guess if flip is None else np.clip(flip, _SUREST, 1 - _SUREST),)
    if status:
        return Estimate(noise, (pull / neighbours if coupling is None else coupling,), (), status)

    def at(noise: tuple[Any, ...], size: Any) -> Point:
        (e,) = noise
        strength = math.copysign(1 / neighbours, pull) * size if coupling is None else coupling
        field = GridField.ising(np.log((1 - e) / e) * seen / 2, strength, neighbours=neighbours)
        second = _believe(field, _SWEEPS, watch).of(1)
        d = sample.count(0.5 - seen * (second - 0.5))[counted]
        e = sample.count(e)[counted] if np.ndim(e) else e
        objective = -float(np.log((1 - d) / (1 - e) + d / e).mean())
        return Point(noise, size, objective, (min(max(float(d.mean()), least), MOST_FLIP),))

    climb = Climb(at, at(noise, abs(pull)), _COUPLINGS, flip is None, coupling is None)
    trace, ending = climb.to_the_top()
    if coupling is None:
        coupling = math.copysign(climb.here.pull, pull) / neighbours
    return Estimate(climb.here.noise, (coupling,), trace, ending)


def _products(states: npt.NDArray[np.int8], axes: Any, distance: int) -> tuple[int, int]:
    """Sum the products of pairs at a distance along some axes; count those observed."""
    total = pairs = 0
    for axis in axes:
        step = tuple(distance * part for part in axis)
        lower = states[lower_pixels(states.shape, step)]
        products = lower * states[upper_pixels(states.shape, step)]
        total += int(products.sum(dtype=np.int64))
        pairs += int(np.count_nonzero(products))
    return total, pairs


def _guess_flip(states: npt.NDArray[np.int8]) -> float:
    """Guess the flip probability from pairs at distances one and two.

    The mean product of noisy pairs at distance s is (1 - 2 e)^2 times that of true ones. The latter
    is near a line in s, and 1 at distance 0: so the line through two distances meets distance 0 at
    (1 - 2 e)^2.
    """
    sums = [_products(states, axes_of(2, 4), distance) for distance in (1, 2)]
    near, far = (abs(total / pairs) if pairs else 0.0 for total, pairs in sums)
    return (1 - math.sqrt(min(max(2 * near - far, 0.0), 1.0))) / 2


# --- grey levels with Gaussian noise and impulses -------------------------------------------------


def grey_levels(plane: Plane, count: int = DEFAULT_LEVELS) -> F64:
    """Spread levels evenly from the darkest value of a plane to the lightest, or to one more."""
    low, high = float(plane.min()), float(plane.max())
    return np.linspace(low, high if high > low else low + 1.0, count)


@dataclass(frozen=True, slots=True, eq=False)
class GreyValues:
    r"""Hold the different values of a plane, which one each pixel has, and the levels.

    .. math:: p(y \mid k) = (1 - \epsilon)\, N(y; l_k, \sigma^2) + \epsilon\, u(y)

    A value at either end of the levels may have been clipped and has the Gaussian's whole tail. Of
    the impulses, u, one half are at these ends (salt and pepper) and one half are anywhere. What a
    pixel says depends on its value only: tables of one row per value are all there is to compute.
    """

    values: F64
    rows: npt.NDArray[np.intp]
    levels: F64
    quantum: float
    lost: Bool | None = None  #: pixels that were not observed and say nothing

    @classmethod
    def of(cls, plane: Plane, levels: F64, lost: Bool | None = None) -> Self:
        """Sort the values of a plane; whole numbers are one apart."""
        values, rows = np.unique(plane, return_inverse=True)
        quantum = 1.0 if plane.dtype.kind in "iub" else float(levels[-1] - levels[0]) / _STEPS
        return cls(values.astype(np.float64), rows.reshape(plane.shape), levels, quantum, lost)

    @property
    def is_extreme(self) -> npt.NDArray[np.bool_]:
        """Which values are the darkest or the lightest."""
        return (self.values <= self.levels[0]) | (self.values >= self.levels[-1])

    @property
    def least_sigma(self) -> float:
        """The spread of values that are all rounded to the nearest level."""
        return float(self.levels[-1] - self.levels[0]) / (len(self.levels) - 1) / math.sqrt(12)

    def log_gaussian(self, sigma: float) -> F64:
        """Return log p(value | level) without impulses."""
        distance = (self.values[:, None] - self.levels) / sigma
        table: F64 = math.log(self.quantum / (math.sqrt(2 * math.pi) * sigma)) - 0.5 * distance**2
        half = self.quantum / (2 * sigma)
        dark, light = self.values <= self.levels[0], self.values >= self.levels[-1]
        table[dark] = scipy.special.log_ndtr((self.levels[0] - self.levels) / sigma + half)
        table[light] = scipy.special.log_ndtr((self.levels - self.levels[-1]) / sigma + half)
        return table

    def log_table(self, sigma: float, impulse: float) -> F64:
        """Return log p(value | level)."""
        spread = self.quantum / (self.levels[-1] - self.levels[0] + self.quantum)
        anything = (1 - _EXTREME) * spread + np.where(self.is_extreme, _EXTREME / 2, 0.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            shares = np.log1p(-impulse), np.log(impulse * anything)
            return np.logaddexp(shares[0] + self.log_gaussian(sigma), shares[1][:, None])

    def log_potentials(self, sigma: float, impulse: float) -> npt.NDArray[np.float32]:
        """Return log p(value | level) for each pixel; finite if there are impulses."""
        return self.of_pixels(self.log_table(sigma, impulse))

    def of_pixels(self, logs: F64) -> npt.NDArray[np.float32]:
        """Return for each pixel its row of a table of logs; zeros where nothing was observed."""
        with np.errstate(over="ignore"):
            found = logs.astype(np.float32)[self.rows]
        if self.lost is not None:
            found[self.lost] = 0
        return found

    def guess_sigma(self) -> float:
        """Guess the noise from second differences, of which smooth pictures have few.

        Those of independent noise have variance 6 sigma^2, and the median of a Gaussian's magnitude
        is 0.6745 of its standard deviation. Triples with an extreme are left out, as these may be
        clipped or impulses.
        """
        plane = np.where(self.is_extreme, np.nan, self.values)[self.rows]
        if self.lost is not None:
            plane[self.lost] = np.nan
        sizes = np.concatenate([np.abs(np.diff(plane, 2, axis)).ravel() for axis in (0, 1)])
        sizes = sizes[~np.isnan(sizes)]
        if not sizes.size:
            return _WILD_GUESS * float(self.levels[-1] - self.levels[0])
        return max(float(np.median(sizes)) / (0.6745 * math.sqrt(6)), self.least_sigma)


def estimate_grey(  # noqa: PLR0913 - one for each parameter that may be given
    plane: Plane,
    levels: F64,
    *,
    sigma: float | None = None,
    impulse: float | None = None,
    slope: float | None = None,
    neighbours: int = 4,
    lost: Bool | None = None,
    watch: Watch | None = None,
) -> Estimate:
    r"""Learn noise and smoothness from one noisy grey plane.

    .. math:: \ell = \frac1n \sum_i \log p(y_i \mid y_{-i})
                   = -\frac1n \sum_i \log \sum_k \frac{b_i(k)}{\phi_i(k)}

    where b are the beliefs of the levels. The slope is held near a usual one. A jump costs 3.2 nats
    at most, shared out among the neighbours: ``limit`` is that over the slope.

    Parameters
    ----------
    plane : ndarray of shape (H, W)
        Noisy values.
    levels : ndarray of shape (K,)
        Increasing, as of ``grey_levels``.
    sigma, impulse, slope : float or None
        Held fixed if given.
    neighbours : {4, 8}
        Which pixels are neighbours.
    lost : ndarray of bool, optional
        Which pixels were not observed.
    watch : callable, optional
        Called before each run of messages; there are three times as many as rounds.

    Returns
    -------
    Estimate
        ``"GIVEN"`` if there was nothing to learn. ``"NO_STRUCTURE"`` if neighbours are hardly more
        alike than pixels far apart. ``"TOO_SMALL"`` if there are fewer than ten pairs of
        neighbours: the defaults.
    """
    unit = (len(levels) - 1) / 63 * neighbours / 4
    if impulse is not None:
        impulse = min(max(impulse, LEAST_IMPULSE), 1 - LEAST_IMPULSE)

    def smooth(pull: float) -> tuple[float, float]:
        steep = math.exp(pull) / unit if slope is None else slope
        return steep, JUMP * 4 / neighbours / steep

    usual = math.log(DEFAULT_SLOPE)
    if sigma is not None and impulse is not None and slope is not None:
        return Estimate((sigma, impulse), smooth(usual), (), "GIVEN")
    sample = Sample.of(plane.shape, _MOST_GREY)
    seen = GreyValues.of(sample.take(plane), levels, None if lost is None else sample.take(lost))
    first = seen.guess_sigma() if sigma is None else sigma
    known = sample.count(np.ones(seen.rows.shape, np.bool_) if seen.lost is None else ~seen.lost)
    pairs = known[1:] & known[:-1], known[:, 1:] & known[:, :-1]
    if sum(map(np.count_nonzero, pairs)) < _FEWEST_PAIRS:
        quiet = LEAST_IMPULSE if impulse is None else impulse
        return Estimate((first, quiet), smooth(usual), (), "TOO_SMALL")
    rows = sample.count(seen.rows)[known]

    def at(noise: tuple[Any, ...], pull: float) -> Point:
        table = np.exp(seen.log_table(*noise))
        logs = seen.of_pixels(np.log(table))
        field = GridField(logs, TruncatedLinear(*smooth(pull)), neighbours=neighbours)
        chances = sample.count(_believe(field, _GREY_SWEEPS, watch).probabilities)[known]
        objective = -float(np.log(_sums(chances, (1 / table)[rows])).mean())
        held = _HOLD * (pull - usual) ** 2 / 2
        step = _em_step(seen, noise, chances, rows)
        step = step[0] if sigma is None else sigma, step[1] if impulse is None else impulse
        return Point(noise, pull, objective - held, step)

    noise = first, _FIRST_IMPULSE if impulse is None else impulse
    climb = Climb(at, at(noise, usual), _SLOPES, sigma is None or impulse is None, slope is None)
    trace, ending = climb.to_the_top()
    status = "NO_STRUCTURE" if climb.here.pull <= _SLOPES.least else ending
    return Estimate(climb.here.noise, smooth(climb.here.pull), trace, status)


def _em_step(
    seen: GreyValues, noise: tuple[Any, ...], chances: Plane, rows: npt.NDArray[np.intp]
) -> tuple[float, float]:
    """Take EM's step: the spread of what is Gaussian, and the share of what is not.

    Clipped values are left out of the spread: nobody knows how far out they were.
    """
    sigma, impulse = noise
    share = (1 - impulse) * np.exp(seen.log_gaussian(sigma)) / np.exp(seen.log_table(*noise))
    inside = share * ~seen.is_extreme[:, None]
    squares = (seen.values[:, None] - seen.levels) ** 2
    weight = float(_sums(chances, inside[rows]).sum())
    spread = float(_sums(chances, (inside * squares)[rows]).sum()) / max(weight, 1e-300)
    impulses = 1 - float(_sums(chances, share[rows]).sum()) / rows.size
    return (
        max(math.sqrt(spread), seen.least_sigma) if weight else sigma,
        min(max(impulses, LEAST_IMPULSE), _MOST_IMPULSE),
    )


def _sums(chances: Plane, table: F64) -> F64:
    """Sum products over the levels."""
    return np.einsum("...k,...k->...", chances, table)
