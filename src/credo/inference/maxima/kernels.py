"""Kernels of the engines for maxima: local moves, decoding, TRW-S, and minimum cuts."""

import math
from typing import Any, NamedTuple

import numpy as np

from credo._kernels.tiers import kernel

#: The distance between one and the next number.
EPSILON = 2.0**-52
#: How often a variable that is tied is looked at again when a neighbour is fixed: it bounds work.
PATIENCE = 20
#: States whose log scores are nearer than this are tied, and the first is taken. On frustrated
#: fields messages settle at ties, which the last bit of a logarithm would decide otherwise, and
#: processors differ in that bit. Thousands of logs, added up, are rounded by some 1e-12.
_NEAR = 1e-9


class Field(NamedTuple):
    """Log weights of the states of nodes, and of pairs of states, as the kernels read them.

    The first nodes are the variables of the problem. Then comes a cluster for each factor of more
    than two variables: its states are the cells of the factor that are not zero, and a pair ties it
    to each of its variables. Factors over the same two variables are added up. Variables of one
    state are in no pair.
    """

    n_states: Any
    start: Any  #: where the weights of each node start
    values: Any
    codes: Any  #: the cell that each state of a cluster stands for, beside ``values``
    first: Any  #: of each pair: the lower variable; of a tie the variable
    second: Any  #: the higher variable; of a tie the cluster
    stride: Any  #: zero for a table; for a tie, that of the variable's axis
    table: Any  #: where the table of each pair starts, the first node's axis first
    tables: Any
    n_variables: int
    constant: float  #: to be added to every score; -inf if a factor of no variables is zero


class Ways(NamedTuple):
    """In which order nodes are visited, and along which pairs."""

    order: Any
    place: Any  #: of each node in the order
    gamma: Any  #: the share of a node that each chain through it gets
    slot_start: Any
    slots: Any  #: the pairs of each node
    room: Any  #: where the message of each pair starts: it is as long as its longer end


@kernel
def add_pairs(logs, cell_start, rows, columns, flipped, target, tables):
    """Add the tables of factors to those of their pairs, with the lower variable's axis first."""
    for f in range(target.shape[0]):
        for x in range(rows[f]):
            for y in range(columns[f]):
                at = y * rows[f] + x if flipped[f] else x * columns[f] + y
                tables[target[f] + at] += logs[cell_start[f] + x * columns[f] + y]


# Moves of single variables. The place of a factor's chosen cell is kept, so that a variable's move
# shifts it by the stride of the variable's axis. Configurations are compared by their number of
# zeros first, then by the sum of the other logs: also from an impossible start there is a way up.


@kernel
def _weigh(i, state, states, graph, logs, cells):
    """Count the zeros, add up the other logs and their sizes, were a variable in this state."""
    zeros, total, size = np.int64(0), 0.0, 0.0
    shift = state - states[i]
    for k in range(graph.near_start[i], graph.near_start[i + 1]):
        s = graph.near[k]
        value = logs[cells[graph.factor[s]] + shift * graph.stride[s]]
        if value == -math.inf:
            zeros += 1
        else:
            total += value
            size += abs(value)
    return zeros, total, size


@kernel
def _best_state(i, states, graph, logs, cells):
    """Find a state that is better than the present one, beyond what rounding can do."""
    found = states[i]
    zeros, total, size = _weigh(i, found, states, graph, logs, cells)
    # each term adds at most one rounding error to its sum, of the size of all terms together
    rounding = EPSILON * (graph.near_start[i + 1] - graph.near_start[i])
    for x in range(graph.start[i + 1] - graph.start[i]):
        if x != states[i]:
            z, t, a = _weigh(i, x, states, graph, logs, cells)
            if z < zeros or (z == zeros and t - total > rounding * (a + size)):
                found, zeros, total, size = np.int64(x), z, t, a
    return found


