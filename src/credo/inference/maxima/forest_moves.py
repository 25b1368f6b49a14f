"""Better configurations by moving all variables of a forest at once."""

from __future__ import annotations

from dataclasses import replace
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from credo._types import F64
from credo.graphs.problems import Problem
from credo.graphs.wiring import starts
from credo.inference.maxima.fields import make_field
from credo.inference.maxima.leaves import Leaves, arrays_of
from credo.inference.maxima.outcomes import log_score

Int64: TypeAlias = npt.NDArray[np.int64]


class Forester:
    """A problem laid out for moves of forests: nodes among which no cycle closes.

    Given the other nodes, the best states of all nodes of a forest are found exactly, by two passes
    over it. On a grid two thirds of the nodes can move together.

    Parameters
    ----------
    problem, logs
        What to maximise, and the logs of its cells.
    """

    def __init__(self, problem: Problem, logs: F64) -> None:
        self._problem = problem
        self._logs = logs
        self._field = make_field(problem, logs)
        ends = np.concatenate([self._field.pairs, self._field.pairs[:, ::-1]])
        order = np.argsort(ends[:, 0], kind="stable")
        self._neighbours = np.ascontiguousarray(ends[order, 1])
        self._start = starts(np.bincount(ends[:, 0], minlength=len(self._field.n_states)))
        first = self._field.start[self._field.n_variables]
        codes = self._field.codes[first:]
        self._span = int(codes.max(initial=0)) + 1
        node = np.repeat(np.arange(len(self._field.n_states)), self._field.n_states)
        self._keys = node[first:][: len(codes)] * self._span + codes

    def improve(self, states: Int64, moves: int, rng: np.random.Generator) -> Int64:
        """Move random forests; from an impossible configuration nothing moves."""
        best, top = states, log_score(self._problem, self._logs, states)
        for _ in range(moves if top > -np.inf else 0):
            moved = self._moved(best, rng)
            score = log_score(self._problem, self._logs, moved)
            if score > top:
                best, top = moved, score
        return best

    def _moved(self, states: Int64, rng: np.random.Generator) -> Int64:
        """Give the best states of a random forest, and the others as they are."""
        from credo._kernels.local_moves import grow_forest  # noqa: PLC0415
        from credo._kernels.trws_messages import condition  # noqa: PLC0415

        field = self._field
        n, count = field.n_variables, len(field.n_states)
        order = np.concatenate([n + rng.permutation(count - n), rng.permutation(n)])
        chosen = np.zeros(count, np.bool_)
        grow_forest(order, self._start, self._neighbours, chosen)
        nodes, values = self._with_clusters(states), field.values.copy()
        condition(chosen, nodes, *arrays_of(field, values))
        inside = np.flatnonzero(chosen[field.pairs].all(axis=1))
        forest = replace(
            field,
            values=values,
            pairs=field.pairs[inside],
            stride=field.stride[inside],
            table=field.table[inside],
        )
        leaves = Leaves.of(forest)
        none: Int64 = np.empty(0, np.int64)
        found = leaves.decoded(leaves.absorbed(forest), none, none)
        return np.where(chosen[:n], found[:n], states)

    def _with_clusters(self, states: Int64) -> Int64:
        """Put beside the variables' states those of the clusters: the cells that they choose."""
        field = self._field
        nodes: Int64 = np.zeros(len(field.n_states), np.int64)
        nodes[: field.n_variables] = states
        tied = np.flatnonzero(field.stride)
        cells = np.zeros(len(nodes), np.int64)
        np.add.at(cells, field.pairs[tied, 1], states[field.pairs[tied, 0]] * field.stride[tied])
        clusters = np.arange(field.n_variables, len(nodes))
        wanted = clusters * self._span + cells[clusters]  # the cells of all clusters in one order
        first = field.start[field.n_variables]
        nodes[clusters] = first + np.searchsorted(self._keys, wanted) - field.start[clusters]
        return nodes
