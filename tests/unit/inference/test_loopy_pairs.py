"""Pairs by ratios; the same answer for any threads, seeds and order; warm starts."""

import numpy as np
import pytest
from tests.properties.loopy_twins import Twin, random_pairs

import credo


def loopy(model, evidence=None, **options):
    options = {"method": "loopy", "on_failure": "return", **options}
    return credo.infer(model, evidence, **options)


def kind(post):
    return post.details.get("messages", "logs")


def all_numbers(post):
    """Every number of an answer."""
    beliefs = post.answer.beliefs.values
    return np.concatenate([beliefs, post.residuals, [post.log_evidence, post.updates]])


def field(n, m, k, seed=0, strength=0.3):
    """Pairs with tables of their own between n variables."""
    rng = np.random.default_rng(seed)
    ends = rng.integers(0, n, (2 * m, 2))
    ends = ends[ends[:, 0] != ends[:, 1]][:m]
    tables = strength * rng.normal(size=(m, k, k))
    return credo.MarkovNetwork.from_arrays(rng.normal(size=(n, k)), ends, tables, log=True)


def large_graph():
    """Enough cells of tables of three variables to be cut."""
    rng = np.random.default_rng(0)
    graph = credo.FactorGraph()
    for v in range(3000):
        graph.variable(v, 3)
    for _ in range(3000):
        scope = rng.choice(3000, 3, replace=False).tolist()
        graph.factor(scope, 0.3 * rng.normal(size=(3, 3, 3)), log=True)
    return graph


@pytest.mark.parametrize(
    ("k", "options", "messages"),
    [
        (2, {"dtype": "float64"}, "ratios, float64"),
        (2, {"dtype": "float32"}, "ratios, float32"),
        (7, {"dtype": "float64"}, "ratios, float64"),
        (7, {"dtype": "float32"}, "ratios, float32"),
        (None, {"domain": "linear"}, "logs"),
        (None, {"domain": "log"}, "logs"),
    ],
)
def test_threads_do_not_change_a_bit(k, options, messages):
    model = large_graph() if k is None else field(10_000, 100_500, k, seed=k, strength=0.2)
    options = {"schedule": "flooding", "momentum": 0.7, "sweeps": 3, **options}
    posts = [loopy(model, threads=threads, **options) for threads in (1, 2, 3)]
    assert {kind(post) for post in posts} == {messages}
    for post in posts[1:]:
        np.testing.assert_array_equal(all_numbers(post), all_numbers(posts[0]))


def test_the_seed_decides_the_random_order_and_nothing_else():
    twin = random_pairs(np.random.default_rng(4), 8, 3, 14, 0.5)
    one, same, other = (
        loopy(twin.graph, schedule="random", seed=seed, sweeps=3, tolerance=0.0)
        for seed in (1, 1, 2)
    )
    np.testing.assert_array_equal(all_numbers(one), all_numbers(same))
    assert np.abs(one.residuals - other.residuals).max() > 1e-9
    for schedule in ("flooding", "sequential", "residual", "tree"):
        a, b = (loopy(twin.graph, schedule=schedule, seed=seed) for seed in (1, 2))
        np.testing.assert_array_equal(all_numbers(a), all_numbers(b))


