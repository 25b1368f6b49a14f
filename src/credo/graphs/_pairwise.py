"""Arrays of many small tables of one size: checked, scaled, and wired as nodes and edges."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from credo._types import F64, Int, Label, Labels
from credo._validation.arrays import as_floats
from credo.exceptions import InputError, ShapeError
from credo.graphs._tables import WIDE_LOGS
from credo.graphs.variables import Same
from credo.graphs.wiring import Wiring


class Tables(NamedTuple):
    """Tables of one size, a row each; their log scales, and their logs if they are too wide."""

    values: F64
    log_scale: F64
    log_values: F64 | None


def as_tables(array: F64, name: Callable[[int], str], *, log: bool) -> Tables:
    """Check tables, or logs of tables, a row each; ``name`` says which one is wrong."""
    good = (array < np.inf) if log else (array >= 0) & (array < np.inf)
    if not good.all():
        row, cell = (int(i) for i in np.argwhere(~good)[0])
        wanted = (
            "logs that are finite or minus infinity" if log else "finite potentials, at least 0"
        )
        remedy = "" if log else " If these are logs, pass log=True."
        raise InputError(f"{name(row)} needs {wanted}. Got {array[row, cell]:g}.{remedy}")
    top = array.max(axis=1) if array.size else np.empty(len(array))
    none = top == (-np.inf if log else 0.0)
    if none.any():
        raise InputError(f"{name(int(np.argmax(none)))} allows no state: all are zero.")
    return _scaled(array, top) if log else Tables(array, np.zeros(len(array)), None)


def _scaled(array: F64, top: F64) -> Tables:
    """Turn logs into potentials of which the largest is one."""
    logs = array - top[:, np.newaxis]
    wide = float(logs.min(where=logs > -np.inf, initial=0.0)) < -WIDE_LOGS
    with np.errstate(under="ignore"):
        return Tables(np.exp(logs), top, logs if wide else None)


def as_edges(edges: Any, n_nodes: int) -> Int:
    """Check pairs of positions: whole numbers in range, and not the same."""
    array = np.asarray(edges)
    if not array.size:
        return np.empty((0, 2), dtype=np.intp)
    if array.ndim != 2 or array.shape[1] != 2:
        raise ShapeError(f"The edges must have shape (n_edges, 2). Got shape {array.shape}.")
    if array.dtype.kind not in "iu":
        raise InputError(f"The edges must be whole numbers. Got numbers of type {array.dtype}.")
    outside = (array < 0) | (array >= n_nodes)
    if outside.any():
        row = int(np.argmax(outside.any(axis=1)))
        raise InputError(
            f"Edge {row} joins {array[row].tolist()}, but the {n_nodes} nodes are numbered from 0 "
            f"to {n_nodes - 1}."
        )
    loops = array[:, 0] == array[:, 1]
    if loops.any():
        row = int(np.argmax(loops))
        raise InputError(
            f"Edge {row} joins node {array[row, 0]} to itself. Put its weight into the node."
        )
    return array


def as_edge_tables(tables: Any, edges: Int, k: int, *, log: bool) -> Tables:
    """Check one (k, k) table for all edges, or one for each."""
    array = as_floats(tables, "A MarkovNetwork", "edge potentials")
    if array.shape not in ((k, k), (len(edges), k, k)):
        raise ShapeError(
            f"A MarkovNetwork of {k} states needs edge potentials of shape {(k, k)}, shared by "
            f"all edges, or {(len(edges), k, k)}. Got shape {array.shape}."
        )

    def name(row: int) -> str:
        shared = array.ndim == 2
        return "The edge potential" if shared else f"Edge {row}, {edges[row].tolist()},"

    return as_tables(array.reshape(-1, k * k), name, log=log)


def pairwise(
    names: Sequence[Label], states: Labels, nodes: Tables, edges: Int, links: Tables
) -> Wiring:
    """Wire one table per node, then one per edge, or one for all edges."""
    n, m, k = len(names), len(edges), len(states)
    own = len(links.values) == m
    first = np.arange(n, dtype=np.int32)
    table_sizes = np.repeat([k, k * k], [n, len(links.values)])
    last = np.arange(n, n + m, dtype=np.int32) if own else np.full(m, n, dtype=np.int32)
    return Wiring(
        names=names,
        states=Same(states, n),
        n_states=np.full(n, k, dtype=np.int64),
        scope_start=np.concatenate([np.arange(n + 1), np.arange(n + 2, n + 2 * m + 1, 2)]),
        scope=np.concatenate([first, edges.ravel().astype(np.int32)]),
        table=np.concatenate([first, last]),
        table_start=np.concatenate([[0], np.cumsum(table_sizes)]),
        values=np.concatenate([nodes.values.ravel(), links.values.ravel()]),
        log_scale=np.concatenate([nodes.log_scale, links.log_scale]),
        log_values=_joined_logs(nodes, links),
        owner=np.full(n + m, -1, dtype=np.int32),
    )


def _joined_logs(nodes: Tables, links: Tables) -> F64 | None:
    """Lay the logs one after the other, if some are too wide for linear values."""
    if nodes.log_values is None and links.log_values is None:
        return None
    with np.errstate(divide="ignore"):
        parts = [np.log(t.values) if t.log_values is None else t.log_values for t in (nodes, links)]
    return np.concatenate([part.ravel() for part in parts])
