"""Which engine finds the best configuration, and what it is asked with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from credo._validation.arrays import positive_int
from credo._validation.labels import listing, one_of
from credo.exceptions import InputError
from credo.graphs.problems import Problem
from credo.inference._questions import Question, check_callback
from credo.inference.conflicts import impossible
from credo.inference.maxima.decoding import polished, run_max_product
from credo.inference.maxima.graph_cut import run_graph_cut
from credo.inference.maxima.local_moves import run_icm
from credo.inference.maxima.outcomes import Maximum
from credo.inference.maxima.trws import run_trws

#: From this many variables on a grid takes seconds on a junction tree, milliseconds by a cut.
MANY = 400
_TREE_REWEIGHTED = ("callback", "sweeps", "tolerance")
#: Options by method.
OPTIONS = {
    "auto": _TREE_REWEIGHTED,
    "junction_tree": (),
    "graph_cut": (),
    "tree_reweighted": _TREE_REWEIGHTED,
    "loopy": ("callback", "domain", "momentum", "schedule", "sweeps", "threads", "tolerance"),
    "icm": ("callback", "forests", "restarts", "start", "sweeps"),
}


def check_options(method: str, options: Mapping[str, Any], owner: str) -> None:
    """Refuse methods that are unknown, and options that a method does not have."""
    one_of(method, tuple(OPTIONS), owner, "method")
    check_callback(options, owner)
    unknown = [name for name in options if name not in OPTIONS[method]]
    if unknown:
        known = OPTIONS[method]
        has = f"It has {listing(known)}." if known else "It has none."
        raise InputError(f"{owner} has no option {listing(unknown)} for method={method!r}. {has}")


def find_maximum(
    question: Question, problem: Problem, method: str, seed: int, options: Mapping[str, Any]
) -> Maximum:
    """Run an engine that needs no junction tree; raise if it proves that nothing is possible."""
    positive_int(seed, "mpe", "seed", least=0)
    return _possible(question, _run(question, problem, method, seed, options))


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


def _run(
    question: Question, problem: Problem, method: str, seed: int, options: Mapping[str, Any]
) -> Maximum:
    """Call the engine."""
    if method == "graph_cut":
        return run_graph_cut(problem)
    if method == "icm":
        return run_icm(problem, seed=seed, **options)
    if method == "loopy":
        return run_max_product(question, problem, seed=seed, **options)
    if method == "auto":
        try:
            return run_graph_cut(problem)
        except InputError:  # not a field that a cut can solve
            pass
    found = polished(problem, run_trws(problem, **options), seed)
    return found if method == "tree_reweighted" else _or_better(question, problem, found, seed)


def _or_better(question: Question, problem: Problem, found: Maximum, seed: int) -> Maximum:
    """Let max-product messages try too, where a configuration is not proven to be the best."""
    if found.is_impossible or found.log_score >= found.bound:
        return found
    other = run_max_product(question, problem, seed=seed)
    if other.log_score <= found.log_score:
        return found
    return replace(found, states=other.states, log_score=other.log_score)
