"""Messages of any number of labels on grids.

Slabs, axes, rooms and sweeps that follow each other are those of ``binary_kernels``; each message
has a line for every label: ``messages[slab, direction, label, place]``. Sums are numbers that add
up to one, maxima logs whose largest is zero. With the strength s of an edge,

    Potts       new(a) = q(a) + d Σ_{b != a} q(b)      d = exp(-s)                        O(K)
    linear      new(a) = Σ_b max(d^m, f) q(b)          m = |a - b|, f = exp(-s limit)     O(K)
    quadratic   new(a) = Σ_b max(d^(m²), f) q(b)                                          O(K R)

where q is the product of what a pixel knows, and the reach R counts the differences m, from one on,
whose cost is below the limit. Maxima take logs, costs in place of powers, and the largest in
the place of the sum. ``weights[slab, direction, 0]`` are d, or s for maxima, where messages arrive,
and ``weights[slab, direction, 1]`` f, or -s limit. The strength of Potts may be negative.

Only numbers of one sign are added in sums, so that these are as exact as their terms: with u =
2^-53 (float32: 2^-24) entries of a new message have a relative error of at most 2(K + 6)u for
Potts, 10(K + 2)u for linear and 2(R² + 2K + 4)u for quadratic edges, however far the entries of q
lie apart, unless products underflow. The sum of q over labels must not overflow.

Every loop runs along pixels, so that vectors of them are computed together, and treats pixels alike
and apart: a message has the same bits however pixels are grouped. What kind of message it is, is
asked for each line, never for a pixel. Labels are taken four at a time where that saves reading:
rows that stand for labels which do not exist hold zeros, or for maxima -inf, and are never written.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from credo._kernels.tiers import kernel

#: Kinds of edges.
POTTS: Final = 0
LINEAR: Final = 1
QUADRATIC: Final = 2
#: Pixels computed together. Measured with rows of 1024 and 4096 pixels: 512 at a time take about
#: 1.1 times as long, and 256 1.2 to 1.4 times, for each loop over pixels costs some 20 ns to start;
#: more gain nothing.
STEP: Final = 1024
#: Rows on either side of the labels beside those within the reach.
MARGIN: Final = 4


@kernel(visits=20)
def flood(edges, eta, nodes, messages, weights, axes, outside, colours, rooms, old, scratch):
    """Make a sweep for each of ``colours``, one slab behind the other, as for two labels.

    ``edges`` are their kind, whether maxima are taken, and the reach; ``old`` and ``scratch`` are
    room to work in.
    """
    slabs, n_axes, levels = len(nodes), len(axes), len(colours)
    for step in range(slabs + levels - 1):
        for level in range(levels):
            slab = step - level
            if slab < 0 or slab >= slabs:
                continue
            for way in range(2 * n_axes):
                is_held = way % 2 == 0 and axes[way // 2, 1] == 1
                held = 2 * n_axes + (2 * level + slab % 2) * n_axes + way // 2
                room = held if is_held else way
                _gather(slab, way, nodes, messages, axes, edges[1], rooms[room])
            for way in range(2 * n_axes):
                is_cross = axes[way // 2, 1] == 1
                held = 2 * n_axes + (2 * level + 1 - slab % 2) * n_axes + way // 2
                room = held if way % 2 == 0 and is_cross else way
                target = slab - 1 if way % 2 and is_cross else slab
                if slab > 0 or not is_cross:
                    _send(
                        target, way, edges, eta, messages, weights, axes, outside, rooms[room],
                        colours[level], old, scratch,
                    )  # fmt: skip


@kernel(visits=8)
def sweep(edges, eta, nodes, messages, weights, axes, outside, backward, rooms, old, scratch):
    """Pass messages from slab to slab, each made of those that have just arrived."""
    slabs = len(nodes)
    back = 1 if backward else 0
    for step in range(slabs - 1):
        source = slabs - 1 - step if backward else step
        for axis in range(len(axes)):
            if axes[axis, 1]:
                way = 2 * axis + back
                _gather(source, way, nodes, messages, axes, edges[1], rooms[0])
                _send(
                    source + 1 - 2 * back, way, edges, eta, messages, weights, axes, outside,
                    rooms[0], -1, old, scratch,
                )  # fmt: skip


@kernel
def _gather(slab, way, nodes, messages, axes, maximum, room):
    """Put together what pixels know, but for what they have from the pixel that they send to.

    It is laid where the messages will arrive.
    """
    length = room.shape[1]
    shift = -axes[way // 2, 0] if way % 2 else axes[way // 2, 0]
    begin, end = max(0, -shift), length - max(0, shift)
    first = 2 if way < 2 else 0  # the first direction of another axis
    for label in range(nodes.shape[1]):
        out = room[label, begin + shift : end + shift]
        node, only = nodes[slab, label, begin:end], messages[slab, way, label, begin:end]
        one = messages[slab, first, label, begin:end]
        two = messages[slab, first + 1, label, begin:end]
        if maximum:
            for p in range(out.size):
                out[p] = (node[p] + only[p]) + (one[p] + two[p])
        else:
            for p in range(out.size):
                out[p] = (node[p] * only[p]) * (one[p] * two[p])
        for other in range(first + 2, messages.shape[1], 2):
            if other // 2 != way // 2:
                one = messages[slab, other, label, begin:end]
                two = messages[slab, other + 1, label, begin:end]
                if maximum:
                    for p in range(out.size):
                        out[p] += one[p] + two[p]
                else:
                    for p in range(out.size):
                        out[p] *= one[p] * two[p]


@kernel
def _send(
    slab, way, edges, eta, messages, weights, axes, outside, q, colour, old, scratch
):  # fmt: skip
    """Mix a line of new messages with the old ones: eta of the new."""
    kind, maximum, reach = edges
    side, x, y, powers = scratch
    message, own = messages[slab, way], weights[slab if len(weights) > 1 else 0, way]
    k, length = message.shape
    margin = reach + MARGIN
    if colour >= 0:
        for a in range(k):
            _copy(old[a], message[a])
    for at in range(0, length, STEP):
        part = slice(at, min(at + STEP, length))
        step, far, here = own[0, part], own[1, part], slice(0, part.stop - at)
        top, row1, row2, row3 = side[0, here], side[1, here], side[2, here], side[3, here]
        row4 = side[4, here]
        _find_top(top, q, maximum, part)
        if kind == POTTS:
            repels = _count_repelling(step, maximum) > 0
            if repels:
                _find_two(row3, row4, q, k, maximum, part)
            _share(top, step, eta, k, row1, row2, maximum)
            for a in range(k):
                new, row = message[a, part], q[a, part]
                if repels:
                    _mix_apart(new, row, top, row3, row4, row1, row2, step, eta, maximum)
                else:
                    _mix_potts(new, row, row1, row2, eta, maximum)
            continue
        _level(x, q, top, margin, k, maximum, part)
        if maximum and kind == LINEAR:
            for a in range(margin + 1, margin + k):
                _hear(x[a], x[a - 1], step)
            for a in range(margin + k - 2, margin - 1, -1):
                _hear(x[a], x[a + 1], step)
            _mix_maxima(message, x, margin, far, eta, part)
        elif maximum:
            _best_of_squares(x, y, step, reach, k, row1, side[2])
            _mix_maxima(message, y, 1, far, eta, part)
        else:
            if kind == LINEAR:
                _sum_linear(x, y, step, far, reach, row1, row2, row3, row4)
            else:
                _sum_squares(x, y, step, far, reach, k, powers, row1)
            _mix_sums(message, y, top, eta, part)
    shift = -axes[way // 2, 0] if way % 2 else axes[way // 2, 0]
    _settle(slab, message, shift, outside, eta - eta if maximum else eta / eta / k, colour, old)


@kernel
def _settle(slab, message, shift, outside, uniform, colour, old):
    """Leave messages that come from outside as they began, and those that another colour sends."""
    length = message.shape[1]
    for label in range(len(message)):
        line = message[label]
        for p in range(shift):
            line[p] = uniform
        for p in range(length + min(0, shift), length):
            line[p] = uniform
        for place in outside:
            if 0 <= place + shift < length:
                line[place + shift] = uniform
        if colour >= 0:
            for p in range((colour + slab + 1) % 2, length, 2):
                line[p] = old[label, p]


@kernel
def _copy(out, row):
    """Copy a row."""
    for p in range(out.size):
        out[p] = row[p]


@kernel
def _fill(out, value):
    """Set all entries of a row."""
    for p in range(out.size):
        out[p] = value


@kernel
def _find_top(top, q, maximum, part):
    """Write the sum over labels, of logs the largest."""
    for a in range(0, len(q), 4):
        row0, row1, row2, row3 = q[a, part], q[a + 1, part], q[a + 2, part], q[a + 3, part]
        if maximum:
            if a == 0:
                _copy(top, row0)
            for p in range(top.size):
                top[p] = max(top[p], row0[p], row1[p], row2[p], row3[p])
        else:
            if a == 0:
                _fill(top, 0.0)
            for p in range(top.size):
                top[p] += (row0[p] + row1[p]) + (row2[p] + row3[p])


@kernel
def _count_repelling(step, maximum):
    """Count the edges whose ends want to differ."""
    count = 0
    for p in range(step.size):
        count += 1 if (step[p] < 0 if maximum else step[p] > 1) else 0
    return count


@kernel
def _share(top, step, eta, k, own, other, maximum):
    """Write what Potts messages are made of: own q + other, or max(q - own, other).

    Where d > 1 this is without the other labels.
    """
    one = eta / eta
    others = one * (k - 1)
    if maximum:
        for p in range(step.size):
            own[p] = top[p]
            other[p] = -step[p]
    else:
        for p in range(step.size):
            share = eta / (one + others * step[p])
            own[p] = (one if step[p] > one else one - step[p]) * share / top[p]
            other[p] = one - one if step[p] > one else step[p] * share


@kernel
def _mix_potts(message, q, own, other, eta, maximum):
    """Mix the new messages for a label with the old ones, where ends want to be equal."""
    keep = eta / eta - eta
    if maximum:
        for p in range(message.size):
            message[p] = eta * max(q[p] - own[p], other[p]) + keep * message[p]
    else:
        for p in range(message.size):
            message[p] = (own[p] * q[p] + other[p]) + keep * message[p]


@kernel
def _find_two(best, rest, q, k, maximum, part):
    """Write the largest entry over labels, and the sum or the largest of the others."""
    _copy(best, q[0, part])
    _fill(rest, -np.inf if maximum else 0.0)
    for a in range(1, k):
        row = q[a, part]
        for p in range(best.size):
            low = min(best[p], row[p])
            rest[p] = max(rest[p], low) if maximum else rest[p] + low
            best[p] = max(best[p], row[p])


@kernel
def _mix_apart(message, q, top, best, rest, own, other, step, eta, maximum):
    """Mix the new messages for a label with the old ones, where some ends want to differ.

    There the best label receives from the next best, or the others are summed without it: it would
    hide them.
    """
    keep = eta / eta - eta
    for p in range(message.size):
        is_best = q[p] == best[p]
        if maximum:
            new = max(q[p] - own[p], other[p])
            if step[p] < 0:
                new = max(step[p], rest[p] - best[p]) if is_best else step[p] - step[p]
            message[p] = eta * new + keep * message[p]
        else:
            new = own[p] * q[p] + other[p]
            if step[p] > 1:
                new += own[p] * step[p] * (rest[p] if is_best else top[p] - q[p])
            message[p] = new + keep * message[p]


@kernel
def _level(x, q, top, margin, k, maximum, part):
    """Write q such that its sum over labels is one, or the largest of logs zero."""
    for p in range(top.size):
        top[p] = top[p] if maximum else 1 / top[p]
    for a in range(k):
        out, row = x[margin + a], q[a, part]
        if maximum:
            for p in range(row.size):
                out[p] = row[p] - top[p]
        else:
            for p in range(row.size):
                out[p] = row[p] * top[p]


@kernel
def _mix_maxima(message, new, first, floor, eta, part):
    """Mix new messages, in rows from ``first`` on and not below ``floor``, with the old ones."""
    keep = eta / eta - eta
    for a in range(len(message)):
        old, row = message[a, part], new[first + a]
        for p in range(old.size):
            old[p] = eta * max(row[p], floor[p]) + keep * old[p]


@kernel
def _mix_sums(message, y, norm, eta, part):
    """Mix new messages, over their sums, with the old ones; ``norm`` is scratch."""
    keep = eta / eta - eta
    for a in range(len(message) + 1, len(y)):
        _fill(y[a, : norm.size], 0.0)
    _find_top(norm, y[1:], maximum=False, part=slice(0, norm.size))
    for p in range(norm.size):
        norm[p] = eta / norm[p]
    for a in range(len(message)):
        old, row = message[a, part], y[a + 1]
        for p in range(old.size):
            old[p] = row[p] * norm[p] + keep * old[p]


@kernel
def _hear(row, neighbour, step):
    """Hear from the next label, at the cost of a step."""
    for p in range(step.size):
        row[p] = max(row[p], neighbour[p] - step[p])


@kernel
def _sum_linear(x, y, d, f, reach, edge, tail, past, carry):
    """Write sums over labels that weigh d^m, and f beyond the reach; nothing is ever taken away.

    What comes from below is H(a) = q(a) + d H(a-1) + (f - d^(R+1)) q(a-R-1) + (1 - d) f Σ_{b<a-R-1}
    q(b), because w(m) = d w(m-1) up to m = R, w(R+1) = d w(R) + (f - d^(R+1)), and then w(m) = d
    w(m-1) + (1 - d) f. What comes from above is its mirror image without q(a).
    """
    _copy(edge, d)
    for _ in range(reach):
        for p in range(d.size):
            edge[p] *= d[p]
    for p in range(d.size):
        edge[p] = max(f[p] - edge[p], 0 * d[p])
        tail[p] = (1 - d[p]) * f[p]
    _fill(past, 0.0)
    for a in range(0, len(y) - 1, 4):
        _go_up(x, y, a, reach, d, edge, tail, past)
    _fill(past, 0.0)
    _fill(carry, 0.0)
    for a in range(len(y) - 2, -1, -4):
        _go_down(x, y, a, reach, d, edge, tail, past, carry)


@kernel
def _go_up(x, y, a, reach, d, edge, tail, past):
    """Go four labels up: what came so far decays, q is added, and labels leave the reach."""
    margin = reach + MARGIN
    for p in range(d.size):
        new, gone = y[a, p], past[p]
        for j in range(4):
            late = x[margin + a + j - reach - 1, p]
            new = (x[margin + a + j, p] + d[p] * new) + (edge[p] * late + tail[p] * gone)
            gone += late
            y[a + j + 1, p] = new
        past[p] = gone


@kernel
def _go_down(x, y, a, reach, d, edge, tail, past, carry):
    """Go four labels down: add what comes from above."""
    margin = reach + MARGIN
    for p in range(d.size):
        more, gone = carry[p], past[p]
        for j in range(4):
            late = x[margin + a - j + reach + 1, p]
            more = d[p] * (x[margin + a - j + 1, p] + more) + (edge[p] * late + tail[p] * gone)
            gone += late
            y[a - j + 1, p] += more
        carry[p] = more
        past[p] = gone


@kernel
def _sum_squares(x, y, d, f, reach, k, powers, past):
    """Write sums over labels that weigh d^(m²), and f beyond the reach."""
    margin = reach + MARGIN
    _fill(powers[0, : d.size], 1.0)
    _copy(past, d)  # an odd power of d
    for m in range(1, reach + 1):
        _next_power(powers[m], powers[m - 1], d, past)
    for a in range(k):
        _copy(y[a + 1, : d.size], x[margin + a])
        for m in range(1, min(reach, max(a, k - 1 - a)) + 1, 4):
            _add_pairs(x, y[a + 1], margin + a, m, powers, d)
    for side in range(2):
        _fill(past, 0.0)
        for step in range(reach + 1, k):
            a = step if side == 0 else k - 1 - step
            b = a - reach - 1 if side == 0 else a + reach + 1
            _add_beyond(y[a + 1], x[margin + b], f, past)


@kernel
def _next_power(out, last, d, odd):
    """Write d^(m²), from the one before and an odd power of d; make the next of these."""
    for p in range(d.size):
        out[p] = last[p] * odd[p]
        odd[p] *= d[p] * d[p]


@kernel
def _add_pairs(x, out, here, m, powers, d):
    """Add what four labels on either side give, ``m`` and more away."""
    for p in range(d.size):
        new = out[p]
        for j in range(4):
            new += powers[m + j, p] * (x[here - m - j, p] + x[here + m + j, p])
        out[p] = new


@kernel
def _add_beyond(out, late, f, past):
    """Add what comes from a label that leaves the reach, and from all that have left it before."""
    for p in range(f.size):
        past[p] += late[p]
        out[p] += f[p] * past[p]


@kernel
def _best_of_squares(x, y, s, reach, k, deep, squares):
    """Write the best of labels that lose by the square of how far they are.

    At a pixel m matters no more once s m² >= the depth of q, for then no label gains over its own
    q: what is left out changes no bit. (The envelope of parabolas, O(K), has branches of each
    pixel's own, and takes as long as some hundreds of differences.)
    """
    margin = reach + MARGIN
    _copy(deep, x[margin])
    for a in range(margin + 1, margin + k):
        _take_least(deep, x[a])
    felt, p = 0, 0
    while p < s.size and felt < reach:
        squares[0] = (felt + 1) * (felt + 1)
        if s[p] * squares[0] < -deep[p]:
            felt += 1
        else:
            p += 1
    for a in range(k):
        _copy(y[a + 1, : s.size], x[margin + a])
        for m in range(1, min(felt, max(a, k - 1 - a)) + 1, 4):
            for j in range(4):
                squares[j] = (m + j) * (m + j)
            _hear_pairs(x, y[a + 1], margin + a, m, s, squares)


@kernel
def _take_least(least, row):
    """Keep the smaller entries."""
    for p in range(least.size):
        least[p] = min(least[p], row[p])


@kernel
def _hear_pairs(x, out, here, m, s, squares):
    """Hear from four labels on either side, ``m`` and more away."""
    for p in range(s.size):
        new = out[p]
        for j in range(4):
            new = max(new, max(x[here - m - j, p], x[here + m + j, p]) - s[p] * squares[j])
        out[p] = new
