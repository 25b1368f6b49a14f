r"""Sums, maxima and draws on forests of factors inside a graph, all in logs.

A *graph* has variables and factors of two or more of them; a *slot* is a factor with one of its
variables. A *block* is a set of variables among which no factors close a cycle. So it is a forest
of variables and of *families*: a family is a factor with those of its slots that lie in the block,
two or more, the parent's first, which is nearest to the root. From the leaves up,

    total_p(x_p) += log Σ_{x_c} ψ_f(x_p, x_c) Π_c exp total_c(x_c)

or the same with a maximum. What is left is p(x_c | x_p), a row for each state of the parent: from
the roots down, they give the beliefs of variables and of cells, draws, or the best states.

How to use it: ``make_graph``; blocks of variables by ``grow``, or factors by ``span`` (Kruskal);
``plant`` one or more partitions into a ``Forest`` whose blocks are numbered through;
``make_scratch``. Then, for a block b, write the logs of its variables alone to ``room.total`` and
call

    condition(graph, forest, b, logs, beta, states, cells, room.total)  # factors with one slot in b
    collect(graph, forest, b, logs, beta, states, cells, mode, room)      # gives the log sum
    distribute(graph, forest, b, room)            # writes room.belief, of the block's variables
    distribute_cells(graph, forest, b, states, cells, room, belief)     # and of families' cells
    choose_states(graph, forest, b, room, mode, u, chosen)      # draws, or the best states

``states`` are those that all variables are in, and ``cells`` the cells of the factors that these
point to (``locate``). Where all slots of the families lie in their block, as in spanning forests,
that is any possible pair, such as zeros and ``graph.cell_start[:-1]``. The logs of factors are
multiplied by ``beta``.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from credo._kernels.tiers import kernel

#: What to do with the states of what is below: add their weights up, or take the best.
SUM, MAX = 0, 1
#: Columns of ``Forest.block``: its first member, root and family. The other places of ``count``.
MEMBERS, ROOTS, FAMILIES, LINKS, OUTER, ROWS, WIDTH = 0, 1, 2, 3, 4, 5, 6
#: Columns of ``Forest.family``: its first link, its first row, and its children's joint states.
LOW, ROW, COUNT = 0, 1, 2
#: In the place of the factor above: none, since it is a root, and not met yet.
_NONE, _UNSEEN = -1, -2


class Graph(NamedTuple):
    """Variables, and factors of two or more of them."""

    start: Any  #: where the states of each variable begin
    scope_start: Any
    scope: Any  #: the variable of each slot
    cell_start: Any
    stride: Any  #: of each slot: how far apart its states are in the factor's table
    factor: Any  #: of each slot
    near_start: Any
    near: Any  #: the slots of each variable


class Forest(NamedTuple):
    """Rooted blocks, one after the other; lists may be longer than what is in them."""

    block: Any  #: (blocks + 1, 3): where the members, roots and families of each begin
    member: Any  #: variables, parents first
    root: Any
    family: Any  #: (families + 1, 3): first link, first row within the block, children's states
    link: Any  #: slots of families, the parent's first
    outer_start: Any
    outer: Any  #: slots of each member whose factor has no other variable in the block
    count: Any  #: entries of each list; the most rows of a block, and children's states of a family


class ForestScratch(NamedTuple):
    """Where a block is worked on; ``total`` and ``belief`` are of all states of all variables."""

    total: Any
    belief: Any
    rows: Any
    message: Any
    place: Any
    below: Any


class CycleError(ValueError):
    """Factors close a cycle within a block, at a slot of the graph."""

    def __init__(self, slot: int) -> None:
        super().__init__(f"The factor of slot {slot} closes a cycle in its block.")
        self.slot = slot


def make_graph(n_states: Any, scope_start: Any, scope: Any, cell_start: Any) -> Graph:
    """Lay a graph out."""
    arity = np.diff(scope_start)
    stride = np.ones(len(scope), np.int64)
    after = np.repeat(scope_start[1:], arity) - 1 - np.arange(len(scope))
    for n in range(1, int(after.max(initial=0)) + 1):
        here = np.flatnonzero(after == n)
        stride[here] = stride[here + 1] * n_states[scope[here + 1]]
    return Graph(
        _starts(n_states),
        np.asarray(scope_start, np.int64),
        np.asarray(scope, np.int64),
        np.asarray(cell_start, np.int64),
        stride,
        np.repeat(np.arange(len(arity)), arity),
        _starts(np.bincount(scope, minlength=len(n_states))),
        np.argsort(scope, kind="stable"),
    )


def grow(graph: Graph, order: Any, weight: Any, most: int) -> Any:
    """Put each variable, in order, into a block; return the number of each variable's block.

    It goes where it joins the most, by weight of factors, without a cycle; among equals, to the
    smallest block; to a new one if all are closed to it. From ``most`` blocks on, those that fit
    nowhere become blocks of their own.
    """
    n = len(graph.start) - 1
    block_of = np.full(n, -1, np.int64)
    marks = np.full((3, n), -1, np.int64)
    _grow(graph, order, weight, most, block_of, np.arange(n), np.zeros(n), np.zeros(n), *marks)
    return block_of


def span(graph: Graph, ranking: Any) -> Any:
    """Mark factors, in the order of their ranking, each that closes no cycle (Kruskal)."""
    taken = np.zeros(len(graph.scope_start) - 1, np.bool_)
    _span(graph, ranking, np.arange(len(graph.start) - 1), taken)
    return taken


def plant(graph: Graph, block_of: Any, taken: Any = None) -> Forest:
    """Root the blocks of one or more partitions, and number them through.

    ``block_of`` is (partitions, variables), with blocks from 0 on in each partition; ``taken``,
    (partitions, factors), marks the factors that count; all do by default.
    """
    block_of = np.atleast_2d(np.asarray(block_of, np.int64))
    n_parts, n = block_of.shape
    if taken is None:
        taken = np.ones((n_parts, len(graph.scope_start) - 1), np.bool_)
    first = _starts(block_of.max(axis=1, initial=-1) + 1)
    forest = Forest(
        np.zeros((first[-1] + 1, 3), np.int64),
        np.zeros(block_of.size, np.int64),
        np.zeros(block_of.size, np.int64),
        np.zeros((block_of.size + 1, 3), np.int64),
        np.zeros(2 * block_of.size, np.int64),
        np.zeros(block_of.size + 1, np.int64),
        np.zeros(n_parts * len(graph.scope), np.int64),
        np.zeros(7, np.int64),
    )
    order = np.argsort(block_of, axis=1, kind="stable")
    up = np.empty(n, np.int64)
    cycle = _plant(graph, block_of, first, order, np.atleast_2d(taken), up, forest)
    if cycle >= 0:
        raise CycleError(int(cycle))
    return forest


def make_scratch(graph: Graph, forest: Forest) -> ForestScratch:
    """Make room for one block at a time of a forest."""
    n_states, widest = int(graph.start[-1]), forest.count[WIDTH]
    return ForestScratch(
        np.empty(n_states),
        np.empty(n_states),
        np.empty(forest.count[ROWS]),
        np.empty(int(np.diff(graph.start).max(initial=1))),
        np.empty(widest, np.int64),
        np.empty(widest),
    )


def _starts(lengths: Any) -> Any:
    """Return where each part starts, and where the last ends."""
    return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)


# --- blocks ---------------------------------------------------------------------------------------


@kernel
def _top(above, v):
    """Return the representative of a variable's tree; the way to it gets shorter."""
    while above[v] != v:
        above[v] = above[above[v]]
        v = above[v]
    return v


