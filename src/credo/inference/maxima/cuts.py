"""Minimum cuts of networks with real capacities."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from credo._types import F64

Int64: TypeAlias = npt.NDArray[np.int64]
Int8: TypeAlias = npt.NDArray[np.int8]


@dataclass(frozen=True, slots=True, eq=False)
class Cut:
    """A minimum cut, and the largest flow, which proves that no cut is smaller."""

    side: Int8  #: 1 for the source, -1 for the sink; 0 for nodes that all fit either side
    flow: float  #: what the source can send to the sink
    value: float  #: the capacities that are cut, added up; equal to the flow up to rounding


def minimum_cut(source: F64, sink: F64, edges: Int64, capacity: F64, reverse: F64) -> Cut:
    """Part the nodes of a network between source and sink at the least cost.

    Parameters
    ----------
    source
        Capacity from the source to each node: the cost of putting the node with the sink.
    sink
        Capacity from each node to the sink: the cost of putting the node with the source.
    edges
        Pairs of nodes, of shape (edges, 2); pairs may repeat.
    capacity
        Of each edge, from its first node to its second: the cost of having the first with the
        source and the second with the sink.
    reverse
        The same the other way.

    Returns
    -------
    Cut
        The sides, the flow and the value of the cut; both are infinite if every cut is.

    Notes
    -----
    Boykov and Kolmogorov's two search trees [1]_. Capacities may be infinite. They are rounded to
    multiples of :math:`2^{-53}` of the largest finite one, rounded up to a power of two: then no
    sum in the algorithm is rounded, so that it ends, and its cut is the best for these.

    References
    ----------
    .. [1] Y. Boykov and V. Kolmogorov, An experimental comparison of min-cut/max-flow algorithms
       for energy minimization in vision, IEEE Transactions on Pattern Analysis and Machine
       Intelligence 26 (2004), section 3.

    Examples
    --------
    Node 0 wants to be with the source, node 1 with the sink; to part them costs less than either.

    >>> import numpy as np
    >>> two = minimum_cut(
    ...     np.array([3.0, 0.0]), np.array([0.0, 2.0]), np.array([[0, 1]]), np.ones(1), np.ones(1)
    ... )
    >>> two.side, two.flow, two.value
    (array([ 1, -1], dtype=int8), 1.0, 1.0)
    """
    from credo._kernels import graph_cut as kernels  # noqa: PLC0415

    n = len(source)
    unit = _unit(source, sink, capacity + reverse)
    through = np.minimum(source, sink)
    side = np.zeros(n, np.int8)
    if through.max(initial=0.0) == np.inf:
        return Cut(side, math.inf, math.inf)
    tail, head = np.ascontiguousarray(edges[:, 0]), np.ascontiguousarray(edges[:, 1])
    arcs = kernels.arc_lists(n, tail, head, _rounded(capacity, unit), _rounded(reverse, unit))
    terminal = _rounded(source - through, unit) - _rounded(sink - through, unit)
    sent = np.zeros(n)
    if not kernels.minimum_cut(terminal, side, sent, *arcs):
        return Cut(np.zeros(n, np.int8), math.inf, math.inf)
    with_source = side == kernels.SOURCE
    first, second = with_source[tail], with_source[head]
    costs = (
        source[~with_source],
        sink[with_source],
        capacity[first & ~second],
        reverse[second & ~first],
    )
    value = sum(float(cost.sum()) for cost in costs)
    return Cut(side, float(sent.sum() + through.sum()), value)


def _unit(*capacities: F64) -> float:
    """Give what all capacities are rounded to multiples of, so that sums of two stay exact."""
    largest = max(float(c.max(initial=0.0, where=c < np.inf)) for c in capacities)
    return math.ldexp(1.0, max(math.frexp(largest)[1] - 53, -1074))


def _rounded(capacity: F64, unit: float) -> F64:
    """Round to multiples of a unit."""
    return np.asarray(np.rint(capacity / unit) * unit)
