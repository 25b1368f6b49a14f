"""Climb to the parameters that foretell each pixel best: noise by EM, smoothness by a parabola."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, TypeAlias

#: How a climb can end.
Ending: TypeAlias = Literal["CONVERGED", "MAX_ROUNDS"]

#: Stop when no parameter of the noise moves by more than this share of itself: ten times less than
#: the tenth of a flip probability is known to from a 128 x 128 picture.
_LEAST_MOVE = 0.01
#: A place nearer to the least pull than this share of a step is taken for it.
_NARROW = 1e-3
#: Rounds at most. From 5 to 40 % of flips, pictures need four; where EM has little to see it
#: creeps, and what more rounds would bring is not worth their time.
MOST_ROUNDS = 9


class Point(NamedTuple):
    """Parameters, how well they foretell, and what EM makes of the noise from here."""

    noise: tuple[Any, ...]
    pull: Any
    objective: float
    next_noise: tuple[Any, ...]


class Scale(NamedTuple):
    """How the pull of the neighbours is moved.

    ``place`` maps it, one to one, to where the objective is nearest to a parabola; ``least_gain``
    is in nats per pixel, and steps are those of the pull.
    """

    place: Callable[[float], float]
    pull: Callable[[float], float]
    least: float
    most: float
    least_step: float
    most_step: float
    least_gain: float


@dataclass(slots=True)
class Climb:
    """Hold a point and what may still move from it."""

    at: Callable[[tuple[Any, ...], Any], Point]
    here: Point
    scale: Scale
    moves_noise: bool
    moves_pull: bool
    step: float = math.inf

    def to_the_top(self) -> tuple[tuple[float, ...], Ending]:
        """Climb until it no longer rises; give the objective of each round, and how it ended."""
        trace = [self.here.objective]
        for _ in range(MOST_ROUNDS):
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
        """Give a higher point, or None at the top.

        The noise takes EM's step. That need not rise, as what the neighbours say moves with it:
        where it does not, the noise is settled and the pull goes on alone.
        """
        noise = self.here.next_noise if self.moves_noise else self.here.noise
        pull, foretold = self._best_pull() if self.moves_pull else (self.here.pull, 0.0)
        is_flat = foretold < self.scale.least_gain
        if is_flat and not self._moved(noise):
            return None
        there = self.at(noise, pull)
        if there.objective <= self.here.objective and self.moves_noise:
            self.moves_noise = False
            there = self.here if is_flat else self.at(self.here.noise, pull)
        return there if there.objective > self.here.objective else None

    def _moved(self, noise: tuple[Any, ...]) -> bool:
        """Tell whether the noise is elsewhere."""
        pairs = zip(noise, self.here.noise, strict=True)
        return self.moves_noise and any(abs(a - b) > _LEAST_MOVE * b for a, b in pairs)

    def _best_pull(self) -> tuple[float, float]:
        """Give the pull at the top of a parabola through three, and the rise foretold there."""
        scale, here = self.scale, self.here.pull
        step = min(self.step, scale.most_step)
        below = max(here - step, (here + scale.least) / 2)
        is_least = here - below < _NARROW * step  # then both sides are above
        sides = (here + step / 2 if is_least else below), here + step
        ends = [self.at(self.here.noise, side).objective for side in sides]
        parabola = Parabola(
            (scale.place(sides[0]), scale.place(here), scale.place(sides[1])),
            (ends[0], self.here.objective, ends[1]),
        )
        low, high = max(here - 2 * step, scale.least), min(here + 2 * step, scale.most)
        ordered = sorted((scale.place(low), scale.place(high)))
        there = scale.pull(parabola.top(*ordered))
        self.step = max(abs(there - here), scale.least_step)
        return there, parabola(scale.place(there)) - self.here.objective


class Parabola(NamedTuple):
    """Three places and the heights there."""

    places: tuple[float, float, float]
    heights: tuple[float, float, float]

    def _rates(self) -> tuple[float, float]:
        """Give the divided differences of Newton's form."""
        (a, b, c), (f, g, h) = self.places, self.heights
        first = (g - f) / (b - a)
        return first, ((h - g) / (c - b) - first) / (c - a)

    def __call__(self, place: float) -> float:
        """Give the height at a place."""
        first, second = self._rates()
        (a, b, _), start = self.places, self.heights[0]
        return start + (place - a) * (first + second * (place - b))

    def top(self, low: float, high: float) -> float:
        """Give the highest place of a range; one of its ends if the parabola has no top."""
        first, second = self._rates()
        if second >= 0:
            return max(low, high, key=self.__call__)
        return min(max((self.places[0] + self.places[1] - first / second) / 2, low), high)
