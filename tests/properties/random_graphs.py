"""Small random models with every rule, drawn from one seed, and their joint tables.

A rule is written out from its definition, and the joint table is kept in extended precision. Trees,
loops, parts, lonely variables, variables of one state, zeros, and rules over one variable are all
common; steep models have weights down to 1e-30 as well, and chains of them; wide ones have logs and
weights of any size.
"""

import itertools
import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from hypothesis import strategies as st
from tests.oracles import joint as oracle

from credo.exceptions import ImpossibleEvidence
from credo.graphs import BayesianNetwork, FactorGraph, MarkovNetwork

#: Configurations of the largest model.
MOST = 400
CHANCES = (0.0, 0.3, 0.8, 1.0, 0.55)
#: Powers of ten in a steep table.
STEEP = (0, 0, 0, -1, -5, -15, -30)


@dataclass
class Case:
    """A model, its joint table, evidence on it, and what the evidence leaves of the table."""

    seed: int
    kind: str
    model: object
    joint: oracle.Joint
    is_forest: bool
    evidence: dict
    likelihood: dict
    size: float  #: how far logs lie from zero, all factors together

    def __post_init__(self):
        self.names = self.joint.names
        self.left = self.joint.given(self.evidence, self.likelihood)
        finite = self.left.logs[np.isfinite(self.left.logs)]
        #: How large the logs are, whose rounding the oracle does not escape.
        self.span = 1 + float(np.abs(finite).max(initial=0))
        #: What is asked besides the model.
        self.question = {"evidence": self.evidence, "likelihood": self.likelihood}

    @property
    def sizes(self):
        """The numbers of states."""
        return list(self.joint.logs.shape)

    @property
    def scopes(self):
        """The places of the variables of each factor."""
        each = ([v.name for v in factor.variables] for factor in self.model.factors)
        return [[self.names.index(name) for name in scope] for scope in each]

    @property
    def tolerance(self):
        """Relative: 1e-12, and what logs of this size lose to rounding."""
        return 1e-12 + 16 * np.finfo(float).eps * self.size

    def __repr__(self):
        return (
            f"draw_case({self.seed}, {self.kind!r}): {self.model!r}, {self.evidence}, "
            f"{self.likelihood}"
        )


def cases(kind="usual"):
    """Cases as a strategy; the seed is all that is drawn."""
    return st.integers(0, 2**32 - 1).map(lambda seed: draw_case(seed, kind))


def draw_case(seed, kind="usual"):
    """Draw a model and evidence: of the "usual" kind, "steep", "wide", or of "tables" only."""
    rng = np.random.default_rng(seed)
    style = _STYLES[kind]
    draw = style.draws[rng.integers(len(style.draws))]
    model, states, factors, scopes = draw(rng, style)
    joint = oracle.Joint.product(states, factors)
    size = len(states) + len(factors) + sum(_size(table) for _, table in factors)
    forest = is_forest(list(states), scopes)
    return Case(seed, kind, model, joint, forest, *draw_evidence(rng, states), size)


def _size(table):
    """How far from zero the logs of a table are."""
    return float(np.abs(np.log(table[table > 0])).max(initial=0))


def assert_told(case, error, *, smallest=True):
    """Nothing is possible, and the error names findings that conflict, none to be spared.

    Who is not exact may miss that the model itself allows nothing, or find more than the smallest.
    """
    assert not case.left.is_possible, error
    is_of_model = "allows no configuration" in str(error)
    assert not (is_of_model and case.joint.is_possible)
    assert is_of_model or case.joint.is_possible or not smallest
    if is_of_model:
        return
    assert isinstance(error, ImpossibleEvidence), error
    named = set(error.conflict)
    findings = [({name: x}, {}) for name, x in case.evidence.items() if name in named]
    findings += [({}, {name: w}) for name, w in case.likelihood.items() if name in named]

    def is_possible(chosen):
        evidence, likelihood = {}, {}
        for one, other in chosen:
            evidence |= one
            likelihood |= other
        return case.joint.given(evidence, likelihood).is_possible

    def is_conflict(chosen):
        spared = ([each for each in chosen if each is not left_out] for left_out in chosen)
        return not is_possible(chosen) and (not smallest or all(map(is_possible, spared)))

    assert named
    assert any(
        is_conflict(chosen)
        for size in range(len(named), len(findings) + 1)
        for chosen in itertools.combinations(findings, size)
        if {name for one, other in chosen for name in (*one, *other)} == named
    )


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


def _factor_graph(rng, style):
    """Draw a factor graph: any shape, or a forest, of tables and rules."""
    graph = FactorGraph()
    states = _declare(rng, graph.variable)
    wants_forest, parts = rng.random() < 0.4, int(rng.integers(1, 4))
    factors, scopes = [], []
    for _ in range(int(rng.integers(0, len(states) + 3)) if states else 0):
        part = rng.integers(parts)
        near = [name for i, name in enumerate(states) if i % parts == part]
        pool = [near[i] for i in rng.permutation(len(near))]
        kind = str(rng.choice([*style.tables, *style.rules]))
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
    if kind == "function" or kind not in _RULES:
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
    """Add a table, or the same one twice, or a rule to a model; give it written out."""
    shape = [len(states[name]) for name in scope]
    if kind == "twice":
        values = _potentials(rng, shape, "zeros")
        graph.factor(scope, values)
        graph.factor(scope, values)
        return np.square(values, dtype=np.longdouble)
    if kind not in _RULES:
        values = _potentials(rng, shape, kind)
        log = kind in ("logs", "wide")
        graph.factor(scope, values, log=log)
        return np.exp(values, dtype=np.longdouble) if log else values
    *parents, child = scope
    chances, leak = rng.choice(CHANCES, size=len(parents)), float(rng.choice(CHANCES))
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
    getattr(graph, kind)(child, dict(zip(parents, chances.tolist(), strict=True)), leak)
    precise = np.asarray(chances, np.longdouble), np.longdouble(leak)
    return _written_out(shape, getattr(oracle, kind)(*precise))


