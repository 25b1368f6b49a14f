"""Posteriors of Arrow rows, in the log domain: a truth of probability exp(-2000) has a log loss."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from credo._types import F64
from credo.classifiers.streaming.scores import inputs_of
from credo.classifiers.table_schema import TableSchema
from credo.families.gaussians.scores import log_probabilities_into


def log_posterior_of(model: Any, schema: TableSchema, owner: str) -> Callable[[Any, int], F64]:
    """Give the function from rows, and the number of the first, to log-probabilities (n, K)."""

    def log_posterior(batch: Any, start: int = 0) -> F64:
        rows = inputs_of(model, batch, schema, owner, start)
        table = np.empty((batch.num_rows, len(model.classes_)))
        model._score(rows, log_probabilities_into(table))  # noqa: SLF001 - as scores_of does
        return table

    return log_posterior
