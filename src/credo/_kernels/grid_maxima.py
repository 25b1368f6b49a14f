r"""Max-product messages between neighbours of a grid: new(a) = max_b q(b) - s c(|a - b|).

    Potts       c(m) = 1 for m > 0, else 0; s may be negative     O(K)
    linear      c(m) = min(m, limit)                              O(K)
    quadratic   c(m) = min(m², limit)                             O(K R)

q is shifted first, so that its largest entry, and with it that of the message, is zero. For
quadratic edges the reach R is that of the limit, or what is less: beyond it every difference costs
more than it can gain, because q spans less than s m², or climbs less than s (2m - 2) per label.
The envelope of parabolas (Felzenszwalb and Huttenlocher), O(K) whatever q, takes about 20 ns per
label and pixel, for its branches are a pixel's own; the loop over differences takes 0.05 ns for
each (float32; float64 0.1 ns), so that the envelope would gain for reaches beyond 350 (180) only.
"""

from __future__ import annotations

import numpy as np

from credo._kernels._jit import strict_kernel
from credo._kernels.grid_rows import copy, fill, largest, typed

#: Rows of scratch: the largest q, the least message, the next largest q (or, for quadratic edges,
#: the message of a label), the deepest q and its steepest step.
_BEST, _FLOOR, _NEXT, _DEEP, _STEEP = range(5)
_OUT = _NEXT


@strict_kernel
def mix_larger(message, a, rows, x, here, side, rate, keep, part):
    """Mix the larger of a row, part ``here`` of it, and the floor with the old message."""
    old, row, floor = message[a, part], rows[x, here], side[_FLOOR]
    for p in range(old.size):
        new = max(floor[p], row[p])
        old[p] = rate * new + keep * old[p]


@strict_kernel
def potts_row(message, a, q, slope, side, rate, keep, part):
    """Mix the new message for one label with the old one where s >= 0 everywhere."""
    old, row, s, best = message[a, part], q[a, part], slope[part], side[_BEST]
    for p in range(old.size):
        gap = row[p] - best[p]
        new = max(-s[p], gap)
        old[p] = rate * new + keep * old[p]


@strict_kernel
def take_next(side, q, a, part):
    """Keep the two largest entries."""
    row, best, second = q[a, part], side[_BEST], side[_NEXT]
    for p in range(row.size):
        less = min(best[p], row[p])
        best[p] = max(best[p], row[p])
        second[p] = max(second[p], less)


@strict_kernel
def potts_row_apart(message, a, q, slope, side, rate, keep, zero, part):
    """Mix the new message for one label with the old one.

    Where s < 0, the best label hears from the next best, or from itself at a loss, and all others
    from the best.
    """
    old, row, s, best, second = message[a, part], q[a, part], slope[part], side[_BEST], side[_NEXT]
    for p in range(old.size):
        gap = row[p] - best[p]
        alike = max(-s[p], gap)
        apart = second[p] - best[p]
        apart = max(s[p], apart)
        apart = zero if gap < zero else apart
        new = apart if s[p] < zero else alike
        old[p] = rate * new + keep * old[p]


@strict_kernel
def count_negative(slope, zero):
    """Count the pixels whose edges want labels to differ."""
    count = 0
    for p in range(slope.size):
        count += 1 if slope[p] < zero else 0
    return count


@strict_kernel
def potts_max(q, slope, rate, one, message, side, part):
    """Send over edges that only ask whether labels are equal."""
    k, keep, zero = q.shape[0], one - rate, one - one
    if count_negative(slope[part], zero) == 0:
        largest(q, side, _BEST, part)
        for a in range(k):
            potts_row(message, a, q, slope, side, rate, keep, part)
        return
    copy(side, _BEST, q, 0, part)
    if k == 1:
        copy(side, _NEXT, q, 0, part)
    else:
        fill(side, _NEXT, typed(-np.inf, side), part.stop - part.start)
    for a in range(1, k):
        take_next(side, q, a, part)
    for a in range(k):
        potts_row_apart(message, a, q, slope, side, rate, keep, zero, part)


