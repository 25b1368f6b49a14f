"""Trees the slow way: models as lists of (scope, log table), answers by listing configurations."""

import itertools

import numpy as np

from credo.graphs import FactorGraph


def model(n_states, factors, *, log=False, names=None):
    """Build a graph of factors, (scope, table) each, named after their places."""
    graph = FactorGraph()
    names = range(len(n_states)) if names is None else names
    variables = [graph.variable(*pair) for pair in zip(names, n_states, strict=True)]
    for f, (scope, table) in enumerate(factors):
        graph.factor([variables[v] for v in scope], table, log=log, name=f"factor {f}")
    return graph


def log_joint(n_states, log_factors, observed, soft):
    """Give the log of the product of everything, one axis per variable."""
    shape = tuple(n_states)
    joint = np.zeros(shape)
    for x in itertools.product(*map(range, shape)):
        total = sum(np.asarray(table)[tuple(x[v] for v in scope)] for scope, table in log_factors)
        if any(seen >= 0 and seen != at for seen, at in zip(observed, x, strict=True)):
            total = -np.inf
        with np.errstate(divide="ignore"):
            joint[x] = total + sum(np.log(weights[x[v]]) for v, weights in soft.items())
    return joint


def answers(joint, *, maximum=False):
    """Give the beliefs of all variables and the log of the total, from the whole joint."""
    peak = joint.max()
    if peak == -np.inf:
        return None, -np.inf
    table = np.exp(joint - peak)
    log_z = peak if maximum else peak + np.log(table.sum())
    beliefs = []
    for v in range(joint.ndim):
        rest = tuple(axis for axis in range(joint.ndim) if axis != v)
        belief = table.max(axis=rest) if maximum else table.sum(axis=rest)
        beliefs.append(belief if maximum else belief / belief.sum())
    return np.concatenate(beliefs), log_z


def random_tree(rng, *, n=7, most_states=3, most_arity=4, zeros=0.0, join=0.85):
    """Draw a forest of factors of any arity, unary ones included; give states and log factors."""
    n_states = rng.integers(1, most_states + 1, n).tolist()
    order = rng.permutation(n).tolist()
    scopes, placed = [], [order.pop()]
    while order:
        size = min(int(rng.integers(1, most_arity)), len(order))
        new = [order.pop() for _ in range(size)]
        hook = [placed[int(rng.integers(len(placed)))]] if rng.random() < join else []
        scopes.append([int(v) for v in rng.permutation(hook + new)])
        placed += new
    scopes += [[int(v)] for v in rng.integers(0, n, 4)]
    factors = []
    for i in rng.permutation(len(scopes)):
        shape = [n_states[v] for v in scopes[i]]
        table = np.asarray(rng.normal(0.0, 2.0, shape))
        if zeros:
            table = np.where(rng.random(shape) < zeros, -np.inf, table)
            table.flat[rng.integers(table.size)] = 0.0
        factors.append((scopes[i], table))
    return n_states, factors
