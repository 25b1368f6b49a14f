"""Sum-product on a junction tree for many rows of evidence at once, one row per lane.

One array ``room`` holds all numbers: the cells of tables, messages and so on, each as a run of
lanes. Every inner loop is over lanes, which do not depend on each other: the answer of a row is the
same, to the last bit, whoever its neighbours are. Where things lie is found once per tree: a row of
``nodes`` for each node, of ``columns`` for each variable that may be observed, of ``wanted`` for
each whose belief is written. What to do follows from these, task by task, as a few steps; every
step is taken in one place, as each call compiles what it calls once more.

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
#: Most steps of a task, and the numbers of each: what it does, a, b, c, d and e.
STEPS, FIELDS = 6, 6
#: What a step does, with the cells a and b:
#: multiply the table at a by the message at b, by the loops of node c, or add it up there;
#: the same with the cells at b of d states, c times, each for e cells in a row;
#: scale the cells from a to b to sum one, and put the sum at c;
#: set those cells to zero, to what they are at the start, or after a run without evidence;
#: divide the belief at a by the message at b, of c cells, which becomes the belief;
#: put 1 at b for each of c states that the findings of column a allow, and 0 for the others;
#: write the belief at a, of c states, to the result's columns from b.
_KINDS = np.arange(11, dtype=np.int64)  # a plain number that is passed on compiles its callee again
MULTIPLY, ADD, MULTIPLY_STATES, ADD_STATES, SCALE, CLEAR, START, CALM, DIVIDE, WEIGH, WRITE = _KINDS
NONE, ONCE = np.int64(0), np.int64(1)


@kernel
def _combine(room, adds, t, m, lengths, strides, first, stop, counters):
    """Multiply the cells t, … by the cells m, … that they belong to, or add them up there."""
    n1 = lengths[stop - 1] if stop > first else 1
    step = strides[stop - 1] if stop > first else 0
    outer = 1
    for k in range(first, stop - 1):
        outer *= lengths[k]
        counters[k - first] = 0
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
def _spread(room, kind, base, calm, start, stop):
    """Set all lanes of the cells from start to stop."""
    for i in range(start, stop):
        x = 0.0
        if kind == START:
            x = base[i]
        elif kind == CALM:
            x = calm[i]
        for lane in range(room.shape[1]):
            room[i, lane] = x


@kernel
def _weigh(room, codes, first, last, column, cell, states):
    """Put one for the states that findings allow, and zero for the others."""
    for x in range(states):
        for lane in range(room.shape[1]):
            room[cell + x, lane] = 1.0
        for row in range(first, last):
            if codes[row, column] >= 0 and codes[row, column] != x:
                room[cell + x, row - first] = 0.0


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
def _put(steps, i, kind, a, b, c, d, e):
    """Write step i; give the number of the next."""
    steps[i, 0], steps[i, 1], steps[i, 2], steps[i, 3] = kind, a, b, c
    steps[i, 4], steps[i, 5] = d, e
    return i + 1


@kernel
def _enter(steps, e, columns, nodes, live, spare):
    """Multiply the findings of a column into the table where its variable ends."""
    if not live[nodes.shape[0] + e]:
        return NONE
    table, times = nodes[columns[e, WHERE], TABLE], columns[e, TIMES]
    states, inner = columns[e, STATES], columns[e, INNER]
    i = _put(steps, NONE, WEIGH, e, spare, states, NONE, NONE)
    return _put(steps, i, MULTIPLY_STATES, table, spare, times, states, inner)


@kernel
def _collect(steps, k, nodes, live):
    """Send a node's message, scaled to sum one, to its parent."""
    p, table, message, total = nodes[k, PARENT], nodes[k, TABLE], nodes[k, MESSAGE], nodes[k, TOTAL]
    rows = total - message
    i = NONE
    if live[k]:
        i = _put(steps, i, CLEAR, message, total, NONE, NONE, NONE)
        inner = (nodes[k, TABLE_END] - table) // rows
        i = _put(steps, i, ADD_STATES, table, message, ONCE, rows, inner)
        i = _put(steps, i, SCALE, message, total, total, NONE, NONE)
    elif p < 0 or nodes[k, READS] > 0 or live[p]:
        i = _put(steps, i, CALM, message, total + 4, NONE, NONE, NONE)
    if p >= 0 and live[p]:
        i = _put(steps, i, MULTIPLY, nodes[p, TABLE], message, k, NONE, NONE)
        if nodes[k, RESCALES] > 0:
            i = _put(steps, i, SCALE, nodes[p, TABLE], nodes[p, TABLE_END], total + 2, NONE, NONE)
    return i


