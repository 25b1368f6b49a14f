"""Arrow batches as what a model takes: arrays of numbers, tables or documents."""

from __future__ import annotations

from typing import Any

import numpy as np

from credo._types import F64
from credo._validation.labels import listing
from credo.classifiers.columns.table import Table, read_table
from credo.classifiers.streaming.cells import Number, coded, first_null, is_coded, numbers_of
from credo.classifiers.table_schema import ColumnSpec, TableSchema
from credo.exceptions import InputError


def matrix_of(batch: Any, schema: TableSchema, owner: str, number: Number) -> F64:
    """Give the features of a batch as an array (B, F); categories as zeros and ones.

    ``number`` says which row of the table a row is, for messages.
    """
    result = np.empty((len(batch), len(schema.inputs)))
    place = 0
    for spec in schema.features:
        column = batch.column(spec.name)
        if spec.is_category:
            codes = category_codes(column, spec, owner, number)
            width = len(spec.categories) - 1
            result[:, place : place + width] = codes[:, None] == np.arange(1, width + 1)
            place += width
        else:
            result[:, place] = numbers_of(column)
            place += 1
    return result


def table_of(batch: Any, schema: TableSchema, owner: str) -> Table:
    """Give the features of a batch as a table of columns, each read as what it is."""
    import pyarrow as pa  # noqa: PLC0415 - loaded with the first batch

    columns = {}
    for spec in schema.features:
        column = batch.column(spec.name)
        if is_coded(column) and not spec.is_category:
            column = column.dictionary_decode()
        is_decimal = str(column.type).startswith("decimal")  # of which there are four sizes
        columns[spec.name] = column.cast("float64") if is_decimal else column
    return read_table(pa.table(columns), owner)


def category_codes(column: Any, spec: ColumnSpec, owner: str, number: Number) -> Any:
    """Give the place of each category among those of the schema."""
    if column.null_count:
        row = number(first_null(column))
        raise InputError(
            f"{owner}: column {spec.name!r} has no value in row {row}, and a model that only "
            "knows p(y | x) cannot do without. Fill it in, or use NaiveBayes."
        )
    encoded = coded(column)
    places = {category: place for place, category in enumerate(spec.categories)}
    found = [places.get(value, -1) for value in encoded.dictionary.to_pylist()]
    codes = np.array([*found, -1])[encoded.indices.to_numpy(zero_copy_only=False)]
    if codes.min(initial=0) < 0:
        row = int(codes.argmin())
        raise InputError(
            f"{owner}: row {number(row)} has {column[row].as_py()!r} in column {spec.name!r}, "
            f"which was not seen in fit. Known: {listing(spec.categories)}."
        )
    return codes


def found_categories(column: Any) -> set[Any]:
    """Give the categories that occur in an Arrow column."""
    plain = column.dictionary_decode() if is_coded(column) else column
    return {value for value in plain.unique().to_pylist() if value is not None}
