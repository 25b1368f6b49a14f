"""Directed graphs of arrays: order, cycles, and the wiring of a Bayesian network."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import Any

import numpy as np

from credo._types import F64, Label, Labels
from credo._validation.arrays import as_floats
from credo._validation.labels import as_labels
from credo.exceptions import InputError, ShapeError
from credo.graphs._rows import divided, fault_of
from credo.graphs._tables import row_name
from credo.graphs.variables import Variables, as_states
from credo.graphs.wiring import Int64, Wiring

#: Kinds of states that are plain already, and never unlike themselves as NaN is.
_PLAIN_KINDS = frozenset({str, int, bool})


def wiring_of(
    names: Any, states: Any, parents: Sequence[Sequence[int]], values: Any, tolerance: float
) -> Wiring:
    """Check the arrays of a Bayesian network and lay them out."""
    names = as_labels(names, "A BayesianNetwork", "names")
    states = _checked_states(names, states)
    n = len(names)
    counts, flat = _checked_parents(names, parents)
    scope_start = np.concatenate([[0], np.cumsum(counts + 1)])
    scope = np.empty(scope_start[-1], dtype=np.int64)
    is_child = np.zeros(len(scope), dtype=bool)
    is_child[scope_start[1:] - 1] = True
    scope[is_child], scope[~is_child] = np.arange(n), flat
    if (flat >= np.repeat(np.arange(n), counts)).any():
        check_acyclic(parents, names)
    n_states = np.fromiter(map(len, states), dtype=np.int64, count=n)
    numbers = np.array(as_floats(values, "A BayesianNetwork", "values")).ravel()
    counts = _row_counts(n_states, scope, scope_start, numbers.size)
    return Wiring(
        names=names,
        states=states,
        n_states=n_states,
        scope_start=scope_start,
        scope=scope.astype(np.int32),
        table=np.arange(n, dtype=np.int32),
        table_start=np.concatenate([[0], np.cumsum(counts * n_states)]),
        values=_divided(numbers, counts, Variables(names, states), parents, tolerance),
        log_scale=np.zeros(n),
        log_values=None,
        owner=np.arange(n, dtype=np.int32),
    )


def _checked_states(names: Labels, states: Any) -> tuple[Labels, ...]:
    """Check one list of states per variable; lists of text and numbers are checked at once."""
    if len(states) != len(names):
        raise ShapeError(
            f"A BayesianNetwork of {len(names)} names needs as many lists of states. "
            f"Got {len(states)}."
        )
    listed = tuple(states)
    are_plain = all(type(each) is tuple for each in listed) and _PLAIN_KINDS.issuperset(
        map(type, chain.from_iterable(listed))
    )
    if are_plain and all(0 < len(each) == len(set(each)) for each in listed):
        return listed
    return tuple(as_states(each, name) for each, name in zip(listed, names, strict=True))


def _checked_parents(names: Labels, parents: Any) -> tuple[Int64, Int64]:
    """Count the parents of each variable and lay them flat; they must exist and differ."""
    n = len(names)
    if len(parents) != n:
        raise ShapeError(
            f"A BayesianNetwork of {n} names needs as many lists of parents. Got {len(parents)}."
        )
    counts = np.fromiter(map(len, parents), dtype=np.int64, count=n)
    flat = np.fromiter(chain.from_iterable(parents), dtype=np.int64, count=int(counts.sum()))
    children = np.repeat(np.arange(n), counts)
    outside = (flat < 0) | (flat >= n)
    if outside.any():
        place = int(np.argmax(outside))
        raise InputError(
            f"Variable {names[children[place]]!r} has the parent number {flat[place]}, but the "
            f"{n} variables are numbered from 0 to {n - 1}."
        )
    itself = flat == children
    if itself.any():
        name = names[children[int(np.argmax(itself))]]
        raise InputError(f"Variable {name!r} cannot be its own parent.")
    pairs = np.sort(children * n + flat)
    twice = pairs[1:] == pairs[:-1]
    if twice.any():
        child, parent = divmod(int(pairs[int(np.argmax(twice))]), n)
        raise InputError(f"Variable {names[child]!r} has the parent {names[parent]!r} twice.")
    return counts, flat


def _row_counts(n_states: Int64, scope: Int64, scope_start: Int64, size: int) -> Int64:
    """Count the rows of each table, once it is known that all cells are there."""
    cells = np.multiply.reduceat(n_states[scope].astype(np.float64), scope_start[:-1])
    if cells.sum() != size:
        raise ShapeError(
            f"The tables of the BayesianNetwork have {cells.sum():.0f} cells in all. "
            f"Got {size} values."
        )
    return cells.astype(np.int64) // n_states


def _divided(
    values: F64, counts: Int64, variables: Variables, parents: Any, tolerance: float
) -> F64:
    """Check that all rows are distributions, and divide them by their sums."""
    n_states = np.fromiter(map(len, variables.states), dtype=np.int64, count=len(variables))
    lengths = np.repeat(n_states, counts)
    rows = divided(values, lengths, tolerance)
    if rows.fault < 0:
        return rows.values
    ends = np.cumsum(counts)
    child = int(np.searchsorted(ends, rows.fault, "right"))
    start = int(lengths[: rows.fault].sum())
    fault = fault_of(values[start : start + int(n_states[child])], rows.total, tolerance)
    given = [variables[int(parent)] for parent in parents[child]]
    row = row_name(rows.fault - int(ends[child] - counts[child]), given)
    raise InputError(f"CPT of {variables.names[child]!r}: {row} {fault}")


def check_acyclic(parents: Sequence[Sequence[int]], names: Sequence[Label]) -> None:
    """Take away variables whose parents are gone; if some remain, name a cycle among them."""
    missing = [len(each) for each in parents]
    children: list[list[int]] = [[] for _ in parents]
    for child, each in enumerate(parents):
        for parent in each:
            children[parent].append(child)
    free = [place for place, count in enumerate(missing) if not count]
    for place in free:  # grows while it is walked
        for child in children[place]:
            missing[child] -= 1
            if not missing[child]:
                free.append(child)
    if len(free) < len(missing):
        cycle = " → ".join(repr(names[place]) for place in _cycle(parents, missing))
        raise InputError(f"The network has the cycle {cycle}. Turn or remove one of its arrows.")


def _cycle(parents: Sequence[Sequence[int]], missing: list[int]) -> list[int]:
    """Walk from parent to parent among what remains until a variable comes again."""
    place = next(place for place, count in enumerate(missing) if count)
    seen: dict[int, int] = {}
    while place not in seen:
        seen[place] = len(seen)
        place = int(next(parent for parent in parents[place] if missing[parent]))
    walk = list(seen)[seen[place] :]
    return [place, *reversed(walk)]
