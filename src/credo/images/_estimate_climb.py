"""Climb to the flip probability and the coupling that foretell each pixel best."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

#: The flip probability stays below this: at one half a pixel says nothing about the picture.
MOST_FLIP = 0.49
#: Stop when a round gains less than this, in nats per pixel: of a 128 x 128 picture a third of a
#: nat in all, by which nobody would tell two models apart.
_LEAST_GAIN = 2e-5
#: Stop when the flip probability moves by less than this share of itself: ten times less than it
#: can be known from a 128 x 128 picture.
_LEAST_MOVE = 0.01
#: Rounds at most. From 5 to 40 % of flips pictures need four; the hundredth part and less take
#: more, as EM creeps where it has little to see.
MOST_ROUNDS = 9
#: How far to look to both sides, for all neighbours together: so far that rounding is nothing and
#: so near that a parabola is a fair likeness.
_LEAST_STEP, _MOST_STEP = 0.2, 0.6
#: A pull by neighbours that all agree that is nothing, and one that nothing withstands.
_LEAST_COUPLING, _MOST_COUPLING = 0.02, 8.0


class Point(NamedTuple):
    """A pair of parameters, the objective there, and what EM makes of the flip probability."""

    flip: Any
    coupling: Any
    objective: float
    differing: float


@dataclass(slots=True)
class Climb:
    """Hold a place and what may still move from it.

    Inside, coupling and step are those of all neighbours together, so that they are alike for 4 and
    for 8 of them.
    """

    at: Callable[[Any, Any], Point]
    here: Point
    neighbours: int
    least_flip: float
    moves_flip: bool
    moves_coupling: bool
    step: float = _MOST_STEP

    def to_the_top(self) -> tuple[tuple[float, ...], Literal["CONVERGED", "MAX_ROUNDS"]]:
        """Climb until it no longer rises; give the objective of each round, and how it ended."""
        trace = [self.here.objective]
        for _ in range(MOST_ROUNDS):
            there = self._next()
            if there is None:
                return tuple(trace), "CONVERGED"
            gain = there.objective - self.here.objective
            self.here = there
            trace.append(there.objective)
            if gain < _LEAST_GAIN:
                return tuple(trace), "CONVERGED"
        return tuple(trace), "MAX_ROUNDS"

    def _next(self) -> Point | None:
        """Give a higher point, or None at the top.

        The flip probability takes EM's step. That need not rise, as the cavities move with it:
        where it does not, the flip probability is settled and the coupling goes on alone.
        """
        flip, coupling = self._flip(), self.here.coupling
        foretold = 0.0
        if self.moves_coupling:
            coupling, foretold = self._coupling()
        if foretold < _LEAST_GAIN and not self._moved(flip):
            return None
        there = self.at(flip, coupling)
        if there.objective <= self.here.objective and self.moves_flip:
            self.moves_flip = False
            there = self.at(self.here.flip, coupling) if foretold >= _LEAST_GAIN else self.here
        return there if there.objective > self.here.objective else None

    def _flip(self) -> Any:
        """Give the mean probability that a pixel was flipped."""
        if not self.moves_flip:
            return self.here.flip
        return min(max(self.here.differing, self.least_flip), MOST_FLIP)

    def _moved(self, flip: Any) -> bool:
        """Tell whether a flip probability is elsewhere."""
        return self.moves_flip and abs(flip - self.here.flip) > _LEAST_MOVE * self.here.flip

    def _coupling(self) -> tuple[float, float]:
        """Give the coupling at the top of a parabola, and the rise foretold.

        The objective falls steeply to small couplings J and gently to large ones; in u = exp(-J)
        it is nearly symmetric, so the parabola is in u.
        """
        sign = -1 if self.here.coupling < 0 else 1
        here = abs(self.here.coupling) * self.neighbours
        sides = max(here - self.step, here / 2), here + self.step
        ends = [self.at(self.here.flip, sign * side / self.neighbours).objective for side in sides]
        parabola = Parabola(
            (math.exp(-sides[0]), math.exp(-here), math.exp(-sides[1])),
            (ends[0], self.here.objective, ends[1]),
        )
        top = parabola.top()
        low = max(here - 2 * self.step, _LEAST_COUPLING)
        high = min(here + 2 * self.step, _MOST_COUPLING)
        there = min(max(-math.log(top) if top > 0 else math.inf, low), high)
        self.step = min(max(abs(there - here), _LEAST_STEP), _MOST_STEP)
        return sign * there / self.neighbours, parabola(math.exp(-there)) - self.here.objective


class Parabola(NamedTuple):
    """Three places, from right to left, and the heights there."""

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

    def top(self) -> float:
        """Give the place of the top; far out on the higher side if there is none."""
        first, second = self._rates()
        if second < 0:
            return (self.places[0] + self.places[1] - first / second) / 2
        return math.inf if self.heights[0] >= self.heights[2] else -math.inf
