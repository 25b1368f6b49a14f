"""How a text file is laid out: its separator, its header, where its rows begin."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from credo._validation.labels import as_labels
from credo.exceptions import FileFormatError, InputError
from credo.tables.sources.arrow import blaming_file, pa

#: Bytes looked at to find the header; no header is longer.
HEAD = 2**20

GZIP = b"\x1f\x8b"
BYTE_ORDER_MARK = b"\xef\xbb\xbf"

#: From the bytes parsed to their share of all.
Share: TypeAlias = Callable[[int], float]

#: How files that are no text of ours begin, and what they are.
OTHER_KINDS = {
    b"PAR1": "a Parquet file; name it .parquet",
    b"ARROW1": "an Arrow file; name it .arrow",
    b"\xff\xfe": "text in UTF-16. Save the file as UTF-8",
    b"\xfe\xff": "text in UTF-16. Save the file as UTF-8",
    b"PK\x03\x04": "a ZIP archive or a spreadsheet. Save the table as CSV",
}


@dataclass(frozen=True, slots=True)
class Layout:
    """Where the rows of a text file begin and how their cells are told apart.

    Attributes
    ----------
    path
        The file, absolute.
    name
        The file, as it is called in messages.
    packed
        Whether it is compressed by gzip.
    separator
        What stands between two cells.
    header
        Names of the columns.
    start
        Bytes before the first row, in the unpacked file.
    empty
        Whether no byte follows the header.
    """

    path: str
    name: str
    packed: bool
    separator: str
    header: tuple[str, ...]
    start: int
    empty: bool

    @classmethod
    def of(cls, name: str) -> Layout:
        """Find the layout of a file from its first bytes."""
        path = str(Path(name).absolute())
        packed, head = _head(path, name)
        _check_text(head, name)
        separator, cells, start = _header(head, name)
        header = _checked(cells, name)
        return cls(path, name, packed, separator, header, start, len(head) == start)

    @property
    def skips_blank(self) -> bool:
        """Whether a blank line is no row: in a single column it is one, without a value."""
        return len(self.header) > 1

    @contextmanager
    def stream(self, span: tuple[int, int] | None = None) -> Iterator[tuple[pa.NativeFile, Share]]:
        """Open the bytes of the rows, or a range of a plain file; with them, the share read."""
        with pa.OSFile(self.path) as file:
            size = file.size()
            if self.packed:
                with _unpacked(file, self.name) as unpacked:
                    unpacked.read(self.start)
                    yield unpacked, lambda _: file.tell() / size
                return
            first, last = span or (self.start, size)
            length = max(last - first, 1)
            with file.get_stream(first, length) as segment:
                yield segment, lambda n_bytes: min(n_bytes / length, 1.0)


def _head(path: str, name: str) -> tuple[bool, bytes]:
    """Tell whether a file is packed and give its first bytes, unpacked."""
    with blaming_file(name), pa.OSFile(path) as file:
        packed = file.read(len(GZIP)) == GZIP
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


def _check_text(head: bytes, name: str) -> None:
    """Refuse what is no text at all."""
    if not head.removeprefix(BYTE_ORDER_MARK).strip():
        raise FileFormatError("the file is empty; a header line is needed.", name)
    for mark, kind in OTHER_KINDS.items():
        if head.startswith(mark):
            raise FileFormatError(f"this is {kind}.", name)


def _header(head: bytes, name: str) -> tuple[str, list[str], int]:
    """Give the separator, the cells of the header, and the bytes up to its end."""
    first, *others = ("\t", ",", ";", "|") if _is_tabbed(name) else (",", ";", "\t", "|")
    found = _cells(head, first, name)
    for separator in others:
        if len(found[0]) > 1:
            break
        other = _cells(head, separator, name)
        if len(other[0]) > 1:
            return separator, *other
    return first, *found


def _is_tabbed(name: str) -> bool:
    """Tell a file of tab-separated cells by its name."""
    return name.lower().removesuffix(".gz").endswith((".tsv", ".tab"))


def _cells(head: bytes, separator: str, name: str) -> tuple[list[str], int]:
    """Parse the first row that is not blank; give its cells and where it ends."""
    mark = len(BYTE_ORDER_MARK) if head.startswith(BYTE_ORDER_MARK) else 0
    lines = head[mark:].splitlines(keepends=True)
    reader = csv.reader(_decoded(lines, name), delimiter=separator, strict=True)
    try:
        cells = next(row for row in reader if row)
    except (csv.Error, StopIteration) as error:
        raise FileFormatError(f"the header cannot be read: {error}.", name, 1) from error
    end = mark + sum(len(line) for line in lines[: reader.line_num])
    if end == HEAD:
        raise FileFormatError(f"the header has more than {HEAD} characters.", name, 1)
    return [cell.strip() for cell in cells], end


def _decoded(lines: list[bytes], name: str) -> Iterator[str]:
    """Give lines as text."""
    for number, line in enumerate(lines, 1):
        try:
            yield line.decode()
        except UnicodeDecodeError as error:
            raise FileFormatError(
                f"the text is not UTF-8 ({error.reason}). Save the file as UTF-8.", name, number
            ) from error


def _checked(cells: list[str], name: str) -> tuple[str, ...]:
    """Refuse a header with a name that is empty or occurs twice."""
    if "" in cells:
        raise FileFormatError(
            f"the header has no name for column {cells.index('') + 1}. Give it one; if it is the "
            "index of a pandas frame, write the file with index=False.",
            name,
            1,
        )
    try:
        as_labels(cells, "the header", "names")
    except InputError as error:
        raise FileFormatError(str(error), name, 1) from error
    return tuple(cells)
