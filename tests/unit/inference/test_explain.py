"""Weights of evidence: Bayes factors by hand, in bans."""

import math

import pytest
from tests.unit.inference.test_infer import sprinkler, star

import credo
from credo.exceptions import InputError, LabelError
from credo.graphs import BayesianNetwork, FactorGraph


def illness():
    """Two independent tests of one illness."""
    net = BayesianNetwork()
    for name in ("ill", "first", "second"):
        net.variable(name, ["no", "yes"])
    net.cpt("ill", table=[0.99, 0.01])
    net.cpt("first", given=["ill"], table=[[0.9, 0.1], [0.2, 0.8]])
    net.cpt("second", given=["ill"], table=[[0.95, 0.05], [0.4, 0.6]])
    return net


def by_name(told):
    return {weight.variable: weight for weight in told.weights}


class TestIndependentFindings:
    def test_weigh_the_log_of_their_bayes_factors_whatever_else_is_known(self):
        post = credo.infer(illness(), {"first": "yes", "second": "no"})
        told = by_name(credo.explain(post, "ill", "yes"))
        for name, factor in (("first", 0.8 / 0.1), ("second", 0.4 / 0.95)):
            for weight in (told[name].alone, told[name].given_others, told[name].in_turn):
                assert weight == pytest.approx(math.log10(factor), abs=1e-12)

    def test_add_up_to_the_change_of_the_odds(self):
        post = credo.infer(illness(), {"first": "yes", "second": "no"})
        told = credo.explain(post, "ill", "yes")
        assert told.total == pytest.approx(math.log10(8 * 0.4 / 0.95), abs=1e-12)
        assert told.prior == pytest.approx(0.01, rel=1e-12)
        odds = 8 * 0.4 / 0.95 / 99
        assert told.posterior == pytest.approx(odds / (1 + odds), rel=1e-12)
        assert told.prior_log_odds == pytest.approx(-math.log10(99), abs=1e-12)

    def test_the_opposite_state_has_the_opposite_weights(self):
        post = credo.infer(illness(), {"first": "yes"})
        for_it = credo.explain(post, "ill", "yes").weights[0].alone
        against = credo.explain(post, "ill", "no").weights[0].alone
        assert for_it == pytest.approx(-against, abs=1e-12)


class TestDependentFindings:
    def test_explaining_away_shows_given_the_others(self):
        """A sprinkler says little of rain by itself, and much against it once grass is wet."""
        post = credo.infer(sprinkler(), {"wet": "yes", "sprinkler": "yes"})
        told = by_name(credo.explain(post, "rain", "yes"))
        assert told["sprinkler"].alone == pytest.approx(math.log10(0.01 / 0.4), abs=1e-12)
        wet_if_rain, wet_if_dry = 0.99 * 0.8 + 0.01 * 0.99, 0.4 * 0.9
        assert told["wet"].alone == pytest.approx(math.log10(wet_if_rain / wet_if_dry), abs=1e-12)
        assert told["wet"].given_others == pytest.approx(math.log10(0.99 / 0.9), abs=1e-12)
        joint = math.log10(0.01 * 0.99 / (0.4 * 0.9))
        alone = told["wet"].alone
        assert told["sprinkler"].given_others == pytest.approx(joint - alone, abs=1e-12)

    def test_those_in_turn_follow_the_order_of_the_evidence(self):
        turned = credo.infer(sprinkler(), {"sprinkler": "yes", "wet": "yes"})
        told = by_name(credo.explain(turned, "rain", "yes"))
        assert told["sprinkler"].in_turn == pytest.approx(told["sprinkler"].alone, abs=1e-12)
        assert told["wet"].in_turn == pytest.approx(told["wet"].given_others, abs=1e-12)

    def test_the_most_telling_comes_first(self):
        post = credo.infer(sprinkler(), {"wet": "yes", "sprinkler": "yes"})
        sizes = [abs(w.given_others) for w in credo.explain(post, "rain", "yes").weights]
        assert sizes == sorted(sizes, reverse=True)


class TestSoftFindings:
    def test_a_likelihood_weighs_its_ratio(self):
        post = credo.infer(illness(), likelihood={"first": [1.0, 3.0]})
        told = credo.explain(post, "ill", "yes").weights[0]
        expected = math.log10((0.2 + 3 * 0.8) / (0.9 + 3 * 0.1))
        assert told.alone == pytest.approx(expected, abs=1e-12)
        assert told.finding == [1.0, 3.0]


class TestCertainty:
    def test_proof_weighs_infinitely(self):
        graph = FactorGraph()
        graph.variable("a", 2)
        graph.variable("b", 2)
        graph.factor(["a", "b"], [[1.0, 1.0], [0.0, 1.0]])
        told = credo.explain(credo.infer(graph, {"b": 0}), "a", 0)
        assert told.posterior == 1.0
        assert told.weights[0].alone == math.inf
        assert told.total == math.inf
        against = credo.explain(credo.infer(graph, {"b": 0}), "a", 1)
        assert against.weights[0].given_others == -math.inf

    def test_near_certainties_are_told_apart(self):
        evidence = {f"leaf{i}": 1 for i in range(30)}
        told = credo.explain(credo.infer(star(30), evidence), "centre", 1)
        assert told.posterior == 1.0
        assert told.total == pytest.approx(30 * math.log10(99), rel=1e-12)
        for weight in told.weights:
            assert weight.in_turn == pytest.approx(math.log10(99), abs=1e-9)

    def test_a_variable_of_one_state_is_certain_before_and_after(self):
        graph = FactorGraph()
        graph.variable("a", 1)
        graph.variable("b", 2)
        graph.factor(["a", "b"], [[1.0, 1.0]])
        told = credo.explain(credo.infer(graph, {"b": 0}), "a")
        assert (told.prior, told.posterior, told.total) == (1.0, 1.0, 0.0)


class TestDoor:
    def test_the_most_probable_state_is_explained_if_none_is_named(self):
        post = credo.infer(illness(), {"first": "yes"}, query=["ill"])
        assert credo.explain(post, "ill").state == "no"

    def test_reads_as_a_table(self):
        post = credo.infer(illness(), {"first": "yes", "second": "no"})
        lines = str(credo.explain(post, "ill", "yes")).splitlines()
        assert lines[0].startswith("ill = yes: 0.01 -> 0.03")
        assert len(lines) == 3
        assert "first = yes" in lines[1]
        assert "+0.903 alone" in lines[1]

    def test_needs_evidence_and_a_target_that_is_free(self):
        model = illness()
        with pytest.raises(InputError, match="nothing to weigh"):
            credo.explain(credo.infer(model), "ill")
        with pytest.raises(InputError, match="observed itself"):
            credo.explain(credo.infer(model, {"first": "yes"}), "first")
        with pytest.raises(LabelError, match="maybe"):
            credo.explain(credo.infer(model, {"first": "yes"}), "ill", "maybe")
        with pytest.raises(LabelError, match="nobody"):
            credo.explain(credo.infer(model, {"first": "yes"}), "nobody")

    def test_works_on_the_answer_of_a_junction_tree(self):
        tree = credo.JunctionTree(illness()).infer({"first": "yes"})
        assert credo.explain(tree, "ill", "yes").total == pytest.approx(math.log10(8), abs=1e-12)
