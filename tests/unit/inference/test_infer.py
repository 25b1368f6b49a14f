"""``infer`` on models whose answers are known by hand, and at the edges."""

import itertools
import math
import tracemalloc

import numpy as np
import pytest
from scipy.special import softmax

import credo
from credo.exceptions import ImpossibleEvidence, InputError, LabelError
from credo.graphs import BayesianNetwork, FactorGraph, MarkovNetwork, chain

METHODS = ["auto", "junction_tree", "elimination", "enumeration", "tree"]
every_method = pytest.mark.parametrize("method", METHODS)


def sprinkler():
    """Rain, sprinkler and wet grass, as in many a course."""
    net = BayesianNetwork()
    for name in ("rain", "sprinkler", "wet"):
        net.variable(name, ["no", "yes"])
    net.cpt("rain", table=[0.8, 0.2])
    net.cpt("sprinkler", given=["rain"], table={"no": [0.6, 0.4], "yes": [0.99, 0.01]})
    table = [[[1.0, 0.0], [0.2, 0.8]], [[0.1, 0.9], [0.01, 0.99]]]
    net.cpt("wet", given=["sprinkler", "rain"], table=table)
    return net


def star(n_leaves, right=0.99):
    """A centre with leaves that each say what the centre is, mostly rightly."""
    net = BayesianNetwork()
    net.variable("centre", 2)
    net.cpt("centre", table=[0.5, 0.5])
    for i in range(n_leaves):
        net.variable(f"leaf{i}", 2)
        net.cpt(f"leaf{i}", given=["centre"], table=[[right, 1 - right], [1 - right, right]])
    return net


def two(table=((1.0, 2.0), (3.0, 4.0))):
    graph = FactorGraph()
    graph.variable("a", ["x", "y"])
    graph.variable("b", ["u", "v"])
    graph.factor(["a", "b"], table)
    return graph


