r"""Sums over linear edges: new(a) = Σ_b w(|a - b|) q(b) with w(m) = max(d^m, f), O(K).

Without a limit, F(a) = q(a) + d F(a-1) upwards, then new(a) = (1 - d²) F(a) + d new(a+1)
downwards, from new(K-1) = F(K-1); for d new(a+1) = d² F(a) + d Σ_{b>a} d^(b-a-1) q(b).
With a reach R < K - 1, what comes from below is

    H(a) = q(a) + d H(a-1) + (f - d^(R+1)) q(a-R-1) + (1 - d) f Σ_{b<a-R-1} q(b)

because w(m) = d w(m-1) up to m = R, w(R+1) = d w(R) + (f - d^(R+1)), and then
w(m) = d w(m-1) + (1 - d) f. What comes from above is its mirror image without q(a). Nothing that
has been added is taken away again.

Rows of scratch: ``scale`` is 1 / largest q, ``norm`` the sum of the message over labels.
"""

from __future__ import annotations

import numpy as np

from credo._kernels.grid_rows import copy, fill, largest, revive
from credo._kernels.tiers import kernel


@kernel
def find_scale(scale, q, one, part):
    """Write the factor that makes the largest q one, so that far products do not underflow."""
    tiny = np.finfo(q.dtype).tiny
    largest(scale, q, part)
    revive(q, scale, one, one, part)
    for p in range(scale.size):
        scale[p] = one / max(scale[p], tiny)


@kernel
def start_row(new, a, q, scale, part):
    """Write q at its scale."""
    out, row = new[a], q[a, part]
    for p in range(row.size):
        out[p] = row[p] * scale[p]


@kernel
def climb(q, a, d, scale, part):
    """Go one label up in place: what came so far decays, and q is added."""
    row, so_far = q[a, part], q[a - 1, part]
    for p in range(row.size):
        row[p] = row[p] * scale[p] + d[p] * so_far[p]


@kernel
def descend(q, a, d, own, norm, part):
    """Go one label down in place, and count the sum."""
    row, later = q[a, part], q[a + 1, part]
    for p in range(row.size):
        new = row[p] * own[p] + d[p] * later[p]
        row[p] = new
        norm[p] += new


@kernel
def linear_sum(q, d, one, scale, norm, own, part):
    """Turn q into the sums of linear edges without a limit, in place; ``own`` is scratch."""
    k = q.shape[0]
    first = q[0, part]
    for p in range(d.size):
        first[p] *= scale[p]
        own[p] = (one - d[p]) * (one + d[p])
    for a in range(1, k):
        climb(q, a, d, scale, part)
    copy(norm, q, k - 1, part)
    for a in range(k - 2, -1, -1):
        descend(q, a, d, own, norm, part)


@kernel
def cut_factors(d, f, reach, one, scale, edge, tail):
    """Write the factors of the first label beyond the reach and of the others, at q's scale."""
    zero = one - one
    for p in range(d.size):
        edge[p] = d[p]
    for _ in range(reach):
        for p in range(d.size):
            edge[p] *= d[p]
    for p in range(d.size):
        edge[p] = max(f[p] - edge[p], zero) * scale[p]
        tail[p] = (one - d[p]) * f[p] * scale[p]


@kernel
def go_up(new, a, q, d, scale, part):
    """Go one label up: what came so far decays, and q is added."""
    out, so_far, row = new[a], new[a - 1], q[a, part]
    for p in range(row.size):
        out[p] = row[p] * scale[p] + d[p] * so_far[p]


@kernel
def go_down(new, a, q, d, scale, carry, norm, part):
    """Go one label down: add what comes from above, and count the sum."""
    out, row = new[a], q[a + 1, part]
    for p in range(row.size):
        more = d[p] * (row[p] * scale[p] + carry[p])
        carry[p] = more
        out[p] += more
        norm[p] += out[p]


@kernel
def add_far(new, a, q, b, edge, tail, past, carry, norm, part):
    """Add what comes from ``b`` and all labels passed before, which are beyond the reach.

    What is carried and counted grows with it; on the way up neither is asked for.
    """
    out, late = new[a], q[b, part]
    for p in range(late.size):
        more = edge[p] * late[p] + tail[p] * past[p]
        past[p] += late[p]
        carry[p] += more
        out[p] += more
        norm[p] += more


