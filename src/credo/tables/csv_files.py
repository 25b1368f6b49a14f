"""Text files of rows: header and separator, types that stay the same, and faults by their line."""

from __future__ import annotations

import csv
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from io import TextIOWrapper
from itertools import islice
from pathlib import Path
from typing import Any, TypeAlias

import pyarrow as pa
import pyarrow.csv as pcsv

from credo import _checks as check
from credo.columns import MARKS
from credo.exceptions import FileFormatError, InputError, TableWarning
from credo.tables.arrow import blaming_file, blank, is_number, is_text, said_by
from credo.tables.pieces import RowPiece, Step

#: Bytes parsed at a time, and so the longest row. Measured on 200 000 x 20: 2 MB take 10% more
#: time, since they leave the cache of the processor; the memory is about 40 blocks.
BLOCK = 2**20

#: Bytes looked at to find the header; no header is longer.
HEAD = 2**20

#: Whole numbers up to this are exact as float64; a column with larger ones holds names.
EXACT_WHOLE = 2**53

#: Rows up to which the line of a fault is sought, some seconds of Python; then the row is told.
MOST_ROWS = 2_000_000

BYTE_ORDER_MARK = b"\xef\xbb\xbf"

#: Words that mean a missing value if nobody says otherwise; the empty cell always does.
USUAL_MISSING = tuple(pcsv.ConvertOptions().null_values)

#: How files that are no text of ours begin, and what they are.
OTHER_KINDS = {
    b"PAR1": "a Parquet file; name it .parquet",
    b"ARROW1": "an Arrow file; name it .arrow",
    b"\xff\xfe": "text in UTF-16. Save the file as UTF-8",
    b"\xfe\xff": "text in UTF-16. Save the file as UTF-8",
    b"PK\x03\x04": "a ZIP archive or a spreadsheet. Save the table as CSV",
}

ROW = r"(?:Row #(?P<row>\d+): )?"
CELL = re.compile(
    rf"In CSV column #(?P<column>\d+): {ROW}CSV conversion error to (?P<type>.*?): "
    r"(?:invalid value '(?P<value>.*)'|invalid UTF8 data)$",
    re.DOTALL,
)
RAGGED = re.compile(rf"CSV parse error: {ROW}Expected (?P<wanted>\d+) columns, got (?P<found>\d+)")

#: What the types are called in a message.
KINDS = {"double": "a number", "bool": "true or false", "int64": "a whole number"}

#: From the bytes parsed to their share of all.
Share: TypeAlias = Callable[[int], float]


