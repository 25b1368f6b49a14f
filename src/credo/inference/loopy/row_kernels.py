"""Messages of many rows of evidence side by side, as numbers: one row per lane.

All numbers of a block of rows lie in one flat array ``room``. Whatever there is one of for each row
is a *run* of ``LANES`` numbers; a place counts runs. Every inner loop is over lanes, which do not
depend on each other: the answer of a row is the same, to the last bit, whoever its neighbours are.
``run_of`` masks places, so that the compiler knows them to be positive and writes these loops with
vector instructions.

Messages sum to one. A positive number that would fall below the floor is raised to it, and the row
is marked. The floor is such that no product of positive numbers is zero, so that every zero is a
true one, and a message without a positive number is a contradiction.

A row that is done leaves its lane, and the next one takes its place; the others do not notice.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from credo._kernels.tiers import kernel
from credo.inference.loopy.kernels import (
    AT_MOST_ONE,
    EVEN,
    NOISY_AND,
    NOISY_OR,
    ODD,
    TABLE,
    link,
)

#: Rows side by side. Half as many are slower: loops so short the compiler writes out, number by
#: number, before it looks for vectors.
LANES = 64
_FAR = 2**48 - 1
#: The first runs: the mark of each row, the largest change of a message, a sum, and the two inner
#: states of a rule; how many these are.
MARK, CHANGE, TOTAL, INNER, FIXED = 0, LANES, 2 * LANES, 3 * LANES, 5
#: Numbers of the type of the room: zero, one, the shares of the new and the old message, the floor,
#: and 1 if terms are added, 0 if the largest is taken.
ZERO, ONE, ETA, REST, FLOOR, BOTH = range(6)
#: Less than any floor: what a weight counts as if it is too small for a number.
LEAST = 1e-300
#: Settings: the number of sweeps, and whether to stop at chosen states that are possible, to give
#: up a row whose numbers are too small, and to compute logs of sums.
SWEEPS, UNTIL_POSSIBLE, LOSES, SUMS = range(4)
#: What is known of a lane: its row or -1, its age, whether its chosen states are forbidden, a sum.
ROW, AGE, BROKEN, TALLY = range(4)
#: How a row ended; LOST: its numbers were too small.
RUNNING, CONVERGED, MAX_SWEEPS, SATISFIED, IMPOSSIBLE, LOST = range(6)


class RowPlaces(NamedTuple):
    """Where runs begin: of states, and of messages, which lie as those of ``Wires`` do."""

    weights: Any  #: of states: what is known of single variables
    heard: Any  #: messages to variables
    said: Any  #: messages to factors
    outs: Any  #: new messages of one factor, not scaled
    work: Any


@kernel
def run_of(place):
    """Return where a run begins."""
    return (place * LANES) & _FAR


@kernel
def join(a, b, both):
    """Add two terms, or return the larger if ``both`` is zero, without a branch."""
    high, low = (a, b) if a > b else (b, a)
    return high + both * low


@kernel
def scaled(x, y, floor, zero, one):
    """Scale two numbers to sum one; return a mark too: 0 if one was raised, -1 if both are 0."""
    total = x + y
    factor = one / (total if total > zero else one)
    x, y = x * factor, y * factor
    is_low, is_low_too = (x > zero) & (x < floor), (y > zero) & (y < floor)
    mark = zero if is_low | is_low_too else one
    mark = mark if total > zero else -one
    return floor if is_low else x, floor if is_low_too else y, mark


@kernel
def scale(room, place, k, numbers):
    """Scale k numbers to sum one."""
    zero, one, floor = numbers[ZERO], numbers[ONE], numbers[FLOOR]
    for lane in range(LANES):
        room[TOTAL + lane] = zero
    for x in range(k):
        here = run_of(place + x)
        for lane in range(LANES):
            room[TOTAL + lane] += room[here + lane]
    for lane in range(LANES):
        total, mark = room[TOTAL + lane], room[MARK + lane]
        room[MARK + lane] = mark if total > zero else -one
        room[TOTAL + lane] = one / (total if total > zero else one)
    for x in range(k):
        here = run_of(place + x)
        for lane in range(LANES):
            y, mark = room[here + lane] * room[TOTAL + lane], room[MARK + lane]
            is_low = (y > zero) & (y < floor)
            room[here + lane] = floor if is_low else y
            room[MARK + lane] = zero if is_low & (mark > zero) else mark


@kernel
def multiply(room, place, a, b, k, numbers):
    """Put the product of two messages, scaled to sum one, at a third place."""
    for x in range(k):
        here, one, other = run_of(place + x), run_of(a + x), run_of(b + x)
        for lane in range(LANES):
            room[here + lane] = room[one + lane] * room[other + lane]
    scale(room, place, k, numbers)


@kernel
def multiply_two(room, place, a, b, numbers):
    """Do the same for messages of two states."""
    zero, one, floor = numbers[ZERO], numbers[ONE], numbers[FLOOR]
    place, a, b = run_of(place), run_of(a), run_of(b)
    for lane in range(LANES):
        x = room[a + lane] * room[b + lane]
        y = room[a + LANES + lane] * room[b + LANES + lane]
        x, y, mark = scaled(x, y, floor, zero, one)
        room[place + lane] = x
        room[place + LANES + lane] = y
        before = room[MARK + lane]
        room[MARK + lane] = min(before, mark)


@kernel
def send(room, place, new, k, numbers):
    """Scale a new message, and put its mixture with the one before in its place.

    New zeros stay zeros.
    """
    zero, eta, rest = numbers[ZERO], numbers[ETA], numbers[REST]
    scale(room, new, k, numbers)
    for x in range(k):
        here, there = run_of(new + x), run_of(place + x)
        for lane in range(LANES):
            fresh, old, before = room[here + lane], room[there + lane], room[CHANGE + lane]
            change = abs(fresh - old)
            room[CHANGE + lane] = max(before, change)
            mixed = eta * fresh + rest * old
            room[there + lane] = mixed if fresh > zero else zero
    if rest > zero:
        scale(room, place, k, numbers)


@kernel
def send_two(room, place, new, numbers):
    """Do the same for a message of two states: if one of them is zero the other is one."""
    zero, one, rest, floor = numbers[ZERO], numbers[ONE], numbers[REST], numbers[FLOOR]
    place, new = run_of(place), run_of(new)
    for lane in range(LANES):
        x, y, mark = scaled(room[new + lane], room[new + LANES + lane], floor, zero, one)
        old = room[place + lane]
        change, before = abs(x - old), room[CHANGE + lane]
        room[CHANGE + lane] = max(before, change)
        keep = rest if (x > zero) & (y > zero) else zero
        room[place + lane] = x + keep * (old - x)
        old = room[place + LANES + lane]
        room[place + LANES + lane] = y + keep * (old - y)
        before = room[MARK + lane]
        room[MARK + lane] = min(before, mark)


@kernel
def pair(room, values, begin, inbox, n, k, outs, both):
    """Add up both messages of a table of two variables, of n and k states."""
    for i in range(n):
        for j in range(k):
            value = values[begin + i * k + j]
            said, heard = run_of(inbox + n + j), run_of(outs + i)
            said_too, heard_too = run_of(inbox + i), run_of(outs + n + j)
            if value > 0:
                for lane in range(LANES):
                    x, y = room[heard + lane], room[heard_too + lane]
                    room[heard + lane] = join(x, value * room[said + lane], both)
                    room[heard_too + lane] = join(y, value * room[said_too + lane], both)


@kernel
def table(room, values, wires, f, places, digits, numbers):
    """Add up all messages of a table, cell by cell, by products before and after each slot."""
    first, stop, begin = wires.scope_start[f], wires.scope_start[f + 1], wires.cell_start[f]
    arity, both, one = stop - first, numbers[BOTH], numbers[ONE]
    base = wires.message_start[first]
    end, start = run_of(places.work + 2 * arity - 1), run_of(places.work)
    for cell in range(begin, wires.cell_start[f + 1]):
        value, rest = values[cell], cell - begin
        if not value > 0:
            continue
        for j in range(arity - 1, -1, -1):
            here = wires.message_start[first + j]
            k = wires.message_start[first + j + 1] - here
            digits[j] = here + rest % k
            rest //= k
        for lane in range(LANES):
            room[start + lane] = value
            room[end + lane] = one
        for j in range(arity - 1):
            said = run_of(places.said + digits[j])
            other = run_of(places.said + digits[arity - 1 - j])
            here, there = run_of(places.work + j), run_of(places.work + 2 * arity - 2 - j)
            for lane in range(LANES):
                room[here + LANES + lane] = room[here + lane] * room[said + lane]
                room[there + lane] = room[there + LANES + lane] * room[other + lane]
        for j in range(arity):
            heard = run_of(places.outs + digits[j] - base)
            here, there = run_of(places.work + j), run_of(places.work + arity + j)
            for lane in range(LANES):
                term = room[here + lane] * room[there + lane]
                room[heard + lane] = join(room[heard + lane], term, both)


@kernel
def parity(room, is_odd, inbox, n, work, outs, numbers):
    """Compute the sums of a parity check; the inner states stay scaled, as the messages are."""
    zero, one, start = numbers[ZERO], numbers[ONE], run_of(work)
    for lane in range(LANES):
        room[start + lane] = one
        room[start + LANES + lane] = zero
        room[INNER + lane] = zero if is_odd else one
        room[INNER + LANES + lane] = one if is_odd else zero
    for j in range(n - 1):
        said, before = run_of(inbox + 2 * j), run_of(work + 2 * j)
        for lane in range(LANES):
            p, q = room[said + lane], room[said + LANES + lane]
            x, y = room[before + lane], room[before + LANES + lane]
            room[before + 2 * LANES + lane] = x * p + y * q
            room[before + 3 * LANES + lane] = y * p + x * q
    for j in range(n - 1, -1, -1):
        said, before = run_of(inbox + 2 * j), run_of(work + 2 * j)
        heard = run_of(outs + 2 * j)
        for lane in range(LANES):
            p, q = room[said + lane], room[said + LANES + lane]
            x, y = room[before + lane], room[before + LANES + lane]
            a, b = room[INNER + lane], room[INNER + LANES + lane]
            room[heard + lane] = x * a + y * b
            room[heard + LANES + lane] = x * b + y * a
            room[INNER + lane] = p * a + q * b
            room[INNER + LANES + lane] = p * b + q * a


@kernel
def chain(room, values, begin, kind, inbox, n, work, outs, numbers):
    """Compute all messages of a rule, with the two inner states scaled at each step."""
    zero, one, floor, both = numbers[ZERO], numbers[ONE], numbers[FLOOR], numbers[BOTH]
    gate, flip = kind >= NOISY_OR, LANES if kind == NOISY_AND else 0
    n = n - 1 if gate else n
    leak, start = values[begin + n] if gate else zero, run_of(work)
    for lane in range(LANES):
        room[start + lane] = one - leak
        room[start + LANES + lane] = leak
        room[INNER + lane] = zero if kind == ODD else one
        room[INNER + LANES + lane] = zero if kind == EVEN else one
    for j in range(n):
        stay, rise, hold, drop = link(kind, values[begin + j] if gate else zero, zero, one)
        said, before = run_of(inbox + 2 * j), run_of(work + 2 * j)
        for lane in range(LANES):
            p, q = room[said + flip + lane], room[said + LANES - flip + lane]
            x, y = room[before + lane], room[before + LANES + lane]
            low, high = join(x * stay, y * drop, both), join(x * rise, y * hold, both)
            x, y = join(x * p, q * low, both), join(y * p, q * high, both)
            x, y, mark = scaled(x, y, floor, zero, one)
            room[before + 2 * LANES + lane] = x
            room[before + 3 * LANES + lane] = y
            room[MARK + lane] = min(mark, room[MARK + lane])
    if gate:
        said, before = run_of(inbox + 2 * n), run_of(work + 2 * n)
        heard = run_of(outs + 2 * n)
        for lane in range(LANES):
            room[INNER + lane] = room[said + flip + lane]
            room[INNER + LANES + lane] = room[said + LANES - flip + lane]
            room[heard + flip + lane] = room[before + lane]
            room[heard + LANES - flip + lane] = room[before + LANES + lane]
    for j in range(n - 1, -1, -1):
        stay, rise, hold, drop = link(kind, values[begin + j] if gate else zero, zero, one)
        said, before = run_of(inbox + 2 * j), run_of(work + 2 * j)
        heard = run_of(outs + 2 * j)
        for lane in range(LANES):
            p, q = room[said + flip + lane], room[said + LANES - flip + lane]
            x, y = room[before + lane], room[before + LANES + lane]
            a, b = room[INNER + lane], room[INNER + LANES + lane]
            up, on = join(stay * a, rise * b, both), join(drop * a, hold * b, both)
            room[heard + flip + lane] = join(x * a, y * b, both)
            room[heard + LANES - flip + lane] = join(x * up, y * on, both)
            a, b = join(p * a, q * up, both), join(p * b, q * on, both)
            a, b, mark = scaled(a, b, floor, zero, one)
            room[INNER + lane] = a
            room[INNER + LANES + lane] = b
            room[MARK + lane] = min(mark, room[MARK + lane])


@kernel
def send_all(room, values, wires, places, digits, numbers):
    """Send the messages of all factors."""
    message_start, outs, work = wires.message_start, places.outs, places.work
    for f in range(wires.kind.size):
        first, stop, kind = wires.scope_start[f], wires.scope_start[f + 1], wires.kind[f]
        base, begin, n = message_start[first], wires.cell_start[f], stop - first
        inbox = places.said + base
        if kind == TABLE:
            start = run_of(outs)
            for i in range(start, start + (message_start[stop] - base) * LANES):
                room[i] = numbers[ZERO]
            if n == 2:
                a, b = message_start[first + 1] - base, message_start[stop]
                pair(room, values, begin, inbox, a, b - a - base, outs, numbers[BOTH])
            else:
                table(room, values, wires, f, places, digits, numbers)
        elif kind <= ODD and numbers[BOTH] > 0:
            parity(room, kind == ODD, inbox, n, work, outs, numbers)
        else:
            chain(room, values, begin, kind, inbox, n, work, outs, numbers)
        for s in range(first, stop):
            here = message_start[s]
            k = message_start[s + 1] - here
            if k == 2:
                send_two(room, places.heard + here, outs + here - base, numbers)
            else:
                send(room, places.heard + here, outs + here - base, k, numbers)


@kernel
def plan_products(wires, places):
    """List the products of messages that tell factors what their variables receive from all others.

    Each has a place, those of its two terms, and a number of states. Of each variable they are
    first the products of all messages behind each one; then what lies before it times what lies
    behind. The only factor of a variable is told the same always.
    """
    heard, said, work, count = places.heard, places.said, places.work, 0
    steps = np.empty((3 * wires.incident.size, 4), np.int64)
    for v in range(wires.incident_start.size - 1):
        first, last = wires.incident_start[v], wires.incident_start[v + 1] - 1
        before, k = places.weights + wires.state_start[v], wires.state_start[v + 1]
        k -= wires.state_start[v]
        end = wires.message_start[wires.incident[last]] if first < last else 0
        behind = heard + end
        for i in range(last - 1, first, -1):
            here, place = wires.message_start[wires.incident[i]], work + (1 + i - first) * k
            count = plan_product(steps, count, place, heard + here, behind, k)
            behind = place
        for i in range(first, last):
            here, is_last = wires.message_start[wires.incident[i]], i == last - 1
            behind = heard + end if is_last else work + (2 + i - first) * k
            count = plan_product(steps, count, said + here, before, behind, k)
            place = said + end if is_last else work + ((i - first) & 1) * k
            count = plan_product(steps, count, place, before, heard + here, k)
            before = place
    return steps[:count].copy()


@kernel
def plan_product(steps, count, place, a, b, k):
    """Write one product down; return the number of the next."""
    steps[count, 0], steps[count, 1], steps[count, 2], steps[count, 3] = place, a, b, k
    return count + 1


@kernel
def gather(room, steps, numbers):
    """Multiply messages as planned."""
    for i in range(steps.shape[0]):
        place, a, b, k = steps[i, 0], steps[i, 1], steps[i, 2], steps[i, 3]
        if k == 2:
            multiply_two(room, place, a, b, numbers)
        else:
            multiply(room, place, a, b, k, numbers)


@kernel
def enter(room, lane, logs, row, wires, places, numbers, settings):
    """Put the weights of a row into a lane; return how it ends at once, and the log of its scale.

    ``logs`` of the weights become the weights themselves, of which none that counts is zero.
    """
    state, log_scale, one, floor = RUNNING, 0.0, numbers[ONE], numbers[FLOOR]
    for v in range(wires.incident_start.size - 1):
        begin, k = wires.state_start[v], wires.state_start[v + 1] - wires.state_start[v]
        top, total = -math.inf, 0.0
        for x in range(begin, begin + k):
            top = max(top, logs[row, x])
        if top == -math.inf:
            return IMPOSSIBLE, top
        for x in range(begin, begin + k):
            if logs[row, x] > -math.inf:
                logs[row, x] = max(math.exp(logs[row, x] - top), LEAST)
                total += logs[row, x]
            else:
                logs[row, x] = 0.0
        if settings[SUMS]:
            log_scale += top + math.log(total)
        for x in range(k):
            y = one * (logs[row, begin + x] / total)
            if y < floor and logs[row, begin + x] > 0.0:
                y = floor
                state = LOST if settings[LOSES] else state
            room[(places.weights + begin + x) * LANES + lane] = y
        for i in range(wires.incident_start[v], wires.incident_start[v + 1]):
            start = wires.message_start[wires.incident[i]] * LANES + lane
            for x in range(0, k * LANES, LANES):
                y = room[(places.weights + begin) * LANES + lane + x]
                room[places.said * LANES + start + x] = y
                room[places.heard * LANES + start + x] = one / k
    return state, log_scale


@kernel
def believe(room, lane, wires, places, column, out, row):
    """Write the beliefs of a row; tell whether every variable has a state that is possible.

    A belief is the last message that a variable receives times what it sends to its sender.
    """
    for v in range(column.size):
        last, k = wires.incident_start[v + 1] - 1, wires.state_start[v + 1] - wires.state_start[v]
        is_alone = last < wires.incident_start[v]
        at = 0 if is_alone else wires.message_start[wires.incident[last]]
        here = (places.weights + wires.state_start[v] if is_alone else places.heard + at) * LANES
        there, total = (places.said + at) * LANES + lane, 0.0
        for step in range(2 if column[v] >= 0 else 1):
            for x in range(k):
                y = np.float64(room[here + lane + x * LANES])
                y = y if is_alone else y * room[there + x * LANES]
                if step == 0:
                    total += y
                else:
                    out[row, column[v] + x] = y / total
            if not total > 0.0:
                return False
    return True


@kernel
def log_sum(room, lane, wires, places, own, both):
    """Return the Bethe estimate of the log of the sum, or the maximum, of a row.

    It is that of ``bethe``: the sum of log Z_i plus, for each factor, log Z_f less the log Z_i of
    its variables. In this difference the scale of what variables say cancels, so that it is taken
    from the messages as they are: Z_f is the sum of a factor times what its variables say, and Z_i
    that of what a variable sends times what it receives from the factor.
    """
    result = 0.0
    for v in range(wires.incident_start.size - 1):
        at, k = wires.state_start[v], wires.state_start[v + 1] - wires.state_start[v]
        for x in range(k):
            own[x] = room[(places.weights + at + x) * LANES + lane]
        for i in range(wires.incident_start[v], wires.incident_start[v + 1]):
            at = wires.message_start[wires.incident[i]]
            for x in range(k):
                own[x] *= room[(places.heard + at + x) * LANES + lane]
            result += take_scale(own, k, both)
        result += take_scale(own, k, both)
    for s in range(wires.scope.size):
        at, k = wires.message_start[s], wires.message_start[s + 1] - wires.message_start[s]
        for x in range(k):
            own[x] = room[(places.heard + at + x) * LANES + lane]
            own[x] *= room[(places.said + at + x) * LANES + lane]
        result -= take_scale(own, k, both)
    for f in range(wires.kind.size):
        if wires.kind[f] == TABLE:
            sum_table(room, lane, wires, places, f, own, both)
        else:
            result += sum_rule(room, lane, wires, places, f, own, both)
        result += take_scale(own, 2, both)
    return result


@kernel
def take_scale(own, k, both):
    """Divide k numbers by their sum, or the largest; return its log, -inf for zero."""
    total = 0.0
    for x in range(k):
        total = join(total, own[x], both)
    if total < LEAST:
        return -math.inf
    for x in range(k):
        own[x] /= total
    return math.log(total)


@kernel
def sum_table(room, lane, wires, places, f, own, both):
    """Sum a table times what its variables say."""
    own[0], own[1] = 0.0, 0.0
    for c in range(wires.cell_start[f], wires.cell_start[f + 1]):
        term, rest = wires.values[c], c - wires.cell_start[f]
        for s in range(wires.scope_start[f + 1] - 1, wires.scope_start[f] - 1, -1):
            k = wires.message_start[s + 1] - wires.message_start[s]
            term *= room[(places.said + wires.message_start[s] + rest % k) * LANES + lane]
            rest //= k
        own[0] = join(own[0], term, both)


@kernel
def sum_rule(room, lane, wires, places, f, own, both):
    """Sum a rule times what its variables say, by inner states; return the log of their scale."""
    first, kind, begin = wires.scope_start[f], wires.kind[f], wires.cell_start[f]
    gate, flip = kind >= NOISY_OR, LANES if kind == NOISY_AND else 0
    n, log = wires.scope_start[f + 1] - first - gate, 0.0
    leak = wires.values[begin + n] if gate else 0.0
    own[0], own[1] = 1.0 - leak, leak
    for j in range(n):
        stay, rise, hold, drop = link(kind, wires.values[begin + j] if gate else 0.0, 0.0, 1.0)
        said = (places.said + wires.message_start[first + j]) * LANES + lane
        x, y, p, q = own[0], own[1], room[said + flip], room[said + LANES - flip]
        low, high = join(x * stay, y * drop, both), join(x * rise, y * hold, both)
        own[0], own[1] = join(x * p, q * low, both), join(y * p, q * high, both)
        log += take_scale(own, 2, both)
    said = (places.said + wires.message_start[first + n]) * LANES + lane
    own[0] *= room[said + flip] if gate else kind != ODD
    own[1] *= room[said + LANES - flip] if gate else kind != EVEN
    return log


@kernel
def choose(room, wires, places, choice):
    """Choose for each row the most probable state of each variable that has messages."""
    for v in range(wires.incident_start.size - 1):
        last, k = wires.incident_start[v + 1] - 1, wires.state_start[v + 1] - wires.state_start[v]
        if last < wires.incident_start[v]:
            continue
        at, to = wires.message_start[wires.incident[last]], run_of(v)
        heard, said, second = run_of(places.heard + at), run_of(places.said + at), LANES * (k > 1)
        for lane in range(LANES):
            x = room[heard + lane] * room[said + lane]
            y = room[heard + second + lane] * room[said + second + lane]
            choice[to + lane] = 1 if y > x else 0
            room[TOTAL + lane] = max(x, y)
        for i in range(2, k):
            for lane in range(LANES):
                y = room[heard + i * LANES + lane] * room[said + i * LANES + lane]
                best = room[TOTAL + lane]
                choice[to + lane] = i if y > best else choice[to + lane]
                room[TOTAL + lane] = max(best, y)


@kernel
def check(wires, choice, lanes):
    """Mark the rows whose chosen states some factor forbids."""
    for lane in range(LANES):
        lanes[BROKEN, lane] = 0
    for f in range(wires.kind.size):
        first, stop, kind = wires.scope_start[f], wires.scope_start[f + 1], wires.kind[f]
        begin = wires.cell_start[f]
        for lane in range(LANES):
            lanes[TALLY, lane] = 0
        for s in range(first, stop):
            chosen = run_of(wires.scope[s])
            k = wires.message_start[s + 1] - wires.message_start[s] if kind == TABLE else 1
            for lane in range(LANES):
                lanes[TALLY, lane] = lanes[TALLY, lane] * k + choice[chosen + lane]
        for lane in range(LANES):
            if kind == TABLE:
                wrong = not wires.logs[begin + lanes[TALLY, lane]] > -math.inf
            elif kind <= ODD:
                wrong = (lanes[TALLY, lane] & 1) != (kind == ODD)
            elif kind == AT_MOST_ONE:
                wrong = lanes[TALLY, lane] > 1
            else:
                wrong = is_forbidden(wires, f, choice, lane)
            lanes[BROKEN, lane] = 1 if wrong else lanes[BROKEN, lane]


@kernel
def is_forbidden(wires, f, choice, lane):
    """Tell whether a noisy gate forbids chosen states: on that nobody causes, off despite one."""
    first, last, begin = wires.scope_start[f], wires.scope_start[f + 1] - 1, wires.cell_start[f]
    flip = wires.kind[f] == NOISY_AND
    leak = wires.values[begin + last - first]
    may, must = leak > 0.0, leak == 1.0
    for s in range(first, last):
        p = wires.values[begin + s - first]
        if choice[wires.scope[s] * LANES + lane] != flip:
            may, must = may | (p > 0.0), must | (p == 1.0)
    is_on = choice[wires.scope[last] * LANES + lane] != flip
    return not may if is_on else must


@kernel
def ending(room, lane, age, broken, tolerance, settings):
    """Tell how the row of a lane ends, if it does."""
    mark = room[MARK + lane]
    if mark < 0:
        return IMPOSSIBLE if settings[LOSES] else LOST
    if mark == 0 and settings[LOSES]:
        return LOST
    if settings[UNTIL_POSSIBLE] and not broken:
        return SATISFIED
    if room[CHANGE + lane] <= tolerance:
        return CONVERGED
    return MAX_SWEEPS if age >= settings[SWEEPS] else RUNNING


@kernel(visits=50)
def run_rows(room, net, numbers, tolerance, settings, logs, column, run):
    """Run rows, given the logs of their weights, as many at a time as there are lanes.

    ``net`` holds the wires, cells of the type of the room, places and planned products. What
    becomes of the rows goes to the arrays of ``run``: beliefs, from the ``column`` of a variable
    on, log sums, last changes, and ends with sweeps.
    """
    wires, values, places, steps = net
    out, log_z, changes, report = run
    taken, one, zero = 0, numbers[ONE], numbers[ZERO]
    lanes, choice = np.zeros((4, LANES), np.int64), np.zeros(column.size * LANES, np.int32)
    digits, own = np.zeros(wires.scope.size, np.int64), np.zeros(wires.unary.size + 2)
    for lane in range(LANES):
        lanes[ROW, lane] = -1
    while True:
        running = 0
        for lane in range(LANES):
            while lanes[ROW, lane] < 0 and taken < logs.shape[0]:
                end, log_scale = enter(room, lane, logs, taken, wires, places, numbers, settings)
                report[taken, 0], log_z[taken] = end, log_scale
                if end == RUNNING:
                    lanes[ROW, lane], lanes[AGE, lane] = taken, 0
                taken += 1
            running += lanes[ROW, lane] >= 0
            room[MARK + lane], room[CHANGE + lane] = one, zero
        if running == 0:
            return
        send_all(room, values, wires, places, digits, numbers)
        gather(room, steps, numbers)
        if settings[UNTIL_POSSIBLE]:
            choose(room, wires, places, choice)
            check(wires, choice, lanes)
        for lane in range(LANES):
            row = lanes[ROW, lane]
            if row < 0:
                continue
            lanes[AGE, lane] += 1
            end = ending(room, lane, lanes[AGE, lane], lanes[BROKEN, lane], tolerance, settings)
            if end == RUNNING:
                continue
            changes[row], lanes[ROW, lane] = room[CHANGE + lane], -1
            if end < IMPOSSIBLE:
                if not believe(room, lane, wires, places, column, out, row):
                    end = IMPOSSIBLE if settings[LOSES] else LOST
                elif settings[SUMS]:
                    log_z[row] += log_sum(room, lane, wires, places, own, np.float64(numbers[BOTH]))
                    end = end if math.isfinite(log_z[row]) else LOST
            report[row, 0], report[row, 1] = end, lanes[AGE, lane]
