"""From documents to sparse counts, by scikit-learn's vectorisers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set as AbstractSet
from dataclasses import dataclass
from typing import Any, Self, final

import numpy as np
from sklearn.base import clone
from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer, TfidfVectorizer

from credo._validation.arrays import positive_int
from credo.exceptions import InputError

#: What would turn counts into something else, and what it must be.
_NEEDED = {"alternate_sign": False, "norm": None}
#: What would choose words batch by batch, and what it must be.
_CHOICES = {"min_df": 1, "max_df": 1.0, "max_features": None}


def as_documents(X: Any, owner: str) -> list[str]:
    """Check a sequence of documents."""
    if isinstance(X, (str, bytes)) or getattr(X, "ndim", 1) == 0:
        raise InputError(f"{owner} needs a list of documents. Got one text: pass [text].")
    if getattr(X, "ndim", 1) > 1 or (hasattr(X, "columns") and not hasattr(X, "to_list")):
        raise InputError(f"{owner} needs one column of documents. Got a table: pass one column.")
    if isinstance(X, (AbstractSet, Mapping)) or not isinstance(X, Iterable):
        raise InputError(f"{owner} needs documents in order, a list. Got {type(X).__name__}.")
    documents = X.tolist() if isinstance(X, np.ndarray) else list(X)
    if documents and hasattr(documents[0], "as_py"):
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
        given = classifier.vectorizer
        if given is not None and classifier.hashing is not None:
            raise InputError(f"{owner} takes hashing or a vectorizer, not both.")
        made = _standard(classifier.hashing, owner) if given is None else _checked(given, owner)
        if classifier.vocabulary == "no_stop_words" and made.stop_words is None:
            made.set_params(stop_words=_stop_words(classifier.stop_words, owner))
        return cls(made, classifier.model == "bernoulli")

    def refuse_choices(self, owner: str) -> None:
        """Refuse a vectoriser that leaves out words by what one batch holds."""
        options = self.vectorizer.get_params()
        choices = [  # 1 is one document, and 1.0 all of them
            name
            for name, value in _CHOICES.items()
            if name in options and repr(options[name]) != repr(value)
        ]
        if choices:
            raise InputError(
                f"{owner} needs a vectorizer that keeps all words. Got {', '.join(choices)}, which "
                "chooses anew in each batch. Use vocabulary= and max_words= instead."
            )

    @property
    def hashes(self) -> bool:
        """Tell whether words are numbers of slots."""
        return isinstance(self.vectorizer, HashingVectorizer)

    def learn(self, documents: list[str], owner: str) -> tuple[Any, Any]:
        """Count all words of documents: the words, or a range of slots, and the counts."""
        if self.hashes:
            counts = self.vectorizer.transform(documents)
            return range(counts.shape[1]), self._as_counts(counts)
        reader = clone(self.vectorizer).set_params(dtype=np.float64)
        try:
            counts = reader.fit_transform(documents)
        except ValueError as error:
            if "empty vocabulary" in str(error):
                return (), None
            raise InputError(f"The vectorizer of {owner} failed: {error}") from error
        words = reader.get_feature_names_out().tolist()
        order = sorted(range(len(words)), key=words.__getitem__)  # a given vocabulary has its own
        if order != list(range(len(words))):
            words, counts = [words[w] for w in order], counts[:, order]
        return tuple(words), self._as_counts(counts)

    def for_words(self, words: Any) -> Reader:
        """Give a reader of the chosen words only, in their order."""
        if self.hashes:
            return self
        made = clone(self.vectorizer).set_params(vocabulary=list(words), dtype=np.float64)
        return Reader(made, self.binary)

    def count(self, documents: list[str], words: Any) -> Any:
        """Count the words of documents that this is a reader of, or some slots."""
        counts = self.vectorizer.transform(documents)
        if self.hashes and len(words) < counts.shape[1]:
            counts = counts[:, list(words)]
        return self._as_counts(counts)

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


def _checked(given: Any, owner: str) -> Any:
    """Copy a vectoriser of the user, and check that it counts words, and all of them."""
    counts = isinstance(given, (CountVectorizer, HashingVectorizer))
    options = given.get_params() if counts else {}
    wrong = [f"{n}={v}" for n, v in _NEEDED.items() if n in options and options[n] != v]
    if wrong or not counts or isinstance(given, TfidfVectorizer):
        raise InputError(
            f"The vectorizer of {owner} must count words: a CountVectorizer(), or a "
            "HashingVectorizer(alternate_sign=False, norm=None). Got "
            f"{given if counts else type(given).__name__}."
        )
    return clone(given)


def _stop_words(words: Any, owner: str) -> Any:
    """Check the words to leave out."""
    if isinstance(words, str) and words == "english":
        return words
    if not isinstance(words, str) and isinstance(words, Iterable):
        listed = list(words)
        if all(isinstance(word, str) for word in listed):
            return sorted(str(word) for word in listed)
    raise InputError(
        f"The stop_words of {owner} must be 'english' or a list of words. Got {words!r}."
    )
