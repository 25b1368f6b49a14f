"""The region graph: outer regions, what they share, and how often each is counted."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from credo._types import F64
from credo.graphs.problems import Problem
from credo.graphs.wiring import starts
from credo.inference.regions._sets import Int64, Sets, live_scopes
from credo.inference.regions.choice import Choice


@dataclass(frozen=True, slots=True, eq=False)
class RegionGraph:
    """Outer regions and their intersections, with tables laid out one after the other.

    A link joins an inner region to an outer one that holds it; links are sorted by inner region.
    """

    n_states: Int64
    outer: Sets
    cells: Int64  #: where the table of each outer region starts
    inner: Sets
    inner_cells: Int64
    counting: Int64  #: counting number of each inner region; that of an outer region is one
    link_start: Int64  #: by inner region
    link: Int64  #: the outer region of each link
    message_start: Int64
    map_start: Int64  #: of each link
    maps: Int64  #: the cell of the inner region, for each cell of the outer one
    is_forest: bool  #: whether the outer regions have a junction tree, or one per part

    @property
    def repeats(self) -> Int64:
        """How many outer regions hold each inner one."""
        return np.diff(self.link_start)


def build_graph(problem: Problem, choice: Choice) -> RegionGraph:
    """Lay out the tables of chosen regions, and the maps between them."""
    n_states, outer, overlaps = np.array(problem.n_states), choice.outer, choice.overlaps
    inner, links = overlaps.inner, overlaps.links
    cells = starts(outer.cells(n_states))
    inner_cells = starts(inner.cells(n_states))
    map_start, maps = _maps(n_states, outer, cells, inner, links)
    return RegionGraph(
        n_states,
        outer,
        cells,
        inner,
        inner_cells,
        overlaps.counting,
        links.start,
        links.members,
        starts(np.repeat(np.diff(inner_cells), links.sizes)),
        map_start,
        maps,
        overlaps.is_forest,
    )


def outer_logs(problem: Problem, graph: RegionGraph) -> tuple[F64, float]:
    """Multiply every factor into one outer region; give log tables, and the log of constants."""
    from credo._kernels.region_sets import covering_sets  # noqa: PLC0415
    from credo._kernels.region_tables import fill_tables  # noqa: PLC0415

    scopes, outer = live_scopes(problem), graph.outer
    holders = outer.holders(len(problem.n_states))
    home = covering_sets(
        scopes.start, scopes.members, outer.start, outer.members, holders.start, holders.members
    )
    table = np.zeros(int(graph.cells[-1]))
    constant = fill_tables(
        graph.n_states,
        np.array(problem.scope_start),
        np.array(problem.scope),
        np.array(problem.cell_start),
        np.array(problem.log_values()),
        home,
        outer.start,
        outer.members,
        graph.cells,
        table,
    )
    return table, float(constant)


def _maps(
    n_states: Int64, outer: Sets, cells: Int64, inner: Sets, links: Sets
) -> tuple[Int64, Int64]:
    """Map cells of outer regions to those of inner ones; links of one pattern share a map."""
    from credo._kernels.region_tables import fill_maps, link_masks  # noqa: PLC0415

    masks = np.empty(len(links.members), np.int64)
    link_masks(
        outer.start, outer.members, inner.start, inner.members, links.start, links.members, masks
    )
    shape = _shapes(n_states, outer)[links.members] << int(outer.sizes.max(initial=0))
    _, sample, pattern = np.unique(shape + masks, return_index=True, return_inverse=True)
    regions = links.members[sample]
    map_start = starts(np.diff(cells)[regions])
    maps = np.empty(int(map_start[-1]), np.int64)
    fill_maps(
        n_states,
        outer.start,
        outer.members,
        regions,
        masks[sample],
        map_start,
        maps,
    )
    return map_start[:-1][pattern], maps


def _shapes(n_states: Int64, outer: Sets) -> Int64:
    """Give each table a number for its shape."""
    width = int(outer.sizes.max(initial=0))
    shapes = np.zeros((len(outer), width), np.int64)
    column = np.arange(len(outer.members)) - np.repeat(outer.start[:-1], outer.sizes)
    shapes[np.repeat(np.arange(len(outer)), outer.sizes), column] = n_states[outer.members]
    return np.asarray(np.unique(shapes, axis=0, return_inverse=True)[1]).ravel()
