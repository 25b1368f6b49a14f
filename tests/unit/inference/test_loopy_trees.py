"""Loopy belief propagation on trees: exact after two passes, and it says so."""

import math

import numpy as np
import pytest
from tests.oracles import loopy as oracle
from tests.properties.loopy_twins import Twin, random_graph, random_tree

import credo

SCHEDULES = ("auto", "flooding", "sequential", "residual", "random", "tree")
SIZES = [2, 3, 2, 4, 2, 3, 2, 2, 3]


def loopy(model, evidence=None, **options):
    return credo.infer(model, evidence, method="loopy", **options)


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("seed", range(3))
def test_marginals_evidence_and_joints_equal_enumeration(schedule, seed):
    rng = np.random.default_rng(seed)
    twin = random_tree(rng, SIZES, strength=2.0)
    seen, weights = {4: 1, 7: 0}, {3: [0.2, 1.0, 3.0, 0.5]}
    post = loopy(twin.graph, seen, likelihood=weights, schedule=schedule)
    factors = twin.weighed(seen, weights)
    expected, log_z = oracle.marginals(SIZES, factors)
    for v, marginal in enumerate(expected):
        np.testing.assert_allclose(post.probabilities(v), marginal, rtol=1e-12, atol=1e-300)
    assert post.log_evidence == pytest.approx(log_z, rel=1e-12)
    assert post.free_energy == -post.log_evidence
    for scope, _ in twin.factors:
        joint = oracle.joint(SIZES, factors, list(scope))
        np.testing.assert_allclose(post.joint(scope).table, joint, rtol=1e-11, atol=1e-300)
    assert (post.status, post.log_evidence_is, post.period) == ("EXACT", "EXACT", 0)


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_at_temperature_zero_beliefs_are_max_marginals(schedule):
    rng = np.random.default_rng(5)
    twin = random_tree(rng, SIZES, strength=2.0)
    post = loopy(twin.graph, {2: 1}, schedule=schedule, temperature=0)
    best = credo.max_marginals(twin.graph, {2: 1})
    for v in range(len(SIZES)):
        scores = np.exp(best.log_values(v) - best.log_values(v).max())
        np.testing.assert_allclose(post.probabilities(v), scores / scores.sum(), rtol=1e-12)
    assert post.log_evidence == pytest.approx(best.best.log_score, rel=1e-12)
    assert post.status == "EXACT"


@pytest.mark.parametrize("k", [2, 3, 7])
def test_temperatures_are_powers_of_the_model(k):
    rng = np.random.default_rng(k)
    twin = random_tree(rng, [k] * 5, strength=1.0)
    for temperature in (0.25, 0.5, 3.0):
        post = loopy(twin.graph, temperature=temperature)
        heated = [(scope, logs / temperature) for scope, logs in twin.factors]
        expected, log_z = oracle.marginals(twin.sizes, heated)
        for v, marginal in enumerate(expected):
            np.testing.assert_allclose(post.probabilities(v), marginal, rtol=1e-11)
        assert post.log_evidence == pytest.approx(log_z, rel=1e-11)


def test_small_temperatures_approach_max_marginals():
    rng = np.random.default_rng(11)
    twin = random_tree(rng, [2, 3, 2, 3], strength=1.0)
    best = credo.max_marginals(twin.graph)
    away = []
    for temperature in (0.2, 0.1, 0.05):
        post = loopy(twin.graph, temperature=temperature)
        # T log b is a score, up to a constant, and T log Z goes to the best one
        scores = [temperature * np.log(post.probabilities(v)) for v in range(4)]
        gaps = [np.ptp(score - best.log_values(v)) for v, score in enumerate(scores)]
        away.append(max(*gaps, abs(temperature * post.log_evidence - best.best.log_score)))
    assert away[0] > away[1] > away[2]
    assert away[2] < 0.05 * math.log(36)  # at most T times the log of the number of configurations


def test_the_tree_schedule_passes_every_message_once():
    rng = np.random.default_rng(1)
    twin = random_tree(rng, SIZES)
    post = loopy(twin.graph, schedule="tree")
    assert post.updates == sum(len(scope) for scope, _ in twin.factors if len(scope) > 1)
    assert post.sweeps == 1
    assert post.details["schedule"] == "tree"


