"""From an elimination order to its clique tree, through the refinement, and back."""

from __future__ import annotations

import math

import numpy as np

from credo._kernels import elimination_refinement as kernels
from credo._kernels.elimination_graph import START, STATES, Floats, Graph, Ints
from credo.graphs._order_pass import Pass


def refined(graph: Graph, best: Pass, seed: int, share: float, budget: float) -> tuple[Ints, int]:
    """Give a cheaper order, or an equal one, and how many pieces of its clique tree were tried.

    Stops once the units of work are ``share`` of the cells that are left, or ``budget``.
    """
    n = best.group.shape[0]
    tree, rest, table = _plant(best)
    ends, others = graph.edges.T.ravel(), graph.edges.T[::-1].ravel()
    out = others[np.argsort(ends, kind="stable")]
    tree[:, kernels.END] = np.cumsum(graph.degree)
    tree[:, kernels.BEGIN] = tree[:, kernels.END] - graph.degree
    room = (
        np.zeros((kernels.BITS, 7), np.int64),
        np.zeros((kernels.BITS, 4)),
        np.empty(n + kernels.BITS, np.int64),
        np.zeros(kernels.HANDED + kernels.BITS, np.int64),
    )
    state = np.array([_warmed_up(seed), 0, 0], np.int64)
    total = math.inf
    while state[kernels.WORK] < min(budget, share * total):
        cells = table[:, kernels.CELLS]
        total = float(cells.sum())
        # One sweep: about n / 16 cliques, as often as the square root of their cells says.
        gap = float(np.sqrt(cells).sum()) / (8 + n // 16)
        most = min(budget, share * total)
        kernels.sweep(out, tree, rest, table, *room, state, most, gap)
    return _unroll(tree[:, kernels.PARENT], best.group), int(state[kernels.TRIED])


def _warmed_up(seed: int) -> int:
    """Give the state of the generator after some draws: small seeds start alike."""
    state = seed % 2147483645 + 1
    for _ in range(4):
        state = state * kernels.FACTOR % kernels.MODULUS
    return state


def _plant(best: Pass) -> tuple[Ints, Ints, Floats]:
    """Build the clique tree of an order; give its links, cliques and cells by variable."""
    order, parent, (cells, size) = best.sequence, best.parents(), best.tables()
    n = order.shape[0]
    tree = np.full((n, 8), -1, np.int64)
    tree[:, kernels.GROUP] = best.group
    tree[order, kernels.SIZE] = size
    steps = np.flatnonzero(size)
    tree[order[steps], kernels.PARENT] = order[parent[steps]]
    # Children of one parent hang on one another, the last eliminated first.
    steps = steps[np.argsort(parent[steps], kind="stable")]
    above = parent[steps]
    same = above[1:] == above[:-1]
    tree[order[steps[1:][same]], kernels.NEXT] = order[steps[:-1][same]]
    tree[order[above], kernels.CHILD] = order[steps]
    table = np.zeros((n, 2))
    table[:, kernels.STATES] = best.real[:, STATES]
    maximal = best.maximal(size, parent)
    table[order[maximal], kernels.CELLS] = cells[maximal]
    return tree, _members(best, size), table


def _members(best: Pass, size: Ints) -> Ints:
    """List the later members of the clique of each variable, a row for each."""
    order, n = best.sequence, size.shape[0]
    steps = np.repeat(np.arange(n), size)
    column = np.arange(steps.shape[0]) - np.repeat(np.cumsum(size) - size, size)
    listed = steps < best.tail
    members = order[np.minimum(steps + 1 + column, n - 1)]
    members[listed] = best.pool[(best.count[order[steps], START] + column)[listed]]
    rest = np.empty((n, min(kernels.BITS, 2 * int(size.max()) + 4)), np.int64)
    rest[order[steps], column] = members
    return rest


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
