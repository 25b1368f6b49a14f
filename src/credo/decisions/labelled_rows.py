"""Labelled rows: truths, posteriors, weights and acts checked against each other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from credo._types import F64, Int, Labels
from credo._validation.labels import positions
from credo._validation.probabilities import as_weights
from credo.decisions.act import Decisions
from credo.decisions.loss import Loss
from credo.decisions.loss_matching import loss_of_rows
from credo.exceptions import InputError, ShapeError
from credo.posterior import Posterior


@dataclass(frozen=True, slots=True, eq=False)
class LabelledRows:
    """The rows with a positive weight: position of the truth, posterior and weight of each."""

    truth: Int
    posterior: Posterior
    weight: F64
    kept: Int | None
    n_given: int

    @classmethod
    def of(cls, y: Any, posterior: Posterior, sample_weight: Any, owner: str) -> LabelledRows:
        """Check truths, posterior and weights against each other."""
        if not isinstance(posterior, Posterior):
            raise InputError(
                f"{owner} needs a Posterior. Got {type(posterior).__name__}. Make one with "
                "credo.Posterior.from_probabilities(p, labels)."
            )
        truth = index_of(y, posterior.labels, owner, "label")
        if len(truth) != posterior.n_rows:
            raise ShapeError(
                f"{owner}: y has {len(truth)} rows and the posterior {posterior.n_rows}; they "
                "must be the same rows."
            )
        weight, kept = positive_weights(sample_weight, len(truth), owner)
        if kept is None:
            return cls(truth, posterior, weight, kept, len(truth))
        return cls(truth[kept], posterior.rows(kept), weight, kept, len(truth))

    @property
    def probabilities(self) -> F64:
        """Probabilities of shape (n, K), for a single case too."""
        return np.atleast_2d(self.posterior.probabilities)

    def loss(self, loss: Loss, owner: str) -> Loss:
        """Give the loss of these rows."""
        return loss_of_rows(loss, self.kept, self.n_given, owner)


def index_of(values: Any, known: Labels, owner: str, what: str) -> Int:
    """Find the position of each entry of ``values`` among ``known``; at least one is needed."""
    index = positions(values, known, owner, what)
    if not index.size:
        raise InputError(f"{owner} needs at least one row. Got none.")
    return index


def act_index(acts: Any, loss: Loss, owner: str, n_rows: int) -> Int:
    """Find the position in ``loss.acts`` of the act of each row, by name or from Decisions."""
    if isinstance(acts, Decisions):
        taken = np.atleast_1d(acts.act_index)
        same = acts.loss.acts == loss.acts
        index = taken if same else _renamed(taken, acts.loss.acts, loss.acts, owner)
    else:
        index = index_of(acts, loss.acts, owner, "act")
    if len(index) != n_rows:
        raise ShapeError(
            f"{owner}: there are {n_rows} truths and {len(index)} acts; one act per row is needed."
        )
    return index


def _renamed(taken: Int, old: Labels, new: Labels, owner: str) -> Int:
    """Turn positions among the ``old`` acts into positions among the ``new`` ones."""
    used = np.unique(taken)
    table = np.zeros(len(old), dtype=np.intp)
    table[used] = positions([old[i] for i in used], new, owner, "act")
    return table[taken]


def positive_weights(weights: Any, n_rows: int, owner: str) -> tuple[F64, Int | None]:
    """Give the positive weights and which rows they belong to; None for all rows."""
    values = as_weights(weights, n_rows, owner)
    kept = np.flatnonzero(values > 0)
    return (values, None) if len(kept) == n_rows else (values[kept], kept)


def losses_of(loss: Loss, truth: Int, act: Int) -> F64:
    """Give the loss of each row's act under its truth."""
    if loss.is_per_row:
        return loss.matrix[np.arange(len(truth)), truth, act]
    return loss.matrix[truth, act]
