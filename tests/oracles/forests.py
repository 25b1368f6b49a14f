"""Blocks of a graph by their definitions: every configuration of a block, the others given.

A model is a list of numbers of states, and factors ``(scope, logs)`` with one axis per variable.
"""

import itertools

import numpy as np


def scores(sizes, alone, factors, states, block):
    """The log of every configuration of a block, one axis for each of its variables."""
    table = np.empty([sizes[v] for v in block])
    for inside in np.ndindex(table.shape):
        full = list(states)
        for v, x in zip(block, inside, strict=True):
            full[v] = x
        table[inside] = sum(alone[v][full[v]] for v in block)
        table[inside] += sum(
            logs[tuple(full[v] for v in scope)] for scope, logs in factors if {*scope} & {*block}
        )
    return table


def log_sum(table):
    """The log of the sum over everything."""
    return float(np.logaddexp.reduce(table.ravel()))


def beliefs(table):
    """The marginal of each variable of the block."""
    p = np.exp(table - log_sum(table))
    axes = range(table.ndim)
    return [p.sum(axis=tuple(a for a in axes if a != i)) for i in axes]


def cell_beliefs(table, block, states, scope, shape):
    """The beliefs of a factor's cells; zero where they differ from the states of the others."""
    found = np.zeros(shape)
    for inside, weight in np.ndenumerate(np.exp(table - log_sum(table))):
        now = dict(zip(block, inside, strict=True))
        found[tuple(now.get(v, states[v]) for v in scope)] += weight
    return found


def is_forest(scopes, block):
    """Whether variables of a block and factors of two or more of them close no cycle."""
    edges = [{*scope} & {*block} for scope in scopes]
    trees = {v: {v} for v in block}
    for edge in edges:
        if len(edge) < 2:
            continue
        met = [trees[v] for v in sorted(edge)]
        if any(a is b for a, b in itertools.combinations(met, 2)):
            return False
        union = set().union(*met)
        for v in union:
            trees[v] = union
    return True