@strict_kernel
def find_floor(slope, limit, highest, side, part):
    """Write the least message: -s limit, or -inf where no difference costs as much."""
    s, floor = slope[part], side[_FLOOR]
    bound = typed(limit if limit < highest else -np.inf, side)
    cut = limit < highest
    for p in range(s.size):
        floor[p] = -(s[p] * bound) if cut else bound


@strict_kernel
def shift_row(q, a, side, part):
    """Take the largest entry off."""
    row, best = q[a, part], side[_BEST]
    for p in range(row.size):
        row[p] -= best[p]


@strict_kernel
def climb(q, a, slope, side, part):
    """Go one label up in place: shift, and hear from the label below."""
    row, below, s, best = q[a, part], q[a - 1, part], slope[part], side[_BEST]
    for p in range(row.size):
        own, heard = row[p] - best[p], below[p] - s[p]
        row[p] = max(heard, own)


@strict_kernel
def descend(message, a, q, slope, side, rate, keep, part):
    """Go one label down in place: hear from the label above, and mix with the old message."""
    old, row, above = message[a, part], q[a, part], q[a + 1, part]
    s, floor = slope[part], side[_FLOOR]
    for p in range(old.size):
        heard = above[p] - s[p]
        new = max(heard, row[p])
        row[p] = new
        new = max(floor[p], new)
        old[p] = rate * new + keep * old[p]


@strict_kernel
def linear_max(q, slope, limit, rate, one, message, side, part):
    """Send over edges whose cost grows with the difference of labels, up to a limit."""
    k, keep = q.shape[0], one - rate
    find_floor(slope, limit, k, side, part)
    largest(q, side, _BEST, part)
    shift_row(q, 0, side, part)
    for a in range(1, k):
        climb(q, a, slope, side, part)
    mix_larger(message, k - 1, q, k - 1, part, side, rate, keep, part)
    for a in range(k - 2, -1, -1):
        descend(message, a, q, slope, side, rate, keep, part)


@strict_kernel
def shift_first(q, side, lowest, zero, part):
    """Take the largest entry off the first row; no entry stays below ``lowest``."""
    row, best, deep, steep = q[0, part], side[_BEST], side[_DEEP], side[_STEEP]
    for p in range(row.size):
        new = row[p] - best[p]
        row[p] = max(lowest, new)
        deep[p] = row[p]
        steep[p] = zero


@strict_kernel
def shift_next(q, a, side, lowest, part):
    """Take the largest entry off a row; keep the deepest entry and the steepest step."""
    row, below, best = q[a, part], q[a - 1, part], side[_BEST]
    deep, steep = side[_DEEP], side[_STEEP]
    for p in range(row.size):
        new = row[p] - best[p]
        new = max(lowest, new)
        step = new - below[p]
        step = max(-step, step)
        row[p] = new
        deep[p] = min(deep[p], new)
        steep[p] = max(steep[p], step)


@strict_kernel
def felt_reach(slope, reach, side):
    """Give the largest difference, up to the reach, that may matter at any pixel.

    At a pixel m matters no more once s m² >= the depth of q, for then no label gains over its own
    q, or once s (2m - 2) >= the steepest step, for then m gains less than m - 1 does. Rounding
    turns neither round as long as m² < 2^22, so that what is left out changes no bit.
    """
    deep, steep = side[_DEEP], side[_STEEP]
    p = 0
    for m in range(1, reach + 1):
        square, climb_ = typed(m * m, side), typed(2 * m - 2, side)
        while p < slope.size and (slope[p] * square >= -deep[p] or slope[p] * climb_ >= steep[p]):
            p += 1
        if p == slope.size:
            return m - 1
    return reach


@strict_kernel
def hear_pair(side, q, a, m, far, slope, part):
    """Hear from the labels ``m`` below and above; ``far`` is m as a number of q's type."""
    out, low, top, s = side[_OUT], q[a - m, part], q[a + m, part], slope[part]
    cost = far * far
    for p in range(low.size):
        new = (max(top[p], low[p])) - s[p] * cost
        out[p] = max(out[p], new)


