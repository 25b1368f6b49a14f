"""Losses at the door: checked, lined up with labels, cut to rows and acts."""

from __future__ import annotations

from typing import Any

from credo._types import Int, Labels
from credo._validation.labels import hint, listing, order_of
from credo.decisions.loss import Loss
from credo.exceptions import InputError, LabelError, ShapeError


def as_loss(loss: Any, owner: str) -> Loss:
    """Check that a loss is one."""
    if not isinstance(loss, Loss):
        raise InputError(
            f"{owner} needs a Loss with named truths and acts. Got {type(loss).__name__}. Make one "
            "with credo.Loss(matrix, truths, acts)."
        )
    return loss


def one_matrix(loss: Any, owner: str) -> Loss:
    """Check for a loss that is the same for all rows."""
    known = as_loss(loss, owner)
    if known.is_per_row:
        raise InputError(f"{owner} needs a loss with one matrix for all rows, not one per row.")
    return known


def rows_for(loss: Loss, labels: Labels, owner: str) -> Int:
    """Find the loss's row for each label; the names must be the same ones, in any order."""
    if set(labels) != set(loss.truths):
        odd = [name for name in labels if name not in loss.truths]
        missing = [name for name in loss.truths if name not in labels]
        name = (odd or missing)[0]
        remedy = (
            " The acts of the loss are these labels: it looks transposed. Rows are truths, columns "
            "are acts."
            if set(labels) == set(loss.acts)
            else hint(name, loss.truths if odd else labels)
        )
        raise LabelError(
            f"{owner}: the labels ({listing(labels)}) and the loss's truths "
            f"({listing(loss.truths)}) differ in {name!r}.{remedy}"
        )
    return order_of(labels, loss.truths, owner, "loss")


def loss_of_rows(loss: Loss, kept: Int | None, n_rows: int, owner: str) -> Loss:
    """Check a loss per row for its length, and keep the matrices of the rows kept."""
    if not loss.is_per_row:
        return loss
    if len(loss.matrix) != n_rows:
        raise ShapeError(
            f"{owner}: the loss has {len(loss.matrix)} matrices for {n_rows} rows; one per row "
            "is needed."
        )
    return loss if kept is None else loss.per_row(loss.matrix[kept])


def without_reject(loss: Loss, owner: str) -> Loss:
    """Leave out the reject act."""
    if loss.reject is None:
        return loss
    keep = [i for i, act in enumerate(loss.acts) if act != loss.reject]
    if not keep:
        raise InputError(
            f"{owner}: the loss has no act but the reject act {loss.reject!r}. Add the acts to "
            "decide between."
        )
    return Loss(loss.matrix[..., keep], loss.truths, [loss.acts[i] for i in keep])
