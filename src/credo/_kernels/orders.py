"""Greedy elimination orders: which variable comes next, and the cliques that this makes.

Eliminating v joins its neighbours to one another and takes v away. With N(x) the neighbours
of x and m(x) the pairs of them that are not joined (each weighted by the product of the two
numbers of states, or by one), joining a and b changes only

    m(a) by +|N(a) minus N(b)|,   m(b) by +|N(b) minus N(a)|,   m(x) by -1 for x in both,

and taking v away, whose neighbours are joined by then, changes m(a) by -|N(a) minus N[v]|
for a in N(v). So the prices stay exact and are never counted afresh, however wide the cliques.

Each edge is a pair of links, one in the list of either end, so that a variable leaves the lists
of its neighbours at once. Whether two variables are joined is told by a table of edges with open
addressing; the edges of who is gone stay there until it is written anew, and nobody asks for them.
"""

from __future__ import annotations

import math

import numpy as np

from credo._kernels.tiers import kernel

#: What the next variable has least of: pairs of neighbours to be joined, the same weighted by their
#: states, neighbours, or cells of its clique.
BY_FILL, BY_WEIGHTED_FILL, BY_DEGREE, BY_WEIGHT = range(4)
#: Counts of a variable: its first link, neighbours, pairs of them that are not joined, place in
#: the heap, and the last elimination that changed its price.
HEAD, DEGREE, MISSING, PLACE, STAMP = range(5)
#: Measures: missing pairs by product of states, states of the neighbours in all, log2 cells of
#: the clique, group, key and what breaks ties, states and their log2.
FILL, AROUND, WEIGHT, GROUP, KEY, TIE, STATES, LOG = range(8)
#: A link: the other end, and its neighbours in the list. The twin of link e is e ^ 1.
TO, NEXT, BEFORE = range(3)


@kernel
def _seek(table, n, a, b):
    """Find where the edge a, b is in the table, or the gap where it would go."""
    code = a * n + b + 1 if a < b else b * n + a + 1
    mixed = int(code) * 0x2545F4914F6CDD1D
    at = (mixed ^ (mixed >> 32)) & (table.size - 1)
    while table[at] != code and table[at] != 0:
        at = (at + 1) & (table.size - 1)
    return at


@kernel
def _link(count, real, links, table, at, used, a, b):
    """Join a and b, whose place in the table this is; return the links used."""
    n = count.shape[0]
    table[at] = a * n + b + 1 if a < b else b * n + a + 1
    for _ in range(2):
        head = count[a, HEAD]
        links[used, TO] = b
        links[used, NEXT] = head
        links[used, BEFORE] = -1
        if head >= 0:
            links[head, BEFORE] = used
        count[a, HEAD] = used
        count[a, DEGREE] += 1
        real[a, AROUND] += real[b, STATES]
        real[a, WEIGHT] += real[b, LOG]
        used += 1
        a, b = b, a
    return used


@kernel
def _share(count, real, links, table, a, b, v, stale, n_stale):
    """Take the pair a, b off the prices of those joined to both; list whose these are.

    Returns how many they are, their states in all, and the length of the list.
    """
    n = count.shape[0]
    few, many = (a, b) if count[a, DEGREE] < count[b, DEGREE] else (b, a)
    product = real[a, STATES] * real[b, STATES]
    shared = 0
    across = 0.0
    e = count[few, HEAD]
    while e >= 0:
        x = links[e, TO]
        e = links[e, NEXT]
        if table[_seek(table, n, x, many)] != 0:
            shared += 1
            across += real[x, STATES]
            count[x, MISSING] -= 1
            real[x, FILL] -= product
            if count[x, STAMP] != v:
                count[x, STAMP] = v
                stale[n_stale] = x
                n_stale += 1
    return shared, across, n_stale


@kernel
def _precedes(real, a, b):
    """Tell whether a is eliminated before b: by group, key, what breaks ties, and number."""
    mine = (real[a, GROUP], real[a, KEY], real[a, TIE], a)
    return mine < (real[b, GROUP], real[b, KEY], real[b, TIE], b)


@kernel
def _sift(count, real, heap, size, at, v):
    """Put v, for which this place of the heap is free, where it belongs."""
    while at > 0 and _precedes(real, v, heap[(at - 1) >> 1]):
        heap[at] = heap[(at - 1) >> 1]
        count[heap[at], PLACE] = at
        at = (at - 1) >> 1
    while 2 * at + 1 < size:
        to = 2 * at + 1
        if to + 1 < size and _precedes(real, heap[to + 1], heap[to]):
            to += 1
        if not _precedes(real, heap[to], v):
            break
        heap[at] = heap[to]
        count[heap[at], PLACE] = at
        at = to
    heap[at] = v
    count[v, PLACE] = at


