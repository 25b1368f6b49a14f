"""A net: the factors and rules that messages pass between, with the evidence already in them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import scipy

from credo import _checks as check
from credo._types import F64
from credo.graphs.evidence import Evidence, Finding
from credo.graphs.problems import Problem, pose
from credo.graphs.structured import AtMostOne, NoisyAnd, NoisyOr, Parity, Structured
from credo.graphs.wiring import Wiring, starts
from credo.inference.loopy.kernels import (
    AT_MOST_ONE,
    EVEN,
    NOISY_AND,
    NOISY_OR,
    ODD,
    TABLE,
    Wires,
    sort_slots,
    split_tables,
)

Int64: TypeAlias = npt.NDArray[np.int64]
#: A rule: its place among the factors of the model, its variables, and itself.
Rule: TypeAlias = tuple[int, npt.NDArray[Any], Structured]


@dataclass(frozen=True, slots=True, eq=False)
class Net:
    """Factors of two or more free variables; tables of single ones are part of the potentials.

    Everything is to the power one over the temperature, and factors also to the power one over
    their counting number. The largest cell of each table is one.
    """

    problem: Problem  #: the tables alone, single ones too
    origin: Int64  #: the factor of the model that each factor is
    wires: Wires  #: the arrays that kernels read
    log_constant: float  #: to be added to the log of the sum; -inf if nothing is possible

    @property
    def n_slots(self) -> int:
        """How many messages there are."""
        return len(self.wires.scope)

    @property
    def keys(self) -> Int64:
        """A number for each slot: its factor and its variable, in the model."""
        factor = self.origin[self.wires.factor_of]
        return np.asarray(key(factor, self.problem.variables[self.wires.scope]))

    @property
    def _links(self) -> tuple[int, Int64, Int64]:
        """How many variables and factors; both ends of each slot, factors after variables."""
        n = len(self.problem.n_states)
        return n + len(self.wires.kind), self.wires.scope, n + self.wires.factor_of

    @property
    def is_forest(self) -> bool:
        """Whether there is no cycle of factors and variables."""
        if not 0 < self.n_slots < len(self.problem.n_states) + len(self.wires.kind):
            return not self.n_slots
        count, one, two = self._links
        links = scipy.sparse.coo_array((np.ones(len(one)), (one, two)), (count, count))
        parts = int(scipy.sparse.csgraph.connected_components(links, directed=False)[0])
        return len(one) + parts == count

    def walks(self, root: int = -1) -> list[Int64]:
        """List the slots along spanning forests, from the leaves to the roots and back.

        There are as many forests as it takes to hold every slot. A root is the first variable of
        its tree, but for the one that is given, which links nearest to it are preferred for.
        """
        rank = self._nearness(root)
        used = np.zeros(self.n_slots, np.int64)
        found: list[Int64] = []
        while self.n_slots and not (found and used.all()):
            found.append(self._walk(used, rank, root))
            used[found[-1]] += 1
        return found

    def _nearness(self, root: int) -> Int64:
        """Rank the slots by their distance from a root; without one as they are numbered."""
        count, one, two = self._links
        turn = np.arange(1, len(one) + 1)
        if root < 0:
            return turn
        graph = scipy.sparse.csr_array((turn, (one, two)), (count, count))
        how = {"directed": False, "unweighted": True, "indices": root}
        steps = scipy.sparse.csgraph.shortest_path(graph, method="D", **how)
        rank = np.empty_like(turn)
        rank[np.argsort(np.minimum(steps[one], steps[two]), kind="stable")] = turn
        return rank

    def _walk(self, used: Int64, rank: Int64, root: int) -> Int64:
        """List the slots along one spanning forest that prefers those least used."""
        (count, one, two), n = self._links, len(self.problem.n_states)
        array, graphs = scipy.sparse.csr_array, scipy.sparse.csgraph
        turn = np.arange(1, len(one) + 1)
        number = array((turn, (one, two)), (count, count))
        price = used * float(len(one)) + rank  # of two used alike the first: there are no ties
        forest = graphs.minimum_spanning_tree(array((price, (one, two)), (count, count)))
        _, part = graphs.connected_components(forest, directed=False)
        roots = np.unique(part[:n], return_index=True)[1]
        if root >= 0:
            roots[part[roots] == part[root]] = root
        low, high = forest.tocoo().coords
        ends = np.append(low, np.full(len(roots), count)), np.append(high, roots)  # one more node
        tree = array((np.ones(len(ends[0])), ends), (count + 1, count + 1))
        order, above = graphs.breadth_first_order(tree, count, directed=False)
        order = order[(order < count) & (above[order] < count)]
        low, high = np.minimum(order, above[order]), np.maximum(order, above[order])
        slots = np.asarray(number[low, high]).ravel().astype(np.int64) - 1
        return np.concatenate([slots[order >= n][::-1], slots[order < n]])


def key(factor: Any, variable: Any) -> Any:
    """Return one number for a factor and a variable of a model."""
    return factor * 2**31 + variable


@dataclass(frozen=True, slots=True, eq=False)
class Draft:
    """What a net is made of, before it is laid out.

    Other than for plain sums noisy gates are written out; the other rules stay rules, but for
    those of a single variable, which are potentials.
    """

    problem: Problem
    order: Int64  #: the factor of the model that each table is
    rules: list[Rule]
    cold: float  #: one over the temperature
    counting: F64 | None

    @classmethod
    def of(
        cls,
        wiring: Wiring,
        evidence: Evidence,
        query: Sequence[int] | None = None,
        temperature: float = 1.0,
        counting: F64 | None = None,
    ) -> Draft:
        """Part a model into tables, with the evidence in them, and rules."""
        is_plain = temperature == 1.0 and counting is None
        native = (Parity, AtMostOne, NoisyOr, NoisyAnd) if is_plain else (Parity, AtMostOne)
        tables, order, rules = _apart(wiring, native)
        if rules:
            kept = {int(v) for _, scope, _ in rules for v in scope}
            problem = pose(tables, _as_weights(evidence, kept, tables))
        else:  # children that nobody needs sum to one, but have maxima of their own
            problem = pose(tables, evidence, query if is_plain else None, whole=True)
        return cls(problem, order, rules, 1.0 / (temperature or 1.0), counting)

    def net(self) -> Net:
        """Lay it out."""
        problem, cold, rules = self.problem, self.cold, self.rules
        logs = cold * problem.log_values() if cold != 1.0 else problem.log_values()
        weights = np.full(len(problem.soft), -1)
        origin = np.append(self.order[np.flatnonzero(problem.keep)], weights)
        origin = origin[np.diff(problem.scope_start) > 1]
        origin = np.append(origin, [f for f, _, _ in rules]).astype(np.int64)
        new = np.full(len(problem.wiring.n_states), -1, np.int64)
        new[problem.variables] = np.arange(len(problem.variables))
        wires, taken = wire(
            problem,
            logs,
            np.zeros(int(problem.n_states.sum())),
            np.ones(len(origin)) if self.counting is None else self.counting[origin],
            [(new[scope], rule) for _, scope, rule in rules],
        )
        return Net(problem, origin, wires, cold * problem.log_constant + taken)


def _apart(wiring: Wiring, native: tuple[type, ...]) -> tuple[Wiring, Int64, list[Rule]]:
    """Part a wiring into tables, among them the rules that are written out, and native rules.

    Returns the place in the wiring of each table too: rules that are written out come last.
    """
    if not wiring.structured:
        return wiring, np.arange(len(wiring.table)), []
    rules: list[Rule] = []
    others: list[tuple[int, Structured]] = []
    keep = np.ones(len(wiring.table), np.bool_)
    for f, rule in zip(np.flatnonzero(wiring.table < 0), wiring.structured, strict=True):
        scope = wiring.scope[wiring.scope_start[f] : wiring.scope_start[f + 1]]
        if isinstance(rule, native) and len(scope) > 1:
            keep[f] = False
            rules.append((int(f), scope, rule))
        else:
            others.append((int(f), rule))
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


def wire(
    tables: Any,
    logs: F64,
    unary: F64,
    power: F64,
    rules: Sequence[tuple[Int64, Structured]] = (),
) -> tuple[Wires, float]:
    """Lay tables, and rules after them, out for the kernels; return the log that was divided by.

    Parameters
    ----------
    tables
        A problem, or anything else with its arrays of states, scopes and starts of cells.
    logs
        The logs of their cells.
    unary
        Logs of the potentials, to which tables of single variables are added in place.
    power
        The counting number of each factor of two variables or more.
    rules
        Their variables, and themselves.
    """
    n_states, arity, logs = tables.n_states, np.diff(tables.scope_start), np.array(logs)
    cells, scope = np.diff(tables.cell_start), tables.scope
    many = arity > 1
    if not many.all():
        scope, cells, arity = scope[np.repeat(many, arity)], cells[many], arity[many]
    span, size = np.zeros(len(arity) + len(rules)), int(cells.sum())
    kind = _and(np.full(len(arity), TABLE), [_kind(rule) for _, rule in rules])
    numbers = [_numbers(rule) for _, rule in rules]
    cells = _and(cells, [len(given) for given in numbers])
    arity = _and(arity, [len(over) for over, _ in rules])
    scope = _and(scope, np.concatenate([*(over for over, _ in rules), []]))
    state_start = starts(n_states)
    shape = tables.scope_start, tables.scope, tables.cell_start
    taken = float(split_tables(*shape, logs, power, state_start, unary, span))
    logs = logs[:size]
    incident_start = starts(np.bincount(scope, minlength=len(n_states)))
    wires = Wires(
        state_start=state_start,
        unary=unary,
        scope_start=starts(arity),
        scope=scope,
        factor_of=np.repeat(np.arange(len(arity)), arity),
        message_start=starts(n_states[scope]),
        incident_start=incident_start,
        incident=sort_slots(scope, incident_start),
        kind=kind,
        cell_start=starts(cells),
        values=_and(np.exp(logs), np.concatenate([*numbers, []])),
        logs=logs,
        span=span,
        power=power,
    )
    return Wires(*(check.frozen(np.ascontiguousarray(array).view()) for array in wires)), taken


def _and(array: npt.NDArray[Any], more: Any) -> npt.NDArray[Any]:
    """Append to an array, which is not copied if there is nothing to append."""
    return np.append(array, more).astype(array.dtype) if len(more) else array


def _kind(rule: Structured) -> int:
    """Return the kind of a rule."""
    if isinstance(rule, Parity):
        return EVEN if rule.even else ODD
    if isinstance(rule, AtMostOne):
        return AT_MOST_ONE
    return NOISY_OR if isinstance(rule, NoisyOr) else NOISY_AND


def _numbers(rule: Structured) -> F64:
    """Return the numbers of a rule: those of a noisy gate; others have none."""
    if isinstance(rule, (NoisyOr, NoisyAnd)):
        return np.append(rule.probabilities, rule.leak)
    return np.empty(0)
