"""One row of evidence among others side by side: how it enters its lane, and how it leaves."""

from __future__ import annotations

import math

import numpy as np

from credo._kernels.loopy_lane_factors import (
    AT_MOST_ONE,
    CELLS,
    EVEN,
    FIRST,
    KIND,
    NOISY_AND,
    NOISY_OR,
    ODD,
    PLACE,
    STATES,
    STOP,
    TABLE,
    VARIABLE,
    link,
)
from credo._kernels.loopy_lane_products import FAR, FLOOR, LANES, ONE, ZERO, join
from credo._kernels.tiers import kernel

#: Fields of a variable: the place of its weights, how many states and messages it has, the first of
#: these in the order of variables, its place, its first column of weights, and of the result or -1.
WEIGHTS, SIZE, DEGREE, NUMBER, MESSAGES, COLUMN, RESULT = range(7)
#: What is known of a lane: its row or -1, its age, whether its chosen states are forbidden, a sum.
ROW, AGE, BROKEN, TALLY = range(4)
#: How a row ended; LOST: numbers fell below the floor.
RUNNING, CONVERGED, MAX_SWEEPS, SATISFIED, IMPOSSIBLE, LOST = range(6)


@kernel
def enter(room, lane, weights, row, variables, floors, shift, numbers, loses, sums):
    """Put the weights of a row into a lane, and say nothing yet; give a state and a log scale."""
    state, log_scale = RUNNING, 0.0
    floor, one = numbers[FLOOR], numbers[ONE]
    for v in range(variables.shape[0]):
        k, degree, begin = variables[v, SIZE], variables[v, DEGREE], variables[v, COLUMN]
        total = 0.0
        for x in range(k):
            total += weights[row, begin + x]
        if not total > 0.0:
            return IMPOSSIBLE, -math.inf
        if sums:
            log_scale += math.log(total)
        for x in range(k):
            share = weights[row, begin + x] / total
            y = share * one
            if share > 0.0 and y < floor:
                y = floor
                state = LOST if loses else state
            room[variables[v, WEIGHTS] + x * LANES + lane] = y
            at = variables[v, MESSAGES] + x * LANES + lane
            for j in range(variables[v, NUMBER], variables[v, NUMBER] + degree):
                is_low = y > numbers[ZERO] and y < floors[j]
                state = LOST if is_low and loses else state
                room[at] = one / k
                room[at + shift] = floors[j] if is_low else y
                at += k * LANES
    return state, log_scale


@kernel
def believe(room, lane, row, variables, shift, out):
    """Write the beliefs of a row; tell whether every variable has a state that is possible."""
    for v in range(variables.shape[0]):
        column, k, degree = variables[v, RESULT], variables[v, SIZE], variables[v, DEGREE]
        at = variables[v, MESSAGES] + (degree - 1) * k * LANES + lane
        total = 0.0
        for x in range(0, k * LANES, LANES):
            if degree > 0:
                total += np.float64(room[at + x]) * np.float64(room[at + shift + x])
            else:
                total += np.float64(room[variables[v, WEIGHTS] + x + lane])
        if not total > 0.0:
            return False
        for x in range(k if column >= 0 else 0):
            if degree > 0:
                y = np.float64(room[at + x * LANES]) * np.float64(room[at + shift + x * LANES])
            else:
                y = np.float64(room[variables[v, WEIGHTS] + x * LANES + lane])
            out[row, column + x] = y / total
    return True


@kernel
def log_of(number):
    """Give a logarithm, -inf for zero."""
    return math.log(number) if number > 0.0 else -math.inf


@kernel
def log_of_product(room, lane, variables, v, work, both):
    """Give the log of the sum, or the largest, of the product of all that a variable hears."""
    k, log_sum = variables[v, SIZE], 0.0
    for x in range(k):
        work[x] = room[variables[v, WEIGHTS] + x * LANES + lane]
    at = variables[v, MESSAGES] + lane
    for _ in range(variables[v, DEGREE]):
        total = 0.0
        for x in range(k):
            work[x] *= room[at + x * LANES]
            total += work[x]
        log_sum += log_of(total)
        for x in range(k):
            work[x] /= total if total > 0.0 else 1.0
        at += k * LANES
    best = 0.0
    for x in range(k):
        best = join(best, work[x], both)
    return log_sum + log_of(best)


@kernel
def log_of_table(room, lane, values, factor, slots, shift, both):
    """Give the log of the sum, or the largest, of a table times what its variables say."""
    first, stop, begin = factor
    cells, best = np.int64(1), 0.0
    for s in range(first, stop):
        cells *= slots[s, STATES]
    for c in range(cells):
        term, rest = np.float64(values[begin + c]), c
        for s in range(stop - 1, first - 1, -1):
            x = rest % slots[s, STATES]
            rest //= slots[s, STATES]
            term *= room[slots[s, PLACE] + shift + x * LANES + lane]
        best = join(best, term, both)
    return log_of(best)


