"""Loopy belief propagation for many rows of evidence at once, one row per lane.

Flooding: all factors speak, then all variables. A row that is done leaves its lane, and the next
one takes its place; the others do not notice.
"""

from __future__ import annotations

import math

from credo._kernels.loopy_lane_factors import speak
from credo._kernels.loopy_lane_products import (
    BOTH,
    CHANGE,
    FLOOR,
    LANES,
    MARK,
    ONE,
    SCRATCH,
    ZERO,
    multiply,
    multiply_two,
)
from credo._kernels.loopy_lane_rows import (
    AGE,
    BROKEN,
    CONVERGED,
    DEGREE,
    IMPOSSIBLE,
    LOST,
    MAX_SWEEPS,
    MESSAGES,
    NUMBER,
    ROW,
    RUNNING,
    SATISFIED,
    SIZE,
    WEIGHTS,
    believe,
    check,
    decide,
    enter,
    log_of_row,
)
from credo._kernels.tiers import kernel

#: Settings: the number of sweeps, and whether to stop at chosen states that are possible, to
#: give up a row whose numbers are too small, and to compute logs of sums.
SWEEPS, UNTIL_POSSIBLE, LOSES, SUMS = range(4)


@kernel
def answer(room, variables, floors, shift, numbers):
    """Let each variable say to each of its factors what it hears from all the others.

    First the products of all messages behind each one, from the last but two; then, for each but
    the last, what lies before times what lies behind it, and what lies before the next, which for
    the last one is what is said to it. All in one place, as each call compiles its callee again.
    """
    floor = numbers[FLOOR]
    for v in range(variables.shape[0]):
        k, degree, first = variables[v, SIZE], variables[v, DEGREE], variables[v, NUMBER]
        step, begin = k * LANES, variables[v, MESSAGES]
        after = SCRATCH + 2 * step
        before, spare, behind = variables[v, WEIGHTS], SCRATCH, begin + (degree - 1) * step
        for i in range(3 * degree - 4 if degree > 1 else 0):  # a single one is told the same always
            j = degree - 3 - i
            if j >= 0:
                a, b, to, least = behind, begin + (j + 1) * step, after + j * step, floor
                behind = to
            else:
                j = (-1 - j) // 2
                at, a, is_last = begin + j * step, before, j == degree - 2
                if (i - degree) % 2 == 0:
                    b = at + step if is_last else after + j * step
                    to, least = at + shift, floors[first + j]
                else:
                    b, to = at, at + step + shift if is_last else spare
                    least = floors[first + j + 1] if is_last else floor
                    before, spare = to, SCRATCH + step if spare == SCRATCH else SCRATCH
            if k == 2:
                multiply_two(room, to, a, b, least, numbers)
            else:
                multiply(room, to, a, b, k, least, numbers)


@kernel
def ending(room, lane, age, broken, tolerance, settings):
    """Tell how the row of a lane ends, if it does."""
    mark, change = room[MARK + lane], room[CHANGE + lane]
    if mark < 0:
        return IMPOSSIBLE if settings[LOSES] else LOST
    if mark == 0 and settings[LOSES]:
        return LOST
    if settings[UNTIL_POSSIBLE] and not broken:
        return SATISFIED
    if change <= tolerance:
        return CONVERGED
    return MAX_SWEEPS if age >= settings[SWEEPS] else RUNNING


@kernel
def fill(room, variables, floors, shift, numbers, settings, weights, taken, log_z, report, lanes):
    """Put the next rows into empty lanes; give how many were taken, and how many lanes run."""
    running = 0
    for lane in range(LANES):
        while lanes[ROW, lane] < 0 and taken < weights.shape[0]:
            net = (variables, floors, shift, numbers, settings[LOSES], settings[SUMS])
            state, log_scale = enter(room, lane, weights, taken, *net)
            report[taken, 0], log_z[taken] = state, log_scale
            if state == RUNNING:
                lanes[ROW, lane], lanes[AGE, lane] = taken, 0
            taken += 1
        running += lanes[ROW, lane] >= 0
        room[MARK + lane], room[CHANGE + lane] = numbers[ONE], numbers[ZERO]
    return taken, running


@kernel(visits=50)
def run_rows(
    room,
    variables,
    slots,
    factors,
    values,
    floors,
    numbers,
    shift,
    outs,
    tolerance,
    settings,
    weights,
    out,
    log_z,
    changes,
    report,
    lanes,
    choice,
    digits,
    work,
):
    """Run rows of weights, as many at a time as there are lanes, each until it ends.

    ``report`` takes the end and the number of sweeps of each row, ``changes`` its last residual.
    ``lanes`` holds what is known of each lane, ``choice`` the chosen states; ``digits`` and
    ``work`` are scratch space.
    """
    both = 1.0 * numbers[BOTH]
    for lane in range(LANES):
        lanes[ROW, lane] = -1
    args = (room, variables, floors, shift, numbers, settings, weights)
    taken = 0
    while True:
        taken, running = fill(*args, taken, log_z, report, lanes)
        if running == 0:
            return
        speak(room, values, factors, slots, digits, shift, outs, numbers)
        answer(room, variables, floors, shift, numbers)
        if settings[UNTIL_POSSIBLE]:
            decide(room, variables, shift, choice, work)
            check(values, factors, slots, choice, lanes)
        for lane in range(LANES):
            row = lanes[ROW, lane]
            if row < 0:
                continue
            lanes[AGE, lane] += 1
            state = ending(room, lane, lanes[AGE, lane], lanes[BROKEN, lane], tolerance, settings)
            if state == RUNNING:
                continue
            changes[row], lanes[ROW, lane] = room[CHANGE + lane], -1
            if state < IMPOSSIBLE:
                possible = believe(room, lane, row, variables, shift, out)
                if possible and settings[SUMS]:
                    nets = (values, variables, factors, slots)
                    log_z[row] += log_of_row(room, lane, *nets, shift, work, both)
                    possible = log_z[row] > -math.inf
                if not possible:
                    state = IMPOSSIBLE if settings[LOSES] else LOST
            report[row, 0], report[row, 1] = state, lanes[AGE, lane]
            log_z[row] = -math.inf if state == IMPOSSIBLE else log_z[row]
