"""Greedy elimination orders: every try is one pass over a graph that fills itself in.

Eliminating v joins its neighbours to one another and takes v away. With N(x) the neighbours
of x and m(x) the pairs of them that are not joined (each weighted by the product of the two
numbers of states, or by one), joining a and b changes only

    m(a) by +|N(a) minus N(b)|,   m(b) by +|N(b) minus N(a)|,   m(x) by -1 for x in both,

and taking v away, whose neighbours are joined by then, changes m(a) by -|N(a) minus N[v]|
for a in N(v). So the keys stay exact and are never counted afresh; the graph itself is made
by joining its edges one after the other.

Lists of neighbours live in one pool and move to its end when they outgrow their place; the
dead stay in them until then. Whether two variables are joined is told by marks on the
neighbours of one of them, or by a table of edges with open addressing if these are too many.

The kernels allocate nothing and use one type of integer and one of reals: code that Numba
compiles soon. What needs more room, or the next group, is asked for and called again.
"""

from credo._kernels.elimination_graph import (
    AROUND,
    CELLS,
    DEAD,
    DEGREE,
    FILL,
    KEY,
    LENGTH,
    LOG,
    MARK,
    MISSING,
    PLACE,
    ROOM,
    STAMP,
    START,
    STATES,
    TIE,
    WEIGHT,
)
from credo._kernels.tiers import kernel

#: What the next variable has least of. GIVEN: its place in an order that is given.
GIVEN, BY_FILL, BY_WEIGHTED_FILL, BY_DEGREE, BY_WEIGHT = range(5)
#: The state of a pass: variables eliminated, in the heap, to be ranked; end of the pool, entries
#: of the table, marks made, work, pairs joined, whether a group enters, edges that enter with it,
#: whether there is a table, and the room asked for.
(STEP, SIZE, STALE, USED, ENTRIES, TOKEN, WORK) = range(7)
(JOINS, ENTER, EDGES, TABLED, NEED) = range(7, 12)
#: Why a pass stopped: done or beyond the limit, the group is done, room is short, too dear.
DONE, NEXT, MORE, DEAR = range(4)
#: With a table, neighbours are marked if they are at most this many times the questions about
#: them; a table is made as soon as a list is longer than this.
WORTH_MARKING, HUB = 16, 256


@kernel
def _rank(count, real, heap, size, v, kind):
    """Set the key of v and what breaks ties, and move it up or down the heap if it is there.

    Nothing is better than joining nothing. Equal keys and ties go by number.
    """
    key = real[v, WEIGHT]
    tie = key
    if count[v, MISSING] == 0:
        key = -1.0
    elif kind == BY_FILL:
        key = 1.0 * count[v, MISSING]
    elif kind == BY_WEIGHTED_FILL:
        key = real[v, FILL]
    elif kind == BY_DEGREE:
        key = 1.0 * count[v, DEGREE]
    else:
        tie = real[v, FILL]
    real[v, KEY] = key
    real[v, TIE] = tie
    at = count[v, PLACE]
    up = True
    while at >= 0:
        to = (at - 1) >> 1
        if not up:
            to = 2 * at + 1
            if to + 1 < size:
                a = heap[to]
                b = heap[to + 1]
                more = real[a, KEY] - real[b, KEY]
                if more == 0.0:
                    more = real[a, TIE] - real[b, TIE]
                if more > 0.0 or (more == 0.0 and b < a):
                    to += 1
        moves = False
        if 0 <= to < size:
            u = heap[to]
            more = real[u, KEY] - key
            if more == 0.0:
                more = real[u, TIE] - tie
            moves = up == (more > 0.0 or (more == 0.0 and v < u))
        if moves:
            heap[at] = u
            count[u, PLACE] = at
            at = to
        elif up:
            up = False
        else:
            heap[at] = v
            count[v, PLACE] = at
            break


@kernel
def _seek(table, n, a, b):
    """Find where the edge a, b is in the table, or the gap where it would go."""
    code = a * n + b + 1 if a < b else b * n + a + 1
    mixed = int(code) * 0x2545F4914F6CDD1D
    at = (mixed ^ (mixed >> 32)) & (table.shape[0] - 1)
    while table[at] != code and table[at] != 0:
        at = (at + 1) & (table.shape[0] - 1)
    return at