class TestAnswers:
    @pytest.mark.parametrize("method", ["auto", "junction_tree", "elimination", "enumeration"])
    def test_the_sprinkler_explains_wet_grass(self, method):
        post = credo.infer(sprinkler(), {"wet": "yes"}, method=method)
        wet_and_rain = 0.2 * (0.99 * 0.8 + 0.01 * 0.99)
        wet = wet_and_rain + 0.8 * 0.4 * 0.9
        assert post["rain"]["yes"] == pytest.approx(wet_and_rain / wet, rel=1e-14)
        assert post.probability_of_evidence == pytest.approx(wet, rel=1e-14)
        assert post.log_evidence == pytest.approx(math.log(wet), rel=1e-14)
        assert post["wet"]["yes"] == 1.0

    @every_method
    def test_equal_factors_all_count(self, method):
        graph = FactorGraph()
        graph.variable("a", 2)
        for _ in range(3):
            graph.factor(["a"], [1.0, 2.0])
        post = credo.infer(graph, method=method)
        np.testing.assert_allclose(post.probabilities("a"), [1 / 9, 8 / 9], rtol=1e-14)
        assert post.log_evidence == pytest.approx(math.log(9), rel=1e-14)

    @every_method
    def test_a_variable_without_factors_is_uniform_and_counts_in_the_sum(self, method):
        graph = two()
        graph.variable("alone", 3)
        post = credo.infer(graph, method=method)
        np.testing.assert_allclose(post.probabilities("alone"), [1 / 3] * 3, rtol=1e-14)
        assert post.log_evidence == pytest.approx(math.log(30), rel=1e-14)

    @every_method
    def test_a_model_without_variables_sums_to_one(self, method):
        post = credo.infer(FactorGraph(), method=method)
        assert post.log_evidence == 0.0
        assert len(post) == 0
        assert post.to_dict() == {}

    @every_method
    def test_everything_observed_gives_certainties_and_the_cell(self, method):
        post = credo.infer(two(), {"a": "y", "b": "u"}, method=method)
        assert post.to_dict() == {"a": {"x": 0.0, "y": 1.0}, "b": {"u": 1.0, "v": 0.0}}
        assert post.log_evidence == pytest.approx(math.log(3), rel=1e-14)

    @every_method
    def test_an_empty_query_still_gives_the_evidence(self, method):
        post = credo.infer(two(), {"a": "y"}, query=[], method=method)
        assert post.variables == ()
        assert post.log_evidence == pytest.approx(math.log(7), rel=1e-14)
        assert str(post.plan)

    @every_method
    def test_parts_that_the_query_does_not_touch_count_in_the_evidence(self, method):
        graph = two()
        graph.variable("c", 3)
        graph.factor(["c"], [1.0, 2.0, 4.0])
        graph.variable("d", 5)
        post = credo.infer(graph, query=["b"], method=method)
        np.testing.assert_allclose(post.probabilities("b"), [0.4, 0.6], rtol=1e-14)
        assert post.log_evidence == pytest.approx(math.log(10 * 7 * 5), rel=1e-14)

    @every_method
    def test_weights_on_a_variable_that_no_factor_mentions_are_harmless(self, method):
        graph = FactorGraph()
        for name in "abc":
            graph.variable(name, 3)
        graph.factor(["b"], [1.0, 2.0, 3.0])
        graph.factor(["c"], [1.0, 2.0, 3.0])
        post = credo.infer(graph, {"a": {0, 1}}, query=["b"], method=method)
        np.testing.assert_allclose(post.probabilities("b"), [1 / 6, 1 / 3, 1 / 2], rtol=1e-14)
        assert post.log_evidence == pytest.approx(math.log(2 * 36), rel=1e-14)

    @pytest.mark.parametrize("method", ["auto", "junction_tree", "elimination", "enumeration"])
    def test_a_likelihood_on_a_child_that_is_not_asked_for_counts(self, method):
        weights = {"wet": {"no": 0.1, "yes": 0.7}}
        post = credo.infer(sprinkler(), likelihood=weights, query=["rain"], method=method)
        wet_if_rain = 0.99 * 0.8 + 0.01 * 0.99
        wet_if_dry = 0.4 * 0.9
        rain, dry = (0.1 + 0.6 * wet for wet in (wet_if_rain, wet_if_dry))
        total = 0.2 * rain + 0.8 * dry
        assert post["rain"]["yes"] == pytest.approx(0.2 * rain / total, rel=1e-14)
        assert post.probability_of_evidence == pytest.approx(total, rel=1e-14)

    @every_method
    def test_states_that_are_allowed_and_a_likelihood_of_them_multiply(self, method):
        net = BayesianNetwork()
        net.variable("v", ["a", "b", "c"])
        net.cpt("v", table=[0.5, 0.3, 0.2])
        post = credo.infer(net, {"v": ["a", "b"]}, likelihood={"v": [0.2, 0.5, 0.9]}, method=method)
        np.testing.assert_allclose(post.probabilities("v"), [0.4, 0.6, 0.0], rtol=1e-14)
        assert post.probability_of_evidence == pytest.approx(0.25, rel=1e-14)

    @pytest.mark.parametrize("method", ["auto", "junction_tree", "elimination", "enumeration"])
    def test_the_size_of_a_table_that_edges_share_counts_for_each_of_them(self, method):
        logs = np.array([[300.0, 299.0], [298.0, 300.5]])
        edges = [[0, 1], [1, 2], [2, 0]]
        ring = MarkovNetwork.from_arrays(np.zeros((3, 2)), edges, logs, log=True)
        every = itertools.product((0, 1), repeat=3)
        sums = [logs[a, b] + logs[b, c] + logs[c, a] for a, b, c in every]
        expected = 900.0 + math.log(sum(math.exp(each - 900.0) for each in sums))
        assert credo.infer(ring, method=method).log_evidence == pytest.approx(expected, rel=1e-14)

    def test_a_large_table_that_the_query_does_not_need_is_not_filled(self):
        net = BayesianNetwork()
        for i in range(22):
            net.variable(f"r{i}", 2)
            net.cpt(f"r{i}", table=[0.25, 0.75])
        net.variable("or", 2)
        net.cpt("or", given=[f"r{i}" for i in range(20)], table=np.full((2,) * 20 + (2,), 0.5))
        post = credo.infer(net, query=["r0", "r21"])
        np.testing.assert_allclose(post.probabilities("r0"), [0.25, 0.75], rtol=1e-14)
        assert post.plan.largest_table <= 2


