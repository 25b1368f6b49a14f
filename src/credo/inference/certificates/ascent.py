"""Coordinate ascent on a lower bound of log Z, from a start without zero cells."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, replace

import numpy as np

from credo._types import F64
from credo._validation.arrays import as_number, positive_int
from credo.exceptions import InputError
from credo.inference.certificates.blocks import Blocking
from credo.inference.certificates.dual import EPS
from credo.inference.certificates.forests import room_for
from credo.inference.certificates.joints import joints_of
from credo.inference.certificates.reduction import Flags, Reduced, digits, states_of
from credo.inference.question import Answer, Callback

#: Random orders in which states are dropped, before giving up on a start without zero cells.
_ATTEMPTS = 20
#: Breaks ties at a start between states that look alike, and keeps unlikely states in play.
_LEAST = 1e-2


@dataclass(frozen=True, slots=True, eq=False)
class Effort:
    """How long to climb, and from how many starts."""

    sweeps: int
    tolerance: float
    restarts: int
    seed: int
    callback: Callback | None

    def counted(self) -> Effort:
        """Count the sweeps of all starts as those of one run."""
        count, callback = itertools.count(1), self.callback
        if callback is None:
            return self
        return replace(self, callback=lambda _, residual: callback(next(count), residual))


def as_effort(
    sweeps: int, tolerance: float, restarts: int, seed: int, callback: Callback | None, who: str
) -> Effort:
    """Check the settings of an ascent."""
    if as_number(tolerance, who, "tolerance") < 0:
        raise InputError(f"The tolerance of {who} must be at least 0. Got {tolerance}.")
    if callback is not None and not callable(callback):
        raise InputError(f"The callback of {who} must be a function of sweep and residual.")
    return Effort(
        positive_int(sweeps, who, "sweeps"),
        float(tolerance),
        positive_int(restarts, who, "restarts"),
        positive_int(seed, who, "seed", least=0),
        callback,
    ).counted()


@dataclass(frozen=True, slots=True, eq=False)
class Ascent:
    """Where an ascent has ended."""

    blocking: Blocking
    value: float  #: the lower bound, as computed
    rounding: float  #: how far rounding may have moved it
    marginals: F64
    beliefs: F64  #: of the edges of the forests
    bounds: F64  #: the value after each sweep
    residuals: F64
    settled: bool

    @property
    def log_z(self) -> float:
        """The lower bound, lowered by what rounding may have added."""
        return float(np.nextafter(self.value - self.rounding, -np.inf))


class Climber:
    """Blocks of variables whose distributions are improved in turn."""

    def __init__(self, blocking: Blocking) -> None:
        self.blocking = blocking
        self._room = room_for(blocking.graph)
        parts = np.diff(blocking.factors.part_start)
        arity = int(np.diff(blocking.factors.scope_start).max(initial=0))
        self._room = self._room._replace(digit=np.zeros(arity + 1, np.int64))
        self._index = np.zeros(int(parts.max(initial=0)) + 1, np.int64)
        n_states = len(blocking.reduced.unary)
        self._scratch = np.empty(n_states), np.zeros(len(self._room.belief)), np.empty(n_states)

    def start_from(self, unary: F64) -> bool:
        """Begin with blocks that have these unary logs, alone with the factors inside them."""
        from credo._kernels.mean_field import begin_blocks  # noqa: PLC0415 - loads Numba

        cut = self.blocking
        self._scratch[1][:] = 0.0
        rest = self._room, self._scratch[1]
        return bool(begin_blocks(cut.factors, cut.blocks, cut.graph, unary, *rest))

    def start_at(self, marginals: F64) -> None:
        """Begin with independent variables that have these marginals."""
        from credo._kernels.mean_field import independent  # noqa: PLC0415

        self._room.marginal[:] = marginals
        independent(self.blocking.graph, self._room)

    def climb(self, effort: Effort) -> Ascent:
        """Sweep until no marginal changes by more than the tolerance, or sweeps run out."""
        from credo._kernels.mean_field import sweep  # noqa: PLC0415

        cut, room = self.blocking, self._room
        values, residuals = [], []
        settled = False
        for number in range(1, effort.sweeps + 1):
            given = cut.factors, cut.blocks, cut.graph, cut.reduced.unary
            change = float(sweep(*given, room, self._index, *self._scratch))
            value, wear = self._value()
            values.append(value)
            residuals.append(change)
            if effort.callback is not None:
                effort.callback(number, change)
            if change <= effort.tolerance:
                settled = True
                break
        rounding = EPS * (wear + cut.reduced.wear + 4 * abs(values[-1]))
        return Ascent(
            blocking=cut,
            value=values[-1],
            rounding=rounding,
            marginals=room.marginal.copy(),
            beliefs=room.belief.copy(),
            bounds=np.array(values),
            residuals=np.array(residuals),
            settled=settled,
        )

    def _value(self) -> tuple[float, float]:
        """Give the lower bound where the blocks are now, and its wear."""
        from credo._kernels.mean_field import lower_bound  # noqa: PLC0415

        cut = self.blocking
        given = cut.factors, cut.graph, cut.reduced.unary, self._room, self._index
        value, wear = lower_bound(*given)
        return float(value) + cut.reduced.constant, float(wear)


def climb_from_boxes(
    blocking: Blocking, guide: F64, effort: Effort, rng: np.random.Generator
) -> Ascent | None:
    """Climb from several starts and keep the highest; None if none is possible.

    The first start is near ``guide``, marginals that tell likely states; the others are random.
    """
    best: Ascent | None = None
    climber = Climber(blocking)
    for start in range(effort.restarts):
        noise = rng.standard_normal(len(guide))
        score = guide * np.exp(noise) if start else guide
        states = box(blocking, score, rng)
        if states is None:
            continue
        with np.errstate(divide="ignore"):
            logs = 2.0 * noise if start else np.log(guide + _LEAST) + _LEAST * noise
            climber.start_from(logs + np.log(states))
        found = climber.climb(effort)
        if best is None or found.value > best.value:
            best = found
    return best


def box(blocking: Blocking, score: F64, rng: np.random.Generator) -> Flags | None:
    """Find states of all variables such that no factor between blocks has a zero cell; or None.

    States of least score go first; after a failure scores are multiplied by random numbers.
    """
    from credo._kernels.supports import shrink  # noqa: PLC0415

    reduced = blocking.reduced
    tables, crossing = reduced.tables(), blocking.crossing
    for attempt in range(_ATTEMPTS):
        alive = np.ones(len(reduced.unary), np.uint8)
        noise = np.exp(rng.standard_normal(len(score))) if attempt else 1.0
        if shrink(tables, states_of(tables, alive), crossing, score * noise, digits(tables)):
            return alive
    return None


def as_answer(reduced: Reduced, found: Ascent | None, guide: F64) -> Answer:
    """Word the outcome for the door.

    Without a start that has no zero cells the bound is minus infinity: it is given as a function,
    so that it is not taken for a proof that nothing is possible.
    """
    if found is None:
        beliefs = replace(reduced.beliefs(guide, 0.0), log_z=None)
        return Answer(beliefs, "MAX_SWEEPS", math.nan, "LOWER_BOUND", find_log_z=lambda: -math.inf)
    blocking = found.blocking
    exact = not len(blocking.crossing)
    log_z = found.value if exact else found.log_z
    return Answer(
        beliefs=reduced.beliefs(found.marginals, log_z),
        status="EXACT" if exact else "CONVERGED" if found.settled else "MAX_SWEEPS",
        log_z=log_z,
        log_z_is="EXACT" if exact else "LOWER_BOUND",
        residuals=found.residuals,
        updates=len(found.residuals) * (len(blocking.blocks.member_start) - 1),
        joints=joints_of(reduced, blocking.graph, found.marginals, found.beliefs, blocking.block),
        details={"bounds": found.bounds, "rounding": found.rounding},
    )
