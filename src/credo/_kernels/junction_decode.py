"""Maxima on a junction tree, in the log domain, and the configurations that attain them.

A table's cells are, row by row of the separator, the states of the variables that end in the node.
Of these the last may be summed out instead: ``inner`` is their number of joint states, 1 if none.
"""

from __future__ import annotations

import math

import numpy as np

from credo._kernels.clique_tables import advance
from credo._kernels.junction_logs import add
from credo._kernels.tiers import kernel

#: Half the distance from 1.0 to the next float64: the largest relative error of one rounding.
UNIT = 2.0**-53


@kernel
def factor_sizes(home, cell_start, logs, count):
    """Give each node's number of factors, and the sum of their largest finite absolute logs."""
    terms = np.zeros(count, np.int64)
    sizes = np.zeros(count)
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
    return terms, sizes


@kernel
def summed_cells(dim_start, dims, residual, n_states, is_summed):
    """Give the joint states of the variables that end in each node and are summed out."""
    inner = np.ones(residual.size, np.int64)
    for k in range(residual.size):
        for j in range(dim_start[k + 1] - residual[k], dim_start[k + 1]):
            if is_summed[dims[j]]:
                inner[k] *= n_states[dims[j]]
    return inner


@kernel
def collect_maxima(
    table,
    table_start,
    row_start,
    parent,
    group_start,
    lengths,
    strides,
    inner,
    message,
    shift,
    error,
    terms,
    sizes,
):
    """Send maxima to the roots; tell whether any configuration is possible.

    A parent adds its child's maxima less the largest of them, ``shift``: the maximum is the sum of
    all shifts, and numbers stay small however long the tree is. ``error`` bounds the rounding
    error of a node's cells: n additions of terms whose absolute values sum to s err by n u s at
    most, a factor's own value by one unit u in the log, a sum of w exponentials by (w + 4) u.
    """
    counters = np.zeros(64, np.int64)
    longest = 1
    for k in range(parent.size):
        longest = max(longest, row_start[k + 1] - row_start[k])
        error[k] = UNIT * terms[k]
    relative = np.empty(longest)
    zero = np.int64(0)
    for k in range(parent.size):
        m, rows = row_start[k], row_start[k + 1] - row_start[k]
        if inner[k] > 1:
            error[k] += UNIT * (inner[k] + 4)
            _sum_inside(table, table_start[k], table_start[k + 1], inner[k])
        _row_maxima(table, table_start[k], table_start[k + 1], inner[k], message, m, rows)
        largest, smallest = _extremes(message, m, rows)
        shift[k] = largest
        if largest == -np.inf:
            return False
        error[k] += UNIT * (terms[k] + 1) * sizes[k]
        p = parent[k]
        if p < 0:
            continue
        error[p] += error[k]
        terms[p] += 1
        sizes[p] += largest - smallest
        for r in range(rows):
            relative[r] = message[m + r] - largest
        first, stop = group_start[k], group_start[k + 1]
        add(table, table_start[p], relative, zero, lengths, strides, first, stop, counters)
    return True


@kernel
def _sum_inside(table, start, stop, inner):
    """Put the log of the sum of each run of ``inner`` cells into its first cell."""
    for t in range(start, stop, inner):
        largest = -np.inf
        for i in range(t, t + inner):
            largest = max(largest, table[i])
        if largest == -np.inf:
            continue
        total = 0.0
        for i in range(t, t + inner):
            total += math.exp(table[i] - largest)
        table[t] = largest + math.log(total)


@kernel
def _row_maxima(table, start, stop, inner, message, m, rows):
    """Set message[m:m + rows] to the largest cell of each row."""
    width = (stop - start) // rows
    t = start
    for r in range(m, m + rows):
        best = table[t]
        if inner == 1:
            for i in range(t + 1, t + width):
                best = max(best, table[i])
        else:
            for i in range(t + inner, t + width, inner):
                best = max(best, table[i])
        message[r] = best
        t += width


@kernel
def _extremes(message, m, rows):
    """Give the largest entry and the smallest finite one."""
    largest, smallest = -np.inf, np.inf
    for r in range(m, m + rows):
        x = message[r]
        largest = max(largest, x)
        if x > -np.inf:
            smallest = min(smallest, x)
    return largest, smallest


