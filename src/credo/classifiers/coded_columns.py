"""Columns as zeros and ones for logistic regression, which reads a table once per pass."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from credo.classifiers.schema import Batch, TableSchema, is_coded
from credo.exceptions import InputError

#: More categories than this in a column make more coefficients than anyone would want.
_MOST_CATEGORIES = 10_000


def fit_coded(
    model: Any, schema: TableSchema, read: Callable[[tuple[str, ...]], Iterator[Any]], owner: str
) -> TableSchema:
    """Fit a logistic classifier; return the schema with the categories of the table."""
    coded = _with_categories(schema, read, owner)

    def batches() -> Iterator[tuple[Any, ...]]:
        start = 0
        for raw in read(schema.columns):
            batch = Batch(raw, coded, owner, start).weighted()
            if len(batch):
                rows, classes = batch.labelled(model.kind)
                weights = np.ones(len(batch)) if rows.weights is None else rows.weights
                yield rows.X, classes[rows.codes], weights
            start += len(raw)

    model._fit_named(batches, None, coded.inputs)  # noqa: SLF001 - of this room
    return coded


def _with_categories(
    schema: TableSchema, read: Callable[[tuple[str, ...]], Iterator[Any]], owner: str
) -> TableSchema:
    """Find the categories of all columns that have some, in a pass of its own."""
    found: dict[str, set[Any]] = {each.name: set() for each in schema.features if each.is_category}
    weight = () if schema.weight is None else (schema.weight,)
    for raw in read((*found, *weight)) if found else ():
        batch = Batch(raw, schema, owner).weighted().rows  # a row without weight is no row
        for name, values in found.items():
            column = batch.column(name)
            plain = column.dictionary_decode() if is_coded(column) else column
            values |= {value for value in plain.unique().to_pylist() if value is not None}
            if len(values) > _MOST_CATEGORIES:
                raise InputError(
                    f"{owner}: column {name!r} has more than {_MOST_CATEGORIES} categories, each "
                    "of which would be a coefficient. Is it an identifier? Leave it out with "
                    "features=[…]."
                )
    for name, values in found.items():
        if not values:
            raise InputError(f"{owner}: column {name!r} has no values. Leave it out.")
    coded = replace(
        schema,
        features=tuple(
            replace(each, categories=tuple(sorted(found.get(each.name, ()))))
            for each in schema.features
        ),
    )
    inputs = coded.inputs
    if not inputs:
        raise InputError(f"{owner}: every column has one category only, so none tells anything.")
    twice = [name for place, name in enumerate(inputs) if name in inputs[:place]]
    if twice:
        raise InputError(
            f"{owner}: the category {twice[0]!r} has the name of another column. Rename one."
        )
    return coded
