"""Places for the nodes of a graph: in rows, with few crossings, links bent round other nodes."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import NamedTuple, TypeAlias

import numpy as np
import scipy

Arc: TypeAlias = tuple[int, int]

#: Nodes in a row: at least so many, of large graphs so many times the root of their number; more
#: are put into the rows below.
_IN_A_ROW, _SPREAD = 6, 1.3
#: Rounds of sorting rows and of moving nodes; small graphs settle after two or three.
_ROUNDS = 6


class Layers(NamedTuple):
    """Nodes, and after them the bends of long links, in rows from top to bottom."""

    rows: list[list[int]]
    x: list[float]
    row_of: list[int]
    routes: list[list[int]]  #: of each arc: its upper end, bends, its lower end


def arrange(n: int, arcs: Sequence[Arc], widths: tuple[float, float], *, directed: bool) -> Layers:
    """Place ``n`` nodes so that arcs go down, are short and seldom cross.

    Parameters
    ----------
    n
        Number of nodes.
    arcs
        Pairs of nodes, without cycles if they are directed.
    widths
        Width of a node and of a bend, with the room beside them.
    directed
        Whether each arc has to go down.
    """
    above = _parents(n, arcs) if directed else _nearer(n, arcs)
    row_of = _rows_of(above, arcs if directed else ())
    routes = [_route(arc, row_of) for arc in arcs]
    rows = [_first_guess(n, row_of, row) for row in range(max(row_of) + 1)]
    links = [(a, b) for route in routes for a, b in pairwise(route) if row_of[a] != row_of[b]]
    rows = _with_few_crossings(rows, links)
    # Bends take half the width of the fullest row at most.
    n_nodes = max(sum(v < n for v in row) for row in rows)
    n_bends = max(sum(v >= n for v in row) for row in rows)
    bend = min(widths[1], n_nodes * widths[0] / (2 * max(n_bends, 1)))
    room = np.where(np.arange(len(row_of)) < n, widths[0], bend)
    beside = _neighbours(len(row_of), links)
    x = np.zeros(len(room))
    offsets = [np.cumsum(room[row]) - room[row] / 2 for row in rows]
    for row, own in zip(rows, offsets, strict=True):
        x[row] = own - own.mean()
    # Nodes move towards their neighbours, keeping the order and the room of each row.
    for turn in range(2 * _ROUNDS):
        for row, own in list(zip(rows, offsets, strict=True))[:: -1 if turn % 2 else 1]:
            wish = np.array([x[beside[v]].mean() if beside[v] else x[v] for v in row])
            x[row] = scipy.optimize.isotonic_regression(wish - own).x + own
    return Layers(rows, x.tolist(), row_of, routes)


def _neighbours(n: int, arcs: Iterable[Arc]) -> list[list[int]]:
    """List the other ends of the arcs of each node."""
    beside: list[list[int]] = [[] for _ in range(n)]
    for a, b in arcs:
        beside[a].append(b)
        beside[b].append(a)
    return beside


def _parents(n: int, arcs: Iterable[Arc]) -> dict[int, list[int]]:
    """List what must be above each node, by nodes in an order that puts these first."""
    waiting: dict[int, list[int]] = {node: [] for node in range(n)}
    for upper, lower in arcs:
        waiting[lower].append(upper)
    ordered: dict[int, list[int]] = {}
    while waiting:
        ready = next(v for v, parents in waiting.items() if all(p in ordered for p in parents))
        ordered[ready] = waiting.pop(ready)
    return ordered


def _nearer(n: int, arcs: Iterable[Arc]) -> dict[int, list[int]]:
    """Do the same without directions: one step nearer to the first node of each part."""
    beside = _neighbours(n, arcs)
    found: dict[int, list[int]] = {}
    for first in range(n):
        queue = [] if first in found else [first]
        found.setdefault(first, [])
        for node in queue:
            new = [other for other in sorted(set(beside[node])) if other not in found]
            found |= {other: [node] for other in new}
            queue += new
    return found


def _rows_of(above: dict[int, list[int]], arcs: Sequence[Arc]) -> list[int]:
    """Put each node into the first row with room below what must be above it."""
    row_of: dict[int, int] = {}
    used: list[int] = []
    most = max(_IN_A_ROW, math.ceil(_SPREAD * math.sqrt(len(above))))
    for node, parents in above.items():
        row = max((row_of[p] + 1 for p in parents), default=0)
        while row < len(used) and used[row] == most:
            row += 1
        used += [0] * (row + 1 - len(used))
        used[row] += 1
        row_of[node] = row
    for node in (v for v, parents in above.items() if not parents):  # down to its first child
        near = min((row_of[b] - 1 for a, b in arcs if a == node), default=0)
        if near > row_of[node] and used[near] < most:
            used[near] += 1
            used[row_of[node]] -= 1
            row_of[node] = near
    return [row_of[node] for node in range(len(row_of))]


def _route(arc: Arc, row_of: list[int]) -> list[int]:
    """Return the upper end, a new bend for each row between, and the lower end."""
    upper, lower = sorted(arc, key=row_of.__getitem__)
    between = range(row_of[upper] + 1, row_of[lower])
    bends = [len(row_of) + i for i in range(len(between))]
    row_of += between
    return [upper, *bends, lower]


def _first_guess(n: int, row_of: list[int], row: int) -> list[int]:
    """List the nodes of a row, with all bends in its middle."""
    found = [node for node, own in enumerate(row_of) if own == row]
    nodes, bends = [v for v in found if v < n], [v for v in found if v >= n]
    half = (len(nodes) + 1) // 2
    return nodes[:half] + bends + nodes[half:]


def _with_few_crossings(rows: list[list[int]], links: list[Arc]) -> list[list[int]]:
    """Sort each row by the mean place of its neighbours, down and up; keep the best."""
    best, fewest = rows, _crossings(rows, links)
    for turn in range(2 * _ROUNDS):
        rows = _sorted_rows(rows, links, downwards=turn % 2 == 0)
        count = _crossings(rows, links)
        if count < fewest:
            best, fewest = rows, count
    return best


def _sorted_rows(rows: list[list[int]], links: list[Arc], *, downwards: bool) -> list[list[int]]:
    """Sort row after row by the places in the row before."""
    place = _order(rows)
    before: dict[int, list[int]] = {}
    for a, b in links:
        upper, lower = (b, a) if downwards else (a, b)
        before.setdefault(upper, []).append(lower)
    done = []
    for row in rows if downwards else rows[::-1]:
        wish = {v: np.mean([place[other] for other in before.get(v, [v])]) for v in row}
        done.append(sorted(row, key=wish.__getitem__))
        place |= _order(done[-1:])
    return done if downwards else done[::-1]


def _order(rows: list[list[int]]) -> dict[int, float]:
    """Return the place of each node in its row, from 0 to 1."""
    return {v: (i + 0.5) / len(row) for row in rows for i, v in enumerate(row)}


def _crossings(rows: list[list[int]], links: list[Arc]) -> int:
    """Count the pairs of links that cross."""
    place = _order(rows)
    count = 0
    for row in rows:
        inside = set(row)
        ends = np.array([(place[a], place[b]) for a, b in links if a in inside]).reshape(-1, 2)
        upper, lower = (np.sign(end[:, np.newaxis] - end) for end in ends.T)
        count += int((upper * lower < 0).sum()) // 2
    return count
