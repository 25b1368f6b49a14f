"""Clique trees: from an elimination order to tables, and messages between them.

A table's axes are its separator's, then those of the variables that end in the node. Whatever is
multiplied into a table (a factor, a message, weights) lies in it as a few loops, outermost first:
``lengths[first:stop]`` with its ``strides`` there, 0 where it is repeated. One pair of functions,
``spread`` and ``gather``, follows such loops, in three arithmetics.

Offsets are passed, not slices, and counts start as ``np.int64``: slices compile slowly, and a
literal that is passed on compiles its callee again.
"""

from __future__ import annotations

import math

import numpy as np

from credo._kernels.tiers import kernel

#: Arithmetics: products and sums of scaled numbers; sums of logs, and logs of sums or maxima.
SUM, LOG_SUM, LOG_MAX = 0, 1, 2
#: A product of positive numbers below this may be a zero that was not one: the least normal
#: float64 is 2.2e-308, and a table of 1e15 cells still sums its terms above it without loss.
TINY = 1e-290
LOG_2 = math.log(2.0)
#: Siblings compared with each node: keeps a star of many leaves linear.
SIBLINGS_LOOKED_AT = 64
NONE, TWO, THREE = np.int64(0), np.int64(2), np.int64(3)


# --- the tree ------------------------------------------------------------------


@kernel
def elimination_cliques(scope_start, scope, order):
    """Eliminate symbolically: the clique of each variable, as ascending positions in the order.

    The clique of position i is i, the later variables of the factors that i is the first of, and
    what the cliques hanging below i hand up. Linear in the size of the cliques.
    """
    n, n_factors = order.size, scope_start.size - 1
    position = np.empty(n, np.int64)
    for i in range(n):
        position[order[i]] = i
    factor_head, factor_next = np.full(n, -1), np.full(n_factors, -1)
    for f in range(n_factors - 1, -1, -1):
        first = n
        for a in range(scope_start[f], scope_start[f + 1]):
            first = min(first, position[scope[a]])
        if first < n:
            factor_next[f] = factor_head[first]
            factor_head[first] = f
    child_head, child_next = np.full(n, -1), np.full(n, -1)
    parent, mark = np.full(n, -1), np.full(n, -1)
    start = np.zeros(n + 1, np.int64)
    members = np.empty(scope.size + n, np.int64)
    for i in range(n):
        begin = start[i]
        end = begin + 1
        bound = 1
        f = factor_head[i]
        while f >= 0:
            bound += scope_start[f + 1] - scope_start[f]
            f = factor_next[f]
        c = child_head[i]
        while c >= 0:
            bound += start[c + 1] - start[c]
            c = child_next[c]
        if begin + bound > members.size:
            grown = np.empty(2 * (members.size + bound), np.int64)
            for j in range(begin):
                grown[j] = members[j]
            members = grown
        members[begin] = i
        mark[i] = i
        f = factor_head[i]
        while f >= 0:
            for a in range(scope_start[f], scope_start[f + 1]):
                q = position[scope[a]]
                if mark[q] != i:
                    mark[q] = i
                    end = _insert(members, end, q)
            f = factor_next[f]
        c = child_head[i]
        while c >= 0:
            for a in range(start[c] + 1, start[c + 1]):
                q = members[a]
                if mark[q] != i:
                    mark[q] = i
                    end = _insert(members, end, q)
            c = child_next[c]
        start[i + 1] = end
        if end > begin + 1:
            parent[i] = members[begin + 1]
            child_next[i] = child_head[parent[i]]
            child_head[parent[i]] = i
    return position, start, members[: start[n]], parent


@kernel
def _insert(members, end, q):
    """Insert q into an ascending run that ends at ``end`` and starts with something smaller."""
    j = end
    while members[j - 1] > q:
        members[j] = members[j - 1]
        j -= 1
    members[j] = q
    return end + 1


