r"""Gibbs sampling by blocks: variables that form trees given all others are drawn together.

A *block* is a set of variables among which the factors close no cycle. Given all other variables
it is a forest of variables and of the factors that join two or more of them, its *families*: one
variable of a family is the parent, nearest to the root, and the others are its children. From the
leaves up, with the factors that touch one variable of the block only already in a,

    a_p(x_p) += log Σ_{x_c} ψ_f(x_p, x_c) Π_c exp a_c(x_c)

and then from the roots down, x_p given, the children of each family are drawn together with
probability proportional to ψ_f(x_p, x_c) Π_c exp a_c(x_c). So the whole block is an exact draw.

Blocks of all partitions are numbered through. Block b has the variables member[i] for i from
of_block[b, MEMBERS] to of_block[b + 1, MEMBERS], parents first, and likewise roots and families.
Family j has the links family[i] for i from of_family[j, LOW] to of_family[j + 1, LOW], the
parent's first; a link is a row of ``near``, whose variable is ``ends`` of it. Its children have
of_family[j, COUNT] states together. Links of member i to factors outside the families are
outer[outer_start[i]:outer_start[i + 1]]. Other names as in ``gibbs_sweeps``. Everything is in
logs: products of many messages pass what float64 holds.

Kernels take the arrays in four tuples. ``model``: start, field, near_start, near, ends, logs.
``blocks``: of_block, member, roots, of_family, family, outer_start, outer. ``room``, to work in:
states, cells, the a of all states, their beliefs, two arrays as long as the children of a family
have states together, and the rows of a block, those of family j from of_family[j, ROW]. ``out``:
sums, visits, trace.
"""

import math

import numpy as np

from credo._kernels.gibbs_sweeps import (
    BASE,
    BATCH,
    FACTOR,
    HALF,
    KEPT,
    OWN,
    STRIDE,
    energy,
    move,
    pick,
)
from credo._kernels.tiers import kernel

#: Columns of ``plan`` beside those of ``gibbs_sweeps``: the blocks of the sweep.
FIRST, LAST = 3, 4
#: Columns of ``of_block``, where in its list a block begins; and the other lists.
MEMBERS, ROOTS, FAMILIES, LINKS, OUTER = 0, 1, 2, 3, 4
#: Columns of ``of_family``: its first link, its first row, and the states of its children.
LOW, ROW, COUNT = 0, 1, 2
#: In the place of the factor above: none, since it is a root, and none yet.
NONE, UNSEEN = -1, -2


@kernel
def _root_of(above, v):
    """Give the representative of a variable's tree; the way to it gets shorter."""
    while above[v] != v:
        above[v] = above[above[v]]
        v = above[v]
    return v


@kernel
def _inside(scope_start, scope, block_of, f, b, v):
    """Give a variable of a factor, other than v, that is in a block; or -1."""
    for a in range(scope_start[f], scope_start[f + 1]):
        if scope[a] != v and block_of[scope[a]] == b:
            return scope[a]
    return np.int64(-1)


@kernel
def _gain(near_start, near, scope_start, scope, weight, block_of, above, stamp, b, v):
    """Give the weight of the factors that v would join to a block; -1 if they closed a cycle.

    A variable joins the trees of its factors, so these have to be different.
    """
    total = 0.0
    for i in range(near_start[v], near_start[v + 1]):
        f = near[i, FACTOR]
        other = _inside(scope_start, scope, block_of, f, b, v)
        if other >= 0:
            tree = _root_of(above, other)
            if stamp[tree] == v * stamp.size + b:
                return -1.0
            stamp[tree] = v * stamp.size + b
            total += weight[f]
    return total


@kernel
def grow_blocks(
    order, near_start, near, scope_start, scope, weight, most, block_of, above, stamp, size
):
    """Put each variable, in order, into a block; give how many blocks there are.

    It goes where it joins the most, by weight, without a cycle; to the smallest such block, and to
    a new one if all are closed to it. From ``most`` blocks on, those that fit nowhere become
    blocks of their own. ``block_of`` comes as -1, ``above`` as 0 … n - 1, ``stamp`` (n,) as -1;
    ``size`` (n,) as zeros.
    """
    count = np.int64(0)
    for v in order:
        chosen, best = np.int64(-1), -1.0
        for b in range(min(count, most)):
            gain = _gain(near_start, near, scope_start, scope, weight, block_of, above, stamp, b, v)
            if gain > best or (gain == best and gain >= 0.0 and size[b] < size[chosen]):
                chosen, best = b, gain
        if chosen < 0:
            chosen = count
            count += 1
        block_of[v] = chosen
        size[chosen] += 1
        for i in range(near_start[v], near_start[v + 1]):
            other = _inside(scope_start, scope, block_of, near[i, FACTOR], chosen, v)
            if other >= 0:
                above[_root_of(above, other)] = v
    return count


