"""Counting numbers of the intersections of regions, and whether the regions form a forest.

Inner region b lies in the outer regions ``link[link_start[b]:link_start[b + 1]]``; outer region a
holds the inner regions ``inner_of[first[a]:first[a + 1]]``.
"""

from __future__ import annotations

import numpy as np

from credo._kernels.tiers import kernel


@kernel
def _root(parent, a):
    """Find the root of a, halving the way to it."""
    while parent[a] != a:
        parent[a] = parent[parent[a]]
        a = parent[a]
    return a


@kernel
def _join(parent, link_start, link, b):
    """Join the outer regions of b; give how many joins that took."""
    joins = np.int64(0)
    top = _root(parent, link[link_start[b]])
    for j in range(link_start[b] + 1, link_start[b + 1]):
        other = _root(parent, link[j])
        if other != top:
            parent[other] = top
            joins += 1
    return joins


@kernel
def counting_numbers(order, link_start, link, first, inner_of, counting, needed):
    """Set c_b = 1 - (sum of c over all regions that strictly contain b), larger regions first.

    An intersection that holds another lies in fewer outer regions, all of which hold the other.
    ``needed`` is cleared where c_b is zero and the outer regions of b agree on b already, because
    larger intersections chain them together.
    """
    n_inner = order.size
    parent = np.empty(first.size - 1, np.int64)
    seen = np.zeros(n_inner, np.int64)
    touched = np.empty(n_inner, np.int64)
    for k in range(n_inner):
        b = order[k]
        n_touched = np.int64(0)
        for j in range(link_start[b], link_start[b + 1]):
            a = link[j]
            parent[a] = a
            for i in range(first[a], first[a + 1]):
                g = inner_of[i]
                if seen[g] == 0:
                    touched[n_touched] = g
                    n_touched += 1
                seen[g] += 1
        left = link_start[b + 1] - link_start[b]
        c = 1 - left
        for i in range(n_touched):
            g = touched[i]
            if g != b and seen[g] == link_start[g + 1] - link_start[g]:
                c -= counting[g]
                left -= _join(parent, link_start, link, g)
            seen[g] = 0
        counting[b] = c
        needed[b] = c != 0 or left > 1


@kernel
def spanning_forest(order, sizes, link_start, link, n_outer):
    """Span the outer regions by their largest intersections; give weight and number of trees.

    The weight is the number of variables in the intersections used. It is largest, the number of
    all members less that of all variables, exactly where the regions have a junction tree.
    """
    parent = np.empty(n_outer, np.int64)
    for a in range(n_outer):
        parent[a] = a
    weight = np.int64(0)
    trees = np.int64(n_outer)
    for k in range(order.size):
        joins = _join(parent, link_start, link, order[k])
        weight += joins * sizes[order[k]]
        trees -= joins
    return weight, trees
