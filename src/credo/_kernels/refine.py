"""Make an elimination order cheaper, piece by piece of its clique tree.

A connected piece of the tree eliminates the variables S and leaves the clique R of its root,
which is eliminated later. All that the rest of the tree needs of it is that R, and the cliques
handed over by the children outside the piece, stay joined. So the variables of S may be
eliminated in any other order on the small graph of S and R, where these cliques are joined,
and the rest of the tree stays as it is. No order is lost by keeping R to the end: a chordal
graph has a perfect order that ends with any given clique.

A piece has at most 62 variables, so the neighbours of one are the bits of one integer. Pieces
are drawn where the large cliques are, and eliminated greedily with shaken keys.
"""

from __future__ import annotations

import math
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from credo._kernels.tiers import kernel

_Ints: TypeAlias = npt.NDArray[np.int64]

#: Variables in a piece; the sign bit stays free.
BITS = 62
#: The tree, by variable: later neighbours, where they are handed to, first child, next sibling,
#: number in the piece, and group.
SIZE, PARENT, CHILD, NEXT, LOCAL, GROUP = range(6)
#: The piece, by number in it: name, graph as it was and as it is, order tried, best order, the
#: neighbours each then had, and the step of each.
NAME, BEFORE, JOINED, TRIAL, BEST, REST, STEP = range(7)
#: Lehmer's generator.
FACTOR, MODULUS = 48271, 2147483647
#: Measures of a piece; of those in the tree, only the first and the cells, zero if not maximal.
STATES, WEIGHT, KEY, SHAKE = range(4)
CELLS = 1
#: Different cliques that may be handed to one piece.
HANDED = 1024
#: Variables eliminated by a piece, tries of each piece, and the most that a key is raised by,
#: as a multiple. Chosen on munin1, link, pigs, munin and andes with three seeds: shakes up to half
#: a key end 13 % dearer on munin1 than shakes up to one or two, pieces of at most 12 variables 2 %
#: dearer on link and munin than of 20 or more; one, four or ten tries make no clear difference.
SMALLEST, LARGEST, TRIES, NOISE = 4, 40, 2, 2.0


def refined(
    scopes: tuple[_Ints, _Ints, _Ints],
    group: _Ints,
    sequence: _Ints,
    cliques: tuple[Any, ...],
    seed: int,
    share: float,
    budget: float,
) -> tuple[_Ints, int]:
    """Return a cheaper order, or an equal one, and how many pieces of its clique tree were tried.

    ``scopes`` are numbers of states, where the scope of each factor starts, and its variables; of
    each step, ``cliques`` says where its clique starts, its steps, the next one, and its cells.
    Stops once the units of work are ``share`` of the cells that are left, or ``budget``.
    """
    n_states, scope_start, scope = scopes
    n = n_states.shape[0]
    factors = np.repeat(np.arange(scope_start.shape[0] - 1), np.diff(scope_start))
    uses = factors[np.argsort(scope, kind="stable")]
    use_start = np.concatenate(([0], np.cumsum(np.bincount(scope, minlength=n))))
    tree, tables = np.full((n, 6), -1, np.int64), np.zeros((n, 2))
    rest = np.empty((n, min(BITS, 2 * int(np.diff(cliques[0]).max()) + 2)), np.int64)
    plant(n_states, group, sequence, *cliques, tree, rest, tables)
    # Small seeds start alike: the generator is some draws ahead.
    start = (seed % (MODULUS - 2) + 1) * pow(FACTOR, 4, MODULUS) % MODULUS
    improve.expect(min(budget, share * tables[:, CELLS].sum()))
    pieces = improve(
        (scope_start, scope, use_start, uses), tree, rest, tables, start, share, budget
    )
    return _unrolled(tree), int(pieces)


def _unrolled(tree: _Ints) -> _Ints:
    """Return an order of a tree: children before parents, and group 0 before group 1."""
    child, after = tree[:, CHILD].tolist(), tree[:, NEXT].tolist()
    waiting = np.flatnonzero(tree[:, PARENT] < 0).tolist()
    order = []
    while waiting:
        order.append(waiting.pop())
        v = child[order[-1]]
        while v >= 0:
            waiting.append(v)
            v = after[v]
    sequence = np.array(order[::-1], np.int64)
    return sequence[np.argsort(tree[sequence, GROUP], kind="stable")]


@kernel
def plant(n_states, group, sequence, start, members, parent, cells, tree, rest, tables):
    """Write the clique tree of an order: the links, cliques and cells of each variable."""
    for i in range(sequence.size):
        v = sequence[i]
        tree[v, GROUP] = group[v]
        tree[v, SIZE] = start[i + 1] - start[i] - 1
        tables[v, STATES] = n_states[v]
        tables[v, CELLS] = cells[i]
        for j in range(tree[v, SIZE]):
            rest[v, j] = sequence[members[start[i] + 1 + j]]
        _leave_out(tree, tables, v)
        _hang(tree, v, sequence[parent[i]] if parent[i] >= 0 else -1)


