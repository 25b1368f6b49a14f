"""Filling clique tables with logs: sums of factors, each broadcast over the axes it lacks.

A large table grows from its last axes outward. A factor is added as soon as all of its axes are
there, and what was added is copied when the next axis comes: a clique of many pairwise factors
takes a few visits to each cell, where adding each factor to the whole table takes one each.
"""

from __future__ import annotations

import numpy as np

from credo._kernels.junction_logs import add
from credo._kernels.tiers import kernel

#: Tables of no more cells are filled factor by factor: for them the order takes longer to find out
#: than it saves. A chain of 1e5 steps takes a third of the time.
SMALL = 256


@kernel
def fill_outward(table, table_start, home, group_start, lengths, strides, factor_start, logs):
    """Add the factors' logs up in their nodes' tables; give the sum of the constants."""
    counters = np.zeros(64, np.int64)
    for k in range(table_start.size - 1):
        if table_start[k + 1] - table_start[k] <= SMALL:
            for i in range(table_start[k], table_start[k + 1]):
                table[i] = 0.0
    constant = 0.0
    for f in range(home.size):
        i, k = factor_start[f], home[f]
        if k < 0:
            constant += logs[i]
        elif table_start[k + 1] - table_start[k] <= SMALL:
            first, stop = group_start[f], group_start[f + 1]
            add(table, table_start[k], logs, i, lengths, strides, first, stop, counters)
    head, following = factors_by_node(home, table_start.size - 1)
    for k in range(head.size):
        t = table_start[k]
        cells = table_start[k + 1] - t
        if cells <= SMALL:
            continue
        outside = next_outside(head[k], following, group_start, lengths, strides, cells + 1)
        filled = cells // max(outside, 1)
        for i in range(t, t + filled):
            table[i] = 0.0
        while outside > 0:
            filled = repeat(table, t, filled, cells // outside)
            f = head[k]
            while f >= 0:
                first, stop = group_start[f], group_start[f + 1]
                if outside_of(first, stop, lengths, strides) == outside:
                    first += outside > 1
                    add(table, t, logs, factor_start[f], lengths, strides, first, stop, counters)
                f = following[f]
            outside = next_outside(head[k], following, group_start, lengths, strides, outside)
        repeat(table, t, filled, cells)
    return constant


@kernel
def factors_by_node(home, count):
    """Give the first factor of each node and the one that follows each factor there, or -1."""
    head = np.empty(count, np.int64)
    following = np.empty(home.size, np.int64)
    for k in range(count):
        head[k] = -1
    for f in range(home.size - 1, -1, -1):
        if home[f] >= 0:
            following[f] = head[home[f]]
            head[home[f]] = f
    return head, following


@kernel
def outside_of(first, stop, lengths, strides):
    """Give the cells of a table's axes that come before all axes of a factor."""
    return lengths[first] if first < stop and strides[first] == 0 else 1


@kernel
def next_outside(f, following, group_start, lengths, strides, below):
    """Find the factor with the fewest axes to come: the largest such number below the last."""
    found = 0
    while f >= 0:
        outside = outside_of(group_start[f], group_start[f + 1], lengths, strides)
        if found < outside < below:
            found = outside
        f = following[f]
    return found


@kernel
def repeat(table, t, filled, size):
    """Fill table[t:t + size] with copies of its first ``filled`` cells; give the size."""
    if filled == 1:
        x = table[t]
        for i in range(t + 1, t + size):
            table[i] = x
    else:
        for begin in range(t + filled, t + size, filled):
            for i in range(filled):
                table[begin + i] = table[t + i]
    return size
