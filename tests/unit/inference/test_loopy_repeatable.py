"""The same answer whatever the threads, the hash seed or the way the graph was put in."""

import os
import subprocess
import sys

import numpy as np
import pytest
from tests.properties.loopy_twins import Twin, random_graph, random_pairs

import credo


def loopy(model, evidence=None, **options):
    options = {"method": "loopy", "on_failure": "return", **options}
    return credo.infer(model, evidence, **options)


def kind(post):
    return post.details["messages"]


def all_numbers(post):
    """Every number of an answer."""
    beliefs = post.answer.beliefs.values
    return np.concatenate([beliefs, post.residuals, [post.log_evidence, post.updates]])


def large_field(k, pairs=100_500, n=10_000):
    """Enough pairs to be cut into tiles, all with tables of their own."""
    rng = np.random.default_rng(k)
    ends = rng.integers(0, n, (pairs + 100, 2))
    ends = ends[ends[:, 0] != ends[:, 1]][:pairs]
    tables = 0.2 * rng.normal(size=(len(ends), k, k))
    return credo.MarkovNetwork.from_arrays(rng.normal(size=(n, k)), ends, tables, log=True)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("k", [2, 3, 7])
def test_threads_do_not_change_a_bit_of_pairs(k, dtype):
    model = large_field(k)
    options = {"schedule": "flooding", "momentum": 0.7, "sweeps": 3, "dtype": dtype}
    posts = [loopy(model, threads=threads, **options) for threads in (1, 2, 3)]
    assert all(kind(post).startswith("ratios") for post in posts)
    for post in posts[1:]:
        np.testing.assert_array_equal(all_numbers(post), all_numbers(posts[0]))


def test_tiles_give_what_one_pass_gives():
    """So many pairs are sorted into tiles; the general engine knows nothing of tiles."""
    model = large_field(2)
    options = {"schedule": "flooding", "sweeps": 3, "momentum": 0.7}
    tiled = loopy(model, **options)
    general = loopy(model, counting=1.0, **options)
    assert kind(tiled).startswith("ratios")
    assert kind(general) == "logs"
    np.testing.assert_allclose(
        tiled.answer.beliefs.values, general.answer.beliefs.values, atol=1e-11
    )
    np.testing.assert_allclose(tiled.residuals, general.residuals, atol=1e-11)
    assert tiled.log_evidence == pytest.approx(general.log_evidence, rel=1e-11)


@pytest.mark.parametrize("domain", ["linear", "log"])
def test_threads_do_not_change_a_bit_of_any_graph(domain):
    rng = np.random.default_rng(0)
    n = 3000
    graph = credo.FactorGraph()
    for v in range(n):
        graph.variable(v, 3)
    for _ in range(n):
        scope = rng.choice(n, 3, replace=False).tolist()
        graph.factor(scope, 0.3 * rng.normal(size=(3, 3, 3)), log=True)
    options = {"schedule": "flooding", "momentum": 0.6, "sweeps": 4, "domain": domain}
    posts = [loopy(graph, threads=threads, **options) for threads in (1, 2, 3)]
    assert all(kind(post) == "logs" for post in posts)
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
    ends = [loopy(twin.graph, schedule="random", seed=seed, tolerance=1e-12) for seed in range(4)]
    for post in ends[1:]:
        np.testing.assert_allclose(
            post.answer.beliefs.values, ends[0].answer.beliefs.values, atol=1e-10
        )
    for schedule in ("flooding", "sequential", "residual", "tree"):
        a, b = (loopy(twin.graph, schedule=schedule, seed=seed) for seed in (1, 2))
        np.testing.assert_array_equal(all_numbers(a), all_numbers(b))


