r"""A minimum cut by the algorithm of Boykov and Kolmogorov (2004): two search trees that stay.

A tree grows from the source, another one from the sink. Where they touch there is a path, along
which as much is sent as its narrowest arc takes. Nodes that lose the arc to their parent are
orphans: they find another parent in their tree, or leave it.

Arcs lie node after node, those of node i from ``arc_start[i]`` on. Arc a goes to ``head[a]``, its
``residual`` is what it still takes, and ``sister[a]`` is the same arc the other way. ``terminal``
is what the source can still send to a node, or less than zero: what the node can still send to the
sink. A capacity may be infinite: it stays so, whatever is sent.
"""

import numpy as np

from credo._kernels.tiers import kernel

#: Sides of a cut; a node on neither can be moved to either, with all others of its kind.
SOURCE, SINK, NEITHER = 1, -1, 0
#: Parents that are no arcs: the terminal itself, one to be looked for, none.
TERMINAL, ORPHAN, FREE = -1, -2, -3
#: No node.
NOBODY = -1
#: Registers: first and last active node, first and last orphan, the time.
FIRST, LAST, FIRST_ORPHAN, LAST_ORPHAN, TIME = 0, 1, 2, 3, 4


@kernel
def arc_lists(n, tail, head, capacity, reverse):
    """Lay edges out as arcs of nodes: starts, heads, sisters, and capacities."""
    m = tail.shape[0]
    start = np.zeros(n + 1, np.int32)
    for e in range(m):
        start[tail[e] + 1] += 1
        start[head[e] + 1] += 1
    for i in range(n):
        start[i + 1] += start[i]
    free = start.copy()
    heads = np.empty(2 * m, np.int32)
    sister = np.empty(2 * m, np.int32)
    residual = np.empty(2 * m)
    for e in range(m):
        i, j = tail[e], head[e]
        there, back = free[i], free[j]
        if i == j:
            back += 1
        free[i] += 1
        free[j] += 1
        heads[there], heads[back] = j, i
        sister[there], sister[back] = back, there
        residual[there], residual[back] = capacity[e], reverse[e]
    return start, heads, sister, residual


@kernel
def _activate(i, follower, register):
    """Put a node at the end of the queue of active ones; the last follows itself."""
    if follower[i] == NOBODY:
        if register[LAST] == NOBODY:
            register[FIRST] = i
        else:
            follower[register[LAST]] = i
        register[LAST] = i
        follower[i] = i


@kernel
def _next_active(parent, follower, register):
    """Take the next active node that is in a tree off the queue."""
    while register[FIRST] != NOBODY:
        i = register[FIRST]
        if follower[i] == i:
            register[FIRST] = NOBODY
            register[LAST] = NOBODY
        else:
            register[FIRST] = follower[i]
        follower[i] = NOBODY
        if parent[i] != FREE:
            return i
    return np.int64(NOBODY)


@kernel
def _grow(i, arc_start, head, sister, residual, side, parent, stamp, distance, follower, register):
    """Take the neighbours of a node into its tree; give the arc that leads to the other tree."""
    mine = side[i]
    for a in range(arc_start[i], arc_start[i + 1]):
        toward = a if mine == SOURCE else sister[a]
        if residual[toward] > 0.0:
            j = head[a]
            if parent[j] == FREE:
                side[j] = mine
                parent[j] = sister[a]
                stamp[j] = stamp[i]
                distance[j] = distance[i] + 1
                _activate(j, follower, register)
            elif side[j] != mine:
                return np.int64(toward)
            elif stamp[j] <= stamp[i] and distance[j] > distance[i]:
                parent[j] = sister[a]
                stamp[j] = stamp[i]
                distance[j] = distance[i] + 1
    return np.int64(-1)


@kernel
def _make_orphan(i, parent, next_orphan, register, front):
    """Take a node from its parent, and put it in the list of orphans."""
    parent[i] = ORPHAN
    if register[FIRST_ORPHAN] == NOBODY:
        register[FIRST_ORPHAN] = i
        register[LAST_ORPHAN] = i
        next_orphan[i] = NOBODY
    elif front:
        next_orphan[i] = register[FIRST_ORPHAN]
        register[FIRST_ORPHAN] = i
    else:
        next_orphan[register[LAST_ORPHAN]] = i
        next_orphan[i] = NOBODY
        register[LAST_ORPHAN] = i


@kernel
def _narrowest(middle, head, sister, residual, terminal, parent):
    """Find how much the path through an arc between the trees can take."""
    most = residual[middle]
    i = head[sister[middle]]
    while parent[i] != TERMINAL:
        most = min(most, residual[sister[parent[i]]])
        i = head[parent[i]]
    most = min(most, terminal[i])
    i = head[middle]
    while parent[i] != TERMINAL:
        most = min(most, residual[parent[i]])
        i = head[parent[i]]
    return min(most, -terminal[i])


@kernel
def _augment(middle, most, head, sister, residual, terminal, sent, parent, next_orphan, register):
    """Send that much from the source to the sink; who loses the arc to the parent is an orphan."""
    residual[middle] -= most
    residual[sister[middle]] += most
    i = head[sister[middle]]
    while parent[i] != TERMINAL:
        a = parent[i]
        residual[a] += most
        residual[sister[a]] -= most
        if residual[sister[a]] <= 0.0:
            _make_orphan(i, parent, next_orphan, register, True)  # noqa: FBT003 - compiled
        i = head[a]
    terminal[i] -= most
    sent[i] += most
    if terminal[i] <= 0.0:
        _make_orphan(i, parent, next_orphan, register, True)  # noqa: FBT003 - compiled
    i = head[middle]
    while parent[i] != TERMINAL:
        a = parent[i]
        residual[sister[a]] += most
        residual[a] -= most
        if residual[a] <= 0.0:
            _make_orphan(i, parent, next_orphan, register, True)  # noqa: FBT003 - compiled
        i = head[a]
    terminal[i] += most
    if terminal[i] >= 0.0:
        _make_orphan(i, parent, next_orphan, register, True)  # noqa: FBT003 - compiled


