"""A question: model, evidence, what is asked, and how much memory it may take."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from credo._types import F64
from credo.exceptions import InputError
from credo.graphs.evidence import Evidence, as_weights_on, resolve
from credo.graphs.wiring import Wiring
from credo.inference._beliefs import Beliefs
from credo.inference._budget import Budget

if TYPE_CHECKING:
    from credo.inference.tree import TreeRun


@dataclass(frozen=True, slots=True, eq=False)
class Question:
    """What was asked of a compiled model."""

    wiring: Wiring
    findings: Evidence  #: what was observed
    evidence: Evidence  #: the same with the weights that ``jeffrey`` led to
    query: list[int] | None
    budget: Budget
    model: Any = None

    def with_evidence(self, evidence: Evidence) -> Question:
        """Ask the same with other evidence."""
        return replace(self, evidence=evidence)

    def marginal(self, beliefs: Beliefs, variable: int) -> F64:
        """Give the marginal of a variable, free or observed."""
        free = beliefs.of(variable)
        if free is not None:
            free.flags.writeable = False
            return free
        one = np.zeros(int(self.wiring.n_states[variable]))
        one[self.evidence.observed(len(self.wiring.n_states))[variable]] = 1.0
        return one

    def narrowed(self, evidence: Evidence, query: list[int]) -> Question:
        """Ask for fewer variables with other evidence."""
        return replace(self, evidence=evidence, query=query)


def ask(
    model: Any,
    evidence: Mapping[Hashable, Any] | None,
    likelihood: Mapping[Hashable, Any] | None,
    query: Iterable[Hashable] | None,
    budget: Budget,
    owner: str,
) -> Question:
    """Compile the model and find what the names mean."""
    if not hasattr(model, "compile"):
        raise InputError(
            f"{owner} needs a BayesianNetwork, MarkovNetwork or FactorGraph. Got "
            f"{type(model).__name__}."
        )
    wiring = model.compile().tabulated(sum_product=True)
    found = resolve(wiring, evidence, likelihood, owner)
    return Question(wiring, found, found, indices(wiring, query, owner), budget, model)


def indices(wiring: Wiring, names: Iterable[Hashable] | None, owner: str) -> list[int] | None:
    """Find the variables that are asked for."""
    if names is None:
        return None
    if isinstance(names, str):
        raise InputError(
            f"The query of {owner} must be a list of names. Got {names!r}; pass [{names!r}]."
        )
    wanted = [wiring.index(name) for name in names]
    twice = [wiring.names[v] for i, v in enumerate(wanted) if v in wanted[:i]]
    if twice:
        raise InputError(f"The query of {owner} names {twice[0]!r} twice.")
    return wanted


def as_targets(wiring: Wiring, jeffrey: Mapping[Hashable, Any], owner: str) -> dict[int, F64]:
    """Turn the posteriors that ``jeffrey`` asks for into probabilities by variable."""
    targets = {}
    if not isinstance(jeffrey, Mapping):
        raise InputError(
            f"The jeffrey of {owner} must be a mapping by variable. Got {type(jeffrey).__name__}."
        )
    for name, given in jeffrey.items():
        v = wiring.index(name)
        weights = as_weights_on(given, tuple(wiring.states[v]), f"{owner}, jeffrey of {name!r}")
        if abs(weights.sum() - 1.0) > 1e-6:
            raise InputError(
                f"{owner}: the posterior that jeffrey asks for {name!r} must sum to one. Got "
                f"{weights.sum():.6g}; for weights of any scale use likelihood."
            )
        targets[v] = np.asarray(weights / weights.sum())
    return targets


def tree_of(question: Question) -> TreeRun:
    """Run the tree engine on a question, for its messages."""
    from credo.inference.tree import run_tree  # noqa: PLC0415

    wiring, evidence = question.wiring, question.evidence
    return run_tree(wiring, evidence.observed(len(wiring.n_states)), evidence.soft(wiring))
