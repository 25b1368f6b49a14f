"""Short cycles of a graph: triangles, and cycles of four without a chord.

Neighbours of v are ``neighbours[first[v]:first[v + 1]]``, ascending.
"""

from __future__ import annotations

import numpy as np

from credo._kernels.tiers import kernel


@kernel
def _are_joined(first, neighbours, u, v):
    """Tell whether u and v are neighbours, by bisection."""
    low, high = first[u], first[u + 1]
    while low < high:
        middle = (low + high) // 2
        if neighbours[middle] < v:
            low = middle + 1
        else:
            high = middle
    return low < first[u + 1] and neighbours[low] == v


@kernel
def _put(cycles, count, a, b, c, d):
    """Write a cycle if there is room, ascending; d is -1 for a triangle. Give the new count."""
    if count < cycles.shape[0]:
        cycles[count, 0] = a
        cycles[count, 1] = min(b, c)
        cycles[count, 2] = max(b, c)
        if d >= 0 and d < cycles[count, 2]:
            cycles[count, 3] = cycles[count, 2]
            cycles[count, 2] = max(cycles[count, 1], d)
            cycles[count, 1] = min(cycles[count, 1], d)
        else:
            cycles[count, 3] = d
    return count + 1


@kernel
def short_cycles(first, neighbours, cycles):
    """Write triangles and chordless four-cycles, by their least vertex; give their number.

    From the least vertex a, walk to every b and on to every c; two ways to c close a cycle. One
    row of ``cycles`` each, ascending; the last column is -1 for a triangle. Stops counting when the
    rows have run out.
    """
    n = first.size - 1
    head = np.empty(n, np.int64)
    for v in range(n):
        head[v] = -1
    following = np.empty(neighbours.size, np.int64)
    near = np.empty(neighbours.size, np.int64)
    far = np.empty(n, np.int64)
    count = np.int64(0)
    for a in range(n):
        n_far = np.int64(0)
        for i in range(first[a], first[a + 1]):
            b = neighbours[i]
            if b < a:
                continue
            for j in range(first[b], first[b + 1]):
                c = neighbours[j]
                if c <= a:
                    continue
                if head[c] < 0:
                    far[n_far] = c
                    n_far += 1
                near[j] = b
                following[j] = head[c]
                head[c] = j
        for k in range(n_far):
            c = far[k]
            joined = _are_joined(first, neighbours, a, c)
            j = head[c]
            head[c] = -1
            while j >= 0 and count <= cycles.shape[0]:
                if joined:
                    if near[j] < c:
                        count = _put(cycles, count, a, near[j], c, np.int64(-1))
                else:
                    i = following[j]
                    while i >= 0 and count <= cycles.shape[0]:
                        if not _are_joined(first, neighbours, near[i], near[j]):
                            count = _put(cycles, count, a, near[i], near[j], c)
                        i = following[i]
                j = following[j]
        if count > cycles.shape[0]:
            return count
    return count