SCRIPT = """
import numpy as np, credo
rng = np.random.default_rng(0)
graph = credo.FactorGraph()
names = ["x%d" % i for i in range(12)]
for name in names:
    graph.variable(name, ["no", "yes"])
for i in range(20):
    one, two = rng.choice(12, 2, replace=False)
    graph.factor([names[one], names[two]], rng.normal(size=(2, 2)), log=True)
graph.parity(names[:5])
graph.noisy_or(names[6], {names[7]: 0.3, names[8]: 0.4}, 0.1)
for schedule in ("flooding", "sequential", "residual", "random", "tree"):
    post = credo.infer(graph, {"x3": "yes", "x9": {"no", "yes"}}, method="loopy",
                       schedule=schedule, on_failure="return", sweeps=60)
    print(schedule, post.status, post.sweeps, post.log_evidence.hex())
    for name, states in post.to_dict().items():
        print(name, *(p.hex() for p in states.values()))
"""


def test_the_hash_seed_does_not_matter():
    said = []
    for seed in ("1", "2"):
        run = subprocess.run(
            [sys.executable, "-c", SCRIPT],
            env=os.environ | {"PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        )
        said.append(run.stdout)
    assert said[0] == said[1]
    assert said[0].count("\n") == 5 * 13


def test_factors_put_in_another_order_give_the_same_fixed_point():
    rng = np.random.default_rng(6)
    twin = random_graph(rng, [2, 3, 2, 3, 2], 9, 0.4)
    other = Twin(twin.sizes)
    for i in rng.permutation(len(twin.factors)).tolist():
        scope, logs = twin.factors[i]
        turn = rng.permutation(len(scope))
        other.factor([scope[a] for a in turn], logs.transpose(turn))
    for schedule in ("flooding", "sequential", "residual", "tree"):
        one = loopy(twin.graph, schedule=schedule, tolerance=1e-12)
        two = loopy(other.graph, schedule=schedule, tolerance=1e-12)
        for v in range(5):
            np.testing.assert_allclose(one.probabilities(v), two.probabilities(v), atol=1e-10)
        assert one.log_evidence == pytest.approx(two.log_evidence, abs=1e-9)


class TestWarmStart:
    """Beginning with the messages of an earlier answer."""

    def twin(self):
        return random_pairs(np.random.default_rng(3), 10, 3, 18, 0.5)

    @pytest.mark.parametrize("schedule", ["flooding", "sequential", "residual", "random", "tree"])
    def test_the_same_fixed_point_in_fewer_sweeps(self, schedule):
        twin = self.twin()
        before = loopy(twin.graph, {0: 1}, schedule=schedule, momentum=1.0)
        cold = loopy(twin.graph, {0: 1}, likelihood={5: [1.0, 1.01, 1.0]}, schedule=schedule)
        warm = loopy(
            twin.graph, {0: 1}, likelihood={5: [1.0, 1.01, 1.0]}, schedule=schedule, start=before
        )
        assert warm.status == cold.status == "CONVERGED"
        assert warm.updates < cold.updates
        assert warm.sweeps <= cold.sweeps
        for v in range(10):
            np.testing.assert_allclose(warm.probabilities(v), cold.probabilities(v), atol=1e-7)

    def test_a_run_goes_on_where_it_stopped(self):
        twin = self.twin()
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

    def test_more_evidence_may_be_added_and_taken_back(self):
        twin = self.twin()
        before = loopy(twin.graph, {2: 0, 7: 1})
        for evidence in ({}, {2: 0}, {2: 1, 3: 0}, dict.fromkeys(range(10), 0)):
            warm = loopy(twin.graph, evidence, start=before)
            cold = loopy(twin.graph, evidence)
            for v in range(10):
                np.testing.assert_allclose(warm.probabilities(v), cold.probabilities(v), atol=1e-7)

    def test_rules_keep_their_messages_too(self):
        rng = np.random.default_rng(5)
        twin = random_pairs(rng, 6, 2, 8, 0.3).parity([0, 2, 4, 5])
        before = loopy(twin.graph)
        warm = loopy(twin.graph, start=before, schedule="flooding", momentum=1.0)
        assert before.status == "CONVERGED"
        assert warm.residuals[0] < 1e-7
        hot = loopy(twin.graph, start=before, temperature=1.5)
        cold = loopy(twin.graph, temperature=1.5)
        for v in range(6):
            np.testing.assert_allclose(hot.probabilities(v), cold.probabilities(v), atol=1e-7)
