"""Seeded documents, text columns and mixed tables for the benchmarks of ``NaiveBayes``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy.sparse import csr_array

#: The law of word frequencies is 1 / (rank + this), as Mandelbrot has it: no word is in all.
_ZIPF_SHIFT = 10
#: How much the classes differ: the standard deviation of a log frequency, in documents.
_WORD_SPREAD = 0.3
#: Concentration of the frequencies of categories, in columns: they differ, and all occur.
_CONCENTRATION = 5.0


@dataclass(frozen=True, slots=True)
class Text:
    """Documents as rows of word counts: so many, over so many words, in so many classes."""

    rows: int
    features: int
    classes: int
    length: int

    def draw(self, *, binary: bool) -> tuple[Any, Any]:
        """Give sparse rows, of counts or of 0 and 1, and their labels."""
        rng = np.random.default_rng(0)
        y = rng.integers(self.classes, size=self.rows)
        base = -np.log(np.arange(self.features) + _ZIPF_SHIFT)
        words = np.empty((self.rows, self.length), dtype=np.int32)
        for k in range(self.classes):
            chance = np.exp(base + _WORD_SPREAD * rng.standard_normal(self.features))
            edges = np.cumsum(chance)
            drawn = rng.random((np.count_nonzero(y == k), self.length)) * edges[-1]
            words[y == k] = np.searchsorted(edges, drawn, side="right")
        ends = np.arange(self.rows + 1, dtype=np.int32) * self.length
        shape = (self.rows, self.features)
        X = csr_array((np.ones(words.size), words.ravel(), ends), shape=shape)
        X.sum_duplicates()
        if binary:
            X.data[:] = 1.0
        return X, y


@dataclass(frozen=True, slots=True)
class Categories:
    """Rows of text columns, in so many classes; each column has so many categories."""

    rows: int
    levels: tuple[int, ...]
    classes: int

    def draw(self, given_as: str, missing: float) -> tuple[Any, Any]:
        """Give a table of strings, with a share of missing cells, and the labels."""
        rng = np.random.default_rng(0)
        y = rng.integers(self.classes, size=self.rows)
        X = np.empty((self.rows, len(self.levels)), dtype=object)
        for j, codes in enumerate(draw_codes(self.levels, y, self.classes, rng)):
            X[:, j] = [f"column {j} category {code}" for code in codes]  # a new str for each cell
        X[rng.random(X.shape) < missing] = None
        if given_as == "data frame":
            names = [f"column {j}" for j in range(len(self.levels))]
            return pd.DataFrame(X, columns=names).astype("str"), y
        return X, y


@dataclass(frozen=True, slots=True)
class Mixed:
    """Numbers, then 0 and 1, then codes of categories, all in one table of float64."""

    rows: int
    numbers: int
    binary: int
    levels: tuple[int, ...]
    classes: int

    @property
    def all_levels(self) -> list[int]:
        """Give how many values the columns after the numbers have."""
        return [2] * self.binary + list(self.levels)

    @property
    def features(self) -> int:
        """Give the number of columns."""
        return self.numbers + len(self.all_levels)

    def draw(self) -> tuple[Any, Any]:
        """Give rows and their labels."""
        rng = np.random.default_rng(0)
        y = rng.integers(self.classes, size=self.rows)
        X = np.empty((self.rows, self.features))
        means = rng.normal(size=(self.classes, self.numbers)) / np.sqrt(self.numbers)
        X[:, : self.numbers] = rng.standard_normal((self.rows, self.numbers)) + means[y]
        X[:, self.numbers :] = np.transpose(draw_codes(self.all_levels, y, self.classes, rng))
        return X, y


def draw_codes(levels: Any, y: Any, n_classes: int, rng: np.random.Generator) -> list[Any]:
    """Draw codes of categories, column by column, with frequencies of each class."""
    columns = []
    for n_levels in levels:
        chances = rng.dirichlet(np.full(n_levels, _CONCENTRATION), size=n_classes)
        codes = np.empty(len(y), dtype=np.int64)
        for k in range(n_classes):
            of_class = y == k
            codes[of_class] = rng.choice(n_levels, np.count_nonzero(of_class), p=chances[k])
        columns.append(codes)
    return columns
