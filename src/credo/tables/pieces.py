"""What sources read from: Parquet and Arrow files, tables in memory, readers, plans, data sets."""

from __future__ import annotations

import os
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import chain, pairwise
from pathlib import Path
from typing import Any, NoReturn, TypeAlias

import pyarrow as pa

from credo.exceptions import FileFormatError, InputError
from credo.tables.arrow import blaming_file, blaming_input

#: Most rows of a batch: 20 columns of numbers are then 10 MB, well past any overhead per batch.
BATCH_ROWS = 2**16

#: Most cells of a batch: 16 MB of numbers, whatever the number of columns.
BATCH_CELLS = 2**22

#: Rows that make a part worth sending: it is then read in a tenth of a second or so.
PART_ROWS = 100_000

#: Bytes read ahead per column of a Parquet file. Measured on one row group of 5e6 x 20: without it
#: the whole row group is held (890 MB), with it 145 MB in the same time; Arrow's scanner of data
#: sets holds it all in either case. Of many columns, less each.
BUFFER, ALL_BUFFERS, LEAST_BUFFER = 2**18, 2**23, 2**14

#: Bytes of a batch above which an Arrow file is mapped into memory, so that not all of it is there
#: at once. Smaller ones are read, which is faster: mapped pages are loaded one by one.
HUGE_BATCH = 2**26

ARROW_MAGIC = b"ARROW1"

#: A batch, and the share of the piece that is read with it, None if that is not known.
Step: TypeAlias = tuple[pa.RecordBatch, float | None]


