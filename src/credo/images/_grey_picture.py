"""A noisy grey picture to learn from: how well its pixels are foretold, and what EM makes of it."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self, TypeAlias

import numpy as np
import numpy.typing as npt

from credo._types import F64
from credo.images._estimate_climb import Point
from credo.images._estimate_sample import Sample
from credo.images._grey_nodes import GreyNodes

#: Log potentials, slope, limit and sweeps make the probabilities of the levels, pixel by pixel.
GreyBeliefs: TypeAlias = Callable[[npt.NDArray[np.float32], float, float, int], npt.NDArray[Any]]

#: Flooding sweeps without momentum. Before the fourth, nothing that a pixel said can have come back
#: to it, and in the fourth only round one square; more cost time and choose no better.
_SWEEPS = 4
#: Nine tiles: enough for the noise to one in a hundred, as sums over many levels take long.
_MOST_PIXELS = 9 * 32 * 32
#: Impulses from one in a thousand, which also keeps all potentials above zero, to one half.
LEAST_IMPULSE, MOST_IMPULSE = 1e-3, 0.5


@dataclass(frozen=True, slots=True, eq=False)
class GreyPicture:
    """Hold the sampled values of a plane, and what is given of the noise."""

    nodes: GreyNodes
    beliefs: GreyBeliefs
    sample: Sample
    given: tuple[float | None, float | None]

    @classmethod
    def of(
        cls,
        plane: npt.NDArray[Any],
        levels: F64,
        beliefs: GreyBeliefs,
        given: tuple[float | None, float | None],
    ) -> Self:
        """Sample a plane."""
        sample = Sample.of(plane.shape, _MOST_PIXELS)
        return cls(GreyNodes.of(sample.take(plane), levels), beliefs, sample, given)

    @property
    def least_sigma(self) -> float:
        """The spread of values that are all rounded to the nearest level."""
        levels = self.nodes.levels
        return float(levels[-1] - levels[0]) / (len(levels) - 1) / math.sqrt(12)

    def at(self, noise: tuple[Any, ...], slope: float, limit: float) -> Point:
        """Foretell each pixel from the others, and give the mean log probability of what is seen.

        With b the beliefs of the levels, Bayes' rule on the one pixel gives p(y | others) =
        1 / sum_k b_k / p(y | k), and its Gaussian share is the sum of b_k times that of p(y | k).
        """
        table = self.nodes.table(*noise)
        logs = np.log(table).astype(np.float32)[self.nodes.rows]
        chances = self.sample.count(self.beliefs(logs, slope, limit, _SWEEPS))
        rows = self.sample.count(self.nodes.rows)
        odds = _sums(chances, (1 / table)[rows])
        return Point(noise, None, -float(np.log(odds).mean()), self._next(noise, chances, rows))

    def _next(
        self, noise: tuple[Any, ...], chances: npt.NDArray[Any], rows: npt.NDArray[np.intp]
    ) -> tuple[float, float]:
        """Take EM's step: the spread of what is Gaussian, and the share of what is not.

        Clipped values are left out of the spread: nobody knows how far out they were.
        """
        sigma, impulse = noise
        share = (1 - impulse) * self.nodes.gaussian(sigma) / self.nodes.table(sigma, impulse)
        is_seen = ~np.isnan(self.nodes.values)
        share[~is_seen] = 0.0
        is_inside = (is_seen & ~self.nodes.is_extreme)[:, None]
        squares = (np.where(is_seen, self.nodes.values, 0.0)[:, None] - self.nodes.levels) ** 2
        inside = share * is_inside
        weight = float(_sums(chances, inside[rows]).sum())
        spread = float(_sums(chances, (inside * squares)[rows]).sum()) / max(weight, 1e-300)
        n_seen = max(int(is_seen[rows].sum()), 1)
        impulses = 1 - float(_sums(chances, share[rows]).sum()) / n_seen
        found = (
            max(math.sqrt(spread), self.least_sigma) if weight else sigma,
            min(max(impulses, LEAST_IMPULSE), MOST_IMPULSE),
        )
        return tuple(
            new if old is None else old for new, old in zip(found, self.given, strict=True)
        )  # type: ignore[return-value]  # zip forgets that they are two

    def first_sigma(self) -> float:
        r"""Guess the noise from second differences, of which smooth pictures have few.

        Those of independent noise have variance 6 sigma^2, and the median of a Gaussian's
        magnitude is 0.6745 of its standard deviation. Triples with an extreme are left out, as
        these may be clipped or impulses.
        """
        values, is_extreme = (
            self.nodes.values[self.nodes.rows],
            self.nodes.is_extreme[self.nodes.rows],
        )
        values = np.where(is_extreme, np.nan, values)
        magnitudes = np.concatenate(
            [np.abs(np.diff(values, 2, axis)).ravel() for axis in range(values.ndim)]
        )
        magnitudes = magnitudes[~np.isnan(magnitudes)]
        if not magnitudes.size:
            return _WILD_GUESS * float(self.nodes.levels[-1] - self.nodes.levels[0])
        return max(float(np.median(magnitudes)) / (0.6745 * math.sqrt(6)), self.least_sigma)


#: Noise by which nobody is misled, as a share of the range, where there is nothing to see.
_WILD_GUESS = 0.05


def _sums(chances: npt.NDArray[Any], table: F64) -> F64:
    """Sum products over the levels."""
    return np.einsum("...k,...k->...", chances, table)
