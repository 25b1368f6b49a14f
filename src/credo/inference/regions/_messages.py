"""Messages between the regions of a graph, and the beliefs that they make."""

from __future__ import annotations

import numpy as np

from credo._types import F64
from credo.graphs.problems import Problem
from credo.graphs.wiring import starts
from credo.inference.regions._sets import Int64
from credo.inference.regions.graph import RegionGraph, outer_logs


class RegionMessages:
    """Log messages and log beliefs, which sweeps change in place.

    Parameters
    ----------
    problem, graph
        The factors, and the regions that hold them.
    """

    def __init__(self, problem: Problem, graph: RegionGraph) -> None:
        self.graph = graph
        self.factors, constant = outer_logs(problem, graph)
        self.log_constant = problem.log_constant + constant
        self.outer: F64 = np.empty_like(self.factors)
        self._shares: F64 = np.empty_like(self.factors)  # the exponentials of these
        sizes = np.diff(graph.inner_cells)
        self.inner: F64 = np.repeat(-np.log(sizes), sizes)
        self.message: F64 = np.zeros(int(graph.message_start[-1]))
        self.updates = 0
        self.divergence = np.inf  #: what beliefs disagreed by in the last sweep, in nats
        self.is_impossible = constant == -np.inf or self.rebuild() == -np.inf
        self._widest = int((sizes * graph.repeats).max(initial=0))

    def sweep(
        self,
        numbers: F64,
        momentum: float = 1.0,
        *,
        reference: F64 | None = None,
        backward: bool = False,
    ) -> float:
        """Visit all inner regions once; give the largest gap between two beliefs.

        Parameters
        ----------
        numbers
            Counting numbers to divide by; where they are not the true ones, the difference is
            made up for by the reference.
        momentum
            Weight of the new log message.
        reference
            Log beliefs of the inner regions; None for those of the last visit.
        backward
            Take the inner regions in the opposite order.
        """
        from credo._kernels.region_messages import sweep  # noqa: PLC0415

        graph = self.graph
        residual, self.divergence = sweep(
            self._shares,
            self.outer,
            graph.cells,
            self.inner,
            self.inner if reference is None else reference,
            graph.inner_cells,
            numbers - graph.counting,
            numbers + graph.repeats,
            graph.link_start,
            graph.link,
            graph.map_start,
            graph.maps,
            graph.message_start,
            self.message,
            momentum,
            backward,
            self._widest,
        )
        self.updates += 2 * len(graph.link)
        self.is_impossible = self.is_impossible or residual < 0
        return float(max(residual, 0.0))

    def rebuild(self) -> float:
        """Make the outer beliefs from factors and messages afresh; give the log of their sums."""
        from credo._kernels.region_messages import rebuild  # noqa: PLC0415

        graph = self.graph
        log_sums = rebuild(
            self._shares,
            self.outer,
            self.factors,
            graph.cells,
            graph.inner_cells,
            graph.link_start,
            graph.link,
            graph.map_start,
            graph.maps,
            graph.message_start,
            self.message,
        )
        return float(log_sums)

    def free_energy(self) -> float:
        """Give the Kikuchi free energy, right to second order in what beliefs disagree by.

        It is that of the Lagrangian: the terms of the messages vanish where beliefs agree.
        """
        from credo._kernels.region_messages import inner_energy  # noqa: PLC0415

        graph = self.graph
        inner = inner_energy(
            self.inner,
            graph.inner_cells,
            graph.counting,
            graph.link_start,
            graph.message_start,
            self.message,
        )
        return float(inner) - self.rebuild()

    def marginals(self) -> tuple[Int64, F64]:
        """Read the beliefs of single variables from the smallest regions that hold them."""
        from credo._kernels.region_tables import read_marginals, smallest_holders  # noqa: PLC0415

        graph = self.graph
        n_states, n_inner = graph.n_states, len(graph.inner)
        start = starts(n_states)
        best = np.full(len(n_states), np.iinfo(np.int64).max)
        home, inside = np.full_like(best, -1), np.ones_like(best)
        found = (best, home, inside)
        inner, outer = graph.inner, graph.outer
        smallest_holders(n_states, inner.start, inner.members, graph.inner_cells, 0, *found)
        smallest_holders(n_states, outer.start, outer.members, graph.cells, n_inner, *found)
        values = np.ones(int(start[-1]))
        in_outer = home >= n_inner
        for chosen, table, cells, shift in (
            (~in_outer & (home >= 0), self.inner, graph.inner_cells, 0),
            (in_outer, self.outer, graph.cells, n_inner),
        ):
            places = np.flatnonzero(chosen)
            read_marginals(places, n_states, home - shift, inside, table, cells, start, values)
        return start, values