@dataclass(frozen=True, kw_only=True)
class TextRows(RowPiece):
    """A text file, and how its cells become values: the same from the first row to the last.

    Attributes
    ----------
    path
        The file, absolute.
    packed
        Whether it is compressed by gzip.
    separator
        What stands between two cells.
    start, lines
        Bytes and lines of the header and what is before it, unpacked.
    empty
        Whether no byte follows the header.
    missing
        Texts that mean a missing value.
    marks
        Texts that mean a missing value where a column holds something else than text.
    marked
        Whether such marks were met. Arrow takes one list of texts for all columns, so that those of
        text are then emptied by themselves.
    seen
        How often columns have which marks in the first block.
    extent
        What the first block is, as a message ends: all, or so many rows.
    decimal
        The decimal point: a dot, or a comma.
    threads
        Whether Arrow converts columns in parallel.
    """

    path: str
    packed: bool
    separator: str
    start: int
    lines: int
    empty: bool
    missing: tuple[str, ...]
    marks: tuple[str, ...]
    marked: bool = False
    seen: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    extent: str = ""
    decimal: str = "."
    threads: bool = True

    def steps(self, names: list[str]) -> Iterator[Step]:
        """Parse block by block; each batch is one block."""
        if self.empty:
            return
        chosen, done = names or self.schema.names[:1], 0  # rows are counted by any column
        try:
            for done, step in enumerate(self._blocks(chosen), 1):  # noqa: B007 - used below
                yield step
        except _MarkMet as met:  # the first one, behind the first block: go on as if it was known
            check.warn(f"{self.name}: {met} behind its first rows: taken as missing.", TableWarning)
            yield from islice(replace(self, marked=True)._blocks(chosen), done, None)  # noqa: SLF001

    def _blocks(self, chosen: Sequence[str]) -> Iterator[Step]:
        """Parse all blocks."""
        rows = 0
        with (
            blaming_file(self.name),
            self.blaming_line(chosen),
            self.stream() as (stream, share),
            self.reader(stream, chosen, self.schema) as reader,  # its thread ends with it
        ):
            for number, batch in enumerate(reader, 1):
                rows += batch.num_rows
                whole = blank(batch, self.missing) if self.marked else batch
                yield whole, share(number * BLOCK)
        if self._ends_open():
            reason = "a quoted cell is left open: the file ends inside it. Close it."
            raise self.fault_at(reason, rows)

    @contextmanager
    def stream(self) -> Iterator[tuple[pa.NativeFile, Share]]:
        """Open the bytes of the rows; with them, the share that is read."""
        with pa.OSFile(os.fsencode(self.path)) as file:
            size = file.size()
            if self.packed:
                with _unpacked(file, self.name) as unpacked:
                    unpacked.read(self.start)
                    yield unpacked, lambda _: file.tell() / size
                return
            length = max(size - self.start, 1)
            with file.get_stream(self.start, length) as rest:
                yield rest, lambda n_bytes: min(n_bytes / length, 1.0)

    def reader(
        self, stream: pa.NativeFile, names: Sequence[str], types: pa.Schema | None
    ) -> pa.RecordBatchReader:
        """Read rows block by block; without ``types`` they are inferred."""
        has_text = types is not None and any(is_text(types.field(name).type) for name in names)
        marks = self.marks if self.marked or not has_text else ()
        return pcsv.open_csv(
            stream,
            pcsv.ReadOptions(
                use_threads=self.threads, block_size=BLOCK, column_names=self.schema.names
            ),
            pcsv.ParseOptions(
                delimiter=self.separator,
                newlines_in_values=True,
                ignore_empty_lines=self._skips_blank,
            ),
            pcsv.ConvertOptions(
                column_types=types,
                null_values=(*self.missing, *marks),
                strings_can_be_null=not self.marked,
                decimal_point=self.decimal,
                include_columns=names,
            ),
        )

    @property
    def _skips_blank(self) -> bool:
        """Whether a blank line is no row: in a single column it is one, without a value."""
        return len(self.schema.names) > 1

    # --- faults -----------------------------------------------------------------------------------

    @contextmanager
    def blaming_line(self, names: Sequence[str]) -> Iterator[None]:
        """Turn what Arrow says about a text into an error that names the line and the column.

        The text is read once more from the first row on, in one thread: then Arrow says the row.
        """
        try:
            yield
        except pa.ArrowInvalid as error:
            said = str(error)
            if not self.marked and (met := CELL.match(said)) and met["value"] in self.marks:
                column = self.schema.names[int(met["column"])]
                raise _MarkMet(
                    f"column {column!r} has {met['value']!r} among its numbers"
                ) from error
            try:
                with self.stream() as (stream, _):
                    for _batch in replace(self, threads=False).reader(stream, names, self.schema):
                        pass
            except (pa.ArrowInvalid, OSError) as again:
                said = str(again)
            raise self._fault(said) from error

    def _fault(self, said: str) -> FileFormatError:
        """Say in the user's words what Arrow said."""
        if "straddles two block boundaries" in said:
            said = f"a row has more than {BLOCK} characters. Is a quoted cell left open?"
            return FileFormatError(said, self.name)
        if found := RAGGED.match(said):
            said = f"expected {found['wanted']} cells as in the header, got {found['found']}."
        elif found := CELL.match(said):
            said = self._fault_of_cell(found)
        else:
            return FileFormatError(said_by(said), self.name)
        row = found["row"]
        return FileFormatError(said, self.name) if row is None else self.fault_at(said, int(row))

    def _fault_of_cell(self, found: re.Match[str]) -> str:
        """Say why a cell does not fit the type of its column."""
        column = self.schema.names[int(found["column"])]
        if found["value"] is None:
            return f"the text of column {column!r} is not UTF-8. Save the file as UTF-8."
        kind = KINDS.get(found["type"], f"a value of type {found['type']}")
        value = found["value"] if len(found["value"]) <= 40 else f"{found['value'][:40]}…"
        return (
            f"column {column!r} must be {kind} in every row, as in the first ones. Got {value!r}. "
            f"If it stands for a missing value, pass missing=[{value!r}]; if not, give the column "
            "another type."
        )

    def fault_at(self, reason: str, row: int) -> FileFormatError:
        """Return an error that names the line on which a row begins; in a long file, the row."""
        if row > MOST_ROWS:
            return super().fault_at(reason, row)
        return FileFormatError(reason, self.name, self._line_of(row))

    def _line_of(self, row: int) -> int | None:
        """Find the line on which a row begins; None where Python reads the file in another way."""
        start = self.lines + 1
        try:
            with self.stream() as (stream, _):
                text: Any = TextIOWrapper(stream, errors="replace", newline="")
                reader = csv.reader(text, delimiter=self.separator)
                for cells in reader:
                    row -= bool(cells) or not self._skips_blank
                    if not row:
                        return start
                    start = self.lines + reader.line_num + 1
        except (csv.Error, OSError, FileFormatError):
            pass
        return None

    def _ends_open(self) -> bool:
        """Tell a plain file that ends inside a quoted cell, which Arrow takes for the last cell.

        The last quote then begins a cell; the quotes are counted only if it looks so.
        """
        if self.packed:
            return False
        with Path(self.path).open("rb") as file:
            stop = file.seek(0, 2)
            file.seek(max(self.start - 1, stop - BLOCK))
            before, _, _ = file.read().rpartition(b'"')
            if not before.endswith((self.separator.encode(), b"\n", b"\r")):
                return False
            file.seek(self.start)
            return sum(text.count(b'"') for text in iter(lambda: file.read(BLOCK), b"")) % 2 == 1


