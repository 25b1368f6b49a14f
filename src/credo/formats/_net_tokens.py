"""The words of a Hugin NET file: blocks, attributes, and where they stand."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple, Never

from credo._types import F64
from credo.exceptions import FileFormatError
from credo.formats._net_numbers import NotNumberError, numbers, shown
from credo.formats._text import place

#: Most words of a file outside tables; each takes some hundred bytes. Munin has sixty thousand.
MOST_WORDS = 2**22
#: A text that is not closed runs to the end, so that no place is looked at twice.
_COMMENT = re.compile(r'"(?:[^"\\]|\\.)*+(?:"|\\?\Z)|%[^\r\n]*+', re.DOTALL)
_TOKEN = re.compile(r'\s*+(?:([(){}=;|,])|"((?:[^"\\]|\\.)*+)"|([^\s(){}=;|,"]++))', re.DOTALL)
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)
_BRACKETS = str.maketrans("(),", "   ")


class Token(NamedTuple):
    """One word: a mark of punctuation, or a name, number or quoted text."""

    text: str
    mark: bool
    start: int


@dataclass(slots=True)
class Block:
    """``kind (head) { attributes }``, as it stands in the file."""

    kind: list[Token]
    head: list[Token]
    attributes: dict[str, list[Token]] = field(default_factory=dict)
    data: F64 | None = None
    data_start: int = 0


class Source:
    """The text of a file, its comments blanked, and a place in it."""

    def __init__(self, text: str, path: str) -> None:
        self.text = _COMMENT.sub(_blanked, text)
        self.path = path
        self.position = 0
        self.count = 0

    def where(self, offset: int) -> tuple[int, int]:
        """Give line and column of an offset."""
        before = self.text[:offset].encode()
        return place(before, len(before))

    def fail(self, offset: int, reason: str) -> Never:
        """Raise an error that points at an offset."""
        raise FileFormatError(reason, self.path, *self.where(offset))

    def blocks(self) -> Iterator[Block]:
        """Give the blocks of the file one after the other."""
        while (token := self.next()) is not None:
            yield self._block(token)

    def next(self) -> Token | None:
        """Take the next word, or None at the end of the file."""
        match = _TOKEN.match(self.text, self.position)
        if match is None:
            if self.text[self.position :].strip():
                self.fail(self._after_blanks(), "A quoted text has no end. Close the quotes.")
            return None
        self.position = match.end()
        self.count += 1
        if self.count > MOST_WORDS:
            reason = f"The file has more than {MOST_WORDS} words outside tables, the most read."
            self.fail(match.start(), reason)
        return _token(match)

    def needed(self, *expected: str) -> Token:
        """Take the next word, which must be one of the marks if any are given."""
        token = self.next()
        wanted = " or ".join(f"'{mark}'" for mark in expected) or "a name"
        if token is None:
            self.fail(len(self.text), f"The file ends where {wanted} should stand. It is cut off.")
        if token.mark if not expected else not (token.mark and token.text in expected):
            self.fail(token.start, f"Expected {wanted}, got {token.text[:40]!r}.")
        return token

    def _after_blanks(self) -> int:
        """Give the offset of the next letter."""
        return len(self.text) - len(self.text[self.position :].lstrip())

    def _block(self, first: Token) -> Block:
        """Read a block whose first word has been taken."""
        if first.mark:
            self.fail(first.start, f"Expected 'net', 'node' or 'potential', got {first.text!r}.")
        block = Block([first], [])
        part = block.kind
        while True:
            token = self.next()
            if token is None:
                self.fail(first.start, f"Expected a block in braces after {first.text[:40]!r}.")
            if token.mark and token.text == "{":
                self._attributes(block)
                return block
            if token.mark and token.text == "(":
                part = block.head
            part.append(token)

    def _attributes(self, block: Block) -> None:
        """Read the attributes of a block up to its closing brace."""
        while True:
            name = self.next()
            if name is None:
                self.fail(len(self.text), "The file ends inside a block. It is cut off.")
            if name.mark and name.text == "}":
                return
            if name.mark:
                self.fail(name.start, f"Expected an attribute or '}}', got {name.text!r}.")
            self.needed("=")
            if name.text.lower() == "data":
                block.data_start = name.start
                block.data = self._data()
            else:
                block.attributes[name.text.lower()] = self._value()

    def _value(self) -> list[Token]:
        """Take the words up to the next semicolon."""
        words: list[Token] = []
        while True:
            token = self.next()
            if token is None:
                self.fail(len(self.text), "The file ends where ';' should stand. It is cut off.")
            if token.mark and token.text == ";":
                return words
            if token.mark and token.text in "{}":
                self.fail(token.start, f"Expected ';' before {token.text!r}.")
            words.append(token)

    def _data(self) -> F64:
        """Read the numbers of a table up to the next semicolon."""
        start, end = self.position, self.text.find(";", self.position)
        if end < 0:
            self.fail(start, "A table is not closed by ';'. The file is cut off.")
        table = self.text[start:end]
        self.position = end + 1
        if table.count("(") != table.count(")"):
            self.fail(start, "The brackets of a table do not match. Correct them.")
        flat = table.translate(_BRACKETS).encode("ascii", "replace")
        try:
            return numbers(flat)
        except NotNumberError as error:
            words = re.finditer(rb"\S+", flat)
            offset = next(word.start() for i, word in enumerate(words) if i == error.index)
            self.fail(start + offset, f"Expected a number, got {shown(error.word)}.")


def _token(match: re.Match[str]) -> Token:
    """Make a token of what was found."""
    mark, string, word = match.groups()
    start = match.start(match.lastindex or 0)
    if mark is not None:
        return Token(mark, mark=True, start=start)
    if string is not None:
        return Token(_ESCAPED.sub(r"\1", string), mark=False, start=start)
    return Token(word, mark=False, start=start)


def _blanked(match: re.Match[str]) -> str:
    """Put blanks in place of a comment; keep quoted text."""
    text = match.group()
    return " " * len(text) if text.startswith("%") else text
