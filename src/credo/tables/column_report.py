"""What is in each column of a table, and how much it tells."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from credo._results import Plain
from credo._types import F64, Label
from credo.classifiers.schema import ColumnKind, ColumnSpec, numbers_of
from credo.classifiers.summary import ColumnMemory

#: Hidden: marginalised, exactly. Shuffled: taken from other rows, by models that need all columns.
How = Literal["hidden", "shuffled"]

#: Distinct values of a column that are counted; a column with more is an identifier.
_MOST_VALUES = 10_000
#: Values that are listed, and the characters of each that are kept.
_SHOWN, _LONGEST = 5, 200
#: How often a column is shuffled; the mean of them is taken.
_SHUFFLES = 5
#: Words that are listed for each class.
_WORDS = 15


@dataclass(frozen=True, slots=True)
class ColumnSummary(Plain):
    """What is in one column.

    Attributes
    ----------
    name, kind
        The column, and what it is to the model.
    n_rows, n_missing
        Rows, and rows without a value.
    mean, deviation, least, greatest
        Of numbers and booleans; of the number of characters of a text. None for categories, and
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


@dataclass(frozen=True, slots=True, eq=False)
class ColumnTally:
    """What was counted of one column; tallies of rows that follow each other merge."""

    spec: ColumnSpec
    n_rows: int
    n_missing: int
    #: Of finite numbers: how many, their mean, sum of squares about it, least and greatest.
    n_known: int = 0
    mean: float = 0.0
    scatter: float = 0.0
    least: float = np.inf
    greatest: float = -np.inf
    #: Of categories: rows of each; None if there are too many.
    counts: Counter[Any] | None = None

    @classmethod
    def of(cls, spec: ColumnSpec, values: pa.Array) -> ColumnTally:
        """Count the values of one batch."""
        n = len(values)
        if not spec.is_category:
            numbers = _as_floats(values, spec.kind)
            missing = int(np.isnan(numbers).sum())
            known = numbers[np.isfinite(numbers)]
            if not known.size:
                return cls(spec, n, missing)
            with np.errstate(over="ignore"):
                mean, variance = float(known.mean()), float(known.var())
            ends = float(known.min()), float(known.max())
            return cls(spec, n, missing, len(known), mean, variance * len(known), *ends)
        counted = values.value_counts()
        if len(counted) > _MOST_VALUES + 1:
            return cls(spec, n, values.null_count)
        counts = Counter(dict(zip(*(counted.field(i).to_pylist() for i in range(2)), strict=True)))
        missing = sum(counts.pop(v) for v in list(counts) if v is None or v != v)  # noqa: PLR0124
        return cls(spec, n, missing, counts=counts)

    def merge(self, other: ColumnTally) -> ColumnTally:
        """Add what was counted of further rows."""
        n_known, gap = self.n_known + other.n_known, other.mean - self.mean
        share, counts = other.n_known / max(n_known, 1), None
        if self.counts is not None and other.counts is not None:
            counts = self.counts + other.counts
            counts = None if len(counts) > _MOST_VALUES else counts
        return ColumnTally(
            self.spec,
            self.n_rows + other.n_rows,
            self.n_missing + other.n_missing,
            n_known,
            self.mean + share * gap,
            self.scatter + other.scatter + self.n_known * share * gap * gap,
            min(self.least, other.least),
            max(self.greatest, other.greatest),
            counts,
        )

    def summary(self, before: ColumnMemory | None = None) -> ColumnSummary:
        """Return what was counted, next to what a model remembers."""
        before = before or ColumnMemory()
        numbers: dict[str, float] = {}
        if self.n_known:
            numbers = {
                "mean": self.mean,
                "deviation": math.sqrt(self.scatter / self.n_known),
                "least": self.least,
                "greatest": self.greatest,
            }
        counts, shares = self.counts or Counter(), before.shares
        ranked = sorted(counts.items(), key=lambda pair: (-pair[1], str(pair[0])))
        unknown = None if shares is None else sum(n for v, n in counts.items() if v not in shares)
        return ColumnSummary(
            name=self.spec.name,
            kind=self.spec.kind,
            n_rows=self.n_rows,
            n_missing=self.n_missing,
            **numbers,
            n_values=None if self.counts is None else len(counts),
            most_frequent=tuple((_cut(value), n) for value, n in ranked[:_SHOWN]),
            shift=_shift(numbers.get("mean"), counts, before),
            n_unknown=None if self.counts is None else unknown,
        )


def _as_floats(values: pa.Array, kind: ColumnKind) -> F64:
    """Turn numbers and booleans into floats, texts into their lengths, missing into NaN."""
    if kind != "text":
        return numbers_of(values)
    plain = values.dictionary_decode() if pa.types.is_dictionary(values.type) else values
    return numbers_of(pc.utf8_length(plain))


def _cut(value: Any) -> Any:
    """Shorten running text that passes for a category."""
    is_long = isinstance(value, str) and len(value) > _LONGEST
    return f"{value[:_LONGEST]}…" if is_long else value


