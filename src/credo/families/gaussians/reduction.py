"""One pass over the rows: from a table and its class codes to ``ClassMoments``."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from credo._types import F64, Int
from credo._validation.probabilities import BLOCK_BYTES, block_rows, blocks
from credo.exceptions import InputError
from credo.families._rows import two_sum
from credo.families.gaussians.moments import ClassMoments, Detail, check_size

#: With fewer rows of a class than this in a block, all rows are sorted by class first: a product
#: of so few rows costs less than the call that makes it.
_FEW_ROWS = 32


def reduce_rows(
    X: Any, codes: Int, weights: F64 | None, n_classes: int, detail: Detail
) -> ClassMoments:
    """Summarise the rows of ``X`` by class, in one pass and without cancellation.

    ``X`` is any real 2-D array; no more than a block of it is copied. Rows are centred on the mean
    of their class in the first block that holds it; the end corrects for it. Rows of weight zero
    do not count, whatever they hold; NaN or infinity in other rows is left in the means.
    """
    check_size(n_classes, X.shape[1], detail)
    kept = codes if weights is None else codes[weights > 0]
    counts = np.bincount(kept, minlength=n_classes)
    total = np.bincount(codes, weights=weights, minlength=n_classes).astype(np.float64)
    reduction = _REDUCTIONS[detail](n_classes, X.shape[1])
    size = _block_size(n_classes, X.shape[1], detail)
    with np.errstate(over="ignore", invalid="ignore"):
        if detail == "full" and size < _FEW_ROWS * n_classes:
            order = np.argsort(codes, kind="stable")
            for block in blocks(len(order), size):
                _add(reduction, X, codes, weights, order[block])
        else:
            for block in blocks(len(codes), size):
                _add(reduction, X, codes, weights, block)
        return _moments(reduction, counts, total, detail)


def _block_size(n_classes: int, n_features: int, detail: Detail) -> int:
    """Tell how many rows to summarise at once: products of one class each want more of them."""
    if detail == "diagonal":
        return block_rows(n_features)
    size = rows_at_once(n_features)
    if detail == "tied":
        return size
    return max(size, min(4 * n_classes * n_features, 2 * block_rows(n_features)))


def rows_at_once(n_features: int) -> int:
    """Tell how many rows make a block: what fits a cache, but enough to be worth a product.

    A product of B rows writes D² numbers; with B of at least 2 D the arithmetic outweighs that.
    """
    return max(1, BLOCK_BYTES // (8 * n_features), min(2 * n_features, 2048))


def _add(reduction: _Reduction, X: Any, codes: Int, weights: F64 | None, rows: Any) -> None:
    """Add some rows, given by a slice or by their numbers."""
    part = codes[rows]
    w = None if weights is None else weights[rows]
    x = X[rows]
    reduction.learn_shifts(x, part, w)
    reduction.add(x, part, w)


class _Reduction(ABC):
    """Running sums of rows, each centred on the shift of its class."""

    squares: F64

    def __init__(self, n_classes: int, n_features: int) -> None:
        self.shifts = np.zeros((n_classes, n_features))
        self.unknown = np.ones(n_classes, dtype=bool)
        self.sums = np.zeros((n_classes, n_features))
        self._buffer = np.empty((0, n_features))

    def learn_shifts(self, x: Any, codes: Int, weights: F64 | None) -> None:
        """Take the mean of each class that is seen for the first time as its shift."""
        new = self.unknown[codes] if self.unknown.any() else np.empty(0, dtype=bool)
        if weights is not None and new.size:
            new &= weights > 0
        if not new.any():
            return
        here, inverse = np.unique(codes[new], return_inverse=True)
        w = None if weights is None else weights[new]
        sums = class_sums(np.asarray(x[new], dtype=np.float64), inverse, w, len(here))
        self.shifts[here] = sums / np.bincount(inverse, weights=w)[:, None]
        self.unknown[here] = False

    @abstractmethod
    def add(self, x: Any, codes: Int, weights: F64 | None) -> None:
        """Add a block of rows."""

    def buffer(self, n_rows: int) -> F64:
        """Give room for a block; its content is left over from the last one."""
        if len(self._buffer) < n_rows:
            self._buffer = np.empty((n_rows, self.sums.shape[1]))
        return self._buffer[:n_rows]

    def centred(self, x: Any, codes: Int, weights: F64 | None) -> F64:
        """Give the rows less the shift of their class; zero where the weight is zero."""
        z = self.buffer(len(codes))
        np.take(self.shifts, codes, axis=0, out=z, mode="clip")
        np.subtract(x, z, out=z)
        if weights is not None:
            z[weights == 0] = 0.0
        return z

    def add_sums(self, z: F64, codes: Int, weights: F64 | None, into: F64) -> None:
        """Add the weighted sum of the rows of each class."""
        if len(codes) >= len(into):
            into += class_sums(z, codes, weights, len(into))
            return
        here, inverse = np.unique(codes, return_inverse=True)
        into[here] += class_sums(z, inverse, weights, len(here))


class _Tied(_Reduction):
    """One scatter for all classes."""

    def __init__(self, n_classes: int, n_features: int) -> None:
        super().__init__(n_classes, n_features)
        self.squares = np.zeros((n_features, n_features))

    def add(self, x: Any, codes: Int, weights: F64 | None) -> None:
        z = self.centred(x, codes, weights)
        self.add_sums(z, codes, weights, self.sums)
        if weights is not None:
            z *= np.sqrt(weights)[:, None]
        self.squares += z.T @ z


class _Diagonal(_Reduction):
    """The squares of each feature in each class."""

    def __init__(self, n_classes: int, n_features: int) -> None:
        super().__init__(n_classes, n_features)
        self.squares = np.zeros((n_classes, n_features))

    def add(self, x: Any, codes: Int, weights: F64 | None) -> None:
        z = self.centred(x, codes, weights)
        self.add_sums(z, codes, weights, self.sums)
        np.square(z, out=z)
        self.add_sums(z, codes, weights, self.squares)


class _Full(_Reduction):
    """One scatter for each class."""

    def __init__(self, n_classes: int, n_features: int) -> None:
        super().__init__(n_classes, n_features)
        self.squares = np.zeros((n_classes, n_features, n_features))
        self.small = np.int16 if n_classes < 2**15 else np.intp  # sorted by radix if it fits
        self._sorted: Any = np.empty(0)

    def add(self, x: Any, codes: Int, weights: F64 | None) -> None:
        order = np.argsort(codes.astype(self.small), kind="stable")
        z = self.buffer(len(codes))
        sorted_rows = z if x.dtype == z.dtype else self._room_for(x)
        np.take(x, order, axis=0, out=sorted_rows, mode="clip")
        w = None if weights is None else weights[order]
        for k, part in segments(codes[order]):
            rows = np.subtract(sorted_rows[part], self.shifts[k], out=z[part])
            if w is None:
                self.sums[k] += rows.sum(axis=0)
            else:
                rows[w[part] == 0] = 0.0
                self.sums[k] += w[part] @ rows
                rows *= np.sqrt(w[part])[:, None]
            self.squares[k] += rows.T @ rows

    def _room_for(self, x: Any) -> Any:
        """Give room for sorted rows of another type than float64."""
        if len(self._sorted) < len(x):
            self._sorted = np.empty(x.shape, dtype=x.dtype)
        return self._sorted[: len(x)]


_REDUCTIONS: dict[Detail, type[_Reduction]] = {
    "full": _Full,
    "tied": _Tied,
    "diagonal": _Diagonal,
}


def segments(codes: Int) -> Iterator[tuple[int, slice]]:
    """Cut sorted codes into runs of the same code."""
    ends = np.append(np.flatnonzero(np.diff(codes)) + 1, len(codes))
    start = 0
    for end in ends:
        yield int(codes[start]), slice(start, int(end))
        start = int(end)


def class_sums(z: F64, codes: Int, weights: F64 | None, n_classes: int) -> F64:
    """Sum the rows of each class: one product with a sparse 0/1 matrix, whatever the classes."""
    n = len(codes)
    entries = np.ones(n) if weights is None else weights
    member = csr_array((entries, codes, np.arange(n + 1)), shape=(n, n_classes))
    return member.T @ z


def _moments(reduction: _Reduction, counts: Int, weights: F64, detail: Detail) -> ClassMoments:
    """Turn sums about the shifts into moments about the means."""
    n = weights[:, None]
    offsets = np.divide(reduction.sums, n, out=np.zeros_like(reduction.sums), where=n > 0)
    scatter = reduction.squares
    if detail == "diagonal":
        scatter -= n * offsets**2
        np.maximum(scatter, 0.0, out=scatter)
    elif detail == "tied":
        scatter -= (n * offsets).T @ offsets
    else:
        for k in np.flatnonzero(weights):
            scatter[k] -= weights[k] * np.outer(offsets[k], offsets[k])
    means, rests = two_sum(reduction.shifts, offsets)
    return ClassMoments(counts, weights, means, scatter, detail, rests=rests)


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """Rows with their class codes and weights, as the estimators hand them on."""

    X: Any
    codes: Int
    #: None if all are one.
    weights: F64 | None
    n_classes: int

    def moments(self, detail: Detail, owner: str) -> ClassMoments | None:
        """Summarise the rows; None if some hold NaN. Infinity is refused."""
        found = reduce_rows(self.X, self.codes, self.weights, self.n_classes, detail)
        if np.isfinite(found.means).all() and np.isfinite(found.scatter).all():
            return found
        missing = False
        for block in blocks(len(self.X), rows_at_once(self.X.shape[1])):
            x = np.asarray(self.X[block], dtype=np.float64)
            if self.weights is not None:
                x = x[self.weights[block] > 0]
            if np.isinf(x).any():
                column = int(np.isinf(x).any(axis=0).argmax())
                raise InputError(
                    f"{owner}: X contains infinity, in column {column}. Missing values are NaN."
                )
            missing = missing or bool(np.isnan(x).any())
        if missing:
            return None
        raise InputError(
            f"{owner}: X contains values so large that their squares are not numbers (infinity). "
            "Rescale the columns."
        )
