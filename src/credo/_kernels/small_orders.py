"""A greedy elimination order of a small graph, by a matrix of neighbours, in one call.

For graphs that are answered in less time than a larger search would take to begin.
"""

from __future__ import annotations

import math

import numpy as np

from credo._kernels.tiers import kernel


@kernel(visits=100)
def weighted_min_fill(n_states, scope_start, scope, group, sequence, costs):
    """Fill ``sequence`` by least weighted fill, group 0 first; give the largest clique.

    The fill of a variable is the sum, over pairs of its neighbours that are not joined yet, of the
    product of their numbers of states. ``costs``: log2 of the largest clique's cells, cells of the
    maximal cliques, cells of all, width.
    """
    n = n_states.size
    joined = np.zeros(n * n, np.uint8)
    for f in range(scope_start.size - 1):
        for a in range(scope_start[f], scope_start[f + 1]):
            for b in range(scope_start[f], a):
                joined[scope[a] * n + scope[b]] = 1
                joined[scope[b] * n + scope[a]] = 1
    done = np.zeros(n, np.uint8)
    stale = np.ones(n, np.uint8)
    fill = np.zeros(n)
    near = np.empty(n, np.int64)
    pool = np.empty(n * (n + 1), np.int64)
    start = np.zeros(n + 1, np.int64)
    for step in range(n):
        best = np.int64(-1)
        for v in range(n):
            if done[v]:
                continue
            if stale[v]:
                fill[v] = _fill(joined, n_states, n, _neighbours(joined, n, v, near), near)
                stale[v] = 0
            if best < 0 or (group[v], fill[v]) < (group[best], fill[best]):
                best = v
        degree = _neighbours(joined, n, best, near)
        sequence[step] = best
        done[best] = 1
        start[step + 1] = start[step] + degree + 1
        pool[start[step]] = best
        for a in range(degree):
            pool[start[step] + 1 + a] = near[a]
        _join(joined, n, best, degree, near, stale, fill[best] > 0.0)
    return _count(n_states, sequence, start, pool, costs)


@kernel
def _neighbours(joined, n, v, near):
    """List the neighbours of v that are left; give their number."""
    degree = np.int64(0)
    for u in range(n):
        if joined[v * n + u]:
            near[degree] = u
            degree += 1
    return degree


@kernel
def _fill(joined, n_states, n, degree, near):
    """Weigh the pairs of neighbours that are not joined yet."""
    total = 0.0
    for a in range(degree):
        for b in range(a):
            if not joined[near[a] * n + near[b]]:
                total += n_states[near[a]] * n_states[near[b]]
    return total


@kernel
def _join(joined, n, v, degree, near, stale, joins):
    """Join the neighbours of v, take v away, and mark whose fill may have changed."""
    for a in range(degree):
        u = near[a]
        joined[u * n + v] = 0
        stale[u] = 1
        if joins:
            for w in range(n):
                if joined[u * n + w]:
                    stale[w] = 1
            for b in range(a):
                joined[u * n + near[b]] = 1
                joined[near[b] * n + u] = 1


@kernel
def _count(n_states, sequence, start, pool, costs):
    """Count the cells of the cliques of an order; give the step of the largest, and its members."""
    n = sequence.size
    place = np.empty(n, np.int64)
    for i in range(n):
        place[sequence[i]] = i
    inside = np.zeros(n, np.uint8)  # an earlier clique
    top = 0
    most = 0.0
    for i in range(n):
        size = start[i + 1] - start[i]
        cells = 1.0
        above = n
        for a in range(start[i], start[i + 1]):
            cells *= n_states[pool[a]]
            if a > start[i]:
                above = min(above, place[pool[a]])
        if above < n and start[above + 1] - start[above] == size - 1:
            inside[above] = 1
        costs[1] += 0.0 if inside[i] else cells
        costs[2] += cells
        costs[3] = max(costs[3], size - 1.0)
        if cells > most:
            most = cells
            top = i
    costs[0] = math.log2(most) if n > 0 else 0.0
    clique = np.empty(start[top + 1] - start[top] if n > 0 else 0, np.int64)
    for a in range(clique.size):
        clique[a] = pool[start[top] + a]
    return clique
