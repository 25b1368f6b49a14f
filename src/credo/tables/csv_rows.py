"""Numbers and text from a comma-separated file, a block of rows at a time."""

from __future__ import annotations

import csv
import gzip
import os
import sys
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from itertools import count, islice
from pathlib import Path
from typing import Any

import numpy as np

from credo._types import F64, Labels
from credo._validation.labels import as_labels, position
from credo.exceptions import FileFormatError, InputError

#: Rows in a block: enough to make NumPy's overhead small beside the parsing.
BLOCK_ROWS = 2**14

#: More than this is no row of a table; refused before it fills the memory.
MOST_LINE = 2**24

#: Called with the bytes read so far and the bytes in all (None if unknown).
Progress = Callable[[int, int | None], None]


@dataclass(frozen=True, slots=True, eq=False)
class RowBlock:
    """Consecutive rows of a file.

    Attributes
    ----------
    values
        Numbers, one column per name asked for.
    texts
        For each row the cells of the columns to be kept as they are.
    lines
        Number of the line on which each row begins, counted from one.
    """

    values: F64
    texts: list[list[str]]
    lines: list[int]


@contextmanager
def open_csv(path: str | os.PathLike[str], progress: Progress | None = None) -> Iterator[CsvRows]:
    r"""Open a comma-separated file with a header, to be read in blocks in bounded memory.

    Parameters
    ----------
    path
        The file; gzip is unpacked on the way, ``-`` is the standard input.
    progress
        Called after each block with the bytes read and the bytes in all.

    Yields
    ------
    CsvRows
        With the ``header``, and ``blocks(...)`` to read the rows.

    Raises
    ------
    FileFormatError
        When a line has the wrong number of cells or a cell is not a number; names the line.

    Notes
    -----
    Memory is one block, 16 384 rows. Quoted cells may hold commas and line ends.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from credo.tables import open_csv
    >>> path = pathlib.Path(tempfile.mkdtemp(), "p.csv")
    >>> _ = path.write_text("id,spam,ham\nx1,0.9,0.1\n")
    >>> with open_csv(path) as rows:
    ...     block = next(rows.blocks(numbers=["spam", "ham"], texts=["id"]))
    >>> block.values, block.texts
    (array([[0.9, 0.1]]), [['x1']])
    """
    name = os.fspath(path)
    if name == "-":
        if sys.stdin is None:
            raise InputError("There is no standard input to read from.")
        with _unpacked(sys.stdin.buffer) as stream:
            yield CsvRows("standard input", stream)
        return
    with Path(name).open("rb") as raw, _unpacked(raw) as stream:
        total = os.fstat(raw.fileno()).st_size

        def tell() -> None:
            if progress is not None:
                progress(raw.tell(), total)

        yield CsvRows(name, stream, tell)


def _unpacked(raw: Any) -> AbstractContextManager[Any]:
    """Unpack a stream of bytes that begins as gzip does; others pass as they are."""
    packed = raw.peek(2)[:2] == b"\x1f\x8b"
    return gzip.GzipFile(fileobj=raw) if packed else nullcontext(raw)


