"""Rows that come out of another engine: Arrow readers and datasets, lazy Polars frames."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

from credo.exceptions import InputError
from credo.tables.sources.abstract import BATCH_ROWS, Part, Source, Step, check_names
from credo.tables.sources.arrow import blaming_input, pa


class ReaderSource(Source):
    """An Arrow RecordBatchReader: its rows come once. What ``head`` shows is kept for later."""

    def __init__(self, reader: pa.RecordBatchReader) -> None:
        self.name = f"the {type(reader).__name__}"
        check_names(reader.schema, self.name)
        self._reader = reader
        self._shown: list[pa.RecordBatch] = []
        self._spent = False

    @property
    def schema(self) -> pa.Schema:
        """Names and types of the columns."""
        return self._reader.schema

    def head(self, columns: Sequence[str] | None = None, n: int = BATCH_ROWS) -> pa.Table:
        """Read the first rows, and keep them for the one pass."""
        names = self._chosen(columns)
        self._check_fresh()
        with blaming_input(self.name):
            while sum(batch.num_rows for batch in self._shown) < n:
                batch = next(self._reader, None)
                if batch is None:
                    break
                self._shown.append(batch)
        table = pa.Table.from_batches(self._shown, self.schema)
        return table.select(names).slice(0, n)

    def parts(self) -> list[Part]:
        """Give one part, which stays in this process."""
        return [ReaderPart(self)]

    def _check_fresh(self) -> None:
        """Refuse a second pass."""
        if self._spent:
            raise InputError(
                f"The rows of {self.name} come once and have been read. Pass a file, a Table or a "
                "Dataset where several passes are needed."
            )

    def steps(self, names: list[str]) -> Iterator[Step]:  # noqa: ARG002 - it has all columns
        """Give the rows kept, then those to come."""
        self._check_fresh()
        self._spent = True
        with blaming_input(self.name):
            while self._shown:
                yield self._shown.pop(0), None
            for batch in self._reader:
                yield batch, None


@dataclass(frozen=True, slots=True)
class ReaderPart:
    """The rows of a reader, which cannot leave this process."""

    source: ReaderSource

    def open(self) -> ReaderSource:
        """Open the rows that are left."""
        return self.source

    def __reduce__(self) -> NoReturn:
        raise InputError(
            f"{self.source.name} cannot be sent to another process. Pass a file or a Dataset."
        )


class LazySource(Source):
    """A lazy Polars frame: each pass runs its plan, in batches."""

    def __init__(self, frame: Any) -> None:
        self.name = f"the {type(frame).__name__}"
        self._frame = frame
        with blaming_input(self.name):
            self._schema = frame.head(0).collect().to_arrow().schema
        check_names(self._schema, self.name)

    @property
    def schema(self) -> pa.Schema:
        """Names and types of the columns."""
        return self._schema

    def parts(self) -> list[Part]:
        """Give one part, which carries the plan."""
        return [LazyPart(self._frame)]

    def steps(self, names: list[str]) -> Iterator[Step]:
        """Let Polars collect in batches, in order; versions before 1.34 collect at once."""
        chosen = self._frame.select(names or self._schema.names[:1])
        with blaming_input(self.name):
            if hasattr(chosen, "collect_batches"):
                frames = chosen.collect_batches(chunk_size=BATCH_ROWS, maintain_order=True)
            else:
                frames = [chosen.collect()]
            for frame in frames:
                for batch in frame.to_arrow().to_batches(BATCH_ROWS):
                    yield batch, None


@dataclass(frozen=True, slots=True)
class LazyPart:
    """The plan of a lazy frame."""

    frame: Any

    def open(self) -> LazySource:
        """Open the rows that the plan gives."""
        return LazySource(self.frame)
