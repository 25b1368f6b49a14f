"""``Question`` and ``Answer``: what is asked of a model with how much memory, and what came out.

Every engine is a function from the one to the other, see ``credo.inference.engines``.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal, TypeAlias

import numpy as np

from credo import _checks as check
from credo._types import F64, Label
from credo.exceptions import BudgetError, InputError
from credo.graphs.bayesian_network import BayesianNetwork
from credo.graphs.evidence import Evidence, as_weights_on, items_of, resolve
from credo.graphs.factors import Factor
from credo.graphs.models import WiredFactors
from credo.graphs.ordering import Order
from credo.graphs.problems import Problem
from credo.graphs.wiring import Int64, Wiring
from credo.inference.messages import name_of

_UNITS = {"": 1, "b": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9, "tb": 10**12}
_UNITS |= {"kib": 2**10, "mib": 2**20, "gib": 2**30, "tib": 2**40}
#: Beyond this many cells a table cannot even be addressed.
_ADDRESSABLE = 2.0**58

#: Copies of tables with no more cells in all are made without asking.
_SMALL = 1_000_000
#: What to do about an answer that is too large.
ADVICE = (
    "Ask for fewer variables (query=[...]), add evidence on some of them, condition on a cut set "
    "(one run per state of a variable in the clique, weighted by its probability), raise budget=, "
    "or approximate the answer, for instance by loopy belief propagation."
)

Budget = str | int | float | None

#: How a run ended. ``SAMPLED``: a fixed number of draws was made.
Status: TypeAlias = Literal["EXACT", "CONVERGED", "MAX_SWEEPS", "OSCILLATING", "SAMPLED"]
#: What is known about a value of log Z.
Kind: TypeAlias = Literal["EXACT", "ESTIMATE", "LOWER_BOUND", "UPPER_BOUND", "NOT_ESTIMATED"]
#: Called after each sweep with its number, from one, and its residual; see ``hears_beliefs``.
Callback: TypeAlias = Callable[..., None]


@dataclass(frozen=True, slots=True, eq=False)
class Beliefs:
    """Marginals of the free variables of a problem, one after the other, and the log of the sum."""

    variables: Int64  #: ascending, as numbered in the wiring
    start: Int64
    values: F64
    log_z: float | None  #: None where parts were left out

    @property
    def are_impossible(self) -> bool:
        """Whether nothing is possible."""
        return self.log_z == -np.inf

    def of(self, variable: int) -> F64 | None:
        """Return the marginal of one variable, or None if it is not free."""
        i = variable
        if i >= len(self.variables) or self.variables[i] != variable:
            i = int(np.searchsorted(self.variables, variable))
            if i == len(self.variables) or self.variables[i] != variable:
                return None
        return self.values[self.start[i] : self.start[i + 1]]


@dataclass(frozen=True, slots=True, eq=False)
class Answer:
    """What an engine found, exact or not, and how far it may be trusted."""

    beliefs: Beliefs  #: marginals of the free variables
    status: Status
    log_z: float  #: not to be read if ``find_log_z`` is there
    log_z_is: Kind
    residuals: F64 = field(default_factory=lambda: np.empty(0))  #: one per sweep, in order
    updates: int = 0  #: messages, or coordinates, that were computed
    period: int = 0  #: sweeps after which an oscillating run is back where it was
    find_log_z: Callable[[], float] | None = None  #: finds it, where that takes time
    joints: Callable[[Int64], F64 | None] | None = None
    #: returns the joint belief of some free variables of the wiring, one axis for each in their
    #: order; None if no region holds them all
    reader: Any = None  #: returns messages, where there are any
    details: Mapping[str, Any] = field(default_factory=dict)  #: whatever else the engine tells


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

    @property
    def is_prior(self) -> bool:
        """Whether log Z is zero by definition: a network of conditional tables, and no finding."""
        return not self.findings.findings and isinstance(self.model, BayesianNetwork)

    @property
    def has_weights(self) -> bool:
        """Whether ``jeffrey`` led to weights, which are no evidence."""
        return self.evidence is not self.findings

    def tabulated(self) -> Question:
        """Ask the same of tables in place of rules."""
        wiring = self.wiring.tabulated(sum_product=True)
        return self if wiring is self.wiring else replace(self, wiring=wiring)

    def marginal(self, beliefs: Beliefs, variable: int) -> F64:
        """Return the marginal of a variable, free or observed."""
        free = beliefs.of(variable)
        if free is not None:
            free.flags.writeable = False
            return free
        one = np.zeros(int(self.wiring.n_states[variable]))
        one[self.observed[variable]] = 1.0
        return np.asarray(check.frozen(one))


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


def hears_beliefs(callback: Any) -> bool:
    """Tell whether a callback has a parameter for beliefs."""
    try:
        return "beliefs" in inspect.signature(callback).parameters
    except (TypeError, ValueError):  # none, or one whose parameters are not known
        return False


def check_callback(options: Mapping[str, Any], owner: str, *, has_beliefs: bool = False) -> None:
    """Check that a callback, if there is one, can be called."""
    callback = options.get("callback")
    if callback is not None and not callable(callback):
        raise InputError(
            f"The callback of {owner} must be a function of two numbers, such as sweep and "
            f"residual. Got {callback!r}."
        )
    if not has_beliefs and hears_beliefs(callback):
        raise InputError(
            f"{owner} hands beliefs to a callback only with method='loopy'. Leave its parameter "
            "'beliefs' out, or use that method."
        )


def check_search(effort: float, seed: int, owner: str) -> None:
    """Check how hard, and from which seed, to look for an order."""
    check.number(effort, f"effort of {owner}", 0)
    check.count(seed, f"seed of {owner}", 0)


def indices(
    wiring: Wiring, names: Iterable[Hashable] | None, owner: str, what: str = "query"
) -> list[int] | None:
    """Find the variables that are asked for."""
    return None if names is None else wiring.variables.find_each(names, f"The {what} of {owner}")


def not_asked(name: Any, variables: Sequence[Label]) -> InputError:
    """Return the error for a variable that is in the model and not in the query."""
    return InputError(
        f"{name!r} was not asked for; query has {check.listing(variables) or 'nothing'}. Add it to "
        "query, or leave query out for all marginals."
    )


def as_targets(wiring: Wiring, jeffrey: Mapping[Hashable, Any], owner: str) -> dict[int, F64]:
    """Turn the posteriors that ``jeffrey`` asks for into probabilities by variable."""
    targets = {}
    for name, given in items_of(jeffrey, owner, "jeffrey"):
        v = wiring.index(name)
        weights = as_weights_on(given, tuple(wiring.states[v]), f"{owner}, jeffrey of {name!r}")
        if abs(weights.sum() - 1.0) > 1e-6:
            raise InputError(
                f"{owner}: the posterior that jeffrey asks for {name!r} must sum to one. Got "
                f"{weights.sum():.6g}; for weights of any scale use likelihood."
            )
        targets[v] = np.asarray(weights / weights.sum())
    return targets


def names_of_factors(model: Any) -> dict[Label, int]:
    """Return the place of each named table in the wiring, where tables come before rules."""
    if isinstance(model.factors, WiredFactors):  # of arrays: a million objects, none with a name
        return {}
    tables = [factor for factor in model.factors if isinstance(factor, Factor)]
    return {f.name: i for i, f in enumerate(tables) if f.name is not None}


def as_bytes(budget: Budget, owner: str) -> float:
    """Turn a budget such as ``"4GB"`` into bytes; None is no limit."""
    if budget is None:
        return float("inf")
    if isinstance(budget, str):
        found = re.fullmatch(r"\s*([0-9]+(?:\.[0-9]+)?)\s*([a-zA-Z]*)\s*", budget)
        if found and found[2].lower() in _UNITS:
            return float(found[1]) * _UNITS[found[2].lower()]
    elif isinstance(budget, (int, float, np.number)) and type(budget) is not bool and budget >= 0:
        return float(budget)
    raise InputError(
        f"The budget of {owner} must be bytes or text such as '4GB' or '500 MiB', or None for no "
        f"limit. Got {budget!r}."
    )


def as_text(size: float) -> str:
    """Write bytes for people."""
    for unit in ("B", "kB", "MB", "GB", "TB"):
        if size < 999.5:
            return f"{size:.3g} {unit}"
        size /= 1000
    return f"{size:.3g} PB" if size < 1e4 else f"{size * 1e15:.1e} B"


def refuse_above(
    budget: Budget, problem: Problem, order: Order, owner: str, *, copies: float = 1.0
) -> None:
    """Raise BudgetError if the clique tables of an order do not fit; name the largest clique."""
    needed = 8.0 * order.cells * copies
    if needed <= as_bytes(budget, owner) and order.cells < _ADDRESSABLE:
        return
    names = [name_of(problem.wiring, int(v)) for v in problem.variables[order.clique]]
    least = "" if order.exact else "at least "
    raise BudgetError(
        f"{owner} needs {least}{as_text(needed)} for its clique tables; the budget is "
        f"{budget if budget is not None else 'what can be addressed'}. The largest clique has "
        f"{len(names)} variables and 2^{order.log2_largest:.1f} cells: {check.listing(names)}. "
        f"{ADVICE}"
    )


def refuse_copies(wiring: Wiring, observed: Int64, budget: Budget) -> None:
    """Raise BudgetError if tables that factors share, copied for each of them, do not fit."""
    limit = as_bytes(budget, "infer")
    if len(wiring.table) < len(wiring.table_start):  # as many tables as factors: none is shared
        return
    cells = np.diff(wiring.table_start)[wiring.table].astype(float)
    if 8.0 * cells.sum() <= limit or cells.sum() <= max(len(wiring.values), _SMALL):
        return
    sizes = np.where(observed >= 0, 1.0, wiring.n_states)[wiring.scope]
    needed = 8.0 * np.multiply.reduceat(sizes, wiring.scope_start[:-1]).sum()
    if needed > limit:
        raise BudgetError(
            f"The factors alone take {as_text(needed)}, each with its own table; the budget is "
            f"{budget}. Raise budget=, or add evidence."
        )
