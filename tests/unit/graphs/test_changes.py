"""Networks that are changed: copies with other tables, arcs and variables, and what-if answers."""

import numpy as np
import pandas as pd
import pytest
from tests.oracles.joint import Joint

import credo
from credo.exceptions import InputError, LabelError, ShapeError
from credo.graphs import BayesianNetwork, FactorGraph, MarkovNetwork, Potts

RAIN, SPRINKLER = [0.8, 0.2], [[0.6, 0.4], [0.99, 0.01]]
WET = [[[1.0, 0.0], [0.2, 0.8]], [[0.1, 0.9], [0.01, 0.99]]]


def lawn():
    net = BayesianNetwork()
    for name in ("rain", "sprinkler", "wet"):
        net.variable(name, ["no", "yes"])
    net.cpt("wet", ["sprinkler", "rain"], WET)
    net.cpt("rain", table=RAIN)
    net.cpt("sprinkler", ["rain"], SPRINKLER)
    return net


def of_arrays():
    values = [*RAIN, *np.ravel(SPRINKLER), *np.ravel(WET)]
    names, states = ["rain", "sprinkler", "wet"], [("no", "yes")] * 3
    return BayesianNetwork.from_arrays(names, states, [[], [0], [1, 0]], values)


def compiled():
    net = lawn()
    net.compile()
    return net


MADE = pytest.mark.parametrize("make", [lawn, compiled, of_arrays])


def wet(rain=RAIN, sprinkler=SPRINKLER, table=WET):
    """P(wet = yes), by summing the joint distribution cell by cell."""
    return sum(rain[r] * sprinkler[r][s] * table[s][r][1] for r in range(2) for s in range(2))


class TestTables:
    @MADE
    def test_are_replaced_in_a_copy_and_the_network_stays_as_it_is(self, make):
        net = make()
        other = net.replace({"rain": {"no": 0.3, "yes": 0.7}, "sprinkler": [[0.5, 0.5]] * 2})
        assert credo.infer(other)["wet"]["yes"] == pytest.approx(wet([0.3, 0.7], [[0.5, 0.5]] * 2))
        assert credo.infer(net)["wet"]["yes"] == pytest.approx(wet())
        assert other.table("rain").tolist() == [0.3, 0.7]
        assert net.table("rain").tolist() == RAIN

    @MADE
    def test_add_up_to_numbers(self, make):
        table = make().table("sprinkler")
        assert type(table.sum()) is type(table.max()) is np.float64
        assert type(2 * table) is type(table.sum(axis=1)) is np.ndarray

    @MADE
    def test_of_a_question_replace_those_of_the_network_for_it_alone(self, make):
        net = make()
        tables = {"rain": [0.3, 0.7]}
        post = credo.infer(net, {"wet": "yes"}, tables=tables)
        twin = credo.infer(net.replace(tables), {"wet": "yes"})
        assert post["rain"]["yes"] == twin["rain"]["yes"]
        assert post.log_evidence == pytest.approx(np.log(wet([0.3, 0.7])))
        assert credo.infer(net)["rain"]["yes"] == pytest.approx(0.2)
        before = credo.explain(post, "rain", "yes").prior
        assert before == pytest.approx(0.7)  # the explanation is about the same tables

    @MADE
    def test_may_come_with_other_parents(self, make):
        net = make()
        alone = net.with_cpt("sprinkler", [], [0.25, 0.75])
        assert alone.parents("sprinkler") == ()
        assert credo.infer(alone)["wet"]["yes"] == pytest.approx(wet(sprinkler=[[0.25, 0.75]] * 2))
        same = net.with_cpt("wet", table=np.full((2, 2, 2), 0.5))
        assert same.parents("wet") == ("sprinkler", "rain")
        assert net.parents("sprinkler") == ("rain",)

    def test_replace_rules_too(self):
        net = BayesianNetwork()
        for name in ("flu", "fever"):
            net.variable(name, ["no", "yes"])
        net.cpt("flu", table=[0.9, 0.1])
        net.noisy_or("fever", {"flu": 0.5})
        other = net.replace({"fever": [[0.8, 0.2], [0.1, 0.9]]})
        assert credo.infer(other)["fever"]["yes"] == pytest.approx(0.9 * 0.2 + 0.1 * 0.9)

    @pytest.mark.parametrize(
        ("tables", "error", "match"),
        [
            ({"rian": RAIN}, LabelError, "Did you mean 'rain'"),
            ({"rain": [0.5, 0.6]}, InputError, "CPT of 'rain': it sums to 1.1"),
            ({"wet": SPRINKLER}, ShapeError, "CPT of 'wet' given 'sprinkler', 'rain'"),
            ([("rain", RAIN)], InputError, "by the name of the variable"),
        ],
    )
    def test_that_do_not_fit_are_refused(self, tables, error, match):
        for change in (lawn().replace, lambda t: credo.infer(lawn(), tables=t)):
            with pytest.raises(error, match=match):
                change(tables)

    def test_of_a_question_need_a_bayesian_network(self):
        with pytest.raises(InputError, match="tables.*BayesianNetwork.*MarkovNetwork"):
            credo.infer(MarkovNetwork(), tables={"a": [1, 1]})


