"""Arrow batches as what a model takes: arrays of numbers, tables or documents."""

from __future__ import annotations

from typing import Any

import numpy as np

from credo import _checks as check
from credo._types import F64
from credo.classifiers.streaming.cells import (
    Number,
    coded,
    first_null,
    is_coded,
    numbers_of,
    texts_of,
)
from credo.classifiers.table_schema import ColumnSpec, TableSchema
from credo.columns import Table, read_table
from credo.exceptions import InputError


def inputs_of(kind: str, batch: Any, schema: TableSchema, owner: str, number: Number) -> Any:
    """Return the features of a batch as models of a kind take them."""
    if kind == "documents":
        return documents_of(batch, schema, owner, number)
    if kind == "columns":
        return table_of(batch, schema, owner)
    matrix = matrix_of(batch, schema, owner, number)
    if kind == "coded":
        refuse_gaps(batch, schema, matrix, owner, number)
    return matrix


def documents_of(batch: Any, schema: TableSchema, owner: str, number: Number) -> list[str]:
    """Return one document per row: the texts of the row's columns, joined."""
    texts = [texts_of(batch.column(name), name, owner, number) for name in schema.names]
    return texts[0] if len(texts) == 1 else list(map("\n".join, zip(*texts, strict=True)))


def matrix_of(batch: Any, schema: TableSchema, owner: str, number: Number) -> F64:
    """Return the features of a batch as an array (B, F); categories as zeros and ones.

    ``number`` says which row of the table a row is, for messages.
    """
    columns: list[Any] = []
    for spec in schema.features:
        column = batch.column(spec.name)
        if spec.is_category:
            codes = category_codes(column, spec, owner, number)
            columns += [codes == place for place in range(1, len(spec.categories))]
        else:
            columns.append(numbers_of(column))
    return np.stack(columns, axis=1, dtype=np.float64)


def table_of(batch: Any, schema: TableSchema, owner: str) -> Table:
    """Return the features of a batch as a table of columns, each read as what it is."""
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
    """Return the place of each category among those of the schema."""
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
            f"which was not seen in fit. Known: {check.listing(spec.categories)}."
        )
    return codes


def found_categories(column: Any) -> set[Any]:
    """Return the categories that occur in an Arrow column."""
    plain = column.dictionary_decode() if is_coded(column) else column
    return {value for value in plain.unique().to_pylist() if value is not None}


def refuse_gaps(batch: Any, schema: TableSchema, matrix: F64, owner: str, number: Number) -> None:
    """Refuse rows that a model of p(y | x) has no answer for, by name of the column."""
    if np.isfinite(matrix.sum()) or np.isfinite(matrix).all():
        return
    for spec in schema.features:
        column = None if spec.is_category else numbers_of(batch.column(spec.name))
        if column is not None and not np.isfinite(column).all():
            row = number(int((~np.isfinite(column)).argmax()))
            raise InputError(
                f"{owner}: column {spec.name!r} has no finite value in row {row}, and "
                "a model that only knows p(y | x) cannot do without. Fill it in, or use "
                "GaussianClassifier or NaiveBayes, which marginalise what is missing."
            )
