"""Problems: what a question needs of a model, and nothing else."""

import numpy as np
import pytest
from hypothesis import given, strategies as st
from tests.oracles import inference as oracle
from tests.properties.graph_strategies import findings, models

from credo.graphs import BayesianNetwork, FactorGraph, chain
from credo.graphs.evidence import Evidence, resolve
from credo.graphs.problems import pose

NOTHING = Evidence(())


def twins(problem):
    """The problem's factors for the oracle."""
    factors = []
    for f in range(len(problem.scope_start) - 1):
        scope = problem.scope[problem.scope_start[f] : problem.scope_start[f + 1]].tolist()
        cells = problem.values[problem.cell_start[f] : problem.cell_start[f + 1]]
        factors.append(oracle.factor(scope, cells.reshape(problem.n_states[scope])))
    return factors


def names(problem):
    return [problem.wiring.names[v] for v in problem.variables]


def collider():
    net = BayesianNetwork()
    for name in ("a", "b", "child", "grandchild", "lone"):
        net.variable(name, 2)
    for name in ("a", "b", "lone"):
        net.cpt(name, table=[0.25, 0.75])
    net.cpt("child", given=["a", "b"], table=np.full((2, 2, 2), 0.5))
    net.cpt("grandchild", given=["child"], table=[[0.5, 0.5], [0.25, 0.75]])
    return net.compile()


class TestLeavingOut:
    @pytest.mark.parametrize(
        ("evidence", "query", "expected"),
        [
            ({}, ["a"], ["a"]),
            ({}, ["child"], ["a", "b", "child"]),
            ({"grandchild": 1}, ["a"], ["a", "b", "child"]),
            ({"child": 1}, ["a"], ["a", "b"]),
            ({"child": 1, "b": 0}, ["a"], ["a"]),
            ({"child": 1}, ["grandchild"], ["grandchild"]),
            ({"lone": 1}, ["a"], ["a"]),
        ],
        ids=str,
    )
    def test_children_that_nobody_needs_and_parts_cut_off(self, evidence, query, expected):
        wiring = collider()
        problem = pose(wiring, resolve(wiring, evidence), [wiring.index(q) for q in query])
        assert names(problem) == expected

    def test_a_part_with_a_zero_stays_because_it_may_be_impossible(self):
        graph = FactorGraph()
        for name in "abc":
            graph.variable(name, 2)
        graph.factor(["a", "b"], np.eye(2))
        graph.factor(["c"], [1.0, 2.0])
        assert names(pose(graph.compile(), NOTHING, [2])) == ["a", "b", "c"]
        assert not pose(graph.compile(), NOTHING, [0]).is_complete

    def test_nothing_is_left_out_without_a_query(self):
        problem = pose(collider(), NOTHING)
        assert names(problem) == ["a", "b", "child", "grandchild", "lone"]
        assert problem.is_complete

    def test_a_long_chain_is_cut_on_both_sides(self):
        wiring = chain([0.5, 0.5], [[0.9, 0.1], [0.2, 0.8]], length=1000).compile()
        evidence = resolve(wiring, {"x400": 0, "x600": 1})
        problem = pose(wiring, evidence, [500])
        assert names(problem) == [f"x{t}" for t in range(401, 600)]


class TestSums:
    @given(data=st.data())
    def test_the_sum_is_that_of_the_model_with_its_evidence(self, data):
        case = data.draw(models())
        found = data.draw(findings(case))
        wiring = case.model.compile().tabulated(sum_product=True)
        if wiring.log_values is not None or np.prod(wiring.n_states) > 4000:
            return
        problem = pose(wiring, resolve(wiring, found.evidence, found.likelihood))
        weighed = oracle.weigh(case.configurations, [(v, w) for v, w, _ in found.weights])
        sums = oracle.configurations(problem.n_states.tolist(), twins(problem))
        assert bool(sums) == bool(weighed)
        if sums:
            got = oracle.log_total(sums) + problem.log_constant
            assert abs(got - oracle.log_total(weighed)) <= case.tolerance * max(1.0, case.span)

    @given(data=st.data())
    def test_logs_are_those_of_the_values(self, data):
        case = data.draw(models())
        found = data.draw(findings(case))
        wiring = case.model.compile().tabulated(sum_product=True)
        problem = pose(wiring, resolve(wiring, found.evidence, found.likelihood))
        np.testing.assert_allclose(np.exp(problem.log_values()), problem.values, rtol=1e-13)

    def test_wide_logs_are_sliced_like_values_with_weights_after_them(self):
        graph = FactorGraph()
        for name in "ab":
            graph.variable(name, 2)
        graph.factor(["a", "b"], [[0.0, -900.0], [-1.0, -2000.0]], log=True)
        wiring = graph.compile()
        problem = pose(wiring, resolve(wiring, {"b": 1}, {"a": [0.5, 0.0]}))
        assert problem.is_wide
        total = problem.log_values() + np.array([problem.log_constant] * 2 + [0.0] * 2)
        np.testing.assert_allclose(total, [-900.0, -2000.0, np.log(0.5), -np.inf])


class TestCliques:
    def test_a_clique_of_ones_changes_no_sum(self):
        problem = pose(collider(), NOTHING)
        wider = problem.with_clique([0, 4])
        sizes = problem.n_states.tolist()
        assert oracle.log_total(oracle.configurations(sizes, twins(wider))) == pytest.approx(
            oracle.log_total(oracle.configurations(sizes, twins(problem))), abs=1e-15
        )
        assert wider.scope[-2:].tolist() == [0, 4]
