"""The header and the directory of a tiled TIFF file, little-endian."""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np

#: Bytes of pixels up to which positions in the file surely fit into 32 bits: 32 MB are left for
#: the directory, and for tiles that deflate makes longer.
MOST_CLASSIC = 2**32 - 2**25

#: A tag, the kind of its numbers, and the numbers.
Entry: TypeAlias = tuple[int, int, Sequence[int]]

#: Kinds of numbers, and how struct calls them.
_SHORT, _LONG, _LONG8 = 3, 4, 16
_CODES = {_SHORT: "H", _LONG: "I", _LONG8: "Q"}
#: Adobe's deflate; black is zero; formats of samples.
_DEFLATE, _BLACK_IS_ZERO, _WHOLE, _FLOAT = 8, 1, 1, 3


def header(directory: int, *, is_big: bool) -> bytes:
    """Begin a file whose directory is at a position."""
    if is_big:
        return struct.pack("<2sHHHQ", b"II", 43, 8, 0, directory)
    return struct.pack("<2sHI", b"II", 42, directory)


def tiled_directory(
    shape: tuple[int, int],
    dtype: np.dtype[Any],
    tile: int,
    places: Sequence[tuple[int, int]],
    begin: int,
    *,
    is_big: bool,
) -> bytes:
    """Describe a picture whose tiles, row by row, have places: a position and a number of bytes."""
    bits = 1 if dtype == np.bool_ else 8 * dtype.itemsize
    position = _LONG8 if is_big else _LONG
    entries: list[Entry] = [
        (256, _LONG, [shape[1]]),
        (257, _LONG, [shape[0]]),
        (258, _SHORT, [bits]),
        (259, _SHORT, [_DEFLATE]),
        (262, _SHORT, [_BLACK_IS_ZERO]),
        (277, _SHORT, [1]),
        (322, _LONG, [tile]),
        (323, _LONG, [tile]),
        (324, position, [offset for offset, _ in places]),
        (325, _LONG, [count for _, count in places]),
        (339, _SHORT, [_FLOAT if dtype.kind == "f" else _WHOLE]),
    ]
    return _directory(entries, begin, is_big=is_big)


def _directory(entries: Sequence[Entry], begin: int, *, is_big: bool) -> bytes:
    """Lay out a directory; numbers that do not fit into an entry follow it."""
    count, entry, field = ("<Q", "<HHQ", 8) if is_big else ("<H", "<HHI", 4)
    lines = [struct.pack(count, len(entries))]
    behind: list[bytes] = []
    free = begin + struct.calcsize(count) + len(entries) * (struct.calcsize(entry) + field) + field
    for tag, kind, numbers in entries:
        data = struct.pack(f"<{len(numbers)}{_CODES[kind]}", *numbers)
        if len(data) > field:
            padded = data.ljust(math.ceil(len(data) / 8) * 8, b"\0")
            data = struct.pack("<Q" if is_big else "<I", free)
            behind.append(padded)
            free += len(padded)
        lines.append(struct.pack(entry, tag, kind, len(numbers)) + data.ljust(field, b"\0"))
    return b"".join([*lines, bytes(field), *behind])
