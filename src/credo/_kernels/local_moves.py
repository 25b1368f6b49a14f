"""Better configurations by changing single variables, for factors of any size.

The place of a factor's chosen cell is kept, so that a variable's move shifts it by the stride of
the variable's axis. Configurations are compared by their number of zeros first, then by the sum of
the other logs: also from an impossible start there is a way up.
"""

import math

import numpy as np

from credo._kernels.tiers import kernel

#: The distance between one and the next number.
EPSILON = 2.0**-52
#: How often, on average, a variable that is tied lets others pass: it bounds the work.
PATIENCE = 20


@kernel
def axis_strides(n_states, scope_start, scope, stride):
    """Set the stride of each axis of each table, the last axis being fastest."""
    for f in range(scope_start.shape[0] - 1):
        step = np.int64(1)
        for s in range(scope_start[f + 1] - 1, scope_start[f] - 1, -1):
            stride[s] = step
            step *= n_states[scope[s]]


@kernel
def slots_of(n, scope_start, scope, slot_start, slots, factor):
    """List the slots of each variable, and the factor of each slot."""
    for s in range(scope.shape[0]):
        slot_start[scope[s] + 1] += 1
    for i in range(n):
        slot_start[i + 1] += slot_start[i]
    free = slot_start.copy()
    for f in range(scope_start.shape[0] - 1):
        for s in range(scope_start[f], scope_start[f + 1]):
            slots[free[scope[s]]] = s
            free[scope[s]] += 1
            factor[s] = f


@kernel
def chosen_cells(scope_start, scope, cell_start, stride, states, cell):
    """Set the place of each factor's chosen cell."""
    for f in range(cell.shape[0]):
        cell[f] = cell_start[f]
        for s in range(scope_start[f], scope_start[f + 1]):
            cell[f] += states[scope[s]] * stride[s]


@kernel
def _weigh(i, state, states, slot_start, slots, factor, stride, logs, cell):
    """Count the zeros, add up the other logs and their sizes, were a variable in this state."""
    zeros, total, size = np.int64(0), 0.0, 0.0
    shift = state - states[i]
    for k in range(slot_start[i], slot_start[i + 1]):
        s = slots[k]
        value = logs[cell[factor[s]] + shift * stride[s]]
        if value == -math.inf:
            zeros += 1
        else:
            total += value
            size += abs(value)
    return zeros, total, size


@kernel
def _best_state(i, count, states, slot_start, slots, factor, stride, logs, cell):
    """Find a state that is better than the present one, beyond what rounding can do."""
    found = states[i]
    zeros, total, size = _weigh(i, found, states, slot_start, slots, factor, stride, logs, cell)
    # each term adds at most one rounding error to its sum, of the size of all terms together
    rounding = EPSILON * (slot_start[i + 1] - slot_start[i])
    for x in range(count):
        if x != states[i]:
            z, t, a = _weigh(i, x, states, slot_start, slots, factor, stride, logs, cell)
            if z < zeros or (z == zeros and t - total > rounding * (a + size)):
                found, zeros, total, size = np.int64(x), z, t, a
    return found


@kernel
def climb(
    n_states, scope_start, scope, slot_start, slots, factor, stride, logs, states, cell, sweeps
):
    """Move one variable after the other to its best state until none moves; give the sweeps.

    A variable is looked at again only after one of its neighbours moved. Ends at zero less than the
    number of sweeps if variables still move after as many.
    """
    n = n_states.shape[0]
    waits = np.ones(n, np.bool_)
    for done in range(sweeps):
        moved = False
        for i in range(n):
            if not waits[i]:
                continue
            waits[i] = False
            found = _best_state(
                i, n_states[i], states, slot_start, slots, factor, stride, logs, cell
            )
            if found == states[i]:
                continue
            moved = True
            shift = found - states[i]
            states[i] = found
            for k in range(slot_start[i], slot_start[i + 1]):
                s = slots[k]
                f = factor[s]
                cell[f] += shift * stride[s]
                for t in range(scope_start[f], scope_start[f + 1]):
                    if scope[t] != i:
                        waits[scope[t]] = True
        if not moved:
            return np.int64(done + 1)
    return np.int64(-sweeps)


@kernel
def _top(i, above):
    """Give the first node of a tree; paths get shorter."""
    while above[i] != i:
        above[i] = above[above[i]]
        i = above[i]
    return i


@kernel
def grow_forest(order, start, neighbours, chosen):
    """Choose nodes in order as long as no cycle closes among the chosen ones."""
    above = np.arange(order.shape[0])
    seen = np.zeros(order.shape[0], np.int64)
    for turn in range(order.shape[0]):
        i = order[turn]
        fits = True
        for k in range(start[i], start[i + 1]):
            if chosen[neighbours[k]]:
                top = _top(neighbours[k], above)
                fits = fits and seen[top] != turn + 1
                seen[top] = turn + 1
        if fits:
            chosen[i] = True
            for k in range(start[i], start[i + 1]):
                if chosen[neighbours[k]]:
                    above[_top(neighbours[k], above)] = i


@kernel
def favoured(start, weights, states):
    """Set each variable to the first of its states with the largest weight."""
    for i in range(states.shape[0]):
        states[i] = 0
        for x in range(start[i + 1] - start[i]):
            if weights[start[i] + x] > weights[start[i] + states[i]]:
                states[i] = x


@kernel
def margins(start, beliefs, margin, states):
    """Set each variable to its first best state, and by how much that is better than any other."""
    for i in range(states.shape[0]):
        best, second = -math.inf, -math.inf
        for x in range(start[i + 1] - start[i]):
            value = beliefs[start[i] + x]
            if value > best:
                best, second = value, best
                states[i] = x
            else:
                second = max(second, value)
        margin[i] = math.inf if second == -math.inf else best - second


