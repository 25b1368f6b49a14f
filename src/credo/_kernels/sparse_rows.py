"""Sums over sparse rows: counts by class, and linear scores."""

import math

import numpy as np

from credo._kernels.tiers import kernel


@kernel
def first_fault(values, most, whole):
    """Give where the first value is that is not from 0 to ``most``, or not whole; else -1."""
    faults = 0
    for i in range(len(values)):  # counted first, without a way out: that is vectorised
        value = values[i]
        faults += not (0.0 <= value <= most and (not whole or value == math.floor(value)))
    if faults == 0:
        return -1
    for i in range(len(values)):
        value = values[i]
        if not (0.0 <= value <= most and (not whole or value == math.floor(value))):
            return i
    return -1


@kernel
def add_counts(starts, columns, values, codes, weights, counts):
    """Add weight × value of each entry to its class and column, counts being (K, D)."""
    for row in range(len(codes)):
        weight = weights[row]
        into = counts[codes[row]]
        for entry in range(starts[row], starts[row + 1]):
            into[columns[entry]] += weight * values[entry]


@kernel
def add_scores(starts, columns, values, table, scores):
    """Add Σ value × table row to the scores (K, B) of each row, four entries at a time.

    Four rows of a large table are then fetched at once; unsigned positions need no test for
    counting from the end.
    """
    n_classes = table.shape[1]
    total = np.zeros(n_classes)
    one, two, three, four = np.uintp(1), np.uintp(2), np.uintp(3), np.uintp(4)
    for row in range(scores.shape[1]):
        total[:] = 0.0
        entry, end = np.uintp(starts[row]), np.uintp(starts[row + 1])
        while entry + four <= end:
            a, b, c, d = entry, entry + one, entry + two, entry + three
            i, j, k, m = columns[a], columns[b], columns[c], columns[d]
            first, second = np.uintp(i), np.uintp(j)
            third, fourth = np.uintp(k), np.uintp(m)
            p, q, r, s = values[a], values[b], values[c], values[d]
            for each in range(n_classes):
                total[each] += (
                    p * table[first, each]
                    + q * table[second, each]
                    + r * table[third, each]
                    + s * table[fourth, each]
                )
            entry += four
        while entry < end:
            column, value = np.uintp(columns[entry]), values[entry]
            for each in range(n_classes):
                total[each] += value * table[column, each]
            entry += one
        for each in range(n_classes):
            scores[each, row] += total[each]