@kernel
def _grow(graph, order, weight, most, block_of, above, size, pull, met_for, met_by, closed):
    """Write the block of each variable. Where two of its factors lead to one tree, it is closed."""
    scope_start, scope = graph.scope_start, graph.scope
    count = np.int64(0)
    for v in order:
        for b in range(min(count, most)):
            pull[b] = 0.0
        for i in range(graph.near_start[v], graph.near_start[v + 1]):
            f = graph.factor[graph.near[i]]
            for s in range(scope_start[f], scope_start[f + 1]):
                b = block_of[scope[s]]
                if not 0 <= b < most:  # it has none yet, or is alone
                    continue
                tree = _top(above, scope[s])
                if met_for[tree] == v:
                    if met_by[tree] != f:
                        closed[b] = v
                    continue
                met_for[tree], met_by[tree] = v, f
                pull[b] += weight[f]
        best = count
        for b in range(min(count, most)):
            if closed[b] != v and (
                best == count
                or pull[b] > pull[best]
                or (pull[b] == pull[best] and size[b] < size[best])
            ):
                best = np.int64(b)
        block_of[v] = best
        size[best] += 1.0
        count = max(count, best + 1)
        if best >= most:  # alone
            continue
        for i in range(graph.near_start[v], graph.near_start[v + 1]):
            f = graph.factor[graph.near[i]]
            for s in range(scope_start[f], scope_start[f + 1]):
                if block_of[scope[s]] == best:
                    above[_top(above, scope[s])] = v


