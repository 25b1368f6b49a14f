"""Sum-product on a junction tree for many rows of evidence at once, one row per lane.

One array ``room`` holds all numbers: the cells of tables, messages and so on, each as a run of
lanes. Every inner loop is over lanes, which do not depend on each other: the answer of a row is the
same, to the last bit, whoever its neighbours are. Where things lie is found once per tree: a row of
``nodes`` for each node, of ``columns`` for each variable that may be observed, of ``wanted`` for
each whose belief is written.

Nodes without evidence at or below them are calm: what they send is known from one run without
evidence and is not computed again.

Nothing is lost silently. Of each message the smallest positive number is kept; the product of
these bounds every positive cell from below. A row whose bound comes near the smallest float is
marked as lost; in all others a zero is a true zero.
"""

from __future__ import annotations

import math

import numpy as np

from credo._kernels.cliques import TINY, advance
from credo._kernels.tiers import kernel

#: Messages a table is multiplied by before it is scaled again: eight of 1e-36 are above TINY.
RESCALE_AFTER = 8
#: What is read of a node, if anything.
SEPARATOR, WHOLE_TABLE = 1, 2
#: Fields of a node. At TOTAL, behind its message, is the sum of that before it was scaled to one;
#: then comes its least positive number; then both of the parent's table, if the node RESCALES it.
PARENT, TABLE, TABLE_END, MESSAGE, TOTAL, RESCALES, READS = range(7)
#: Fields of a variable that is observed or wanted: the node where it ends, or the first cell of its
#: home; how often all its states come there, how many they are, how many cells each has in a row;
#: and where the result's columns start.
WHERE, TIMES, STATES, INNER, PLACE = range(5)
#: Whether cells are added up or multiplied; plain literals would compile their callee once more.
ADDS, MULTIPLIES, ONCE = np.bool_(1), np.bool_(0), np.int64(1)


@kernel
def _combine(room, adds, t, m, size, first, stop, lengths, strides, counters):
    """Multiply the cells t, … by the ``size`` cells m, … they belong to, or sum them up there."""
    for i in range(m, m + size if adds else m):
        for lane in range(room.shape[1]):
            room[i, lane] = 0.0
    n1 = lengths[stop - 1] if stop > first else 1
    step = strides[stop - 1] if stop > first else 0
    outer = 1
    for loop in range(first, stop - 1):
        outer *= lengths[loop]
    for _ in range(outer):
        i = m
        for j in range(t, t + n1):
            if adds:
                for lane in range(room.shape[1]):
                    room[i, lane] += room[j, lane]
            else:
                for lane in range(room.shape[1]):
                    room[j, lane] *= room[i, lane]
            i += step
        t += n1
        m = advance(m, lengths, strides, first, stop - 2, counters)


@kernel
def _combine_states(room, adds, t, m, times, states, inner):
    """Do the same with cells m, … for the states of a variable, each for ``inner`` in a row."""
    for i in range(m, m + states if adds else m):
        for lane in range(room.shape[1]):
            room[i, lane] = 0.0
    for _ in range(times):
        for i in range(m, m + states):
            for j in range(t, t + inner):
                if adds:
                    for lane in range(room.shape[1]):
                        room[i, lane] += room[j, lane]
                else:
                    for lane in range(room.shape[1]):
                        room[j, lane] *= room[i, lane]
            t += inner


@kernel
def _scale(room, start, stop, where):
    """Scale each lane to sum one; put the sum and the least positive cell at ``where``."""
    for lane in range(room.shape[1]):
        room[where, lane] = 0.0
        room[where + 1, lane] = np.inf
    for i in range(start, stop):
        for lane in range(room.shape[1]):
            x = room[i, lane]
            room[where, lane] += x
            x = x if x > 0.0 else np.inf
            room[where + 1, lane] = min(x, room[where + 1, lane])
    for i in range(start, stop):
        for lane in range(room.shape[1]):
            x = room[where, lane]
            room[i, lane] /= x if x > 0.0 else 1.0


@kernel
def _divide(room, belief, message, rows):
    """Turn a message into its belief, and the belief into the ratio of the two."""
    for r in range(rows):
        for lane in range(room.shape[1]):
            before = room[message + r, lane] * room[message + rows, lane]
            now = room[belief + r, lane]
            room[message + r, lane] = now
            room[belief + r, lane] = now / (before if before > 0.0 else 1.0)


@kernel
def _copy(room, source, start, stop):
    """Set all lanes of the cells from start to stop."""
    for i in range(start, stop):
        for lane in range(room.shape[1]):
            room[i, lane] = source[i]


@kernel
def _enter(room, codes, first, last, e, columns, table, spare):
    """Multiply a column's findings into the table where its variable ends."""
    states = columns[e, STATES]
    for x in range(states):
        for lane in range(room.shape[1]):
            room[spare + x, lane] = 1.0
        for row in range(first, last):
            if codes[row, e] >= 0 and codes[row, e] != x:
                room[spare + x, row - first] = 0.0
    times, inner = columns[e, TIMES], columns[e, INNER]
    _combine_states(room, MULTIPLIES, table, spare, times, states, inner)


