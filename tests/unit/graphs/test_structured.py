"""Rules over many variables: parity, at most one, noisy gates, functions."""

import itertools
import warnings

import numpy as np
import pytest
from tests.oracles import joint as oracle

from credo.exceptions import ExpansionWarning, InputError, LabelError
from credo.graphs import BayesianNetwork, FactorGraph, Variable

SIZES = range(1, 7)
BITS = (0, 1)


def bits(n, kind=FactorGraph):
    graph = kind()
    return graph, [graph.variable(f"b{i}", ["off", "on"]) for i in range(n)]


def chances(n):
    return np.random.default_rng(n).random(n)


def sums(graph):
    return oracle.visible(graph.compile().tabulated(sum_product=True), np.sum)


def maxima(graph):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ExpansionWarning)
        return oracle.visible(graph.compile().tabulated(sum_product=False), np.max)


def by_definition(n, function):
    """The rule over n bits, from the oracle's definition."""
    names = [str(i) for i in range(n)]
    return oracle.joint(dict.fromkeys(names, BITS), [(names, function)])


@pytest.mark.parametrize("n", SIZES)
class TestTables:
    @pytest.mark.parametrize("rule", ["even", "odd", "at most one"])
    def test_of_a_rule_on_bits_say_what_it_means(self, n, rule):
        graph, variables = bits(n)
        if rule == "at most one":
            added, meaning = graph.at_most_one(variables), oracle.at_most_one
        else:
            added = graph.parity(variables, rule == "even")
            meaning = oracle.parity(even=rule == "even")
        expected = by_definition(n, meaning)
        for table in (added.table(), sums(graph), maxima(graph)):
            np.testing.assert_array_equal(table, expected)

    @pytest.mark.parametrize("leak", [0.0, 0.3])
    @pytest.mark.parametrize("gate", ["noisy_or", "noisy_and"])
    def test_of_a_noisy_gate_say_what_it_means(self, n, gate, leak):
        graph, variables = bits(n)
        p = chances(n - 1)
        rule = getattr(graph, gate)(
            variables[-1], dict(zip(variables[:-1], p.tolist(), strict=True)), leak
        )
        expected = by_definition(n, getattr(oracle, gate)(p.tolist(), leak))
        for table in (rule.table(), sums(graph), maxima(graph), oracle.of_model(graph)):
            np.testing.assert_allclose(table, expected, rtol=1e-13)


def test_several_rules_and_tables_keep_their_own_auxiliaries():
    graph, variables = bits(5)
    graph.factor([variables[2]], [0.3, 0.7])
    graph.parity(variables, even=False)
    graph.noisy_or(variables[4], {variables[i]: 0.1 + 0.1 * i for i in (3, 1, 0)}, leak=0.05)
    graph.factor([variables[4], variables[0]], [[1.0, 2.0], [3.0, 4.0]])
    graph.at_most_one(variables[:0:-1])
    graph.noisy_and("b0", {"b1": 0.2, "b2": 0.4, "b3": 0.6})
    expected = oracle.of_model(graph)
    assert 0 < np.count_nonzero(expected) < expected.size
    np.testing.assert_allclose(sums(graph), expected, rtol=1e-13, atol=0)
    np.testing.assert_allclose(maxima(graph), expected, rtol=1e-13, atol=0)


def test_tables_grow_linearly_with_the_variables():
    graph, variables = bits(300)
    graph.parity(variables)
    graph.at_most_one(variables)
    graph.noisy_or(variables[0], dict.fromkeys(variables[1:], 0.1))
    wiring = graph.compile().tabulated(sum_product=True)
    assert len(wiring.n_states) == 300 + 297 + 297 + 297
    assert np.diff(wiring.scope_start).max() == 3
    assert wiring.values.size == 8 + 16 + 298 * 8  # links that are the same are held once
    assert len(wiring.table) == 298 + 298 + 298
    assert (wiring.n_states == 2).all()


def test_auxiliary_chains_of_a_network_are_conditional_probabilities():
    net, variables = bits(6, BayesianNetwork)
    for variable in variables[:-1]:
        net.cpt(variable, table=[0.5, 0.5])
    net.noisy_or(variables[-1], dict(zip(variables[:-1], chances(5).tolist(), strict=True)), 0.1)
    wiring = net.compile().tabulated(sum_product=True)
    assert sorted(wiring.owner.tolist()) == list(range(len(wiring.n_states)))
    for factor, owner in enumerate(wiring.owner):
        scope = wiring.scope[wiring.scope_start[factor] : wiring.scope_start[factor + 1]]
        assert scope[-1] == owner
        start, stop = wiring.table_start[wiring.table[factor] :][:2]
        np.testing.assert_allclose(wiring.values[start:stop].reshape(-1, 2).sum(axis=1), 1.0)


def test_tiny_chances_are_not_lost_to_rounding():
    graph, variables = bits(4)
    rule = graph.noisy_or(variables[3], dict.fromkeys(variables[:3], 1e-20), leak=1e-30)
    assert rule.table()[1, 1, 1, 1] == pytest.approx(3e-20, rel=1e-9)
    assert rule.table()[0, 0, 0, 1] == 1e-30