@kernel
def climb(graph, logs, states, cells, sweeps):
    """Move one variable after the other to its best state until none moves, or sweeps run out.

    A variable is looked at again only after one of its neighbours moved. ``cells`` are those that
    the states choose.
    """
    n = states.shape[0]
    waits = np.ones(n, np.bool_)
    for _ in range(sweeps):
        moved = False
        for i in range(n):
            if not waits[i]:
                continue
            waits[i] = False
            found = _best_state(i, states, graph, logs, cells)
            if found == states[i]:
                continue
            moved = True
            shift = found - states[i]
            states[i] = found
            for k in range(graph.near_start[i], graph.near_start[i + 1]):
                s = graph.near[k]
                f = graph.factor[s]
                cells[f] += shift * graph.stride[s]
                for t in range(graph.scope_start[f], graph.scope_start[f + 1]):
                    if graph.scope[t] != i:
                        waits[graph.scope[t]] = True
        if not moved:
            return


# From beliefs of single variables to one configuration of all.


@kernel
def margins(start, beliefs, margin, states):
    """Set each variable to its first best state, and by how much that is better than any other."""
    for i in range(states.shape[0]):
        best, second = -math.inf, -math.inf
        states[i] = 0
        for x in range(start[i + 1] - start[i]):
            value = beliefs[start[i] + x]
            if value > best:
                best, second = value, best
                states[i] = x
            else:
                second = max(second, value)
        margin[i] = math.inf if second == -math.inf else best - second


@kernel
def _choose(i, counts, near, graph, logs, beliefs, fixed, states, scores, local):
    """Set a variable to its best state by belief and factors, given what is fixed; tell if tied.

    Of each factor that counts it is the best cell that fits. The present state stays if it is as
    good as any.
    """
    start, stride, scope = graph.start, graph.stride, graph.scope
    size = start[i + 1] - start[i]
    for x in range(size):
        scores[x] = beliefs[start[i] + x]
    for k in range(graph.near_start[i], graph.near_start[i + 1]):
        s = graph.near[k]
        f = graph.factor[s]
        if not counts[f]:
            continue
        for x in range(size):
            local[x] = -math.inf
        for c in range(graph.cell_start[f + 1] - graph.cell_start[f]):
            fits = True
            for t in range(graph.scope_start[f], graph.scope_start[f + 1]):
                v = scope[t]
                if t != s and fixed[v]:
                    fits = fits and c // stride[t] % (start[v + 1] - start[v]) == states[v]
            if fits:
                x = c // stride[s] % size
                local[x] = max(local[x], logs[graph.cell_start[f] + c])
        for x in range(size):
            scores[x] += local[x]
    for x in range(size):
        states[i] = x if scores[x] > scores[states[i]] else states[i]
    best = scores[states[i]]
    for x in range(size):
        if x != states[i] and scores[x] > -math.inf and best - scores[x] <= near:
            return True
    return False


@kernel
def fix(order, counts, near, graph, logs, beliefs, fixed, states):
    """Fix variables in order at the best state by belief and by the factors that count.

    Neighbours of a fixed variable that are no longer tied, because all their other states are
    worse by more than ``near``, are fixed at once: what hangs together is chosen together.
    """
    n = states.shape[0]
    widest = 1
    for i in range(n):
        widest = max(widest, graph.start[i + 1] - graph.start[i])
    scores, local = np.empty(widest), np.empty(widest)
    stack, looks = np.empty(n, np.int64), np.zeros(n, np.int64)
    height = np.int64(0)
    for i in range(n):
        if fixed[i]:
            stack[height] = i
            height += 1
    for turn in range(-1, order.shape[0]):  # first what is fixed already
        if turn >= 0 and not fixed[order[turn]]:
            i = order[turn]
            _choose(i, counts, near, graph, logs, beliefs, fixed, states, scores, local)
            fixed[i] = True
            stack[height] = i
            height += 1
        while height > 0:
            height -= 1
            i = stack[height]
            for k in range(graph.near_start[i], graph.near_start[i + 1]):
                f = graph.factor[graph.near[k]]
                for t in range(graph.scope_start[f], graph.scope_start[f + 1]):
                    v = graph.scope[t]
                    if fixed[v] or not counts[f] or looks[v] == PATIENCE:
                        continue
                    looks[v] += 1
                    if not _choose(
                        v, counts, near, graph, logs, beliefs, fixed, states, scores, local
                    ):
                        fixed[v] = True
                        stack[height] = v
                        height += 1


