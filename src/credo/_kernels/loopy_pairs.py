"""Flooding on graphs of pairs whose variables all have k states: numbers, no transcendental.

For two states a message is the ratio of its entries, and so is a belief. Each variable has two
numbers side by side: the belief of this sweep, and the one that is being collected for the next.
Messages must be positive and beliefs within what the type of number holds: who calls sees to that.
"""

from __future__ import annotations

import math

import numpy as np

from credo._kernels.tiers import kernel

#: Edges that are gathered, computed and scattered together: their numbers stay in the first cache.
_BLOCK = 256
#: Edges are sorted by their first end in steps of so many variables: near in memory, but seldom the
#: same variable twice in a row, which would have to wait for itself.
_NEAR = 256


@kernel
def tile(n, left, right, n_ranges, n_columns):
    """Sort edges by the ranges of their ends, then by column of the second end, then by the first.

    Edges of two tiles that share no range touch no common variable; a range has so many columns,
    and the variables of a column stay in the cache. Gives the order, and where each tile, first
    range times the number of ranges plus second range, starts.
    """
    m = left.size
    steps = max(1, -(-n // (n_ranges * n_columns * _NEAR)))  # of _NEAR variables in a column
    column = steps * _NEAR
    width, per_tile = column * n_columns, n_columns * steps * n_columns
    key = np.empty(m, np.uint32)
    start = np.zeros(n_ranges * n_ranges * per_tile + 1, np.int64)
    for e in range(m):
        a, b = min(left[e], right[e]), max(left[e], right[e])
        first, second = a // width, b // width
        inside = (b - second * width) // column * (n_columns * steps) + (a - first * width) // _NEAR
        key[e] = (first * n_ranges + second) * per_tile + inside
        start[key[e] + 1] += 1
    for i in range(start.size - 1):
        start[i + 1] += start[i]
    tiles = np.empty(n_ranges * n_ranges + 1, np.int64)
    for t in range(tiles.size):
        tiles[t] = start[t * per_tile]
    order = np.empty(m, np.uint32)
    for e in range(m):
        order[start[key[e]]] = e
        start[key[e]] += 1
    return order, tiles


@kernel
def send_two(belief, back, old, tables, fresh, change, eta, maximum):
    """Compute messages one way: ratios, mixed with the old ones, and how far probabilities move.

    Tables are divided by the cell of both first states; they are those for the receiver alone in
    its second state, for the sender alone, and for both.
    """
    v01, v10, v11 = tables
    one = eta / eta
    keep = one - eta
    for b in range(belief.size):
        if maximum:
            high = max(v01[b] * back[b], v11[b] * belief[b])
            low = max(back[b], v10[b] * belief[b])
        else:
            high = v01[b] * back[b] + v11[b] * belief[b]
            low = back[b] + v10[b] * belief[b]
        scale, before = one / (high + low), one / (one + old[b])
        high, low = high * scale, low * scale
        was = old[b] * before
        fresh[b] = (eta * high + keep * was) / (eta * low + keep * before)
        change[b] = abs(high - was)


@kernel
def largest_of(numbers):
    """Find the largest of some numbers that are not negative, four side by side."""
    a, b, c, d = numbers[0], numbers[0], numbers[0], numbers[0]
    for i in range(0, numbers.size - 3, 4):
        a, b = max(a, numbers[i]), max(b, numbers[i + 1])
        c, d = max(c, numbers[i + 2]), max(d, numbers[i + 3])
    for i in range(numbers.size - numbers.size % 4, numbers.size):
        a = max(a, numbers[i])
    return max(a, b, c, d)


@kernel
def sweep_two(begin, end, ends, tables, messages, beliefs, eta, maximum):
    """Pass the messages of some edges between variables of two states; give the largest change.

    Slices, whose places are counted from zero, let the compiler use vectors.
    """
    near, far = np.empty(_BLOCK, beliefs.dtype), np.empty(_BLOCK, beliefs.dtype)
    new, newer = np.empty(_BLOCK, beliefs.dtype), np.empty(_BLOCK, beliefs.dtype)
    change = np.empty(_BLOCK, beliefs.dtype)
    largest = 0.0
    for at in range(begin, end, _BLOCK):
        stop = min(at + _BLOCK, end)
        n = stop - at
        left, right = ends[0][at:stop], ends[1][at:stop]
        to_left, to_right = messages[0][at:stop], messages[1][at:stop]
        v01, v10, v11 = tables[0][at:stop], tables[1][at:stop], tables[2][at:stop]
        for b in range(n):
            near[b] = beliefs[left[b], 0]
            far[b] = beliefs[right[b], 0]
        there, back = (v01, v10, v11), (v10, v01, v11)
        send_two(near[:n], to_left, to_right, there, new[:n], change[:n], eta, maximum)
        largest = max(largest, largest_of(change[:n]))
        send_two(far[:n], to_right, to_left, back, newer[:n], change[:n], eta, maximum)
        largest = max(largest, largest_of(change[:n]))
        for b in range(n):
            to_right[b] = new[b]
            to_left[b] = newer[b]
        for b in range(n):
            beliefs[left[b], 1] *= newer[b]
            beliefs[right[b], 1] *= new[b]
    return largest


@kernel
def renew(beliefs, potentials):
    """Begin the next sweep: what was collected is the belief, and collecting starts anew."""
    for v in range(beliefs.shape[0]):
        beliefs[v, 0] = beliefs[v, 1]
        beliefs[v, 1] = potentials[v]


@kernel
def log_sum_two(ends, tables, messages, beliefs):
    """Give the Bethe estimate of log Z less the logs of the first entry of each potential."""
    left, right = ends
    v01, v10, v11 = tables
    to_left, to_right = messages
    result = 0.0
    for v in range(beliefs.shape[0]):
        result += math.log1p(float(beliefs[v, 1]))
    for e in range(left.size):
        a, b = float(beliefs[left[e], 1]), float(beliefs[right[e], 1])
        p, q = a / to_left[e], b / to_right[e]
        sum_ = 1.0 + v10[e] * p + v01[e] * q + v11[e] * p * q
        share = sum_ / ((1.0 + a) * (1.0 + b))
        result += math.log(share) if share != 0.0 else -math.inf
    return result
