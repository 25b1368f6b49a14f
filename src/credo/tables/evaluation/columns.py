"""What is in each column of a table, counted batch by batch."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from credo._types import F64
from credo.classifiers.streaming.cells import numbers_of
from credo.classifiers.table_schema import ColumnKind, ColumnSpec
from credo.families import Gaussian

#: Distinct values of a column that are counted; a column with more is an identifier.
_MOST_VALUES = 10_000
#: Values that are listed.
_SHOWN = 5
#: Characters of such a value that are kept.
_LONGEST = 200


@dataclass(frozen=True, slots=True)
class ColumnSummary:
    """What is in one column.

    Attributes
    ----------
    name, kind
        The column, and what it is to the model.
    n_rows, n_missing
        Rows, and rows without a value.
    mean, deviation, least, greatest
        Of numbers and truth values; of the number of characters of a text. None for categories, and
        if all values are missing.
    n_values
        Distinct categories; None for other columns, or if there are more than ten thousand.
    most_frequent
        The most frequent categories with their numbers of rows.
    shift
        How far the column is from the rows that the model was fitted to: for numbers the mean's
        distance in standard deviations of then; for categories the share of rows that would
        have to change theirs. None if the model does not tell.
    n_unknown
        Rows with a category that the model has not seen; None if it does not tell.
    """

    name: str
    kind: ColumnKind
    n_rows: int
    n_missing: int
    mean: float | None = None
    deviation: float | None = None
    least: float | None = None
    greatest: float | None = None
    n_values: int | None = None
    most_frequent: tuple[tuple[Any, int], ...] = ()
    shift: float | None = None
    n_unknown: int | None = None

    def to_dict(self) -> dict[str, Any]:
        """Give all fields as plain lists, names and numbers."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Before:
    """What a model remembers of a column.

    Attributes
    ----------
    mean, deviation
        Of numbers.
    shares
        Share of each category.
    """

    mean: float | None = None
    deviation: float | None = None
    shares: Mapping[Any, float] | None = None


class ColumnTally:
    """Count one column, batch by batch; memory does not grow with the rows."""

    def __init__(self, spec: ColumnSpec) -> None:
        self.spec = spec
        self.n_rows = self.n_missing = 0
        self._moments: Any = None
        self._least, self._greatest = np.inf, -np.inf
        self._counts: Counter[Any] | None = Counter() if spec.is_category else None

    def add(self, values: pa.Array) -> None:
        """Add the values of one batch."""
        self.n_rows += len(values)
        if self._counts is not None:
            self._add_categories(values)
        elif self.spec.is_category:  # too many values to count
            self.n_missing += values.null_count
        else:
            self._add_numbers(_as_floats(values, self.spec.kind))

    def summary(self, before: Before | None = None) -> ColumnSummary:
        """Give what was counted, next to what a model remembers."""
        before = before or Before()
        numbers = self._numbers()
        counts = self._counts or Counter()
        shares = before.shares
        unknown = None if shares is None else sum(n for v, n in counts.items() if v not in shares)
        return ColumnSummary(
            name=self.spec.name,
            kind=self.spec.kind,
            n_rows=self.n_rows,
            n_missing=self.n_missing,
            **numbers,
            n_values=len(counts) if self._counts is not None else None,
            most_frequent=tuple((_cut(value), n) for value, n in _ranked(counts)[:_SHOWN]),
            shift=_shift(numbers, counts, before),
            n_unknown=None if self._counts is None else unknown,
        )

    def _add_numbers(self, values: F64) -> None:
        self.n_missing += int(np.isnan(values).sum())
        known = values[np.isfinite(values)]
        if not known.size:
            return
        found = Gaussian.summarise(known)
        self._moments = found if self._moments is None else self._moments.merge(found)
        self._least = min(self._least, float(known.min()))
        self._greatest = max(self._greatest, float(known.max()))

    def _add_categories(self, values: pa.Array) -> None:
        counted = values.value_counts()
        names, numbers = (counted.field(i).to_pylist() for i in range(2))
        for name, number in zip(names, numbers, strict=True):
            if name is None or name != name:  # noqa: PLR0124 - NaN is a gap
                self.n_missing += number
            elif self._counts is not None:
                self._counts[name] += number
        if self._counts is not None and len(self._counts) > _MOST_VALUES:
            self._counts = None

    def _numbers(self) -> dict[str, float | None]:
        if self._moments is None:
            return dict.fromkeys(("mean", "deviation", "least", "greatest"))
        weight, scatter = float(self._moments.weight), float(self._moments.scatter)
        return {
            "mean": float(self._moments.mean),
            "deviation": float(np.sqrt(scatter / weight)),
            "least": self._least,
            "greatest": self._greatest,
        }


def _as_floats(values: pa.Array, kind: ColumnKind) -> F64:
    """Turn numbers and truth values into floats, and texts into their lengths; gaps into NaN."""
    if kind != "text":
        return numbers_of(values)
    plain = values.dictionary_decode() if pa.types.is_dictionary(values.type) else values
    return numbers_of(pc.utf8_length(plain))


def _cut(value: Any) -> Any:
    """Shorten running text that passes for a category."""
    is_long = isinstance(value, str) and len(value) > _LONGEST
    return f"{value[:_LONGEST]}…" if is_long else value


def _ranked(counts: Counter[Any]) -> list[tuple[Any, int]]:
    """Sort categories by their number; of equals, by their text."""
    return sorted(counts.items(), key=lambda pair: (-pair[1], str(pair[0])))


def _shift(
    numbers: Mapping[str, float | None], counts: Counter[Any], before: Before
) -> float | None:
    """Measure how far a column has moved."""
    mean, spread = numbers["mean"], before.deviation
    if mean is not None and before.mean is not None and spread is not None and spread > 0:
        return (mean - before.mean) / spread
    total = sum(counts.values())
    if before.shares is None or not total:
        return None
    names = [*before.shares, *(name for name in counts if name not in before.shares)]
    gaps = [abs(counts[name] / total - before.shares.get(name, 0.0)) for name in names]
    return sum(gaps) / 2
