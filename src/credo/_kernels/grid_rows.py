"""What the messages of a grid share: scratch, and loops over pixels.

Arrays have a row for each label and a column for each pixel. Every loop runs along a row and
treats pixels alike and apart, so that a pixel's message has the same bits wherever it stands.
"""

from __future__ import annotations

from typing import Final

from credo._kernels._jit import strict_kernel

#: Pixels computed together. Measured with 16, 64 and 256 labels: 256 pixels take 1.2 to 1.4 times
#: as long, for each loop over pixels costs some 20 ns to start; 1024 take up to 1.4 times as long,
#: for the rows that every label needs leave the first cache.
STEP: Final = 512
#: Entries between rows of scratch: with float64 rows of 512 lie 4096 bytes apart, where eight of
#: them fill a set of the first cache, and messages took up to three times as long.
_GAP: Final = 16
#: Rows of scratch beside two for each label; the last one is for ``typed``.
_SPARE: Final = 7


@strict_kernel
def work_rows(k):
    """Give how many rows of scratch, as long as those of messages, ``k`` labels need."""
    rows = 2 * k + _SPARE
    return rows + rows // _GAP + 1


@strict_kernel
def scratch(work, k, n):
    """Lay the rows of scratch for ``n`` pixels out, gaps between them where there is room."""
    rows = 2 * k + _SPARE
    width = min(n, STEP)
    if rows * (width + _GAP) <= work.size:
        width += _GAP
    return work.reshape(work.size)[: rows * width].reshape((rows, width))


@strict_kernel
def typed(value, rows):
    """Give a number the type of an array; the last row is overwritten."""
    last = rows.shape[0] - 1
    rows[last, 0] = value
    return rows[last, 0]


@strict_kernel
def fill(rows, x, value, n):
    """Set the first ``n`` entries of a row."""
    out = rows[x]
    for p in range(n):
        out[p] = value


@strict_kernel
def copy(rows, x, source, a, part):
    """Copy part of a row."""
    out, old = rows[x], source[a, part]
    for p in range(old.size):
        out[p] = old[p]


@strict_kernel
def take_larger(rows, x, source, a, part):
    """Keep the larger of two rows."""
    out, new = rows[x], source[a, part]
    for p in range(new.size):
        out[p] = max(out[p], new[p])


@strict_kernel
def take_largest(rows, x, source, a, part):
    """Keep the largest of a row and the four from ``a`` on."""
    out = rows[x]
    row0, row1 = source[a, part], source[a + 1, part]
    row2, row3 = source[a + 2, part], source[a + 3, part]
    for p in range(row0.size):
        one = max(row1[p], row0[p])
        two = max(row3[p], row2[p])
        best = max(two, one)
        out[p] = max(out[p], best)


@strict_kernel
def largest(q, rows, x, part):
    """Write the largest entry over labels into a row."""
    k = q.shape[0]
    copy(rows, x, q, 0, part)
    a = 1
    while a + 3 < k:
        take_largest(rows, x, q, a, part)
        a += 4
    while a < k:
        take_larger(rows, x, q, a, part)
        a += 1


@strict_kernel
def count_above(row, bound):
    """Count the entries larger than ``bound``."""
    count = 0
    for p in range(row.size):
        count += 1 if row[p] > bound else 0
    return count


@strict_kernel
def revive(q, rows, x, top, one, part):
    """Let pixels whose q are all zero, and so is their sum or largest in a row, know nothing.

    Their q become one, and the entry in the row ``top``. Products of numbers get there when they
    underflow, which two neighbours that are certain of far labels bring about.
    """
    row, zero = rows[x], one - one
    if count_above(row[: part.stop - part.start], zero) == part.stop - part.start:
        return
    for p in range(part.stop - part.start):
        if row[p] == zero:
            row[p] = top
            for a in range(q.shape[0]):
                q[a, part.start + p] = one
