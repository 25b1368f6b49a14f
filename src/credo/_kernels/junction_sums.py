"""Sum-product on a junction tree in scaled arithmetic: fill, collect, distribute, read."""

from __future__ import annotations

import numpy as np

from credo._kernels.clique_tables import TINY, absorb, add_up, count_in, log_of, rescale
from credo._kernels.junction_fill import factors_by_node, next_outside, outside_of, repeat
from credo._kernels.tiers import kernel


@kernel
def ordered_factors(n_states, scope_start, scope, ordered, cell_start, values):
    """Copy each factor's table with its axes in the node's order."""
    n_factors = scope_start.size - 1
    widest = 1
    for f in range(n_factors):
        widest = max(widest, scope_start[f + 1] - scope_start[f])
    out = np.empty(values.size)
    steps = np.empty(widest, np.int64)
    counters = np.zeros(widest, np.int64)
    for f in range(n_factors):
        a, b = scope_start[f], scope_start[f + 1]
        for i in range(a, b):
            step = 1
            for j in range(b - 1, a - 1, -1):
                if scope[j] == ordered[i]:
                    break
                step *= n_states[scope[j]]
            steps[i - a] = step
            counters[i - a] = 0
        i = cell_start[f]
        for cell in range(cell_start[f], cell_start[f + 1]):
            out[cell] = values[i]
            k = b - a - 1
            while k >= 0:
                counters[k] += 1
                i += steps[k]
                if counters[k] < n_states[ordered[a + k]]:
                    break
                i -= steps[k] * n_states[ordered[a + k]]
                counters[k] = 0
                k -= 1
    return out


