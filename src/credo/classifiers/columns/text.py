"""Columns of fixed-width text or bytes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final

import numpy as np

from credo.classifiers.columns.dictionary import encode
from credo.classifiers.columns.distinct import COMPILED, hashed
from credo.classifiers.columns.kinds import AbstractCells, Words


@final
@dataclass(frozen=True, slots=True, eq=False)
class TextCells(AbstractCells):
    """A column of an array of type U or S; an empty text is a category, not missing."""

    values: Any
    where: str

    def read(self) -> Words:
        """Give the words."""
        return self.words()

    def words(self) -> Words:
        """Encode by the characters."""
        if len(self.values) < COMPILED:
            return encode(self.values.tolist(), self.where)
        kind = self.values.dtype.kind
        width = max(self.values.dtype.itemsize // (4 if kind == "U" else 1), 1)
        values = np.ascontiguousarray(self.values, dtype=f"={kind}{width}")
        cells = values.view(np.uint32 if kind == "U" else np.uint8).reshape(len(values), -1)
        codes, rows = hashed(cells)
        return Words(codes, tuple(values[rows].tolist()))