@kernel
def _span(graph, ranking, above, taken):
    """Mark the factors whose variables lie in different trees when their turn comes."""
    for f in ranking:
        first, stop = graph.scope_start[f], graph.scope_start[f + 1]
        apart = True
        for s in range(first, stop):
            for t in range(first, s):
                apart &= _top(above, graph.scope[s]) != _top(above, graph.scope[t])
        if apart:
            taken[f] = True
            for s in range(first + 1, stop):
                above[_top(above, graph.scope[s])] = _top(above, graph.scope[first])


@kernel
def _plant(graph, block_of, first_block, order, taken, up, forest):
    """Write the blocks of all partitions, breadth first; return -1, or the slot of a cycle."""
    n = forest.count
    n[WIDTH] = 1
    head = np.int64(0)
    for p in range(block_of.shape[0]):
        up[:] = _UNSEEN
        before = np.int64(-1)
        for root in order[p]:
            if up[root] != _UNSEEN:
                continue
            if block_of[p, root] != before:
                before = block_of[p, root]
                forest.block[first_block[p] + before] = n[:3]
                row = np.int64(0)
            up[root] = _NONE
            forest.member[n[MEMBERS]] = root
            forest.root[n[ROOTS]] = root
            n[MEMBERS] += 1
            n[ROOTS] += 1
            while head < n[MEMBERS]:
                v = forest.member[head]
                forest.outer_start[head] = n[OUTER]
                head += 1
                for i in range(graph.near_start[v], graph.near_start[v + 1]):
                    slot = graph.near[i]
                    f = graph.factor[slot]
                    if f == up[v] or not taken[p, f]:
                        continue
                    links, count = n[LINKS], np.int64(1)
                    for s in range(graph.scope_start[f], graph.scope_start[f + 1]):
                        child = graph.scope[s]
                        if s == slot or block_of[p, child] != before:
                            continue
                        if up[child] != _UNSEEN:
                            return s
                        if n[LINKS] == links:
                            forest.link[links] = slot
                            n[LINKS] += 1
                        up[child] = f
                        forest.link[n[LINKS]] = s
                        forest.member[n[MEMBERS]] = child
                        n[LINKS] += 1
                        n[MEMBERS] += 1
                        count *= graph.start[child + 1] - graph.start[child]
                    if n[LINKS] == links:
                        forest.outer[n[OUTER]] = slot
                        n[OUTER] += 1
                    else:
                        forest.family[n[FAMILIES], LOW] = links
                        forest.family[n[FAMILIES], ROW] = row
                        forest.family[n[FAMILIES], COUNT] = count
                        n[FAMILIES] += 1
                        row += count * (graph.start[v + 1] - graph.start[v])
                        n[ROWS], n[WIDTH] = max(n[ROWS], row), max(n[WIDTH], count)
    forest.block[first_block[-1]] = n[:3]
    forest.family[n[FAMILIES], LOW] = n[LINKS]
    forest.outer_start[n[MEMBERS]] = n[OUTER]
    return np.int64(-1)