@kernel
def fill(base, low, table_start, home, group_start, lengths, strides, factor_start, factor_values):
    """Multiply the factors into their nodes' tables, scaled to maximum one.

    A table grows from its last axes outward: a factor is multiplied in as soon as all of its axes
    are there, and the product is copied when the next axis comes. So a clique of many small
    factors takes a few visits to each cell, not one per factor. Scales the factors too. Sets
    ``low`` to the least positive cell of each table; gives the log of all scales and whether a term
    was lost.
    """
    counters = np.zeros(64, np.int64)
    product = np.zeros(2)
    product[0] = 1.0
    lost = False
    head, following = factors_by_node(home, low.size)
    for f in range(home.size):
        if home[f] < 0:
            count_in(product, factor_values[factor_start[f]])
    for k in range(low.size):
        t = table_start[k]
        cells = table_start[k + 1] - t
        base[t] = 1.0
        low[k] = 1.0
        filled = np.int64(1)
        outside = next_outside(head[k], following, group_start, lengths, strides, cells + 1)
        while outside > 0:
            filled = repeat(base, t, filled, cells // outside)
            f = head[k]
            while f >= 0:
                first, stop = group_start[f], group_start[f + 1]
                if outside_of(first, stop, lengths, strides) == outside:
                    begin, end = factor_start[f], factor_start[f + 1]
                    largest, smallest = rescale(factor_values, begin, end)
                    count_in(product, largest)
                    lost_here, divided = absorb(
                        base,
                        base,
                        t,
                        t + filled,
                        factor_values,
                        begin,
                        smallest,
                        low,
                        k,
                        lengths,
                        strides,
                        first + (outside > 1),
                        stop,
                        counters,
                    )
                    lost = lost or lost_here or smallest < TINY
                    count_in(product, divided)
                f = following[f]
            outside = next_outside(head[k], following, group_start, lengths, strides, outside)
        repeat(base, t, filled, cells)
        largest, low[k] = rescale(base, t, t + cells)
        count_in(product, largest)
    return log_of(product), lost


@kernel
def collect(
    base,
    work,
    fresh,
    low,
    table_start,
    row_start,
    parent,
    group_start,
    lengths,
    strides,
    message,
    scale,
):
    """Send messages from the leaves to the roots; give log Z and whether a term was lost."""
    counters = np.zeros(64, np.int64)
    product = np.zeros(2)
    product[0] = 1.0
    lost = False
    for k in range(parent.size):
        m, smallest = _send(base, work, fresh, table_start, row_start, message, scale, k)
        count_in(product, scale[k])
        if scale[k] == 0.0:
            break
        p = parent[k]
        if p >= 0:
            source = base if fresh[p] else work
            lost_here, divided = absorb(
                work,
                source,
                table_start[p],
                table_start[p + 1],
                message,
                m,
                smallest,
                low,
                p,
                lengths,
                strides,
                group_start[k],
                group_start[k + 1],
                counters,
            )
            fresh[p] = False
            lost = lost or lost_here
            count_in(product, divided)
    return log_of(product), lost


@kernel
def enter_weights(base, work, fresh, low, table_start, nodes, inners, starts, weights):
    """Multiply weights on single variables into the tables where these variables end.

    Scales the weights to maximum one; gives the log of all scales and whether a term was lost.
    """
    counters = np.zeros(64, np.int64)
    product = np.zeros(2)
    product[0] = 1.0
    three = np.zeros(3, np.int64)
    middle = np.zeros(3, np.int64)
    middle[1] = 1
    begin, stop = np.int64(0), np.int64(3)
    lost = False
    for e in range(nodes.size):
        largest, smallest = rescale(weights, starts[e], starts[e + 1])
        count_in(product, largest)
        k = nodes[e]
        t, end = table_start[k], table_start[k + 1]
        three[1] = starts[e + 1] - starts[e]
        three[2] = inners[e]
        three[0] = (end - t) // (three[1] * three[2])
        source = base if fresh[k] else work
        lost_here, divided = absorb(
            work,
            source,
            t,
            end,
            weights,
            starts[e],
            smallest,
            low,
            k,
            three,
            middle,
            begin,
            stop,
            counters,
        )
        lost = lost or lost_here or smallest < TINY
        count_in(product, divided)
        fresh[k] = False
    return log_of(product), lost


@kernel
def _send(base, work, fresh, table_start, row_start, message, scale, k):
    """Sum the rows of node k into its message, scaled to maximum one."""
    source = base if fresh[k] else work
    m = row_start[k]
    end = row_start[k + 1]
    width = (table_start[k + 1] - table_start[k]) // (end - m)
    t = table_start[k]
    for r in range(m, end):
        total = 0.0
        for i in range(t, t + width):
            total += source[i]
        t += width
        message[r] = total
    scale[k], smallest = rescale(message, m, end)
    return m, smallest


@kernel
def distribute(
    base, work, fresh, table_start, row_start, parent, group_start, lengths, strides, message, scale
):
    """Send messages back to the leaves: every table becomes its belief, every message too.

    What falls below float64 here is a belief below 1e-308: no term that matters is lost.
    """
    counters = np.zeros(64, np.int64)
    count = parent.size
    longest = 1
    for k in range(count):
        longest = max(longest, row_start[k + 1] - row_start[k])
    belief = np.empty(longest)
    for k in range(count - 1, -1, -1):
        p = parent[k]
        source = base if fresh[k] else work
        t = table_start[k]
        m = row_start[k]
        rows = row_start[k + 1] - m
        width = (table_start[k + 1] - t) // rows
        if p < 0:
            belief[0] = 1.0
            message[m] = 1.0
            scale[k] = 1.0
        else:
            first, stop = group_start[k], group_start[k + 1]
            add_up(work, table_start[p], belief, rows, lengths, strides, first, stop, counters)
        total = 0.0
        for r in range(rows):
            total += belief[r]
        for r in range(rows):
            before = message[m + r]
            now = belief[r] / total
            ratio = now / before / scale[k] if before > 0.0 else 0.0
            message[m + r] = now
            for i in range(t, t + width):
                work[i] = source[i] * ratio
            t += width


@kernel
def smallest_homes(dim_start, dims, residual, table_start, row_start, n_states):
    """Find for each variable the smallest table or separator that holds it.

    Gives the node (counted from its end, -1 - node, for the node's own table), the length of one
    step of the variable inside it.
    """
    n = n_states.size
    home = np.zeros(n, np.int64)
    inner = np.ones(n, np.int64)
    best = np.zeros(n, np.int64)
    for k in range(residual.size):
        cells = table_start[k + 1] - table_start[k]
        rows = row_start[k + 1] - row_start[k]
        a, b = dim_start[k], dim_start[k + 1]
        step = 1
        for j in range(b - 1, a - 1, -1):
            v = dims[j]
            if j == b - 1 - residual[k]:
                step = 1
            own = j >= b - residual[k]
            size = cells if own else rows
            if best[v] == 0 or size < best[v]:
                best[v] = size
                home[v] = -1 - k if own else k
                inner[v] = step
            step *= n_states[v]
    return home, inner


@kernel
def read_marginals(work, table_start, message, row_start, home, inner, n_states, start, out):
    """Sum each variable's belief out of its home and scale it to one."""
    for v in range(home.size):
        k = home[v]
        card = n_states[v]
        step = inner[v]
        o = start[v]
        for x in range(card):
            out[o + x] = 0.0
        if k < 0:
            _axis_sums(work, table_start[-1 - k], table_start[-k], card, step, out, o)
        else:
            _axis_sums(message, row_start[k], row_start[k + 1], card, step, out, o)
        total = 0.0
        for x in range(card):
            total += out[o + x]
        for x in range(card):
            out[o + x] /= total


@kernel
def _axis_sums(table, begin, end, card, step, out, o):
    """Add table[begin:end] up into out[o:o + card], along the axis with this step."""
    for t in range(begin, end, card * step):
        for x in range(card):
            total = 0.0
            for i in range(t + x * step, t + (x + 1) * step):
                total += table[i]
            out[o + x] += total