@kernel
def row_of(k, dim_start, dims, residual, n_states, states):
    """Give the row of node k's table that these states of its separator select."""
    row = 0
    for j in range(dim_start[k], dim_start[k + 1] - residual[k]):
        row = row * n_states[dims[j]] + states[dims[j]]
    return row


@kernel
def _cell_of(k, dim_start, dims, residual, n_states, states):
    """Give the place inside a row of these states of the variables that end in node k."""
    cell = 0
    for j in range(dim_start[k + 1] - residual[k], dim_start[k + 1]):
        cell = cell * n_states[dims[j]] + states[dims[j]]
    return cell


@kernel
def put(k, cell, dim_start, dims, residual, n_states, states):
    """Set the states of the variables that end in node k to those of a cell of its row."""
    for j in range(dim_start[k + 1] - 1, dim_start[k + 1] - residual[k] - 1, -1):
        states[dims[j]] = cell % n_states[dims[j]]
        cell //= n_states[dims[j]]


@kernel
def decode(
    top, states, table, table_start, row_start, dim_start, dims, residual, inner, n_states, message,
    error,
):  # fmt: skip
    """Choose the best cells of nodes top, top - 1, ..., 0; tell whether one had an equal.

    Cells that differ by less than both may err are equal; the first of them is taken. If all of
    them are alone, so is the best configuration: another one would be as good in the first node,
    from the top, in which it differs, and there it would have the same separator.
    """
    tie = False
    for k in range(top, -1, -1):
        row = row_of(k, dim_start, dims, residual, n_states, states)
        width = (table_start[k + 1] - table_start[k]) // (row_start[k + 1] - row_start[k])
        if inner[k] == width:
            continue
        t = table_start[k] + row * width
        bar = message[row_start[k] + row] - 2.0 * error[k]
        first = np.int64(-1)
        for i in range(0, width, inner[k]):
            if table[t + i] >= bar:
                if first >= 0:
                    tie = True
                    break
                first = i
        put(k, first, dim_start, dims, residual, n_states, states)
    return tie


@kernel
def mark_best(
    table,
    table_start,
    row_start,
    parent,
    group_start,
    lengths,
    strides,
    inner,
    message,
    error,
    is_best,
    is_reached,
):
    """Mark the cells of best configurations: the best of rows that best cells above lead to."""
    counters = np.zeros(64, np.int64)
    for k in range(parent.size - 1, -1, -1):
        m = row_start[k]
        rows = row_start[k + 1] - m
        if parent[k] < 0:
            is_reached[m] = True
        else:
            t, first, stop = table_start[parent[k]], group_start[k], group_start[k + 1]
            _project(is_best, t, is_reached, m, lengths, strides, first, stop, counters)
        width = (table_start[k + 1] - table_start[k]) // rows
        t = table_start[k]
        for r in range(m, m + rows):
            if is_reached[r]:
                bar = message[r] - 2.0 * error[k]
                for i in range(t, t + width, inner[k]):
                    if inner[k] == width or table[i] >= bar:
                        for j in range(i, i + inner[k]):
                            is_best[j] = True
            t += width


@kernel
def _project(is_best, t, is_reached, m, lengths, strides, first, stop, counters):
    """Mark the entries of the message at m that a marked cell of the table at t agrees with."""
    n1 = lengths[stop - 1] if stop > first else 1
    step = strides[stop - 1] if stop > first else 0
    outer = 1
    for k in range(first, stop - 1):
        outer *= lengths[k]
        counters[k - first] = 0
    for begin in range(t, t + outer * n1, n1):
        for i in range(n1):
            if is_best[begin + i]:
                is_reached[m + i * step] = True
        m = advance(m, lengths, strides, first, stop - 2, counters)