# --- sums, maxima, draws --------------------------------------------------------------------------


@kernel
def locate(graph, states, cells):
    """Write the cell that the states point to in each factor."""
    for f in range(cells.size):
        cells[f] = graph.cell_start[f]
        for s in range(graph.scope_start[f], graph.scope_start[f + 1]):
            cells[f] += graph.stride[s] * states[graph.scope[s]]


@kernel
def condition(graph, forest, b, logs, beta, states, cells, total):
    """Add to the logs of a block's variables the factors that each shares with no other of it."""
    start, stride, factor = graph.start, graph.stride, graph.factor
    outer_start, outer = forest.outer_start, forest.outer
    for m in range(forest.block[b, MEMBERS], forest.block[b + 1, MEMBERS]):
        v = forest.member[m]
        first, k = start[v], start[v + 1] - start[v]
        for j in range(outer_start[m], outer_start[m + 1]):
            step = stride[outer[j]]
            cell = cells[factor[outer[j]]] - states[v] * step
            for s in range(k):
                total[first + s] += beta * logs[cell + s * step]


@kernel
def _spread(graph, forest, j, states, cells, room):
    """Write, for all states of a family's children, their cell and the log of what is below them.

    The cell is that of the parent's first state. Returns how many there are; the first child's
    state runs fastest.
    """
    scope, stride, link = graph.scope, graph.stride, forest.link
    total, place, below = room.total, room.place, room.below
    low, high = forest.family[j, LOW], forest.family[j + 1, LOW]
    cell = cells[graph.factor[link[low]]]
    for i in range(low, high):
        cell -= states[scope[link[i]]] * stride[link[i]]
    place[0] = cell
    below[0] = 0.0
    count = np.int64(1)
    for i in range(low + 1, high):
        step, first = stride[link[i]], graph.start[scope[link[i]]]
        k = graph.start[scope[link[i]] + 1] - first
        for s in range(k - 1, -1, -1):
            for c in range(count):
                place[s * count + c] = place[c] + s * step
                below[s * count + c] = below[c] + total[first + s]
        count *= k
    return count


@kernel
def _fill_row(logs, beta, place, below, rows, first, count, shift, mode):
    """Write p(children | parent) for a state of the parent, or logs to compare; return the message.

    A row in which nothing is possible is left as it is.
    """
    if count == 2 and mode == SUM:  # most are: with one exponential, in registers
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
    for c in range(count):
        rows[first + c] = below[c] + beta * logs[place[c] + shift]
    return _weigh(rows, rows, first, count, mode)


@kernel
def _weigh(logs, out, first, count, mode):
    """Return the log of the sum, with the shares of it in ``out``; or the largest of the logs."""
    largest, total = -math.inf, 0.0
    for c in range(first, first + count):
        largest = max(largest, logs[c])
    if mode == MAX or largest == -math.inf:
        return largest
    for c in range(first, first + count):
        out[c] = math.exp(logs[c] - largest)
        total += out[c]
    for c in range(first, first + count):
        out[c] /= total
    return largest + math.log(total)


@kernel
def _add(value, lost, term):
    """Add a term to a sum, and to what its rounding has lost (Neumaier)."""
    new = value + term
    if abs(value) >= abs(term):
        return new, lost + ((value - new) + term)
    return new, lost + ((term - new) + value)


