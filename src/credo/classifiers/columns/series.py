"""Columns of data frames: numbers without a copy, words by the library's own dictionary."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final

import numpy as np

from credo.classifiers.columns.dictionary import words_of_codes
from credo.classifiers.columns.kinds import AbstractCells, Numbers, Words
from credo.classifiers.columns.numeric import NumberCells
from credo.classifiers.columns.objects import ObjectCells


@final
@dataclass(frozen=True, slots=True, eq=False)
class FrameNumbers(AbstractCells):
    """A Narwhals series of numbers or truth values."""

    series: Any

    def read(self) -> Numbers:
        """Give the numbers, NaN where null."""
        return self._cells().read()

    def words(self) -> Words:
        """Give each distinct number as a category; large integers stay exact beside nulls."""
        return self._cells().words()

    def _cells(self) -> NumberCells:
        """Give the values and where they are null."""
        import narwhals as nw  # noqa: PLC0415 - the series has loaded it

        series = self.series
        dtype = series.dtype
        if dtype.is_decimal() or dtype in {nw.Int128, nw.UInt128}:
            series = series.cast(nw.Float64)
        if dtype.is_integer() or dtype == nw.Boolean:
            missing = series.is_null().to_numpy()
            if missing.any():
                filled = series.fill_null(value=False if dtype == nw.Boolean else 0)
                return NumberCells(filled.to_numpy(), missing)
        return NumberCells(series.to_numpy())


@final
@dataclass(frozen=True, slots=True, eq=False)
class FrameObjects(AbstractCells):
    """A Narwhals series of Python objects or bytes."""

    series: Any
    where: str

    def read(self) -> Numbers | Words:
        """Give numbers if all are, else words."""
        return self._cells().read()

    def words(self) -> Words:
        """Encode by value."""
        return self._cells().words()

    def _cells(self) -> ObjectCells:
        """Give an array of objects, without a copy where there is one."""
        if holds_objects(self.series):
            return ObjectCells(self.series.to_native().to_numpy(), self.where)
        cells = np.empty(len(self.series), dtype=object)
        cells[:] = self.series.to_list()
        return ObjectCells(cells, self.where)


@final
@dataclass(frozen=True, slots=True, eq=False)
class FrameWords(AbstractCells):
    """A Narwhals series of text or declared categories."""

    series: Any
    where: str

    def read(self) -> Words:
        """Give the words."""
        return self.words()

    def words(self) -> Words:
        """Encode by the dictionary of the library."""
        native = self.series.to_native()
        library = self.series.implementation
        if library.is_polars():
            return _of_polars(native)
        if library.is_pyarrow():
            return _of_arrow(native, self.where)
        return _of_pandas(native, self.where)


def holds_objects(series: Any) -> bool:
    """Tell whether a series is an array of objects, as in pandas."""
    return isinstance(getattr(series.to_native(), "dtype", None), np.dtypes.ObjectDType)


def _of_pandas(series: Any, where: str) -> Words:
    """Encode a pandas column of text or categories."""
    if hasattr(series, "cat"):
        categories = series.cat.categories
        return words_of_codes(series.cat.codes.to_numpy(), categories, where)
    if getattr(series.dtype, "storage", None) == "python":
        return ObjectCells(series.to_numpy(dtype=object), where).words()
    codes, values = series.factorize()
    return words_of_codes(codes, values, where)


def _of_polars(series: Any) -> Words:
    """Encode a Polars column of text or categories by the codes Polars keeps."""
    distinct = series.unique(maintain_order=True).drop_nulls()
    if str(series.dtype) == "String":
        import narwhals as nw  # noqa: PLC0415 - the series has loaded it

        library = nw.get_native_namespace(series)
        series = series.cast(library.Enum(distinct))
        values, places = distinct.to_list(), np.arange(len(distinct))
    else:
        values = distinct.cast(str).to_list()
        places = distinct.to_physical().to_numpy().astype(np.intp)
    lookup = np.full(int(places.max(initial=-1)) + 2, -1, dtype=np.int32)
    lookup[places] = np.arange(len(places))
    physical = series.to_physical()
    if not series.null_count():
        return Words(lookup[physical.to_numpy()], tuple(values))
    filled = physical.fill_null(0).to_numpy()
    return Words(np.where(series.is_null().to_numpy(), np.int32(-1), lookup[filled]), tuple(values))


def _of_arrow(column: Any, where: str) -> Words:
    """Encode an Arrow column of text or categories."""
    if not hasattr(column.type, "value_type"):
        if str(column.type) == "string_view":
            column = column.cast("large_string")
        column = column.dictionary_encode()
    chunks = column.unify_dictionaries().chunks
    codes = np.concatenate([_indices(chunk) for chunk in chunks])
    return words_of_codes(codes, chunks[0].dictionary.to_pylist(), where)


def _indices(chunk: Any) -> Any:
    """Give the codes of a dictionary array, -1 where null."""
    indices = chunk.indices
    if indices.null_count:
        indices = indices.cast("int64").fill_null(-1)
    return indices.to_numpy(zero_copy_only=False)
