"""A net: the factors and rules that messages pass between, with the evidence already in them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from credo._types import F64
from credo._validation.arrays import frozen
from credo.graphs.evidence import Evidence, Finding
from credo.graphs.problems import Problem, pose
from credo.graphs.structured import AtMostOne, NoisyAnd, NoisyOr, Parity, Structured
from credo.graphs.wiring import Wiring, starts

Int64: TypeAlias = npt.NDArray[np.int64]
#: A rule: its place among the factors of the model, its variables, and itself.
Rule: TypeAlias = tuple[int, npt.NDArray[Any], Structured]

#: Kinds of factors. Rules are chains of two inner states, which messages pass in linear time.
TABLE, EVEN, ODD, AT_MOST_ONE, NOISY_OR, NOISY_AND = range(6)


@dataclass(frozen=True, slots=True, eq=False)
class Net:
    """Factors over free variables; slot s is the place of a variable in the scope of a factor.

    The message of slot s, from its factor to its variable, lies at
    ``message_start[s]:message_start[s + 1]`` of whatever holds messages.
    """

    problem: Problem  #: the tables alone
    origin: Int64  #: the factor of the model that each factor is; -1 for weights of evidence
    n_states: Int64
    scope_start: Int64  #: tables first, in the order of the problem, then rules
    scope: Int64
    kind: Int64  #: of each factor: a table or a rule
    cell_start: Int64  #: where the table of a factor starts, or the numbers of a rule
    values: F64  #: cells of tables; of a noisy gate the probabilities, then the leak
    message_start: Int64
    incident_start: Int64
    incident: Int64  #: the slots of each variable

    @property
    def n_factors(self) -> int:
        """How many tables and rules there are."""
        return len(self.kind)

    @property
    def n_slots(self) -> int:
        """How many messages there are, those of single-variable tables too, which never change."""
        return len(self.scope)

    @property
    def factor_of(self) -> Int64:
        """Give the factor of each slot."""
        return np.repeat(np.arange(self.n_factors), np.diff(self.scope_start))

    def factor_at(self, slot: int) -> int:
        """Give the factor of one slot."""
        return int(np.searchsorted(self.scope_start, slot, side="right")) - 1

    @property
    def is_moving(self) -> npt.NDArray[np.bool_]:
        """Mark the slots whose messages depend on others: those of two variables or more."""
        return np.repeat(np.diff(self.scope_start) > 1, np.diff(self.scope_start))

    @property
    def is_forest(self) -> bool:
        """Whether no cycle of factors and variables is left."""
        from credo._kernels.loopy_forest import count_cycles  # noqa: PLC0415

        return bool(count_cycles(len(self.n_states), self.scope_start, self.scope) == 0)

    def log_values(self) -> F64:
        """Give the logs of the cells of tables; zeros in the place of the numbers of rules."""
        logs = self.problem.log_values()
        return np.concatenate([logs, np.zeros(len(self.values) - len(logs))])


def build(
    wiring: Wiring, evidence: Evidence, query: Sequence[int] | None, *, sum_product: bool
) -> Net:
    """Make the net of a compiled model, given evidence.

    Rules of one variable are written out, for maxima noisy gates too; the others stay rules.
    """
    native: tuple[type, ...] = (Parity, AtMostOne)
    if sum_product:
        native += (NoisyOr, NoisyAnd)
    tables, order, rules = _apart(wiring, native)
    if not rules:  # children that nobody needs sum to one, but have maxima of their own
        problem = pose(tables, evidence, query if sum_product else None, whole=True)
        return _with_rules(problem, order, [])
    kept = {int(v) for _, scope, _ in rules for v in scope}
    return _with_rules(pose(tables, _as_weights(evidence, kept, tables)), order, rules)


def _apart(wiring: Wiring, native: tuple[type, ...]) -> tuple[Wiring, Int64, list[Rule]]:
    """Part a wiring into tables, among them the rules that are written out, and native rules.

    Gives the place in the wiring of each table too: rules that are written out come last.
    """
    if not wiring.structured:
        return wiring, np.arange(len(wiring.table)), []
    rules: list[Rule] = []
    others: list[tuple[int, Structured]] = []
    keep = np.ones(len(wiring.table), np.bool_)
    places = np.flatnonzero(wiring.table < 0).tolist()
    for f, rule in zip(places, wiring.structured, strict=True):
        if isinstance(rule, native) and len(rule.variables) > 1:
            keep[f] = False
            scope = wiring.scope[wiring.scope_start[f] : wiring.scope_start[f + 1]]
            rules.append((f, scope, rule))
        else:
            others.append((f, rule))
    lengths = np.diff(wiring.scope_start)
    tables = replace(
        wiring,
        scope_start=starts(lengths[keep]).astype(np.int64),
        scope=wiring.scope[np.repeat(keep, lengths)],
        table=wiring.table[keep],
        owner=wiring.owner[keep],
        structured=tuple(rule for _, rule in others),
    )
    order = [*np.flatnonzero(wiring.table >= 0).tolist(), *(f for f, _ in others)]
    return tables.tabulated(sum_product=False), np.array(order, np.int64), rules


def _as_weights(evidence: Evidence, kept: set[int], wiring: Wiring) -> Evidence:
    """Turn the observed states of variables that rules mention into weights on all states."""

    def weighted(finding: Finding) -> Finding:
        if finding.variable not in kept or finding.weights is not None:
            return finding
        return finding._replace(state=-1, weights=Evidence.weights_of(finding, wiring))

    return Evidence(tuple(weighted(finding) for finding in evidence.findings))


def _with_rules(problem: Problem, order: Int64, rules: Sequence[Rule]) -> Net:
    """Append rules to the tables of a problem, which stand in this order in the model."""
    new = np.full(len(problem.wiring.n_states), -1, np.int64)
    new[problem.variables] = np.arange(len(problem.variables))
    scopes = [new[scope] for _, scope, _ in rules]
    numbers = [_numbers(rule) for _, _, rule in rules]
    weights = np.full(len(problem.soft), -1)
    places = np.array([f for f, _, _ in rules], np.int64)
    scope = np.concatenate([problem.scope, *scopes])
    lengths = [len(scope) for scope in scopes]
    tail = problem.scope_start[-1] + np.cumsum(lengths, dtype=np.int64)
    cells = problem.cell_start[-1] + np.cumsum([len(n) for n in numbers], dtype=np.int64)
    tables = np.full(len(problem.scope_start) - 1, TABLE, np.int64)
    by_variable = np.argsort(scope, kind="stable")
    return Net(
        problem=problem,
        origin=np.concatenate([order[np.flatnonzero(problem.keep)], weights, places]),
        n_states=problem.n_states,
        scope_start=np.concatenate([problem.scope_start, tail]),
        scope=scope,
        kind=np.concatenate([tables, np.array([_kind(rule) for _, _, rule in rules], np.int64)]),
        cell_start=np.concatenate([problem.cell_start, cells]),
        values=frozen(np.concatenate([problem.values, *numbers])),
        message_start=starts(problem.n_states[scope]).astype(np.int64),
        incident_start=starts(np.bincount(scope, minlength=len(problem.n_states))),
        incident=by_variable.astype(np.int64),
    )


def _kind(rule: Structured) -> int:
    """Give the kind of a rule."""
    if isinstance(rule, Parity):
        return EVEN if rule.even else ODD
    if isinstance(rule, AtMostOne):
        return AT_MOST_ONE
    return NOISY_OR if isinstance(rule, NoisyOr) else NOISY_AND


def _numbers(rule: Structured) -> F64:
    """Give the numbers of a rule: those of a noisy gate; others have none."""
    if isinstance(rule, (NoisyOr, NoisyAnd)):
        return np.append(rule.probabilities, rule.leak)
    return np.empty(0)
