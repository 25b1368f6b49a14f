r"""The Hessian times a direction, without the Hessian.

.. math:: H v = \frac{1}{W} \sum_i w_i \left(p_i \circ (s_i - p_i^T s_i)\right) u_i^T + \rho v,
          \qquad s_i = v u_i
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy import sparse

from credo._types import F64
from credo.classifiers.softmax.batches import Batch
from credo.classifiers.softmax.links import link
from credo.classifiers.softmax.objective import Design, Objective, scores_of, times_rows

#: Probabilities, and sparse rows in single precision, are kept between products if they take at
#: most so many bytes; else they are made again.
_KEPT_BYTES = 2**31
#: Columns of a stream are taken as they are if their scales are within this and its inverse: a
#: square of it is still a number in single precision.
_SINGLE_RANGE = 1e9


class Curvature:
    """Products with the Hessian at one place."""

    def __init__(self, objective: Objective, theta: F64, kept: KeptRows | None) -> None:
        self._objective, self._theta, self._kept = objective, theta, kept
        self._blocks: list[tuple[Any, Any, Any]] | None = None if kept is None else []
        self.diagonal = self._pass_for_diagonal()

    def _pass_for_diagonal(self) -> F64:
        """Sum the diagonal, and keep the probabilities on the way."""
        design, scaling = self._objective.design, self._objective.design.sums
        shape = (self._objective.shape[0], len(scaling.scale))
        squares, sums, totals = np.zeros(shape), np.zeros(shape), np.zeros(shape[0])
        coefficients, offsets = scaling.coefficients(self._theta)
        for i, block in enumerate(design.blocks()):
            probabilities = link(
                scores_of(coefficients, offsets, block.x), block.codes
            ).probabilities
            weights = probabilities * (1.0 - probabilities)
            if block.weights is not None:
                weights *= block.weights
            squares += times_rows(weights, _squared(block.x))
            sums += times_rows(weights, block.x)
            totals += weights.sum(axis=1)
            self._keep(i, block, probabilities)
        diagonal: F64 = scaling.diagonal(squares, sums, totals) / design.total
        return diagonal + self._objective.ridge

    def _keep(self, i: int, block: Batch, probabilities: F64) -> None:
        """Keep what products need, in the layout and precision of the rows."""
        if self._blocks is None or self._kept is None:
            return
        if not sparse.issparse(block.x):
            self._blocks.append((None, probabilities, block.weights))
            return
        x = self._kept.rows(i, block.x)
        self._blocks.append((x, _turned(probabilities), _column(block.weights)))

    def times(self, direction: F64) -> F64:
        """Give the Hessian times a direction, shape (n_logits, P)."""
        is_sparse = self._objective.design.is_sparse
        product = self._single(direction) if is_sparse else self._double(direction)
        product /= self._objective.design.total
        product += self._objective.ridge * direction
        return product

    def _double(self, direction: F64) -> F64:
        """Pass over dense rows."""
        design, scaling = self._objective.design, self._objective.design.sums
        n_logits = len(direction)
        both = direction if self._blocks is not None else np.vstack([direction, self._theta])
        coefficients, offsets = scaling.coefficients(both)
        sums, totals = np.zeros((n_logits, len(scaling.scale))), np.zeros(n_logits)
        for i, block in enumerate(design.blocks()):
            scores = scores_of(coefficients, offsets, block.x)
            if self._blocks is None:
                scores, own = scores[:n_logits], scores[n_logits:]
                p = link(own, block.codes).probabilities
            else:
                p = self._blocks[i][1]
            if len(p) == 1:
                scores *= p * (1.0 - p)
            else:
                scores -= (p * scores).sum(axis=0)
                scores *= p
            if block.weights is not None:
                scores *= block.weights
            sums += times_rows(scores, block.x)
            totals += scores.sum(axis=1)
        return scaling.gradient(sums, totals)

    def _single(self, direction: F64) -> F64:
        """Pass over sparse rows of scaled columns, in single precision."""
        scaling = self._objective.design.scaling
        n_features, n_logits = len(scaling.scale), len(direction)
        both = direction if self._blocks is not None else np.vstack([direction, self._theta])
        unscaled = self._unscaled(n_features)
        v = np.ascontiguousarray((both / unscaled).T, dtype=np.float32)
        sums, totals = np.zeros((n_features, n_logits)), np.zeros(n_logits)
        for x, known, weights in self._single_blocks():
            scores = x @ v[:n_features]
            if scaling.intercept:
                scores += v[n_features]
            p = known
            if p is None:
                scores, own = scores[:, :n_logits].copy(), scores[:, n_logits:]
                p = _turned(_probabilities(own))
            if n_logits == 1:
                scores *= p * (1 - p)
            else:
                scores -= np.einsum("ik,ik->i", p, scores)[:, None]
                scores *= p
            if weights is not None:
                scores *= weights
            sums += x.T @ scores
            totals += scores.sum(axis=0, dtype=np.float64)
        product = np.column_stack([sums.T, totals]) if scaling.intercept else sums.T
        return product / unscaled

    def _unscaled(self, n_features: int) -> F64:
        """Give the scale of each column if rows come as they are; ones if they come scaled."""
        scaling = self._objective.design.scaling
        ones = np.ones(scaling.n_columns)
        if self._blocks is None and _fits_single(scaling.scale):
            ones[:n_features] = scaling.scale
        return ones

    def _single_blocks(self) -> Iterator[tuple[Any, Any, Any]]:
        """Give rows, probabilities and weights that were kept; or rows and weights anew."""
        if self._blocks is not None:
            yield from self._blocks
            return
        design = self._objective.design
        scale = None if _fits_single(design.scaling.scale) else design.scaling.scale
        for block in design.blocks():
            yield _single_rows(block.x, scale), None, _column(block.weights)


def _probabilities(scores: Any) -> F64:
    """Give probabilities (n_logits, B) of scores (B, n_logits) in single precision."""
    table = np.ascontiguousarray(scores.T, dtype=np.float64)
    return link(table, np.zeros(table.shape[1], dtype=np.intp)).probabilities


def _turned(table: F64) -> Any:
    """Give a table one row per row, in single precision."""
    return np.ascontiguousarray(table.T, dtype=np.float32)


def _column(weights: F64 | None) -> Any:
    """Give weights as a column in single precision."""
    return None if weights is None else weights.astype(np.float32)[:, None]


def _fits_single(scale: F64) -> bool:
    """Tell whether unscaled columns keep far from the ends of single precision."""
    return bool(scale.min() > 1 / _SINGLE_RANGE and scale.max() < _SINGLE_RANGE)


def _single_rows(x: Any, scale: F64 | None) -> Any:
    """Bring sparse rows to single precision, scaled if there is a scale."""
    data = (x.data if scale is None else x.data / scale[x.indices]).astype(np.float32)
    return sparse.csr_array((data, x.indices, x.indptr), shape=x.shape)


class KeptRows:
    """Sparse rows of scaled columns in single precision, made once."""

    def __init__(self, design: Design) -> None:
        self._scale = design.scaling.scale
        self._rows: list[Any] = []

    @classmethod
    def if_they_fit(cls, design: Design, n_rows: int, n_stored: int) -> KeptRows | None:
        """Keep rows if that takes little memory beside the rows themselves."""
        n_bytes = 4 * n_rows * design.n_logits * (1 if design.is_sparse else 2)
        n_bytes += 8 * n_stored if design.is_sparse else 0
        return cls(design) if n_bytes <= _KEPT_BYTES else None

    def rows(self, i: int, x: Any) -> Any:
        """Give block i."""
        if i == len(self._rows):
            self._rows.append(_single_rows(x, self._scale))
        return self._rows[i]


def _squared(x: Any) -> Any:
    """Square all entries."""
    if sparse.issparse(x):
        return sparse.csr_array((x.data**2, x.indices, x.indptr), shape=x.shape)
    return x * x
