"""Rows with missing entries, sorted so that equal patterns are neighbours."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from credo._types import F64, Bool, Int
from credo._validation.probabilities import block_rows, blocks
from credo.exceptions import InputError


@dataclass(frozen=True, slots=True, eq=False)
class MissingRows:
    """Hold some rows, equal patterns of missing entries side by side."""

    #: Values, NaN where missing, (n, D).
    x: F64
    #: True where missing, (n, D).
    mask: Bool
    #: Where each pattern starts among the rows, and the end, (S + 1,).
    starts: Int
    #: The patterns, (S, D).
    missing: Bool

    @classmethod
    def of(cls, x: F64, keys: Any) -> MissingRows:
        """Find the patterns of rows that are sorted by their keys."""
        mask = np.isnan(x)
        new = (keys[1:] != keys[:-1]).any(axis=1)
        firsts = np.flatnonzero(np.concatenate([[True], new]))
        return cls(x, mask, np.append(firsts, len(x)), mask[firsts])

    @classmethod
    def unsorted(cls, x: Any) -> MissingRows:
        """Take rows as they are, each with a pattern of its own."""
        values = np.asarray(x, dtype=np.float64)
        mask = np.isnan(values)
        return cls(values, mask, np.arange(len(values) + 1), mask)

    def only(self, active: Bool) -> MissingRows:
        """Keep some of the columns."""
        if active.all():
            return self
        return MissingRows(
            np.ascontiguousarray(self.x[:, active]),
            np.ascontiguousarray(self.mask[:, active]),
            self.starts,
            np.ascontiguousarray(self.missing[:, active]),
        )

    def gaps(self, mean: F64) -> F64:
        """Give the rows less a mean, zero where missing."""
        z = np.subtract(self.x, mean)
        np.copyto(z, 0.0, where=self.mask)
        return z

    def n_seen(self) -> F64:
        """Count the observed entries of each row."""
        per_pattern = self.missing.shape[1] - self.missing.sum(axis=1)
        return np.repeat(per_pattern, np.diff(self.starts)).astype(np.float64)


def keys_of(x: Any) -> Any:
    """Pack the pattern of each row into whole 64-bit words, (n, words)."""
    packed = np.packbits(np.isnan(x), axis=1)
    words = np.zeros((len(x), -(-packed.shape[1] // 8) * 8), dtype=np.uint8)
    words[:, : packed.shape[1]] = packed
    return words.view(np.uint64)


def by_pattern(keys: Any) -> Int:
    """Give the order that brings equal patterns together; stable."""
    return np.argsort(keys[:, 0], kind="stable") if keys.shape[1] == 1 else np.lexsort(keys.T)


def sorted_by_pattern(X: Any, rows: Int, most: int) -> tuple[Int, Any]:
    """Give row numbers sorted by pattern, and their keys, reading so many rows at once."""
    parts = [keys_of(X[rows[block]]) for block in blocks(len(rows), most)]
    if not parts:
        return rows, np.empty((0, 1), dtype=np.uint64)
    keys = np.concatenate(parts)
    order = by_pattern(keys)
    return rows[order], keys[order]


def gathered(X: Any, rows: Int, keys: Any, most: int) -> Iterator[tuple[slice, MissingRows]]:
    """Gather rows that are sorted by pattern, at most so many at once."""
    for block in blocks(len(rows), most):
        x = np.asarray(X[rows[block]], dtype=np.float64)
        yield block, MissingRows.of(x, keys[block])


def rows_with_missing(X: Any) -> Int:
    """Give the numbers of the rows that hold NaN."""
    found = [
        block.start + np.flatnonzero(np.isnan(X[block]).any(axis=1))
        for block in blocks(len(X), block_rows(X.shape[1]))
    ]
    return np.concatenate(found) if found else np.empty(0, dtype=np.intp)


def refuse_infinite(x: Any, rows: Int) -> None:
    """Refuse infinity, which is neither a value nor missing."""
    wrong = np.isinf(x)
    if wrong.any():
        i, j = (int(each) for each in np.argwhere(wrong)[0])
        raise InputError(
            f"X contains infinity, in row {int(rows[i])}, column {j}. Missing values are NaN."
        )
