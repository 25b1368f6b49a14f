"""Labels as tables and files write them, matched with those of a model."""

from __future__ import annotations

from typing import Any

from credo._types import Label, Labels
from credo.classifiers.decision import DecisionClassifier
from credo.decisions.loss import Loss
from credo.exceptions import InputError


def codes_of(labels: Labels) -> dict[Label, int]:
    """Give the place of each label, found by itself or by its text where that is one label's."""
    texts = [label_text(label) for label in labels]
    codes: dict[Label, int] = {
        text: k for k, text in enumerate(texts) if texts.count(text) == 1 and text not in labels
    }
    codes.update((label, k) for k, label in enumerate(labels))
    return codes


def loss_for(labels: Labels, loss: Loss | None) -> Loss:
    """Give the loss with the labels' own names; zero-one by default.

    A file knows text only, so its truths and acts ``"1"`` and ``"2"`` become the labels 1 and 2
    where every truth is the text of exactly one label.
    """
    if loss is None:
        return Loss.zero_one(labels)
    names = {label_text(label): label for label in labels}
    known = len(names) == len(labels) and {label_text(t) for t in loss.truths} <= names.keys()
    if set(loss.truths) <= set(labels) or not known:
        return loss
    acts = [names.get(label_text(act), act) for act in loss.acts]
    reject = None if loss.reject is None else acts[loss.acts.index(loss.reject)]
    return Loss(loss.matrix, [names[label_text(t)] for t in loss.truths], acts, reject=reject)


def own_loss(model: Any, owner: str) -> Loss | None:
    """Give the loss that a DecisionClassifier brings with it."""
    own = model.loss if isinstance(model, DecisionClassifier) else None
    if own is not None and not isinstance(own, Loss):
        raise InputError(
            f"{owner}: the loss of this DecisionClassifier is a function of the rows. Pass loss=, "
            "one matrix for all rows."
        )
    return own


def label_text(label: Label) -> str:
    """Write a label as a table would: whole numbers without a point, truth values in lower case."""
    if isinstance(label, bool):
        return str(label).lower()
    if isinstance(label, float) and label.is_integer():
        return str(int(label))
    return str(label)
