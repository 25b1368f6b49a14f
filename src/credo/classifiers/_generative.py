"""What every generative classifier offers beside posteriors: densities and other priors."""

from __future__ import annotations

import copy
from abc import abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted, validate_data

from credo._types import F64, PerLabel
from credo._validation.labels import as_labels
from credo._validation.probabilities import as_priors
from credo.classifiers._labels import without_mask
from credo.classifiers._scored import ScoredClassifier
from credo.exceptions import InputError
from credo.families.gaussians.scores import (
    scores_into,
    totals_into,
)


class GenerativeClassifier(ScoredClassifier):
    """Base of classifiers with p(x | k) and p(k): posteriors, densities and other priors.

    A subclass sets ``classes_`` and ``priors_``, and writes ``_score``.
    """

    priors: Any
    priors_: F64

    def log_joint(self, X: Any) -> F64:
        r"""Give :math:`\log p(x, k) = \log p(x \mid k) + \log \pi_k`.

        Parameters
        ----------
        X : array-like of shape (n, D)
            Rows, of any kind that fit takes.

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

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


def prior_probabilities(priors: Any, classes: Any, weights: F64, owner: str) -> F64:
    """Give one prior per class: frequencies, equal, or as given."""
    if priors is None:
        return weights / weights.sum()
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
