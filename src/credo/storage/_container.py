"""The outer layer of a model file: one text and named arrays, in the safetensors format."""

from __future__ import annotations

import math
import struct
import zlib
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, TypeAlias, final

import numpy as np

from credo.storage._faults import Fault
from credo.storage._json import parsed, written

#: A file in memory: bytes, or a map of the file.
Buffer: TypeAlias = Any

#: Longest header that is written or read: the text of a model and a line per array. What Python
#: makes of it stays below 32 MB, whatever it says (measured: empty lists, the densest, make 30).
MOST_HEADER = 2**20

_DTYPES: dict[str, np.dtype[Any]] = {
    "F64": np.dtype("<f8"),
    "F32": np.dtype("<f4"),
    "I64": np.dtype("<i8"),
    "I32": np.dtype("<i4"),
    "I16": np.dtype("<i2"),
    "I8": np.dtype("<i1"),
    "U64": np.dtype("<u8"),
    "U32": np.dtype("<u4"),
    "U16": np.dtype("<u2"),
    "U8": np.dtype("<u1"),
    "BOOL": np.dtype("?"),
}
_NAMES = {dtype: name for name, dtype in _DTYPES.items()}
#: Arrays of these types can be written.
STORED = frozenset(_NAMES)
_FIELDS = {"dtype", "shape", "data_offsets"}
#: Files from this size on are checked by two threads: 48 MB in 16 ms, where one takes 23 to 36.
_LARGE = 2**23
#: NumPy allows no more axes.
_MOST_AXES = 64


@final
@dataclass(frozen=True, slots=True)
class Entry:
    """Where an array is in a file, and what it is."""

    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    start: int
    stop: int


@final
@dataclass(frozen=True, slots=True)
class Header:
    """The text of a file and the places of its arrays, counted from the first of them."""

    text: str
    entries: dict[str, Entry]
    length: int


def header_length(start: bytes, size: int) -> int:
    """Read how long the header is, from the first eight bytes of a file of some size."""
    if len(start) < 8:
        raise Fault(f"it has {size} bytes, too few for a model file")
    length: int = struct.unpack("<Q", start[:8])[0]
    if length > MOST_HEADER:
        raise Fault(
            f"it is no model file: where these have the length of a header, at most {MOST_HEADER} "
            f"bytes, it has {length}"
        )
    if 8 + length > size:
        raise Fault(f"it is cut short: {8 + length} bytes of header, but {size} bytes in all")
    return length


def read_header(text: bytes, size: int) -> Header:
    """Read a header of a file of some size; every byte after it must belong to one array."""
    if not text.startswith(b"{") or not text.rstrip(b" ").endswith(b"}") or len(text) % 8:
        raise Fault("it is no model file: the header is not in the safetensors format")
    table = parsed(text, "the header")
    if not isinstance(table, dict):
        raise Fault("it is no model file: the header is not a table")
    metadata = table.pop("__metadata__", None)
    if not isinstance(metadata, dict) or set(metadata) != {"credo"}:
        raise Fault("it is a safetensors file, but not a model file of Credo")
    if not isinstance(metadata["credo"], str):
        raise Fault("it is no model file: its description is not a text")
    entries = {name: _entry(name, value) for name, value in table.items()}
    _check_places(entries, size - 8 - len(text))
    return Header(metadata["credo"], entries, len(text))


def _entry(name: str, value: Any) -> Entry:
    """Check the entry of one array."""
    if not isinstance(value, dict) or set(value) != _FIELDS:
        raise Fault(f"the entry of the array {name[:80]!r} is not as it must be")
    dtype, shape, places = value["dtype"], value["shape"], value["data_offsets"]
    if not isinstance(dtype, str) or dtype not in _DTYPES:
        raise Fault(f"the array {name[:80]!r} is of a type that model files do not have")
    if not (_are_counts(shape) and _are_counts(places) and len(places) == 2):
        raise Fault(f"the array {name[:80]!r} has no proper shape or place")
    kind = _DTYPES[dtype]
    start, stop = places
    if len(shape) > _MOST_AXES or math.prod(shape) * kind.itemsize != stop - start:
        raise Fault(f"the shape of the array {name[:80]!r} does not fit its length")
    if start % kind.itemsize:
        raise Fault(f"the array {name[:80]!r} is not lined up")
    return Entry(kind, tuple(shape), start, stop)


