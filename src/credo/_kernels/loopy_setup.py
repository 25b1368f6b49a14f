"""Read the pairs of a compiled graph in one pass, with the observed variables folded in."""

from __future__ import annotations

import math

import numpy as np

from credo._kernels.tiers import kernel


@kernel
def count_pairs(k, wiring, observed):
    """Count the pairs of free variables; -1 unless all factors are pairs, positive, or singles."""
    scope_start, scope, table, table_start, values, n_states = wiring
    for v in range(n_states.size):
        if n_states[v] != k:
            return np.int64(-1)
    count = np.int64(0)
    for f in range(table.size):
        begin = scope_start[f]
        arity = scope_start[f + 1] - begin
        if arity == 2:
            for c in range(table_start[table[f]], table_start[table[f] + 1]):
                if not values[c] > 0.0:
                    return np.int64(-1)
            if observed[scope[begin]] < 0 and observed[scope[begin + 1]] < 0:
                count += 1
        elif arity != 1:
            return np.int64(-1)
    return count


@kernel
def collect_pairs(k, cold, wiring, observed, new, logs, ends):
    """List the pairs of free variables, and add up the logs of all else.

    ``logs`` gets, for each variable, what single factors and pairs with an observed end say. Gives
    the log of the pairs of observed variables, and the least ratio of two cells of an open pair.
    """
    scope_start, scope, table, table_start, values, _ = wiring
    left, right, factor = ends
    count = np.int64(0)
    constant, least = 0.0, 1.0
    for f in range(table.size):
        begin, at = scope_start[f], table_start[table[f]]
        i = scope[begin]
        if scope_start[f + 1] - begin == 1:
            for x in range(k):
                logs[i, x] += cold * math.log(values[at + x]) if values[at + x] > 0 else -math.inf
            continue
        j = scope[begin + 1]
        if observed[i] < 0 and observed[j] < 0:
            low, high = values[at], values[at]
            for c in range(at, at + k * k):
                low, high = min(low, values[c]), max(high, values[c])
            least = min(least, low / high)
            left[count], right[count], factor[count] = new[i], new[j], f
            count += 1
        elif observed[i] < 0:
            for x in range(k):
                logs[i, x] += cold * math.log(values[at + x * k + observed[j]])
        elif observed[j] < 0:
            for x in range(k):
                logs[j, x] += cold * math.log(values[at + observed[i] * k + x])
        else:
            constant += cold * math.log(values[at + observed[i] * k + observed[j]])
    return constant, least


@kernel
def widest(ends, n):
    """Count the most pairs that a variable has."""
    degree = np.zeros(n, np.int32)
    most = np.int32(0)
    for e in range(ends[0].size):
        degree[ends[0][e]] += 1
        degree[ends[1][e]] += 1
    for v in range(n):
        most = max(most, degree[v])
    return most


@kernel
def fill_planes(cold, wiring, factor, planes):
    """Write the tables of pairs cell by cell, all over the first; give the log of the first ones.

    The first cell itself, which is one, is left out.
    """
    _, _, table, table_start, values, _ = wiring
    n_cells = planes.shape[0]
    constant = 0.0
    for e in range(factor.size):
        at = table_start[table[factor[e]]]
        for c in range(n_cells):
            cell = values[at + c + 1] / values[at]
            planes[c, e] = cell if cold == 1.0 else cell**cold
        constant += cold * math.log(values[at])
    return constant
