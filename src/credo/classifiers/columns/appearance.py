"""Codes in the order of first appearance, by counting."""

from __future__ import annotations

from typing import Any

import numpy as np

from credo._types import Int

#: Rows looked at before asking whether every code has appeared; a block stays in cache.
_BLOCK = 2**14


def order_of_appearance(codes: Any, size: int) -> Int:
    """Give those of the codes 0, ..., size - 1 that occur, the first to appear first.

    A code of -1 is missing: it falls on the last of ``size + 1`` places.
    """
    n_rows = len(codes)
    present = np.zeros(size + 1, dtype=bool)
    present[codes] = True
    n_present = int(np.count_nonzero(present[:size]))
    first = np.full(size + 1, n_rows, dtype=np.intp)
    first[size] = -1
    found = 0
    for start in range(0, n_rows, _BLOCK):
        if found == n_present:
            break
        part = codes[start : start + _BLOCK]
        (fresh,) = np.nonzero(first[part] == n_rows)
        backwards = fresh[::-1]  # of equal places the last is kept: the first row
        first[part[backwards]] = start + backwards
        found = int(np.count_nonzero(first[:size] < n_rows))
    return np.argsort(first[:size], kind="stable")[:n_present]


def renumber(codes: Any, order: Int, size: int, new: Any = None) -> Any:
    """Give int32 codes: ``order[i]`` becomes i, or ``new[i]``; -1 stays."""
    lookup = np.full(size + 1, -1, dtype=np.int32)
    lookup[order] = np.arange(len(order)) if new is None else new
    return lookup[codes]