@kernel
def tied_variables(is_best, table_start, row_start, dim_start, dims, residual, inner, n_states):
    """Mark the variables that are in more than one state in the marked cells."""
    state = np.empty(n_states.size, np.int64)
    for v in range(n_states.size):
        state[v] = -1
    is_tied = np.zeros(n_states.size, np.bool_)
    for k in range(residual.size):
        width = (table_start[k + 1] - table_start[k]) // (row_start[k + 1] - row_start[k])
        for i in range(0, table_start[k + 1] - table_start[k], inner[k]):
            if not is_best[table_start[k] + i]:
                continue
            cell = i % width
            for j in range(dim_start[k + 1] - 1, dim_start[k + 1] - residual[k] - 1, -1):
                v = dims[j]
                x = cell % n_states[v]
                cell //= n_states[v]
                if state[v] < 0:
                    state[v] = x
                elif state[v] != x:
                    is_tied[v] = True
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
def k_best(
    states, table, table_start, row_start, dim_start, dims, residual, inner, n_states, message,
    error,
):  # fmt: skip
    """Fill states[0], states[1], ... with the best configurations in order; give their number.

    Those not yet found fall apart by the first node, from the top, in which they leave a found one.
    The best of a part costs the difference of two cells of one row: the cells hold maxima over all
    that is below, and the rest stays. A part of a part also leaves out the cells taken before.
    """
    k = states.shape[0]
    nodes = residual.size
    last = np.empty(k, np.int64)  # the node in which each configuration left another
    taken = np.empty(k, np.int64)  # the cell there that it left, and the configuration left before
    before = np.empty(k, np.int64)
    last[0] = nodes - 1
    score = np.zeros(k)
    waiting = np.empty((k, 4), np.int64)  # best last: configuration to leave, node, cell, old cell
    worth = np.empty(k)
    is_out = np.zeros(_widest(table_start, row_start), np.bool_)
    shape = (dim_start, dims, residual, n_states)
    arrays = (table, table_start, row_start, *shape[:3], inner, n_states, message, error)
    decode(nodes - 1, states[0], *arrays)
    count = np.int64(0)
    out, back = np.bool_(True), np.bool_(False)  # noqa: FBT003 - literals would compile _mark twice
    for s in range(k):
        if s > 0:
            if count == 0:
                return s
            count -= 1
            source, node, cell = waiting[count, 0], waiting[count, 1], waiting[count, 2]
            score[s] = worth[count]
            last[s], taken[s] = node, waiting[count, 3]
            before[s] = source if last[source] == node and source > 0 else -1
            for v in range(n_states.size):
                states[s, v] = states[source, v]
            put(node, cell, *shape, states[s])
            decode(node - 1, states[s], *arrays)
        for node in range(last[s], -1, -1):
            row = row_of(node, *shape, states[s])
            width = (table_start[node + 1] - table_start[node]) // (
                row_start[node + 1] - row_start[node]
            )
            t = table_start[node] + row * width
            now = _cell_of(node, *shape, states[s])
            chain = s if node == last[s] and s > 0 else -1
            _mark(is_out, now, chain, taken, before, out)
            cell = _runner_up(table, t, width, is_out)
            _mark(is_out, now, chain, taken, before, back)
            if cell >= 0 and table[t + cell] > -np.inf:
                value = score[s] + (table[t + cell] - table[t + now])
                count = _insert(waiting, worth, count, value, s, node, cell, now)
    return k


@kernel
def _widest(table_start, row_start):
    """Give the longest row of any table."""
    widest = 1
    for k in range(table_start.size - 1):
        rows = row_start[k + 1] - row_start[k]
        widest = max(widest, (table_start[k + 1] - table_start[k]) // rows)
    return widest


@kernel
def _mark(is_out, now, chain, taken, before, value):
    """Mark, or unmark, the cell that is taken now and those taken before in the same row."""
    is_out[now] = value
    while chain >= 0:
        is_out[taken[chain]] = value
        chain = before[chain]


@kernel
def _runner_up(table, t, width, is_out):
    """Give the best cell of a row that is not marked, or -1."""
    best = -1
    for i in range(width):
        if not is_out[i] and (best < 0 or table[t + i] > table[t + best]):
            best = i
    return best


@kernel
def _insert(waiting, worth, count, value, source, node, cell, now):
    """Keep the parts of most worth, ascending; of equal ones the earlier is the better."""
    if count == worth.size:
        if value <= worth[0]:
            return count
        count -= 1
        for i in range(count):
            _move(waiting, worth, i + 1, i)
    i = count
    while i > 0 and worth[i - 1] >= value:
        _move(waiting, worth, i - 1, i)
        i -= 1
    worth[i] = value
    waiting[i, 0] = source
    waiting[i, 1] = node
    waiting[i, 2] = cell
    waiting[i, 3] = now
    return count + 1


@kernel
def _move(waiting, worth, source, target):
    """Move a part to another place of the list."""
    worth[target] = worth[source]
    for c in range(4):
        waiting[target, c] = waiting[source, c]
