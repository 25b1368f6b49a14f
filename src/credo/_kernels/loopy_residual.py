"""Residual schedule: the message that may change most is next, from a priority queue.

The priority of a message is a bound on how far its logs would move if it were computed now: a
message moves at most by the factor's contraction number times what its inputs have moved, each
measured by its range over states (Birkhoff's theorem for positive matrices). For maxima the number
is one.
"""

from __future__ import annotations

import math

import numpy as np

from credo._kernels.loopy_messages import listen
from credo._kernels.loopy_rules import speak
from credo._kernels.loopy_sweeps import blend, put
from credo._kernels.tiers import kernel


@kernel
def sift_up(heap, place, priority, i):
    """Move an entry towards the top of the queue until it is in order."""
    s = heap[i]
    while i > 0:
        above = (i - 1) // 2
        if priority[heap[above]] >= priority[s]:
            break
        heap[i] = heap[above]
        place[heap[i]] = i
        i = above
    heap[i] = s
    place[s] = i


@kernel
def sift_down(heap, place, priority, i):
    """Move an entry away from the top of the queue until it is in order."""
    s = heap[i]
    while True:
        below = 2 * i + 1
        if below >= heap.size:
            break
        if below + 1 < heap.size and priority[heap[below + 1]] > priority[heap[below]]:
            below += 1
        if priority[heap[below]] <= priority[s]:
            break
        heap[i] = heap[below]
        place[heap[i]] = i
        i = below
    heap[i] = s
    place[s] = i


@kernel
def contraction(wires, f, slot):
    """Bound how far the logs of a message move, per unit that any of its inputs moves.

    The tangent of a quarter of the projective diameter: over all pairs of states of the variable,
    the largest range, over all else, of the log ratio of the factor.
    """
    k = wires.message_start[slot + 1] - wires.message_start[slot]
    inner = 1
    for s in range(slot + 1, wires.scope_start[f + 1]):
        inner *= wires.message_start[s + 1] - wires.message_start[s]
    begin = wires.cell_start[f]
    outer = (wires.cell_start[f + 1] - begin) // (k * inner)
    diameter = 0.0
    for x in range(k):
        for y in range(x):
            low, high = math.inf, -math.inf
            for a in range(outer):
                for b in range(inner):
                    p = wires.logs[begin + (a * k + x) * inner + b]
                    q = wires.logs[begin + (a * k + y) * inner + b]
                    if p == -math.inf or q == -math.inf:
                        return 1.0
                    low, high = min(low, p - q), max(high, p - q)
            diameter = max(diameter, high - low)
    return math.tanh(diameter / 4.0)


@kernel
def contractions(wires, moving, result):
    """Bound this for each of some messages; one where a factor has zeros, or is a rule."""
    for i in range(moving.size):
        s = moving[i]
        f = wires.factor_of[s]
        result[s] = contraction(wires, f, s) if wires.kind[f] == 0 else 1.0


@kernel
def distance(messages, begin, k, outs, at):
    """Give the range over states of the change of logs; infinity if a zero came or went."""
    low, high = math.inf, -math.inf
    for x in range(k):
        new, old = outs[at + x], messages[begin + x]
        if new == -math.inf or old == -math.inf:
            if new != old:
                return math.inf
        else:
            low, high = min(low, new - old), max(high, new - old)
    return high - low


@kernel
def alarm(wires, queue, s, moved):
    """Raise the priorities of the messages that a message feeds; a rule has one for all of its own.

    The one of a rule stands at its first slot.
    """
    heap, place, priority, shrink = queue
    v, f = wires.scope[s], wires.factor_of[s]
    power = wires.counting[f]
    if moved == 0.0:
        return
    for i in range(wires.incident_start[v], wires.incident_start[v + 1]):
        g = wires.factor_of[wires.incident[i]]
        first, stop = wires.scope_start[g], wires.scope_start[g + 1]
        share = abs(power - 1.0) if g == f else power
        if share == 0.0 or stop - first < 2:
            continue
        is_rule = wires.kind[g] != 0
        for t in range(first, first + 1 if is_rule else stop):
            if is_rule or (wires.scope[t] != v and shrink[t] > 0.0):
                priority[t] += shrink[t] * share * moved
                sift_up(heap, place, priority, place[t])


@kernel(visits=2)
def chase(wires, state, room, queue, updates, floor, eta, in_logs, maximum):
    """Update up to so many messages, always one of the largest priority, until that is small.

    The messages of a rule are computed together. Gives how many were updated, minus one where a
    contradiction was met, and the largest change of a probability.
    """
    heap, place, priority, _ = queue
    done, largest = np.int64(0), 0.0
    while done < updates:
        s = heap[0]
        if priority[s] <= floor:
            break
        f = wires.factor_of[s]
        is_rule = wires.kind[f] != 0
        first, stop = s, wires.scope_start[f + 1] if is_rule else s + 1
        if listen(wires, state, room, f) or speak(wires, room, f, -1 if is_rule else s, maximum):
            return np.int64(-1), largest
        left = 0.0  # mixing numbers, not logs, may leave nearly all of the way to go
        for t in range(first, stop):
            begin = wires.message_start[t]
            k = wires.message_start[t + 1] - begin
            at = begin - wires.message_start[wires.scope_start[f]]
            moved = distance(state.messages, begin, k, room.outs, at)
            change = blend(state.messages, begin, k, room.outs, at, eta, in_logs)
            put(wires, state, t, room.outs, at)
            largest = max(largest, change)
            left = max(left, (1.0 - eta) * moved if in_logs or eta == 1.0 else moved)
            alarm(wires, queue, t, moved)
            done += 1
        priority[s] = left if eta < 1.0 else 0.0
        sift_down(heap, place, priority, place[s])
    return done, largest
