"""Elimination orders: known graphs, determinism, graphs within and beyond reach, wrong input."""

import itertools
import subprocess
import sys

import numpy as np
import pytest
from tests.models import grid_edges
from tests.oracles import elimination

from credo.exceptions import InputError
from credo.graphs.ordering import evaluate_order, find_order


def pairs(edges):
    edges = np.asarray(edges)
    return np.arange(0, 2 * len(edges) + 1, 2), edges.ravel()


def random_graph(n=30, m=75, seed=0):
    """A graph whose best order takes some looking for."""
    rng = np.random.default_rng(seed)
    edges = [rng.choice(n, 2, replace=False).tolist() for _ in range(m)]
    return rng.integers(2, 9, n), edges


def test_variables_to_be_last_are_last_though_it_costs_more():
    star = pairs([[0, leaf] for leaf in range(1, 6)])
    free = find_order([2] * 6, *star)
    bound = find_order([2] * 6, *star, last=[1, 2, 3, 4, 5])
    assert (free.cells, bound.cells) == (20.0, 64.0)
    assert bound.sequence[0] == 0


def test_weighted_fill_avoids_joining_variables_of_many_states():
    square = pairs([[0, 1], [1, 2], [2, 3], [3, 0]])
    assert find_order([9, 2, 9, 2], *square, heuristic="weighted-min-fill").cells == 2 * 9 * 2 * 2


def test_refinement_finds_the_best_of_small_graphs_where_greedy_does_not():
    better = 0
    for seed in range(8):
        n_states, edges = random_graph(6, 10, seed)
        best = elimination.cheapest(n_states * 20, edges)
        plain = find_order(n_states * 20, *pairs(edges), heuristic="min-degree")
        assert find_order(n_states * 20, *pairs(edges), effort=0.01).cells == best
        better += plain.cells > best
    assert better


def test_refinement_saves_a_third_of_the_cells_of_a_random_graph():
    n_states, edges = random_graph()
    plain = find_order(n_states, *pairs(edges), heuristic="weighted-min-fill")
    order = find_order(n_states, *pairs(edges), effort=0.05)
    # A search 300 times as long ends at 0.608 of the plain order, from each of three seeds.
    assert order.cells < 0.65 * plain.cells
    assert order.tries > 100
    told = elimination.cost(n_states, edges, order.sequence.tolist())
    assert order.cells == told[1]


def test_refinement_keeps_the_last_ones_last_whatever_part_they_are_in():
    n_states, edges = random_graph()
    both = [*edges, *([a + 30, b + 30] for a, b in edges)]
    order = find_order([*n_states, *n_states], *pairs(both), last=[3], effort=0.01)
    assert order.tries > 10
    assert order.sequence[-1] == 3


def test_equal_seeds_give_equal_orders_and_other_seeds_other_ones():
    n_states, edges = random_graph()
    first, again, other = (
        find_order(n_states, *pairs(edges), effort=0.001, seed=seed).sequence.tolist()
        for seed in (1, 1, 2)
    )
    assert first == again != other


