"""Textbook H18: a plan counts every multiplication, and on trees no order beats leaves to root."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, strategies as st
from tests.models import numbered
from tests.properties.random_graphs import draw_case

import credo


class Count:
    """Multiply tables {place: number} by hand, and count the products."""

    def __init__(self, sizes, *, first_is_free=False):
        self.sizes = sizes
        self.first_is_free = first_is_free
        self.products = 0

    def product(self, scope, tables):
        """Multiply (scope, cells) one by one into a table of ones over ``scope``."""
        places = list(itertools.product(*(range(self.sizes[v]) for v in scope)))
        made = dict.fromkeys(places, 1.0)
        for i, (own, cells) in enumerate(tables):
            for place in places:
                made[place] *= cells[tuple(place[scope.index(v)] for v in own)]
                self.products += not (self.first_is_free and i == 0)
        return scope, made

    def eliminate(self, tables, order, last=()):
        """Sum variables out one after the other; give what is left over ``last``, and count."""
        left = list(tables)
        for v in order:
            touching = [table for table in left if v in table[0]]
            scope = tuple(sorted({v}.union(*(own for own, _ in touching))))
            _, cells = self.product(scope, touching)
            at = scope.index(v)
            summed = {}
            for place, value in cells.items():
                rest = (*place[:at], *place[at + 1 :])
                summed[rest] = summed.get(rest, 0.0) + value
            own = (*scope[:at], *scope[at + 1 :])
            left = [table for table in left if v not in table[0]] + [(own, summed)]
        return self.product(tuple(last), [table for table in left if table[0]])[1]


@st.composite
def trees(draw, most=6, *, equal=False):
    """Edges of a tree, numbers of states, and which nodes have a potential of their own."""
    n = draw(st.integers(2, most))
    edges = [(draw(st.integers(0, v - 1)), v) for v in range(1, n)]
    k = draw(st.integers(2, 3))
    sizes = [k if equal else draw(st.integers(2, 4)) for _ in range(n)]
    nodes = [v for v in range(n) if draw(st.booleans())]
    return edges, sizes, nodes


def leaves_first(edges, n, root):
    """An order in which every variable but the root goes before its neighbour towards the root."""
    near = {v: [] for v in range(n)}
    for a, b in edges:
        near[a].append(b)
        near[b].append(a)
    order, waiting, seen = [], [root], {root}
    while waiting:
        v = waiting.pop()
        order.append(v)
        waiting += [u for u in near[v] if u not in seen]
        seen.update(near[v])
    return order[::-1]


def as_graph(edges, sizes, nodes=(), seed=0):
    rng = np.random.default_rng(seed)
    scopes = [*edges, *((v,) for v in nodes)]
    tables = [(scope, rng.uniform(0.1, 2.0, [sizes[v] for v in scope])) for scope in scopes]
    cells = [(s, {place: t[place] for place in np.ndindex(t.shape)}) for s, t in tables]
    return numbered(sizes, tables), cells


@given(tree=trees(), data=st.data())
def test_by_hand_no_order_beats_leaves_to_root(tree, data):
    """Of the law itself: it needs no code of ours, and holds today."""
    edges, sizes, nodes = tree
    n = len(sizes)
    root = data.draw(st.integers(0, n - 1))
    _, tables = as_graph(edges, sizes, nodes)
    best = Count(sizes)
    best.eliminate(tables, leaves_first(edges, n, root)[:-1], [root])
    for order in itertools.permutations([v for v in range(n) if v != root]):
        count = Count(sizes)
        count.eliminate(tables, order, [root])
        assert count.products >= best.products


def test_the_cheaper_count_breaks_the_law():
    """If the first factor of each table is free, an order that is not leaves-to-root wins."""
    sizes, edges = [2, 3, 4, 3, 2, 2], [(0, 1), (0, 2), (0, 3), (0, 4), (3, 5)]
    _, tables = as_graph(edges, sizes, [0, 1, 4, 5])
    counts = []
    for order in ([1, 2, 4, 0, 3], [1, 2, 3, 4, 0]):
        count = Count(sizes, first_is_free=True)
        count.eliminate(tables, order, [5])
        counts.append(count.products)
    assert counts == [42, 40]


def is_leaves_first(edges, order):
    """Whether each variable, when its turn comes, has one neighbour left at most."""
    left = [set(edge) for edge in edges]
    for v in order:
        if sum(v in edge for edge in left) > 1:
            return False
        left = [edge for edge in left if v not in edge]
    return True


def costs(graph, edges, orders, **question):
    """The counts of leaves-first orders, and of the others."""
    first, others = [], [math.inf]
    for order in orders:
        count = credo.plan(graph, order=order, **question).multiplications
        (first if is_leaves_first(edges, order) else others).append(count)
    return first, others


@given(tree=trees(), data=st.data())
def test_no_plan_of_one_variable_beats_leaves_to_root(tree, data):
    edges, sizes, nodes = tree
    root = data.draw(st.integers(0, len(sizes) - 1))
    rest = [v for v in range(len(sizes)) if v != root]
    orders = [(*order, root) for order in itertools.permutations(rest)]
    graph, tables = as_graph(edges, sizes, nodes)
    first, others = costs(graph, edges, orders, query=[root])
    assert min(first) <= min(others)
    if len(set(sizes)) == 1:
        assert max(first) == min(first)
    by_hand = np.array(list(Count(sizes).eliminate(tables, rest, [root]).values()))
    post = credo.infer(graph, query=[root])
    np.testing.assert_allclose(post.probabilities(root), by_hand / by_hand.sum(), atol=1e-12)


@given(tree=trees(most=5))
def test_no_plan_of_all_variables_beats_leaves_to_root(tree):
    edges, sizes, nodes = tree
    graph, _ = as_graph(edges, sizes, nodes)
    first, others = costs(graph, edges, itertools.permutations(range(len(sizes))))
    assert min(first) <= min(others)
    assert credo.plan(graph).multiplications >= min(first)


@given(tree=trees(most=5, equal=True))
def test_leaves_to_root_costs_a_table_of_an_edge_for_each_factor_and_message(tree):
    """Where all have k states: k^2 products for each factor, and for each of n - 2 messages."""
    edges, sizes, nodes = tree
    n, k = len(sizes), sizes[0]
    graph, _ = as_graph(edges, sizes, nodes)
    first, others = costs(graph, edges, itertools.permutations(range(n)))
    n_factors = len(edges) + len(nodes)
    assert set(first) == {k**2 * (n_factors + 2 * (n - 2))}
    assert min(others) >= max(first)
    one = credo.plan(graph, query=[0], order=leaves_first(edges, n, 0)).multiplications
    assert one == k**2 * (n_factors + n - 2)


FIVE = [(0, 1), (0, 2), (2, 3), (2, 4)]  # the lecture's tree, nodes counted from zero


@pytest.mark.parametrize("nodes", [[], [0, 1, 2, 3, 4]], ids=["edges", "edges and nodes"])
@pytest.mark.parametrize("root", range(5))
def test_the_lectures_tree_is_cheapest_from_its_leaves(nodes, root):
    graph, _ = as_graph(FIVE, [2] * 5, nodes)
    rest = [v for v in range(5) if v != root]
    orders = [(*order, root) for order in itertools.permutations(rest)]
    first, others = costs(graph, FIVE, orders, query=[root])
    assert set(first) == {28 if not nodes else 48}
    assert min(others) > max(first)


def test_more_factors_on_the_same_tables_cost_more():
    few = credo.plan(as_graph(FIVE, [2] * 5)[0])
    many = credo.plan(as_graph(FIVE, [2] * 5, [0, 1, 2, 3, 4])[0])
    assert few.n_bytes == many.n_bytes
    assert many.multiplications > few.multiplications


@given(st.integers(0, 2**32 - 1))
def test_a_plan_counts_at_least_a_product_for_each_cell_of_each_factor(seed):
    case = draw_case(seed)
    if case.joint.table.ndim and case.left.is_possible:
        plan = credo.plan(case.model)
        cells = sum(
            math.prod(v.n_states for v in f.variables)
            for f in case.model.factors
            if type(f).__name__ == "Factor"
        )
        assert plan.multiplications >= cells
