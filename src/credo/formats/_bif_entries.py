"""The entries of the tables of a BIF file, all at once: rows, defaults, whole tables."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from credo._types import F64, Bool, Int
from credo.exceptions import FileFormatError
from credo.formats._bif_tokens import Tokens
from credo.graphs.wiring import ranges

ROW, TABLE, DEFAULT, _PROPERTY = range(4)
_SORTS = {b"table": TABLE, b"default": DEFAULT, b"property": _PROPERTY}
_NAN = "R writes it for states that the data never showed: estimate them, or give a row"


@dataclass(slots=True)
class Entries:
    """Entries of tables: whose, of what sort, and their tokens.

    The labels lie between the tokens ``first`` and ``before``, the numbers between ``before`` and
    ``semicolon``.
    """

    variable: Int
    sort: Int
    first: Int
    before: Int
    semicolon: Int

    @property
    def n_numbers(self) -> Int:
        """How many numbers each has."""
        return self.semicolon - self.before - 1

    def only(self, which: Bool) -> Entries:
        """Keep some of the entries."""
        if which.all():
            return self
        return Entries(
            self.variable[which],
            self.sort[which],
            self.first[which],
            self.before[which],
            self.semicolon[which],
        )


def entries_of(tokens: Tokens, starts: list[int], ends: list[int]) -> Entries:
    """Find the entries of all tables; variable v has its own in tokens starts[v] to ends[v]."""
    bodies = np.array(starts, np.intp), np.array(ends, np.intp)
    variable, first, semicolon = _statements(tokens, *bodies)
    sort = _sorts(tokens, first)
    kept = sort != _PROPERTY
    variable, sort, first, semicolon = variable[kept], sort[kept], first[kept], semicolon[kept]
    before = first.copy()
    before[sort == ROW] = _closing(tokens, first[sort == ROW], semicolon[sort == ROW])
    return Entries(variable, sort, first, before, semicolon)


def _statements(tokens: Tokens, opens: Int, closes: Int) -> tuple[Int, Int, Int]:
    """Cut the bodies at their semicolons: variable, first token and semicolon of each part."""
    order = np.argsort(opens)
    opens, closes = opens[order], closes[order]
    semicolon = np.flatnonzero(tokens.kind == ord(";"))
    body = np.searchsorted(opens, semicolon, "right") - 1
    inside = (body >= 0) & (semicolon < closes[body])
    semicolon, body = semicolon[inside], body[inside]
    last = opens - 1
    last[body] = semicolon  # the last one stays
    if (last != closes - 1).any():
        token = int(closes[np.argmax(last != closes - 1)])
        raise tokens.fault(token, "Expected a semicolon before the end of the block.")
    first = np.empty_like(semicolon)
    first[1:] = semicolon[:-1] + 1
    heads = np.flatnonzero(np.diff(body, prepend=-1))
    first[heads] = opens[body[heads]]
    full = first < semicolon
    return order[body[full]], first[full], semicolon[full]


def _sorts(tokens: Tokens, first: Int) -> Int:
    """Tell the sort of entries by their first tokens."""
    sorts = np.full(first.shape[0], ROW)
    kinds = tokens.kind[first]
    for i in np.flatnonzero(kinds != ord("(")).tolist():
        token = int(first[i])
        sort = _SORTS.get(tokens.spelt(token)) if kinds[i] == ord("w") else None
        if sort is None:
            raise tokens.fault(
                token,
                f"Expected a row such as (state, state) 0.1, 0.9; or the word table, default or "
                f"property. Got {tokens.shown(token)}.",
            )
        sorts[i] = sort
    return sorts


def _closing(tokens: Tokens, first: Int, semicolon: Int) -> Int:
    """Find the closing brackets of rows, and check that there are only names before them."""
    if not first.size:
        return first
    brackets = np.append(np.flatnonzero(tokens.kind == ord(")")), tokens.kind.shape[0])
    closing = brackets[np.searchsorted(brackets, first)]
    if (closing > semicolon).any():
        token = int(semicolon[np.argmax(closing > semicolon)])
        raise tokens.fault(token, "Expected ) after the states of the parents. Got ';'.")
    labels = ranges(first + 1, closing - first - 1)
    kinds = tokens.kind[labels]
    odd = (kinds != ord("w")) & (kinds != ord("q"))
    if odd.any():
        token = int(labels[np.argmax(odd)])
        raise tokens.fault(token, f"Expected a state of a parent. Got {tokens.shown(token)}.")
    return closing


def read_numbers(tokens: Tokens, entries: Entries, target: Int, out: F64) -> None:
    """Write the numbers of entries, which must be finite and not negative, to their targets."""
    tokens.read_numbers(entries.before, entries.semicolon, target, out)
    if not (out.min() >= 0 and out.max() < np.inf):  # NaN is neither
        cells = np.flatnonzero(~((out >= 0) & (out < np.inf)))
        found = tokens.places(cells, entries.before, target)
        raise number_fault(tokens, min(token for _, token in found))


def number_fault(tokens: Tokens, token: int) -> FileFormatError:
    """Say what is wrong with a number."""
    shown = tokens.shown(token)
    word = tokens.spelt(token)
    remedy = "Check the number and the semicolon before it."
    if word.lower().lstrip(b"+-") == b"nan":
        remedy = f"{_NAN}."
    elif word.startswith(b"-"):
        remedy = "A probability is not negative."
    return tokens.fault(token, f"Expected a probability. Got {shown}. {remedy}")
