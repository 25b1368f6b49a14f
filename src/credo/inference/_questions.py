"""A question: model, evidence, what is asked, and how much memory it may take."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence, Set as AbstractSet
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from credo._types import F64, Label
from credo._validation.arrays import as_number, frozen, positive_int
from credo._validation.labels import listing
from credo.exceptions import InputError
from credo.graphs.evidence import Evidence, as_weights_on, resolve
from credo.graphs.factors import Factor
from credo.graphs.wiring import Int64, Wiring
from credo.inference._beliefs import Beliefs
from credo.inference._budget import Budget

if TYPE_CHECKING:
    from credo.inference.messages import TreeRun


@dataclass(frozen=True, eq=False)
class Question:
    """What was asked of a compiled model."""

    wiring: Wiring
    findings: Evidence  #: what was observed
    evidence: Evidence  #: the same with the weights that ``jeffrey`` led to
    query: list[int] | None
    budget: Budget
    model: Any = None

    @cached_property
    def observed(self) -> Int64:
        """The observed state of each variable, -1 where there is none."""
        return self.evidence.observed(len(self.wiring.n_states))

    @cached_property
    def wanted(self) -> frozenset[int] | None:
        """The variables asked for; None for all."""
        return None if self.query is None else frozenset(self.query)

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
        one[self.observed[variable]] = 1.0
        return np.asarray(frozen(one))

    def narrowed(self, evidence: Evidence, query: list[int]) -> Question:
        """Ask for fewer variables with other evidence."""
        return replace(self, evidence=evidence, query=query)


def ask(  # noqa: PLR0913 - the parts of a question
    model: Any,
    evidence: Mapping[Hashable, Any] | None,
    likelihood: Mapping[Hashable, Any] | None,
    query: Iterable[Hashable] | None,
    budget: Budget,
    owner: str,
    *,
    sum_product: bool = True,
    keep_rules: bool = False,
) -> Question:
    """Compile the model and find what the names mean."""
    if isinstance(model, type) or not hasattr(model, "compile"):
        got = f"the class {model.__name__}" if isinstance(model, type) else type(model).__name__
        raise InputError(
            f"{owner} needs a BayesianNetwork, MarkovNetwork or FactorGraph. Got {got}."
        )
    wiring = model.compile()
    if not keep_rules:
        wiring = wiring.tabulated(sum_product=sum_product)
    found = resolve(wiring, evidence, likelihood, owner)
    return Question(wiring, found, found, indices(wiring, query, owner), budget, model)


def check_callback(options: Mapping[str, Any], owner: str) -> None:
    """Check that a callback, if there is one, can be called."""
    callback = options.get("callback")
    if callback is not None and not callable(callback):
        raise InputError(
            f"The callback of {owner} must be a function of two numbers, such as sweep and "
            f"residual. Got {callback!r}."
        )


def check_search(effort: float, seed: int, owner: str) -> None:
    """Check how hard, and from which seed, to look for an order."""
    if as_number(effort, owner, "effort") < 0:
        raise InputError(f"The effort of {owner} must be at least 0 seconds. Got {effort}.")
    positive_int(seed, owner, "seed", least=0)


def indices(
    wiring: Wiring, names: Iterable[Hashable] | None, owner: str, what: str = "query"
) -> list[int] | None:
    """Find the variables that are asked for."""
    if names is None:
        return None
    if isinstance(names, (str, AbstractSet)) or not isinstance(names, Iterable):
        advice = f" Pass [{names!r}]." if isinstance(names, str) else ""
        raise InputError(
            f"The {what} of {owner} must be a list of names, in order. Got {names!r}.{advice}"
        )
    wanted: dict[int, None] = {}
    for name in names:
        v = wiring.index(name)
        if v in wanted:
            raise InputError(f"The {what} of {owner} names {wiring.names[v]!r} twice.")
        wanted[v] = None
    return list(wanted)


def not_asked(name: Any, variables: Sequence[Label]) -> InputError:
    """Word the error for a variable that is in the model and not in the query."""
    return InputError(
        f"{name!r} was not asked for; query has {listing(variables)}. Add it to query, or leave "
        "query out for all marginals."
    )


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
    from credo.inference.messages import run_tree  # noqa: PLC0415

    wiring, evidence = question.wiring, question.evidence
    return run_tree(wiring, evidence.observed(len(wiring.n_states)), evidence.soft(wiring))


def names_of_factors(model: Any) -> dict[Label, int]:
    """Give the place of each named table in the wiring, where tables come before rules."""
    tables = [factor for factor in model.factors if isinstance(factor, Factor)]
    return {f.name: i for i, f in enumerate(tables) if f.name is not None}
