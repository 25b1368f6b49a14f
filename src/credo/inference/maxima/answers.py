"""Configurations by name, with what is proven of them."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from credo._types import Label
from credo.exceptions import ApproximationWarning
from credo.graphs.problems import Problem, pose
from credo.inference.configurations import Configuration, all_states, named
from credo.inference.engines import Engine
from credo.inference.maxima.choosing import MANY, cut_if_possible, find_maximum
from credo.inference.maxima.outcomes import Maximum
from credo.inference.messages import is_tree
from credo.inference.question import Budget, Question


def without_tree(
    question: Question, engine: Engine, seed: int, options: Mapping[str, Any]
) -> Configuration:
    """Find a configuration by an engine that needs no clique tables."""
    problem = pose(question.wiring, question.evidence)
    return _by_name(problem, find_maximum(question, problem, engine, seed, options))


def cut_at_once(question: Question) -> Configuration | None:
    """Cut a large field, if a cut can solve it and it is no tree, which is easier still."""
    if len(question.wiring.n_states) <= MANY or is_tree(question.wiring, question.observed):
        return None
    problem = pose(question.wiring, question.evidence)
    found = cut_if_possible(question, problem)
    return None if found is None else _by_name(problem, found)


def _by_name(problem: Problem, found: Maximum) -> Configuration:
    """Name the states of all variables, observed ones too."""
    wiring = problem.wiring
    shown = range(len(wiring.names))
    states = named(wiring, all_states(problem, found.states), shown)
    tied: tuple[Label, ...] = ()
    if found.tied is not None:
        places = problem.variables[found.tied].tolist()
        tied = tuple(wiring.names[v] for v in places if v in shown)
    bound = found.bound if found.bound < math.inf else None
    result = Configuration(states, found.log_score, tied, bound, found.engine)
    if found.log_score == -math.inf:
        warnings.warn(
            f"mpe: {found.engine} found no configuration of positive probability, which does not "
            "prove that there is none. Use method='junction_tree' to find out.",
            ApproximationWarning,
            stacklevel=4,
        )
    return result


def proven(found: Configuration) -> Configuration:
    """Say that no configuration is better."""
    return replace(found, bound=found.log_score, engine="junction_tree")


def warn_of_gap(found: Configuration, budget: Budget) -> None:
    """Warn if it is not proven that a configuration is the best."""
    if found.is_exact or found.log_score == -math.inf:
        return
    what = f"at most {found.gap:.3g} below the best in log score"
    warnings.warn(
        f"mpe: an exact answer does not fit the budget of {budget}. The configuration found by "
        f"{found.engine} is {what}. Raise budget=, add evidence, or give more sweeps=.",
        ApproximationWarning,
        stacklevel=3,
    )
