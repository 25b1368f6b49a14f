"""Many rows through loopy belief propagation: the answers."""

import warnings

import numpy as np
import pytest
from scipy.special import logsumexp
from tests.oracles import loopy_many as twin

import credo
from credo.exceptions import ExpansionWarning
from credo.graphs import FactorGraph, parity_graph
from credo.inference.many import infer_many

#: A residual that rounding alone may leave is far below, any other far above.
SETTLED = 1e-13


def add_rule(rng, graph, bits, factors):
    """Add a rule over some two-state variables, in random order."""
    scope = rng.permutation(bits)[: rng.integers(1, len(bits) + 1)].tolist()
    kind = rng.choice(["parity", "one", "or", "and"])
    if kind == "parity":
        rule = graph.parity(scope, even=bool(rng.integers(2)))
    elif kind == "one":
        rule = graph.at_most_one(scope)
    else:
        chances = rng.choice([0.0, 0.3, 0.8, 1.0], size=len(scope) - 1).tolist()
        add = graph.noisy_or if kind == "or" else graph.noisy_and
        parents = dict(zip(scope[:-1], chances, strict=True))
        rule = add(scope[-1], parents, float(rng.choice([0.0, 0.1, 1.0])))
    factors.append((scope, rule.table()))


def random_graph(rng, n=6, most=4, zeros=0.2, rules=2):
    """A graph with loops, its sizes, and its factors as tables."""
    graph, factors = FactorGraph(), []
    sizes = rng.choice([1, 2, 2, 2, 3, 4], size=n).tolist()
    for v, k in enumerate(sizes):
        graph.variable(v, k)
    for _ in range(n + 2):
        scope = rng.permutation(n)[: rng.integers(1, most + 1)].tolist()
        table = rng.uniform(0.05, 3.0, size=[sizes[v] for v in scope])
        table[rng.random(table.shape) < zeros] = 0.0
        table.flat[rng.integers(table.size)] = 1.0
        graph.factor(scope, table)
        factors.append((scope, table))
    bits = [v for v in range(n) if sizes[v] == 2]
    for _ in range(rules if bits else 0):
        add_rule(rng, graph, bits, factors)
    return graph, sizes, factors


def random_tree(rng, n=7, zeros=0.2, *, rules=True):
    """A graph without cycles: each factor joins new variables to one that is there."""
    graph, factors, sizes = FactorGraph(), [], [2]
    graph.variable(0, 2)
    while len(sizes) < n:
        hook, first = int(rng.integers(len(sizes))), len(sizes)
        is_rule = rules and sizes[hook] == 2 and rng.random() < 0.4
        new = [2] * int(rng.integers(1, 4)) if is_rule else [int(rng.integers(1, 4))]
        for k in new:
            graph.variable(len(sizes), k)
            sizes.append(k)
        if is_rule:
            add_rule(rng, graph, [hook, *range(first, len(sizes))], factors)
        else:
            table = rng.uniform(0.05, 3.0, size=[sizes[hook], new[0]])
            table[rng.random(table.shape) < zeros] = 0.0
            graph.factor([hook, first], table + (table.sum() == 0))
            factors.append(([hook, first], table + (table.sum() == 0)))
    return graph, sizes, factors


def random_rows(rng, sizes, n_rows, share=0.15):
    return [
        {v: int(rng.integers(k)) for v, k in enumerate(sizes) if rng.random() < share}
        for _ in range(n_rows)
    ]


def one_hot(sizes, row):
    return [np.eye(k)[row[v]] if v in row else np.ones(k) for v, k in enumerate(sizes)]


def run_twin(sizes, factors, weights, sweeps, eta, *, maximum):
    """Sweep as the engine does; give the twin and its residuals, or None for a contradiction."""
    row, residuals = twin.Row(sizes, factors, weights, maximum=maximum), []
    while len(residuals) < sweeps and (not residuals or residuals[-1] > SETTLED):
        residuals.append(row.sweep(eta))
        if np.isnan(residuals[-1]):
            return None
    if not all(row.heard(v).any() for v in range(len(sizes))):
        return None
    if not all(row.product(f).any() for f in range(len(row.factors))):
        return None
    return row, residuals


