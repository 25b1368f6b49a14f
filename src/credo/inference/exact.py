"""The exact engines, each of which follows a plan; joint tables, draws and Jeffrey's rule."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from credo import _checks as check
from credo._kernels.cliques import SUM
from credo._kernels.configurations import draw_down
from credo._types import F64, Label, RandomState
from credo.exceptions import BudgetError, ImpossibleEvidence, InputError, NumericalError
from credo.graphs.forward_draws import named
from credo.graphs.ordering import Order
from credo.graphs.problems import Problem, pose
from credo.graphs.wiring import Int64
from credo.inference import messages
from credo.inference._explain import impossible
from credo.inference.cliques import calibrate, plant, sum_out
from credo.inference.question import (
    Answer,
    Beliefs,
    Budget,
    Question,
    as_bytes,
    as_text,
    indices,
    refuse_above,
)
from credo.posterior import JointTable

if TYPE_CHECKING:
    from credo.inference._plan import Plan

#: Draws per block, so that the uniform numbers of a large network stay small.
_BLOCK = 1024
#: Rounds of proportional fitting before giving up, and how near the posteriors have to come.
_ROUNDS, _CLOSE = 1000, 1e-12


def as_answer(question: Question, beliefs: Beliefs) -> Answer:
    """Return exact beliefs as an answer; log Z is computed when asked for, if parts were left out.

    It is that of the evidence alone: weights that ``jeffrey`` led to have no probability.
    """
    log_z = beliefs.log_z
    if log_z == -np.inf or not (log_z is None or question.has_weights or question.is_prior):
        return Answer(beliefs, "EXACT", log_z, "EXACT")
    find = None if question.is_prior else partial(_log_evidence, question)
    return Answer(beliefs, "EXACT", 0.0, "EXACT", find_log_z=find)


def _log_evidence(question: Question) -> float:
    """Return the log of the probability of the findings, by one pass over all they touch."""
    problem = pose(question.wiring, question.findings, [], whole=True)
    return sum_out(problem, "log_evidence", question.budget)[1]


def run_junction_tree(question: Question, plan: Plan) -> Answer:
    """Calibrate one tree of cliques, which gives all marginals."""
    step = plan.steps[0]
    refuse_above(question.budget, step.problem, step.order, "infer")
    tree = plant(step.problem, step.order.sequence)
    return as_answer(question, calibrate(step.problem, tree))


def run_tree(question: Question, plan: Plan) -> Answer:
    """Pass messages along the edges of a tree, there and back."""
    if plan.n_bytes > as_bytes(question.budget, "infer"):
        raise BudgetError(
            f"infer needs {as_text(plan.n_bytes)} for messages and marginals; the budget is "
            f"{question.budget}. Raise budget=, or ask for fewer variables (query=[...])."
        )
    wiring = question.wiring
    run = messages.run_tree(wiring, question.observed, question.evidence.soft(wiring))
    every = np.arange(len(question.wiring.n_states))
    return as_answer(question, Beliefs(every, run.start, run.marginals, run.log_z))


def run_elimination(question: Question, plan: Plan) -> Answer:
    """Eliminate towards each queried variable in turn."""
    tables: dict[int, F64] = {}
    log_z: float | None = None
    for step in plan.steps:
        target = [] if step.target is None else [step.target]
        table, log_z = eliminate(step.problem, target, "infer", question.budget, step.order)
        if log_z == -np.inf:
            break
        tables |= {int(step.problem.variables[v]): table for v in target}
        log_z = log_z if step.problem.is_complete else None
    variables = sorted(tables)
    start = np.array([0, *(tables[v].size for v in variables)]).cumsum()
    values = np.concatenate([np.empty(0), *(tables[v].ravel() for v in variables)])
    return as_answer(question, Beliefs(np.array(variables, np.int64), start, values, log_z))


def run_enumeration(question: Question, plan: Plan) -> Answer:
    """Sum over the table of all configurations: the oracle of the engines."""
    problem = plan.steps[0].problem
    n = len(problem.variables)
    joint = _log_joint(problem, question.budget)
    start = np.concatenate([[0], np.cumsum(problem.n_states)])
    largest = float(joint.max())
    if largest == -np.inf:
        return as_answer(question, Beliefs(problem.variables, start, np.empty(0), -np.inf))
    joint = np.exp(joint - largest)
    total = joint.sum()
    others = (tuple(i for i in range(n) if i != v) for v in range(n))
    values = np.concatenate([np.empty(0), *(joint.sum(axis=axes) / total for axes in others)])
    log_z = largest + math.log(total) if problem.is_complete else None
    return as_answer(question, Beliefs(problem.variables, start, values, log_z))


def _log_joint(problem: Problem, budget: Budget) -> F64:
    """Return the log of the factors' product at every configuration, one axis per variable."""
    n = len(problem.variables)
    cells = float(np.prod(problem.n_states.astype(float)))
    if 8 * cells > as_bytes(budget, "enumeration") or n > 64:
        raise BudgetError(
            f"Enumeration needs one table over all {n} variables, at most 64 axes, with "
            f"{as_text(8 * cells)}; the budget is {budget}. Use method='auto'."
        )
    joint = np.full(tuple(problem.n_states), problem.log_constant)
    logs = problem.log_values()
    for f in range(len(problem.scope_start) - 1):
        scope = problem.scope[problem.scope_start[f] : problem.scope_start[f + 1]]
        table = logs[problem.cell_start[f] : problem.cell_start[f + 1]]
        shaped = table.reshape(tuple(problem.n_states[scope]))
        ordered = np.transpose(shaped, np.argsort(scope))
        axes = [int(problem.n_states[v]) if v in scope else 1 for v in range(n)]
        joint += ordered.reshape(axes)
    return joint


