"""Messages between the factors and variables of a net, in logs, with exact zeros.

A *slot* is the place of a variable in the scope of a factor. The message of slot s, from the factor
to the variable, lies at ``message_start[s]:message_start[s + 1]``; its largest entry is zero. For
each state of each variable ``total`` is the sum of all messages but those that are -inf, and
``holes`` counts these, so that any one message can be taken out of the sum again.

Factors are tables, or rules: chains of two inner states, whose messages take linear time.
"""

from __future__ import annotations

import heapq
import math
from typing import Any, NamedTuple

import numpy as np

from credo._kernels.tiers import kernel

#: Products of numbers above exp(-640) in all are above 1e-278: float64 loses none of them.
SAFE = 640.0
#: Kinds of factors.
TABLE, EVEN, ODD, AT_MOST_ONE, NOISY_OR, NOISY_AND = range(6)


class Wires(NamedTuple):
    """Factors of two variables or more, and what is known of single variables."""

    state_start: Any
    unary: Any  #: logs, for each state: tables of one variable, and evidence
    scope_start: Any
    scope: Any
    factor_of: Any  #: of each slot
    message_start: Any
    incident_start: Any
    incident: Any  #: the slots of each variable
    kind: Any
    cell_start: Any  #: where the cells of a table start, or the numbers of a rule
    values: Any  #: cells, the largest of each table being one; probabilities and leak of a gate
    logs: Any  #: of the cells
    span: Any  #: of each table: minus the log of the least positive cell
    power: Any  #: counting number of each factor, one for belief propagation


class State(NamedTuple):
    """What changes."""

    messages: Any
    total: Any
    holes: Any


class Scratch(NamedTuple):
    """Scratch space for one factor."""

    inbox: Any  #: logs of what the variables say, largest zero
    weight: Any  #: the same as numbers
    reach: Any  #: of each slot: minus the least of the logs
    heard: Any  #: of each slot: the largest log, before it was taken off
    outs: Any  #: the new messages, logs, largest zero
    said: Any  #: of each slot: the largest log of the new message, before it was taken off
    cells: Any
    chain: Any  #: two logs before each variable of a rule


@kernel
def split_tables(scope_start, scope, cell_start, logs, power, state_start, unary, span):
    """Add tables of one variable to the potentials, and bring the largest log of others to zero.

    These move up to the front of ``logs``, to a power of one over ``power``. ``span`` gets how far
    the least log of each, but for -inf, lies below. Returns the log of all that was taken off.
    """
    taken = 0.0
    g, at = 0, 0
    for f in range(scope_start.size - 1):
        begin, end, first = cell_start[f], cell_start[f + 1], scope_start[f]
        arity = scope_start[f + 1] - first
        if arity == 0:
            taken += logs[begin]
        elif arity == 1:
            place = state_start[scope[first]] - begin
            for c in range(begin, end):
                unary[place + c] += logs[c]
        else:
            top, least, share = -math.inf, math.inf, power[g]
            for c in range(begin, end):
                top = max(top, logs[c])
                least = min(least, logs[c] if logs[c] > -math.inf else math.inf)
            shift = top if top > -math.inf else 0.0
            for c in range(begin, end):
                logs[at + c - begin] = (logs[c] - shift) / share
            span[g] = (top - least) / share if top > -math.inf else 0.0
            taken += shift
            g, at = g + 1, at + end - begin
    return taken


@kernel
def sort_slots(scope, incident_start):
    """List the slots of each variable, one variable after the other."""
    place = incident_start[:-1].copy()
    slots = np.empty(scope.size, np.int64)
    for s in range(scope.size):
        slots[place[scope[s]]] = s
        place[scope[s]] += 1
    return slots


@kernel
def add_up(wires, state):
    """Sum the messages to each variable anew, so that rounding errors do not pile up."""
    messages, total, holes = state
    for v in range(wires.incident_start.size - 1):
        at = wires.state_start[v]
        k = wires.state_start[v + 1] - at
        for x in range(at, at + k):
            holes[x] = 1 if wires.unary[x] == -math.inf else 0
            total[x] = 0.0 if holes[x] else wires.unary[x]
        for i in range(wires.incident_start[v], wires.incident_start[v + 1]):
            s = wires.incident[i]
            power, begin = wires.power[wires.factor_of[s]], wires.message_start[s]
            for x in range(k):
                if messages[begin + x] == -math.inf:
                    holes[at + x] += 1
                else:
                    total[at + x] += power * messages[begin + x]


