"""Evidence: names and states become weights of states, and what a question needs of a model."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from tests.models import graph, steps

import credo
from credo.exceptions import InputError, LabelError, ShapeError
from credo.graphs import FactorGraph


def model():
    graph = FactorGraph()
    graph.variable("rain", ["no", "yes"])
    graph.variable("count", 3)
    graph.variable("pair", [(0, 0), (0, 1)])
    graph.variable("set", [frozenset({1}), frozenset({2})])
    graph.variable(("t", 1), ["a,b", "c d", "ü"])
    graph.variable("on", [False, True])
    graph.variable("gap", ["some", None])
    return graph


def weights(name, evidence=None, likelihood=None):
    """What evidence leaves of a variable that is uniform without it: its weights, less a factor."""
    return credo.infer(model(), evidence, likelihood=likelihood).probabilities(name).tolist()


class TestStates:
    @pytest.mark.parametrize(
        ("name", "given", "state"),
        [
            ("rain", "yes", 1),
            ("count", np.int64(2), 2),
            ("count", np.array(2), 2),
            ("pair", (0, 1), 1),
            ("set", frozenset({2}), 1),
            (("t", 1), "c d", 1),
            ("rain", ["yes"], 1),
            ("gap", None, 1),
        ],
        ids=repr,
    )
    def test_are_found_by_name(self, name, given, state):
        assert weights(name, {name: given}) == np.eye(model()[name].n_states)[state].tolist()

    @pytest.mark.parametrize(
        "given",
        [
            {0, 2},
            [2, 0],
            (0, 2),
            np.array([0, 2]),
            [0, 2, 2],
            pd.Series([0, 2]),
            pl.Series([2, 0]),
            range(0, 3, 2),
            (s for s in (0, 2)),
        ],
    )
    def test_several_in_any_collection_are_weights_of_one(self, given):
        assert weights("count", {"count": given}) == [0.5, 0.0, 0.5]

    def test_of_pairs_and_of_booleans_may_be_several_too(self):
        assert weights("pair", {"pair": [(0, 0), (0, 1)]}) == [0.5, 0.5]
        assert weights("on", {"on": [True, False]}) == [0.5, 0.5]

    @pytest.mark.parametrize(
        ("evidence", "error", "match"),
        [
            ({"rain": "ys"}, LabelError, "no state 'ys'.*Did you mean 'yes'"),
            ({"rain": 1}, LabelError, "no state 1"),
            ({"count": "2"}, LabelError, "type"),
            ({"count": -1}, LabelError, "no state -1"),
            ({"rain": None}, LabelError, "None. Leave the variable out"),
            ({"rain": float("nan")}, LabelError, "nan. Leave the variable out"),
            ({"rain": ["yes", pd.NA]}, LabelError, "NA>. Leave the variable out"),
            ({"count": np.array([True, False, True])}, InputError, "must list states"),
            ({"count": [True, False]}, InputError, "must list states"),
            ({"count": [0, 7]}, LabelError, "no state 7"),
            ({"rain": {"no": 0.2, "yes": 0.8}}, InputError, "state"),
            ({"rain": []}, InputError, "allows no state"),
            ({"rian": "yes"}, LabelError, "no variable 'rian'.*Did you mean 'rain'"),
            ([("rain", "yes")], InputError, "must be a mapping by variable. Got list"),
            ({model()["rain"]: "yes", "rain": "no"}, InputError, "rain"),
        ],
        ids=repr,
    )
    def test_that_are_not_there_are_refused(self, evidence, error, match):
        with pytest.raises(error, match=match):
            weights("rain", evidence)


class TestWeights:
    @pytest.mark.parametrize(
        "given",
        [
            (1, 3),
            np.array([1, 3]),
            {"yes": 3, "no": 1},
            pd.Series({"yes": 3, "no": 1}),
            pd.Series([1, 3]),
        ],
        ids=repr,
    )
    def test_come_in_order_or_by_name(self, given):
        assert weights("rain", None, {"rain": given}) == [0.25, 0.75]

    def test_multiply_what_was_observed(self):
        assert weights("count", {"count": {0, 1}}, {"count": [1.0, 3.0, 9.0]}) == [0.25, 0.75, 0.0]
        assert weights("count", {"count": 1}, {"count": [0.5, 2.0, 3.0]}) == [0.0, 1.0, 0.0]

    def test_the_caller_keeps_his_array(self):
        mine = np.array([1.0, 3.0])
        post = credo.infer(model(), likelihood={"rain": mine})
        mine[:] = 7.0
        assert credo.explain(post, "count").weights[0].finding == [1.0, 3.0]

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
            weights("rain", None, {"rain": given})


class TestWhatIsNeeded:
    @pytest.mark.parametrize(
        ("evidence", "query", "needed"),
        [
            ({}, ["a"], {"a"}),
            ({}, ["child"], {"a", "b", "child"}),
            ({"grandchild": 1}, ["a"], {"a", "b", "child"}),
            ({"child": 1}, ["a"], {"a", "b"}),
            ({"child": 1, "b": 0}, ["a"], {"a"}),
            ({"child": 1}, ["grandchild"], {"grandchild"}),
            ({"lone": 1}, ["a"], {"a"}),
            ({}, None, {"a", "b", "child", "grandchild", "lone"}),
        ],
    )
    def test_children_that_nobody_needs_and_parts_cut_off_are_left_out(
        self, evidence, query, needed
    ):
        net = credo.BayesianNetwork()
        for name in ("a", "b", "child", "grandchild", "lone"):
            net.variable(name, 2)
        for name in ("a", "b", "lone"):
            net.cpt(name, table=[0.25, 0.75])
        net.cpt("child", given=["a", "b"], table=np.full((2, 2, 2), 0.5))
        net.cpt("grandchild", given=["child"], table=[[0.5, 0.5], [0.25, 0.75]])
        assert set(credo.plan(net, evidence, query).order) == needed

    def test_a_part_with_a_zero_stays_because_it_may_be_impossible(self):
        zeros = graph("abc", ("ab", np.eye(2)), ("c", [1.0, 2.0]))
        assert set(credo.plan(zeros, query=["c"]).order) == {"a", "b", "c"}

    def test_a_long_chain_is_cut_on_both_sides(self):
        plan = credo.plan(steps(1000), {"x400": 0, "x600": 1}, ["x500"])
        assert set(plan.order) == {f"x{t}" for t in range(401, 600)}
