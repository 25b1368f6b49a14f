"""Configurations read off clique tables after messages were sent to the roots.

A table's cells are, row by row of the separator, the states of the variables that end in the node.
Given the states of the separator a row of maxima tells the best of these, a row of sums how
probable each is. The ``shapes`` of a tree are where its tables and messages start, where the axes
of each node start, their variables, how many of these end in the node, and the numbers of states.
"""

from __future__ import annotations

import numpy as np

from credo._kernels.cliques import advance
from credo._kernels.tiers import kernel

#: Half the distance from 1.0 to the next float64: the largest relative error of one rounding.
UNIT = 2.0**-53


@kernel
def bound_errors(home, cell_start, logs, parent, row_start, message, summed):
    """Bound the rounding error of each node's maxima, after they were sent to the roots.

    n additions of terms whose absolute values sum to s err by n u s at most, a factor's own value
    by one unit u in the log, a sum of w exponentials by (w + 4) u. Two more additions take the
    largest off a message, and bring it back where cells are compared with it.
    """
    count = parent.size
    terms, sizes, error = np.zeros(count), np.zeros(count), np.zeros(count)
    for f in range(home.size):
        if home[f] < 0:
            continue
        largest = 0.0
        for i in range(cell_start[f], cell_start[f + 1]):
            x = abs(logs[i])
            if largest < x < np.inf:
                largest = x
        terms[home[f]] += 1
        sizes[home[f]] += largest
        error[home[f]] += UNIT
    for k in range(count):
        if summed.size > 0 and summed[k] > 1:
            error[k] += UNIT * (summed[k] + 4)
        error[k] += UNIT * (terms[k] + 3) * sizes[k]
        p = parent[k]
        if p >= 0:
            smallest = 0.0  # messages are at most zero
            for r in range(row_start[k], row_start[k + 1]):
                if message[r] > -np.inf:
                    smallest = min(smallest, message[r])
            error[p] += error[k]
            terms[p] += 1
            sizes[p] -= smallest
    return error


@kernel
def _row(k, shapes, states):
    """Return where node k's row for the states of its separator starts, its width and number."""
    table_start, row_start, dim_start, dims, residual, n_states = shapes
    rows = row_start[k + 1] - row_start[k]
    width = (table_start[k + 1] - table_start[k]) // rows
    row = 0
    for j in range(dim_start[k], dim_start[k + 1] - residual[k]):
        row = row * n_states[dims[j]] + states[dims[j]]
    return table_start[k] + row * width, width, row_start[k] + row


@kernel
def _put(k, cell, shapes, states):
    """Set the states of the variables that end in node k to those of a cell of its row."""
    _, _, dim_start, dims, residual, n_states = shapes
    for j in range(dim_start[k + 1] - 1, dim_start[k + 1] - residual[k] - 1, -1):
        states[dims[j]] = cell % n_states[dims[j]]
        cell //= n_states[dims[j]]


@kernel
def draw_down(table, shapes, u, out):
    """Fill out[i] with the states of draw i, from one uniform number per draw and node."""
    for i in range(out.shape[0]):
        states = out[i]
        for k in range(u.shape[1] - 1, -1, -1):
            t, width, _ = _row(k, shapes, states)
            total = 0.0
            for c in range(t, t + width):
                total += table[c]
            left = u[i, k] * total
            chosen = np.int64(-1)
            for c in range(t, t + width):
                if table[c] > 0.0:
                    chosen = c - t
                    left -= table[c]
                    if left < 0.0:
                        break
            _put(k, chosen, shapes, states)


@kernel
def decode(top, states, table, shapes, bar, message):
    """Choose the best cells of nodes top, top - 1, ..., 0; tell whether one had an equal.

    Cells of node k that are within bar[k] of what its message says are equal; the first of them is
    taken. If all of them are alone, so is the best configuration: another one would be as good in
    the first node, from the top, in which it differs, and there it would have the same separator.
    """
    tie = False
    for k in range(top, -1, -1):
        t, width, r = _row(k, shapes, states)
        first = np.int64(-1)
        for i in range(width):
            if table[t + i] >= message[r] + bar[k]:
                if first >= 0:
                    tie = True
                    break
                first = i
        _put(k, first, shapes, states)
    return tie


