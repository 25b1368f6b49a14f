"""Spanning forests of a net: whether it has cycles, and in which order messages climb and fall."""

from __future__ import annotations

import numpy as np

from credo._kernels.tiers import kernel


@kernel
def top_of(root, v):
    """Find the representative of a node; halve the way for those who come after."""
    while root[v] != v:
        root[v] = root[root[v]]
        v = root[v]
    return v


@kernel
def count_cycles(n, scope_start, scope):
    """Count the places of factors that close a cycle of factors and variables."""
    root = np.empty(n, np.int64)
    for v in range(n):
        root[v] = v
    cycles = np.int64(0)
    for f in range(scope_start.size - 1):
        for s in range(scope_start[f] + 1, scope_start[f + 1]):
            a, b = top_of(root, scope[scope_start[f]]), top_of(root, scope[s])
            if a == b:
                cycles += 1
            root[max(a, b)] = min(a, b)
    return cycles


@kernel
def choose(n, scope_start, scope, factor_of, order):
    """Mark slots that form a spanning forest of variables and factors, taken in a given order."""
    n_factors = scope_start.size - 1
    root = np.empty(n + n_factors, np.int64)
    for v in range(n + n_factors):
        root[v] = v
    taken = np.zeros(scope.size, np.bool_)
    for i in range(order.size):
        s = order[i]
        a, b = top_of(root, scope[s]), top_of(root, n + factor_of[s])
        if a != b:
            taken[s] = True
            root[max(a, b)] = min(a, b)
    return taken


@kernel
def climb_and_fall(n, scope_start, scope, factor_of, incident_start, incident, taken):
    """List the messages along a forest: those towards the roots, leaves first, then back.

    A root is the first variable of its tree.
    """
    n_nodes = n + scope_start.size - 1
    parent_slot = np.empty(n_nodes, np.int64)
    seen = np.zeros(n_nodes, np.bool_)
    order = np.empty(n_nodes, np.int64)
    end = np.int64(0)
    for start in range(n):
        if seen[start]:
            continue
        seen[start] = True
        parent_slot[start] = -1
        order[end] = start
        head = end
        end += 1
        while head < end:
            node = order[head]
            head += 1
            first = incident_start[node] if node < n else scope_start[node - n]
            stop = incident_start[node + 1] if node < n else scope_start[node - n + 1]
            for i in range(first, stop):
                s = incident[i] if node < n else i
                other = n + factor_of[s] if node < n else scope[s]
                if taken[s] and not seen[other]:
                    seen[other] = True
                    parent_slot[other] = s
                    order[end] = other
                    end += 1
    listed = np.empty(scope.size, np.int64)
    count = np.int64(0)
    for i in range(end - 1, -1, -1):
        if order[i] >= n:
            listed[count] = parent_slot[order[i]]
            count += 1
    for i in range(end):
        if order[i] < n and parent_slot[order[i]] >= 0:
            listed[count] = parent_slot[order[i]]
            count += 1
    return listed[:count]
