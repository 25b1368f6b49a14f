r"""Gibbs sampling, one variable after the other; and the search for a state to begin in.

``logs`` holds the logs of the cells of all tables. A *link* is a factor of two or more variables
and one of its variables. ``near`` is (L, 2), with the factor and the stride in its table for each
link; those of v are near_start[v] … near_start[v + 1] - 1. ``cells`` is (F,), the cell of each
factor that the states point to: it is kept up to date, so that a variable of k states with d links
takes O(d k), whatever the number of variables of its factors.

``field`` is (2, S), where S is the number of all states and those of v begin at start[v]: the log
of the base, and that of what depends on the variable alone. At inverse temperature b in [0, 1] the
log of the target is, up to a constant,

    (1 - b) Σ_v base_v(x_v) + b (Σ_v field_v(x_v) + Σ_f log ψ_f(x_f)).
"""

import math

import numpy as np

from credo._kernels.tiers import kernel

#: Columns of ``near``, and rows of ``field``.
FACTOR, STRIDE = 0, 1
BASE, OWN = 0, 1
#: Columns of ``plan``, which says for each sweep where its outcome goes; -1 for nowhere.
BATCH, HALF, KEPT = 0, 1, 2


@kernel
def locate(near_start, near, cell_start, states, cells):
    """Write the cell that the states point to in each factor."""
    for f in range(cells.size):
        cells[f] = cell_start[f]
    for v in range(states.size):
        for i in range(near_start[v], near_start[v + 1]):
            cells[near[i, FACTOR]] += near[i, STRIDE] * states[v]


@kernel
def energy(start, field, logs, states, cells):
    """Give how much the log of the target grows with the inverse temperature."""
    total = 0.0
    for v in range(states.size):
        total += field[OWN, start[v] + states[v]] - field[BASE, start[v] + states[v]]
    for f in range(cells.size):
        total += logs[cells[f]]
    return total


@kernel
def move(near_start, near, states, cells, v, new):
    """Give a variable another state."""
    step = new - states[v]
    if step != 0:
        states[v] = new
        for i in range(near_start[v], near_start[v + 1]):
            cells[near[i, FACTOR]] += near[i, STRIDE] * step


@kernel
def pick(weights, first, count, total, u):
    """Give the number of a weight, from the first, in proportion; never one that is zero."""
    left = u * total
    chosen = np.int64(-1)
    for s in range(count):
        if weights[first + s] > 0.0:
            chosen = s
            left -= weights[first + s]
            if left < 0.0:
                break
    return chosen


@kernel
def _weigh(start, field, near_start, near, logs, beta, states, cells, v, work):
    """Write what the states of v weigh given all other variables, the heaviest one; give the sum.

    The state that v is in is possible, so there is a largest log.
    """
    first, k, x = start[v], start[v + 1] - start[v], states[v]
    for s in range(k):
        work[s] = field[OWN, first + s]
    for i in range(near_start[v], near_start[v + 1]):
        stride = near[i, STRIDE]
        cell = cells[near[i, FACTOR]] - x * stride
        for s in range(k):
            work[s] += logs[cell + s * stride]
    largest = -math.inf
    for s in range(k):
        work[s] = (1.0 - beta) * field[BASE, first + s] + beta * work[s]
        largest = max(largest, work[s])
    total = 0.0
    for s in range(k):
        work[s] = math.exp(work[s] - largest)
        total += work[s]
    return total


@kernel
def _pair(start, field, near_start, near, logs, beta, states, cells, v, work):
    """Do the same for two states, in registers: they are most of what is sampled."""
    first, x = start[v], states[v]
    zero, one = field[OWN, first], field[OWN, first + 1]
    for i in range(near_start[v], near_start[v + 1]):
        stride = near[i, STRIDE]
        cell = cells[near[i, FACTOR]] - x * stride
        zero += logs[cell]
        one += logs[cell + stride]
    ahead = (1.0 - beta) * (field[BASE, first + 1] - field[BASE, first]) + beta * (one - zero)
    less = math.exp(-abs(ahead))
    work[0] = less if ahead > 0.0 else 1.0
    work[1] = 1.0 if ahead > 0.0 else less
    return 1.0 + less


@kernel(visits=5)
def run_sites(
    start,
    field,
    near_start,
    near,
    logs,
    beta,
    plan,
    u,
    states,
    cells,
    work,
    sums,
    visits,
    trace,
):
    """Sweep over all variables in order; give the log of the weight gained between temperatures.

    Sweep t is at inverse temperature beta[t + 1], after beta[t], and takes the uniform numbers
    u[t]. Where plan[t] says so, conditional probabilities are added to ``sums`` (rows are batches),
    one is added to ``visits`` (rows are halves), and the states are written to ``trace``. ``work``
    is (K,) for at most K states.
    """
    gained = 0.0
    for t in range(u.shape[0]):
        b = beta[t + 1]
        batch, half, kept = plan[t, BATCH], plan[t, HALF], plan[t, KEPT]
        if b != beta[t]:
            gained += (b - beta[t]) * energy(start, field, logs, states, cells)
        for v in range(states.size):
            k = start[v + 1] - start[v]
            if k == 2:
                total = _pair(start, field, near_start, near, logs, b, states, cells, v, work)
                new = np.int64(u[t, v] * total >= work[0])
            else:
                total = _weigh(start, field, near_start, near, logs, b, states, cells, v, work)
                new = pick(work, 0, k, total, u[t, v])
            move(near_start, near, states, cells, v, new)
            if batch >= 0:
                for s in range(k):
                    sums[batch, start[v] + s] += work[s] / total
            if half >= 0:
                visits[half, start[v] + new] += 1
            if kept >= 0:
                trace[kept, v] = new
    return gained


