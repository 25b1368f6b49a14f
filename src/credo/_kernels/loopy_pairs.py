"""Flooding on graphs of pairs whose variables all have k states: numbers, no transcendental.

For two states a message is the ratio of its entries, and so is a belief. Each variable has two
numbers side by side: the belief of this sweep, and the one that is being collected for the next.
Messages must be positive and beliefs within what the type of number holds: who calls sees to that.
"""

from __future__ import annotations

import numpy as np

from credo._kernels._jit import kernel

#: Edges that are gathered, computed and scattered together: their numbers stay in the first cache.
_BLOCK = 256
#: Edges are sorted by their first end in steps of so many variables: near in memory, but seldom the
#: same variable twice in a row, which would have to wait for itself.
_NEAR = 256


@kernel
def tile(n, left, right, n_ranges, n_columns):
    """Sort edges by the ranges of their ends, then by column of the second end, then by the first.

    Edges of two tiles that share no range touch no common variable, and a column of variables stays
    in the cache. Gives the order, and where each tile, first range times the number of ranges plus
    second range, starts.
    """
    m = left.size
    width = (n + n_ranges - 1) // n_ranges
    narrow = (n + n_columns - 1) // n_columns
    start = np.zeros(n_ranges * n_ranges + 1, np.int64)
    n_near = n // _NEAR + 1
    by_first, by_column = np.zeros(n_near + 1, np.int64), np.zeros(n_columns + 1, np.int64)
    for e in range(m):
        a, b = min(left[e], right[e]), max(left[e], right[e])
        by_first[a // _NEAR + 1] += 1
        by_column[b // narrow + 1] += 1
        start[a // width * n_ranges + b // width + 1] += 1
    for v in range(n_near):
        by_first[v + 1] += by_first[v]
    for c in range(n_columns):
        by_column[c + 1] += by_column[c]
    for t in range(n_ranges * n_ranges):
        start[t + 1] += start[t]
    order, other = np.empty(m, np.int64), np.empty(m, np.int64)
    for e in range(m):
        a = min(left[e], right[e]) // _NEAR
        order[by_first[a]] = e
        by_first[a] += 1
    for i in range(m):
        e = order[i]
        c = max(left[e], right[e]) // narrow
        other[by_column[c]] = e
        by_column[c] += 1
    at = start.copy()
    for i in range(m):
        e = other[i]
        t = min(left[e], right[e]) // width * n_ranges + max(left[e], right[e]) // width
        order[at[t]] = e
        at[t] += 1
    return order, start


@kernel
def send_two(belief, back, old, tables, fresh, change, eta, maximum):
    """Compute messages one way: ratios, mixed with the old ones, and how far probabilities move.

    Tables are those for both first states, for the receiver alone in its second state, for the
    sender alone, and for both second states.
    """
    v00, v01, v10, v11 = tables
    one = eta / eta
    keep = one - eta
    for b in range(belief.size):
        if maximum:
            high = max(v01[b] * back[b], v11[b] * belief[b])
            low = max(v00[b] * back[b], v10[b] * belief[b])
        else:
            high = v01[b] * back[b] + v11[b] * belief[b]
            low = v00[b] * back[b] + v10[b] * belief[b]
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
        v00, v01 = tables[0][at:stop], tables[1][at:stop]
        v10, v11 = tables[2][at:stop], tables[3][at:stop]
        for b in range(n):
            near[b] = beliefs[left[b], 0]
            far[b] = beliefs[right[b], 0]
        there, back = (v00, v01, v10, v11), (v00, v10, v01, v11)
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
    v00, v01, v10, v11 = tables
    to_left, to_right = messages
    result = 0.0
    for v in range(beliefs.shape[0]):
        result += np.log1p(float(beliefs[v, 1]))
    for e in range(left.size):
        a, b = float(beliefs[left[e], 1]), float(beliefs[right[e], 1])
        p, q = a / to_left[e], b / to_right[e]
        sum_ = v00[e] + v10[e] * p + v01[e] * q + v11[e] * p * q
        result += np.log(sum_ / ((1.0 + a) * (1.0 + b)))
    return result
