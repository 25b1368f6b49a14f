"""Logistic regression from Arrow batches, which are read once per pass."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from credo.classifiers.logistic import LogisticClassifier
from credo.classifiers.streaming.cells import labels_of
from credo.classifiers.streaming.matrices import found_categories, inputs_of
from credo.classifiers.streaming.planning import schema_for_one_hot
from credo.classifiers.streaming.reducers import Batch
from credo.classifiers.table_schema import TableSchema
from credo.exceptions import InputError

#: Gives the batches of some columns, from the first on, at each call.
Reading = Callable[[tuple[str, ...]], Iterator[Any]]

#: More categories than this in a column make more coefficients than anyone would want.
_MOST_CATEGORIES = 10_000


def fit_by_passes(
    model: LogisticClassifier, schema: TableSchema, read: Reading, owner: str
) -> TableSchema:
    """Fit a logistic classifier; give the schema with the categories of the table."""
    coded = _with_categories(schema, read, owner)
    weight = () if schema.weight is None else (schema.weight,)
    columns = (*schema.names, schema.target, *weight)

    def batches() -> Iterator[tuple[Any, ...]]:
        start = 0
        for raw in read(columns):
            batch = Batch.of(raw, coded, owner, start)
            if len(batch):
                yield _numbers(batch, coded, owner)
            start += len(raw)

    model._fit_named(batches, None, coded.inputs)  # noqa: SLF001 - of this room
    return coded


def _numbers(batch: Batch, schema: TableSchema, owner: str) -> tuple[Any, ...]:
    """Return a batch as arrays: features, labels and weights."""
    column = batch.rows.column(schema.target)
    classes, codes = labels_of(column, schema.label_kind, schema.target, owner, batch.number)
    X = inputs_of(LogisticClassifier.kind, batch.rows, schema, owner, batch.number)
    weights = np.ones(len(batch)) if batch.weights is None else batch.weights
    return X, classes[codes], weights


def _with_categories(schema: TableSchema, read: Reading, owner: str) -> TableSchema:
    """Find the categories of all columns that have some, in a pass of its own."""
    names = tuple(each.name for each in schema.features if each.is_category)
    if not names:
        return schema
    found: dict[str, set[Any]] = {name: set() for name in names}
    weight = () if schema.weight is None else (schema.weight,)
    for raw in read((*names, *weight)):
        batch = Batch.of(raw, schema, owner, 0).rows  # a row without weight is no row
        for name in names:
            found[name] |= found_categories(batch.column(name))
            if len(found[name]) > _MOST_CATEGORIES:
                raise InputError(
                    f"{owner}: column {name!r} has more than {_MOST_CATEGORIES} categories, each "
                    "of which would be a coefficient. Is it an identifier? Leave it out with "
                    "features=[…]."
                )
    for name, values in found.items():
        if not values:
            raise InputError(f"{owner}: column {name!r} has no values. Leave it out.")
    listed = {name: tuple(sorted(found[name])) for name in names}
    return schema_for_one_hot(schema, listed, owner)
