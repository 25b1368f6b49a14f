"""Sparse rows: counts by class and linear scores, without making them dense."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, Self, final

import numpy as np
from scipy.sparse import csr_array, issparse
from scipy.special import gammaln

from credo._types import F64, Int
from credo._validation.probabilities import block_rows, blocks
from credo.exceptions import InputError

#: Entries that are converted and worked on at once: 1 MiB with their columns, which leaves room in
#: a core's own cache for the scores and for the rows of a table that most entries need.
_ENTRIES = 2**16
#: Larger whole numbers are not told apart in float64.
_MOST_COUNT = 2.0**53
#: Measured, a stream of Bernoulli columns needs eleven tables at its peak; if they need more bytes
#: than this, they are refused before they are made.
_TABLES, _MOST_BYTES = 11, 16 * 2**30


@final
@dataclass(frozen=True, slots=True)
class Counts:
    """Which numbers count."""

    most: float
    whole: bool
    needs: str
    remedy: str


WHOLE = Counts(
    _MOST_COUNT,
    whole=True,
    needs="whole numbers, 0 or more,",
    remedy="Weights such as tf-idf have a posterior under families='multinomial', but no density.",
)
#: The counts of each family. A multinomial posterior has a meaning for parts of a count, too.
COUNTS = {
    "bernoulli": Counts(
        1.0,
        whole=True,
        needs="0 or 1",
        remedy="Pass X > 0 for what is present, or families='multinomial'.",
    ),
    "poisson": WHOLE,
    "multinomial": Counts(
        _MOST_COUNT, whole=False, needs="numbers, 0 or more,", remedy="Counts are never negative."
    ),
}


@final
@dataclass(frozen=True, eq=False)
class SparseRows:
    """Rows of counts in compressed form, each column at most once."""

    owner: str
    X: csr_array

    @classmethod
    def of(cls, X: Any, owner: str) -> Self:
        """Take a sparse matrix or array of any format; one that is in order is not copied."""
        if X.ndim != 2 or X.dtype.kind not in "biuf":
            raise InputError(
                f"{owner} needs sparse rows of numbers, of shape (n, D). Got {X.dtype} of shape "
                f"{X.shape}."
            )
        if not all(X.shape):
            raise InputError(
                f"{owner}: found array with {X.shape[0]} sample(s) and {X.shape[1]} feature(s) "
                f"(shape={X.shape}) while a minimum of 1 is required."
            )
        rows = csr_array(X)
        if X.format == "csr" and X.has_canonical_format:  # looked up once, and remembered by X
            rows.has_canonical_format = True
        if not rows.has_canonical_format:
            rows = rows.copy()
            rows.sum_duplicates()
        return cls(owner, rows)

    def __len__(self) -> int:
        return int(self.X.shape[0])

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self)

    @property
    def n_columns(self) -> int:
        """Number of columns."""
        return int(self.X.shape[1])

    def values(self, row: int) -> list[float]:
        """Give all entries of a row."""
        return self.X[[row]].toarray()[0].tolist()

    def is_binary(self) -> bool:
        """Tell whether all entries are 0 or 1."""
        return all(
            bool(((values == 0) | (values == 1)).all())
            for block in blocks(self.X.nnz, _ENTRIES)
            for values in [self.X.data[block]]
        )

    @cached_property
    def _edges(self) -> Int:
        """Give the rows where blocks of about as many entries begin, and the end."""
        goals = np.arange(_ENTRIES, self.X.nnz, _ENTRIES)
        inner = np.searchsorted(self.X.indptr, goals)
        return np.unique(np.concatenate([[0], inner, [len(self)]]))

    def blocks(self, n_classes: int = 1) -> Iterator[slice]:
        """Cut the rows into blocks of about as many entries, and of not too many scores."""
        edges = self._edges.tolist()
        for first, last in pairwise(edges):
            for block in blocks(last - first, block_rows(n_classes)):
                yield slice(first + block.start, first + block.stop)

    def entries(self, rows: slice, kind: Counts) -> tuple[Any, Any, F64]:
        """Give where rows start, the columns and the values; check that these are of a kind."""
        from credo._kernels.sparse_rows import first_fault  # noqa: PLC0415 - compiled, on demand

        starts = self.X.indptr[rows.start : rows.stop + 1]
        first, last = int(starts[0]), int(starts[-1])
        values = np.asarray(self.X.data[first:last], dtype=np.float64)
        fault = first_fault(values, kind.most, kind.whole)
        if fault >= 0:
            self._refuse(first + fault, values[fault], kind)
        return starts - starts[0], self.X.indices[first:last], values

    def _refuse(self, entry: int, value: float, kind: Counts) -> None:
        """Say which entry is not a count."""
        row = int(np.searchsorted(self.X.indptr, entry, side="right")) - 1
        got, remedy = f"{value:g}", kind.remedy
        if np.isnan(value):
            got, remedy = "NaN", "Missing counts have no place in sparse rows: leave the row out."
        raise InputError(
            f"{self.owner} needs {kind.needs} in sparse rows. Got {got} in row {row}, column "
            f"{self.X.indices[entry]}. {remedy}"
        )

    def counts(self, codes: Int, weights: F64, n_classes: int, kind: Counts) -> F64:
        """Add up the rows of each class, weighted: (K, D)."""
        from credo._kernels.sparse_rows import add_counts  # noqa: PLC0415 - compiled, on demand

        check_size(n_classes, self.n_columns, self.owner)
        result = np.zeros((n_classes, self.n_columns))
        for rows in self.blocks():
            starts, columns, values = self.entries(rows, kind)
            add_counts(starts, columns, values, codes[rows], weights[rows], result)
        return result

    def log_factorials(self, rows: slice) -> tuple[F64, F64]:
        """Give the sum of each row, and the sum of the logarithms of its factorials."""
        starts, _, values = self.entries(rows, WHOLE)
        owner = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
        n = len(starts) - 1
        totals: F64 = np.bincount(owner, values, n).astype(np.float64)
        logs: F64 = np.bincount(owner, gammaln(values + 1.0), n).astype(np.float64)
        return totals, logs


def check_size(n_classes: int, n_columns: int, owner: str) -> None:
    """Refuse tables that would not fit into memory."""
    n_bytes = 8 * n_classes * n_columns * _TABLES
    if n_bytes > _MOST_BYTES:
        raise InputError(
            f"{owner}: tables for {n_classes} classes and {n_columns} columns may need "
            f"{n_bytes / 2**30:.1f} GiB, above {_MOST_BYTES / 2**30:.0f} GiB. Use fewer columns."
        )


def is_sparse(X: Any) -> bool:
    """Tell whether rows are a SciPy sparse matrix or array."""
    return bool(issparse(X))


def aligned(table: F64) -> F64:
    """Copy a table to where rows of 32 bytes and multiples start on a cache line or its half."""
    raw = np.empty(table.size + 8)
    skip = (-raw.ctypes.data % 64) // 8
    result = raw[skip : skip + table.size].reshape(table.shape)
    result[:] = table
    return result
