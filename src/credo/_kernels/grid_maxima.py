r"""Max-product messages between neighbours of a grid: new(a) = max_b q(b) - s c(|a - b|).

    Potts       c(m) = 1 for m > 0, else 0; s may be negative   O(K)
    linear      c(m) = min(m, limit)                            O(K)
    quadratic   c(m) = min(m², limit)                           O(K R)

q is shifted first, so that its largest entry, and with it that of the message, is zero. For
quadratic edges the reach R is that of the limit, or what is less: beyond it every difference costs
more than it can gain, because q spans less than s m², or climbs less than s (2m - 2) per label.
The envelope of parabolas (Felzenszwalb and Huttenlocher), O(K) whatever q, takes about 20 ns per
label and pixel, for its branches are a pixel's own; the loop over differences takes 0.055 ns for
each (float64: 0.13 ns), so that the envelope would gain for reaches beyond 360 (150) only.

Rows of scratch: ``best`` is the largest q, ``floor`` the least message.
"""

from __future__ import annotations

import numpy as np

from credo._kernels.grid_rows import copy, fill, largest, typed
from credo._kernels.tiers import kernel


@kernel
def potts_row(message, a, q, s, best, rate, keep, part):
    """Mix the new message for one label with the old one where s >= 0 everywhere."""
    old, row = message[a, part], q[a, part]
    for p in range(old.size):
        old[p] = rate * max(row[p] - best[p], -s[p]) + keep * old[p]


@kernel
def take_next(best, second, q, a, part):
    """Keep the two largest entries."""
    row = q[a, part]
    for p in range(row.size):
        second[p] = max(second[p], min(best[p], row[p]))
        best[p] = max(best[p], row[p])


@kernel
def potts_row_apart(message, a, q, s, best, second, rate, keep, part):
    """Mix the new message for one label with the old one.

    Where s < 0, the best label hears from the next best, or from itself at a loss, and all others
    hear from the best.
    """
    old, row = message[a, part], q[a, part]
    for p in range(old.size):
        zero = rate - rate
        gap = row[p] - best[p]
        alone = max(second[p] - best[p], s[p])
        apart = zero if gap < zero else alone
        new = apart if s[p] < zero else max(gap, -s[p])
        old[p] = rate * new + keep * old[p]


@kernel
def count_below(row, bound):
    """Count the entries smaller than ``bound``."""
    count = 0
    for p in range(row.size):
        count += 1 if row[p] < bound else 0
    return count


@kernel
def potts_max(message, q, s, rate, one, best, second, part):
    """Send over edges that only ask whether labels are equal; ``second`` is scratch."""
    k, keep = q.shape[0], one - rate
    if count_below(s, one - one) == 0:
        largest(best, q, part)
        for a in range(k):
            potts_row(message, a, q, s, best, rate, keep, part)
        return
    copy(best, q, 0, part)
    if k == 1:
        copy(second, q, 0, part)
    else:
        fill(second, typed(-np.inf, second))
    for a in range(1, k):
        take_next(best, second, q, a, part)
    for a in range(k):
        potts_row_apart(message, a, q, s, best, second, rate, keep, part)


@kernel
def find_floor(floor, s, limit, highest):
    """Write the least message: -s limit, or -inf where no difference costs as much."""
    cut = limit < highest
    bound = typed(limit if cut else -np.inf, floor)
    for p in range(s.size):
        floor[p] = -(s[p] * bound) if cut else bound


@kernel
def climb(q, a, s, best, part):
    """Go one label up in place: shift, and hear from the label below."""
    row, below = q[a, part], q[a - 1, part]
    for p in range(row.size):
        row[p] = max(row[p] - best[p], below[p] - s[p])


@kernel
def descend(message, a, q, s, floor, rate, keep, part):
    """Go one label down in place: hear from the label above, and mix with the old message."""
    old, row, above = message[a, part], q[a, part], q[a + 1, part]
    for p in range(old.size):
        new = max(row[p], above[p] - s[p])
        row[p] = new
        old[p] = rate * max(new, floor[p]) + keep * old[p]


@kernel
def linear_max(message, q, s, limit, rate, one, best, floor, part):
    """Send over edges whose cost grows with the difference of labels, up to a limit."""
    k, keep = q.shape[0], one - rate
    find_floor(floor, s, limit, k)
    largest(best, q, part)
    first, last, old = q[0, part], q[k - 1, part], message[k - 1, part]
    for p in range(best.size):
        first[p] -= best[p]
    for a in range(1, k):
        climb(q, a, s, best, part)
    for p in range(best.size):
        old[p] = rate * max(last[p], floor[p]) + keep * old[p]
    for a in range(k - 2, -1, -1):
        descend(message, a, q, s, floor, rate, keep, part)


