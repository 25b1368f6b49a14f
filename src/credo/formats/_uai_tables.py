"""The text of a UAI model, as flat arrays: every size is checked before anything is made of it."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from credo._types import F64, Bool, Int
from credo.exceptions import FileFormatError
from credo.formats._net_numbers import Numbers, shown
from credo.formats._text import place
from credo.graphs.wiring import starts

#: Most states, in all, of variables that stand in no function.
MOST_IDLE_STATES = 2**20
#: Most cells, in all, of the tables that stand for functions of no variable.
MOST_CONSTANT_CELLS = 2**24
KINDS = ("MARKOV", "BAYES")
_FIRST = re.compile(rb"(?:\xef\xbb\xbf)?\s*(\S+)")
_COMMENT = re.compile(rb"#[^\r\n]*")


@dataclass(frozen=True, slots=True)
class Tables:
    """The functions of a model: scopes and tables one after the other, as in the file.

    Function f touches ``scope[scope_start[f]:scope_start[f + 1]]`` and holds
    ``values[table_start[f]:table_start[f + 1]]``, the last variable being the fastest.
    """

    kind: str
    sizes: Int
    scope_start: Int
    scope: Int
    table_start: Int
    values: F64


def read_tables(data: bytes, path: str, *, log: bool) -> Tables:
    """Read a model; comments from ``#`` to the end of a line, which some programs write, too."""
    data = _COMMENT.sub(lambda comment: b" " * len(comment.group()), data)
    first = _FIRST.match(data)
    kind = first.group(1).decode("latin-1").upper() if first else ""
    if first is None or kind not in KINDS:
        got = shown(first.group(1)) if first else "nothing"
        reason = f"Expected MARKOV or BAYES at the start, got {got}. Is it another format?"
        raise FileFormatError(reason, path, *place(data, first.start(1) if first else 0))
    found = Numbers.of(data, path, first.end())
    count = found.whole(0, "the number of variables")
    if not count:
        found.fail(0, "A model must have at least one variable. Got 0.")
    sizes = np.array(found.wholes(1, count, "a number of states"), dtype=np.intp)
    if sizes.min() < 1:
        found.fail(1 + int(np.argmin(sizes)), "A variable must have at least one state. Got 0.")
    heads, end = _heads(found, count)
    lengths = np.diff(np.append(heads, end)) - 1
    scope = _scope(found, heads, end, count)
    _check_idle(found, sizes, scope)
    cells = _cells(sizes, scope, lengths)
    values = _values(found, end, cells, log=log)
    tables = Tables(kind, sizes, starts(lengths), scope, starts(cells), values)
    bare = lengths == 0
    if np.count_nonzero(bare) * int(sizes.min()) > MOST_CONSTANT_CELLS:
        found.fail(int(heads[np.argmax(bare)]), "Too many functions have no variables. Merge them.")
    return _without_constants(tables, bare) if bare.any() else tables


def _heads(found: Numbers, count: int) -> tuple[Int, int]:
    """Find where the scope of each function starts, and where the last ends."""
    position = count + 2
    numbers = found.values
    heads: list[int] = []
    for _ in range(found.whole(count + 1, "the number of functions")):
        length = numbers.item(position) if position < len(numbers) else -1.0
        if not 0 <= length <= count or not length.is_integer():
            found.whole(position, "the number of variables of a function")
            reason = f"A function cannot have {length:g} variables: there are {count} in all."
            found.fail(position, reason)
        heads.append(position)
        position += 1 + int(length)
    if position > len(found):
        found.fail(len(found), "The file ends inside the scopes of functions. It is cut off.")
    return np.array(heads, dtype=np.intp), position


def _scope(found: Numbers, heads: Int, end: int, count: int) -> Int:
    """Take the variables of all functions, each of which must be known and stand once."""
    places = np.delete(np.arange(count + 2, end), heads - (count + 2))
    numbers = found.values[places]
    good = (numbers >= 0) & (numbers < count) & (numbers == np.floor(numbers))
    if not good.all():
        worst = int(places[np.argmin(good)])
        value = found.whole(worst, "the number of a variable")
        found.fail(worst, f"There is no variable {value}: they are numbered 0 to {count - 1}.")
    scope = numbers.astype(np.intp)
    owner = np.repeat(np.arange(len(heads)), np.diff(np.append(heads, end)) - 1)
    order = np.lexsort((scope, owner))
    same = (np.diff(scope[order]) == 0) & (np.diff(owner[order]) == 0)
    if same.any():
        worst = int(places[order[1:][same].min()])
        found.fail(worst, f"Variable {int(found.values[worst])} stands twice in one function.")
    return scope


