"""Numbers in text: many at once, with the place of the first one that is none."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Never

import numpy as np

from credo._types import F64
from credo.exceptions import FileFormatError
from credo.formats._text import place

#: Longest word that is taken for a number. A float64 written out in full has at most 1075 digits
#: after the point; turning a longer word into a number takes time with the square of its length.
LONGEST = 1200
#: Bytes of text that are split into words at once: the words take some forty times as much memory.
_BLOCK = 2**20
#: Integers up to here are exact in float64.
_LARGEST = 2**53
_WORD = re.compile(rb"\S+")
_WHITE = re.compile(rb"\s")


class NotNumberError(ValueError):
    """A word that is not a number; ``index`` counts the words from zero."""

    def __init__(self, index: int, word: bytes) -> None:
        super().__init__(index, word)
        self.index = index
        self.word = word


def numbers(text: bytes) -> F64:
    """Turn words between white space into float64, using eight bytes for each word."""
    found = [np.empty(0)]
    count = 0
    for block in _blocks(text):
        words = block.split()
        try:
            if b"_" in block or max(map(len, words), default=0) > LONGEST:
                raise ValueError  # noqa: TRY301 - handled as Python's own refusals of a number
            found.append(np.fromiter(map(float, words), np.float64, len(words)))
        except ValueError:
            raise _first_odd_one(words, count) from None
        count += len(words)
    return np.concatenate(found)


def shown(word: bytes) -> str:
    """Show a word of the file in a message, cut where it is long."""
    text = word[:40].decode("latin-1")
    return repr(text if len(word) <= 40 else f"{text}...")


@dataclass(frozen=True, slots=True)
class Numbers:
    """The numbers of one file from ``start`` on, and what is needed to say where they stand."""

    data: bytes
    path: str
    start: int
    values: F64

    @classmethod
    def of(cls, data: bytes, path: str, start: int = 0) -> Numbers:
        """Read all words of ``data`` from ``start`` on as numbers."""
        try:
            return cls(data, path, start, numbers(data[start:]))
        except NotNumberError as error:
            lines = place(data, _offset(data, start, error.index))
            reason = f"Expected a number, got {shown(error.word)}. Check for damage at this place."
            raise FileFormatError(reason, path, *lines) from None

    def __len__(self) -> int:
        return len(self.values)

    def fail(self, index: int, reason: str) -> Never:
        """Raise an error that points at the number ``index``, or at the end of the file."""
        raise FileFormatError(
            reason, self.path, *place(self.data, _offset(self.data, self.start, index))
        )

    def whole(self, index: int, what: str) -> int:
        """Give the number ``index``, which must be there and be whole and not negative."""
        if index >= len(self.values):
            self.fail(index, f"The file ends where {what} should stand. Fetch or write it again.")
        value = float(self.values[index])
        if not (0 <= value <= _LARGEST and value.is_integer()):
            self.fail(index, f"Expected {what}, a whole number from 0 on, got {value!r}.")
        return int(value)

    def wholes(self, start: int, count: int, what: str) -> list[int]:
        """Give ``count`` whole numbers from ``start`` on."""
        if start + count > len(self.values):
            reason = f"The file ends where {what} should stand. Fetch or write it again."
            self.fail(len(self.values), reason)
        part = self.values[start : start + count]
        good = (part >= 0) & (part <= _LARGEST) & (part == np.floor(part))
        if not good.all():
            self.whole(start + int(np.argmin(good)), what)
        return [int(value) for value in part.tolist()]


def _blocks(text: bytes) -> Iterator[bytes]:
    """Cut text at white space, into blocks of about the same size."""
    start = 0
    while start < len(text):
        end = _WHITE.search(text, start + _BLOCK)
        stop = end.start() if end else len(text)
        yield text[start:stop]
        start = stop


def _first_odd_one(words: list[bytes], count: int) -> NotNumberError:
    """Find the first word that is not a number; ``count`` words came before these."""
    index = next(index for index, word in enumerate(words) if _is_odd(word))
    return NotNumberError(count + index, words[index])


def _is_odd(word: bytes) -> bool:
    """Tell whether a word is no number."""
    if len(word) > LONGEST or b"_" in word:
        return True
    try:
        float(word)
    except ValueError:
        return True
    return False


def _offset(data: bytes, start: int, index: int) -> int:
    """Find where the word ``index`` begins, counted from ``start``; the end if there are fewer."""
    for count, word in enumerate(_WORD.finditer(data, start)):
        if count == index:
            return word.start()
    return len(data)