@kernel
def _join(count, real, table, pool, stale, state, v, a, b, marked):
    """Join a and b, neighbours of v, or of nothing yet if that is negative."""
    n = count.shape[0]
    token = state[TOKEN]
    n_stale = state[STALE]
    few, many = b, a
    if not marked and count[a, LENGTH] <= count[b, LENGTH]:
        few, many = a, b
    shared = 0
    across = 0.0
    if v >= 0:
        shared = 1
        across = real[v, STATES]
    product = real[a, STATES] * real[b, STATES]
    for i in range(count[few, START], count[few, START] + count[few, LENGTH]):
        x = pool[i]
        both = count[x, MARK] == token
        if not marked:
            both = count[x, PLACE] != DEAD and table[_seek(table, n, x, many)] != 0
        if both:
            shared += 1
            across += real[x, STATES]
            count[x, MISSING] -= 1
            real[x, FILL] -= product
            if count[x, STAMP] != v:
                count[x, STAMP] = v
                stale[n_stale] = x
                n_stale += 1
    state[STALE] = n_stale
    for _ in range(2):
        count[a, MISSING] += count[a, DEGREE] - shared
        real[a, FILL] += real[b, STATES] * (real[a, AROUND] - across)
        count[a, DEGREE] += 1
        real[a, AROUND] += real[b, STATES]
        real[a, WEIGHT] += real[b, LOG]
        if count[a, LENGTH] == count[a, ROOM]:  # tidied, or moved to the end of the pool
            start = count[a, START]
            kept = 0
            for i in range(start, start + count[a, LENGTH]):
                if count[pool[i], PLACE] != DEAD:
                    pool[start + kept] = pool[i]
                    kept += 1
            count[a, LENGTH] = kept
            if 4 * kept >= 3 * count[a, ROOM]:
                for i in range(kept):
                    pool[state[USED] + i] = pool[start + i]
                count[a, START] = state[USED]
                count[a, ROOM] = 2 * kept + 4
                state[USED] += count[a, ROOM]
        pool[count[a, START] + count[a, LENGTH]] = b
        count[a, LENGTH] += 1
        a, b = b, a
    count[b, MARK] = token


@kernel
def _fill_in(count, real, table, pool, stale, state, v):
    """Join the neighbours of v to one another; or the edges at the pool's end, if v is negative."""
    n = count.shape[0]
    tabled = state[TABLED] == 1
    items = state[EDGES]
    first = state[USED]
    left = items
    stride = 2
    if v >= 0:
        items = count[v, LENGTH]
        first = count[v, START]
        left = count[v, MISSING]
        stride = 1
    work = 0
    for i in range(items):
        begin = first + stride * i
        end = begin + 2 if v < 0 else first + items
        a = pool[begin]
        state[TOKEN] += 1
        marks = not tabled or count[a, LENGTH] <= WORTH_MARKING * (end - begin - 1)
        if marks:
            for j in range(count[a, START], count[a, START] + count[a, LENGTH]):
                if count[pool[j], PLACE] != DEAD:
                    count[pool[j], MARK] = state[TOKEN]
        for j in range(begin + 1, end):
            b = pool[j]
            at = 0
            there = count[b, MARK] == state[TOKEN]
            if tabled and not there:
                at = _seek(table, n, a, b)
                there = table[at] != 0
            if there:
                continue
            more = count[b, LENGTH] - count[a, LENGTH]
            work += 8 + count[a, LENGTH] + (min(0, more))
            marked = marks and not (tabled and more > 3 * count[a, LENGTH])
            _join(count, real, table, pool, stale, state, v, a, b, marked)
            if tabled:
                table[at] = a * n + b + 1 if a < b else b * n + a + 1
                state[ENTRIES] += 1
            left -= 1
        work += end - begin
        if left == 0:
            break
    return work if v >= 0 else 0


