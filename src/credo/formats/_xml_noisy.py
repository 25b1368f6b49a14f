"""Tables of GeNIe nodes that are not written as tables: deterministic and noisy-MAX nodes."""

from __future__ import annotations

import numpy as np

from credo._types import F64

#: Most numbers that the nodes of one file are written out to, in all: 128 megabytes.
MOST_CELLS = 2**24
#: A probability that should be 0 or 1 and is off by more than this is not rounding.
_ROUNDING = 1e-6


def deterministic(results: list[int], n_states: int) -> F64:
    """Write out a function: a row for each parent configuration, 1 at its result."""
    table = np.zeros((len(results), n_states))
    table[np.arange(len(results)), results] = 1.0
    return table.ravel()


def noisy_max(columns: F64, strengths: list[list[int]]) -> F64:
    r"""Write out a noisy-MAX node; states of the child go from the strongest effect to none.

    ``columns`` holds a row of child probabilities for each parent's state, in the order of its
    strengths (``strengths[i][j]`` is the state of strength ``j``; the last has no effect), and the
    leak last. With :math:`F_i(y \mid x)` the probability of an effect no stronger than ``y``,

    .. math:: P(Y \le y \mid x) = F_{leak}(y) \prod_i F_i(y \mid x_i).
    """
    below = np.cumsum(columns[:, ::-1], axis=1)[:, ::-1]
    below[:, 0] = 1.0
    product = below[-1]
    start = 0
    for order in strengths:
        own = np.empty((len(order), columns.shape[1]))
        own[order] = below[start : start + len(order)]
        product = product[..., np.newaxis, :] * own
        start += len(order)
    table = product.copy()
    table[..., :-1] -= product[..., 1:]
    return np.maximum(table, 0.0).ravel()


def has_weakest_last(columns: F64, strengths: list[list[int]]) -> bool:
    """Tell whether the last state of each parent has no effect, as noisy-MAX needs."""
    ends = np.cumsum([len(order) for order in strengths]) - 1
    return bool((columns[ends, -1] >= 1.0 - _ROUNDING).all())
