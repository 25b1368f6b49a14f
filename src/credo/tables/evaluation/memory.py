"""What a model remembers of the rows it was fitted to, column by column."""

from __future__ import annotations

from typing import Any

import numpy as np

from credo.classifiers.naive_bayes import NaiveSummary
from credo.classifiers.naive_terms import CategorySummary, PartSummary
from credo.classifiers.summary import ClassSummary
from credo.families.moments import ClassMoments
from credo.tables.evaluation.columns import Before


def remembered(model: Any, names: tuple[str, ...]) -> dict[str, Before]:
    """Give means and spreads, or shares, of the columns that the model has a summary of.

    ``names`` are the columns in the order of the model. A model without a summary remembers
    nothing.
    """
    summary = getattr(model, "summary_", None)
    if isinstance(summary, ClassSummary):
        return _of_moments(summary.moments, names)
    found: dict[str, Before] = {}
    if isinstance(summary, NaiveSummary):
        for part in summary.parts:
            found.update(_of_part(part, tuple(names[j] for j in part.part.columns)))
    return found


def _of_part(part: PartSummary, names: tuple[str, ...]) -> dict[str, Before]:
    """Read the summary of a part of naive Bayes, if it is one of moments or of counts."""
    if isinstance(part.summary, ClassMoments):
        return _of_moments(part.summary, names)
    if not isinstance(part.summary, CategorySummary):
        return {}
    counts = part.summary.counts.sum(axis=0)
    total = float(counts.sum()) or 1.0
    pairs = zip(part.summary.categories, counts.tolist(), strict=True)
    return {names[0]: Before(shares={value: count / total for value, count in pairs})}


def _of_moments(moments: ClassMoments, names: tuple[str, ...]) -> dict[str, Before]:
    """Pool the classes: their spread within, and that of their means."""
    weights = moments.feature_weights
    total = weights.sum(axis=0)
    safe = np.where(total > 0, total, 1.0)
    mean = (weights * moments.means).sum(axis=0) / safe
    between = (weights * (moments.means - mean) ** 2).sum(axis=0)
    spread = np.sqrt((moments.pooled_diagonal() + between) / safe)
    rows = zip(names, mean.tolist(), spread.tolist(), total.tolist(), strict=True)
    return {name: Before(m, s) for name, m, s, n in rows if n > 0}