@kernel
def _new_parent(i, arc_start, head, sister, residual, side, parent, stamp, distance, time):
    """Find an orphan the parent nearest to the terminal; whoever was asked keeps the answer."""
    best = np.int64(FREE)
    nearest = np.int64(1) << 62
    for a in range(arc_start[i], arc_start[i + 1]):
        toward = sister[a] if side[i] == SOURCE else a
        j = head[a]
        if residual[toward] <= 0.0 or side[j] != side[i] or parent[j] == FREE:
            continue
        steps = np.int64(0)
        while stamp[j] != time and parent[j] >= 0:
            steps += 1
            j = head[parent[j]]
        if parent[j] == ORPHAN:
            continue
        if stamp[j] == time:
            steps += distance[j]
        else:
            stamp[j] = time
            distance[j] = 1
            steps += 1
        if steps < nearest:
            best, nearest = np.int64(a), steps
        j = head[a]
        while stamp[j] != time:
            stamp[j] = time
            distance[j] = steps
            steps -= 1
            j = head[parent[j]]
    if best != FREE:
        stamp[i] = time
        distance[i] = nearest + 1
    return best


@kernel
def _adopt(
    arc_start,
    head,
    sister,
    residual,
    side,
    parent,
    stamp,
    distance,
    follower,
    next_orphan,
    register,
):
    """Find new parents for all orphans; those without leave the tree, and so orphan others."""
    while register[FIRST_ORPHAN] != NOBODY:
        i = register[FIRST_ORPHAN]
        register[FIRST_ORPHAN] = next_orphan[i]
        best = _new_parent(
            i,
            arc_start,
            head,
            sister,
            residual,
            side,
            parent,
            stamp,
            distance,
            register[TIME],
        )
        parent[i] = best
        if best != FREE:
            continue
        for a in range(arc_start[i], arc_start[i + 1]):
            j = head[a]
            if side[j] != side[i] or parent[j] == FREE:
                continue
            if residual[sister[a] if side[i] == SOURCE else a] > 0.0:
                _activate(j, follower, register)
            if parent[j] >= 0 and head[parent[j]] == i:
                _make_orphan(j, parent, next_orphan, register, False)  # noqa: FBT003 - compiled


@kernel(visits=3)
def minimum_cut(terminal, side, sent, arc_start, head, sister, residual):
    """Find a minimum cut: write the side of each node, and what the source sends through it.

    What was sent adds up to the largest flow. ``residual`` and ``terminal`` become what it leaves.
    Gives False, and stops, at a path of infinite capacity: then no cut is finite.
    """
    n = terminal.shape[0]
    parent = np.empty(n, np.int32)
    stamp = np.zeros(n, np.int64)
    distance = np.ones(n, np.int64)
    follower = np.empty(n, np.int32)
    next_orphan = np.empty(n, np.int32)
    register = np.zeros(5, np.int64)
    for k in range(TIME):
        register[k] = NOBODY
    for i in range(n):
        parent[i] = FREE if terminal[i] == 0.0 else TERMINAL
        follower[i] = NOBODY
        side[i] = SOURCE if terminal[i] > 0.0 else SINK
        if terminal[i] != 0.0:
            _activate(i, follower, register)
    current = np.int64(NOBODY)
    while True:
        if current == NOBODY or parent[current] == FREE:
            current = _next_active(parent, follower, register)
            if current == NOBODY:
                break
        middle = _grow(
            current, arc_start, head, sister, residual, side, parent, stamp, distance,
            follower, register,
        )  # fmt: skip
        register[TIME] += 1
        if middle < 0:
            current = np.int64(NOBODY)
            continue
        most = _narrowest(middle, head, sister, residual, terminal, parent)
        if most == np.inf:
            return False
        _augment(
            middle, most, head, sister, residual, terminal, sent, parent, next_orphan, register
        )
        _adopt(
            arc_start, head, sister, residual, side, parent, stamp, distance,
            follower, next_orphan, register,
        )  # fmt: skip
    for i in range(n):
        if parent[i] == FREE:
            side[i] = NEITHER
    return True


@kernel
def _root(i, above, flip):
    """Give the first node of a set, and whether a node differs from it; paths get shorter."""
    differs = False
    while above[i] != i:
        up = above[i]
        flip[i] ^= flip[up]
        above[i] = above[up]
        differs ^= flip[i]
        i = above[i]
    return i, differs


@kernel
def flips(tail, head, is_odd, flip):
    """Flip nodes so that the ends of exactly the odd edges differ; give an edge that contradicts.

    -1 if there is none. Sets of joined nodes are trees, in which each node knows whether it differs
    from the one above. The first of each set is not flipped.
    """
    above = np.arange(flip.shape[0])
    for e in range(tail.shape[0]):
        one, one_differs = _root(tail[e], above, flip)
        other, other_differs = _root(head[e], above, flip)
        differs = is_odd[e] ^ one_differs ^ other_differs
        if one == other and differs:
            return np.int64(e)
        if one != other:
            above[max(one, other)] = min(one, other)
            flip[max(one, other)] = differs
    for i in range(flip.shape[0]):
        if above[i] != i:
            flip[i] ^= flip[above[i]]
    return np.int64(-1)
