"""Better configurations by moving single variables (ICM), or all variables of a forest at once."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from credo._kernels.forest import (
    MAX,
    SUM,
    Forest,
    ForestScratch,
    choose_states,
    collect,
    condition,
    grow,
    locate,
    make_graph,
    make_scratch,
    plant,
)
from credo._types import F64
from credo.graphs.problems import Problem
from credo.graphs.wiring import Int64, ranges
from credo.inference.maxima.field import is_below, log_score, make_field
from credo.inference.maxima.kernels import climb, fix, margins
from credo.inference.question import Beliefs

#: Temperatures at which forests are drawn first and last, in units of the mean range of a factor's
#: logs: at one a factor hardly binds, at a fifth nearly all states are the best given the others.
_HOT, _COLD = 1.0, 0.2
#: Cells visited while forests are drawn, a quarter of a second's work; fewest and most forests.
_VISITS, _FEWEST, _MOST = 8e6, 50, 2000
#: Logs of beliefs closer than this are tied: messages settle to 1e-8.
_NEAR = 1e-6


class Mover:
    """A problem laid out for moves, which never make a configuration worse.

    Single variables move to their best state given all others. Given the others, the best states of
    all variables of a forest are found exactly: on a grid two thirds of them can move together.

    Parameters
    ----------
    problem
        What to maximise.
    """

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.logs = problem.log_values()
        shape = problem.scope_start, problem.scope, problem.cell_start
        self._graph = make_graph(problem.n_states, *shape)

    @cached_property
    def _auxiliaries(self) -> tuple[Forest, ForestScratch] | None:
        """The auxiliary variables of rules as block 0 of a forest; None if there are none."""
        is_visible = self.problem.variables < len(self.problem.wiring.names)
        if is_visible.all():
            return None
        forest = plant(self._graph, np.cumsum(is_visible) * is_visible)
        return forest, make_scratch(self._graph, forest)

    def score(self, states: Int64) -> float:
        """Return the log of the product of all factors."""
        return log_score(self.problem, self.logs, states)

    def best_alone(self) -> Int64:
        """Return the states that the factors of one variable favour."""
        states: Int64 = np.zeros(len(self.problem.n_states), np.int64)
        values = make_field(self.problem, self.logs).values
        margins(self._graph.start, values, np.empty(len(states)), states)
        return states

    def random(self, rng: np.random.Generator) -> Int64:
        """Draw each state with the same chance."""
        return rng.integers(0, self.problem.n_states).astype(np.int64)

    def anneal(self, rng: np.random.Generator) -> Int64:
        """Draw random forests given the others while the temperature falls; return the last states.

        A geometric schedule. Where loops are frustrated, moves that never lose get stuck far below
        the best; draws at a falling temperature leave such places.
        """
        logs, starts = self.logs, self.problem.cell_start[:-1]
        states = self._settle(self.best_alone())
        if not len(states) or not len(starts):
            return states
        kept = np.where(logs > -np.inf, logs, np.nan)
        spans = np.fmax.reduceat(kept, starts) - np.fmin.reduceat(kept, starts)
        unit = float(np.nansum(spans)) / len(spans) or 1.0  # without factors that allow nothing
        count = int(np.clip(_VISITS / len(logs), _FEWEST, _MOST))
        for temperature in np.geomspace(_HOT * unit, _COLD * unit, count):
            forest = self._random_forest(rng)
            room = make_scratch(self._graph, forest)
            states = self._move(states, forest, room, 1 / float(temperature), rng)
        return states

    def _random_forest(self, rng: np.random.Generator) -> Forest:
        """Grow a forest in a random order; block 0 is what can move together."""
        ones = np.ones(len(self._graph.scope_start) - 1)
        order = rng.permutation(len(self._graph.start) - 1)
        return plant(self._graph, grow(self._graph, order, ones, 1))

    def improve(
        self, states: Int64, rng: np.random.Generator, sweeps: int, forests: int
    ) -> tuple[Int64, float]:
        """Move single variables, some random forests, and single variables again."""
        states = self._climb(states, sweeps)
        score = float(self.logs[self._cells(states)].sum())
        for _ in range(forests if len(states) else 0):
            forest = self._random_forest(rng)
            moved = self._move(states, forest, make_scratch(self._graph, forest))
            better = float(self.logs[self._cells(moved)].sum())
            if is_below(score, better):
                states, score = moved, better
        if forests:
            states = self._climb(states, sweeps)
        return states, self.score(states)

    def _climb(self, states: Int64, sweeps: int) -> Int64:
        """Move single variables until none moves, and the auxiliaries of rules all together.

        These are functions of the other variables. Where they lag behind, states are taken for
        impossible that are not.
        """
        states = self._settle(states)
        while True:
            climb(self._graph, self.logs, states, self._cells(states), sweeps)
            settled = self._settle(states)
            if (settled == states).all():
                return states
            states = settled

    def _settle(self, states: Int64) -> Int64:
        """Return the states with the best ones of the auxiliaries."""
        return (
            states.copy() if self._auxiliaries is None else self._move(states, *self._auxiliaries)
        )

    def _cells(self, states: Int64) -> Int64:
        """Return the cell of each factor that the states choose."""
        cells: Int64 = np.empty(len(self._graph.scope_start) - 1, np.int64)
        locate(self._graph, states, cells)
        return cells

    def _move(
        self,
        states: Int64,
        forest: Forest,
        room: ForestScratch,
        beta: float = 1.0,
        rng: np.random.Generator | None = None,
    ) -> Int64:
        """Return the best states of block 0 of a forest, or a draw; the others as they are."""
        states = states.copy()
        room.total[:] = 0.0
        given = self._graph, forest, 0, self.logs, beta, states, self._cells(states)
        condition(*given, room.total)
        mode = MAX if rng is None else SUM
        if collect(*given, mode, room) > -np.inf:
            numbers = room.total if rng is None else rng.random(len(states))
            choose_states(self._graph, forest, 0, room, mode, numbers, states)
        return states

    def decode(self, beliefs: Beliefs) -> Int64:
        """Choose states: the clearest belief first, as far as zeros allow, then those tied."""
        start = self._graph.start
        logs = _log_beliefs(self.problem, start, beliefs)
        states: Int64 = np.zeros(len(start) - 1, np.int64)
        margin = np.empty(len(states))
        margins(start, logs, margin, states)
        order = np.argsort(-margin, kind="stable")
        clear, fixed = order[margin[order] > _NEAR], np.zeros(len(states), np.bool_)
        zeros = np.where(self.logs > -np.inf, 0.0, -np.inf)
        hard = np.zeros(len(self.problem.scope_start) - 1, np.bool_)
        hard[np.searchsorted(self.problem.cell_start, np.flatnonzero(zeros), side="right") - 1] = (
            True
        )
        held = logs, fixed, states
        fix(clear, hard, np.inf, self._graph, zeros, *held)  # only who has one state left follows
        fix(np.arange(len(states)), np.ones_like(hard), _NEAR, self._graph, self.logs, *held)
        return states


def _log_beliefs(problem: Problem, start: Int64, beliefs: Beliefs) -> F64:
    """Lay the logs of beliefs out like the problem; zeros for variables that have none."""
    place = np.searchsorted(beliefs.variables, problem.variables)
    place = np.minimum(place, max(len(beliefs.variables) - 1, 0))
    logs = np.zeros(int(start[-1]))
    if len(beliefs.variables):
        known = np.flatnonzero(beliefs.variables[place] == problem.variables)
        size = problem.n_states[known]
        with np.errstate(divide="ignore"):
            given = np.log(beliefs.values[ranges(beliefs.start[place[known]], size)])
        logs[ranges(start[known], size)] = given
    return logs
