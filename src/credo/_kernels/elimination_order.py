"""Greedy elimination orders: every try is one pass over a graph that fills itself in.

Eliminating v joins its neighbours to one another and takes v away. With N(x) the neighbours
of x and m(x) the pairs of them that are not joined (each weighted by the product of the two
numbers of states, or by one), joining a and b changes only

    m(a) by +|N(a) minus N(b)|,   m(b) by +|N(b) minus N(a)|,   m(x) by -1 for x in both,

and taking v away, whose neighbours are joined by then, changes m(a) by -|N(a) minus N[v]|
for a in N(v). So the keys stay exact and are never counted afresh.

Lists of neighbours live in one pool and move to its end when they outgrow their place; the
dead stay in them until then.
"""

import numpy as np

from credo._kernels._jit import kernel
from credo._kernels.elimination_graph import (
    AROUND,
    DEAD,
    DEGREE,
    FILL,
    GROUP,
    HOPELESS,
    KEY,
    LENGTH,
    LOG,
    MISSING,
    PLACE,
    ROOM,
    STAMP,
    START,
    STATES,
    TIE,
    WAITING,
    WEIGHT,
    first_table,
    joined,
    larger_table,
    note,
)

#: What the next variable has least of. GIVEN: its place in an order that is given.
GIVEN, BY_FILL, BY_WEIGHTED_FILL, BY_DEGREE, BY_WEIGHT = range(5)


@kernel
def _before(real, a, b):
    """Tell whether a is eliminated before b: by key, by tie, by number."""
    if real[a, KEY] != real[b, KEY]:
        return real[a, KEY] < real[b, KEY]
    if real[a, TIE] != real[b, TIE]:
        return real[a, TIE] < real[b, TIE]
    return a < b


@kernel
def _sink(count, real, heap, at, size):
    """Move the variable at ``at`` down the heap to where it belongs."""
    v = heap[at]
    while 2 * at + 1 < size:
        child = 2 * at + 1
        if child + 1 < size and _before(real, heap[child + 1], heap[child]):
            child += 1
        if not _before(real, heap[child], v):
            break
        heap[at] = heap[child]
        count[heap[at], PLACE] = at
        at = child
    heap[at] = v
    count[v, PLACE] = at


@kernel
def _sift(count, real, heap, at, size):
    """Move the variable at ``at`` up the heap, or else down, to where it belongs."""
    v = heap[at]
    while at > 0 and _before(real, v, heap[(at - 1) >> 1]):
        heap[at] = heap[(at - 1) >> 1]
        count[heap[at], PLACE] = at
        at = (at - 1) >> 1
    heap[at] = v
    _sink(count, real, heap, at, size)


