"""Distinct values of fixed-width arrays: the first row of each, and a code per row."""

from __future__ import annotations

from typing import Any

import numpy as np

from credo._types import Int
from credo.classifiers.columns.kinds import Codes

#: From so many rows on a hash table in compiled code pays for loading it.
COMPILED = 2**16


def hashed(cells: Any) -> tuple[Codes, Int]:
    """Give a code per row and the row where each code appears first.

    ``cells`` are the bits of the values, (n, width) unsigned integers of 8 or 32 bits.
    """
    from credo._kernels.dictionary import encode_rows  # noqa: PLC0415 - loads Numba

    codes = np.empty(len(cells), dtype=np.int32)
    return codes, encode_rows(cells, codes)


def sorted_numbers(values: Any) -> tuple[Codes, Int]:
    """Give the same by sorting the values."""
    _, rows, codes = np.unique(values, return_index=True, return_inverse=True)
    order = np.argsort(rows)
    places = np.empty(len(order), dtype=np.int32)
    places[order] = np.arange(len(order))
    return places[codes], rows[order]
