"""From a model and evidence to tables of maxima, and from these to configurations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from credo._types import Bool, Label
from credo.graphs.problems import Problem, pose
from credo.graphs.variables import Same
from credo.graphs.wiring import Wiring
from credo.inference._budget import refuse_above
from credo.inference._decode import MaxTables
from credo.inference._layout import lay_out
from credo.inference._maximum_results import Configuration
from credo.inference._questions import Question, check_search
from credo.inference.conflicts import impossible
from credo.inference.planning import Orders

Int64: TypeAlias = npt.NDArray[np.int64]

#: Seconds that may go into a better order, where it can pay.
_EFFORT = 2.0


def maximise(question: Question, seed: int, owner: str) -> MaxTables:
    """Maximise over everything that is not observed."""
    problem = pose(question.wiring, question.evidence)
    return _collected(question, problem, np.zeros(len(problem.variables), np.bool_), seed, owner)


def maximise_sums(question: Question, seed: int, owner: str) -> MaxTables:
    """Maximise over the variables asked for, after summing over all others."""
    chosen = question.query or []
    problem = pose(question.wiring, question.evidence, chosen, whole=True)
    is_summed = np.ones(len(question.wiring.n_states), np.bool_)
    is_summed[chosen] = False
    return _collected(question, problem, is_summed[problem.variables], seed, owner)


def _collected(
    question: Question, problem: Problem, is_summed: Bool, seed: int, owner: str
) -> MaxTables:
    """Find an order, refuse what does not fit, and send maxima to the roots."""
    check_search(_EFFORT, seed, owner)
    last = np.flatnonzero(~is_summed).tolist() if is_summed.any() else ()
    orders = Orders(None, _EFFORT, seed)  # what is summed out comes first
    order = orders.better(problem, orders.quick(problem, last), last)
    refuse_above(question.budget, problem, order, owner)
    tables = MaxTables(problem, lay_out(problem, order.sequence), is_summed)
    if not tables.collect():
        raise impossible(question.wiring, question.evidence, owner, question.budget)
    return tables


def all_states(problem: Problem, states: Int64) -> Int64:
    """Put the states of the free variables beside the observed ones."""
    every = problem.observed.copy()
    every[problem.variables] = states
    return every


def configuration(wiring: Wiring, tables: MaxTables, chosen: Sequence[int]) -> Configuration:
    """Read the best configuration of the chosen variables, and which of them are tied."""
    problem = tables.problem
    states, tie = tables.decode()
    tied: tuple[Label, ...] = ()
    if tie:
        is_tied = np.zeros(len(wiring.n_states), np.bool_)
        is_tied[problem.variables] = tables.tied()
        tied = tuple(wiring.names[v] for v in chosen if is_tied[v])
    named_states = named(wiring, all_states(problem, states), chosen)
    return Configuration(named_states, tables.score(states), tied)


def named(wiring: Wiring, states: Int64, chosen: Sequence[int]) -> dict[Label, Label]:
    """Give the states of the chosen variables by name."""
    names, labels = wiring.names, wiring.states
    codes = states.tolist()
    if isinstance(labels, Same):  # as many variables as you like, all with the same states
        same = labels.item
        return {names[v]: same[codes[v]] for v in chosen}
    return {names[v]: labels[v][codes[v]] for v in chosen}
