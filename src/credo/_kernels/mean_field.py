"""Coordinate ascent on a distribution of independent blocks of variables, each of them a forest.

A *part* is what one factor and one block have in common. The parts of two or more variables are
the edges of a forest, and have a belief; a part of one variable has that variable's marginal. A
factor's logs, averaged over its other parts, act on a part like a factor of the block.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from credo._kernels.forest_sums import RUN, collect, distribute, find_root, root_sum
from credo._kernels.tiers import kernel


class Factors(NamedTuple):
    """Factors as tables of logs, and how each falls into parts."""

    n_states: Any
    state_start: Any
    scope_start: Any
    scope: Any
    cell_start: Any
    logs: Any
    part_start: Any  #: of each factor: where its parts start
    slot_part: Any  #: of each slot: its part
    slot_stride: Any  #: of each slot: how far apart its states are in the part's table
    belief_start: Any  #: of each part: where its belief starts, among marginals or edge beliefs
    part_edge: Any  #: of each part: its edge in the forest, -1 for a part of one variable
    part_factor: Any


class Blocks(NamedTuple):
    """The forests of all blocks, one after the other."""

    edge_start: Any  #: of each block
    edges: Any
    ups: Any
    member_start: Any
    members: Any
    piece_start: Any
    pieces: Any  #: the parts of each block


@kernel
def part_strides(order, part_of, n_states, scope, stride, cells):
    """Write the stride of each slot in the table of its part; count the cells, which come as ones.

    ``order`` lists the slots part after part.
    """
    for i in range(order.size - 1, -1, -1):
        s = order[i]
        stride[s] = cells[part_of[s]]
        cells[part_of[s]] *= n_states[scope[s]]


@kernel
def step_on(factors, f, digit, index):
    """Go to the next cell of a factor: change the states, and the places in the parts' tables."""
    first = factors.scope_start[f]
    a = factors.scope_start[f + 1] - first - 1
    while a >= 0:
        s = first + a
        part = factors.slot_part[s]
        digit[a] += 1
        index[part - factors.part_start[f]] += factors.slot_stride[s]
        if digit[a] < factors.n_states[factors.scope[s]]:
            return
        index[part - factors.part_start[f]] -= digit[a] * factors.slot_stride[s]
        digit[a] = 0
        a -= 1


@kernel
def weight_of(factors, f, skipped, index, room):
    """Give the probability of a cell: the product of the beliefs of all parts but one."""
    weight = 1.0
    for p in range(factors.part_start[f], factors.part_start[f + 1]):
        if p != skipped:
            at = factors.belief_start[p] + index[p - factors.part_start[f]]
            weight *= room.marginal[at] if factors.part_edge[p] < 0 else room.belief[at]
    return weight


@kernel
def average(factors, p, room, index, out, at):
    """Add the logs of a part's factor, averaged over its other parts, to out[at:]."""
    f = factors.part_factor[p]
    own = p - factors.part_start[f]
    for c in range(factors.cell_start[f], factors.cell_start[f + 1]):
        weight = weight_of(factors, f, p, index, room)
        if weight > 0.0:
            out[at + index[own]] += weight * factors.logs[c]
        step_on(factors, f, room.digit, index)


@kernel
def average_pair(factors, p, marginal, out, at):
    """Do the same for a factor of two variables in two blocks, which most factors are."""
    f = factors.part_factor[p]
    first, begin = factors.scope_start[f], factors.cell_start[f]
    is_first = factors.slot_part[first] == p
    rows = factors.n_states[factors.scope[first]]
    columns = factors.n_states[factors.scope[first + 1]]
    other = factors.scope[first + 1] if is_first else factors.scope[first]
    here = factors.state_start[other]
    for x in range(rows):
        for y in range(columns):
            weight = marginal[here + y] if is_first else marginal[here + x]
            if weight > 0.0:
                to = at + x if is_first else at + y
                out[to] += weight * factors.logs[begin + x * columns + y]


