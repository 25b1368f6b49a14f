"""Forests: the links of a factor graph, in breadth first order, or a link that closes a cycle.

Variables are nodes 0 … n - 1, factors nodes n … n + F - 1. A *link* is an entry of ``scope``: a
factor and one of its variables. If the evidence ``cut`` the graph, links of observed variables are
closed.
"""

import numpy as np

from credo._kernels.tiers import kernel

#: In the place of the link up: not reached, and reached first.
UNSEEN, ROOT = -2, -1
#: What is known of a link: states that are left, stride in the table, and whether it is open.
WIDTH, STRIDE, OPEN = 0, 1, 2
#: What is known of a table: the power of two taken out of it, and the least that is positive there.
SHIFT, SMALLEST = 0, 1


@kernel
def connect(
    n_states,
    observed,
    cut,
    scope_start,
    scope,
    table,
    table_start,
    factor,
    of_link,
    base,
    var_start,
    links,
):
    """Write the factor of each link, what is known of it, and the open links of each variable.

    Those of v are links[var_start[v]:var_start[v + 1]]; ``var_start`` is (n + 1,) and comes as
    zeros. A unary factor has no open link. ``base`` is where in the tables the observed
    variables leave each factor.
    """
    for f in range(base.size):
        stride = 1
        base[f] = table_start[table[f]]
        for a in range(scope_start[f + 1] - 1, scope_start[f] - 1, -1):
            v = np.int64(scope[a])
            seen = observed[v]
            factor[a] = f
            of_link[STRIDE, a] = stride
            of_link[WIDTH, a] = 1 if seen >= 0 else n_states[v]
            of_link[OPEN, a] = 0
            if scope_start[f + 1] - scope_start[f] > 1 and not (cut and seen >= 0):
                of_link[OPEN, a] = 1
                var_start[v] += 1
            if seen >= 0:
                base[f] += seen * stride
            stride *= n_states[v]
    for v in range(1, var_start.size):
        var_start[v] += var_start[v - 1]
    for a in range(scope.size - 1, -1, -1):
        if of_link[OPEN, a]:
            v = np.int64(scope[a])
            var_start[v] -= 1
            links[var_start[v]] = a


@kernel
def grow(scope_start, scope, factor, of_link, var_start, links, root, order, up):
    """Write nodes in breadth first order, and the link up from each; -1 at a root.

    Gives how many there are, and a link that closes a cycle, or -1. Factors without an open link
    are never reached.
    """
    n = var_start.size - 1
    up[:] = UNSEEN
    count = 0
    head = 0
    for first in range(-1, n):
        node = root if first < 0 else first
        if node < 0 or up[node] != UNSEEN:
            continue
        up[node] = ROOT
        order[count] = node
        count += 1
        while head < count:
            node = order[head]
            head += 1
            low = var_start[node] if node < n else scope_start[node - n]
            high = var_start[node + 1] if node < n else scope_start[node - n + 1]
            for i in range(low, high):
                link = links[i] if node < n else i
                if link == up[node] or not of_link[OPEN, link]:
                    continue
                other = n + factor[link] if node < n else np.int64(scope[link])
                if up[other] != UNSEEN:
                    return count, link
                up[other] = link
                order[count] = other
                count += 1
    return count, -1


@kernel
def behind(n, scope, factor, order, up, weights, below, whole):
    """Write the sum of the weights of each node and all below it, and that of its whole tree."""
    below[:] = weights
    for i in range(order.size - 1, -1, -1):
        link = up[order[i]]
        if link >= 0:
            is_variable = order[i] < n
            below[n + factor[link] if is_variable else np.int64(scope[link])] += below[order[i]]
    whole[:] = below
    for node in order:
        link = up[node]
        if link >= 0:
            whole[node] = whole[n + factor[link] if node < n else np.int64(scope[link])]
