"""What a question needs of a model: barren variables dropped, observed states sliced out."""

from __future__ import annotations

import numpy as np

from credo._kernels.cliques import advance
from credo._kernels.tiers import kernel


@kernel
def needed_factors(n, scope_start, scope, owner, needed):
    """Drop, again and again, each child that nobody needs and no other factor mentions.

    Its conditional probabilities sum to one whatever its parents are.
    """
    n_factors = owner.size
    keep = np.ones(n_factors, np.bool_)
    mentions = np.zeros(n, np.int64)
    cpt = np.full(n, -1)
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
    root = np.arange(n)
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


@kernel(visits=4)
def copied_tables(table, table_start, values):
    """Copy the table of each factor, whole; return where each starts, and the cells."""
    start = np.zeros(table.size + 1, np.int64)
    for f in range(table.size):
        start[f + 1] = start[f] + table_start[table[f] + 1] - table_start[table[f]]
    cells = np.empty(start[-1])
    for f in range(table.size):
        shift = table_start[table[f]] - start[f]
        for c in range(start[f], start[f + 1]):
            cells[c] = values[c + shift]
    return start, cells


@kernel
def sliced_factors(
    n_states, scope_start, scope, ordered, table, table_start, values, keep, observed, new
):  # fmt: skip
    """Copy the kept factors with observed axes fixed and the others ordered and renumbered.

    The new tables have the axes of ``ordered``, whose variables are named by ``new``.
    """
    count, width, cells, widest = 0, 0, 0, 1
    for f in range(keep.size):
        widest = max(widest, scope_start[f + 1] - scope_start[f])
        if keep[f]:
            size = 1
            for a in range(scope_start[f], scope_start[f + 1]):
                if observed[scope[a]] < 0:
                    size *= n_states[scope[a]]
                    width += 1
            cells += size
            count += 1
    out_start, out_scope = np.zeros(count + 1, np.int64), np.empty(width, np.int64)
    cell_start, out = np.zeros(count + 1, np.int64), np.empty(cells)
    lengths, steps = np.empty(widest, np.int64), np.empty(widest, np.int64)
    counters = np.zeros(widest, np.int64)
    g, w, o = 0, 0, 0
    for f in range(keep.size):
        if not keep[f]:
            continue
        a, b = scope_start[f], scope_start[f + 1]
        i, first, size = table_start[table[f]], widest - 1, 1
        lengths[first], steps[first] = 1, 1
        for at in range(b - 1, a - 1, -1):
            v, step, j = ordered[at], 1, b - 1
            while scope[j] != v:
                step *= n_states[scope[j]]
                j -= 1
            if observed[v] >= 0:
                i += step * observed[v]
            else:
                if step != steps[first] * lengths[first]:  # else both axes are one loop
                    first = first - 1 if lengths[first] > 1 else first
                    lengths[first], steps[first] = 1, step
                lengths[first] *= n_states[v]
                size *= n_states[v]
        for at in range(a, b):
            if observed[ordered[at]] < 0:
                out_scope[w] = new[ordered[at]]
                w += 1
        n1, step = lengths[widest - 1], steps[widest - 1]
        for begin in range(o, o + size, n1):
            for k in range(n1):
                out[begin + k] = values[i + k * step]
            i = advance(i, lengths, steps, first, widest - 2, counters)
        o += size
        g += 1
        out_start[g] = w
        cell_start[g] = o
    return out_start, out_scope, cell_start, out
