"""Many rows through loopy belief propagation: the answers."""

import warnings

import numpy as np
import pytest
from tests.oracles import loopy as oracle
from tests.properties.loopy_twins import Twin, random_graph

from credo.exceptions import ExpansionWarning
from credo.graphs import parity_graph
from credo.inference.many import infer_many

#: A residual that rounding alone may leave is far below, any other far above.
SETTLED = 1e-13


def loopy(*args, **kwargs):
    """Ask, without the warning that a rule was written out; impossible rows are NaN."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ExpansionWarning)
        return infer_many(*args, method="loopy", **{"on_impossible": "nan"} | kwargs)


def random_twin(rng, n=6):
    """A graph with loops and rules, over one variable or more."""
    twin = random_graph(rng, rng.choice([1, 2, 2, 2, 3, 4], size=n).tolist(), n + 2, zeros=0.2)
    bits = [v for v in range(n) if twin.sizes[v] == 2]
    for _ in range(2 if bits else 0):
        kind = rng.choice(["even", "odd", "at_most_one", "noisy_or", "noisy_and"])
        scope = rng.permutation(bits)[: rng.integers(1, len(bits) + 1)].tolist()
        chances = rng.choice([0.0, 0.3, 0.8, 1.0], size=len(scope) - 1).tolist()
        twin.rule(str(kind), scope, chances, float(rng.choice([0.0, 0.1, 1.0])))
    return twin


def random_rows(rng, sizes, n_rows, share=0.15):
    return [
        {v: int(rng.integers(k)) for v, k in enumerate(sizes) if rng.random() < share}
        for _ in range(n_rows)
    ]


def assert_row(many, i, marginals, log_z, atol=1e-12):
    assert many.log_evidence[i] == pytest.approx(log_z, rel=1e-12, abs=1e-11)
    for v, marginal in enumerate(marginals):
        np.testing.assert_allclose(many.probabilities(v)[i], marginal, rtol=1e-9, atol=atol)


def run_twin(net, sweeps, eta):
    """Sweep as the engine does; give the residuals, or None for a contradiction."""
    residuals = []
    with np.errstate(invalid="ignore"):
        while len(residuals) < sweeps and (not residuals or residuals[-1] > SETTLED):
            residuals.append(net.flood(eta))
            if any(np.isnan(message).any() for message in net.messages.values()):
                return None
    return residuals if np.isfinite(net.bethe()) else None


@pytest.mark.parametrize("seed", range(40))
def test_every_row_equals_its_slow_twin_sweep_by_sweep(seed):
    rng = np.random.default_rng(seed)
    twin = random_twin(rng)
    eta, heat = float(rng.choice([1.0, 0.6])), float(rng.random() >= 0.3)
    sweeps, rows = int(rng.integers(1, 8)), random_rows(rng, twin.sizes, 5)
    weights = {v: rng.uniform(0.1, 2.0, size=(5, k)) for v, k in enumerate(twin.sizes)}
    settings = {"sweeps": sweeps, "tolerance": SETTLED, "momentum": eta, "temperature": heat}
    many = loopy(twin.graph, rows, potentials=weights if seed % 2 else None, **settings)
    for i, row in enumerate(rows):
        own = {v: w[i] for v, w in weights.items()} if seed % 2 else {}
        net = oracle.Net(twin.sizes, twin.weighed(row, own), temperature=heat)
        residuals = run_twin(net, sweeps, eta)
        assert (i in many.impossible) == (residuals is None)
        if residuals is None:
            assert many.statuses[i] == "IMPOSSIBLE"
            assert many.log_evidence[i] == -np.inf
            assert np.isnan(many.probabilities(0)[i]).all()
            continue
        assert many.sweeps[i] == len(residuals)
        assert many.residuals[i] == pytest.approx(residuals[-1], abs=1e-12)
        assert many.statuses[i] == ("MAX_SWEEPS" if residuals[-1] > SETTLED else "CONVERGED")
        assert_row(many, i, net.beliefs(), net.bethe())


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
    twin = Twin([2] * side**2)
    for pair in pairs:
        twin.factor(pair, rng.normal(scale=coupling) * agree)
    return twin.graph


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
    twin = Twin([3] * 4)
    for v in range(3):
        twin.factor([v, v + 1], rng.normal(scale=300.0, size=(3, 3)))
    logs = rng.normal(scale=900.0, size=(6, 4, 3))
    many = loopy(twin.graph, log_potentials=logs, dtype=dtype)
    for i, own in enumerate(logs):
        factors = [*twin.factors, *(((v,), each) for v, each in enumerate(own))]
        assert_row(many, i, *oracle.marginals(twin.sizes, factors), atol=1e-11)


def test_messages_that_become_too_small_on_their_way_are_run_again_in_logs():
    """Each says 1e-90 to the one in the middle, two of them for the same state: 1e-180."""
    twin = Twin([2] * 4)
    for v in (0, 2, 3):
        twin.potential([v, 1], [[1.0, 1e-90], [1e-90, 1.0]])
    weights = {0: [1.0, 1e-120], 2: [1.0, 1e-120], 3: [1e-120, 1.0]}
    many = loopy(twin.graph, potentials={v: [own] for v, own in weights.items()})
    expected = oracle.marginals(twin.sizes, twin.weighed(weights=weights))
    assert_row(many, 0, *expected, atol=0.0)


def test_float32_is_near_float64():
    rng = np.random.default_rng(6)
    twin = random_graph(rng, [2, 3, 1, 2, 4, 2], 8)
    rows = random_rows(rng, twin.sizes, 40)
    exact, rough = loopy(twin.graph, rows), loopy(twin.graph, rows, dtype="float32")
    assert exact.status == rough.status == "CONVERGED"
    for v in range(6):
        np.testing.assert_allclose(rough.probabilities(v), exact.probabilities(v), atol=2e-5)
    np.testing.assert_allclose(rough.log_evidence, exact.log_evidence, atol=1e-4)


@pytest.mark.parametrize("temperature", [0.5, 3.0])
def test_a_temperature_raises_the_model_to_a_power(temperature):
    rng = np.random.default_rng(7)
    logs, own = rng.normal(size=(2, 3)), rng.normal(size=(4, 2))
    twins = [Twin([2, 3]).factor([0, 1], x).factor([1], x[0]) for x in (logs, logs / temperature)]
    warm = loopy(twins[0].graph, log_potentials={0: own}, temperature=temperature)
    plain = loopy(twins[1].graph, log_potentials={0: own / temperature})
    np.testing.assert_allclose(answers(warm), answers(plain), atol=1e-12)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_extremes_are_told_from_what_is_impossible(dtype):
    """Rows that float64 does not hold, at once or on the way; rows that are impossible."""
    twin = Twin([2, 3, 2, 2]).potential([0, 1], [[1.0, 0.0, 1e-90], [0.0, 1e-90, 1.0]])
    twin.potential([1, 2], [[1.0, 1e-90], [0.0, 0.0], [1e-90, 1.0]])
    twin.potential([0, 1, 2], np.arange(12.0).reshape(2, 3, 2)).rule("at_most_one", [2, 3])
    logs = np.zeros((6, 2))
    logs[1:] = [[0.0, -400.0], [-np.inf, -np.inf], [-np.inf, 0.0], [0.0, -250.0], [-900.0, 0.0]]
    rows = {1: [None, None, None, 0, None, 2], 3: [None, 1, 0, 1, None, 1]}
    many = loopy(twin.graph, rows, log_potentials={0: logs}, sweeps=4, dtype=dtype)
    assert many.impossible.tolist() == [2, 3]
