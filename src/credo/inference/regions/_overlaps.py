"""What outer regions share: inner regions, and how often each is to be counted."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from credo.exceptions import InputError
from credo.inference.regions._sets import Int64, Sets, inverse

#: Entries of all intersections together: half a gigabyte of them.
MOST_ENTRIES = 2**26


@dataclass(frozen=True, slots=True, eq=False)
class Overlaps:
    """Inner regions, the outer regions that hold each, and counting numbers."""

    inner: Sets
    links: Sets  #: the outer regions of each inner one
    counting: Int64  #: of the inner regions; that of an outer region is one
    n_parts: int  #: how many parts hang together
    is_forest: bool  #: whether the outer regions have a junction tree, or one per part
    total: int  #: the sum of all counting numbers, those of outer regions included


def shared_variables(outer: Sets, n: int) -> Overlaps:
    """Take the variables that several regions hold, as ordinary belief propagation does."""
    holders = outer.holders(n)
    shared = holders.sizes > 1
    links = holders.chosen(shared)
    inner = Sets.of_rows(np.flatnonzero(shared)[:, None])
    return _described(outer, inner, links, 1 - links.sizes)


def intersections(outer: Sets, n: int) -> Overlaps:
    """Take all intersections that are needed, by their first variable, larger ones first.

    Left out are those whose counting number is zero, if larger ones make regions agree on them.
    """
    from credo._kernels.region_counting import counting_numbers  # noqa: PLC0415

    inner, links = _all_intersections(outer, n)
    held = inverse(links.start, links.members, len(outer))
    counting, needed = np.empty(len(inner), np.int64), np.empty(len(inner), np.bool_)
    order = np.argsort(-inner.sizes, kind="stable")
    counting_numbers(order, links.start, links.members, held.start, held.members, counting, needed)
    kept = np.flatnonzero(needed)
    order = kept[np.lexsort((-inner.sizes[kept], inner.members[inner.start[kept]]))]
    return _described(outer, inner.chosen(order), links.chosen(order), counting[order])


def _described(outer: Sets, inner: Sets, links: Sets, counting: Int64) -> Overlaps:
    """Count the parts that hang together; tell whether each has a junction tree."""
    from credo._kernels.region_counting import spanning_forest  # noqa: PLC0415

    order = np.argsort(-inner.sizes, kind="stable")
    weight, parts = spanning_forest(order, inner.sizes, links.start, links.members, len(outer))
    most = len(outer.members) - len(np.unique(outer.members))
    total = len(outer) + int(counting.sum())
    return Overlaps(inner, links, counting, int(parts), int(weight) == most, total)


def _all_intersections(outer: Sets, n: int) -> tuple[Sets, Sets]:
    """Close the regions under intersection; give the results and the regions that hold each."""
    from credo._kernels.region_sets import intersections as close  # noqa: PLC0415

    holders = outer.holders(n)
    regions = (outer.start, outer.members, holders.start, holders.members)
    room = 4 * len(outer.members) + 16
    while room <= MOST_ENTRIES:
        start, link_start = np.empty(room + 1, np.int64), np.empty(room + 1, np.int64)
        members, links, scratch = (np.empty(room, np.int64) for _ in range(3))
        count = close(*regions, start, members, link_start, links, scratch)
        if count >= 0:
            start, link_start = start[: count + 1].copy(), link_start[: count + 1].copy()
            inner = Sets(start, members[: start[-1]].copy())
            return inner, Sets(link_start, links[: link_start[-1]].copy())
        room *= 4
    raise InputError(
        f"The {len(outer)} regions overlap in too many ways to list. Choose fewer regions, or "
        "regions='bethe'."
    )