@kernel
def maximal_cliques(start, parent):
    """Merge every clique that lies inside one of its children into that child.

    Gives the node of each position and, per node from leaves to roots, its bottom position (whose
    clique it is), the number of variables that end in it, and its parent.
    """
    n = parent.size
    heir, root = np.full(n, -1), np.full(n, -1)  # child to be merged into; bottom of the clique
    top = np.arange(n)
    for i in range(n):
        root[i] = i if heir[i] < 0 else root[heir[i]]
        top[root[i]] = i
        p = parent[i]
        if p >= 0 and start[i + 1] - start[i] - 1 == start[p + 1] - start[p]:
            heir[p] = i  # the last one that fits, so that what is eliminated last stays together
    node, bottom = np.empty(n, np.int64), np.empty(n, np.int64)
    count = 0
    for i in range(n):  # a node ends where its last variable does: leaves come before parents
        if top[root[i]] == i:
            bottom[count] = root[i]
            node[root[i]] = count
            count += 1
    residual, above = np.zeros(count, np.int64), np.full(count, -1)
    for i in range(n):
        node[i] = node[root[i]]
        residual[node[i]] += 1
    for k in range(count):
        p = parent[top[bottom[k]]]
        if p >= 0:
            above[k] = node[p]
    return node, bottom[:count], residual, above


@kernel
def attach_to_smaller(n_states, order, start, members, node, bottom, residual, parent):
    """Hang each node below the smallest sibling that holds its separator, and renumber.

    Any tree that keeps the separators is a junction tree; a message costs the tables at both of
    its ends, so the smaller of two possible parents is the cheaper one. Children come before
    their parents in the new numbers. Changes ``node`` and ``parent``.
    """
    count = bottom.size
    cells = np.ones(count)
    for k in range(count):
        for a in range(start[bottom[k]], start[bottom[k] + 1]):
            cells[k] *= n_states[order[members[a]]]
    head, following = np.full(count, -1), np.full(count, -1)
    stack, rank = np.empty(count, np.int64), np.empty(count, np.int64)
    height = 0
    for k in range(count):
        p = parent[k]
        if p < 0:
            stack[height] = k
            height += 1
        else:
            following[k] = head[p]
            head[p] = k
    free = count
    while height > 0:
        height -= 1
        p = stack[height]
        free -= 1
        rank[p] = free
        siblings = head[p]
        head[p] = -1
        c = siblings
        while c >= 0:
            d, best = siblings, p
            for _ in range(SIBLINGS_LOOKED_AT):
                if d < 0:
                    break
                smaller = d != c and cells[d] < cells[best]
                if smaller and _holds(start, members, bottom, residual, c, d):
                    best = d
                d = following[d]
            parent[c] = best
            c = following[c]
        c = siblings
        while c >= 0:
            after = following[c]
            d = parent[c]
            if d == p:
                stack[height] = c
                height += 1
            else:
                following[c] = head[d]
                head[d] = c
            c = after
    new_bottom, new_residual = np.empty(count, np.int64), np.empty(count, np.int64)
    new_parent = np.full(count, -1)
    for k in range(count):
        new_bottom[rank[k]] = bottom[k]
        new_residual[rank[k]] = residual[k]
        if parent[k] >= 0:
            new_parent[rank[k]] = rank[parent[k]]
    for i in range(node.size):
        node[i] = rank[node[i]]
    return new_bottom, new_residual, new_parent


@kernel
def _holds(start, members, bottom, residual, c, d):
    """Tell whether the separator of node c lies in that of d; of equal ones, in the later."""
    a, end = start[bottom[c]] + residual[c], start[bottom[c] + 1]
    b, stop = start[bottom[d]] + residual[d], start[bottom[d] + 1]
    if end - a == stop - b and d < c:
        return False
    while a < end and stop - b >= end - a:
        if members[a] == members[b]:
            a += 1
        b += 1
    return a == end


@kernel
def clique_shapes(n_states, order, start, members, bottom, residual):
    """List the variables of each node, those that end in it last, and where its table starts.

    Axes are in descending positions: whatever lies in two tables has its axes in the same order.
    """
    count = bottom.size
    dim_start = np.zeros(count + 1, np.int64)
    table_start, row_start = np.zeros(count + 1, np.int64), np.zeros(count + 1, np.int64)
    for k in range(count):
        dim_start[k + 1] = dim_start[k] + start[bottom[k] + 1] - start[bottom[k]]
    dims = np.empty(dim_start[count], np.int64)
    for k in range(count):
        end = start[bottom[k] + 1]
        size = dim_start[k + 1] - dim_start[k]
        cells, rows = 1, 1
        for j in range(size):
            v = order[members[end - 1 - j]]
            dims[dim_start[k] + j] = v
            cells *= n_states[v]
            if j < size - residual[k]:
                rows *= n_states[v]
        table_start[k + 1] = table_start[k] + cells
        row_start[k + 1] = row_start[k] + rows
    return dim_start, dims, table_start, row_start


