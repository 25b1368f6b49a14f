"""Weights of evidence in log10 odds, and the smallest set of findings that cannot all be true."""

import math

import numpy as np
import pytest
from tests.models import graph, sprinkler, star

import credo
from credo.exceptions import ImpossibleEvidence, InputError, LabelError
from credo.graphs import BayesianNetwork
from credo.inference._explain import smallest_conflict


def illness():
    """Two independent tests of one illness."""
    net = BayesianNetwork()
    for name in ("ill", "first", "second"):
        net.variable(name, ["no", "yes"])
    net.cpt("ill", table=[0.99, 0.01])
    net.cpt("first", given=["ill"], table=[[0.9, 0.1], [0.2, 0.8]])
    net.cpt("second", given=["ill"], table=[[0.95, 0.05], [0.4, 0.6]])
    return net


def weighed(model, evidence, *target, **options):
    """What evidence says of a target, and its weights by name."""
    told = credo.explain(credo.infer(model, evidence, **options), *target)
    return told, {weight.variable: weight for weight in told.weights}


class TestWeights:
    def test_of_independent_findings_are_logs_of_bayes_factors_and_add_up(self):
        seen = {"first": "yes", "second": "no"}
        told, weights = weighed(illness(), seen, "ill", "yes")
        for name, factor in (("first", 0.8 / 0.1), ("second", 0.4 / 0.95)):
            each = weights[name]
            for weight in (each.alone, each.given_others, each.in_turn):
                assert weight == pytest.approx(math.log10(factor), abs=1e-12)
        assert told.total == pytest.approx(math.log10(8 * 0.4 / 0.95), abs=1e-12)
        assert told.prior == pytest.approx(0.01, rel=1e-12)
        odds = 8 * 0.4 / 0.95 / 99
        assert told.posterior == pytest.approx(odds / (1 + odds), rel=1e-12)
        assert told.prior_log_odds == pytest.approx(-math.log10(99), abs=1e-12)
        _, against = weighed(illness(), seen, "ill", "no")
        assert against["first"].alone == pytest.approx(-weights["first"].alone, abs=1e-12)

    def test_explaining_away_shows_given_the_others(self):
        """A sprinkler says little of rain by itself, and much against it once grass is wet."""
        told, weights = weighed(sprinkler(), {"wet": "yes", "sprinkler": "yes"}, "rain", "yes")
        wet, spray = weights["wet"], weights["sprinkler"]
        assert spray.alone == pytest.approx(math.log10(0.01 / 0.4), abs=1e-12)
        wet_if_rain, wet_if_dry = 0.99 * 0.8 + 0.01 * 0.99, 0.4 * 0.9
        assert wet.alone == pytest.approx(math.log10(wet_if_rain / wet_if_dry), abs=1e-12)
        assert wet.given_others == pytest.approx(math.log10(0.99 / 0.9), abs=1e-12)
        both = math.log10(0.01 * 0.99 / (0.4 * 0.9))
        assert spray.given_others == pytest.approx(both - wet.alone, abs=1e-12)
        sizes = [abs(weight.given_others) for weight in told.weights]
        assert sizes == sorted(sizes, reverse=True)  # the most telling comes first

    def test_of_a_likelihood_are_its_ratio(self):
        _, weights = weighed(illness(), {}, "ill", "yes", likelihood={"first": [1.0, 3.0]})
        expected = math.log10((0.2 + 3 * 0.8) / (0.9 + 3 * 0.1))
        assert weights["first"].alone == pytest.approx(expected, abs=1e-12)
        assert weights["first"].finding == [1.0, 3.0]

    def test_of_a_proof_are_infinite(self):
        model = graph("ab", ("ab", [[1.0, 1.0], [0.0, 1.0]]))
        told, weights = weighed(model, {"b": 0}, "a", 0)
        assert (told.posterior, told.total, weights["b"].alone) == (1.0, math.inf, math.inf)
        assert weighed(model, {"b": 0}, "a", 1)[1]["b"].given_others == -math.inf

    def test_of_near_certainties_are_told_apart(self):
        told, weights = weighed(star(30), {f"leaf{i}": 1 for i in range(30)}, "centre", 1)
        assert told.posterior == 1.0
        assert told.total == pytest.approx(30 * math.log10(99), rel=1e-12)
        for weight in weights.values():
            assert weight.in_turn == pytest.approx(math.log10(99), abs=1e-9)

    def test_of_a_variable_of_one_state_are_none(self):
        told, _ = weighed(graph({"a": 1, "b": 2}, ("ab", [[1.0, 1.0]])), {"b": 0}, "a")
        assert (told.prior, told.posterior, told.total) == (1.0, 1.0, 0.0)

    def test_the_most_probable_state_is_explained_if_none_is_named(self):
        assert weighed(illness(), {"first": "yes"}, "ill", query=["ill"])[0].state == "no"
        tree = credo.JunctionTree(illness()).infer({"first": "yes"})
        assert credo.explain(tree, "ill", "yes").total == pytest.approx(math.log10(8), abs=1e-12)

    def test_read_as_a_table(self):
        told, _ = weighed(illness(), {"first": "yes", "second": "no"}, "ill", "yes")
        lines = str(told).splitlines()
        assert lines[0].startswith("ill = yes: 0.01 -> 0.03")
        assert len(lines) == 3
        assert "first = yes" in lines[1]
        assert "+0.903 alone" in lines[1]

    def test_need_evidence_and_a_target_that_is_free(self):
        for evidence, target, error, words in [
            ({}, ["ill"], InputError, "nothing to weigh"),
            ({"first": "yes"}, ["first"], InputError, "observed itself"),
            ({"first": "yes"}, ["ill", "maybe"], LabelError, "maybe"),
            ({"first": "yes"}, ["nobody"], LabelError, "nobody"),
        ]:
            post = credo.infer(illness(), evidence)
            with pytest.raises(error, match=words):
                credo.explain(post, *target)


