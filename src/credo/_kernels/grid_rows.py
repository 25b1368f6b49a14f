"""What the messages of a grid share: scratch, and loops over pixels.

Arrays have a row for each label and a column for each pixel. Every loop runs along a row and
treats pixels alike and apart, so that a pixel's message has the same bits wherever it stands.
Rows of scratch hold the pixels of one ``part`` of the columns, from their beginning on.
"""

from __future__ import annotations

from typing import Final

from credo._kernels.tiers import kernel

#: Pixels computed together. Measured with rows of 1024 and 4096 pixels: 512 at a time take about
#: 1.1 times as long, and 256 1.2 to 1.4 times, for each loop over pixels costs some 20 ns to start;
#: more gain nothing.
STEP: Final = 1024
#: Entries between rows of scratch: float64 rows of 512 lie 4096 bytes apart, where eight of them
#: fill a set of the first cache; messages took up to three times as long without a gap.
_GAP: Final = 16
#: Rows of scratch beside two for each label.
_SPARE: Final = 7


@kernel
def work_rows(k):
    """Give how many rows of scratch, as long as those of messages, ``k`` labels need."""
    rows = 2 * k + _SPARE
    return rows + rows // _GAP + 1


@kernel
def scratch(work, k, n):
    """Lay the rows of scratch for ``n`` pixels out, gaps between them where there is room."""
    rows = 2 * k + _SPARE
    width = min(n, STEP)
    if rows * (width + _GAP) <= work.size:
        width += _GAP
    return work.reshape(work.size)[: rows * width].reshape((rows, width))


@kernel
def typed(value, cell):
    """Give a number the type of an array, whose first entry it becomes."""
    cell[0] = value
    return cell[0]


@kernel
def fill(out, value):
    """Set all entries of a row."""
    for p in range(out.size):
        out[p] = value


@kernel
def copy(out, source, a, part):
    """Copy part of a row."""
    row = source[a, part]
    for p in range(row.size):
        out[p] = row[p]


@kernel
def take_largest(out, q, a, part):
    """Keep the largest of a row and the four from ``a`` on, the last one standing in for more."""
    last = q.shape[0] - 1
    row0, row1 = q[a, part], q[min(a + 1, last), part]
    row2, row3 = q[min(a + 2, last), part], q[min(a + 3, last), part]
    for p in range(row0.size):
        out[p] = max(out[p], row0[p], row1[p], row2[p], row3[p])


@kernel
def largest(out, q, part):
    """Write the largest entry over labels into a row."""
    copy(out, q, 0, part)
    for a in range(1, q.shape[0], 4):
        take_largest(out, q, a, part)


@kernel
def count_above(row, bound):
    """Count the entries larger than ``bound``."""
    count = 0
    for p in range(row.size):
        count += 1 if row[p] > bound else 0
    return count


@kernel
def revive(q, known, top, one, part):
    """Let pixels know nothing whose q are all zero, as ``known``, their sum or largest, tells.

    Their q become one, and the entry in ``known`` ``top``. Products of numbers underflow to zero
    where two neighbours are certain of labels that are far apart.
    """
    zero = one - one
    if count_above(known, zero) == known.size:
        return
    for p in range(known.size):
        if known[p] == zero:
            known[p] = top
            for a in range(q.shape[0]):
                q[a, part.start + p] = one
