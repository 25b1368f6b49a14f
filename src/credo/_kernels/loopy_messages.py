"""Messages of one factor of a net, in logs, with exact zeros and any power of the factor."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from credo._kernels.tiers import kernel

#: Products of numbers above exp(-640) in all are above 1e-278: float64 loses none of them.
SAFE = 640.0


class Wires(NamedTuple):
    """The fixed part of a net, as read-only arrays."""

    scope_start: Any
    scope: Any
    kind: Any
    cell_start: Any
    values: Any  #: cells to the power one over the counting number, largest one; numbers of rules
    logs: Any  #: their logs
    span: Any  #: of each factor: minus the log of the least positive cell
    message_start: Any
    state_start: Any
    incident_start: Any
    incident: Any
    factor_of: Any
    counting: Any  #: counting number of each factor, one for belief propagation


class State(NamedTuple):
    """What changes: messages as logs, largest zero, and for each state of each variable a sum."""

    messages: Any
    total: Any  #: sum of counting number times message, where that is not -inf
    holes: Any  #: how many messages are -inf


class Room(NamedTuple):
    """Scratch space for one factor."""

    inbox: Any  #: logs of what the variables say, largest zero
    weight: Any  #: the same as numbers
    reach: Any  #: minus the least of the logs, for each slot of the factor
    outs: Any  #: the new messages, logs, largest zero
    cells: Any
    chain: Any  #: two numbers before and two after each variable of a rule


@kernel
def add_up(wires, state):
    """Sum the messages to each variable anew, so that rounding errors do not pile up."""
    messages, total, holes = state
    for i in range(total.size):
        total[i] = 0.0
        holes[i] = 0
    for v in range(wires.incident_start.size - 1):
        at = wires.state_start[v]
        k = wires.state_start[v + 1] - at
        for i in range(wires.incident_start[v], wires.incident_start[v + 1]):
            s = wires.incident[i]
            power = wires.counting[wires.factor_of[s]]
            begin = wires.message_start[s]
            for x in range(k):
                if messages[begin + x] == -math.inf:
                    holes[at + x] += 1
                else:
                    total[at + x] += power * messages[begin + x]


@kernel
def listen(wires, state, room, f):
    """Collect what the variables of a factor say to it; tell whether a contradiction was met."""
    messages, total, holes = state
    first = wires.scope_start[f]
    base = wires.message_start[first]
    contradiction = False
    for s in range(first, wires.scope_start[f + 1]):
        begin = wires.message_start[s]
        at = wires.state_start[wires.scope[s]]
        k = wires.message_start[s + 1] - begin
        top = -math.inf
        for x in range(k):
            own = messages[begin + x]
            if own == -math.inf:
                said = total[at + x] if holes[at + x] == 1 else -math.inf
            else:
                said = total[at + x] - own if holes[at + x] == 0 else -math.inf
            room.inbox[begin - base + x] = said
            top = max(top, said)
        contradiction |= top == -math.inf
        least = 0.0
        for x in range(begin - base, begin - base + k):
            if room.inbox[x] > -math.inf:
                room.inbox[x] -= top
                least = min(least, room.inbox[x])
            room.weight[x] = math.exp(room.inbox[x])
        room.reach[s - first] = -least
    return contradiction


@kernel
def fold(wires, room, f, slot, maximum):
    """Sum a table, times what the other variables say, over all of these, as numbers."""
    first, stop = wires.scope_start[f], wires.scope_start[f + 1]
    base = wires.message_start[first]
    cells, weight = room.cells, room.weight
    begin = wires.cell_start[f]
    n = wires.cell_start[f + 1] - begin
    for c in range(n):
        cells[c] = wires.values[begin + c]
    for s in range(stop - 1, slot, -1):
        at = wires.message_start[s] - base
        k = wires.message_start[s + 1] - wires.message_start[s]
        n //= k
        for a in range(n):
            sum_ = 0.0
            for x in range(k):
                term = cells[a * k + x] * weight[at + x]
                sum_ = max(sum_, term) if maximum else sum_ + term
            cells[a] = sum_
    for s in range(first, slot):
        at = wires.message_start[s] - base
        k = wires.message_start[s + 1] - wires.message_start[s]
        n //= k
        for b in range(n):
            cells[b] *= weight[at]
        for x in range(1, k):
            w = weight[at + x]
            for b in range(n):
                term = w * cells[x * n + b]
                cells[b] = max(cells[b], term) if maximum else cells[b] + term
    at = wires.message_start[slot] - base
    for x in range(n):
        room.outs[at + x] = math.log(cells[x]) if cells[x] > 0.0 else -math.inf


@kernel
def plus(a, b, maximum):
    """Add two numbers given as logs, or give the larger one."""
    if maximum or b == -math.inf or a == -math.inf:
        return max(a, b)
    return max(a, b) + math.log1p(math.exp(-abs(a - b)))


@kernel
def fold_logs(wires, room, f, slot, maximum):
    """Do the same in logs, where numbers might underflow."""
    first, stop = wires.scope_start[f], wires.scope_start[f + 1]
    base = wires.message_start[first]
    cells, inbox = room.cells, room.inbox
    begin = wires.cell_start[f]
    n = wires.cell_start[f + 1] - begin
    for c in range(n):
        cells[c] = wires.logs[begin + c]
    for s in range(stop - 1, slot, -1):
        at = wires.message_start[s] - base
        k = wires.message_start[s + 1] - wires.message_start[s]
        n //= k
        for a in range(n):
            sum_ = -math.inf
            for x in range(k):
                sum_ = plus(sum_, cells[a * k + x] + inbox[at + x], maximum)
            cells[a] = sum_
    for s in range(first, slot):
        at = wires.message_start[s] - base
        k = wires.message_start[s + 1] - wires.message_start[s]
        n //= k
        for b in range(n):
            sum_ = cells[b] + inbox[at]
            for x in range(1, k):
                sum_ = plus(sum_, cells[x * n + b] + inbox[at + x], maximum)
            cells[b] = sum_
    at = wires.message_start[slot] - base
    for x in range(n):
        room.outs[at + x] = cells[x]


@kernel
def table_messages(wires, room, f, only, maximum):
    """Compute the messages of a table, all of them or one, as logs."""
    first, stop = wires.scope_start[f], wires.scope_start[f + 1]
    reach = wires.span[f]
    for s in range(first, stop):
        reach += room.reach[s - first]
    for s in range(first, stop):
        if only in (-1, s):
            if reach - room.reach[s - first] < SAFE:
                fold(wires, room, f, s, maximum)
            else:
                fold_logs(wires, room, f, s, maximum)
