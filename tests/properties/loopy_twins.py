"""Factor graphs next to their twins: the same factors as the oracle of belief propagation has."""

import numpy as np
from hypothesis import strategies as st
from tests.oracles import joint, loopy as oracle

from credo.graphs import FactorGraph


class Twin:
    """A factor graph of variables 0, 1, … and the same as sizes and factors of the oracle."""

    def __init__(self, sizes):
        self.graph = FactorGraph()
        self.sizes, self.factors = list(sizes), []
        for v, k in enumerate(sizes):
            self.graph.variable(v, k)

    def __repr__(self):
        return f"Twin(sizes={self.sizes}, scopes={[scope for scope, _ in self.factors]})"

    def factor(self, scope, logs):
        """Add a table of logs."""
        logs = np.asarray(logs, float)
        self.graph.factor(list(scope), logs, log=True, name=f"f{len(self.factors)}")
        self.factors.append((tuple(scope), logs))
        return self

    def potential(self, scope, table):
        """Add a table."""
        return self.factor(scope, oracle.logs_of(table))

    def rule(self, kind, scope, chances=(), leak=0.0):
        """Add a rule: "even", "odd", "at_most_one", "noisy_or" or "noisy_and"."""
        if kind in ("even", "odd"):
            self.graph.parity(list(scope), kind == "even")
            value = joint.parity(even=kind == "even")
        elif kind == "at_most_one":
            self.graph.at_most_one(list(scope))
            value = joint.at_most_one
        else:
            causes = dict(zip(scope[:-1], chances, strict=True))
            getattr(self.graph, kind)(scope[-1], causes, leak)
            value = getattr(joint, kind)(chances, leak)
        self.factors.append((tuple(scope), oracle.written_out(len(scope), value)))
        return self

    def net(self, seen=None, weights=None, **settings):
        """The oracle's messages, observed variables sliced away, weights as more factors."""
        seen = seen or {}
        points = {v: np.eye(self.sizes[v])[x] for v, x in seen.items()}
        factors = oracle.observe(self.factors, seen)
        factors += [((v,), oracle.logs_of(w)) for v, w in (points | (weights or {})).items()]
        return oracle.Net(self.sizes, factors, **settings)

    def weighed(self, seen=None, weights=None):
        """All factors, and evidence as factors of one variable: for sums over everything."""
        points = {v: np.eye(self.sizes[v])[x] for v, x in (seen or {}).items()}
        both = [*points.items(), *(weights or {}).items()]
        return self.factors + [((v,), oracle.logs_of(w)) for v, w in both]


def random_pairs(rng, n, k, m, strength=1.0):
    """Variables of k states, a potential for each, and m pairs, some of them twice."""
    twin = Twin([k] * n)
    for v in range(n):
        twin.factor([v], rng.normal(size=k))
    for _ in range(m):
        pair = rng.choice(n, 2, replace=False)
        twin.factor(pair.tolist(), strength * rng.normal(size=(k, k)))
    return twin


def random_logs(rng, shape, strength=1.0, zeros=0.0):
    """A table of logs, a share of them -inf, never all."""
    logs = strength * rng.normal(size=shape)
    kept = rng.integers(logs.size)
    logs[(rng.random(shape) < zeros) & (np.arange(logs.size).reshape(shape) != kept)] = -np.inf
    return logs


def random_tree(rng, sizes, strength=1.0, zeros=0.0):
    """A tree of factors of two or three variables, and of one."""
    twin = Twin(sizes)
    v = 1
    while v < len(sizes):
        fresh = range(v, min(v + int(rng.integers(1, 3)), len(sizes)))
        scope = rng.permutation([int(rng.integers(v)), *fresh]).tolist()
        twin.factor(scope, random_logs(rng, [sizes[u] for u in scope], strength, zeros))
        v = fresh.stop
    for v, k in enumerate(sizes):
        if rng.random() < 0.6:
            twin.factor([v], random_logs(rng, [k], strength, zeros))
    return twin


def random_graph(rng, sizes, m, strength=1.0, zeros=0.0):
    """Factors of one to four variables of any shape, some scopes repeated."""
    twin = Twin(sizes)
    for _ in range(m):
        arity = int(rng.integers(1, min(4, len(sizes)) + 1))
        scope = rng.choice(len(sizes), arity, replace=False).tolist()
        if twin.factors and rng.random() < 0.15:
            scope = list(twin.factors[int(rng.integers(len(twin.factors)))][0])
        twin.factor(scope, random_logs(rng, [sizes[u] for u in scope], strength, zeros))
    return twin


#: A generator, seeded by Hypothesis.
generators = st.integers(0, 2**32 - 1).map(np.random.default_rng)