@kernel
def loops_inside(n_states, dim_start, dims, host, inner_start, inner_stop, inner):
    """Describe tables over inner[start:stop] inside the tables of their hosts, by few loops.

    Neighbouring axes become one loop where both are in the inner table, or both are not.
    """
    count = host.size
    group_start = np.zeros(count + 1, np.int64)
    room = 1
    for i in range(count):
        if host[i] >= 0:
            room += dim_start[host[i] + 1] - dim_start[host[i]]
    lengths, strides = np.empty(room, np.int64), np.empty(room, np.int64)
    filled = 0
    for i in range(count):
        k, j, first = host[i], inner_start[i], filled
        if k >= 0:
            for a in range(dim_start[k], dim_start[k + 1]):
                v = dims[a]
                inside = 1 if j < inner_stop[i] and inner[j] == v else 0
                j += inside
                if n_states[v] == 1:
                    continue
                if filled > first and strides[filled - 1] == inside:
                    lengths[filled - 1] *= n_states[v]
                else:
                    lengths[filled] = n_states[v]
                    strides[filled] = inside
                    filled += 1
            step = 1
            for g in range(filled - 1, first - 1, -1):
                if strides[g] > 0:
                    strides[g] = step
                    step *= lengths[g]
        group_start[i + 1] = filled
    return group_start, lengths[:filled].copy(), strides[:filled].copy()


@kernel
def order_scopes(scope_start, scope, position, node):
    """Sort the variables of each factor as the axes of its node are; give both.

    A factor belongs to the node where its first variable ends; constants to none.
    """
    ordered = scope.copy()
    home = np.full(scope_start.size - 1, -1)
    for f in range(home.size):
        a, b = scope_start[f], scope_start[f + 1]
        for i in range(a + 1, b):  # descending positions
            v = ordered[i]
            j = i
            while j > a and position[ordered[j - 1]] < position[v]:
                ordered[j] = ordered[j - 1]
                j -= 1
            ordered[j] = v
        if b > a:
            home[f] = node[position[ordered[b - 1]]]
    return home, ordered


@kernel
def find_homes(dim_start, dims, residual, table_start, row_start, n_states):
    """Find where each variable ends, and the smallest table or separator that holds it.

    Gives its last node and the cells of one step of it there; and the same of its home, where
    -1 - node stands for the node's table, and node for its separator.
    """
    n = n_states.size
    last, last_step = np.zeros(n, np.int64), np.ones(n, np.int64)
    home, home_step = np.zeros(n, np.int64), np.ones(n, np.int64)
    best = np.zeros(n, np.int64)
    for k in range(residual.size):
        own = dim_start[k + 1] - residual[k]
        cells, rows = table_start[k + 1] - table_start[k], row_start[k + 1] - row_start[k]
        step = 1
        for j in range(dim_start[k + 1] - 1, dim_start[k] - 1, -1):
            v = dims[j]
            if j == own - 1:
                step = 1
            if j >= own:
                last[v] = k
                last_step[v] = step
            size = cells if j >= own else rows
            if best[v] == 0 or size < best[v]:
                best[v] = size
                home[v] = -1 - k if j >= own else k
                home_step[v] = step
            step *= n_states[v]
    return last, last_step, home, home_step


# --- one table and what is multiplied into it, or summed out of it ---------------


@kernel
def advance(m, lengths, strides, first, k, counters):
    """Move to the message's next run, as an odometer does, turning loop k first."""
    while k >= first:
        counters[k - first] += 1
        m += strides[k]
        if counters[k - first] < lengths[k]:
            break
        m -= strides[k] * lengths[k]
        counters[k - first] = 0
        k -= 1
    return m


