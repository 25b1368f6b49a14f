"""From an elimination order to a junction tree: cliques, parents and where each table lies."""

from __future__ import annotations

import numpy as np

from credo._kernels.tiers import kernel

#: Siblings compared with each node: keeps a star of many leaves linear.
SIBLINGS_LOOKED_AT = 64


@kernel
def _none(n):
    """Make an array of minus ones."""
    out = np.empty(n, np.int64)
    for i in range(n):
        out[i] = -1
    return out


@kernel
def _grown(array, filled, needed):
    """Copy the filled part of an array into one of twice the needed length."""
    grown = np.empty(2 * needed, np.int64)
    for i in range(filled):
        grown[i] = array[i]
    return grown


@kernel
def elimination_cliques(scope_start, scope, order):
    """Eliminate symbolically: the clique of each variable, as ascending positions in the order.

    The clique of position i is i, the later variables of the factors that i is the first of, and
    what the cliques hanging below i hand up. Linear in the size of the cliques.
    """
    n = order.size
    n_factors = scope_start.size - 1
    position = np.empty(n, np.int64)
    for i in range(n):
        position[order[i]] = i
    factor_head = _none(n)
    factor_next = _none(n_factors)
    for f in range(n_factors - 1, -1, -1):
        first = n
        for a in range(scope_start[f], scope_start[f + 1]):
            first = min(first, position[scope[a]])
        if first < n:
            factor_next[f] = factor_head[first]
            factor_head[first] = f
    child_head = _none(n)
    child_next = _none(n)
    parent = _none(n)
    start = np.zeros(n + 1, np.int64)
    members = np.empty(scope.size + n, np.int64)
    mark = _none(n)
    for i in range(n):
        begin = start[i]
        end = begin
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
            members = _grown(members, begin, members.size + bound)
        members[end] = i
        mark[i] = i
        end += 1
        f = factor_head[i]
        while f >= 0:
            for a in range(scope_start[f], scope_start[f + 1]):
                q = position[scope[a]]
                if mark[q] != i:
                    mark[q] = i
                    end = _insert(members, begin, end, q)
            f = factor_next[f]
        c = child_head[i]
        while c >= 0:
            for a in range(start[c] + 1, start[c + 1]):
                q = members[a]
                if mark[q] != i:
                    mark[q] = i
                    end = _insert(members, begin, end, q)
            c = child_next[c]
        start[i + 1] = end
        if end > begin + 1:
            parent[i] = members[begin + 1]
            child_next[i] = child_head[parent[i]]
            child_head[parent[i]] = i
    return position, start, members[: start[n]], parent


@kernel
def _insert(members, begin, end, q):
    """Insert q into the ascending run members[begin:end]."""
    j = end
    while j > begin and members[j - 1] > q:
        members[j] = members[j - 1]
        j -= 1
    members[j] = q
    return end + 1


@kernel
def maximal_cliques(start, parent):
    """Merge every clique that lies inside one of its children into that child.

    Gives the node of each position, and per node its bottom position (whose clique it is), the
    number of variables that end in it, its parent node, and the nodes from leaves to roots.
    """
    n = parent.size
    node = np.empty(n, np.int64)
    heir = _none(n)  # the child that a clique can be merged into
    bottom = np.empty(n, np.int64)
    top = np.empty(n, np.int64)
    residual = np.empty(n, np.int64)
    count = np.int64(0)
    for i in range(n):
        size = start[i + 1] - start[i]
        child = heir[i]
        if child >= 0:
            k = node[child]
            node[i] = k
            residual[k] += 1
            top[k] = i
        else:
            k = count
            node[i] = k
            bottom[k] = i
            top[k] = i
            residual[k] = 1
            count += 1
        p = parent[i]
        if p >= 0 and size - 1 == start[p + 1] - start[p]:
            heir[p] = i  # the last one that fits, so that what is eliminated last stays together
    rank = np.empty(count, np.int64)
    by_rank = np.empty(count, np.int64)
    filled = np.int64(0)
    for i in range(n):  # a node ends where its last variable does: leaves come before parents
        k = node[i]
        if top[k] == i:
            rank[k] = filled
            by_rank[filled] = k
            filled += 1
    node_parent = _none(count)
    node_bottom = np.empty(count, np.int64)
    node_residual = np.empty(count, np.int64)
    for r in range(count):
        k = by_rank[r]
        node_bottom[r] = bottom[k]
        node_residual[r] = residual[k]
        above = parent[top[k]]
        if above >= 0:
            node_parent[r] = rank[node[above]]
    for i in range(n):
        node[i] = rank[node[i]]
    return node, node_bottom, node_residual, node_parent


