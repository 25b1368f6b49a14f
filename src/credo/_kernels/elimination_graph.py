"""The graph that elimination starts from, as edges and as one row of numbers for each variable.

Each variable has a row of counts and a row of measures, one cache line each, so that a
variable costs two visits to memory however many of its entries are needed.
"""

from __future__ import annotations

import math
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

Ints: TypeAlias = npt.NDArray[np.int64]
Floats: TypeAlias = npt.NDArray[np.float64]

#: Counts: list of neighbours in the pool (start, entries, room), living neighbours, pairs of
#: them that are not joined, place in the heap, the last elimination that made it stale, and the
#: last variable whose neighbours were marked.
START, LENGTH, ROOM, DEGREE, MISSING, PLACE, STAMP, MARK = range(8)
#: Measures: missing pairs by product of states, states of the neighbours in all, log2 cells of
#: the clique, key, what breaks ties, states and their log2; once eliminated, cells of the clique.
FILL, AROUND, WEIGHT, KEY, TIE, STATES, LOG, CELLS = range(8)
#: Places of variables that are eliminated, and of those whose group has not come yet.
DEAD, WAITING = -1, -2
#: Rounds of looking for a heavy core; hubs are light after two or three.
ROUNDS = 32


class Graph(NamedTuple):
    """A graph before elimination: its edges; of each variable states, degree, log2 of cells."""

    edges: Ints
    degree: Ints
    states: Floats
    logs: Floats
    weights: Floats

    def rows(self) -> tuple[Ints, Floats]:
        """Make the rows of a graph without edges, with room for them."""
        count = np.zeros((self.degree.shape[0], 8), np.int64)
        count[:, START] = np.cumsum(self.degree) - self.degree
        count[:, ROOM] = self.degree
        count[:, PLACE] = WAITING
        count[:, STAMP] = -1
        real = np.zeros((self.degree.shape[0], 8))
        real[:, STATES] = self.states
        real[:, LOG] = self.logs
        real[:, WEIGHT] = self.logs
        return count, real


def edges_of(n: int, scope_start: Ints, scope: Ints) -> Ints:
    """List the pairs of variables that share a factor, each once, as they come: (pairs, 2)."""
    size = np.diff(scope_start)
    offset = np.concatenate(([0], np.cumsum(size * (size - 1) // 2)))
    pairs = np.empty((offset[-1], 2), np.int64)
    for k in np.flatnonzero(np.bincount(size)):
        which = np.flatnonzero(size == k)[:, None]
        low, high = np.triu_indices(k, 1)
        at = offset[which] + np.arange(low.shape[0])
        pairs[at, 0] = scope[scope_start[which] + low]
        pairs[at, 1] = scope[scope_start[which] + high]
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    codes = np.minimum(pairs[:, 0], pairs[:, 1]) * n + np.maximum(pairs[:, 0], pairs[:, 1])
    ranked = np.sort(codes)
    if (ranked[1:] != ranked[:-1]).all():
        return pairs
    return pairs[np.sort(np.unique(codes, return_index=True)[1])]


def lay_out(n_states: Ints, scope_start: Ints, scope: Ints) -> Graph:
    """Write down the graph of the scopes of factors."""
    n = n_states.shape[0]
    edges = edges_of(n, scope_start, scope)
    different, which = np.unique(n_states, return_inverse=True)
    logs = np.array([math.log2(k) for k in different.tolist()])[which]
    weights = logs.copy()
    for side in (0, 1):
        weights += np.bincount(edges[:, side], logs[edges[:, 1 - side]], minlength=n)
    degree = np.bincount(edges.ravel(), minlength=n)
    return Graph(edges, degree, n_states.astype(np.float64), logs, weights)


def heavy_core(graph: Graph, limit: float) -> Ints:
    """Give a clique that every order has at least, if that is larger than 2 ** limit; or nothing.

    Whichever variable of a part of the graph is eliminated first, its neighbours in that part are
    all there. So variables that are light among those left are taken off until none is.
    """
    weights, edges = graph.weights.copy(), graph.edges
    heavy = weights > limit
    for _ in range(ROUNDS):
        if not heavy.any():
            break
        light = ~heavy[edges]
        if not light.any():
            first = int(np.argmin(np.where(heavy, weights, np.inf)))
            around = edges[(edges == first).any(axis=1)].ravel()
            return np.concatenate(([first], around[around != first]))
        for side in (0, 1):
            gone = light[:, side] & ~light[:, 1 - side]
            lost = graph.logs[edges[gone, side]]
            weights -= np.bincount(edges[gone, 1 - side], lost, minlength=weights.shape[0])
        edges = edges[~light.any(axis=1)]
        heavy &= weights > limit
    return np.empty(0, np.int64)
