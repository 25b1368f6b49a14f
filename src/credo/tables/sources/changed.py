"""Sources seen through a change: wider types, or texts that mean a missing value."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

from credo.tables.sources.abstract import Part, Source, Step
from credo.tables.sources.arrow import blaming_file, in_types, is_text, pa, pc, plain_type


class Change(Protocol):
    """What happens to every batch on its way."""

    def __call__(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Give the changed batch."""
        ...


@dataclass(frozen=True, slots=True)
class Aligned:
    """Cast the columns to the types of a schema."""

    schema: pa.Schema

    def __call__(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Give the batch in those types."""
        wanted = pa.schema([self.schema.field(name) for name in batch.schema.names])
        return in_types(batch, wanted)


@dataclass(frozen=True, slots=True)
class Blanked:
    """Empty the cells of text that stand for a missing value."""

    missing: tuple[str, ...]

    def __call__(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Give the batch with those cells empty."""
        columns = [self._column(column) for column in batch.columns]
        return pa.RecordBatch.from_arrays(columns, schema=batch.schema) if columns else batch

    def _column(self, column: pa.Array) -> pa.Array:
        """Empty the cells of one column; where words are coded, their codes."""
        if pa.types.is_dictionary(column.type):
            meant = self._found(column.dictionary)
            if meant is None:
                return column
            codes = pc.if_else(meant.take(column.indices), None, column.indices)
            return pa.DictionaryArray.from_arrays(
                codes, column.dictionary, ordered=column.type.ordered
            )
        meant = self._found(column)
        if meant is None:
            return column
        words = column.cast(plain_type(column.type))  # views of words cannot be chosen from
        return pc.if_else(meant, None, words).cast(column.type)

    def _found(self, words: pa.Array) -> pa.Array | None:
        """Say which words mean a missing value; None where there are no words."""
        if not is_text(words.type):
            return None
        return pc.is_in(words.cast(pa.large_string()), pa.array(self.missing, pa.large_string()))


class ChangedSource(Source):
    """The rows of a source after a change; its columns in the order of ``schema``."""

    def __init__(self, source: Source, change: Change, schema: pa.Schema) -> None:
        self.name = source.name
        self._source = source
        self._change = change
        self._schema = schema

    @property
    def schema(self) -> pa.Schema:
        """Names and types of the columns after the change."""
        return self._schema

    @property
    def n_rows(self) -> int | None:
        """Number of rows, if known."""
        return self._source.n_rows

    def parts(self) -> list[Part]:
        """Give the parts of the source, each with the same change."""
        return [ChangedPart(part, self._change, self._schema) for part in self._source.parts()]

    def fault_of(self, name: str) -> str | None:
        """Say why a column cannot be read, if so."""
        return self._source.fault_of(name)

    def steps(self, names: list[str]) -> Iterator[Step]:
        """Change each batch."""
        for batch, share in self._source.steps(names):
            with blaming_file(self.name):
                changed = self._change(batch.select(names))
            yield changed, share


@dataclass(frozen=True, slots=True)
class ChangedPart:
    """A part whose rows are changed on their way."""

    part: Part
    change: Change
    schema: pa.Schema

    def open(self) -> ChangedSource:
        """Open the rows of the part."""
        return ChangedSource(self.part.open(), self.change, self.schema)
