"""The state of a naive Bayes classifier: what it reads, what it keeps, what it shows."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
from scipy.sparse import csr_array
from sklearn.utils.validation import (
    check_consistent_length,
    check_is_fitted,
    column_or_1d,
    validate_data,
)

from credo._types import Bool
from credo._validation.labels import as_labels, order_of
from credo._validation.probabilities import as_weights
from credo.classifiers._base import prior_probabilities, refuse_priors, unchanged_on_error
from credo.classifiers._labels import encode_labels, refuse_missing_labels
from credo.classifiers._term_classifier import TermClassifier
from credo.classifiers.columns.rebuilt import arrow_kind
from credo.classifiers.columns.table import Table, read_table
from credo.classifiers.columns.weighted import with_weight
from credo.classifiers.naive.estimates import Smoothing, estimate_term
from credo.classifiers.naive.learning import Labelled, NaiveSummary
from credo.classifiers.naive.parts import SPARSE, ColumnNames, families_of
from credo.classifiers.naive.sparse import SparseRows, is_sparse
from credo.classifiers.naive.terms import CategoricalTerm, GaussianTerm
from credo.exceptions import CredoError, InputError, NumericalError, SingularWarning

_OWNER = "NaiveBayes"

#: What a fit shows, beside the classes and the summary.
_LEARNED = (
    "priors_",
    "families_",
    "categories_",
    "n_parameters_",
    "constant_features_",
    "variance_floored_",
)


class NaiveState(TermClassifier):
    """Private half of ``NaiveBayes``."""

    families: Any
    smoothing: Any
    smoothing_target: Any
    unknown: Any
    variance_floor: Any
    summary_: NaiveSummary
    n_features_in_: int
    _sparse: bool
    _labels: Any = None
    _problem: str | None
    #: Told of a floor already, so that a stream is not told at every batch.
    _warned: bool = False

    # --- reading ----------------------------------------------------------------------------

    def _read(self, X: Any, y: Any, sample_weight: Any, *, reset: bool) -> tuple[Labelled, Any]:
        """Check rows, labels and weights; give them encoded, and the classes."""
        rows = _opened(X)
        validate_data(self, X, y, reset=reset, skip_check_array=True)
        if reset:
            self.__dict__.pop("schema_", None)
            self._labels = rows.labels if isinstance(rows, Table) else None
        labels = column_or_1d(y, warn=True)
        weights = None
        if sample_weight is not None:
            weights = as_weights(sample_weight, len(labels), _OWNER)
            if not weights.all():
                check_consistent_length(X, labels)
                rows, kept = _opened(with_weight(X, weights, _OWNER)), weights > 0
                labels, weights = labels[kept], weights[kept]
        if rows.n_rows != len(labels):
            raise InputError(
                f"{_OWNER}: X has {rows.n_rows} rows and y has {len(labels)} labels, inconsistent "
                "numbers of samples. Pass one label per row."
            )
        refuse_missing_labels(labels, _OWNER)
        classes, codes = encode_labels(labels, None)
        return Labelled(rows, self._column_names(), codes, weights, len(classes)), classes

    def _rows(self, X: Any) -> Any:
        self._check_ready()
        rows = _opened(X)
        validate_data(self, X, reset=False, skip_check_array=True)
        if isinstance(rows, SparseRows) and not self._sparse:
            raise InputError(
                f"{_OWNER} was fitted to dense rows. Got sparse rows: use X.toarray()."
            )
        if self._sparse and isinstance(rows, Table):
            return SparseRows.of(csr_array(rows.floats(range(rows.n_columns), slice(None))), _OWNER)
        return rows

    def _one_row(self, x: Any) -> Any:
        """Check one row: a mapping from column to value, a list of values, or a table."""
        owner = f"{_OWNER}.explain"
        if isinstance(x, Mapping):
            self._check_ready()
            names = self._column_names().names
            order_of(tuple(names), tuple(x), owner, "row")
            x = [x[name] for name in names]
        rows: Any
        if isinstance(x, (list, tuple)) or getattr(x, "ndim", 2) == 1:
            self._check_ready()
            cells = list(x)
            rows = _opened(csr_array([cells]) if self._sparse else [cells])
            if rows.n_columns != self.n_features_in_:
                raise InputError(
                    f"{owner} needs {self.n_features_in_} values. Got {rows.n_columns}."
                )
        else:
            rows = self._rows(x)
        if len(rows) != 1:
            raise InputError(f"{owner} needs one row. Got {len(rows)}.")
        return rows

    def _column_names(self) -> ColumnNames:
        """Name the columns, by number if they have no names."""
        names = getattr(self, "feature_names_in_", None)
        if names is None:
            names = self._labels  # of a frame whose columns are numbered in some way
        numbers = range(self.n_features_in_)
        return ColumnNames(
            _OWNER, numbers if names is None else as_labels(names, _OWNER, "columns")
        )

    # --- keeping ----------------------------------------------------------------------------

    def _set(self, summary: NaiveSummary, *, sparse: bool, depth: int = 4) -> Self:
        """Estimate from a summary, and show what was learned; warn that many frames up."""
        smoothing, names = self._smoothing(), self._column_names()
        terms = tuple(estimate_term(p, smoothing, names, sparse=sparse) for p in summary.parts)
        self._terms, self._sparse, self._problem = terms, sparse, None
        self.summary_, self.classes_ = summary, summary.classes
        self._set_priors()
        self.families_ = families_of([t.part for t in terms], names)
        self.categories_ = {
            names.names[t.part.columns[0]]: list(t.categories.values)
            for t in terms
            if isinstance(t, CategoricalTerm)
        }
        self.n_parameters_ = len(self.classes_) + sum(t.n_parameters for t in terms)
        self.constant_features_ = np.zeros(self.n_features_in_, dtype=bool)
        self.variance_floored_ = np.zeros((len(self.classes_), self.n_features_in_), dtype=bool)
        for term in terms:
            columns = list(term.part.columns) if term.floored is not None else []
            if term.floored is not None:
                self.variance_floored_[:, columns] = term.floored
            if isinstance(term, GaussianTerm):
                self.constant_features_[columns] = ~term.model.active
        self._warn(names, depth)
        return self

    def _smoothing(self) -> Smoothing:
        """Check the options of the estimates."""
        options = self.smoothing, self.smoothing_target, self.unknown, self.variance_floor
        return Smoothing.checked(_OWNER, *options)

    def _warn(self, names: ColumnNames, depth: int) -> None:
        """Say where a variance was raised or borrowed, once."""
        marks = [(self.variance_floored_, "raised"), (self._unseen(), "unknown")]
        told = [
            f"{what} in class {label!r}: {names.of(np.flatnonzero(row).tolist())}"
            for which, what in marks
            for label, row in zip(self.classes_.tolist(), which, strict=True)
            if row.any()
        ]
        if told and not self._warned:
            warnings.warn(
                f"{_OWNER}: variances were {_first(told)}. What is constant in a class of n rows "
                "gets 1/(n + 1) of its variance within classes; the least is variance_floor × the "
                "variance over all rows; what a class never shows, it takes from all classes.",
                SingularWarning,
                stacklevel=depth,
            )
            self._warned = True

    def _unseen(self) -> Bool:
        """Tell where a class has no value of a column and borrows from all, (K, D)."""
        result = np.zeros((len(self.classes_), self.n_features_in_), dtype=bool)
        for term in self._terms:
            if term.unseen is not None:
                result[:, list(term.part.columns)] = term.unseen
        result[:, self.constant_features_] = False
        return result

    def _restart(self, summary: NaiveSummary, *, sparse: bool) -> Self:
        """Continue from a summary; if it does not determine a model yet, remember why."""
        self.summary_, self.classes_, self._sparse = summary, summary.classes, sparse
        self._smoothing()
        refuse_priors(self.priors, _OWNER)
        try:
            return self._set(summary, sparse=sparse, depth=5)
        except CredoError as problem:
            self._problem = str(problem)
            for name in _LEARNED:
                self.__dict__.pop(name, None)
            return self

    def _fit_summary(self, summary: NaiveSummary, names: Sequence[str]) -> Self:
        """Fit from the summary of all rows of a table, as if it had been an Arrow table."""
        with unchanged_on_error(self):
            self._warned, self._labels = False, None
            self.n_features_in_ = len(names)
            self.feature_names_in_ = np.array(names, dtype=object)
            self._kind = arrow_kind()
            return self._set(summary, sparse=False)

    def _set_priors(self) -> Self:
        weights = self.summary_.weights
        self.priors_ = prior_probabilities(self.priors, self.classes_, weights, _OWNER)
        return self

    def _check_ready(self) -> None:
        check_is_fitted(self)
        if self._problem is not None:
            raise NumericalError(self._problem)

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        text: str = super().__repr__(N_CHAR_MAX)
        if getattr(self, "families_", None) is None:
            return text
        names, shown = self._column_names(), []
        for family in dict.fromkeys(term.part.family for term in self._terms):
            columns = [c for t in self._terms if t.part.family == family for c in t.part.columns]
            shown.append(f"{family} {names.shown(columns)}")
        return f"{text} with {'; '.join(shown)}"

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        name = self.families if isinstance(self.families, str) else None
        tags.input_tags.sparse = name in ("auto", *SPARSE)
        tags.input_tags.positive_only = name in SPARSE
        tags.input_tags.string = tags.input_tags.categorical = True
        return tags


def _opened(X: Any) -> Table | SparseRows:
    """Read rows of any kind."""
    return SparseRows.of(X, _OWNER) if is_sparse(X) else read_table(X, _OWNER)


def _first(sentences: list[str], most: int = 4) -> str:
    """Join sentences, and say how many more there are."""
    more = f"; and {len(sentences) - most} more" if len(sentences) > most else ""
    return "; ".join(sentences[:most]) + more
