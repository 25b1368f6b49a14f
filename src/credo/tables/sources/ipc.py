"""Rows of an Arrow file: Feather, or the stream that Arrow sends between processes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from credo.exceptions import FileFormatError
from credo.tables.sources.abstract import PART_ROWS, Part, Source, Step, check_names
from credo.tables.sources.arrow import blaming_file, pa

MAGIC = b"ARROW1"

#: Bytes of a batch above which a file is mapped into memory, so that not all of it is there at
#: once. Smaller ones are read, which is faster: mapped pages are loaded one by one.
HUGE_BATCH = 2**26


class IpcSource(Source):
    """An Arrow file, or a range of its batches."""

    def __init__(
        self, name: str, span: tuple[int, int] | None = None, *, threads: bool = True
    ) -> None:
        self.name = name
        self._path = str(Path(name).absolute())
        self._threads = threads
        self._mapped = True
        with blaming_file(name), self._opened() as reader:
            self._schema = reader.schema.remove_metadata()
            count = getattr(reader, "num_record_batches", None)  # a stream knows of none
            counted = getattr(reader, "count_rows", None)  # older versions of Arrow do not count
            self._n_rows = int(counted()) if counted is not None and span is None else None
            check_names(self._schema, name)
        size = Path(name).stat().st_size
        self._mapped = count is not None and size > count * HUGE_BATCH
        self._span = (0, count) if span is None and count is not None else span

    @property
    def schema(self) -> pa.Schema:
        """Names and types of the columns, as the file gives them."""
        return self._schema

    @property
    def n_rows(self) -> int | None:
        """Number of rows of a whole file; None for a stream or a part."""
        return self._n_rows

    def parts(self) -> list[Part]:
        """Give ranges of batches of about 100 000 rows; a stream is one part."""
        if self._span is None:
            return [IpcPart(self._path, None, self._threads)]
        first, last = self._span
        runs = max((self.n_rows or 0) // PART_ROWS, 1)
        cuts = sorted({first + (last - first) * i // runs for i in range(runs + 1)})
        return [IpcPart(self._path, span, self._threads) for span in pairwise(cuts)]

    @contextmanager
    def _opened(self, names: list[str] | None = None) -> Iterator[Any]:
        """Open the file, or the stream, for some columns."""
        wanted = () if names is None or self._mapped else names  # what is mapped is not read
        chosen = [self._schema.get_field_index(name) for name in wanted]
        options = pa.ipc.IpcReadOptions(included_fields=chosen, use_threads=self._threads)
        with (pa.memory_map if self._mapped else pa.OSFile)(self._path) as file:
            magic = file.read(len(MAGIC))
            file.seek(0)
            if magic.startswith(b"FEA1"):
                raise FileFormatError(
                    "this is version 1 of Feather, which is no longer written. Write it anew as "
                    "version 2 or as Parquet.",
                    self.name,
                )
            kind = pa.ipc.open_file if magic == MAGIC else pa.ipc.open_stream
            with kind(file, options=options) as reader:
                yield reader

    def steps(self, names: list[str]) -> Iterator[Step]:
        """Read batch by batch; each is checked, since Arrow trusts such files."""
        chosen = names or self._schema.names[:1]  # no columns would mean all
        with blaming_file(self.name), self._opened(chosen) as reader:
            for batch, share in _shared(reader, self._span):
                batch.validate(full=True)
                yield batch, share


@dataclass(frozen=True, slots=True)
class IpcPart:
    """A range of the batches of an Arrow file."""

    path: str
    span: tuple[int, int] | None
    threads: bool

    def open(self) -> IpcSource:
        """Open the rows of these batches."""
        return IpcSource(self.path, self.span, threads=self.threads)


def _shared(reader: Any, span: tuple[int, int] | None) -> Iterator[Step]:
    """Give the batches of a stream, or a range of those of a file, with the share read."""
    if span is None:
        yield from ((batch, None) for batch in reader)
        return
    first, last = span
    for number in range(first, last):
        yield reader.get_batch(number), (number + 1 - first) / (last - first)
