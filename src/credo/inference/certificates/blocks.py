"""Blocks of variables that are independent of each other, each with a forest of its own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from credo._types import F64
from credo.graphs.wiring import starts
from credo.inference.certificates.forests import factor_of, graph_of, graph_over
from credo.inference.certificates.reduction import Int64, Reduced


@dataclass(frozen=True, slots=True, eq=False)
class Blocking:
    """A reduced problem cut into blocks, as the kernels of mean field read it."""

    reduced: Reduced
    block: Int64  #: of each variable
    factors: Any
    blocks: Any
    graph: Any  #: of the forests: its factors are the parts of two or more variables
    crossing: Int64  #: the factors that lie in more than one block


def singles(reduced: Reduced) -> Int64:
    """Put every variable in a block of its own."""
    return np.arange(reduced.n)


def forest_blocks(reduced: Reduced, strengths: F64) -> Int64:
    """Put variables in few blocks, each a forest, that hold the strongest factors whole."""
    from credo._kernels.mean_field import partition  # noqa: PLC0415 - loads Numba

    graph, n = graph_of(reduced), reduced.n
    block = np.full(n, -1, np.int64)
    partition(
        _along_strong(graph, strengths),
        graph,
        factor_of(graph),
        strengths,
        block,
        np.arange(n),
        np.full(n, -1, np.int64),
        np.full(n, -1, np.int64),
        np.zeros(n + 1),
        np.full(n + 1, -1, np.int64),
    )
    return block


def _along_strong(graph: Any, strengths: F64) -> Int64:
    """List the variables as a heaviest forest reaches them, from its roots."""
    from credo.inference.certificates.forests import heaviest_forest  # noqa: PLC0415

    forest = heaviest_forest(graph, strengths)
    below = [
        s
        for f, up in zip(forest.edges.tolist(), forest.ups.tolist(), strict=True)
        for s in (graph.scope[up], *graph.scope[graph.scope_start[f] : graph.scope_start[f + 1]])
    ]
    everyone = np.concatenate([np.array(below, np.int64), np.arange(len(graph.n_states))])
    _, first = np.unique(everyone, return_index=True)
    return everyone[np.sort(first)]


def cut(reduced: Reduced, block: Int64) -> Blocking | None:
    """Cut a problem into blocks; None if one of them has a cycle of factors."""
    order, part_of = _parts(reduced, block)
    n_parts = int(part_of.max(initial=-1)) + 1
    size = np.bincount(part_of, minlength=n_parts)
    factor = factor_of(graph_of(reduced))
    part_factor = np.empty(n_parts, np.int64)
    part_factor[part_of] = factor
    several = size > 1
    in_edge = several[part_of[order]]
    scope = reduced.scope[order][in_edge]
    stride, cells = _strides(reduced, order, part_of, n_parts)
    graph = graph_over(reduced.n_states, starts(size[several]), scope, starts(cells[several]))
    edge = np.where(several, np.cumsum(several) - 1, -1)
    begin = np.empty(n_parts, np.int64)
    begin[part_of] = reduced.state_start[reduced.scope]
    begin[several] = graph.cell_start[:-1]
    part_block = np.empty(n_parts, np.int64)
    part_block[part_of] = block[reduced.scope]
    parts = np.bincount(part_factor, minlength=reduced.n_factors)
    blocks = _blocks(graph, block, part_block)
    if blocks is None:
        return None
    return Blocking(
        reduced,
        block,
        _factors(reduced, starts(parts), part_of, stride, begin, edge, part_factor),
        blocks,
        graph,
        np.flatnonzero(parts > 1),
    )


def _parts(reduced: Reduced, block: Int64) -> tuple[Int64, Int64]:
    """Sort the slots by factor and block; number the parts in that order, for each slot."""
    factor = factor_of(graph_of(reduced))
    its_block = block[reduced.scope]
    order = np.lexsort((np.arange(len(factor)), its_block, factor))
    keys = np.stack([factor[order], its_block[order]])
    new = np.ones(len(order), np.bool_)
    new[1:] = (keys[:, 1:] != keys[:, :-1]).any(axis=0)
    part_of = np.empty(len(order), np.int64)
    part_of[order] = np.cumsum(new) - 1
    return order, part_of


def _strides(reduced: Reduced, order: Int64, part_of: Int64, n_parts: int) -> tuple[Int64, Int64]:
    """Give the stride of each slot in the table of its part, and the cells of each part."""
    from credo._kernels.mean_field import part_strides  # noqa: PLC0415

    stride, cells = np.empty(len(order), np.int64), np.ones(n_parts, np.int64)
    part_strides(order, part_of, reduced.n_states, reduced.scope, stride, cells)
    return stride, cells


def _factors(reduced: Reduced, *parts: Int64) -> Any:
    """Give the factors with their parts as the kernel reads them."""
    from credo._kernels.mean_field import Factors  # noqa: PLC0415

    return Factors(
        reduced.n_states,
        reduced.state_start,
        reduced.scope_start,
        reduced.scope,
        reduced.cell_start,
        reduced.logs,
        *parts,
    )


def _blocks(graph: Any, block: Int64, part_block: Int64) -> Any:
    """Order the forests block after block; None if there is a cycle."""
    from credo._kernels.forest_sums import choose, plant  # noqa: PLC0415
    from credo._kernels.mean_field import Blocks  # noqa: PLC0415

    n, n_edges = len(graph.n_states), len(graph.scope_start) - 1
    chosen = np.zeros(n_edges, np.uint8)
    ranking = np.arange(n_edges)
    if choose(ranking, graph.scope_start, graph.scope, np.arange(n), chosen) < n_edges:
        return None
    edges, ups = np.empty(n_edges, np.int64), np.empty(n_edges, np.int64)
    plant(graph, factor_of(graph), chosen, edges, ups, np.zeros(n, np.uint8), np.empty(n, np.int64))
    n_blocks = int(block.max(initial=-1)) + 1
    its_block = block[graph.scope[ups]]
    turn = np.argsort(its_block, kind="stable")
    return Blocks(
        edge_start=starts(np.bincount(its_block, minlength=n_blocks)),
        edges=edges[turn],
        ups=ups[turn],
        member_start=starts(np.bincount(block, minlength=n_blocks)),
        members=np.argsort(block, kind="stable"),
        piece_start=starts(np.bincount(part_block, minlength=n_blocks)),
        pieces=np.argsort(part_block, kind="stable"),
    )
