"""Products and sums of clique tables with messages, by loops that follow the tables' memory.

A message lies in a table as a few loops, outermost first: ``lengths[first:stop]`` with its strides
in the message, 0 where it is summed out. Offsets are passed, not slices, and counts start as
``np.int64``: slices compile slowly, and a literal that is passed on compiles its callee again.
"""

from __future__ import annotations

import math

import numpy as np

from credo._kernels.tiers import kernel

#: A product of positive numbers below this may be a zero that was not one: the least normal
#: float64 is 2.2e-308, and a table of 1e15 cells still sums its terms above it without loss.
TINY = 1e-290
LOG_2 = math.log(2.0)


@kernel
def advance(m, lengths, strides, first, k, counters):
    """Move to the message's next run, as an odometer does, turning loop k first."""
    while k >= first:
        counters[k - first] += 1
        m += strides[k]
        if counters[k - first] < lengths[k]:
            break
        m -= strides[k] * lengths[k]
        counters[k - first] = 0
        k -= 1
    return m


@kernel
def multiply(target, source, t, message, m, lengths, strides, first, stop, counters):
    """Set target[t:] = source[t:] * message[m:], broadcast over the loops."""
    g = stop - first
    n1 = lengths[stop - 1] if g > 0 else 1
    inside = g > 0 and strides[stop - 1] > 0
    n2 = lengths[stop - 2] if g > 1 else 1
    step = strides[stop - 2] if g > 1 else 0
    outer = 1
    for k in range(first, stop - 2):
        outer *= lengths[k]
        counters[k - first] = 0
    for _ in range(outer):
        i = m
        for _j in range(n2):
            if inside:
                for k in range(n1):
                    target[t + k] = source[t + k] * message[i + k]
            else:
                x = message[i]
                for k in range(n1):
                    target[t + k] = source[t + k] * x
            t += n1
            i += step
        k = stop - 3
        while k >= first:  # as in ``advance``, written out: a call would cost as much as the run
            counters[k - first] += 1
            m += strides[k]
            if counters[k - first] < lengths[k]:
                break
            m -= strides[k] * lengths[k]
            counters[k - first] = 0
            k -= 1


@kernel
def multiply_watched(target, t, message, m, lengths, strides, first, stop, counters):
    """Multiply a message into target[t:]; tell whether a positive product fell below TINY."""
    outer = 1
    for k in range(first, stop):
        outer *= lengths[k]
        counters[k - first] = 0
    lost = False
    for i in range(t, t + outer):
        x = target[i] * message[m]
        if x < TINY and target[i] > 0.0 and message[m] > 0.0:
            lost = True
        target[i] = x
        m = advance(m, lengths, strides, first, stop - 1, counters)
    return lost


@kernel
def add_up(source, s, message, cells, lengths, strides, first, stop, counters):
    """Set message[:cells] to the sums of source[s:] over the loops outside it."""
    for k in range(cells):
        message[k] = 0.0
    g = stop - first
    n1 = lengths[stop - 1] if g > 0 else 1
    inside = g > 0 and strides[stop - 1] > 0
    n2 = lengths[stop - 2] if g > 1 else 1
    step = strides[stop - 2] if g > 1 else 0
    outer = 1
    for k in range(first, stop - 2):
        outer *= lengths[k]
        counters[k - first] = 0
    m = np.int64(0)
    for _ in range(outer):
        i = m
        for _j in range(n2):
            if inside:
                for k in range(n1):
                    message[i + k] += source[s + k]
            else:
                x = 0.0
                for k in range(n1):
                    x += source[s + k]
                message[i] += x
            s += n1
            i += step
        k = stop - 3
        while k >= first:  # as in ``advance``, written out: a call would cost as much as the run
            counters[k - first] += 1
            m += strides[k]
            if counters[k - first] < lengths[k]:
                break
            m -= strides[k] * lengths[k]
            counters[k - first] = 0
            k -= 1


@kernel
def rescale(table, start, stop):
    """Scale table[start:stop] to maximum one; give the old maximum and the new least positive."""
    largest = 0.0
    smallest = np.inf
    for i in range(start, stop):
        x = table[i]
        largest = max(largest, x)
        if 0.0 < x < smallest:
            smallest = x
    if largest == 0.0:
        return 0.0, 1.0
    if largest != 1.0:
        for i in range(start, stop):
            table[i] /= largest
    return largest, smallest / largest


@kernel
def absorb(
    target, source, t, end, message, m, smallest, low, k, lengths, strides, first, stop, counters
):
    """Set target[t:end] = source[t:end] * message, whose least positive cell is ``smallest``.

    The table's own is at least low[k]. Where the product could fall below what float64 holds, the
    table is scaled first and, if that is not enough, watched. Gives whether a term was lost, and
    what the table was divided by.
    """
    if low[k] * smallest >= TINY:
        multiply(target, source, t, message, m, lengths, strides, first, stop, counters)
        low[k] *= smallest
        return False, 1.0
    for i in range(t, end):
        target[i] = source[i]
    largest, least = rescale(target, t, end)
    low[k] = max(least * smallest, TINY)
    lost = multiply_watched(target, t, message, m, lengths, strides, first, stop, counters)
    return lost, largest


@kernel
def count_in(product, x):
    """Multiply a number into a product kept as mantissa and exponent of two.

    A hundred thousand logs of scales, added up, would lose six digits of log Z.
    """
    if not 1e-100 < x < 1e100:
        x, e = math.frexp(x)
        product[1] += e
    product[0] *= x
    if not 1e-100 < product[0] < 1e100:
        product[0], e = math.frexp(product[0])
        product[1] += e


@kernel
def log_of(product):
    """Give the logarithm of a product kept as mantissa and exponent, of zero too."""
    if product[0] == 0.0:
        return -np.inf
    return math.log(product[0]) + product[1] * LOG_2
