"""Reducers: from Arrow batches to the summary that a model is estimated from."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from sklearn.base import clone

from credo._types import F64, Int
from credo.classifiers.gaussian import GaussianClassifier, Options
from credo.classifiers.naive_bayes import NaiveBayes, NaiveSummary, family_name
from credo.classifiers.regression import GaussianRegressor
from credo.classifiers.streaming.cells import labels_of, numbers_of, texts_of, weights_of
from credo.classifiers.streaming.matrices import table_of
from credo.classifiers.summary import ClassSummary
from credo.classifiers.table_schema import TableSchema
from credo.classifiers.text import TextClassifier, WordSummary
from credo.exceptions import InputError
from credo.families.moments import ClassMoments, Detail, Rows, RowsView

#: More labels than this in one batch are not classes but names of rows.
_MOST_CLASSES = 2**15


@final
@dataclass(frozen=True, slots=True, eq=False)
class Batch:
    """Rows of positive weight, with their place in the table."""

    rows: Any
    weights: F64 | None
    start: int
    #: Which rows of the table they are, counted from the start; None if all.
    kept: Int | None = None

    @classmethod
    def of(cls, batch: Any, schema: TableSchema, owner: str, start: int) -> Batch:
        """Read the weights, and leave out rows without any."""
        if schema.weight is None:
            return cls(batch, None, start)
        weights = weights_of(batch.column(schema.weight), schema.weight, owner, start)
        if weights.all():
            return cls(batch, weights, start)
        kept = np.flatnonzero(weights)
        return cls(batch.take(_indices(kept)), weights[kept], start, kept)

    def __len__(self) -> int:
        return len(self.rows)

    def number(self, row: int) -> int:
        """Give the number of a row in the table, counted from one."""
        return self.start + (row if self.kept is None else int(self.kept[row])) + 1


def _indices(rows: Int) -> Any:
    """Give numbers of rows as Arrow takes them."""
    import pyarrow as pa  # noqa: PLC0415 - loaded with the first batch

    return pa.array(rows)


class Reducer(ABC):
    """Turns batches into summaries, merges them, and fits a model from one.

    Small and without rows: it travels to wherever the rows are.
    """

    def __init__(self, model: Any, schema: TableSchema, owner: str) -> None:
        self.model, self.schema, self.owner = clone(model), schema, owner

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns to read."""
        weight = () if self.schema.weight is None else (self.schema.weight,)
        return (*self.schema.names, self.schema.target, *weight)

    def summarise(self, batch: Any, start: int = 0) -> Any:
        """Summarise an Arrow batch that begins at that row; None if no row has a weight."""
        rows = Batch.of(batch, self.schema, self.owner, start)
        return self._summary(rows) if len(rows) else None

    def merge(self, first: Any, second: Any) -> Any:
        """Join two summaries, either of which may be None."""
        if first is None or second is None:
            return second if first is None else first
        return self._merged(first, second)

    @abstractmethod
    def _summary(self, batch: Batch) -> Any:
        """Summarise rows, at least one."""

    def _merged(self, first: Any, second: Any) -> Any:
        return first.merge(second, self.owner)

    @abstractmethod
    def finish(self, model: Any, summary: Any) -> None:
        """Fit a model of this kind from the summary of all rows."""

    def _labels(self, batch: Batch) -> tuple[Any, Int]:
        """Give the classes of a batch and the code of each row."""
        schema = self.schema
        column = batch.rows.column(schema.target)
        found = labels_of(column, schema.label_kind, schema.target, self.owner, batch.number)
        if len(found[0]) > _MOST_CLASSES:
            raise InputError(
                f"{self.owner}: column {schema.target!r} has more than {_MOST_CLASSES} labels. Is "
                "it an identifier? Name the column of labels as the target."
            )
        return found

    def _numbers(self, batch: Batch, names: tuple[str, ...]) -> list[F64]:
        """Give columns of numbers."""
        return [numbers_of(batch.rows.column(name)) for name in names]

    def _refuse(self, batch: Batch, columns: list[F64], names: tuple[str, ...]) -> str:
        """Name the first value that no moments can be had of."""
        for name, column in zip(names, columns, strict=True):
            bad = ~np.isfinite(column)
            if bad.any():
                row = int(bad.argmax())
                what = "no value" if np.isnan(column[row]) else "infinity"
                return f"column {name!r} has {what} in row {batch.number(row)}"
        return "some values are so large that their squares are not numbers"


@final
class GaussianReducer(Reducer):
    """For ``GaussianClassifier``."""

    def __init__(self, model: Any, schema: TableSchema, owner: str) -> None:
        super().__init__(model, schema, owner)
        options = Options.checked(model)
        options.refuse_fourth_moments()
        self.detail: Detail = options.detail

    def _summary(self, batch: Batch) -> ClassSummary:
        names = self.schema.names
        classes, codes = self._labels(batch)
        columns = self._numbers(batch, names)
        moments = moments_of(columns, codes, batch.weights, len(classes), self.detail)
        if moments is None:
            raise InputError(
                f"{self.owner}: {self._refuse(batch, columns, names)}. Correlations are learned "
                "from missing values by EM over all rows at once: read the table into a frame and "
                "call fit, or use covariance='diagonal' or NaiveBayes."
            )
        return ClassSummary(classes, moments, names)

    def _merged(self, first: ClassSummary, second: ClassSummary) -> ClassSummary:
        return first.merge(second)

    def finish(self, model: GaussianClassifier, summary: ClassSummary) -> None:
        """Fit the classifier."""
        model.fit_summary(summary)


