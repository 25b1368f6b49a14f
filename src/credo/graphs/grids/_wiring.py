"""A field on a grid as a wiring: nodes in row-major order, then edges axis by axis."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from credo._types import F64, Int, Labels
from credo.graphs.grids.axes import Axis, Shape, edge_list, edge_shape
from credo.graphs.grids.coordinates import Coordinates
from credo.graphs.grids.strengths import AxisStrength
from credo.graphs.ragged import from_logs, starts
from credo.graphs.variables import Same
from credo.graphs.wiring import Wiring


def wired(
    logs: F64,
    labels: Labels,
    axes: Sequence[Axis],
    strengths: Sequence[AxisStrength],
    unit_table: F64,
) -> Wiring:
    """Wire log potentials of shape (…, K) and the edges along each axis."""
    shape, k = logs.shape[:-1], len(labels)
    n = logs.size // k
    edges = np.concatenate([edge_list(shape, axis) for axis in axes])
    different, which = _distinct(shape, axes, strengths)
    start = starts(np.repeat([k, k * k], [n, len(different)]))
    tables = np.concatenate([logs.ravel(), np.multiply.outer(different, unit_table).ravel()])
    values, log_scale, log_values = from_logs(tables, start)
    m = len(edges)
    first = np.arange(n, dtype=np.int32)
    return Wiring(
        names=Coordinates(shape),
        states=Same(labels, n),
        n_states=np.full(n, k, dtype=np.int64),
        scope_start=np.concatenate([np.arange(n + 1), np.arange(n + 2, n + 2 * m + 1, 2)]),
        scope=np.concatenate([first, edges.ravel()]),
        table=np.concatenate([first, (n + which).astype(np.int32)]),
        table_start=start,
        values=values,
        log_scale=log_scale,
        log_values=log_values,
        owner=np.full(n + m, -1, dtype=np.int32),
    )


def _distinct(
    shape: Shape, axes: Sequence[Axis], strengths: Sequence[AxisStrength]
) -> tuple[F64, Int]:
    """Give the different strengths in rising order, and which of them each edge has."""
    counts = [math.prod(edge_shape(shape, axis)) for axis in axes]
    entries = [np.ravel(each)[:count] for each, count in zip(strengths, counts, strict=True)]
    different, which = np.unique(np.concatenate(entries), return_inverse=True)
    parts = np.split(which, np.cumsum([entry.size for entry in entries])[:-1])
    per_edge = [np.broadcast_to(part, count) for part, count in zip(parts, counts, strict=True)]
    return different, np.concatenate(per_edge)
