"""Slow twins of maxima on graphs: write out the product of all factors. Nothing from credo."""

import itertools
import math

import numpy as np


def log_product(shape, factors):
    """The log of the product of tables, each given as (axes, table), over all configurations."""
    total = np.zeros(shape)
    for axes, table in factors:
        with np.errstate(divide="ignore"):
            logs = np.log(np.asarray(table, float))
        order = np.argsort(axes)
        spread = [shape[axis] if axis in axes else 1 for axis in range(len(shape))]
        total = total + logs.transpose(order).reshape(spread)
    return total


def best_configurations(logs, close=1e-9):
    """The maximum, and all configurations that attain it up to a relative distance."""
    largest = logs.max()
    return largest, [tuple(map(int, c)) for c in np.argwhere(logs >= largest - close)]


def tied_axes(configurations):
    """The axes on which configurations differ."""
    return [axis for axis, states in enumerate(zip(*configurations, strict=True))
            if len(set(states)) > 1]  # fmt: skip


def max_marginal(logs, axis):
    """The largest entry for each state of one axis."""
    return logs.max(axis=tuple(a for a in range(logs.ndim) if a != axis))


def viterbi(initial, transition, weights):
    """The best path of a hidden Markov chain with weights on its states, and its log score."""
    with np.errstate(divide="ignore"):
        log_step, log_weights = np.log(transition), np.log(weights)
        score = np.log(initial) + log_weights[0]
    came_from = np.empty(weights.shape, int)
    for t in range(1, len(weights)):
        paths = score[:, None] + log_step
        came_from[t] = paths.argmax(axis=0)
        score = paths.max(axis=0) + log_weights[t]
    path = [int(score.argmax())]
    for t in range(len(weights) - 1, 0, -1):
        path.append(int(came_from[t, path[-1]]))
    path.reverse()
    steps = [math.log(transition[a, b]) for a, b in itertools.pairwise(path)]
    seen = [math.log(weights[t, x]) for t, x in enumerate(path)]
    return path, math.fsum([math.log(initial[path[0]]), *steps, *seen])


def random_factors(rng):
    """A small random graph with zeros, equal entries, one-state variables and repeated factors."""
    n = int(rng.integers(1, 8))
    shape = tuple(int(k) for k in rng.choice([1, 2, 2, 2, 3, 4], size=n))
    kind = rng.integers(3)
    factors = []
    for _ in range(int(rng.integers(0, 9))):
        axes = rng.permutation(n)[: int(rng.integers(1, min(n, 4) + 1))].tolist()
        size = tuple(shape[axis] for axis in axes)
        table = rng.integers(1, 4, size) / 10 if kind == 0 else rng.uniform(0.01, 2.0, size)
        if kind == 2:
            table = np.where(rng.random(size) < 0.25, 0.0, table)
        table = np.where(table.sum() > 0, table, 1.0)
        factors.append((axes, table))
        if rng.random() < 0.15:
            factors.append((axes, table))
    return shape, factors


def dense_factors(rng):
    """Every pair of nine variables, and some triples: one clique of at least 512 cells."""
    shape = tuple(int(k) for k in rng.choice([2, 2, 2, 3], size=9))
    scopes = [list(pair) for pair in itertools.combinations(range(9), 2)]
    scopes += [rng.permutation(9)[:3].tolist() for _ in range(4)]
    is_coarse = rng.random() < 0.5
    factors = []
    for axes in scopes:
        size = tuple(shape[axis] for axis in axes)
        table = rng.integers(1, 3, size) / 2 if is_coarse else rng.uniform(0.1, 2.0, size)
        factors.append((axes, np.where(rng.random(size) < 0.02, 0.0, table)))
    return shape, factors