def _are_counts(values: Any) -> bool:
    """Tell lists of whole numbers that are at least zero; booleans are none."""
    return isinstance(values, list) and all(type(value) is int and value >= 0 for value in values)


def _check_places(entries: Mapping[str, Entry], size: int) -> None:
    """Check that the arrays lie one after the other and fill the file."""
    end = 0
    for start, stop in sorted((entry.start, entry.stop) for entry in entries.values()):
        if start != end:
            raise Fault("its arrays overlap or leave a gap")
        end = stop
    if end != size:
        raise Fault(f"it is cut short or has a tail: {end} bytes of arrays expected, {size} found")


def written_parts(text: str, arrays: Mapping[str, Any]) -> list[bytes | memoryview]:
    """Return the parts of a file, in order: length, header, and arrays, which are not copied.

    Wide numbers come first, so that all arrays are lined up.
    """
    order = sorted(arrays, key=lambda name: (-arrays[name].itemsize, name))
    table: dict[str, Any] = {"__metadata__": {"credo": text}}
    start = 0
    for name in order:
        array = arrays[name]
        stop = start + array.nbytes
        kind = _NAMES[array.dtype]
        table[name] = {"dtype": kind, "shape": array.shape, "data_offsets": [start, stop]}
        start = stop
    header = written(table).encode()
    header += b" " * (-len(header) % 8)
    data = [memoryview(arrays[n].reshape(-1).view(np.uint8)) for n in order if arrays[n].size]
    return [struct.pack("<Q", len(header)), header, *data]


@final
class Arrays:
    """The arrays of a file, as views that are not copied and cannot be written to."""

    def __init__(self, buffer: Buffer, header: Header) -> None:
        self._buffer, self._header = buffer, header

    @property
    def size(self) -> int:
        """Bytes of the whole file."""
        return len(self._buffer)

    def __getitem__(self, name: str) -> Any:
        entry = self._header.entries[name]
        count = math.prod(entry.shape)
        if not count:
            return _fixed(np.empty(entry.shape, entry.dtype))
        start = 8 + self._header.length + entry.start
        return np.frombuffer(self._buffer, entry.dtype, count, start).reshape(entry.shape)

    def check(self, sums: Mapping[str, Any]) -> None:
        """Compare the checksum of each array."""
        if set(sums) != set(self._header.entries):
            raise Fault("its arrays are not those that its description tells of")
        for name, found in self._sums():
            if sums[name] != found:
                raise Fault(f"it is damaged: the checksum of the array {name[:80]!r} is another")
            array = self[name]
            if array.dtype == np.bool_ and array.view(np.uint8).max(initial=0) > 1:
                raise Fault(f"the array {name[:80]!r} has booleans other than 0 and 1")

    def _sums(self) -> list[tuple[str, int]]:
        """Return the checksum of each array; of large files, two at a time."""
        names = list(self._header.entries)
        if len(self._buffer) < _LARGE:
            return [(name, checksum(name, self[name])) for name in names]
        with ThreadPoolExecutor(2) as pool:
            return list(zip(names, pool.map(lambda n: checksum(n, self[n]), names), strict=True))


def _fixed(array: Any) -> Any:
    """Make an array read-only."""
    array.flags.writeable = False
    return array


def checksum(name: str, array: Any) -> int:
    """Return the CRC-32 of an array with its name, type and shape.

    It finds every change of up to 32 neighbouring bits, so every changed byte, and any other with
    probability 1 - 2⁻³². It runs at 3.8 GB/s (measured), and outside of the interpreter's lock.
    """
    start = zlib.crc32(f"{name}\n{array.dtype.str}\n{array.shape}\n".encode())
    return zlib.crc32(array.reshape(-1).view(np.uint8), start) if array.size else start