@kernel
def shift(q, a, best, lowest, deep, steep, part):
    """Take the largest entry off a row, and keep the deepest entry and the steepest step.

    No entry stays below ``lowest``, so that steps are numbers.
    """
    row, before = q[a, part], q[a - 1, part]
    for p in range(row.size):
        new = max(row[p] - best[p], lowest)
        step = new - before[p]
        row[p] = new
        deep[p] = min(deep[p], new)
        steep[p] = max(steep[p], step, -step)


@kernel
def felt_reach(s, reach, deep, steep, cell):
    """Give the largest difference, up to the reach, that may matter at any pixel.

    At a pixel m matters no more once s m² >= the depth of q, for then no label gains over its own
    q, or once s (2m - 2) >= the steepest step, for then m gains less than m - 1 does. Rounding
    turns neither round as long as m² < 2^22, so that what is left out changes no bit.
    """
    p = 0
    for m in range(1, reach + 1):
        square, slant = typed(m * m, cell), typed(2 * m - 2, cell)
        while p < s.size and (s[p] * square >= -deep[p] or s[p] * slant >= steep[p]):
            p += 1
        if p == s.size:
            return m - 1
    return reach


@kernel
def hear_four(out, q, a, by, m, last, s, cell, part):
    """Hear from four labels, ``m`` and more to the side ``by``, but none beyond the ``last``."""
    m1, m2, m3 = min(m + 1, last), min(m + 2, last), min(m + 3, last)
    row0, row1 = q[a + by * m, part], q[a + by * m1, part]
    row2, row3 = q[a + by * m2, part], q[a + by * m3, part]
    cost0, cost1 = typed(m * m, cell), typed(m1 * m1, cell)
    cost2, cost3 = typed(m2 * m2, cell), typed(m3 * m3, cell)
    for p in range(row0.size):
        one = max(row0[p] - s[p] * cost0, row1[p] - s[p] * cost1)
        two = max(row2[p] - s[p] * cost2, row3[p] - s[p] * cost3)
        out[p] = max(out[p], one, two)


@kernel
def hear_four_pairs(out, q, a, m, last, s, cell, part):
    """Hear from four labels on either side, ``m`` and more away, but none beyond the ``last``."""
    m1, m2, m3 = min(m + 1, last), min(m + 2, last), min(m + 3, last)
    low0, low1, low2, low3 = q[a - m, part], q[a - m1, part], q[a - m2, part], q[a - m3, part]
    top0, top1, top2, top3 = q[a + m, part], q[a + m1, part], q[a + m2, part], q[a + m3, part]
    cost0, cost1 = typed(m * m, cell), typed(m1 * m1, cell)
    cost2, cost3 = typed(m2 * m2, cell), typed(m3 * m3, cell)
    for p in range(low0.size):
        one = max(max(low0[p], top0[p]) - s[p] * cost0, max(low1[p], top1[p]) - s[p] * cost1)
        two = max(max(low2[p], top2[p]) - s[p] * cost2, max(low3[p], top3[p]) - s[p] * cost3)
        out[p] = max(out[p], one, two)


@kernel
def mix_row(message, a, out, floor, rate, keep, part):
    """Mix the larger of a row and the floor with the old message."""
    old = message[a, part]
    for p in range(old.size):
        old[p] = rate * max(out[p], floor[p]) + keep * old[p]


@kernel
def quadratic_max(message, q, s, limit, rate, one, best, floor, out, deep, steep, cell, part):
    """Send over edges whose cost grows with the squared difference of labels, up to a limit.

    The rows from ``out`` on are scratch.
    """
    k, keep, first = q.shape[0], one - rate, q[0, part]
    find_floor(floor, s, limit, (k - 1) * (k - 1) + 1)
    largest(best, q, part)
    lowest = typed(-np.finfo(q.dtype).max / 4, cell)
    for p in range(best.size):
        first[p] = max(first[p] - best[p], lowest)
        deep[p] = first[p]
        steep[p] = one - one
    for a in range(1, k):
        shift(q, a, best, lowest, deep, steep, part)
    reach = 0
    while reach < k - 1 and (reach + 1) * (reach + 1) < limit:
        reach += 1
    felt = felt_reach(s, reach, deep, steep, cell)
    for a in range(k):
        copy(out, q, a, part)
        below, above = min(felt, a), min(felt, k - 1 - a)
        both = min(below, above)
        for m in range(1, both + 1, 4):
            hear_four_pairs(out, q, a, m, both, s, cell, part)
        by, last = (1, above) if above > below else (-1, below)
        for m in range(both + 1, last + 1, 4):
            hear_four(out, q, a, by, m, last, s, cell, part)
        mix_row(message, a, out, floor, rate, keep, part)