@kernel
def write_table(count, pool, table, state):
    """Write the edges between the living into an empty table."""
    n = count.shape[0]
    state[TABLED] = 1
    state[ENTRIES] = 0
    for v in range(n):
        if count[v, PLACE] != DEAD:
            for i in range(count[v, START], count[v, START] + count[v, LENGTH]):
                u = pool[i]
                if v < u and count[u, PLACE] != DEAD:
                    table[_seek(table, n, v, u)] = v * n + u + 1
                    state[ENTRIES] += 1


@kernel
def _take_away(count, real, pool, heap, stale, state, v, kind):
    """Take v, whose neighbours are joined to one another, off what they count; rank anew."""
    if v >= 0:
        states = real[v, STATES]
        cells = states
        for i in range(count[v, START], count[v, START] + count[v, LENGTH]):
            a = pool[i]
            count[a, MISSING] -= count[a, DEGREE] - count[v, DEGREE]
            real[a, FILL] -= states * (real[a, AROUND] - states - real[v, AROUND] + real[a, STATES])
            count[a, DEGREE] -= 1
            real[a, AROUND] -= states
            real[a, WEIGHT] -= real[v, LOG]
            cells *= real[a, STATES]
        real[v, CELLS] = cells
        state[WORK] += 4 + 4 * state[STALE]
        if state[SIZE] > 0:
            stale[state[STALE]] = heap[0]
            state[STALE] += 1
    if kind == GIVEN:
        return
    # From the last, which fills the place of v in the heap.
    for i in range(state[STALE] - 1, -1, -1):
        x = stale[i]
        if v < 0 and count[x, PLACE] >= 0:
            state[SIZE] += 1
        _rank(count, real, heap, state[SIZE], x, kind)


@kernel(visits=3)
def eliminate(count, real, pool, table, heap, stale, state, kind, limit, spent, sequence):
    """Go on with one greedy order until it is done or asks for something; tell which.

    Stops with DONE where all the variables that are left make one clique, or the next clique
    has more than 2 ** ``limit`` cells, and with DEAR once the cells of the cliques, added to
    ``spent[0]``, are more than ``spent[1]``. Afterwards the list of each variable holds the
    rest of its clique.
    """
    n = count.shape[0]
    for step in range(state[STEP] - state[ENTER], n):
        v = -1
        if state[ENTER] == 0:
            state[STEP] = step
            if state[SIZE] == 0 and kind != GIVEN:
                return NEXT
            v = sequence[step] if kind == GIVEN else heap[0]
            missing = count[v, MISSING]
            kept = 0
            need = state[USED]
            hub = state[TABLED] == 1
            for i in range(count[v, START], count[v, START] + count[v, LENGTH]):
                a = pool[i]
                if count[a, PLACE] != DEAD:
                    pool[count[v, START] + kept] = a
                    stale[kept] = a
                    count[a, STAMP] = v
                    kept += 1
                    # A list that doubles until it holds these has taken three times the last room.
                    need += 6 * (count[a, LENGTH] + count[v, DEGREE]) + 12
                    hub = hub or count[a, LENGTH] > HUB
            count[v, LENGTH] = kept
            state[STALE] = kept
            if count[v, DEGREE] == n - step - 1 or real[v, WEIGHT] > limit:
                state[JOINS] += missing
                return DONE
            if missing > 0:
                full = 2 * (state[ENTRIES] + missing) > table.shape[0] or state[TABLED] == 0
                if need > pool.shape[0] or (hub and full):
                    state[NEED] = need
                    return MORE
                state[JOINS] += missing
                spent[0] += 2.0 ** real[v, WEIGHT]
                if spent[0] > spent[1]:
                    return DEAR
            sequence[step] = v
            count[v, PLACE] = DEAD
            if kind != GIVEN:
                state[SIZE] -= 1
                heap[0] = heap[state[SIZE]]
                count[heap[0], PLACE] = 0 if state[SIZE] > 0 else DEAD
        if v < 0 or count[v, MISSING] > 0:
            state[WORK] += _fill_in(count, real, table, pool, stale, state, v)
        _take_away(count, real, pool, heap, stale, state, v, kind)
        state[ENTER] = 0
    state[STEP] = n
    return DONE