@kernel
def spread(target, source, t, message, m, lengths, strides, first, stop, counters, mode):
    """Set target[t:] to source[t:] times message[m:], repeated over the loops; add where logs."""
    loops = stop - first
    n1 = lengths[stop - 1] if loops > 0 else 1
    inside = loops > 0 and strides[stop - 1] > 0
    n2 = lengths[stop - 2] if loops > 1 else 1
    step = strides[stop - 2] if loops > 1 else 0
    outer = 1
    for k in range(first, stop - 2):
        outer *= lengths[k]
        counters[k - first] = 0
    for _ in range(outer):
        i = m
        for _j in range(n2):
            if mode == SUM and inside:
                for k in range(n1):
                    target[t + k] = source[t + k] * message[i + k]
            elif mode == SUM:
                x = message[i]
                for k in range(n1):
                    target[t + k] = source[t + k] * x
            elif inside:
                for k in range(n1):
                    target[t + k] = source[t + k] + message[i + k]
            else:
                x = message[i]
                for k in range(n1):
                    target[t + k] = source[t + k] + x
            t += n1
            i += step
        k = stop - 3
        while k >= first:  # as in ``advance``, written out: a call would cost as much as the run
            counters[k - first] += 1
            m += strides[k]
            if counters[k - first] < lengths[k]:
                break
            m -= strides[k] * lengths[k]
            counters[k - first] = 0
            k -= 1


@kernel
def total(table, t, n):
    """Sum table[t:t + n], four sums side by side: as fast as the machine allows, in one order."""
    a = b = c = d = 0.0
    if n < 4:
        for k in range(t, t + n):
            a += table[k]
        return a
    for k in range(t, t + n - 3, 4):
        a += table[k]
        b += table[k + 1]
        c += table[k + 2]
        d += table[k + 3]
    for k in range(t + n - n % 4, t + n):
        a += table[k]
    return (a + b) + (c + d)


@kernel
def gather(table, t, message, m, cells, lengths, strides, first, stop, counters, mode):
    """Set message[m:m + cells] to sums, or maxima, of table[t:] over the loops outside it."""
    for k in range(m, m + cells):
        message[k] = 0.0 if mode == SUM else -np.inf
    loops = stop - first
    n1 = lengths[stop - 1] if loops > 0 else 1
    inside = loops > 0 and strides[stop - 1] > 0
    n2 = lengths[stop - 2] if loops > 1 else 1
    step = strides[stop - 2] if loops > 1 else 0
    outer = 1
    for k in range(first, stop - 2):
        outer *= lengths[k]
        counters[k - first] = 0
    s, begin = t, m
    for _ in range(outer):
        i = begin
        for _j in range(n2):
            if mode == SUM and inside:
                for k in range(n1):
                    message[i + k] += table[s + k]
            elif mode == SUM:
                message[i] += total(table, s, n1)
            elif inside:
                for k in range(n1):
                    message[i + k] = max(message[i + k], table[s + k])
            else:
                x = message[i]
                for k in range(n1):
                    x = max(x, table[s + k])
                message[i] = x
            s += n1
            i += step
        k = stop - 3
        while k >= first:  # as in ``advance``
            counters[k - first] += 1
            begin += strides[k]
            if counters[k - first] < lengths[k]:
                break
            begin -= strides[k] * lengths[k]
            counters[k - first] = 0
            k -= 1
    if mode == LOG_SUM:
        _add_exponentials(table, t, s, message, m, cells, lengths, strides, first, stop, counters)


@kernel
def _add_exponentials(
    table, t, end, message, m, cells, lengths, strides, first, stop, counters
):  # fmt: skip
    """Turn maxima of table[t:end] in message[m:m + cells] into logs of sums of exponentials."""
    sums = np.zeros(cells)
    for k in range(stop - first):
        counters[k] = 0
    i = m
    for k in range(t, end):
        if table[k] > -np.inf:
            sums[i - m] += math.exp(table[k] - message[i])
        i = advance(i, lengths, strides, first, stop - 1, counters)
    for k in range(cells):
        if sums[k] > 0.0:
            message[m + k] += math.log(sums[k])