@kernel
def press(factors, blocks, graph, unary, b, room, index, new_unary, tables):
    """Write the unary logs and the tables that act on one block, given the others."""
    for m in range(blocks.member_start[b], blocks.member_start[b + 1]):
        v = blocks.members[m]
        for i in range(graph.state_start[v], graph.state_start[v + 1]):
            new_unary[i] = unary[i]
    for i in range(blocks.piece_start[b], blocks.piece_start[b + 1]):
        p = blocks.pieces[i]
        f, edge = factors.part_factor[p], factors.part_edge[p]
        if edge >= 0:
            for c in range(graph.cell_start[edge], graph.cell_start[edge + 1]):
                tables[c] = 0.0
            average(factors, p, room, index, tables, graph.cell_start[edge])
        elif factors.scope_start[f + 1] - factors.scope_start[f] == 2:
            average_pair(factors, p, room.marginal, new_unary, factors.belief_start[p])
        else:
            average(factors, p, room, index, new_unary, factors.belief_start[p])


@kernel
def sweep(factors, blocks, graph, unary, room, index, new_unary, tables, before):
    """Set the marginals and beliefs of each block in turn to the best, given the others.

    Gives the largest change; minus one where nothing is possible, given the others.
    """
    edges, ups, members = blocks.edges, blocks.ups, blocks.members
    largest = 0.0
    for i in range(before.size):
        before[i] = room.marginal[i]
    for b in range(blocks.member_start.size - 1):
        press(factors, blocks, graph, unary, b, room, index, new_unary, tables)
        start, stop = blocks.edge_start[b], blocks.edge_start[b + 1]
        begin, end = blocks.member_start[b], blocks.member_start[b + 1]
        log_z = 0.0
        if end - begin == 1:
            v = members[begin]
            for i in range(graph.state_start[v], graph.state_start[v + 1]):
                room.total[i] = new_unary[i]
            log_z, _ = root_sum(graph, room, v)
        else:
            log_z, _ = collect(
                graph, new_unary, tables, edges, ups, start, stop, members, begin, end, room
            )
        if log_z == -math.inf:
            return -1.0
        if stop > start:
            distribute(graph, tables, edges, ups, start, stop, room)
    for i in range(before.size):
        largest = max(largest, abs(room.marginal[i] - before[i]))
    return largest


@kernel
def begin_blocks(factors, blocks, graph, unary, room, tables):
    """Start each block from ``unary`` and the factors that it holds whole; tell if it can be.

    ``tables`` comes as zeros.
    """
    for p in range(factors.part_factor.size):
        f, edge = factors.part_factor[p], factors.part_edge[p]
        if factors.part_start[f + 1] - factors.part_start[f] == 1 and edge >= 0:
            for c in range(graph.cell_start[edge + 1] - graph.cell_start[edge]):
                tables[graph.cell_start[edge] + c] = factors.logs[factors.cell_start[f] + c]
    for b in range(blocks.member_start.size - 1):
        start, stop = blocks.edge_start[b], blocks.edge_start[b + 1]
        begin, end = blocks.member_start[b], blocks.member_start[b + 1]
        edges, ups, members = blocks.edges, blocks.ups, blocks.members
        log_z, _ = collect(graph, unary, tables, edges, ups, start, stop, members, begin, end, room)
        if log_z == -math.inf:
            return False
        distribute(graph, tables, edges, ups, start, stop, room)
    return True


@kernel
def entropy(values, start, stop):
    """Give minus the sum of p log p, and the sum of its sizes times the number of terms."""
    total = 0.0
    for i in range(start, stop):
        if values[i] > 0.0:
            total -= values[i] * math.log(values[i])
    return total, (stop - start + 4) * total