class TestArcs:
    @MADE
    def test_that_are_added_change_nothing_until_the_table_does(self, make):
        free = make().without_arc("rain", "sprinkler", weights=RAIN)
        back = free.with_arc("rain", "sprinkler")
        assert back.parents("sprinkler") == ("rain",)
        for each in (free, back):
            chance = 0.8 * 0.4 + 0.2 * 0.01
            assert credo.infer(each)["sprinkler"]["yes"] == pytest.approx(chance)

    def test_that_are_removed_leave_the_mean_of_the_rows(self):
        free = lawn().without_arc("sprinkler", "wet")
        np.testing.assert_allclose(free.table("wet"), np.mean(WET, axis=0))
        assert free.parents("wet") == ("rain",)

    def test_are_refused_at_once_where_they_close_a_cycle(self):
        net = lawn()
        with pytest.raises(InputError, match="cycle 'rain' → 'wet' → 'rain'"):
            net.with_arc("wet", "rain")
        with pytest.raises(InputError, match="cycle"):
            net.with_cpt("rain", ["wet"], [[0.5, 0.5]] * 2)
        ring = BayesianNetwork()
        for name in "abc":
            ring.variable(name, 2)
        ring.cpt("a", ["b"], [[1, 0], [0, 1]])
        ring.cpt("b", ["c"], [[1, 0], [0, 1]])
        with pytest.raises(InputError, match="cycle 'c' → 'b' → 'a' → 'c'"):
            ring.cpt("c", ["a"], [[1, 0], [0, 1]])
        ring.cpt("c", table=[0.5, 0.5])  # what was refused left no trace
        assert credo.infer(ring)["a"][0] == pytest.approx(0.5)

    @pytest.mark.parametrize(
        ("change", "match"),
        [
            (lambda net: net.with_arc("rain", "wet"), "'rain' is a parent of 'wet' already"),
            (lambda net: net.without_arc("wet", "rain"), "'wet' is no parent of 'rain'"),
            (lambda net: net.without_arc("rain", "wet", weights=[1, 2, 3]), "weights.*2 numbers"),
        ],
    )
    def test_that_are_there_or_not_are_named(self, change, match):
        with pytest.raises((InputError, ShapeError), match=match):
            change(lawn())


class TestVariables:
    @MADE
    def test_are_added_to_a_copy(self, make):
        net = make().copy()
        net.variable("slippery", ["no", "yes"])
        net.cpt("slippery", ["wet"], [[1, 0], [0.3, 0.7]])
        assert credo.infer(net)["slippery"]["yes"] == pytest.approx(0.7 * wet())

    @MADE
    def test_that_nobody_needs_are_left_out(self, make):
        net = make()
        small = net.without("wet")
        assert small.names == ("rain", "sprinkler")
        assert credo.infer(small)["sprinkler"]["yes"] == pytest.approx(0.8 * 0.4 + 0.2 * 0.01)
        assert len(net) == 3
        assert net.without("wet", "sprinkler").names == ("rain",)

    def test_in_the_middle_keep_the_others_as_they_are(self):
        net = lawn().without_arc("sprinkler", "wet")
        small = net.without("sprinkler")
        assert small.parents("wet") == ("rain",)
        np.testing.assert_array_equal(small.table("wet"), net.table("wet"))
        expected = np.exp(Joint.of(net).logs).sum(axis=1)
        np.testing.assert_allclose(
            np.exp(Joint.of(small).logs).astype(float), expected.astype(float)
        )

    def test_with_children_are_not_removed(self):
        with pytest.raises(
            InputError, match="'rain' is a parent of 'sprinkler', 'wet'.*without_arc"
        ):
            lawn().without("rain")


class TestNumbersByState:
    """``{"dry": 1, "wet": 2}`` as states would drop the numbers."""

    @pytest.mark.parametrize("kind", [BayesianNetwork, FactorGraph])
    def test_are_no_states_of_a_variable(self, kind):
        with pytest.raises(InputError, match="states of variable 'a'.*numbers.*list"):
            kind().variable("a", {"dry": 1, "wet": 2})

    def test_are_the_potential_of_a_node(self):
        net = MarkovNetwork()
        assert net.node("a", {"dry": 1, "wet": 3}).states == ("dry", "wet")
        assert credo.infer(net)["a"]["wet"] == 0.75
        logs = MarkovNetwork()
        logs.node("a", {"dry": 0.0, "wet": np.log(3)}, log=True)
        assert credo.infer(logs)["a"]["wet"] == pytest.approx(0.75)
        with pytest.raises(InputError, match="potential.*twice"):
            MarkovNetwork().node("b", {"dry": 1, "wet": 2}, [1, 2])


class TestEdges:
    @pytest.mark.parametrize("from_arrays", [False, True])
    def test_of_a_markov_network_are_pairs_of_names_in_order(self, from_arrays):
        link = [[2.0, 1.0], [1.0, 2.0]]
        if from_arrays:
            edges = [[0, 1], [2, 1], [0, 1]]
            net = MarkovNetwork.from_arrays(np.ones((4, 2)), edges, link, names=list("abcd"))
        else:
            net = MarkovNetwork()
            for name in "abcd":
                net.node(name, 2, [1, 1] if name == "c" else None)
            for a, b in ("ab", "cb", "ab"):
                net.edge(a, b, link)
        assert net.edges == [("a", "b"), ("c", "b"), ("a", "b")]
        assert net.neighbours("b") == ("a", "c")
        assert net.neighbours("d") == ()

    def test_of_a_field_join_its_pixels(self):
        field = credo.GridField(np.zeros((2, 3, 2)), Potts(1.0))
        assert len(field.edges) == 7
        assert set(field.neighbours((0, 1))) == {(0, 0), (0, 2), (1, 1)}


def test_states_of_a_series_are_its_values():
    assert FactorGraph().variable("a", pd.Series(["x", "y"])).states == ("x", "y")
