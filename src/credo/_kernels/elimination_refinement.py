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

import math

import numpy as np

from credo._kernels._jit import kernel

#: Variables in a piece; the sign bit stays free.
BITS = 62
#: The tree, by variable: later neighbours, where they are handed to, first child, next sibling.
SIZE, PARENT, CHILD, NEXT = range(4)
#: The piece, by number in it: name, graph as it was and as it is, order tried, best order, the
#: neighbours each then had, and the step of each.
NAME, BEFORE, JOINED, TRIAL, BEST, REST, STEP = range(7)
#: Its measures.
STATES, KEY, SHAKE = range(3)
#: Different cliques that may be handed to one piece.
HANDED = 1024
#: Variables eliminated by a piece, tries of each piece, and the most that a key is raised by,
#: as a multiple. Chosen on munin1, link, pigs, munin and andes with three seeds: shakes up to half
#: a key end 13 % dearer on munin1 than shakes up to one or two, pieces of at most 12 variables 2 %
#: dearer on link and munin than of 20 or more; one, four or ten tries make no clear difference.
SMALLEST, LARGEST, TRIES, NOISE = 4, 40, 2, 2.0


@kernel
def _ones(mask):
    """Count the ones."""
    x = int(mask)
    x -= (x >> 1) & 0x5555555555555555
    x = (x & 0x3333333333333333) + ((x >> 2) & 0x3333333333333333)
    x = (x + (x >> 4)) & 0x0F0F0F0F0F0F0F0F
    return ((x * 0x0101010101010101) >> 56) & 0xFF


@kernel
def _lowest(mask):
    """Give the place of the lowest one."""
    return _ones((mask & -mask) - 1)


@kernel
def _draw(random):
    """Draw a number between 0 and 1 by Lehmer's generator, whose state is ``random[0]``."""
    random[0] = random[0] * 48271 % 2147483647
    return random[0] / 2147483647.0


@kernel
def _rank(piece, real, x, kind):
    """Set the key of x: pairs to be joined, the same weighted, or log2 of its clique."""
    around = piece[x, JOINED]
    total = real[x, STATES]
    if kind == 2:
        while around:
            total *= real[_lowest(around), STATES]
            around &= around - 1
        real[x, KEY] = math.log2(total) + 4.0 * real[x, SHAKE]
        return
    total = 0.0
    while around:
        u = _lowest(around)
        around &= around - 1
        gap = around & ~piece[u, JOINED]
        if kind == 0:
            total += _ones(gap)
        else:
            while gap:
                total += real[u, STATES] * real[_lowest(gap), STATES]
                gap &= gap - 1
    real[x, KEY] = total * (1.0 + real[x, SHAKE])


@kernel
def _first(real, alive):
    """Give the living variable with the least key."""
    best = _lowest(alive)
    left = alive & (alive - 1)
    while left:
        x = _lowest(left)
        left &= left - 1
        if real[x, KEY] < real[best, KEY]:
            best = x
    return best


@kernel
def _cells(real, clique, handed, n_handed, row):
    """Give the cells of a clique: zero if it is inside one handed over, infinite if too wide."""
    if _ones(clique) > row + 1:
        return np.inf
    for h in range(n_handed):
        if clique & ~handed[h] == 0:
            return 0.0
    cells = 1.0
    while clique:
        cells *= real[_lowest(clique), STATES]
        clique &= clique - 1
    return cells


@kernel
def _attempt(piece, real, count, handed, n_handed, row, bound, kind):
    """Eliminate a piece greedily; give the cells of its maximal cliques and the work."""
    for x in range(count):
        _rank(piece, real, x, kind)
    alive = (1 << count) - 1
    spent = 0.0
    work = 8 * count
    for step in range(count):
        v = _first(real, alive)
        around = piece[v, JOINED]
        alive &= ~(1 << v)
        piece[step, TRIAL] = v
        spent += _cells(real, around | (1 << v), handed, n_handed + step, row)
        if spent > bound:
            return spent, work
        handed[n_handed + step] = around
        left = around
        while left:
            u = _lowest(left)
            left &= left - 1
            piece[u, JOINED] = (piece[u, JOINED] | around) & ~((1 << u) | (1 << v))
        left = alive
        while left:
            x = _lowest(left)
            left &= left - 1
            common = piece[x, JOINED] & around
            if (around >> x) & 1 or common & (common - 1):
                _rank(piece, real, x, kind)
                work += 6
        work += 6
    return spent, work


