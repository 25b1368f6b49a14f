"""Filling clique tables with logs: sums of factors, each broadcast over the axes it lacks."""

from __future__ import annotations

import numpy as np

from credo._kernels._jit import kernel

#: Tables of no more cells are not worth sorting factors for: a pass takes as long as a lookup.
SMALL = 256


@kernel
def add_broadcast(table, t, source, s, lengths, strides, begin, end, counters):
    """Add source[s:] to table[t:], broadcast over loops begin, ..., end - 1.

    A loop of stride 0 repeats the source, others move on in it.
    """
    n1 = lengths[end - 1] if end > begin else 1
    moves = end > begin and strides[end - 1] > 0
    n2 = lengths[end - 2] if end > begin + 1 else 1
    step = strides[end - 2] if end > begin + 1 else 0
    outer = 1
    for k in range(begin, end - 2):
        outer *= lengths[k]
        counters[k - begin] = 0
    for _ in range(outer):
        i = s
        for _j in range(n2):
            if moves:
                for k in range(n1):
                    table[t + k] += source[i + k]
            else:
                x = source[i]
                for k in range(n1):
                    table[t + k] += x
            t += n1
            i += step
        k = end - 3
        while k >= begin:
            counters[k - begin] += 1
            s += strides[k]
            if counters[k - begin] < lengths[k]:
                break
            s -= strides[k] * lengths[k]
            counters[k - begin] = 0
            k -= 1


@kernel
def fill_outward(table, table_start, home, group_start, lengths, strides, factor_start, logs):
    """Add the factors' logs up in their nodes' tables; give the sum of the constants.

    A large table grows from its last axes outward. A factor is added as soon as all of its axes
    are there, and what was added is copied when the next axis comes: a clique of many pairwise
    factors takes a few visits to each cell, where adding each factor to the whole table takes one
    each.
    """
    counters = np.zeros(64, np.int64)
    is_large = np.diff(table_start) > SMALL
    for k in range(is_large.size):
        if not is_large[k]:
            table[table_start[k] : table_start[k + 1]] = 0.0
    constant = 0.0
    for f in range(home.size):
        i, k = factor_start[f], home[f]
        if k < 0:
            constant += logs[i]
        elif not is_large[k]:
            begin, end = group_start[f], group_start[f + 1]
            add_broadcast(table, table_start[k], logs, i, lengths, strides, begin, end, counters)
    first, members = _factors_by_node(home, is_large)
    for k in range(is_large.size):
        if is_large[k]:
            own = members[first[k] : first[k + 1]]
            t, stop = table_start[k], table_start[k + 1]
            _grow(table, t, stop - t, own, group_start, lengths, strides, factor_start, logs)
    return constant


@kernel
def _factors_by_node(home, is_large):
    """List the factors of the large nodes, node by node, in their order."""
    first = np.zeros(is_large.size + 1, np.int64)
    for f in range(home.size):
        if home[f] >= 0 and is_large[home[f]]:
            first[home[f] + 1] += 1
    for k in range(is_large.size):
        first[k + 1] += first[k]
    free = first[:-1].copy()
    members = np.empty(first[-1], np.int64)
    for f in range(home.size):
        if home[f] >= 0 and is_large[home[f]]:
            members[free[home[f]]] = f
            free[home[f]] += 1
    return first, members


@kernel
def _grow(table, t, cells, own, group_start, lengths, strides, factor_start, logs):
    """Fill one table with the sum of its own factors, those of the fewest axes first."""
    counters = np.zeros(64, np.int64)
    repeats = np.ones(own.size, np.int64)  # of each factor along the axes before its own
    for a in range(own.size):
        begin, end = group_start[own[a]], group_start[own[a] + 1]
        if begin < end and strides[begin] == 0:
            repeats[a] = lengths[begin]
    table[t] = 0.0
    filled = 1
    last = cells + 1
    while True:
        now = 0
        for a in range(own.size):
            if now < repeats[a] < last:
                now = repeats[a]
        if now == 0:
            break
        _repeat(table, t, filled, cells // now)
        filled = cells // now
        for a in range(own.size):
            if repeats[a] == now:
                f = own[a]
                begin, end = group_start[f] + (now > 1), group_start[f + 1]
                i = factor_start[f]
                add_broadcast(table, t, logs, i, lengths, strides, begin, end, counters)
        last = now
    _repeat(table, t, filled, cells)


@kernel
def _repeat(table, t, filled, size):
    """Fill table[t:t + size] with copies of its first ``filled`` cells."""
    if filled == 1 and table[t] == 0.0:
        table[t : t + size] = 0.0  # several times faster than copies
        return
    for begin in range(t + filled, t + size, filled):
        for i in range(filled):
            table[begin + i] = table[t + i]