@kernel
def _meet(scope_start, scope, near, link_of, block_of, i, v, up, member, family_start, family, n):
    """Append the other variables of a link's factor that are in the block of v, as a family.

    Gives -1, or the entry of ``scope`` whose variable was met before. ``n`` counts what was
    written to each list.
    """
    f, first = near[i, FACTOR], n[LINKS]
    for a in range(scope_start[f], scope_start[f + 1]):
        child = scope[a]
        if child == v or block_of[child] != block_of[v]:
            continue
        if up[child] != UNSEEN:
            return a
        if n[LINKS] == first:
            family[first] = i
            n[LINKS] += 1
            family_start[n[FAMILIES]] = first
            n[FAMILIES] += 1
        up[child] = f
        family[n[LINKS]] = link_of[a]
        member[n[MEMBERS]] = child
        n[LINKS] += 1
        n[MEMBERS] += 1
    return -1


@kernel
def plant(
    order,
    near_start,
    near,
    scope_start,
    scope,
    link_of,
    block_of,
    up,
    n,
    member,
    of_block,
    roots,
    family_start,
    family,
    outer_start,
    outer,
):
    """Write members, roots, families and outer links of all blocks of one partition.

    ``order`` has the variables sorted by block, ``up`` comes as UNSEEN, ``n`` is (5,) and comes as
    zeros, and ``link_of`` is the link of each entry of ``scope``. Gives -1, or the entry whose
    variable closes a cycle. Starts and counts of the last block are for the caller to close.
    """
    head = np.int64(0)
    for root in order:
        if up[root] != UNSEEN:
            continue
        if head == 0 or block_of[member[head - 1]] != block_of[root]:
            for column in range(3):
                of_block[block_of[root], column] = n[column]
        up[root] = NONE
        member[n[MEMBERS]] = root
        roots[n[ROOTS]] = root
        n[MEMBERS] += 1
        n[ROOTS] += 1
        while head < n[MEMBERS]:
            v = member[head]
            outer_start[head] = n[OUTER]
            head += 1
            for i in range(near_start[v], near_start[v + 1]):
                if near[i, FACTOR] == up[v]:
                    continue
                before = n[LINKS]
                cycle = _meet(
                    scope_start,
                    scope,
                    near,
                    link_of,
                    block_of,
                    i,
                    v,
                    up,
                    member,
                    family_start,
                    family,
                    n,
                )
                if cycle >= 0:
                    return cycle
                if n[LINKS] == before:
                    outer[n[OUTER]] = i
                    n[OUTER] += 1
    return -1


@kernel
def _spread(start, near, ends, family, low, high, states, cells, a, place, below):
    """Write, for all states of a family's children, their cell and the log of their messages.

    The cell is that of the parent's first state. Gives how many there are; the first child's state
    runs fastest.
    """
    place[0] = cells[near[family[low], FACTOR]]
    below[0] = 0.0
    for i in range(low, high):
        place[0] -= states[ends[family[i]]] * near[family[i], STRIDE]
    count = np.int64(1)
    for i in range(low + 1, high):
        stride, first = near[family[i], STRIDE], start[ends[family[i]]]
        k = start[ends[family[i]] + 1] - first
        for s in range(k - 1, -1, -1):
            for c in range(count):
                place[s * count + c] = place[c] + s * stride
                below[s * count + c] = below[c] + a[first + s]
        count *= k
    return count


@kernel
def _fill_row(logs, beta, place, below, rows, first, count, shift):
    """Write the probabilities of the children's states given the parent's; give the log's scale."""
    if count == 2:  # most are: with one exponential, in registers
        zero = below[0] + beta * logs[place[0] + shift]
        one = below[1] + beta * logs[place[1] + shift]
        largest = max(zero, one)
        if largest == -math.inf:
            return largest
        less = math.exp(min(zero, one) - largest)
        total = 1.0 + less
        rows[first] = (1.0 if zero >= one else less) / total
        rows[first + 1] = (1.0 if zero < one else less) / total
        return largest + math.log(total)
    largest = -math.inf
    for c in range(count):
        rows[first + c] = below[c] + beta * logs[place[c] + shift]
        largest = max(largest, rows[first + c])
    if largest == -math.inf:
        return largest
    total = 0.0
    for c in range(first, first + count):
        rows[c] = math.exp(rows[c] - largest)
        total += rows[c]
    for c in range(first, first + count):
        rows[c] /= total
    return largest + math.log(total)


