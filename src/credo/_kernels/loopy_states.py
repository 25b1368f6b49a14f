"""Flooding on graphs of pairs whose variables all have k states, more than two.

With few states, many edges are computed side by side; with many, the states of one edge are.
"""

from __future__ import annotations

import math

import numpy as np

from credo._kernels.loopy_pairs import largest_of
from credo._kernels.tiers import kernel

#: Edges that are gathered, computed and scattered together.
_BLOCK = 128


@kernel
def divide(over, under):
    """Divide in place, side by side."""
    for b in range(over.size):
        over[b] /= under[b]


@kernel
def gather(beliefs, ends, x, into):
    """Read the beliefs of some variables in one state."""
    for b in range(ends.size):
        into[b] = beliefs[ends[b], 0, x]


@kernel
def scatter(beliefs, ends, x, messages):
    """Multiply messages into the next beliefs of some variables in one state."""
    for b in range(ends.size):
        beliefs[ends[b], 1, x] *= messages[b]


@kernel
def add_both(there, back, near, far, values, maximum):
    """Add the terms of one pair of states to the messages of both ways, or take larger ones."""
    if maximum:
        for b in range(values.size):
            there[b] = max(there[b], values[b] * near[b])
        for b in range(values.size):
            back[b] = max(back[b], values[b] * far[b])
    else:
        for b in range(values.size):
            there[b] += values[b] * near[b]
        for b in range(values.size):
            back[b] += values[b] * far[b]


@kernel
def settle_block(computed, messages, at, stop, scale, change, eta):
    """Mix computed messages of a block with the old ones; keep the change of each entry's edge."""
    one = eta / eta
    keep = one - eta
    n = stop - at
    for b in range(n):
        scale[b] = eta - eta
        change[b] = eta - eta
    for x in range(computed.shape[0]):
        row = computed[x][:n]
        for b in range(n):
            scale[b] += row[b]
    for b in range(n):
        scale[b] = one / scale[b]
    for x in range(computed.shape[0]):
        row, old = computed[x][:n], messages[x][at:stop]
        for b in range(n):
            row[b] = row[b] * scale[b]
        for b in range(n):
            change[b] = max(change[b], abs(row[b] - old[b]))
        for b in range(n):
            old[b] = eta * row[b] + keep * old[b]


@kernel
def sweep_few(begin, end, ends, values, messages, beliefs, eta, maximum):
    """Pass the messages of some edges between variables of few states; give the largest change.

    Tables and messages lie state by state: the last axis is the edge.
    """
    k = beliefs.shape[2]
    near, far = np.empty((k, _BLOCK), beliefs.dtype), np.empty((k, _BLOCK), beliefs.dtype)
    there, back = np.empty((k, _BLOCK), beliefs.dtype), np.empty((k, _BLOCK), beliefs.dtype)
    scale, change = np.empty(_BLOCK, beliefs.dtype), np.empty(_BLOCK, beliefs.dtype)
    largest = 0.0
    for at in range(begin, end, _BLOCK):
        stop = min(at + _BLOCK, end)
        n = stop - at
        left, right = ends[0][at:stop], ends[1][at:stop]
        for x in range(k):
            gather(beliefs, left, x, near[x])
            gather(beliefs, right, x, far[x])
            divide(near[x][:n], messages[0, x][at:stop])
            divide(far[x][:n], messages[1, x][at:stop])
        there[:] = eta - eta
        back[:] = eta - eta
        for x in range(k):
            for y in range(k):
                cells = values[x, y][at:stop]
                add_both(there[y], back[x], near[x], far[y], cells, maximum)
        settle_block(back, messages[0], at, stop, scale, change, eta)
        largest = max(largest, largest_of(change[:n]))
        settle_block(there, messages[1], at, stop, scale, change, eta)
        largest = max(largest, largest_of(change[:n]))
        for x in range(k):
            scatter(beliefs, left, x, messages[0, x][at:stop])
            scatter(beliefs, right, x, messages[1, x][at:stop])
    return largest


@kernel
def settle(computed, message, scale, eta):
    """Mix a computed message, divided by its sum, with the old one; give the largest change."""
    one = eta / eta
    keep = one - eta
    change = eta - eta
    for x in range(computed.size):
        new, old = computed[x] * scale, message[x]
        change = max(change, abs(new - old))
        message[x] = eta * new + keep * old
    return change