@kernel
def _look(
    i, hard, n_states, scope_start, scope, cell_start, slot_start, slots, factor, stride, logs,
    fixed, states, scores, local,
):  # fmt: skip
    """Add to each state the best of the variable's factors, given the variables that are fixed.

    ``hard`` are the factors with zeros if these alone count: then a state is possible or not.
    """
    size = n_states[i]
    for k in range(slot_start[i], slot_start[i + 1]):
        s = slots[k]
        f = factor[s]
        if not hard[f]:
            continue
        for x in range(size):
            local[x] = -math.inf
        for c in range(cell_start[f + 1] - cell_start[f]):
            fits = True
            for t in range(scope_start[f], scope_start[f + 1]):
                v = scope[t]
                if t != s and fixed[v] and c // stride[t] % n_states[v] != states[v]:
                    fits = False
            if fits:
                x = c // stride[s] % size
                local[x] = max(local[x], logs[cell_start[f] + c])
        for x in range(size):
            scores[x] += local[x]


@kernel
def _take_best(i, size, scores, near, states):
    """Set a variable to the best state, the present one if it is as good; tell if it is tied."""
    for x in range(size):
        states[i] = x if scores[x] > scores[states[i]] else states[i]
    best = scores[states[i]]
    for x in range(size):
        if x != states[i] and scores[x] > -math.inf and best - scores[x] <= near:
            return True
    return False


@kernel
def fix_clear(
    order, hard, zeros, n_states, scope_start, scope, cell_start, slot_start, slots, factor,
    stride, start, beliefs, fixed, states,
):  # fmt: skip
    """Fix variables in order at the best state by belief that the zeros of factors leave them.

    ``zeros`` is minus infinity at the zeros, else zero. Who has one state left is fixed at once.
    """
    widest = 1
    for i in range(n_states.shape[0]):
        widest = max(widest, n_states[i])
    scores, local = np.empty(widest), np.empty(widest)
    stack = np.empty(n_states.shape[0], np.int64)
    shape = (n_states, scope_start, scope, cell_start, slot_start, slots, factor, stride)
    for turn in range(order.shape[0]):
        if fixed[order[turn]]:
            continue
        stack[0] = order[turn]
        height = np.int64(1)
        for x in range(n_states[stack[0]]):
            scores[x] = beliefs[start[stack[0]] + x]
        _look(stack[0], hard, *shape, zeros, fixed, states, scores, local)
        _take_best(stack[0], n_states[stack[0]], scores, 0.0, states)
        fixed[stack[0]] = True
        while height > 0:
            height -= 1
            i = stack[height]
            for k in range(slot_start[i], slot_start[i + 1]):
                f = factor[slots[k]]
                for t in range(scope_start[f], scope_start[f + 1]):
                    v = scope[t]
                    if fixed[v] or not hard[f]:
                        continue
                    for x in range(n_states[v]):
                        scores[x] = 0.0
                    _look(v, hard, *shape, zeros, fixed, states, scores, local)
                    if not _take_best(v, n_states[v], scores, 0.0, states):
                        fixed[v] = True
                        stack[height] = v
                        height += 1


@kernel
def _invite(i, scope_start, scope, slot_start, slots, factor, waits, queue, tail):
    """Put the neighbours of a variable that are neither fixed nor waiting at the queue's end."""
    for k in range(slot_start[i], slot_start[i + 1]):
        f = factor[slots[k]]
        for t in range(scope_start[f], scope_start[f + 1]):
            if not waits[scope[t]]:
                queue[tail % queue.shape[0]] = scope[t]
                waits[scope[t]] = True
                tail += 1
    return tail


@kernel
def fix_tied(
    every, near, n_states, scope_start, scope, cell_start, slot_start, slots, factor, stride,
    logs, start, beliefs, fixed, states,
):  # fmt: skip
    """Fix the variables that are left, by belief and by ``every`` factor given those fixed so far.

    Neighbours of fixed variables come first, and who is still tied lets others pass, so that what
    hangs together is chosen together.
    """
    n = n_states.shape[0]
    widest = 1
    for i in range(n):
        widest = max(widest, n_states[i])
    scores, local = np.empty(widest), np.empty(widest)
    queue = np.empty(n, np.int64)
    waits = fixed.copy()
    head, tail, seed, passed = np.int64(0), np.int64(0), np.int64(0), np.int64(0)
    patience = np.int64(PATIENCE * n)
    for i in range(n):
        if fixed[i]:
            tail = _invite(i, scope_start, scope, slot_start, slots, factor, waits, queue, tail)
    while True:
        while seed < n and fixed[seed]:
            seed += 1
        if seed == n:
            return
        if head == tail:
            queue[tail % n] = seed
            waits[seed] = True
            tail += 1
        i = queue[head % n]
        head += 1
        for x in range(n_states[i]):
            scores[x] = beliefs[start[i] + x]
        _look(
            i, every, n_states, scope_start, scope, cell_start, slot_start, slots, factor,
            stride, logs, fixed, states, scores, local,
        )  # fmt: skip
        tied = _take_best(i, n_states[i], scores, near, states)
        if tied and passed < tail - head and patience > 0:
            queue[tail % n] = i
            tail += 1
            passed += 1
            patience -= 1
            continue
        fixed[i] = True
        passed = np.int64(0)
        tail = _invite(i, scope_start, scope, slot_start, slots, factor, waits, queue, tail)
