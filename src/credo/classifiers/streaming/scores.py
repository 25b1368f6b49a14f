"""What a fitted model says of an Arrow batch: posteriors, densities, or values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final

import numpy as np

from credo._types import F64
from credo.classifiers._base import Blocks, GenerativeClassifier, log_probabilities
from credo.classifiers.regression import GaussianRegressor
from credo.classifiers.streaming.cells import Number
from credo.classifiers.streaming.matrices import inputs_of
from credo.classifiers.table_schema import TableSchema
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
    """Return the log-probabilities (n, K) of a batch, exact where probabilities are zero."""
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
    rows = inputs_of(model.kind, batch, schema, owner, _counted_from(start))
    if model.kind == "documents":
        rows = model._rows(rows)  # noqa: SLF001 - as above
    try:
        yield from model._scores(rows, densities=densities)  # noqa: SLF001 - as above
    except InputError as error:  # what scores rows counts them from zero, within the batch
        told = f"rows {start + 1} to {start + len(batch)}"
        raise InputError(f"{owner}, {told}, counted from 0 in what follows: {error}") from error


def values_of(
    model: GaussianRegressor, batch: Any, schema: TableSchema, owner: str, start: int = 0
) -> tuple[F64, F64]:
    """Return mean and variance of the target of each row of a batch."""
    model._check_ready()  # noqa: SLF001 - of this room
    rows = inputs_of(model.kind, batch, schema, owner, _counted_from(start))
    return model._fitted.predict(rows)  # noqa: SLF001 - as above


def _counted_from(start: int) -> Number:
    """Return the numbers of the rows of a batch that begins there, counted from one."""
    return lambda row: start + row + 1
