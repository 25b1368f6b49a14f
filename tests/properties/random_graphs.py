"""Small random models with every rule, drawn from one seed, and their joint tables.

A rule is written out from its definition. Trees, loops, parts, lonely variables, variables of one
state, zeros, and rules over one variable are all common.
"""

import itertools
import math
from dataclasses import dataclass

import numpy as np
from hypothesis import strategies as st
from tests.oracles import joint as oracle

from credo.graphs import BayesianNetwork, FactorGraph, MarkovNetwork

#: Configurations of the largest model.
MOST = 400
CHANCES = (0.0, 0.3, 0.8, 1.0, 0.55)


@dataclass
class Case:
    """A model, its joint table, evidence on it, and what the evidence leaves of the table."""

    seed: int
    model: object
    joint: oracle.Joint
    is_forest: bool
    evidence: dict
    likelihood: dict

    def __post_init__(self):
        self.left = self.joint.given(self.evidence, self.likelihood)

    def __repr__(self):
        return f"draw_case({self.seed}): {self.model!r}, {self.evidence}, {self.likelihood}"


def cases():
    """Cases as a strategy; the seed is all that is drawn."""
    return st.integers(0, 2**32 - 1).map(draw_case)


def draw_case(seed):
    """Draw a model and evidence."""
    rng = np.random.default_rng(seed)
    draw = _DRAWS[rng.integers(len(_DRAWS))]
    model, states, factors, scopes = draw(rng)
    joint = oracle.Joint.product(states, factors)
    return Case(seed, model, joint, is_forest(list(states), scopes), *draw_evidence(rng, states))


def draw_evidence(rng, states):
    """Draw findings on some variables, or on all; a state and weights may meet on one."""
    share = rng.choice([0.0, 0.3, 0.3, 0.6, 1.0])
    evidence, likelihood = {}, {}
    for name in rng.permutation(len(states)).tolist():
        own = list(states.values())[name]
        if rng.random() >= share:
            continue
        kind = rng.choice(["state", "state", "states", "weights", "both"])
        key = list(states)[name]
        if kind in ("state", "both"):
            evidence[key] = own[rng.integers(len(own))]
        if kind == "states":
            evidence[key] = {own[i] for i in rng.permutation(len(own))[: rng.integers(1, 4)]}
        if kind in ("weights", "both"):
            weights = rng.choice([0.0, 0.3, 1.0, 2.5], size=len(own))
            weights[rng.integers(len(own))] = 0.7
            likelihood[key] = weights.tolist()
    return evidence, likelihood


def _declare(rng, declare, least=0):
    """Declare variables, half of them bits; give their states by name."""
    n = int(rng.integers(least, 9))
    named = (lambda i: f"v{i}", lambda i: 10 - i, lambda i: ("row", i))[rng.integers(3)]
    states = {}
    for i in range(n):
        k = int(rng.choice([1, 2, 2, 2, 2, 2, 3, 4]))
        if math.prod(map(len, states.values())) * k > MOST:
            break
        own = [f"s{x}" for x in range(k)] if rng.random() < 0.3 else list(range(k))
        declare(named(i), own)
        states[named(i)] = own
    return states


def _factor_graph(rng):
    """Draw a factor graph: any shape, or a forest, of tables and rules."""
    graph = FactorGraph()
    states = _declare(rng, graph.variable)
    wants_forest, parts = rng.random() < 0.4, int(rng.integers(1, 4))
    factors, scopes = [], []
    for _ in range(int(rng.integers(0, len(states) + 3)) if states else 0):
        part = rng.integers(parts)
        near = [name for i, name in enumerate(states) if i % parts == part]
        pool = [near[i] for i in rng.permutation(len(near))]
        kind = str(rng.choice([*_TABLES, *_RULES]))
        scope = _scope(rng, kind, pool, states)
        if wants_forest:
            scope = _without_cycle(list(states), scopes, scope)
        if not scope:
            continue
        factors.append((scope, _add(rng, graph, kind, scope, states)))
        scopes.append(scope)
    return graph, states, factors, scopes


def _scope(rng, kind, pool, states):
    """Choose variables for a factor: one, two, a few, or all that will do."""
    if kind in _TABLES or kind == "function":
        return pool[: int(rng.integers(1, 4))]
    bits = [name for name in pool if len(states[name]) == 2]
    return bits[: int(rng.choice([1, 2, 2, 3, 4, 8]))]


def _without_cycle(names, scopes, wanted):
    """Keep of a scope what closes no cycle."""
    kept = []
    for name in wanted:
        if is_forest(names, [*scopes, [*kept, name]]):
            kept.append(name)
    return kept


