r"""Sum-product messages between neighbours of a grid: new(a) = Σ_b w(|a - b|) q(b), over its sum.

With d = exp(-s) and f = exp(-s limit), ``decay`` and ``floor``, the weights w(m) are

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

from credo._kernels.grid_linear_sums import start_row
from credo._kernels.grid_rows import copy, count_above, fill, revive, typed
from credo._kernels.tiers import kernel


@kernel
def add_row(out, q, a, part):
    """Add part of a row to a row."""
    row = q[a, part]
    for p in range(row.size):
        out[p] += row[p]


@kernel
def add_rows(out, q, a, part):
    """Add the four rows from ``a`` on to a row."""
    row0, row1, row2, row3 = q[a, part], q[a + 1, part], q[a + 2, part], q[a + 3, part]
    for p in range(row0.size):
        out[p] += (row0[p] + row1[p]) + (row2[p] + row3[p])


@kernel
def total(out, q, k, part):
    """Write the sum over labels into a row."""
    copy(out, q, 0, part)
    single = 1 + (k - 1) % 4
    for a in range(1, single):
        add_row(out, q, a, part)
    for a in range(single, k, 4):
        add_rows(out, q, a, part)


@kernel
def mix_row(message, a, new, here, share, keep, part):
    """Mix the new message for one label with the old one."""
    old, row = message[a, part], new[a, here]
    for p in range(old.size):
        old[p] = row[p] * share[p] + keep * old[p]


@kernel
def mix(message, new, here, norm, rate, one, part):
    """Mix new messages, parts ``here`` of rows, over their sums with the old ones."""
    for p in range(norm.size):
        norm[p] = rate / norm[p]
    for a in range(message.shape[0]):
        mix_row(message, a, new, here, norm, one - rate, part)


@kernel
def potts_factors(d, others, rate, one, tiny, own, rest, both):
    """Turn sums of q, in ``own``, into factors: new(a) = own q(a) + both + rest Σ_{b != a} q(b).

    Where d <= 1, own is 1 - d and both is d Σ q. Where d > 1, own is 1 / d and rest is 1: the other
    labels are then summed without q(a), which could hide them. The message sums to ``rate``. A
    single label has no others, and its message is ``rate`` whatever d.
    """
    zero = one - one
    for p in range(d.size):
        lag = d[p] if others > zero else one
        apart = lag > one
        sum_ = max(own[p], tiny)
        u = one / (lag if apart else one)
        share = rate / (u + others if apart else one + others * lag)
        own[p] = (u if apart else one - lag) * share / sum_
        rest[p] = share / sum_ if apart else zero
        both[p] = zero if apart else lag * share


@kernel
def potts_row(message, a, q, own, both, keep, part):
    """Mix the new message for one label with the old one where d <= 1 everywhere."""
    old, row = message[a, part], q[a, part]
    for p in range(old.size):
        old[p] = (own[p] * row[p] + both[p]) + keep * old[p]


@kernel
def potts_row_apart(message, a, q, above, own, rest, both, below, keep, part):
    """Mix the new message for one label with the old one, other labels being summed apart."""
    old, row, later = message[a, part], q[a, part], above[a]
    for p in range(old.size):
        new = (own[p] * row[p] + both[p]) + rest[p] * (below[p] + later[p])
        old[p] = new + keep * old[p]
        below[p] += row[p]


@kernel
def next_above(above, a, q, part):
    """Write the sum of q above a label, from that above the next one."""
    out, later, row = above[a], above[a + 1], q[a + 1, part]
    for p in range(row.size):
        out[p] = later[p] + row[p]


@kernel
def potts_sum(message, q, d, rate, one, above, own, rest, both, below, part):
    """Send over edges that only ask whether labels are equal; ``above`` to ``below`` is scratch."""
    k, keep, zero = q.shape[0], one - rate, one - one
    others = typed(k - 1, both)
    total(own, q, k, part)
    revive(q, own, others + one, one, part)
    potts_factors(d, others, rate, one, np.finfo(q.dtype).tiny, own, rest, both)
    if count_above(d, one) == 0:
        for a in range(k):
            potts_row(message, a, q, own, both, keep, part)
        return
    fill(above[k - 1], zero)
    for a in range(k - 2, -1, -1):
        next_above(above, a, q, part)
    fill(below, zero)
    for a in range(k):
        potts_row_apart(message, a, q, above, own, rest, both, below, keep, part)


@kernel
def quadratic_weight(weights, m, d, odd):
    """Write d^(m²) into row m, from the row before and an odd power of d; make the next power."""
    out, last = weights[m], weights[m - 1]
    for p in range(d.size):
        out[p] = last[p] * odd[p]
        odd[p] *= d[p] * d[p]


@kernel
def quadratic_weights(weights, d, reach, one, scale, odd):
    """Write weights into rows 1, 2, ... at the scale of q; give the last one above zero.

    Row 0 is left with zeros. ``odd`` is scratch.
    """
    first, felt, zero = weights[0], reach, one - one
    for p in range(d.size):
        first[p] = one
        odd[p] = d[p]
    for m in range(1, reach + 1):
        quadratic_weight(weights, m, d, odd)
        if count_above(weights[m][: d.size], zero) == 0:
            felt = m - 1
            break
    for m in range(1, felt + 1):
        row = weights[m]
        for p in range(d.size):
            row[p] *= scale[p]
    fill(first, zero)
    return felt


@kernel
def add_beyond(new, a, q, b, f, scale, past, part):
    """Add what comes from ``b`` and all labels passed before, which are beyond the reach."""
    out, late = new[a], q[b, part]
    for p in range(late.size):
        past[p] += late[p] * scale[p]
        out[p] += f[p] * past[p]


@kernel
def add_four(new, a, q, by, weights, m, last, part):
    """Add what up to four labels give that lie ``m`` and more to the side ``by``.

    Those beyond the ``last`` one have no weight, and are read there.
    """
    out, b = new[a], a + by * m
    m1, m2, m3 = min(m + 1, last), min(m + 2, last), min(m + 3, last)
    row0, row1, row2, row3 = (
        q[b, part],
        q[a + by * m1, part],
        q[a + by * m2, part],
        q[a + by * m3, part],
    )
    weight0, weight1 = weights[m], weights[m1 if m1 > m else 0]
    weight2, weight3 = weights[m2 if m2 > m1 else 0], weights[m3 if m3 > m2 else 0]
    for p in range(row0.size):
        one = weight0[p] * row0[p] + weight1[p] * row1[p]
        two = weight2[p] * row2[p] + weight3[p] * row3[p]
        out[p] += one + two


@kernel
def add_four_pairs(new, a, q, weights, m, last, part):
    """Add what up to four labels on either side give that lie ``m`` and more away."""
    out = new[a]
    m1, m2, m3 = min(m + 1, last), min(m + 2, last), min(m + 3, last)
    low0, low1, low2, low3 = q[a - m, part], q[a - m1, part], q[a - m2, part], q[a - m3, part]
    top0, top1, top2, top3 = q[a + m, part], q[a + m1, part], q[a + m2, part], q[a + m3, part]
    weight0, weight1 = weights[m], weights[m1 if m1 > m else 0]
    weight2, weight3 = weights[m2 if m2 > m1 else 0], weights[m3 if m3 > m2 else 0]
    for p in range(low0.size):
        one = weight0[p] * (low0[p] + top0[p]) + weight1[p] * (low1[p] + top1[p])
        two = weight2[p] * (low2[p] + top2[p]) + weight3[p] * (low3[p] + top3[p])
        out[p] += one + two


@kernel
def quadratic_sum(q, d, f, reach, one, new, weights, scale, norm, past, odd, part):
    """Write the sums of quadratic edges; ``past`` and ``odd`` are scratch."""
    k, zero, beyond = q.shape[0], one - one, reach + 1
    felt = quadratic_weights(weights, d, reach, one, scale, odd)
    for a in range(k):
        start_row(new, a, q, scale, part)
    fill(past, zero)
    for a in range(beyond, k):
        add_beyond(new, a, q, a - beyond, f, scale, past, part)
    fill(past, zero)
    for a in range(k - 1 - beyond, -1, -1):
        add_beyond(new, a, q, a + beyond, f, scale, past, part)
    for a in range(k):
        below, above = min(felt, a), min(felt, k - 1 - a)
        both = min(below, above)
        for m in range(1, both + 1, 4):
            add_four_pairs(new, a, q, weights, m, both, part)
        by, last = (1, above) if above > below else (-1, below)
        for m in range(both + 1, last + 1, 4):
            add_four(new, a, q, by, weights, m, last, part)
    total(norm, new, k, slice(0, norm.size))
