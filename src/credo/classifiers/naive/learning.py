"""``NaiveSummary``: what naive Bayes learns from labelled rows, part by part, and how it merges."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self, final

import numpy as np

from credo._types import F64, Int
from credo._validation.arrays import frozen
from credo._validation.labels import listing
from credo._validation.probabilities import block_rows, blocks
from credo.classifiers._labels import union_of
from credo.classifiers.columns.categories import Categories
from credo.classifiers.columns.table import Numbers, Table
from credo.classifiers.naive.counts import counts_of, located, refuse_infinite
from credo.classifiers.naive.parts import ColumnNames, Part
from credo.classifiers.naive.sparse import COUNTS, SparseRows, check_size
from credo.exceptions import InputError
from credo.families import CountSummary, SumSummary
from credo.families.moments import ClassMoments, Rows, class_sums

#: Categories times classes of one column; above it the counts would not be small any more.
_MOST_CELLS = 2**28


@final
@dataclass(frozen=True, slots=True, eq=False)
class Labelled:
    """Rows of one kind or the other, with class codes and weights."""

    rows: Table | SparseRows
    names: ColumnNames
    codes: Int
    #: None if all are one.
    weights: F64 | None
    n_classes: int

    @property
    def row_weights(self) -> F64:
        """One weight per row."""
        return np.ones(len(self.codes)) if self.weights is None else self.weights

    @property
    def class_weights(self) -> F64:
        """Total weight of each class."""
        counts: Any = np.bincount(self.codes, self.weights, self.n_classes)
        return np.asarray(counts, dtype=np.float64)


@final
@dataclass(frozen=True, slots=True, eq=False)
class PartSummary:
    """The summary of one part, with the categories of its column if it has some."""

    part: Part
    #: Leading axis of classes.
    summary: Any
    categories: Categories | None = None

    def merge(self, other: Self) -> PartSummary:
        """Join two summaries of the same classes and columns; categories are matched by value."""
        if self.categories is None or other.categories is None:
            return replace(self, summary=self.summary.merge(other.summary))
        categories, places = self.categories.merged(other.categories)
        _check_cells(len(self.summary.counts), categories, str(self.part.columns[0]))
        moved = _moved(other.summary, places, len(categories.values))
        return PartSummary(self.part, self.summary.merge(moved), categories)

    def spread(self, places: Int, n_classes: int) -> PartSummary:
        """Put the classes at other places."""
        return replace(self, summary=self.summary.spread(places, n_classes))


@final
@dataclass(frozen=True, slots=True, eq=False)
class NaiveSummary:
    """Class weights and the summaries of all parts; immutable, and a monoid."""

    classes: Any
    weights: F64
    parts: tuple[PartSummary, ...]

    def __post_init__(self) -> None:
        frozen(self.weights)

    @classmethod
    def of(cls, rows: Labelled, classes: Any, parts: tuple[Part, ...]) -> Self:
        """Summarise labelled rows."""
        return cls(classes, rows.class_weights, tuple(summarise_part(rows, part) for part in parts))

    def merge(self, other: Self, owner: str) -> NaiveSummary:
        """Join two summaries of the same parts; the classes of both are kept."""
        mine, theirs = ([p.part for p in each.parts] for each in (self, other))
        if mine != theirs:
            raise InputError(
                f"{owner}: the columns have other families: {_described(mine)} and "
                f"{_described(theirs)}. Pass the same families= to both."
            )
        classes, here, there = union_of(self.classes, other.classes, owner)
        n = len(classes)
        weights = np.zeros(n)
        weights[here] += self.weights
        weights[there] += other.weights
        pairs = zip(self.parts, other.parts, strict=True)
        merged = tuple(a.spread(here, n).merge(b.spread(there, n)) for a, b in pairs)
        return NaiveSummary(classes, weights, merged)


def _described(parts: list[Part]) -> str:
    """Say which families parts have."""
    return listing([f"{p.family} of columns {list(p.columns[:8])}" for p in parts])


def summarise_part(rows: Labelled, part: Part) -> PartSummary:
    """Summarise the columns of one part."""
    if isinstance(rows.rows, SparseRows):
        return PartSummary(part, _sparse_summary(rows, rows.rows, part))
    if part.family == "categorical":
        return _counts(rows, rows.rows, part)
    _refuse_words(rows.rows, part, rows.names)
    if part.family == "gaussian":
        return PartSummary(part, _moments(rows, rows.rows, part))
    if part.family == "multinomial":
        return PartSummary(part, _totals(rows, rows.rows, part))
    return PartSummary(part, _by_blocks(rows, rows.rows, part))


def _refuse_words(table: Table, part: Part, names: ColumnNames) -> None:
    """Refuse text in a column whose family is of numbers."""
    if table.matrix is not None:
        return
    for column in part.columns:
        found = table.column(column)
        if not isinstance(found, Numbers):
            raise InputError(
                f"{names.owner}: column {names.names[column]!r} of family {part.family!r} needs "
                f"numbers. Got {found.categories[0] if found.categories else None!r}. Use the "
                "family 'categorical' for text."
            )


def _sparse_summary(rows: Labelled, sparse: SparseRows, part: Part) -> SumSummary:
    """Add up sparse rows."""
    counts = sparse.counts(rows.codes, rows.row_weights, rows.n_classes, COUNTS[part.family])
    weights = rows.class_weights
    if not part.is_vector:
        weights = np.broadcast_to(weights[:, None], counts.shape)
    return SumSummary(part.distribution.__name__, weights, counts)


def _totals(rows: Labelled, table: Table, part: Part) -> SumSummary:
    """Add up the counts of a group of columns; a row with a missing count is left out."""
    check_size(rows.n_classes, len(part.columns), rows.names.owner)
    total, weight = np.zeros((rows.n_classes, len(part.columns))), np.zeros(rows.n_classes)
    weights = rows.row_weights
    for block in blocks(len(rows.codes), block_rows(len(part.columns))):
        x = counts_of(table, part, block, rows.names)
        seen = ~np.isnan(x).any(axis=1)
        codes, w = rows.codes[block][seen], weights[block][seen]
        total += class_sums(x[seen], codes, w, rows.n_classes)
        weight += np.bincount(codes, w, rows.n_classes)
    return SumSummary(part.distribution.__name__, weight, total)


def _counts(rows: Labelled, table: Table, part: Part) -> PartSummary:
    """Count the categories of a column."""
    column = part.columns[0]
    words = table.words(column)
    size = len(words.categories)
    categories = Categories.of(words.categories)
    _check_cells(rows.n_classes, categories, repr(rows.names.names[column]))
    cells = (rows.codes * (size + 1) + words.codes) + 1  # the first place of a class: missing
    flat: Any = np.bincount(cells, rows.weights, rows.n_classes * (size + 1))
    counts = flat.reshape(rows.n_classes, size + 1)[:, 1:].astype(np.float64)
    summary = CountSummary("Categorical", counts.sum(axis=1), counts)
    return PartSummary(part, summary, categories)


def _check_cells(n_classes: int, categories: Categories, column: str) -> None:
    """Refuse a column with more categories than anyone would count."""
    size = len(categories.values)
    if n_classes * size > _MOST_CELLS:
        raise InputError(
            f"Column {column} has {size} categories, too many to count in {n_classes} classes. Is "
            "it an identifier? Drop it."
        )


def _moved(summary: CountSummary, places: Int, size: int) -> CountSummary:
    """Put the counts of categories at other places."""
    counts = np.zeros((*summary.counts.shape[:-1], size))
    counts[..., places] = summary.counts
    return replace(summary, counts=counts)


def _moments(rows: Labelled, table: Table, part: Part) -> ClassMoments:
    """Give means and centred squares of Gaussian columns."""
    check_size(rows.n_classes, len(part.columns), rows.names.owner)
    whole = table.matrix is not None and len(part.columns) == table.n_columns
    n = len(rows.codes)
    result = None
    for block in blocks(n, n if whole else 4 * block_rows(len(part.columns))):
        weights = None if rows.weights is None else rows.weights[block]
        x = table.matrix if whole else table.floats(part.columns, block)
        try:
            found = _reduced(x, rows.codes[block], weights, rows)
        except InputError:
            for b in blocks(len(x), block_rows(len(part.columns))):
                numbers = np.arange(block.start + b.start, block.start + b.stop)
                refuse_infinite(np.asarray(x[b], dtype=np.float64), numbers, part, rows.names)
            raise
        result = found if result is None else result.merge(found)
    assert result is not None  # noqa: S101 - there is at least one row
    return result


def _reduced(X: Any, codes: Int, weights: F64 | None, rows: Labelled) -> ClassMoments:
    """Reduce rows, by what is observed if something is missing."""
    found = Rows(X, codes, weights, rows.n_classes).moments("diagonal", rows.names.owner)
    assert found is not None  # noqa: S101 - what is missing is left out of diagonals
    return found


def _by_blocks(rows: Labelled, table: Table, part: Part) -> Any:
    """Summarise blocks of rows and merge; in one piece if merging would be approximate."""
    n = len(rows.codes)
    size = n if part.family == "laplace" else block_rows(len(part.columns))
    result = None
    for block in blocks(n, size):
        x = table.floats(part.columns, block)
        weights = None if rows.weights is None else rows.weights[block]
        try:
            found = part.distribution.summarise(x, weights, rows.codes[block], rows.n_classes)
        except InputError as error:
            raise located(error, part.distribution, x, block, (part, rows.names)) from error
        result = found if result is None else result.merge(found)
    return result
