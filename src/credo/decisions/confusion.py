"""``confusion_matrix``: which act was taken under which truth."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from credo._results import Drawable
from credo._types import F64, Label, Labels
from credo._validation.arrays import frozen
from credo._validation.labels import as_labels, distinct
from credo._validation.probabilities import as_weights
from credo.decisions._text import html_table, text_table
from credo.decisions.act import Decisions
from credo.decisions.labelled_rows import act_index, index_of
from credo.decisions.loss import Loss
from credo.exceptions import InputError, ShapeError

_AXES = ("truth", "act")
_OWNER = "confusion_matrix"


@dataclass(frozen=True, slots=True, eq=False)
class Confusion(Drawable):
    """Counts of rows by truth and act. Made by ``confusion_matrix``.

    Attributes
    ----------
    counts : ndarray of shape (K, A)
        Rows are truths, columns are acts; sums of weights if there were weights.
    truths, acts
        Names of the rows and columns.
    reject
        Which act is the reject act, or None.
    """

    counts: F64
    truths: Labels
    acts: Labels
    reject: Label | None = None

    def normalised(self, over: Literal["truth", "act", "all"] = "truth") -> F64:
        """Divide the counts by their sum over each truth, each act, or all.

        A truth or an act that never occurred keeps its zeros.
        """
        axes = {"truth": 1, "act": 0, "all": None}
        if over not in axes:
            raise InputError(
                f"Confusion.normalised: unknown choice {over!r}. Choose one of 'truth', 'act', "
                "'all'."
            )
        totals = self.counts.sum(axis=axes[over], keepdims=True)
        return self.counts / np.where(totals > 0, totals, 1.0)

    @property
    def coverage(self) -> float:
        """Share of the rows that were not rejected."""
        return float(self._decided().sum() / self.counts.sum())

    @property
    def accuracy(self) -> float | None:
        """Share of right acts among the rows not rejected.

        An act is right if it is the name of the truth. None if all rows were rejected, or if some
        act is not the name of a truth, such as ``treat``: what is right is then for the loss
        to say.
        """
        decided = self._decided()
        if not decided.sum() > 0 or any(a not in self.truths for a in self._decided_acts()):
            return None
        return float(sum(self._right(label) for label in self.truths) / decided.sum())

    def per_label(self) -> dict[Label, dict[str, float | None]]:
        """Give recall and precision of each truth that may also be an act's name.

        Recall is the share of the rows with this truth that got this act, rejected rows
        included; precision is the share of the rows with this act that had this truth. None where
        there are no such rows, or no such act.
        """
        return {
            label: {
                "recall": self._share(label, self.counts[k].sum()),
                "precision": self._share(label, self._column(label).sum()),
            }
            for k, label in enumerate(self.truths)
        }

    def to_dict(self) -> dict[str, Any]:
        """Give names, counts and summaries as plain lists and numbers."""
        return {
            "truths": list(self.truths),
            "acts": list(self.acts),
            "reject": self.reject,
            "counts": self.counts.tolist(),
            "accuracy": self.accuracy,
            "coverage": self.coverage,
        }

    def _decided_acts(self) -> list[Label]:
        return [act for act in self.acts if self.reject is None or act != self.reject]

    def _decided(self) -> F64:
        return self.counts[:, [self.acts.index(act) for act in self._decided_acts()]]

    def _column(self, label: Label) -> F64:
        if label not in self.acts:
            return np.zeros(len(self.truths))
        return self.counts[:, self.acts.index(label)]

    def _right(self, label: Label) -> float:
        return float(self._column(label)[self.truths.index(label)])

    def _share(self, label: Label, total: float) -> float | None:
        known = label in self.acts and total > 0
        return self._right(label) / float(total) if known else None

    def __repr__(self) -> str:
        return text_table(self.counts, self.truths, self.acts, _AXES)

    def _repr_html_(self) -> str:
        return html_table(self.counts, self.truths, self.acts, _AXES)


def confusion_matrix(
    y: Any,
    acts: Any,
    loss: Loss | None = None,
    *,
    sample_weight: Any = None,
    labels: Iterable[Any] | None = None,
) -> Confusion:
    r"""Count the rows by truth and act.

    .. math:: N_{ka} = \sum_i w_i\, [y_i = k]\, [a_i = a]

    Parameters
    ----------
    y : array-like of shape (n,)
        The truth of each row.
    acts : Decisions, or array-like of shape (n,)
        The act taken in each row, by name. Decisions bring their loss with them.
    loss
        Gives the names, their order and the reject act. Without one, acts are labels too, and
        the names are those seen, sorted, or as they come if they cannot be sorted.
    sample_weight : array-like of shape (n,), optional
        Weight of each row.
    labels
        Names and their order, if there is no loss.

    Returns
    -------
    Confusion
        With the counts, the accuracy among the rows not rejected, and recall and precision.

    Raises
    ------
    LabelError
        If a truth or an act is not known; the row is named.
    InputError
        If both ``loss`` and ``labels`` are given.

    See Also
    --------
    expected_loss : The same counts, weighed by what each cell costs.

    Notes
    -----
    Time O(n), after sorting the names in O(n log n). Exact.

    Examples
    --------
    >>> import credo
    >>> from credo.decisions import confusion_matrix
    >>> loss = credo.Loss.zero_one(["ham", "spam"]).with_reject(0.2)
    >>> p = [[0.9, 0.1], [0.3, 0.7], [0.05, 0.95], [0.1, 0.9]]
    >>> choice = credo.decide(p, loss, labels=["ham", "spam"])
    >>> table = confusion_matrix(["ham", "ham", "spam", "ham"], choice)
    >>> table
    truth \ act  ham  spam  reject
    ham            1     1       1
    spam           0     1       0
    >>> table.coverage, round(table.accuracy, 4)
    (0.75, 0.6667)
    """
    if loss is None and isinstance(acts, Decisions):
        loss = acts.loss
    if loss is not None and labels is not None:
        raise InputError(f"{_OWNER}: the names come from the loss; leave labels out.")
    if loss is None:
        if labels is None:
            labels = distinct([*distinct(y, _OWNER), *distinct(acts, _OWNER)], _OWNER)
        names = as_labels(labels, _OWNER)
        truth, act = index_of(y, names, _OWNER, "label"), index_of(acts, names, _OWNER, "label")
        if len(act) != len(truth):
            raise ShapeError(
                f"{_OWNER}: there are {len(truth)} truths and {len(act)} acts; one act per row is "
                "needed."
            )
        truths, columns, reject = names, names, None
    else:
        truths, columns, reject = loss.truths, loss.acts, loss.reject
        truth = index_of(y, truths, _OWNER, "truth")
        act = act_index(acts, loss, _OWNER, len(truth))
    weight = as_weights(sample_weight, len(truth), _OWNER)
    n_cells = len(truths) * len(columns)
    flat = np.bincount(truth * len(columns) + act, weights=weight, minlength=n_cells)
    return Confusion(frozen(flat.reshape(len(truths), len(columns))), truths, columns, reject)
