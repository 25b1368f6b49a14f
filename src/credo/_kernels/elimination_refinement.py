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

from credo._kernels.tiers import kernel

#: Variables in a piece; the sign bit stays free.
BITS = 62
#: The tree, by variable: later neighbours, where they are handed to, first child, next sibling,
#: number in the piece, group, and where its neighbours in the graph begin and end.
SIZE, PARENT, CHILD, NEXT, LOCAL, GROUP, BEGIN, END = range(8)
#: The piece, by number in it: name, graph as it was and as it is, order tried, best order, the
#: neighbours each then had, and the step of each.
NAME, BEFORE, JOINED, TRIAL, BEST, REST, STEP = range(7)
#: The state: generator, pieces tried, work.
RANDOM, TRIED, WORK = range(3)
FACTOR, MODULUS = 48271, 2147483647
#: Its measures; of those in the tree, only the first and the cells.
STATES, WEIGHT, KEY, SHAKE = range(4)
CELLS = 1
#: Different cliques that may be handed to one piece.
HANDED = 1024
#: Variables eliminated by a piece, tries of each piece, and the most that a key is raised by,
#: as a multiple. Chosen on munin1, link, pigs, munin and andes with three seeds: shakes up to half
#: a key end 13 % dearer on munin1 than shakes up to one or two, pieces of at most 12 variables 2 %
#: dearer on link and munin than of 20 or more; one, four or ten tries make no clear difference.
SMALLEST, LARGEST, TRIES, NOISE = 4, 40, 2, 2.0


@kernel
def _lowest(mask):
    """Give the place of the lowest one: the ones of what is below it."""
    x = int((mask & -mask) - 1)
    x -= (x >> 1) & 0x5555555555555555
    x = (x & 0x3333333333333333) + ((x >> 2) & 0x3333333333333333)
    x = (x + (x >> 4)) & 0x0F0F0F0F0F0F0F0F
    return ((x * 0x0101010101010101) >> 56) & 0xFF


@kernel
def _draw(random):
    """Draw a number between 0 and 1 by Lehmer's generator, whose state is ``random[RANDOM]``."""
    random[RANDOM] = random[RANDOM] * FACTOR % MODULUS
    return random[RANDOM] / MODULUS


@kernel
def _key(piece, real, x, kind):
    """Give the key of x: pairs to be joined, each weighted, or log2 of the cells of its clique."""
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
    """Eliminate a piece greedily; give the cells of its maximal cliques and the work.

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
        spent += cells
        if size > row:
            spent = math.inf
        if spent > bound:
            break
        handed[n_handed + step] = around
        work += 6
    return spent, work


@kernel
def _grow(tree, piece, border, seed, target, random):
    """Collect a connected piece around a clique; give its size, its root and the work."""
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
        if count >= target or count + 1 + tree[root, SIZE] > BITS:
            return count, root, work
        up = tree[root, PARENT]
        choices = ends
        if up >= 0 and tree[up, GROUP] == tree[seed, GROUP] and count + 1 + tree[up, SIZE] <= BITS:
            choices += 1
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
def _cut_out(tree, rest, table, out, piece, real, handed, count, root):
    """Write the small graph of a piece; give its variables, cliques handed over, cost, work.

    The cliques that children outside hand over are joined. Gives -1 if too many differ.
    """
    size = count + tree[root, SIZE]
    top = ((1 << size) - 1) & ~((1 << count) - 1)
    for i in range(size):
        piece[i, BEFORE] = 0
        if i >= count:
            piece[i, NAME] = rest[root, i - count]
            tree[piece[i, NAME], LOCAL] = i
            piece[i, BEFORE] = top & ~(1 << i)
        real[i, STATES] = table[piece[i, NAME], STATES]
    n_handed = 0
    cost = 0.0
    work = 4 * size
    for i in range(count):
        v = piece[i, NAME]
        cost += table[v, CELLS]
        for j in range(tree[v, BEGIN], tree[v, END]):
            u = tree[out[j], LOCAL]
            if u >= 0:
                piece[i, BEFORE] |= 1 << u
                piece[u, BEFORE] |= 1 << i
        work += tree[v, END] - tree[v, BEGIN]
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
def _put_back(tree, rest, table, piece, real, count, root, orphans):
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
            table[v, CELLS] = table[v, STATES]
            while around:
                u = _lowest(around)
                around &= around - 1
                rest[v, tree[v, SIZE]] = piece[u, NAME]
                tree[v, SIZE] += 1
                table[v, CELLS] *= real[u, STATES]
        soonest = count
        for j in range(tree[v, SIZE]):
            u = tree[rest[v, j], LOCAL]
            if u < count and piece[u, STEP] < soonest:
                soonest = piece[u, STEP]
        to = orphans[soonest] if soonest < count else above
        tree[v, PARENT] = to
        if to >= 0:
            tree[v, NEXT] = tree[to, CHILD]
            tree[to, CHILD] = v
    for i in range(count):
        c = tree[orphans[i], CHILD]
        while c >= 0:
            if tree[c, SIZE] == tree[orphans[i], SIZE] + 1:
                table[orphans[i], CELLS] = 0.0
            c = tree[c, NEXT]


@kernel(visits=10)
def sweep(out, tree, rest, table, piece, real, border, handed, state, most, gap):
    """Improve a clique tree once around; ``state`` holds the generator, the tries, the work."""
    ahead = gap * _draw(state)
    work = state[WORK] + 2 * tree.shape[0]
    for v in range(tree.shape[0]):
        ahead -= math.sqrt(table[v, CELLS])
        while ahead < 0.0 and work < most:
            ahead += gap
            state[TRIED] += 1
            target = SMALLEST + int(_draw(state) * (LARGEST - SMALLEST + 1))
            count, root, more = _grow(tree, piece, border, v, target, state)
            work += more
            size, n_handed, bound, more = _cut_out(
                tree, rest, table, out, piece, real, handed, count, root
            )
            work += more
            found = False
            for _ in range(TRIES if n_handed >= 0 else 0):
                noise = NOISE * _draw(state)
                for i in range(size):
                    piece[i, JOINED] = piece[i, BEFORE]
                    real[i, SHAKE] = noise * _draw(state)
                kind = int(3.0 * _draw(state))
                for i in range(size):
                    real[i, WEIGHT] = real[i, STATES] if kind == 1 else 1.0
                row = rest.shape[1]
                spent, more = _attempt(piece, real, count, handed, n_handed, row, bound, kind)
                work += more
                if spent <= bound:
                    bound = spent
                    found = True
                    for i in range(count):
                        piece[i, BEST] = piece[i, TRIAL]
                        piece[i, REST] = handed[n_handed + i]
            if found:
                _put_back(tree, rest, table, piece, real, count, root, border)
            for i in range(size):
                tree[piece[i, NAME], LOCAL] = -1
    state[WORK] = work