@kernel
def gather(wires, state, room, f):
    """Collect what the variables of a factor say to it; tell whether there is no contradiction."""
    first = wires.scope_start[f]
    base = wires.message_start[first]
    for s in range(first, wires.scope_start[f + 1]):
        begin, at = wires.message_start[s], wires.state_start[wires.scope[s]]
        k = wires.message_start[s + 1] - begin
        top, least = -math.inf, 0.0
        for x in range(k):
            own = state.messages[begin + x]
            is_hole = own == -math.inf
            said = -math.inf
            if state.holes[at + x] == is_hole:
                said = state.total[at + x] - (0.0 if is_hole else own)
            room.inbox[begin - base + x] = said
            top = max(top, said)
        if top == -math.inf:
            return False
        for x in range(begin - base, begin - base + k):
            room.inbox[x] -= top
            if room.inbox[x] > -math.inf:
                least = min(least, room.inbox[x])
            room.weight[x] = math.exp(room.inbox[x])
        room.reach[s - first], room.heard[s - first] = -least, top
    return True


@kernel
def send_table(wires, room, f, slot, maximum):
    """Sum a table, times what the other variables say, over all of these, as numbers."""
    first, stop = wires.scope_start[f], wires.scope_start[f + 1]
    base, begin = wires.message_start[first], wires.cell_start[f]
    cells, weight = room.cells, room.weight
    n = wires.cell_start[f + 1] - begin
    for c in range(n):
        cells[c] = wires.values[begin + c]
    for s in range(stop - 1, slot, -1):  # the last axis first, each in place
        at = wires.message_start[s] - base
        k = wires.message_start[s + 1] - wires.message_start[s]
        n //= k
        for a in range(n):
            sum_ = 0.0
            for x in range(k):
                term = cells[a * k + x] * weight[at + x]
                sum_ = max(sum_, term) if maximum else sum_ + term
            cells[a] = sum_
    for s in range(first, slot):  # then the first axis
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
def send_table_in_logs(wires, room, f, slot, maximum):
    """Do the same in logs, cell by cell, where numbers might underflow."""
    first, stop = wires.scope_start[f], wires.scope_start[f + 1]
    base, begin = wires.message_start[first], wires.cell_start[f]
    at = wires.message_start[slot] - base
    for x in range(wires.message_start[slot + 1] - wires.message_start[slot]):
        room.outs[at + x] = -math.inf
    for c in range(wires.cell_start[f + 1] - begin):
        log, rest, own = wires.logs[begin + c], c, 0
        for s in range(stop - 1, first - 1, -1):
            k = wires.message_start[s + 1] - wires.message_start[s]
            if s == slot:
                own = rest % k
            else:
                log += room.inbox[wires.message_start[s] - base + rest % k]
            rest //= k
        room.outs[at + own] = plus(room.outs[at + own], log, maximum)


@kernel
def plus(a, b, maximum):
    """Add two numbers given as logs, or return the larger one."""
    if maximum or b == -math.inf or a == -math.inf:
        return max(a, b)
    return max(a, b) + math.log1p(math.exp(-abs(a - b)))


@kernel
def log_of(number):
    """Return a logarithm, -inf for zero."""
    return math.log(number) if number > 0.0 else -math.inf


@kernel
def link(kind, p, zero, one):
    """Return what leads, in a second state, from 0 to 0, from 0 to 1, from 1 to 1, from 1 to 0.

    A variable in its first state leaves the inner state as it is; p is the chance of a gate's
    parent. All are of the type of ``zero`` and ``one``.
    """
    if kind in (EVEN, ODD):
        return zero, one, zero, one
    if kind == AT_MOST_ONE:
        return zero, one, zero, zero
    return one - p, p, one, zero