# Sequential tree-reweighted max-product, in logs. A pair has one message at a time, to the end that
# is visited next. With the message m of a pair (i, j) that comes from below and the one it is
# replaced by on the way back,
#
#     D_i(x)  = θ_i(x) + Σ messages to i
#     m'(x_j) = max_x γ D_i(x) - m(x) + θ_ij(x, x_j)
#
# less its largest entry. States with D = -∞ have no possible configuration. What is subtracted adds
# up to an upper bound on every configuration's score as long as a node hands on no more than the
# whole of D_i, which is at most zero once its largest entry is taken off. The share γ is
# 1 / max(pairs to later nodes, pairs to earlier nodes), pairs by which trees hang left out. A node
# of a tree hands all on to the one above, so that what it says does not depend on what it is told;
# and what it is told costs nothing: max_x γ D(x) - m(x) + m(x) = 0.


@kernel
def peel(n, first, second, order, is_tree):
    """List nodes that hang by one pair when their turn comes, or by none; return how many.

    The pairs by which they hang are marked. The neighbours of a node are kept as their exclusive
    or: of a leaf, it is the neighbour.
    """
    degree, others = np.zeros(n, np.int64), np.zeros(n, np.int64)
    through = np.zeros(n, np.int64)
    for e in range(first.shape[0]):
        a, b = first[e], second[e]
        degree[a] += 1
        degree[b] += 1
        others[a] ^= b
        others[b] ^= a
        through[a] ^= e
        through[b] ^= e
    count = np.int64(0)
    for i in range(n):
        leaf = np.int64(i)
        while degree[leaf] == 1:
            order[count] = leaf
            count += 1
            is_tree[through[leaf]] = True
            above = others[leaf]
            degree[leaf] = -1
            degree[above] -= 1
            others[above] ^= leaf
            through[above] ^= through[leaf]
            if above > i:
                break  # its turn comes
            leaf = above
    for i in range(n):
        if degree[i] == 0:
            order[count] = i
            count += 1
    return count


@kernel
def _code(x, stride, size, at, codes):
    """Return the state of a variable in a state of its cluster."""
    return codes[at + x] // stride % size


@kernel
def _best(size, own, coming, total):
    """Find the best state given earlier states and messages of what comes; else by messages."""
    best, largest = 0, -math.inf
    for x in range(size):
        if own[x] + coming[x] > largest + _NEAR:
            best, largest = x, own[x] + coming[x]
    if largest == -math.inf:
        for x in range(size):
            if total[x] > largest:
                best, largest = x, total[x]
    return best