def test_long_chains_and_ladders_have_their_best_order():
    n = 20_000
    chain = np.c_[np.arange(n - 1), np.arange(1, n)]
    half = chain[: n // 2 - 1]
    rungs = np.c_[np.arange(n // 2), np.arange(n // 2, n)]
    ladder = np.concatenate([half, half + n // 2, rungs])
    assert find_order(np.full(n, 3), *pairs(chain)).cells == 9.0 * (n - 1)
    order = find_order(np.full(n, 2), *pairs(ladder))
    assert (order.width, order.cells) == (2, 8.0 * (n - 2))


def test_hubs_are_not_scanned_for_each_of_their_neighbours():
    """Which would not end: there are 1e10 pairs of them."""
    n = 100_000
    leaves = np.arange(2, n)
    chain = np.c_[leaves[:-1], leaves[1:]]
    hubs = [np.c_[np.full(n - 2, hub), leaves] for hub in (0, 1)]
    assert find_order(np.full(n, 2), *pairs(np.concatenate([chain, *hubs]))).width == 3


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([2, 0], [0], []), "at least one state. Got 0"),
        (([2, 2], [0, 2], [0, 2]), "indices from 0 to 1. Got 2"),
        (([2, 2], [0, 2], [0, -1]), "indices from 0 to 1. Got -1"),
        (([], [0, 1], [0]), "indices from 0 to -1. Got 0"),
        (([2, 2], [0, 1], [0, 1]), "must rise from 0 to the 2"),
        (([2, 2], [], []), "must rise from 0"),
        (([2, 2], [0, 2, 1, 2], [0, 1]), "must rise from 0"),
        (([2.5, 2], [0], []), "must be whole numbers. Got float64"),
        (([[2, 2]], [0], []), r"must be 1-D. Got shape \(1, 2\)"),
    ],
)
def test_graphs_that_make_no_sense_are_refused(arguments, message):
    with pytest.raises(InputError, match=message):
        find_order(*arguments)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"heuristic": "given"}, "must be one of 'min-fill'.*Got 'given'"),
        ({"last": [3]}, "last variables of find_order must be indices from 0 to 1. Got 3"),
        ({"effort": -1.0}, "effort of find_order must be at least 0. Got -1"),
        ({"seed": -1}, "seed of find_order must be a whole number, at least 0. Got -1"),
        ({"effort": np.nan}, "must be finite"),
    ],
)
def test_options_that_make_no_sense_are_refused(options, message):
    with pytest.raises(InputError, match=message):
        find_order([2, 2], [0, 2], [0, 1], **options)


@pytest.mark.parametrize("sequence", [[0], [0, 0], [0, 1, 1]])
def test_a_sequence_must_hold_every_variable_once(sequence):
    with pytest.raises(InputError, match="each of the 2 variables once"):
        evaluate_order([2, 2], [0, 2], [0, 1], sequence)


@pytest.mark.parametrize(
    ("sizes", "edges", "width", "cells", "all_cells"),
    [
        ([2] * 6, list(itertools.combinations(range(6), 2)), 5, 64.0, 126.0),
        ([2, 3, 5], [], 0, 10.0, 10.0),
        ([7], [], 0, 7.0, 7.0),
        ([], [], 0, 0.0, 0.0),
        ([2, 3, 4, 5], [[0, 1], [2, 3]], 1, 26.0, 2 * 3 + 3 + 4 * 5 + 5),
    ],
    ids=["complete", "no edges", "one variable", "nothing", "two parts"],
)
def test_costs_that_are_known(sizes, edges, width, cells, all_cells):
    order = find_order(sizes, *pairs(np.reshape(edges, (-1, 2)).astype(int)))
    assert (order.width, order.cells, order.cells_all) == (width, cells, all_cells)


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
    "grid": (22_500, grid_edges(150, 150)),
    "sparse": (10_000, sparse(10_000, 4)),
    "denser": (5_000, sparse(5_000, 100)),
    "complete": (700, complete(700)),
    "dense with leaves": (9_000, dense_with_leaves(300, 9_000)),
}


@pytest.fixture(scope="module", autouse=True)
def _compiled():
    find_order(np.full(200, 2), *pairs(grid_edges(10, 20)), effort=0.001)


@pytest.mark.parametrize(("n", "edges"), HOPELESS.values(), ids=HOPELESS)
def test_graphs_beyond_reach_are_given_up(n, edges):
    order = find_order(np.full(n, 2), *pairs(edges))
    assert not order.exact
    assert order.cells >= 2.0**60
    assert order.log2_largest == order.width + 1 == len(order.clique)
    np.testing.assert_array_equal(np.sort(order.sequence), np.arange(n))


def test_variables_to_be_last_are_last_in_a_graph_that_is_given_up():
    for n, edges in ((900, grid_edges(30, 30)), (100, complete(100))):
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


def test_the_links_and_the_table_of_edges_grow_as_the_graph_fills_in():
    n = 2_000
    hubs = [[hub, v] for hub in (0, 1) for v in range(2, n)]
    order = find_order(
        np.full(n, 2), *pairs([*hubs, *(grid_edges(2, n // 2 - 1) + 2)]), effort=0.01
    )
    assert (order.exact, order.width) == (True, 4)
    assert (
        order.cells
        == evaluate_order(
            np.full(n, 2), *pairs([*hubs, *(grid_edges(2, n // 2 - 1) + 2)]), order.sequence
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