@kernel
def lower_bound(factors, graph, unary, room, index):
    """Give the average log of all factors plus the entropy, and the wear of rounding, in eps.

    The entropy of a forest is that of its edges, less that of each variable once for every edge
    that holds it but the first.
    """
    value, run, wear = 0.0, 0.0, 0.0
    for f in range(factors.part_start.size - 1):
        size = 0.0
        for c in range(factors.cell_start[f], factors.cell_start[f + 1]):
            weight = weight_of(factors, f, -1, index, room)
            if weight > 0.0:
                run += weight * factors.logs[c]
                size += weight * abs(factors.logs[c])
            step_on(factors, f, room.digit, index)
        arity = factors.scope_start[f + 1] - factors.scope_start[f]
        wear += (factors.cell_start[f + 1] - factors.cell_start[f] + 2 * arity + 4) * size + abs(
            run
        )
        if (f + 1) % RUN == 0:
            value += run
            run = 0.0
            wear += abs(value)
    for e in range(graph.cell_start.size - 1):
        part, size = entropy(room.belief, graph.cell_start[e], graph.cell_start[e + 1])
        run += part
        wear += size + abs(run)
        if (e + 1) % RUN == 0:
            value += run
            run = 0.0
            wear += abs(value)
    for v in range(graph.n_states.size):
        degree = graph.incident_start[v + 1] - graph.incident_start[v]
        first, stop = graph.state_start[v], graph.state_start[v + 1]
        part, size = entropy(room.marginal, first, stop)
        run += (1.0 - degree) * part
        wear += (degree + 1.0) * size
        for i in range(first, stop):
            if room.marginal[i] > 0.0:
                run += room.marginal[i] * unary[i]
                wear += (stop - first + 3) * abs(room.marginal[i] * unary[i])
        wear += abs(run)
        if (v + 1) % RUN == 0:
            value += run
            run = 0.0
            wear += abs(value)
    return value + run, wear + abs(value + run)


@kernel
def independent(graph, room):
    """Set the belief of each edge to the product of its variables' marginals."""
    for e in range(graph.cell_start.size - 1):
        first, stop = graph.scope_start[e], graph.scope_start[e + 1]
        for c in range(graph.cell_start[e], graph.cell_start[e + 1]):
            weight = 1.0
            for s in range(first, stop):
                weight *= room.marginal[graph.state_start[graph.scope[s]] + room.digit[s - first]]
            room.belief[c] = weight
            a = stop - first - 1
            while a >= 0:
                room.digit[a] += 1
                if room.digit[a] < graph.n_states[graph.scope[first + a]]:
                    break
                room.digit[a] = 0
                a -= 1


@kernel
def partition(order, graph, factor_of, strength, block, root, met_by, met_for, pull, barred):
    """Put each variable, in order, in the block it is bound to most among those it may join.

    It may join where no two of its factors lead to the same tree of the block. ``block`` comes as
    -1, ``root`` as 0 … n - 1, ``met_for`` and ``barred`` as -1, ``pull`` as zeros. Counts blocks.
    """
    count = np.int64(0)
    for i in range(order.size):
        v = order[i]
        for b in range(count):
            pull[b] = 0.0
        for j in range(graph.incident_start[v], graph.incident_start[v + 1]):
            f = factor_of[graph.incident[j]]
            for s in range(graph.scope_start[f], graph.scope_start[f + 1]):
                b = block[graph.scope[s]]
                if b < 0:
                    continue
                tree = find_root(root, graph.scope[s])
                if met_for[tree] == v and met_by[tree] != f:
                    barred[b] = v
                met_for[tree], met_by[tree] = v, f
                pull[b] += strength[f]
        best = count
        for b in range(count - 1, -1, -1):
            if barred[b] != v and (best == count or pull[b] >= pull[best]):
                best = np.int64(b)
        block[v] = best
        count = max(count, best + 1)
        for j in range(graph.incident_start[v], graph.incident_start[v + 1]):
            f = factor_of[graph.incident[j]]
            for s in range(graph.scope_start[f], graph.scope_start[f + 1]):
                if block[graph.scope[s]] == best:
                    root[find_root(root, graph.scope[s])] = find_root(root, v)
    return count
