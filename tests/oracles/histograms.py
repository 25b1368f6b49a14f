"""Slow twins of histograms: cuts, densities and the choice of a family, one number at a time."""

import math
from itertools import pairwise

import numpy as np
from scipy import stats
from sklearn.naive_bayes import GaussianNB


def entropy(labels):
    """Bits per label."""
    shares = [labels.count(k) / len(labels) for k in set(labels)]
    return -sum(p * math.log2(p) for p in shares)


def mdl_cuts(values, labels):
    """Fayyad and Irani's cuts: the best one if it pays, then those on either side of it."""
    pairs = list(zip(values, labels, strict=True))
    n, everything = len(pairs), [label for _, label in pairs]
    best = None
    distinct = sorted(set(values))
    for low, high in pairwise(distinct):
        left = [label for value, label in pairs if value <= low]
        right = [label for value, label in pairs if value >= high]
        mean = (len(left) * entropy(left) + len(right) * entropy(right)) / n
        if best is None or mean < best[0] - 1e-12:
            best = mean, low, high, left, right
    if best is None:
        return []
    mean, low, high, left, right = best
    k, k1, k2 = (len(set(part)) for part in (everything, left, right))
    delta = math.log2(3**k - 2)
    delta -= k * entropy(everything) - k1 * entropy(left) - k2 * entropy(right)
    if entropy(everything) - mean <= (math.log2(n - 1) + delta) / n:
        return []
    lower = [(value, label) for value, label in pairs if value <= low]
    upper = [(value, label) for value, label in pairs if value >= high]
    return [
        *mdl_cuts(*zip(*lower, strict=True)),
        (low + high) / 2,
        *mdl_cuts(*zip(*upper, strict=True)),
    ]


def equal_cuts(values, n):
    """Cut where the cells of mid-ranks change: a value's rows below it, and half of its own."""
    distinct = sorted(set(values))
    ranks = [
        sum(v < each for v in values) + sum(v == each for v in values) / 2 for each in distinct
    ]
    cells = [math.floor(n * rank / len(values)) for rank in ranks]
    pairs = zip(distinct, distinct[1:], cells, cells[1:], strict=False)
    return [(low + high) / 2 for low, high, a, b in pairs if a != b]


def cell_of(x, cuts):
    """Number of the cell, the last one that begins at or below x."""
    return sum(cut <= x for cut in cuts)


def histogram_log_density(x, edges, probabilities, tails):
    """Log density by the cell that x is in."""
    c = min(max(sum(edge <= x for edge in edges) - 1, 0), len(probabilities) - 1)
    left, right = edges[c], edges[c + 1]
    peer = _piece(c, left, right, len(probabilities), tails)
    with np.errstate(divide="ignore"):
        return float(np.log(probabilities[c]) + peer.logpdf(x))


def _piece(c, left, right, n, tails):
    """The distribution within a cell, of SciPy."""
    width = right - left
    if tails and n == 1:
        return stats.laplace((left + right) / 2, width / 2)
    if tails and c == 0:  # minus an exponential
        return _Mirrored(right, width)
    if tails and c == n - 1:
        return stats.expon(left, width)
    return stats.uniform(left, width)


class _Mirrored:
    """An exponential to the left of a point."""

    def __init__(self, right, scale):
        self.right, self.peer = right, stats.expon(0, scale)

    def logpdf(self, x):
        return self.peer.logpdf(self.right - x)

    def moment(self, order):
        signs = [(-1) ** j * math.comb(order, j) for j in range(order + 1)]
        return sum(s * self.right ** (order - j) * self.peer.moment(j) for j, s in enumerate(signs))


def histogram_moments(edges, probabilities, tails):
    """Mean, variance and excess kurtosis of a batch, from the moments of the pieces."""
    edges, probabilities = np.atleast_2d(edges), np.atleast_2d(probabilities)
    found = []
    for e, p, fade in zip(edges, probabilities, np.atleast_1d(tails), strict=True):
        cells = range(len(p))
        pieces = [_piece(c, e[c], e[c + 1], len(p), fade) for c in cells]
        raw = [sum(p[c] * pieces[c].moment(order) for c in cells) for order in range(1, 5)]
        mean, variance = raw[0], raw[1] - raw[0] ** 2
        fourth = raw[3] - 4 * mean * raw[2] + 6 * mean**2 * raw[1] - 3 * mean**4
        found.append((mean, variance, fourth / variance**2 - 3))
    return tuple(np.array(found).T)


def left_out_losses(x, y, cuts, alpha=1.0, target="uniform"):
    """Mean -log p(y | x) of a Gaussian and of cells, each fitted again without each row."""
    x, y = np.asarray(x), np.asarray(y)
    cells = np.array([cell_of(v, cuts) for v in x])
    gaussian, histogram = [], []
    for i in range(len(x)):
        rest = np.arange(len(x)) != i
        classes = sorted(set(y[rest].tolist()))
        k = classes.index(y[i])
        peer = GaussianNB(var_smoothing=0).fit(x[rest][:, None], y[rest])
        gaussian.append(-peer.predict_log_proba(x[i : i + 1, None])[0, k])
        joint = []
        for each in classes:
            mine = cells[rest][y[rest] == each]
            size = len(cuts) + 1
            goal = 1 / size
            if target == "marginal":
                goal = (np.sum(cells == cells[i]) + alpha) / (len(x) + alpha * size)
            share = (np.sum(mine == cells[i]) + alpha * size * goal) / (len(mine) + alpha * size)
            joint.append(len(mine) * share)
        histogram.append(math.log(sum(joint)) - math.log(joint[k]))
    return float(np.mean(gaussian)), float(np.mean(histogram))
