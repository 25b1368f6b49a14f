r"""TRW-S: messages that split a field into chains, whose maxima add up to a bound on every score.

.. math:: \max_x \sum_f \ln \psi_f(x_f) \le \sum_T \max_x \theta^T(x)

A sweep visits the nodes in order and back. On the way each node takes its best state given the
nodes before it and the messages of those that come.
"""

from __future__ import annotations

import math

import numpy as np

from credo._types import Bool
from credo.graphs.wiring import Int64, starts
from credo.inference.maxima.kernels import Field, Ways, peel, sweep
from credo.inference.question import Callback

#: What sums of scores lose to rounding, as a share.
_ROUNDING = 1e-13
#: The bound stalls if it falls by no more than the tolerance in this many sweeps. On frustrated
#: grids it can rest for two or three and then go on.
_PATIENCE = 10


def sweep_until(
    field: Field, most: int, tolerance: float, callback: Callback | None
) -> tuple[Int64, float]:
    """Sweep until the bound is reached or stalls; return the best states and the least bound.

    Nodes that hang by one pair come first, in the order in which they can be maximised out, and
    hand all that they know to the node above: so trees are solved in one sweep, and the messages
    among the other nodes are as if there were no trees. The others come in their own order.
    """
    ways, n = _find_ways(field), len(field.n_states)
    message = np.zeros(int(ways.room[-1]))
    best: Int64 = np.zeros(n, np.int64)
    largest, bounds = -math.inf, []
    for done in range(1, most + 1):
        for forward in (True, False):
            states, parts = np.zeros(n, np.int64), np.zeros(n)
            score = sweep(forward, field, ways, message, states, parts) + field.constant
            bound = float(parts.sum()) + field.constant
            if bound == -math.inf:
                return best, bound
            if score > largest:
                best, largest = states, score
        bounds.append(bound)
        if callback is not None:
            callback(done, max(bound - largest, 0.0))
        near = tolerance + _ROUNDING * abs(bound)
        if bound - largest <= near:
            break
        if done > _PATIENCE and bounds[-1 - _PATIENCE] - bound <= near:
            break
    return best, min(bounds)


def _find_ways(field: Field) -> Ways:
    """Order the nodes, and split them among the chains that go through."""
    first, second, n = field.first, field.second, len(field.n_states)
    order: Int64 = np.empty(n, np.int64)
    is_tree = np.zeros(len(first), np.bool_)
    count = peel(n, first, second, order, is_tree)
    order[count:] = _sequence(field, np.isin(np.arange(n), order[:count], invert=True))
    place = np.argsort(order)
    ends = place[np.stack([first, second])[:, ~is_tree]]
    later = np.bincount(ends.min(axis=0), minlength=n)
    most = np.maximum(later, np.bincount(ends.max(axis=0), minlength=n))
    slots = np.concatenate([first, second])
    return Ways(
        order,
        place,
        1.0 / np.maximum(most[place], 1),
        starts(np.bincount(slots, minlength=n)),
        np.argsort(slots, kind="stable") % max(len(first), 1),
        starts(np.maximum(field.n_states[first], field.n_states[second])),
    )


def _sequence(field: Field, stays: Bool) -> Int64:
    """Order the nodes as they are numbered, each cluster just before the last of its variables.

    Chains then run on through clusters. If these came last, every chain would have two nodes.
    """
    key = np.arange(len(field.n_states), dtype=np.float64)
    tied = field.stride > 0
    key[field.n_variables :] = -1.0
    np.maximum.at(key, field.second[tied], field.first[tied] - 0.5)
    order = np.argsort(key, kind="stable")
    return order[stays[order]]