@final
class RegressionReducer(Reducer):
    """For ``GaussianRegressor``: one Gaussian of features and target."""

    def _summary(self, batch: Batch) -> ClassMoments:
        names = (*self.schema.names, self.schema.target)
        columns = self._numbers(batch, names)
        codes = np.zeros(len(batch), dtype=np.intp)
        moments = moments_of(columns, codes, batch.weights, 1, "tied")
        if moments is None:
            raise InputError(
                f"{self.owner}: {self._refuse(batch, columns, names)}. Missing values are learned "
                "from by EM over all rows at once: read the table into a frame and call fit."
            )
        return moments

    def _merged(self, first: ClassMoments, second: ClassMoments) -> ClassMoments:
        return first.merge(second)

    def finish(self, model: GaussianRegressor, summary: ClassMoments) -> None:
        """Fit the regressor."""
        names = self.schema.inputs
        model._fit_summary(summary, len(names), names)  # noqa: SLF001 - of this room


@final
class NaiveReducer(Reducer):
    """For ``NaiveBayes``; families that are ``"auto"`` come from the first rows, or a fit."""

    def __init__(self, model: Any, schema: TableSchema, owner: str, head: Any) -> None:
        super().__init__(model, schema, owner)
        if head is None:
            _refuse_other_families(model, owner)
            self.model.summary_ = model.summary_
        else:
            self.model._settle(table_of(head, schema, owner))  # noqa: SLF001 - of this room

    def _summary(self, batch: Batch) -> NaiveSummary:
        classes, codes = self._labels(batch)
        table = table_of(batch.rows, self.schema, self.owner)
        rows = Rows(table, codes, batch.weights, len(classes))
        return self.model._summarise((rows, classes))  # noqa: SLF001 - of this room

    def _merged(self, first: NaiveSummary, second: NaiveSummary) -> NaiveSummary:
        return first.merge(second)

    def finish(self, model: NaiveBayes, summary: NaiveSummary) -> None:
        """Fit the classifier."""
        model._fit_summary(summary, len(self.schema.names), self.schema.names)  # noqa: SLF001 - of this room


def _refuse_other_families(model: NaiveBayes, owner: str) -> None:
    """Refuse to go on from a summary with families that were named after it was made."""
    learned = getattr(model, "families_", {})
    named = model.families
    if not isinstance(named, Mapping):
        named = dict.fromkeys(learned, named)
    for column, family in named.items():
        known = learned.get(column)
        wanted = None if family == "auto" else family_name(family, owner)
        if known is not None and wanted is not None and known != wanted:
            raise InputError(
                f"{owner}: column {column!r} was learned as {known!r}, and families= says "
                f"{wanted!r} now. Fit all rows again, or set families back."
            )


@final
class WordReducer(Reducer):
    """For ``TextClassifier``: one or more columns of text, read one after the other."""

    def _summary(self, batch: Batch) -> WordSummary:
        classes, codes = self._labels(batch)
        documents = documents_of(batch.rows, self.schema, self.owner, batch.number)
        rows = Rows(documents, codes, batch.weights, len(classes))
        return self.model._summarise((rows, classes))  # noqa: SLF001 - of this room

    def _merged(self, first: WordSummary, second: WordSummary) -> WordSummary:
        return first.merge(second)

    def finish(self, model: TextClassifier, summary: WordSummary) -> None:
        """Fit the classifier."""
        model._fit_summary(summary)  # noqa: SLF001 - of this room


def documents_of(
    batch: Any, schema: TableSchema, owner: str, number: Callable[[int], int]
) -> list[str]:
    """Give one document per row: the texts of the row's columns, joined."""
    texts = [texts_of(batch.column(name), name, owner, number) for name in schema.names]
    return texts[0] if len(texts) == 1 else list(map("\n".join, zip(*texts, strict=True)))


def _rows_of(columns: list[F64]) -> RowsView:
    """Give rows of columns that are stored apart, a block at a time."""
    shape = len(columns[0]), len(columns)
    return RowsView(shape, lambda rows: np.column_stack([column[rows] for column in columns]))


def moments_of(
    columns: list[F64], codes: Int, weights: F64 | None, n_classes: int, detail: Detail
) -> ClassMoments | None:
    """Summarise columns, by what is observed if something is missing and that can be done."""
    found = ClassMoments.of(_rows_of(columns), codes, weights, n_classes, detail)
    return found if np.isfinite(found.means).all() and np.isfinite(found.scatter).all() else None


def reducer_for(model: Any, schema: TableSchema, head: Any, owner: str) -> Reducer:
    """Choose how a model learns from batches; ``head`` are the first rows, None of an update."""
    if isinstance(model, NaiveBayes):
        return NaiveReducer(model, schema, owner, head)
    kinds: dict[type, type[Reducer]] = {
        GaussianClassifier: GaussianReducer,
        GaussianRegressor: RegressionReducer,
        TextClassifier: WordReducer,
    }
    return kinds[type(model)](model, schema, owner)