@kernel
def collect(graph, forest, b, logs, beta, states, cells, mode, room):
    """Sum a block, leaves first; return the log of the sum, or of the largest product.

    The largest of each message is taken out of the totals, and these are added up with Neumaier's
    correction: so the result is off by a unit in its last place, beside what the messages are off.
    """
    total, message, rows, place, below = room.total, room.message, room.rows, room.place, room.below
    value, lost = 0.0, 0.0
    for j in range(forest.block[b + 1, FAMILIES] - 1, forest.block[b, FAMILIES] - 1, -1):
        top = forest.link[forest.family[j, LOW]]
        first, step = graph.start[graph.scope[top]], graph.stride[top]
        k, row = graph.start[graph.scope[top] + 1] - first, forest.family[j, ROW]
        count = _spread(graph, forest, j, states, cells, room)
        largest = -math.inf
        for s in range(k):
            message[s] = _fill_row(
                logs, beta, place, below, rows, row + s * count, count, s * step, mode
            )
            largest = max(largest, message[s])
        if largest == -math.inf:
            return largest
        for s in range(k):
            total[first + s] += message[s] - largest
        value, lost = _add(value, lost, largest)
    for r in range(forest.block[b, ROOTS], forest.block[b + 1, ROOTS]):
        first, stop = graph.start[forest.root[r]], graph.start[forest.root[r] + 1]
        largest = _weigh(total, room.belief, first, stop - first, mode)
        if largest == -math.inf:
            return largest
        value, lost = _add(value, lost, largest)
    return value + lost


@kernel
def distribute(graph, forest, b, room):
    """Write the beliefs of a block's variables, after ``collect``: Σ_{x_p} b_p(x_p) p(x_c | x_p).

    Those of the roots are there already.
    """
    start, scope, link, family = graph.start, graph.scope, forest.link, forest.family
    belief, rows = room.belief, room.rows
    for j in range(forest.block[b, FAMILIES], forest.block[b + 1, FAMILIES]):
        low, high, count = family[j, LOW], family[j + 1, LOW], family[j, COUNT]
        parent = scope[link[low]]
        width = np.int64(1)
        for i in range(low + 1, high):
            first = start[scope[link[i]]]
            k = start[scope[link[i]] + 1] - first
            for s in range(first, first + k):
                belief[s] = 0.0
            at = family[j, ROW]
            for s in range(start[parent], start[parent + 1]):
                if belief[s] > 0.0:
                    for c in range(count):
                        x = c if count == k else c // width % k
                        belief[first + x] += belief[s] * rows[at + c]
                at += count
            width *= k


@kernel
def distribute_cells(graph, forest, b, states, cells, room, belief):
    """Write the beliefs of the cells of a block's families, after ``distribute``."""
    for j in range(forest.block[b, FAMILIES], forest.block[b + 1, FAMILIES]):
        top, at = forest.link[forest.family[j, LOW]], forest.family[j, ROW]
        first, stop = graph.start[graph.scope[top]], graph.start[graph.scope[top] + 1]
        count = _spread(graph, forest, j, states, cells, room)
        for s in range(first, stop):
            shift, weight = (s - first) * graph.stride[top], room.belief[s]
            for c in range(count):
                share = room.rows[at + c] if weight > 0.0 else 0.0
                belief[room.place[c] + shift] = weight * share
            at += count


@kernel
def pick(weights, first, count, total, u):
    """Return the number of a weight, from the first, in proportion; never one that is zero."""
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
def choose_states(graph, forest, b, room, mode, u, chosen):
    """Write the states of a block, roots first, after ``collect``: a draw, or the best ones.

    A draw takes the uniform numbers ``u``: of each root, and of the first child of each family.
    """
    start, scope, link, family = graph.start, graph.scope, forest.link, forest.family
    rows = room.rows
    for r in range(forest.block[b, ROOTS], forest.block[b + 1, ROOTS]):
        v = forest.root[r]
        if mode == MAX:
            chosen[v] = np.argmax(room.total[start[v] : start[v + 1]])
        else:
            chosen[v] = pick(room.belief, start[v], start[v + 1] - start[v], 1.0, u[v])
    for j in range(forest.block[b, FAMILIES], forest.block[b + 1, FAMILIES]):
        low, high, count = family[j, LOW], family[j + 1, LOW], family[j, COUNT]
        row = family[j, ROW] + chosen[scope[link[low]]] * count
        if mode == MAX:
            found = np.argmax(rows[row : row + count])
        else:
            found = pick(rows, row, count, 1.0, u[scope[link[low + 1]]])
        for i in range(low + 1, high):
            child = scope[link[i]]
            k = start[child + 1] - start[child]
            chosen[child] = found % k
            found //= k
