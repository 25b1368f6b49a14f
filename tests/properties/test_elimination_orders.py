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


@given(chordal(), st.sampled_from(HEURISTICS))
def test_chordal_graphs_are_eliminated_without_filling_in(graph, heuristic):
    n_states, scopes = graph
    order = find_order(n_states, *elimination.flat(scopes), heuristic=heuristic)
    found = elimination.cliques(len(n_states), scopes, order.sequence.tolist())
    assert all(any(clique <= set(scope) for scope in scopes) for clique in found)


@given(st.integers(0, 2**32 - 1), st.sampled_from(HEURISTICS[1:]))
def test_a_rule_takes_what_it_has_least_of_at_every_step(seed, heuristic):
    """Prices that are kept up to date against prices that are counted afresh.

    Numbers of states are powers of two: logarithms that tie do so exactly.
    """
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 40))
    n_states = 2 ** rng.integers(0, 3, n)
    sizes = rng.integers(0, min(n, 4) + 1, int(rng.integers(0, 2 * n)))
    scopes = [rng.permutation(n)[:k].tolist() for k in sizes]
    last = rng.permutation(n)[: rng.integers(0, n)].tolist()
    found = find_order(n_states, *elimination.flat(scopes), last=last, heuristic=heuristic)
    assert found.sequence.tolist() == elimination.greedy(n_states.tolist(), scopes, heuristic, last)


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
