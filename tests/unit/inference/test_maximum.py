"""The most probable configuration and max-marginals: what they hold and what they refuse."""

import itertools
import math

import numpy as np
import pytest

from credo.exceptions import (
    BudgetError,
    ImpossibleEvidence,
    InputError,
    LabelError,
)
from credo.graphs import BayesianNetwork, FactorGraph, MarkovNetwork
from credo.inference.maximum import k_best, marginal_map, max_marginals, mpe


def asia():
    """The chest clinic of Lauritzen and Spiegelhalter (1988)."""
    net = BayesianNetwork()
    for name in ("asia", "tub", "smoke", "lung", "bronc", "either", "xray", "dysp"):
        net.variable(name, ["yes", "no"])
    net.cpt("asia", table=[0.01, 0.99])
    net.cpt("tub", ["asia"], table=[[0.05, 0.95], [0.01, 0.99]])
    net.cpt("smoke", table=[0.5, 0.5])
    net.cpt("lung", ["smoke"], table=[[0.1, 0.9], [0.01, 0.99]])
    net.cpt("bronc", ["smoke"], table=[[0.6, 0.4], [0.3, 0.7]])
    net.cpt("either", ["lung", "tub"], table=[[[1, 0], [1, 0]], [[1, 0], [0, 1]]])
    net.cpt("xray", ["either"], table=[[0.98, 0.02], [0.05, 0.95]])
    net.cpt("dysp", ["bronc", "either"], table=[[[0.9, 0.1], [0.8, 0.2]], [[0.7, 0.3], [0.1, 0.9]]])
    return net


def pair(table):
    graph = FactorGraph()
    a, b = (graph.variable(name, size) for name, size in zip("ab", np.shape(table), strict=True))
    graph.factor([a, b], table)
    return graph


#: Evidence, and the log of the largest joint probability with it by another program.
PUBLISHED = [
    ({}, -1.2366269421),
    ({"dysp": "no"}, -1.2366269421),
    ({"bronc": "no"}, -1.2366269421),
    ({"either": "no", "smoke": "yes"}, -1.60387083739),
]


@pytest.mark.parametrize(("evidence", "wanted"), PUBLISHED)
def test_the_chest_clinic_has_the_published_maximum(evidence, wanted):
    best = mpe(asia(), evidence)
    assert best.log_score == pytest.approx(wanted, abs=1e-11)
    assert all(best[name] == state for name, state in evidence.items())


def test_the_score_is_the_log_of_the_joint_probability():
    best = mpe(asia(), {"dysp": "yes", "asia": "yes"})
    by_hand = {"asia": 0.01, "tub": 0.95, "smoke": 0.5, "lung": 0.9, "bronc": 0.6}
    assert best.states == {
        "asia": "yes",
        "tub": "no",
        "smoke": "yes",
        "lung": "no",
        "bronc": "yes",
        "either": "no",
        "xray": "no",
        "dysp": "yes",
    }
    assert best.log_score == pytest.approx(math.log(math.prod(by_hand.values()) * 0.95 * 0.8))


def test_equal_factors_count_twice():
    graph = pair([[0.6, 0.4], [0.4, 0.6]])
    graph.factor(["a", "b"], [[0.6, 0.4], [0.4, 0.6]])
    graph.factor(["a"], [1, 2])
    assert mpe(graph).log_score == pytest.approx(math.log(0.6 * 0.6 * 2))


class TestTies:
    def test_products_that_are_equal_by_hand_but_not_in_float64_are_tied(self):
        graph = FactorGraph()
        a, b = graph.variable("a", 2), graph.variable("b", 2)
        graph.factor([a], [0.3, 0.1])
        graph.factor([a, b], [[0.3, 0.1], [0.2, 0.9]])
        assert math.log(0.3) + math.log(0.3) < math.log(0.1) + math.log(0.9)
        best = mpe(graph)
        assert best.tied == ("a", "b")
        assert best["a"] == 0

    @pytest.mark.parametrize("largest", [1.0, 1e9, 1e-300])
    def test_the_same_numbers_in_another_order_are_tied_whatever_their_size(self, largest):
        weights = np.random.default_rng(8).uniform(1e-6, 1.0, 60) * largest
        graph = FactorGraph()
        a, b = graph.variable("a", 2), graph.variable("b", 2)
        for one, other in zip(weights, weights[::-1], strict=True):
            graph.factor([a, b], [[one, one / 2], [other, other / 2]])
        best = mpe(graph)
        assert best.tied == ("a",)
        assert best.states == {"a": 0, "b": 0}

    def test_a_near_miss_beside_a_tie_is_not_tied(self):
        graph = pair([[1.0, 1.0 - 1e-12], [1.0, 1.0 - 1e-12]])
        graph.factor(["b", graph.variable("c", 2)], [[1.0 - 1e-12, 1.0], [1.0, 1.0]])
        assert mpe(graph).tied == ("a",)

    def test_a_difference_that_float64_can_see_is_no_tie(self):
        assert not mpe(pair([[1.0, 0.0], [0.0, 1.0 - 1e-13]])).ties

    def test_variables_that_only_follow_a_tied_one_are_tied_too(self):
        graph = FactorGraph()
        names = [graph.variable(i, 2) for i in range(6)]
        for one, other in itertools.pairwise(names):
            graph.factor([one, other], [[1.0, 0.1], [0.1, 1.0]])
        best = mpe(graph)
        assert best.tied == tuple(range(6))
        assert list(best.states.values()) == [0] * 6
        assert mpe(graph, {3: 1}).tied == ()

    def test_a_variable_without_factors_is_tied_and_in_its_first_state(self):
        graph = pair([[1, 2], [3, 4]])
        graph.variable("alone", ["x", "y", "z"])
        best = mpe(graph)
        assert best.tied == ("alone",)
        assert best["alone"] == "x"

    def test_a_variable_with_one_state_is_never_tied(self):
        assert mpe(pair([[2, 2]])).tied == ("b",)

    def test_ties_are_the_variables_with_more_than_one_largest_max_marginal(self):
        scores = max_marginals(pair([[3, 1, 3], [0, 3, 2]]))
        twice = [
            name for name in scores if sum(np.isclose([*scores[name].values()], np.log(3))) > 1
        ]
        assert scores.best.tied == tuple(twice) == ("a", "b")