class TestWarmStart:
    """Beginning with the messages of an earlier answer."""

    @pytest.mark.parametrize("schedule", ["flooding", "sequential", "residual", "random", "tree"])
    def test_the_same_fixed_point_in_fewer_sweeps(self, schedule):
        twin = random_pairs(np.random.default_rng(3), 10, 2, 18, 0.5).rule("even", [0, 2, 4, 5])
        before = loopy(twin.graph, {0: 1}, schedule=schedule, momentum=1.0)
        options = {"likelihood": {5: [1.0, 1.01]}, "schedule": schedule}
        cold, warm = (loopy(twin.graph, {0: 1}, start=s, **options) for s in (None, before))
        assert warm.status == cold.status == "CONVERGED"
        assert warm.updates < cold.updates
        assert warm.sweeps <= cold.sweeps
        for v in range(10):
            np.testing.assert_allclose(warm.probabilities(v), cold.probabilities(v), atol=1e-7)
        for evidence in ({}, {2: 1, 3: 0, 0: 0}):  # findings may be taken back, and added
            warm = loopy(twin.graph, evidence, schedule=schedule, start=before)
            cold = loopy(twin.graph, evidence, schedule="flooding")
            for v in range(10):
                np.testing.assert_allclose(warm.probabilities(v), cold.probabilities(v), atol=1e-7)

    def test_a_run_goes_on_where_it_stopped(self):
        twin = random_pairs(np.random.default_rng(3), 10, 3, 18, 0.5)
        options = {"schedule": "flooding", "momentum": 0.6, "tolerance": 0.0}
        whole = loopy(twin.graph, sweeps=9, **options)
        first = loopy(twin.graph, sweeps=4, **options)
        rest = loopy(twin.graph, sweeps=5, start=first, **options)
        residuals = np.concatenate([first.residuals, rest.residuals])
        np.testing.assert_allclose(residuals, whole.residuals, atol=1e-14)
        for v in range(10):
            np.testing.assert_allclose(rest.probabilities(v), whole.probabilities(v), atol=1e-13)

    @pytest.mark.parametrize("k", [2, 4, 8])
    def test_from_pairs_to_any_schedule_and_back(self, k):
        twin = random_pairs(np.random.default_rng(k), 10, k, 18, 0.4)
        pairs = loopy(twin.graph, schedule="flooding", dtype="float32", tolerance=1e-5)
        assert kind(pairs).startswith("ratios")
        exact = loopy(twin.graph, schedule="flooding", tolerance=1e-12)
        finer = loopy(twin.graph, schedule="sequential", start=pairs)
        assert kind(finer) == "logs"
        assert finer.residuals[0] < 1e-4
        back = loopy(twin.graph, schedule="flooding", dtype="float32", start=exact)
        assert kind(back).startswith("ratios")
        assert back.residuals[0] < 1e-6
        for v in range(10):
            np.testing.assert_allclose(back.probabilities(v), exact.probabilities(v), atol=1e-5)


class TestWhoRuns:
    """Pairs of one number of states are flooded by an engine of their own."""

    def test_many_pairs_do(self):
        model = field(800, 2500, 2)
        assert kind(loopy(model)) == "ratios, float64"
        assert loopy(model).details["schedule"] == "flooding"
        assert kind(loopy(model, schedule="flooding")) == "ratios, float64"
        assert kind(loopy(model, schedule="flooding", domain="log")) == "logs"
        assert kind(loopy(model, schedule="sequential")) == "logs"
        assert kind(loopy(model, schedule="flooding", counting=0.9)) == "logs"

    def test_few_pairs_do_in_single_precision_only(self):
        model = field(30, 60, 3)
        assert kind(loopy(model, schedule="flooding")) == "logs"
        assert kind(loopy(model, schedule="flooding", dtype="float32")) == "ratios, float32"

    def test_zeros_and_wide_tables_do_not(self):
        zeros = random_pairs(np.random.default_rng(0), 6, 2, 9).potential([0, 1], np.eye(2))
        wide = random_pairs(np.random.default_rng(0), 6, 2, 9).factor([0, 1], [[0, -700], [0, 0]])
        for twin in (zeros, wide):
            post = loopy(twin.graph, schedule="flooding", dtype="float32")
            assert kind(post) == "logs"
        soft = random_pairs(np.random.default_rng(0), 6, 2, 9)
        post = loopy(soft.graph, likelihood={2: [1, 0]}, dtype="float32", schedule="flooding")
        assert kind(post) == "logs"
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
        assert kind(loopy(twin.graph, schedule="flooding", dtype="float32")) == "logs"


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
    assert (kind(fast), kind(slow)) == ("ratios, float64", "logs")
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
