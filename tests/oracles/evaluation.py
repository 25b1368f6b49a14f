"""Slow twins of the evaluations, to be checked by eye. They import nothing from credo."""

import math


def mean(values, weights):
    """Weighted mean, by a loop."""
    return sum(w * v for w, v in zip(weights, values, strict=True)) / sum(weights)


def mean_loss(truth, acts, matrix, weights):
    """Weighted mean of matrix[truth][act]."""
    return mean([matrix[k][a] for k, a in zip(truth, acts, strict=True)], weights)


def best_constant(truth, matrix, weights):
    """Find the first act with the least mean loss if always taken."""
    n_acts = len(matrix[0])
    means = [mean_loss(truth, [a] * len(truth), matrix, weights) for a in range(n_acts)]
    return means.index(min(means)), min(means)


def counts(truth, acts, weights, shape):
    """Sum weights by truth and act."""
    table = [[0.0] * shape[1] for _ in range(shape[0])]
    for k, a, w in zip(truth, acts, weights, strict=True):
        table[k][a] += w
    return table


def risk_coverage(doubt, losses, weights):
    """List (coverage, risk, threshold) for each distinct doubt, by scanning all rows each time."""
    points = []
    for limit in sorted(set(doubt)):
        inside = [i for i, d in enumerate(doubt) if d <= limit]
        weight = sum(weights[i] for i in inside)
        total = sum(weights[i] * losses[i] for i in inside)
        points.append((weight / sum(weights), total / weight, limit))
    return points


def bins(p, z, weights, edges):
    """List (low, high, weight, mean p, mean z) of the bins (low, high] that hold some row."""
    found = []
    last = len(edges) - 2
    for b in range(len(edges) - 1):
        low, high = edges[b], edges[b + 1]
        inside = [
            i
            for i, value in enumerate(p)
            if (value > low or b == 0) and (value <= high or b == last)
        ]
        if inside:
            w = [weights[i] for i in inside]
            found.append(
                (
                    low,
                    high,
                    sum(w),
                    mean([p[i] for i in inside], w),
                    mean([z[i] for i in inside], w),
                )
            )
    return found


def brier(p, truth, weights):
    """Weighted mean over rows of the squared errors summed over labels."""
    errors = [
        sum((row[k] - (k == true)) ** 2 for k in range(len(row)))
        for row, true in zip(p, truth, strict=True)
    ]
    return mean(errors, weights)


def log_loss(p, truth, weights):
    """Weighted mean of minus the log of the truth's probability."""
    return mean([-math.log(row[k]) for row, k in zip(p, truth, strict=True)], weights)


def net_benefit(p, positive, weights, t):
    """True positives minus false ones times the odds of t, per row; p >= t acts."""
    n = sum(weights)
    hits = sum(w for w, v, z in zip(weights, p, positive, strict=True) if z and v >= t)
    alarms = sum(w for w, v, z in zip(weights, p, positive, strict=True) if not z and v >= t)
    return hits / n - alarms / n * t / (1 - t)


def error_rates(acted, positive, weights):
    """Give the rate of misses among positives and of alarms among negatives."""
    missed = sum(w for w, a, z in zip(weights, acted, positive, strict=True) if z and not a)
    alarms = sum(w for w, a, z in zip(weights, acted, positive, strict=True) if a and not z)
    n_positive = sum(w for w, z in zip(weights, positive, strict=True) if z)
    return missed / n_positive, alarms / (sum(weights) - n_positive)


def bayes_cost(p, positive, weights, x):
    """Cost at condition x of acting where p (1 - share) x >= (1 - p) share (1 - x)."""
    share = sum(w for w, z in zip(weights, positive, strict=True) if z) / sum(weights)
    acted = [v * (1 - share) * x >= (1 - v) * share * (1 - x) for v in p]
    missed, alarms = error_rates(acted, positive, weights)
    return missed * x + alarms * (1 - x)


def least_cost(p, positive, weights, x):
    """Least cost at condition x over all thresholds on p."""
    costs = []
    for t in [*p, math.inf]:
        missed, alarms = error_rates([v >= t for v in p], positive, weights)
        costs.append(missed * x + alarms * (1 - x))
    return min(costs)


def share_of_ordered_pairs(p, truth, weights):
    """Weighted share of (positive, negative) pairs in the right order; a tie counts half."""
    right = total = 0.0
    rows = list(zip(p, truth, weights, strict=True))
    for a, positive, v in rows:
        for b, other, w in rows:
            if positive and not other:
                total += v * w
                right += v * w * ((a > b) + (a == b) / 2)
    return right / total