class TestLimits:
    def test_an_empty_model_has_the_empty_configuration(self):
        assert mpe(FactorGraph()).states == {}
        assert mpe(FactorGraph()).log_score == 0.0
        assert len(max_marginals(FactorGraph())) == 0

    def test_when_all_is_observed_the_score_is_the_product(self):
        graph = pair([[1, 2], [3, 4]])
        best = mpe(graph, {"a": 1, "b": 0})
        assert best.states == {"a": 1, "b": 0}
        assert best.log_score == pytest.approx(math.log(3))
        assert max_marginals(graph, {"a": 1, "b": 0})["b"] == {0: best.log_score, 1: -math.inf}

    def test_separate_parts_are_maximised_apart(self):
        graph = pair([[1, 2], [3, 4]])
        graph.factor([graph.variable("c", 3)], [1, 5, 2])
        assert mpe(graph).states == {"a": 1, "b": 1, "c": 1}
        assert max_marginals(graph)["c"][0] == pytest.approx(math.log(4))

    def test_logs_of_any_size_are_maximised(self):
        graph = FactorGraph()
        a, b = graph.variable("a", 2), graph.variable("b", 2)
        graph.factor([a], [-2000.0, -1.0], log=True)
        graph.factor([a, b], [[0.0, -5000.0], [-np.inf, -3000.0]], log=True)
        assert mpe(graph).states == {"a": 0, "b": 0}
        assert max_marginals(graph)["b"] == pytest.approx({0: -2000.0, 1: -3001.0})

    def test_a_rule_is_maximised_and_its_helpers_are_not_shown(self):
        graph = FactorGraph()
        bits = [graph.variable(i, 2) for i in range(5)]
        graph.parity(bits)
        for bit in bits:
            graph.factor([bit], [0.2, 0.8])
        graph.factor([bits[3]], [0.9, 0.1])
        best = mpe(graph)
        assert best.states == {0: 1, 1: 1, 2: 1, 3: 0, 4: 1}
        assert len(max_marginals(graph)) == 5
        assert not best.ties

    def test_a_noisy_gate_is_maximised(self):
        net = BayesianNetwork()
        for name in ("cold", "flu", "fever"):
            net.variable(name, ["no", "yes"])
        net.cpt("cold", table=[0.7, 0.3])
        net.cpt("flu", table=[0.9, 0.1])
        net.noisy_or("fever", {"cold": 0.4, "flu": 0.9}, leak=0.01)
        best = mpe(net, {"fever": "yes"})
        assert best.states == {"cold": "yes", "flu": "no", "fever": "yes"}
        assert best.log_score == pytest.approx(math.log(0.3 * 0.9 * (1 - 0.99 * 0.6)))