@kernel(visits=3)
def sweep(forward, field, ways, message, states, parts):
    """Visit nodes in order or back; write their states and parts of the bound; return the score.

    The bound is the sum of the parts. It stops where nothing is possible: a part is -inf. All is
    written out here, because a call with so many arrays costs more than a small table.
    """
    n_states, start, codes, tables = field.n_states, field.start, field.codes, field.tables
    first, second, stride = field.first, field.second, field.stride
    order, place, room = ways.order, ways.place, ways.room
    widest = 1
    for i in range(n_states.shape[0]):
        widest = max(widest, n_states[i])
    total, here = np.empty(widest), np.empty(widest)
    own, coming = np.empty(widest), np.empty(widest)
    score = 0.0
    for turn in range(order.shape[0]):
        p = order[turn if forward else order.shape[0] - 1 - turn]
        size = n_states[p]
        for x in range(size):
            coming[x] = 0.0
            own[x] = total[x] = field.values[start[p] + x]
        for k in range(ways.slot_start[p], ways.slot_start[p + 1]):
            e = ways.slots[k]
            is_first, step = first[e] == p, stride[e]
            other, at = second[e] if is_first else first[e], room[e]
            for x in range(size):
                total[x] += message[at + x]
            if (place[other] > place[p]) == forward:
                for x in range(size):
                    coming[x] += message[at + x]
                continue
            state = states[other]
            cell, along = field.table[e] + state * size, 1
            if is_first:
                cell, along = field.table[e] + state, n_states[other]
            if step > 0 and is_first:
                state = _code(state, step, size, start[other], codes)
            for x in range(size):
                if step == 0:
                    entry = tables[cell + x * along]
                elif is_first:
                    entry = 0.0 if x == state else -math.inf
                else:
                    mine = _code(x, step, n_states[other], start[p], codes)
                    entry = 0.0 if mine == state else -math.inf
                own[x] += entry
        states[p] = _best(size, own, coming, total)
        score += own[states[p]]
        top = -math.inf
        for x in range(size):
            top = max(top, total[x])
        parts[turn] = top
        if top == -math.inf:
            return top
        for x in range(size):
            total[x] = ways.gamma[p] * (total[x] - top) if total[x] > -math.inf else -math.inf
        for k in range(ways.slot_start[p], ways.slot_start[p + 1]):
            e = ways.slots[k]
            is_first, step, table = first[e] == p, stride[e], field.table[e]
            other, at = second[e] if is_first else first[e], room[e]
            if (place[other] > place[p]) != forward:
                continue
            for x in range(size):
                here[x] = total[x] - message[at + x] if total[x] > -math.inf else -math.inf
            to = n_states[other]
            along, across = (to, 1) if is_first else (1, size)
            for y in range(to):
                most = -math.inf
                if step == 0:
                    for x in range(size):
                        most = max(most, here[x] + tables[table + x * along + y * across])
                elif is_first:
                    most = here[_code(y, step, size, start[other], codes)]
                message[at + y] = most
            if step > 0 and not is_first:
                for x in range(size):
                    y = _code(x, step, to, start[p], codes)
                    message[at + y] = max(message[at + y], here[x])
            largest = -math.inf
            for y in range(to):
                largest = max(largest, message[at + y])
            parts[turn] += largest
            if largest == -math.inf:
                return largest
            for y in range(to):
                message[at + y] -= largest
    return score


# A minimum cut by the algorithm of Boykov and Kolmogorov (2004): two search trees that stay. A tree
# grows from the source, another one from the sink. Where they touch there is a path, along which as
# much is sent as its narrowest arc takes. Nodes that lose the arc to their parent are orphans: they
# find another parent in their tree, or leave it.
#
# Arcs lie node after node, those of node i from ``arc_start[i]`` on. Arc a goes to ``head[a]``, its
# ``residual`` is what it still takes, and ``sister[a]`` is the same arc the other way. ``terminal``
# is what the source can still send to a node, or less than zero: what the node can still send to
# the sink. A capacity may be infinite: it stays so, whatever is sent.

#: Sides of a cut; a node on neither can be moved to either, with all others of its kind.
SOURCE, SINK, NEITHER = 1, -1, 0
#: Parents that are no arcs: the terminal itself, one to be looked for, none.
TERMINAL, ORPHAN, FREE = -1, -2, -3
#: No node.
NOBODY = -1
#: Registers: first and last active node, first and last orphan, the time.
FIRST, LAST, FIRST_ORPHAN, LAST_ORPHAN, TIME = 0, 1, 2, 3, 4


class Arcs(NamedTuple):
    """The arcs of all nodes."""

    start: Any
    head: Any
    sister: Any
    residual: Any


#: Columns of what the two search trees know of each node: its side; its parent, which is an arc;
#: when its distance to the terminal was found out, and this; its follower in the queue of active
#: nodes, itself for the last; and the next orphan.
SIDE, PARENT, STAMP, DISTANCE, FOLLOWER, NEXT_ORPHAN = range(6)


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
    arcs = Arcs(start, np.empty(2 * m, np.int32), np.empty(2 * m, np.int32), np.empty(2 * m))
    for e in range(m):
        i, j = tail[e], head[e]
        there, back = free[i], free[j]
        if i == j:
            back += 1
        free[i] += 1
        free[j] += 1
        arcs.head[there], arcs.head[back] = j, i
        arcs.sister[there], arcs.sister[back] = back, there
        arcs.residual[there], arcs.residual[back] = capacity[e], reverse[e]
    return arcs