@kernel
def _distribute(steps, k, nodes, live, spare, scratch):
    """Turn a node's message, and its table if it is read from, into beliefs."""
    p, reads, table, end = nodes[k, PARENT], nodes[k, READS], nodes[k, TABLE], nodes[k, TABLE_END]
    i = NONE
    if reads == WHOLE_TABLE and not live[k]:
        i = _put(steps, i, CALM, table, end, NONE, NONE, NONE)
    if p < 0 or reads == 0:
        return i
    rows = nodes[k, TOTAL] - nodes[k, MESSAGE]
    i = _put(steps, i, CLEAR, spare, spare + rows, NONE, NONE, NONE)
    i = _put(steps, i, ADD, nodes[p, TABLE], spare, k, NONE, NONE)
    i = _put(steps, i, SCALE, spare, spare + rows, scratch, NONE, NONE)
    i = _put(steps, i, DIVIDE, spare, nodes[k, MESSAGE], rows, NONE, NONE)
    if reads == WHOLE_TABLE:
        i = _put(steps, i, MULTIPLY_STATES, table, spare, ONCE, rows, (end - table) // rows)
    return i


@kernel
def _write(steps, w, wanted, spare, scratch):
    """Sum a variable's belief out of its home into columns of the result."""
    home, times = wanted[w, WHERE], wanted[w, TIMES]
    states, inner = wanted[w, STATES], wanted[w, INNER]
    i = _put(steps, NONE, CLEAR, spare, spare + states, NONE, NONE, NONE)
    i = _put(steps, i, ADD_STATES, home, spare, times, states, inner)
    i = _put(steps, i, SCALE, spare, spare + states, scratch, NONE, NONE)
    return _put(steps, i, WRITE, spare, wanted[w, PLACE], states, NONE, NONE)


@kernel
def _task(task, steps, nodes, columns, wanted, live, spare, scratch):
    """Write the steps of a task: fill the tables, enter, collect, distribute, write results."""
    n, n_columns = nodes.shape[0], columns.shape[0]
    if task < n:
        if not live[task]:
            return NONE
        return _put(
            steps, NONE, START, nodes[task, TABLE], nodes[task, TABLE_END], NONE, NONE, NONE
        )
    if task < n + n_columns:
        return _enter(steps, task - n, columns, nodes, live, spare)
    task -= n + n_columns
    if task < n:
        return _collect(steps, task, nodes, live)
    if task < 2 * n:
        return _distribute(steps, 2 * n - 1 - task, nodes, live, spare, scratch)
    return _write(steps, task - 2 * n, wanted, spare, scratch)


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
    steps,
    counters,
    bound,
    out,
    log_z,
    lost,
    upward,
):
    """Run rows of state indices (-1: not observed), as many at a time as there are lanes.

    ``base`` holds the tables at the start, ``calm`` all cells without evidence; the loops of node k
    in its parent's table are those from groups[k] on; ``spare`` and ``scratch`` are free cells.
    ``live``, ``steps``, ``counters`` and ``bound`` are room for flags, for the steps of a task, for
    loops and for one number per node.
    With ``upward`` all nodes send their messages to the roots, and no more is done.
    """
    n_tasks = 2 * nodes.shape[0] + columns.shape[0]
    if not upward:
        n_tasks += nodes.shape[0] + wanted.shape[0]
    for first in range(0, codes.shape[0], room.shape[1]):
        last = min(first + room.shape[1], codes.shape[0])
        _mark(codes, first, last, columns, nodes, live, upward)
        for task in range(n_tasks):
            for i in range(_task(task, steps, nodes, columns, wanted, live, spare, scratch)):
                kind, a, b, c = steps[i, 0], steps[i, 1], steps[i, 2], steps[i, 3]
                if kind <= ADD:
                    start, stop = groups[c], groups[c + 1]
                    _combine(room, kind == ADD, a, b, lengths, strides, start, stop, counters)
                elif kind <= ADD_STATES:
                    _combine_states(room, kind == ADD_STATES, a, b, c, steps[i, 4], steps[i, 5])
                elif kind == SCALE:
                    _scale(room, a, b, c)
                elif kind <= CALM:
                    _spread(room, kind, base, calm, a, b)
                elif kind == DIVIDE:
                    _divide(room, a, b, c)
                elif kind == WEIGH:
                    _weigh(room, codes, first, last, a, b, c)
                else:
                    for row in range(first, last):
                        for x in range(c):
                            out[row, b + x] = room[a + x, row - first]
        for row in range(first, last):
            log_z[row], lost[row] = _judge(room, calm, least_base, nodes, live, bound, row - first)