class CsvRows:
    """Rows of an open comma-separated file; made by ``open_csv``.

    Attributes
    ----------
    name
        The file, as it is called in messages.
    header
        Names of the columns.
    """

    def __init__(self, name: str, stream: Any, tell: Callable[[], None] | None = None) -> None:
        self.name = name
        self._stream = stream
        self._tell = tell
        self._row_size = 0
        self.header: Labels = ()
        self._reader = csv.reader(self._lines(), strict=True)
        first = next(self._cells(), None)
        if first is None:
            raise FileFormatError("the file is empty; a header line is needed.", name)
        cells = [cell.strip() for cell in first[1]]
        for mark in (";", "\t", "|"):
            if len(cells) == 1 and mark in cells[0]:
                raise FileFormatError(
                    f"the separator looks like {mark!r}. Columns must be separated by commas.",
                    name,
                    1,
                )
        try:
            self.header = as_labels(cells, "the header", "names")
        except InputError as error:
            raise FileFormatError(str(error), name, 1) from error

    def blocks(
        self, numbers: Sequence[Any], texts: Sequence[Any] = (), size: int = BLOCK_ROWS
    ) -> Iterator[RowBlock]:
        """Yield blocks of rows with the named columns, in file order.

        Parameters
        ----------
        numbers
            Names of the columns to read as numbers.
        texts
            Names of the columns to hand through as text.
        size
            Rows in a block.

        Yields
        ------
        RowBlock
            At most ``size`` rows.
        """
        columns = [position(name, self.header, self.name, "column") for name in numbers]
        kept = [position(name, self.header, self.name, "column") for name in texts]
        cells = self._cells()
        while chunk := list(islice(cells, size)):
            lines = [line for line, _ in chunk]
            values = self._numbers(chunk, columns)
            yield RowBlock(values, [[row[i] for i in kept] for _, row in chunk], lines)
            if self._tell is not None:
                self._tell()

    def _lines(self) -> Iterator[str]:
        """Give the lines of the stream as text, none longer than ``MOST_LINE``."""
        for number in count(1):
            try:
                line = self._stream.readline(MOST_LINE)
                text = line.decode("utf-8-sig" if number == 1 else "utf-8")
            except UnicodeDecodeError as error:
                raise FileFormatError(
                    f"the text is not UTF-8 ({error.reason}). Save the file as UTF-8.",
                    self.name,
                    number,
                ) from error
            except (EOFError, OSError, zlib.error) as error:
                raise FileFormatError(f"the archive is damaged: {error}.", self.name) from error
            if not line:
                return
            self._row_size += len(line)
            if self._row_size > MOST_LINE or (len(line) == MOST_LINE and line[-1:] != b"\n"):
                raise FileFormatError(
                    f"the row has more than {MOST_LINE} characters.", self.name, number
                )
            yield text

    def _cells(self) -> Iterator[tuple[int, list[str]]]:
        """Give (number of the first line, cells); empty lines are allowed at the end only."""
        empty: int | None = None
        while True:
            start = self._reader.line_num + 1
            self._row_size = 0
            try:
                row = next(self._reader, None)
            except csv.Error as error:
                raise FileFormatError(f"{error}.", self.name, self._reader.line_num) from error
            if row is None:
                return
            if not row:
                empty = empty or start
                continue
            if empty is not None:
                raise FileFormatError(
                    "the line is empty, with rows after it. Remove it.", self.name, empty
                )
            if self.header and len(row) != len(self.header):
                raise FileFormatError(
                    f"expected {len(self.header)} cells as in the header, got {len(row)}.",
                    self.name,
                    start,
                )
            yield start, row

    def _numbers(self, chunk: list[tuple[int, list[str]]], columns: list[int]) -> F64:
        """Convert the chosen cells; on a failure look for the culprit and name its line."""
        values = np.empty((len(chunk), len(columns)))
        for j, i in enumerate(columns):
            column = [row[i] for _, row in chunk]
            try:
                values[:, j] = np.fromiter(map(float, column), np.float64, len(column))
            except ValueError:
                raise self._culprit(chunk, columns) from None
            if "_" in "".join(column):  # Python reads 1_000 as a thousand; no table means that
                raise self._culprit(chunk, columns)
        return values

    def _culprit(self, chunk: list[tuple[int, list[str]]], columns: list[int]) -> FileFormatError:
        """Find the first cell that is no number."""
        line, i, cell = next(
            (line, i, row[i]) for line, row in chunk for i in columns if not _is_number(row[i])
        )
        fault = f"is not a number: {cell!r}" if cell.strip() else "is empty"
        return FileFormatError(f"column {self.header[i]!r} {fault}.", self.name, line)


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return "_" not in cell
