"""Models of every shape with a twin that the oracle understands."""

import math
from dataclasses import dataclass, field

import numpy as np
from hypothesis import strategies as st
from tests.oracles import inference as oracle, joint
from tests.properties.random_graphs import is_forest

from credo.graphs import BayesianNetwork, FactorGraph, MarkovNetwork

#: Configurations that the oracle visits at most.
MOST = 250
NAMES = {
    "words": lambda i: f"v{i}",
    "numbers": lambda i: 10 - i,
    "pairs": lambda i: ("row", i),
}


@dataclass
class Case:
    """A model, and the same as sizes and factors of the oracle."""

    model: object
    names: list
    sizes: list
    factors: list
    span: float  #: how far logs lie from zero, all factors together
    is_forest: bool
    configurations: list = field(init=False)

    def __post_init__(self):
        self.configurations = oracle.configurations(self.sizes, self.factors)

    def __repr__(self):
        scopes = [scope for scope, _ in self.factors]
        return f"Case({type(self.model).__name__}, sizes={self.sizes}, scopes={scopes})"

    @property
    def tolerance(self):
        """Relative: 1e-12, and what logs of this size lose to rounding."""
        return 1e-12 + 16 * np.finfo(float).eps * self.span


@st.composite
def sizes(draw, most_variables=7):
    """Numbers of states, one included, of a few variables."""
    wanted = draw(st.lists(st.integers(1, 4), min_size=1, max_size=most_variables))
    kept = []
    for k in wanted:
        if math.prod(kept) * k <= MOST:
            kept.append(k)
    return kept


def scopes(n, most=3):
    """Scopes of factors, over any variables in any order, repeats of scopes included."""
    one = st.lists(st.integers(0, n - 1), min_size=1, max_size=min(n, most), unique=True)
    return st.lists(one, min_size=0, max_size=n + 3)


def potentials(rng, shape, kind):
    """A table of one kind, never zero everywhere; and whether it holds logs."""
    if kind == "logs":
        return rng.normal(scale=3.0, size=shape), True
    if kind == "wide":
        table = rng.choice([0.0, -1.5, -800.0, -1e4, 3e3, -np.inf], size=shape)
        table.flat[rng.integers(table.size)] = -2.0
        return table, True
    table = rng.uniform(0.05, 3.0, size=shape)
    if kind == "zeros":
        table[rng.random(shape) < 0.4] = 0.0
    if kind == "far":
        table = rng.choice([1e300, 1e-300, 1.0, 1e-160], size=shape)
    if kind == "steep":
        table = rng.choice([1.0, 1e-50, 1e-100], size=shape)
    table.flat[rng.integers(table.size)] = 1.0
    return table, False


RULES = ("parity", "at_most_one", "noisy_or", "noisy_and", "function")
KINDS = ("plain", "plain", "zeros", "zeros", "logs", "again")


@st.composite
def factor_graphs(draw, kinds=KINDS, most_variables=7, *, rules=True):
    """Factor graphs of any shape: loops, repeats, lonely variables, parts, rules."""
    states = draw(sizes(most_variables))
    n = len(states)
    named = NAMES[draw(st.sampled_from(sorted(NAMES)))]
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    graph = FactorGraph()
    names = [graph.variable(named(i), k).name for i, k in enumerate(states)]
    factors, span, before = [], 0.0, []
    for over in draw(scopes(n)):
        scope = over
        kind = draw(st.sampled_from(kinds))
        if kind == "again" and before:
            scope, table, log = before[rng.integers(len(before))]
        else:
            table, log = potentials(rng, [states[v] for v in scope], kind)
            before.append((scope, table, log))
        graph.factor([names[v] for v in scope], table, log=log)
        factors.append(oracle.factor(scope, table, log=log))
        span += _span(table, log)
    if rules:
        _add_rules(draw, rng, graph, names, states, factors)
    span += len(factors) + n
    return Case(graph, names, states, factors, span, is_forest(range(n), [f[0] for f in factors]))


def _span(table, log):
    """How far from zero the finite logs of a table are."""
    with np.errstate(divide="ignore"):
        logs = table if log else np.log(table)
    return float(np.abs(logs[np.isfinite(logs)]).max())


