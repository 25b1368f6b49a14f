r"""Sum-product messages between neighbours of a grid: new(a) = Σ_b w(|a - b|) q(b), over its sum.

With d = exp(-s) and f = exp(-s limit), ``decay`` and ``floor`` below, the weights w(m) are

    Potts       1 for m = 0, else d         O(K)
    linear      d^m for m <= R, else f      O(K), whatever R
    quadratic   d^(m²) for m <= R, else f   O(K R)

where the reach R counts the differences whose cost is below the limit. Only numbers of one sign
are ever added, so that sums are as exact as their terms: with u = 2^-53 (float32: 2^-24) entries
of a new message have a relative error of at most 2(K + 6)u for Potts, 10(K + 2)u for linear and
2(R² + 2K + 4)u for quadratic edges, however far the entries of q lie apart, unless products
underflow. The sum of q over labels must not overflow.
"""

from __future__ import annotations

import numpy as np

from credo._kernels._jit import strict_kernel
from credo._kernels.grid_linear_sums import NORM, SCALE, scale_row, start_row
from credo._kernels.grid_rows import copy, count_above, fill, revive, typed

#: Rows of scratch for Potts edges: factors of q and of the sum of other labels, what is added, and
#: the sum of q so far; for quadratic edges the last alone, which is none of SCALE and NORM.
_OWN, _REST, _ALL, _PAST = range(4)


@strict_kernel
def add_row(rows, x, source, a, part):
    """Add a row to a row."""
    out, new = rows[x], source[a, part]
    for p in range(new.size):
        out[p] += new[p]


@strict_kernel
def add_rows(rows, x, source, a, part):
    """Add the four rows from ``a`` on to a row."""
    out = rows[x]
    row0, row1 = source[a, part], source[a + 1, part]
    row2, row3 = source[a + 2, part], source[a + 3, part]
    for p in range(row0.size):
        out[p] += (row0[p] + row1[p]) + (row2[p] + row3[p])


@strict_kernel
def total(q, k, rows, x, part):
    """Write the sum over labels into a row."""
    copy(rows, x, q, 0, part)
    a = 1
    while a + 3 < k:
        add_rows(rows, x, q, a, part)
        a += 4
    while a < k:
        add_row(rows, x, q, a, part)
        a += 1


@strict_kernel
def mix_row(message, a, new, here, side, keep, part):
    """Mix the new message for one label with the old one."""
    old, row, share = message[a, part], new[a, here], side[NORM]
    for p in range(old.size):
        old[p] = row[p] * share[p] + keep * old[p]


@strict_kernel
def mix(message, new, here, side, rate, keep, part):
    """Mix new messages, parts ``here`` of rows, over their sums with the old ones."""
    norm = side[NORM]
    for p in range(part.stop - part.start):
        norm[p] = rate / norm[p]
    for a in range(message.shape[0]):
        mix_row(message, a, new, here, side, keep, part)


@strict_kernel
def potts_factors(decay, others, side, rate, one, tiny, part):
    """Turn sums of q into factors: the message is own q(a) + all + rest Σ_{b != a} q(b).

    Where d <= 1, own is 1 - d and all is d Σ q. Where d > 1, own is 1 / d and rest is 1: the other
    labels are then summed without q(a), which could hide them. The message sums to ``rate``.
    """
    d, own, all_, rest = decay[part], side[_OWN], side[_ALL], side[_REST]
    zero = one - one
    for p in range(d.size):
        apart = d[p] > one
        sum_ = max(tiny, own[p])
        u = one / (d[p] if apart else one)
        share = rate / (u + others if apart else one + others * d[p])
        own[p] = (u if apart else one - d[p]) * share / sum_
        all_[p] = zero if apart else d[p] * share
        rest[p] = share / sum_ if apart else zero


@strict_kernel
def potts_row(message, a, q, side, keep, part):
    """Mix the new message for one label with the old one where d <= 1 everywhere."""
    old, row, own, all_ = message[a, part], q[a, part], side[_OWN], side[_ALL]
    for p in range(old.size):
        old[p] = (own[p] * row[p] + all_[p]) + keep * old[p]


@strict_kernel
def potts_row_apart(message, a, q, above, side, keep, part):
    """Mix the new message for one label with the old one, other labels being summed apart."""
    old, row, later, past = message[a, part], q[a, part], above[a], side[_PAST]
    own, all_, rest = side[_OWN], side[_ALL], side[_REST]
    for p in range(old.size):
        new = (own[p] * row[p] + all_[p]) + rest[p] * (past[p] + later[p])
        old[p] = new + keep * old[p]
        past[p] += row[p]


@strict_kernel
def next_above(above, a, q, part):
    """Write the sum of q above a label, from that above the next one."""
    out, later, row = above[a], above[a + 1], q[a + 1, part]
    for p in range(row.size):
        out[p] = later[p] + row[p]


