"""How much each column tells: what is lost when it is not known."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np
import pyarrow as pa

from credo._types import F64, Label

#: Hidden: marginalised, exactly. Shuffled: taken from other rows, by models that need all columns.
How = Literal["hidden", "shuffled"]

#: How often a column is shuffled; the mean of them is taken.
_SHUFFLES = 5
#: Words that are listed for each class.
_WORDS = 15


@dataclass(frozen=True, slots=True)
class Contribution:
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
class WordWeight:
    """A word that speaks for a class.

    Attributes
    ----------
    label
        The class.
    word
        The word, or the number of its slot if words were hashed.
    weight
        Log odds that one more occurrence adds, for this class against the others.
    """

    label: Label
    word: Any
    weight: float


@dataclass(frozen=True, slots=True)
class Contributions:
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
        Rows left out because their truth had probability zero, so that their log loss is infinite.
    reason
        Why there is nothing, if there is nothing.
    """

    how: How | None
    columns: tuple[Contribution, ...]
    words: tuple[WordWeight, ...] = ()
    n_sample: int = 0
    n_left_out: int = 0
    reason: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Give all fields as plain lists, names and numbers."""
        return asdict(self)


def compare_columns(
    log_of_truth: Callable[[pa.RecordBatch], F64],
    sample: pa.RecordBatch,
    names: Sequence[str],
    how: How,
    rng: np.random.Generator,
    weight: F64 | None = None,
) -> Contributions:
    """Hide or shuffle one column after the other, and see by how much the log loss rises.

    ``log_of_truth`` gives the log-probability of each row's truth for rows like ``sample``.
    """
    weight = np.ones(sample.num_rows) if weight is None else weight
    known = log_of_truth(sample)
    with np.errstate(invalid="ignore"):  # minus infinity less itself
        rises = {name: known - _without(log_of_truth, sample, name, how, rng) for name in names}
    finite = np.isfinite(known) & np.logical_and.reduce([np.isfinite(r) for r in rises.values()])
    found = [_contribution(name, rise[finite], weight[finite]) for name, rise in rises.items()]
    ordered = sorted(found, key=lambda each: -each.rise)  # equals keep the order of the columns
    n = int(finite.sum())
    return Contributions(how, tuple(ordered), n_sample=n, n_left_out=len(known) - n)


def _contribution(name: str, rise: F64, weight: F64) -> Contribution:
    """Average over rows, with the standard error of the mean."""
    total, n = weight.sum(), int(np.count_nonzero(weight))
    if not total > 0:
        return Contribution(name, 0.0, 0.0)
    mean = float(weight @ rise / total)
    spread = weight * (rise - mean)
    return Contribution(name, mean, float(np.sqrt(spread @ spread * n / max(n - 1, 1)) / total))


def _without(
    log_of_truth: Callable[[pa.RecordBatch], F64],
    sample: pa.RecordBatch,
    name: str,
    how: How,
    rng: np.random.Generator,
) -> F64:
    """Give the log-probability of the truths when one column is not known."""
    if how == "hidden":
        return log_of_truth(_with_column(sample, name, _nulls(sample, name)))
    orders = [rng.permutation(sample.num_rows) for _ in range(_SHUFFLES)]
    parts = [
        log_of_truth(_with_column(sample, name, sample.column(name).take(order)))
        for order in orders
    ]
    return np.mean(parts, axis=0)


def _with_column(sample: pa.RecordBatch, name: str, values: Any) -> pa.RecordBatch:
    """Replace a column."""
    place = sample.schema.get_field_index(name)
    return sample.set_column(place, sample.schema.field(name), values)


def _nulls(sample: pa.RecordBatch, name: str) -> Any:
    """Make a column in which everything is missing."""
    return pa.nulls(sample.num_rows, sample.schema.field(name).type)


def telling_words(model: Any) -> Contributions:
    r"""List the words that speak most for each class, with their log odds against the others.

    .. math:: \log \theta_{kw} - \tfrac{1}{K - 1} \sum_{j \ne k} \log \theta_{jw}
    """
    log_p, places = model.log_probabilities_, {word: w for w, word in enumerate(model.words_)}
    n_others = max(len(log_p) - 1, 1)
    words = [
        WordWeight(label, word, float(row[w] - (log_p[:, w].sum() - row[w]) / n_others))
        for (label, telling), row in zip(model.top_words(_WORDS).items(), log_p, strict=True)
        for word, w in ((word, places[word]) for word in telling)
    ]
    reason = "" if words else "No word speaks for one class more than for another."
    return Contributions(None, (), words=tuple(words), reason=reason)
