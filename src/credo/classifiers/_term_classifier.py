"""What naive Bayes of columns and of words share: scores, explanations and linear forms."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np

from credo._types import Label
from credo._validation.labels import as_labels, position
from credo.classifiers._base import Blocks, GenerativeClassifier
from credo.classifiers.naive.explanation import Explanation, contributions, sorted_explanation
from credo.classifiers.naive.log_odds import LogOddsWeights, linear_form
from credo.classifiers.naive.parts import ColumnNames
from credo.classifiers.naive.scoring import score_rows
from credo.classifiers.naive.terms import Term
from credo.exceptions import InputError


class TermClassifier(GenerativeClassifier):
    """Base of classifiers whose log p(x, k) is a sum of terms.

    A subclass sets ``_terms``, and writes ``_column_names`` and ``_rows``.
    """

    _terms: tuple[Term, ...]

    @abstractmethod
    def _column_names(self) -> ColumnNames:
        """Name the columns, and who speaks of them."""

    def _scores(self, rows: Any, *, densities: bool = False) -> Blocks:
        names = self._column_names()
        return score_rows(self._terms, self._log_priors(), rows, names, whole=densities)

    def _explained(self, rows: Any, a: Label | None, b: Label | None) -> Explanation:
        """Split the log odds of one row."""
        i, j = self._compared(rows, a, b)
        shares = contributions(self._terms, rows, (i, j), self._column_names())
        logs, labels = self._log_priors(), self.classes_.tolist()
        if np.isneginf(logs[[i, j]]).all():
            raise InputError(
                f"{self._column_names().owner}.explain: the priors of {labels[i]!r} and "
                f"{labels[j]!r} are both zero. Compare other classes."
            )
        return sorted_explanation((labels[i], labels[j]), float(logs[i] - logs[j]), shares)

    def _compared(self, rows: Any, a: Label | None, b: Label | None) -> tuple[int, int]:
        """Find the two classes to compare: as named, or the most probable others."""
        owner = f"{self._column_names().owner}.explain"
        scores = self._table(rows)
        labels = as_labels(self.classes_, owner)
        if len(labels) < 2:
            raise InputError(f"{owner} compares two classes, and the model has one.")
        best = np.argsort(-scores[0], kind="stable").tolist()
        j = None if b is None else position(b, labels, owner, "class")
        i = next(k for k in best if k != j) if a is None else position(a, labels, owner, "class")
        return i, next(k for k in best if k != i) if j is None else j

    def _linear_form(self, a: Label, b: Label) -> LogOddsWeights:
        """Give the log odds of two classes as a linear form, priors included."""
        names = self._column_names()
        owner = f"{names.owner}.log_odds_weights"
        labels = as_labels(self.classes_, owner)
        i, j = position(a, labels, owner, "class"), position(b, labels, owner, "class")
        form = linear_form(self._terms, i, j, (a, b), names)
        logs = self._log_priors()
        if not np.isfinite(logs[[i, j]]).all():
            raise InputError(f"{owner}: the prior of {a!r} or {b!r} is zero.")
        return form.with_prior(float(logs[i] - logs[j]))
