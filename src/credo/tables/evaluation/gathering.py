"""Labels, posteriors, column counts and a sample of rows, gathered batch by batch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa

from credo._types import F64, Int, Labels
from credo._validation.labels import hint, listing
from credo.classifiers.streaming.cells import weights_of
from credo.classifiers.table_schema import TableSchema
from credo.exceptions import InputError, LabelError
from credo.tables.evaluation.columns import ColumnTally
from credo.tables.label_names import codes_of, label_text

_OWNER = "evaluate_table"
#: Rows times classes that are held at once: 0.4 GB of probabilities. With what is sorted for the
#: curves it is about eight times that (measured at a million rows of five classes).
MOST_NUMBERS = 50_000_000


class RowSample:
    """A simple random sample of rows from batches whose number is not known beforehand.

    Each row draws a number, and those with the smallest are kept; so every set of rows is as likely
    as any other.
    """

    def __init__(self, size: int, rng: np.random.Generator) -> None:
        self._size, self._rng = size, rng
        self._keys = np.empty(0)
        self._rows: pa.RecordBatch | None = None

    def add(self, batch: pa.RecordBatch) -> None:
        """Offer the rows of one batch."""
        if not self._size:
            return
        keys = self._rng.random(batch.num_rows)
        limit = self._keys.max() if len(self._keys) >= self._size else np.inf
        chosen = np.flatnonzero(keys < limit)
        if not len(chosen):
            return
        added = batch.take(pa.array(chosen))
        rows = added if self._rows is None else pa.concat_batches([self._rows, added])
        keys = np.concatenate([self._keys, keys[chosen]])
        best = np.sort(np.argsort(keys, kind="stable")[: self._size])
        self._keys, self._rows = keys[best], rows.take(pa.array(best))

    @property
    def rows(self) -> pa.RecordBatch | None:
        """The rows kept, in their order; None if none came."""
        return self._rows


class Gathering:
    """What is kept of the rows of a table while they pass.

    Parameters
    ----------
    name
        The table, for messages.
    labels
        Classes of the model.
    schema
        Columns of features, of labels and of weights.
    log_posterior
        Gives log-probabilities of shape (n, K) for a batch and the number of its first row.
    sample
        Where some rows are kept.
    """

    def __init__(
        self,
        name: str,
        labels: Labels,
        schema: TableSchema,
        log_posterior: Callable[[Any, int], F64],
        sample: RowSample,
    ) -> None:
        self.name, self.labels, self.schema, self.sample = name, labels, schema, sample
        self.log_posterior = log_posterior
        self.tallies = [ColumnTally(spec) for spec in schema.features]
        self._codes = codes_of(labels)
        self._truths: list[Int] = []
        self._tables: list[F64] = []
        self._weights: list[F64] = []
        self.n_rows = 0

    def add(self, batch: pa.RecordBatch) -> None:
        """Keep labels and posteriors of a batch, and count its columns."""
        self._check_room(batch.num_rows)
        self._truths.append(self.truths(batch))
        if self.schema.weight is not None:
            self._weights.append(self.weights(batch))
        for tally in self.tallies:
            tally.add(batch.column(tally.spec.name))
        self._tables.append(self.log_posterior(batch, self.n_rows))
        self.sample.add(batch)
        self.n_rows += batch.num_rows

    def truths(self, batch: Any) -> Int:
        """Find the class of each row; an unknown or missing label is named with its row."""
        column = batch.column(self.schema.target)
        if not pa.types.is_dictionary(column.type):
            column = column.dictionary_encode()
        names = column.dictionary.to_pylist()
        table = np.array([*map(self._code, names), -1], dtype=np.intp)
        index = np.asarray(column.indices.fill_null(len(names)).to_numpy(zero_copy_only=False))
        found = table[index.astype(np.intp)]
        if (found < 0).any():
            row = int(np.argmax(found < 0))
            raise self._unknown(row, column[row].as_py())
        return found

    def _code(self, label: Any) -> int:
        """Find a label as it is, or by its text."""
        return self._codes.get(label, self._codes.get(label_text(label), -1))

    def weights(self, batch: Any) -> F64:
        """Read the weight of each row."""
        column = batch.column(self.schema.weight)
        return weights_of(column, str(self.schema.weight), _OWNER, self.n_rows)

    def truth(self) -> Int:
        """Give the class of each row."""
        return np.concatenate(self._truths)

    def row_weights(self) -> F64 | None:
        """Give the weight of each row, if there are weights."""
        return np.concatenate(self._weights) if self._weights else None

    def log_probabilities(self) -> F64:
        """Give the posteriors of all rows, in logarithms; the batches are let go."""
        table = np.empty((self.n_rows, len(self.labels)))
        start = 0
        while self._tables:
            part = self._tables.pop(0)
            table[start : start + len(part)] = part
            start += len(part)
        return table

    def _check_room(self, n_new: int) -> None:
        """Refuse more rows than the curves can be drawn from in memory."""
        most = MOST_NUMBERS // len(self.labels)
        if self.n_rows + n_new > most:
            raise InputError(
                f"{_OWNER}: {self.name} has more than {most} rows. The probabilities of all rows "
                f"are held in memory, at most {MOST_NUMBERS} numbers ({len(self.labels)} classes "
                "for each row). Evaluate a random part of the rows."
            )

    def _unknown(self, row: int, label: Any) -> InputError:
        """Say which label is missing or not known, and where."""
        column = self.schema.target
        place = f"{_OWNER}: row {self.n_rows + row + 1} of {self.name}"
        if label is None:
            return InputError(f"{place} has no label in column {column!r}. Leave such rows out.")
        return LabelError(
            f"{place} has the label {label!r} in column {column!r}, a class that the model does "
            f"not know. It knows {listing(self.labels)}.{hint(label, self.labels)}"
        )