@kernel
def _price(count, real, v, kind):
    """Set the key of v and what breaks ties. Nothing is better than joining nothing."""
    real[v, TIE] = real[v, FILL] if kind == BY_WEIGHT else real[v, WEIGHT]
    if count[v, MISSING] == 0:
        real[v, KEY] = -1.0
    elif kind == BY_FILL:
        real[v, KEY] = count[v, MISSING]
    elif kind == BY_WEIGHTED_FILL:
        real[v, KEY] = real[v, FILL]
    elif kind == BY_DEGREE:
        real[v, KEY] = count[v, DEGREE]
    else:
        real[v, KEY] = real[v, WEIGHT]


@kernel
def _heavy_core(count, real, links, limit):
    """Return a clique that every order has at least, if that is larger than 2 ** limit.

    Whichever variable of a part of the graph is eliminated first, its neighbours in that part are
    all there. So variables that are light among those left are taken off until none is.
    """
    n = count.shape[0]
    weight = np.empty(n)
    light = np.empty(n, np.int64)
    found = 0
    for v in range(n):
        weight[v] = real[v, WEIGHT]
        if weight[v] <= limit:
            light[found] = v
            found += 1
    done = 0
    while done < found < n:
        v = light[done]
        done += 1
        e = count[v, HEAD]
        while e >= 0:
            u = links[e, TO]
            e = links[e, NEXT]
            was_heavy = weight[u] > limit
            weight[u] -= real[v, LOG]
            if was_heavy and weight[u] <= limit:
                light[found] = u
                found += 1
    if found == n:
        return light[:0]
    first = -1
    for v in range(n):
        if weight[v] > limit and (first < 0 or weight[v] < weight[first]):
            first = v
    clique = light
    clique[0] = first
    size = 1
    e = count[first, HEAD]
    while e >= 0:
        if weight[links[e, TO]] > limit:
            clique[size] = links[e, TO]
            size += 1
        e = links[e, NEXT]
    return clique[:size]


@kernel
def _count_pairs(count, real, links, table, stale):
    """Count the pairs of neighbours of each variable that are not joined."""
    n = count.shape[0]
    for v in range(n):
        squares = 0.0
        e = count[v, HEAD]
        while e >= 0:
            squares += real[links[e, TO], STATES] * real[links[e, TO], STATES]
            e = links[e, NEXT]
        count[v, MISSING] += count[v, DEGREE] * (count[v, DEGREE] - 1) // 2
        real[v, FILL] += (real[v, AROUND] * real[v, AROUND] - squares) / 2.0
        nobody = count[v, STAMP]  # is listed
        e = count[v, HEAD]
        while e >= 0:
            if links[e, TO] < v:
                _share(count, real, links, table, v, links[e, TO], nobody, stale, nobody)
            e = links[e, NEXT]


@kernel
def _grown(links, used, needed):
    """Copy the links that are used into a list with twice the room needed."""
    grown = np.empty((2 * needed, 3), np.int64)
    for i in range(used):
        for j in range(3):
            grown[i, j] = links[i, j]
    return grown


@kernel
def _table_of(count, links, room):
    """Write the edges between those who are left into a table, a quarter full with ``room``."""
    size = 16
    while size < 4 * room:
        size *= 2
    table = np.zeros(size, np.int64)
    n = count.shape[0]
    entries = 0
    for a in range(n):
        e = count[a, HEAD]
        while e >= 0:
            if a < links[e, TO]:
                table[_seek(table, n, a, links[e, TO])] = a * n + links[e, TO] + 1
                entries += 1
            e = links[e, NEXT]
    return table, entries


@kernel
def _take_away(count, real, links, v):
    """Take v, whose neighbours are joined to one another, off their lists and prices."""
    states = real[v, STATES]
    e = count[v, HEAD]
    while e >= 0:
        u = links[e, TO]
        before = links[e ^ 1, BEFORE]
        after = links[e ^ 1, NEXT]
        if before >= 0:
            links[before, NEXT] = after
        else:
            count[u, HEAD] = after
        if after >= 0:
            links[after, BEFORE] = before
        count[u, MISSING] -= count[u, DEGREE] - count[v, DEGREE]
        real[u, FILL] -= states * (real[u, AROUND] - states - real[v, AROUND] + real[u, STATES])
        count[u, DEGREE] -= 1
        real[u, AROUND] -= states
        real[u, WEIGHT] -= real[v, LOG]
        e = links[e, NEXT]
    count[v, HEAD] = -1


