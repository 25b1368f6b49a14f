"""Clique trees: from an elimination order to tables, and messages between them.

A table's axes are its separator's, then those of the variables that end in the node. Whatever is
multiplied into a table (a factor, a message, weights) lies in it as a few loops, outermost first:
``lengths[first:stop]`` with its ``strides`` there, 0 where it is repeated. One pair of
functions, ``spread`` and ``gather``, follows such loops, in three arithmetics.

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
def elimination_cliques(n_states, scope_start, scope, order, most):
    """Eliminate symbolically: the clique of each variable, as ascending positions in the order.

    The clique of position i is i and the later variables of the factors that i is the first of, and
    of the cliques that hang below it. Linear in the size of the cliques. Gives where each starts,
    their members, the second of each, and their cells; then the cells of the maximal ones
    and of all, most later variables, and the position of the largest. Stops after a clique of more
    than ``most`` cells.
    """
    n, n_factors = order.size, scope_start.size - 1
    position = np.empty(n, np.int64)
    for i in range(n):
        position[order[i]] = i
    start = np.zeros(n_factors + n + 1, np.int64)  # of runs of members: factors, then cliques
    members = np.empty(2 * scope.size + n, np.int64)
    head, following = np.full(n, -1), np.full(n_factors + n, -1)  # runs to be joined at a position
    for f in range(n_factors):
        first = n
        for a in range(scope_start[f], scope_start[f + 1]):
            members[a] = position[scope[a]]
            first = min(first, members[a])
        start[f + 1] = scope_start[f + 1]
        if first < n:
            following[f] = head[first]
            head[first] = f
    parent, mark, cells = np.full(n, -1), np.full(n, -1), np.ones(n)
    every, maximal, width, largest, run = 0.0, 0.0, 0, 0, n_factors
    for i in range(n):
        begin = start[run]
        if begin + n - i > members.size:
            grown = np.empty(2 * members.size + n, np.int64)
            for j in range(begin):
                grown[j] = members[j]
            members = grown
        members[begin] = i
        end = begin + 1
        cells[i] = n_states[order[i]]
        widest = 0
        r = head[i]
        while r >= 0:
            widest = max(widest, start[r + 1] - start[r])
            for a in range(start[r], start[r + 1]):
                q = members[a]
                if q > i and mark[q] != i:
                    mark[q] = i
                    cells[i] *= n_states[order[q]]
                    j = end
                    while members[j - 1] > q:
                        members[j] = members[j - 1]
                        j -= 1
                    members[j] = q
                    end += 1
            r = following[r]
        if end > begin + 1:
            parent[i] = members[begin + 1]
            following[run] = head[parent[i]]
            head[parent[i]] = run
        every += cells[i]
        if widest <= end - begin:  # not inside the clique of a child
            maximal += cells[i]
        width = max(width, end - begin - 1)
        if cells[i] > cells[largest]:
            largest = i
        run += 1
        start[run] = end
        if cells[i] > most:
            break
    cliques = start[n_factors : run + 1], members[: start[run]], parent, cells
    return position, cliques, maximal, every, width, largest


@kernel
def clique_tree(start, members, parent, cells):
    """Make a tree of the cliques, each that lies inside one of its children merged into that child.

    Any tree that keeps the separators is a junction tree; a message costs the tables at both of
    its ends, so a node hangs below the smallest sibling that holds its separator, if there is one.
    Gives the node of each position and, per node from leaves to roots, its bottom position (whose
    clique it is), the number of variables that end in it, and its parent.
    """
    n = parent.size
    heir, root, top = np.full(n, -1), np.arange(n), np.arange(n)  # a node is known by its bottom
    ends = np.zeros(n, np.int64)
    count = 0
    for i in range(n):
        if heir[i] >= 0:
            root[i] = root[heir[i]]
        else:
            count += 1
        top[root[i]] = i
        ends[root[i]] += 1
        p = parent[i]
        if p >= 0 and start[i + 1] - start[i] - 1 == start[p + 1] - start[p]:
            heir[p] = i  # the last one that fits, so that what is eliminated last stays together
    head, following, over = np.full(n, -1), np.full(n, -1), np.full(n, -1)
    stack, rank = np.empty(n, np.int64), np.empty(n, np.int64)
    height = 0
    for i in range(n):
        k = root[i]
        if top[k] == i and parent[i] < 0:
            stack[height] = k
            height += 1
        elif top[k] == i:
            p = root[parent[i]]
            following[k] = head[p]
            head[p] = k
    bottom, residual = np.empty(count, np.int64), np.empty(count, np.int64)
    above = np.full(count, -1)
    while height > 0:
        height -= 1
        p = stack[height]
        count -= 1
        rank[p] = count
        bottom[count] = p
        residual[count] = ends[p]
        if over[p] >= 0:
            above[count] = rank[over[p]]
        siblings = head[p]
        head[p] = -1
        c = siblings
        while c >= 0:
            d, over[c] = siblings, p
            for _ in range(SIBLINGS_LOOKED_AT):
                if d < 0:
                    break
                smaller = d != c and cells[d] < cells[over[c]]
                if smaller and _holds(start, members, ends, c, d):
                    over[c] = d
                d = following[d]
            c = following[c]
        c = siblings
        while c >= 0:
            after = following[c]
            d = over[c]
            if d == p:
                stack[height] = c
                height += 1
            else:
                following[c] = head[d]
                head[d] = c
            c = after
    for i in range(n):
        root[i] = rank[root[i]]
    return root, bottom, residual, above


@kernel
def _holds(start, members, ends, c, d):
    """Tell whether the separator of node c lies in that of d; of equal ones, in the later."""
    a, end = start[c] + ends[c], start[c + 1]
    b, stop = start[d] + ends[d], start[d + 1]
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
    """Find how each variable lies where it ends, and the smallest table or separator that holds it.

    Gives the cells of one step of it where it ends; and its home, where -1 - node stands for the
    node's table, and node for its separator, and the cells of one step there.
    """
    n = n_states.size
    last_step = np.ones(n, np.int64)
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
                last_step[v] = step
            size = cells if j >= own else rows
            if best[v] == 0 or size < best[v]:
                best[v] = size
                home[v] = -1 - k if j >= own else k
                home_step[v] = step
            step *= n_states[v]
    return last_step, home, home_step


# --- one table and what is multiplied into it, or summed out of it ---------------


@kernel
def advance(m, lengths, strides, first, k, counters):
    """Move to the message's next run, as an odometer does, turning loop k first.

    After the last run everything is where it was, and the counters are zero again.
    """
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
def _inner(lengths, strides, first, stop):
    """Return how often the last two loops run, and of these length, stride, length, and stride."""
    outer = 1
    for k in range(first, stop - 2):
        outer *= lengths[k]
    n1 = lengths[stop - 1] if stop > first else 1
    n2 = lengths[stop - 2] if stop > first + 1 else 1
    step = strides[stop - 2] if stop > first + 1 else 0
    return outer, n2, step, n1, stop > first and strides[stop - 1] > 0


@kernel
def spread(target, source, t, message, m, lengths, strides, first, stop, counters, mode):
    """Set target[t:] to source[t:] times message[m:], repeated over the loops; add where logs."""
    outer, n2, step, n1, inside = _inner(lengths, strides, first, stop)
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
            else:
                for k in range(n1):
                    target[t + k] = source[t + k] + message[i + k * inside]
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
    outer, n2, step, n1, inside = _inner(lengths, strides, first, stop)
    s, begin = t, m
    for _ in range(outer):
        i = begin
        for _j in range(n2):
            if mode == SUM and inside:
                for k in range(n1):
                    message[i + k] += table[s + k]
            elif mode == SUM:
                message[i] += total(table, s, n1)
            else:
                for k in range(n1):
                    at = i + k * inside
                    message[at] = max(message[at], table[s + k])
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
