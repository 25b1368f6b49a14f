"""Rows of a Parquet file, in bounded memory whatever the size of its row groups."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from credo.tables.sources.abstract import (
    PART_ROWS,
    Part,
    Source,
    Step,
    check_names,
    check_values,
    rows_at_once,
)
from credo.tables.sources.arrow import blaming_file, is_text, pa, pq

#: Bytes read ahead per column. Measured on one row group of 5e6 x 20: without it the whole row
#: group is held (890 MB), with it 145 MB in the same time. Of many columns, less each.
BUFFER, ALL_BUFFERS, LEAST_BUFFER = 2**18, 2**23, 2**14


class ParquetSource(Source):
    """A Parquet file, or some of its row groups."""

    def __init__(
        self,
        name: str,
        groups: tuple[int, ...] | None = None,
        coded: tuple[str, ...] = (),
        *,
        threads: bool = True,
    ) -> None:
        self.name = name
        self._path = str(Path(name).absolute())
        self._coded = coded
        self._threads = threads
        with blaming_file(name), self._opened() as file:
            self._schema = file.schema_arrow.remove_metadata()
            sizes = [file.metadata.row_group(i).num_rows for i in range(file.num_row_groups)]
            check_names(self._schema, name)
        self._sizes = {i: sizes[i] for i in (range(len(sizes)) if groups is None else groups)}

    @property
    def schema(self) -> pa.Schema:
        """Names and types of the columns, as the file gives them."""
        return self._schema

    @property
    def n_rows(self) -> int:
        """Number of rows, from the footer of the file."""
        return sum(self._sizes.values())

    def parts(self) -> list[Part]:
        """Give runs of whole row groups, of 100 000 rows or more but for the last."""
        runs: list[list[int]] = [[]]
        for group in self._sizes:
            if sum(self._sizes[each] for each in runs[-1]) >= PART_ROWS:
                runs.append([])
            runs[-1].append(group)
        return [ParquetPart(self._path, tuple(run), self._coded, self._threads) for run in runs]

    def coded(self, columns: Sequence[str]) -> ParquetSource:
        """Give the same rows with some text columns as codes and a dictionary."""
        texts = [name for name in columns if is_text(self._schema.field(name).type)]
        names = tuple(dict.fromkeys([*self._coded, *texts]))
        return ParquetSource(self.name, tuple(self._sizes), names, threads=self._threads)

    def _opened(self, n_columns: int = 1) -> pq.ParquetFile:
        """Open the file so that its columns are read through small buffers."""
        size = max(LEAST_BUFFER, min(BUFFER, ALL_BUFFERS // max(n_columns, 1)))
        return pq.ParquetFile(
            self._path, buffer_size=size, pre_buffer=False, read_dictionary=self._coded
        )

    def steps(self, names: list[str]) -> Iterator[Step]:
        """Read page by page; the share follows from the number of rows."""
        groups = list(self._sizes)
        with blaming_file(self.name), self._opened(len(names)) as file:
            rows = rows_at_once(len(names))
            for batch in file.iter_batches(rows, groups, names, use_threads=self._threads):
                check_values(batch)
                yield batch, None


@dataclass(frozen=True, slots=True)
class ParquetPart:
    """Some row groups of a Parquet file."""

    path: str
    groups: tuple[int, ...]
    coded: tuple[str, ...]
    threads: bool

    def open(self) -> ParquetSource:
        """Open the rows of these row groups."""
        return ParquetSource(self.path, self.groups, self.coded, threads=self.threads)
