"""Plans: counts by hand, and against symbolic elimination with sets."""

import math

import numpy as np
import pytest
from hypothesis import given, strategies as st
from tests.oracles import inference as oracle
from tests.properties.graph_strategies import bayesian_networks, factor_graphs

import credo
from credo.exceptions import InputError, LabelError
from credo.graphs import BayesianNetwork, FactorGraph, chain


def cycle(n, k=2):
    graph = FactorGraph()
    for i in range(n):
        graph.variable(i, k)
    for i in range(n):
        graph.factor([i, (i + 1) % n], np.ones((k, k)))
    return graph


def collider():
    """Two causes, an effect, and what the effect leads to."""
    net = BayesianNetwork()
    for name, k in (("cause", 3), ("other", 2), ("effect", 4), ("trace", 2)):
        net.variable(name, k)
    net.cpt("cause", table=[0.2, 0.3, 0.5])
    net.cpt("other", table=[0.4, 0.6])
    net.cpt("effect", given=["cause", "other"], table=np.full((3, 2, 4), 0.25))
    net.cpt("trace", given=["effect"], table=np.full((4, 2), 0.5))
    return net


class TestByHand:
    def test_a_chain_of_three_has_two_cliques_of_four_cells(self):
        plan = credo.plan(chain([0.5, 0.5], [[0.9, 0.1], [0.2, 0.8]], length=3))
        assert plan.engine == "junction_tree"
        assert (plan.width, plan.largest_table, plan.n_bytes) == (1, 4, 8 * 8)
        assert (plan.n_variables, plan.n_pruned) == (3, 0)
        assert plan.multiplications == 3 * 4 + 2 * 4  # three factors, and a message there and back

    def test_variables_that_no_table_mentions_take_next_to_no_time(self):
        graph = FactorGraph()
        graph.factor([graph.variable("seen", 2)], [0.5, 0.5])
        graph.variable("free", 2)
        graph.variable("other", 3)
        plan = credo.plan(graph, {"seen": 0})
        assert (plan.n_variables, plan.multiplications) == (2, 0)
        assert "estimated time" in str(plan)

    def test_a_cycle_needs_triangles(self):
        plan = credo.plan(cycle(6, 3))
        assert (plan.width, plan.largest_table) == (2, 27)
        assert plan.n_bytes == 8 * 4 * 27

    def test_a_collider_marries_its_parents(self):
        plan = credo.plan(collider())
        assert (plan.width, plan.largest_table) == (2, 24)
        assert plan.n_bytes == 8 * (24 + 8)
        assert set(plan.largest_clique) == {"cause", "other", "effect"}

    def test_evidence_cuts_tables_and_barren_children_are_left_out(self):
        seen = credo.plan(collider(), {"effect": 1})
        assert (seen.width, seen.largest_table, seen.n_pruned) == (1, 6, 1)
        alone = credo.plan(collider(), query=["other"])
        assert (alone.n_variables, alone.largest_table, alone.n_pruned) == (1, 2, 3)
        both = credo.plan(collider(), {"trace": 0}, ["other"])
        assert (both.n_variables, both.largest_table) == (3, 24)

    def test_weights_on_a_child_make_it_needed(self):
        plan = credo.plan(collider(), query=["other"], likelihood={"trace": [0.2, 0.9]})
        assert plan.n_variables == 4

    def test_evidence_separates(self):
        model = chain([0.5, 0.5], [[0.9, 0.1], [0.2, 0.8]], length=100)
        plan = credo.plan(model, {"x50": 0}, ["x70"])
        assert plan.n_variables <= 50
        assert "x10" not in plan.order

    def test_a_grid_is_as_wide_as_it_is_narrow(self):
        graph = FactorGraph()
        for i in range(5):
            for j in range(40):
                graph.variable((i, j), 2)
        for i in range(5):
            for j in range(40):
                if i:
                    graph.factor([(i - 1, j), (i, j)], np.ones((2, 2)))
                if j:
                    graph.factor([(i, j - 1), (i, j)], np.ones((2, 2)))
        assert credo.plan(graph).width == 5

    def test_nothing_to_do_costs_nothing(self):
        model = chain([0.5, 0.5], [[0.9, 0.1], [0.2, 0.8]], length=2)
        for plan in (
            credo.plan(model, {"x0": 0, "x1": 1}),
            credo.plan(FactorGraph()),
            credo.plan(model, query=[]),
        ):
            assert plan.n_variables == 0
            assert plan.order == ()
            assert plan.largest_clique == ()
            assert plan.n_bytes <= 8
            assert plan.width <= 0
            assert "engine" in str(plan)


