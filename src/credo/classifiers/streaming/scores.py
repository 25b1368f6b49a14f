"""What a fitted model says of an Arrow batch: posteriors, densities, or values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final

import numpy as np

from credo._types import F64
from credo.classifiers._base import Blocks, GenerativeClassifier, log_probabilities
from credo.classifiers.logistic import LogisticClassifier
from credo.classifiers.naive_bayes import NaiveBayes
from credo.classifiers.regression import GaussianRegressor
from credo.classifiers.streaming.cells import Number, numbers_of
from credo.classifiers.streaming.matrices import matrix_of, table_of
from credo.classifiers.streaming.reducers import documents_of
from credo.classifiers.table_schema import TableSchema
from credo.classifiers.text import TextClassifier
from credo.exceptions import InputError


@final
@dataclass(frozen=True, slots=True, eq=False)
class Scores:
    """Posterior probabilities of rows, and their log density if the model has one."""

    #: (B, K), columns in the order of ``classes_``.
    probabilities: F64
    #: (B,), or None.
    log_density: F64 | None


def scores_of(model: Any, batch: Any, schema: TableSchema, owner: str, start: int = 0) -> Scores:
    """Score a batch that begins at that row of its table, in one pass."""
    table = np.empty((len(batch), len(model.classes_)))
    generative = isinstance(model, GenerativeClassifier)
    totals = np.empty(len(batch)) if generative else None
    for block, scores in _scores(model, batch, schema, owner, start, densities=generative):
        top = scores.max(axis=0)
        shares = np.exp(scores - top)
        whole = shares.sum(axis=0)
        table[block] = (shares / whole).T
        if totals is not None:
            totals[block] = top + np.log(whole)
    return Scores(table, totals)


def log_posterior_of(
    model: Any, batch: Any, schema: TableSchema, owner: str, start: int = 0
) -> F64:
    """Give the log-probabilities (n, K) of a batch, exact where probabilities are zero."""
    table = np.empty((len(batch), len(model.classes_)))
    for block, scores in _scores(model, batch, schema, owner, start):
        table[block] = log_probabilities(scores).T
    return table


def _scores(
    model: Any, batch: Any, schema: TableSchema, owner: str, start: int, *, densities: bool = False
) -> Blocks:
    """Yield the scores of a batch; what is wrong with a row is said with its number."""
    model._check_ready()  # noqa: SLF001 - of this room
    if not len(batch):
        return
    rows = inputs_of(model, batch, schema, owner, start)
    try:
        yield from model._scores(rows, densities=densities)  # noqa: SLF001 - as above
    except InputError as error:  # what scores rows counts them from zero, within the batch
        told = f"rows {start + 1} to {start + len(batch)}"
        raise InputError(f"{owner}, {told}, counted from 0 in what follows: {error}") from error


def values_of(
    model: GaussianRegressor, batch: Any, schema: TableSchema, owner: str, start: int = 0
) -> tuple[F64, F64]:
    """Give mean and variance of the target of each row of a batch."""
    model._check_ready()  # noqa: SLF001 - of this room
    rows = matrix_of(batch, schema, owner, _counted_from(start))
    return model._joint.predict(rows)  # noqa: SLF001 - as above


def _counted_from(start: int) -> Number:
    """Give the numbers of the rows of a batch that begins there, counted from one."""
    return lambda row: start + row + 1


def inputs_of(model: Any, batch: Any, schema: TableSchema, owner: str, start: int = 0) -> Any:
    """Give the features of a batch as the scores of a model are computed from."""
    number = _counted_from(start)
    if isinstance(model, TextClassifier):
        return model._rows(documents_of(batch, schema, owner, number))  # noqa: SLF001 - as above
    if isinstance(model, NaiveBayes):
        return table_of(batch, schema, owner)
    matrix = matrix_of(batch, schema, owner, number)
    if isinstance(model, LogisticClassifier):
        refuse_gaps(batch, schema, matrix, owner, number)
    return matrix


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