@kernel
def _hang(tree, v, above):
    """Make v a child of another, or of none."""
    tree[v, PARENT] = above
    if above >= 0:
        tree[v, NEXT] = tree[above, CHILD]
        tree[above, CHILD] = v


@kernel
def _leave_out(tree, tables, v):
    """Take the cells of v as none if its clique is inside that of a child."""
    c = tree[v, CHILD]
    while c >= 0:
        if tree[c, SIZE] == tree[v, SIZE] + 1:
            tables[v, CELLS] = 0.0
        c = tree[c, NEXT]


@kernel
def _lowest(mask):
    """Return the place of the lowest one: the ones of what is below it."""
    x = int((mask & -mask) - 1)
    x -= (x >> 1) & 0x5555555555555555
    x = (x & 0x3333333333333333) + ((x >> 2) & 0x3333333333333333)
    x = (x + (x >> 4)) & 0x0F0F0F0F0F0F0F0F
    return ((x * 0x0101010101010101) >> 56) & 0xFF


@kernel
def _draw(random):
    """Draw a number between 0 and 1."""
    random[0] = random[0] * FACTOR % MODULUS
    return random[0] / MODULUS


@kernel
def _key(piece, real, x, kind):
    """Return the key of x: weighted pairs to be joined, or log2 of the cells of its clique."""
    around = piece[x, JOINED]
    total = 0.0
    cells = real[x, STATES]
    while around:
        u = _lowest(around)
        around &= around - 1
        cells *= real[u, STATES]
        gap = around & ~piece[u, JOINED] if kind < 2 else 0
        while gap:
            total += real[u, WEIGHT] * real[_lowest(gap), WEIGHT]
            gap &= gap - 1
    if kind == 2:
        return math.log2(cells) + 4.0 * real[x, SHAKE]
    return total * (1.0 + real[x, SHAKE])


@kernel
def _attempt(piece, real, count, handed, n_handed, row, bound, kind):
    """Eliminate a piece greedily; return the cells of its maximal cliques and the work.

    The cells are infinite where a clique is too wide for a row of the tree.
    """
    alive = (1 << count) - 1
    around = alive
    spent = 0.0
    work = 2 * count
    for step in range(count):
        v = -1
        left = alive
        while left:
            x = _lowest(left)
            left &= left - 1
            common = piece[x, JOINED] & around
            if (around >> x) & 1 or common & (common - 1):
                real[x, KEY] = _key(piece, real, x, kind)
                work += 6
            if v < 0 or real[x, KEY] < real[v, KEY]:
                v = x
        around = piece[v, JOINED]
        alive &= ~(1 << v)
        piece[step, TRIAL] = v
        cells = real[v, STATES]
        size = 0
        left = around
        while left:
            u = _lowest(left)
            left &= left - 1
            size += 1
            cells *= real[u, STATES]
            piece[u, JOINED] = (piece[u, JOINED] | around) & ~((1 << u) | (1 << v))
        for h in range(n_handed + step):
            if (around | (1 << v)) & ~handed[h] == 0:
                cells = 0.0
                break
        spent += cells if size <= row else math.inf
        if spent > bound:
            break
        handed[n_handed + step] = around
        work += 6
    return spent, work


@kernel
def _grow(tree, piece, border, seed, target, random):
    """Collect a connected piece around a clique; return its size, its root and the work."""
    root = seed
    v = seed
    count = 0
    ends = 0
    work = 0
    while True:
        tree[v, LOCAL] = count
        piece[count, NAME] = v
        count += 1
        c = tree[v, CHILD]
        while c >= 0:
            if tree[c, LOCAL] < 0 and tree[c, GROUP] == tree[seed, GROUP]:
                border[ends] = c
                ends += 1
            c = tree[c, NEXT]
            work += 1
        up = tree[root, PARENT]
        choices = ends
        if up >= 0 and tree[up, GROUP] == tree[seed, GROUP] and count + 1 + tree[up, SIZE] <= BITS:
            choices += 1
        if count >= target or count + 1 + tree[root, SIZE] > BITS or choices == 0:
            return count, root, work
        pick = int(_draw(random) * choices)
        if pick < ends:
            v = border[pick]
            ends -= 1
            border[pick] = border[ends]
        else:
            v = up
            root = up