def _shift(mean: float | None, counts: Counter[Any], before: ColumnMemory) -> float | None:
    """Measure how far a column has moved."""
    spread = before.deviation
    if mean is not None and before.mean is not None and spread is not None and spread > 0:
        return (mean - before.mean) / spread
    total = sum(counts.values())
    if before.shares is None or not total:
        return None
    names = [*before.shares, *(name for name in counts if name not in before.shares)]
    apart = [abs(counts[name] / total - before.shares.get(name, 0.0)) for name in names]
    return sum(apart) / 2


# --- what a column tells -------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Contribution(Plain):
    """What one column tells.

    Attributes
    ----------
    name
        The column.
    rise
        Rise of the mean log loss, in nats, when the column is not known.
    standard_error
        Of the rise, from row to row.
    """

    name: str
    rise: float
    standard_error: float


@dataclass(frozen=True, slots=True)
class WordWeight(Plain):
    """A word that favours a class.

    Attributes
    ----------
    label
        The class.
    word
        The word, or the number of its slot if words were hashed.
    weight
        Log odds that one more occurrence adds, for this class against the others; of the
        complement model, those of a document of this word alone.
    """

    label: Label
    word: Any
    weight: float


@dataclass(frozen=True, slots=True)
class Contributions(Plain):
    """What each column tells, the most telling first; or the words, for a model of text.

    Attributes
    ----------
    how
        ``"hidden"``: the column is marginalised; ``"shuffled"``: its values are dealt out to the
        rows anew; None if the columns were not compared.
    columns
        One entry for each column.
    words
        The words with the largest weights of each class.
    n_sample
        Rows that were looked at.
    n_left_out
        Rows left out because their true class had probability zero: their log loss is infinite.
    reason
        Why there is nothing, if there is nothing.
    """

    how: How | None
    columns: tuple[Contribution, ...]
    words: tuple[WordWeight, ...] = ()
    n_sample: int = 0
    n_left_out: int = 0
    reason: str = ""


def compare_columns(  # noqa: PLR0913 - rows, and what is asked of them
    log_of_truth: Callable[[pa.RecordBatch], F64],
    sample: pa.RecordBatch,
    names: Sequence[str],
    how: How,
    rng: np.random.Generator,
    *,
    weight: F64 | None = None,
    told: Callable[[float], None] | None = None,
) -> Contributions:
    """Hide or shuffle one column after the other, and see by how much the log loss rises.

    ``log_of_truth`` gives the log-probability of each row's true class for rows like ``sample``;
    ``told`` is called with the share of the columns done.
    """
    weight = np.ones(sample.num_rows) if weight is None else weight
    known, rises = log_of_truth(sample), {}
    for done, name in enumerate(names, start=1):
        with np.errstate(invalid="ignore"):  # minus infinity less itself
            rises[name] = known - _without(log_of_truth, sample, name, how, rng)
        if told is not None:
            told(done / len(names))
    finite = np.isfinite(known) & np.logical_and.reduce([np.isfinite(r) for r in rises.values()])
    found = [
        Contribution(name, *weighted_mean(rise[finite], weight[finite]))
        for name, rise in rises.items()
    ]
    ordered = sorted(found, key=lambda each: -each.rise)  # equals keep the order of the columns
    n = int(finite.sum())
    return Contributions(how, tuple(ordered), n_sample=n, n_left_out=len(known) - n)


def weighted_mean(values: F64, weight: F64) -> tuple[float, float]:
    r"""Return a mean and its standard error, :math:`\sqrt{\sum w_i^2 (x_i - \bar x)^2} / W`.

    With n / (n - 1) for equal weights; it is zero for a single row.
    """
    total, n = weight.sum(), int(np.count_nonzero(weight))
    if not total > 0:
        return 0.0, 0.0
    mean = float(weight @ values / total)
    spread = weight * (values - mean)
    return mean, float(np.sqrt(spread @ spread * (n / max(n - 1, 1))) / total)


def _without(
    log_of_truth: Callable[[pa.RecordBatch], F64],
    sample: pa.RecordBatch,
    name: str,
    how: How,
    rng: np.random.Generator,
) -> F64:
    """Return the log-probability of the true classes when one column is not known."""
    place, column = sample.schema.get_field_index(name), sample.column(name)
    if how == "hidden":
        others = [pa.nulls(len(column), column.type)]
    else:
        others = [column.take(pa.array(rng.permutation(len(column)))) for _ in range(_SHUFFLES)]
    field = sample.schema.field(name)
    parts = [log_of_truth(sample.set_column(place, field, other)) for other in others]
    return np.mean(parts, axis=0)


def telling_words(model: Any) -> Contributions:
    r"""List the words that favour each class most, with their log odds against the others.

    .. math:: s_{kw} - \tfrac{1}{K - 1} \sum_{j \ne k} s_{jw}

    with :math:`s = \log \theta`, or what the complement model multiplies.
    """
    scores = model._word_scores()  # noqa: SLF001 - what top_words sorts by
    places = {word: w for w, word in enumerate(model.words_)}
    n_others = max(len(scores) - 1, 1)
    words = [
        WordWeight(label, word, float(row[w] - (scores[:, w].sum() - row[w]) / n_others))
        for (label, telling), row in zip(model.top_words(_WORDS).items(), scores, strict=True)
        for word, w in ((word, places[word]) for word in telling)
    ]
    reason = "" if words else "No word favours one class over another."
    return Contributions(None, (), words=tuple(words), reason=reason)