def rows_at_once(n_columns: int) -> int:
    """Return how many rows of so many columns make a batch."""
    return max(1, min(BATCH_ROWS, BATCH_CELLS // max(n_columns, 1)))


@dataclass(frozen=True, kw_only=True)
class RowPiece:
    """Rows that are read from the first to the last, each time anew; it can be sent elsewhere.

    Attributes
    ----------
    name
        The file or frame, as it is called in messages.
    schema
        Names and types of all columns.
    n_rows
        Number of rows, if it is known.
    size
        How much of a source it is, in bytes; of a piece that stands alone, anything.
    """

    name: str
    schema: pa.Schema
    n_rows: int | None = None
    size: int = 1

    @abstractmethod
    def steps(self, names: list[str]) -> Iterator[Step]:
        """Read batches with at least these columns."""

    def split(self) -> Sequence[RowPiece]:
        """Cut it into pieces that are worth sending, in order."""
        return [self]

    def shown(self, n: int) -> RowPiece:  # noqa: ARG002 - of rows that come once
        """Return the first ``n`` rows or more, to be read beside the others."""
        return self

    def fault_at(self, reason: str, row: int) -> FileFormatError:
        """Return an error about a row, counted from one."""
        return FileFormatError(f"row {row}: {reason}", self.name)


@dataclass(frozen=True, kw_only=True)
class ParquetRows(RowPiece):
    """Some row groups of a Parquet file, numbered, with their rows."""

    path: str
    groups: dict[int, int]
    threads: bool
    coded: tuple[str, ...] = ()  #: columns of words that are read as codes and a dictionary

    @classmethod
    def open(cls, path: str, name: str, *, threads: bool) -> ParquetRows:
        """Read the footer of a file."""
        with blaming_file(name), _parquet(path) as file:
            schema = file.schema_arrow.remove_metadata()
            groups = {i: file.metadata.row_group(i).num_rows for i in range(file.num_row_groups)}
        return cls(
            name=name,
            schema=schema,
            n_rows=sum(groups.values()),
            size=Path(path).stat().st_size,
            path=str(Path(path).absolute()),
            groups=groups,
            threads=threads,
        )

    def split(self) -> list[ParquetRows]:
        """Cut it into runs of whole row groups, of ``PART_ROWS`` or more but for the last."""
        runs: list[dict[int, int]] = [{}]
        for group, rows in self.groups.items():
            if sum(runs[-1].values()) >= PART_ROWS:
                runs.append({})
            runs[-1][group] = rows
        return [replace(self, groups=run, n_rows=sum(run.values())) for run in runs]

    def steps(self, names: list[str]) -> Iterator[Step]:
        """Read page by page; words that are no UTF-8 and codes without a word are refused."""
        rows, groups = rows_at_once(len(names)), list(self.groups)
        with blaming_file(self.name), _parquet(self.path, len(names), self.coded) as file:
            for batch in file.iter_batches(rows, groups, names, use_threads=self.threads):
                for column in batch.columns:
                    if not pa.types.is_primitive(column.type):
                        column.validate(full=True)
                yield batch, None


def _parquet(path: str, n_columns: int = 1, coded: Sequence[str] = ()) -> Any:
    """Open a file so that its columns are read through small buffers."""
    import pyarrow.parquet as pq  # noqa: PLC0415 - other files do without it

    size = max(LEAST_BUFFER, min(BUFFER, ALL_BUFFERS // max(n_columns, 1)))
    file = pa.OSFile(os.fsencode(path))
    return pq.ParquetFile(file, buffer_size=size, pre_buffer=False, read_dictionary=coded)


@dataclass(frozen=True, kw_only=True)
class ArrowRows(RowPiece):
    """A range of the batches of an Arrow file, or all of an Arrow stream."""

    path: str
    span: tuple[int, int] | None
    mapped: bool
    threads: bool

    @classmethod
    def open(cls, path: str, name: str, *, threads: bool) -> ArrowRows:
        """Read the schema, and what is known of the batches."""
        with blaming_file(name), _arrow(path, name) as reader:
            schema = reader.schema.remove_metadata()
            count = getattr(reader, "num_record_batches", None)  # a stream knows of none
            counted = getattr(reader, "count_rows", None)  # older versions of Arrow do not count
            n_rows = None if counted is None else int(counted())
        size = Path(path).stat().st_size
        return cls(
            name=name,
            schema=schema,
            n_rows=n_rows,
            size=size,
            path=str(Path(path).absolute()),
            span=None if count is None else (0, count),
            mapped=count is not None and size > count * HUGE_BATCH,
            threads=threads,
        )

    def split(self) -> list[ArrowRows]:
        """Cut it into ranges of batches of about ``PART_ROWS``; a stream is left whole."""
        runs = max((self.n_rows or 0) // PART_ROWS, 1)
        if self.span is None or runs == 1:
            return [self]
        first, last = self.span
        cuts = sorted({first + (last - first) * i // runs for i in range(runs + 1)})
        return [replace(self, span=span, n_rows=None) for span in pairwise(cuts)]

    def steps(self, names: list[str]) -> Iterator[Step]:
        """Read batch by batch; each is checked, since Arrow trusts such files."""
        chosen = names or self.schema.names[:1]  # no columns would mean all
        fields = [] if self.mapped else [self.schema.get_field_index(name) for name in chosen]
        options = pa.ipc.IpcReadOptions(included_fields=fields, use_threads=self.threads)
        opened = _arrow(self.path, self.name, options, mapped=self.mapped)
        with blaming_file(self.name), opened as reader:
            span = range(*self.span) if self.span else None
            batches = reader if span is None else map(reader.get_batch, span)
            for number, batch in enumerate(batches, 1):
                batch.validate(full=True)
                yield batch, None if span is None else number / len(span)


@contextmanager
def _arrow(path: str, name: str, options: Any = None, *, mapped: bool = False) -> Iterator[Any]:
    """Open an Arrow file, or the stream that Arrow sends between processes."""
    with (pa.memory_map if mapped else pa.OSFile)(os.fsencode(path)) as file:
        magic = file.read(len(ARROW_MAGIC))
        file.seek(0)
        if magic.startswith(b"FEA1"):
            raise FileFormatError(
                "this is version 1 of Feather, which is no longer written. Write it anew as "
                "version 2 or as Parquet.",
                name,
            )
        kind = pa.ipc.open_file if magic == ARROW_MAGIC else pa.ipc.open_stream
        with kind(file, options=options) as reader:
            yield reader


@dataclass(frozen=True, kw_only=True)
class TableRows(RowPiece):
    """An Arrow table in memory, which is sent with its rows."""

    table: pa.Table

    @classmethod
    def of(cls, table: pa.Table, name: str) -> TableRows:
        """Take a table over."""
        return cls(name=name, schema=table.schema, n_rows=int(table.num_rows), table=table)

    def steps(self, names: list[str]) -> Iterator[Step]:
        """Return slices of the table."""
        with blaming_input(self.name):
            for batch in self.table.select(names).to_batches(BATCH_ROWS):
                yield batch, None


@dataclass(frozen=True, kw_only=True)
class ReaderRows(RowPiece):
    """An Arrow RecordBatchReader: its rows come once. What was shown of them is kept for that."""

    left: list[Iterator[pa.RecordBatch]]  #: one iterator, until it is taken

    def shown(self, n: int) -> TableRows:
        """Return the first rows, which are kept for the one pass as well."""
        rest, first, rows = self._take(), [], 0
        with blaming_input(self.name):
            for batch in rest:
                first.append(batch)
                rows += batch.num_rows
                if rows >= n:
                    break
        self.left.append(chain(first, rest))
        return TableRows.of(pa.Table.from_batches(first, self.schema), self.name)

    def _take(self) -> Iterator[pa.RecordBatch]:
        """Take the rows, or refuse a second pass."""
        if not self.left:
            raise InputError(
                f"The rows of {self.name} come once and have been read. Pass a file, a Table or a "
                "Dataset where several passes are needed."
            )
        return self.left.pop()

    def steps(self, names: list[str]) -> Iterator[Step]:  # noqa: ARG002 - it has all columns
        """Return the rows that were shown, then those to come."""
        rest = self._take()
        with blaming_input(self.name):
            for batch in rest:
                yield batch, None

    def __reduce__(self) -> NoReturn:
        raise InputError(
            f"{self.name} cannot be sent to another process. Pass a file or a Dataset."
        )


@dataclass(frozen=True, kw_only=True)
class PlanRows(RowPiece):
    """A lazy Polars frame: each pass runs its plan, in batches."""

    frame: Any

    @classmethod
    def of(cls, frame: Any, name: str) -> PlanRows:
        """Find the schema of a plan."""
        with blaming_input(name):
            schema = frame.head(0).collect().to_arrow().schema
        return cls(name=name, schema=schema, frame=frame)

    def steps(self, names: list[str]) -> Iterator[Step]:
        """Let Polars collect in batches, in order; versions before 1.34 collect at once."""
        chosen = self.frame.select(names or self.schema.names[:1])
        with blaming_input(self.name):
            if hasattr(chosen, "collect_batches"):
                frames = chosen.collect_batches(chunk_size=BATCH_ROWS, maintain_order=True)
            else:
                frames = [chosen.collect()]
            for frame in frames:
                for batch in frame.to_arrow().to_batches(BATCH_ROWS):
                    yield batch, None


@dataclass(frozen=True, kw_only=True)
class DatasetRows(RowPiece):
    """An Arrow Dataset, or one of the fragments (files) it is made of, with their folders."""

    dataset: Any
    threads: bool

    def split(self) -> Sequence[RowPiece]:
        """Cut it into its files; what is in memory, or filtered, is one piece with its rows."""
        import pyarrow.dataset as ds  # noqa: PLC0415 - loaded already, and slow to load

        if isinstance(self.dataset, ds.Fragment):
            return [self]
        try:
            fragments = list(self.dataset.get_fragments())
        except ValueError:  # a filter belongs to the whole only
            fragments = []
        if not fragments or not all(isinstance(each, ds.FileFragment) for each in fragments):
            return [TableRows.of(self.dataset.to_table(use_threads=self.threads), self.name)]
        return [replace(self, dataset=each) for each in fragments]

    def steps(self, names: list[str]) -> Iterator[Step]:
        """Scan in order, with little ahead; a fragment is told the whole schema."""
        import pyarrow.dataset as ds  # noqa: PLC0415 - loaded already, and slow to load

        options: dict[str, Any] = {}
        if isinstance(getattr(self.dataset, "format", None), ds.ParquetFileFormat):
            options["fragment_scan_options"] = ds.ParquetFragmentScanOptions(
                use_buffered_stream=True, buffer_size=BUFFER, pre_buffer=False
            )
        if isinstance(self.dataset, ds.Fragment):
            options["schema"] = self.schema
        with blaming_input(self.name):
            scanner = self.dataset.scanner(
                columns=names,
                batch_size=rows_at_once(len(names)),
                batch_readahead=2,
                fragment_readahead=1,
                use_threads=self.threads,
                **options,
            )
            for batch in scanner.to_batches():
                yield batch, None
