"""A BIF file as tokens: kinds and spans of bytes, and errors that name their place."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from credo._types import F64, Int
from credo.exceptions import FileFormatError
from credo.formats._text import place

#: A quoted name (its escapes too), a comment, or the start of a comment that does not end.
_COMMENT = re.compile(rb'"(?:\\["\\]|[^"\r\n])*"?|//[^\r\n]*|/\*.*?\*/|/\*', re.DOTALL)
_ESCAPE = re.compile(rb'\\(["\\])')
_WIDE = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
#: Bytes per token in published files are about five; a denser file is counted first.
_BYTES_PER_TOKEN = 3


@dataclass(frozen=True, slots=True)
class Tokens:
    """The tokens of a file; token t spells ``text[start[t]:end[t]]``.

    ``kind`` holds ``w`` for a word, ``q`` for a quoted name, and else the character itself. In
    ``text`` the comments of ``data`` are blank and the escapes of quoted names are resolved.
    """

    path: str
    data: bytes
    text: bytes
    encoding: str
    kind: npt.NDArray[np.uint8]
    start: npt.NDArray[np.int32]
    end: npt.NDArray[np.int32]

    def spelt(self, token: int) -> bytes:
        """Give the bytes of a token."""
        return self.text[self.start[token] : self.end[token]]

    def shown(self, token: int) -> str:
        """Give a token as it is named in messages."""
        return repr(self.decoded(self.spelt(token)))

    def decoded(self, name: bytes) -> str:
        """Decode a name."""
        return name.decode(self.encoding, "replace")

    def fault(self, token: int, reason: str) -> FileFormatError:
        """Build the error that names the place of a token."""
        return self.fault_at(int(self.start[token]), reason)

    def fault_at(self, offset: int, reason: str) -> FileFormatError:
        """Build the error that names the place of a byte."""
        return _fault(self.data, offset, self.path, reason)

    def read_numbers(self, before: Int, stop: Int, target: Int, out: F64) -> None:
        """Write the numbers between the tokens ``before`` and ``stop`` to ``target`` and after it.

        They are exactly those of ``float``; other words give NaN.
        """
        from credo._kernels.bif_text import read_numbers  # noqa: PLC0415 - loads Numba

        read_numbers(self.array, self.kind, self.start, self.end, before, stop, target, out)
        hard = np.flatnonzero(np.isinf(out))
        for i, token in self.places(hard, before, target) if hard.size else ():
            out[i] = float(self.spelt(token))

    def places(self, cells: Int, before: Int, target: Int) -> Iterator[tuple[int, int]]:
        """Give the tokens from which cells were read, beside the cells."""
        order = np.argsort(target, kind="stable")
        entry = order[np.searchsorted(target[order], cells, "right") - 1]
        tokens = before[entry] + 1 + cells - target[entry]
        return zip(cells.tolist(), tokens.tolist(), strict=True)

    @property
    def array(self) -> npt.NDArray[np.uint8]:
        """The text as an array."""
        return np.frombuffer(self.text, np.uint8)


def tokenised(data: bytes, path: str) -> Tokens:
    """Cut a file into tokens."""
    if data.startswith(_WIDE):
        raise FileFormatError("The file is in UTF-16. Save it as UTF-8.", path)
    text = _without_comments(data, path)
    kind, start, end = _cut(text, data, path)
    escaped = np.flatnonzero(kind == ord("e"))
    if escaped.size:
        text = _unescaped(text, start, end, escaped)
        kind[escaped] = ord("q")
    return Tokens(path, data, text, _encoding(data), kind, start, end)


def _cut(text: bytes, data: bytes, path: str) -> tuple[Any, Any, Any]:
    """Run the compiled pass, again with more room if the file is dense."""
    from credo._kernels.bif_text import tokenise  # noqa: PLC0415 - loads Numba

    array = np.frombuffer(text, np.uint8)
    first = len(codecs.BOM_UTF8) if text.startswith(codecs.BOM_UTF8) else 0
    room = len(text) // _BYTES_PER_TOKEN
    while True:
        kind = np.empty(room, np.uint8)
        start, end = np.empty(room, np.int32), np.empty(room, np.int32)
        count = int(tokenise(array, first, kind, start, end))
        if count < 0:
            reason = "This quote is not closed on its line. Add the closing quote."
            raise _fault(data, -1 - count, path, reason)
        if count <= room:
            return kind[:count], start[:count], end[:count]
        room = count


def _without_comments(data: bytes, path: str) -> bytes:
    """Replace comments by blanks of the same length; quoted names keep their slashes."""
    if b"/" not in data or not (b"//" in data or b"/*" in data):
        return data

    def blank(found: re.Match[bytes]) -> bytes:
        """Blank one comment."""
        part = found.group()
        if part == b"/*":
            reason = "This comment is not closed. Add */ where it ends."
            raise _fault(data, found.start(), path, reason)
        return part if part.startswith(b'"') else b" " * len(part)

    return _COMMENT.sub(blank, data)


def _unescaped(text: bytes, start: Any, end: Any, tokens: Int) -> bytes:
    """Resolve the escapes of names where they stand, and draw in their ends."""
    new = bytearray(text)
    for token in tokens.tolist():
        name = _ESCAPE.sub(rb"\1", text[start[token] : end[token]])
        end[token] = start[token] + len(name)
        new[start[token] : end[token]] = name
    return bytes(new)


def _encoding(data: bytes) -> str:
    """Tell UTF-8 from Latin-1."""
    if data.isascii():
        return "ascii"
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return "latin-1"
    return "utf-8"


def _fault(data: bytes, offset: int, path: str, reason: str) -> FileFormatError:
    """Build the error that names a byte's place."""
    return FileFormatError(reason, path, *place(data, offset))
