"""Iterated conditional modes: better configurations by moving one variable at a time."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from credo._types import F64
from credo._validation.arrays import positive_int
from credo.exceptions import InputError
from credo.graphs.problems import Problem
from credo.graphs.wiring import starts
from credo.inference.maxima.fields import single_weights
from credo.inference.maxima.forest_moves import Forester
from credo.inference.maxima.outcomes import Ending, Maximum, log_score
from credo.inference.question import Callback

Int64: TypeAlias = npt.NDArray[np.int64]
#: Where to begin: each variable at its best state alone, anywhere, or at given states.
Start: TypeAlias = Literal["single", "random"] | Int64
#: Sweeps of single moves at most; far more than were ever needed.
SWEEPS = 1000
#: Forests to polish with: on frustrated grids of some thousand nodes they gain little after these.
FORESTS = 50


def run_icm(  # noqa: PLR0913 - where to begin, and how often to move what
    problem: Problem,
    *,
    start: Start = "single",
    sweeps: int = SWEEPS,
    restarts: int = 0,
    forests: int = 0,
    seed: int = 0,
    callback: Callback | None = None,
) -> Maximum:
    r"""Improve a configuration one variable at a time until no single change helps.

    .. math:: x_i \leftarrow \arg\max_{x_i} \sum_{f \ni i} \ln \psi_f(x_f)

    Parameters
    ----------
    problem
        Factors over any numbers of variables and states.
    start
        ``"single"``: each variable in the state that its factors of one variable favour;
        ``"random"``; or the states of the free variables.
    sweeps
        The most sweeps from each start.
    restarts
        How many random starts to try besides; the best configuration is kept.
    forests
        How many random forests to move, each as a whole, after the single moves from each start.
    seed
        Of the random starts and forests.
    callback
        Called after each start with its number and the best log score so far.

    Returns
    -------
    Maximum
        Its score is never below that of the start. There is no bound: it is infinite.

    Raises
    ------
    InputError
        If the start is not states of the free variables, or a number is of the wrong kind.

    Notes
    -----
    A sweep looks at the variables whose neighbours moved. Of two configurations that are
    impossible, the one with fewer zeros is better, so an impossible start can be left. The move of
    a forest finds its best states given the other variables, exactly.

    References
    ----------
    .. [1] J. Besag, On the statistical analysis of dirty pictures, Journal of the Royal Statistical
       Society B 48 (1986), section 2.5.

    Examples
    --------
    >>> from credo.graphs import FactorGraph
    >>> from credo.graphs.evidence import resolve
    >>> from credo.graphs.problems import pose
    >>> graph = FactorGraph()
    >>> a, b = graph.variable("a", 2), graph.variable("b", 2)
    >>> _ = graph.factor([a, b], [[1, 0], [0, 3]])
    >>> wiring = graph.compile()
    >>> problem = pose(wiring, resolve(wiring, None, None, "example"))
    >>> run_icm(problem).states  # no single change helps
    array([0, 0])
    >>> run_icm(problem, restarts=5).states
    array([1, 1])
    """
    positive_int(sweeps, "icm", "sweeps")
    positive_int(restarts, "icm", "restarts", least=0)
    positive_int(forests, "icm", "forests", least=0)
    rng = np.random.default_rng(positive_int(seed, "icm", "seed", least=0))
    climber = Climber.of(problem)
    best, top = _begin(climber, start, rng), -math.inf
    status: Ending = "MAX_SWEEPS"
    for turn in range(restarts + 1):
        states = best if turn == 0 else climber.random_states(rng)
        states, ending = improve(climber, states, rng, sweeps, forests)
        score = log_score(problem, climber.logs, states)
        if turn == 0 or score > top:
            best, top, status = states, score, ending
        if callback is not None:
            callback(turn + 1, top)
    return Maximum("icm", best, top, math.inf, status)


@dataclass(frozen=True, slots=True, eq=False)
class Climber:
    """A problem laid out for moves of single variables."""

    problem: Problem
    logs: F64
    stride: Int64
    slot_start: Int64
    slots: Int64
    factor: Int64

    @classmethod
    def of(cls, problem: Problem) -> Climber:
        """List each variable's places in the scopes, and the strides of their axes."""
        from credo._kernels.local_moves import axis_strides, slots_of  # noqa: PLC0415

        n, size = len(problem.n_states), len(problem.scope)
        stride, slots, factor = (np.empty(size, np.int64) for _ in range(3))
        slot_start = np.zeros(n + 1, np.int64)
        axis_strides(problem.n_states, problem.scope_start, problem.scope, stride)
        slots_of(n, problem.scope_start, problem.scope, slot_start, slots, factor)
        return cls(problem, problem.log_values(), stride, slot_start, slots, factor)

    def climb(self, states: Int64, sweeps: int) -> Ending:
        """Move single variables, in place, until no move helps."""
        from credo._kernels.local_moves import chosen_cells, climb  # noqa: PLC0415

        problem = self.problem
        cell = np.empty(len(problem.scope_start) - 1, np.int64)
        chosen_cells(
            problem.scope_start, problem.scope, problem.cell_start, self.stride, states, cell
        )
        done = climb(
            problem.n_states,
            problem.scope_start,
            problem.scope,
            self.slot_start,
            self.slots,
            self.factor,
            self.stride,
            self.logs,
            states,
            cell,
            sweeps,
        )
        return "CONVERGED" if done > 0 else "MAX_SWEEPS"

    def single_states(self) -> Int64:
        """Give each variable the state that its factors of one variable favour."""
        from credo._kernels.local_moves import favoured  # noqa: PLC0415

        problem = self.problem
        weights = single_weights(problem, self.logs)
        states: Int64 = np.empty(len(problem.n_states), np.int64)
        favoured(starts(problem.n_states), weights, states)
        return states

    def random_states(self, rng: np.random.Generator) -> Int64:
        """Draw each state with the same chance."""
        return rng.integers(0, self.problem.n_states).astype(np.int64)


def improve(
    climber: Climber, states: Int64, rng: np.random.Generator, sweeps: int, forests: int
) -> tuple[Int64, Ending]:
    """Move single variables, some forests, and single variables again."""
    ending = climber.climb(states, sweeps)
    if forests:
        forester = Forester(climber.problem, climber.logs)
        states = forester.improve(states, forests, rng).copy()
        ending = climber.climb(states, sweeps)
    return states, ending


def _begin(climber: Climber, start: Start, rng: np.random.Generator) -> Int64:
    """Find the first states."""
    if isinstance(start, str):
        if start not in {"single", "random"}:
            raise InputError(
                f"The start of icm must be 'single', 'random' or states. Got {start!r}."
            )
        return climber.single_states() if start == "single" else climber.random_states(rng)
    n_states = climber.problem.n_states
    states = np.array(start)
    if (
        states.shape != n_states.shape
        or states.dtype.kind not in "iu"
        or ((states < 0) | (states >= n_states)).any()
    ):
        raise InputError(
            f"The start of icm must have one state, as a number from zero, for each of the "
            f"{len(n_states)} free variables. Got {start!r:.80}."
        )
    return states.astype(np.int64)
