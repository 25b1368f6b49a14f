"""From documents to sparse counts, by scikit-learn's vectorisers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self, final

import numpy as np
from sklearn.base import clone
from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer

from credo._validation.arrays import positive_int
from credo.exceptions import InputError

#: What would turn counts into something else, and what it must be.
_NEEDED = {"alternate_sign": False, "norm": None}


def as_documents(X: Any, owner: str) -> list[str]:
    """Check a sequence of documents."""
    if isinstance(X, (str, bytes)):
        raise InputError(f"{owner} needs a list of documents. Got one text: pass [text].")
    if hasattr(X, "columns") and not hasattr(X, "to_list"):
        raise InputError(f"{owner} needs one column of documents. Got a table: pass one column.")
    try:
        documents = X.tolist() if isinstance(X, np.ndarray) else list(X)
    except TypeError:
        raise InputError(f"{owner} needs a list of documents. Got {type(X).__name__}.") from None
    if hasattr(X, "as_py") or (documents and hasattr(documents[0], "as_py")):
        documents = [cell.as_py() for cell in documents]  # Arrow
    for row, document in enumerate(documents):
        if not isinstance(document, str):
            raise InputError(
                f"{owner} needs documents as text. Got {document!r} in row {row}. Leave missing "
                "documents out, or pass '' for one without words."
            )
    if not documents:
        raise InputError(f"{owner}: found 0 sample(s), while a minimum of 1 is required.")
    return documents


@final
@dataclass(frozen=True, slots=True, eq=False)
class Reader:
    """Counts words, or whether they occur, in documents."""

    vectorizer: Any
    binary: bool

    @classmethod
    def of(cls, classifier: Any, owner: str) -> Self:
        """Make a reader from the options of a classifier."""
        binary = classifier.model == "bernoulli"
        given = classifier.vectorizer
        if given is not None and classifier.hashing is not None:
            raise InputError(f"{owner} takes hashing or a vectorizer, not both.")
        if given is None:
            given = _standard(classifier.hashing, owner)
        made = clone(given)
        known = made.get_params() if hasattr(made, "get_params") else {}
        wrong = [
            f"{name}={value}"
            for name, value in _NEEDED.items()
            if known.get(name) != value and name in known
        ]
        if wrong or not hasattr(made, "transform"):
            raise InputError(
                f"The vectorizer of {owner} must count words: a CountVectorizer, or a "
                f"HashingVectorizer with {', '.join(wrong) or 'alternate_sign=False, norm=None'}. "
                f"Got {type(made).__name__}."
            )
        if classifier.vocabulary == "no_stop_words":
            made.set_params(stop_words=classifier.stop_words)
        return cls(made, binary)

    @property
    def hashes(self) -> bool:
        """Tell whether words are numbers of slots."""
        return isinstance(self.vectorizer, HashingVectorizer)

    def learn(self, documents: list[str], owner: str) -> tuple[Any, Any]:
        """Count all words of documents: the words, or a range of slots, and the counts."""
        if self.hashes:
            counts = self.vectorizer.transform(documents)
            return range(counts.shape[1]), self._as_counts(counts)
        try:
            counts = clone(self.vectorizer).set_params(dtype=np.float64)
            found = counts.fit_transform(documents)
        except ValueError as error:
            raise InputError(
                f"{owner}: the documents hold no words to learn from. {error}."
            ) from error
        return tuple(counts.get_feature_names_out().tolist()), self._as_counts(found)

    def count(self, documents: list[str], words: Any) -> Any:
        """Count the chosen words of documents, in their order."""
        if self.hashes:
            counts = self.vectorizer.transform(documents)
            chosen = counts if len(words) == counts.shape[1] else counts[:, list(words)]
            return self._as_counts(chosen)
        reader = clone(self.vectorizer)
        reader.set_params(vocabulary=list(words), dtype=np.float64, min_df=1, max_df=1.0)
        reader.set_params(max_features=None)
        return self._as_counts(reader.transform(documents))

    def _as_counts(self, counts: Any) -> Any:
        """Replace counts by ones if only occurrence matters."""
        if self.binary:
            counts.data.fill(1.0)
        return counts


def _standard(hashing: int | None, owner: str) -> Any:
    """Make the vectoriser that is used unless one is given."""
    if hashing is None:
        return CountVectorizer()
    slots = positive_int(hashing, owner, "hashing")
    return HashingVectorizer(n_features=slots, alternate_sign=False, norm=None)