@kernel
def attach_to_smaller(n_states, order, start, members, node, bottom, residual, node_parent):
    """Hang each node below the smallest sibling that holds its separator, and renumber.

    Any tree that keeps the separators is a junction tree; a message costs the tables at both of
    its ends, so the smaller of two possible parents is the cheaper one. Children come before
    their parents in the new numbers.
    """
    count = bottom.size
    cells = np.ones(count)
    for k in range(count):
        for a in range(start[bottom[k]], start[bottom[k] + 1]):
            cells[k] *= n_states[order[members[a]]]
    head = _none(count)
    following = _none(count)
    stack = np.empty(count, np.int64)
    height = 0
    for k in range(count):
        p = node_parent[k]
        if p < 0:
            stack[height] = k
            height += 1
        else:
            following[k] = head[p]
            head[p] = k
    rank = np.empty(count, np.int64)
    free = count
    while height > 0:
        height -= 1
        p = stack[height]
        free -= 1
        rank[p] = free
        c = head[p]
        head[p] = -1
        siblings = c
        while c >= 0:
            after = following[c]
            best = -1
            d = siblings
            looked = 0
            while d >= 0 and looked < SIBLINGS_LOOKED_AT:
                looked += 1
                smaller = d != c and cells[d] < (cells[p] if best < 0 else cells[best])
                if smaller and _holds(start, members, bottom, residual, c, d):
                    best = d
                d = following[d]
            node_parent[c] = p if best < 0 else best
            c = after
        c = siblings
        while c >= 0:
            after = following[c]
            d = node_parent[c]
            if d == p:
                stack[height] = c
                height += 1
            else:
                following[c] = head[d]
                head[d] = c
            c = after
    return _renumbered(rank, node, bottom, residual, node_parent)


@kernel
def _renumbered(rank, node, bottom, residual, node_parent):
    """Give nodes their new numbers, in place for ``node``."""
    count = rank.size
    new_bottom = np.empty(count, np.int64)
    new_residual = np.empty(count, np.int64)
    new_parent = _none(count)
    for k in range(count):
        new_bottom[rank[k]] = bottom[k]
        new_residual[rank[k]] = residual[k]
        if node_parent[k] >= 0:
            new_parent[rank[k]] = rank[node_parent[k]]
    for i in range(node.size):
        node[i] = rank[node[i]]
    return new_bottom, new_residual, new_parent


@kernel
def _holds(start, members, bottom, residual, c, d):
    """Tell whether the separator of node c lies in that of d; of equal ones, in the later."""
    a, end = start[bottom[c]] + residual[c], start[bottom[c] + 1]
    b, stop = start[bottom[d]] + residual[d], start[bottom[d] + 1]
    if end - a > stop - b or (end - a == stop - b and d < c):
        return False
    while a < end and b < stop:
        if members[a] == members[b]:
            a += 1
        b += 1
    return a == end


@kernel
def clique_shapes(n_states, order, start, members, bottom, residual):
    """List the variables of each node, those that end in it last, and where its table starts.

    Gives dims (start per node, variables), table starts and the rows (separator cells) of each.
    """
    count = bottom.size
    dim_start = np.zeros(count + 1, np.int64)
    for k in range(count):
        dim_start[k + 1] = dim_start[k] + start[bottom[k] + 1] - start[bottom[k]]
    dims = np.empty(dim_start[count], np.int64)
    table_start = np.zeros(count + 1, np.int64)
    row_start = np.zeros(count + 1, np.int64)
    for k in range(count):
        first = start[bottom[k]]
        size = dim_start[k + 1] - dim_start[k]
        cells = 1
        rows = 1
        for j in range(size):  # descending positions: the first of them are the separator
            v = order[members[first + size - 1 - j]]
            dims[dim_start[k] + j] = v
            cells *= n_states[v]
            if j < size - residual[k]:
                rows *= n_states[v]
        table_start[k + 1] = table_start[k] + cells
        row_start[k + 1] = row_start[k] + rows
    return dim_start, dims, table_start, row_start


