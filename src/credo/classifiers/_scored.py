"""What every classifier with scores offers, from one hook: predictions and posteriors."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from credo._results import Storable
from credo._types import F64
from credo.families.gaussians.scores import (
    Finish,
    labels_into,
    log_probabilities_into,
    probabilities_into,
    scores_into,
)
from credo.posterior import Posterior


class ScoredClassifier(Storable, ClassifierMixin, BaseEstimator, ABC):
    """Base of classifiers whose posterior is the softmax of scores.

    A subclass sets ``classes_``, and writes ``_rows`` and ``_score``.
    """

    classes_: Any

    def _check_ready(self) -> None:
        """Refuse to predict before anything was learned."""
        check_is_fitted(self)

    @abstractmethod
    def _rows(self, X: Any) -> Any:
        """Check rows to predict."""

    @abstractmethod
    def _score(
        self, X: Any, finish: Finish, *, densities: bool = False, single: bool = False
    ) -> None:
        """Hand blocks of log p(x, k), shape (K, B), to ``finish``.

        Without ``densities`` a term that all classes of a row share may be left out; with
        ``single``, float32 rows may be scored in float32 where that is safe.
        """

    def predict(self, X: Any) -> Any:
        """Give the most probable class of each row; of equals, the first.

        Parameters
        ----------
        X : array-like of shape (n, D)
            Rows, of any kind that fit takes.

        Returns
        -------
        ndarray of shape (n,)
            Labels.
        """
        rows = self._rows(X)
        codes = np.empty(n_rows(rows), dtype=np.intp)
        self._score(rows, labels_into(codes), single=True)
        return self.classes_[codes]

    def predict_proba(self, X: Any) -> Any:
        """Give posterior probabilities, columns in the order of ``classes_``.

        Parameters
        ----------
        X : array-like of shape (n, D)
            Rows, of any kind that fit takes.

        Returns
        -------
        ndarray of shape (n, K)
            In float64; Gaussian and logistic classifiers give float32 for rows of float32, computed
            in float32 too only where that moves log odds near the classes by less than 2.5e-4.
        """
        return self._table(X, probabilities_into)

    def predict_log_proba(self, X: Any) -> Any:
        """Give the logarithms of the posterior probabilities.

        Parameters
        ----------
        X : array-like of shape (n, D)
            Rows, of any kind that fit takes.

        Returns
        -------
        ndarray of shape (n, K)
            Exact far below the least positive probability.
        """
        return self._table(X, log_probabilities_into)

    def posterior(self, X: Any) -> Posterior:
        """Give the posterior over ``classes_``, for ``credo.decide``.

        Parameters
        ----------
        X : array-like of shape (n, D)
            Rows, of any kind that fit takes.

        Returns
        -------
        Posterior
            One row per row.
        """
        rows = self._rows(X)
        table = np.empty((n_rows(rows), len(self.classes_)))
        self._score(rows, log_probabilities_into(table))
        return Posterior(table, self.classes_)

    def decision_function(self, X: Any) -> F64:
        """Give a score per class, or the log odds of the second class if there are two.

        Parameters
        ----------
        X : array-like of shape (n, D)
            Rows, of any kind that fit takes.

        Returns
        -------
        ndarray of shape (n, K), or (n,) if there are two classes
            Scores differ from log posteriors by a term of the row.
        """
        rows = self._rows(X)
        table = np.empty((n_rows(rows), len(self.classes_)))
        self._score(rows, scores_into(table))
        return table[:, 1] - table[:, 0] if len(self.classes_) == 2 else table

    def _table(self, X: Any, into: Callable[[Any], Finish]) -> Any:
        """Fill a table of one column per class, in the precision of the rows if they have one."""
        rows = self._rows(X)
        kind = np.float32 if getattr(rows, "dtype", None) == np.float32 else np.float64
        table = np.empty((n_rows(rows), len(self.classes_)), dtype=kind)
        self._score(rows, into(table), single=True)
        return table


def n_rows(rows: Any) -> int:
    """Count rows of an array, of a sparse array, which has no length, or of a table."""
    return int(rows.shape[0]) if hasattr(rows, "shape") else len(rows)
