"""Writing text, packed where the name says so."""

from __future__ import annotations

import gzip
import io
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, TextIO, cast

from credo._files import written_whole


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
