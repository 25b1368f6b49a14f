"""Sets of variables: which lie inside others, and all intersections of the ones that do not.

Sets are ascending runs, ``members[start[s]:start[s + 1]]``; the sets that hold variable v are
``holders[first[v]:first[v + 1]]``, ascending.
"""

from __future__ import annotations

import numpy as np

from credo._kernels.tiers import kernel


@kernel
def _is_inside(small, a, end, members, b, stop):
    """Tell whether the ascending run small[a:end] lies in members[b:stop]."""
    while a < end:
        while b < stop and members[b] < small[a]:
            b += 1
        if b == stop or members[b] != small[a]:
            return False
        a += 1
        b += 1
    return True


@kernel
def _rarest(run, a, end, first):
    """Give the variable of the run that the fewest sets hold."""
    rare = run[a]
    for i in range(a + 1, end):
        if first[run[i] + 1] - first[run[i]] < first[rare + 1] - first[rare]:
            rare = run[i]
    return rare


@kernel
def maximal_sets(start, members, first, holders):
    """Mark the sets that are not empty and lie in no other; of equal sets, the first."""
    n_sets = start.size - 1
    keep = np.ones(n_sets, np.bool_)
    for s in range(n_sets):
        a, end = start[s], start[s + 1]
        if a == end:
            keep[s] = False
            continue
        rare = _rarest(members, a, end, first)
        for i in range(first[rare], first[rare + 1]):
            t = holders[i]
            more = start[t + 1] - start[t] - (end - a)
            is_candidate = more > 0 or (more == 0 and t < s)
            if is_candidate and _is_inside(members, a, end, members, start[t], start[t + 1]):
                keep[s] = False
                break
    return keep


@kernel
def covering_sets(run_start, runs, start, members, first, holders):
    """Give the first set that each run lies in; -1 for an empty run."""
    n_runs = run_start.size - 1
    home = np.empty(n_runs, np.int64)
    for r in range(n_runs):
        a, end = run_start[r], run_start[r + 1]
        home[r] = -1
        if a == end:
            continue
        rare = _rarest(runs, a, end, first)
        for i in range(first[rare], first[rare + 1]):
            s = holders[i]
            if _is_inside(runs, a, end, members, start[s], start[s + 1]):
                home[r] = s
                break
    return home


@kernel
def _add(
    extent,
    size,
    v,
    stamp,
    inside,
    tally,
    start,
    members,
    count,
    inner_start,
    inner,
    link_start,
    link,
    last,
):
    """Append what the sets of an extent share, unless another way leads to it; -1 for no room.

    The way by which it is found is the one that adds its variables in ascending order: so v was
    added last, and nothing before v that was not there already may come with it.
    """
    for e in range(size):
        for i in range(start[extent[e]], start[extent[e] + 1]):
            tally[members[i]] += 1
    end = inner_start[count]
    filled = link_start[count]
    is_new = True
    has_room = count + 1 < last.size and filled + size <= link.size
    for i in range(start[extent[0]], start[extent[0] + 1]):
        w = members[i]
        if tally[w] == size:
            if w < v and inside[w] != stamp:
                is_new = False
            if end < inner.size:
                inner[end] = w
                end += 1
            else:
                has_room = False
    for e in range(size):
        for i in range(start[extent[e]], start[extent[e] + 1]):
            tally[members[i]] = 0
    if not is_new:
        return count
    if not has_room:
        return -1
    for e in range(size):
        link[filled + e] = extent[e]
    last[count] = v
    inner_start[count + 1] = end
    link_start[count + 1] = filled + size
    return count + 1


@kernel
def _list_candidates(c, inside, start, members, inner_start, inner, link_start, link, last, head):
    """Chain, for each variable that may be added to set c, the outer sets of c that hold it.

    Marks the variables of c with its number. Gives the variables, how many there are, the sets in
    the chains, and where each chain goes on. Chains ascend.
    """
    for i in range(inner_start[c], inner_start[c + 1]):
        inside[inner[i]] = c
    total = np.int64(0)
    for j in range(link_start[c], link_start[c + 1]):
        total += start[link[j] + 1] - start[link[j]]
    found = np.empty(total, np.int64)
    owner = np.empty(total, np.int64)
    following = np.empty(total, np.int64)
    n_found = np.int64(0)
    e = np.int64(0)
    for j in range(link_start[c + 1] - 1, link_start[c] - 1, -1):
        for i in range(start[link[j]], start[link[j] + 1]):
            w = members[i]
            if w > last[c] and inside[w] != c:
                if head[w] < 0:
                    found[n_found] = w
                    n_found += 1
                owner[e] = link[j]
                following[e] = head[w]
                head[w] = e
                e += 1
    return found, n_found, owner, following


@kernel
def intersections(start, members, first, holders, inner_start, inner, link_start, link, last):
    """List every intersection of two or more sets, and the sets that hold each.

    Each is found once, by adding variables in ascending order and closing under what all sets
    that hold them share. ``inner_start``, ``inner``, ``link_start`` and ``link`` are filled;
    ``last`` is scratch. Gives the number of intersections, or -1 if there is no room.
    """
    n = first.size - 1
    inside = np.empty(n, np.int64)
    head = np.empty(n, np.int64)
    for v in range(n):
        inside[v] = -1
        head[v] = -1
    tally = np.zeros(n, np.int64)
    extent = np.empty(start.size, np.int64)
    count = np.int64(0)
    inner_start[0] = 0
    link_start[0] = 0
    for v in range(n):
        size = first[v + 1] - first[v]
        if size < 2:
            continue
        for e in range(size):
            extent[e] = holders[first[v] + e]
        count = _add(extent, size, v, np.int64(-2), inside, tally, start, members,
                     count, inner_start, inner, link_start, link, last)  # fmt: skip
        if count < 0:
            return count
    c = np.int64(0)
    while c < count:
        found, n_found, owner, following = _list_candidates(
            c, inside, start, members, inner_start, inner, link_start, link, last, head
        )
        for k in range(n_found):
            size = np.int64(0)
            e = head[found[k]]
            head[found[k]] = -1
            while e >= 0:
                extent[size] = owner[e]
                size += 1
                e = following[e]
            if size > 1:
                count = _add(extent, size, found[k], c, inside, tally, start, members,
                             count, inner_start, inner, link_start, link, last)  # fmt: skip
                if count < 0:
                    return count
        c += 1
    return count
