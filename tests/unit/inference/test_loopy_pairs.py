"""Flooding on graphs of pairs: which engine runs, and single precision."""

import numpy as np
import pytest
from tests.properties.loopy_twins import Twin, random_pairs

import credo


def loopy(model, evidence=None, **options):
    options = {"method": "loopy", "on_failure": "return", **options}
    return credo.infer(model, evidence, **options)


def engine_of(post):
    return post.details["messages"]


def field(n, m, k, seed=0, strength=0.3):
    rng = np.random.default_rng(seed)
    ends = rng.integers(0, n, (2 * m, 2))
    ends = ends[ends[:, 0] != ends[:, 1]][:m]
    tables = strength * rng.normal(size=(m, k, k))
    return credo.MarkovNetwork.from_arrays(rng.normal(size=(n, k)), ends, tables, log=True)


class TestWhoRuns:
    """Pairs of one number of states are flooded by an engine of their own."""

    def test_many_pairs_do(self):
        model = field(800, 2500, 2)
        assert engine_of(loopy(model)) == "ratios, float64"
        assert loopy(model).details["schedule"] == "flooding"
        assert engine_of(loopy(model, schedule="flooding")) == "ratios, float64"
        assert engine_of(loopy(model, schedule="flooding", domain="log")) == "logs"
        assert engine_of(loopy(model, schedule="sequential")) == "logs"
        assert engine_of(loopy(model, schedule="flooding", counting=0.9)) == "logs"

    def test_few_pairs_do_in_single_precision_only(self):
        model = field(30, 60, 3)
        assert engine_of(loopy(model, schedule="flooding")) == "logs"
        assert engine_of(loopy(model, schedule="flooding", dtype="float32")) == "ratios, float32"

    def test_zeros_and_wide_tables_do_not(self):
        zeros = random_pairs(np.random.default_rng(0), 6, 2, 9).potential([0, 1], np.eye(2))
        wide = random_pairs(np.random.default_rng(0), 6, 2, 9).factor([0, 1], [[0, -700], [0, 0]])
        for twin in (zeros, wide):
            post = loopy(twin.graph, schedule="flooding", dtype="float32")
            assert engine_of(post) == "logs"
        soft = random_pairs(np.random.default_rng(0), 6, 2, 9)
        post = loopy(soft.graph, likelihood={2: [1, 0]}, dtype="float32", schedule="flooding")
        assert engine_of(post) == "logs"
        assert post.probabilities(2).tolist() == [1.0, 0.0]

    def test_what_single_precision_cannot_hold_is_computed_in_double(self):
        twin = random_pairs(np.random.default_rng(0), 6, 2, 9, 0.3).factor(
            [0, 1], [[0, -90], [0, 0]]
        )
        post = loopy(twin.graph, schedule="flooding", dtype="float32", tolerance=1e-12)
        exact = loopy(twin.graph, schedule="flooding", tolerance=1e-12)
        for v in range(6):
            np.testing.assert_allclose(post.probabilities(v), exact.probabilities(v), atol=1e-11)

    def test_variables_of_unequal_states_do_not(self):
        twin = Twin([2, 3, 2]).factor([0, 1], np.zeros((2, 3))).factor([1, 2], np.zeros((3, 2)))
        twin.factor([0, 2], np.zeros((2, 2)))
        assert engine_of(loopy(twin.graph, schedule="flooding", dtype="float32")) == "logs"


@pytest.mark.parametrize("k", [2, 3, 6, 7, 12])
@pytest.mark.parametrize("temperature", [1.0, 0.0, 0.6])
def test_single_precision_is_close_to_double(k, temperature):
    model = field(200, 500, k, seed=k, strength=0.15 if temperature else 0.03)
    options = {"schedule": "flooding", "temperature": temperature, "momentum": 0.8}
    double, single = loopy(model, **options), loopy(model, dtype="float32", **options)
    assert single.status == double.status == "CONVERGED"
    assert single.sweeps <= double.sweeps
    gap = np.abs(single.answer.beliefs.values - double.answer.beliefs.values)
    assert gap.max() < 2e-5
    assert single.log_evidence == pytest.approx(double.log_evidence, rel=1e-6, abs=1e-3)


