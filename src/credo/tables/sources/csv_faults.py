"""What is wrong in a text file, and on which line."""

from __future__ import annotations

import csv
import gzip
import re
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import IO, Any, cast

from credo.exceptions import FileFormatError
from credo.tables.sources.arrow import pa, said_by
from credo.tables.sources.csv_cuts import count
from credo.tables.sources.csv_layout import Layout
from credo.tables.sources.csv_reading import BLOCK, Reading

#: Rows up to which the line of a fault is sought, some seconds of Python; then the row is told.
MOST_ROWS = 2_000_000

ROW = r"(?:Row #(?P<row>\d+): )?"
CELL = re.compile(
    rf"In CSV column #(?P<column>\d+): {ROW}CSV conversion error to (?P<type>.*?): "
    r"(?:invalid value '(?P<value>.*)'|invalid UTF8 data)$",
    re.DOTALL,
)
RAGGED = re.compile(rf"CSV parse error: {ROW}Expected (?P<wanted>\d+) columns, got (?P<found>\d+)")

#: What the types are called in a message.
KINDS = {"double": "a number", "bool": "true or false", "int64": "a whole number"}


@contextmanager
def blaming_line(reading: Reading, names: list[str]) -> Iterator[None]:
    """Turn what Arrow says about a text file into an error that names the line and the column."""
    try:
        yield
    except pa.ArrowInvalid as error:
        raise _fault(reading, _retold(reading, names) or str(error)) from error


def check_closed(layout: Layout, span: tuple[int, int] | None) -> None:
    """Refuse a plain file that ends inside a quoted cell, which Arrow takes for the last cell.

    The last quote then begins a cell; the quotes are counted only if it looks so.
    """
    if layout.packed:
        return
    with Path(layout.path).open("rb", buffering=0) as file:
        start, stop = span or (layout.start, file.seek(0, 2))
        before = max(start - 1, stop - BLOCK)
        file.seek(before)
        tail = file.read(stop - before)
        last = tail.rfind(b'"')
        begins = last > 0 and tail[last - 1 : last] in {layout.separator.encode(), b"\n", b"\r"}
        if begins and count(file, '"', start, stop) % 2:
            line = 1 + count(file, "\n", 0, before + last)
            reason = "a quoted cell is left open: the file ends inside it. Close it."
            raise FileFormatError(reason, layout.name, line)


def _retold(reading: Reading, names: list[str]) -> str:
    """Read once more from the first row on, in one thread: then Arrow says the row as well."""
    try:
        with reading.layout.stream() as (stream, _):
            alone = replace(reading, threads=False)
            for _batch in alone.reader(stream, names or reading.schema.names):
                pass
    except (pa.ArrowInvalid, OSError) as error:
        return str(error)
    return ""


def _fault(reading: Reading, said: str) -> FileFormatError:
    """Say in the user's words what Arrow said."""
    layout = reading.layout
    if found := CELL.match(said):
        return _fault_of_cell(reading, found)
    if found := RAGGED.match(said):
        reason = f"expected {found['wanted']} cells as in the header, got {found['found']}."
        return _placed(reason, layout, found["row"])
    if "straddles two block boundaries" in said:
        return FileFormatError(
            f"a row has more than {BLOCK} characters. Is a quoted cell left open?", layout.name
        )
    return FileFormatError(said_by(said), layout.name)


def _fault_of_cell(reading: Reading, found: re.Match[str]) -> FileFormatError:
    """Say which cell does not fit the type of its column."""
    column = reading.schema.names[int(found["column"])]
    if found["value"] is None:
        reason = f"the text of column {column!r} is not UTF-8. Save the file as UTF-8."
        return _placed(reason, reading.layout, found["row"])
    kind = KINDS.get(found["type"], f"a value of type {found['type']}")
    value = found["value"] if len(found["value"]) <= 40 else f"{found['value'][:40]}…"
    reason = (
        f"column {column!r} must be {kind} in every row, as in the first ones. Got {value!r}. "
        f"Name it as missing=[{value!r}] if it means that, or give the column another type."
    )
    return _placed(reason, reading.layout, found["row"])


def _placed(reason: str, layout: Layout, row: str | None) -> FileFormatError:
    """Add the line, found by parsing once more; in a long file, the row."""
    if row is None:
        return FileFormatError(reason, layout.name)
    if int(row) > MOST_ROWS:
        return FileFormatError(f"row {row}: {reason}", layout.name)
    return FileFormatError(reason, layout.name, _line_of(layout, int(row)))


def _line_of(layout: Layout, row: int) -> int | None:
    """Find the line on which a row begins; None where Python reads the file in another way."""
    opened = gzip.open if layout.packed else Path.open
    with cast("IO[bytes]", opened(Path(layout.path), "rb")) as file:
        before = file.read(layout.start).splitlines()
        lines = (
            line.decode(errors="replace")
            for text in iter(lambda: file.readline(BLOCK), b"")
            for line in text.splitlines(keepends=True)
        )
        reader = csv.reader(lines, delimiter=layout.separator)
        starts = _starts(reader, skips_blank=layout.skips_blank)
        try:
            return len(before) + next(islice(starts, row - 1, None))
        except (csv.Error, StopIteration, EOFError, OSError, zlib.error):
            return None


def _starts(reader: Any, *, skips_blank: bool) -> Iterator[int]:
    """Give the lines on which rows begin."""
    start = 1
    for cells in reader:
        if cells or not skips_blank:
            yield start
        start = reader.line_num + 1