@kernel
def _mark(codes, first, last, columns, nodes, live, every):
    """Mark the nodes, or ``every`` one, and after them the columns, that the rows change."""
    n = nodes.shape[0]
    for k in range(n):
        live[k] = every
    for e in range(columns.shape[0]):
        found = False
        for row in range(first, last):
            found = found or codes[row, e] >= 0
        live[n + e] = found
        live[columns[e, WHERE]] = live[columns[e, WHERE]] or found
    for k in range(n):
        if live[k] and nodes[k, PARENT] >= 0:
            live[nodes[k, PARENT]] = True


@kernel
def _collect(room, calm, k, nodes, live, groups, lengths, strides, counters):
    """Send a node's message, scaled to sum one, to its parent."""
    p, table, message, total = nodes[k, PARENT], nodes[k, TABLE], nodes[k, MESSAGE], nodes[k, TOTAL]
    rows = total - message
    if live[k]:
        inner = (nodes[k, TABLE_END] - table) // rows
        _combine_states(room, ADDS, table, message, ONCE, rows, inner)
        _scale(room, message, total, total)
    elif p < 0 or nodes[k, READS] > 0 or live[p]:
        _copy(room, calm, message, total + 4)
    if p >= 0 and live[p]:
        into = nodes[p, TABLE]
        loops = groups[k], groups[k + 1], lengths, strides, counters
        _combine(room, MULTIPLIES, into, message, rows, *loops)
        if nodes[k, RESCALES] > 0:
            _scale(room, into, nodes[p, TABLE_END], total + 2)


@kernel
def _distribute(room, calm, k, nodes, live, groups, lengths, strides, counters, spare, scratch):
    """Turn a node's message, and its table if it is read from, into beliefs."""
    p, reads, table, end = nodes[k, PARENT], nodes[k, READS], nodes[k, TABLE], nodes[k, TABLE_END]
    if reads == WHOLE_TABLE and not live[k]:
        _copy(room, calm, table, end)
    if p < 0 or reads == 0:
        return
    rows = nodes[k, TOTAL] - nodes[k, MESSAGE]
    loops = groups[k], groups[k + 1], lengths, strides, counters
    _combine(room, ADDS, nodes[p, TABLE], spare, rows, *loops)
    _scale(room, spare, spare + rows, scratch)
    _divide(room, spare, nodes[k, MESSAGE], rows)
    if reads == WHOLE_TABLE:
        inner = (end - table) // rows
        _combine_states(room, MULTIPLIES, table, spare, ONCE, rows, inner)


@kernel
def _judge(room, calm, least_base, nodes, live, bound, lane):
    """Return the log of a row's sum, and whether terms of it may have been lost."""
    log_z = 0.0
    lost = False
    for k in range(bound.size):
        bound[k] = least_base[k]
    for k in range(bound.size):
        p, where = nodes[k, PARENT], nodes[k, TOTAL]
        total = room[where, lane] if live[k] else calm[where]
        least = room[where + 1, lane] if live[k] else calm[where + 1]
        log_z += math.log(total) if total > 0.0 else -np.inf
        lost = lost or bound[k] < TINY
        if p >= 0 and total > 0.0:
            bound[p] *= least / total
            if nodes[k, RESCALES] > 0:
                lost = lost or bound[p] < TINY
                again = room[where + 2, lane] if live[p] else calm[where + 2]
                smallest = room[where + 3, lane] if live[p] else calm[where + 3]
                bound[p] = smallest / again if again > 0.0 else 1.0
                log_z += math.log(again) if again > 0.0 else -np.inf
    return log_z, lost


@kernel
def run_lanes(room, base, calm, program, codes, out, log_z, lost, upward):
    """Run rows of state indices (-1: not observed), as many at a time as there are lanes.

    ``base`` holds the tables at the start, ``calm`` all cells without evidence. With ``upward`` all
    nodes send their messages to the roots, and no more is done. Of the ``program``, the loops of
    node k in its parent's table are those from groups[k] on; ``spare`` and ``scratch`` are free
    cells.
    """
    least_base, nodes, columns, wanted, groups, lengths, strides, spare, scratch = program
    n, n_columns = nodes.shape[0], columns.shape[0]
    live, bound = np.empty(n + n_columns, np.bool_), np.empty(n)
    counters = np.zeros(lengths.size, np.int64)
    for first in range(0, codes.shape[0], room.shape[1]):
        last = min(first + room.shape[1], codes.shape[0])
        _mark(codes, first, last, columns, nodes, live, upward)
        for k in range(n):
            if live[k]:
                _copy(room, base, nodes[k, TABLE], nodes[k, TABLE_END])
        for e in range(n_columns):
            if live[n + e]:
                table = nodes[columns[e, WHERE], TABLE]
                _enter(room, codes, first, last, e, columns, table, spare)
        for k in range(n):
            _collect(room, calm, k, nodes, live, groups, lengths, strides, counters)
        for row in range(first, last):
            log_z[row], lost[row] = _judge(room, calm, least_base, nodes, live, bound, row - first)
        if upward:
            continue
        for k in range(n - 1, -1, -1):
            _distribute(
                room, calm, k, nodes, live, groups, lengths, strides, counters, spare, scratch
            )
        for w in range(wanted.shape[0]):
            home, states, place = wanted[w, WHERE], wanted[w, STATES], wanted[w, PLACE]
            times, inner = wanted[w, TIMES], wanted[w, INNER]
            _combine_states(room, ADDS, home, spare, times, states, inner)
            _scale(room, spare, spare + states, scratch)
            for row in range(first, last):
                for x in range(states):
                    out[row, place + x] = room[spare + x, row - first]
