"""The bytes of a file, packed or not, and places in them."""

from __future__ import annotations

import codecs
import gzip
import io
import os
import zlib
from pathlib import Path
from typing import IO

from credo.exceptions import FileFormatError

#: Largest file that is read, in bytes after unpacking. A published network is a few megabytes; a
#: small .gz that would unpack to more than this is damaged or hostile.
LIMIT = 2**30
_PACKED = b"\x1f\x8b"
_BLOCK = 2**24


def read_bytes(path: str | os.PathLike[str]) -> bytes:
    """Read a whole file, unpacked if it is gzipped; its first bytes tell, not its name."""
    name = os.fspath(path)
    try:
        with Path(path).open("rb") as stream:
            data = _bounded(stream)
    except FileNotFoundError as error:
        raise FileFormatError("There is no such file. Check the path.", name) from error
    except IsADirectoryError as error:
        raise FileFormatError("This is a folder. Name a file in it.", name) from error
    except OSError as error:
        reason = f"The file cannot be read: {error.strerror}."
        raise FileFormatError(reason, name) from error
    if data.startswith(_PACKED):
        data = _unpacked(data, name)
    if len(data) > LIMIT:
        reason = f"The file is larger than {LIMIT} bytes, the most that is read. Split the model."
        raise FileFormatError(reason, name)
    return data


def decoded(data: bytes) -> str:
    """Decode as UTF-8, or as Latin-1 where it is not; drop a byte order mark."""
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return data.decode("latin-1")


def place(data: bytes, offset: int) -> tuple[int, int]:
    """Give line and column (in characters), counted from one, of the byte at ``offset``."""
    before = data[:offset].removeprefix(codecs.BOM_UTF8)
    ends = before.count(b"\n") + before.count(b"\r") - before.count(b"\r\n")
    start = max(before.rfind(b"\n"), before.rfind(b"\r")) + 1
    return ends + 1, len(decoded(before[start:])) + 1


def _bounded(stream: IO[bytes] | gzip.GzipFile) -> bytes:
    """Read a stream to its end, or a little beyond the limit."""
    parts = []
    size = 0
    while size <= LIMIT and (part := stream.read(_BLOCK)):
        parts.append(part)
        size += len(part)
    return b"".join(parts)


def _unpacked(data: bytes, name: str) -> bytes:
    """Unpack the bytes of a gzipped file, as far as the limit."""
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(data)) as stream:
            return _bounded(stream)
    except (OSError, EOFError, zlib.error) as error:
        reason = f"The packed file is damaged ({error}). Fetch or pack it again."
        raise FileFormatError(reason, name) from error
