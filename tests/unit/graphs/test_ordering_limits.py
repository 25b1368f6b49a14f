"""Graphs beyond reach are given up soon and honestly, and small ones compile little."""

import itertools
import subprocess
import sys

import numpy as np
import pytest

from credo.graphs.ordering import evaluate_order, find_order


def pairs(edges):
    edges = np.asarray(edges)
    return np.arange(0, 2 * len(edges) + 1, 2), edges.ravel()


def grid(rows, columns):
    at = np.arange(rows * columns).reshape(rows, columns)
    across = np.c_[at[:, :-1].ravel(), at[:, 1:].ravel()]
    return np.concatenate([across, np.c_[at[:-1].ravel(), at[1:].ravel()]])


def complete(n):
    return np.argwhere(np.triu(np.ones((n, n), bool), 1))


def sparse(n, degree):
    edges = np.random.default_rng(0).integers(0, n, (n * degree // 2, 2))
    return edges[edges[:, 0] != edges[:, 1]]


def dense_with_leaves(core, n):
    """A complete graph, and leaves that would hide it from a look at the lightest variables."""
    leaves = np.arange(core, n)
    return np.concatenate([complete(core), np.c_[leaves, leaves % core]])


HOPELESS = {
    "grid": (90_000, grid(300, 300)),
    "sparse": (40_000, sparse(40_000, 4)),
    "denser": (20_000, sparse(20_000, 100)),
    "complete": (2_000, complete(2_000)),
    "dense with leaves": (50_000, dense_with_leaves(1_000, 50_000)),
}


@pytest.fixture(scope="module", autouse=True)
def _compiled():
    find_order(np.full(200, 2), *pairs(grid(10, 20)), effort=0.001)


@pytest.mark.parametrize(("n", "edges"), HOPELESS.values(), ids=HOPELESS)
def test_graphs_beyond_reach_are_given_up(n, edges):
    order = find_order(np.full(n, 2), *pairs(edges))
    assert not order.exact
    assert order.cells >= 2.0**60
    assert order.log2_largest == order.width + 1 == len(order.clique)
    np.testing.assert_array_equal(np.sort(order.sequence), np.arange(n))


def test_variables_to_be_last_are_last_in_a_graph_that_is_given_up():
    for n, edges in ((900, grid(30, 30)), (100, complete(100))):
        order = find_order(np.full(n, 9), *pairs(edges), last=[5, 0, 7])
        assert not order.exact
        assert set(order.sequence[-3:].tolist()) == {0, 5, 7}


def test_a_part_that_no_order_does_without_is_what_is_named():
    edges = dense_with_leaves(70, 500)
    order = find_order(np.full(500, 2), *pairs(edges))
    assert sorted(order.clique.tolist()) == list(range(70))
    assert (order.exact, order.width, order.cells) == (False, 69, 2.0**70)


def test_one_clique_just_within_reach_is_counted():
    edges = list(itertools.combinations(range(58), 2))
    order = find_order(np.full(58, 2), *pairs(edges))
    assert (order.exact, order.cells, order.log2_largest) == (True, 2.0**58, 58.0)


def test_a_hub_with_many_neighbours_does_not_make_a_graph_hopeless():
    n = 3_000
    chain = np.c_[np.arange(1, n - 1), np.arange(2, n)]
    order = find_order(np.full(n, 2), *pairs([*chain, *([0, v] for v in range(1, n))]))
    assert (order.exact, order.width, order.cells) == (True, 2, 8.0 * (n - 2))


def test_a_given_order_is_counted_further_than_a_search_goes():
    n = 202
    edges = [[0, v] for v in range(1, n - 1)]
    order = evaluate_order(np.full(n, 2), *pairs(edges), range(n))
    assert (order.exact, order.log2_largest, order.cells) == (True, 201.0, 2.0**201 + 2)


def test_a_given_order_beyond_counting_costs_at_least_its_first_such_clique():
    n = 302
    edges = [[0, v] for v in range(1, n - 1)]
    order = evaluate_order(np.full(n, 2), *pairs(edges), range(n))
    assert (order.exact, order.log2_largest, order.width) == (False, 301.0, 300)
    assert sorted(order.clique.tolist()) == list(range(n - 1))


def test_the_links_and_the_table_of_edges_grow_as_the_graph_fills_in():
    n = 2_000
    hubs = [[hub, v] for hub in (0, 1) for v in range(2, n)]
    order = find_order(np.full(n, 2), *pairs([*hubs, *(grid(2, n // 2 - 1) + 2)]), effort=0.01)
    assert (order.exact, order.width) == (True, 4)
    assert (
        order.cells
        == evaluate_order(
            np.full(n, 2), *pairs([*hubs, *(grid(2, n // 2 - 1) + 2)]), order.sequence
        ).cells
    )


SIGNATURES = """
import numpy as np
from credo.graphs.ordering import find_order
from credo._kernels import orders, refine
def told(states):
    rng = np.random.default_rng(0)
    edges = np.array([rng.choice(30, 2, replace=False) for _ in range(60)])
    find_order(np.full(30, states), np.arange(0, 121, 2), edges.ravel(), effort=0.01)
    kernels = (orders.eliminate, refine.improve)
    print(*(len(getattr(kernel._compiled, 'signatures', ())) for kernel in kernels))
told(2)
told(6)
"""


def test_refinement_is_not_compiled_before_it_is_needed_and_each_kernel_once():
    told = subprocess.run(
        [sys.executable, "-c", SIGNATURES], capture_output=True, text=True, check=True
    ).stdout.split()
    small, large = told[:2], told[2:]
    assert small[1] == "0"
    assert large == ["1", "1"]
