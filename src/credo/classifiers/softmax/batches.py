"""Rows as they come: batches of a source, and blocks of a batch that fit a cache."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from credo._types import F64, Int
from credo._validation.probabilities import blocks

#: Bytes of dense rows that are worked on at once: measured, half a core's own cache.
_DENSE_BYTES = 2**19
#: Bytes of scores of sparse rows that are worked on at once: many rows, as each block adds a
#: whole table of coefficients.
_SCORE_BYTES = 2**25


@dataclass(frozen=True, slots=True)
class Batch:
    """Checked rows, dense or CSR, of positive weight; codes of their classes; None is weight 1."""

    x: Any
    codes: Int
    weights: F64 | None

    def __len__(self) -> int:
        return int(self.x.shape[0])

    @property
    def total(self) -> float:
        """Give the sum of the weights."""
        return float(len(self)) if self.weights is None else float(self.weights.sum())


#: Gives the same batches at every call, one pass over them each.
Source = Callable[[], Iterable[Batch]]


def cut(batch: Batch, n_classes: int) -> Iterator[Batch]:
    """Cut a batch into blocks of float64 rows."""
    n_features = max(1, batch.x.shape[1])
    if sparse.issparse(batch.x):
        size = max(64, _SCORE_BYTES // (8 * n_classes))
    else:
        size = max(64, _DENSE_BYTES // (8 * max(n_features, n_classes)))
    for part in blocks(len(batch), size):
        weights = None if batch.weights is None else batch.weights[part]
        yield Batch(_floats(batch.x, part), batch.codes[part], weights)


def _floats(x: Any, part: slice) -> Any:
    """Give some rows in float64: a view of what is stored, where it is float64 already."""
    if not sparse.issparse(x):
        return np.ascontiguousarray(x[part], dtype=np.float64)
    start, stop = x.indptr[part.start], x.indptr[part.stop]
    data = x.data[start:stop].astype(np.float64, copy=False)
    pointers = x.indptr[part.start : part.stop + 1] - start
    shape = (part.stop - part.start, x.shape[1])
    return sparse.csr_array((data, x.indices[start:stop], pointers), shape=shape)
