"""Products of messages side by side, one row of evidence per lane.

All numbers of a block of rows lie in one flat array ``room``: whatever there is one of for each row
is a run of ``LANES`` numbers. Places in it are where such runs start. Every inner loop is over
lanes, which do not depend on each other: the answer of a row is the same, to the last bit, whoever
its neighbours are. A place is masked with ``FAR``, so that the compiler knows it is not negative
and writes the loop with vector instructions.

Messages sum to one. Where a positive number would fall below a floor it is raised to it, and the
row is marked; floors are such that no product of positive numbers is zero, so that every zero is a
true one and a message without a positive number is a contradiction.
"""

from __future__ import annotations

from credo._kernels.tiers import kernel

#: Rows side by side. Half as many are slower: loops so short the compiler writes out, number by
#: number, before it looks for vectors.
LANES = 64
FAR = 2**48 - 1
#: Places that everyone knows: the mark of each row, and the largest change of a message.
MARK, CHANGE = 0, LANES
#: Scratch: a total; two inner states of a rule; then whatever is needed.
TOTAL, INNER, SCRATCH = 2 * LANES, 3 * LANES, 5 * LANES
#: Numbers of the type of the room: zero, one, the shares of the new and the old message, the floor
#: of messages, and 1 if terms are added, 0 if the largest is taken.
ZERO, ONE, ETA, REST, FLOOR, BOTH = range(6)


@kernel
def join(a, b, both):
    """Add two terms, or give the larger if ``both`` is zero, without a branch."""
    high, low = (a, b) if a > b else (b, a)
    return high + both * low


@kernel
def scaled(x, y, floor, zero, one):
    """Scale two numbers to sum one; give also a mark: zero if one was raised, -1 if both are 0."""
    total = x + y
    factor = one / (total if total > zero else one)
    x, y = x * factor, y * factor
    is_low, is_low_too = (x > zero) & (x < floor), (y > zero) & (y < floor)
    mark = zero if is_low | is_low_too else one
    mark = mark if total > zero else -one
    return floor if is_low else x, floor if is_low_too else y, mark


@kernel
def multiply(room, to, a, b, states, floor, numbers):
    """Put the product of the messages at a and b, scaled to sum one, at another place."""
    for i in range(0, states * LANES, LANES):
        here, one, other = (to + i) & FAR, (a + i) & FAR, (b + i) & FAR
        for lane in range(LANES):
            room[here + lane] = room[one + lane] * room[other + lane]
    scale(room, to, states, floor, numbers)


@kernel
def multiply_two(room, to, a, b, floor, numbers):
    """Do the same for messages of two states."""
    zero, one = numbers[ZERO], numbers[ONE]
    to, a, b = to & FAR, a & FAR, b & FAR
    for lane in range(LANES):
        x = room[a + lane] * room[b + lane]
        y = room[a + LANES + lane] * room[b + LANES + lane]
        x, y, mark = scaled(x, y, floor, zero, one)
        room[to + lane] = x
        room[to + LANES + lane] = y
        before = room[MARK + lane]
        room[MARK + lane] = min(before, mark)


@kernel
def scale(room, at, states, floor, numbers):
    """Scale a message of any number of states to sum one."""
    zero, one = numbers[ZERO], numbers[ONE]
    for lane in range(LANES):
        room[TOTAL + lane] = zero
    for i in range(0, states * LANES, LANES):
        here = (at + i) & FAR
        for lane in range(LANES):
            room[TOTAL + lane] += room[here + lane]
    for lane in range(LANES):
        total, mark = room[TOTAL + lane], room[MARK + lane]
        room[MARK + lane] = mark if total > zero else -one
        room[TOTAL + lane] = one / (total if total > zero else one)
    for i in range(0, states * LANES, LANES):
        here = (at + i) & FAR
        for lane in range(LANES):
            x, mark = room[here + lane] * room[TOTAL + lane], room[MARK + lane]
            is_low = (x > zero) & (x < floor)
            room[here + lane] = floor if is_low else x
            room[MARK + lane] = zero if is_low & (mark > zero) else mark


@kernel
def send_two(room, to, new, numbers):
    """Scale a computed message of two states and put it in its place."""
    zero, one, floor = numbers[ZERO], numbers[ONE], numbers[FLOOR]
    to, new = to & FAR, new & FAR
    for lane in range(LANES):
        x, y, mark = scaled(room[new + lane], room[new + LANES + lane], floor, zero, one)
        change = abs(x - room[to + lane])
        other = abs(y - room[to + LANES + lane])
        change = max(change, other)
        room[to + lane] = x
        room[to + LANES + lane] = y
        before = room[CHANGE + lane]
        room[CHANGE + lane] = max(before, change)
        before = room[MARK + lane]
        room[MARK + lane] = min(before, mark)


@kernel
def send(room, to, new, states, numbers):
    """Scale a computed message and put its mixture with the one before in its place."""
    scale(room, new, states, numbers[FLOOR], numbers)
    for i in range(0, states * LANES, LANES):
        here, there = (new + i) & FAR, (to + i) & FAR
        for lane in range(LANES):
            change, before = abs(room[here + lane] - room[there + lane]), room[CHANGE + lane]
            room[CHANGE + lane] = max(before, change)
    mix(room, to, new, states, numbers)


@kernel
def mix(room, to, new, states, numbers):
    """Put a mixture of a new message and the one before in its place; new zeros stay zeros."""
    zero, one, eta, rest = numbers[ZERO], numbers[ONE], numbers[ETA], numbers[REST]
    for lane in range(LANES):
        room[TOTAL + lane] = zero
    for i in range(0, states * LANES, LANES):
        here, there = (new + i) & FAR, (to + i) & FAR
        for lane in range(LANES):
            x = room[here + lane]
            y = eta * x + rest * room[there + lane]
            y = y if x > zero else zero
            room[there + lane] = y
            room[TOTAL + lane] += y
    for i in range(0, states * LANES if eta < one else 0, LANES):
        there = (to + i) & FAR
        for lane in range(LANES):
            total = room[TOTAL + lane]
            room[there + lane] /= total if total > zero else one