@kernel
def send_rule(wires, room, f, maximum):
    """Compute all messages of a rule: along the chain of its inner states, and back."""
    first, stop, kind = wires.scope_start[f], wires.scope_start[f + 1], wires.kind[f]
    gate, flip = kind >= NOISY_OR, 1 if kind == NOISY_AND else 0
    n = stop - first - 1 if gate else stop - first
    begin, inbox, before, outs = wires.cell_start[f], room.inbox, room.chain, room.outs
    leak = wires.values[begin + n] if gate else 0.0
    a, b = log_of(1.0 - leak), log_of(leak)
    for j in range(n):
        before[2 * j], before[2 * j + 1] = a, b
        stay, rise, hold, drop = link(kind, wires.values[begin + j] if gate else 0.0, 0.0, 1.0)
        p0, p1 = inbox[2 * j + flip], inbox[2 * j + 1 - flip]
        low = plus(a + log_of(stay), b + log_of(drop), maximum)
        high = plus(a + log_of(rise), b + log_of(hold), maximum)
        a, b = plus(a + p0, p1 + low, maximum), plus(b + p0, p1 + high, maximum)
    if gate:
        outs[2 * n + flip], outs[2 * n + 1 - flip] = a, b
        a, b = inbox[2 * n + flip], inbox[2 * n + 1 - flip]
    else:
        a, b = -math.inf if kind == ODD else 0.0, -math.inf if kind == EVEN else 0.0
    for j in range(n - 1, -1, -1):
        stay, rise, hold, drop = link(kind, wires.values[begin + j] if gate else 0.0, 0.0, 1.0)
        p0, p1 = inbox[2 * j + flip], inbox[2 * j + 1 - flip]
        up = plus(log_of(stay) + a, log_of(rise) + b, maximum)
        on = plus(log_of(drop) + a, log_of(hold) + b, maximum)
        outs[2 * j + flip] = plus(before[2 * j] + a, before[2 * j + 1] + b, maximum)
        outs[2 * j + 1 - flip] = plus(before[2 * j] + up, before[2 * j + 1] + on, maximum)
        a, b = plus(p0 + a, p1 + up, maximum), plus(p0 + b, p1 + on, maximum)


@kernel
def send(wires, room, f, only, maximum):
    """Compute the messages of a factor, or only that of one slot; tell if none contradicts."""
    first, stop = wires.scope_start[f], wires.scope_start[f + 1]
    base, reach = wires.message_start[first], wires.span[f]
    for s in range(first, stop):
        reach += room.reach[s - first]
    if wires.kind[f] != TABLE:
        send_rule(wires, room, f, maximum)
    for s in range(first, stop):
        if only not in (-1, s):
            continue
        if wires.kind[f] == TABLE and reach - room.reach[s - first] < SAFE:
            send_table(wires, room, f, s, maximum)
        elif wires.kind[f] == TABLE:
            send_table_in_logs(wires, room, f, s, maximum)
        top = -math.inf
        for i in range(wires.message_start[s] - base, wires.message_start[s + 1] - base):
            top = max(top, room.outs[i])
        if top == -math.inf:
            return False
        for i in range(wires.message_start[s] - base, wires.message_start[s + 1] - base):
            room.outs[i] -= top
        room.said[s - first] = top
    return True


@kernel
def blend(messages, begin, k, outs, at, eta, in_logs):
    """Mix a computed message with the one before; return how far probabilities move without mixing.

    The mixture takes the place of what was computed; new zeros stay zeros.
    """
    new_sum, old_sum = 0.0, 0.0
    for x in range(k):
        new_sum += math.exp(outs[at + x])
        old_sum += math.exp(messages[begin + x])
    change, top = 0.0, -math.inf
    for x in range(k):
        new, old = outs[at + x], messages[begin + x]
        change = max(change, abs(math.exp(new) / new_sum - math.exp(old) / old_sum))
        if eta < 1.0 and new > -math.inf and not in_logs:
            one = math.log(eta) + new - math.log(new_sum)
            two = math.log1p(-eta) + old - math.log(old_sum)
            outs[at + x] = plus(one, two, maximum=False)
        elif eta < 1.0 and old > -math.inf and new > -math.inf:
            outs[at + x] = eta * new + (1.0 - eta) * old
        top = max(top, outs[at + x])
    for x in range(k):
        outs[at + x] -= top
    return change


@kernel
def put(wires, state, s, outs, at):
    """Put a message in its place, and into the sum of its variable."""
    messages, total, holes = state
    begin, place = wires.message_start[s], wires.state_start[wires.scope[s]]
    power = wires.power[wires.factor_of[s]]
    for x in range(wires.message_start[s + 1] - begin):
        old, new = messages[begin + x], outs[at + x]
        messages[begin + x] = new
        if new > -math.inf:
            total[place + x] += power * new
        else:
            holes[place + x] += 1
        if old > -math.inf:
            total[place + x] -= power * old
        else:
            holes[place + x] -= 1