@kernel
def _activate(i, tree, register):
    """Put a node at the end of the queue of active ones."""
    if tree[i, FOLLOWER] == NOBODY:
        if register[LAST] == NOBODY:
            register[FIRST] = i
        else:
            tree[register[LAST], FOLLOWER] = i
        register[LAST] = i
        tree[i, FOLLOWER] = i


@kernel
def _next_active(tree, register):
    """Take the next active node that is in a tree off the queue."""
    while register[FIRST] != NOBODY:
        i = register[FIRST]
        if tree[i, FOLLOWER] == i:
            register[FIRST] = NOBODY
            register[LAST] = NOBODY
        else:
            register[FIRST] = tree[i, FOLLOWER]
        tree[i, FOLLOWER] = NOBODY
        if tree[i, PARENT] != FREE:
            return i
    return np.int64(NOBODY)


@kernel
def _hang(j, i, arc, tree):
    """Hang a node by an arc, one step further from the terminal than the other."""
    tree[j, PARENT] = arc
    tree[j, STAMP] = tree[i, STAMP]
    tree[j, DISTANCE] = tree[i, DISTANCE] + 1


@kernel
def _grow(i, arcs, tree, register):
    """Take the neighbours of a node into its tree; return the arc that leads to the other tree."""
    mine = tree[i, SIDE]
    for a in range(arcs.start[i], arcs.start[i + 1]):
        toward = a if mine == SOURCE else arcs.sister[a]
        if arcs.residual[toward] > 0.0:
            j = arcs.head[a]
            if tree[j, PARENT] == FREE:
                tree[j, SIDE] = mine
                _hang(j, i, arcs.sister[a], tree)
                _activate(j, tree, register)
            elif tree[j, SIDE] != mine:
                return np.int64(toward)
            elif tree[j, STAMP] <= tree[i, STAMP] and tree[j, DISTANCE] > tree[i, DISTANCE]:
                _hang(j, i, arcs.sister[a], tree)
    return np.int64(-1)


@kernel
def _make_orphan(i, front, tree, register):
    """Take a node from its parent, and put it in the list of orphans."""
    tree[i, PARENT] = ORPHAN
    if register[FIRST_ORPHAN] == NOBODY:
        register[FIRST_ORPHAN] = i
        register[LAST_ORPHAN] = i
        tree[i, NEXT_ORPHAN] = NOBODY
    elif front:
        tree[i, NEXT_ORPHAN] = register[FIRST_ORPHAN]
        register[FIRST_ORPHAN] = i
    else:
        tree[register[LAST_ORPHAN], NEXT_ORPHAN] = i
        tree[i, NEXT_ORPHAN] = NOBODY
        register[LAST_ORPHAN] = i


@kernel
def _narrowest(middle, arcs, terminal, tree):
    """Find how much the path through an arc between the trees can take."""
    most = arcs.residual[middle]
    i = arcs.head[arcs.sister[middle]]
    while tree[i, PARENT] != TERMINAL:
        most = min(most, arcs.residual[arcs.sister[tree[i, PARENT]]])
        i = arcs.head[tree[i, PARENT]]
    most = min(most, terminal[i])
    i = arcs.head[middle]
    while tree[i, PARENT] != TERMINAL:
        most = min(most, arcs.residual[tree[i, PARENT]])
        i = arcs.head[tree[i, PARENT]]
    return min(most, -terminal[i])


@kernel
def _augment(middle, most, arcs, terminal, sent, tree, register):
    """Send that much from the source to the sink; who loses the arc to the parent is an orphan."""
    residual, sister = arcs.residual, arcs.sister
    residual[middle] -= most
    residual[sister[middle]] += most
    for side in (SOURCE, SINK):
        i = arcs.head[sister[middle]] if side == SOURCE else arcs.head[middle]
        while tree[i, PARENT] != TERMINAL:
            a = tree[i, PARENT]
            down = sister[a] if side == SOURCE else a
            residual[down] -= most
            residual[sister[down]] += most
            if residual[down] <= 0.0:
                _make_orphan(i, True, tree, register)  # noqa: FBT003 - compiled
            i = arcs.head[a]
        terminal[i] -= side * most
        if side == SOURCE:
            sent[i] += most
        if terminal[i] * side <= 0.0:
            _make_orphan(i, True, tree, register)  # noqa: FBT003 - compiled


