"""Messages of factors side by side, one row of evidence per lane: tables, and rules as chains.

What the variables of a factor say lies ``shift`` behind the place of their messages. The messages
of the factor go to scratch space from ``outs`` on, one after the other, not scaled.
"""

from __future__ import annotations

import numpy as np

from credo._kernels.loopy_lane_products import (
    BOTH,
    ETA,
    FAR,
    FLOOR,
    INNER,
    LANES,
    MARK,
    ONE,
    SCRATCH,
    ZERO,
    join,
    scaled,
    send,
    send_two,
)
from credo._kernels.tiers import kernel

TABLE, EVEN, ODD, AT_MOST_ONE, NOISY_OR, NOISY_AND = range(6)
#: Fields of a factor: what it is, its slots, and where its cells or numbers start.
KIND, FIRST, STOP, CELLS = range(4)
#: Fields of a slot: the place of its message, the number of states, and the variable.
PLACE, STATES, VARIABLE = range(3)


@kernel
def clear(room, start, stop, zero):
    """Set places to zero."""
    for i in range(start & FAR, stop):
        room[i] = zero


@kernel
def two_by_two(room, values, cell, a, b, outs, both):
    """Compute both messages of a table of two variables with two states each."""
    a, b, outs = a & FAR, b & FAR, outs & FAR
    p, q, r, s = values[cell], values[cell + 1], values[cell + 2], values[cell + 3]
    for lane in range(LANES):
        x, y = room[b + lane], room[b + LANES + lane]
        room[outs + lane] = join(p * x, q * y, both)
        room[outs + LANES + lane] = join(r * x, s * y, both)
    for lane in range(LANES):
        x, y = room[a + lane], room[a + LANES + lane]
        room[outs + 2 * LANES + lane] = join(p * x, r * y, both)
        room[outs + 3 * LANES + lane] = join(q * x, s * y, both)


@kernel
def pair(room, values, cell, a, b, sizes, outs, both):
    """Compute both messages of a table of two variables."""
    n, k = sizes
    for i in range(n):
        for j in range(k):
            value = values[cell + i * k + j]
            said, heard = (b + j * LANES) & FAR, (outs + i * LANES) & FAR
            said_too, heard_too = (a + i * LANES) & FAR, (outs + (n + j) * LANES) & FAR
            if value > 0:
                for lane in range(LANES):
                    x, y = room[heard + lane], room[heard_too + lane]
                    room[heard + lane] = join(x, value * room[said + lane], both)
                    room[heard_too + lane] = join(y, value * room[said_too + lane], both)


@kernel
def locate(slots, first, stop, cell, digits):
    """Write the state of each slot at a cell of a table."""
    for s in range(stop - 1, first - 1, -1):
        digits[s - first] = cell % slots[s, STATES]
        cell //= slots[s, STATES]


@kernel
def table(room, values, factor, slots, digits, shift, outs, numbers):
    """Compute all messages of a table, cell by cell, by products before and after each slot."""
    first, stop, begin = factor
    both = numbers[BOTH]
    cells, arity = np.int64(1), stop - first
    for s in range(first, stop):
        cells *= slots[s, STATES]
    behind = SCRATCH + arity * LANES
    end = (behind + (arity - 1) * LANES) & FAR
    for c in range(cells):
        value = values[begin + c]
        if not value > 0:
            continue
        locate(slots, first, stop, c, digits)
        for lane in range(LANES):
            room[SCRATCH + lane] = value
            room[end + lane] = numbers[ONE]
        for j in range(arity - 1):
            i = arity - 1 - j
            said = (slots[first + j, PLACE] + shift + digits[j] * LANES) & FAR
            other = (slots[first + i, PLACE] + shift + digits[i] * LANES) & FAR
            here, there = (SCRATCH + j * LANES) & FAR, (behind + (i - 1) * LANES) & FAR
            for lane in range(LANES):
                room[here + LANES + lane] = room[here + lane] * room[said + lane]
                room[there + lane] = room[there + LANES + lane] * room[other + lane]
        place = outs
        for j in range(arity):
            heard = (place + digits[j] * LANES) & FAR
            here, there = (SCRATCH + j * LANES) & FAR, (behind + j * LANES) & FAR
            for lane in range(LANES):
                x = room[here + lane] * room[there + lane]
                room[heard + lane] = join(room[heard + lane], x, both)
            place += slots[first + j, STATES] * LANES