@kernel
def _dead_ends(start, near, i, scope_start, scope, stride, cell_start, logs, assigned, v, dead):
    """Count, for each state of v, whether a factor has no cell left beside the assigned ones."""
    f = near[i, FACTOR]
    k = start[v + 1] - start[v]
    size = 1
    for a in range(scope_start[f], scope_start[f + 1]):
        size *= start[scope[a] + 1] - start[scope[a]]
    for s in range(k):
        dead[s] += 1
    alive = np.int64(0)
    for c in range(size):
        if logs[cell_start[f] + c] == -math.inf:
            continue
        agrees = True
        for a in range(scope_start[f], scope_start[f + 1]):
            x = assigned[scope[a]]
            width = start[scope[a] + 1] - start[scope[a]]
            agrees = agrees and (x < 0 or x == c // stride[a] % width)
        s = c // near[i, STRIDE] % k
        if agrees and dead[k + s] != i + 1:
            dead[k + s] = i + 1
            dead[s] -= 1
            alive += 1
            if alive == k:
                break


@kernel
def look_ahead(
    start, field, near_start, near, scope_start, scope, stride, cell_start, logs, u, dead, states
):
    """Give each variable in turn a state, at random among those that kill the fewest factors.

    A factor is dead if none of its cells that are left is positive. ``states`` comes as -1
    everywhere; ``dead`` is (2 K,) and comes as zeros.
    """
    for v in range(states.size):
        k = start[v + 1] - start[v]
        for s in range(2 * k):
            dead[s] = 0
        for i in range(near_start[v], near_start[v + 1]):
            _dead_ends(
                start, near, i, scope_start, scope, stride, cell_start, logs, states, v, dead
            )
        fewest, ties = np.int64(near.shape[0] + 1), np.int64(0)
        for s in range(k):
            if field[OWN, start[v] + s] > -math.inf and dead[s] <= fewest:
                ties = ties + 1 if dead[s] == fewest else np.int64(1)
                fewest = dead[s]
        left = np.int64(u[v] * ties)
        for s in range(k):
            if field[OWN, start[v] + s] > -math.inf and dead[s] == fewest:
                left -= 1
                if left < 0:
                    states[v] = s
                    break


@kernel
def _broken_by(near_start, near, logs, states, cells, v, s):
    """Count the factors of v that would be zero if v were in state s."""
    count = np.int64(0)
    for i in range(near_start[v], near_start[v + 1]):
        cell = cells[near[i, FACTOR]] + (s - states[v]) * near[i, STRIDE]
        if logs[cell] == -math.inf:
            count += 1
    return count


@kernel
def _note(logs, cells, f, broken, place, n_broken):
    """Put a factor on the list of those that are zero, or take it off; give the length."""
    is_broken = logs[cells[f]] == -math.inf
    if is_broken and place[f] < 0:
        place[f] = n_broken
        broken[n_broken] = f
        return n_broken + 1
    if not is_broken and place[f] >= 0:
        last = broken[n_broken - 1]
        broken[place[f]] = last
        place[last] = place[f]
        place[f] = -1
        return n_broken - 1
    return n_broken


@kernel
def _best_change(
    start, field, near_start, near, scope_start, scope, logs, states, cells, f, any_change, u
):
    """Give the change to a variable of f that leaves the fewest factors zero, or any; and if any.

    The changes are gone through twice: to count those that are as good as the best, and to take
    one of them at random.
    """
    fewest, ties, left = np.int64(near.shape[0] + 1), np.int64(0), np.int64(0)
    for is_second in range(2):
        left = np.int64(u * ties)
        for a in range(scope_start[f], scope_start[f + 1]):
            v = scope[a]
            for s in range(start[v + 1] - start[v]):
                if s == states[v] or field[OWN, start[v] + s] == -math.inf:
                    continue
                count = np.int64(0)
                if not any_change:
                    count = _broken_by(near_start, near, logs, states, cells, v, s)
                if is_second == 0 and count <= fewest:
                    ties = ties + 1 if count == fewest else np.int64(1)
                    fewest = count
                elif is_second == 1 and count == fewest:
                    left -= 1
                    if left < 0:
                        return v, s
    return np.int64(-1), np.int64(-1)


@kernel
def repair(
    start, field, near_start, near, scope_start, scope, logs, noise, u, states, cells, broken, place
):
    """Change states, one at a time, until no factor is zero; give how many still are.

    Each step takes three uniform numbers. It takes one of the broken factors, and makes the change
    to one of its variables that leaves the fewest broken; with chance ``noise``, any change. It
    ends early if that factor leaves no choice. ``broken`` and ``place`` are (F,), to work with.
    """
    n_broken = np.int64(0)
    for f in range(cells.size):
        place[f] = -1
    for f in range(cells.size):
        n_broken = _note(logs, cells, f, broken, place, n_broken)
    for t in range(u.shape[0]):
        if n_broken == 0:
            break
        v, new = _best_change(
            start,
            field,
            near_start,
            near,
            scope_start,
            scope,
            logs,
            states,
            cells,
            broken[np.int64(u[t, 0] * n_broken)],
            u[t, 1] < noise,
            u[t, 2],
        )
        if v < 0:
            break
        move(near_start, near, states, cells, v, new)
        for i in range(near_start[v], near_start[v + 1]):
            n_broken = _note(logs, cells, near[i, FACTOR], broken, place, n_broken)
    return n_broken