@kernel
def _new_parent(i, arcs, tree, time):
    """Find an orphan the parent nearest to the terminal; whoever was asked keeps the answer."""
    best, nearest = np.int64(FREE), np.int64(1) << 62
    for a in range(arcs.start[i], arcs.start[i + 1]):
        toward = arcs.sister[a] if tree[i, SIDE] == SOURCE else a
        j = arcs.head[a]
        if arcs.residual[toward] <= 0.0 or tree[j, SIDE] != tree[i, SIDE]:
            continue
        if tree[j, PARENT] == FREE:
            continue
        steps = np.int64(0)
        while tree[j, STAMP] != time and tree[j, PARENT] >= 0:
            steps += 1
            j = arcs.head[tree[j, PARENT]]
        if tree[j, PARENT] == ORPHAN:
            continue
        if tree[j, STAMP] == time:
            steps += tree[j, DISTANCE]
        else:
            tree[j, STAMP] = time
            tree[j, DISTANCE] = 1
            steps += 1
        if steps < nearest:
            best, nearest = np.int64(a), steps
        j = arcs.head[a]
        while tree[j, STAMP] != time:
            tree[j, STAMP] = time
            tree[j, DISTANCE] = steps
            steps -= 1
            j = arcs.head[tree[j, PARENT]]
    if best != FREE:
        tree[i, STAMP] = time
        tree[i, DISTANCE] = nearest + 1
    return best


@kernel
def _adopt(arcs, tree, register):
    """Find new parents for all orphans; those without leave the tree, and so orphan others."""
    while register[FIRST_ORPHAN] != NOBODY:
        i = register[FIRST_ORPHAN]
        register[FIRST_ORPHAN] = tree[i, NEXT_ORPHAN]
        tree[i, PARENT] = _new_parent(i, arcs, tree, register[TIME])
        if tree[i, PARENT] != FREE:
            continue
        mine = tree[i, SIDE]
        for a in range(arcs.start[i], arcs.start[i + 1]):
            j = arcs.head[a]
            if tree[j, SIDE] != mine or tree[j, PARENT] == FREE:
                continue
            if arcs.residual[arcs.sister[a] if mine == SOURCE else a] > 0.0:
                _activate(j, tree, register)
            if tree[j, PARENT] >= 0 and arcs.head[tree[j, PARENT]] == i:
                _make_orphan(j, False, tree, register)  # noqa: FBT003 - compiled


@kernel(visits=3)
def cut_network(terminal, side, sent, arcs):
    """Find a minimum cut: write the side of each node, and what the source sends through it.

    What was sent adds up to the largest flow. The residuals and ``terminal`` become what it leaves.
    Returns False, and stops, at a path of infinite capacity: then no cut is finite.
    """
    n = terminal.shape[0]
    tree, register = np.zeros((n, 6), np.int64), np.full(5, NOBODY)
    register[TIME] = 0
    for i in range(n):
        tree[i, FOLLOWER] = NOBODY
        tree[i, DISTANCE] = 1
        tree[i, PARENT] = FREE if terminal[i] == 0.0 else TERMINAL
        tree[i, SIDE] = SOURCE if terminal[i] > 0.0 else SINK
        if terminal[i] != 0.0:
            _activate(i, tree, register)
    current = np.int64(NOBODY)
    while True:
        if current == NOBODY or tree[current, PARENT] == FREE:
            current = _next_active(tree, register)
            if current == NOBODY:
                break
        middle = _grow(current, arcs, tree, register)
        register[TIME] += 1
        if middle < 0:
            current = np.int64(NOBODY)
            continue
        most = _narrowest(middle, arcs, terminal, tree)
        if most == np.inf:
            return False
        _augment(middle, most, arcs, terminal, sent, tree, register)
        _adopt(arcs, tree, register)
    for i in range(n):
        side[i] = NEITHER if tree[i, PARENT] == FREE else tree[i, SIDE]
    return True