@kernel
def log_of_rule(room, lane, values, kind, factor, slots, shift, both):
    """Give the log of the sum, or the largest, over the chain of a rule."""
    first, stop, begin = factor
    gate, flip = kind >= NOISY_OR, LANES if kind == NOISY_AND else 0
    n = stop - first - 1 if gate else stop - first
    leak = np.float64(values[begin + n]) if gate else 0.0
    a, b, log_sum = 1.0 - leak, leak, 0.0
    for j in range(n):
        p = np.float64(values[begin + j]) if gate else 0.0
        stay, rise, hold, drop = link(kind, p, 0.0, 1.0)
        said = slots[first + j, PLACE] + shift + lane
        off, on = np.float64(room[said + flip]), np.float64(room[said + LANES - flip])
        low, high = join(a * stay, b * drop, both), join(a * rise, b * hold, both)
        a, b = join(a * off, on * low, both), join(b * off, on * high, both)
        total = a + b
        if not total > 0.0:
            return -math.inf
        log_sum += math.log(total)
        a, b = a / total, b / total
    if gate:
        said = slots[first + n, PLACE] + shift + lane
        a, b = a * room[said + flip], b * room[said + LANES - flip]
    elif kind == EVEN:
        b = 0.0
    elif kind == ODD:
        a = 0.0
    return log_sum + log_of(join(a, b, both))


@kernel
def log_of_row(room, lane, values, variables, factors, slots, shift, work, both):
    """Give the Bethe estimate of the log of the sum, or of the largest product, of a row."""
    result = 0.0
    for v in range(variables.shape[0]):
        result += log_of_product(room, lane, variables, v, work, both)
    for f in range(factors.shape[0]):
        first, stop, kind = factors[f, FIRST], factors[f, STOP], factors[f, KIND]
        factor = (first, stop, factors[f, CELLS])
        if kind == TABLE:
            result += log_of_table(room, lane, values, factor, slots, shift, both)
        else:
            result += log_of_rule(room, lane, values, kind, factor, slots, shift, both)
        for s in range(first, stop):
            at, believed = slots[s, PLACE] + lane, 0.0
            for x in range(slots[s, STATES]):
                heard = np.float64(room[at + x * LANES])
                believed = join(believed, heard * room[at + shift + x * LANES], both)
            result -= log_of(believed)
    return result


@kernel
def decide(room, variables, shift, choice, work):
    """Choose for each row the most probable state of each variable that has messages."""
    for v in range(variables.shape[0]):
        k, degree = variables[v, SIZE], variables[v, DEGREE]
        if degree == 0:
            continue
        at = (variables[v, MESSAGES] + (degree - 1) * k * LANES) & FAR
        said, to = (at + shift) & FAR, (v * LANES) & FAR
        for lane in range(LANES):
            x = room[at + lane] * room[said + lane]
            y = room[at + LANES + lane] * room[said + LANES + lane] if k > 1 else x
            choice[to + lane] = 1 if y > x else 0
            work[lane] = max(x, y)
        for i in range(2, k):
            for lane in range(LANES):
                y = room[at + i * LANES + lane] * room[said + i * LANES + lane]
                choice[to + lane] = i if y > work[lane] else choice[to + lane]
                work[lane] = max(work[lane], y)


@kernel
def is_possible(values, kind, factor, slots, choice, lane):
    """Tell whether a noisy gate allows the chosen states of a row."""
    first, stop, begin = factor
    flip = 1 if kind == NOISY_AND else 0
    off, on = 1.0 - values[begin + stop - first - 1], np.float64(values[begin + stop - first - 1])
    for s in range(first, stop - 1):
        p = np.float64(values[begin + s - first])
        if choice[slots[s, VARIABLE] * LANES + lane] != flip:
            off, on = off * (1.0 - p), on + p * off
    return (on if choice[slots[stop - 1, VARIABLE] * LANES + lane] != flip else off) > 0.0


@kernel
def check(values, factors, slots, choice, lanes):
    """Mark the rows whose chosen states some factor forbids."""
    for lane in range(LANES):
        lanes[BROKEN, lane] = 0
    for f in range(factors.shape[0]):
        first, stop, kind = factors[f, FIRST], factors[f, STOP], factors[f, KIND]
        begin = factors[f, CELLS]
        for lane in range(LANES):
            lanes[TALLY, lane] = 0
        for s in range(first, stop):
            chosen = (slots[s, VARIABLE] * LANES) & FAR
            step = slots[s, STATES] if kind == TABLE else 1
            for lane in range(LANES):
                lanes[TALLY, lane] = lanes[TALLY, lane] * step + choice[chosen + lane]
        for lane in range(LANES):
            if kind == TABLE:
                wrong = not values[begin + lanes[TALLY, lane]] > 0
            elif kind <= ODD:
                wrong = (lanes[TALLY, lane] & 1) != (kind == ODD)
            elif kind == AT_MOST_ONE:
                wrong = lanes[TALLY, lane] > 1
            else:
                factor = (first, stop, begin)
                wrong = not is_possible(values, kind, factor, slots, choice, lane)
            lanes[BROKEN, lane] = 1 if wrong else lanes[BROKEN, lane]
