r"""Sums over linear edges: new(a) = Σ_b w(|a - b|) q(b) with w(m) = max(d^m, f), O(K).

Without a limit, F(a) = q(a) + d F(a-1) upwards, then new(a) = (1 - d²) F(a) + d new(a+1)
downwards, from new(K-1) = F(K-1); for d new(a+1) = d² F(a) + d Σ_{b>a} d^(b-a-1) q(b).
With a reach R < K - 1, what comes from below is

    H(a) = q(a) + d H(a-1) + (f - d^(R+1)) q(a-R-1) + (1 - d) f Σ_{b<a-R-1} q(b)

because w(m) = d w(m-1) up to m = R, w(R+1) = d w(R) + (f - d^(R+1)), and then
w(m) = d w(m-1) + (1 - d) f. What comes from above is its mirror image without q(a). Nothing that
has been added is taken away again.
"""

from __future__ import annotations

import numpy as np

from credo._kernels._jit import strict_kernel
from credo._kernels.grid_rows import copy, fill, largest, revive

#: Rows of scratch: 1 / largest q, the sum of the message, what is carried from label to label,
#: the sum of q beyond the reach, and the factors of the first label beyond it and of the others.
SCALE, NORM, _CARRY, _PAST, _EDGE, _TAIL = range(6)


@strict_kernel
def find_scale(q, side, one, part):
    """Write the factor that makes the largest q one, so that far products do not underflow."""
    tiny = np.finfo(q.dtype).tiny
    largest(q, side, SCALE, part)
    revive(q, side, SCALE, one, one, part)
    scale = side[SCALE]
    for p in range(part.stop - part.start):
        scale[p] = one / (max(tiny, scale[p]))


@strict_kernel
def scale_row(rows, x, side, part):
    """Multiply part of a row by the scale, in place."""
    row, scale = rows[x, part], side[SCALE]
    for p in range(row.size):
        row[p] *= scale[p]


@strict_kernel
def start_row(new, a, q, side, part):
    """Write q at its scale."""
    out, row, scale = new[a], q[a, part], side[SCALE]
    for p in range(row.size):
        out[p] = row[p] * scale[p]


@strict_kernel
def climb(q, a, decay, side, part):
    """Go one label up in place: what came so far decays, and q is added."""
    row, so_far, d, scale = q[a, part], q[a - 1, part], decay[part], side[SCALE]
    for p in range(row.size):
        row[p] = row[p] * scale[p] + d[p] * so_far[p]


@strict_kernel
def descend(q, a, decay, side, part):
    """Go one label down in place, and count the sum."""
    row, later, d = q[a, part], q[a + 1, part], decay[part]
    own, norm = side[_EDGE], side[NORM]
    for p in range(row.size):
        new = row[p] * own[p] + d[p] * later[p]
        row[p] = new
        norm[p] += new


@strict_kernel
def linear_sum(q, decay, one, side, part):
    """Turn q into the sums of linear edges without a limit, in place."""
    k = q.shape[0]
    d, own = decay[part], side[_EDGE]
    for p in range(d.size):
        own[p] = (one - d[p]) * (one + d[p])
    scale_row(q, 0, side, part)
    for a in range(1, k):
        climb(q, a, decay, side, part)
    copy(side, NORM, q, k - 1, part)
    for a in range(k - 2, -1, -1):
        descend(q, a, decay, side, part)


@strict_kernel
def cut_factors(decay, floor, reach, side, one, part):
    """Write the factors of the first label beyond the reach and of the others, at q's scale."""
    d, f, scale, edge, tail = decay[part], floor[part], side[SCALE], side[_EDGE], side[_TAIL]
    for p in range(d.size):
        edge[p] = d[p]
    for _ in range(reach):
        for p in range(d.size):
            edge[p] *= d[p]
    for p in range(d.size):
        edge[p] = (f[p] - edge[p]) * scale[p] if f[p] > edge[p] else one - one
        tail[p] = (one - d[p]) * f[p] * scale[p]


@strict_kernel
def go_up(new, a, q, decay, side, part):
    """Go one label up, all below being within reach."""
    out, so_far, row = new[a], new[a - 1], q[a, part]
    d, scale = decay[part], side[SCALE]
    for p in range(row.size):
        out[p] = row[p] * scale[p] + d[p] * so_far[p]


@strict_kernel
def go_up_far(new, a, q, b, decay, side, part):
    """Go one label up, ``b`` and those below being beyond the reach."""
    out, so_far, row, late = new[a], new[a - 1], q[a, part], q[b, part]
    d, scale, past, edge, tail = decay[part], side[SCALE], side[_PAST], side[_EDGE], side[_TAIL]
    for p in range(row.size):
        far = edge[p] * late[p] + tail[p] * past[p]
        out[p] = (row[p] * scale[p] + d[p] * so_far[p]) + far
        past[p] += late[p]


