"""Bounds by visiting every configuration: slow, obvious twins of mean field and tree-reweighting.

A graph is ``(sizes, factors)``; a factor is ``(scope, logs)``, logs an array with an axis for each
variable of the scope. -inf is a zero.
"""

import functools
import itertools

import numpy as np
from scipy.special import entr, logsumexp
from tests.oracles.joint import Joint


def random_graph(rng, most=7, arity=2, zeros=0.0, scale=1.0):
    """Some variables, of one state too, and factors of any shape; never all zeros in a factor.

    Half of the graphs have zeros at all; one in eight has variables without a factor.
    """
    n = int(rng.integers(1, most + 1)) if rng.random() < 0.2 else most
    sizes = rng.choice([1, 2, 2, 2, 2, 2, 3], size=n).tolist()
    few, share = rng.random() < 0.125, zeros * (rng.random() < 0.5)
    factors = []
    for _ in range(int(rng.integers(0, n) if few else rng.integers(n, 2 * n + 3))):
        length = 1 if rng.random() < 0.2 else int(rng.integers(2, arity + 1))
        scope = rng.permutation(n)[:length].tolist()
        logs = rng.normal(scale=scale, size=[sizes[v] for v in scope])
        logs[rng.random(logs.shape) < share] = -np.inf
        logs.flat[rng.integers(logs.size)] = 0.0
        factors.append((scope, logs))
    return sizes, factors


def lower_bound(sizes, factors, marginals):
    """Give the average of log(p / q) for independent variables with these marginals."""
    logs = Joint.numbered(sizes, factors).logs
    q = functools.reduce(np.multiply.outer, marginals, np.ones(()))
    return float((q[q > 0] * (logs[q > 0] - np.log(q[q > 0]))).sum())


def fractional_messages(sizes, factors, rho, sweeps):
    """Pass messages with a power for each factor, flooding, half old and half new, in logs."""
    messages = {(f, v): np.zeros(sizes[v]) for f, (scope, _) in enumerate(factors) for v in scope}

    def belief(v):
        return sum((rho[f] * m for (f, u), m in messages.items() if u == v), np.zeros(sizes[v]))

    for _ in range(sweeps):
        fresh = {}
        for f, (scope, logs) in enumerate(factors):
            for a, v in enumerate(scope):
                cells = logs / rho[f]
                for b, u in enumerate(scope):
                    if u != v:
                        shape = [-1 if axis == b else 1 for axis in range(len(scope))]
                        cells = cells + (belief(u) - messages[f, u]).reshape(shape)
                others = tuple(axis for axis in range(len(scope)) if axis != a)
                out = logsumexp(cells, axis=others)
                fresh[f, v] = 0.5 * messages[f, v] + 0.5 * (out - out.max())
        messages = fresh
    return messages


def reweighted_free_energy(sizes, factors, rho, messages):
    """Give the average log of all factors, plus entropies, less rho times the information of each.

    Beliefs are those of the messages.
    """

    def normalised(logs):
        return np.exp(logs - logsumexp(logs))

    def belief(v):
        return sum((rho[f] * m for (f, u), m in messages.items() if u == v), np.zeros(sizes[v]))

    value = sum(entr(normalised(belief(v))).sum() for v in range(len(sizes)))
    for f, (scope, logs) in enumerate(factors):
        cells = logs / rho[f]
        for a, v in enumerate(scope):
            shape = [-1 if axis == a else 1 for axis in range(len(scope))]
            cells = cells + (belief(v) - messages[f, v]).reshape(shape)
        joint = normalised(cells)
        alone = sum(entr(normalised(belief(v))).sum() for v in scope)
        value += (joint * logs).sum() - rho[f] * (alone - entr(joint).sum())
    return value


def most_of_a_forest(n, scopes, chosen):
    """Give how many edges of two variables, among those chosen, a forest can hold at most."""
    parts = list(range(n))
    count = 0
    for f in chosen:
        a, b = (parts[v] for v in scopes[f])
        if a != b:
            parts = [a if part == b else part for part in parts]
            count += 1
    return count


def is_in_forest_polytope(n, scopes, rho, slack=1e-12):
    """Tell whether no set of edges has more weight than a forest can hold of it (Edmonds)."""
    edges = range(len(scopes))
    return all(
        sum(rho[f] for f in chosen) <= most_of_a_forest(n, scopes, chosen) + slack
        for size in range(1, len(scopes) + 1)
        for chosen in itertools.combinations(edges, size)
    )


def ring(n, coupling, field=0.0):
    """A cycle of variables of two states."""
    pair = np.array([[coupling, -coupling], [-coupling, coupling]])
    factors = [([v, (v + 1) % n], pair) for v in range(n)]
    return [2] * n, [*factors, *(([v], np.array([field, -field])) for v in range(n))]


def grid(side, rng, coupling, field=0.5):
    """A square of variables of two states, with random couplings of both signs."""
    at = np.arange(side * side).reshape(side, side)
    pairs = [*zip(at[:, :-1].flat, at[:, 1:].flat, strict=True)]
    pairs += [*zip(at[:-1].flat, at[1:].flat, strict=True)]
    factors = []
    for pair in pairs:
        j = rng.uniform(-coupling, coupling)
        factors.append(([int(v) for v in pair], np.array([[j, -j], [-j, j]])))
    for v in range(side * side):
        h = rng.uniform(-field, field)
        factors.append(([v], np.array([h, -h])))
    return [2] * side**2, factors
