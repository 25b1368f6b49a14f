"""The state of a text classifier: what it reads, what it keeps, what it shows."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted, column_or_1d

from credo._types import F64, Int
from credo._validation.arrays import frozen, positive_int
from credo._validation.labels import one_of
from credo._validation.probabilities import as_weights
from credo.classifiers._base import prior_probabilities, refuse_priors, unchanged_on_error
from credo.classifiers._labels import encode_labels, refuse_missing_labels
from credo.classifiers._term_classifier import TermClassifier
from credo.classifiers.naive.estimates import Smoothing, estimate_term
from credo.classifiers.naive.learning import PartSummary
from credo.classifiers.naive.parts import ColumnNames, Part
from credo.classifiers.naive.sparse import SparseRows
from credo.classifiers.words.choosing import choose
from credo.classifiers.words.counting import WordSummary
from credo.classifiers.words.reading import Reader, as_documents
from credo.exceptions import CredoError, InputError, NumericalError

_OWNER = "TextClassifier"
_VOCABULARIES = ("all", "no_stop_words", "frequent", "relevant")


class TextState(TermClassifier):
    """Private half of ``TextClassifier``."""

    model: str
    vocabulary: str
    max_words: int | None
    smoothing: Any
    smoothing_target: Any
    summary_: WordSummary
    words_: tuple[Any, ...]
    log_probabilities_: F64
    _chosen: Int
    _reader: Reader
    _problem: str | None = None

    def _summarise(self, X: Any, y: Any, sample_weight: Any) -> WordSummary:
        """Count the words of labelled documents."""
        self._check_options()
        documents = as_documents(X, _OWNER)
        if y is None:
            raise InputError(f"{_OWNER} requires y to be passed, but the target y is None.")
        labels = column_or_1d(y, warn=True)
        if len(labels) != len(documents):
            raise InputError(
                f"{_OWNER} needs one label per document: inconsistent numbers of samples, "
                f"{len(documents)} documents and {len(labels)} labels."
            )
        weights = as_weights(sample_weight, len(documents), _OWNER)
        if not weights.all():
            kept = weights > 0
            documents = [text for text, keep in zip(documents, kept.tolist(), strict=True) if keep]
            labels, weights = labels[kept], weights[kept]
        refuse_missing_labels(labels, _OWNER)
        return self._counted(documents, encode_labels(labels, None), weights)

    def _counted(self, documents: list[str], labels: tuple[Any, Int], weights: F64) -> WordSummary:
        """Count the words of documents; ``labels`` are the classes and the code of each."""
        reading = self.model, *Reader.of(self, _OWNER).learn(documents, _OWNER)
        return WordSummary.of(reading, labels, weights, _OWNER)

    def _fit_summary(self, summary: WordSummary) -> Self:
        """Fit from the summary of all documents."""
        self._check_options()
        with unchanged_on_error(self):
            return self._set(summary)

    def _check_options(self) -> None:
        """Check the choices."""
        one_of(self.model, ("multinomial", "bernoulli"), _OWNER, "model")
        one_of(self.vocabulary, _VOCABULARIES, _OWNER, "vocabulary")
        if self.max_words is not None:
            positive_int(self.max_words, _OWNER, "max_words")

    def _set(self, summary: WordSummary) -> Self:
        """Choose words, estimate from a summary, and show what was learned."""
        smoothing = Smoothing.checked(_OWNER, self.smoothing, self.smoothing_target)
        chosen = choose(summary, self.vocabulary, self.max_words, _OWNER)
        words = summary.words
        self.words_ = (
            words if len(chosen) == len(words) else tuple(words[w] for w in chosen.tolist())
        )
        learned = PartSummary(Part(self.model, range(len(chosen))), summary.chosen(chosen))
        names = self._column_names()
        term = estimate_term(learned, smoothing, names, sparse=True)
        self._terms, self._problem = (term,), None
        self._reader = Reader.of(self, _OWNER).for_words(self.words_)
        self._chosen, self.summary_, self.classes_ = chosen, summary, summary.classes
        with np.errstate(divide="ignore"):
            self.log_probabilities_ = frozen(np.log(term.family.mean))
        self.n_parameters_ = len(self.classes_) + term.n_parameters
        return self._set_priors()

    def _set_priors(self) -> Self:
        weights = self.summary_.documents
        self.priors_ = prior_probabilities(self.priors, self.classes_, weights, _OWNER)
        return self

    def _column_names(self) -> ColumnNames:
        """Name the words."""
        return ColumnNames(_OWNER, self.words_)

    def _rows(self, X: Any) -> Any:
        self._check_ready()
        documents = as_documents(X, _OWNER)
        return SparseRows.of(self._reader.count(documents, self.words_), _OWNER)

    def _continue(self, summary: WordSummary) -> Self:
        """Go on from a summary; if it does not determine a model yet, remember why."""
        refuse_priors(self.priors, _OWNER)
        self.summary_, self.classes_ = summary, summary.classes
        try:
            return self._set(summary)
        except CredoError as problem:
            self._problem = str(problem)
            return self

    def _check_ready(self) -> None:
        check_is_fitted(self)
        if self._problem is not None:
            raise NumericalError(self._problem)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = tags.input_tags.allow_nan = False
        tags.input_tags.one_d_array = tags.input_tags.string = True
        return tags
