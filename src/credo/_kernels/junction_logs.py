"""Sums and maxima on a junction tree in the log domain: any range, nothing lost.

Maxima are as fast here as sums are in scaled arithmetic; sums pay an exponential per cell and are
for factors that span more than float64 holds.
"""

from __future__ import annotations

import math

import numpy as np

from credo._kernels.clique_tables import advance
from credo._kernels.tiers import kernel


@kernel
def add(table, t, message, m, lengths, strides, first, stop, counters):
    """Add message[m:] to table[t:], broadcast over the loops."""
    g = stop - first
    n1 = lengths[stop - 1] if g > 0 else 1
    inside = g > 0 and strides[stop - 1] > 0
    n2 = lengths[stop - 2] if g > 1 else 1
    step = strides[stop - 2] if g > 1 else 0
    outer = 1
    for k in range(first, stop - 2):
        outer *= lengths[k]
        counters[k - first] = 0
    for _ in range(outer):
        i = m
        for _j in range(n2):
            if inside:
                for k in range(n1):
                    table[t + k] += message[i + k]
            else:
                x = message[i]
                for k in range(n1):
                    table[t + k] += x
            t += n1
            i += step
        if g > 2:
            m = advance(m, lengths, strides, first, stop - 3, counters)


@kernel
def gather(source, s, out, o, cells, lengths, strides, first, stop, counters, maximum):
    """Set out[o:o + cells] to the maxima, or logs of sums, of source[s:] over the other loops."""
    for k in range(o, o + cells):
        out[k] = -np.inf
    _maxima(source, s, out, o, lengths, strides, first, stop, counters)
    if maximum:
        return
    sums = np.zeros(cells)
    outer = 1
    for k in range(first, stop):
        outer *= lengths[k]
        counters[k - first] = 0
    m = np.int64(0)
    for i in range(s, s + outer):
        if source[i] > -np.inf:
            sums[m] += math.exp(source[i] - out[o + m])
        m = advance(m, lengths, strides, first, stop - 1, counters)
    for k in range(cells):
        if out[o + k] > -np.inf:
            out[o + k] += math.log(sums[k])


@kernel
def _maxima(source, s, out, m, lengths, strides, first, stop, counters):
    """Take maxima of source[s:] into out[m:]."""
    g = stop - first
    n1 = lengths[stop - 1] if g > 0 else 1
    inside = g > 0 and strides[stop - 1] > 0
    n2 = lengths[stop - 2] if g > 1 else 1
    step = strides[stop - 2] if g > 1 else 0
    outer = 1
    for k in range(first, stop - 2):
        outer *= lengths[k]
        counters[k - first] = 0
    for _ in range(outer):
        i = m
        for _j in range(n2):
            if inside:
                for k in range(n1):
                    out[i + k] = max(out[i + k], source[s + k])
            else:
                x = out[i]
                for k in range(n1):
                    x = max(x, source[s + k])
                out[i] = x
            s += n1
            i += step
        if g > 2:
            m = advance(m, lengths, strides, first, stop - 3, counters)


@kernel
def enter_log_evidence(table, table_start, nodes, inners, starts, logs):
    """Add logs of weights on single variables to the tables where these variables end."""
    for e in range(nodes.size):
        k = nodes[e]
        inner = inners[e]
        card = starts[e + 1] - starts[e]
        for t in range(table_start[k], table_start[k + 1], card * inner):
            for x in range(card):
                for i in range(t + x * inner, t + (x + 1) * inner):
                    table[i] += logs[starts[e] + x]


@kernel
def collect_logs(
    table, table_start, row_start, parent, group_start, lengths, strides, message, maximum
):
    """Send messages from the leaves to the roots; give the log of the sum, or of the maximum."""
    counters = np.zeros(64, np.int64)
    two = np.ones(2, np.int64)
    rows_only = np.zeros(2, np.int64)
    rows_only[0] = 1
    zero, end = np.int64(0), np.int64(2)
    result = 0.0
    for k in range(parent.size):
        m = row_start[k]
        rows = row_start[k + 1] - m
        two[0] = rows
        two[1] = (table_start[k + 1] - table_start[k]) // rows
        gather(
            table, table_start[k], message, m, rows, two, rows_only, zero, end, counters, maximum
        )
        p = parent[k]
        if p < 0:
            result += message[m]
            continue
        first, stop = group_start[k], group_start[k + 1]
        add(table, table_start[p], message, m, lengths, strides, first, stop, counters)
    return result


@kernel
def distribute_logs(
    table, table_start, row_start, parent, group_start, lengths, strides, message, maximum
):
    """Send messages back to the leaves: tables and messages become (max-)beliefs, in logs."""
    counters = np.zeros(64, np.int64)
    longest = 1
    for k in range(parent.size):
        longest = max(longest, row_start[k + 1] - row_start[k])
    belief = np.empty(longest)
    zero = np.int64(0)
    for k in range(parent.size - 1, -1, -1):
        p = parent[k]
        if p < 0:
            continue
        m = row_start[k]
        rows = row_start[k + 1] - m
        first, stop = group_start[k], group_start[k + 1]
        t = table_start[p]
        gather(table, t, belief, zero, rows, lengths, strides, first, stop, counters, maximum)
        t = table_start[k]
        width = (table_start[k + 1] - t) // rows
        for r in range(rows):
            before = message[m + r]
            step = belief[r] - before if before > -np.inf else -np.inf
            message[m + r] = belief[r]
            for i in range(t, t + width):
                table[i] += step
            t += width


@kernel
def read_log_marginals(
    table, table_start, message, row_start, home, inner, n_states, start, out, maximum
):
    """Gather each variable's log belief, or max-marginal, out of its home."""
    counters = np.zeros(64, np.int64)
    three = np.ones(3, np.int64)
    middle = np.zeros(3, np.int64)
    middle[1] = 1
    zero, last = np.int64(0), np.int64(3)
    for v in range(home.size):
        k = home[v]
        card = n_states[v]
        source = table if k < 0 else message
        begin = table_start[-1 - k] if k < 0 else row_start[k]
        end = table_start[-k] if k < 0 else row_start[k + 1]
        three[0] = (end - begin) // (card * inner[v])
        three[1] = card
        three[2] = inner[v]
        gather(source, begin, out, start[v], card, three, middle, zero, last, counters, maximum)
