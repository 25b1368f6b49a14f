"""Messages of rules: chains of two inner states, passed in linear time.

A rule reads its variables one after the other and is in one of two inner states. A variable in its
first state leaves the inner state as it is; one in its second state leads from 0 to 0 with weight
``stay``, from 0 to 1 with ``rise``, from 1 to 1 with ``hold`` and from 1 to 0 with ``drop``.
"""

from __future__ import annotations

import math

from credo._kernels.loopy_messages import SAFE, plus, table_messages
from credo._kernels.tiers import kernel

TABLE, EVEN, ODD, AT_MOST_ONE, NOISY_OR, NOISY_AND = range(6)


@kernel
def link(kind, p):
    """Give stay, rise, hold and drop; p is the probability of a noisy parent."""
    if kind in (EVEN, ODD):
        return 0.0, 1.0, 0.0, 1.0
    if kind == AT_MOST_ONE:
        return 0.0, 1.0, 0.0, 0.0
    return 1.0 - p, p, 1.0, 0.0


@kernel
def chain_numbers(wires, room, f, maximum):
    """Compute all messages of a rule with numbers: no term is lost."""
    first, stop, kind = wires.scope_start[f], wires.scope_start[f + 1], wires.kind[f]
    gate, flip = kind >= NOISY_OR, 1 if kind == NOISY_AND else 0
    n = stop - first - 1 if gate else stop - first
    begin, weight, chain, outs = wires.cell_start[f], room.weight, room.chain, room.outs
    leak = wires.values[begin + n] if gate else 0.0
    a, b = 1.0 - leak, leak
    for j in range(n):
        chain[4 * j], chain[4 * j + 1] = a, b
        stay, rise, hold, drop = link(kind, wires.values[begin + j] if gate else 0.0)
        p0, p1 = weight[2 * j + flip], weight[2 * j + 1 - flip]
        if maximum:
            low, high = max(a * stay, b * drop), max(a * rise, b * hold)
            a, b = max(a * p0, p1 * low), max(b * p0, p1 * high)
        else:
            a, b = a * p0 + p1 * (a * stay + b * drop), b * p0 + p1 * (a * rise + b * hold)
    outs[2 * n - 2 + 2 * gate + flip], outs[2 * n - 1 + 2 * gate - flip] = a, b
    a = weight[2 * n + flip] if gate else (0.0 if kind == ODD else 1.0)
    b = weight[2 * n + 1 - flip] if gate else (0.0 if kind == EVEN else 1.0)
    for j in range(n - 1, -1, -1):
        stay, rise, hold, drop = link(kind, wires.values[begin + j] if gate else 0.0)
        p0, p1 = weight[2 * j + flip], weight[2 * j + 1 - flip]
        before, after = chain[4 * j], chain[4 * j + 1]
        if maximum:
            up, on = max(stay * a, rise * b), max(drop * a, hold * b)
            outs[2 * j + flip] = max(before * a, after * b)
            outs[2 * j + 1 - flip] = max(before * up, after * on)
            a, b = max(p0 * a, p1 * up), max(p0 * b, p1 * on)
        else:
            up, on = stay * a + rise * b, drop * a + hold * b
            outs[2 * j + flip] = before * a + after * b
            outs[2 * j + 1 - flip] = before * up + after * on
            a, b = p0 * a + p1 * up, p0 * b + p1 * on
    for i in range(2 * (stop - first)):
        outs[i] = math.log(outs[i]) if outs[i] > 0.0 else -math.inf


@kernel
def log_of(number):
    """Give a logarithm, -inf for zero."""
    return math.log(number) if number > 0.0 else -math.inf


@kernel
def chain_logs(wires, room, f, maximum):
    """Compute all messages of a rule with logs, where numbers might underflow."""
    first, stop, kind = wires.scope_start[f], wires.scope_start[f + 1], wires.kind[f]
    gate, flip = kind >= NOISY_OR, 1 if kind == NOISY_AND else 0
    n = stop - first - 1 if gate else stop - first
    begin, inbox, chain, outs = wires.cell_start[f], room.inbox, room.chain, room.outs
    leak = wires.values[begin + n] if gate else 0.0
    a, b = log_of(1.0 - leak), log_of(leak)
    for j in range(n):
        chain[4 * j], chain[4 * j + 1] = a, b
        stay, rise, hold, drop = link(kind, wires.values[begin + j] if gate else 0.0)
        p0, p1 = inbox[2 * j + flip], inbox[2 * j + 1 - flip]
        low = plus(a + log_of(stay), b + log_of(drop), maximum)
        high = plus(a + log_of(rise), b + log_of(hold), maximum)
        a, b = plus(a + p0, p1 + low, maximum), plus(b + p0, p1 + high, maximum)
    outs[2 * n - 2 + 2 * gate + flip], outs[2 * n - 1 + 2 * gate - flip] = a, b
    a = inbox[2 * n + flip] if gate else (-math.inf if kind == ODD else 0.0)
    b = inbox[2 * n + 1 - flip] if gate else (-math.inf if kind == EVEN else 0.0)
    for j in range(n - 1, -1, -1):
        stay, rise, hold, drop = link(kind, wires.values[begin + j] if gate else 0.0)
        p0, p1 = inbox[2 * j + flip], inbox[2 * j + 1 - flip]
        before, after = chain[4 * j], chain[4 * j + 1]
        up = plus(log_of(stay) + a, log_of(rise) + b, maximum)
        on = plus(log_of(drop) + a, log_of(hold) + b, maximum)
        outs[2 * j + flip] = plus(before + a, after + b, maximum)
        outs[2 * j + 1 - flip] = plus(before + up, after + on, maximum)
        a, b = plus(p0 + a, p1 + up, maximum), plus(p0 + b, p1 + on, maximum)


@kernel
def utter(wires, room, f, only, maximum):
    """Compute the messages of a factor, all of them or one, as logs."""
    first, stop = wires.scope_start[f], wires.scope_start[f + 1]
    if wires.kind[f] == TABLE:
        table_messages(wires, room, f, only, maximum)
        return
    reach = wires.span[f] + math.log(2.0) * (stop - first)  # each variable may double a sum
    for s in range(first, stop):
        reach += room.reach[s - first]
    if reach < SAFE:
        chain_numbers(wires, room, f, maximum)
    else:
        chain_logs(wires, room, f, maximum)


@kernel
def speak(wires, room, f, only, maximum):
    """Compute messages of which the largest entry is zero; tell whether there is none."""
    first, stop = wires.scope_start[f], wires.scope_start[f + 1]
    base = wires.message_start[first]
    utter(wires, room, f, only, maximum)
    contradiction = False
    for s in range(first, stop):
        if only in (-1, s):
            top = -math.inf
            for i in range(wires.message_start[s] - base, wires.message_start[s + 1] - base):
                top = max(top, room.outs[i])
            contradiction |= top == -math.inf
            for i in range(wires.message_start[s] - base, wires.message_start[s + 1] - base):
                room.outs[i] -= top if top > -math.inf else 0.0
    return contradiction
