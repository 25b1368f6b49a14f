"""Slow twins of the value decisions, to be checked by eye. They import nothing from credo."""

import math
from itertools import pairwise

import numpy as np
from scipy.integrate import quad

LOSSES = {
    "squared": lambda v, t: (v - t) ** 2,
    "absolute": lambda v, t: abs(v - t),
    "pinball 0.8": lambda v, t: 0.8 * (t - v) if t > v else 0.2 * (v - t),
    "under 3, over 1": lambda v, t: 3.0 * (t - v) if t > v else 1.0 * (v - t),
    "linex 0.7": lambda v, t: math.exp(0.7 * (v - t)) - 0.7 * (v - t) - 1,
    "linex -0.4": lambda v, t: math.exp(-0.4 * (v - t)) + 0.4 * (v - t) - 1,
}


def expected_of_atoms(atoms, masses, loss, value):
    """Sum loss times probability over the atoms."""
    return math.fsum(m * loss(value, t) for t, m in zip(atoms, masses, strict=True))


def expected_of_density(pdf, loss, value, cuts):
    """Integrate loss times density between the cuts, and break at the value."""
    ends = sorted({*cuts, min(max(value, cuts[0]), cuts[-1])})
    return math.fsum(
        quad(lambda t: loss(value, t) * pdf(t), a, b, epsabs=0, epsrel=1e-11, limit=200)[0]
        for a, b in pairwise(ends)
    )


def expected_of_quantiles(levels, values, loss, value):
    """Integrate the loss over the probability: the quantile function is linear in between."""
    total = levels[0] * loss(value, values[0]) + (1 - levels[-1]) * loss(value, values[-1])
    for (p, q), (a, b) in zip(pairwise(levels), pairwise(values), strict=True):
        cut = (value - a) / (b - a) if a < value < b else 0.5
        for low, high in ((0.0, cut), (cut, 1.0)):
            part = quad(lambda s, a=a, b=b: loss(value, a + s * (b - a)), low, high)[0]
            total += (q - p) * part
    return total


def best_by_grid(risk, low, high, rounds=12, points=41):
    """Narrow a dense grid around its best point, again and again."""
    for _ in range(rounds):
        grid = np.linspace(low, high, points)
        i = int(np.argmin([risk(v) for v in grid]))
        low, high = grid[max(i - 1, 0)], grid[min(i + 1, points - 1)]
    return 0.5 * (low + high)
