"""Which engine finds the best configuration, and what it is asked with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from credo._validation.arrays import positive_int
from credo.exceptions import InputError
from credo.graphs.problems import Problem
from credo.inference._explain import impossible
from credo.inference.engines import Engine
from credo.inference.maxima.decoding import polished, run_loopy
from credo.inference.maxima.graph_cut import run_graph_cut
from credo.inference.maxima.outcomes import Maximum
from credo.inference.maxima.trws import run_trws
from credo.inference.question import Callback, Question

#: From this many variables on a grid takes seconds on a junction tree, milliseconds by a cut.
MANY = 400


def find_maximum(
    question: Question, problem: Problem, engine: Engine, seed: int, options: Mapping[str, Any]
) -> Maximum:
    """Run an engine that needs no junction tree; raise if it proves that nothing is possible."""
    positive_int(seed, "mpe", "seed", least=0)
    seeded = {"seed": seed} if "seed" in engine.options else {}
    given = (question, problem) if engine.needs == "rules" else (problem,)
    return _possible(question, engine.run(*given, **seeded, **options))


def cut_if_possible(question: Question, problem: Problem) -> Maximum | None:
    """Cut a field, if a cut can solve it: that is exact, and takes no elimination order."""
    try:
        found = run_graph_cut(problem)
    except InputError:  # not a field that a cut can solve
        return None
    return _possible(question, found)


def _possible(question: Question, found: Maximum) -> Maximum:
    """Raise if it was proven that nothing is possible."""
    if not found.is_impossible:
        return found
    if question.evidence.findings:
        raise impossible(question.wiring, question.evidence, "mpe", question.budget)
    raise InputError(
        "mpe: the model allows no configuration at all: its factors multiply to zero everywhere. "
        "Look for a factor whose table is zero where the others are not."
    )


def run_tree_reweighted(
    problem: Problem,
    *,
    sweeps: int = 500,
    tolerance: float = 1e-9,
    seed: int = 0,
    callback: Callback | None = None,
) -> Maximum:
    """Run TRW-S, and improve what it found by moves."""
    found = run_trws(problem, sweeps=sweeps, tolerance=tolerance, callback=callback)
    return polished(problem, found, seed)


def run_auto(
    question: Question,
    problem: Problem,
    *,
    sweeps: int = 500,
    tolerance: float = 1e-9,
    seed: int = 0,
    callback: Callback | None = None,
) -> Maximum:
    """Cut, if a cut can solve it; otherwise run TRW-S, and max-product if that proves nothing."""
    try:
        return run_graph_cut(problem)
    except InputError:  # not a field that a cut can solve
        pass
    found = run_tree_reweighted(
        problem, sweeps=sweeps, tolerance=tolerance, seed=seed, callback=callback
    )
    return _or_better(question, problem, found, seed)


def _or_better(question: Question, problem: Problem, found: Maximum, seed: int) -> Maximum:
    """Let max-product messages try too, where a configuration is not proven to be the best."""
    if found.is_impossible or found.log_score >= found.bound:
        return found
    other = run_loopy(question, problem, seed=seed)
    if other.log_score <= found.log_score:
        return found
    return replace(found, states=other.states, log_score=other.log_score)