@kernel
def rescale(table, start, stop, mode):
    """Scale table[start:stop] to maximum one, or zero for logs.

    Gives the old maximum and a number's new least positive one.
    """
    largest = 0.0 if mode == SUM else -np.inf
    smallest = np.inf
    for i in range(start, stop):
        x = table[i]
        largest = max(largest, x)
        if 0.0 < x < smallest:
            smallest = x
    if mode == SUM and largest == 0.0:
        return 0.0, 1.0
    if mode != SUM:
        if largest > -np.inf:
            for i in range(start, stop):
                table[i] -= largest
        return largest, 1.0
    if largest != 1.0:
        for i in range(start, stop):
            table[i] /= largest
    return largest, smallest / largest


@kernel
def count_in(product, x):
    """Multiply a number into a product kept as mantissa and exponent of two.

    A hundred thousand logs of scales, added up, would lose six digits of log Z.
    """
    if not 1e-100 < x < 1e100:
        x, e = math.frexp(x)
        product[1] += e
    product[0] *= x
    if not 1e-100 < product[0] < 1e100:
        product[0], e = math.frexp(product[0])
        product[1] += e


@kernel
def log_of(product):
    """Return the logarithm of a product kept as mantissa and exponent, of zero too."""
    if product[0] == 0.0:
        return -np.inf
    return math.log(product[0]) + product[1] * LOG_2


@kernel
def absorb(
    target, source, t, end, low, k, message, m, least, lengths, strides, first, stop, counters, mode
):  # fmt: skip
    """Set node k's target[t:end] to source[t:end] times a message, whose least number is ``least``.

    The table's own least positive number is at least low[k]. Where a product could fall below what
    float64 holds, the table is scaled first. Gives what it was divided by, and whether a term may
    be lost even so.
    """
    divided = 1.0
    lost = False
    if mode == SUM and low[k] * least < TINY:
        for i in range(t, end):
            target[i] = source[i]
        divided, low[k] = rescale(target, t, end, mode)
        lost = low[k] * least < TINY
        spread(target, target, t, message, m, lengths, strides, first, stop, counters, mode)
    else:
        spread(target, source, t, message, m, lengths, strides, first, stop, counters, mode)
    if mode == SUM:
        low[k] = max(low[k] * least, TINY)
    return divided, lost


# --- all tables ------------------------------------------------------------------


@kernel
def in_axis_order(n_states, scope_start, scope, ordered, cell_start, values):
    """Copy each factor's table with its axes in the order of its node's."""
    widest = 1
    for f in range(scope_start.size - 1):
        widest = max(widest, scope_start[f + 1] - scope_start[f])
    out = np.empty(values.size)
    counters, lengths = np.zeros(widest, np.int64), np.zeros(widest, np.int64)
    steps = np.zeros(widest, np.int64)
    for f in range(scope_start.size - 1):
        a, b = scope_start[f], scope_start[f + 1]
        for i in range(a, b):
            counters[i - a] = 0
            step = 1
            for j in range(b - 1, a - 1, -1):
                if scope[j] == ordered[i]:
                    break
                step *= n_states[scope[j]]
            steps[i - a] = step
            lengths[i - a] = n_states[ordered[i]]
        i = cell_start[f]
        width, step = (lengths[b - a - 1], steps[b - a - 1]) if b > a else (1, 0)
        for cell in range(cell_start[f], cell_start[f + 1], width):
            for x in range(width):
                out[cell + x] = values[i + x * step]
            k = b - a - 2
            while k >= 0:  # as in ``advance``
                counters[k] += 1
                i += steps[k]
                if counters[k] < lengths[k]:
                    break
                i -= steps[k] * lengths[k]
                counters[k] = 0
                k -= 1
    return out


