"""The graph that elimination starts from, and who is joined to whom while it fills in.

Each variable has a row of counts and a row of measures, one cache line each, so that a
variable costs two visits to memory however many of its entries are needed.
"""

import numpy as np

from credo._kernels._jit import kernel

#: Counts: list of neighbours in the pool (start, entries, room), living neighbours, pairs of
#: them that are not joined, place in the heap, and the last elimination that made it stale.
START, LENGTH, ROOM, DEGREE, MISSING, PLACE, STAMP, GROUP = range(8)
#: Measures: missing pairs by product of states, states of the neighbours in all, log2 cells of
#: the clique, key, what breaks ties, states and their log2.
FILL, AROUND, WEIGHT, KEY, TIE, STATES, LOG = range(7)
#: Places of variables that are eliminated, and of those whose group has not come yet.
DEAD, WAITING = -1, -2
#: Cliques of more than 2 ** 256 cells: the rest is then counted as one clique.
HOPELESS = 256.0
#: Up to here a square of bits (0.5 MB) answers faster than open addressing.
SQUARE = 2048


@kernel
def _incidence(n, scope_start, scope):
    """List the factors of each variable: where they start, and the list."""
    first = np.zeros(n + 1, np.int64)
    for s in range(scope.shape[0]):
        first[scope[s] + 1] += 1
    for v in range(n):
        first[v + 1] += first[v]
    at = first[:n].copy()
    member = np.empty(scope.shape[0], np.int64)
    for f in range(scope_start.shape[0] - 1):
        for s in range(scope_start[f], scope_start[f + 1]):
            member[at[scope[s]]] = f
            at[scope[s]] += 1
    return first, member


@kernel
def neighbours(n, scope_start, scope):
    """List the neighbours of each variable, each once: where they start, and the list."""
    first, member = _incidence(n, scope_start, scope)
    most = 0
    for f in range(scope_start.shape[0] - 1):
        size = scope_start[f + 1] - scope_start[f]
        most += size * (size - 1)
    start = np.zeros(n + 1, np.int64)
    out = np.empty(most, np.int32)
    seen = np.full(n, -1, np.int64)
    used = 0
    for v in range(n):
        for i in range(first[v], first[v + 1]):
            for s in range(scope_start[member[i]], scope_start[member[i] + 1]):
                u = scope[s]
                if u != v and seen[u] != v:
                    seen[u] = v
                    out[used] = u
                    used += 1
        start[v + 1] = used
    return start, out[:used]


@kernel
def _take_triangles(start, out, count, real):
    """Take the joined pairs of neighbours, found as triangles, off the missing pairs."""
    n = count.shape[0]
    above = np.empty(out.shape[0], np.int32)
    end = np.empty(n, np.int64)
    for v in range(n):
        end[v] = start[v]
        for i in range(start[v], start[v + 1]):
            u = out[i]
            more = count[u, DEGREE] - count[v, DEGREE]
            if more > 0 or (more == 0 and u > v):
                above[end[v]] = u
                end[v] += 1
    seen = np.full(n, -1, np.int64)
    for v in range(n):
        for i in range(start[v], end[v]):
            seen[above[i]] = v
        for i in range(start[v], end[v]):
            u = above[i]
            for j in range(start[u], end[u]):
                w = above[j]
                if seen[w] == v:
                    count[v, MISSING] -= 1
                    count[u, MISSING] -= 1
                    count[w, MISSING] -= 1
                    real[v, FILL] -= real[u, STATES] * real[w, STATES]
                    real[u, FILL] -= real[v, STATES] * real[w, STATES]
                    real[w, FILL] -= real[v, STATES] * real[u, STATES]


@kernel
def measure(n_states, start, out, group):
    """Fill in the counts and measures of the whole graph."""
    n = n_states.shape[0]
    count = np.empty((n, 8), np.int64)
    real = np.empty((n, 8))
    for v in range(n):
        real[v, STATES] = n_states[v]
        real[v, LOG] = np.log2(real[v, STATES])
    lightest = np.inf
    for v in range(n):
        total = 0.0
        squares = 0.0
        weight = real[v, LOG]
        for i in range(start[v], start[v + 1]):
            states = real[out[i], STATES]
            total += states
            squares += states * states
            weight += real[out[i], LOG]
        degree = start[v + 1] - start[v]
        count[v, START] = start[v]
        count[v, LENGTH] = degree
        count[v, ROOM] = degree
        count[v, DEGREE] = degree
        count[v, MISSING] = degree * (degree - 1) // 2
        count[v, PLACE] = WAITING
        count[v, STAMP] = -1
        count[v, GROUP] = group[v]
        real[v, FILL] = 0.5 * (total * total - squares)
        real[v, AROUND] = total
        real[v, WEIGHT] = weight
        lightest = min(lightest, weight)
    if lightest <= HOPELESS:
        _take_triangles(start, out, count, real)
    return count, real


@kernel
def _slot(table, n, a, b):
    """Find where the edge a, b is in the open table, or the gap where it would go."""
    code = min(a, b) * n + max(a, b) + 1
    mixed = int(code) * 0x2545F4914F6CDD1D
    at = (mixed ^ (mixed >> 32)) & (table.shape[0] - 1)
    while table[at] != code and table[at] != 0:
        at = (at + 1) & (table.shape[0] - 1)
    return at, code


@kernel
def joined(table, n, a, b):
    """Tell whether a and b are joined."""
    if n <= SQUARE:
        bit = a * n + b
        return (table[bit >> 5] >> (bit & 31)) & 1 == 1
    at, _ = _slot(table, n, a, b)
    return table[at] != 0


@kernel
def note(table, n, a, b):
    """Write down that a and b are joined."""
    if n <= SQUARE:
        bit = a * n + b
        table[bit >> 5] |= 1 << (bit & 31)
        bit = b * n + a
        table[bit >> 5] |= 1 << (bit & 31)
    else:
        at, code = _slot(table, n, a, b)
        table[at] = code


@kernel
def larger_table(n, edges, old):
    """Make an open table, at most half full with these edges; move what was in the old one."""
    if n <= SQUARE or 2 * edges <= old.shape[0]:
        return old
    size = 16
    while size < 4 * edges:
        size *= 2
    table = np.zeros(size, np.int64)
    for i in range(old.shape[0]):
        if old[i]:
            at, code = _slot(table, n, (old[i] - 1) // n, (old[i] - 1) % n)
            table[at] = code
    return table


@kernel
def first_table(n, start, out):
    """Make the table of the edges that are there from the start."""
    table = np.zeros((n * n >> 5) + 1 if n <= SQUARE else 0, np.int64)
    table = larger_table(n, out.shape[0] // 2, table)
    for v in range(n):
        for i in range(start[v], start[v + 1]):
            if v < out[i]:
                note(table, n, v, out[i])
    return table
