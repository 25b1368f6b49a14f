"""Models in exact rational arithmetic: every number is a Fraction until the last logarithm."""

from fractions import Fraction
from math import factorial, log, pi, prod

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


# --- Gaussians -------------------------------------------------------------------------------


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


# --- families of naive Bayes -----------------------------------------------------------------


def shares(counts, alpha, target):
    """Give (n_c + α C t_c) / (n + α C)."""
    size = len(counts)
    total = sum(counts) + alpha * size
    return [(n + alpha * size * t) / total for n, t in zip(counts, target, strict=True)]


def shares_of(groups, alpha, marginal):
    """Give the smoothed shares of each class from its counts."""
    target = [Fraction(1, len(groups[0]))] * len(groups[0])
    if marginal:
        target = shares([sum(column) for column in zip(*groups, strict=True)], alpha, target)
    return [shares(counts, alpha, target) for counts in groups]


def counted(pairs, values):
    """Give the weight of each value."""
    return [sum((w for x, w in pairs if x == value), Fraction(0)) for value in values]


def bernoulli(groups, alpha, marginal):
    tables = shares_of([counted(pairs, [0, 1]) for pairs in groups], alpha, marginal)
    return [lambda x, p=p: log_of(p[int(x)]) for p in tables]


def categorical(groups, alpha, marginal):
    """One place more than there are values, for those that were not seen."""
    values = sorted({x for pairs in groups for x, _ in pairs})
    tables = shares_of(
        [[*counted(pairs, values), Fraction(0)] for pairs in groups], alpha, marginal
    )
    places = {value: i for i, value in enumerate(values)}
    return [lambda x, p=p: log_of(p[places.get(x, -1)]) for p in tables]


def multinomial(groups, alpha, marginal):
    size = len(groups[0][0][0])
    totals = [[sum(w * x[c] for x, w in pairs) for c in range(size)] for pairs in groups]

    def density(p, x):
        coefficient = factorial(int(sum(x))) // prod(factorial(int(n)) for n in x)
        return log(coefficient) + sum(float(n) * log_of(q) for n, q in zip(x, p, strict=True) if n)

    return [lambda x, p=p: density(p, x) for p in shares_of(totals, alpha, marginal)]


def pulled_means(groups, alpha, extra):
    """Give means with α more observations of the mean of all, itself with ``extra`` ones."""
    every = [pair for pairs in groups for pair in pairs]
    overall = (sum(w * x for x, w in every) + extra) / (sum(w for _, w in every) + extra)
    return [
        (sum(w * x for x, w in pairs) + alpha * overall) / (sum(w for _, w in pairs) + alpha)
        for pairs in groups
    ]


def poisson(groups, alpha, _marginal):
    rates = pulled_means(groups, alpha, alpha)
    return [lambda x, r=r: float(x) * log_of(r) - float(r) - log(factorial(int(x))) for r in rates]


def exponential(groups, alpha, _marginal):
    return [
        lambda x, m=m: -log_of(m) - float(x / m) for m in pulled_means(groups, alpha, Fraction(0))
    ]


def gaussian(groups, _alpha, _marginal):
    found = [scatters([[x] for x, _ in pairs], [w for _, w in pairs]) for pairs in groups]
    return [lambda x, m=m, s=s, w=w: log_normal([x], m, [[s[0][0] / w[0][0]]]) for m, s, w in found]


def multivariate_gaussian(groups, _alpha, _marginal):
    found = [scatters([x for x, _ in pairs], [w for _, w in pairs]) for pairs in groups]
    full = covariances(found, "full")
    return [
        lambda x, m=m, c=c: log_normal(x, m, c) for (m, _, _), c in zip(found, full, strict=True)
    ]


def laplace(groups, _alpha, _marginal):
    """For whole weights: the median of the repeated values."""
    found = []
    for pairs in groups:
        values = sorted(x for x, w in pairs for _ in range(int(w)))
        middle = (values[(len(values) - 1) // 2] + values[len(values) // 2]) / 2
        found.append((middle, sum(abs(x - middle) for x in values) / len(values)))
    return [lambda x, m=m, b=b: -log_of(2 * b) - float(abs(x - m) / b) for m, b in found]


FAMILIES = {
    f.__name__: f
    for f in (
        *(bernoulli, categorical, multinomial, poisson, exponential),
        *(gaussian, multivariate_gaussian, laplace),
    )
}


def naive_log_joint(table, labels, weights, families, asked, *, alpha, marginal):
    """Give log p(x, k); keys of families are columns or tuples of them."""
    classes = sorted(set(labels))
    of = [sum(w for y, w in zip(labels, weights, strict=True) if y == k) for k in classes]
    joint = [[log_of(n / sum(of)) for n in of] for _ in asked]

    def event(row, key):
        """Give what is observed of a column or group; part of it says something to Gaussians."""
        if not isinstance(key, tuple):
            return row[key]
        cells = [row[j] for j in key]
        some = all if families[key] == "multivariate_gaussian" else any
        return None if some(cell is None for cell in cells) else cells

    for key, family in families.items():
        groups = [
            [
                (event(row, key), w)
                for row, y, w in zip(table, labels, weights, strict=True)
                if y == k and event(row, key) is not None
            ]
            for k in classes
        ]
        densities = FAMILIES[family](groups, alpha, marginal)
        for row, found in zip(asked, joint, strict=True):
            x = event(row, key)
            for k, density in enumerate(densities):
                found[k] += 0.0 if x is None else density(x)
    return np.array(joint)
