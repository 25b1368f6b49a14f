"""Slow twins of maxima: all products, all cuts, paths; and random fields. Nothing from credo."""

import itertools
import math
from fractions import Fraction

import numpy as np


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


def cut_value(source, sink, edges, capacity, reverse, with_source):
    """The cost of a cut, written out edge by edge, with no rounding."""
    total = Fraction(0)
    for i, near in enumerate(with_source):
        total += _exact(sink[i] if near else source[i])
    for (i, j), there, back in zip(edges, capacity, reverse, strict=True):
        if with_source[i] and not with_source[j]:
            total += _exact(there)
        if with_source[j] and not with_source[i]:
            total += _exact(back)
    return total


def _exact(value):
    """A number without rounding; infinity as more than any sum of what the tests use."""
    return Fraction(10) ** 30 if value == np.inf else Fraction(float(value))


def least_cuts(source, sink, edges, capacity, reverse):
    """The least value of all cuts, and the sets of nodes with the source that attain it."""
    values = {
        nodes: cut_value(source, sink, edges, capacity, reverse, nodes)
        for nodes in itertools.product([False, True], repeat=len(source))
    }
    least = min(values.values())
    return least, [nodes for nodes, value in values.items() if value == least]


def random_network(rng, most=7):
    """Terminals and edges with small whole capacities, so that ties are common; some infinite."""
    n = int(rng.integers(1, most + 1))
    m = int(rng.integers(0, 3 * n))
    edges = rng.integers(0, n, (m, 2))
    sizes = [rng.integers(0, 5, k).astype(float) for k in (n, n, m, m)]
    if rng.random() < 0.4:
        for size in sizes:
            size[rng.random(len(size)) < 0.15] = np.inf
    return sizes[0], sizes[1], edges, sizes[2], sizes[3]


def attractive_table(rng, zeros):
    """A table of two states whose diagonal product is not the smaller one."""
    table = rng.uniform(0.05, 1.5, (2, 2))
    if zeros:
        table[rng.random((2, 2)) < 0.3] = 0.0
    if table[0, 0] * table[1, 1] < table[0, 1] * table[1, 0]:
        table = table[::-1]
    return table


def random_field(rng, *, flipped, most=8):
    """Factors of one or two variables of two states that attract, some after swapping states."""
    n = int(rng.integers(1, most + 1))
    flip = rng.random(n) < (0.5 if flipped else 0.0)
    zeros = rng.random() < 0.5
    factors = []
    for _ in range(int(rng.integers(0, 2 * n + 2))):
        axes = rng.permutation(n)[: int(rng.integers(1, min(n, 2) + 1))].tolist()
        table = attractive_table(rng, zeros) if len(axes) == 2 else rng.uniform(0.05, 1.0, 2)
        for axis, variable in enumerate(axes):
            table = np.flip(table, axis) if flip[variable] else table
        if table.any():
            factors.append((axes, table))
    return (2,) * n, factors
