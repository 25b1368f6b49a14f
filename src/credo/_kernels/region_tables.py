"""Tables of regions: factors multiplied in, maps to the cells of inner regions, marginals.

A table has one axis per member, ascending, the last being the fastest.
"""

from __future__ import annotations

import math

import numpy as np

from credo._kernels.tiers import kernel


@kernel
def _walk(n_states, members, begin, steps, counters, k):
    """Turn the odometer over the members by one; give how far the position moves."""
    moved = np.int64(0)
    while k >= 0:
        counters[k] += 1
        moved += steps[k]
        size = n_states[members[begin + k]]
        if counters[k] < size:
            break
        moved -= steps[k] * size
        counters[k] = 0
        k -= 1
    return moved


@kernel
def fill_tables(n_states, scope_start, scope, cell_start, logs, home, start, members, cells, table):
    """Add the logs of each factor to the table of its home, ``table[cells[a]:cells[a + 1]]``.

    Gives the sum of the factors without a home, which have one cell each.
    """
    constant = 0.0
    steps = np.zeros(64, np.int64)
    counters = np.zeros(64, np.int64)
    for f in range(home.size):
        a = home[f]
        if a < 0:
            constant += logs[cell_start[f]]
            continue
        begin, end = start[a], start[a + 1]
        for k in range(end - begin):
            counters[k] = 0
            steps[k] = 0
            step = np.int64(1)
            for i in range(scope_start[f + 1] - 1, scope_start[f] - 1, -1):
                if scope[i] == members[begin + k]:
                    steps[k] = step
                step *= n_states[scope[i]]
        i = cell_start[f]
        for x in range(cells[a], cells[a + 1]):
            table[x] += logs[i]
            i += _walk(n_states, members, begin, steps, counters, end - begin - 1)
    return constant


@kernel
def link_masks(start, members, inner_start, inner, link_start, link, masks):
    """Set bit k of a link's mask where axis k of its outer region is one of the inner region's."""
    for b in range(inner_start.size - 1):
        for j in range(link_start[b], link_start[b + 1]):
            i = inner_start[b]
            masks[j] = 0
            begin = start[link[j]]
            for k in range(start[link[j] + 1] - begin):
                if i < inner_start[b + 1] and members[begin + k] == inner[i]:
                    masks[j] |= np.int64(1) << k
                    i += 1


@kernel
def fill_maps(n_states, start, members, outer, masks, map_start, maps):
    """Write, for each cell of an outer region, the cell of the inner region that it belongs to."""
    steps = np.zeros(64, np.int64)
    counters = np.zeros(64, np.int64)
    for p in range(outer.size):
        a = outer[p]
        begin, end = start[a], start[a + 1]
        step = np.int64(1)
        for k in range(end - begin - 1, -1, -1):
            counters[k] = 0
            steps[k] = 0
            if (masks[p] >> k) & 1:
                steps[k] = step
                step *= n_states[members[begin + k]]
        y = np.int64(0)
        for x in range(map_start[p], map_start[p + 1]):
            maps[x] = y
            y += _walk(n_states, members, begin, steps, counters, end - begin - 1)


@kernel
def smallest_holders(n_states, start, members, cells, shift, best, home, inside):
    """Note the smallest region that holds each variable, of those before and these.

    ``best`` is its number of cells, ``home`` its number plus ``shift``, and ``inside`` the number
    of cells in a row that have the same state of the variable.
    """
    for r in range(start.size - 1):
        size = cells[r + 1] - cells[r]
        step = np.int64(1)
        for i in range(start[r + 1] - 1, start[r] - 1, -1):
            v = members[i]
            if size < best[v]:
                best[v] = size
                home[v] = r + shift
                inside[v] = step
            step *= n_states[v]


@kernel
def read_marginals(variables, n_states, home, inside, table, cells, out_start, out):
    """Sum the log beliefs of regions down to single variables, scaled to one.

    ``home[v]`` is the region to read variable v from, and ``inside[v]`` the number of cells in a
    row that have the same state of it.
    """
    for i in range(variables.size):
        v = variables[i]
        begin, end = cells[home[v]], cells[home[v] + 1]
        for k in range(out_start[v], out_start[v + 1]):
            out[k] = 0.0
        top = -math.inf
        for x in range(begin, end):
            top = max(top, table[x])
        total = 0.0
        for x in range(begin, end):
            weight = math.exp(table[x] - top)
            state = (x - begin) // inside[v] % n_states[v]
            out[out_start[v] + state] += weight
            total += weight
        for k in range(out_start[v], out_start[v + 1]):
            out[k] /= total
