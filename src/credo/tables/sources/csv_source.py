"""Rows of a text file, block by block, and its cuts into ranges of whole lines."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from credo.tables.sources.abstract import Part, Source, Step
from credo.tables.sources.arrow import blaming_file, pa
from credo.tables.sources.csv_cuts import ranges
from credo.tables.sources.csv_faults import blaming_line, check_closed
from credo.tables.sources.csv_reading import BLOCK, Reading


class CsvSource(Source):
    """A text file, or a range of its bytes that begins and ends with a line."""

    def __init__(self, reading: Reading, span: tuple[int, int] | None = None) -> None:
        self.name = reading.layout.name
        self._reading = reading
        self._span = span

    @property
    def schema(self) -> pa.Schema:
        """Names of the columns and the types they are read as, the same to the end."""
        return self._reading.schema

    def parts(self) -> list[Part]:
        """Give ranges of whole rows of about 64 MB; a packed file is one."""
        spans = [self._span] if self._span else ranges(self._reading.layout)
        return [CsvPart(self._reading, span) for span in spans]

    def steps(self, names: list[str]) -> Iterator[Step]:
        """Parse block by block; each batch is one block."""
        reading = self._reading
        if reading.layout.empty:
            return
        columns = names or self.schema.names[:1]  # rows are counted by any column
        with (
            blaming_file(self.name),
            blaming_line(reading, names),
            reading.layout.stream(self._span) as (stream, share),
        ):
            for number, batch in enumerate(reading.reader(stream, columns), 1):
                yield batch, share(number * BLOCK)
        check_closed(reading.layout, self._span)


@dataclass(frozen=True, slots=True)
class CsvPart:
    """A range of lines of a text file, to be read as the whole is."""

    reading: Reading
    span: tuple[int, int] | None

    def open(self) -> CsvSource:
        """Open the rows of these lines."""
        return CsvSource(self.reading, self.span)