@kernel
def flood(wires, state, room, fresh, begin, end, eta, in_logs, maximum):
    """Compute the messages of some factors from the old ones, and write them to ``fresh``.

    Returns the largest change, or infinity where a contradiction was met; so do all sweeps.
    """
    largest = 0.0
    for f in range(begin, end):
        if not (gather(wires, state, room, f) and send(wires, room, f, -1, maximum)):
            return math.inf
        base = wires.message_start[wires.scope_start[f]]
        for s in range(wires.scope_start[f], wires.scope_start[f + 1]):
            at = wires.message_start[s]
            k = wires.message_start[s + 1] - at
            change = blend(state.messages, at, k, room.outs, at - base, eta, in_logs)
            largest = max(largest, change)
            for x in range(at, at + k):
                fresh[x] = room.outs[x - base]
    return largest


@kernel
def walk(wires, state, room, slots, together, eta, in_logs, maximum):
    """Update messages in place, slot after slot.

    Messages of one factor that come one after the other are computed together, if that is asked for
    or none is an input of another: if the counting number is one.
    """
    largest, held = 0.0, np.int64(-1)
    for i in range(slots.size):
        s = slots[i]
        f = wires.factor_of[s]
        if f != held:
            is_next = i + 1 < slots.size and wires.factor_of[slots[i + 1]] == f
            held = f if is_next and (together or wires.power[f] == 1.0) else np.int64(-1)
            only = s if held < 0 else np.int64(-1)
            if not (gather(wires, state, room, f) and send(wires, room, f, only, maximum)):
                return math.inf
        at = wires.message_start[s]
        base, k = wires.message_start[wires.scope_start[f]], wires.message_start[s + 1] - at
        change = blend(state.messages, at, k, room.outs, at - base, eta, in_logs)
        largest = max(largest, change)
        put(wires, state, s, room.outs, at - base)
    return largest


@kernel
def distance(messages, begin, k, outs, at):
    """Return the range over states of the change of logs; infinity if a zero came or went."""
    low, high = math.inf, -math.inf
    for x in range(k):
        new, old = outs[at + x], messages[begin + x]
        if new == -math.inf or old == -math.inf:
            if new != old:
                return math.inf
        else:
            low, high = min(low, new - old), max(high, new - old)
    return max(high - low, 0.0)


@kernel
def update_residuals(wires, state, room, priority, updates, floor, eta, in_logs, maximum):
    """Update up to so many messages, always one of the largest priority, until that is small.

    The priority of a message bounds how far its logs would move if it were computed now: by as
    much as its inputs have moved since, each measured by its range over states. The messages of a
    rule have one priority, at its first slot, and are computed together. Returns how many were
    updated, and the largest change of a probability.
    """
    queue = [(-priority[s], np.int64(s)) for s in range(priority.size) if priority[s] > floor]
    heapq.heapify(queue)
    done, largest = np.int64(0), 0.0
    while done < updates and queue:
        waiting, s = heapq.heappop(queue)
        if -waiting != priority[s]:  # it was raised, or done, since
            continue
        f = wires.factor_of[s]
        is_rule = wires.kind[f] != TABLE
        stop, only = wires.scope_start[f + 1] if is_rule else s + 1, -1 if is_rule else s
        if not (gather(wires, state, room, f) and send(wires, room, f, only, maximum)):
            return done, math.inf
        left, base = 0.0, wires.message_start[wires.scope_start[f]]
        for t in range(s, stop):
            at = wires.message_start[t]
            k = wires.message_start[t + 1] - at
            moved = distance(state.messages, at, k, room.outs, at - base)
            change = blend(state.messages, at, k, room.outs, at - base, eta, in_logs)
            put(wires, state, t, room.outs, at - base)
            largest, done = max(largest, change), done + 1
            if eta < 1.0:  # mixing numbers, not logs, may leave nearly all of the way to go
                left = max(left, (1.0 - eta) * moved if in_logs else moved)
            raise_priorities(wires, priority, queue, t, moved, floor)
        priority[s] = left
        if left > floor:
            heapq.heappush(queue, (-left, s))
    return done, largest


