"""Plaquettes: triangles and cycles of four without a chord, and independent ones among them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from credo._types import Bool
from credo.graphs.problems import Problem
from credo.graphs.wiring import starts
from credo.inference.regions._sets import Sets

#: Plaquettes: a thousand times a thousand sites, or every triangle among 180 variables.
MOST_CYCLES = 10**6
#: Edges that are looked at, in all sums of cycles, for independent ones: a second or two.
MOST_WORK = 5 * 10**6

Edge: TypeAlias = tuple[int, int]


@dataclass(frozen=True, slots=True, eq=False)
class Plaquettes:
    """The short cycles of a graph."""

    neighbours: Sets  #: of each variable
    cycles: Sets
    known: Bool  #: the cycles whose variables one factor holds

    @property
    def n_loops(self) -> int:
        """How many independent cycles the graph has, short or long."""
        start, members = self.neighbours.start, self.neighbours.members
        n = len(self.neighbours)
        graph = csr_array((np.ones(len(members)), members, start), shape=(n, n))
        parts = connected_components(graph, directed=False, return_labels=False)
        return int(len(members) // 2 - n + parts)

    def independent(self) -> tuple[Sets, int] | None:
        """Leave out cycles that are sums of others, or known; give also the number of all kept.

        None if that takes too long.

        Cycles are vectors over the edges modulo two; each is reduced by those before it, the known
        ones first. One that reduces to nothing would count a loop twice. In ascending order, the
        triangles of a complete graph that are kept are those of its first vertex.
        """
        cycles, edges = self.cycles.tuples(), self._edges()
        order = sorted(range(len(cycles)), key=lambda i: (not self.known[i], cycles[i]))
        basis: dict[Edge, set[Edge]] = {}
        kept: list[int] = []
        work = 0
        for i in order:
            cycle = cycles[i]
            pairs = {(u, v) for k, u in enumerate(cycle) for v in cycle[k + 1 :]}
            rest = pairs & edges
            while rest and (last := max(rest)) in basis:
                rest ^= basis[last]
                work += len(rest)
            if rest:
                basis[max(rest)] = rest
                kept += [] if self.known[i] else [i]
            if work > MOST_WORK:
                return None
        return self.cycles.chosen(np.array(sorted(kept), np.int64)), len(basis)

    def _edges(self) -> set[Edge]:
        """Give the pairs of neighbours, ascending."""
        pairs = enumerate(self.neighbours.tuples())
        return {(u, v) for u, around in pairs for v in around if u < v}


def find_plaquettes(problem: Problem, scopes: Sets) -> Plaquettes | None:
    """Find triangles and chordless cycles of four; None if there are very many."""
    from credo._kernels.region_cycles import short_cycles  # noqa: PLC0415
    from credo._kernels.region_sets import covering_sets  # noqa: PLC0415

    joined = neighbours(problem, scopes)
    room = len(joined.members) + 16  # a grid has fewer faces than edges
    while room < 4 * max(MOST_CYCLES, len(joined.members)):
        rows = np.empty((room, 4), np.int64)
        count = int(short_cycles(joined.start, joined.members, rows))
        if count <= room:
            cycles, held = Sets.of_rows(rows[:count]), scopes.holders(len(problem.n_states))
            home = covering_sets(
                cycles.start, cycles.members, scopes.start, scopes.members, held.start, held.members
            )
            return Plaquettes(joined, cycles, home >= 0)
        room *= 4
    return None


def neighbours(problem: Problem, scopes: Sets) -> Sets:
    """Join the variables that share a factor."""
    n = len(problem.n_states)
    pairs = [np.empty(0, np.int64)]
    for size in np.unique(scopes.sizes[scopes.sizes > 1]).tolist():
        rows = scopes.members[scopes.start[:-1][scopes.sizes == size][:, None] + np.arange(size)]
        low, high = np.triu_indices(size, 1)
        pairs += [(rows[:, low] * n + rows[:, high]).ravel()]
        pairs += [(rows[:, high] * n + rows[:, low]).ravel()]
    joined = np.unique(np.concatenate(pairs))
    first, second = np.divmod(joined, max(n, 1))
    return Sets(starts(np.bincount(first, minlength=n)), second)