@strict_kernel
def potts_sum(q, decay, rate, one, message, above, side, part):
    """Send over edges that only ask whether labels are equal."""
    k, n, keep, zero = q.shape[0], part.stop - part.start, one - rate, one - one
    others = typed(k - 1, side)
    total(q, k, side, _OWN, part)
    revive(q, side, _OWN, others + one, one, part)
    potts_factors(decay, others, side, rate, one, np.finfo(q.dtype).tiny, part)
    if count_above(decay[part], one) == 0:
        for a in range(k):
            potts_row(message, a, q, side, keep, part)
        return
    fill(above, k - 1, zero, n)
    for a in range(k - 2, -1, -1):
        next_above(above, a, q, part)
    fill(side, _PAST, zero, n)
    for a in range(k):
        potts_row_apart(message, a, q, above, side, keep, part)


@strict_kernel
def quadratic_weights(decay, reach, weights, one, part):
    """Write d^(m²) into rows m up to the reach; give the last m with a weight above zero.

    Each row is the last one times an odd power of d, which row 0 holds.
    """
    d, odd, first, zero = decay[part], weights[0], weights[1], one - one
    for p in range(d.size):
        first[p] = d[p]
        odd[p] = d[p] * d[p] * d[p]
    for m in range(1, reach + 1):
        if m > 1:
            next_weight(weights, m, d)
        if count_above(weights[m][: d.size], zero) == 0:
            return m - 1
    return reach


@strict_kernel
def next_weight(weights, m, d):
    """Write the weights of one more difference."""
    out, last, odd = weights[m], weights[m - 1], weights[0]
    for p in range(d.size):
        out[p] = last[p] * odd[p]
        odd[p] *= d[p] * d[p]


@strict_kernel
def add_beyond(new, a, q, b, floor, side, part):
    """Add what comes from ``b`` and all labels passed before, which are beyond the reach."""
    out, late, past, scale, f = new[a], q[b, part], side[_PAST], side[SCALE], floor[part]
    for p in range(late.size):
        past[p] += late[p] * scale[p]
        out[p] += f[p] * past[p]


@strict_kernel
def add_one(new, a, q, b, weights, m, part):
    """Add what one label gives."""
    out, row, weight = new[a], q[b, part], weights[m]
    for p in range(row.size):
        out[p] += weight[p] * row[p]


@strict_kernel
def add_pair(new, a, q, weights, m, part):
    """Add what the labels ``m`` below and above give."""
    out, low, top, weight = new[a], q[a - m, part], q[a + m, part], weights[m]
    for p in range(low.size):
        out[p] += weight[p] * (low[p] + top[p])


@strict_kernel
def add_four(new, a, q, by, weights, m, part):
    """Add what four labels give that lie ``m`` and more to the side ``by``."""
    out, b = new[a], a + by * m
    row0, row1 = q[b, part], q[b + by, part]
    row2, row3 = q[b + 2 * by, part], q[b + 3 * by, part]
    weight0, weight1, weight2, weight3 = weights[m], weights[m + 1], weights[m + 2], weights[m + 3]
    for p in range(row0.size):
        one = weight0[p] * row0[p] + weight1[p] * row1[p]
        two = weight2[p] * row2[p] + weight3[p] * row3[p]
        out[p] += one + two


@strict_kernel
def add_four_pairs(new, a, q, weights, m, part):
    """Add what four labels on either side give, ``m`` and more away."""
    out = new[a]
    low0, low1 = q[a - m, part], q[a - m - 1, part]
    low2, low3 = q[a - m - 2, part], q[a - m - 3, part]
    top0, top1 = q[a + m, part], q[a + m + 1, part]
    top2, top3 = q[a + m + 2, part], q[a + m + 3, part]
    weight0, weight1, weight2, weight3 = weights[m], weights[m + 1], weights[m + 2], weights[m + 3]
    for p in range(low0.size):
        one = weight0[p] * (low0[p] + top0[p]) + weight1[p] * (low1[p] + top1[p])
        two = weight2[p] * (low2[p] + top2[p]) + weight3[p] * (low3[p] + top3[p])
        out[p] += one + two


@strict_kernel
def add_window(new, a, q, weights, felt, part):
    """Add what all other labels within reach give."""
    below, above = min(felt, a), min(felt, q.shape[0] - 1 - a)
    m = 1
    while m + 3 <= min(below, above):
        add_four_pairs(new, a, q, weights, m, part)
        m += 4
    while m <= min(below, above):
        add_pair(new, a, q, weights, m, part)
        m += 1
    for by, last in ((-1, below), (1, above)):
        far = m
        while far + 3 <= last:
            add_four(new, a, q, by, weights, far, part)
            far += 4
        while far <= last:
            add_one(new, a, q, a + by * far, weights, far, part)
            far += 1


@strict_kernel
def quadratic_sum(q, decay, floor, reach, one, new, weights, side, part):
    """Write the sums of quadratic edges."""
    k, n, zero = q.shape[0], part.stop - part.start, one - one
    here = slice(0, n)
    felt = quadratic_weights(decay, reach, weights, one, part)
    for m in range(1, felt + 1):
        scale_row(weights, m, side, here)
    for a in range(k):
        start_row(new, a, q, side, part)
    fill(side, _PAST, zero, n)
    for a in range(reach + 1, k):
        add_beyond(new, a, q, a - reach - 1, floor, side, part)
    fill(side, _PAST, zero, n)
    for a in range(k - reach - 2, -1, -1):
        add_beyond(new, a, q, a + reach + 1, floor, side, part)
    for a in range(k):
        add_window(new, a, q, weights, felt, part)
    total(new, k, side, NORM, here)
