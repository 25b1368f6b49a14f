"""Sums over a forest of factors, in logs, and the marginals of its variables and factors.

A *forest* is a list of factors without a cycle, ``edges``, roots first, and for each the slot of
the variable through which it hangs on the rest, ``ups``. A slot is a place in ``scope``; its
message lies at ``message_start`` of it. Every variable takes part, with its ``unary`` logs.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from credo._kernels.tiers import kernel

#: Terms added up before they join the sum.
RUN = 256


class Graph(NamedTuple):
    """Variables and factors of two or more of them."""

    n_states: Any
    state_start: Any
    scope_start: Any
    scope: Any
    cell_start: Any
    message_start: Any
    incident_start: Any
    incident: Any  #: the slots of each variable


class Room(NamedTuple):
    """Scratch space, and where the sums of a forest are left."""

    total: Any  #: of each state: its unary log and the messages from below
    message: Any  #: at the slot of each edge that points up
    cell: Any
    digit: Any
    top: Any
    part: Any
    is_child: Any  #: of each variable: whether it hangs below an edge
    marginal: Any  #: of each state
    belief: Any  #: of each cell


@kernel
def find_root(root, v):
    """Find the representative of a variable's part; shorten the way there."""
    while root[v] != v:
        root[v] = root[root[v]]
        v = root[v]
    return v


@kernel
def choose(ranking, scope_start, scope, root, chosen):
    """Take factors in the order of ``ranking``, each that closes no cycle (Kruskal); count them.

    ``root`` comes as 0 … n - 1; ``chosen`` comes as zeros.
    """
    count = np.int64(0)
    for i in range(ranking.size):
        f = ranking[i]
        apart = True
        for s in range(scope_start[f], scope_start[f + 1]):
            for t in range(scope_start[f], s):
                if find_root(root, scope[s]) == find_root(root, scope[t]):
                    apart = False
        if not apart:
            continue
        chosen[f] = 1
        count += 1
        for s in range(scope_start[f] + 1, scope_start[f + 1]):
            root[find_root(root, scope[s])] = find_root(root, scope[scope_start[f]])
    return count


@kernel
def plant(graph, factor_of, chosen, edges, ups, seen, queue):
    """Order the chosen factors breadth first from the first variable of each tree; count them.

    ``seen`` comes as zeros, for each variable; ``queue`` has room for all variables.
    """
    count = np.int64(0)
    for start in range(seen.size):
        if seen[start]:
            continue
        seen[start] = 1
        queue[0] = start
        head, tail = np.int64(0), np.int64(1)
        while head < tail:
            v = queue[head]
            head += 1
            for i in range(graph.incident_start[v], graph.incident_start[v + 1]):
                up = graph.incident[i]
                f = factor_of[up]
                if chosen[f] != 1:
                    continue
                chosen[f] = 2
                edges[count] = f
                ups[count] = up
                count += 1
                for s in range(graph.scope_start[f], graph.scope_start[f + 1]):
                    if s != up:
                        seen[graph.scope[s]] = 1
                        queue[tail] = graph.scope[s]
                        tail += 1
    return count


@kernel
def add_cells(graph, tables, room, f, up):
    """Set cell[:] to the logs of a factor plus what comes from below; give the largest size."""
    first, stop = graph.scope_start[f], graph.scope_start[f + 1]
    begin = graph.cell_start[f]
    largest = 0.0
    for c in range(graph.cell_start[f + 1] - begin):
        log = tables[begin + c]
        for s in range(first, stop):
            if s != up:
                log += room.total[graph.state_start[graph.scope[s]] + room.digit[s - first]]
        room.cell[c] = log
        if log > -math.inf:
            largest = max(largest, abs(log))
        a = stop - first - 1
        while a >= 0:
            room.digit[a] += 1
            if room.digit[a] < graph.n_states[graph.scope[first + a]]:
                break
            room.digit[a] = 0
            a -= 1
    return largest


@kernel
def stride_of(graph, f, slot):
    """Give how far apart in a table the states of one slot are."""
    stride = np.int64(1)
    for s in range(slot + 1, graph.scope_start[f + 1]):
        stride *= graph.n_states[graph.scope[s]]
    return stride


@kernel
def send_up(graph, tables, room, f, up):
    """Compute the message of an edge to the variable above; give the largest size of its cells."""
    largest = add_cells(graph, tables, room, f, up)
    k = graph.n_states[graph.scope[up]]
    stride = stride_of(graph, f, up)
    cells = graph.cell_start[f + 1] - graph.cell_start[f]
    for x in range(k):
        room.top[x] = -math.inf
        room.part[x] = 0.0
    for c in range(cells):
        x = c // stride % k
        room.top[x] = max(room.top[x], room.cell[c])
    for c in range(cells):
        x = c // stride % k
        if room.cell[c] > -math.inf:
            room.part[x] += math.exp(room.cell[c] - room.top[x])
    at = graph.message_start[up]
    for x in range(k):
        room.message[at + x] = room.top[x]
        if room.top[x] > -math.inf:
            room.message[at + x] += math.log(room.part[x])
    return largest