def eliminate(
    problem: Problem, query: Sequence[int], owner: str, budget: Budget, order: Order | None = None
) -> tuple[F64, float]:
    """Sum out everything but the query; return its table, axes in its order, and log Z.

    One pass to the root, whose clique holds the query. The table sums to one; it is empty where
    nothing is possible. An order that is given has to end with the query.
    """
    if not len(problem.variables):
        return np.ones(()), problem.log_constant + float(problem.log_values().sum())
    _check_size(problem.n_states[list(query)], owner, budget)
    asked = problem.with_clique(query) if len(query) > 1 else problem
    tables, log_z = sum_out(asked, owner, budget, order=order, last=query)
    return (np.empty(0) if log_z == -np.inf else tables.root_table(query)), log_z


def joint_of(question: Question, names: Iterable[Any]) -> JointTable:
    """Compute the joint table of some variables of a question, observed ones too."""
    wiring, wanted = question.wiring, axes_of(question, names)
    problem = pose(wiring, question.evidence, wanted)
    free = [v for v in wanted if problem.observed[v] < 0]
    local = np.searchsorted(problem.variables, free).tolist()
    table, log_z = eliminate(problem, local, "joint", question.budget)
    if log_z == -np.inf:
        raise impossible(wiring, question.evidence, "joint", question.budget)
    whole = np.zeros(wiring.n_states[wanted])
    whole[tuple(slice(None) if v in free else int(problem.observed[v]) for v in wanted)] = table
    axes: dict[Any, Any] = {wiring.names[v]: wiring.states[v] for v in wanted}
    return JointTable(whole, axes)


def axes_of(question: Question, names: Iterable[Any]) -> list[int]:
    """Find the variables of a joint table, which has to fit."""
    wanted = indices(question.wiring, names, "joint", "list of variables") or []
    if not 1 <= len(wanted) <= 64:
        raise InputError(f"joint needs 1 to 64 variables, one axis each. Got {len(wanted)}.")
    _check_size(question.wiring.n_states[wanted], "joint", question.budget)
    return wanted


def _check_size(shape: Int64, owner: str, budget: Budget) -> None:
    """Refuse a joint table that does not fit, before it is made."""
    cells = math.prod(float(n) for n in shape)
    if 8 * cells > min(as_bytes(budget, owner), 2.0**60):
        raise BudgetError(
            f"{owner} needs {as_text(8 * cells)} for one table of {len(shape)} variables; the "
            f"budget is {budget}. Ask for fewer variables at a time."
        )


