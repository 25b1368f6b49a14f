"""The tree-reweighted bound: a weighted mean of the sums of forests that share their messages.

With a log message ``shift`` at each slot and the probability rho_f that a forest holds factor f,
every forest has the unary logs theta_i + sum_f rho_f shift_fi and, for each of its factors, the
logs theta_f / rho_f - sum_i shift_fi. Whatever the messages are, the weighted mean of these is
theta.
"""

from __future__ import annotations

import math

import numpy as np

from credo._kernels.forest_sums import collect, distribute
from credo._kernels.tiers import kernel


@kernel
def reparametrise(graph, unary, logs, rho, shift, digit, new_unary, tables):
    """Write the unary logs and the tables that forests share; give the sizes that were added up.

    A sum of d terms is off by at most d eps times the sum of their sizes.
    """
    wear = 0.0
    for v in range(graph.n_states.size):
        degree = graph.incident_start[v + 1] - graph.incident_start[v]
        largest = 0.0
        for i in range(graph.state_start[v], graph.state_start[v + 1]):
            new_unary[i] = unary[i]
            largest = max(largest, abs(unary[i]))
        wear += degree * largest
    for f in range(rho.size):
        first, stop = graph.scope_start[f], graph.scope_start[f + 1]
        size = 0.0
        for s in range(first, stop):
            v, at = graph.scope[s], graph.message_start[s]
            largest = 0.0
            for x in range(graph.n_states[v]):
                new_unary[graph.state_start[v] + x] += rho[f] * shift[at + x]
                largest = max(largest, abs(shift[at + x]))
            size += largest
            wear += (graph.incident_start[v + 1] - graph.incident_start[v] + 2) * largest
        least = 0.0
        for c in range(graph.cell_start[f], graph.cell_start[f + 1]):
            log = logs[c] / rho[f]
            if log > -math.inf:
                least = min(least, logs[c])
            for s in range(first, stop):
                log -= shift[graph.message_start[s] + digit[s - first]]
            tables[c] = log
            a = stop - first - 1
            while a >= 0:
                digit[a] += 1
                if digit[a] < graph.n_states[graph.scope[first + a]]:
                    break
                digit[a] = 0
                a -= 1
        wear += (stop - first + 2) * (size - least)
    return wear


@kernel(visits=5)
def mean_of_sums(
    graph, unary, tables, start, edges, ups, weights, members, room, mean, at_slot, belief
):
    """Give the weighted mean of the logs of the sums of forests, and the wear of rounding, in eps.

    ``mean`` is over all forests, for each state; ``at_slot`` and ``belief`` are over the forests
    that hold the factor, for each state of each slot and for each cell. All three come as zeros.
    """
    value, wear = 0.0, 0.0
    for t in range(weights.size):
        first, stop, weight = start[t], start[t + 1], weights[t]
        log_z, one = collect(
            graph, unary, tables, edges, ups, first, stop, members, 0, members.size, room
        )
        value += weight * log_z
        wear += weight * (one + (weights.size + 2) * abs(log_z))
        distribute(graph, tables, edges, ups, first, stop, room)
        for i in range(mean.size):
            mean[i] += weight * room.marginal[i]
        for e in range(first, stop):
            f = edges[e]
            for c in range(graph.cell_start[f], graph.cell_start[f + 1]):
                belief[c] += weight * room.belief[c]
            for s in range(graph.scope_start[f], graph.scope_start[f + 1]):
                v = graph.scope[s]
                to, at = graph.message_start[s], graph.state_start[v]
                for x in range(graph.n_states[v]):
                    at_slot[to + x] += weight * room.marginal[at + x]
    return value, wear


@kernel
def slot_sums(graph, belief, at_slot):
    """Sum the table of each factor over all but one of its variables, for each of them in turn.

    ``at_slot`` comes as zeros.
    """
    for f in range(graph.scope_start.size - 1):
        stride = np.int64(1)
        for s in range(graph.scope_start[f + 1] - 1, graph.scope_start[f] - 1, -1):
            k, at = graph.n_states[graph.scope[s]], graph.message_start[s]
            for c in range(graph.cell_start[f + 1] - graph.cell_start[f]):
                at_slot[at + c // stride % k] += belief[graph.cell_start[f] + c]
            stride *= k