@kernel
def parity(room, factor, slots, shift, outs, numbers, odd):
    """Compute all sums of a parity check, from both ends at once.

    The inner states stay scaled, as what the variables say is.
    """
    first, stop, _ = factor
    zero, one = numbers[ZERO], numbers[ONE]
    step, n = 2 * LANES, stop - first
    behind = (SCRATCH + n * step) & FAR
    end = (behind + (n - 1) * step) & FAR
    for lane in range(LANES):
        room[SCRATCH + lane] = one
        room[SCRATCH + LANES + lane] = zero
        room[end + lane] = zero if odd else one
        room[end + LANES + lane] = one if odd else zero
    for j in range(n - 1):
        said, at = (slots[first + j, PLACE] + shift) & FAR, (SCRATCH + j * step) & FAR
        for lane in range(LANES):
            p, q = room[said + lane], room[said + LANES + lane]
            x, y = room[at + lane], room[at + LANES + lane]
            room[at + step + lane] = x * p + y * q
            room[at + step + LANES + lane] = y * p + x * q
        said, at = (slots[stop - 1 - j, PLACE] + shift) & FAR, (end - j * step - step) & FAR
        for lane in range(LANES):
            p, q = room[said + lane], room[said + LANES + lane]
            x, y = room[at + step + lane], room[at + step + LANES + lane]
            room[at + lane] = x * p + y * q
            room[at + LANES + lane] = y * p + x * q
    for i in range(0, n * step, step):
        before, after, heard = (SCRATCH + i) & FAR, (behind + i) & FAR, (outs + i) & FAR
        for lane in range(LANES):
            x, y = room[before + lane], room[before + LANES + lane]
            p, q = room[after + lane], room[after + LANES + lane]
            room[heard + lane] = x * p + y * q
            room[heard + LANES + lane] = x * q + y * p


@kernel
def link(kind, p, zero, one):
    """Give what leads, in a second state, from 0 to 0, from 0 to 1, from 1 to 1, from 1 to 0."""
    if kind in (EVEN, ODD):
        return zero, one, zero, one
    if kind == AT_MOST_ONE:
        return zero, one, zero, zero
    return one - p, p, one, zero


@kernel
def chain(room, values, kind, factor, slots, shift, outs, numbers):
    """Compute all messages of a rule, with the two inner states scaled at each step."""
    first, stop, begin = factor
    zero, one, floor, both = numbers[ZERO], numbers[ONE], numbers[FLOOR], numbers[BOTH]
    gate, flip = kind >= NOISY_OR, LANES if kind == NOISY_AND else 0
    n = stop - first - 1 if gate else stop - first
    leak = values[begin + n] if gate else zero
    for lane in range(LANES):
        room[SCRATCH + lane] = one - leak
        room[SCRATCH + LANES + lane] = leak
        room[INNER + lane] = zero if kind == ODD else one
        room[INNER + LANES + lane] = zero if kind == EVEN else one
    for j in range(n):
        stay, rise, hold, drop = link(kind, values[begin + j] if gate else zero, zero, one)
        said, before = (slots[first + j, PLACE] + shift) & FAR, (SCRATCH + 2 * j * LANES) & FAR
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
        said, heard = (slots[first + n, PLACE] + shift) & FAR, (outs + 2 * n * LANES) & FAR
        before = (SCRATCH + 2 * n * LANES) & FAR
        for lane in range(LANES):
            room[INNER + lane] = room[said + flip + lane]
            room[INNER + LANES + lane] = room[said + LANES - flip + lane]
            room[heard + flip + lane] = room[before + lane]
            room[heard + LANES - flip + lane] = room[before + LANES + lane]
    for j in range(n - 1, -1, -1):
        stay, rise, hold, drop = link(kind, values[begin + j] if gate else zero, zero, one)
        said, before = (slots[first + j, PLACE] + shift) & FAR, (SCRATCH + 2 * j * LANES) & FAR
        heard = (outs + 2 * j * LANES) & FAR
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
def speak(room, values, factors, slots, digits, shift, outs, numbers):
    """Compute and send the messages of all factors."""
    for f in range(factors.shape[0]):
        kind, first, stop = factors[f, KIND], factors[f, FIRST], factors[f, STOP]
        factor = (first, stop, factors[f, CELLS])
        if kind == TABLE:
            n, k = slots[first, STATES], slots[first + 1, STATES]
            a, b = slots[first, PLACE] + shift, slots[first + 1, PLACE] + shift
            if stop == first + 2 and n == 2 and k == 2:
                two_by_two(room, values, factors[f, CELLS], a, b, outs, numbers[BOTH])
            else:
                width = np.int64(0)
                for s in range(first, stop):
                    width += slots[s, STATES]
                clear(room, outs, outs + width * LANES, numbers[ZERO])
                if stop == first + 2:
                    pair(room, values, factors[f, CELLS], a, b, (n, k), outs, numbers[BOTH])
                else:
                    table(room, values, factor, slots, digits, shift, outs, numbers)
        elif kind <= ODD and numbers[BOTH] > 0:
            parity(room, factor, slots, shift, outs, numbers, kind == ODD)
        else:
            chain(room, values, kind, factor, slots, shift, outs, numbers)
        place = outs
        for s in range(first, stop):
            if slots[s, STATES] == 2 and numbers[ETA] == numbers[ONE]:
                send_two(room, slots[s, PLACE], place, numbers)
            else:
                send(room, slots[s, PLACE], place, slots[s, STATES], numbers)
            place += slots[s, STATES] * LANES
