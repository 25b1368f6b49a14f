"""The tables of a BIF file: rows put in their places by the names of the parents' states."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from credo._types import F64, Int
from credo._validation.labels import hint, listing
from credo.exceptions import FileFormatError
from credo.formats._bif_blocks import Declared
from credo.formats._bif_entries import (
    DEFAULT,
    ROW,
    TABLE,
    Entries,
    entries_of,
    number_fault,
    read_numbers,
)
from credo.formats._bif_tokens import Tokens
from credo.graphs.wiring import ranges, starts

#: The most cells of all tables together, a gigabyte of numbers. A default row fills many cells
#: from few bytes, so that the size of the file alone does not bound them.
MOST_CELLS = 2**27


@dataclass(slots=True)
class Tables:
    """All tables: cells with the child last, the tokens of their rows, where each one starts."""

    values: F64
    where: Int
    first_row: Int
    first_cell: Int

    def of(self, v: int) -> tuple[Int, F64]:
        """Give the tokens of the rows of a variable, and its cells, a row each."""
        rows = self.where[self.first_row[v] : self.first_row[v + 1]]
        cells = self.values[self.first_cell[v] : self.first_cell[v + 1]]
        return rows, cells.reshape(rows.shape[0], -1)


@dataclass(slots=True)
class _Shape:
    """Sizes of the tables, and where the parts of each start in flat arrays."""

    n_states: Int
    n_parents: Int
    n_rows: Int
    first_state: Int
    first_parent: Int
    parents: Int
    strides: Int


def read_tables(tokens: Tokens, found: Declared) -> Tables:
    """Read the tables of all variables, in their order."""
    shape = _shape(tokens, found)
    first_row, first_cell = starts(shape.n_rows), starts(shape.n_rows * shape.n_states)
    entries = entries_of(tokens, found.body_start, found.body_end)
    entries.sort[(entries.sort == TABLE) & (shape.n_parents[entries.variable] == 0)] = ROW
    _check_counts(tokens, found, entries, shape)
    # rows are read to their places, other entries to the end of the array for a while
    n_cells = int(first_cell[-1])
    other = np.where(entries.sort == ROW, 0, entries.n_numbers)
    target = n_cells + np.cumsum(other) - other
    values = np.zeros(n_cells + int(other.sum()))
    where = np.zeros(int(first_row[-1]), np.intp)
    tables = Tables(values[:n_cells], where, first_row, first_cell)
    is_row = entries.sort == ROW
    target[is_row] = _targets(tokens, found, entries.only(is_row), shape, tables)
    read_numbers(tokens, entries, target, values)
    for i in np.flatnonzero(entries.sort == TABLE).tolist():
        _place_table(tokens, entries, i, values[target[i] : target[i] + other[i]], tables)
    _place_defaults(tokens, entries, target, values, tables)
    if not where.all():
        raise _missing(tokens, found, tables)
    return tables


def _shape(tokens: Tokens, found: Declared) -> _Shape:
    """Measure the tables before anything is allocated for them."""
    n_states = [len(states) for states in found.states]
    strides: list[int] = []
    n_rows: list[int] = []
    total = 0
    for v, family in enumerate(found.parents):
        rows = 1
        steps = []
        for p in reversed(family):
            steps.append(rows)
            rows *= n_states[p]
        strides += reversed(steps)
        n_rows.append(rows)
        cells = rows * n_states[v]
        total += cells
        if cells > found.body_end[v] - found.body_start[v]:
            _check_size(tokens, found, v, cells, total)
    n_parents = np.array([len(family) for family in found.parents], np.intp)
    return _Shape(
        np.array(n_states, np.intp),
        n_parents,
        np.array(n_rows, np.intp),
        starts(np.array(n_states, np.intp)),
        starts(n_parents),
        np.array([p for family in found.parents for p in family], np.intp),
        np.array(strides, np.intp),
    )


def _check_size(tokens: Tokens, found: Declared, v: int, cells: int, total: int) -> None:
    """Refuse a table for which its block is too short, unless a default row fills the rest."""
    brace, closes = found.body_start[v] - 1, found.body_end[v]
    name = found.names[v]
    if total > MOST_CELLS:
        reason = (
            f"The table of {name!r} has {cells} cells; all tables together may have {MOST_CELLS}. "
            f"Give it fewer parents."
        )
        raise tokens.fault(brace, reason)
    if b"default" not in tokens.text[tokens.start[brace] : tokens.start[closes]]:
        reason = (
            f"The table of {name!r} has {cells} cells, more than its block holds. Give a row for "
            f"all states of the parents, or a default row."
        )
        raise tokens.fault(brace, reason)


def _check_counts(tokens: Tokens, found: Declared, entries: Entries, shape: _Shape) -> None:
    """Check that entries have as many numbers as their variables have states."""
    owner = entries.variable
    wanted = shape.n_states[owner] * np.where(entries.sort == TABLE, shape.n_rows[owner], 1)
    wrong = entries.n_numbers != wanted
    if wrong.any():
        i = int(np.argmax(wrong))
        name = found.names[int(owner[i])]
        inside = np.arange(entries.before[i] + 1, entries.semicolon[i])
        signs = inside[tokens.kind[inside] != ord("w")]
        if signs.size:
            raise number_fault(tokens, int(signs[0]))
        raise tokens.fault(
            int(entries.first[i]),
            f"Expected {wanted[i]} probabilities for {name!r} here, one for each state. Got "
            f"{entries.n_numbers[i]}.",
        )


def _targets(
    tokens: Tokens, found: Declared, entries: Entries, shape: _Shape, tables: Tables
) -> Int:
    """Give the first cells of rows with labels, and of those of variables without parents."""
    row = _rows_of(tokens, found, entries, shape)
    cell: Int = tables.first_cell[entries.variable] + row * shape.n_states[entries.variable]
    row += tables.first_row[entries.variable]
    tables.where[row] = entries.first
    lost = tables.where[row] != entries.first
    if lost.any():
        i = int(np.argmax(lost))
        raise _twice(tokens, int(entries.first[i]), int(tables.where[row[i]]))
    return cell


def _rows_of(tokens: Tokens, found: Declared, entries: Entries, shape: _Shape) -> Int:
    """Give the row within its table that the labels of each entry name."""
    n_labels = np.maximum(entries.before - entries.first - 1, 0)
    plain = n_labels == shape.n_parents[entries.variable]
    labels = ranges(entries.first[plain] + 1, n_labels[plain])
    row = np.empty(plain.shape[0], np.intp)
    spans = tokens.start[labels], tokens.end[labels]
    row[plain] = _matched(tokens, found, entries.variable[plain], shape, spans)
    odd = np.flatnonzero(~plain)
    if odd.size:
        parts = [_parts(tokens, found, entries, i, shape) for i in odd.tolist()]
        starts, ends = np.array([part for each in parts for part in each], np.int32).T.copy()
        row[odd] = _matched(tokens, found, entries.variable[odd], shape, (starts, ends))
    return row


def _matched(
    tokens: Tokens, found: Declared, variable: Int, shape: _Shape, spans: tuple[Any, Any]
) -> Int:
    """Give the rows named by labels, as many per variable as it has parents."""
    from credo._kernels.bif_text import match_states  # noqa: PLC0415 - loads Numba

    n_labels = shape.n_parents[variable]
    slot = ranges(shape.first_parent[variable], n_labels)
    known = _state_spans(found, shape)
    state = np.empty(slot.shape[0], np.intp)
    recent = np.zeros(shape.n_states.shape[0], np.intp)
    owner = shape.parents[slot]
    match_states(tokens.array, *spans, owner, shape.first_state, *known, recent, state)
    if (state < 0).any():
        i = int(np.argmax(state < 0))
        parent = int(owner[i])
        name = tokens.decoded(tokens.text[spans[0][i] : spans[1][i]])
        raise tokens.fault_at(
            int(spans[0][i]),
            f"{found.names[parent]!r} has no state {name!r}.{hint(name, found.states[parent])}",
        )
    total = np.concatenate(([0], np.cumsum(state * shape.strides[slot])))
    stop = np.cumsum(n_labels)
    return total[stop] - total[stop - n_labels]


def _state_spans(found: Declared, shape: _Shape) -> tuple[Int, Int]:
    """Give where the states of all variables are spelt, one after the other."""
    lengths = np.array([len(states) for states, _, _ in found.lists], np.intp)
    which = ranges(starts(lengths)[found.listed], shape.n_states)
    brace = np.repeat(np.array(found.brace, np.intp), shape.n_states)
    first = np.array([start for _, spans, _ in found.lists for start in spans], np.intp)
    ends = np.array([end for _, _, spans in found.lists for end in spans], np.intp)
    return first[which] + brace, ends[which] + brace


def _parts(
    tokens: Tokens, found: Declared, entries: Entries, i: int, shape: _Shape
) -> list[tuple[int, int]]:
    """Give the spans of labels that hold blanks: only commas separate them."""
    labels = range(int(entries.first[i]) + 1, int(entries.before[i]))
    starts, ends = tokens.start[labels].tolist(), tokens.end[labels].tolist()
    words = tokens.kind[labels] == ord("w")
    spans = list(zip(starts[:1], ends[:1], strict=True))
    for a, b in pairwise(range(len(labels))):
        if tokens.text[ends[a] : starts[b]].strip() or not (words[a] and words[b]):
            spans.append((starts[b], ends[b]))
        else:
            spans[-1] = spans[-1][0], ends[b]
    v = int(entries.variable[i])
    wanted = int(shape.n_parents[v])
    if len(spans) != wanted:
        parents = listing([found.names[p] for p in found.parents[v]]) or "none"
        raise tokens.fault(
            int(entries.first[i]),
            f"Expected {wanted} states, one for each parent of {found.names[v]!r} ({parents}). "
            f"Got {len(spans)}. Quote names that hold commas.",
        )
    return spans


def _place_table(tokens: Tokens, entries: Entries, i: int, numbers: F64, tables: Tables) -> None:
    """Write a whole table, in which the child varies slowest."""
    rows, cells = tables.of(int(entries.variable[i]))
    if rows.any():
        raise _twice(tokens, int(rows[rows > 0][0]), int(entries.first[i]))
    rows[:] = entries.first[i]
    cells[:] = numbers.reshape(-1, rows.shape[0]).T


def _place_defaults(
    tokens: Tokens, entries: Entries, target: Int, values: F64, tables: Tables
) -> None:
    """Write the default rows where no other row was given."""
    seen: dict[int, int] = {}
    for i in np.flatnonzero(entries.sort == DEFAULT).tolist():
        v = int(entries.variable[i])
        if v in seen:
            raise _twice(tokens, seen[v], int(entries.first[i]))
        seen[v] = int(entries.first[i])
        rows, cells = tables.of(v)
        cells[rows == 0] = values[target[i] : target[i] + cells.shape[1]]
        rows[rows == 0] = entries.first[i]


def _twice(tokens: Tokens, first: int, second: int) -> FileFormatError:
    """Say that a row is given twice."""
    first, second = sorted((first, second))
    line = tokens.fault(first, "").line
    return tokens.fault(second, f"This row was given on line {line} already. Remove one of them.")


def _missing(tokens: Tokens, found: Declared, tables: Tables) -> FileFormatError:
    """Say which row is missing."""
    row = int(np.argmin(tables.where))
    v = int(np.searchsorted(tables.first_row, row, "right")) - 1
    return tokens.fault(
        found.body_end[v],
        f"There are no probabilities of {named_row(found, tables, row)}. Add the row, or a "
        f"default row.",
    )


def named_row(found: Declared, tables: Tables, row: int) -> str:
    """Name a row: the variable, given the states of its parents."""
    v = int(np.searchsorted(tables.first_row, row, "right")) - 1
    family = found.parents[v]
    if not family:
        return repr(found.names[v])
    sizes = [len(found.states[p]) for p in family]
    states = np.unravel_index(row - int(tables.first_row[v]), sizes)
    given = [f"{found.names[p]}={found.states[p][s]}" for p, s in zip(family, states, strict=True)]
    return f"{found.names[v]!r} given {', '.join(given)}"
