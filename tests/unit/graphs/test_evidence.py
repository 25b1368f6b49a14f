"""Evidence: names and states become findings, and never change the model."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

import credo
from credo.exceptions import InputError, LabelError, ShapeError
from credo.graphs import FactorGraph
from credo.graphs.evidence import resolve


def model():
    graph = FactorGraph()
    graph.variable("rain", ["no", "yes"])
    graph.variable("count", 3)
    graph.variable("pair", [(0, 0), (0, 1)])
    graph.variable("set", [frozenset({1}), frozenset({2})])
    graph.variable(("t", 1), ["a,b", "c d", "ü"])
    return graph


def wiring():
    return model().compile()


def found(evidence=None, likelihood=None):
    return resolve(wiring(), evidence, likelihood)


class TestStates:
    @pytest.mark.parametrize(
        ("name", "given", "state"),
        [
            ("rain", "yes", 1),
            ("count", 2, 2),
            ("count", np.int64(2), 2),
            ("count", np.array(2), 2),
            ("pair", (0, 1), 1),
            ("set", frozenset({2}), 1),
            (("t", 1), "c d", 1),
            ("rain", ["yes"], 1),
            ("rain", {"yes"}, 1),
        ],
        ids=repr,
    )
    def test_are_found_by_name(self, name, given, state):
        observed = found({name: given}).observed(5)
        assert observed[wiring().index(name)] == state
        assert (observed >= 0).sum() == 1

    @pytest.mark.parametrize(
        "given", [{0, 2}, [2, 0], (0, 2), np.array([0, 2]), frozenset({2, 0}), [0, 2, 2]], ids=repr
    )
    def test_several_are_weights_of_one(self, given):
        evidence = found({"count": given})
        assert (evidence.observed(5) == -1).all()
        np.testing.assert_array_equal(evidence.soft(wiring())[1], [1.0, 0.0, 1.0])

    @pytest.mark.parametrize(
        "given",
        [pd.Series([0, 1]), pl.Series([1, 0]), range(2), (s for s in (0, 1))],
        ids=["pandas", "polars", "range", "generator"],
    )
    def test_may_come_in_any_collection(self, given):
        evidence = found({"count": given})
        np.testing.assert_array_equal(evidence.soft(wiring())[1], [1.0, 1.0, 0.0])

    def test_that_are_truth_values_may_be_several(self):
        graph = FactorGraph()
        graph.variable("on", [False, True])
        evidence = resolve(graph.compile(), {"on": [True, False]})
        np.testing.assert_array_equal(evidence.soft(graph.compile())[0], [1.0, 1.0])

    def test_may_be_none(self):
        graph = FactorGraph()
        graph.variable("gap", ["some", None])
        assert resolve(graph.compile(), {"gap": None}).observed(1)[0] == 1

    def test_of_pairs_may_be_several_too(self):
        evidence = found({"pair": [(0, 0), (0, 1)]})
        np.testing.assert_array_equal(evidence.soft(wiring())[2], [1.0, 1.0])

    @pytest.mark.parametrize(
        ("evidence", "error", "match"),
        [
            ({"rain": "ys"}, LabelError, "no state 'ys'.*Did you mean 'yes'"),
            ({"rain": 1}, LabelError, "no state 1"),
            ({"count": "2"}, LabelError, "type"),
            ({"count": 3}, LabelError, "no state 3"),
            ({"count": -1}, LabelError, "no state -1"),
            ({"rain": None}, LabelError, "None. Leave the variable out"),
            ({"rain": float("nan")}, LabelError, "nan. Leave the variable out"),
            ({"rain": pd.NA}, LabelError, "NA>. Leave the variable out"),
            ({"rain": ["yes", pd.NA]}, LabelError, "NA>. Leave the variable out"),
            ({"count": np.array([True, False, True])}, InputError, "must list states"),
            ({"count": [True, False]}, InputError, "must list states"),
            ({"count": [0, 7]}, LabelError, "no state 7"),
            ({"rain": {"no": 0.2, "yes": 0.8}}, InputError, "state"),
            ({"rain": []}, InputError, "allows no state"),
            ({"rian": "yes"}, LabelError, "no variable 'rian'.*Did you mean 'rain'"),
            ([("rain", "yes")], InputError, "must be a mapping by variable. Got list"),
            ("rain", InputError, "must be a mapping"),
        ],
        ids=repr,
    )
    def test_that_are_not_there_are_refused(self, evidence, error, match):
        with pytest.raises(error, match=match):
            found(evidence)

    def test_of_one_variable_may_not_be_given_twice(self):
        graph = model()
        rain = graph["rain"]
        with pytest.raises(InputError, match="rain"):
            resolve(graph.compile(), {rain: "yes", "rain": "no"})


class TestWeights:
    @pytest.mark.parametrize(
        "given", [[0.2, 0.8], (0.2, 0.8), np.array([0.2, 0.8]), {"yes": 0.8, "no": 0.2}], ids=repr
    )
    def test_come_in_order_or_by_name(self, given):
        np.testing.assert_array_equal(found(None, {"rain": given}).soft(wiring())[0], [0.2, 0.8])

    def test_of_a_series_go_by_its_names(self):
        named = pd.Series({"yes": 0.8, "no": 0.2})
        np.testing.assert_array_equal(found(None, {"rain": named}).soft(wiring())[0], [0.2, 0.8])

    def test_of_a_series_without_names_are_in_order(self):
        given = pd.Series([0.2, 0.8])
        np.testing.assert_array_equal(found(None, {"rain": given}).soft(wiring())[0], [0.2, 0.8])

    def test_multiply_what_was_observed(self):
        evidence = found({"count": {0, 1}}, {"count": [0.5, 2.0, 3.0]})
        np.testing.assert_array_equal(evidence.soft(wiring())[1], [0.5, 2.0, 0.0])
        np.testing.assert_array_equal(evidence.weights(wiring())[1], [0.5, 2.0, 0.0])

    def test_on_an_observed_variable_keep_both(self):
        evidence = found({"count": 1}, {"count": [0.5, 2.0, 3.0]})
        assert (evidence.observed(5) == -1).all()
        np.testing.assert_array_equal(evidence.soft(wiring())[1], [0.0, 2.0, 0.0])

    def test_the_caller_keeps_his_array(self):
        mine = np.array([0.2, 0.8])
        evidence = found(None, {"rain": mine})
        mine[:] = 7.0
        np.testing.assert_array_equal(evidence.soft(wiring())[0], [0.2, 0.8])

    @pytest.mark.parametrize(
        ("given", "error", "match"),
        [
            ([0.2], ShapeError, "one weight per state, 2 in all"),
            ([[0.2, 0.8]], ShapeError, "one weight per state, 2 in all"),
            ([0.2, -0.8], InputError, "at least 0"),
            ([0.0, 0.0], InputError, "not all 0"),
            ([np.inf, 1.0], InputError, "finite|infinite"),
            ([np.nan, 1.0], InputError, "finite|NaN|missing"),
            ({"yes": 1.0}, InputError, "lack the state 'no'"),
            ({"yes": 1.0, "no": 0.1, "maybe": 1.0}, LabelError, "maybe"),
            ({"yes": "much", "no": 0.1}, InputError, "much|weights"),
            ("no", InputError, "weights|number"),
            (None, InputError, "weights|number"),
        ],
        ids=repr,
    )
    def test_that_are_none_are_refused(self, given, error, match):
        with pytest.raises(error, match=match):
            found(None, {"rain": given})


class TestTheModel:
    def test_is_not_changed_by_evidence(self):
        graph = model()
        graph.factor(["rain", "count"], np.arange(1.0, 7.0).reshape(2, 3))
        before = {k: v.copy() for k, v in _arrays(graph.compile()).items()}
        credo.infer(graph, {"rain": "yes"}, likelihood={"count": [1, 2, 3]})
        credo.infer(graph, jeffrey={"rain": [0.5, 0.5], "count": [0.2, 0.3, 0.5]})
        for name, array in _arrays(graph.compile()).items():
            np.testing.assert_array_equal(array, before[name])

    def test_only_gives_a_part_of_the_findings(self):
        evidence = found({"rain": "yes", "count": 2}, {"pair": [1.0, 2.0]})
        assert [f.name for f in evidence.only([0, 2]).findings] == ["rain", "pair"]


def _arrays(wires):
    return {"values": wires.values, "scope": wires.scope, "n_states": wires.n_states}  # noqa: PD011 - no frame
