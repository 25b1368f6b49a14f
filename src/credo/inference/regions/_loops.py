"""Two ways to a fixed point: one loop, and the convergent one of loops inside a loop."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from credo._types import F64
from credo.inference.regions._course import Course
from credo.inference.regions._messages import RegionMessages
from credo.inference.regions.graph import RegionGraph

#: Relaxations that are tried one after the other, then momenta.
RELAXATIONS = (0.0, 0.5, 1.0, 1.5)
LEAST_MOMENTUM = 1 / 16
#: Sweeps in which the residual has to fall, for relaxations below one and from one on. Measured: a
#: smaller momentum seldom helps then, and residuals rest while borders of ordered parts move.
PATIENCE = (20, 100)
#: An inner loop ends when its beliefs disagree by this share of what the last loop has gained, in
#: nats, and of a ten-thousandth at most. Measured: two sweeps per loop; a smaller share costs more
#: sweeps and saves no loops.
INNER_SHARE = 0.1
MOST_LEFT = 1e-4


@dataclass
class Caution:
    """How carefully the single loop steps.

    Relaxed counting numbers are c + relaxation (max(c, 0) - c): the rest of a negative number is
    taken at the last belief. At relaxation one, inner regions are counted as in the convex bound
    of the double loop. Measured on grids and on random, complete and bipartite graphs of couplings
    from 0.3 to 2: nested inner regions need one, and 1.5 if some are counted below -1, or beliefs
    end at maxima of the free energy, or circle. Single variables converge with less.
    """

    relaxation: float
    momentum: float

    @property
    def patience(self) -> int:
        """Sweeps to wait for a smaller residual."""
        return PATIENCE[self.relaxation >= 1.0]

    def grow(self) -> bool:
        """Be more careful; False if there is no way to be."""
        if self.relaxation < RELAXATIONS[-1]:
            self.relaxation = next(r for r in RELAXATIONS if r > self.relaxation)
        elif self.momentum > LEAST_MOMENTUM:
            self.momentum /= 2
        else:
            return False
        return True

    def numbers(self, counting: F64, repeats: F64) -> F64:
        """Give the counting numbers to divide by, so that no divisor is below one."""
        relaxed = counting + self.relaxation * (np.maximum(counting, 0.0) - counting)
        return np.asarray(np.maximum(relaxed, 1.0 - repeats))


def run_one_loop(
    messages: RegionMessages,
    course: Course,
    *,
    sweeps: int,
    tolerance: float,
    momentum: float | None,
) -> Caution:
    """Sweep to and fro until the beliefs agree; with no momentum given, by growing caution."""
    graph = messages.graph
    counting, repeats = graph.counting.astype(float), graph.repeats.astype(float)
    caution = Caution(_first_relaxation(graph), momentum or 1.0)
    numbers = caution.numbers(counting, repeats)
    for i in range(sweeps):
        residual = messages.sweep(numbers, caution.momentum, backward=i % 2 == 1)
        course.note(residual)
        if messages.is_impossible:
            break
        if residual <= tolerance:
            course.status = "CONVERGED"
            break
        period = course.find_period(messages.inner)
        if momentum is None and (period or course.is_stalled(caution.patience)) and caution.grow():
            numbers = caution.numbers(counting, repeats)
            course.restart()
        elif period:
            course.status, course.period = "OSCILLATING", period
            break
    return caution


def _first_relaxation(graph: RegionGraph) -> float:
    """Start carefully where there are loops and inner regions lie inside others."""
    if graph.is_forest or graph.inner.sizes.max(initial=1) == 1:
        return 0.0
    return 1.0 if graph.counting.min() >= -1 else 1.5


def run_loops_in_loop(
    messages: RegionMessages, course: Course, *, sweeps: int, tolerance: float
) -> list[float]:
    """Minimise convex bounds of the free energy, each tight at the beliefs before.

    Negative counting numbers are taken at the beliefs before the inner loop, which then has a
    convex problem and converges by ascending its dual. Gives the free energy after each inner
    loop: it never rises by more than the inner loop has left to gain. On a junction tree, where
    the free energy itself is convex, the single loop does.
    """
    energies: list[float] = []
    if messages.graph.is_forest:
        run_one_loop(messages, course, sweeps=sweeps, tolerance=tolerance, momentum=None)
        return energies
    convex = np.maximum(messages.graph.counting, 0).astype(float)
    allowed = INNER_SHARE * MOST_LEFT
    while len(course.residuals) < sweeps:
        reference = messages.inner.copy()
        _run_inner(messages, course, (convex, reference), sweeps, allowed, tolerance)
        if messages.is_impossible:
            break
        energies.append(messages.free_energy())
        gap = float(np.abs(np.exp(messages.inner) - np.exp(reference)).max(initial=0.0))
        if max(gap, course.residuals[-1]) <= tolerance:
            course.status = "CONVERGED"
            break
        if len(energies) > 1:
            allowed = INNER_SHARE * min(MOST_LEFT, abs(energies[-1] - energies[-2]))
    return energies


def _run_inner(
    messages: RegionMessages,
    course: Course,
    bound: tuple[F64, F64],
    sweeps: int,
    allowed: float,
    tolerance: float,
) -> None:
    """Sweep with a fixed bound, until beliefs disagree by few nats or differ by little."""
    numbers, reference = bound
    while len(course.residuals) < sweeps:
        backward = len(course.residuals) % 2 == 1
        residual = messages.sweep(numbers, reference=reference, backward=backward)
        course.note(residual)
        is_settled = messages.divergence <= allowed or residual <= INNER_SHARE * tolerance
        if messages.is_impossible or is_settled:
            return