@kernel
def raise_priorities(wires, priority, queue, s, moved, floor):
    """Raise the priorities of the messages that a message feeds."""
    v, f = wires.scope[s], wires.factor_of[s]
    if moved == 0.0:
        return
    for i in range(wires.incident_start[v], wires.incident_start[v + 1]):
        g = wires.factor_of[wires.incident[i]]
        share = abs(wires.power[f] - 1.0) if g == f else wires.power[f]
        if share == 0.0:
            continue
        first, stop = wires.scope_start[g], wires.scope_start[g + 1]
        is_rule = wires.kind[g] != TABLE
        for t in range(first, first + 1 if is_rule else stop):
            if is_rule or wires.scope[t] != v:
                priority[t] += share * moved
                if priority[t] > floor:
                    heapq.heappush(queue, (-priority[t], np.int64(t)))


@kernel
def bethe(wires, state, room, maximum):
    """Return the Bethe estimate of the log of the sum over all configurations.

    With any messages, Z_i the sum of what a variable receives, Z_f that of a factor times what it
    receives, it is the sum of log Z_i plus, for each factor, its counting number times log Z_f less
    the log Z_i of its variables.
    """
    own = np.empty(wires.state_start.size - 1)
    result = 0.0
    for v in range(own.size):
        own[v] = -math.inf
        for i in range(wires.state_start[v], wires.state_start[v + 1]):
            if state.holes[i] == 0:
                own[v] = plus(own[v], state.total[i], maximum)
        result += own[v]
    if result == -math.inf:
        return result
    for f in range(wires.kind.size):
        first = wires.scope_start[f]
        if not (gather(wires, state, room, f) and send(wires, room, f, first, maximum)):
            return -math.inf
        log = -math.inf
        for x in range(wires.message_start[first + 1] - wires.message_start[first]):
            log = plus(log, room.outs[x] + room.inbox[x], maximum)
        log += room.said[0]
        for s in range(first, wires.scope_start[f + 1]):
            log += room.heard[s - first] - own[wires.scope[s]]
        result += wires.power[f] * log
    return result


# --- pairs of k states each -----------------------------------------------------------------------
# A message is the k - 1 ratios of its entries to the first; so is a belief. A table has k * k - 1.
# Pairs lie in blocks whose numbers stay in the first cache: the last axis is the pair in its block,
# so that loops along it, of a length known ahead, become vectors. A table that all pairs share
# makes one block.

#: Pairs in a block.
BLOCK = 128


@kernel
def send_pairs_of_two(begin, end, ends, count, tables, messages, beliefs, fresh, eta, maximum):
    """Compute both messages of some blocks of pairs of two states; return the largest change.

    Everything stays in registers: only what variables send and receive is looked up. The product
    with the new messages goes to ``fresh``, if that is not empty.
    """
    one = eta / eta
    keep = one - eta
    near, far = np.empty(BLOCK, beliefs.dtype), np.empty(BLOCK, beliefs.dtype)
    change, known = np.zeros(BLOCK, beliefs.dtype), np.zeros(BLOCK, beliefs.dtype)
    for block in range(begin, end):
        if count[block] < BLOCK:
            known[:] = change
        left, right, cells = ends[block, 0], ends[block, 1], tables[block % tables.shape[0]]
        to_left, to_right = messages[block, 0, 0], messages[block, 1, 0]
        for i in range(BLOCK):
            near[i], far[i] = beliefs[left[i], 0], beliefs[right[i], 0]
        for i in range(BLOCK):
            b, c, d = cells[0, i], cells[1, i], cells[2, i]
            back, there = to_left[i], to_right[i]
            if maximum:
                on, off = max(b * back, d * near[i]), max(back, c * near[i])
                up, down = max(c * there, d * far[i]), max(there, b * far[i])
            else:
                on, off = b * back + d * near[i], back + c * near[i]
                up, down = c * there + d * far[i], there + b * far[i]
            p, q = one / (on + off), one / (one + there)
            change[i] = max(change[i], abs(on * p - there * q))
            to_right[i] = (eta * (on * p) + keep * (there * q)) / (eta * (off * p) + keep * q)
            p, q = one / (up + down), one / (one + back)
            change[i] = max(change[i], abs(up * p - back * q))
            to_left[i] = (eta * (up * p) + keep * (back * q)) / (eta * (down * p) + keep * q)
        for i in range(count[block] if fresh.size else 0):
            fresh[left[i], 0] *= to_left[i]
            fresh[right[i], 0] *= to_right[i]
        if count[block] < BLOCK:
            empty_rest(count[block], messages[block], change, known)
    return change.max()


