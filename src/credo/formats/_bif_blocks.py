"""The blocks of a BIF file: variables with their states, and who is a parent of whom."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TypeAlias

import numpy as np

from credo._types import Int
from credo._validation.labels import hint
from credo.exceptions import FileFormatError
from credo.formats._bif_tokens import Tokens
from credo.graphs.wiring import ranges

#: A block: its first token, its brace and its end.
_Block: TypeAlias = tuple[int, int, int]
#: States, and where they start and end after the brace.
_Listed: TypeAlias = tuple[tuple[str, ...], list[int], list[int]]
#: Bodies of variables that were read already, as most variables share theirs with others: all
#: their bytes, and the number of the list of states.
_Memo: TypeAlias = dict[bytes, int]
_NAMES = b"wq"
_OPEN, _CLOSE, _SEMICOLON = (ord(sign) for sign in "{};")


@dataclass(slots=True)
class Declared:
    """What a file declares, by variable in the order of their blocks."""

    names: list[str] = field(default_factory=list)
    #: Where the names are spelt.
    name_start: list[int] = field(default_factory=list)
    states: list[tuple[str, ...]] = field(default_factory=list)
    #: Lists of states that differ, which of them each variable has, and the brace before it.
    lists: list[_Listed] = field(default_factory=list)
    listed: list[int] = field(default_factory=list)
    brace: list[int] = field(default_factory=list)
    parents: list[list[int]] = field(default_factory=list)
    #: The tokens of the entries of each table, from and to.
    body_start: list[int] = field(default_factory=list)
    body_end: list[int] = field(default_factory=list)


@dataclass(slots=True)
class _Heads:
    """The tokens that are walked one by one: all but the entries of tables.

    They are numbered afresh; ``number`` gives the numbers they have in the file.
    """

    tokens: Tokens
    number: Int
    kinds: bytes
    start: list[int]
    end: list[int]
    #: The closing brace of each outer brace, in the numbers of the file.
    closing: dict[int, int]

    def spelt(self, i: int) -> bytes:
        """Give the bytes of a token."""
        return self.tokens.text[self.start[i] : self.end[i]]

    def fault(self, i: int, reason: str) -> FileFormatError:
        """Build the error that names the place of a token."""
        return self.tokens.fault(int(self.number[i]), reason)

    def expected(self, i: int, what: str) -> FileFormatError:
        """Build the error for a token that is not ``what``."""
        return self.fault(i, f"Expected {what}. Got {self.tokens.shown(int(self.number[i]))}.")

    def parts(self, i: int, stop: int) -> list[tuple[int, int]]:
        """Give spans of names that may hold blanks: only commas and bars separate them."""
        spans = [(self.start[i], self.end[i])]
        for a, b in pairwise(range(i, stop)):
            gap = self.tokens.text[self.end[a] : self.start[b]]
            if gap.strip() or self.kinds[a : b + 1] != b"ww":
                spans.append((self.start[b], self.end[b]))
            else:
                spans[-1] = spans[-1][0], self.end[b]
        return spans


def declared(tokens: Tokens) -> Declared:
    """Read the declarations: all variables first, then who depends on whom."""
    found = Declared()
    places: dict[bytes, int] = {}
    chances: list[_Block] = []
    memo: _Memo = {}
    heads, lengths = _heads(tokens)
    for block in _blocks(heads, lengths):
        word = heads.spelt(block[0])
        if word == b"variable":
            _take_variable(heads, block, found, places, memo)
        elif word == b"probability":
            chances.append(block)
        elif word != b"network":
            what = "a block that starts with network, variable or probability"
            raise heads.expected(block[0], f"{what} (other text belongs in /* a comment */)")
    if not found.names:
        raise FileFormatError("The file declares no variable. Is it a BIF file?", tokens.path)
    _take_parents(heads, chances, found, places)
    return found


def _heads(tokens: Tokens) -> tuple[_Heads, list[int]]:
    """Find the tokens to walk, and how many of them belong to each block."""
    opens, closes = _braces(tokens)
    firsts = np.concatenate(([0], closes[:-1] + 1))
    # the entries of tables, which follow a bracket, are read in bulk, not here
    bulky = tokens.kind[opens - 1] == ord(")")
    lengths = np.where(bulky, opens, closes) + 1 - firsts
    number = ranges(firsts, lengths)
    spans = tokens.start[number].tolist(), tokens.end[number].tolist()
    kinds = tokens.kind[number].tobytes()
    closing = dict(zip(opens.tolist(), closes.tolist(), strict=True))
    return _Heads(tokens, number, kinds, *spans, closing), lengths.tolist()


def _blocks(heads: _Heads, lengths: list[int]) -> Iterator[_Block]:
    """Walk the blocks: what comes before braces, and the braces with all that is in them."""
    stop = 0
    for length in lengths:
        first, stop = stop, stop + length
        while heads.kinds[first] == _SEMICOLON:
            first += 1
        yield first, heads.kinds.index(_OPEN, first), stop


def _braces(tokens: Tokens) -> tuple[Int, Int]:
    """Find the outer braces, which must be closed; nothing but semicolons comes after them."""
    kind = tokens.kind
    braces = np.flatnonzero((kind == _OPEN) | (kind == _CLOSE))
    step = np.where(kind[braces] == _OPEN, 1, -1)
    depth = np.cumsum(step)
    if (depth < 0).any():
        raise tokens.fault(int(braces[np.argmax(depth < 0)]), "No brace is open here. Remove it.")
    opens, closes = braces[(depth == 1) & (step == 1)], braces[depth == 0]
    if len(opens) > len(closes):
        raise tokens.fault(int(opens[-1]), "This brace is not closed. Add } where the block ends.")
    rest = int(closes[-1]) + 1 if len(closes) else 0
    if (kind[rest:] != _SEMICOLON).any():
        raise tokens.fault(rest, f"Expected a block with braces. Got {tokens.shown(rest)}.")
    return opens, closes


def _take_variable(
    heads: _Heads, block: _Block, found: Declared, places: dict[bytes, int], memo: _Memo
) -> None:
    """Add a variable and its states."""
    name, offset = _variable_name(heads, block)
    if name in places:
        reason = f"The variable {found.names[places[name]]!r} is declared twice. Rename one."
        raise heads.tokens.fault_at(offset, reason)
    places[name] = len(found.names)
    found.names.append(heads.tokens.decoded(name))
    found.name_start.append(offset)
    _, opens, stop = block
    brace = heads.start[opens]
    body = heads.tokens.data[brace : heads.end[stop - 1]]
    which = memo.setdefault(body, len(found.lists))
    if which == len(found.lists):
        found.lists.append(_states(heads, block, found.names[-1]))
    found.states.append(found.lists[which][0])
    found.listed.append(which)
    found.brace.append(brace)


def _variable_name(heads: _Heads, block: _Block) -> tuple[bytes, int]:
    """Give the name of the variable that a block declares, and where it starts."""
    first, opens, _ = block
    first += 1
    kinds = heads.kinds[first:opens]
    if kinds in (b"w", b"q"):
        return heads.spelt(first), heads.start[first]
    spans = heads.parts(first, opens) if kinds and not kinds.translate(None, _NAMES) else []
    if len(spans) != 1:
        what = "the name of one variable (in quotes if it holds signs)"
        raise heads.expected(first + len(spans[:1]), what)
    return heads.tokens.text[slice(*spans[0])], spans[0][0]


def _states(heads: _Heads, block: _Block, name: str) -> _Listed:
    """Give the states of a variable, which must differ, and their places after the brace."""
    tokens = heads.tokens
    first, stop, count = _listed_states(heads, block)
    spans = list(zip(heads.start[first:stop], heads.end[first:stop], strict=True))
    if len(spans) != count:
        spans = heads.parts(first, stop)
    if len(spans) != count:
        reason = f"The variable {name!r} declares {count} states but lists {len(spans)}."
        raise heads.fault(first, f"{reason} Mend the number, or separate states by commas.")
    states = tuple([tokens.decoded(tokens.text[a:b]) for a, b in spans])
    known: set[str] = set()
    for state, (start, _) in zip(states, spans, strict=True):
        if state in known:
            reason = f"The state {state!r} is listed twice. Rename or remove one."
            raise tokens.fault_at(start, reason)
        known.add(state)
    brace = heads.start[block[1]]
    return states, [a - brace for a, _ in spans], [b - brace for _, b in spans]


def _listed_states(heads: _Heads, block: _Block) -> tuple[int, int, int]:
    """Find the states a variable lists, from and to, and how many it declares."""
    at = _type_statement(heads, block)
    kinds = heads.kinds
    if kinds[at : at + 6] != b"ww[w]{" or heads.spelt(at + 1) != b"discrete":
        raise heads.expected(at + 1, "discrete [ number of states ] { states }")
    count = heads.spelt(at + 3)
    if not count.isdigit() or len(count) > 18:
        raise heads.expected(at + 3, "the number of states")
    first = stop = at + 6
    while kinds[stop] in _NAMES:
        stop += 1
    if kinds[stop : stop + 2] != b"};":
        raise heads.expected(stop + (kinds[stop] == _CLOSE), "names of states, then };")
    if stop == first:
        raise heads.expected(stop, "at least one state")
    return first, stop, int(count)


def _type_statement(heads: _Heads, block: _Block) -> int:
    """Find the statement that gives the type; properties are skipped."""
    at = 0
    i = block[1] + 1
    last = block[2] - 1
    while i < last:
        word = heads.spelt(i)
        if word == b"type" and not at:
            at = i
        elif word not in (b"property", b";"):
            raise heads.expected(i, "one type, or property")
        i = heads.kinds.find(b";", i, last) + 1
        if not i:
            raise heads.expected(last, "a semicolon before the end of the block")
    if not at:
        raise heads.expected(last, "a type, such as: type discrete [ 2 ] { yes, no };")
    return at


def _take_parents(
    heads: _Heads, blocks: list[_Block], found: Declared, places: dict[bytes, int]
) -> None:
    """Add the parents of each variable, and where its table is."""
    given: dict[int, tuple[list[int], int]] = {}
    for block in blocks:
        child, *parents = _members(heads, block, found, places)
        name = found.names[child]
        if child in given:
            reason = f"The probabilities of {name!r} are given twice. Remove one of the blocks."
            raise heads.fault(block[0], reason)
        if child in parents or len(set(parents)) < len(parents):
            reason = f"A variable occurs twice in the head of {name!r}. Name each parent once."
            raise heads.fault(block[0], reason)
        given[child] = parents, int(heads.number[block[1]])
    for v, name in enumerate(found.names):
        if v not in given:
            reason = f"The variable {name!r} has no probabilities. Add: probability ( {name} ) …"
            raise heads.tokens.fault_at(found.name_start[v], reason)
        parents, brace = given[v]
        found.parents.append(parents)
        found.body_start.append(brace + 1)
        found.body_end.append(heads.closing[brace])


def _members(heads: _Heads, block: _Block, found: Declared, places: dict[bytes, int]) -> list[int]:
    """Give the positions of the variables in the head of a table, the child first."""
    first, last = block[0] + 2, block[1] - 1
    names = heads.kinds[first:last]
    if not names or heads.kinds[first - 1] != ord("(") or heads.kinds[last] != ord(")"):
        raise heads.expected(first - 1, "( child | parents ) after probability")
    if names.translate(None, _NAMES):
        raise heads.expected(first, "names of variables between the brackets")
    try:
        return [places[heads.spelt(i)] for i in range(first, last)]
    except KeyError:
        spans = heads.parts(first, last)
    text = heads.tokens.text
    unknown = [span for span in spans if text[slice(*span)] not in places]
    if unknown:
        name = heads.tokens.decoded(text[slice(*unknown[0])])
        reason = f"No variable {name!r} is declared.{hint(name, found.names)}"
        raise heads.tokens.fault_at(unknown[0][0], reason)
    return [places[text[slice(*span)]] for span in spans]
