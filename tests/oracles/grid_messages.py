"""Messages between two neighbours of a grid: every pair of labels, one after the other.

A pixel at a time: ``q``, ``message`` and results are lists over labels. Sums are exact
(``math.fsum``) over products, which are rounded three times.
"""

import math


def difference(kind, a, b):
    """What an edge without a limit and with s = 1 costs."""
    if kind == "potts":
        return float(a != b)
    return abs(a - b) if kind == "linear" else (a - b) ** 2


def reach_of(kind, k, limit):
    """Count the differences of labels, from one on, whose cost is below the limit."""
    return sum(difference(kind, 0, m) < limit for m in range(1, k))


def new_sum(kind, q, decay, floor):
    """Sum over the sender's labels; the message sums to one."""
    k = len(q)

    def weight(a, b):
        power = decay ** difference(kind, a, b)
        return power if kind == "potts" else max(power, floor)

    top = max(q)
    new = [math.fsum(weight(a, b) * (q[b] / top) for b in range(k)) for a in range(k)]
    return [x / math.fsum(new) for x in new]


def new_max(kind, q, slope, limit):
    """Maximise over the sender's labels; the largest entry is zero."""
    k = len(q)

    def cost(a, b):
        unlimited = difference(kind, a, b)
        return slope * (unlimited if kind == "potts" else min(unlimited, limit))

    new = [max(q[b] - cost(a, b) for b in range(k)) for a in range(k)]
    return [x - max(new) for x in new]


def mixed(new, old, eta):
    """Mix with the old message."""
    return [eta * x + (1 - eta) * y for x, y in zip(new, old, strict=True)]