@kernel
def empty_rest(count, messages, change, known):
    """Undo what was computed where the last block is filled up; ``known`` are earlier changes."""
    for i in range(count, BLOCK):
        change[i] = known[i]
        messages[:, :, i] = 1.0


@kernel
def send_pairs(begin, end, ends, count, tables, messages, beliefs, fresh, eta, maximum):
    """Do the same for pairs of any number of states."""
    k = beliefs.shape[1] + 1
    near, far = np.empty((k, BLOCK), beliefs.dtype), np.empty((k, BLOCK), beliefs.dtype)
    there, back = np.empty((k, BLOCK), beliefs.dtype), np.empty((k, BLOCK), beliefs.dtype)
    room, change = np.empty((3, BLOCK), beliefs.dtype), np.zeros(BLOCK, beliefs.dtype)
    known = np.zeros(BLOCK, beliefs.dtype)
    near[0, :] = 1.0
    far[0, :] = 1.0
    for block in range(begin, end):
        if count[block] < BLOCK:
            known[:] = change
        left, right, cells = ends[block, 0], ends[block, 1], tables[block % tables.shape[0]]
        to_left, to_right = messages[block, 0], messages[block, 1]
        for i in range(BLOCK):
            for x in range(1, k):
                near[x, i] = beliefs[left[i], x - 1]
                far[x, i] = beliefs[right[i], x - 1]
        send_block(near, far, cells, to_left, to_right, there, back, maximum)
        mix_block(back, to_left, room, change, eta)
        mix_block(there, to_right, room, change, eta)
        for i in range(count[block] if fresh.size else 0):
            for x in range(k - 1):
                fresh[left[i], x] *= to_left[x, i]
                fresh[right[i], x] *= to_right[x, i]
        if count[block] < BLOCK:
            empty_rest(count[block], messages[block], change, known)
    return change.max()


@kernel
def send_block(near, far, cells, to_left, to_right, there, back, maximum):
    """Compute both messages of a block of pairs, of any scale."""
    k = near.shape[0]
    for x in range(1, k):
        for i in range(BLOCK):
            near[x, i] /= to_left[x - 1, i]
            far[x, i] /= to_right[x - 1, i]
    there[:] = 0.0
    back[:] = 0.0
    there[0, :] = 1.0  # the first state, the first cell
    back[0, :] = 1.0
    for c in range(1, k * k):
        x, y, cell = c // k, c % k, cells[c - 1]
        if maximum:
            for i in range(BLOCK):
                there[y, i] = max(there[y, i], cell[i] * near[x, i])
                back[x, i] = max(back[x, i], cell[i] * far[y, i])
        else:
            for i in range(BLOCK):
                there[y, i] += cell[i] * near[x, i]
                back[x, i] += cell[i] * far[y, i]


@kernel
def mix_block(new, old, room, change, eta):
    """Mix computed messages of a block with the old ones, as probabilities; keep the change."""
    one = eta / eta
    keep, k = one - eta, new.shape[0]
    p, q, first = room[0], room[1], room[2]
    for i in range(BLOCK):
        p[i], q[i] = new[0, i], one
    for x in range(1, k):
        for i in range(BLOCK):
            p[i] += new[x, i]
            q[i] += old[x - 1, i]
    for i in range(BLOCK):
        p[i], q[i] = one / p[i], one / q[i]
        change[i] = max(change[i], abs(new[0, i] * p[i] - q[i]))
        first[i] = one / (eta * (new[0, i] * p[i]) + keep * q[i])
    for x in range(1, k):
        for i in range(BLOCK):
            fresh, was = new[x, i] * p[i], old[x - 1, i] * q[i]
            change[i] = max(change[i], abs(fresh - was))
            old[x - 1, i] = (eta * fresh + keep * was) * first[i]


@kernel
def collect_pairs(begin, end, incident_start, incident, messages, beliefs):
    """Multiply the messages to some variables into their beliefs, which are potentials as yet."""
    for v in range(begin, end):
        for i in range(incident_start[v], incident_start[v + 1]):
            e, way = incident[i] // 2, incident[i] % 2
            for x in range(beliefs.shape[1]):
                beliefs[v, x] *= messages[e // BLOCK, way, x, e % BLOCK]