@kernel(visits=20)
def eliminate(n_states, scope_start, scope, group, kind, limit, bound, most, sequence):
    """Eliminate greedily, the variables of group 1 after all others; write the sequence.

    Stops before a clique of more than 2 ** ``limit`` cells, or without a step if no order does
    without one; once the maximal cliques have more than ``bound`` cells; and after ``most`` units
    of work. Returns the steps, the pairs joined, the work, and the clique where it stopped.
    """
    n = n_states.size
    pairs = 0
    for f in range(scope_start.size - 1):
        pairs += (scope_start[f + 1] - scope_start[f]) * (scope_start[f + 1] - scope_start[f] - 1)
    links = np.empty((pairs, 3), np.int64)
    count = np.zeros((n, 5), np.int64)
    real = np.zeros((n, 8))
    for v in range(n):
        count[v, HEAD] = -1
        count[v, STAMP] = -1
        real[v, GROUP] = group[v]
        real[v, STATES] = n_states[v]
        real[v, LOG] = math.log2(n_states[v])
        real[v, WEIGHT] = real[v, LOG]
    table, used = _table_of(count, links, pairs // 2)
    for f in range(scope_start.size - 1):
        for i in range(scope_start[f], scope_start[f + 1]):
            for j in range(scope_start[f], i):
                at = _seek(table, n, scope[i], scope[j])
                if scope[i] != scope[j] and table[at] == 0:
                    used = _link(count, real, links, table, at, used, scope[i], scope[j])
    entries = used // 2
    work = 4 * n + used
    joins, step, size = 0, 0, n
    spent = 0.0
    heap, stale = np.empty(n, np.int64), np.empty(n, np.int64)
    stopped_at = _heavy_core(count, real, links, limit)
    if stopped_at.size == 0:
        _count_pairs(count, real, links, table, stale)
    for v in range(n):
        _price(count, real, v, kind)
        _sift(count, real, heap, v + 1, v, v)
    while step < n and stopped_at.size == 0:
        v = heap[0]
        missing = count[v, MISSING]
        stale[0] = v  # before those whose prices change
        count[v, STAMP] = v
        n_stale = 1
        e = count[v, HEAD]
        while e >= 0:
            stale[n_stale] = links[e, TO]
            count[links[e, TO], STAMP] = v
            n_stale += 1
            e = links[e, NEXT]
        n_clique = n_stale
        spent += 2.0 ** min(real[v, WEIGHT], limit) if missing > 0 else 0.0
        if real[v, WEIGHT] > limit or work > most or spent > bound:
            stopped_at = stale[:n_clique]
            break
        sequence[step] = v
        size -= 1
        if size > 0:
            _sift(count, real, heap, size, np.int64(0), heap[size])
        joins += missing
        if used + 2 * missing > links.shape[0]:
            links = _grown(links, used, used + 2 * missing)
        if 2 * (entries + missing) > table.size:
            table, entries = _table_of(count, links, entries + missing)
        for i in range(1, n_clique):
            if missing == 0:
                break
            a = stale[i]
            work += n_clique - i
            for j in range(i + 1, n_clique):
                b = stale[j]
                at = _seek(table, n, a, b)
                if table[at] != 0:
                    continue
                work += 8 + min(count[a, DEGREE], count[b, DEGREE])
                shared, across, n_stale = _share(count, real, links, table, a, b, v, stale, n_stale)
                count[a, MISSING] += count[a, DEGREE] - shared
                count[b, MISSING] += count[b, DEGREE] - shared
                real[a, FILL] += real[b, STATES] * (real[a, AROUND] - across)
                real[b, FILL] += real[a, STATES] * (real[b, AROUND] - across)
                used = _link(count, real, links, table, at, used, a, b)
                entries += 1
                missing -= 1
        _take_away(count, real, links, v)
        work += 4 * n_stale
        for i in range(1, n_stale):
            _price(count, real, stale[i], kind)
            _sift(count, real, heap, size, count[stale[i], PLACE], stale[i])
        step += 1
    end = step
    for which in range(2):
        for i in range(size):
            if group[heap[i]] == which:
                sequence[end] = heap[i]
                end += 1
    return step, joins, work, stopped_at
