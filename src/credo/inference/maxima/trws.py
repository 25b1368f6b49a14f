"""TRW-S: the best configuration found by messages, with a bound on how good it can get."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from credo._types import F64, Bool
from credo._validation.arrays import as_number, positive_int
from credo.exceptions import InputError
from credo.graphs.problems import Problem
from credo.graphs.wiring import ranges, starts
from credo.inference.maxima.fields import Field, make_field
from credo.inference.maxima.leaves import Leaves
from credo.inference.maxima.outcomes import Ending, Maximum, impossible, log_score
from credo.inference.question import Callback

Int64: TypeAlias = npt.NDArray[np.int64]

#: What sums of scores lose to rounding, as a share.
_ROUNDING = 1e-13
#: The bound stalls if it falls by no more than the tolerance in this many sweeps. On frustrated
#: grids it can rest for two or three and then go on.
_PATIENCE = 10


def run_trws(
    problem: Problem,
    *,
    sweeps: int = 500,
    tolerance: float = 1e-9,
    callback: Callback | None = None,
) -> Maximum:
    r"""Find a good configuration and an upper bound on all, by sequential tree-reweighting.

    The problem is split into chains, whose maxima add up to the bound

    .. math:: \max_x \sum_f \ln \psi_f(x_f) \le \sum_T \max_x \theta^T(x) .

    A sweep visits the nodes in order and back, and averages what the chains through a node say of
    it, so that the bound never rises. On the way each node takes its best state given the nodes
    before it and the messages from those that come.

    Parameters
    ----------
    problem
        Factors over any numbers of states. Those of more than two variables become nodes whose
        states are their cells.
    sweeps
        The most sweeps to make.
    tolerance
        Distances are zero up to this much, relative to the score if that is larger than one.
    callback
        Called after each sweep with its number and the gap.

    Returns
    -------
    Maximum
        ``OPTIMAL`` if the bound is the score, ``CONVERGED`` if the bound stalls, ``MAX_SWEEPS``.

    Raises
    ------
    InputError
        If ``sweeps`` or ``tolerance`` is not a number of the kind it has to be.

    See Also
    --------
    credo.mpe : Puts this engine behind names and evidence.

    Notes
    -----
    A sweep takes two visits to each table. Nodes that hang by one pair are maximised out first, so
    that trees are solved without a sweep. For two states per variable the bound converges to that
    of the linear relaxation; for more it may stall above it.

    References
    ----------
    .. [1] V. Kolmogorov, Convergent tree-reweighted message passing for energy minimization, IEEE
       Transactions on Pattern Analysis and Machine Intelligence 28 (2006), section 4, figure 3.

    Examples
    --------
    >>> from credo.graphs import FactorGraph
    >>> from credo.graphs.evidence import resolve
    >>> from credo.graphs.problems import pose
    >>> graph = FactorGraph()
    >>> a, b = graph.variable("a", 2), graph.variable("b", 2)
    >>> _ = graph.factor([a, b], [[0, 3], [2, 2]])
    >>> wiring = graph.compile()
    >>> found = run_trws(pose(wiring, resolve(wiring, None, None, "example")))
    >>> found.states, found.status
    (array([0, 1]), 'OPTIMAL')
    """
    positive_int(sweeps, "tree_reweighted", "sweeps")
    if as_number(tolerance, "tree_reweighted", "tolerance") < 0:
        raise InputError(
            f"The tolerance of tree_reweighted must be at least zero. Got {tolerance}."
        )
    logs = problem.log_values()
    field = make_field(problem, logs)
    if field.constant == -math.inf:
        return impossible(problem, "tree_reweighted")
    leaves = Leaves.of(field)
    field = leaves.absorbed(field)
    core = _Core.of(field, leaves.is_core(len(field.n_states)))
    run = _Run(core, field, tolerance)
    status = run.sweep(sweeps, callback)
    if status == "IMPOSSIBLE":
        return impossible(problem, "tree_reweighted")
    nodes = leaves.decoded(field, core.nodes, run.states)
    states = nodes[: field.n_variables]
    score = log_score(problem, logs, states)
    bounds = np.array(run.bounds)
    bound = max(score, float(bounds.min()))
    return Maximum("tree_reweighted", states, score, bound, status, len(bounds), bounds)


@dataclass(frozen=True, slots=True, eq=False)
class _Core:
    """The nodes that stay in the order of the sweeps, and their pairs by both ends."""

    nodes: Int64
    n_states: Int64
    start: Int64
    values: F64
    codes: Int64
    low: Int64
    high: Int64
    stride: Int64
    table: Int64
    above: tuple[Int64, Int64]  #: the pairs of each node with higher ones: starts, and pairs
    below: tuple[Int64, Int64]
    gamma: F64
    message_at: Int64  #: with room for the longer of both ends
    room: int

    @classmethod
    def of(cls, field: Field, stays: Bool) -> _Core:
        nodes = _sequence(field, stays)
        n_states = field.n_states[nodes]
        cells = ranges(field.start[nodes], n_states)
        low, high, stride, table = _ends(field, nodes, stays)
        counts = [np.bincount(end, minlength=len(nodes)) for end in (low, high)]
        room = starts(np.maximum(n_states[low], n_states[high]))
        return cls(
            nodes,
            n_states,
            starts(n_states),
            field.values[cells],
            field.codes[cells] if len(field.codes) else field.codes,
            low,
            high,
            stride,
            table,
            (starts(counts[0]), np.arange(len(low))),
            (starts(counts[1]), np.argsort(high, kind="stable")),
            1.0 / np.maximum(*counts),
            room[:-1],
            int(room[-1]),
        )

    @property
    def is_binary(self) -> bool:
        """Whether all nodes have two states, and all pairs tables."""
        return bool((self.n_states == 2).all()) and not self.stride.any()


def _ends(field: Field, nodes: Int64, stays: Bool) -> tuple[Int64, Int64, Int64, Int64]:
    """Give the pairs of the nodes that stay: their ends as places in order, strides, tables."""
    place = np.zeros(len(field.n_states), np.int64)
    place[nodes] = np.arange(len(nodes))
    kept = np.flatnonzero(stays[field.pairs].all(axis=1))
    ends = place[field.pairs[kept]]
    stride = np.where(ends[:, 0] < ends[:, 1], field.stride[kept], -field.stride[kept])
    low, high = ends.min(axis=1), ends.max(axis=1)
    order = np.lexsort((high, low))
    return low[order], high[order], stride[order], field.table[kept][order]


def _sequence(field: Field, stays: Bool) -> Int64:
    """Order the nodes as they are numbered, each cluster just before the last of its variables.

    Chains then run on through clusters. If these came last, every chain would have two nodes.
    """
    n, count = field.n_variables, len(field.n_states)
    key = np.arange(count, dtype=np.float64)
    ties = field.pairs[field.stride > 0]
    key[n:] = -1.0
    np.maximum.at(key, ties[:, 1], ties[:, 0] - 0.5)
    order = np.lexsort((np.arange(count), key))
    return order[stays[order]]


class _Run:
    """Sweeps, the best states so far, and the bounds."""

    def __init__(self, core: _Core, field: Field, tolerance: float) -> None:
        self._core = core
        self._tables = field.tables
        self._constant = field.constant
        self._tolerance = tolerance
        self._message = np.zeros(core.room)
        self._parts = np.zeros(len(core.nodes))
        self._widest = int(core.n_states.max(initial=1))
        self.states: Int64 = np.zeros(len(core.nodes), np.int64)
        self.score = -math.inf
        self.bounds: list[float] = []

    def sweep(self, most: int, callback: Callback | None) -> Ending:
        """Sweep until the bound is reached or stalls."""
        for done in range(1, most + 1):
            self._pass(forward=True)
            bound = self._pass(forward=False)
            self.bounds.append(bound)
            if bound == -math.inf:
                return "IMPOSSIBLE"
            gap = bound - self.score
            if callback is not None:
                callback(done, max(gap, 0.0))
            near = self._tolerance + _ROUNDING * abs(bound)
            if gap <= near:
                return "OPTIMAL"
            if done > _PATIENCE and self.bounds[-1 - _PATIENCE] - bound <= near:
                return "CONVERGED"
        return "MAX_SWEEPS"

    def _pass(self, *, forward: bool) -> float:
        """Visit all nodes in order, or back; keep the states if they are better; give the bound."""
        from credo._kernels.trws_messages import sweep, sweep_two  # noqa: PLC0415

        core = self._core
        ahead, behind = (core.above, core.below) if forward else (core.below, core.above)
        states: Int64 = np.zeros(len(core.nodes), np.int64)
        lists = (*ahead, *behind, core.gamma, self._message)
        if core.is_binary:
            pairs = (core.low, core.high, core.table, self._tables)
            score = sweep_two(forward, core.values, *pairs, *lists, states, self._parts)
        else:
            score = sweep(
                forward,
                self._widest,
                core.n_states,
                core.start,
                core.values,
                core.codes,
                core.low,
                core.high,
                core.stride,
                core.table,
                self._tables,
                *lists,
                core.message_at,
                states,
                self._parts,
            )
        if score + self._constant > self.score:
            self.score, self.states = score + self._constant, states
        return float(self._parts.sum()) + self._constant