@kernel
def sweep_many(begin, end, ends, table, values, turned, messages, beliefs, eta, maximum):
    """Pass the messages of some edges; give the largest change.

    Messages and beliefs have a row for each way of an edge, and for this sweep and the next of a
    variable; messages sum to one. Tables stand there turned as well, so that both ways add whole
    rows up: a row's own sum would have to be made one number at a time.
    """
    k = beliefs.shape[2]
    near, far = np.empty(k, beliefs.dtype), np.empty(k, beliefs.dtype)
    there, back = np.empty(k, beliefs.dtype), np.empty(k, beliefs.dtype)
    one = eta / eta
    largest = eta - eta
    for e in range(begin, end):
        i, j, t = ends[0][e], ends[1][e], table[e]
        for x in range(k):
            near[x] = beliefs[i, 0, x] / messages[e, 0, x]
            far[x] = beliefs[j, 0, x] / messages[e, 1, x]
            there[x] = eta - eta
            back[x] = eta - eta
        for x in range(k):
            a, b = near[x], far[x]
            if maximum:
                for y in range(k):
                    there[y] = max(there[y], values[t, x, y] * a)
                for y in range(k):
                    back[y] = max(back[y], turned[t, x, y] * b)
            else:
                for y in range(k):
                    there[y] += values[t, x, y] * a
                for y in range(k):
                    back[y] += turned[t, x, y] * b
        here, over = eta - eta, eta - eta
        for x in range(k):
            here += back[x]
            over += there[x]
        largest = max(largest, settle(back, messages[e, 0], one / here, eta))
        largest = max(largest, settle(there, messages[e, 1], one / over, eta))
        for x in range(k):
            beliefs[i, 1, x] *= messages[e, 0, x]
            beliefs[j, 1, x] *= messages[e, 1, x]
    return largest


@kernel
def renew_states(beliefs, potentials):
    """Begin the next sweep: what was collected is the belief, and collecting starts anew."""
    for v in range(beliefs.shape[0]):
        for x in range(beliefs.shape[2]):
            beliefs[v, 0, x] = beliefs[v, 1, x]
            beliefs[v, 1, x] = potentials[v, x]


@kernel
def sums_of(beliefs, sums):
    """Sum the beliefs of each variable; give the sum of the logs of these."""
    result = 0.0
    for v in range(sums.size):
        sums[v] = 0.0
        for x in range(beliefs.shape[2]):
            sums[v] += beliefs[v, 1, x]
        result += math.log(sums[v]) if sums[v] != 0.0 else -math.inf
    return result


@kernel
def log_sum_many(ends, table, values, messages, beliefs):
    """Give the Bethe estimate of log Z; messages lie edge by edge."""
    k = beliefs.shape[2]
    sums = np.empty(beliefs.shape[0])
    result = sums_of(beliefs, sums)
    for e in range(table.size):
        i, j = ends[0][e], ends[1][e]
        sum_ = 0.0
        for x in range(k):
            p = beliefs[i, 1, x] / (messages[e, 0, x] * sums[i])
            for y in range(k):
                q = beliefs[j, 1, y] / (messages[e, 1, y] * sums[j])
                sum_ += values[table[e], x, y] * p * q
        result += math.log(sum_) if sum_ != 0.0 else -math.inf
    return result


@kernel
def log_sum_few(ends, values, messages, beliefs):
    """Give the Bethe estimate of log Z; messages lie state by state."""
    k = beliefs.shape[2]
    sums = np.empty(beliefs.shape[0])
    result = sums_of(beliefs, sums)
    for e in range(messages.shape[2]):
        i, j = ends[0][e], ends[1][e]
        sum_ = 0.0
        for x in range(k):
            p = beliefs[i, 1, x] / (messages[0, x, e] * sums[i])
            for y in range(k):
                q = beliefs[j, 1, y] / (messages[1, y, e] * sums[j])
                sum_ += values[x, y, e] * p * q
        result += math.log(sum_) if sum_ != 0.0 else -math.inf
    return result