class TestResults:
    def test_states_are_found_by_name_by_variable_and_by_numpy_number(self):
        field = MarkovNetwork.from_arrays(
            np.array([[1.0, 2.0], [3.0, 1.0]]), [[0, 1]], np.ones((2, 2))
        )
        best = mpe(field)
        assert (best[0], best[np.int64(1)], best[field[1]]) == (1, 0, 0)
        assert 1 in best
        assert 2 not in best
        assert list(best) == [0, 1]

    def test_an_unknown_name_is_refused_with_the_nearest_one(self):
        best = mpe(asia())
        with pytest.raises(LabelError, match="Did you mean 'smoke'?"):
            best["Smoke"]
        with pytest.raises(LabelError, match="Did you mean 'smoke'?"):
            max_marginals(asia()).log_values("smoek")

    def test_what_can_be_no_name_is_refused_as_well(self):
        with pytest.raises(LabelError, match="configuration has no variable .'smoke'.. Known"):
            mpe(asia())[["smoke"]]

    def test_max_marginals_know_which_variables_they_have(self):
        net = asia()
        scores = max_marginals(net, {"smoke": "yes"})
        assert "lung" in scores
        assert net["smoke"] in scores
        assert "lungs" not in scores

    def test_max_marginals_of_rules_are_those_of_their_variables(self):
        graph = FactorGraph()
        bits = [graph.variable(i, 2) for i in range(6)]
        graph.parity(bits)
        graph.factor([bits[4]], [0.2, 0.8])
        scores = max_marginals(graph, {0: 1})
        assert list(scores) == [0, 1, 2, 3, 4, 5]
        assert scores[0] == pytest.approx({0: -math.inf, 1: math.log(0.8)})
        assert scores[4] == pytest.approx({0: math.log(0.2), 1: math.log(0.8)})
        assert scores[5] == pytest.approx({0: math.log(0.8), 1: math.log(0.8)})

    def test_the_text_shows_a_few_states_the_score_and_the_ties(self):
        assert repr(mpe(pair([[1, 2], [3, 1]]))) == (
            "Configuration({'a': 1, 'b': 0}, log_score=1.09861)"
        )
        assert "(8 in all)}, log_score=" in repr(mpe(asia()))
        assert repr(mpe(pair([[2, 2], [2, 2]]))).endswith("tied: 'a', 'b')")
        assert repr(max_marginals(pair([[1]]))) == "<MaxMarginals: 2 variables, best score 0>"

    def test_max_marginals_cannot_be_written_to(self):
        values = max_marginals(asia(), {"dysp": "yes"})
        for name in ("smoke", "dysp"):
            with pytest.raises(ValueError, match="read-only"):
                values.log_values(name)[0] = 0.0

    def test_asking_does_not_change_the_model(self):
        net = asia()
        before = mpe(net).states
        mpe(net, {"xray": "yes"}, likelihood={"smoke": [0.1, 0.9]})
        assert mpe(net).states == before


@pytest.mark.parametrize("ask", [mpe, max_marginals])
class TestRefusals:
    def test_impossible_evidence_names_the_conflict(self, ask):
        with pytest.raises(ImpossibleEvidence) as caught:
            ask(asia(), {"either": "no", "lung": "yes", "smoke": "yes"})
        assert caught.value.conflict == {"either": "no", "lung": "yes"}

    def test_too_little_memory_is_said_before_anything_runs(self, ask):
        exact = {"method": "junction_tree"} if ask is mpe else {}
        with pytest.raises(BudgetError, match="the largest clique has|The largest clique has"):
            ask(asia(), budget=100, **exact)

    def test_what_is_no_model_is_refused(self, ask):
        with pytest.raises(InputError, match="Got dict"):
            ask({"a": 1})

    def test_unknown_names_and_states_are_refused(self, ask):
        with pytest.raises(LabelError, match="Did you mean 'smoke'"):
            ask(asia(), {"smokes": "yes"})
        with pytest.raises(LabelError, match="has no state"):
            ask(asia(), {"smoke": "maybe"})


@pytest.mark.parametrize("seed", ["x", -1, 1.5])
def test_a_seed_that_is_no_whole_number_is_refused(seed):
    with pytest.raises(InputError, match="seed of mpe"):
        mpe(asia(), seed=seed)


def test_a_gate_too_large_to_be_written_out_is_refused_in_few_words():
    net = BayesianNetwork()
    causes = [net.variable(i, 2) for i in range(20_000)]
    net.variable("alarm", 2)
    net.noisy_or("alarm", dict.fromkeys(causes, 0.1))
    for cause in causes:
        net.cpt(cause, table=[0.9, 0.1])
    with pytest.raises(InputError, match=r"has 2\^20001 cells as a table; at most 2\^24") as caught:
        mpe(net)
    assert len(str(caught.value)) < 400


def test_the_same_question_has_the_same_answer_whatever_the_seed():
    rng = np.random.default_rng(7)
    edges = [(i, j) for i in range(12) for j in range(i) if rng.random() < 0.3]
    field = MarkovNetwork.from_arrays(
        rng.uniform(0.1, 1.0, (12, 3)), np.array(edges), rng.uniform(0.1, 1.0, (len(edges), 3, 3))
    )
    answers = [mpe(field, seed=seed) for seed in (0, 0, 1)]
    assert answers[0].states == answers[1].states == answers[2].states
    assert answers[0].log_score == answers[1].log_score == answers[2].log_score
    assert k_best(field, 1)[0].states == answers[0].states
    everything = marginal_map(field, range(12))
    assert everything.states == answers[0].states
    assert everything.log_score == answers[0].log_score
