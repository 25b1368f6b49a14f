"""Columns of numbers, and numbers as categories by value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final

import numpy as np

from credo.classifiers.columns.appearance import order_of_appearance, renumber
from credo.classifiers.columns.dictionary import plain
from credo.classifiers.columns.distinct import COMPILED, hashed, sorted_numbers
from credo.classifiers.columns.kinds import AbstractCells, Numbers, Words

#: Integers in a range of at most this many, or one per row, are counted instead of hashed.
_RANGE = 2**16
#: Larger integers do not fit where they are counted.
_MOST = 2**62
_NAN = np.float64(np.nan)


@final
@dataclass(frozen=True, slots=True, eq=False)
class NumberCells(AbstractCells):
    """An array of numbers, with a mask of the missing ones beside NaN."""

    values: Any
    missing: Any = None

    def read(self) -> Numbers:
        """Give the numbers, NaN where missing."""
        values = _usual(self.values)
        is_bool = values.dtype.kind == "b"
        if self.missing is not None and self.missing.any():
            values = np.where(self.missing, _NAN, values.astype(np.float64))
        return Numbers(values, is_bool)

    def words(self) -> Words:
        """Give each distinct number as a category."""
        values = _usual(self.values)
        missing = self.missing
        if values.dtype.kind == "f":
            gaps = np.isnan(values)
            missing = gaps if missing is None else missing | gaps
        if missing is None or not missing.any():
            return _encode(values)
        found = _encode(values[~missing])
        codes = np.full(len(values), -1, dtype=np.int32)
        codes[~missing] = found.codes
        return Words(codes, found.categories)


def _usual(values: Any) -> Any:
    """Give numbers in the machine's order of bytes, floats in 32 or 64 bits."""
    if values.dtype.kind == "f" and values.dtype.itemsize not in {4, 8}:
        return values.astype(np.float32 if values.dtype.itemsize < 4 else np.float64)
    return values if values.dtype.isnative else values.astype(values.dtype.newbyteorder("="))


def _encode(values: Any) -> Words:
    """Encode numbers without missing ones."""
    if not len(values):
        return Words(np.empty(0, dtype=np.int32), ())
    if values.dtype.kind == "b":
        return _counted(values.view(np.uint8), 0, 1, (False, True))
    if values.dtype.kind == "f":
        whole = _whole(values)
        if whole is None:
            return _hashed(values + values.dtype.type(0))  # -0.0 becomes 0.0
        values = whole
    low, high = int(values.min()), int(values.max())
    if high - low < max(_RANGE, len(values)) and max(-low, high) < _MOST:
        return _counted(values, low, high)
    return _hashed(values)


def _whole(values: Any) -> Any:
    """Give floats as integers if all are whole and lie in a range that can be counted."""
    low, high = float(values.min()), float(values.max())
    if not (high - low < max(_RANGE, len(values)) and max(-low, high) < 2.0**53):
        return None
    integers = values.astype(np.int64)
    return integers if (integers == values).all() else None


def _counted(values: Any, low: int, high: int, shown: tuple[Any, ...] | None = None) -> Words:
    """Encode integers by counting them."""
    offsets = np.subtract(values, low, dtype=np.intp, casting="unsafe") if low else values
    size = high - low + 1
    order = order_of_appearance(offsets, size)
    categories = (order + low).tolist() if shown is None else [shown[i] for i in order]
    return Words(renumber(offsets, order, size), tuple(categories))


def _hashed(values: Any) -> Words:
    """Encode numbers of 32 or 64 bits by these; fewer bits are always counted."""
    if len(values) < COMPILED:
        codes, rows = sorted_numbers(values)
    else:
        bits = np.ascontiguousarray(values).view(np.uint32)
        codes, rows = hashed(bits.reshape(len(values), -1))
    return Words(codes, tuple(plain(value) for value in values[rows].tolist()))
