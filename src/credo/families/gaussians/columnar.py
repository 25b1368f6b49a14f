"""One pass over columns: from a table stored by columns and its class codes to ``ClassMoments``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from credo._types import F64, Int
from credo._validation.probabilities import blocks
from credo.families._rows import two_sum
from credo.families.gaussians.moments import ClassMoments, Detail, check_size

#: Bytes of a block: its columns stay in a cache of a few megabytes while they are sorted, centred
#: and multiplied (16 384 rows of 20 columns; half and four times as many take a third longer).
_BLOCK_BYTES = 5 * 2**19
#: With fewer rows of a class in a block, the calls cost more than the products they make.
_FEW_ROWS = 32


def reduce_columns(
    columns: Sequence[F64], codes: Int, weights: F64 | None, n_classes: int, detail: Detail
) -> ClassMoments:
    """Summarise columns of float64 by class, in one pass and without cancellation.

    Rows are sorted by class block by block, and centred on the mean of their class in the first
    block that holds it; the end corrects for it. All weights are positive. NaN or infinity is left
    in the means.
    """
    check_size(n_classes, len(columns), detail)
    counts = np.bincount(codes, minlength=n_classes)
    total = np.bincount(codes, weights, n_classes).astype(np.float64)
    sums = _Sums.of(n_classes, len(columns), detail)
    small: Any = (
        codes.astype(np.int16) if n_classes < 2**15 else codes
    )  # sorted by radix if it fits
    size = _block_rows(len(columns), n_classes, len(codes))
    room = np.empty((len(columns), min(size, len(codes))))
    with np.errstate(over="ignore", invalid="ignore"):
        for block in blocks(len(codes), size):
            order = np.argsort(small[block], kind="stable")
            z = room[:, : len(order)]
            for column, line in zip(columns, z, strict=True):
                np.take(column[block], order, out=line, mode="clip")
            sums.add(z, small[block][order], None if weights is None else weights[block][order])
        return sums.moments(counts, total, detail)


def _block_rows(n_columns: int, n_classes: int, n_rows: int) -> int:
    """Tell how many rows to sort at once."""
    enough = max(2 * n_columns, _FEW_ROWS * n_classes)
    return min(n_rows, max(_BLOCK_BYTES // (8 * n_columns), enough)) or 1


@dataclass(slots=True, eq=False)
class _Sums:
    """Running sums of columns, each row centred on the shift of its class."""

    #: (K, D), and whether it is known.
    shifts: F64
    known: list[bool]
    #: (K, D), and (K, D, D), (D, D) or (K, D).
    sums: F64
    squares: F64
    detail: Detail

    @classmethod
    def of(cls, n_classes: int, n_columns: int, detail: Detail) -> _Sums:
        """Begin with nothing."""
        lead = () if detail == "tied" else (n_classes,)
        tail = (n_columns,) if detail == "diagonal" else (n_columns, n_columns)
        flat = (n_classes, n_columns)
        start = np.zeros(flat), [False] * n_classes, np.zeros(flat), np.zeros((*lead, *tail))
        return cls(*start, detail)

    def add(self, z: F64, codes: Int, weights: F64 | None) -> None:
        """Add a block (D, B) of rows sorted by class, whose place is used up."""
        ends = np.append(np.flatnonzero(codes[1:] != codes[:-1]) + 1, len(codes)).tolist()
        start = 0
        for end in ends:
            w = None if weights is None else weights[start:end]
            self._add_class(int(codes[start]), z[:, start:end], w)
            start = end
        if self.detail == "tied":
            self.squares += z @ z.T

    def _add_class(self, k: int, part: F64, w: F64 | None) -> None:
        """Add the rows of one class."""
        if not self.known[k]:
            self.shifts[k] = part.mean(axis=1) if w is None else part @ (w / w.sum())
            self.known[k] = True
        part -= self.shifts[k][:, None]
        if w is None:
            self.sums[k] += part @ np.ones(part.shape[1])
        else:
            self.sums[k] += part @ w
            part *= np.sqrt(w)
        if self.detail == "full":
            self.squares[k] += part @ part.T
        elif self.detail == "diagonal":
            self.squares[k] += np.vecdot(part, part)

    def moments(self, counts: Int, weights: F64, detail: Detail) -> ClassMoments:
        """Turn sums about the shifts into moments about the means."""
        n = weights[:, None]
        offsets = np.divide(self.sums, n, out=np.zeros_like(self.sums), where=n > 0)
        scatter, part = self.squares, np.sqrt(n) * offsets
        if detail == "diagonal":
            scatter = np.maximum(scatter - part**2, 0.0)
        elif detail == "tied":
            scatter -= part.T @ part
        else:
            scatter -= part[:, :, None] * part[:, None, :]
        if detail != "diagonal":  # rounding may leave less than nothing of a constant column
            squares = np.einsum("...ii->...i", scatter)
            np.maximum(squares, 0.0, out=squares)
        means, rests = two_sum(self.shifts, offsets)
        return ClassMoments(counts, weights, means, scatter, detail, rests=rests)