@kernel
def fill(table, low, table_start, home, group_start, lengths, strides, cell_start, values, mode):
    """Multiply the factors, which are scaled too, into their nodes' tables of largest one.

    A table grows from its last axes outward: a factor is multiplied in as soon as all of its axes
    are there, and what is there is copied when the next axis comes. So a clique of many small
    factors takes a few visits to each cell, not one per factor. Sets ``low`` to the least positive
    cell of each table; gives the log of all scales and whether a term may be lost.
    """
    counters = np.zeros(64, np.int64)
    product = np.array([1.0, 0.0])
    constant, lost = 0.0, False
    head, following = np.full(low.size, -1), np.full(home.size, -1)
    for f in range(home.size - 1, -1, -1):
        if home[f] >= 0:
            following[f] = head[home[f]]
            head[home[f]] = f
        elif mode == SUM:
            count_in(product, values[cell_start[f]])
        else:
            constant += values[cell_start[f]]
    for k in range(low.size):
        t, cells = table_start[k], table_start[k + 1] - table_start[k]
        table[t] = 1.0 if mode == SUM else 0.0
        low[k] = 1.0
        filled = np.int64(1)
        outside = _next_outside(head[k], following, group_start, lengths, strides, cells + 1)
        while outside > 0:
            filled = _repeat(table, t, filled, cells // outside)
            f = head[k]
            while f >= 0:
                first, stop = group_start[f], group_start[f + 1]
                if _outside(first, stop, lengths, strides) == outside:
                    begin, least = cell_start[f], 1.0
                    if mode == SUM:
                        largest, least = rescale(values, begin, cell_start[f + 1], mode)
                        count_in(product, largest)
                    divided, lost_here = absorb(
                        table, table, t, t + filled, low, k, values, begin, least, lengths, strides,
                        first + (outside > 1), stop, counters, mode,
                    )  # fmt: skip
                    count_in(product, divided)
                    lost = lost or lost_here
                f = following[f]
            outside = _next_outside(head[k], following, group_start, lengths, strides, outside)
        _repeat(table, t, filled, cells)
        if mode == SUM:
            largest, low[k] = rescale(table, t, t + cells, mode)
            count_in(product, largest)
    return log_of(product) + constant, lost


@kernel
def _outside(first, stop, lengths, strides):
    """Return the cells of a table's axes that come before all axes of a factor."""
    return lengths[first] if first < stop and strides[first] == 0 else 1


@kernel
def _next_outside(f, following, group_start, lengths, strides, below):
    """Find the factor with the fewest axes to come: the largest such number below the last."""
    found = 0
    while f >= 0:
        outside = _outside(group_start[f], group_start[f + 1], lengths, strides)
        if found < outside < below:
            found = outside
        f = following[f]
    return found


@kernel
def _repeat(table, t, filled, size):
    """Fill table[t:t + size] with copies of its first ``filled`` cells; give the size."""
    for begin in range(t + filled, t + size, filled):
        for i in range(filled):
            table[begin + i] = table[t + i]
    return size


@kernel
def enter(base, work, fresh, low, table_start, nodes, steps, starts, weights, mode):
    """Multiply weights on single variables into the tables where these end.

    Scales the weights; gives the log of all scales and whether a term may be lost.
    """
    counters = np.zeros(64, np.int64)
    product = np.array([1.0, 0.0])
    lengths, strides = np.zeros(3, np.int64), np.zeros(3, np.int64)
    strides[1] = 1
    lost = False
    for e in range(nodes.size):
        k, begin, end = nodes[e], starts[e], starts[e + 1]
        least = 1.0
        if mode == SUM:
            largest, least = rescale(weights, begin, end, mode)
            count_in(product, largest)
        lengths[1] = end - begin
        lengths[2] = steps[e]
        lengths[0] = (table_start[k + 1] - table_start[k]) // (lengths[1] * lengths[2])
        divided, lost_here = absorb(
            work, base if fresh[k] else work, table_start[k], table_start[k + 1], low, k, weights,
            begin, least, lengths, strides, NONE, TWO if steps[e] == 1 else THREE, counters, mode,
        )  # fmt: skip
        fresh[k] = False
        count_in(product, divided)
        lost = lost or lost_here
    return log_of(product), lost


@kernel
def collect(
    base, work, fresh, low, table_start, row_start, parent, group_start, lengths, strides, summed,
    message, scale, mode,
):  # fmt: skip
    """Send messages from the leaves to the roots, each of largest one, or zero for logs.

    Of the cells of node k, runs of summed[k] are summed before maxima are taken, where ``summed``
    is there: the first cell of a run is their sum, the others are none. Gives the log of the
    product of all scales (of logs: 0, for the caller to add up), -inf where nothing is possible,
    and whether a term may be lost.
    """
    counters = np.zeros(64, np.int64)
    product = np.array([1.0, 0.0])
    row_lengths, row_strides = np.ones(2, np.int64), np.zeros(2, np.int64)
    row_strides[0] = 1
    lost = False
    for k in range(parent.size):
        source = base if fresh[k] else work
        m, rows, p = row_start[k], row_start[k + 1] - row_start[k], parent[k]
        row_lengths[0] = rows
        row_lengths[1] = (table_start[k + 1] - table_start[k]) // rows
        if summed.size > 0 and summed[k] > 1:
            _sum_runs(source, table_start[k], table_start[k + 1], summed[k])
        gather(
            source, table_start[k], message, m, rows, row_lengths, row_strides, NONE, TWO, counters,
            mode,
        )  # fmt: skip
        scale[k], least = rescale(message, m, m + rows, mode)
        if mode == SUM:
            count_in(product, scale[k])
        if scale[k] == (0.0 if mode == SUM else -np.inf):
            return -np.inf, lost
        if p >= 0:
            divided, lost_here = absorb(
                work, base if fresh[p] else work, table_start[p], table_start[p + 1], low, p,
                message, m, least, lengths, strides, group_start[k], group_start[k + 1], counters,
                mode,
            )  # fmt: skip
            fresh[p] = False
            count_in(product, divided)
            lost = lost or lost_here
    return log_of(product), lost


@kernel
def _sum_runs(table, start, stop, length):
    """Put the log of the sum of each run of cells into its first one, and none into the others."""
    for t in range(start, stop, length):
        largest = table[t]
        for i in range(t + 1, t + length):
            largest = max(largest, table[i])
        if largest == -np.inf:
            continue
        everything = 0.0
        for i in range(t, t + length):
            everything += math.exp(table[i] - largest)
            table[i] = -np.inf
        table[t] = largest + math.log(everything)


@kernel
def distribute(
    base, work, fresh, table_start, row_start, parent, group_start, lengths, strides, message,
    scale, mode,
):  # fmt: skip
    """Send messages back to the leaves: every table becomes its belief, every message too.

    What falls below float64 here is a belief below 1e-308: no term that matters is lost.
    """
    counters = np.zeros(64, np.int64)
    longest = 1
    for k in range(parent.size):
        longest = max(longest, row_start[k + 1] - row_start[k])
    belief = np.empty(longest)
    for k in range(parent.size - 1, -1, -1):
        source = base if fresh[k] else work
        p, t, m = parent[k], table_start[k], row_start[k]
        rows = row_start[k + 1] - m
        width = (table_start[k + 1] - t) // rows
        belief[0] = message[m]
        if p >= 0:
            gather(
                work, table_start[p], belief, NONE, rows, lengths, strides, group_start[k],
                group_start[k + 1], counters, mode,
            )  # fmt: skip
        everything = total(belief, NONE, rows) if mode == SUM else belief[0]
        if mode != SUM:
            for r in range(1, rows):
                everything = max(everything, belief[r])
        for r in range(m, m + rows):
            before, now = message[r], belief[r - m]
            if mode == SUM:
                now /= everything
                ratio = now / before / scale[k] if before > 0.0 else 0.0
                for i in range(t, t + width):
                    work[i] = source[i] * ratio
            else:
                now -= everything
                step = now - before - scale[k] if before > -np.inf else -np.inf
                for i in range(t, t + width):
                    work[i] = source[i] + step
            message[r] = now
            t += width


@kernel
def read(table, table_start, message, row_start, home, steps, n_states, start, out, mode):
    """Gather each variable's belief out of its home, of sum one, or for logs of largest zero."""
    counters = np.zeros(64, np.int64)
    lengths, strides = np.zeros(3, np.int64), np.zeros(3, np.int64)
    strides[1] = 1
    for v in range(home.size):
        k, n, o = home[v], n_states[v], start[v]
        source = table if k < 0 else message
        begin = table_start[-1 - k] if k < 0 else row_start[k]
        end = table_start[-k] if k < 0 else row_start[k + 1]
        lengths[0] = (end - begin) // (n * steps[v])
        lengths[1] = n
        lengths[2] = steps[v]
        stop = TWO if steps[v] == 1 else THREE
        gather(source, begin, out, o, n, lengths, strides, NONE, stop, counters, mode)
        if mode != SUM:
            rescale(out, o, o + n, mode)
        if mode == LOG_SUM:
            for x in range(o, o + n):
                out[x] = math.exp(out[x])
        if mode != LOG_MAX:
            everything = total(out, o, n)
            for x in range(o, o + n):
                out[x] /= everything