@strict_kernel
def go_up_far_by_four(new, a, q, b, decay, side, part):
    """Go four labels up; what every label needs is read once."""
    out0, out1, out2, out3 = new[a], new[a + 1], new[a + 2], new[a + 3]
    row0, row1, row2, row3 = q[a, part], q[a + 1, part], q[a + 2, part], q[a + 3, part]
    late0, late1, late2, late3 = q[b, part], q[b + 1, part], q[b + 2, part], q[b + 3, part]
    so_far, decays, scales, past = new[a - 1], decay[part], side[SCALE], side[_PAST]
    edges, tails = side[_EDGE], side[_TAIL]
    for p in range(row0.size):
        d, scale, edge, tail, gone = decays[p], scales[p], edges[p], tails[p], past[p]
        h = (row0[p] * scale + d * so_far[p]) + (edge * late0[p] + tail * gone)
        out0[p] = h
        gone += late0[p]
        h = (row1[p] * scale + d * h) + (edge * late1[p] + tail * gone)
        out1[p] = h
        gone += late1[p]
        h = (row2[p] * scale + d * h) + (edge * late2[p] + tail * gone)
        out2[p] = h
        gone += late2[p]
        out3[p] = (row3[p] * scale + d * h) + (edge * late3[p] + tail * gone)
        past[p] = gone + late3[p]


@strict_kernel
def go_down(new, a, q, decay, side, part):
    """Go one label down, all above being within reach: add what comes, and count the sum."""
    out, row, carry = new[a], q[a + 1, part], side[_CARRY]
    d, scale, norm = decay[part], side[SCALE], side[NORM]
    for p in range(row.size):
        more = d[p] * (row[p] * scale[p] + carry[p])
        carry[p] = more
        out[p] += more
        norm[p] += out[p]


@strict_kernel
def go_down_far(new, a, q, b, decay, side, part):
    """Go one label down, ``b`` and those above being beyond the reach."""
    out, row, late, carry = new[a], q[a + 1, part], q[b, part], side[_CARRY]
    d, scale, norm, past = decay[part], side[SCALE], side[NORM], side[_PAST]
    edge, tail = side[_EDGE], side[_TAIL]
    for p in range(row.size):
        far = edge[p] * late[p] + tail[p] * past[p]
        more = d[p] * (row[p] * scale[p] + carry[p]) + far
        past[p] += late[p]
        carry[p] = more
        out[p] += more
        norm[p] += out[p]


@strict_kernel
def go_down_far_by_four(new, a, q, b, decay, side, part):
    """Go four labels down; what every label needs is read once."""
    out0, out1, out2, out3 = new[a], new[a - 1], new[a - 2], new[a - 3]
    row0, row1, row2, row3 = q[a + 1, part], q[a, part], q[a - 1, part], q[a - 2, part]
    late0, late1, late2, late3 = q[b, part], q[b - 1, part], q[b - 2, part], q[b - 3, part]
    carry, decays, scales, past = side[_CARRY], decay[part], side[SCALE], side[_PAST]
    edges, tails, norm = side[_EDGE], side[_TAIL], side[NORM]
    for p in range(row0.size):
        d, scale, edge, tail, gone = decays[p], scales[p], edges[p], tails[p], past[p]
        more = d * (row0[p] * scale + carry[p]) + (edge * late0[p] + tail * gone)
        new0 = out0[p] + more
        out0[p] = new0
        gone += late0[p]
        more = d * (row1[p] * scale + more) + (edge * late1[p] + tail * gone)
        new1 = out1[p] + more
        out1[p] = new1
        gone += late1[p]
        more = d * (row2[p] * scale + more) + (edge * late2[p] + tail * gone)
        new2 = out2[p] + more
        out2[p] = new2
        gone += late2[p]
        more = d * (row3[p] * scale + more) + (edge * late3[p] + tail * gone)
        new3 = out3[p] + more
        out3[p] = new3
        past[p] = gone + late3[p]
        carry[p] = more
        norm[p] += (new0 + new1) + (new2 + new3)


@strict_kernel
def cut_linear_sum(q, decay, floor, reach, one, new, side, part):
    """Write the sums of linear edges whose limit cuts differences above ``reach`` off."""
    k, n, zero, beyond = q.shape[0], part.stop - part.start, one - one, reach + 1
    cut_factors(decay, floor, reach, side, one, part)
    start_row(new, 0, q, side, part)
    for a in range(1, beyond):
        go_up(new, a, q, decay, side, part)
    fill(side, _PAST, zero, n)
    a = beyond
    while a + 3 < k:
        go_up_far_by_four(new, a, q, a - beyond, decay, side, part)
        a += 4
    while a < k:
        go_up_far(new, a, q, a - beyond, decay, side, part)
        a += 1
    copy(side, NORM, new, k - 1, slice(0, n))
    fill(side, _CARRY, zero, n)
    for a in range(k - 2, k - 1 - beyond, -1):
        go_down(new, a, q, decay, side, part)
    fill(side, _PAST, zero, n)
    a = k - 1 - beyond
    while a >= 3:
        go_down_far_by_four(new, a, q, a + beyond, decay, side, part)
        a -= 4
    while a >= 0:
        go_down_far(new, a, q, a + beyond, decay, side, part)
        a -= 1
