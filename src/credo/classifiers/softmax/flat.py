"""Directions of coefficients along which no row differs: collinear columns."""

from __future__ import annotations

import numpy as np

from credo._types import F64
from credo.classifiers.softmax.metric import RANK
from credo.classifiers.softmax.objective import Design, scores_of


def flat_space(design: Design, basis: F64) -> F64:
    """Give those of the directions (P, r) that are flat on the rows themselves.

    Second moments alone do not tell: rows of small weight, or of a probability near one, are
    lost in their rounding.
    """
    if not basis.size:
        return basis
    scaling, squares, n_rows = design.sums, np.zeros((basis.shape[1],) * 2), 0
    coefficients, offsets = scaling.coefficients(np.ascontiguousarray(basis.T))
    for block in design.blocks():
        scores = scores_of(coefficients, offsets, block.x)
        squares += scores @ scores.T
        n_rows += len(block)
    values, vectors = np.linalg.eigh(squares / n_rows)
    return basis @ vectors[:, values <= len(basis) * RANK]
