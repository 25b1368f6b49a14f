"""Fields on grids by plain loops over pixels and joint states, from the definitions only."""

import itertools
import math

import numpy as np

#: The unit log potential of positions a and b, by the name of the smoothness.
UNITS = {
    "Ising": lambda a, b, _: 1.0 if a == b else -1.0,
    "Potts": lambda a, b, _: 1.0 if a == b else 0.0,
    "TruncatedLinear": lambda a, b, limit: -min(abs(a - b), limit),
    "TruncatedQuadratic": lambda a, b, limit: -min((a - b) ** 2, limit),
}


def edges(shape, neighbours):
    """Per axis a list of (entry, lower pixel, upper pixel), in row-major order."""
    found = [_straight(shape, axis) for axis in range(len(shape))]
    if neighbours == 8:
        height, width = shape
        places = list(itertools.product(range(height - 1), range(width - 1)))
        found.append([((r, c), (r, c), (r + 1, c + 1)) for r, c in places])
        found.append([((r, c), (r, c + 1), (r + 1, c)) for r, c in places])
    return found


def _straight(shape, axis):
    found = []
    for pixel in itertools.product(*map(range, shape)):
        upper = tuple(p + (i == axis) for i, p in enumerate(pixel))
        if upper[axis] < shape[axis]:
            found.append((pixel, pixel, upper))
    return found


def strength_at(strength, axis, entry):
    """The strength of an edge: one for all, one per axis, or one per edge."""
    if isinstance(strength, (int, float)):
        return float(strength)
    along = strength[axis]
    return float(along) if np.ndim(along) == 0 else float(along[entry])


def energy(positions, logs, kind, strength, *, limit=math.inf, neighbours=4):
    """U of a map of positions: a term per pixel and a term per edge, added one by one."""
    shape = logs.shape[:-1]
    total = 0.0
    for pixel in itertools.product(*map(range, shape)):
        total += float(logs[pixel][positions[pixel]])
    for axis, along in enumerate(edges(shape, neighbours)):
        for entry, lower, upper in along:
            unit = UNITS[kind](int(positions[lower]), int(positions[upper]), limit)
            total += strength_at(strength, axis, entry) * unit
    return total


def joint(logs, kind, strength, *, limit=math.inf, neighbours=4):
    """``exp(U)`` of every map; one axis per pixel, in row-major order."""
    shape, k = logs.shape[:-1], logs.shape[-1]
    n = math.prod(shape)
    table = np.empty((k,) * n)
    for state in itertools.product(range(k), repeat=n):
        positions = np.reshape(state, shape)
        table[state] = math.exp(
            energy(positions, logs, kind, strength, limit=limit, neighbours=neighbours)
        )
    return table


def marginals(table):
    """p(pixel = label), one row per pixel."""
    axes = range(table.ndim)
    rows = [table.sum(axis=tuple(a for a in axes if a != i)) for i in axes]
    return np.array(rows) / table.sum()


def lecture_energy(x, y, coupling, epsilon):
    """The lecture's J Σ x_i x_j + β Σ y_i x_i for pictures of -1 and +1."""
    beta = math.log((1 - epsilon) / epsilon) / 2
    pairs = (x[1:] * x[:-1]).sum() + (x[:, 1:] * x[:, :-1]).sum()
    return coupling * float(pairs) + beta * float((x * y).sum())