@kernel
def go_up_by_four(new, a, q, b, d, scale, edge, tail, past, part):
    """Go four labels up, ``b`` and the three above it leaving the reach."""
    out0, out1, out2, out3, so_far = new[a], new[a + 1], new[a + 2], new[a + 3], new[a - 1]
    row0, row1, row2, row3 = q[a, part], q[a + 1, part], q[a + 2, part], q[a + 3, part]
    late0, late1, late2, late3 = q[b, part], q[b + 1, part], q[b + 2, part], q[b + 3, part]
    for p in range(row0.size):
        lag, unit, first, rest, gone = d[p], scale[p], edge[p], tail[p], past[p]
        h = (row0[p] * unit + lag * so_far[p]) + (first * late0[p] + rest * gone)
        out0[p] = h
        gone += late0[p]
        h = (row1[p] * unit + lag * h) + (first * late1[p] + rest * gone)
        out1[p] = h
        gone += late1[p]
        h = (row2[p] * unit + lag * h) + (first * late2[p] + rest * gone)
        out2[p] = h
        gone += late2[p]
        out3[p] = (row3[p] * unit + lag * h) + (first * late3[p] + rest * gone)
        past[p] = gone + late3[p]


@kernel
def go_down_by_four(new, a, q, b, d, scale, edge, tail, past, carry, norm, part):
    """Go four labels down, ``b`` and the three below it leaving the reach."""
    out0, out1, out2, out3 = new[a], new[a - 1], new[a - 2], new[a - 3]
    row0, row1, row2, row3 = q[a + 1, part], q[a, part], q[a - 1, part], q[a - 2, part]
    late0, late1, late2, late3 = q[b, part], q[b - 1, part], q[b - 2, part], q[b - 3, part]
    for p in range(row0.size):
        lag, unit, first, rest, gone = d[p], scale[p], edge[p], tail[p], past[p]
        more = lag * (row0[p] * unit + carry[p]) + (first * late0[p] + rest * gone)
        new0 = out0[p] + more
        out0[p] = new0
        gone += late0[p]
        more = lag * (row1[p] * unit + more) + (first * late1[p] + rest * gone)
        new1 = out1[p] + more
        out1[p] = new1
        gone += late1[p]
        more = lag * (row2[p] * unit + more) + (first * late2[p] + rest * gone)
        new2 = out2[p] + more
        out2[p] = new2
        gone += late2[p]
        more = lag * (row3[p] * unit + more) + (first * late3[p] + rest * gone)
        new3 = out3[p] + more
        out3[p] = new3
        past[p] = gone + late3[p]
        carry[p] = more
        norm[p] += (new0 + new1) + (new2 + new3)


@kernel
def cut_linear_sum(q, d, f, reach, one, new, scale, norm, carry, past, edge, tail, part):
    """Write the sums of linear edges whose limit cuts differences above ``reach`` off.

    The rows from ``carry`` on are scratch.
    """
    k, zero, beyond = q.shape[0], one - one, reach + 1
    single = (k - beyond) % 4
    cut_factors(d, f, reach, one, scale, edge, tail)
    start_row(new, 0, q, scale, part)
    fill(past, zero)
    fill(carry, zero)
    fill(norm, zero)
    for a in range(1, beyond + single):
        go_up(new, a, q, d, scale, part)
        if a >= beyond:
            add_far(new, a, q, a - beyond, edge, tail, past, carry, norm, part)
    for a in range(beyond + single, k, 4):
        go_up_by_four(new, a, q, a - beyond, d, scale, edge, tail, past, part)
    copy(norm, new, k - 1, slice(0, norm.size))
    fill(carry, zero)
    fill(past, zero)
    for a in range(k - 2, k - 2 - reach - single, -1):
        go_down(new, a, q, d, scale, carry, norm, part)
        if a + beyond < k:
            add_far(new, a, q, a + beyond, edge, tail, past, carry, norm, part)
    for a in range(k - 2 - reach - single, -1, -4):
        go_down_by_four(new, a, q, a + beyond, d, scale, edge, tail, past, carry, norm, part)