def _add(rng, graph, kind, scope, states):
    """Add a table or a rule to a model; give it written out."""
    shape = [len(states[name]) for name in scope]
    if kind in _TABLES:
        values = _potentials(rng, shape, kind)
        log = kind == "logs"
        graph.factor(scope, values, log=log)
        return np.exp(values) if log else values
    *parents, child = scope
    chances, leak = rng.choice(CHANCES, size=len(parents)).tolist(), float(rng.choice(CHANCES))
    if kind == "parity":
        even = bool(rng.integers(2))
        graph.parity(scope, even)
        return _written_out(shape, oracle.parity(even=even))
    if kind == "at_most_one":
        graph.at_most_one(scope)
        return _written_out(shape, oracle.at_most_one)
    if kind == "function":
        answers = rng.integers(shape[-1], size=shape[:-1])
        places = [states[name] for name in scope]
        graph.deterministic(child, parents, lambda *x: places[-1][answers[_at(places, x)]])
        return _written_out(shape, lambda *x: float(answers[tuple(x[:-1])] == x[-1]))
    getattr(graph, kind)(child, dict(zip(parents, chances, strict=True)), leak)
    return _written_out(shape, getattr(oracle, kind)(chances, leak))


def _at(places, states):
    """The places of states."""
    return tuple(own.index(state) for own, state in zip(places, states, strict=False))


def _potentials(rng, shape, kind):
    """Draw a table that is not zero everywhere."""
    if kind == "logs":
        return rng.normal(scale=2.0, size=shape)
    table = rng.uniform(0.05, 3.0, size=shape)
    if kind == "zeros":
        table[rng.random(shape) < 0.4] = 0.0
        table.flat[rng.integers(table.size)] = 1.0
    return table


def _written_out(shape, function):
    """Write a function of places out as a table."""
    table = np.empty(shape)
    for place in itertools.product(*map(range, shape)):
        table[place] = function(*place)
    return table


def _bayesian_network(rng):
    """Draw a network whose conditional probabilities are tables or rules."""
    net = BayesianNetwork()
    states = _declare(rng, net.variable, least=1)
    names = list(states)
    factors, scopes = [], []
    rank = [names[i] for i in rng.permutation(len(names))]
    for i, child in enumerate(rank):
        parents = [rank[j] for j in rng.permutation(i)[: int(rng.integers(0, 4))]]
        kind = str(rng.choice(["table", "table", "noisy_or", "noisy_and", "function"]))
        if kind.startswith("noisy"):
            parents = [name for name in parents if len(states[name]) == 2]
        scope = [*parents, child]
        is_bit = len(states[child]) == 2 or kind == "function"
        if kind == "table" or not is_bit:
            table = _rows(rng, [len(states[name]) for name in scope])
            net.cpt(child, given=parents, table=table)
        else:
            table = _add(rng, net, kind, scope, states)
        factors.append((scope, table))
        scopes.append(scope)
    return net, states, factors, scopes


def _rows(rng, shape):
    """Draw distributions over the last axis, with zeros."""
    table = rng.uniform(0.05, 1.0, size=shape)
    table[rng.random(shape) < 0.25] = 0.0
    table[..., int(rng.integers(shape[-1]))] += 0.2
    return table / table.sum(axis=-1, keepdims=True)


def _markov_network(rng):
    """Draw nodes and edges, some of them twice."""
    net = MarkovNetwork()
    potentials = {}

    def declare(name, own):
        potentials[name] = _potentials(rng, [len(own)], str(rng.choice(["plain", "zeros"])))
        net.node(name, own, potentials[name])

    states = _declare(rng, declare)
    factors = [([name], table) for name, table in potentials.items()]
    for _ in range(int(rng.integers(0, len(states) + 3)) if len(states) > 1 else 0):
        scope = [list(states)[i] for i in rng.permutation(len(states))[:2]]
        table = _potentials(rng, [len(states[name]) for name in scope], "zeros")
        net.edge(*scope, table)
        factors.append((scope, table))
    return net, states, factors, [scope for scope, _ in factors]


def is_forest(names, scopes):
    """Whether variables and factors hang together without a cycle."""
    root = {name: name for name in names}

    def find(name):
        while root[name] != name:
            name = root[name]
        return name

    for scope in scopes:
        tops = [find(name) for name in scope]
        if len(set(tops)) < len(tops):
            return False
        for top in tops[1:]:
            root[top] = tops[0]
    return True


_TABLES = ("plain", "zeros", "logs")
_RULES = ("parity", "at_most_one", "noisy_or", "noisy_and", "function")
_DRAWS = (_factor_graph, _factor_graph, _bayesian_network, _markov_network)