def draw(question: Question, n: int, random_state: RandomState) -> dict[Label, list[Label]]:
    """Draw ``n`` configurations given the question's evidence, exactly and independently."""
    check.count(n, "n of sample", 0)
    rng = check.generator(random_state, "random_state of sample")
    wiring = question.wiring
    needed = 16.0 * n * len(wiring.n_states)  # a state's index and a reference to it
    if needed > as_bytes(question.budget, "sample"):
        raise BudgetError(
            f"sample needs {as_text(needed)} for {n} draws of {len(wiring.names)} variables; the "
            f"budget is {question.budget}. Draw fewer at a time."
        )
    problem = pose(wiring, question.evidence)
    states = np.repeat(problem.observed[:, np.newaxis], n, axis=1)
    states[problem.variables] = _draw_free(problem, question.budget, n, rng).T
    return named(wiring, states)


def _draw_free(problem: Problem, budget: Budget, n: int, rng: np.random.Generator) -> Int64:
    """Collect once, then draw from the roots down."""
    out: Int64 = np.empty((n, len(problem.variables)), np.int64)
    if not out.size:
        return out
    tables, _ = sum_out(problem, "sample", budget)
    tree, table = tables.tree, tables.table
    if tables.mode != SUM:  # only the ratios within a row count
        rows = np.diff(tree.row_start)
        widths = np.repeat(np.diff(tree.table_start) // rows, rows)
        largest = np.maximum.reduceat(table, np.cumsum(widths) - widths)
        largest[largest == -np.inf] = 0.0
        table = np.exp(table - np.repeat(largest, widths))
    for first in range(0, n, _BLOCK):
        block = out[first : first + _BLOCK]
        u = rng.random((len(block), len(tree.parent)))
        draw_down(table, (*tree.shapes, problem.n_states), u, block)
    return out


def fit_jeffrey(
    question: Question, targets: dict[int, F64], answer: Callable[[Question], Answer]
) -> Question:
    r"""Add weights to a question's evidence until each target variable has its posterior.

    Proportional fitting: :math:`w_v \leftarrow w_v \, q_v / p_v`, one variable after the other. One
    variable needs one step; several are repeated until all fit.

    References
    ----------
    .. [1] I. Csiszár, I-divergence geometry of probability distributions and minimization
       problems, Annals of Probability 3 (1975), section 3.
    """
    weights = {v: np.ones(len(q)) for v, q in targets.items()}
    for v, wanted in targets.items():
        asked = replace(question, evidence=question.findings, query=[v])
        _check_possible(wanted, asked.marginal(answer(asked).beliefs, v), question, v)
    furthest = 0.0
    for _ in range(_ROUNDS):
        furthest = 0.0
        for v, wanted in targets.items():
            evidence = question.findings.and_weights(weights, question.wiring)
            asked = replace(question, evidence=evidence, query=[v])
            now = asked.marginal(answer(asked).beliefs, v)
            furthest = max(furthest, float(np.abs(now - wanted).max()))
            ratio = np.zeros_like(wanted)
            np.divide(wanted, now, out=ratio, where=now > 0)
            if not ratio.any():
                raise _contradiction(furthest)
            weights[v] = weights[v] * (ratio / ratio.max())
            weights[v] /= weights[v].max()
        if furthest < _CLOSE or len(targets) == 1:
            told = question.findings.and_weights(weights, question.wiring)
            return replace(question, evidence=told)
    raise _contradiction(furthest)


def _contradiction(apart: float) -> NumericalError:
    """Return the error for posteriors that do not go together."""
    return NumericalError(
        f"infer: the posteriors asked for by jeffrey could not be fitted together in {_ROUNDS} "
        f"rounds; they are still {apart:.1e} apart. They may contradict each other."
    )


def _check_possible(wanted: F64, now: F64, question: Question, v: int) -> None:
    """Refuse a positive probability for a state that has none."""
    stuck = (now == 0) & (wanted > 0)
    if stuck.any():
        name = question.wiring.names[v]
        state = question.wiring.states[v][int(np.argmax(stuck))]
        raise ImpossibleEvidence(
            f"infer: jeffrey asks for a positive probability of {name} = {state}, which the model "
            "and the evidence make impossible.",
            {name: state},
        )
