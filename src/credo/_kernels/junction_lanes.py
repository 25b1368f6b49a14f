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

import numpy as np

from credo._kernels._jit import kernel
from credo._kernels.clique_tables import TINY, advance

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


@kernel
def _multiply(room, t, m, lengths, strides, first, stop, counters):
    """Multiply the cells t, … of a table by the cells m, … that they belong to."""
    n1 = lengths[stop - 1] if stop > first else 1
    step = strides[stop - 1] if stop > first else 0
    outer = 1
    for k in range(first, stop - 1):
        outer *= lengths[k]
        counters[k - first] = 0
    for _ in range(outer):
        i = m
        for j in range(t, t + n1):
            for lane in range(room.shape[1]):
                room[j, lane] *= room[i, lane]
            i += step
        t += n1
        m = advance(m, lengths, strides, first, stop - 2, counters)


@kernel
def _multiply_states(room, t, m, times, states, inner):
    """Multiply the cells t, … by the cells m, …, one per state, each for ``inner`` in a row."""
    for _ in range(times):
        for i in range(m, m + states):
            for j in range(t, t + inner):
                for lane in range(room.shape[1]):
                    room[j, lane] *= room[i, lane]
            t += inner


@kernel
def _clear(room, start, stop):
    """Set all lanes of the cells from start to stop to zero."""
    for i in range(start, stop):
        for lane in range(room.shape[1]):
            room[i, lane] = 0.0


@kernel
def _add_states(room, t, m, times, states, inner):
    """Set the cells m, …, one per state, to the sums of the cells t, … that belong to them."""
    _clear(room, m, m + states)
    for _ in range(times):
        for i in range(m, m + states):
            for j in range(t, t + inner):
                for lane in range(room.shape[1]):
                    room[i, lane] += room[j, lane]
            t += inner


@kernel
def _add_up(room, t, m, cells, lengths, strides, first, stop, counters):
    """Set the cells from m on to the sums of the cells t, … that belong to them."""
    _clear(room, m, m + cells)
    n1 = lengths[stop - 1] if stop > first else 1
    step = strides[stop - 1] if stop > first else 0
    outer = 1
    for k in range(first, stop - 1):
        outer *= lengths[k]
        counters[k - first] = 0
    for _ in range(outer):
        i = m
        for j in range(t, t + n1):
            for lane in range(room.shape[1]):
                room[i, lane] += room[j, lane]
            i += step
        t += n1
        m = advance(m, lengths, strides, first, stop - 2, counters)


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
def _spread(room, cells, start, stop):
    """Set all lanes of the cells from start to stop."""
    for i in range(start, stop):
        for lane in range(room.shape[1]):
            room[i, lane] = cells[i]


@kernel
def _mark(codes, first, last, columns, nodes, live):
    """Mark the nodes, and after them the columns, that the rows change."""
    n = nodes.shape[0]
    for k in range(n):
        live[k] = False
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
def _enter(room, codes, first, last, e, columns, nodes, spare):
    """Multiply the findings of a column into the table where its variable ends."""
    states = columns[e, STATES]
    for x in range(states):
        for lane in range(room.shape[1]):
            room[spare + x, lane] = 1.0
        for row in range(first, last):
            if codes[row, e] >= 0 and codes[row, e] != x:
                room[spare + x, row - first] = 0.0
    table = nodes[columns[e, WHERE], TABLE]
    _multiply_states(room, table, spare, columns[e, TIMES], states, columns[e, INNER])


