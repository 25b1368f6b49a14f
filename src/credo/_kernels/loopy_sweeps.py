"""Sweeps over a net: all messages at once from the old ones, or one after the other in place."""

from __future__ import annotations

import math

import numpy as np

from credo._kernels.loopy_messages import listen, plus
from credo._kernels.loopy_rules import speak
from credo._kernels.tiers import kernel


@kernel
def blend(messages, begin, k, outs, at, eta, in_logs):
    """Mix a computed message with the one before; give the change, before mixing, of probabilities.

    The mixture takes the place of what was computed.
    """
    new_sum, old_sum = 0.0, 0.0
    for x in range(k):
        new_sum += math.exp(outs[at + x])
        old_sum += math.exp(messages[begin + x])
    change, top = 0.0, -math.inf
    for x in range(k):
        new, old = outs[at + x], messages[begin + x]
        p, q = math.exp(new) / new_sum, math.exp(old) / old_sum
        change = max(change, abs(p - q))
        if eta < 1.0 and new > -math.inf:
            mixed = eta * p + (1.0 - eta) * q
            if not in_logs and mixed > 1e-300:
                outs[at + x] = math.log(mixed)
            elif not in_logs:  # a number too small to be one
                one, two = new - math.log(new_sum), old - math.log(old_sum)
                outs[at + x] = plus(math.log(eta) + one, math.log1p(-eta) + two, maximum=False)
            elif old > -math.inf:
                outs[at + x] = eta * new + (1.0 - eta) * old
        top = max(top, outs[at + x])
    for x in range(k):
        outs[at + x] -= top
    return change


@kernel
def put(wires, state, s, outs, at):
    """Put a message in its place, and into the sum of its variable."""
    messages, total, holes = state
    begin = wires.message_start[s]
    place = wires.state_start[wires.scope[s]]
    power = wires.counting[wires.factor_of[s]]
    for x in range(wires.message_start[s + 1] - begin):
        old, new = messages[begin + x], outs[at + x]
        if old == -math.inf:
            holes[place + x] -= 1
            old = 0.0
        messages[begin + x] = new
        if new == -math.inf:
            holes[place + x] += 1
            new = 0.0
        total[place + x] += power * (new - old)


@kernel
def flood(wires, state, room, fresh, part, eta, in_logs, maximum):
    """Compute the messages of the factors of a part from the old ones; write them to ``fresh``.

    Gives the largest change, or infinity where a contradiction was met.
    """
    largest = 0.0
    for f in range(part[0], part[1]):
        first, stop = wires.scope_start[f], wires.scope_start[f + 1]
        if stop - first < 2:
            continue
        if listen(wires, state, room, f) or speak(wires, room, f, -1, maximum):
            return math.inf
        base = wires.message_start[first]
        for s in range(first, stop):
            begin = wires.message_start[s]
            k = wires.message_start[s + 1] - begin
            change = blend(state.messages, begin, k, room.outs, begin - base, eta, in_logs)
            largest = max(largest, change)
            for x in range(k):
                fresh[begin + x] = room.outs[begin - base + x]
    return largest


@kernel
def visit(wires, state, room, order, eta, in_logs, maximum):
    """Update the messages of factors in place, factor after factor.

    Gives the largest change, or infinity where a contradiction was met.
    """
    largest = 0.0
    for i in range(order.size):
        f = order[i]
        first = wires.scope_start[f]
        if listen(wires, state, room, f) or speak(wires, room, f, -1, maximum):
            return math.inf
        base = wires.message_start[first]
        for s in range(first, wires.scope_start[f + 1]):
            begin = wires.message_start[s]
            k = wires.message_start[s + 1] - begin
            change = blend(state.messages, begin, k, room.outs, begin - base, eta, in_logs)
            largest = max(largest, change)
            put(wires, state, s, room.outs, begin - base)
    return largest


@kernel
def walk(wires, state, room, order, eta, in_logs, maximum):
    """Update messages in place, message after message.

    Messages of one factor that come one after the other are computed together: none is an input of
    another, if the counting number is one. Gives the largest change, or infinity where a
    contradiction was met.
    """
    largest, held = 0.0, np.int64(-1)
    for i in range(order.size):
        s = order[i]
        f = wires.factor_of[s]
        if f != held:
            is_next = i + 1 < order.size and wires.factor_of[order[i + 1]] == f
            held = f if is_next and wires.counting[f] == 1.0 else np.int64(-1)
            only = s if held < 0 else np.int64(-1)
            if listen(wires, state, room, f) or speak(wires, room, f, only, maximum):
                return math.inf
        begin = wires.message_start[s]
        at = begin - wires.message_start[wires.scope_start[f]]
        k = wires.message_start[s + 1] - begin
        largest = max(largest, blend(state.messages, begin, k, room.outs, at, eta, in_logs))
        put(wires, state, s, room.outs, at)
    return largest