@kernel
def _link(tree, v, above):
    """Make v a child of ``above``, or a root if that is negative."""
    tree[v, PARENT] = above
    if above >= 0:
        tree[v, NEXT] = tree[above, CHILD]
        tree[above, CHILD] = v


@kernel
def _unlink(tree, v):
    """Take v off the children of its parent, if it has one."""
    above = tree[v, PARENT]
    if above < 0:
        return
    if tree[above, CHILD] == v:
        tree[above, CHILD] = tree[v, NEXT]
        return
    c = tree[above, CHILD]
    while tree[c, NEXT] != v:
        c = tree[c, NEXT]
    tree[c, NEXT] = tree[v, NEXT]


@kernel
def _grow(tree, group, piece, local, border, seed, target, random):
    """Collect a connected piece around a clique; give its size, its root and the work."""
    root = seed
    v = seed
    count = 0
    ends = 0
    work = 0
    while True:
        local[v] = count
        piece[count, NAME] = v
        count += 1
        c = tree[v, CHILD]
        while c >= 0:
            if local[c] < 0 and group[c] == group[seed]:
                border[ends] = c
                ends += 1
            c = tree[c, NEXT]
            work += 1
        if count >= target or count + 1 + tree[root, SIZE] > BITS:
            return count, root, work
        up = tree[root, PARENT]
        usable = up >= 0 and group[up] == group[seed] and count + 1 + tree[up, SIZE] <= BITS
        choices = ends + (1 if usable else 0)
        if choices == 0:
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
def _hand_over(tree, rest, piece, local, handed, n_handed, c):
    """Join the clique that child c hands over; give how many differ, or -1 if too many."""
    mask = 0
    for j in range(tree[c, SIZE]):
        mask |= 1 << local[rest[c, j]]
    for h in range(n_handed):
        if mask & ~handed[h] == 0:
            return n_handed
    if n_handed == HANDED:
        return -1
    handed[n_handed] = mask
    left = mask
    while left:
        u = _lowest(left)
        left &= left - 1
        piece[u, BEFORE] |= mask & ~(1 << u)
    return n_handed + 1


@kernel
def _cut_out(tree, rest, cells, start, out, n_states, piece, real, local, handed, count, root):
    """Write the small graph of a piece; give its variables, cliques handed over, cost, work."""
    size = count + tree[root, SIZE]
    for i in range(count, size):
        piece[i, NAME] = rest[root, i - count]
        local[piece[i, NAME]] = i
    top = ((1 << size) - 1) & ~((1 << count) - 1)
    for i in range(size):
        real[i, STATES] = n_states[piece[i, NAME]]
        piece[i, BEFORE] = top & ~(1 << i) if i >= count else 0
    n_handed = 0
    cost = 0.0
    work = 4 * size
    for i in range(count):
        v = piece[i, NAME]
        cost += cells[v]
        for j in range(start[v], start[v + 1]):
            u = local[out[j]]
            if u >= 0:
                piece[i, BEFORE] |= 1 << u
                piece[u, BEFORE] |= 1 << i
        work += start[v + 1] - start[v]
        c = tree[v, CHILD]
        while c >= 0 and n_handed >= 0:
            if local[c] < 0:
                n_handed = _hand_over(tree, rest, piece, local, handed, n_handed, c)
                work += tree[c, SIZE] + n_handed
            c = tree[c, NEXT]
        if n_handed < 0:
            break
    return size, n_handed, cost, work


@kernel
def _place(tree, rest, cells, piece, real, count, step, above):
    """Write one clique of the new order of a piece into the tree."""
    x = piece[step, BEST]
    v = piece[x, NAME]
    around = piece[step, REST]
    total = real[x, STATES]
    size = 0
    soonest = count
    while around:
        u = _lowest(around)
        around &= around - 1
        rest[v, size] = piece[u, NAME]
        size += 1
        total *= real[u, STATES]
        if u < count:
            soonest = min(soonest, piece[u, STEP])
    tree[v, SIZE] = size
    cells[v] = total
    _link(tree, v, piece[piece[soonest, BEST], NAME] if soonest < count else above)


