"""Losses for the commands of tables: from a file, with a reject act, in a model's own labels."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from credo.decisions import Loss


def read_loss(path: Path | None, reject: float | None) -> Loss | None:
    """Read a loss and add the reject act; None if there is no file."""
    from credo.decisions import Loss

    if reject is not None and not math.isfinite(reject):
        from credo.exceptions import InputError

        raise InputError(f"--reject must be a finite cost. Got {reject}.")
    if path is None:
        return None
    return _with_reject(Loss.from_csv(path), reject, str(path))


def loss_of(
    labels: Any, given: Loss | None, own: Loss | None, reject: float | None, owner: str
) -> Loss | None:
    """Give the loss to decide by, in terms of the labels; None for the model's own, or zero-one.

    ``given`` comes from a file and has its reject act; without one, --reject is added to what
    the model brings.
    """
    from credo import _checks as check
    from credo.decisions import Loss
    from credo.tables.predict import loss_for

    names = check.labels(labels, f"classes of {owner}")
    if given is not None:
        loss = loss_for(names, given)
        loss.rows_for(names, owner)
        return loss
    if reject is None:
        return own
    return _with_reject(Loss.zero_one(names) if own is None else own, reject, "The model's loss")


def refuse_loss(learner: Any) -> None:
    """Refuse losses for a model that decides between no classes."""
    from credo.exceptions import InputError

    if not hasattr(learner, "predict_proba"):
        raise InputError(
            f"--loss and --reject are for classes, and a {type(learner).__name__} predicts numbers."
        )


def check_first_labels(source: Any, target: str, loss: Loss) -> None:
    """Refuse a loss that does not know a label of the first rows, before all of them are read."""
    from credo import _checks as check
    from credo.exceptions import LabelError
    from credo.tables.predict import label_text

    check.position(target, tuple(source.schema.names), "column", source.name)
    known = {label_text(truth) for truth in loss.truths}
    for label in source.head([target]).column(0).unique().to_pylist():
        text = label_text(label)
        if label is not None and text not in known:
            raise LabelError(
                f"{source.name} has the label {text!r} in column {target!r}, and the loss's "
                f"truths are {check.listing(loss.truths)}.{check.hint(text, loss.truths)} Rows of "
                "a loss are truths, columns are acts."
            )


def _with_reject(loss: Loss, cost: float | None, name: str) -> Loss:
    """Add a reject act, unless there is one."""
    from credo.exceptions import InputError

    if cost is None:
        return loss
    if loss.reject is not None or "reject" in loss.acts:
        raise InputError(f"{name} has an act 'reject' already; leave --reject out.")
    return loss.with_reject(cost)
