"""Gaussians in exact rational arithmetic: every number is a Fraction until the last logarithm."""

from fractions import Fraction
from math import log, pi

import numpy as np

LINEAR = ("tied", "tied_diagonal", "tied_spherical")


def exact(value):
    """Give a Fraction, or None for what is missing."""
    return None if value is None or value != value else Fraction(value)  # noqa: PLR0124 - NaN


def log_of(value):
    """Give the logarithm of a Fraction that may not fit a float."""
    return log(value.numerator) - log(value.denominator) if value > 0 else -np.inf


def solve(matrix, columns):
    """Solve a positive definite system for several right-hand sides; give the determinant too."""
    work = [[*row, *extra] for row, extra in zip(matrix, columns, strict=True)]
    determinant = Fraction(1)
    for i in range(len(work)):
        determinant *= work[i][i]
        if determinant == 0:
            return None, determinant
        pivot = work[i] = [v / work[i][i] for v in work[i]]
        for r, row in enumerate(work):
            if r != i:
                work[r] = [a - row[i] * b for a, b in zip(row, pivot, strict=True)]
    return [row[len(matrix) :] for row in work], determinant


def weighted_mean(pairs):
    """Give Σ w x / Σ w."""
    return sum(w * x for x, w in pairs) / sum(w for _, w in pairs)


def scatters(rows, weights):
    """Give means, and the scatter and the weight of each pair of features observed together."""
    columns = list(zip(*rows, strict=True))
    seen = [[(x, w) for x, w in zip(c, weights, strict=True) if x is not None] for c in columns]
    means = [weighted_mean(pairs) for pairs in seen]
    gaps = [[None if x is None else x - m for x in c] for c, m in zip(columns, means, strict=True)]

    def total(p, q, count):
        triples = zip(p, q, weights, strict=True)
        return sum(
            (w if count else w * a * b for a, b, w in triples if None not in (a, b)), Fraction(0)
        )

    return means, *([[total(p, q, c) for q in gaps] for p in gaps] for c in (False, True))


def covariances(parts, shape):
    """Give the covariance matrix of each class, from its means, scatter and weights."""
    size, n = len(parts[0][0]), len(parts)
    every = range(size)
    scatter, weight = [s for _, s, _ in parts], [w for _, _, w in parts]
    if shape in LINEAR:
        scatter, weight = (
            [[[sum(m[i][j] for m in each) for j in every] for i in every]] * n
            for each in (scatter, weight)
        )
    if "spherical" in shape:
        radii = [
            sum(s[j][j] for j in every) / sum(w[j][j] for j in every)
            for s, w in zip(scatter, weight, strict=True)
        ]
        return [[[r * (i == j) for j in every] for i in every] for r in radii]
    keep = "diagonal" not in shape
    return [
        [[s[i][j] / w[i][j] if keep or i == j else Fraction(0) for j in every] for i in every]
        for s, w in zip(scatter, weight, strict=True)
    ]


def distance(row, mean, covariance):
    """Give the squared distance, the determinant, and the number of the observed entries."""
    seen = [j for j, x in enumerate(row) if x is not None]
    gap = [row[j] - mean[j] for j in seen]
    block = [[covariance[i][j] for j in seen] for i in seen]
    pulled, determinant = solve(block, [[g] for g in gap])
    return sum(g * p[0] for g, p in zip(gap, pulled, strict=True)), determinant, len(seen)


def log_normal(row, mean, covariance):
    """Give the log density of the observed entries."""
    q, determinant, n = distance(row, mean, covariance)
    return -0.5 * (float(q) + log_of(determinant) + n * log(2 * pi))


def predict_last(row, mean, covariance):
    """Give mean and variance of the last entry, given those of the others that are observed."""
    seen = [j for j, x in enumerate(row) if x is not None]
    cross = [covariance[-1][j] for j in seen]
    pulled, _ = solve([[covariance[i][j] for j in seen] for i in seen], [[c] for c in cross])
    slopes = [p[0] for p in pulled]
    move = sum(b * (row[j] - mean[j]) for b, j in zip(slopes, seen, strict=True))
    left = covariance[-1][-1] - sum(b * c for b, c in zip(slopes, cross, strict=True))
    return mean[-1] + move, left
