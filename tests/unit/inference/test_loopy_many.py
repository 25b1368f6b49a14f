"""Many rows through loopy belief propagation: the answers."""

import warnings

import numpy as np
import pytest
from scipy.special import logsumexp
from tests.oracles import loopy_many as twin

from credo.exceptions import ExpansionWarning
from credo.graphs import FactorGraph, parity_graph
from credo.inference.many import infer_many

#: A residual that rounding alone may leave is far below, any other far above.
SETTLED = 1e-13


def loopy(*args, **kwargs):
    """Ask, without the warning that a rule was written out; impossible rows are NaN."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ExpansionWarning)
        return infer_many(*args, method="loopy", **{"on_impossible": "nan"} | kwargs)


def graph_of(sizes, tables=()):
    """A graph of variables 0, 1, … and tables ``(scope, array)``."""
    graph = FactorGraph()
    for v, k in enumerate(sizes):
        graph.variable(v, k)
    for scope, table in tables:
        graph.factor(list(scope), table)
    return graph


def add_rule(rng, graph, bits, factors):
    """Add a rule over some two-state variables, in random order; one of them is enough."""
    scope = rng.permutation(bits)[: rng.integers(1, len(bits) + 1)].tolist()
    kind = rng.choice(["parity", "at_most_one", "noisy_or", "noisy_and"])
    if kind == "parity":
        rule = graph.parity(scope, even=bool(rng.integers(2)))
    elif kind == "at_most_one":
        rule = graph.at_most_one(scope)
    else:
        chances = rng.choice([0.0, 0.3, 0.8, 1.0], size=len(scope) - 1).tolist()
        causes = dict(zip(scope[:-1], chances, strict=True))
        rule = getattr(graph, kind)(scope[-1], causes, float(rng.choice([0.0, 0.1, 1.0])))
    factors.append((scope, rule.table()))


def random_table(rng, shape, zeros):
    table = rng.uniform(0.05, 3.0, size=shape)
    table[rng.random(table.shape) < zeros] = 0.0
    table.flat[rng.integers(table.size)] = 1.0
    return table


def random_graph(rng, n=6, most=4, zeros=0.2, rules=2):
    """A graph with loops, its sizes, and its factors as tables."""
    sizes, factors = rng.choice([1, 2, 2, 2, 3, 4], size=n).tolist(), []
    for _ in range(n + 2):
        scope = rng.permutation(n)[: rng.integers(1, most + 1)].tolist()
        factors.append((scope, random_table(rng, [sizes[v] for v in scope], zeros)))
    graph = graph_of(sizes, factors)
    bits = [v for v in range(n) if sizes[v] == 2]
    for _ in range(rules if bits else 0):
        add_rule(rng, graph, bits, factors)
    return graph, sizes, factors


def random_rows(rng, sizes, n_rows, share=0.15):
    return [
        {v: int(rng.integers(k)) for v, k in enumerate(sizes) if rng.random() < share}
        for _ in range(n_rows)
    ]


def one_hot(sizes, row):
    return [np.eye(k)[row[v]] if v in row else np.ones(k) for v, k in enumerate(sizes)]


def assert_row(many, i, marginals, log_z, atol=1e-12):
    assert many.log_evidence[i] == pytest.approx(log_z, rel=1e-12, abs=1e-11)
    for v, marginal in enumerate(marginals):
        np.testing.assert_allclose(many.probabilities(v)[i], marginal, rtol=1e-9, atol=atol)


def run_twin(sizes, factors, weights, sweeps, eta, *, maximum):
    """Sweep as the engine does; give the twin and its residuals, or None for a contradiction."""
    row, residuals = twin.Row(sizes, factors, weights, maximum=maximum), []
    while len(residuals) < sweeps and (not residuals or residuals[-1] > SETTLED):
        residuals.append(row.sweep(eta))
        if np.isnan(residuals[-1]):
            return None
    heard = [row.heard(v) for v in range(len(sizes))]
    products = [row.product(f) for f in range(len(row.factors))]
    return (row, residuals) if all(p.any() for p in [*heard, *products]) else None


@pytest.mark.parametrize("seed", range(40))
def test_every_row_equals_its_slow_twin_sweep_by_sweep(seed):
    rng = np.random.default_rng(seed)
    graph, sizes, factors = random_graph(rng)
    eta, maximum = float(rng.choice([1.0, 0.6])), bool(rng.random() < 0.3)
    sweeps, rows = int(rng.integers(1, 8)), random_rows(rng, sizes, 5)
    heat = {"temperature": 0.0 if maximum else 1.0}
    weights = [rng.uniform(0.1, 2.0, size=(5, k)) for k in sizes]
    given = {"potentials": dict(enumerate(weights))} if seed % 2 else {}
    many = loopy(graph, rows, sweeps=sweeps, tolerance=SETTLED, momentum=eta, **heat, **given)
    for i, row in enumerate(rows):
        own = [
            w[i] * hot if given else hot
            for w, hot in zip(weights, one_hot(sizes, row), strict=True)
        ]
        found = run_twin(sizes, factors, own, sweeps, eta, maximum=maximum)
        assert (i in many.impossible) == (found is None)
        if found is None:
            assert many.statuses[i] == "IMPOSSIBLE"
            assert many.log_evidence[i] == -np.inf
            assert np.isnan(many.probabilities(0)[i]).all()
            continue
        slow, residuals = found
        assert many.sweeps[i] == len(residuals)
        assert many.residuals[i] == pytest.approx(residuals[-1], abs=1e-12)
        assert many.statuses[i] == ("MAX_SWEEPS" if residuals[-1] > SETTLED else "CONVERGED")
        assert_row(many, i, slow.beliefs(), slow.log_z())


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_a_rule_over_one_variable_is_a_weight(dtype):
    graph = parity_graph([[1, 0, 0], [0, 1, 1]], syndrome=[1, 0])
    graph.noisy_or(1, {}, leak=0.1)
    graph.noisy_and(2, {}, leak=0.8)
    graph.at_most_one([1])
    many = loopy(graph, [{}, {1: 1}, {0: 0}], dtype=dtype)
    exact = infer_many(graph, [{}, {1: 1}, {0: 0}], on_impossible="nan")
    assert many.impossible.tolist() == exact.impossible.tolist() == [2]
    assert many.log_evidence_is == ("EXACT" if dtype == "float64" else "ESTIMATE")
    np.testing.assert_allclose(many.log_evidence, exact.log_evidence, atol=1e-6)
    for v in range(3):
        np.testing.assert_allclose(many.probabilities(v), exact.probabilities(v), atol=1e-6)


def ising(rng, side=5, coupling=0.6):
    """A grid of spins."""
    pairs = [(v, v + 1) for v in range(side**2) if v % side < side - 1]
    pairs += [(v, v + side) for v in range(side**2 - side)]
    agree = np.array([[1, -1], [-1, 1]])
    tables = [(pair, np.exp(rng.normal(scale=coupling) * agree)) for pair in pairs]
    return graph_of([2] * side**2, tables)


def answers(many):
    """All numbers of a result."""
    beliefs = np.hstack([many.probabilities(name) for name in many])
    return np.column_stack([beliefs, many.log_evidence, many.sweeps, many.residuals])


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("kind", ["grid", "rules"])
def test_threads_order_and_grouping_change_no_bit(dtype, kind):
    rng = np.random.default_rng(1)
    graph = ising(rng) if kind == "grid" else parity_graph(rng.random((10, 20)) < 0.25)
    logs = rng.normal(size=(150, len(graph.names), 2))
    settings = {"sweeps": 30, "dtype": dtype, "tolerance": 1e-4}
    whole = answers(loopy(graph, log_potentials=logs, threads=1, **settings))
    assert len(set(whole[:, -2].tolist())) > 1  # rows are done at different times
    for threads in (2, 3):
        other = answers(loopy(graph, log_potentials=logs, threads=threads, **settings))
        np.testing.assert_array_equal(other, whole)
    order = rng.permutation(150)
    other = answers(loopy(graph, log_potentials=logs[order], **settings))
    np.testing.assert_array_equal(other, whole[order])
    parts = [loopy(graph, log_potentials=logs[a : a + 7], **settings) for a in range(0, 150, 7)]
    np.testing.assert_array_equal(np.vstack([answers(part) for part in parts]), whole)


def test_potentials_by_name_are_those_in_one_array():
    rng = np.random.default_rng(4)
    graph = ising(rng, side=3)
    logs = rng.normal(scale=2.0, size=(9, 9, 2))
    whole = answers(loopy(graph, log_potentials=logs))
    named = {v: np.exp(logs[:, v]) for v in reversed(range(9))}
    np.testing.assert_allclose(answers(loopy(graph, potentials=named)), whole, atol=1e-11)
    scaled = loopy(graph, log_potentials=logs + 300.0)
    np.testing.assert_allclose(scaled.log_evidence - 2700.0, whole[:, -3], atol=1e-8)
    huge = loopy(graph, potentials={0: np.full((1, 2), 1e300)})
    plain = loopy(graph, [{}])
    assert huge.log_evidence - plain.log_evidence == pytest.approx(np.log(1e300))


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_potentials_of_any_range_lose_nothing(dtype):
    rng = np.random.default_rng(5)
    graph, tables = graph_of([3] * 4), rng.normal(scale=300.0, size=(3, 3, 3))
    for v, table in enumerate(tables):
        graph.factor([v, v + 1], table, log=True)
    logs = rng.normal(scale=900.0, size=(6, 4, 3))
    many = loopy(graph, log_potentials=logs, dtype=dtype)
    for i, (a, b, c, d) in enumerate(logs):
        whole = a[:, None, None, None] + b[:, None, None] + c[:, None] + d
        whole = whole + tables[0][:, :, None, None] + tables[1][:, :, None] + tables[2]
        rest = [tuple(u for u in range(4) if u != v) for v in range(4)]
        marginals = [np.exp(logsumexp(whole, axis=axes) - logsumexp(whole)) for axes in rest]
        assert_row(many, i, marginals, logsumexp(whole), atol=1e-11)


def test_messages_that_become_too_small_on_their_way_are_run_again_in_logs():
    """Each says 1e-90 to the one in the middle, two of them for the same state: 1e-180."""
    tables = [([v, 1], np.array([[1.0, 1e-90], [1e-90, 1.0]])) for v in (0, 2, 3)]
    low, high = np.array([1.0, 1e-120]), np.array([1e-120, 1.0])
    many = loopy(graph_of([2] * 4, tables), potentials={0: [low], 2: [low], 3: [high]})
    weights = [low, np.ones(2), low, high]
    assert_row(many, 0, *twin.enumerate_marginals([2] * 4, tables, weights), atol=0.0)


def test_float32_is_near_float64():
    rng = np.random.default_rng(6)
    graph, sizes, _ = random_graph(rng, zeros=0.0, rules=0, most=3)
    rows = random_rows(rng, sizes, 40)
    exact, rough = loopy(graph, rows), loopy(graph, rows, dtype="float32")
    assert exact.status == rough.status == "CONVERGED"
    for v in range(len(sizes)):
        np.testing.assert_allclose(rough.probabilities(v), exact.probabilities(v), atol=2e-5)
    np.testing.assert_allclose(rough.log_evidence, exact.log_evidence, atol=1e-4)


@pytest.mark.parametrize("temperature", [0.5, 3.0])
def test_a_temperature_raises_the_model_to_a_power(temperature):
    rng = np.random.default_rng(7)
    table, weights = rng.uniform(0.1, 2.0, size=(2, 3)), rng.uniform(0.1, 2.0, size=(4, 2))
    tables, cold = [([0, 1], table), ([1], table[0])], 1.0 / temperature
    cooled = [(scope, array**cold) for scope, array in tables]
    warm = loopy(graph_of([2, 3], tables), potentials={0: weights}, temperature=temperature)
    plain = loopy(graph_of([2, 3], cooled), potentials={0: weights**cold})
    np.testing.assert_allclose(answers(warm), answers(plain), atol=1e-12)


def extremes(dtype):
    """Rows that float64 does not hold, at once or on the way; rows that are impossible."""
    tables = [
        ([0, 1], [[1.0, 0.0, 1e-90], [0.0, 1e-90, 1.0]]),
        ([1, 2], [[1.0, 1e-90], [0.0, 0.0], [1e-90, 1.0]]),
        ([0, 1, 2], np.arange(12.0).reshape(2, 3, 2)),
    ]
    graph = graph_of([2, 3, 2, 2], tables)
    graph.at_most_one([2, 3])
    logs = np.zeros((6, 2))
    logs[1:] = [[0.0, -400.0], [-np.inf, -np.inf], [-np.inf, 0.0], [0.0, -250.0], [-900.0, 0.0]]
    rows = {1: [None, None, None, 0, None, 2], 3: [None, 1, 0, 1, None, 1]}
    return loopy(graph, rows, log_potentials={0: logs}, sweeps=4, dtype=dtype)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_extremes_are_told_from_what_is_impossible(dtype):
    assert extremes(dtype).impossible.tolist() == [2, 3]
