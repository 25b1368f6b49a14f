"""Synthetic rows from a fitted naive Bayes model."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import csr_array, vstack

from credo._types import F64, Int
from credo._validation.arrays import positive_int
from credo.classifiers.naive.learning import NaiveSummary
from credo.classifiers.naive.terms import CategoricalTerm, GaussianTerm, Term

#: Cells of draws that are made at once.
_CELLS = 2**20


def totals_of(summary: NaiveSummary, total: int | None, owner: str) -> list[int]:
    """Give what the counts of each part sum to: as asked, or the mean over the rows, rounded."""
    if total is not None:
        return [positive_int(total, owner, "total", least=0)] * len(summary.parts)
    result = []
    for each in summary.parts:
        counts = each.part.family == "multinomial"
        weight = float(each.summary.weight.sum()) if counts else 0.0
        result.append(round(float(each.summary.total.sum()) / weight) if weight > 0 else 0)
    return result


def sample_columns(
    terms: tuple[Term, ...], codes: Int, totals: list[int], rng: np.random.Generator
) -> dict[int, Any]:
    """Draw each column given the class codes of the rows; by position."""
    columns: dict[int, Any] = {}
    for term, total in zip(terms, totals, strict=True):
        if isinstance(term, CategoricalTerm):
            columns[term.part.columns[0]] = _categories(term, codes, rng)
            continue
        draws = _draws(term, codes, total, rng)
        if isinstance(term, GaussianTerm):
            constant = ~term.model.active
            draws[:, constant] = term.model.means[codes][:, constant]
            draws[:, term.unseen.all(axis=0)] = np.nan  # never observed
        whole = term.part.family in ("bernoulli", "poisson", "multinomial")
        for place, column in enumerate(term.part.columns):
            columns[column] = draws[:, place].astype(np.int64) if whole else draws[:, place]
    return columns


def _categories(term: CategoricalTerm, codes: Int, rng: np.random.Generator) -> Any:
    """Draw categories that were seen."""
    values = np.empty(len(term.categories.values), dtype=object)
    values[:] = term.categories.values
    if not len(values):
        return np.full(len(codes), None, dtype=object)
    p = term.family.mean[:, : len(values)]
    edges = np.cumsum(p, axis=1)
    uniform = rng.random(len(codes)) * edges[codes, -1]
    found = np.empty(len(codes), dtype=np.intp)
    for k in np.unique(codes):
        mine = codes == k
        found[mine] = np.searchsorted(edges[k], uniform[mine], side="right")
    return values[np.minimum(found, len(values) - 1)]


def _draws(term: Term, codes: Int, total: int, rng: np.random.Generator) -> F64:
    """Draw the columns of a term, class by class: (n, D)."""
    result = np.empty((len(codes), len(term.part.columns)))
    more: Any = {"total": total} if term.part.family == "multinomial" else {}
    for k in np.unique(codes):
        mine = np.flatnonzero(codes == k)
        draw: Any = term.of_class(int(k)).sample
        result[mine] = draw(len(mine), rng, **more)
    return result


def sample_sparse(term: Term, codes: Int, total: int, rng: np.random.Generator) -> csr_array:
    """Draw sparse rows, some at a time."""
    size = max(1, _CELLS // len(term.part.columns))
    starts = range(0, len(codes), size)
    parts = [csr_array(_draws(term, codes[i : i + size], total, rng)) for i in starts]
    return csr_array(vstack(parts))
