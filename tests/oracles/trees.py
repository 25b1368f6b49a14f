"""Trees the slow way: models as lists of (scope, log table), answers by listing configurations."""

import itertools

import numpy as np

from credo.graphs.wiring import Wiring


def wiring(n_states, factors, *, log=False, names=None):
    """Compile factors, (scope, table) each; tables are logs if ``log``."""
    tables = [np.asarray(table, dtype=float).ravel() for _, table in factors]
    scales = [table.max() if log else 0.0 for table in tables]
    logs = [table - scale for table, scale in zip(tables, scales, strict=True)] if log else None
    values = [np.exp(table) for table in logs] if log else tables
    n = len(n_states)
    return Wiring(
        names=list(range(n)) if names is None else names,
        states=[tuple(range(k)) for k in n_states],
        n_states=np.array(n_states, np.int64),
        scope_start=np.cumsum([0, *(len(scope) for scope, _ in factors)], dtype=np.int64),
        scope=np.array([v for scope, _ in factors for v in scope], np.int32),
        table=np.arange(len(factors), dtype=np.int32),
        table_start=np.cumsum([0, *map(len, tables)], dtype=np.int64),
        values=np.concatenate([*values, []]),
        log_scale=np.array(scales, dtype=float),
        log_values=np.concatenate(logs) if log else None,
        owner=np.full(len(factors), -1, np.int32),
    )


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
    scopes += [[int(v)] for v in rng.integers(0, n, 4)] + [[]]
    factors = []
    for i in rng.permutation(len(scopes)):
        shape = [n_states[v] for v in scopes[i]]
        table = np.asarray(rng.normal(0.0, 2.0, shape))
        if table.ndim and zeros:
            table = np.where(rng.random(shape) < zeros, -np.inf, table)
            table.flat[rng.integers(table.size)] = 0.0
        factors.append((scopes[i], table))
    return n_states, factors
