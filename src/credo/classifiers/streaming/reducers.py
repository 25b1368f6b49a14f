"""``Reducer``: from Arrow batches to the summary that a model is estimated from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final

import numpy as np
from sklearn.base import clone, is_regressor

from credo._types import F64, Int
from credo.classifiers.streaming.cells import labels_of, numbers_of, weights_of
from credo.classifiers.streaming.matrices import inputs_of
from credo.classifiers.table_schema import TableSchema
from credo.exceptions import InputError
from credo.families.moments import Rows

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
        """Return the number of a row in the table, counted from one."""
        return self.start + (row if self.kept is None else int(self.kept[row])) + 1


def _indices(rows: Int) -> Any:
    """Return numbers of rows as Arrow takes them."""
    import pyarrow as pa  # noqa: PLC0415 - loaded with the first batch

    return pa.array(rows)


@final
class Reducer:
    """Turns batches into summaries of a model, merges them, and fits a model from one.

    Small and without rows: it travels to wherever the rows are. ``head`` are the first rows, by
    which a model of columns chooses their families; None of an update, which keeps those it has.
    """

    def __init__(self, model: Any, schema: TableSchema, owner: str, head: Any = None) -> None:
        self.schema, self.owner, self.model = schema, owner, clone(model)
        self.model._check_parameters(())  # noqa: SLF001 - of this room, as all of these
        self._names = None if model.kind == "documents" else schema.inputs
        if self._names is not None:
            self.model.n_features_in_ = len(self._names)
            self.model.feature_names_in_ = np.array(self._names, dtype=object)
        if model.kind == "columns" and head is None:
            self.model._keep(model.summary_)  # noqa: SLF001
        elif model.kind == "columns":
            self.model._settle(self._inputs(Batch(head, None, 0)))  # noqa: SLF001

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns to read."""
        weight = () if self.schema.weight is None else (self.schema.weight,)
        return (*self.schema.names, self.schema.target, *weight)

    def summarise(self, batch: Any, start: int = 0) -> Any:
        """Summarise an Arrow batch that begins at that row; None if no row has a weight."""
        rows = Batch.of(batch, self.schema, self.owner, start)
        if not len(rows):
            return None
        labelled = self._labelled(rows)
        try:
            found = self.model._summarise(labelled)  # noqa: SLF001
        except InputError as error:  # it counts rows from zero, within the batch
            told = f"rows {rows.number(0)} to {rows.number(len(rows) - 1)}"
            where = self._first(rows, np.isinf, "infinity")
            what = f"{told}, counted from 0 in what follows: {error}" if where is None else where
            raise InputError(f"{self.owner}: {what}") from error
        if found is None:
            raise InputError(
                f"{self.owner}: {self._first(rows, np.isnan, 'no value')} Correlations are learned "
                "from missing values by EM over all rows at once: read the table into a frame and "
                "call fit, or use a model without correlations, such as NaiveBayes."
            )
        return found

    def merge(self, first: Any, second: Any) -> Any:
        """Join two summaries, either of which may be None."""
        if first is None or second is None:
            return second if first is None else first
        return first.merge(second)

    def finish(self, model: Any, summary: Any) -> None:
        """Fit a model from the summary of all rows."""
        n_features = None if self._names is None else len(self._names)
        model._fit_summary(summary, n_features, self._names)  # noqa: SLF001

    def _inputs(self, batch: Batch) -> Any:
        """Return the features of a batch as the model takes them."""
        return inputs_of(self.model.kind, batch.rows, self.schema, self.owner, batch.number)

    def _labelled(self, batch: Batch) -> Any:
        """Return a batch as the model summarises it: features, codes of the labels, weights."""
        schema, column = self.schema, batch.rows.column(self.schema.target)
        if is_regressor(self.model):
            return self.model._joined(self._inputs(batch), numbers_of(column), batch.weights)  # noqa: SLF001
        classes, codes = labels_of(
            column, schema.label_kind, schema.target, self.owner, batch.number
        )
        if len(classes) > _MOST_CLASSES:
            raise InputError(
                f"{self.owner}: column {schema.target!r} has more than {_MOST_CLASSES} labels. Is "
                "it an identifier? Name the column of labels as the target."
            )
        return Rows(self._inputs(batch), codes, batch.weights, len(classes)), classes

    def _first(self, batch: Batch, is_bad: Any, what: str) -> str | None:
        """Name the first cell that is bad."""
        names = [each.name for each in self.schema.features if each.kind in ("number", "boolean")]
        for name in (*names, *([self.schema.target] if is_regressor(self.model) else [])):
            bad = is_bad(numbers_of(batch.rows.column(name)))
            if bad.any():
                return f"column {name!r} has {what} in row {batch.number(int(bad.argmax()))}."
        return None
