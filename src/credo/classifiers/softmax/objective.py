r"""The penalised mean cross-entropy: value, gradient and Hessian as sums over batches.

.. math:: f(\theta) = \frac{1}{W} \sum_i w_i \ell(\theta u_i, y_i)
          + \frac{1}{2} \sum_{k,j} \rho_j \theta_{kj}^2
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from credo._types import F64
from credo.classifiers.softmax.batches import Batch, Source, cut
from credo.classifiers.softmax.links import Linked, link, pair_weights
from credo.classifiers.softmax.scaling import Scaling

#: Up to so many logits it is faster to multiply rows by columns and turn the product: measured.
_NARROW = 8


@dataclass(frozen=True, slots=True)
class Value:
    """What one pass gives; ``moments`` are those of each pair of classes, if asked for."""

    loss: float
    gradient: F64
    #: Largest cross-entropy of a row: below log 2, every row is on its own side.
    worst: float
    moments: F64 | None = None

    @property
    def norm(self) -> float:
        """Give the largest entry of the gradient."""
        return float(np.abs(self.gradient).max(initial=0.0))


@dataclass(frozen=True, slots=True)
class Design:
    """Rows and how they are scaled: all that a fit needs to know of its source."""

    source: Source
    scaling: Scaling
    n_classes: int
    total: float
    is_sparse: bool

    @property
    def n_logits(self) -> int:
        """Give the number of scores per row."""
        return 1 if self.n_classes == 2 else self.n_classes

    @property
    def maps_rows(self) -> bool:
        """Tell whether rows are scaled one by one; sparse rows never are."""
        return self.scaling.is_needed and not self.is_sparse

    @property
    def sums(self) -> Scaling:
        """Give the scaling that is still to be applied to sums over blocks."""
        if not self.maps_rows:
            return self.scaling
        return Scaling.none(len(self.scaling.scale), intercept=self.scaling.intercept)

    def blocks(self) -> Iterator[Batch]:
        """Give the rows in blocks, scaled if they must be."""
        maps_rows = self.maps_rows
        for batch in self.source():
            for block in cut(batch, self.n_logits):
                x = self.scaling.rows(block.x) if maps_rows else block.x
                yield Batch(x, block.codes, block.weights)


class Objective:
    """Penalised mean cross-entropy, as a function of coefficients of scaled columns."""

    def __init__(self, design: Design, ridge: F64 | None = None) -> None:
        self.design = design
        self.ridge = np.zeros(design.scaling.n_columns) if ridge is None else ridge
        self.shape = (design.n_logits, design.scaling.n_columns)

    def penalty(self, theta: F64) -> float:
        """Give the ridge's part of the value."""
        return 0.5 * float((self.ridge * theta**2).sum())

    def value(self, theta: F64, *, curved: bool = False) -> Value:
        """Pass over the source once; ``curved`` for the second moments too."""
        design, scaling = self.design, self.design.sums
        coefficients, offsets = scaling.coefficients(theta)
        sums = _Sums(self.shape[0], len(scaling.scale), curved=curved)
        for block in design.blocks():
            sums.add(block, link(scores_of(coefficients, offsets, block.x), block.codes))
        gradient = scaling.gradient(sums.residuals_x, sums.residuals) / design.total
        gradient += self.ridge * theta
        loss = sums.loss / design.total + self.penalty(theta)
        moments = None
        if curved:
            moments = np.stack([scaling.hessian(each) for each in sums.moments]) / design.total
        return Value(loss, gradient, sums.worst, moments)


class _Sums:
    """The sums of one pass."""

    def __init__(self, n_logits: int, n_features: int, *, curved: bool) -> None:
        self.loss, self.worst = 0.0, 0.0
        self.residuals_x = np.zeros((n_logits, n_features))
        self.residuals = np.zeros(n_logits)
        n_pairs = (n_logits * (n_logits - 1) // 2 or 1) if curved else 0
        self.moments = np.zeros((n_pairs, n_features + 1, n_features + 1))
        self._buffer = np.empty((0, n_features + 1))

    def add(self, block: Batch, linked: Linked) -> None:
        """Add a block."""
        residuals, weights = linked.residuals, block.weights
        self.worst = max(self.worst, float(linked.losses.max(initial=0.0)))
        if weights is None:
            self.loss += float(linked.losses.sum())
        else:
            self.loss += float(weights @ linked.losses)
            residuals *= weights
        self.residuals += residuals.sum(axis=1)
        self.residuals_x += times_rows(residuals, block.x)
        if len(self.moments):
            self._add_moments(block, linked.probabilities)

    def _add_moments(self, block: Batch, probabilities: F64) -> None:
        """Add weighted second moments of (x, 1), one matrix for each pair of classes."""
        roots = pair_weights(probabilities)
        if block.weights is not None:
            roots *= np.sqrt(block.weights)
        for i, root in enumerate(roots):
            if sparse.issparse(block.x):
                _add_sparse(self.moments[i], block.x, root)
            else:
                self.moments[i] += self._dense(block.x, root)

    def _dense(self, x: F64, root: F64) -> F64:
        """Give the moments of dense rows as the product of a matrix with itself."""
        if len(self._buffer) < len(x):
            self._buffer = np.empty((len(x), x.shape[1] + 1))
        weighted = self._buffer[: len(x)]
        np.multiply(x, root[:, None], out=weighted[:, :-1])
        weighted[:, -1] = root
        return weighted.T @ weighted


def _add_sparse(total: F64, x: Any, root: F64) -> None:
    """Add the moments of sparse rows: only entries that meet in a row are multiplied."""
    data = x.data * np.repeat(root, np.diff(x.indptr))
    weighted = sparse.csr_array((data, x.indices, x.indptr), shape=x.shape)
    total[:-1, :-1] += (weighted.T @ weighted).toarray()
    edge = weighted.T @ root
    total[-1, :-1] += edge
    total[:-1, -1] += edge
    total[-1, -1] += float(root @ root)


def scores_of(coefficients: F64, offsets: F64, x: Any) -> F64:
    """Give scores (n_logits, B) of dense or sparse rows."""
    if sparse.issparse(x):
        scores = np.ascontiguousarray((x @ np.ascontiguousarray(coefficients.T)).T)
    elif 1 < len(coefficients) <= _NARROW:
        scores = np.ascontiguousarray((x @ coefficients.T).T)
    else:
        scores = coefficients @ x.T
    scores += offsets[:, None]
    return scores


def times_rows(table: F64, x: Any) -> F64:
    """Give the product of a table (n_logits, B) with dense or sparse rows."""
    if sparse.issparse(x):
        return (x.T @ np.ascontiguousarray(table.T)).T
    return table @ x
