"""F2: the order of elimination changes the cost, never the answer."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, strategies as st
from tests.oracles import elimination
from tests.properties.random_graphs import cases

import credo
from credo.exceptions import InputError
from credo.graphs import FactorGraph
from credo.graphs.ordering import evaluate_order, find_order


def answer(model, order):
    """Marginals and log Z, eliminating in a given order."""
    names = [model.names[v] for v in order]
    post = credo.infer(model, order=names, method="junction_tree")
    return np.concatenate([*(post.probabilities(v) for v in model.names), [post.log_evidence]])


def star(n_leaves):
    """Edges of a star whose centre is 0."""
    return [(0, leaf) for leaf in range(1, n_leaves + 1)]


class TestGivenOrders:
    def test_a_star_is_cheap_from_its_leaves_and_dear_from_its_centre(self):
        k, leaves = 3, 6
        scopes = star(leaves)
        sizes = [k] * (leaves + 1)
        outside_in = evaluate_order(sizes, *elimination.flat(scopes), [*range(1, leaves + 1), 0])
        centre_first = evaluate_order(sizes, *elimination.flat(scopes), range(leaves + 1))
        assert (outside_in.width, outside_in.cells) == (1, leaves * k**2)
        assert centre_first.width == leaves
        assert centre_first.log2_largest == pytest.approx((leaves + 1) * math.log2(k))

    def test_every_order_of_a_small_loop_gives_the_same_answer(self):
        rng = np.random.default_rng(0)
        graph = FactorGraph()
        sizes = [2, 3, 2, 4, 2]
        scopes = [(0, 1), (1, 2), (2, 3), (3, 4), (4, 0), (1, 3)]
        for i, k in enumerate(sizes):
            graph.variable(i, k)
        for a, b in scopes:
            graph.factor([a, b], rng.random((sizes[a], sizes[b])))
        expected = answer(graph, range(5))
        costs = set()
        for order in itertools.permutations(range(5)):
            np.testing.assert_allclose(answer(graph, order), expected, rtol=1e-12)
            costs.add(evaluate_order(sizes, *elimination.flat(scopes), order).cells)
        assert len(costs) > 3

    @given(case=cases("tables"), data=st.data())
    def test_any_order_gives_the_sum_over_configurations(self, case, data):
        order = data.draw(st.permutations(range(len(case.sizes))))
        if not case.joint.is_possible:
            with pytest.raises(InputError, match="no configuration at all"):
                answer(case.model, order)
            return
        got = answer(case.model, order)
        expected = np.concatenate([np.empty(0), *map(case.joint.marginal, case.names)])
        np.testing.assert_allclose(got[:-1], expected, rtol=case.tolerance, atol=1e-300)
        assert abs(got[-1] - case.joint.log_sum) <= case.tolerance * case.size

    @given(case=cases("tables"), data=st.data())
    def test_its_cost_is_that_of_eliminating_sets(self, case, data):
        order = data.draw(st.permutations(range(len(case.sizes))))
        cost = evaluate_order(case.sizes, *elimination.flat(case.scopes), order)
        largest, cells, cells_all, width = elimination.cost(case.sizes, case.scopes, order)
        assert cost.width == width
        assert cost.log2_largest == pytest.approx(largest, abs=1e-9)
        assert cost.cells_all == pytest.approx(cells_all, rel=1e-12)
        assert cost.cells == pytest.approx(cells, rel=1e-12)
        assert list(cost.sequence) == list(order)


@st.composite
def trees(draw):
    """Edges of a tree, towards a root that is 0, and numbers of states."""
    n = draw(st.integers(2, 12))
    parents = [draw(st.integers(0, v - 1)) for v in range(1, n)]
    sizes = draw(st.lists(st.integers(2, 4), min_size=n, max_size=n))
    return [(p, v) for v, p in enumerate(parents, start=1)], sizes


class TestTrees:
    @given(tree=trees())
    def test_leaves_to_root_makes_no_table_larger_than_an_edges(self, tree):
        edges, sizes = tree
        order = range(len(sizes))[::-1]  # children come after their parents
        cost = evaluate_order(sizes, *elimination.flat(edges), order)
        assert cost.width == 1
        largest = max(sizes[a] * sizes[b] for a, b in edges)
        assert cost.log2_largest == pytest.approx(math.log2(largest), abs=1e-9)
        assert cost.cells == pytest.approx(sum(sizes[a] * sizes[b] for a, b in edges), rel=1e-12)

    @given(tree=trees(), data=st.data())
    def test_no_order_is_cheaper(self, tree, data):
        edges, sizes = tree
        best = evaluate_order(sizes, *elimination.flat(edges), range(len(sizes))[::-1])
        other = evaluate_order(
            sizes, *elimination.flat(edges), data.draw(st.permutations(range(len(sizes))))
        )
        assert other.cells >= best.cells - 1e-9
        assert other.log2_largest >= best.log2_largest - 1e-9

    @given(tree=trees())
    def test_the_order_found_is_as_good(self, tree):
        edges, sizes = tree
        found = find_order(sizes, *elimination.flat(edges))
        best = evaluate_order(sizes, *elimination.flat(edges), range(len(sizes))[::-1])
        assert found.cells == pytest.approx(best.cells, rel=1e-12)

    def test_infer_plans_so(self):
        graph = FactorGraph()
        for i in range(7):
            graph.variable(i, 3)
        for v in range(1, 7):
            graph.factor([(v - 1) // 2, v], np.ones((3, 3)))
        assert credo.infer(graph).plan.width == 1
        assert credo.plan(graph).n_bytes == 8 * 6 * 9
