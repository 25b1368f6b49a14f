"""Text of files: read packed or not, bounded, with places for errors; numbers in it; output."""

from __future__ import annotations

import codecs
import gzip
import io
import os
import re
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from typing import IO, Never, Self, TextIO, cast

import numpy as np

from credo._files import local_path, written_whole
from credo._types import F64
from credo.exceptions import FileFormatError

#: Largest file that is read, in bytes after unpacking. A published network is a few megabytes; a
#: small .gz that would unpack to more than this is damaged or hostile.
LIMIT = 2**30
#: Deflate writes 258 bytes by two codes of one bit at best: no byte unpacks to more.
_MOST_UNPACKED = 1032
#: Longest word that is taken for a number. A float64 written out in full has at most 1075 digits
#: after the point; turning a longer word into a number takes time with the square of its length.
LONGEST = 1200
#: Characters that are split into words at once: the words take some forty times as much memory.
_BLOCK = 2**20
#: Integers up to here are exact in float64.
_LARGEST = 2**53
_SPACE, _ESCAPE = re.compile(r"\s"), re.compile(r'\\(["\\])')
#: A word, or a blank that is not ASCII, which separates no numbers.
_WORD = re.compile(r"\S+|[^\x00-\x7f]")


def read_bytes(path: str | os.PathLike[str]) -> bytearray:
    """Read a whole file, unpacked if it is gzipped; its first bytes tell, not its name.

    What is too large is refused before it is in memory; only of a pipe is the size not known.
    """
    name = local_path(path)
    try:
        with Path(name).open("rb") as stream:
            size = os.fstat(stream.fileno()).st_size
            data = bytearray() if size > LIMIT else _start_of(stream)
        if data.startswith(b"\x1f\x8b"):
            packed = partial(gzip.GzipFile, fileobj=io.BytesIO(data))
            if len(data) * _MOST_UNPACKED > LIMIT:
                with packed() as stream:
                    parts = islice(iter(partial(stream.read, _BLOCK), b""), LIMIT // _BLOCK + 2)
                    size = sum(map(len, parts))
            with packed() as stream:
                data = bytearray() if size > LIMIT else _start_of(stream)
    except FileNotFoundError as error:
        raise FileFormatError("There is no such file. Check the path.", name) from error
    except IsADirectoryError as error:
        raise FileFormatError("This is a folder. Name a file in it.", name) from error
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        reason = f"The packed file is damaged ({error}). Fetch or pack it again."
        raise FileFormatError(reason, name) from error
    except OSError as error:
        raise FileFormatError(f"The file cannot be read: {error.strerror}.", name) from error
    if max(size, len(data)) > LIMIT:
        reason = f"The file is larger than {LIMIT} bytes, the most that is read. Split the model."
        raise FileFormatError(reason, name)
    return data


def _start_of(stream: IO[bytes] | gzip.GzipFile) -> bytearray:
    """Read a stream to its end, or a little beyond the limit."""
    data = bytearray()
    while len(data) <= LIMIT and (part := stream.read(_BLOCK)):
        data += part
    return data


@contextmanager
def output(path: str | os.PathLike[str]) -> Iterator[IO[str]]:
    """Open a file that appears only if the block succeeds; one called .gz is packed."""
    with written_whole(path) as stream:
        if not os.fspath(path).lower().endswith(".gz"):
            yield stream
            return
        raw = cast("TextIO", stream).buffer
        with (
            gzip.GzipFile("", "wb", fileobj=raw, mtime=0) as packed,  # the same bytes on any day
            io.TextIOWrapper(packed, encoding="utf-8", newline="") as text,
        ):
            yield text


def shown(word: str) -> str:
    """Return a word of a file as it stands in messages, cut where it is long."""
    return repr(word if len(word) <= 40 else f"{word[:40]}...")


def floats(text: str) -> F64:
    """Return the words of a text as numbers, those of ``float``; ValueError if one is none."""
    if "_" in text or not text.isascii():
        raise ValueError("``float`` takes such words, other programs do not")
    found, start = [np.empty(0)], 0
    while start < len(text):
        space = _SPACE.search(text, start + _BLOCK)
        end = space.start() if space else len(text)
        words = text[start:end].split()
        once = set(words)  # tables repeat many of their numbers
        if max(map(len, once), default=0) > LONGEST:
            raise ValueError("a word is too long for a number")
        known = dict(zip(once, map(float, once), strict=True))
        found.append(np.fromiter(map(known.__getitem__, words), np.float64, len(words)))
        start = end
    return np.concatenate(found)


def is_number(word: str) -> bool:
    """Tell whether a word is a number; nan and inf are."""
    if "_" in word or not word.isascii() or len(word) > LONGEST:
        return False
    try:
        float(word)
    except ValueError:
        return False
    return True


class TextFile:
    """The text of a file, and errors that name places in it by their offset."""

    def __init__(self, text: str, path: str) -> None:
        self.text = self._original = text
        self.path = path

    @classmethod
    def read(cls, path: str | os.PathLike[str], comment: re.Pattern[str] | None = None) -> Self:
        """Read a file as UTF-8, or as Latin-1 where it is not; put blanks in place of comments."""
        data, name = read_bytes(path), os.fspath(path)
        if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
            raise FileFormatError("The file is in UTF-16. Save it as UTF-8.", name)
        try:
            source = cls(data.decode("utf-8-sig"), name)
        except UnicodeDecodeError:
            source = cls(data.decode("latin-1"), name)
        if comment is not None:
            source.text = comment.sub(lambda found: " " * len(found[0]), source.text)
        return source

    def where(self, offset: int) -> tuple[int, int]:
        """Return line and column, counted from one."""
        before = self._original[:offset]
        ends = before.count("\n") + before.count("\r") - before.count("\r\n")
        return ends + 1, offset - max(before.rfind("\n"), before.rfind("\r"))

    def fail(self, offset: int, reason: str) -> Never:
        """Raise the error that names a place."""
        raise FileFormatError(reason, self.path, *self.where(offset))

    def numbers(self, start: int, stop: int, between: str = "") -> F64:
        """Read words as float64; blanks separate them, and the characters ``between``."""
        text = self.text[start:stop].translate(str.maketrans(between, " " * len(between)))
        try:
            return floats(text)
        except ValueError:
            odd = next(word for word in _WORD.finditer(text) if not is_number(word[0]))
            reason = f"Expected a number, got {shown(odd[0])}. Check for damage at this place."
            self.fail(start + odd.start(), reason)


#: Signs that stand for something else in quotes: each is a lone surrogate there.
_HIDE = {sign: 0xDC00 + sign for sign in (*range(33), *map(ord, '{}()[];,|"\\'))}
_SHOW = {hidden: sign for sign, hidden in _HIDE.items()}
#: Blanks, commas and bars separate tokens. In a phrase, blanks do not.
_TOKEN = re.compile(r'"[^"]*"|[{}()\[\];]|[^\x00-\x20,|"{}()\[\];]+')
_PHRASE = re.compile(r'"[^"]*"|[^\x00-\x20,|"{}()\[\];]+(?:[\x00-\x20]+[^\x00-\x20,|"{}()\[\];]+)*')
_SIGN, _BLANK = re.compile(r"[{}()\[\];]"), re.compile(r"[\x00-\x20,|]*")


class BlockFile(TextFile):
    """The text of ``head { statement; statement; } …``, the shape of BIF and Hugin NET files.

    Comments are blank, and quoted names hold no blanks or punctuation: in place of each such
    character stands a lone surrogate, which no decoded file can hold, until ``name`` turns it back.
    Offsets are those of the file.
    """

    @classmethod
    def of(
        cls, path: str | os.PathLike[str], skipped: re.Pattern[str], marks: tuple[str, ...]
    ) -> Self:
        """Read a file; ``skipped`` finds comments, and in its group 1 names in quotes.

        What it finds that is neither is the start of one that does not end. ``marks`` are what
        they start with; most files have none, and searching takes as long as reading.
        """
        source = cls.read(path)
        if any(mark in source.text for mark in marks):
            source.text = skipped.sub(source.hide, source.text)
        return source

    def hide(self, found: re.Match[str]) -> str:
        """Return what stands in place of a quoted name or a comment."""
        if found[1]:
            return f'"{found[1][1:-1].translate(_HIDE)}"'
        if found[0] == '"':
            self.fail(found.start(), "This quote is not closed. Add the closing quote.")
        if found[0] == "/*":
            self.fail(found.start(), "This comment is not closed. Add */ where it ends.")
        return " " * len(found[0])

    def name(self, token: str) -> str:
        """Return what a token spells."""
        if token[0] != '"':
            return token
        return _ESCAPE.sub(r"\1", token[1:-1].translate(_SHOW))

    def tokens(self, start: int, stop: int) -> list[re.Match[str]]:
        """Return names, numbers and punctuation with their places."""
        return list(_TOKEN.finditer(self.text, start, stop))

    def names(self, text: str) -> list[str]:
        """Return what the tokens of a piece of text spell."""
        tokens: list[str] = _TOKEN.findall(text)
        return tokens if '"' not in text else list(map(self.name, tokens))

    def phrases(self, start: int, stop: int) -> list[re.Match[str]]:
        """Return names that may hold blanks; only commas and bars separate them."""
        return list(_PHRASE.finditer(self.text, start, stop))

    def first_sign(self, start: int, stop: int = sys.maxsize) -> re.Match[str]:
        """Find the first punctuation; there is some after every place that is asked for."""
        return cast("re.Match[str]", _SIGN.search(self.text, start, stop))

    def expected(self, what: str, token: re.Match[str]) -> Never:
        """Say that a token is not what it should be."""
        self.fail(token.start(), f"Expected {what}. Got {shown(self.name(token[0]))}.")

    def blocks(self) -> list[tuple[int, int, int]]:
        """Return where heads start, and where the braces after them open and close."""
        found: list[tuple[int, int, int]] = []
        head = opened = depth = start = 0
        while (place := self.text.find("}", start)) >= 0:
            opened = opened if depth else self.text.find("{", start)
            depth += self.text.count("{", start, place) - 1
            if depth < 0:
                self.fail(place, "No brace is open here. Remove it.")
            start = place + 1
            if not depth:
                found.append((head, opened, place))
                head = start
        opened = opened if depth else self.text.find("{", start)
        if opened >= head:
            self.fail(opened, "This brace is not closed. Add } where the block ends.")
        for token in _TOKEN.finditer(self.text, head):
            if token[0] != ";":
                self.expected("a block with braces", token)
        return found

    def statements(self, opened: int, closed: int) -> Iterator[tuple[int, int]]:
        """Find the statements of a block, without blanks before and the semicolon after them."""
        start = _BLANK.match(self.text, opened + 1).end()  # type: ignore[union-attr]
        while (stop := self.text.find(";", start, closed)) >= 0:
            if stop > start:
                yield start, stop
            start = _BLANK.match(self.text, stop + 1).end()  # type: ignore[union-attr]
        if start < closed:
            self.fail(closed, "Expected a semicolon (;) before the end of the block.")


@dataclass(frozen=True, slots=True)
class NumberFile:
    """The numbers of a file that holds nothing else from ``start`` on."""

    source: TextFile
    start: int
    values: F64

    @classmethod
    def of(cls, source: TextFile, start: int = 0) -> NumberFile:
        """Read all words from ``start`` on."""
        return cls(source, start, source.numbers(start, len(source.text)))

    def __len__(self) -> int:
        return len(self.values)

    def fail(self, index: int, reason: str) -> Never:
        """Raise an error that points at a number, or at the end of the file."""
        words = _WORD.finditer(self.source.text, self.start)
        word = next(islice(words, index, None), None)
        self.source.fail(word.start() if word else len(self.source.text), reason)

    def whole(self, index: int, what: str) -> int:
        """Return the number ``index``, which must be there, whole and not negative."""
        return self.wholes(index, 1, what)[0]

    def wholes(self, start: int, count: int, what: str) -> list[int]:
        """Return ``count`` whole numbers from ``start`` on."""
        part = self.values[start : start + count]
        if len(part) < count:
            reason = f"The file ends where {what} should stand. Fetch or write it again."
            self.fail(len(self.values), reason)
        odd = ~((part >= 0) & (part <= _LARGEST) & (part == np.floor(part)))
        if odd.any():
            worst = start + int(np.argmax(odd))
            value = self.values.item(worst)
            self.fail(worst, f"Expected {what}, a whole number from 0 on, got {value!r}.")
        return [int(value) for value in part.tolist()]
