"""What a question needs of a model: barren variables dropped, observed states sliced out."""

from __future__ import annotations

import numpy as np

from credo._kernels.tiers import kernel


@kernel
def needed_factors(n, scope_start, scope, owner, needed):
    """Drop, again and again, each child that nobody needs and no other factor mentions.

    Its conditional probabilities sum to one whatever its parents are.
    """
    n_factors = owner.size
    keep = np.ones(n_factors, np.bool_)
    mentions = np.zeros(n, np.int64)
    cpt = np.empty(n, np.int64)
    for v in range(n):
        cpt[v] = -1
    for f in range(n_factors):
        for a in range(scope_start[f], scope_start[f + 1]):
            mentions[scope[a]] += 1
        if owner[f] >= 0:
            cpt[owner[f]] = f
    stack = np.empty(n, np.int64)
    height = 0
    for v in range(n):
        if cpt[v] >= 0 and mentions[v] == 1 and not needed[v]:
            stack[height] = v
            height += 1
    while height > 0:
        height -= 1
        f = cpt[stack[height]]
        keep[f] = False
        for a in range(scope_start[f], scope_start[f + 1]):
            u = scope[a]
            mentions[u] -= 1
            if mentions[u] == 1 and cpt[u] >= 0 and keep[cpt[u]] and not needed[u]:
                stack[height] = u
                height += 1
    return keep


@kernel
def idle_parts(n, scope_start, scope, cell_start, values, wanted, is_free_child):
    """Mark the factors of parts that hold no wanted variable and no zero that matters.

    Such a part changes neither the wanted beliefs nor whether the evidence is possible. The zeros
    of a child that is not observed do not matter: whatever its parents are, it has a state.
    """
    root = np.empty(n, np.int64)
    for v in range(n):
        root[v] = v
    n_factors = scope_start.size - 1
    for f in range(n_factors):
        first = -1
        for a in range(scope_start[f], scope_start[f + 1]):
            v = scope[a]
            while root[v] != v:
                root[v] = root[root[v]]
                v = root[v]
            if first >= 0:
                root[max(v, first)] = min(v, first)
            first = min(v, first) if first >= 0 else v
    for v in range(n):
        root[v] = root[root[v]]  # a root is smaller than what points to it, so it is final
    busy = np.zeros(n, np.bool_)
    for v in range(n):
        if wanted[v]:
            busy[root[v]] = True
    for f in range(n_factors):
        if scope_start[f + 1] > scope_start[f] and not is_free_child[f]:
            v = root[scope[scope_start[f]]]
            for i in range(cell_start[f], cell_start[f + 1]):
                if busy[v]:
                    break
                busy[v] = values[i] == 0.0
    idle = np.zeros(n_factors, np.bool_)
    for f in range(n_factors):
        if scope_start[f + 1] > scope_start[f]:
            idle[f] = not busy[root[scope[scope_start[f]]]]
    return idle


@kernel
def sliced_factors(n_states, scope_start, scope, table, table_start, values, keep, observed, new):
    """Copy the kept factors with observed axes fixed and variables renumbered by ``new``."""
    n_factors = keep.size
    count = 0
    width = 0
    cells = 0
    widest = 1
    for f in range(n_factors):
        widest = max(widest, scope_start[f + 1] - scope_start[f])
        if keep[f]:
            size = 1
            for a in range(scope_start[f], scope_start[f + 1]):
                if observed[scope[a]] < 0:
                    size *= n_states[scope[a]]
                    width += 1
            cells += size
            count += 1
    out_start = np.zeros(count + 1, np.int64)
    out_scope = np.empty(width, np.int64)
    cell_start = np.zeros(count + 1, np.int64)
    out = np.empty(cells)
    steps = np.empty(widest, np.int64)
    lengths = np.empty(widest, np.int64)
    counters = np.zeros(widest, np.int64)
    g = np.int64(0)
    w = np.int64(0)
    o = np.int64(0)
    for f in range(n_factors):
        if not keep[f]:
            continue
        a, b = scope_start[f], scope_start[f + 1]
        first = table_start[table[f]]
        begin = w
        step = 1
        size = np.int64(1)
        for i in range(b - 1, a - 1, -1):
            v = scope[i]
            if observed[v] >= 0:
                first += step * observed[v]
            else:
                size *= n_states[v]
                out_scope[w] = i
                w += 1
            step *= n_states[v]
        d = w - begin
        _reverse(out_scope, begin, w)
        _strides(n_states, scope, b, out_scope, begin, d, steps, lengths)
        _copy_strided(values, first, out, o, size, d, steps, lengths, counters)
        for i in range(begin, w):
            out_scope[i] = new[scope[out_scope[i]]]
        o += size
        g += 1
        out_start[g] = w
        cell_start[g] = o
    return out_start, out_scope, cell_start, out


@kernel
def _reverse(array, begin, end):
    """Reverse array[begin:end]."""
    for i in range((end - begin) // 2):
        swap = array[begin + i]
        array[begin + i] = array[end - 1 - i]
        array[end - 1 - i] = swap


@kernel
def _strides(n_states, scope, b, axes, begin, d, steps, lengths):
    """Give the steps of the chosen axes inside a factor whose scope ends at b."""
    step = 1
    i = b - 1
    for k in range(d - 1, -1, -1):
        while i > axes[begin + k]:
            step *= n_states[scope[i]]
            i -= 1
        steps[k] = step
        lengths[k] = n_states[scope[i]]


@kernel
def _copy_strided(values, i, out, o, size, d, steps, lengths, counters):
    """Copy ``size`` cells that lie ``steps`` apart into a dense run."""
    for k in range(d):
        counters[k] = 0
    for cell in range(o, o + size):
        out[cell] = values[i]
        k = d - 1
        while k >= 0:
            counters[k] += 1
            i += steps[k]
            if counters[k] < lengths[k]:
                break
            i -= steps[k] * lengths[k]
            counters[k] = 0
            k -= 1
