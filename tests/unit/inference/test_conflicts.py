"""Impossible evidence names a smallest set of findings that cannot all be true."""

import numpy as np
import pytest

import credo
from credo.exceptions import ImpossibleEvidence, InputError
from credo.graphs import BayesianNetwork, FactorGraph
from credo.inference._explain import smallest_conflict


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


def conflict(*args, **options):
    with pytest.raises(ImpossibleEvidence) as caught:
        credo.infer(*args, **options)
    return caught.value


class TestWhatIsNamed:
    @pytest.mark.parametrize("method", ["auto", "junction_tree", "elimination", "enumeration"])
    def test_findings_that_do_not_matter_are_left_out(self, method):
        evidence = {"smoke": "yes", "either": "yes", "xray": "no", "tub": "no", "lung": "no"}
        error = conflict(either(), evidence, method=method)
        assert error.conflict == {"either": "yes", "tub": "no", "lung": "no"}
        assert "either = yes, tub = no, lung = no" in str(error)
        assert "(the other 2 may be true)" in str(error)

    def test_one_finding_can_be_impossible_by_itself(self):
        net = BayesianNetwork()
        net.variable("a", ["x", "y"])
        net.cpt("a", table=[1.0, 0.0])
        net.variable("b", 2)
        net.cpt("b", table=[0.5, 0.5])
        error = conflict(net, {"b": 1, "a": "y"})
        assert error.conflict == {"a": "y"}
        assert "(the other 1 may be true)" in str(error)

    def test_sets_of_states_and_weights_are_named_as_they_were_given(self):
        graph = FactorGraph()
        for name in "ab":
            graph.variable(name, 3)
        graph.factor(["a", "b"], np.eye(3))
        error = conflict(graph, {"a": {0, 1}}, likelihood={"b": [0.0, 0.0, 2.0]})
        assert error.conflict == {"a": [0, 1], "b": [0.0, 0.0, 2.0]}
        assert "a in [0, 1]" in str(error)

    def test_two_findings_on_one_variable_are_both_named(self):
        graph = FactorGraph()
        graph.variable("a", 2)
        error = conflict(graph, {"a": 0}, likelihood={"a": [0.0, 1.0]})
        assert error.conflict == {"a": [0, [0.0, 1.0]]}
        assert "a = 0, a weighted by [0.0, 1.0]" in str(error)

    def test_a_long_conflict_is_found_among_many_findings(self):
        graph = FactorGraph()
        for i in range(40):
            graph.variable(i, 2)
        graph.parity([3, 11, 19, 37])
        evidence = dict.fromkeys(range(40), 0) | {19: 1}
        assert set(conflict(graph, evidence).conflict) == {3, 11, 19, 37}

    def test_an_unrelated_part_that_is_impossible_is_found_whatever_is_asked(self):
        graph = FactorGraph()
        for name in "abcd":
            graph.variable(name, 2)
        graph.factor(["a", "b"], np.eye(2))
        graph.factor(["c", "d"], np.ones((2, 2)))
        for method in ("auto", "junction_tree", "elimination", "enumeration", "tree"):
            error = conflict(graph, {"a": 0, "b": 1}, query=["c"], method=method)
            assert error.conflict == {"a": 0, "b": 1}

    def test_a_junction_tree_names_it_and_goes_on_working(self):
        tree = credo.JunctionTree(either())
        before = tree.infer({"xray": "yes"}).to_dict()
        with pytest.raises(ImpossibleEvidence) as caught:
            tree.infer({"either": "no", "lung": "yes", "smoke": "no"})
        assert caught.value.conflict == {"either": "no", "lung": "yes"}
        assert tree.infer({"xray": "yes"}).to_dict() == before

    def test_a_model_that_allows_nothing_is_not_blamed_on_the_evidence(self):
        graph = FactorGraph()
        graph.variable("a", 2)
        graph.variable("b", 2)
        graph.factor(["a"], [0.0, 1.0])
        graph.factor(["a"], [1.0, 0.0])
        for question in (
            lambda: credo.infer(graph, {"b": 1}),
            lambda: credo.JunctionTree(graph).infer({"b": 1}),
        ):
            with pytest.raises(InputError, match="allows no configuration") as caught:
                question()
            assert not isinstance(caught.value, ImpossibleEvidence)

    def test_a_tiny_probability_is_not_impossible(self):
        graph = FactorGraph()
        graph.variable("a", 2)
        graph.factor(["a"], [1.0, 5e-324])
        assert credo.infer(graph, {"a": 1}).log_evidence == pytest.approx(-744.44, abs=0.01)


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

    def test_finds_nothing_where_all_is_possible(self):
        assert smallest_conflict(lambda _: True, 5) == []
