"""``WordSummary``: how often each word occurs in each class, and how such counts merge."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self, final

import numpy as np

from credo._types import F64, Int
from credo._validation.arrays import frozen
from credo.classifiers._labels import union_of
from credo.classifiers.naive_terms import SparseRows, SparseTerm, check_size
from credo.exceptions import InputError
from credo.families import SumSummary


@final
@dataclass(frozen=True, slots=True, eq=False)
class WordSummary:
    """Documents of each class, and the counts of words in them; immutable, and a monoid."""

    model: Any
    classes: Any
    #: Weight of the documents of each class, (K,).
    documents: F64
    #: The words, or a range of slots.
    words: Any
    #: (K, V).
    counts: F64

    @property
    def weights(self) -> F64:
        """Weight of each class."""
        return self.documents

    def __post_init__(self) -> None:
        frozen(self.documents)
        frozen(self.counts)

    @classmethod
    def of(
        cls, reading: tuple[str, Any, Any], labels: tuple[Any, Int], weights: F64, owner: str
    ) -> Self:
        """Add up documents.

        ``reading`` is the model, the words and their counts, ``labels`` the classes and the code
        of each document.
        """
        model, words, found = reading
        classes, codes = labels
        counts = np.zeros((len(classes), 0))
        if len(words):
            rows = SparseRows.of(found, owner)
            counts = rows.counts(codes, weights, len(classes), model)
        documents = np.bincount(codes, weights, len(classes)).astype(np.float64)
        return cls(model, classes, documents, words, counts)

    def merge(self, other: Self, owner: str) -> WordSummary:
        """Join two summaries: classes and words of both are kept."""
        if (self.model, type(self.words)) != (other.model, type(other.words)):
            raise InputError(f"{owner} needs the same model and vectorizer in both.")
        classes, here, there = union_of(self.classes, other.classes, owner)
        words, mine, theirs = self._joined_words(other, owner)
        check_size(len(classes), len(words), owner)
        counts, documents = np.zeros((len(classes), len(words))), np.zeros(len(classes))
        counts[np.ix_(here, mine)] += self.counts
        counts[np.ix_(there, theirs)] += other.counts
        documents[here] += self.documents
        documents[there] += other.documents
        return WordSummary(self.model, classes, documents, words, counts)

    def _joined_words(self, other: Self, owner: str) -> tuple[Any, Int, Int]:
        """Give the words of both, sorted, and where those of each went."""
        if isinstance(self.words, range):
            if self.words != other.words:
                raise InputError(
                    f"{owner}: {len(self.words)} slots cannot be joined with {len(other.words)}. "
                    "Use the same hashing."
                )
            return self.words, np.arange(len(self.words)), np.arange(len(self.words))
        both = tuple(sorted({*self.words, *other.words}))
        place = {word: w for w, word in enumerate(both)}
        mine, theirs = ([place[w] for w in words] for words in (self.words, other.words))
        return both, np.array(mine, dtype=np.intp), np.array(theirs, dtype=np.intp)

    def chosen(self, which: Int) -> SumSummary:
        """Give the summary of some words, for the family of the model."""
        counts = self.counts if len(which) == len(self.words) else self.counts[:, which]
        return SparseTerm.summary_of(self.model, self.documents, counts)
