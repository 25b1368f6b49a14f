"""Laws of elimination orders on random graphs, against elimination with sets."""

import numpy as np
import pytest
from hypothesis import given, strategies as st
from tests.oracles import elimination

from credo.graphs.ordering import evaluate_order, find_order

HEURISTICS = ("auto", "min-fill", "weighted-min-fill", "min-degree", "min-weight")


@st.composite
def graphs(draw, most=14, states=4):
    """Numbers of states, scopes, and some variables to be eliminated last."""
    n = draw(st.integers(1, most))
    scope = st.lists(st.integers(0, n - 1), max_size=4, unique=True)
    scopes = draw(st.lists(scope, max_size=24))
    last = draw(st.lists(st.integers(0, n - 1), max_size=4, unique=True))
    return draw(st.lists(st.integers(1, states), min_size=n, max_size=n)), scopes, last


@st.composite
def chordal(draw, most=7):
    """A graph built by joining each new variable to part of a clique, so nothing need be filled."""
    n = draw(st.integers(1, most))
    cliques = [[0]]
    for v in range(1, n):
        old = draw(st.sampled_from(cliques))
        cliques.append([*draw(st.lists(st.sampled_from(old), unique=True)), v])
    return draw(st.lists(st.integers(2, 4), min_size=n, max_size=n)), cliques


def costs(order):
    return order.log2_largest, order.cells, order.cells_all, order.width


@given(graphs(), st.randoms(use_true_random=False))
def test_the_cost_of_any_order_is_that_of_eliminating_with_sets(graph, random):
    n_states, scopes, _ = graph
    sequence = random.sample(range(len(n_states)), len(n_states))
    order = evaluate_order(n_states, *elimination.flat(scopes), sequence)
    assert costs(order) == pytest.approx(elimination.cost(n_states, scopes, sequence), rel=1e-13)
    assert order.sequence.tolist() == sequence


@given(graphs(), st.sampled_from(HEURISTICS))
def test_an_order_found_holds_every_variable_once_with_the_last_ones_last(graph, heuristic):
    n_states, scopes, last = graph
    order = find_order(n_states, *elimination.flat(scopes), last=last, heuristic=heuristic)
    n = len(n_states)
    assert sorted(order.sequence.tolist()) == list(range(n))
    assert set(order.sequence[n - len(last) :].tolist()) == set(last)
    told = elimination.cost(n_states, scopes, order.sequence.tolist())
    assert costs(order) == pytest.approx(told, rel=1e-13)


@given(graphs(most=12, states=60), st.integers(0, 5))
def test_refinement_keeps_the_last_ones_last_and_never_costs_more(graph, seed):
    n_states, scopes, last = graph
    flat = elimination.flat(scopes)
    plain = find_order(n_states, *flat, last=last, heuristic="weighted-min-fill")
    order = find_order(n_states, *flat, last=last, effort=0.002, seed=seed)
    assert order.cells <= plain.cells
    assert set(order.sequence[len(n_states) - len(last) :].tolist()) == set(last)
    told = elimination.cost(n_states, scopes, order.sequence.tolist())
    assert costs(order) == pytest.approx(told, rel=1e-12)


@given(graphs(most=5), st.sampled_from(HEURISTICS))
def test_no_order_costs_less_than_the_best_of_all(graph, heuristic):
    n_states, scopes, last = graph
    order = find_order(n_states, *elimination.flat(scopes), last=last, heuristic=heuristic)
    assert order.cells >= elimination.cheapest(n_states, scopes, last)


@given(chordal(), st.sampled_from(HEURISTICS))
def test_chordal_graphs_are_eliminated_without_filling_in(graph, heuristic):
    n_states, scopes = graph
    order = find_order(n_states, *elimination.flat(scopes), heuristic=heuristic)
    found = elimination.cliques(len(n_states), scopes, order.sequence.tolist())
    assert all(any(clique <= set(scope) for scope in scopes) for clique in found)


@given(graphs(), st.integers(0, 3))
def test_renaming_a_graph_with_its_order_leaves_the_cost(graph, seed):
    n_states, scopes, _ = graph
    name = np.random.default_rng(seed).permutation(len(n_states))
    renamed = np.empty(len(n_states), dtype=int)
    renamed[name] = n_states
    order = find_order(n_states, *elimination.flat(scopes))
    moved = [[int(name[v]) for v in scope] for scope in scopes]
    other = evaluate_order(renamed, *elimination.flat(moved), name[order.sequence])
    assert costs(other) == pytest.approx(costs(order), rel=1e-13)


@given(st.integers(0, 2**32 - 1))
def test_a_small_order_is_counted_as_the_oracle_counts_it(seed):
    """The quick kernel for small graphs against the general one, which has its own oracle."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 12))
    n_states = rng.integers(1, 5, n)
    sizes = rng.integers(0, min(n, 4) + 1, int(rng.integers(0, 14)))
    scope = np.concatenate([np.empty(0, int), *(rng.permutation(n)[:k] for k in sizes)])
    start = np.concatenate([[0], np.cumsum(sizes)])
    last = rng.permutation(n)[: rng.integers(0, n)]
    found = find_order(n_states, start, scope, last=last, effort=0.0)
    told = evaluate_order(n_states, start, scope, found.sequence)
    assert set(found.sequence[n - len(last) :].tolist()) == set(last.tolist())
    assert (found.cells, found.cells_all, found.width) == (told.cells, told.cells_all, told.width)
    assert found.log2_largest == pytest.approx(told.log2_largest, abs=1e-12)


@given(graphs(most=10, states=2**24), st.sampled_from(HEURISTICS))
def test_costs_are_counted_to_the_end_or_are_lower_bounds_that_nobody_can_pay(graph, heuristic):
    n_states, scopes, last = graph
    order = find_order(
        n_states, *elimination.flat(scopes), last=last, heuristic=heuristic, effort=0.001
    )
    told = elimination.cost(n_states, scopes, order.sequence.tolist())
    assert set(order.sequence[len(n_states) - len(last) :].tolist()) == set(last)
    if order.exact:
        assert costs(order) == pytest.approx(told, rel=1e-12)
    else:
        assert order.log2_largest > 60
        assert order.cells >= 2.0**60
        assert all(low <= high * (1 + 1e-12) for low, high in zip(costs(order), told, strict=True))


@given(graphs(states=2**24))
def test_the_largest_clique_is_named(graph):
    n_states, scopes, _ = graph
    order = find_order(n_states, *elimination.flat(scopes), effort=0.001)
    bits = np.log2([n_states[v] for v in order.clique]).sum()
    assert bits == pytest.approx(order.log2_largest, rel=1e-12)
    if order.exact:
        found = elimination.cliques(len(n_states), scopes, order.sequence.tolist())
        assert frozenset(order.clique.tolist()) in found