@kernel
def _put_back(tree, rest, cells, piece, real, local, count, root, orphans):
    """Write the best order of a piece into the tree; its outer children find new parents."""
    above = tree[root, PARENT]
    _unlink(tree, root)
    n_orphans = 0
    for i in range(count):
        piece[piece[i, BEST], STEP] = i
        c = tree[piece[i, NAME], CHILD]
        while c >= 0:
            if local[c] < 0:
                orphans[n_orphans] = c
                n_orphans += 1
            c = tree[c, NEXT]
        tree[piece[i, NAME], CHILD] = -1
    for step in range(count):
        _place(tree, rest, cells, piece, real, count, step, above)
    for i in range(n_orphans):
        soonest = count
        for j in range(tree[orphans[i], SIZE]):
            u = local[rest[orphans[i], j]]
            if u < count:
                soonest = min(soonest, piece[u, STEP])
        _link(tree, orphans[i], piece[piece[soonest, BEST], NAME])
    for i in range(count):
        v = piece[i, NAME]
        c = tree[v, CHILD]
        while c >= 0:
            if tree[c, SIZE] == tree[v, SIZE] + 1:
                cells[v] = 0.0
            c = tree[c, NEXT]


@kernel
def _improve(piece, real, size, count, handed, n_handed, row, cost, random):
    """Try other orders of a piece; give the cost of the best, infinite if dearer, and work."""
    found = np.inf
    bound = cost
    total = 0
    for _ in range(TRIES):
        noise = NOISE * _draw(random)
        for i in range(size):
            piece[i, JOINED] = piece[i, BEFORE]
            real[i, SHAKE] = noise * _draw(random)
        kind = int(3.0 * _draw(random))
        spent, work = _attempt(piece, real, count, handed, n_handed, row, bound, kind)
        total += work
        if spent <= bound:
            bound = spent
            found = spent
            for i in range(count):
                piece[i, BEST] = piece[i, TRIAL]
                piece[i, REST] = handed[n_handed + i]
    return found, total


@kernel
def refine(n_states, start, out, group, tree, rest, cells, seed, share, budget):
    """Improve a clique tree while the work is less than ``share`` of its cells; give the tries.

    ``budget`` bounds the work in all. ``cells`` are those of the maximal cliques, zero for the
    others.
    """
    n = n_states.shape[0]
    random = np.array([seed % 2147483645 + 1])
    for _ in range(4):  # small seeds start alike
        _draw(random)
    local = np.full(n, -1, np.int64)
    border = np.empty(n, np.int64)
    piece = np.zeros((BITS, 7), np.int64)
    real = np.zeros((BITS, 3))
    handed = np.zeros(HANDED + BITS, np.int64)
    row = rest.shape[1]
    tries = 0
    work = 0
    total = np.inf
    while work < min(budget, share * total):
        total = cells.sum()
        # One sweep: about n / 16 cliques, as often as the square root of their cells says.
        gap = np.sqrt(cells).sum() / (8 + n // 16)
        ahead = gap * _draw(random)
        work += 2 * n
        for v in range(n):
            ahead -= math.sqrt(cells[v])
            while ahead < 0.0 and work < min(budget, share * total):
                ahead += gap
                tries += 1
                target = SMALLEST + int(_draw(random) * (LARGEST - SMALLEST + 1))
                count, root, more = _grow(tree, group, piece, local, border, v, target, random)
                work += more
                size, n_handed, cost, more = _cut_out(
                    tree, rest, cells, start, out, n_states, piece, real, local, handed, count, root
                )
                work += more
                if n_handed >= 0:
                    found, more = _improve(
                        piece, real, size, count, handed, n_handed, row, cost, random
                    )
                    work += more
                    if found <= cost:
                        _put_back(tree, rest, cells, piece, real, local, count, root, border)
                for i in range(size):
                    local[piece[i, NAME]] = -1
    return tries
