"""From an elimination order to its clique tree, through the refinement, and back."""

from __future__ import annotations

import math

import numpy as np

from credo._kernels import elimination_refinement as kernels
from credo._kernels.elimination_graph import START, Floats, Graph, Ints
from credo.graphs._order_pass import Pass


def refined(graph: Graph, best: Pass, seed: int, share: float, budget: float) -> tuple[Ints, int]:
    """Give a cheaper order, or an equal one, and how many pieces of its clique tree were tried.

    Stops once the units of work are ``share`` of the cells that are left, or ``budget``.
    """
    n = best.group.shape[0]
    tree, rest, cells = _plant(best)
    ends, others = graph.edges.T.ravel(), graph.edges.T[::-1].ravel()
    out = others[np.argsort(ends, kind="stable")]
    tree[:, kernels.END] = np.cumsum(graph.degree)
    tree[:, kernels.BEGIN] = tree[:, kernels.END] - graph.degree
    room = (
        np.zeros((kernels.BITS, 7), np.int64),
        np.zeros((kernels.BITS, 3)),
        np.empty(n, np.int64),
        np.zeros(kernels.HANDED + kernels.BITS, np.int64),
    )
    state = np.array([_warmed_up(seed), 0, 0], np.int64)
    total = math.inf
    while state[kernels.WORK] < min(budget, share * total):
        total = float(cells.sum())
        # One sweep: about n / 16 cliques, as often as the square root of their cells says.
        gap = float(np.sqrt(cells).sum()) / (8 + n // 16)
        most = min(budget, share * total)
        kernels.sweep(graph.states, out, tree, rest, cells, *room, state, most, gap)
    return _unroll(tree[:, kernels.PARENT], best.group), int(state[kernels.TRIED])


def _warmed_up(seed: int) -> int:
    """Give the state of the generator after some draws: small seeds start alike."""
    state = seed % 2147483645 + 1
    for _ in range(4):
        state = state * kernels.FACTOR % kernels.MODULUS
    return state


def _plant(best: Pass) -> tuple[Ints, Ints, Floats]:
    """Build the clique tree of an order; give its links, cliques and cells by variable."""
    order, (cells, size) = best.sequence, best.cliques()
    n = order.shape[0]
    position = np.empty(n, np.int64)
    position[order] = np.arange(n)
    rest = np.empty((n, min(kernels.BITS, 2 * int(size.max()) + 4)), np.int64)
    steps = np.repeat(np.arange(n), size)
    column = np.arange(steps.shape[0]) - np.repeat(np.cumsum(size) - size, size)
    known = steps < best.tail
    members = order[np.minimum(steps + 1 + column, n - 1)]
    members[known] = best.pool[(best.count[order[steps], START] + column)[known]]
    rest[order[steps], column] = members
    tree = np.full((n, 8), -1, np.int64)
    tree[:, kernels.GROUP] = best.group
    tree[order, kernels.SIZE] = size
    _hang(tree, order, size, position[members])
    by_variable = np.empty(n)
    by_variable[order] = np.maximum(cells, 0.0)
    return tree, rest, by_variable


def _hang(tree: Ints, order: Ints, size: Ints, later: Ints) -> None:
    """Link each clique to that of the first of its later members."""
    steps = np.flatnonzero(size)
    if not steps.shape[0]:
        return
    parent = np.minimum.reduceat(later, (np.cumsum(size) - size)[steps])
    tree[order[steps], kernels.PARENT] = order[parent]
    # Children of one parent hang on one another, the last eliminated first.
    ranks = np.argsort(parent, kind="stable")
    steps, parent = steps[ranks], parent[ranks]
    same = parent[1:] == parent[:-1]
    tree[order[steps[1:][same]], kernels.NEXT] = order[steps[:-1][same]]
    tree[order[parent], kernels.CHILD] = order[steps]


def _unroll(above: Ints, group: Ints) -> Ints:
    """Give an order of a tree: children before parents, and group 0 before group 1."""
    parent, groups = above.tolist(), group.tolist()
    waiting = np.bincount(above[above >= 0], minlength=above.shape[0]).tolist()
    order: list[int] = []
    done = 0
    for which in (0, 1):
        order += [v for v, left in enumerate(waiting) if left == 0 and groups[v] == which]
        while done < len(order):
            v = parent[order[done]]
            done += 1
            if v >= 0:
                waiting[v] -= 1
                if waiting[v] == 0 and groups[v] == which:
                    order.append(v)
    return np.array(order, np.int64)
