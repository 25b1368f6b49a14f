"""The state of a Gaussian classifier: what it reads, what it keeps, what it shows."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted, validate_data

from credo._types import F64, Int, Label
from credo._validation.labels import as_labels, position
from credo._validation.probabilities import as_weights
from credo.classifiers._gaussian_fit import Fitted, Options, fit_moments
from credo.classifiers._generative import GenerativeClassifier, prior_probabilities
from credo.classifiers._labels import encode_labels, without_mask
from credo.classifiers.summary import ClassSummary, summarise_rows
from credo.exceptions import CredoError, InputError, NumericalError, SingularWarning
from credo.families.gaussians.class_gaussians import ClassGaussians
from credo.families.gaussians.definite import Names
from credo.families.gaussians.reduction import Rows
from credo.families.gaussians.scores import Finish, Kind, score_rows
from credo.families.gaussians.single import SingleScorer

_OWNER = "GaussianClassifier"

#: What a fit shows, beside the classes and the summary.
_LEARNED = (
    "priors_",
    "means_",
    "covariances_",
    "proportions_",
    "shrinkage_",
    "coef_",
    "intercept_",
    "components_",
    "constant_features_",
    "n_parameters_",
    "log_likelihood_",
    "log_likelihood_trace_",
    "converged_",
    "n_iter_",
)


def streams(classifier: Any) -> bool:
    """Offer partial_fit unless the shrinkage needs all rows at once."""
    if classifier.shrinkage == "auto":
        raise AttributeError(
            f"{_OWNER}.partial_fit: shrinkage='auto' (Ledoit-Wolf) needs all rows at once. For a "
            "stream pass shrinkage='oas', which needs second moments only, or a number."
        )
    return True


class GaussianState(GenerativeClassifier):
    """Private half of ``GaussianClassifier``."""

    summary_: ClassSummary | None
    _fitted: Fitted
    _model: ClassGaussians
    _problem: str | None
    #: Told of a repair already, so that a stream is not told at every batch.
    _warned: bool = False

    def _read(self, X: Any, y: Any, sample_weight: Any, *, reset: bool) -> tuple[Rows, Any]:
        """Check rows, labels and weights; give them encoded, and the classes."""
        if reset:
            self._forget("schema_")
        rows, labels = validate_data(
            self, without_mask(X), y, reset=reset, dtype="numeric", ensure_all_finite=False
        )
        weights = None if sample_weight is None else as_weights(sample_weight, len(rows), _OWNER)
        classes, codes = encode_labels(labels, weights)
        return Rows(rows, codes, weights, len(classes)), classes

    def _summary(self, rows: Rows, classes: Any, options: Options) -> ClassSummary | None:
        """Summarise rows under the names of their columns."""
        summary = summarise_rows(rows, classes, options.detail, _OWNER)
        columns = getattr(self, "feature_names_in_", None)
        if summary is None or columns is None:
            return summary
        return replace(summary, feature_names=tuple(columns.tolist()))

    def _names(self, classes: Any) -> Names:
        """Name classes and columns for messages."""
        columns = getattr(self, "feature_names_in_", np.arange(self.n_features_in_))
        labels = as_labels(classes, _OWNER, "classes")
        return Names(_OWNER, labels, as_labels(columns, _OWNER, "columns"))

    def _set(self, fitted: Fitted, classes: Any, summary: ClassSummary | None) -> None:
        """Keep a fit and show what it learned."""
        model, amounts = fitted.found.model, fitted.found.amounts
        self._fitted, self._model, self._problem = fitted, model, None
        self.classes_, self.summary_ = classes, summary
        self.means_, self.covariances_ = model.means, model.covariances
        self.shrinkage_ = amounts if amounts.ndim else float(amounts)
        self.constant_features_ = ~model.active
        self.n_parameters_ = len(classes) + fitted.n_parameters
        self.converged_, self.n_iter_ = fitted.converged, max(1, len(fitted.trace) - 1)
        self._forget("proportions_", "components_")
        if model.factors is not None:
            self.proportions_ = model.factors
        if fitted.projection is not None:
            self.components_ = fitted.projection.components
            self.constant_features_ = np.zeros(self.n_features_in_, dtype=bool)
        self._set_priors()
        if fitted.found.repair is not None and not self._warned:
            warnings.warn(fitted.found.repair, SingularWarning, stacklevel=3)
            self._warned = True

    def _set_priors(self) -> Self:
        fitted = self._fitted
        self.priors_ = prior_probabilities(self.priors, self.classes_, fitted.weights, _OWNER)
        log_priors = self._log_priors()
        with np.errstate(invalid="ignore"):
            shares = np.where(fitted.weights > 0, fitted.weights * log_priors, 0.0).sum()
        self.log_likelihood_trace_ = fitted.trace + shares
        self.log_likelihood_ = float(self.log_likelihood_trace_[-1])
        self._forget("coef_", "intercept_")
        if self._model.is_linear:
            self.coef_, self.intercept_ = self._linear(log_priors)
        return self

    def _linear(self, log_priors: F64) -> tuple[F64, F64]:
        """Give weights and offsets of the linear scores, in terms of the features."""
        model, projection = self._model, self._fitted.projection
        w, means, priors, middle = model.whiteners, model.means, log_priors, 0.5 * model.means
        if len(means) == 2:  # the log odds of the second class, about the middle of the means
            means, priors = np.diff(means, axis=0), np.diff(log_priors)
            middle = model.means.mean(axis=0, keepdims=True)
        white = model.whitened(means)
        coefficients = white @ w if model.has_correlations else white * w
        offsets = priors - (coefficients * middle).sum(axis=1)
        if projection is not None:
            offsets -= coefficients @ (projection.components @ projection.centre)
            coefficients = coefficients @ projection.components
        return coefficients, offsets

    def _forget(self, *names: str) -> None:
        """Remove attributes, if they are there."""
        for name in names:
            self.__dict__.pop(name, None)

    def _restart(self, summary: ClassSummary, options: Options) -> Self:
        """Continue from a summary; if it does not determine a model yet, remember why."""
        if options.recipe.shrinkage == "auto":
            raise InputError(
                f"{_OWNER}: shrinkage='auto' (Ledoit-Wolf) needs all rows at once. For streams and "
                "merging pass shrinkage='oas', which needs second moments only, or a number."
            )
        self.summary_, self.classes_ = summary, summary.classes
        try:
            fitted = fit_moments(summary.moments, options, self._names(summary.classes))
            self._set(fitted, summary.classes, summary)
        except CredoError as problem:
            self._problem = str(problem)
            self._forget(*_LEARNED)
        return self

    def _check_ready(self) -> None:
        check_is_fitted(self)
        if self._problem is not None:
            raise NumericalError(self._problem)

    def _located(self, X: Any) -> Any:
        """Check rows, and project them if the model is of a subspace."""
        rows = self._rows(X)
        projection = self._fitted.projection
        return rows if projection is None else projection.rows(rows)

    def _score(
        self, X: Any, finish: Finish, *, densities: bool = False, single: bool = False
    ) -> None:
        projection = self._fitted.projection
        rows = X if projection is None else projection.rows(X)
        kind: Kind = "densities" if densities else "discriminants"
        scorer = SingleScorer.of(self._model) if single and rows.dtype == np.float32 else None
        score_rows(self._model, self._log_priors(), rows, finish, kind, scorer)

    def _to_fill(self, X: Any, label: Label | None, method: str) -> tuple[Any, Int]:
        """Check rows with missing entries, and the classes to mix."""
        rows = self._rows(X)
        owner = f"{_OWNER}.{method}"
        if self._fitted.projection is not None:
            raise InputError(f"{owner} is about features, and this model is of a subspace.")
        if label is None:
            return rows, np.flatnonzero(self.priors_ > 0)
        labels = as_labels(self.classes_, owner)
        return rows, np.array([position(label, labels, owner, "class")])