@pytest.mark.parametrize("k", [2, 4, 9])
def test_both_engines_agree_on_joints_messages_and_the_estimate(k):
    model = field(900, 2200, k, seed=k)
    evidence, likelihood = {3: 1, 17: 0}, {5: np.linspace(0.5, 1.5, k)}
    options = {"schedule": "flooding", "likelihood": likelihood, "tolerance": 1e-12}
    fast = loopy(model, evidence, **options)
    slow = loopy(model, evidence, counting=1.0, **options)
    assert (engine_of(fast), engine_of(slow)) == ("ratios, float64", "logs")
    assert fast.log_evidence == pytest.approx(slow.log_evidence, rel=1e-11)
    wiring = model.compile()
    starts = wiring.scope_start[:-1][np.diff(wiring.scope_start) == 2]
    for at in starts[:5]:
        one, two = wiring.scope[at : at + 2].tolist()
        if one in evidence or two in evidence:
            continue
        np.testing.assert_allclose(
            fast.joint([two, one]).table, slow.joint([two, one]).table, atol=1e-10
        )
        np.testing.assert_allclose(
            fast.message(one, two).values, slow.message(one, two).values, atol=1e-10
        )


@pytest.mark.parametrize("k", [2, 3, 8])
@pytest.mark.parametrize("degree", [40, 200])
def test_hubs_neither_overflow_nor_underflow(k, degree):
    """One variable hears so many others that products of probabilities would vanish."""
    rng = np.random.default_rng(degree)
    ends = np.stack([np.zeros(degree, np.int64), np.arange(1, degree + 1)], axis=1)
    ends = np.vstack([ends, [[1, 2], [2, 3]]])
    tables = rng.normal(size=(len(ends), k, k))
    potentials = rng.normal(size=(degree + 1, k))
    model = credo.MarkovNetwork.from_arrays(potentials, ends, tables, log=True)
    safe = loopy(model, schedule="flooding", counting=1.0)
    for dtype in ("float64", "float32"):
        post = loopy(model, schedule="flooding", dtype=dtype)
        assert post.status == "CONVERGED"
        gap = post.answer.beliefs.values - safe.answer.beliefs.values
        assert np.abs(gap).max() < 1e-4
        assert post.log_evidence == pytest.approx(safe.log_evidence, rel=1e-6)


def test_pairs_along_a_tree_have_exact_beliefs():
    n = 2500
    rng = np.random.default_rng(1)
    ends = np.stack([rng.integers(0, np.arange(1, n)), np.arange(1, n)], axis=1)
    model = credo.MarkovNetwork.from_arrays(
        rng.normal(size=(n, 2)), ends, rng.normal(size=(n - 1, 2, 2)), log=True
    )
    exact = credo.infer(model, method="tree")
    assert loopy(model).status == loopy(model).log_evidence_is == "EXACT"
    for options in ({}, {"schedule": "flooding"}, {"schedule": "flooding", "momentum": 0.5}):
        post = loopy(model, **options)
        assert post.log_evidence == pytest.approx(exact.log_evidence, rel=1e-10)
        for v in (0, 1000, 2499):
            np.testing.assert_allclose(post.probabilities(v), exact.probabilities(v), rtol=1e-9)


def test_all_or_all_but_one_observed_leaves_nothing_to_pass():
    twin = random_pairs(np.random.default_rng(2), 5, 2, 8)
    for seen in ({v: v % 2 for v in range(5)}, {v: v % 2 for v in range(4)}):
        exact = credo.infer(twin.graph, seen)
        post = loopy(twin.graph, seen, schedule="flooding", dtype="float32")
        assert not post.residuals.any()
        assert post.log_evidence == pytest.approx(exact.log_evidence, rel=1e-6)
        np.testing.assert_allclose(post.probabilities(4), exact.probabilities(4), rtol=1e-6)