def quietly(function, *args, **kwargs):
    """Call without the warning that a rule was written out."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ExpansionWarning)
        return function(*args, **kwargs)


@pytest.mark.parametrize("seed", range(40))
def test_every_row_equals_its_slow_twin_sweep_by_sweep(seed):
    rng = np.random.default_rng(seed)
    graph, sizes, factors = random_graph(rng)
    eta, maximum = float(rng.choice([1.0, 0.6])), bool(rng.random() < 0.3)
    sweeps = int(rng.integers(1, 8))
    rows = random_rows(rng, sizes, 5)
    many = quietly(
        infer_many,
        graph,
        rows,
        method="loopy",
        sweeps=sweeps,
        tolerance=SETTLED,
        momentum=eta,
        temperature=0.0 if maximum else 1.0,
        on_impossible="nan",
    )
    for i, row in enumerate(rows):
        found = run_twin(sizes, factors, one_hot(sizes, row), sweeps, eta, maximum=maximum)
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
        assert many.log_evidence[i] == pytest.approx(slow.log_z(), rel=1e-12, abs=1e-11)
        for v, belief in enumerate(slow.beliefs()):
            np.testing.assert_allclose(many.probabilities(v)[i], belief, atol=1e-12)


@pytest.mark.parametrize("seed", range(20))
def test_on_trees_it_is_exact_once_messages_have_crossed_them(seed):
    rng = np.random.default_rng(seed)
    graph, sizes, factors = random_tree(rng)
    rows = random_rows(rng, sizes, 6)
    weights = [rng.uniform(0.1, 2.0, size=(6, k)) for k in sizes]
    many = infer_many(
        graph,
        rows,
        method="loopy",
        potentials=dict(enumerate(weights)),
        tolerance=0.0,
        on_impossible="nan",
    )
    assert many.status in ("CONVERGED", "EXACT")
    assert many.log_evidence_is == "EXACT"
    for i, row in enumerate(rows):
        both = [w[i] * h for w, h in zip(weights, one_hot(sizes, row), strict=True)]
        exact = twin.enumerate_marginals(sizes, factors, both)
        assert (i in many.impossible) == (exact is None)
        if exact is not None:
            marginals, log_z = exact
            assert many.log_evidence[i] == pytest.approx(log_z, abs=1e-11)
            for v, marginal in enumerate(marginals):
                np.testing.assert_allclose(many.probabilities(v)[i], marginal, atol=1e-12)


def ising(rng, side=5, coupling=0.6):
    """A grid of spins."""
    graph = FactorGraph()
    for v in range(side * side):
        graph.variable(v, 2)
    for v in range(side * side):
        for u in [v + 1] * (v % side < side - 1) + [v + side] * (v < side * side - side):
            graph.factor(
                [v, u], rng.normal(scale=coupling) * np.array([[1, -1], [-1, 1]]), log=True
            )
    return graph


def answers(many):
    """All numbers of a result."""
    beliefs = np.hstack([many.probabilities(name) for name in many])
    return np.column_stack([beliefs, many.log_evidence, many.sweeps, many.residuals])


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("kind", ["grid", "rules"])
def test_threads_order_and_grouping_change_no_bit(dtype, kind):
    rng = np.random.default_rng(1)
    if kind == "grid":
        graph = ising(rng)
        n = 25
    else:
        graph, n = parity_graph(rng.random((10, 20)) < 0.25), 20
    logs = rng.normal(size=(150, n, 2))
    settings = {"method": "loopy", "sweeps": 30, "dtype": dtype, "tolerance": 1e-4}
    whole = answers(infer_many(graph, log_potentials=logs, threads=1, **settings))
    assert len(set(whole[:, -2].tolist())) > 1  # rows are done at different times
    for threads in (2, 3):
        other = answers(infer_many(graph, log_potentials=logs, threads=threads, **settings))
        np.testing.assert_array_equal(other, whole)
    order = rng.permutation(150)
    other = answers(infer_many(graph, log_potentials=logs[order], **settings))
    np.testing.assert_array_equal(other, whole[order])
    parts = [
        infer_many(graph, log_potentials=logs[a : a + 7], **settings) for a in range(0, 150, 7)
    ]
    np.testing.assert_array_equal(np.vstack([answers(part) for part in parts]), whole)


def test_rows_agree_with_one_question_after_the_other():
    rng = np.random.default_rng(2)
    graph = ising(rng, side=4)
    rows = random_rows(rng, [2] * 16, 12)
    many = infer_many(graph, rows, method="loopy", tolerance=1e-10)
    for i, row in enumerate(rows):
        one = credo.infer(
            graph, row, method="loopy", schedule="flooding", momentum=1.0, tolerance=1e-10
        )
        assert many.log_evidence[i] == pytest.approx(one.log_evidence, abs=1e-8)
        for v in range(16):
            np.testing.assert_allclose(many.probabilities(v)[i], one[v].probabilities, atol=1e-9)


def test_evidence_is_a_potential_of_one_state():
    rng = np.random.default_rng(3)
    graph, sizes, _ = random_graph(rng, zeros=0.0, rules=0)
    rows = random_rows(rng, sizes, 20, share=0.4)
    seen = infer_many(graph, rows, method="loopy", sweeps=20)
    hot = {v: np.array([one_hot(sizes, row)[v] for row in rows]) for v in range(len(sizes))}
    for given in ({"potentials": hot}, {"log_potentials": _logs(hot)}):
        other = infer_many(graph, method="loopy", sweeps=20, **given)
        np.testing.assert_allclose(answers(other), answers(seen), atol=1e-12)


def _logs(potentials):
    with np.errstate(divide="ignore"):
        return {name: np.log(values) for name, values in potentials.items()}


def test_potentials_by_name_are_those_in_one_array():
    rng = np.random.default_rng(4)
    graph = ising(rng, side=3)
    logs = rng.normal(scale=2.0, size=(9, 9, 2))
    whole = answers(infer_many(graph, method="loopy", log_potentials=logs))
    named = {v: np.exp(logs[:, v]) for v in reversed(range(9))}
    other = answers(infer_many(graph, method="loopy", potentials=named))
    np.testing.assert_allclose(other, whole, atol=1e-11)
    scaled = infer_many(graph, method="loopy", log_potentials=logs + 300.0)
    np.testing.assert_allclose(scaled.log_evidence - 2700.0, whole[:, -3], atol=1e-8)
    huge = infer_many(graph, method="loopy", potentials={0: np.full((1, 2), 1e300)})
    plain = infer_many(graph, [{}], method="loopy")
    assert huge.log_evidence - plain.log_evidence == pytest.approx(np.log(1e300))


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_potentials_of_any_range_lose_nothing(dtype):
    rng = np.random.default_rng(5)
    graph = FactorGraph()
    for v in range(4):
        graph.variable(v, 3)
    tables = rng.normal(scale=300.0, size=(3, 3, 3))
    for v, table in enumerate(tables):
        graph.factor([v, v + 1], table, log=True)
    logs = rng.normal(scale=900.0, size=(6, 4, 3))
    many = infer_many(graph, method="loopy", log_potentials=logs, dtype=dtype)
    for i in range(6):
        whole = logs[i, 0][:, None, None, None] + logs[i, 1][:, None, None]
        whole = whole + logs[i, 2][:, None] + logs[i, 3]
        whole = whole + tables[0][:, :, None, None] + tables[1][:, :, None] + tables[2]
        assert many.log_evidence[i] == pytest.approx(logsumexp(whole), rel=1e-12)
        for v in range(4):
            rest = tuple(u for u in range(4) if u != v)
            expected = np.exp(logsumexp(whole, axis=rest) - logsumexp(whole))
            np.testing.assert_allclose(many.probabilities(v)[i], expected, atol=1e-11)


def test_messages_that_become_too_small_on_their_way_are_run_again_in_logs():
    graph = FactorGraph()
    for v in range(6):
        graph.variable(v, 2)
    tables = [np.array([[1.0, 1e-90], [1e-90, 1.0]])] * 5
    for v, table in enumerate(tables):
        graph.factor([v, v + 1], table)
    weights = {0: np.array([[1.0, 1e-120]]), 5: np.array([[1e-120, 1.0]])}
    many = infer_many(graph, method="loopy", potentials=weights)
    ones = [np.ones(2)] * 4
    marginals, log_z = twin.enumerate_marginals(
        [2] * 6,
        [([v, v + 1], table) for v, table in enumerate(tables)],
        [weights[0][0], *ones, weights[5][0]],
    )
    assert many.log_evidence[0] == pytest.approx(log_z, rel=1e-12)
    for v, marginal in enumerate(marginals):
        np.testing.assert_allclose(many.probabilities(v)[0], marginal, rtol=1e-9)


def test_float32_is_near_float64():
    rng = np.random.default_rng(6)
    graph, sizes, _ = random_graph(rng, zeros=0.0, rules=0, most=3)
    rows = random_rows(rng, sizes, 40)
    exact = infer_many(graph, rows, method="loopy")
    rough = infer_many(graph, rows, method="loopy", dtype="float32")
    assert exact.status == rough.status == "CONVERGED"
    for v in range(len(sizes)):
        np.testing.assert_allclose(rough.probabilities(v), exact.probabilities(v), atol=2e-5)
    np.testing.assert_allclose(rough.log_evidence, exact.log_evidence, atol=1e-4)


@pytest.mark.parametrize("temperature", [0.5, 3.0])
def test_a_temperature_raises_the_model_to_a_power(temperature):
    rng = np.random.default_rng(7)
    table, weights = rng.uniform(0.1, 2.0, size=(2, 3)), rng.uniform(0.1, 2.0, size=(4, 2))
    models = []
    for power in (1.0, 1.0 / temperature):
        graph = FactorGraph()
        graph.variable("a", 2)
        graph.variable("b", 3)
        graph.factor(["a", "b"], table**power)
        graph.factor(["b"], table[0] ** power)
        models.append(graph)
    warm = infer_many(models[0], method="loopy", potentials={"a": weights}, temperature=temperature)
    plain = infer_many(models[1], method="loopy", potentials={"a": weights ** (1.0 / temperature)})
    np.testing.assert_allclose(answers(warm), answers(plain), atol=1e-12)


def test_maxima_on_a_tree_are_max_marginals():
    rng = np.random.default_rng(8)
    graph, sizes, _ = random_tree(rng, zeros=0.0, rules=False)
    many = infer_many(graph, [{}], method="loopy", temperature=0.0, tolerance=0.0)
    exact = credo.max_marginals(graph)
    assert many.log_evidence[0] == pytest.approx(credo.mpe(graph).log_score, abs=1e-12)
    for v in range(len(sizes)):
        logs = exact.log_values(v)
        expected = np.exp(logs - logsumexp(logs))
        np.testing.assert_allclose(many.probabilities(v)[0], expected, atol=1e-12)
