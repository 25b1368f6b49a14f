"""Seeded rows for the Gaussian benchmarks, and the plain NumPy reductions that are their floor."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

#: Rows that are drawn at once, so that drawing needs no second copy of the table.
_DRAWN = 10_000
#: Bytes of a block of the floor: what fits the second-level cache of a core.
_BLOCK_BYTES = 2**20


@dataclass(frozen=True, slots=True)
class Problem:
    """Gaussian rows: so many, with so many features, in so many classes."""

    rows: int
    features: int
    classes: int
    dtype: str = "float64"

    def means(self) -> Any:
        """Give class means whose distance does not depend on the number of features."""
        rng = np.random.default_rng(1)
        return rng.normal(size=(self.classes, self.features)) * 2 / np.sqrt(self.features)

    def loads(self) -> Any:
        """Give the weight of a factor that all features share, by class: a mild correlation."""
        return np.linspace(0.3, 0.7, self.classes)

    def covariances(self) -> Any:
        """Give the true covariances, (K, D, D)."""
        return np.eye(self.features) + (self.loads() ** 2)[:, None, None]

    def fill(self, X: Any, rng: np.random.Generator) -> Any:
        """Overwrite a table with rows in random order; give their labels."""
        y = rng.integers(self.classes, size=len(X))
        means, loads = self.means(), self.loads()
        for block in _blocks(len(X), _DRAWN):
            part = y[block]
            x = rng.standard_normal((len(part), self.features))
            x += means[part]
            x += (loads[part] * rng.standard_normal(len(part)))[:, None]
            X[block] = x
        return y

    def draw(self, seed: int = 0) -> tuple[Any, Any]:
        """Give rows and their labels."""
        X = np.empty((self.rows, self.features), dtype=self.dtype)
        return X, self.fill(X, np.random.default_rng(seed))


def with_holes(X: Any, n_patterns: int | None, share: float = 0.2) -> Any:
    """Make a share of the cells NaN: each row at random, or by one of so many patterns."""
    rng = np.random.default_rng(2)
    if n_patterns is None:
        missing = rng.random(X.shape) < share
    else:
        patterns = rng.random((n_patterns, X.shape[1])) < share
        missing = patterns[rng.integers(n_patterns, size=len(X))]
    return np.where(missing, np.nan, X)


def floor_tied(X: Any, y: Any, n_classes: int) -> Any:
    """Reduce rows to the shared covariance: sums by class and one product, block by block."""
    shift, size = _start(X)
    sums, squares = np.zeros((n_classes, X.shape[1])), np.zeros((X.shape[1], X.shape[1]))
    labels, buffer = np.arange(n_classes)[:, None], np.empty((size, X.shape[1]))
    for block in _blocks(len(X), size):
        z = np.subtract(X[block], shift, out=buffer[: block.stop - block.start])
        sums += (y[block] == labels).astype(np.float64) @ z
        squares += z.T @ z
    counts = np.bincount(y, minlength=n_classes)[:, None]
    return (squares - sums.T @ (sums / counts)) / len(X)


def floor_full(X: Any, y: Any, n_classes: int) -> Any:
    """Reduce rows to one covariance per class: gather its rows, one product per block."""
    shift, size = _start(X)
    result = np.empty((n_classes, X.shape[1], X.shape[1]))
    taken, buffer = np.empty((size, X.shape[1]), X.dtype), np.empty((size, X.shape[1]))
    ones = np.ones(size)
    for k in range(n_classes):
        rows = np.flatnonzero(y == k)
        sums, squares = np.zeros(X.shape[1]), np.zeros((X.shape[1], X.shape[1]))
        for block in _blocks(len(rows), size):
            n = block.stop - block.start
            np.take(X, rows[block], axis=0, out=taken[:n], mode="clip")
            z = np.subtract(taken[:n], shift, out=buffer[:n])
            sums += ones[:n] @ z
            squares += z.T @ z
        result[k] = (squares - np.outer(sums, sums / len(rows))) / len(rows)
    return result


def floor_diagonal(X: Any, y: Any, n_classes: int) -> Any:
    """Reduce rows to the variances of each class: sums and sums of squares, block by block."""
    shift, size = _start(X)
    sums, squares = np.zeros((2, n_classes, X.shape[1]))
    labels, buffer = np.arange(n_classes)[:, None], np.empty((size, X.shape[1]))
    for block in _blocks(len(X), size):
        z = np.subtract(X[block], shift, out=buffer[: block.stop - block.start])
        member = (y[block] == labels).astype(np.float64)
        sums += member @ z
        np.square(z, out=z)
        squares += member @ z
    counts = np.bincount(y, minlength=n_classes)[:, None]
    return (squares - sums**2 / counts) / counts


#: Each gives the maximum likelihood covariances, centred on the mean of the first block.
FLOORS: dict[str, Callable[[Any, Any, int], Any]] = {
    "tied": floor_tied,
    "full": floor_full,
    "diagonal": floor_diagonal,
}


def _start(X: Any) -> tuple[Any, int]:
    """Give the mean of the first block, and the rows of a block: enough to outweigh its D²."""
    size = max(_BLOCK_BYTES // (8 * X.shape[1]), min(2 * X.shape[1], 2048))
    return X[:size].mean(axis=0, dtype=np.float64), size


def _blocks(n_rows: int, size: int) -> Iterator[slice]:
    """Cut rows into blocks."""
    for start in range(0, n_rows, size):
        yield slice(start, min(start + size, n_rows))
