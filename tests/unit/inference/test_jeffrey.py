"""Jeffrey's rule: posteriors that variables must have, against likelihoods, which multiply."""

import numpy as np
import pytest
from tests.unit.inference.test_infer import sprinkler

import credo
from credo.exceptions import ImpossibleEvidence, InputError, NumericalError
from credo.graphs import FactorGraph

TABLE = np.array([[0.1, 0.2, 0.1], [0.3, 0.1, 0.2]])


def pair(table=TABLE):
    graph = FactorGraph()
    graph.variable("a", ["no", "yes"])
    graph.variable("b", 3)
    graph.factor(["a", "b"], table)
    return graph


def ways(model):
    return {"infer": lambda **o: credo.infer(model, **o), "tree": credo.JunctionTree(model).infer}


class TestOneVariable:
    @pytest.mark.parametrize("way", ["infer", "tree"])
    def test_takes_the_posterior_asked_for_and_keeps_the_rest_given_it(self, way):
        post = ways(pair())[way](jeffrey={"a": [0.9, 0.1]})
        np.testing.assert_allclose(post.probabilities("a"), [0.9, 0.1], rtol=1e-14)
        given_a = TABLE / TABLE.sum(axis=1, keepdims=True)
        expected = np.array([0.9, 0.1]) @ given_a
        np.testing.assert_allclose(post.probabilities("b"), expected, rtol=1e-13)

    def test_is_not_the_likelihood_of_the_same_numbers(self):
        weights = [0.9, 0.1]
        likelihood = credo.infer(pair(), likelihood={"a": weights})
        expected = np.array([0.4 * 0.9, 0.6 * 0.1])
        np.testing.assert_allclose(
            likelihood.probabilities("a"), expected / expected.sum(), rtol=1e-14
        )
        assert likelihood.log_evidence == pytest.approx(np.log(expected.sum()), rel=1e-13)

    def test_takes_probabilities_by_name(self):
        post = credo.infer(pair(), jeffrey={"a": {"yes": 0.1, "no": 0.9}})
        np.testing.assert_allclose(post.probabilities("a"), [0.9, 0.1], rtol=1e-14)

    def test_comes_after_the_evidence(self):
        post = credo.infer(pair(), {"b": {0, 1}}, jeffrey={"a": [0.5, 0.5]})
        expected = 0.5 * np.array([1 / 3, 2 / 3, 0.0]) + 0.5 * np.array([0.75, 0.25, 0.0])
        np.testing.assert_allclose(post.probabilities("b"), expected, rtol=1e-13)
        assert post.log_evidence == pytest.approx(np.log(0.7), rel=1e-13)

    def test_certainty_is_evidence(self):
        sure = credo.infer(pair(), jeffrey={"a": [0.0, 1.0]})
        seen = credo.infer(pair(), {"a": "yes"})
        np.testing.assert_allclose(sure.probabilities("b"), seen.probabilities("b"), rtol=1e-13)

    def test_on_an_observed_variable_may_only_repeat_what_was_seen(self):
        post = credo.infer(pair(), {"a": "yes"}, jeffrey={"a": [0.0, 1.0]})
        np.testing.assert_array_equal(post.probabilities("a"), [0.0, 1.0])
        with pytest.raises(ImpossibleEvidence, match="positive probability of a = no"):
            credo.infer(pair(), {"a": "yes"}, jeffrey={"a": [0.5, 0.5]})

    def test_the_log_evidence_is_that_of_the_evidence(self):
        model = sprinkler()
        post = credo.infer(model, {"wet": "yes"}, jeffrey={"rain": [0.1, 0.9]})
        assert post.log_evidence == pytest.approx(
            credo.infer(model, {"wet": "yes"}).log_evidence, rel=1e-12
        )
        part = credo.infer(model, {"wet": "yes"}, jeffrey={"rain": [0.1, 0.9]}, query=["rain"])
        assert part.log_evidence == pytest.approx(post.log_evidence, rel=1e-12)


class TestSeveralVariables:
    @pytest.mark.parametrize("way", ["infer", "tree"])
    def test_each_has_its_posterior_and_the_odds_ratios_stay(self, way):
        wanted = {"a": [0.2, 0.8], "b": [0.5, 0.25, 0.25]}
        post = ways(pair())[way](jeffrey=wanted)
        for name, q in wanted.items():
            np.testing.assert_allclose(post.probabilities(name), q, rtol=0, atol=1e-11)
        joint = post.joint(["a", "b"]).table

        def odds_ratios(table):
            return table[0, :-1] * table[1, 1:] / (table[0, 1:] * table[1, :-1])

        np.testing.assert_allclose(odds_ratios(joint), odds_ratios(TABLE), rtol=1e-10)
        assert post.log_evidence == pytest.approx(0.0, abs=1e-10)

    def test_the_order_of_the_targets_does_not_matter(self):
        one = credo.infer(sprinkler(), jeffrey={"rain": [0.5, 0.5], "wet": [0.1, 0.9]})
        other = credo.infer(sprinkler(), jeffrey={"wet": [0.1, 0.9], "rain": [0.5, 0.5]})
        for name in one:
            np.testing.assert_allclose(
                one.probabilities(name), other.probabilities(name), atol=1e-11
            )

    def test_posteriors_that_contradict_each_other_are_refused(self):
        graph = pair(np.eye(2, 3))
        with pytest.raises((NumericalError, ImpossibleEvidence), match="jeffrey|zero"):
            credo.infer(graph, jeffrey={"a": [0.2, 0.8], "b": [0.8, 0.2, 0.0]})


class TestRefusals:
    @pytest.mark.parametrize(
        ("given", "match"),
        [
            ([0.5, 0.6], "must sum to one"),
            ([1.0], "2 numbers, one per label"),
            ([-0.5, 1.5], "at least 0"),
            ([np.nan, 1.0], "finite|NaN"),
            ({"no": 1.0}, "'yes', which is missing"),
        ],
    )
    def test_what_is_no_distribution(self, given, match):
        with pytest.raises(InputError, match=match):
            credo.infer(pair(), jeffrey={"a": given})

    def test_what_is_no_mapping(self):
        with pytest.raises(InputError, match="jeffrey"):
            credo.infer(pair(), jeffrey=[0.5, 0.5])

    def test_what_the_model_makes_impossible(self):
        graph = pair([[0.1, 0.2, 0.0], [0.3, 0.4, 0.0]])
        with pytest.raises(ImpossibleEvidence, match="b = 2") as caught:
            credo.infer(graph, jeffrey={"b": [0.5, 0.25, 0.25]})
        assert caught.value.conflict == {"b": 2}