@strict_kernel
def hear_one(side, q, b, far, slope, part):
    """Hear from one label."""
    out, row, s = side[_OUT], q[b, part], slope[part]
    cost = far * far
    for p in range(row.size):
        new = row[p] - s[p] * cost
        out[p] = max(out[p], new)


@strict_kernel
def hear_four(side, q, b, by, far, one, slope, part):
    """Hear from four labels, from ``b`` on by steps of ``by``."""
    out, s = side[_OUT], slope[part]
    row0, row1 = q[b, part], q[b + by, part]
    row2, row3 = q[b + 2 * by, part], q[b + 3 * by, part]
    far1 = far + one
    far2 = far1 + one
    far3 = far2 + one
    cost0, cost1, cost2, cost3 = far * far, far1 * far1, far2 * far2, far3 * far3
    for p in range(row0.size):
        new0, new1 = row0[p] - s[p] * cost0, row1[p] - s[p] * cost1
        new2, new3 = row2[p] - s[p] * cost2, row3[p] - s[p] * cost3
        new0 = max(new1, new0)
        new2 = max(new3, new2)
        new0 = max(new2, new0)
        out[p] = max(out[p], new0)


@strict_kernel
def hear_four_pairs(side, q, a, m, far, one, slope, part):
    """Hear from four labels on either side, ``m`` and more away."""
    out, s = side[_OUT], slope[part]
    low0, low1 = q[a - m, part], q[a - m - 1, part]
    low2, low3 = q[a - m - 2, part], q[a - m - 3, part]
    top0, top1 = q[a + m, part], q[a + m + 1, part]
    top2, top3 = q[a + m + 2, part], q[a + m + 3, part]
    far1 = far + one
    far2 = far1 + one
    far3 = far2 + one
    cost0, cost1, cost2, cost3 = far * far, far1 * far1, far2 * far2, far3 * far3
    for p in range(low0.size):
        new0 = (max(top0[p], low0[p])) - s[p] * cost0
        new1 = (max(top1[p], low1[p])) - s[p] * cost1
        new2 = (max(top2[p], low2[p])) - s[p] * cost2
        new3 = (max(top3[p], low3[p])) - s[p] * cost3
        new0 = max(new1, new0)
        new2 = max(new3, new2)
        new0 = max(new2, new0)
        out[p] = max(out[p], new0)


@strict_kernel
def hear_window(side, q, a, felt, one, slope, part):
    """Hear from all other labels within reach."""
    below, above = min(felt, a), min(felt, q.shape[0] - 1 - a)
    m = 1
    while m + 3 <= min(below, above):
        hear_four_pairs(side, q, a, m, typed(m, side), one, slope, part)
        m += 4
    while m <= min(below, above):
        hear_pair(side, q, a, m, typed(m, side), slope, part)
        m += 1
    for by, last in ((-1, below), (1, above)):
        far = m
        while far + 3 <= last:
            hear_four(side, q, a + by * far, by, typed(far, side), one, slope, part)
            far += 4
        while far <= last:
            hear_one(side, q, a + by * far, typed(far, side), slope, part)
            far += 1


@strict_kernel
def quadratic_max(q, slope, limit, rate, one, message, side, part):
    """Send over edges whose cost grows with the squared difference of labels, up to a limit."""
    k, keep = q.shape[0], one - rate
    here, last = slice(0, part.stop - part.start), k - 1
    find_floor(slope, limit, last * last + 1, side, part)
    largest(q, side, _BEST, part)
    lowest = typed(-np.finfo(q.dtype).max / 4, side)
    shift_first(q, side, lowest, one - one, part)
    for a in range(1, k):
        shift_next(q, a, side, lowest, part)
    reach = 0
    while reach < last and (reach + 1) * (reach + 1) < limit:
        reach += 1
    felt = felt_reach(slope[part], reach, side)
    for a in range(k):
        copy(side, _OUT, q, a, part)
        hear_window(side, q, a, felt, one, slope, part)
        mix_larger(message, a, side, _OUT, here, side, rate, keep, part)