def _add_rules(draw, rng, graph, names, states, factors):
    """Add a rule over variables of two states, if there are any."""
    bits = [v for v, k in enumerate(states) if k == 2]
    kind = draw(st.sampled_from(["none", "none", *RULES]))
    if len(bits) < 2 or kind == "none":
        return
    scope = rng.permutation(bits).tolist()
    over = [names[v] for v in scope]
    chances = rng.choice([0.0, 0.3, 0.8, 1.0], size=len(scope) - 1).tolist()
    leak = float(rng.choice([0.0, 0.1, 1.0]))
    if kind == "parity":
        even = bool(rng.integers(2))
        graph.parity(over, even)
        value = joint.parity(even=even)
    elif kind == "at_most_one":
        graph.at_most_one(over)
        value = joint.at_most_one
    elif kind == "function":
        graph.deterministic(over[-1], over[:-1], lambda *x: max(x))
        value = lambda *x: int(max(x[:-1]) == x[-1])  # noqa: E731 - a definition
    else:
        getattr(graph, kind)(over[-1], dict(zip(over[:-1], chances, strict=True)), leak)
        value = getattr(joint, kind)(chances, leak)
    factors.append(oracle.rule(scope, states, value))


@st.composite
def bayesian_networks(draw, most_variables=7, least_states=1):
    """Networks with up to three parents each, zeros, and declared in any order."""
    states = [max(k, least_states) for k in draw(sizes(most_variables))]
    n = len(states)
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    share = draw(st.sampled_from([0.0, 0.5]))
    rank = draw(st.permutations(range(n)))
    net = BayesianNetwork()
    names = [net.variable(f"v{i}", k).name for i, k in enumerate(states)]
    factors = []
    for i, child in enumerate(rank):
        most = min(i, 3)
        parents = draw(st.lists(st.sampled_from(rank[:i]), max_size=most, unique=True)) if i else []
        table = _rows(rng, [states[v] for v in parents], states[child], share)
        net.cpt(names[child], given=[names[v] for v in parents], table=table)
        factors.append(oracle.factor([*parents, child], table))
    forest = is_forest(range(n), [f[0] for f in factors])
    return Case(net, names, states, factors, float(4 * n), forest)


def _rows(rng, shape, k, share):
    """Rows of multiples of 1/64: they sum to one exactly, so none is divided."""
    rows = []
    for _ in range(math.prod(shape)):
        weights = rng.random(k) + 0.02
        weights[rng.random(k) < share] = 0.0
        weights[rng.integers(k)] += 0.5
        whole = np.floor(64 * weights / weights.sum())
        whole[np.argmax(whole)] += 64 - whole.sum()
        rows.append(whole / 64)
    return np.array(rows).reshape([*shape, k])


@st.composite
def markov_networks(draw, most_variables=7):
    """Nodes and edges, of one number of states or of several."""
    states = draw(sizes(most_variables))
    n = len(states)
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    pairs = [(a, b) for a in range(n) for b in range(n) if a != b]
    edges = draw(st.lists(st.sampled_from(pairs), max_size=n + 2)) if pairs else []
    net = MarkovNetwork()
    names, factors, span = [], [], float(n)
    for v, k in enumerate(states):
        table, _ = potentials(rng, [k], draw(st.sampled_from(["plain", "zeros"])))
        names.append(net.node(f"v{v}", k, table).name)
        factors.append(oracle.factor([v], table))
    for a, b in edges:
        kind = draw(st.sampled_from(["zeros", "logs"]))
        table, log = potentials(rng, [states[a], states[b]], kind)
        net.edge(names[a], names[b], table, log=log)
        factors.append(oracle.factor([a, b], table, log=log))
        span += _span(table, log)
    return Case(net, names, states, factors, span + n, is_forest(range(n), [f[0] for f in factors]))


def models():
    """Models of every kind."""
    return st.one_of(factor_graphs(), bayesian_networks(), markov_networks())


@dataclass
class Findings:
    """Evidence as it is passed, and as weights on variables."""

    evidence: dict
    likelihood: dict
    weights: list  #: (variable, weights, name) of each finding


@st.composite
def findings(draw, case):
    """Evidence of every kind on some of the variables, likelihoods on observed ones too."""
    some = st.sampled_from(["nothing", "nothing", "state", "states", "weights", "both"])
    evidence, likelihood, weights = {}, {}, []
    for v in draw(st.permutations(range(len(case.sizes)))):
        k, name, kind = case.sizes[v], case.names[v], draw(some)
        if kind in ("state", "both"):
            evidence[name] = draw(st.integers(0, k - 1))
            weights.append((v, np.eye(k)[evidence[name]], name))
        if kind == "states":
            allowed = draw(st.lists(st.integers(0, k - 1), min_size=1, unique=True))
            evidence[name] = draw(st.sampled_from([set, list, np.array]))(allowed)
            weights.append((v, np.isin(np.arange(k), allowed).astype(float), name))
        if kind in ("weights", "both"):
            cell = st.sampled_from([0.0, 0.3, 1.0, 2.5, 1e-5])
            cells = draw(st.lists(cell, min_size=k, max_size=k).filter(any))
            likelihood[name] = cells
            weights.append((v, np.array(cells), name))
    return Findings(evidence, likelihood, weights)
