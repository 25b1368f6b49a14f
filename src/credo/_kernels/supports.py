"""States that some configuration may use: arc consistency, and tables without the others."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from credo._kernels.tiers import kernel


class Tables(NamedTuple):
    """Factors of any number of variables, as logs."""

    n_states: Any
    state_start: Any
    scope_start: Any
    scope: Any
    cell_start: Any
    logs: Any
    incident_start: Any
    incident: Any  #: the factors of each variable


class States(NamedTuple):
    """Which states are left, and room to find out."""

    alive: Any  #: of each state of each variable
    left: Any  #: how many are alive, of each variable
    queue: Any  #: factors to look at, as a ring
    waiting: Any  #: of each factor: whether it is in the queue; comes as zeros
    seen: Any
    digit: Any  #: comes as zeros


@kernel
def step_on(tables, f, digit):
    """Go to the next cell of a factor; after the last one comes the first."""
    first = tables.scope_start[f]
    a = tables.scope_start[f + 1] - first - 1
    while a >= 0:
        digit[a] += 1
        if digit[a] < tables.n_states[tables.scope[first + a]]:
            return
        digit[a] = 0
        a -= 1


@kernel
def is_alive(tables, f, alive, digit):
    """Tell whether all states of a cell are alive."""
    first = tables.scope_start[f]
    for s in range(first, tables.scope_start[f + 1]):
        if not alive[tables.state_start[tables.scope[s]] + digit[s - first]]:
            return False
    return True


@kernel
def revise(tables, states, f):
    """Mark in ``seen`` the states, slot after slot, that a positive cell of alive states uses."""
    first, stop = tables.scope_start[f], tables.scope_start[f + 1]
    used = np.int64(0)
    for s in range(first, stop):
        for _ in range(tables.n_states[tables.scope[s]]):
            states.seen[used] = 0
            used += 1
    met = False
    for c in range(tables.cell_start[f], tables.cell_start[f + 1]):
        if tables.logs[c] > -math.inf and is_alive(tables, f, states.alive, states.digit):
            met = True
            at = np.int64(0)
            for s in range(first, stop):
                states.seen[at + states.digit[s - first]] = 1
                at += tables.n_states[tables.scope[s]]
        step_on(tables, f, states.digit)
    return met


@kernel(visits=10)
def propagate(tables, states, length):
    """Remove states until every one left has a positive cell in each factor; tell if all is well.

    The first ``length`` factors of the queue are looked at, and those whose variables change.
    """
    alive, left, queue = states.alive, states.left, states.queue
    head = np.int64(0)
    while length > 0:
        f = queue[head]
        head = (head + 1) % queue.size
        length -= 1
        states.waiting[f] = 0
        if not revise(tables, states, f):
            return False
        at = np.int64(0)
        for s in range(tables.scope_start[f], tables.scope_start[f + 1]):
            v = tables.scope[s]
            before = left[v]
            for x in range(tables.n_states[v]):
                if alive[tables.state_start[v] + x] and not states.seen[at + x]:
                    alive[tables.state_start[v] + x] = 0
                    left[v] -= 1
            at += tables.n_states[v]
            if left[v] == before:
                continue
            for i in range(tables.incident_start[v], tables.incident_start[v + 1]):
                g = tables.incident[i]
                if g != f and not states.waiting[g]:
                    states.waiting[g] = 1
                    queue[(head + length) % queue.size] = g
                    length += 1
    return True


@kernel
def least_wanted(tables, states, f, digit, score):
    """Find the variable of a cell, among those with a choice, whose state there has least score."""
    first = tables.scope_start[f]
    worst, least = np.int64(-1), math.inf
    for s in range(first, tables.scope_start[f + 1]):
        v = tables.scope[s]
        here = score[tables.state_start[v] + digit[s - first]]
        if states.left[v] > 1 and (worst < 0 or here < least):
            worst, least = np.int64(s - first), here
    return worst


@kernel(visits=10)
def shrink(tables, states, crossing, score, digit):
    """Drop states until no factor in ``crossing`` has a zero cell left; tell whether that worked.

    Of the states of a zero cell the one of least score goes, then those that lost their support.
    ``digit`` comes as zeros.
    """
    for j in range(crossing.size):
        f = crossing[j]
        first = tables.scope_start[f]
        for c in range(tables.cell_start[f], tables.cell_start[f + 1]):
            if tables.logs[c] == -math.inf and is_alive(tables, f, states.alive, digit):
                a = least_wanted(tables, states, f, digit, score)
                if a < 0:
                    return False
                v = tables.scope[first + a]
                states.alive[tables.state_start[v] + digit[a]] = 0
                states.left[v] -= 1
                length = np.int64(0)
                for i in range(tables.incident_start[v], tables.incident_start[v + 1]):
                    states.queue[length] = tables.incident[i]
                    states.waiting[tables.incident[i]] = 1
                    length += 1
                if not propagate(tables, states, length):
                    return False
            step_on(tables, f, digit)
    return True


@kernel(visits=5)
def restrict(tables, alive, digit, out, cells):
    """Copy the cells of alive states, in order; write how many each factor has, return the sum."""
    to = np.int64(0)
    for f in range(cells.size):
        before = to
        for c in range(tables.cell_start[f], tables.cell_start[f + 1]):
            if is_alive(tables, f, alive, digit):
                out[to] = tables.logs[c]
                to += 1
            step_on(tables, f, digit)
        cells[f] = to - before
    return to


@kernel
def find_hosts(tables, marks, host):
    """Find, for each factor, the largest factor whose scope holds its own; the first of equals.

    ``marks`` is scratch space, one for each variable, and comes as -1.
    """
    scope_start, scope, start = tables.scope_start, tables.scope, tables.incident_start
    for f in range(host.size):
        host[f] = f
        first, stop = scope_start[f], scope_start[f + 1]
        if stop - first < 2:
            continue
        rare = scope[first]
        for s in range(first, stop):
            v = scope[s]
            marks[v] = f
            if start[v + 1] - start[v] < start[rare + 1] - start[rare]:
                rare = v
        most = stop - first
        for i in range(start[rare], start[rare + 1]):
            g = tables.incident[i]
            size = scope_start[g + 1] - scope_start[g]
            if size < most or (size == most and g >= host[f]):
                continue
            shared = np.int64(0)
            for s in range(scope_start[g], scope_start[g + 1]):
                if marks[scope[s]] == f:
                    shared += 1
            if shared == stop - first:
                host[f] = g
                most = size


@kernel(visits=5)
def absorb(tables, host, to_start, out, unary, step, digit):
    """Add the logs of each factor to its host's table, or to its one variable.

    ``to_start`` is where a host's table starts in ``out``; ``out`` and ``unary`` come as zeros.
    """
    scope_start, scope, n_states = tables.scope_start, tables.scope, tables.n_states
    for f in range(host.size):
        first, stop = scope_start[f], scope_start[f + 1]
        at = tables.cell_start[f]
        if stop == first:
            continue
        if stop - first == 1:
            for x in range(n_states[scope[first]]):
                unary[tables.state_start[scope[first]] + x] += tables.logs[at + x]
            continue
        begin, end = scope_start[host[f]], scope_start[host[f] + 1]
        cells = np.int64(1)
        for a in range(end - begin):
            step[a] = 0
            cells *= n_states[scope[begin + a]]
        stride = np.int64(1)
        for s in range(stop - 1, first - 1, -1):
            for a in range(end - begin):
                if scope[begin + a] == scope[s]:
                    step[a] = stride
            stride *= n_states[scope[s]]
        for c in range(to_start[host[f]], to_start[host[f]] + cells):
            out[c] += tables.logs[at]
            a = end - begin - 1
            while a >= 0:
                digit[a] += 1
                at += step[a]
                if digit[a] < n_states[scope[begin + a]]:
                    break
                at -= digit[a] * step[a]
                digit[a] = 0
                a -= 1
