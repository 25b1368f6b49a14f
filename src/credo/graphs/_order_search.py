"""The search for an elimination order: greedy tries, then refinement, for as long as it pays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from credo._kernels.elimination_graph import Graph, Ints, heavy_core
from credo._kernels.elimination_order import GIVEN
from credo._kernels.elimination_refinement import BITS
from credo.graphs._order_pass import Costs, Pass, core_costs
from credo.graphs._order_refinement import refined

#: Units of work (about 5 ns) that a cell of the best order is worth: a quarter of a first answer,
#: which takes about 4 ns a cell. Mean cells over eight seeds, as parts of weighted min-fill, for
#: 0.1, 0.2, 0.4: insurance .80 .52 .44, andes 1 1 .89, pigs 1 .97 .87, water .83 .83 .83,
#: munin2 .63 .51 .46, munin .67 .66 .65, link .60 .60 .60, munin1 .35 .35 .35. Search and first
#: answer together are then .79, .81 and .88 of the plain order (geometric mean), and later
#: answers are cheaper the longer the search.
SHARE = 0.2
#: Part of that for greedy tries after the first.
GREEDY_SHARE = 0.1
#: Units that one unit of a greedy try takes, and that a variable takes in refinement.
GREEDY, PLANTING = 2.0, 32.0
#: Below this many cells an answer takes less than a millisecond, whatever the order.
QUICK = 1e5
#: Up to this log2 the cliques of an order that is given are counted.
COUNTED = 256.0
#: Cells that cannot be addressed, by log2, with some to spare: 2 ** 58 doubles are 2 ** 61 bytes.
HOPELESS = 60.0
#: Units of greedy tries after which one that came to such a clique is taken at its word.
PATIENCE = 1e7


class Found(NamedTuple):
    """The best order found, its costs, where it comes from, and how many were tried."""

    sequence: Ints
    costs: Costs
    kind: int
    tries: int


class _Greedy(NamedTuple):
    """The best greedy pass, its costs and kind; orders tried and units spent in all."""

    best: Pass
    costs: Costs
    kind: int
    tries: int
    spent: float


def search(graph: Graph, group: Ints, kinds: Sequence[int], seed: int, budget: float) -> Found:
    """Find an order, with at most ``budget`` units of work after the first greedy try."""
    core = heavy_core(graph, HOPELESS)
    if core.shape[0]:
        by_weight = np.lexsort((graph.weights, group))
        return Found(by_weight, core_costs(graph, core), kinds[0], 0)
    best, costs, kind, tries, spent = _greedy(graph, group, kinds, budget)
    plain = Found(best.sequence, costs, kind, tries)
    worth = min(budget, SHARE * costs.cells) - spent
    small = costs.cells < QUICK or worth < PLANTING * group.shape[0]
    if small or best.joins == 0 or not costs.exact or costs.width >= BITS - 1:
        return plain
    sequence, pieces = refined(graph, best, seed, SHARE, worth)
    told = evaluate(graph, sequence)
    if told.cells < costs.cells:
        return Found(sequence, told, kind, tries + pieces)
    return plain._replace(tries=tries + pieces)


def evaluate(graph: Graph, sequence: Ints, limit: float = COUNTED) -> Costs:
    """Count the cells of an order that is given, up to cliques of 2 ** limit cells."""
    core = heavy_core(graph, limit)
    if core.shape[0]:
        return core_costs(graph, core)
    now = Pass(graph, np.zeros(sequence.shape[0], np.int64), sequence)
    now.run(GIVEN, limit, np.inf)
    return now.costs()


def _greedy(graph: Graph, group: Ints, kinds: Sequence[int], budget: float) -> _Greedy:
    """Try the greedy rules, for as long as that pays; keep the best order."""
    best = Pass(graph, group, np.arange(group.shape[0]))
    best.run(kinds[0], HOPELESS, np.inf)
    kept = _Greedy(best, best.costs(), kinds[0], 1, GREEDY * best.work)
    for kind in kinds[1:]:
        told = kept.costs
        patience = GREEDY_SHARE * told.cells if told.exact else PATIENCE
        # Where nothing was joined, no order does without these cliques.
        if kept.best.joins == 0 or kept.spent > min(budget, patience):
            break
        now = Pass(graph, group, np.arange(group.shape[0]))
        done = now.run(kind, HOPELESS, told.cells if told.exact else np.inf)
        kept = kept._replace(tries=kept.tries + 1, spent=kept.spent + GREEDY * now.work)
        costs = now.costs() if done else told
        if _cheaper(costs, told):
            kept = kept._replace(best=now, costs=costs, kind=kind)
    return kept


def _cheaper(told: Costs, kept: Costs) -> bool:
    """Tell whether an order is cheaper than the one kept; one beyond the limit never is."""
    return told.exact and (not kept.exact or told.cells < kept.cells)
