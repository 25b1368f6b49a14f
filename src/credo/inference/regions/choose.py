"""Choosing regions: sets of variables as sparse rows, what they share, and how often each counts.

A row of an incidence matrix has ones at the members of a set. Products of such matrices tell how
many members sets have in common, hence which lie inside others.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from typing import Any, Literal, TypeAlias

import numpy as np
from scipy.sparse import csr_array, vstack
from scipy.sparse.csgraph import breadth_first_order, connected_components, minimum_spanning_tree

from credo import _checks as check
from credo._types import F64, Bool
from credo.exceptions import InputError
from credo.graphs.problems import Problem
from credo.graphs.wiring import Int64, ranges, starts
from credo.inference.messages import name_of
from credo.inference.question import indices

#: How to choose regions: by name, or as collections of variables.
Regions: TypeAlias = str | Iterable[Collection[Hashable]]
#: What regions were made of.
Kind: TypeAlias = Literal["bethe", "plaquettes", "cliques", "given"]

#: Cells of a region that no factor has asked for: half a megabyte.
MOST_CELLS = 2**16
#: Cells of all regions: a gigabyte for their factors, and another for their beliefs.
MOST_CELLS_IN_ALL = 2**27
#: The same where regions are chosen unasked: plaquettes of eight states, and a sixteenth of a
#: second per sweep and inner region that a cell is in.
_FEW_CELLS, _FEW_CELLS_IN_ALL = 2**12, 2**23
#: Cliques that are listed at most.
MOST_CLIQUES = 10**6
#: Plaquettes: a thousand times a thousand sites, or every triangle among 180 variables.
MOST_CYCLES = 10**6
#: Plaquettes from which on all are tried at first: to find independent ones takes 0.2 seconds.
MANY_CYCLES = 10**4
#: Edges that are looked at, in all sums of cycles, for independent ones: a second or two.
MOST_WORK = 5 * 10**6
#: Entries of all intersections together: half a gigabyte of them.
MOST_ENTRIES = 2**26
#: Ways of two or three steps that are looked at at once: tens of megabytes.
_BLOCK = 2**20


@dataclass(frozen=True, slots=True, eq=False)
class Choice:
    """Outer regions, none inside another, that cover all factors, and what they share."""

    kind: Kind
    outer: csr_array
    inner: csr_array
    links: csr_array  #: the outer regions of each inner one
    counting: Int64  #: of the inner regions; that of an outer region is one
    n_parts: int  #: number of connected parts
    is_forest: bool  #: whether the outer regions have a junction tree, or one per part

    @property
    def total(self) -> int:
        """The sum of all counting numbers, those of outer regions included."""
        return int(self.outer.shape[0] + self.counting.sum())


def choose_regions(problem: Problem, regions: Regions, who: str) -> Choice:
    """Choose the outer regions; say what they were made of and what they share.

    Variables of one state are in none of them. Scopes that lie in no region are regions too.
    """
    scopes = _cover(problem)
    if isinstance(regions, Iterable) and not isinstance(regions, str):
        given = _find_regions(problem, regions, who)
        _check_cells(problem, given)
        return _close(problem, "given", given, scopes)
    if regions == "bethe":
        return _share_variables(problem, scopes)
    if regions in ("auto", "plaquettes"):
        return _choose_plaquettes(problem, scopes, unasked=regions == "auto")
    if regions == "cliques":
        cliques = _as_sets(problem, _find_cliques(_join_neighbours(scopes)))
        cells = count_cells(cliques, problem.n_states)
        small = (cells > 1) & (cells <= MOST_CELLS)
        return _close(problem, "cliques", cliques[small], scopes)
    raise InputError(
        f"The regions of {who} must be one of auto, bethe, plaquettes, cliques, or a list of lists "
        f"of names. Got {regions!r}."
    )


# --- sets -----------------------------------------------------------------------------------------


def _incidence(start: Any, members: Any, n: int) -> csr_array:
    """Return sets one after the other as rows; members ascend."""
    ones = np.ones(len(members), np.int64)
    return csr_array((ones, members, start), shape=(len(start) - 1, n))


def _as_sets(problem: Problem, sets: Iterable[Sequence[int]]) -> csr_array:
    """Return ascending sequences of variables as rows."""
    listed = list(sets)
    members = np.array([v for one in listed for v in one], np.int64)
    return _incidence(starts([len(one) for one in listed]), members, len(problem.n_states))


def sizes(sets: csr_array) -> Int64:
    """Return the number of members of each set."""
    return np.diff(sets.indptr)


def rows(sets: csr_array) -> Int64:
    """Return the set that each entry belongs to."""
    return np.repeat(np.arange(sets.shape[0]), sizes(sets))


def as_tuples(sets: csr_array) -> list[tuple[int, ...]]:
    """Return the members of each set."""
    members = sets.indices.tolist()
    return [tuple(members[a:b]) for a, b in pairwise(sets.indptr.tolist())]


def count_cells(sets: csr_array, n_states: Int64) -> F64:
    """Count the cells of the table of each set, none empty; floats, for they may be very many."""
    with np.errstate(over="ignore"):
        return np.multiply.reduceat(n_states[sets.indices].astype(float), sets.indptr[:-1])


def _find_inside(small: csr_array, large: csr_array) -> tuple[Int64, Int64]:
    """Return the pairs of sets of which the one lies in the other and is smaller.

    Larger sets that might hold another are those with the member that the fewest of them have.
    """
    most = 1 + max(int(sizes(sets).max(initial=0)) for sets in (small, large))
    rank = large.indices.astype(np.int64) * most - sizes(large)[rows(large)]  # larger sets first
    order = np.argsort(rank, kind="stable")
    base = small.indices.astype(np.int64) * most
    begin = np.searchsorted(rank, base - most, sorter=order)
    count = np.searchsorted(rank, base - sizes(small)[rows(small)], sorter=order) - begin
    filled = np.flatnonzero(sizes(small))
    rarest = np.lexsort((count, rows(small)))[small.indptr[filled]]
    one = np.repeat(filled, count[rarest])
    other = rows(large)[order[ranges(begin[rarest], count[rarest])]]
    if not len(one):
        return one, other
    inside = small[one].multiply(large[other]).sum(axis=1) == sizes(small)[one]
    return one[inside], other[inside]


def find_homes(small: csr_array, large: csr_array) -> Int64:
    """Return a set that each set lies in or is equal to; -1 if there is none, or it is empty."""
    equal = {key: i for i, key in enumerate(_keys(large))}
    home = np.array([equal.get(key, -1) for key in _keys(small)], np.int64)
    one, other = _find_inside(small, large)
    home[one[::-1]] = other[::-1]  # the first of several
    return home


def _keys(sets: csr_array) -> list[bytes]:
    """Return the members of each set as something that can be looked up."""
    text = sets.indices.astype(np.int64).tobytes()
    return [text[a:b] for a, b in pairwise((8 * sets.indptr.astype(np.int64)).tolist())]


def _keep_maximal(sets: csr_array) -> csr_array:
    """Leave out empty sets, those that lie in another one, and all but the first of equal ones."""
    first: dict[bytes, int] = {}
    for i, key in enumerate(_keys(sets)):
        first.setdefault(key, i)
    sets = sets[np.array(list(first.values()), np.int64)]
    keep = sizes(sets) > 0
    keep[_find_inside(sets, sets)[0]] = False
    return sets[keep]


def live_scopes(problem: Problem) -> csr_array:
    """Return the scopes of the factors without the variables that have one state."""
    live = problem.n_states[problem.scope] > 1
    start = starts(live)[problem.scope_start]
    scopes = _incidence(start, problem.scope[live], len(problem.n_states))
    scopes.sort_indices()
    return scopes


# --- outer regions --------------------------------------------------------------------------------


def _cover(problem: Problem) -> csr_array:
    """Return the scopes that lie in no other, and the variables that are in none."""
    live = np.flatnonzero(problem.n_states > 1)
    alone = _incidence(np.arange(len(live) + 1), live, len(problem.n_states))
    return _keep_maximal(vstack([live_scopes(problem), alone], format="csr"))


def _find_regions(problem: Problem, regions: Iterable[Any], who: str) -> csr_array:
    """Find the free variables that names stand for; observed ones are no part of a region."""
    found = []
    for region in regions:
        places = np.unique(np.array(indices(problem.wiring, region, who, "region") or [], np.int64))
        where = np.searchsorted(problem.variables, places)
        where = where[np.append(problem.variables, -1)[where] == places]
        found.append(where[problem.n_states[where] > 1].tolist())
    return _as_sets(problem, filter(None, found))


def _check_cells(problem: Problem, sets: csr_array) -> None:
    """Refuse a region that is larger than the limit."""
    cells = count_cells(sets, problem.n_states)
    if len(cells) and cells.max() > MOST_CELLS:
        worst = sets.indices[slice(*sets.indptr[np.argmax(cells) :][:2])]
        listed = [name_of(problem.wiring, v) for v in problem.variables[worst].tolist()]
        raise InputError(
            f"A region may have {MOST_CELLS} cells at most. The one of variables "
            f"{check.listing(listed)} has {cells.max():.6g}. Choose smaller regions, or "
            "regions='bethe'."
        )


def _choose_plaquettes(problem: Problem, scopes: csr_array, *, unasked: bool) -> Choice:
    """Take independent plaquettes, or very many if they balance; all if that is hard to find out.

    Counting numbers balance if they sum to the number of parts, less one for each independent
    cycle that is in no region. Unasked, plaquettes have to be small and to balance; else the scopes
    are taken.
    """
    neighbours = _join_neighbours(scopes)
    cycles = _list_cycles(neighbours)
    if unasked and (cycles is None or not _are_small(problem, cycles)):
        return _share_variables(problem, scopes)
    if cycles is None:
        raise InputError(
            "The graph has too many triangles and cycles of four to list. Choose regions='bethe', "
            "or list the regions."
        )
    _check_cells(problem, cycles)
    n_cycles, known = cycles.shape[0], find_homes(cycles, scopes) >= 0
    parts = connected_components(neighbours, directed=False, return_labels=False)
    n_loops = neighbours.nnz // 2 - neighbours.shape[0] + parts
    every = None
    if MANY_CYCLES < n_cycles <= n_loops and not known.any():
        every = _close(problem, "plaquettes", cycles, scopes)
        if every.total == every.n_parts - n_loops + n_cycles:
            return every
    kept = _find_independent(neighbours, cycles, known)
    if kept is not None:
        choice = _close(problem, "plaquettes", cycles[kept[0]], scopes)
        if not unasked or choice.total == choice.n_parts - n_loops + kept[1]:
            return choice
    if unasked:
        return _share_variables(problem, scopes)
    return every or _close(problem, "plaquettes", cycles, scopes)


def _are_small(problem: Problem, cycles: csr_array) -> bool:
    """Tell whether there are plaquettes, of few cells."""
    cells = count_cells(cycles, problem.n_states)
    return len(cells) > 0 and cells.max() <= _FEW_CELLS and cells.sum() <= _FEW_CELLS_IN_ALL


# --- cliques and cycles ---------------------------------------------------------------------------


def _join_neighbours(scopes: csr_array) -> csr_array:
    """Join the variables that share a factor."""
    joined = (scopes.T @ scopes).tocsr()
    joined.setdiag(0)
    joined.eliminate_zeros()
    joined.sort_indices()
    return joined


def _find_cliques(neighbours: csr_array) -> list[tuple[int, ...]]:
    """List the maximal cliques, by Bron and Kerbosch's search from each vertex on.

    A search goes on among the neighbours of higher degree; those of a pivot can wait.
    """
    near = [set(one) for one in as_tuples(neighbours)]
    place = np.argsort(np.argsort(sizes(neighbours), kind="stable")).tolist()
    found = []
    for start, around in enumerate(near):
        after = {w for w in around if place[w] > place[start]}
        stack: list[tuple[tuple[int, ...], set[int], set[int]]]
        stack = [((start,), after, around - after)]
        while stack:
            clique, free, used = stack.pop()
            if not free and not used:
                found.append(tuple(sorted(clique)))
                if len(found) > MOST_CLIQUES:
                    raise InputError(
                        f"The graph has more than {MOST_CLIQUES} maximal cliques. Choose "
                        "regions='plaquettes' or 'bethe', or list the regions."
                    )
            if not free:
                continue
            pivot = max(sorted(free | used), key=lambda v: len(near[v] & free))
            for v in sorted(free - near[pivot]):
                stack.append(((*clique, v), free & near[v], used & near[v]))
                free.remove(v)
                used.add(v)
    return sorted(found)


def _find_independent(
    neighbours: csr_array, cycles: csr_array, known: Bool
) -> tuple[list[int], int] | None:
    """Leave out cycles that are sums of others, or known; return also the number of all kept.

    None if that takes too long.

    Cycles are vectors over the edges modulo two; each is reduced by those before it, the known
    ones first. One that reduces to nothing would count a loop twice. In ascending order, the
    triangles of a complete graph that are kept are those of its first vertex.
    """
    listed = as_tuples(cycles)
    edges = {(u, v) for u, near in enumerate(as_tuples(neighbours)) for v in near if u < v}
    basis: dict[tuple[int, int], set[tuple[int, int]]] = {}
    kept: list[int] = []
    work = 0
    for i in sorted(range(len(listed)), key=lambda i: (not known[i], listed[i])):
        rest = set(combinations(listed[i], 2)) & edges
        while rest and (last := max(rest)) in basis:
            rest ^= basis[last]
            work += len(rest)
        if rest:
            basis[max(rest)] = rest
            kept += [] if known[i] else [i]
        if work > MOST_WORK:
            return None
    return sorted(kept), len(basis)


def _list_cycles(neighbours: csr_array) -> csr_array | None:
    """List triangles and chordless cycles of four; None if there are very many."""
    listed: list[csr_array] = []
    room = max(MOST_CYCLES, neighbours.nnz)  # a grid has fewer faces than edges
    for found in _find_cycles(neighbours):
        start = np.arange(len(found) + 1) * found.shape[1]
        listed.append(_incidence(start, found.ravel(), neighbours.shape[0]))
        room -= len(found)
        if room < 0:
            return None
    return vstack(listed, format="csr")


def _blocks(counts: Int64) -> Iterator[slice]:
    """Cut a list into slices of which the counts add up to a block, or to little more."""
    cuts = np.flatnonzero(np.diff(np.cumsum(counts) // _BLOCK)) + 1
    for begin, end in pairwise([0, *cuts.tolist(), len(counts)]):
        yield slice(begin, end)


def _find_cycles(neighbours: csr_array) -> Iterator[Int64]:
    """Yield triangles and chordless cycles of four, ascending, one per row.

    From each vertex a, walk to every b and on to every c of no higher degree; two ways to c close a
    cycle. So the vertices are numbered by degree here, and a hub is gone round but once.
    """
    by_degree = np.argsort(-sizes(neighbours), kind="stable")
    neighbours = neighbours[by_degree][:, by_degree]
    neighbours.sort_indices()
    n, near, degree = neighbours.shape[0], neighbours.indices.astype(np.int64), sizes(neighbours)
    keys = rows(neighbours) * n + near

    def are_joined(u: Int64, v: Int64) -> Bool:
        wanted = u * n + v
        return np.asarray(keys[np.searchsorted(keys, wanted).clip(max=len(keys) - 1)] == wanted)

    up = rows(neighbours) < near
    first, second = rows(neighbours)[up], near[up]
    ways = degree[second]
    for block in _blocks(np.bincount(first, ways, minlength=n).astype(np.int64)):
        edges = slice(*np.searchsorted(first, (block.start, block.stop)))
        a, b = np.repeat(first[edges], ways[edges]), np.repeat(second[edges], ways[edges])
        c = near[ranges(neighbours.indptr[second[edges]], ways[edges])]
        joined = are_joined(a, c)
        triangles = joined & (b < c)
        yield np.sort(by_degree[np.stack([each[triangles] for each in (a, b, c)], axis=1)], axis=1)
        far = np.flatnonzero((c > a) & ~joined)
        far = far[np.lexsort((b[far], c[far], a[far]))]
        a, b, c = a[far], b[far], c[far]
        _, group, count = np.unique(a * n + c, return_inverse=True, return_counts=True)
        later = np.cumsum(count)[group] - np.arange(1, len(far) + 1)  # others on the way to c
        for part in _blocks(later):
            one = np.repeat(np.arange(len(far))[part], later[part])
            other = ranges(np.arange(1, len(far) + 1)[part], later[part])
            open_ = ~are_joined(b[one], b[other])
            one, other = one[open_], other[open_]
            yield np.sort(by_degree[np.stack([a[one], b[one], b[other], c[one]], axis=1)], axis=1)


# --- inner regions --------------------------------------------------------------------------------


def _share_variables(problem: Problem, outer: csr_array) -> Choice:
    """Take the variables that several regions hold, as ordinary belief propagation does."""
    held = outer.T.tocsr()
    shared = np.flatnonzero(sizes(held) > 1)
    inner = _incidence(np.arange(len(shared) + 1), shared, outer.shape[1])
    return _describe(problem, "bethe", outer, inner, held[shared], 1 - sizes(held)[shared])


def _close(problem: Problem, kind: Kind, sets: csr_array, scopes: csr_array) -> Choice:
    """Take sets and scopes, and all their intersections, by their first variable."""
    outer = _keep_maximal(vstack([sets, scopes], format="csr"))
    inner, links = _find_intersections(outer)
    one, other = _find_inside(inner, inner)
    ones = np.ones(len(one), np.int64)
    above = csr_array((ones, (one, other)), shape=(inner.shape[0], inner.shape[0]))
    counting = 1 - sizes(links).astype(np.int64)
    for size in np.unique(sizes(inner))[::-1].tolist():
        level = np.flatnonzero(sizes(inner) == size)
        counting[level] -= above[level] @ counting
    order = np.lexsort((-sizes(inner), inner.indices[inner.indptr[:-1]]))
    return _describe(problem, kind, outer, inner[order], links[order], counting[order])


def _find_intersections(outer: csr_array) -> tuple[csr_array, csr_array]:
    """Close the regions under intersection; return the results and the regions that hold each.

    An intersection is known by the regions that hold it. These hold one of its variables, and get
    fewer as further variables are asked for; where they do not, the variable is in it already.
    """
    held = outer.T.tocsr()
    level, links, entries = held[sizes(held) > 1], [], 0
    seen: set[bytes] = set()
    while level.shape[0]:
        fresh = {key: i for i, key in enumerate(_keys(level)) if key not in seen}
        seen.update(fresh)
        level = level[np.array(list(fresh.values()), np.int64)]
        links.append(level)
        common = (level @ outer).tocoo()
        fewer = (common.data > 1) & (common.data < sizes(level)[common.row])
        entries += level.nnz + int(common.data[fewer].sum())
        if entries > MOST_ENTRIES:
            raise InputError(
                f"The {outer.shape[0]} regions overlap in too many ways to list. Choose fewer "
                "regions, or regions='bethe'."
            )
        level = level[common.row[fewer]].multiply(held[common.col[fewer]]).tocsr()
        level.sort_indices()
    if not links:
        return outer[:0], csr_array((0, outer.shape[0]), dtype=np.int64)
    found = vstack(links, format="csr")
    common = (found @ outer).tocoo()
    whole = common.data == sizes(found)[common.row]
    ones = np.ones(whole.sum(), np.int64)
    shape = found.shape[0], outer.shape[1]
    return csr_array((ones, (common.row[whole], common.col[whole])), shape=shape), found


def _describe(
    problem: Problem,
    kind: Kind,
    outer: csr_array,
    inner: csr_array,
    links: csr_array,
    counting: Int64,
) -> Choice:
    """Count the connected parts; keep the links of a junction tree where there is one.

    A spanning tree of inner and outer regions, through the largest inner ones, is a junction tree
    exactly if its edges have as many members as all regions have beyond each variable's first.
    Counting numbers are those of its separators: one less the number of links.
    """
    cells = count_cells(outer, problem.n_states).sum()
    if cells > MOST_CELLS_IN_ALL:
        raise InputError(
            f"The regions need {cells:.3g} cells in all; at most {MOST_CELLS_IN_ALL} are kept. "
            "Choose fewer or smaller regions, or regions='bethe'."
        )
    n_inner, n = inner.shape[0], inner.shape[0] + outer.shape[0]
    weights = -sizes(inner)[rows(links)].astype(float)
    graph = csr_array((weights, (rows(links), n_inner + links.indices)), shape=(n, n))
    tree = minimum_spanning_tree(graph).tocoo()
    n_parts, part = connected_components(tree, directed=False)
    beyond = outer.nnz + inner.nnz - np.count_nonzero(problem.n_states > 1)
    is_forest = int(-tree.data.sum()) == beyond
    if is_forest:  # leaves first, seen from a root above all parts
        ones = np.ones(len(tree.data), np.int64)
        links = csr_array((ones, (tree.row, tree.col - n_inner)), shape=links.shape)
        down = np.append(tree.row, np.full(n_parts, n))
        to = np.append(tree.col, np.unique(part, return_index=True)[1])
        rooted = csr_array((np.ones(len(to)), (down, to)), shape=(n + 1, n + 1))
        order = breadth_first_order(rooted, n, directed=False, return_predecessors=False)[::-1]
        order = order[order < n_inner]
        order = order[counting[order] < 0]
        inner, links, counting = inner[order], links[order], counting[order]
    return Choice(kind, outer, inner, links, counting, int(n_parts), is_forest)
