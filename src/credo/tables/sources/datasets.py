"""Rows of an Arrow Dataset: many files, with partitions and filters, read by Arrow's scanner."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow.dataset as ds

from credo.tables.sources.abstract import Part, Source, Step, check_names, rows_at_once
from credo.tables.sources.arrow import blaming_input, pa
from credo.tables.sources.frames import FramePart
from credo.tables.sources.parquet import BUFFER


class DatasetSource(Source):
    """A Dataset, or one of the fragments (files) it is made of."""

    def __init__(self, dataset: Any, schema: pa.Schema, *, threads: bool = True) -> None:
        self.name = f"the {type(dataset).__name__}"
        check_names(schema, self.name)
        self._dataset = dataset
        self._schema = schema
        self._threads = threads

    @property
    def schema(self) -> pa.Schema:
        """Names and types of the columns."""
        return self._schema

    def parts(self) -> list[Part]:
        """Give a part for each file; what is in memory, or filtered, is one part with its rows."""
        if isinstance(self._dataset, ds.Fragment):
            return [DatasetPart(self._dataset, self._schema, self._threads)]
        try:
            fragments = list(self._dataset.get_fragments())
        except ValueError:  # a filter belongs to the whole only
            fragments = []
        if not fragments or not all(isinstance(each, ds.FileFragment) for each in fragments):
            return [FramePart(self._dataset.to_table(use_threads=self._threads), self.name, {})]
        return [DatasetPart(each, self._schema, self._threads) for each in fragments]

    def steps(self, names: list[str]) -> Iterator[Step]:
        """Scan in order, with little ahead."""
        with blaming_input(self.name):
            scanner = self._dataset.scanner(
                columns=names,
                batch_size=rows_at_once(len(names)),
                batch_readahead=2,
                fragment_readahead=1,
                use_threads=self._threads,
                **self._options(),
            )
            for batch in scanner.to_batches():
                yield batch, None

    def _options(self) -> dict[str, Any]:
        """Let Parquet files be read through small buffers; tell a fragment the whole schema."""
        options: dict[str, Any] = {}
        if isinstance(getattr(self._dataset, "format", None), ds.ParquetFileFormat):
            options["fragment_scan_options"] = ds.ParquetFragmentScanOptions(
                use_buffered_stream=True, buffer_size=BUFFER, pre_buffer=False
            )
        if isinstance(self._dataset, ds.Fragment):
            options["schema"] = self._schema
        return options


@dataclass(frozen=True, slots=True)
class DatasetPart:
    """One file of a Dataset, with what its place in the folders says."""

    fragment: Any
    schema: pa.Schema
    threads: bool

    def open(self) -> DatasetSource:
        """Open the rows of this file."""
        return DatasetSource(self.fragment, self.schema, threads=self.threads)