@kernel
def _collect(model, blocks, room, beta, b):
    """Write the a of a block: what comes from outside, then from its families, leaves first.

    What the children's states weigh is kept in ``rows``, a row for each state of the parent; one
    that nothing is possible in is left as it is.
    """
    start, field, _, near, ends, logs = model
    of_block, member, _, of_family, family, outer_start, outer = blocks
    states, cells, a, _, place, below, rows = room
    for m in range(of_block[b, MEMBERS], of_block[b + 1, MEMBERS]):
        v = member[m]
        first, k = start[v], start[v + 1] - start[v]
        for s in range(first, first + k):
            a[s] = (1.0 - beta) * field[BASE, s] + beta * field[OWN, s]
        for j in range(outer_start[m], outer_start[m + 1]):
            stride = near[outer[j], STRIDE]
            cell = cells[near[outer[j], FACTOR]] - states[v] * stride
            for s in range(k):
                a[first + s] += beta * logs[cell + s * stride]
    for j in range(of_block[b + 1, FAMILIES] - 1, of_block[b, FAMILIES] - 1, -1):
        low, high = of_family[j, LOW], of_family[j + 1, LOW]
        parent, stride = ends[family[low]], near[family[low], STRIDE]
        count = _spread(start, near, ends, family, low, high, states, cells, a, place, below)
        first = of_family[j, ROW]
        for s in range(start[parent], start[parent + 1]):
            shift = (s - start[parent]) * stride
            a[s] += _fill_row(logs, beta, place, below, rows, first, count, shift)
            first += count


@kernel
def _draw_root(start, near_start, near, states, cells, a, belief, v, u):
    """Draw the state of a root, and write its belief."""
    first, k = start[v], start[v + 1] - start[v]
    largest, total = -math.inf, 0.0
    for s in range(first, first + k):
        largest = max(largest, a[s])
    for s in range(first, first + k):
        belief[s] = math.exp(a[s] - largest)
        total += belief[s]
    for s in range(first, first + k):
        belief[s] /= total
    move(near_start, near, states, cells, v, pick(belief, first, k, 1.0, u))


@kernel
def _believe(start, ends, family, low, high, rows, row, count, belief):
    """Write the beliefs of a family's children: Σ_{x_p} b_p(x_p) p(x_c | x_p) for each child c.

    So they are beliefs given what is outside the block. The rows begin at ``row``.
    """
    parent = ends[family[low]]
    width = np.int64(1)
    for i in range(low + 1, high):
        first = start[ends[family[i]]]
        k = start[ends[family[i]] + 1] - first
        for s in range(first, first + k):
            belief[s] = 0.0
        at = row
        for s in range(start[parent], start[parent + 1]):
            if belief[s] > 0.0:
                for c in range(count):
                    x = c if count == k else c // width % k
                    belief[first + x] += belief[s] * rows[at + c]
            at += count
        width *= k


@kernel
def _distribute(model, blocks, room, b, with_beliefs, u, t):
    """Draw a block, roots first, and write its beliefs; the random numbers are those of row t."""
    start, _, near_start, near, ends, _ = model
    of_block, _, roots, of_family, family, _, _ = blocks
    states, cells, a, belief, _, _, rows = room
    for r in range(of_block[b, ROOTS], of_block[b + 1, ROOTS]):
        v = roots[r]
        _draw_root(start, near_start, near, states, cells, a, belief, v, u[t, v])
    for j in range(of_block[b, FAMILIES], of_block[b + 1, FAMILIES]):
        low, high = of_family[j, LOW], of_family[j + 1, LOW]
        row, count = of_family[j, ROW], of_family[j, COUNT]
        if with_beliefs:
            _believe(start, ends, family, low, high, rows, row, count, belief)
        row += states[ends[family[low]]] * count
        drawn = pick(rows, row, count, 1.0, u[t, ends[family[low + 1]]])
        for i in range(low + 1, high):
            child = ends[family[i]]
            k = start[child + 1] - start[child]
            move(near_start, near, states, cells, child, drawn % k)
            drawn //= k


@kernel(visits=5)
def run_trees(model, blocks, room, out, beta, plan, u):
    """Sweep over blocks; as ``run_sites``, with the blocks that plan[t] names for sweep t."""
    start, field, _, _, _, logs = model
    of_block, member, _, _, _, _, _ = blocks
    states, cells, _, belief, _, _, _ = room
    sums, visits, trace = out
    gained = 0.0
    for t in range(u.shape[0]):
        batch, half, kept = plan[t, BATCH], plan[t, HALF], plan[t, KEPT]
        if beta[t + 1] != beta[t]:
            gained += (beta[t + 1] - beta[t]) * energy(start, field, logs, states, cells)
        for b in range(plan[t, FIRST], plan[t, LAST]):
            _collect(model, blocks, room, beta[t + 1], b)
            _distribute(model, blocks, room, b, batch >= 0, u, t)
            for m in range(of_block[b, MEMBERS], of_block[b + 1, MEMBERS]):
                v = member[m]
                if batch >= 0:
                    for s in range(start[v], start[v + 1]):
                        sums[batch, s] += belief[s]
                if half >= 0:
                    visits[half, start[v] + states[v]] += 1
                if kept >= 0:
                    trace[kept, v] = states[v]
    return gained
