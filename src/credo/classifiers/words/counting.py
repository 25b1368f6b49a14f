"""``WordSummary``: how often each word occurs in each class, and how such counts merge."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self, final

import numpy as np

from credo._types import F64, Int
from credo.classifiers._labels import union_of
from credo.classifiers.columns.categories import Categories
from credo.classifiers.naive.sparse import COUNTS, SparseRows, check_size
from credo.exceptions import InputError
from credo.families import SumSummary


@final
@dataclass(frozen=True, slots=True, eq=False)
class WordSummary:
    """Documents of each class, and the counts of words in them; immutable, and a monoid."""

    model: str
    classes: Any
    #: Weight of the documents of each class, (K,).
    documents: F64
    #: The words, or a range of slots.
    words: Any
    #: (K, V).
    counts: F64

    @classmethod
    def of(
        cls, model: str, words: Any, rows: SparseRows, labels: tuple[Any, Int], weights: F64
    ) -> Self:
        """Add up counted documents, ``labels`` being the classes and the code of each document."""
        classes, codes = labels
        counts = rows.counts(codes, weights, len(classes), COUNTS[model])
        documents = np.bincount(codes, weights, len(classes)).astype(np.float64)
        return cls(model, classes, documents, words, counts)

    def merge(self, other: Self, owner: str) -> WordSummary:
        """Join two summaries: classes and words of both are kept."""
        if (self.model, type(self.words)) != (other.model, type(other.words)):
            raise InputError(f"{owner} needs the same model and vectorizer in both.")
        classes, here, there = union_of(self.classes, other.classes, owner)
        words, places = self._joined_words(other, owner)
        check_size(len(classes), len(words), owner)
        counts, documents = np.zeros((len(classes), len(words))), np.zeros(len(classes))
        counts[here, : len(self.words)] += self.counts
        counts[np.ix_(there, places)] += other.counts
        documents[here] += self.documents
        documents[there] += other.documents
        return WordSummary(self.model, classes, documents, words, counts)

    def _joined_words(self, other: Self, owner: str) -> tuple[Any, Int]:
        """Give the words of both, those of this one first, and where the other's went."""
        if not isinstance(self.words, range):
            both, places = Categories.of(self.words).merged(Categories.of(other.words))
            return both.values, places
        if self.words != other.words:
            raise InputError(
                f"{owner}: {len(self.words)} slots cannot be joined with {len(other.words)}. Use "
                "the same hashing."
            )
        return self.words, np.arange(len(self.words))

    def chosen(self, which: Int) -> SumSummary:
        """Give the summary of some words, for the family of the model."""
        counts = self.counts if len(which) == len(self.words) else self.counts[:, which]
        if self.model == "multinomial":
            return SumSummary("Multinomial", self.documents, counts)
        weight = np.broadcast_to(self.documents[:, None], counts.shape)
        return SumSummary("Bernoulli", weight, counts)
