"""Maximal cliques of a graph, by Bron and Kerbosch's search from the least connected vertex on."""

from __future__ import annotations

from collections.abc import Iterator

from credo.exceptions import InputError
from credo.inference.regions._sets import Sets

#: Cliques that are listed at most.
MOST_CLIQUES = 10**6


def maximal_cliques(neighbours: Sets) -> Sets:
    """List the maximal cliques, each ascending, in ascending order."""
    near = [set(one) for one in neighbours.tuples()]
    found = []
    for clique in _search(near):
        found.append(tuple(sorted(clique)))
        if len(found) > MOST_CLIQUES:
            raise InputError(
                f"The graph has more than {MOST_CLIQUES} maximal cliques. Choose "
                "regions='plaquettes' or 'bethe', or list the regions."
            )
    return Sets.of(sorted(found))


def _search(near: list[set[int]]) -> Iterator[list[int]]:
    """Start one search per vertex, among the neighbours that come after it."""
    place = _degeneracy(near)
    for v, around in enumerate(near):
        after = {w for w in around if place[w] > place[v]}
        yield from _extend([v], after, around - after, near)


def _extend(
    clique: list[int], free: set[int], used: set[int], near: list[set[int]]
) -> Iterator[list[int]]:
    """Add vertices that all members know; the neighbours of a pivot can wait."""
    stack = [(clique, free, used)]
    while stack:
        clique, free, used = stack.pop()
        if not free:
            if not used:
                yield clique
            continue
        pivot = max(sorted(free | used), key=lambda v: len(near[v] & free))
        for v in sorted(free - near[pivot]):
            stack.append(([*clique, v], free & near[v], used & near[v]))
            free = free - {v}
            used = used | {v}


def _degeneracy(near: list[set[int]]) -> list[int]:
    """Order the vertices, always taking one with the fewest neighbours left."""
    degree = [len(around) for around in near]
    buckets: list[list[int]] = [[] for _ in range(max(degree, default=0) + 1)]
    for v, d in enumerate(degree):
        buckets[d].append(v)
    place = [-1] * len(near)
    taken, d = 0, 0
    while taken < len(near):
        if not buckets[d]:
            d += 1
            continue
        v = buckets[d].pop()
        if place[v] >= 0 or degree[v] != d:
            continue
        place[v] = taken
        taken += 1
        for w in near[v]:
            if place[w] < 0:
                degree[w] -= 1
                buckets[degree[w]].append(w)
        d = max(d - 1, 0)
    return place
