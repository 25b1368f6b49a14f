"""Sums over all forests of a mixture, and sweeps over blocks of independent variables.

A *part* is what one factor and one block have in common. A part of one variable has that
variable's belief; the parts of two or more are the factors of a forest, and have cells of their
own. *Places* say where a cell of a factor lies in each of its parts: first come the states of all
variables, then the cells of all parts that have some. A factor's logs, averaged over its other
parts, act on a part like a factor of the block.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from credo._kernels.forest import FAMILIES, LOW, MEMBERS, SUM, collect, distribute, distribute_cells
from credo._kernels.tiers import kernel


class Parts(NamedTuple):
    """Factors as tables of logs, and how each falls into parts."""

    cell_start: Any
    logs: Any
    part_start: Any  #: of each factor: where its parts start
    place_start: Any  #: of each factor: where its places start, cell after cell
    places: Any
    piece_start: Any  #: of each block: where its pieces start
    piece: Any  #: the parts of each block
    factor: Any  #: of each part
    table_start: Any  #: of each part: where its cells start; those of a single variable have none


@kernel(visits=5)
def average_forests(graph, forest, unary, tables, weights, states, room, cells, mean, belief):
    """Return the weighted mean of the logs of the sums of forests.

    ``mean`` is over all forests, for each state; ``belief`` over the forests that hold the factor,
    for each cell. Both come as zeros; ``cells`` is scratch space.
    """
    value = 0.0
    for t in range(forest.block.shape[0] - 1):
        for i in range(mean.size):
            room.total[i] = unary[i]
        first = graph.cell_start[:-1]
        value += weights[t] * collect(graph, forest, t, tables, 1.0, states, first, SUM, room)
        distribute(graph, forest, t, room)
        distribute_cells(graph, forest, t, states, first, room, cells)
        for i in range(mean.size):
            mean[i] += weights[t] * room.belief[i]
        for j in range(forest.block[t, FAMILIES], forest.block[t + 1, FAMILIES]):
            f = graph.factor[forest.link[forest.family[j, LOW]]]
            for c in range(graph.cell_start[f], graph.cell_start[f + 1]):
                belief[c] += weights[t] * cells[c]
    return value


@kernel
def weigh(parts, f, at, skipped, marginal, cells):
    """Return the probability of a cell in all parts but one; minus one where it is zero for sure.

    A product that is too small for a number is zero, but not for sure.
    """
    weight = 1.0
    for p in range(parts.part_start[f + 1] - parts.part_start[f]):
        if p != skipped:
            place = parts.places[at + p]
            held = marginal[place] if place < marginal.size else cells[place - marginal.size]
            if held == 0.0:
                return -1.0
            weight *= held
    return weight


@kernel
def press(parts, graph, forest, b, unary, room, tables, cells):
    """Write the logs that act on the variables and parts of a block, given the others."""
    total, n_states = room.total, room.total.size
    for m in range(forest.block[b, MEMBERS], forest.block[b + 1, MEMBERS]):
        v = forest.member[m]
        for i in range(graph.start[v], graph.start[v + 1]):
            total[i] = unary[i]
    for i in range(parts.piece_start[b], parts.piece_start[b + 1]):
        part = parts.piece[i]
        f = parts.factor[part]
        own, count = part - parts.part_start[f], parts.part_start[f + 1] - parts.part_start[f]
        for c in range(parts.table_start[part], parts.table_start[part + 1]):
            tables[c] = 0.0
        at = parts.place_start[f]
        for c in range(parts.cell_start[f], parts.cell_start[f + 1]):
            weight = weigh(parts, f, at, own, room.belief, cells)
            if weight >= 0.0:
                log = parts.logs[c]
                log = weight * log if log > -math.inf else log
                place = parts.places[at + own]
                if place < n_states:
                    total[place] += log
                else:
                    tables[place - n_states] += log
            at += count


@kernel
def settle(graph, forest, b, tables, states, room, cells):
    """Set the beliefs of a block to those of the logs that act on it; tell whether that can be."""
    first = graph.cell_start[:-1]
    if collect(graph, forest, b, tables, 1.0, states, first, SUM, room) == -math.inf:
        return False
    distribute(graph, forest, b, room)
    distribute_cells(graph, forest, b, states, first, room, cells)
    return True


@kernel
def begin(graph, forest, unary, tables, states, room, cells):
    """Start every block from given logs."""
    for i in range(unary.size):
        room.total[i] = unary[i]
    for b in range(forest.block.shape[0] - 1):
        settle(graph, forest, b, tables, states, room, cells)


@kernel(visits=2)
def sweep(parts, graph, forest, unary, tables, states, room, cells, before):
    """Set the beliefs of each block in turn to the best, given the others.

    Returns the largest change of a marginal; minus one where nothing is possible.
    """
    for i in range(before.size):
        before[i] = room.belief[i]
    for b in range(forest.block.shape[0] - 1):
        press(parts, graph, forest, b, unary, room, tables, cells)
        if not settle(graph, forest, b, tables, states, room, cells):
            return -1.0
    largest = 0.0
    for i in range(before.size):
        largest = max(largest, abs(room.belief[i] - before[i]))
    return largest


@kernel
def average_logs(parts, marginal, cells, out):
    """Write the average log of each factor."""
    for f in range(out.size):
        out[f] = 0.0
        at = parts.place_start[f]
        for c in range(parts.cell_start[f], parts.cell_start[f + 1]):
            weight = weigh(parts, f, at, -1, marginal, cells)
            if weight >= 0.0:
                log = parts.logs[c]
                out[f] += weight * log if log > -math.inf else log
            at += parts.part_start[f + 1] - parts.part_start[f]