@kernel
def tied_variables(table, shapes, bar, message, parent, group_start, lengths, strides):
    """Mark the variables that are in more than one state in the best configurations.

    Their cells are the best of the rows that best cells above lead to.
    """
    table_start, row_start, dim_start, dims, residual, n_states = shapes
    counters = np.zeros(64, np.int64)
    is_best = np.zeros(table.size, np.bool_)
    is_reached = np.zeros(message.size, np.bool_)
    state, is_tied = np.full(n_states.size, -1), np.zeros(n_states.size, np.bool_)
    for k in range(parent.size - 1, -1, -1):
        m, t = row_start[k], table_start[k]
        width = (table_start[k + 1] - t) // (row_start[k + 1] - m)
        if parent[k] < 0:
            is_reached[m] = True
        else:
            first, stop = group_start[k], group_start[k + 1]
            n1 = lengths[stop - 1] if stop > first else 1
            step = strides[stop - 1] if stop > first else 0
            r = m
            for begin in range(table_start[parent[k]], table_start[parent[k] + 1], n1):
                for i in range(n1):
                    if is_best[begin + i]:
                        is_reached[r + i * step] = True
                r = advance(r, lengths, strides, first, stop - 2, counters)
        for r in range(m, row_start[k + 1]):
            if not is_reached[r]:
                continue
            for i in range(width):
                at = t + (r - m) * width + i
                if table[at] < message[r] + bar[k]:
                    continue
                is_best[at] = True
                cell = i
                for j in range(dim_start[k + 1] - 1, dim_start[k + 1] - residual[k] - 1, -1):
                    v = dims[j]
                    x = cell % n_states[v]
                    cell //= n_states[v]
                    is_tied[v] = is_tied[v] or (state[v] >= 0 and state[v] != x)
                    state[v] = x
    return is_tied


@kernel
def chosen_logs(n_states, scope_start, scope, cell_start, logs, states, out):
    """Set out[f] to the cell of factor f that these states select."""
    for f in range(out.size):
        cell = 0
        for a in range(scope_start[f], scope_start[f + 1]):
            cell = cell * n_states[scope[a]] + states[scope[a]]
        out[f] = logs[cell_start[f] + cell]


@kernel(visits=50)
def k_best(states, table, shapes, bar, message):
    """Fill states[0], states[1], ... with the best configurations in order; give their number.

    Those not yet found fall apart by the first node, from the top, in which they leave a found one.
    The best of a part costs the difference of two cells of one row: the cells hold maxima over all
    that is below, and the rest stays. A part of a part also leaves out the cells taken before.
    """
    _, _, dim_start, dims, residual, n_states = shapes
    k, nodes = states.shape[0], residual.size
    left_in = np.empty(k, np.int64)  # the node in which each configuration left another
    taken, before = np.empty(k, np.int64), np.empty(k, np.int64)  # the cell left there; chained
    left_in[0] = nodes - 1
    score = np.zeros(k)
    waiting = np.empty((k, 4), np.int64)  # best last: configuration to leave, node, cell, old cell
    worth = np.empty(k)
    widest = 1
    for node in range(nodes):
        widest = max(widest, _row(node, shapes, states[0])[1])
    is_out = np.full(widest, -1)  # the last search that left a cell out
    search = 0
    decode(nodes - 1, states[0], table, shapes, bar, message)
    count = np.int64(0)
    for s in range(k):
        if s > 0:
            if count == 0:
                return s
            count -= 1
            source, node, cell = waiting[count, 0], waiting[count, 1], waiting[count, 2]
            score[s] = worth[count]
            left_in[s] = node
            taken[s] = waiting[count, 3]
            before[s] = source if left_in[source] == node and source > 0 else -1
            for v in range(n_states.size):
                states[s, v] = states[source, v]
            _put(node, cell, shapes, states[s])
            decode(node - 1, states[s], table, shapes, bar, message)
        for node in range(left_in[s], -1, -1):
            t, width, _ = _row(node, shapes, states[s])
            now = 0
            for j in range(dim_start[node + 1] - residual[node], dim_start[node + 1]):
                now = now * n_states[dims[j]] + states[s, dims[j]]
            search += 1
            is_out[now] = search
            chain = s if node == left_in[s] and s > 0 else -1
            while chain >= 0:
                is_out[taken[chain]] = search
                chain = before[chain]
            cell = -1
            for i in range(width):
                if is_out[i] != search and (cell < 0 or table[t + i] > table[t + cell]):
                    cell = i
            if cell >= 0 and table[t + cell] > -np.inf:
                value = score[s] + (table[t + cell] - table[t + now])
                count = _insert(waiting, worth, count, value, s, node, cell, now)
    return k


@kernel
def _insert(waiting, worth, count, value, source, node, cell, now):
    """Keep the parts of most worth, ascending; of equal ones the earlier is the better."""
    if count == worth.size:
        if value <= worth[0]:
            return count
        count -= 1
        for i in range(count):
            worth[i] = worth[i + 1]
            for c in range(4):
                waiting[i, c] = waiting[i + 1, c]
    i = count
    while i > 0 and worth[i - 1] >= value:
        worth[i] = worth[i - 1]
        for c in range(4):
            waiting[i, c] = waiting[i - 1, c]
        i -= 1
    worth[i] = value
    waiting[i, 0] = source
    waiting[i, 1] = node
    waiting[i, 2] = cell
    waiting[i, 3] = now
    return count + 1
