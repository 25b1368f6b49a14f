"""The search for an elimination order: greedy tries, then refinement, for as long as it pays."""

import numpy as np

from credo._kernels._jit import kernel
from credo._kernels.elimination_graph import HOPELESS, LENGTH, START, measure, neighbours
from credo._kernels.elimination_order import GIVEN, eliminate, weigh
from credo._kernels.elimination_refinement import BITS, CHILD, NEXT, PARENT, SIZE, refine

#: Units of work (about 5 ns) that a cell of the best order is worth: a quarter of a first answer,
#: which takes about 4 ns a cell. Mean cells over eight seeds, as parts of weighted min-fill, for
#: 0.1, 0.2, 0.4: insurance .80 .52 .44, andes 1 1 .89, pigs 1 .97 .87, water .83 .83 .83,
#: munin2 .63 .51 .46, munin .67 .66 .65, link .60 .60 .60, munin1 .35 .35 .35. Search and first
#: answer together are then .79, .81 and .88 of the plain order (geometric mean), and later
#: answers are cheaper the longer the search.
SHARE = 0.2
#: Part of that for greedy tries after the first.
GREEDY_SHARE = 0.1
#: Units that one unit of a greedy try takes, and that a variable takes in refinement.
GREEDY, PLANTING = 2.0, 32.0


@kernel
def _plant(n_states, count, pool, sequence, tail, width):
    """Build the clique tree of an order; give its links, cliques and cells."""
    n = sequence.shape[0]
    position = np.empty(n, np.int64)
    for i in range(n):
        position[sequence[i]] = i
    tree = np.full((n, 4), -1, np.int64)
    rest = np.empty((n, min(BITS, 2 * width + 4)), np.int32)
    cells = np.empty(n)
    for i in range(n):
        v = sequence[i]
        size = count[v, LENGTH] if i < tail else n - 1 - i
        tree[v, SIZE] = size
        cells[v] = n_states[v]
        soonest = n
        for j in range(size):
            u = pool[count[v, START] + j] if i < tail else sequence[i + 1 + j]
            rest[v, j] = u
            cells[v] *= n_states[u]
            soonest = min(soonest, position[u])
        if size:
            tree[v, PARENT] = sequence[soonest]
    for i in range(n):
        v = sequence[i]
        above = tree[v, PARENT]
        if above >= 0:
            tree[v, NEXT] = tree[above, CHILD]
            tree[above, CHILD] = v
            if tree[v, SIZE] == tree[above, SIZE] + 1:
                cells[above] = 0.0
    return tree, rest, cells


@kernel
def _unroll(tree, group, sequence):
    """Write an order of the tree: children before parents, and group 0 before group 1."""
    n = sequence.shape[0]
    waiting = np.zeros(n, np.int64)
    for v in range(n):
        if tree[v, PARENT] >= 0:
            waiting[tree[v, PARENT]] += 1
    done = 0
    end = 0
    for which in range(2):
        for v in range(n):
            if group[v] == which and waiting[v] == 0:
                sequence[end] = v
                end += 1
        while done < end:
            above = tree[sequence[done], PARENT]
            done += 1
            if above >= 0:
                waiting[above] -= 1
                if waiting[above] == 0 and group[above] == which:
                    sequence[end] = above
                    end += 1


@kernel
def search(n_states, scope_start, scope, group, kinds, seed, budget, sequence, costs):
    """Write the best order found and its costs; give its heuristic, tries, and pieces tried.

    ``budget`` bounds the units of work; refinement needs one. With GIVEN as the only kind,
    the order is the one that ``sequence`` holds.
    """
    n = n_states.shape[0]
    start, out = neighbours(n, scope_start, scope)
    count, real = measure(n_states, start, out, group)
    trial = sequence.copy()
    trial_costs = np.empty(4)
    best = -1
    tries = 0
    spent = 0.0
    costs[1] = np.inf
    for kind in kinds:
        if best >= 0 and spent > GREEDY_SHARE * costs[1]:
            break
        now, now_real = count.copy(), real.copy()
        tail, pool, joins, work = eliminate(now, now_real, start, out, kind, costs[1], trial)
        tries += 1
        spent += GREEDY * work
        if tail < 0:
            continue
        weigh(now, now_real, pool, trial, tail, trial_costs)
        if best < 0 or trial_costs[1] < costs[1]:
            best = kind
            costs[:] = trial_costs
            sequence[:] = trial
            kept, kept_pool, kept_tail = now, pool, tail
        if joins == 0:  # no order does without these cliques
            return best, tries, 0
    worth = min(budget, SHARE * costs[1]) - spent
    if worth < PLANTING * n or costs[3] >= BITS - 1 or costs[0] > HOPELESS:
        return best, tries, 0
    tree, rest, cells = _plant(n_states, kept, kept_pool, sequence, kept_tail, int(costs[3]))
    pieces = refine(n_states, start, out, group, tree, rest, cells, seed, SHARE, worth)
    _unroll(tree, group, trial)
    tail, pool, _, _ = eliminate(count, real, start, out, GIVEN, np.inf, trial)
    weigh(count, real, pool, trial, tail, trial_costs)
    if trial_costs[1] < costs[1]:
        costs[:] = trial_costs
        sequence[:] = trial
    return best, tries, pieces