@kernel
def collect(graph, unary, tables, edges, ups, start, stop, members, begin, end, room):
    """Sum the forest edges[start:stop]; give the log, and by how many eps rounding may shift it.

    Its variables are members[begin:end].

    Each log-sum-exp of c terms is off by at most c + 4 units in the last place of one, each
    addition by one unit of its result; a shift of a message moves the sum by no more. Terms are
    added up in runs of RUN, so that few partial sums are large.
    """
    log_z, run, wear = 0.0, 0.0, 0.0
    for m in range(begin, end):
        v = members[m]
        room.is_child[v] = 0
        for i in range(graph.state_start[v], graph.state_start[v + 1]):
            room.total[i] = unary[i]
    for e in range(stop - 1, start - 1, -1):
        f, up = edges[e], ups[e]
        largest = send_up(graph, tables, room, f, up)
        at, to = graph.message_start[up], graph.state_start[graph.scope[up]]
        top = -math.inf
        for x in range(graph.n_states[graph.scope[up]]):
            top = max(top, room.message[at + x])
        if top == -math.inf:
            return -math.inf, 0.0
        for x in range(graph.n_states[graph.scope[up]]):
            room.total[to + x] += room.message[at + x] - top
        run += top
        for s in range(graph.scope_start[f], graph.scope_start[f + 1]):
            if s != up:
                room.is_child[graph.scope[s]] = 1
        wear += (graph.scope_start[f + 1] - graph.scope_start[f] + 2) * largest
        wear += graph.cell_start[f + 1] - graph.cell_start[f] + 4 + abs(run)
        if (stop - e) % RUN == 0:
            log_z += run
            run = 0.0
            wear += abs(log_z)
    for m in range(begin, end):
        if not room.is_child[members[m]]:
            log, size = root_sum(graph, room, members[m])
            if log == -math.inf:
                return -math.inf, 0.0
            run += log
            wear += size + abs(run)
        if (m + 1) % RUN == 0:
            log_z += run
            run = 0.0
            wear += abs(log_z)
    return log_z + run, wear + abs(log_z + run)


@kernel
def root_sum(graph, room, v):
    """Sum over the states of a root and write its marginal; give the log and the rounding."""
    first, stop = graph.state_start[v], graph.state_start[v + 1]
    top, largest, part = -math.inf, 0.0, 0.0
    for i in range(first, stop):
        top = max(top, room.total[i])
        if room.total[i] > -math.inf:
            largest = max(largest, abs(room.total[i]))
    if top == -math.inf:
        return -math.inf, 0.0
    for i in range(first, stop):
        room.marginal[i] = math.exp(room.total[i] - top)
        part += room.marginal[i]
    for i in range(first, stop):
        room.marginal[i] /= part
    degree = graph.incident_start[v + 1] - graph.incident_start[v]
    return top + math.log(part), (degree + 2) * largest + stop - first + 4


@kernel
def distribute(graph, tables, edges, ups, start, stop, room):
    """Write the marginals of variables and the beliefs of edges, after ``collect``."""
    for e in range(start, stop):
        f, up = edges[e], ups[e]
        add_cells(graph, tables, room, f, up)
        first = graph.scope_start[f]
        k, stride = graph.n_states[graph.scope[up]], stride_of(graph, f, up)
        at, to = graph.message_start[up], graph.state_start[graph.scope[up]]
        begin = graph.cell_start[f]
        cells = graph.cell_start[f + 1] - begin
        whole = 0.0
        for c in range(cells):
            x = c // stride % k
            room.belief[begin + c] = 0.0
            if room.cell[c] > -math.inf:
                given = math.exp(room.cell[c] - room.message[at + x])
                room.belief[begin + c] = room.marginal[to + x] * given
                whole += room.belief[begin + c]
        for s in range(first, graph.scope_start[f + 1]):
            if s == up:
                continue
            v, stride = graph.scope[s], stride_of(graph, f, s)
            for i in range(graph.state_start[v], graph.state_start[v + 1]):
                room.marginal[i] = 0.0
            for c in range(cells):
                i = graph.state_start[v] + c // stride % graph.n_states[v]
                room.marginal[i] += room.belief[begin + c] / whole
        for c in range(cells):
            room.belief[begin + c] /= whole