class _MarkMet(Exception):  # noqa: N818 - never leaves this file
    """A mark of a missing value, which is no number, in a column of numbers."""


# --- types ----------------------------------------------------------------------------------------


def open_texts(
    paths: Sequence[str],
    names: Sequence[str],
    types: Mapping[str, pa.DataType],
    missing: Sequence[str],
    *,
    usual: bool,
    threads: bool,
) -> list[TextRows]:
    """Open text files by their paths and names: the first with rows sets the types of all.

    Each has a decimal point of its own. Unless ``usual``, no other text than these is missing.
    """
    texts = tuple(dict.fromkeys(["", *(USUAL_MISSING if usual else ()), *missing]))
    marks = tuple(mark for mark in MARKS if usual and mark not in texts)
    files = [
        replace(_layout(*file, texts, threads=threads), marks=marks)
        for file in zip(paths, names, strict=True)
    ]
    first = next((file for file in files if not file.empty), files[0])
    header = first.schema.names
    known = {name: kind for name, kind in types.items() if name in header}
    numbers = [name for name, kind in known.items() if is_number(kind)]
    best = _best_guess(first, numbers or [name for name in header if name not in known])
    known = {each.name: each.type for each in best.schema} | known
    numbers = [name for name, kind in known.items() if is_number(kind)]
    seen = {name: marks for name, marks in best.seen.items() if not is_text(known[name])}
    return [
        replace(
            best if file is first else _best_guess(file, numbers, best.decimal),
            schema=pa.schema([(name, known.get(name, pa.float64())) for name in file.schema.names]),
            seen=seen if file is first else {},
            marked=bool(seen),
        )
        for file in files
    ]


def _best_guess(file: TextRows, telling: Sequence[str], usual: str | None = None) -> TextRows:
    """Guess the types with each decimal point that there may be, the usual one of equals.

    The right one makes numbers of most columns, among those that should be. A comma is one only
    where it separates no cells; a file whose types are known needs no guess then.
    """
    points = "." if file.separator == "," else ",." if usual == "," else ".,"
    if usual is not None and (file.empty or not points[1:]):
        return file
    guesses = [_guess(replace(file, decimal=point)) for point in points]

    def n_numbers(guess: TextRows) -> int:
        types = {each.name: each.type for each in guess.schema}
        return sum(name in types and is_number(types[name]) for name in telling)

    return max(guesses, key=n_numbers)


def _guess(file: TextRows) -> TextRows:
    """Take the types that Arrow sees in the first block, made wide enough for later cells."""
    names, types = file.schema.names, [pa.float64()] * len(file.schema)
    seen: dict[str, dict[str, int]] = {}
    extent = ""
    if not file.empty:
        marked = replace(file, marked=True)
        with blaming_file(file.name), marked.blaming_line([]), file.stream() as (stream, _):
            start = stream.read(2 * BLOCK)  # and what tells that it is whole
            with marked.reader(pa.BufferReader(start), [], None) as reader:
                first = next(reader, None)
        if first is not None:
            types = [_widened(column) for column in first.columns]
            gaps = [
                name
                for name, column in zip(names, first.columns, strict=True)
                if column.null_count and not is_text(column.type)
            ]
            seen = _marks_in(file, start, gaps) if gaps and file.marks else {}
            extent = f" in the first {len(first)} rows" if len(start) > BLOCK else ""
    schema = pa.schema(zip(names, types, strict=True))
    return replace(file, schema=schema, seen=seen, extent=extent)