class TestAgainstSets:
    @given(case=factor_graphs(rules=False))
    def test_counts_are_those_of_eliminating_sets(self, case):
        plan = credo.plan(case.model)
        order = [case.names.index(name) for name in plan.order]
        assert sorted(order) == list(range(len(case.sizes)))
        cliques = oracle.cliques_of_order([scope for scope, _ in case.factors], order)
        largest = max(oracle.cells_of(case.sizes, clique) for clique in cliques)
        assert plan.width == max(map(len, cliques)) - 1
        assert plan.largest_table == pytest.approx(largest, rel=1e-12)
        named = [case.names.index(name) for name in plan.largest_clique]
        assert oracle.cells_of(case.sizes, named) == largest
        assert frozenset(named) in cliques
        kept = oracle.maximal(cliques)
        assert plan.n_bytes == 8 * sum(oracle.cells_of(case.sizes, clique) for clique in kept)

    @given(case=bayesian_networks(), data=st.data())
    def test_a_query_never_costs_more_than_everything(self, case, data):
        wanted = data.draw(st.lists(st.sampled_from(case.names), min_size=1, unique=True))
        part, whole = credo.plan(case.model, query=wanted), credo.plan(case.model)
        assert part.n_variables <= whole.n_variables
        assert part.n_variables + part.n_pruned == len(case.sizes)

    @given(case=factor_graphs(rules=False))
    def test_the_answer_follows_the_plan(self, case):
        if not case.configurations:
            return
        post = credo.infer(case.model)
        assert post.plan.order == credo.plan(case.model).order
        assert post.plan.n_bytes == credo.plan(case.model).n_bytes


class TestPrinting:
    def test_shows_everything(self):
        shown = str(credo.plan(cycle(6, 3)))
        for word in ("junction_tree", "variables        6 (0", "width            2"):
            assert word in shown
        assert "27 cells" in shown
        assert "864 B" in shown

    def test_a_hopeless_plan_is_told_in_years(self):
        rng = np.random.default_rng(0)
        graph = FactorGraph()
        for i in range(70):
            graph.variable(i, 2)
        for i in range(70):
            for j in rng.choice(70, size=12, replace=False).tolist():
                if i != j:
                    graph.factor([i, j], np.ones((2, 2)))
        plan = credo.plan(graph, effort=0.0)
        assert plan.width > 35
        assert plan.seconds > 60
        assert math.isfinite(plan.n_bytes)


class TestDeterminism:
    def test_effort_and_seed_repeat(self):
        graph = cycle(9, 3)
        orders = {credo.plan(graph, effort=1.0, seed=5).order for _ in range(3)}
        assert len(orders) == 1


class TestRefusals:
    def test_a_query_that_is_one_name_or_is_unknown(self):
        with pytest.raises(InputError, match=r"Pass \['cause'\]"):
            credo.plan(collider(), query="cause")
        with pytest.raises(LabelError, match="no variable 'nobody'"):
            credo.plan(collider(), query=["nobody"])
        with pytest.raises(InputError, match="twice"):
            credo.plan(collider(), query=["cause", "cause"])

    def test_what_is_no_model(self):
        with pytest.raises(InputError, match="plan needs a BayesianNetwork"):
            credo.plan([1, 2])


class TestAGivenOrder:
    def test_changes_the_cost_and_not_the_answer(self):
        graph = credo.MarkovNetwork.from_arrays(
            np.full((5, 2), 0.5), [[0, i] for i in range(1, 5)], [[2.0, 1.0], [1.0, 3.0]]
        )
        leaves_first, hub_first = [1, 2, 3, 4, 0], [0, 1, 2, 3, 4]
        assert credo.plan(graph, order=leaves_first).largest_table == 4
        assert credo.plan(graph, order=hub_first).largest_table == 32
        for method in ("junction_tree", "elimination"):
            answers = [
                credo.infer(graph, {4: 1}, method=method, order=order)
                for order in (leaves_first, hub_first, None)
            ]
            for post in answers:
                for name in graph.names:
                    np.testing.assert_allclose(
                        post.probabilities(name), answers[2].probabilities(name), rtol=1e-13
                    )

    def test_is_the_order_of_the_plan(self):
        graph = credo.chain([0.5, 0.5], [[0.9, 0.1], [0.2, 0.8]], length=3)
        assert credo.plan(graph, order=["x1", "x0", "x2"]).order == ("x1", "x0", "x2")

    def test_may_leave_the_queried_variable_out(self):
        graph = credo.chain([0.5, 0.5], [[0.9, 0.1], [0.2, 0.8]], length=3)
        post = credo.infer(graph, {"x2": 0}, query=["x0"], order=["x1"])
        np.testing.assert_allclose(
            post.probabilities("x0"), credo.infer(graph, {"x2": 0}).probabilities("x0"), rtol=1e-14
        )

    def test_that_forgets_a_variable_is_refused(self):
        graph = credo.chain([0.5, 0.5], [[0.9, 0.1], [0.2, 0.8]], length=3)
        with pytest.raises(InputError, match="The order leaves out 'x1', which the answer needs"):
            credo.infer(graph, order=["x0", "x2"])
        with pytest.raises(InputError, match="The order of infer names 'x0' twice"):
            credo.infer(graph, order=["x0", "x0", "x1", "x2"])