def either():
    """Either is the OR of tuberculosis and cancer; the rest hangs on to it."""
    net = BayesianNetwork()
    for name in ("smoke", "tub", "lung", "either", "xray"):
        net.variable(name, ["no", "yes"])
    net.cpt("smoke", table=[0.5, 0.5])
    net.cpt("tub", table=[0.99, 0.01])
    net.cpt("lung", given=["smoke"], table=[[0.99, 0.01], [0.9, 0.1]])
    net.deterministic("either", ["tub", "lung"], lambda t, c: max(t, c, key=["no", "yes"].index))
    net.cpt("xray", given=["either"], table=[[0.95, 0.05], [0.02, 0.98]])
    return net


EVEN = graph(range(40))
EVEN.parity([3, 11, 19, 37])
#: A model, evidence, likelihoods, the conflict, and words of the message.
CONFLICTS = {
    "findings that do not matter are left out": (either(),
        {"smoke": "yes", "either": "yes", "xray": "no", "tub": "no", "lung": "no"}, {},
        {"either": "yes", "tub": "no", "lung": "no"},
        "either = yes, tub = no, lung = no (the other 2 may be true)"),
    "one finding is impossible by itself": (graph("ab", ("a", [1.0, 0.0])), {"b": 1, "a": 1}, {},
        {"a": 1}, "a = 1 (the other 1 may be true)"),
    "sets and weights are named as they were given": (graph({"a": 3, "b": 3}, ("ab", np.eye(3))),
        {"a": {0, 1}}, {"b": [0.0, 0.0, 2.0]},
        {"a": [0, 1], "b": [0.0, 0.0, 2.0]}, "a in [0, 1]"),
    "two findings on one variable": (graph("a"), {"a": 0}, {"a": [0.0, 1.0]},
        {"a": [0, [0.0, 1.0]]}, "a = 0, a weighted by [0.0, 1.0]"),
    "a long one among many": (EVEN, dict.fromkeys(range(40), 0) | {19: 1}, {},
        {3: 0, 11: 0, 19: 1, 37: 0}, "(the other 36 may be true)"),
}  # fmt: skip


class TestConflicts:
    @pytest.mark.parametrize("case", CONFLICTS)
    def test_only_findings_that_cannot_be_spared_are_named(self, case):
        model, evidence, likelihood, conflict, words = CONFLICTS[case]
        with pytest.raises(ImpossibleEvidence) as caught:
            credo.infer(model, evidence, likelihood=likelihood)
        assert caught.value.conflict == conflict
        assert words in str(caught.value)

    @pytest.mark.parametrize(
        "method", ["auto", "junction_tree", "elimination", "enumeration", "tree"]
    )
    def test_one_in_a_part_that_nobody_asks_for_is_found(self, method):
        model = graph("abcd", ("ab", np.eye(2)), ("cd", np.ones((2, 2))))
        with pytest.raises(ImpossibleEvidence) as caught:
            credo.infer(model, {"a": 0, "b": 1}, query=["c"], method=method)
        assert caught.value.conflict == {"a": 0, "b": 1}

    def test_a_tiny_probability_is_not_impossible(self):
        post = credo.infer(graph("a", ("a", [1.0, 5e-324])), {"a": 1})
        assert post.log_evidence == pytest.approx(-744.44, abs=0.01)


class TestSearch:
    @pytest.mark.parametrize("n", [1, 2, 7, 64])
    def test_finds_a_conflict_of_which_no_part_conflicts(self, n):
        rng = np.random.default_rng(n)
        for _ in range(50):
            cores = [
                set(rng.choice(n, size=rng.integers(1, min(n, 5) + 1), replace=False).tolist())
                for _ in range(rng.integers(1, 4))
            ]

            def is_possible(chosen, cores=cores):
                return not any(core <= set(chosen) for core in cores)

            found = smallest_conflict(is_possible, n)
            assert not is_possible(found)
            assert all(is_possible([i for i in found if i != j]) for j in found)
            assert found == sorted(found)

    def test_asks_few_questions(self):
        asked = []

        def is_possible(chosen):
            asked.append(chosen)
            return not {17, 800} <= set(chosen)

        assert smallest_conflict(is_possible, 1000) == [17, 800]
        assert len(asked) < 60
