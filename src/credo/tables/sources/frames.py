"""Tables that are in memory already: Arrow, pandas, Polars, and whatever speaks Arrow."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from credo._validation.labels import as_labels
from credo.exceptions import InputError
from credo.tables.sources.abstract import BATCH_ROWS, Part, Source, Step, check_names
from credo.tables.sources.arrow import blaming_input, pa, said_by


class FrameSource(Source):
    """An Arrow table in memory; ``faults`` say which columns could not be taken over, and why."""

    def __init__(self, table: pa.Table, name: str, faults: Mapping[str, str] | None = None) -> None:
        check_names(table.schema, name)
        self.name = name
        self._table = table
        self._faults = dict(faults or {})

    @classmethod
    def of(cls, frame: Any) -> FrameSource:
        """Take a frame over into Arrow; numbers are not copied."""
        name = f"the {type(frame).__name__}"
        if type(frame).__module__.partition(".")[0] == "pandas":
            return cls._of_pandas(frame, name)
        with blaming_input(name):
            if isinstance(frame, pa.RecordBatch):
                return cls(pa.Table.from_batches([frame]), name)
            if hasattr(frame, "to_arrow"):  # Polars: in types that all of Arrow can work with
                return cls(frame.to_arrow(), name)
            return cls(frame if isinstance(frame, pa.Table) else pa.table(frame), name)

    @classmethod
    def _of_pandas(cls, frame: Any, name: str) -> FrameSource:
        """Take each column over by itself, so that one of odd objects spoils no other."""
        if not hasattr(frame, "columns"):
            raise InputError(f"Rows in named columns are needed. Got {name}; pass a DataFrame.")
        columns, faults = {}, {}
        labels = [str(label) for label in frame.columns]
        as_labels(labels, name, "columns")
        for i, label in enumerate(labels):
            try:
                columns[label] = pa.array(frame.iloc[:, i], from_pandas=True)
            except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
                columns[label] = pa.nulls(len(frame))
                faults[label] = said_by(error)
        return cls(pa.table(columns), name, faults)

    @property
    def schema(self) -> pa.Schema:
        """Names and types of the columns."""
        return self._table.schema

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self._table.num_rows)

    def parts(self) -> list[Part]:
        """Give one part, which carries the rows."""
        return [FramePart(self._table, self.name, self._faults)]

    def fault_of(self, name: str) -> str | None:
        """Say why a column cannot be read: nested, or not taken over."""
        return self._faults.get(name) or super().fault_of(name)

    def steps(self, names: list[str]) -> Iterator[Step]:
        """Give slices of the table."""
        with blaming_input(self.name):
            for batch in self._table.select(names).to_batches(BATCH_ROWS):
                yield batch, None


@dataclass(frozen=True, slots=True)
class FramePart:
    """A whole table, sent with its rows."""

    table: pa.Table
    name: str
    faults: Mapping[str, str]

    def open(self) -> FrameSource:
        """Open the rows of the table."""
        return FrameSource(self.table, self.name, self.faults)
