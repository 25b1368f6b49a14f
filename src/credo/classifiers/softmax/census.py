"""The first pass: who is there, at which scale, and a sample to start from."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from scipy import sparse

from credo._types import F64
from credo.classifiers.softmax.batches import Batch, cut
from credo.classifiers.softmax.scaling import Scaling

#: A deviation below this share of the largest entry is rounding of a constant column.
_CONSTANT = 1e-13
#: A sample is worth starting from if it leaves out all but one row in so many.
_WORTH = 4


@dataclass(slots=True)
class Census:
    """Running weight, mean and centred scatter of each column; weight of each class."""

    n_features: int
    n_rows: int = 0
    n_stored: int = 0
    total: float = 0.0
    is_sparse: bool = False
    mean: F64 = field(default_factory=lambda: np.zeros(0))
    scatter: F64 = field(default_factory=lambda: np.zeros(0))

    def __post_init__(self) -> None:
        self.mean, self.scatter = np.zeros(self.n_features), np.zeros(self.n_features)

    def add(self, batch: Batch) -> None:
        """Add a batch, by Chan's merge of weight, mean and scatter."""
        self.is_sparse = sparse.issparse(batch.x)
        self.n_rows += len(batch)
        self.n_stored += batch.x.nnz if self.is_sparse else batch.x.size
        for block in cut(batch, 1):
            weight = block.total
            mean, scatter = _sparse_moments(block) if self.is_sparse else _dense_moments(block)
            total = self.total + weight
            gap = mean - self.mean
            self.mean += gap * (weight / total)
            self.scatter += scatter + gap**2 * (self.total * weight / total)
            self.total = total

    def scaling(self, *, intercept: bool) -> Scaling:
        """Give centres and scales; columns without any spread keep scale one.

        Without an intercept nothing is centred, and the scale is the root mean square. Sparse
        columns are not centred either, but share the scale of dense ones.
        """
        variance = self.scatter / self.total
        size = np.sqrt(variance + self.mean**2)
        scale = np.sqrt(variance) if intercept else size
        constant = scale <= _CONSTANT * size
        centre = self.mean.copy() if intercept else np.zeros(self.n_features)
        if self.is_sparse:
            centre[:] = 0.0
        return Scaling(centre, np.where(constant, np.where(size > 0, size, 1.0), scale), intercept)


def _dense_moments(block: Batch) -> tuple[F64, F64]:
    """Give mean and scatter of dense rows."""
    x, weights = block.x, block.weights
    ones = np.ones(len(x)) if weights is None else weights
    mean = ones @ x / block.total
    gap = x - mean
    np.square(gap, out=gap)
    return mean, ones @ gap


def _sparse_moments(block: Batch) -> tuple[F64, F64]:
    """Give mean and scatter of sparse rows: stored entries about the mean, and the zeros."""
    x = block.x
    weights = np.ones(len(block)) if block.weights is None else block.weights
    each = np.repeat(weights, np.diff(x.indptr))
    n = x.shape[1]
    stored = np.bincount(x.indices, each, n)
    mean = np.bincount(x.indices, each * x.data, n) / block.total
    scatter = np.bincount(x.indices, each * (x.data - mean[x.indices]) ** 2, n)
    scatter = scatter + np.maximum(block.total - stored, 0.0) * mean**2
    return mean, scatter


class Sample:
    """Every s-th row of a source of unknown length: s doubles when there are too many."""

    def __init__(self, size: int) -> None:
        self._size, self._every, self._seen = size, 1, 0
        self._parts: list[Batch] = []

    def add(self, batch: Batch) -> None:
        """Look at a batch."""
        while self._kept + len(batch) // self._every > 2 * self._size:
            self._every *= 2
            self._parts = [self._thinned(part, 0, 2) for part in [self.rows]] if self._parts else []
        first = -self._seen % self._every
        self._parts.append(self._thinned(batch, first, self._every))
        self._seen += len(batch)

    def would_be_worth_it(self, n_rows: int) -> bool:
        """Tell whether the sample of so many rows would be a small part of them."""
        return n_rows // (_WORTH // 2) > 2 * self._size

    @property
    def is_worth_it(self) -> bool:
        """Tell whether the sample is a small part of the rows."""
        return self._every >= _WORTH

    @property
    def _kept(self) -> int:
        return sum(len(part) for part in self._parts)

    @staticmethod
    def _thinned(batch: Batch, first: int, every: int) -> Batch:
        """Copy every so many rows, so that a sample does not hold on to its batch."""
        weights = None if batch.weights is None else batch.weights[first::every]
        return Batch(np.array(batch.x[first::every]), batch.codes[first::every], weights)

    @property
    def rows(self) -> Batch:
        """Give the sample."""
        if len(self._parts) == 1:
            return self._parts[0]
        weighted = any(part.weights is not None for part in self._parts)
        weights = [
            np.ones(len(part)) if part.weights is None else part.weights for part in self._parts
        ]
        return Batch(
            np.concatenate([part.x for part in self._parts]),
            np.concatenate([part.codes for part in self._parts]),
            np.concatenate(weights) if weighted else None,
        )
