"""Distinct rows of a matrix of unsigned integers, by an open hash table.

The rows are the bits of text or numbers of fixed width, so that equal bits are equal values. Codes
are given in the order of first appearance; the comparison is exact, the hash only finds the place.
"""

import numpy as np

from credo._kernels.tiers import kernel

#: An odd number near 2³⁰ / φ, and the largest hash: products stay below 2⁶² and never overflow.
_FACTOR = 663608941
_MASK = 2**31 - 1


@kernel
def _hash(cells, i):
    """Mix the entries that are not zero: padding costs little."""
    h = np.int64(0)
    for c in range(cells.shape[1]):
        if cells[i, c] != 0:
            product = (h ^ np.int64(cells[i, c])) * _FACTOR
            h = (product ^ (product >> 29)) & _MASK
    return h


@kernel
def _same(cells, i, k):
    """Tell whether two rows are equal."""
    for c in range(cells.shape[1]):  # noqa: SIM110 - Numba compiles loops, not generators
        if cells[i, c] != cells[k, c]:
            return False
    return True


@kernel
def encode_rows(cells, codes):
    """Write the code of each row, (n,); give the rows where the codes appear first.

    ``cells`` are (n, width) unsigned integers of at most 32 bits. The table doubles when half
    full, so that the expected cost is O(n width).
    """
    size = 1024
    table = np.full(size, -1, np.int32)
    firsts = np.empty(size // 2, np.intp)
    n_found = 0
    for i in range(cells.shape[0]):
        slot = _hash(cells, i) & (size - 1)
        while table[slot] >= 0 and not _same(cells, i, firsts[table[slot]]):
            slot = (slot + 1) & (size - 1)
        if table[slot] >= 0:
            codes[i] = table[slot]
            continue
        table[slot] = n_found
        codes[i] = n_found
        firsts[n_found] = i
        n_found += 1
        if 2 * n_found == size:
            size *= 2
            table = np.full(size, -1, np.int32)
            longer = np.empty(n_found * 2, np.intp)
            longer[:n_found] = firsts
            firsts = longer
            for code in range(n_found):
                slot = _hash(cells, firsts[code]) & (size - 1)
                while table[slot] >= 0:
                    slot = (slot + 1) & (size - 1)
                table[slot] = code
    return firsts[:n_found].copy()
