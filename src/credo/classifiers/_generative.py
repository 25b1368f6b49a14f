"""What every generative classifier offers, from one hook: joint scores of rows."""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from credo._types import F64, PerLabel
from credo._validation.labels import as_labels
from credo._validation.probabilities import as_priors
from credo.classifiers._labels import without_mask
from credo.exceptions import InputError
from credo.families.gaussians.scores import (
    Finish,
    labels_into,
    log_probabilities_into,
    probabilities_into,
    scores_into,
    totals_into,
)
from credo.posterior import Posterior


class GenerativeClassifier(ClassifierMixin, BaseEstimator, ABC):
    """Base of classifiers with p(x | k) and p(k): posteriors, densities and other priors.

    A subclass sets ``classes_`` and ``priors_``, and writes ``_score``.
    """

    priors: Any
    classes_: Any
    priors_: F64

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
            Rows; NaN is missing and marginalised.

        Returns
        -------
        ndarray of shape (n,)
            Labels.
        """
        rows = self._rows(X)
        codes = np.empty(len(rows), dtype=np.intp)
        self._score(rows, labels_into(codes), single=True)
        return self.classes_[codes]

    def predict_proba(self, X: Any) -> Any:
        """Give posterior probabilities, columns in the order of ``classes_``.

        Parameters
        ----------
        X : array-like of shape (n, D)
            Rows; NaN is missing and marginalised.

        Returns
        -------
        ndarray of shape (n, K)
            In float64; a Gaussian classifier gives float32 for rows of float32, computed in float32
            too if that moves the log odds of rows near the classes by less than 2.5e-4.
        """
        return self._table(X, probabilities_into)

    def predict_log_proba(self, X: Any) -> Any:
        """Give the logarithms of the posterior probabilities.

        Parameters
        ----------
        X : array-like of shape (n, D)
            Rows; NaN is missing and marginalised.

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
            Rows; NaN is missing and marginalised.

        Returns
        -------
        Posterior
            One row per row.
        """
        rows = self._rows(X)
        table = np.empty((len(rows), len(self.classes_)))
        self._score(rows, log_probabilities_into(table))
        return Posterior(table, self.classes_)

    def log_joint(self, X: Any) -> F64:
        r"""Give :math:`\log p(x, k) = \log p(x \mid k) + \log \pi_k`.

        Parameters
        ----------
        X : array-like of shape (n, D)
            Rows; NaN is missing and marginalised.

        Returns
        -------
        ndarray of shape (n, K)
            In float64.
        """
        rows = self._rows(X)
        table = np.empty((len(rows), len(self.classes_)))
        self._score(rows, scores_into(table), densities=True)
        return table

    def log_density(self, X: Any) -> F64:
        r"""Give :math:`\log p(x)`, the log density of each row under the whole model.

        Low values are outliers.

        Parameters
        ----------
        X : array-like of shape (n, D)
            Rows; NaN is missing and marginalised, so rows with different missing entries are
            densities over different features.

        Returns
        -------
        ndarray of shape (n,)
            In float64.
        """
        rows = self._rows(X)
        totals = np.empty(len(rows))
        self._score(rows, totals_into(totals), densities=True)
        return totals

    def decision_function(self, X: Any) -> F64:
        """Give a score per class, or the log odds of the second class if there are two.

        Parameters
        ----------
        X : array-like of shape (n, D)
            Rows; NaN is missing and marginalised.

        Returns
        -------
        ndarray of shape (n, K), or (n,) if there are two classes
            Scores differ from log posteriors by a term of the row.
        """
        rows = self._rows(X)
        table = np.empty((len(rows), len(self.classes_)))
        self._score(rows, scores_into(table))
        return table[:, 1] - table[:, 0] if len(self.classes_) == 2 else table

    def with_priors(self, priors: PerLabel | str | None) -> Self:
        """Give the same classifier with other priors, without fitting again.

        Parameters
        ----------
        priors : array-like of shape (K,), mapping from label, "uniform" or None
            Probabilities of the classes where it will be used; None for the frequencies.

        Returns
        -------
        classifier
            A new one; this one stays as it is.
        """
        self._check_ready()
        other = copy.copy(self)
        other.priors = priors
        return other._set_priors()  # noqa: SLF001 - of its own copy

    @abstractmethod
    def _set_priors(self) -> Self:
        """Set what depends on the priors; give itself."""

    def _check_priors_form(self, owner: str) -> None:
        """Refuse a word that names no priors, whatever the classes are."""
        if isinstance(self.priors, str):
            prior_probabilities(self.priors, np.zeros(1), np.ones(1), owner)

    def _log_priors(self) -> F64:
        """Give the logarithms of the priors; minus infinity for a prior of zero."""
        with np.errstate(divide="ignore"):
            return np.log(self.priors_)

    def _check_ready(self) -> None:
        """Check that there is a fitted model."""
        check_is_fitted(self)

    def _rows(self, X: Any) -> Any:
        """Check rows to predict."""
        self._check_ready()
        return validate_data(
            self, without_mask(X), reset=False, dtype="numeric", ensure_all_finite=False
        )

    def _table(self, X: Any, into: Callable[[Any], Finish]) -> Any:
        """Fill a table of one column per class, in the precision of the rows."""
        rows = self._rows(X)
        kind = np.float32 if rows.dtype == np.float32 else np.float64
        table = np.empty((len(rows), len(self.classes_)), dtype=kind)
        self._score(rows, into(table), single=True)
        return table

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


def prior_probabilities(priors: Any, classes: Any, weights: F64, owner: str) -> F64:
    """Give one prior per class: frequencies, equal, or as given."""
    if priors is None:
        frequencies: F64 = weights / weights.sum()
        return frequencies
    if isinstance(priors, str):
        if priors != "uniform":
            raise InputError(
                f"The priors of {owner} must be None, 'uniform', an array or a mapping. Got "
                f"{priors!r}."
            )
        return np.full(len(classes), 1 / len(classes))
    return as_priors(priors, as_labels(classes, owner, "classes"), owner)


@contextmanager
def unchanged_on_error(estimator: Any) -> Iterator[None]:
    """Leave an estimator as it was if something fails."""
    before = dict(vars(estimator))
    try:
        yield
    except BaseException:
        vars(estimator).clear()
        vars(estimator).update(before)
        raise