class TestDeterministic:
    def test_calls_the_function_with_state_labels(self):
        net = BayesianNetwork()
        dice = [net.variable(name, [1, 2, 3]) for name in ("red", "blue")]
        total = net.variable("total", range(2, 7))
        net.deterministic(total, dice, lambda red, blue: red + blue)
        expected = np.zeros((3, 3, 5))
        for red, blue in itertools.product(range(3), range(3)):
            expected[red, blue, red + blue] = 1.0
        np.testing.assert_array_equal(net.table("total"), expected)
        assert net.parents("total") == ("red", "blue")

    def test_names_the_parents_for_which_the_function_gives_no_state(self):
        net, variables = bits(3, BayesianNetwork)
        with pytest.raises(
            LabelError, match="'b2', given 'b0' = 'on', 'b1' = 'off':.* 'On'.*Did you mean 'on'"
        ):
            net.deterministic(
                "b2", variables[:2], lambda a, b: "On" if (a, b) == ("on", "off") else "off"
            )
        assert not net.factors

    def test_refuses_what_is_no_function(self):
        net, _ = bits(2, BayesianNetwork)
        with pytest.raises(InputError, match="The function for 'b1' must take.*Got 'on'"):
            net.deterministic("b1", ["b0"], "on")

    def test_needs_no_parents(self):
        net, _ = bits(1, BayesianNetwork)
        net.deterministic("b0", [], lambda: "on")
        np.testing.assert_array_equal(net.table("b0"), [0, 1])

    def test_warns_when_large_and_refuses_when_larger(self):
        net, variables = bits(17, BayesianNetwork)
        for variable in variables[:-1]:
            net.cpt(variable, table=[0.5, 0.5])
        net.deterministic("b16", variables[:-1], lambda *_: "on")
        with pytest.warns(ExpansionWarning, match="'b0'.*131072 cells"):
            net.compile().tabulated(sum_product=True)
        net, variables = bits(26, BayesianNetwork)
        with pytest.raises(InputError, match=r"2\^26 cells"):
            net.deterministic("b25", variables[:-1], lambda *_: "on")


class TestNoisyGates:
    def test_for_maxima_are_refused_when_too_large(self):
        graph, variables = bits(30)
        graph.noisy_and(variables[29], dict.fromkeys(variables[:29], 0.5))
        with pytest.raises(InputError, match=r"2\^30 cells"):
            graph.compile().tabulated(sum_product=False)
        graph.compile().tabulated(sum_product=True)

    @pytest.mark.parametrize(
        ("parents", "leak", "message"),
        [
            ({"b0": 1.5}, 0.0, "probability of 'b0' of the noisy-OR for 'b1' must be between"),
            ({"b0": 0.5}, -0.1, "leak of the noisy-OR for 'b1' must be between 0 and 1"),
            ({"b0": float("nan")}, 0.0, "must be finite"),
            ({"c": 0.5}, 0.0, "no variable 'c'"),
            ({"b1": 0.5}, 0.0, "its own parent"),
            (["b0"], 0.0, "with their probabilities"),
            ({"three": 0.5}, 0.0, "'three' has 3: 0, 1, 2"),
        ],
        ids=range(7),
    )
    def test_refuse_what_makes_no_sense(self, parents, leak, message):
        net, _ = bits(2, BayesianNetwork)
        net.variable("three", 3)
        with pytest.raises(InputError, match=message):
            net.noisy_or("b1", parents, leak)
        assert not net.factors

    def test_count_as_the_cpt_of_their_child(self):
        net, _ = bits(2, BayesianNetwork)
        net.cpt("b0", table=[0.5, 0.5])
        rule = net.noisy_or("b1", {"b0": 0.25})
        assert rule.child == Variable("b1", ["off", "on"])
        assert net.factors[1] is rule
        assert net.children("b0") == ("b1",)
        with pytest.raises(InputError, match="has its CPT already"):
            net.cpt("b1", table=[0.5, 0.5])
        wiring = net.compile()
        assert wiring.table.tolist() == [0, -1]
        assert wiring.owner.tolist() == [0, 1]
        assert wiring.structured == (rule,)

    def test_in_a_cycle_are_named(self):
        net, _ = bits(2, BayesianNetwork)
        net.noisy_or("b1", {"b0": 0.25})
        with pytest.raises(InputError, match="'b0' → 'b1' → 'b0'"):
            net.noisy_and("b0", {"b1": 0.25})


@pytest.mark.parametrize("rule", ["parity", "at_most_one"])
class TestBitRules:
    def test_need_two_states(self, rule):
        graph, variables = bits(2)
        three = graph.variable("three", 3)
        with pytest.raises(InputError, match="two states.*'three' has 3"):
            getattr(graph, rule)([*variables, three])

    def test_need_variables_that_differ(self, rule):
        graph, variables = bits(2)
        with pytest.raises(InputError, match="'b0' twice"):
            getattr(graph, rule)([variables[0], variables[0]])
        with pytest.raises(InputError, match="at least one variable"):
            getattr(graph, rule)([])

    def test_too_large_to_write_out_are_refused(self, rule):
        graph, variables = bits(30)
        with pytest.raises(InputError, match=r"2\^30 cells"):
            getattr(graph, rule)(variables).table()
