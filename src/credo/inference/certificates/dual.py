"""The tree-reweighted bound as a function of messages: its value, its slope, and its beliefs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import xlogy

from credo._types import F64
from credo.graphs.wiring import ranges
from credo.inference.certificates.forests import Mixture, factor_of, graph_of, room_for
from credo.inference.certificates.reduction import Reduced

EPS = float(np.finfo(np.float64).eps)


@dataclass(frozen=True, slots=True, eq=False)
class Evaluation:
    """The bound at some messages, and the weighted means of the forests' marginals."""

    mixture: Mixture
    shift: F64  #: the messages, as logs, slot after slot
    value: float  #: the bound on log Z, as computed
    rounding: float  #: how far rounding may have moved it
    slope: F64  #: its derivative by the messages
    marginals: F64  #: over all forests, for each state
    at_slot: F64  #: over the forests that hold a factor, for each state of each of its variables
    beliefs: F64  #: the same for each cell

    @property
    def residual(self) -> float:
        """How far the forests' marginals of one variable are apart, at most."""
        return float(np.abs(self.slope).max(initial=0.0))


class Dual:
    """The bound of one reduced problem."""

    def __init__(self, reduced: Reduced) -> None:
        self.reduced = reduced
        self.graph = graph_of(reduced)
        self._room = room_for(self.graph)
        self._tables = np.empty(len(reduced.logs))
        self._unary = np.empty(len(reduced.unary))
        graph = self.graph
        #: the factor, and the place among all states, of each entry of a message
        self.factor = np.repeat(factor_of(graph), graph.n_states[graph.scope])
        self.state = ranges(graph.state_start[graph.scope], graph.n_states[graph.scope])

    @property
    def n_messages(self) -> int:
        """How many numbers the messages have, all together."""
        return int(self.graph.message_start[-1])

    def evaluate(self, mixture: Mixture, shift: F64) -> Evaluation:
        """Sum every forest, and average."""
        from credo._kernels.tree_bounds import mean_of_sums, reparametrise  # noqa: PLC0415

        reduced, graph, room, rho = self.reduced, self.graph, self._room, mixture.rho
        own = reduced.unary, reduced.logs
        new = self._unary, self._tables
        wear = reparametrise(graph, *own, rho, shift, room.digit, *new)
        marginals, at_slot = np.zeros(len(reduced.unary)), np.zeros(len(shift))
        cells = np.zeros(len(reduced.logs))
        out = marginals, at_slot, cells
        everyone = np.arange(reduced.n)
        value, more = mean_of_sums(graph, *new, *mixture.arrays(), everyone, room, *out)
        terms = len(mixture.weights) + 1
        return Evaluation(
            mixture=mixture,
            shift=shift,
            value=float(value) + reduced.constant,
            rounding=EPS * (terms * float(wear) + float(more) + reduced.wear + 4 * abs(value)),
            slope=rho[self.factor] * marginals[self.state] - at_slot,
            marginals=marginals,
            at_slot=at_slot / rho[self.factor],
            beliefs=cells / np.repeat(rho, np.diff(graph.cell_start)),
        )

    def information(self, beliefs: F64, at_slot: F64) -> F64:
        """Give the multi-information of each factor's belief: how far from independent it is."""
        graph = self.graph
        joint = np.add.reduceat(xlogy(beliefs, beliefs), graph.cell_start[:-1])
        begin = graph.message_start[graph.scope_start[:-1]]
        return np.asarray(joint - np.add.reduceat(xlogy(at_slot, at_slot), begin))