class TestRange:
    """Neither underflow nor overflow, nor a term lost on the way."""

    @every_method
    @pytest.mark.parametrize("n_leaves", [400, 2000])
    def test_a_star_with_balanced_evidence_on_all_leaves_is_undecided(self, method, n_leaves):
        net = star(n_leaves)
        half = {f"leaf{i}": int(i >= n_leaves // 2) for i in range(n_leaves)}
        post = credo.infer(net, half, method=method)
        np.testing.assert_allclose(post.probabilities("centre"), [0.5, 0.5], rtol=1e-9)
        expected = n_leaves / 2 * (math.log(0.99) + math.log(0.01))
        assert post.log_evidence == pytest.approx(expected, rel=1e-12)

    @every_method
    def test_one_leaf_decides_a_star_that_is_balanced_otherwise(self, method):
        post = credo.infer(
            star(401), {f"leaf{i}": int(i >= 200) for i in range(401)}, method=method
        )
        np.testing.assert_allclose(post.probabilities("centre"), [0.01, 0.99], rtol=1e-9)

    @every_method
    def test_beliefs_of_logs_sum_to_one_whatever_their_range(self, method):
        rows = [[-900.0, 0.0], [5.0], [-2000.0, -np.inf, -2001.0], [300.0, 301.0, -500.0, 300.0]]
        graph = FactorGraph()
        for i, row in enumerate(rows):
            graph.factor([graph.variable(i, len(row))], row, log=True)
        post = credo.infer(graph, method=method)
        for i, row in enumerate(rows):
            np.testing.assert_allclose(post.probabilities(i), softmax(row), rtol=1e-13)
        scores = credo.max_marginals(graph)
        for i, row in enumerate(rows):
            below = scores.log_values(i) - scores.best.log_score
            np.testing.assert_allclose(below, np.array(row) - max(row), rtol=1e-12)

    @every_method
    def test_the_only_term_that_survives_is_kept_though_it_was_tiny_before(self, method):
        graph = FactorGraph()
        graph.variable("a", 2)
        for _ in range(2):
            graph.factor(["a"], [1.0, 1e-200])
        for _ in range(9):
            graph.factor(["a"], [1e-50, 1.0])
        post = credo.infer(graph, method=method)
        np.testing.assert_allclose(post.probabilities("a"), [1e-50, 1.0], rtol=1e-10)
        assert post.log_evidence == pytest.approx(-400 * math.log(10), rel=1e-12)

    @every_method
    @pytest.mark.parametrize("turned", [False, True], ids=["forward", "backward"])
    def test_a_term_that_is_lost_early_on_a_chain_can_win_late(self, method, turned):
        """Both ends speak for the first state by 660 powers of ten, the rest by 700 against."""
        graph = FactorGraph()
        n = 9
        places = range(n)[::-1] if turned else range(n)
        for i in range(n):
            graph.variable(i, 2)
        for i in range(n - 1):
            graph.factor([i, i + 1], np.eye(2))
        for i in places:
            for _ in range(2 if i in (0, n - 1) else 1):
                graph.factor([i], [1.0, 1e-165] if i in (0, n - 1) else [1e-100, 1.0])
        post = credo.infer(graph, method=method)
        assert post.log_evidence == pytest.approx(-660 * math.log(10), rel=1e-12)
        for i in range(n):
            np.testing.assert_allclose(post.probabilities(i), [1e-40, 1.0], rtol=1e-9)

    @every_method
    @pytest.mark.parametrize("size", [1e300, 1e-300])
    def test_potentials_of_any_size_multiply(self, method, size):
        graph = FactorGraph()
        for i in range(12):
            graph.variable(i, 2)
            graph.factor([i], [size, 3 * size])
        for i in range(11):
            graph.factor([i, i + 1], np.full((2, 2), size))
        post = credo.infer(graph, method=method)
        np.testing.assert_allclose(post.probabilities(5), [0.25, 0.75], rtol=1e-10)
        expected = 23 * math.log(size) + 12 * math.log(4)
        assert post.log_evidence == pytest.approx(expected, rel=1e-12)

    @every_method
    def test_logs_may_span_ten_thousand_nats(self, method):
        graph = FactorGraph()
        for name in "ab":
            graph.variable(name, 3)
        graph.factor(["a"], [0.0, -1e4, -2e4], log=True)
        graph.factor(
            ["a", "b"], [[-np.inf, -np.inf, -1e4]] + [[0.0, -np.inf, -np.inf]] * 2, log=True
        )
        post = credo.infer(graph, method=method)
        np.testing.assert_allclose(post.probabilities("a"), [0.5, 0.5, 0.0], rtol=1e-10)
        np.testing.assert_allclose(post.probabilities("b"), [0.5, 0.0, 0.5], rtol=1e-10)
        assert post.log_evidence == pytest.approx(-1e4 + math.log(2), abs=1e-9)

    @every_method
    def test_a_state_that_only_logs_can_tell_from_impossible_is_possible(self, method):
        graph = FactorGraph()
        graph.variable("a", 2)
        graph.factor(["a"], [0.0, -5000.0], log=True)
        post = credo.infer(graph, {"a": 1}, method=method)
        assert post.log_evidence == pytest.approx(-5000.0, rel=1e-14)
        soft = credo.infer(graph, likelihood={"a": [0.0, 0.5]}, method=method)
        assert soft.log_evidence == pytest.approx(-5000.0 + math.log(0.5), rel=1e-14)
        np.testing.assert_array_equal(soft.probabilities("a"), [0.0, 1.0])


class TestLongChains:
    @pytest.mark.parametrize("method", ["auto", "tree"])
    def test_a_hundred_thousand_steps_neither_underflow_nor_recurse(self, method):
        rng = np.random.default_rng(0)
        n, k = 100_000, 5
        transition = rng.dirichlet(np.ones(k), size=k)
        likelihood = rng.normal(scale=2.0, size=(n, k))
        model = chain(np.full(k, 1 / k), transition, log_likelihood=likelihood)
        post = credo.infer(model, method=method)
        forward, log_z = np.full(k, 1 / k) * np.exp(likelihood[0]), 0.0
        for t in range(1, n):
            log_z += math.log(forward.sum())
            forward = forward / forward.sum() @ transition * np.exp(likelihood[t])
        log_z += math.log(forward.sum())
        assert post.log_evidence == pytest.approx(log_z, rel=1e-11)
        last = post.probabilities(f"x{n - 1}")
        np.testing.assert_allclose(last, forward / forward.sum(), rtol=1e-9)

    def test_memory_is_linear_in_the_length_and_in_the_square_of_the_states(self):
        def peak(n):
            model = chain(np.full(5, 0.2), np.full((5, 5), 0.2), length=n)
            model.compile()
            credo.infer(model, {"x0": 1})
            tracemalloc.start()
            credo.infer(model, {"x0": 1})
            most = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
            return most

        assert peak(20_000) < 2.5 * peak(10_000) < 100 * 10_000 * 25 * 8


class TestTheResult:
    def test_reads_as_a_mapping_of_posteriors(self):
        post = credo.infer(two(), {"a": "x"}, query=["b", "a"])
        assert list(post) == ["b", "a"]
        assert len(post) == 2
        assert isinstance(post["b"], credo.Posterior)
        assert post["b"].labels == ("u", "v")
        assert post.to_dict()["b"] == pytest.approx({"u": 1 / 3, "v": 2 / 3}, rel=1e-14)
        assert "2 variables, 1 findings" in repr(post)

    def test_is_the_same_whether_asked_by_name_or_by_variable(self):
        graph = two()
        a = graph["a"]
        post = credo.infer(graph, {a: "x"}, query=[graph["b"]])
        np.testing.assert_allclose(post.probabilities(graph["b"]), [1 / 3, 2 / 3], rtol=1e-14)

    def test_cannot_be_changed_through_an_array_that_it_gave(self):
        post = credo.infer(two())
        with pytest.raises(ValueError, match="read-only"):
            post.probabilities("a")[:] = 7.0
        np.testing.assert_allclose(post.probabilities("a"), [0.3, 0.7], rtol=1e-14)

    def test_asking_does_not_change_the_model(self):
        net = sprinkler()
        before = credo.infer(net).to_dict()
        credo.infer(net, {"wet": "yes"}, likelihood={"rain": [0.1, 0.9]})
        credo.infer(net, jeffrey={"rain": [0.5, 0.5]})
        assert credo.infer(net).to_dict() == before

    def test_refuses_a_variable_that_was_not_asked_for(self):
        with pytest.raises(InputError, match="'a' was not asked for; query has 'b'"):
            credo.infer(two(), query=["b"])["a"]
        with pytest.raises(LabelError, match="no variable 'c'"):
            credo.infer(two())["c"]

    def test_takes_a_markov_network_of_arrays(self):
        field = MarkovNetwork.from_arrays(
            np.array([[1.0, 2.0], [1.0, 1.0], [3.0, 1.0]]), [[0, 1]], [[2.0, 1.0], [1.0, 2.0]]
        )
        post = credo.infer(field, {2: 0})
        assert post.log_evidence == pytest.approx(math.log(3 * (2 + 1 + 2 + 4)), rel=1e-14)
        np.testing.assert_allclose(post.probabilities(0), [1 / 3, 2 / 3], rtol=1e-14)


class TestRefusals:
    def test_the_method_must_be_one_of_those_there_are(self):
        with pytest.raises(InputError, match="method"):
            credo.infer(two(), method="magic")

    def test_the_model_must_be_a_model(self):
        with pytest.raises(InputError, match="Got dict"):
            credo.infer({"a": 1})

    def test_the_query_must_be_a_list_of_known_names_without_repeats(self):
        with pytest.raises(InputError, match=r"Pass \['a'\]"):
            credo.infer(two(), query="a")
        with pytest.raises(InputError, match="'a' twice"):
            credo.infer(two(), query=["a", "a"])
        with pytest.raises(LabelError, match="no variable 'z'"):
            credo.infer(two(), query=["z"])

    @pytest.mark.parametrize("places", [(0, 1), (1, 4), (3, 5)])
    def test_impossible_evidence_names_only_findings_that_conflict(self, places):
        net = BayesianNetwork()
        for i in range(6):
            net.variable(f"v{i}", 2)
        for i in set(range(6)) - {places[1]}:
            net.cpt(f"v{i}", table=[0.5, 0.5])
        net.cpt(f"v{places[1]}", given=[f"v{places[0]}"], table=[[1.0, 0.0], [0.0, 1.0]])
        evidence = {f"v{i}": int(i == places[0]) for i in range(6)}
        with pytest.raises(ImpossibleEvidence, match=r"\(the other 4 may be true\)") as caught:
            credo.infer(net, evidence)
        assert caught.value.conflict == {f"v{places[0]}": 1, f"v{places[1]}": 0}

    def test_the_tree_engine_refuses_a_loop(self):
        graph = FactorGraph()
        for name in "abc":
            graph.variable(name, 2)
        for pair in ("ab", "bc", "ca"):
            graph.factor(list(pair), np.ones((2, 2)))
        with pytest.raises(InputError, match=r"tree|cycle|loop"):
            credo.infer(graph, method="tree")

    @every_method
    def test_a_model_that_allows_nothing_is_told_apart_from_impossible_evidence(self, method):
        graph = two([[0.0, 0.0], [0.0, 1.0]])
        graph.factor(["a"], [1.0, 0.0])
        with pytest.raises(InputError, match="allows no configuration") as caught:
            credo.infer(graph, method=method)
        assert not isinstance(caught.value, credo.exceptions.ImpossibleEvidence)
