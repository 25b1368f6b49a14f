"""Sum-product on a junction tree for many rows of evidence at once, one row per lane.

One array ``room`` holds all numbers: the cells of tables, messages and so on, each as a run of
lanes. A program, made once per tree, says what to do with which cells. Every inner loop is over
lanes, which do not depend on each other: the answer of a row is the same, to the last bit, whoever
its neighbours are.

Nodes without evidence at or below them are calm: what they send is known from one run without
evidence and is not computed again.

Nothing is lost silently. Of each message the smallest positive number is kept; the product of
these bounds every positive cell from below. A row whose bound comes near the smallest float is
marked as lost; in all others a zero is a true zero.
"""

from __future__ import annotations

import numpy as np

from credo._kernels._jit import kernel
from credo._kernels.clique_tables import TINY

#: Messages a table is multiplied by before it is scaled again: eight of 1e-36 are above TINY.
RESCALE_AFTER = 8
#: What a step does, with the cells a and b.
MULTIPLY = 0  #: the table at a by the message at b, broadcast
ADD = 1  #: up the table at a into the message at b
SCALE = 2  #: the cells from a to b to sum one
START = 3  #: all lanes of the cells from a to b as they are at the start
CALM = 4  #: all lanes of the cells from a to b as they are without evidence
DIVIDE = 5  #: the belief at a by the message at b, which becomes the belief
WEIGH = 6  #: the states that row's findings exclude, of column a, at b
WRITE = 7  #: the belief at a to the result's columns from b
#: Fields of a step; it is taken if both guards are set.
KIND, GUARD, SECOND_GUARD, A, B, EXTRA, LOOP, LOOP_END = range(8)
#: Fields of a node. TOTAL is the cell with the sum of its message before it was scaled to one; then
#: comes its least positive number; then both of the parent's table, if the node RESCALES it.
PARENT, TOTAL, RESCALES = range(3)


@kernel
def _combine(room, adds, t, m, loops, start, stop, counters):
    """Multiply the cells t, … by the cells m, … that they belong to, or add them up there."""
    n1 = loops[0, stop - 1]
    step = loops[1, stop - 1]
    outer = 1
    for k in range(start, stop - 1):
        outer *= loops[0, k]
        counters[k - start] = 0
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
        k = stop - 2
        while k >= start:
            counters[k - start] += 1
            m += loops[1, k]
            if counters[k - start] < loops[0, k]:
                break
            m -= loops[1, k] * loops[0, k]
            counters[k - start] = 0
            k -= 1


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
def _spread(room, still, which, start, stop):
    """Set all lanes of the cells from start to stop to what they are while nothing happens."""
    for i in range(start, stop):
        x = still[which, i]
        for lane in range(room.shape[1]):
            room[i, lane] = x


@kernel
def _mark(codes, first, last, columns, nodes, live):
    """Mark what the rows change: nodes, calm nodes and columns, in this order; the last is true."""
    n = nodes.shape[0]
    for k in range(n):
        live[k] = False
    for e in range(columns.size):
        found = False
        for row in range(first, last):
            found = found or codes[row, e] >= 0
        live[2 * n + e] = found
        live[columns[e]] = live[columns[e]] or found
    for k in range(n):
        live[n + k] = not live[k]
        if live[k] and nodes[k, PARENT] >= 0:
            live[nodes[k, PARENT]] = True


@kernel
def _judge(room, still, least_base, nodes, live, bound, lane):
    """Give the log of a row's sum, and whether terms of it may have been lost."""
    log_z = 0.0
    lost = False
    for k in range(bound.size):
        bound[k] = least_base[k]
    for k in range(bound.size):
        p, where = nodes[k, PARENT], nodes[k, TOTAL]
        total = room[where, lane] if live[k] else still[1, where]
        least = room[where + 1, lane] if live[k] else still[1, where + 1]
        log_z += np.log(total) if total > 0.0 else -np.inf
        lost = lost or bound[k] < TINY
        if p >= 0 and total > 0.0:
            bound[p] *= least / total
            if nodes[k, RESCALES]:
                lost = lost or bound[p] < TINY
                again = room[where + 2, lane] if live[p] else still[1, where + 2]
                smallest = room[where + 3, lane] if live[p] else still[1, where + 3]
                bound[p] = smallest / again if again > 0.0 else 1.0
                log_z += np.log(again) if again > 0.0 else -np.inf
    return log_z, lost


@kernel
def run_lanes(
    room,
    still,
    least_base,
    nodes,
    program,
    loops,
    columns,
    codes,
    live,
    counters,
    bound,
    out,
    log_z,
    lost,
):
    """Run rows of state indices (-1: not observed), as many at a time as there are lanes.

    ``still`` holds all cells at the start, and then without evidence. ``live``, ``counters`` and
    ``bound`` are room for flags, for loops and for one number per node.
    """
    for first in range(0, codes.shape[0], room.shape[1]):
        last = min(first + room.shape[1], codes.shape[0])
        _mark(codes, first, last, columns, nodes, live)
        for i in range(program.shape[0]):
            if not (live[program[i, GUARD]] and live[program[i, SECOND_GUARD]]):
                continue
            kind, a, b, extra = program[i, KIND], program[i, A], program[i, B], program[i, EXTRA]
            if kind <= ADD:
                loop, end = program[i, LOOP], program[i, LOOP_END]
                _combine(room, kind == ADD, a, b, loops, loop, end, counters)
            elif kind == SCALE:
                _scale(room, a, b, extra)
            elif kind <= CALM:
                _spread(room, still, kind - START, a, b)
            elif kind == DIVIDE:
                _divide(room, a, b, extra)
            elif kind == WEIGH:
                for row in range(first, last):
                    for x in range(extra):
                        if codes[row, a] >= 0 and codes[row, a] != x:
                            room[b + x, row - first] = 0.0
            else:
                for row in range(first, last):
                    for x in range(extra):
                        out[row, b + x] = room[a + x, row - first]
        for row in range(first, last):
            log_z[row], lost[row] = _judge(room, still, least_base, nodes, live, bound, row - first)
