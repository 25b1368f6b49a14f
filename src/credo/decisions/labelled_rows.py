"""Labelled rows: truths, posteriors and weights checked against each other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from credo import _checks as check
from credo._types import F64, Int, Labels
from credo.decisions.loss import Loss, as_loss
from credo.exceptions import InputError, ShapeError
from credo.posterior import Posterior


@dataclass(frozen=True, slots=True, eq=False)
class LabelledRows:
    """The rows with a positive weight: position of the truth, posterior and weight of each."""

    truth: Int
    posterior: Posterior
    weight: F64
    kept: Int | None  #: Which of the given rows these are; None for all.
    n_given: int

    @classmethod
    def of(cls, y: Any, posterior: Any, sample_weight: Any, who: str) -> LabelledRows:
        """Check truths, posterior and weights against each other; take rows checked before."""
        if isinstance(y, cls):
            return y
        if not isinstance(posterior, Posterior):
            raise InputError(
                f"{who} needs a Posterior. Got {type(posterior).__name__}. Make one with "
                "credo.Posterior.from_probabilities(p, labels)."
            )
        truth = index_of(y, posterior.labels, "label", who)
        if len(truth) != posterior.n_rows:
            raise ShapeError(
                f"{who}: y has {len(truth)} rows and the posterior {posterior.n_rows}; they must "
                "be the same rows."
            )
        weight, kept = positive_weights(sample_weight, len(truth), who)
        if kept is None:
            return cls(truth, posterior, weight, kept, len(truth))
        return cls(truth[kept], posterior.rows(kept), weight, kept, len(truth))

    @property
    def probabilities(self) -> F64:
        """Probabilities of shape (n, K), for a single case too."""
        return np.atleast_2d(self.posterior.probabilities)

    @property
    def log_probabilities(self) -> F64:
        """Their logarithms, of shape (n, K)."""
        return np.atleast_2d(self.posterior.log_probabilities)

    def loss(self, loss: Any, who: str) -> tuple[Loss, Int]:
        """Return the loss of these rows, and its row for each label of the posterior."""
        own = as_loss(loss, who, n_rows=self.n_given, kept=self.kept)
        return own, own.rows_for(self.posterior.labels, who)


def index_of(values: Any, known: Labels, what: str, who: str) -> Int:
    """Return the position of each entry of ``values`` among ``known``; at least one is needed."""
    index = check.positions(values, known, what, who)
    if not index.size:
        raise InputError(f"{who} needs at least one row. Got none.")
    return index


def positive_weights(weights: Any, n_rows: int, who: str) -> tuple[F64, Int | None]:
    """Return the positive weights and which rows they belong to; None for all rows."""
    values = check.weights(weights, n_rows, f"sample weights of {who}")
    kept = np.flatnonzero(values)
    return (values, None) if len(kept) == n_rows else (values[kept], kept)
