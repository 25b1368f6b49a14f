"""Exact samples: right in frequency, never impossible, the same by seed."""

import collections

import numpy as np
import pytest
from scipy import stats
from tests.oracles import inference as oracle
from tests.unit.inference.test_infer import sprinkler, star

import credo
from credo.exceptions import InputError
from credo.graphs import FactorGraph, chain

N = 20_000


def loop():
    """Four variables in a ring with zeros, and its factors for the oracle."""
    sizes = [2, 3, 2, 3]
    rng = np.random.default_rng(5)
    graph, factors = FactorGraph(), []
    for i, k in enumerate(sizes):
        graph.variable(i, k)
    for i in range(4):
        j = (i + 1) % 4
        table = rng.random((sizes[i], sizes[j]))
        table[table < 0.3] = 0.0
        graph.factor([i, j], table)
        factors.append(oracle.factor((i, j), table))
    return graph, sizes, factors


def assert_frequencies(draws, everything):
    """Every cell within the binomial bounds that one run in a million of cells leaves."""
    whole = oracle.total(everything)
    counts = collections.Counter(zip(*draws.values(), strict=True))
    assert set(counts) <= {place for place, _ in everything}
    for place, p in everything:
        low, high = stats.binom.interval(1 - 1e-6, N, float(p / whole))
        assert low <= counts[place] <= high


class TestFrequencies:
    def test_of_whole_configurations(self):
        graph, sizes, factors = loop()
        draws = credo.infer(graph).sample(N, random_state=0)
        assert_frequencies(draws, oracle.configurations(sizes, factors))

    def test_given_a_state_a_set_and_weights(self):
        graph, sizes, factors = loop()
        post = credo.infer(graph, {1: {0, 2}, 0: 0}, likelihood={3: [0.2, 1.0, 3.0]})
        everything = oracle.weigh(
            oracle.configurations(sizes, factors),
            [(1, [1, 0, 1]), (0, [1, 0]), (3, [0.2, 1.0, 3.0])],
        )
        draws = post.sample(N, random_state=1)
        assert set(draws[0]) == {0}
        assert_frequencies(draws, everything)

    def test_under_jeffrey(self):
        draws = credo.infer(sprinkler(), jeffrey={"rain": [0.5, 0.5]}).sample(N, random_state=2)
        low, high = stats.binom.interval(1 - 1e-6, N, 0.5)
        assert low <= draws["rain"].count("yes") <= high

    def test_in_logs(self):
        graph = FactorGraph()
        for name in "ab":
            graph.variable(name, 2)
        graph.factor(["a"], [0.0, -3000.0], log=True)
        graph.factor(["a", "b"], [[-3000.0, -np.inf], [np.log(0.5), np.log(0.5)]], log=True)
        draws = credo.infer(graph).sample(N, random_state=3)
        counts = collections.Counter(zip(draws["a"], draws["b"], strict=True))
        assert counts[0, 1] == 0
        for place, p in (((0, 0), 0.5), ((1, 0), 0.25), ((1, 1), 0.25)):
            low, high = stats.binom.interval(1 - 1e-6, N, p)
            assert low <= counts[place] <= high

    def test_where_scaled_arithmetic_would_lose_a_state(self):
        evidence = {f"leaf{i}": int(i >= 200) for i in range(400)}
        draws = credo.infer(star(400), evidence).sample(2000, random_state=4)
        low, high = stats.binom.interval(1 - 1e-6, 2000, 0.5)
        assert low <= sum(draws["centre"]) <= high


class TestShape:
    def test_all_variables_in_order_with_their_states(self):
        draws = credo.infer(sprinkler(), {"wet": "yes"}, query=["rain"]).sample(7, random_state=0)
        assert list(draws) == ["rain", "sprinkler", "wet"]
        assert all(len(column) == 7 for column in draws.values())
        assert draws["wet"] == ["yes"] * 7
        assert set(draws["rain"]) <= {"no", "yes"}

    def test_none_and_more_than_a_block(self):
        post = credo.infer(sprinkler())
        assert post.sample(0) == {"rain": [], "sprinkler": [], "wet": []}
        assert len(post.sample(2500, random_state=0)["rain"]) == 2500

    def test_everything_observed(self):
        evidence = {"wet": "yes", "rain": "yes", "sprinkler": "no"}
        draws = credo.infer(sprinkler(), evidence).sample(3)
        assert draws == {"rain": ["yes"] * 3, "sprinkler": ["no"] * 3, "wet": ["yes"] * 3}

    def test_rules_have_no_columns_of_their_own(self):
        graph = FactorGraph()
        for i in range(8):
            graph.variable(i, 2)
        graph.parity(range(8))
        draws = credo.infer(graph).sample(500, random_state=0)
        assert list(draws) == list(range(8))
        assert {sum(row) % 2 for row in zip(*draws.values(), strict=True)} == {0}

    def test_is_the_same_by_seed_and_another_by_another(self):
        post = credo.infer(chain([0.5, 0.5], [[0.9, 0.1], [0.2, 0.8]], length=30))
        assert post.sample(50, random_state=3) == post.sample(50, random_state=3)
        assert post.sample(50, random_state=3) != post.sample(50, random_state=4)
        again = np.random.default_rng(3)
        assert post.sample(50, random_state=again) == post.sample(50, random_state=3)

    def test_counts_must_be_whole_and_not_negative(self):
        post = credo.infer(sprinkler())
        for n in (-1, 2.5, "many"):
            with pytest.raises(InputError, match="sample"):
                post.sample(n)
