"""From a model and evidence to tables of maxima, and from these to configurations."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from credo._types import Bool, Label
from credo.exceptions import InputError
from credo.graphs.evidence import Evidence, resolve
from credo.graphs.ordering import Order, find_order
from credo.graphs.problems import Problem, pose
from credo.graphs.variables import Same
from credo.graphs.wiring import Wiring
from credo.inference._budget import Budget, refuse_above
from credo.inference._decode import MaxTables
from credo.inference._layout import lay_out
from credo.inference._maximum_results import Configuration
from credo.inference.conflicts import impossible

Int64: TypeAlias = npt.NDArray[np.int64]

#: Seconds that may go into a better order. It can pay from a million cells on, which take some
#: milliseconds, unless they are not many more than those of the factors.
_EFFORT, _HARD, _MANY_MORE = 2.0, 1e6, 4


@dataclass(frozen=True, slots=True)
class Asked:
    """A model of tables with its evidence, and how much may be spent on it."""

    wiring: Wiring
    evidence: Evidence
    budget: Budget
    seed: int
    owner: str


def asked(  # noqa: PLR0913 - the parts of a question
    model: Any,
    evidence: Mapping[Hashable, Any] | None,
    likelihood: Mapping[Hashable, Any] | None,
    budget: Budget,
    seed: int,
    owner: str,
    *,
    sums: bool = False,
) -> Asked:
    """Compile the model and find what the names mean."""
    if not hasattr(model, "compile"):
        raise InputError(
            f"{owner} needs a BayesianNetwork, MarkovNetwork or FactorGraph. Got "
            f"{type(model).__name__}."
        )
    wiring = model.compile().tabulated(sum_product=sums)
    return Asked(wiring, resolve(wiring, evidence, likelihood, owner), budget, seed, owner)


def maximise(question: Asked) -> MaxTables:
    """Maximise over everything that is not observed."""
    problem = pose(question.wiring, question.evidence)
    return _collected(question, problem, np.zeros(len(problem.variables), np.bool_))


def maximise_sums(question: Asked, chosen: Sequence[int]) -> MaxTables:
    """Maximise over the chosen variables, after summing over all others."""
    problem = _needed(question, chosen)
    is_summed = np.ones(len(question.wiring.n_states), np.bool_)
    is_summed[list(chosen)] = False
    return _collected(question, problem, is_summed[problem.variables])


def _needed(question: Asked, chosen: Sequence[int]) -> Problem:
    """Leave out the children that sum to one; keep every part that the sum is a product of."""
    from credo._kernels.evidence_slices import needed_factors  # noqa: PLC0415

    wiring, evidence = question.wiring, question.evidence
    n = len(wiring.n_states)
    needed = evidence.observed(n) >= 0
    needed[[*chosen, *evidence.soft(wiring)]] = True
    keep = needed_factors(n, wiring.scope_start, wiring.scope, wiring.owner, needed)
    needed[wiring.scope[np.repeat(keep, np.diff(wiring.scope_start))]] = True
    return pose(wiring, evidence, np.flatnonzero(needed).tolist())


def _collected(question: Asked, problem: Problem, is_summed: Bool) -> MaxTables:
    """Find an order, refuse what does not fit, and send maxima to the roots."""
    order = _order(question, problem, is_summed, 0.0)
    if order.cells > max(_HARD, _MANY_MORE * len(problem.values)):
        order = _order(question, problem, is_summed, _EFFORT)
    refuse_above(question.budget, problem, order, question.owner)
    tables = MaxTables(problem, lay_out(problem, order.sequence), is_summed)
    if not tables.collect():
        raise impossible(question.wiring, question.evidence, question.owner, question.budget)
    return tables


def _order(question: Asked, problem: Problem, is_summed: Bool, effort: float) -> Order:
    """Find an order in which what is summed out comes first."""
    last = np.flatnonzero(~is_summed) if is_summed.any() else ()
    return find_order(
        problem.n_states,
        problem.scope_start,
        problem.scope,
        last=last,
        effort=effort,
        seed=question.seed,
    )


def all_states(problem: Problem, states: Int64) -> Int64:
    """Put the states of the free variables beside the observed ones."""
    every = problem.observed.copy()
    every[problem.variables] = states
    return every


def configuration(question: Asked, tables: MaxTables, chosen: Sequence[int]) -> Configuration:
    """Read the best configuration of the chosen variables, and which of them are tied."""
    problem, wiring = tables.problem, question.wiring
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