def _at(places, states):
    """The places of states."""
    return tuple(own.index(state) for own, state in zip(places, states, strict=False))


def _potentials(rng, shape, kind):
    """Draw a table that is not zero everywhere."""
    if kind == "logs":
        return rng.normal(scale=2.0, size=shape)
    if kind == "steep":
        return 10.0 ** rng.choice(STEEP, size=shape) * rng.uniform(0.5, 1.0, size=shape)
    if kind == "wide":
        logs = rng.choice([0.0, -1.5, -800.0, -1e4, 3e3, -np.inf], size=shape)
        logs.flat[rng.integers(logs.size)] = -2.0
        return logs
    if kind == "far":
        return rng.choice([1e300, 1e-300, 1.0, 1e-160], size=shape)
    table = rng.uniform(0.05, 3.0, size=shape)
    if kind == "zeros":
        table[rng.random(shape) < 0.4] = 0.0
        table.flat[rng.integers(table.size)] = 1.0
    return table


def _written_out(shape, function):
    """Write a function of places out as a table."""
    table = np.empty(shape, np.longdouble)
    for place in itertools.product(*map(range, shape)):
        table[place] = function(*place)
    return table


def _chain(rng, _style):
    """Draw a chain of steep tables, some of them between the same two variables again."""
    graph = FactorGraph()
    states = _declare(rng, graph.variable, least=2)
    names = list(states)
    scopes = [list(pair) for pair in itertools.pairwise(names)]
    scopes += [[name] for name in names if rng.random() < 0.5]
    scopes += [scope for scope in scopes[:1] if rng.random() < 0.2]
    factors = [(scope, _add(rng, graph, "steep", scope, states)) for scope in scopes]
    return graph, states, factors, scopes


def _code(rng, style):
    """Draw rules over many bits that share them, and tables over one or two."""
    graph = FactorGraph()
    states = {i: [0, 1] for i in range(int(rng.integers(4, 9)))}
    for name in states:
        graph.variable(name, 2)
    kinds = [str(rng.choice(["parity", "at_most_one", "at_most_one"])) for _ in range(3)]
    tables = ["steep" if style.steep else str(rng.choice(_TABLES)) for _ in states]
    factors = []
    for kind in ["parity", *kinds[: int(rng.integers(4))], *tables]:
        most = len(states) if kind in _RULES else 2
        scope = rng.permutation(len(states))[: int(rng.integers(1, most + 1))].tolist()
        factors.append((scope, _add(rng, graph, kind, scope, states)))
    return graph, states, factors, [scope for scope, _ in factors]


def _web(rng, style):
    """Draw a factor graph with many cycles: more pairs than variables, and a few rules."""
    graph = FactorGraph()
    states = _declare(rng, graph.variable, least=4)
    names = list(states)
    tables = style.tables if style.steep else ("plain", "plain", *_TABLES)
    factors = []
    for i in range(2 * len(names)):
        kind = str(rng.choice(_RULES if i % 8 == 7 else tables))
        pool = [names[j] for j in rng.permutation(len(names))]
        scope = pool[:2] if i % 4 else _scope(rng, kind, pool, states)
        scope = [name for name in scope if kind in ("function", *tables) or len(states[name]) == 2]
        if scope:
            factors.append((scope, _add(rng, graph, kind, scope, states)))
    return graph, states, factors, [scope for scope, _ in factors]


def _bayesian_network(rng, style):
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
            table = _rows(rng, [len(states[name]) for name in scope], steep=style.steep)
            net.cpt(child, given=parents, table=table)
        else:
            table = _add(rng, net, kind, scope, states)
        factors.append((scope, table))
        scopes.append(scope)
    return net, states, factors, scopes


def _rows(rng, shape, *, steep):
    """Draw distributions over the last axis, with zeros, that sum to one without rounding."""
    table = np.floor(rng.uniform(1.0, 64.0, size=shape))
    table[rng.random(shape) < 0.25] = 0.0
    if steep:
        table = np.where(table > 0, 10.0 ** -rng.uniform(17, 30, size=shape), 0.0)
    last = int(rng.integers(shape[-1]))
    table[..., last] = 0.0
    table = table if steep else np.floor(table / np.maximum(1, shape[-1] - 1)) / 64
    table[..., last] = 1.0 - table.sum(axis=-1)
    return table


def _markov_network(rng, style):
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
        kind = str(rng.choice(["zeros", "steep"])) if style.steep else "zeros"
        table = _potentials(rng, [len(states[name]) for name in scope], kind)
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
_STEEP_TABLES = ("steep", "steep", *_TABLES)
_RULES = ("parity", "at_most_one", "noisy_or", "noisy_and", "function")
_DRAWS = (_factor_graph, _factor_graph, _code, _web, _bayesian_network, _markov_network)


class _Style(NamedTuple):
    """The tables and rules that are drawn, and the functions that draw them."""

    tables: tuple
    rules: tuple
    draws: tuple
    steep: bool = False


_STYLES = {
    "usual": _Style(_TABLES, _RULES, _DRAWS),
    "steep": _Style(_STEEP_TABLES, _RULES, (_chain, *_DRAWS), steep=True),
    "wide": _Style(("wide", "far", "steep"), _RULES, (_factor_graph,)),
    "tables": _Style((*_TABLES, "twice"), (), (_factor_graph, _factor_graph, _markov_network)),
}