def _marks_in(file: TextRows, start: bytes, names: Sequence[str]) -> dict[str, dict[str, int]]:
    """Count the marks in some columns of the first block."""
    texts = pa.schema([(name, pa.string()) for name in names])
    with file.reader(pa.BufferReader(start), names, texts) as reader:
        columns = next(reader).columns
    found: dict[str, dict[str, int]] = {}
    for name, column in zip(names, columns, strict=True):
        counts = {each["values"]: each["counts"] for each in column.value_counts().to_pylist()}
        marks = {mark: counts[mark] for mark in file.marks if mark in counts}
        found |= {name: marks} if marks else {}
    return found


def _widened(column: pa.Array) -> pa.DataType:
    """Choose a type that later cells fit too: decimals may follow, and numbers empty cells."""
    if pa.types.is_null(column.type):
        return pa.float64()
    if pa.types.is_binary(column.type):  # text that is not UTF-8, which reading will refuse
        return pa.string()
    if not pa.types.is_integer(column.type):
        return column.type
    import pyarrow.compute as pc  # noqa: PLC0415 - slow to load

    largest = max(abs(bound) for bound in pc.min_max(column).as_py().values())
    return pa.float64() if largest <= EXACT_WHOLE else column.type


# --- header ---------------------------------------------------------------------------------------


def _layout(path: str, name: str, missing: tuple[str, ...], *, threads: bool) -> TextRows:
    """Find separator, header and first row from the first bytes of a file."""
    packed, head = _head(path, name)
    if not head.removeprefix(BYTE_ORDER_MARK).strip():
        raise FileFormatError("the file is empty; a header line is needed.", name)
    for mark, kind in OTHER_KINDS.items():
        if head.startswith(mark):
            raise FileFormatError(f"this is {kind}.", name)
    tabbed = path.lower().removesuffix(".gz").endswith((".tsv", ".tab"))
    separators = "\t,;|" if tabbed else ",;\t|"
    layouts = ((mark, *_cells(head, mark, name)) for mark in separators)
    best = next(layouts)  # a header in quotes can be parsed by its own separator only
    if not best[1][1:]:
        best = next((layout for layout in layouts if layout[1][1:]), best)
    separator, header, start, lines = best
    if "" in header:
        raise FileFormatError(
            f"the header has no name for column {header.index('') + 1}. Give it one; if it is the "
            "index of a pandas frame, write the file with index=False.",
            name,
            1,
        )
    try:
        check.labels(header, "names of the header")
    except InputError as error:
        raise FileFormatError(str(error), name, 1) from error
    return TextRows(
        name=name,
        schema=pa.schema([(column, pa.string()) for column in header]),
        size=Path(path).stat().st_size,
        path=str(Path(path).absolute()),
        packed=packed,
        separator=separator,
        start=start,
        lines=lines,
        empty=len(head) == start,
        missing=missing,
        marks=(),
        threads=threads,
    )


def _head(path: str, name: str) -> tuple[bool, bytes]:
    """Tell whether a file is packed, and return its first bytes, unpacked."""
    with blaming_file(name), pa.OSFile(os.fsencode(path)) as file:
        packed = file.read(2) == b"\x1f\x8b"
        file.seek(0)
        if not packed:
            return False, file.read(HEAD)
        with _unpacked(file, name) as stream:
            return True, stream.read(HEAD)


@contextmanager
def _unpacked(file: pa.NativeFile, name: str) -> Iterator[pa.NativeFile]:
    """Unpack a stream, and say so where it is damaged."""
    try:
        with pa.CompressedInputStream(file, "gzip") as stream:
            yield stream
    except OSError as error:
        if error.errno is not None:
            raise
        raise FileFormatError(f"the archive is damaged: {error}.", name) from error


def _cells(head: bytes, separator: str, name: str) -> tuple[list[str], int, int]:
    """Parse the first row that is not blank; return its cells, and where it ends."""
    mark = len(BYTE_ORDER_MARK) if head.startswith(BYTE_ORDER_MARK) else 0
    lines = head[mark:].splitlines(keepends=True)
    reader = csv.reader(map(bytes.decode, lines), delimiter=separator, strict=True)
    try:
        cells = next(row for row in reader if row)
    except UnicodeDecodeError as error:
        reason = f"the text is not UTF-8 ({error.reason}). Save the file as UTF-8."
        raise FileFormatError(reason, name, reader.line_num + 1) from error
    except (csv.Error, StopIteration) as error:
        raise FileFormatError(f"the header cannot be read: {error}.", name, 1) from error
    end = mark + sum(len(line) for line in lines[: reader.line_num])
    if end == HEAD:
        raise FileFormatError(f"the header has more than {HEAD} characters.", name, 1)
    return [cell.strip() for cell in cells], end, reader.line_num
