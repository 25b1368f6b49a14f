"""Spanning forests of a factor graph, and distributions over them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from credo._types import F64
from credo.graphs.wiring import starts
from credo.inference.certificates.reduction import Int64, Reduced


@dataclass(frozen=True, slots=True, eq=False)
class Forest:
    """Factors without a cycle, roots first, each with the slot through which it hangs on them."""

    edges: Int64
    ups: Int64


@dataclass(frozen=True, slots=True, eq=False)
class Mixture:
    """Forests with weights that sum to one, such that each factor lies in some of them."""

    forests: tuple[Forest, ...]
    weights: F64
    rho: F64  #: of each factor: the weight of the forests that hold it

    @classmethod
    def of(cls, forests: tuple[Forest, ...], weights: F64, n_factors: int) -> Mixture:
        """Weigh forests; those of no weight are left out."""
        shares = np.asarray(weights / weights.sum())
        kept = [t for t, share in enumerate(shares) if share > 0]
        rho = np.zeros(n_factors)
        for t in kept:
            rho[forests[t].edges] += shares[t]
        return cls(tuple(forests[t] for t in kept), shares[kept], rho)

    def moved(self, forest: Forest, step: float) -> Mixture:
        """Move some of the weight to one forest, which may be among them already."""
        weights = (1.0 - step) * self.weights
        edges = np.sort(forest.edges)
        for t, known in enumerate(self.forests):
            if np.array_equal(np.sort(known.edges), edges):
                weights[t] += step
                return self.of(self.forests, weights, len(self.rho))
        return self.of((*self.forests, forest), np.append(weights, step), len(self.rho))

    def arrays(self) -> tuple[Int64, Int64, Int64, F64]:
        """Give where forests start, their edges and slots one after the other, and the weights."""
        start = starts(np.array([len(forest.edges) for forest in self.forests], np.int64))
        edges = np.concatenate([forest.edges for forest in self.forests])
        return start, edges, np.concatenate([forest.ups for forest in self.forests]), self.weights


def graph_of(reduced: Reduced) -> Any:
    """Give the flat arrays of a reduced problem that the kernels of forests read."""
    return graph_over(reduced.n_states, reduced.scope_start, reduced.scope, reduced.cell_start)


def graph_over(n_states: Int64, scope_start: Int64, scope: Int64, cell_start: Int64) -> Any:
    """Give the flat arrays of any variables and factors."""
    from credo._kernels.forest_sums import Graph  # noqa: PLC0415 - loads Numba

    return Graph(
        n_states=n_states,
        state_start=starts(n_states),
        scope_start=scope_start,
        scope=scope,
        cell_start=cell_start,
        message_start=starts(n_states[scope]),
        incident_start=starts(np.bincount(scope, minlength=len(n_states))),
        incident=np.argsort(scope, kind="stable"),
    )


def factor_of(graph: Any) -> Int64:
    """Give the factor of each slot."""
    arity = np.diff(graph.scope_start)
    return np.repeat(np.arange(len(arity)), arity)


def room_for(graph: Any) -> Any:
    """Make scratch space for the sums of forests."""
    from credo._kernels.forest_sums import Room  # noqa: PLC0415

    most_states = int(graph.n_states.max(initial=0))
    n_states = int(graph.state_start[-1])
    return Room(
        total=np.empty(n_states),
        message=np.empty(int(graph.message_start[-1])),
        cell=np.empty(int(np.diff(graph.cell_start).max(initial=0))),
        digit=np.zeros(int(np.diff(graph.scope_start).max(initial=0)) + 1, np.int64),
        top=np.empty(most_states),
        part=np.empty(most_states),
        is_child=np.empty(len(graph.n_states), np.uint8),
        marginal=np.empty(n_states),
        belief=np.empty(int(graph.cell_start[-1])),
    )


def heaviest_forest(graph: Any, weights: F64) -> Forest:
    """Find a forest of great weight that no other factor fits in, by Kruskal's algorithm.

    It is the heaviest one where all factors have two variables; ties go to the lower index.
    """
    from credo._kernels.forest_sums import choose, plant  # noqa: PLC0415

    n = len(graph.n_states)
    chosen = np.zeros(len(weights), np.uint8)
    ranking = np.argsort(-weights, kind="stable")
    count = choose(ranking, graph.scope_start, graph.scope, np.arange(n), chosen)
    edges, ups = np.empty(int(count), np.int64), np.empty(int(count), np.int64)
    room = np.zeros(n, np.uint8), np.empty(n, np.int64)
    plant(graph, factor_of(graph), chosen, edges, ups, *room)
    return Forest(edges, ups)


def covering_mixture(graph: Any, strengths: F64, rng: np.random.Generator) -> Mixture:
    """Find forests that hold all factors between them, of equal weight.

    Each takes the factors first that the earlier ones hold least often, then the strongest.
    """
    n_factors = len(strengths)
    uses = np.zeros(n_factors)
    forests: list[Forest] = []
    scale = 2.0 * max(float(np.abs(strengths).max(initial=0.0)), np.finfo(float).tiny)
    while len(forests) < 1 or not uses.all():
        chance = 1e-3 * rng.random(n_factors)  # breaks ties only
        forest = heaviest_forest(graph, strengths / scale + chance - uses)
        uses[forest.edges] += 1
        forests.append(forest)
    return Mixture.of(tuple(forests), np.ones(len(forests)), n_factors)