@kernel
def _collect(room, calm, k, nodes, groups, lengths, strides, live, counters):
    """Send a node's message, scaled to sum one, to its parent."""
    p, table, message, total = nodes[k, PARENT], nodes[k, TABLE], nodes[k, MESSAGE], nodes[k, TOTAL]
    rows = total - message
    if live[k]:
        _add_states(room, table, message, np.int64(1), rows, (nodes[k, TABLE_END] - table) // rows)
        _scale(room, message, total, total)
    elif p < 0 or nodes[k, READS] > 0 or live[p]:
        _spread(room, calm, message, total + 4)
    if p >= 0 and live[p]:
        above = nodes[p, TABLE]
        _multiply(room, above, message, lengths, strides, groups[k], groups[k + 1], counters)
        if nodes[k, RESCALES] > 0:
            _scale(room, above, nodes[p, TABLE_END], total + 2)


@kernel
def _distribute(room, calm, k, nodes, groups, lengths, strides, live, spare, scratch, counters):
    """Turn a node's message, and its table if it is read from, into beliefs."""
    p, reads, table, end = nodes[k, PARENT], nodes[k, READS], nodes[k, TABLE], nodes[k, TABLE_END]
    if reads == WHOLE_TABLE and not live[k]:
        _spread(room, calm, table, end)
    if p < 0 or reads == 0:
        return
    above, rows = nodes[p, TABLE], nodes[k, TOTAL] - nodes[k, MESSAGE]
    _add_up(room, above, spare, rows, lengths, strides, groups[k], groups[k + 1], counters)
    _scale(room, spare, spare + rows, scratch)
    _divide(room, spare, nodes[k, MESSAGE], rows)
    if reads == WHOLE_TABLE:
        _multiply_states(room, table, spare, np.int64(1), rows, (end - table) // rows)


@kernel
def _write(room, w, wanted, first, last, spare, scratch, out):
    """Sum a variable's belief out of its home into columns of the result."""
    states, place = wanted[w, STATES], wanted[w, PLACE]
    _add_states(room, wanted[w, WHERE], spare, wanted[w, TIMES], states, wanted[w, INNER])
    _scale(room, spare, spare + states, scratch)
    for row in range(first, last):
        for x in range(states):
            out[row, place + x] = room[spare + x, row - first]


@kernel
def _judge(room, calm, least_base, nodes, live, bound, lane):
    """Give the log of a row's sum, and whether terms of it may have been lost."""
    log_z = 0.0
    lost = False
    for k in range(bound.size):
        bound[k] = least_base[k]
    for k in range(bound.size):
        p, where = nodes[k, PARENT], nodes[k, TOTAL]
        total = room[where, lane] if live[k] else calm[where]
        least = room[where + 1, lane] if live[k] else calm[where + 1]
        log_z += np.log(total) if total > 0.0 else -np.inf
        lost = lost or bound[k] < TINY
        if p >= 0 and total > 0.0:
            bound[p] *= least / total
            if nodes[k, RESCALES] > 0:
                lost = lost or bound[p] < TINY
                again = room[where + 2, lane] if live[p] else calm[where + 2]
                smallest = room[where + 3, lane] if live[p] else calm[where + 3]
                bound[p] = smallest / again if again > 0.0 else 1.0
                log_z += np.log(again) if again > 0.0 else -np.inf
    return log_z, lost


@kernel
def run_calm(room, base, nodes, groups, lengths, strides, live, counters):
    """Fill the room, of one lane, with what is sent to the roots without evidence."""
    for k in range(nodes.shape[0]):
        live[k] = True
        _spread(room, base, nodes[k, TABLE], nodes[k, TABLE_END])
    for k in range(nodes.shape[0]):
        _collect(room, base, k, nodes, groups, lengths, strides, live, counters)


@kernel
def run_lanes(
    room,
    base,
    calm,
    least_base,
    nodes,
    columns,
    wanted,
    groups,
    lengths,
    strides,
    spare,
    scratch,
    codes,
    live,
    counters,
    bound,
    out,
    log_z,
    lost,
):
    """Run rows of state indices (-1: not observed), as many at a time as there are lanes.

    ``base`` holds the tables at the start, ``calm`` all cells without evidence; the loops of node k
    in its parent's table are those from groups[k] on; ``spare`` and ``scratch`` are free cells.
    ``live``, ``counters`` and ``bound`` are room for flags, for loops and for one number per node.
    """
    n = nodes.shape[0]
    for first in range(0, codes.shape[0], room.shape[1]):
        last = min(first + room.shape[1], codes.shape[0])
        _mark(codes, first, last, columns, nodes, live)
        for k in range(n):
            if live[k]:
                _spread(room, base, nodes[k, TABLE], nodes[k, TABLE_END])
        for e in range(columns.shape[0]):
            if live[n + e]:
                _enter(room, codes, first, last, e, columns, nodes, spare)
        for k in range(n):
            _collect(room, calm, k, nodes, groups, lengths, strides, live, counters)
        for k in range(n - 1, -1, -1):
            _distribute(
                room, calm, k, nodes, groups, lengths, strides, live, spare, scratch, counters
            )
        for w in range(wanted.shape[0]):
            _write(room, w, wanted, first, last, spare, scratch, out)
        for row in range(first, last):
            log_z[row], lost[row] = _judge(room, calm, least_base, nodes, live, bound, row - first)