@kernel
def message_groups(n_states, dim_start, dims, residual, node_parent):
    """Describe each message inside its parent's table by as few loops as possible.

    Neighbouring axes that are both in the message, or both summed out of it, are one loop. A loop
    is its length and its stride in the message (0: summed out).
    """
    count = residual.size
    group_start = np.zeros(count + 1, np.int64)
    lengths = np.empty(dims.size + count, np.int64)
    strides = np.empty(dims.size + count, np.int64)
    filled = np.int64(0)
    for k in range(count):
        p = node_parent[k]
        if p >= 0:
            needed = filled + dim_start[p + 1] - dim_start[p] + 1
            if needed > lengths.size:
                lengths = _grown(lengths, filled, needed)
                strides = _grown(strides, filled, needed)
            filled = _groups(
                n_states,
                dims,
                dim_start[p],
                dim_start[p + 1],
                dims,
                dim_start[k],
                dim_start[k + 1] - residual[k],
                lengths,
                strides,
                filled,
            )
        group_start[k + 1] = filled
    return group_start, lengths[:filled], strides[:filled]


@kernel
def _groups(n_states, axes, begin, end, inside, j, stop, lengths, strides, filled):
    """Append the loops of a table of axes[begin:end] over a message of inside[j:stop]."""
    first = filled
    was_inside = False
    for a in range(begin, end):
        v = axes[a]
        is_inside = j < stop and inside[j] == v
        if is_inside:
            j += 1
        if n_states[v] == 1:
            continue
        if filled > first and was_inside == is_inside:
            lengths[filled - 1] *= n_states[v]
        else:
            lengths[filled] = n_states[v]
            strides[filled] = 1 if is_inside else 0
            filled += 1
        was_inside = is_inside
    step = 1
    for g in range(filled - 1, first - 1, -1):
        if strides[g] > 0:
            strides[g] = step
            step *= lengths[g]
    return filled


@kernel
def factor_groups(n_states, scope_start, scope, position, node, dim_start, dims):
    """Assign each factor to the node where its first variable ends, and describe it there.

    Gives the node of each factor, its loops inside the node's table, and, for the loops to run
    forward, its variables in the node's order.
    """
    n_factors = scope_start.size - 1
    home = np.empty(n_factors, np.int64)
    ordered = np.empty(scope.size, np.int64)
    for a in range(scope.size):
        ordered[a] = scope[a]
    group_start = np.zeros(n_factors + 1, np.int64)
    lengths = np.empty(2 * scope.size + n_factors + 1, np.int64)
    strides = np.empty(2 * scope.size + n_factors + 1, np.int64)
    filled = np.int64(0)
    for f in range(n_factors):
        a, b = scope_start[f], scope_start[f + 1]
        for i in range(a + 1, b):  # descending positions
            v = ordered[i]
            j = i
            while j > a and position[ordered[j - 1]] < position[v]:
                ordered[j] = ordered[j - 1]
                j -= 1
            ordered[j] = v
        home[f] = node[position[ordered[b - 1]]] if b > a else -1
        if b > a:
            k = home[f]
            needed = filled + dim_start[k + 1] - dim_start[k] + 1
            if needed > lengths.size:
                lengths = _grown(lengths, filled, needed)
                strides = _grown(strides, filled, needed)
            filled = _groups(
                n_states,
                dims,
                dim_start[k],
                dim_start[k + 1],
                ordered,
                a,
                b,
                lengths,
                strides,
                filled,
            )
        group_start[f + 1] = filled
    return home, ordered, group_start, lengths[:filled], strides[:filled]