@kernel
def _gather(count, real, heap, which):
    """Make a heap of the variables of one group; give its size."""
    size = 0
    for v in range(count.shape[0]):
        if count[v, GROUP] == which:
            heap[size] = v
            count[v, PLACE] = size
            size += 1
    for at in range(size // 2 - 1, -1, -1):
        _sink(count, real, heap, at, size)
    return size


@kernel
def _pop(count, real, heap, size):
    """Take the first variable off a heap of this size."""
    v = heap[0]
    count[v, PLACE] = DEAD
    if size > 1:
        heap[0] = heap[size - 1]
        _sink(count, real, heap, 0, size - 1)
    return v


@kernel
def _rank(count, real, v, kind):
    """Set the key of v and what breaks ties. Nothing is better than joining nothing."""
    real[v, TIE] = real[v, WEIGHT]
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
        real[v, TIE] = real[v, FILL]


@kernel
def _append(count, pool, used, a, b):
    """Put b on the list of a, which is tidied or moved if it is full; give the pool's end."""
    if count[a, LENGTH] == count[a, ROOM]:
        start = count[a, START]
        kept = 0
        for i in range(start, start + count[a, LENGTH]):
            if count[pool[i], PLACE] != DEAD:
                pool[start + kept] = pool[i]
                kept += 1
        count[a, LENGTH] = kept
        if 4 * kept >= 3 * count[a, ROOM]:
            for i in range(kept):
                pool[used + i] = pool[start + i]
            count[a, START] = used
            count[a, ROOM] = 2 * kept + 4
            used += count[a, ROOM]
    pool[count[a, START] + count[a, LENGTH]] = b
    count[a, LENGTH] += 1
    return used


@kernel
def _join(count, real, table, pool, used, v, a, b, stale, n_stale):
    """Join a and b, neighbours of v; give the pool's end and how many keys are stale."""
    n = count.shape[0]
    few, many = (a, b) if count[a, LENGTH] <= count[b, LENGTH] else (b, a)
    shared = 1
    across = real[v, STATES]
    product = real[a, STATES] * real[b, STATES]
    for i in range(count[few, START], count[few, START] + count[few, LENGTH]):
        x = pool[i]
        if joined(table, n, x, many) and count[x, PLACE] != DEAD:
            shared += 1
            across += real[x, STATES]
            count[x, MISSING] -= 1
            real[x, FILL] -= product
            if count[x, STAMP] != v:
                count[x, STAMP] = v
                stale[n_stale] = x
                n_stale += 1
    for x, y in ((a, b), (b, a)):
        count[x, MISSING] += count[x, DEGREE] - shared
        real[x, FILL] += real[y, STATES] * (real[x, AROUND] - across)
        count[x, DEGREE] += 1
        real[x, AROUND] += real[y, STATES]
        real[x, WEIGHT] += real[y, LOG]
        used = _append(count, pool, used, x, y)
    note(table, n, a, b)
    return used, n_stale


@kernel
def _join_all(count, real, table, pool, used, v, stale, n_stale):
    """Join the neighbours of v; give the pool's end, how many keys are stale, and the work."""
    n = count.shape[0]
    left = count[v, MISSING]
    first = count[v, START]
    degree = count[v, LENGTH]
    work = 0
    for i in range(degree):
        a = pool[first + i]
        for j in range(i + 1, degree):
            b = pool[first + j]
            if not joined(table, n, a, b):
                work += 8 + min(count[a, LENGTH], count[b, LENGTH])
                used, n_stale = _join(count, real, table, pool, used, v, a, b, stale, n_stale)
                left -= 1
        work += degree - i
        if left == 0:
            break
    return used, n_stale, work


@kernel
def _bury(count, pool, v, stale):
    """Leave only the living on the list of v, all of them stale; give the room joins may take."""
    start = count[v, START]
    kept = 0
    need = 0
    for i in range(start, start + count[v, LENGTH]):
        a = pool[i]
        if count[a, PLACE] != DEAD:
            pool[start + kept] = a
            stale[kept] = a
            count[a, STAMP] = v
            kept += 1
            # A list that doubles until it holds these has taken three times the last room.
            need += 6 * (count[a, LENGTH] + count[v, DEGREE]) + 12
    count[v, LENGTH] = kept
    return need


@kernel
def _take_away(count, real, pool, v):
    """Take v, whose neighbours are joined to one another, off what they count."""
    states = real[v, STATES]
    for i in range(count[v, START], count[v, START] + count[v, LENGTH]):
        a = pool[i]
        count[a, MISSING] -= count[a, DEGREE] - count[v, DEGREE]
        real[a, FILL] -= states * (real[a, AROUND] - states - real[v, AROUND] + real[a, STATES])
        count[a, DEGREE] -= 1
        real[a, AROUND] -= states
        real[a, WEIGHT] -= real[v, LOG]


@kernel
def _finish(count, real, heap, size, group, sequence, step):
    """List what is left, whose cliques are all inside the last one."""
    while step < sequence.shape[0]:
        while size == 0:
            group += 1
            size = _gather(count, real, heap, group)
        sequence[step] = _pop(count, real, heap, size)
        size -= 1
        step += 1


@kernel
def eliminate(count, real, start, out, kind, bound, sequence):
    """Write one greedy order; give where its last clique starts, lists, pairs joined, work.

    Variables of group 0 go before those of group 1. With GIVEN the order is the one that
    ``sequence`` holds. Gives -1 for a start once the cliques have more cells than ``bound``.
    Afterwards the list of each variable holds the rest of its clique.
    """
    n = count.shape[0]
    for i in range(n):
        if kind == GIVEN:
            real[sequence[i], KEY] = i
        else:
            _rank(count, real, i, kind)
    heap = np.empty(n, np.int64)
    stale = np.empty(n, np.int64)
    table = first_table(n, start, out)
    used = out.shape[0]
    edges = used // 2
    pool = np.empty(2 * used + 16, np.int32)
    pool[:used] = out
    work = 4 * n + used
    spent = 0.0
    size = 0
    group = -1
    for step in range(n):
        while size == 0:
            group += 1
            size = _gather(count, real, heap, group)
        v = _pop(count, real, heap, size)
        size -= 1
        sequence[step] = v
        if count[v, DEGREE] == n - step - 1 or real[v, WEIGHT] > HOPELESS:
            _finish(count, real, heap, size, group, sequence, step + 1)
            return step, pool, edges + count[v, MISSING] - out.shape[0] // 2, work
        need = _bury(count, pool, v, stale)
        n_stale = count[v, LENGTH]
        if count[v, MISSING]:
            spent += 2.0 ** real[v, WEIGHT]
            if spent > bound:
                return -1, pool, 0, work
            if used + need > pool.shape[0]:
                pool = np.concatenate((pool, np.empty(used + need, np.int32)))
            edges += count[v, MISSING]
            table = larger_table(n, edges, table)
            used, n_stale, more = _join_all(count, real, table, pool, used, v, stale, n_stale)
            work += more
        _take_away(count, real, pool, v)
        if kind != GIVEN:
            for i in range(n_stale):
                _rank(count, real, stale[i], kind)
                if count[stale[i], PLACE] != WAITING:
                    _sift(count, real, heap, count[stale[i], PLACE], size)
        work += 4 + 4 * n_stale
    return n, pool, edges - out.shape[0] // 2, work


@kernel
def weigh(count, real, pool, sequence, tail, costs):
    """Write log2 of the largest clique, cells of the maximal ones, of all, and the width."""
    n = sequence.shape[0]
    position = np.empty(n, np.int64)
    covered = np.zeros(n + 1, np.bool_)
    for i in range(n):
        position[sequence[i]] = i
    costs[:4] = 0.0
    for i in range(tail):
        v = sequence[i]
        cells = float(real[v, STATES])
        weight = real[v, LOG]
        parent = n
        size = count[v, LENGTH]
        for j in range(count[v, START], count[v, START] + size):
            cells *= float(real[pool[j], STATES])
            weight += real[pool[j], LOG]
            parent = min(parent, position[pool[j]])
        above = count[sequence[parent], LENGTH] + 1 if parent < tail else n - tail
        if parent <= tail and above == size:
            covered[parent] = True
        costs[0] = max(costs[0], weight)
        costs[1] += 0.0 if covered[i] else cells
        costs[2] += cells
        costs[3] = max(costs[3], size)
    cells = 1.0
    weight = 0.0
    for i in range(n - 1, tail - 1, -1):
        cells *= float(real[sequence[i], STATES])
        weight += real[sequence[i], LOG]
        costs[2] += cells
    if tail < n:
        costs[0] = max(costs[0], weight)
        costs[1] += 0.0 if covered[tail] else cells
        costs[3] = max(costs[3], n - tail - 1)
