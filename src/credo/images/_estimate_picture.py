"""A noisy binary picture to learn from: how pairs agree, and how well pixels are foretold."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, Self, TypeAlias

import numpy as np
import numpy.typing as npt

from credo._types import F64
from credo._validation.arrays import as_finite
from credo.exceptions import InputError, ShapeError
from credo.graphs.grid_coordinates import axes_of, lower_pixels, neighbours_in, upper_pixels
from credo.images._estimate_climb import Point
from credo.images._estimate_sample import Sample

#: Log odds of the second state, coupling, sweeps and momentum make its probability, pixel by pixel.
Beliefs: TypeAlias = Callable[[F64, Any, int, float], npt.NDArray[Any]]

#: Flooding sweeps without momentum. In so few, hardly anything that a pixel said has come back to
#: it, so that what its neighbours foretell is not its own echo; with more, nothing gets better.
_SWEEPS, _MOMENTUM = 6, 1.0
#: No estimate is surer than one flip in ten thousand, nor than half a flip in the picture; and none
#: reaches one half, where a pixel says nothing.
_LEAST_FLIP, _LEAST_FLIPS, MOST_FLIP = 1e-4, 0.5, 0.49
#: Given probabilities are taken as no surer than this, so that their logarithms are numbers.
_SUREST = 1e-6


class Agreement(NamedTuple):
    """The sum of the products of pairs of pixels, and how many pairs there are."""

    total: int
    pairs: int

    @property
    def mean(self) -> float:
        """The mean product, 0 of no pairs."""
        return self.total / self.pairs if self.pairs else 0.0


@dataclass(frozen=True, slots=True, eq=False)
class NoisyPicture:
    """Hold the sampled states, and the given flip probabilities of these pixels or None."""

    states: npt.NDArray[np.int8]
    beliefs: Beliefs
    neighbours: int
    sample: Sample
    given: Any
    least_flip: float

    @classmethod
    def of(cls, states: Any, beliefs: Beliefs, flips: Any, coupling: Any, neighbours: Any) -> Self:
        """Check and sample a picture; with a coupling for each edge it is taken whole."""
        who = "estimate_flips"
        if states.ndim not in (2, 3) or not states.size:
            raise ShapeError(
                f"{who} needs the states of at least one pixel in two or three dimensions. Got "
                f"shape {states.shape}."
            )
        if not (np.abs(states) == 1).all():
            raise InputError(f"{who} needs states of -1 and +1 only. Code the image first.")
        count = neighbours_in(states.ndim, neighbours, who)
        is_per_edge = np.iterable(coupling) and any(np.ndim(strength) for strength in coupling)
        sample = Sample(None, None) if is_per_edge else Sample.of(states.shape)
        given = None if flips is None else _checked(flips, states.shape, who)
        if given is not None and given.ndim:
            given = sample.take(given)
        seen = sample.take(states)
        least = max(_LEAST_FLIP, _LEAST_FLIPS / seen.size)
        return cls(-seen if _is_dark(seen) else seen, beliefs, count, sample, given, least)

    def at(self, noise: tuple[Any, ...], coupling: Any) -> Point:
        """Foretell each pixel from the others, and give the mean log probability of what is seen.

        With d the belief that a pixel differs from what is seen, Bayes' rule on the one pixel
        gives p(y | others) = 1 / ((1 - d) / (1 - e) + d / e). EM makes e the mean of d.
        """
        (flip,) = noise
        second = self.beliefs(np.log((1 - flip) / flip) * self.states, coupling, _SWEEPS, _MOMENTUM)
        differing = self.sample.count(0.5 - self.states * (second - 0.5))
        e = self.sample.count(flip) if np.ndim(flip) else flip
        odds = (1 - differing) / (1 - e) + differing / e
        mean = min(max(float(differing.mean()), self.least_flip), MOST_FLIP)
        return Point(noise, coupling, -float(np.log(odds).mean()), (mean,))

    def agreement(self) -> Agreement:
        """Tell how much neighbours agree."""
        return self._products(axes_of(self.states.ndim, self.neighbours), 1)

    def nugget(self) -> float:
        """Guess the flip probability from pairs at distances one and two.

        The mean product of noisy pairs at distance s is (1 - 2 e)^2 times that of true ones. The
        latter is near a line in s, and 1 at distance 0: so the line through two distances meets
        distance 0 at (1 - 2 e)^2.
        """
        fewest = axes_of(self.states.ndim, neighbours_in(self.states.ndim, None, ""))
        near, far = (abs(self._products(fewest, distance).mean) for distance in (1, 2))
        return (1 - math.sqrt(min(max(2 * near - far, 0.0), 1.0))) / 2

    def _products(self, axes: Any, distance: int) -> Agreement:
        """Multiply all pairs at a distance along some axes."""
        total = pairs = 0
        for axis in axes:
            step = tuple(distance * part for part in axis)
            lower = self.states[lower_pixels(self.states.shape, step)]
            upper = self.states[upper_pixels(self.states.shape, step)]
            total += int((lower * upper).sum(dtype=np.int64))
            pairs += lower.size
        return Agreement(total, pairs)


def _is_dark(states: npt.NDArray[np.int8]) -> bool:
    """Tell whether -1 prevails, so that an image and its inverse are looked at alike."""
    total = int(states.sum(dtype=np.int64))
    return total < 0 or (total == 0 and int(states.flat[0]) < 0)


def _checked(flips: Any, shape: tuple[int, ...], who: str) -> F64:
    """Check given flip probabilities, one or one per pixel, and keep them off certainty."""
    array = as_finite(flips, who, "flip_probability")
    if array.ndim and array.shape != shape:
        raise ShapeError(
            f"The flip_probability of {who} must be one number, or one per pixel, {shape}. Got "
            f"shape {array.shape}."
        )
    if array.min() < 0 or array.max() > 1:
        raise InputError(f"The flip_probability of {who} must be between 0 and 1.")
    return np.clip(array, _SUREST, 1 - _SUREST)
