"""Small models that many tests ask."""

import numpy as np

from credo.graphs import BayesianNetwork, FactorGraph, chain


def graph(states, *factors, log=False):
    """Build a factor graph; a factor is (names, table) or (names, table, its own name).

    Variables that are only named have two states.
    """
    model = FactorGraph()
    for name, own in (states if isinstance(states, dict) else dict.fromkeys(states, 2)).items():
        model.variable(name, own)
    for scope, table, *named in factors:
        model.factor(list(scope), table, log=log, **dict(zip(["name"], named, strict=False)))
    return model


def sprinkler():
    """Rain, sprinkler and wet grass, as in many a course."""
    net = BayesianNetwork()
    for name in ("rain", "sprinkler", "wet"):
        net.variable(name, ["no", "yes"])
    net.cpt("rain", table=[0.8, 0.2])
    net.cpt("sprinkler", given=["rain"], table={"no": [0.6, 0.4], "yes": [0.99, 0.01]})
    table = [[[1.0, 0.0], [0.2, 0.8]], [[0.1, 0.9], [0.01, 0.99]]]
    net.cpt("wet", given=["sprinkler", "rain"], table=table)
    return net


def star(n_leaves, right=0.99):
    """A centre with leaves that each say what the centre is, mostly rightly."""
    net = BayesianNetwork()
    net.variable("centre", 2)
    net.cpt("centre", table=[0.5, 0.5])
    for i in range(n_leaves):
        net.variable(f"leaf{i}", 2)
        net.cpt(f"leaf{i}", given=["centre"], table=[[right, 1 - right], [1 - right, right]])
    return net


def steps(length, first=(0.5, 0.5), transition=((0.9, 0.1), (0.2, 0.8))):
    """A chain of two states, x0 and on."""
    return chain(list(first), [list(row) for row in transition], length=length)


def numbered(sizes, factors, *, log=False):
    """Build a factor graph whose variables are numbers; a factor is (numbers, table)."""
    return graph(dict(enumerate(map(int, sizes))), *factors, log=log)


def grid_edges(rows, columns):
    """Return the pairs of neighbours on a grid, across and then down, as an array."""
    site = np.arange(rows * columns).reshape(rows, columns)
    across = np.column_stack([site[:, :-1].ravel(), site[:, 1:].ravel()])
    return np.vstack([across, np.column_stack([site[:-1].ravel(), site[1:].ravel()])])