@pytest.mark.parametrize("n", [2, 3, 50])
def test_a_chain_of_n_variables_passes_twice_n_less_one_messages(n):
    rng = np.random.default_rng(n)
    twin = Twin([2] * n)
    for v in range(n - 1):
        twin.factor([v, v + 1], rng.normal(size=(2, 2)))
    assert loopy(twin.graph).updates == 2 * (n - 1)


def test_momentum_and_few_sweeps_do_not_spoil_a_tree():
    rng = np.random.default_rng(2)
    twin = random_tree(rng, SIZES)
    exact = credo.infer(twin.graph)
    for schedule in SCHEDULES:
        post = loopy(twin.graph, schedule=schedule, momentum=0.1, tolerance=0.05)
        assert post.status == "EXACT"
        for v in range(len(SIZES)):
            np.testing.assert_allclose(post.probabilities(v), exact.probabilities(v), rtol=1e-10)


def test_a_forest_with_lonely_and_certain_variables_is_exact():
    twin = Twin([2, 3, 1, 2, 4])
    twin.potential([0, 1], [[1, 2, 3], [4, 0, 6]]).potential([2], [5.0]).potential([2, 3], [[2, 7]])
    post = loopy(twin.graph)
    expected, log_z = oracle.marginals(twin.sizes, twin.factors)
    for v, marginal in enumerate(expected):
        np.testing.assert_allclose(post.probabilities(v), marginal, rtol=1e-13)
    assert post.log_evidence == pytest.approx(log_z, rel=1e-13)
    assert post.status == "EXACT"


def test_evidence_that_cuts_all_cycles_leaves_a_tree():
    ring = credo.MarkovNetwork()
    for name in "abcd":
        ring.node(name, 2, [0.3, 0.7])
    for one, two in ("ab", "bc", "cd", "da"):
        ring.edge(one, two, [[3.0, 1.0], [1.0, 2.0]])
    assert loopy(ring).status == "CONVERGED"
    post = loopy(ring, {"a": 0})
    exact = credo.infer(ring, {"a": 0})
    assert post.status == post.log_evidence_is == "EXACT"
    assert post.log_evidence == pytest.approx(exact.log_evidence, rel=1e-13)
    for name in "abcd":
        np.testing.assert_allclose(post.probabilities(name), exact.probabilities(name), rtol=1e-13)


def test_two_factors_between_the_same_variables_are_a_cycle_and_no_tree():
    twin = Twin([2, 2])
    twin.factor([0, 1], [[0.5, 0.0], [0.0, 0.5]]).factor([1, 0], [[0.2, 0.0], [0.1, 0.5]])
    post = loopy(twin.graph)
    assert (post.status, post.log_evidence_is) == ("CONVERGED", "ESTIMATE")


def test_a_long_chain_is_exact():
    rng = np.random.default_rng(8)
    n, k = 30_000, 3
    transition = rng.dirichlet(np.ones(k), size=k)
    model = credo.graphs.chain(np.ones(k) / k, transition, log_likelihood=rng.normal(size=(n, k)))
    post, exact = loopy(model), credo.infer(model, method="tree")
    assert post.status == "EXACT"
    assert post.log_evidence == pytest.approx(exact.log_evidence, rel=1e-12)
    for name in ("x0", "x14999", "x29999"):
        np.testing.assert_allclose(post.probabilities(name), exact.probabilities(name), rtol=1e-10)


@pytest.mark.parametrize("schedule", ["flooding", "sequential", "tree"])
def test_with_counting_numbers_a_tree_is_an_estimate(schedule):
    twin = random_tree(np.random.default_rng(8), SIZES, strength=2.0)
    post = loopy(twin.graph, counting=0.7, schedule=schedule)
    assert (post.status, post.log_evidence_is) == ("CONVERGED", "ESTIMATE")
    marginals, log_z = oracle.marginals(SIZES, twin.factors)
    assert max(np.abs(post.probabilities(v) - p).max() for v, p in enumerate(marginals)) > 1e-3
    assert abs(post.log_evidence - log_z) > 1e-3


def test_graphs_with_cycles_are_never_called_exact():
    for seed in range(20):
        rng = np.random.default_rng(seed)
        twin = random_graph(rng, [2, 2, 3, 2, 2], 9, strength=0.3)
        twin.factor([0, 1], rng.normal(size=(2, 2))).factor([1, 0], rng.normal(size=(2, 2)))
        post = loopy(twin.graph)
        assert post.status == "CONVERGED"
        assert post.log_evidence_is == "ESTIMATE"
