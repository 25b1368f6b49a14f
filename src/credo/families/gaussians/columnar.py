"""One pass over columns: from a table stored by columns and its class codes to ``ClassMoments``."""

from __future__ import annotations

import threading
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
#: Rows of up to so many classes need not be sorted: a product with a table of zeros and ones adds
#: them up (measured: a quarter less time with 12 classes, a third with 5); and half the block.
_FEW_CLASSES, _UNSORTED_BYTES = 12, 5 * 2**18
#: Rows whose mean is that shift: it need only be near, a standard error or so.
_FIRST = 256
_ROOMS = threading.local()
#: Squared distance of a class from the shift, in its variances, up to which one shift serves all
#: classes: taking n d² from a sum of squares costs log10(1 + d²) of sixteen digits, here three.
_NEAR = 1e3


def reduce_columns(
    columns: Sequence[F64], codes: Int, weights: F64 | None, n_classes: int, detail: Detail
) -> ClassMoments:
    """Summarise columns of float64 by class, in one pass and without cancellation.

    All weights are positive. NaN or infinity in a column is left in its means.
    """
    check_size(n_classes, len(columns), detail)
    counts = np.bincount(codes, minlength=n_classes)
    total = counts.astype(np.float64)
    if weights is not None:
        total = np.asarray(np.bincount(codes, weights, n_classes), dtype=np.float64)
    with np.errstate(over="ignore", invalid="ignore"):
        if detail != "full" and n_classes <= _FEW_CLASSES:
            together = _unsorted(columns, codes, weights, n_classes, detail)
            found = together.moments(counts, total, detail)
            if not together.is_far(found):
                return found
        return _sorted(columns, codes, weights, n_classes, detail).moments(counts, total, detail)


def _unsorted(
    columns: Sequence[F64], codes: Int, weights: F64 | None, n_classes: int, detail: Detail
) -> _Sums:
    """Add rows up as they come, about one shift for all classes."""
    width = len(columns)
    lines = 2 * width if detail == "diagonal" else width
    size = max(1, min(len(codes), _UNSORTED_BYTES // (8 * lines)))
    sums = _Sums.of(n_classes, width, detail)
    sums.shifts[:] = [column[:_FIRST].mean() for column in columns]
    both_rooms = _room(lines + n_classes, size)
    room, member = both_rooms[:lines], both_rooms[lines:]
    classes = np.arange(n_classes)[:, None]
    for block in blocks(len(codes), size):
        part = codes[block]
        z, h = room[:, : len(part)], member[:, : len(part)]
        for column, shift, line in zip(columns, sums.shifts[0].tolist(), z, strict=False):
            np.subtract(column[block], shift, out=line)
        np.equal(classes, part, out=h, casting="unsafe")
        if weights is not None:
            h *= weights[block]
        if detail == "diagonal":
            np.square(z[:width], out=z[width:])
            both = h @ z.T
            sums.sums += both[:, :width]
            sums.squares += both[:, width:]
        else:
            sums.sums += h @ z.T
            if weights is not None:
                z *= np.sqrt(weights[block])
            sums.squares += z @ z.T
    return sums


def _sorted(
    columns: Sequence[F64], codes: Int, weights: F64 | None, n_classes: int, detail: Detail
) -> _Sums:
    """Sort rows by class block by block, centred on the mean of their class in its first block."""
    sums = _Sums.of(n_classes, len(columns), detail)
    small: Any = codes.astype(np.int16) if n_classes < 2**15 else codes  # to be sorted by radix
    size = _block_rows(len(columns), n_classes, len(codes))
    room = _room(len(columns), size)
    for block in blocks(len(codes), size):
        order = np.argsort(small[block], kind="stable")
        z = room[:, : len(order)]
        for column, line in zip(columns, z, strict=True):
            np.take(column[block], order, out=line, mode="clip")
        sums.add(z, small[block][order], None if weights is None else weights[block][order])
    return sums


def _room(lines: int, size: int) -> F64:
    """Give room for a block, the same for all batches of a thread.

    New memory for each would cost as much as the sums that are made in it.
    """
    kept = getattr(_ROOMS, "kept", None)
    if kept is None or kept.size < lines * size:
        kept = _ROOMS.kept = np.empty(lines * size)
    return kept[: lines * size].reshape(lines, size)


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

    def is_far(self, found: ClassMoments) -> bool:
        """Tell whether a class lies so far from the shift that its scatter lost digits."""
        weights = found.weights[:, None]
        squares = found.pooled_diagonal() if self.detail == "tied" else found.scatter
        distance = weights * (found.means - self.shifts) ** 2
        total = weights.sum() if self.detail == "tied" else weights
        return bool((distance * total > _NEAR * weights * squares).any())

    def moments(self, counts: Int, weights: F64, detail: Detail) -> ClassMoments:
        """Turn sums about the shifts into moments about the means."""
        n = weights[:, None]
        offsets = np.divide(self.sums, n, out=np.zeros_like(self.sums), where=n > 0)
        part = np.sqrt(n) * offsets
        if detail == "diagonal":
            scatter = np.maximum(self.squares - part**2, 0.0)
        elif detail == "tied":
            scatter = self.squares - part.T @ part
        else:
            scatter = self.squares - part[:, :, None] * part[:, None, :]
        if detail != "diagonal":  # rounding may leave less than nothing of a constant column
            squares = np.einsum("...ii->...i", scatter)
            np.maximum(squares, 0.0, out=squares)
        means, rests = two_sum(self.shifts, offsets)
        return ClassMoments(counts, weights, means, scatter, detail, rests=rests)