@kernel
def _cut_out(graph, tree, rest, tables, piece, real, handed, count, root):
    """Write the small graph of a piece; return its variables, cliques handed over, cost, work.

    The cliques that children outside hand over are joined. These are -1 if too many differ.
    """
    scope_start, scope, use_start, uses = graph
    size = count + tree[root, SIZE]
    top = ((1 << size) - 1) & ~((1 << count) - 1)
    for i in range(size):
        piece[i, BEFORE] = 0
        if i >= count:
            piece[i, NAME] = rest[root, i - count]
            tree[piece[i, NAME], LOCAL] = i
            piece[i, BEFORE] = top & ~(1 << i)
        real[i, STATES] = tables[piece[i, NAME], STATES]
    n_handed = 0
    cost = 0.0
    work = 6 * size
    for i in range(count):
        v = piece[i, NAME]
        cost += tables[v, CELLS]
        for j in range(use_start[v], use_start[v + 1]):
            for a in range(scope_start[uses[j]], scope_start[uses[j] + 1]):
                u = tree[scope[a], LOCAL]
                if u >= 0 and u != i:
                    piece[i, BEFORE] |= 1 << u
                    piece[u, BEFORE] |= 1 << i
        c = tree[v, CHILD]
        while c >= 0:
            if tree[c, LOCAL] < 0:
                mask = 0
                for j in range(tree[c, SIZE]):
                    mask |= 1 << tree[rest[c, j], LOCAL]
                left = mask
                for h in range(n_handed):
                    if mask & ~handed[h] == 0:
                        left = 0
                        break
                if left:
                    if n_handed == HANDED:
                        return size, -1, cost, work
                    handed[n_handed] = mask
                    n_handed += 1
                while left:
                    u = _lowest(left)
                    left &= left - 1
                    piece[u, BEFORE] |= mask & ~(1 << u)
                work += tree[c, SIZE] + n_handed
            c = tree[c, NEXT]
    return size, n_handed, cost, work


@kernel
def _put_back(tree, rest, tables, piece, real, count, root, orphans):
    """Write the best order of a piece into the tree; its outer children find new parents."""
    above = tree[root, PARENT]
    if above >= 0:
        c = tree[above, CHILD]
        if c == root:
            tree[above, CHILD] = tree[root, NEXT]
        else:
            while tree[c, NEXT] != root:
                c = tree[c, NEXT]
            tree[c, NEXT] = tree[root, NEXT]
    ends = count
    for i in range(count):
        piece[piece[i, BEST], STEP] = i
        v = piece[i, NAME]
        orphans[i] = piece[piece[i, BEST], NAME]
        c = tree[v, CHILD]
        while c >= 0:
            if tree[c, LOCAL] < 0:
                orphans[ends] = c
                ends += 1
            c = tree[c, NEXT]
        tree[v, CHILD] = -1
    for i in range(ends):
        v = orphans[i]
        if i < count:
            around = piece[i, REST]
            tree[v, SIZE] = 0
            tables[v, CELLS] = tables[v, STATES]
            while around:
                u = _lowest(around)
                around &= around - 1
                rest[v, tree[v, SIZE]] = piece[u, NAME]
                tree[v, SIZE] += 1
                tables[v, CELLS] *= real[u, STATES]
        soonest = count
        for j in range(tree[v, SIZE]):
            u = tree[rest[v, j], LOCAL]
            if u < count:
                soonest = min(soonest, piece[u, STEP])
        _hang(tree, v, orphans[soonest] if soonest < count else above)
    for i in range(count):
        _leave_out(tree, tables, orphans[i])


@kernel
def improve(graph, tree, rest, tables, start, share, budget):
    """Improve a clique tree until the work is done; return how many pieces were tried."""
    n = tree.shape[0]
    piece, real = np.zeros((BITS, 7), np.int64), np.zeros((BITS, 4))
    border, handed = np.empty(n + BITS, np.int64), np.zeros(HANDED + BITS, np.int64)
    random = np.full(1, start)
    work, tried = 0, 0
    most = budget
    while work < most:
        total, roots = 0.0, 0.0
        for v in range(n):
            total += tables[v, CELLS]
            roots += math.sqrt(tables[v, CELLS])
        # One sweep: about n / 16 cliques, as often as the square root of their cells says.
        gap = roots / (8 + n // 16)
        ahead = gap * _draw(random)
        most = min(budget, share * total)
        work += 2 * n
        for v in range(n):
            ahead -= math.sqrt(tables[v, CELLS])
            while ahead < 0.0 and work < most:
                ahead += gap
                tried += 1
                work += _renew(graph, tree, rest, tables, piece, real, border, handed, random, v)
    return tried


@kernel
def _renew(graph, tree, rest, tables, piece, real, border, handed, random, seed):
    """Try other orders of a piece around a clique, and keep the cheapest; return the work."""
    target = SMALLEST + int(_draw(random) * (LARGEST - SMALLEST + 1))
    count, root, work = _grow(tree, piece, border, seed, target, random)
    size, n_handed, bound, more = _cut_out(
        graph, tree, rest, tables, piece, real, handed, count, root
    )
    work += more
    found = False
    for _ in range(TRIES if n_handed >= 0 else 0):
        noise = NOISE * _draw(random)
        for i in range(size):
            piece[i, JOINED] = piece[i, BEFORE]
            real[i, SHAKE] = noise * _draw(random)
        kind = int(3.0 * _draw(random))
        for i in range(size):
            real[i, WEIGHT] = real[i, STATES] if kind == 1 else 1.0
        spent, more = _attempt(piece, real, count, handed, n_handed, rest.shape[1], bound, kind)
        work += more
        if spent <= bound:
            bound = spent
            found = True
            for i in range(count):
                piece[i, BEST] = piece[i, TRIAL]
                piece[i, REST] = handed[n_handed + i]
    if found:
        _put_back(tree, rest, tables, piece, real, count, root, border)
    for i in range(size):
        tree[piece[i, NAME], LOCAL] = -1
    return work
