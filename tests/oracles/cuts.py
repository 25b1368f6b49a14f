"""Slow twins of cuts: all cuts written out, and random fields that a cut solves."""

import itertools
from fractions import Fraction

import numpy as np


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


def grid_edges(rows, columns):
    """The pairs of neighbours on a grid."""
    site = np.arange(rows * columns).reshape(rows, columns)
    across = np.column_stack([site[:, :-1].ravel(), site[:, 1:].ravel()])
    down = np.column_stack([site[:-1].ravel(), site[1:].ravel()])
    return np.vstack([across, down])
