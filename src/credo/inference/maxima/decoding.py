"""From beliefs of single variables to one configuration of all."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from credo._types import F64
from credo.graphs.problems import Problem
from credo.graphs.wiring import ranges, starts
from credo.inference.maxima.local_moves import FORESTS, SWEEPS, Climber, improve
from credo.inference.maxima.outcomes import Maximum, impossible, log_score
from credo.inference.question import Beliefs, Question

Int64: TypeAlias = npt.NDArray[np.int64]

#: Logs of beliefs closer than this are tied: messages settle to 1e-8.
_NEAR = 1e-6


def run_loopy(question: Question, problem: Problem, **options: Any) -> Maximum:
    """Pass messages of maxima around the loops, decode, and improve by moves.

    Parameters
    ----------
    question
        The model of tables, and the evidence.
    problem
        The same as factors over free variables.
    **options
        Settings of loopy belief propagation.

    Returns
    -------
    Maximum
        A configuration and its score; the bound is infinite unless the graph is a tree.
    """
    from credo.inference.loopy.engine import run_loopy as pass_messages  # noqa: PLC0415

    whole = replace(question, wiring=question.model.compile())
    found = pass_messages(whole, temperature=0.0, **options)
    if found.log_z == -math.inf:
        return impossible(problem, "loopy")
    climber = Climber.of(problem)
    rng = np.random.default_rng(options.get("seed", 0))
    states, _ = improve(climber, decode(climber, found.beliefs), rng, SWEEPS, FORESTS)
    score = log_score(problem, climber.logs, states)
    settled = found.status in ("EXACT", "CONVERGED")
    bound = max(score, found.log_z) if found.status == "EXACT" else math.inf
    return Maximum(
        "loopy",
        states,
        score,
        bound,
        "CONVERGED" if settled else "MAX_SWEEPS",
        len(found.residuals),
    )


def decode(climber: Climber, beliefs: Beliefs) -> Int64:
    """Choose states: the clearest belief first, as far as zeros allow, then those that are tied."""
    from credo._kernels.local_moves import fix_clear, fix_tied, margins  # noqa: PLC0415

    problem = climber.problem
    start = starts(problem.n_states)
    logs = _log_beliefs(problem, start, beliefs)
    states: Int64 = np.zeros(len(problem.n_states), np.int64)
    margin = np.empty(len(states))
    margins(start, logs, margin, states)
    order = np.argsort(-margin, kind="stable")
    clear = order[margin[order] > _NEAR]
    fixed = np.zeros(len(states), np.bool_)
    zeros = np.where(climber.logs > -np.inf, 0.0, -np.inf)
    hard = np.zeros(len(problem.scope_start) - 1, np.bool_)
    hard[np.searchsorted(problem.cell_start, np.flatnonzero(zeros), side="right") - 1] = True
    shape = (problem.n_states, problem.scope_start, problem.scope, problem.cell_start)
    lists = (climber.slot_start, climber.slots, climber.factor, climber.stride)
    held = (start, logs, fixed, states)
    fix_clear(clear, hard, zeros, *shape, *lists, *held)
    fix_tied(np.ones_like(hard), _NEAR, *shape, *lists, climber.logs, *held)
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


def polished(problem: Problem, found: Maximum, seed: int) -> Maximum:
    """Improve a configuration by moves of single variables and of forests; the bound stays."""
    if found.is_impossible or found.log_score >= found.bound:
        return found
    climber = Climber.of(problem)
    rng = np.random.default_rng(seed)
    states, _ = improve(climber, found.states.copy(), rng, SWEEPS, FORESTS)
    score = log_score(problem, climber.logs, states)
    if score <= found.log_score:
        return found
    return replace(found, states=states, log_score=score, bound=max(found.bound, score))
