"""Moments of each feature from its observed entries: two passes, in blocks."""

from __future__ import annotations

from typing import Any

import numpy as np

from credo._types import F64, Int
from credo._validation.probabilities import block_rows, blocks
from credo.families._rows import two_sum
from credo.families.gaussians.moments import ClassMoments, check_size
from credo.families.gaussians.reduction import class_sums


def reduce_observed(X: Any, codes: Int, weights: F64 | None, n_classes: int) -> ClassMoments:
    """Summarise each feature of each class by the rows in which it is not NaN.

    For covariances without correlations this is maximum likelihood when entries are missing at
    random. A first pass finds the means, a second the squares about them.
    """
    check_size(n_classes, X.shape[1], "diagonal")
    w = np.ones(len(codes)) if weights is None else weights
    observed, sums, squares = (np.zeros((n_classes, X.shape[1])) for _ in range(3))
    starting = _first_seen(X, w)
    size = block_rows(X.shape[1])
    for block in blocks(len(codes), size):
        z, seen = _gaps(X[block], starting, w[block])
        observed += class_sums(seen, codes[block], w[block], n_classes)
        sums += class_sums(z, codes[block], w[block], n_classes)
    means = np.divide(sums, observed, out=np.zeros_like(sums), where=observed > 0) + starting
    left = np.zeros_like(sums)
    for block in blocks(len(codes), size):
        part = codes[block]
        z, _ = _gaps(X[block], means[part], w[block])
        left += class_sums(z, part, w[block], n_classes)
        squares += class_sums(np.square(z, out=z), part, w[block], n_classes)
    offsets = np.divide(left, observed, out=np.zeros_like(left), where=observed > 0)
    centre, rests = two_sum(means, offsets)
    return ClassMoments(
        counts=np.bincount(codes[w > 0], minlength=n_classes),
        weights=np.bincount(codes, weights=w, minlength=n_classes).astype(np.float64),
        means=np.where(observed > 0, centre, 0.0),
        scatter=np.maximum(squares - observed * offsets**2, 0.0),
        detail="diagonal",
        observed=observed,
        rests=np.where(observed > 0, rests, 0.0),
    )


def _gaps(x: Any, mean: F64, weights: F64) -> tuple[F64, F64]:
    """Give the rows less a mean, zero where missing or without weight, and what was seen."""
    z = np.subtract(x, mean, dtype=np.float64)
    seen = ~np.isnan(z)
    seen[weights == 0] = False
    np.copyto(z, 0.0, where=~seen)
    return z, seen.astype(np.float64)


def _first_seen(X: Any, weights: F64) -> F64:
    """Give a value near those of each feature: the first with weight that is not NaN, or zero."""
    result = np.full(X.shape[1], np.nan)
    for block in blocks(len(X), block_rows(X.shape[1])):
        open_columns = np.flatnonzero(np.isnan(result))
        if not open_columns.size:
            break
        x = np.array(X[block][:, open_columns], dtype=np.float64)
        x[weights[block] == 0] = np.nan
        first = (~np.isnan(x)).argmax(axis=0)
        result[open_columns] = x[first, np.arange(len(open_columns))]
    return np.nan_to_num(result, nan=0.0)
