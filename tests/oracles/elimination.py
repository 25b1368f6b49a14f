"""Elimination with sets, greedy orders, and the best order by trying all: slow and obvious."""

import itertools
import math

import numpy as np


def flat(scopes):
    """Write scopes as starts and one list."""
    starts = np.cumsum([0, *map(len, scopes)])
    return starts, np.array([v for scope in scopes for v in scope], dtype=np.int32)


def cliques(n, scopes, sequence):
    """The clique of each variable at the moment it is eliminated."""
    joined = [set() for _ in range(n)]
    for scope in scopes:
        for v in scope:
            joined[v] |= set(scope) - {v}
    found = []
    for v in sequence:
        around = joined[v]
        found.append(frozenset(around | {v}))
        for u in around:
            joined[u] = (joined[u] | around) - {u, v}
    return found


def maximal(found):
    """Leave out every clique that lies in another, or repeats one."""
    return [clique for clique in dict.fromkeys(found) if not any(clique < each for each in found)]


def cells_of(n_states, clique):
    """Count the cells of a clique's table."""
    return math.prod(int(n_states[v]) for v in clique)


def cost(n_states, scopes, sequence):
    """Give log2 of the largest clique, cells of the maximal ones, cells of all, and the width."""
    found = cliques(len(n_states), scopes, sequence)
    cells = {clique: cells_of(n_states, clique) for clique in found}
    return (
        max((math.log2(size) for size in cells.values()), default=0.0),
        sum(cells[clique] for clique in maximal(found)),
        sum(cells[clique] for clique in found),
        max(map(len, found), default=1) - 1,
    )


def greedy(n_states, scopes, rule, last=()):
    """The order that takes what is cheapest by a rule, prices counted afresh at every step."""
    joined = [set() for _ in n_states]
    for scope in scopes:
        for v in scope:
            joined[v] |= set(scope) - {v}

    def price(v):
        missing = [(a, b) for a, b in itertools.combinations(joined[v], 2) if b not in joined[a]]
        fill = sum(n_states[a] * n_states[b] for a, b in missing)
        weight = math.log2(math.prod(n_states[u] for u in joined[v] | {v}))
        key, tie = {
            "min-fill": (len(missing), weight),
            "weighted-min-fill": (fill, weight),
            "min-degree": (len(joined[v]), weight),
            "min-weight": (weight, fill),
        }[rule]
        return v in last, key if missing else -1, tie, v

    left, order = set(range(len(n_states))), []
    while left:
        v = min(left, key=price)
        left.remove(v)
        order.append(v)
        for u in joined[v]:
            joined[u] = (joined[u] | joined[v]) - {u, v}
    return order


def cheapest(n_states, scopes, last=()):
    """The fewest cells of any order that ends with ``last``."""
    early = [v for v in range(len(n_states)) if v not in last]
    return min(
        cost(n_states, scopes, first + second)[1]
        for first in itertools.permutations(early)
        for second in itertools.permutations(last)
    )