def _check_idle(found: Numbers, sizes: Int, scope: Int) -> None:
    """Check variables of no function: nothing else in the file bounds their states."""
    idle = np.ones(len(sizes), dtype=bool)
    idle[scope] = False
    total = np.cumsum(np.where(idle, sizes, 0.0))
    if total[-1] > MOST_IDLE_STATES:
        worst = int(np.argmax(total > MOST_IDLE_STATES))
        reason = (
            f"Variable {worst} has {sizes[worst]} states and stands in no function; such variables "
            f"may have {MOST_IDLE_STATES} in all. Correct the number."
        )
        found.fail(1 + worst, reason)


def _cells(sizes: Int, scope: Int, lengths: Int) -> F64:
    """Count the cells of each table, in float64: a product beyond 2**53 is beyond any file."""
    cells = np.ones(len(lengths))
    some = lengths > 0
    if some.any():
        with np.errstate(over="ignore"):
            parts = np.multiply.reduceat(
                sizes[scope].astype(np.float64), starts(lengths)[:-1][some]
            )
        cells[some] = parts
    return cells


def _values(found: Numbers, start: int, cells: F64, *, log: bool) -> F64:
    """Take the tables, each of which states its size first."""
    with np.errstate(over="ignore"):
        ends = start + np.cumsum(1 + cells)
    heads = np.append(start, ends)[:-1] if len(cells) else np.empty(0)
    there = heads[heads < len(found)].astype(np.intp)
    odd = found.values[there] != cells[: len(there)]
    if odd.any():
        number = int(np.argmax(odd))
        reason = (
            f"The table of function {number} must hold {cells[number]:.15g} numbers, as many as "
            f"its variables have joint states. Got {found.values[there[number]]:.15g}."
        )
        found.fail(int(there[number]), reason)
    end = float(ends[-1]) if len(cells) else start
    if end > len(found):
        found.fail(len(found), "The file ends inside a table. It is cut off; fetch it again.")
    if end < len(found):
        found.fail(int(end), "There are more numbers than the preamble says. Remove them.")
    places = np.delete(np.arange(start, int(end)), there - start)
    values = found.values[places]
    _check_values(found, places, values, cells, log=log)
    return values


def _check_values(found: Numbers, places: Int, values: F64, cells: F64, *, log: bool) -> None:
    """Check that potentials, or their logs, are numbers, and that no table is all zero."""
    good = values < np.inf if log else (values >= 0) & (values < np.inf)
    if not good.all():
        worst = int(places[np.argmin(good)])
        what = "a log that is finite or -inf" if log else "a finite number that is at least 0"
        hint = "" if log else " If the file holds logs, pass log=True."
        found.fail(worst, f"Expected {what}, got {found.values.item(worst)!r}.{hint}")
    first = starts(cells)[:-1]
    empty = np.maximum.reduceat(values, first) <= (-np.inf if log else 0) if len(cells) else good
    if empty.any() and len(cells):
        number = int(np.argmax(empty))
        reason = f"The table of function {number} is all zero: no joint state is possible."
        found.fail(int(places[first[number]]), reason)


def _without_constants(tables: Tables, bare: Bool) -> Tables:
    """Put constants, functions of no variable, over the smallest one: all its states alike."""
    lengths, cells = np.diff(tables.scope_start), np.diff(tables.table_start)
    smallest = int(np.argmin(tables.sizes))
    times = np.repeat(np.where(bare, tables.sizes[smallest], 1), cells)
    return Tables(
        tables.kind,
        tables.sizes,
        starts(np.where(bare, 1, lengths)),
        np.insert(tables.scope, tables.scope_start[:-1][bare], smallest),
        starts(np.where(bare, tables.sizes[smallest], cells)),
        np.repeat(tables.values, times),
    )
