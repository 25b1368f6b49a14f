"""Reducing a problem keeps its sum, and leaves out what cannot be."""

import math

import numpy as np
import pytest
from tests.oracles import bounds as oracle
from tests.unit.inference.test_certificates import model_of, problem_of

from credo.graphs import FactorGraph
from credo.inference.certificates.reduction import reduce

DIFFER = np.where(np.eye(2) > 0, -np.inf, 0.0)


def as_graph(reduced):
    """A reduced problem as the oracle reads it."""
    n = range(reduced.n)
    factors = [([v], reduced.unary[reduced.state_start[v] : reduced.state_start[v + 1]]) for v in n]
    for f in range(reduced.n_factors):
        scope = reduced.scope[reduced.scope_start[f] : reduced.scope_start[f + 1]]
        logs = reduced.logs[reduced.cell_start[f] : reduced.cell_start[f + 1]]
        factors.append((scope.tolist(), logs.reshape(reduced.n_states[scope])))
    return reduced.n_states.tolist(), factors


def test_the_sum_stays_the_same():
    rng = np.random.default_rng(0)
    for turn in range(400):
        sizes, factors = oracle.random_graph(rng, 6, 2 + turn % 3, 0.5)
        reduced = reduce(problem_of(model_of(sizes, factors)))
        exact = oracle.log_z(sizes, factors)
        if not reduced.is_possible:
            assert exact == -math.inf
            continue
        value = reduced.constant + oracle.log_z(*as_graph(reduced))
        assert value == pytest.approx(exact, abs=1e-11)
        if exact > -math.inf:
            assert abs(value - exact) <= np.finfo(float).eps * (reduced.wear + 50 + abs(exact))


def test_every_state_that_is_left_has_support_and_every_scope_is_largest():
    rng = np.random.default_rng(1)
    for _ in range(200):
        sizes, factors = oracle.random_graph(rng, 6, 3, 0.5)
        reduced = reduce(problem_of(model_of(sizes, factors)))
        if not reduced.is_possible:
            continue
        left, tables = as_graph(reduced)
        assert all(k > 1 for k in left)
        several = [(set(scope), scope, logs) for scope, logs in tables if len(scope) > 1]
        for i, (scope, axes, logs) in enumerate(several):
            assert not any(scope <= other for j, (other, _, _) in enumerate(several) if j != i)
            assert logs.max() == 0.0
            for a in range(len(axes)):
                others = tuple(b for b in range(len(axes)) if b != a)
                assert (logs.max(axis=others) > -np.inf).all()
        assert np.isfinite(reduced.unary).all()


def test_states_given_are_the_only_ones():
    sizes, factors = oracle.ring(4, 0.5, 0.2)
    problem = problem_of(model_of(sizes, factors))
    reduced = reduce(problem, {1: 0, 3: 1})
    observed = [([1], np.array([0.0, -np.inf])), ([3], np.array([-np.inf, 0.0]))]
    exact = oracle.log_z(sizes, [*factors, *observed])
    assert reduced.constant + oracle.log_z(*as_graph(reduced)) == pytest.approx(exact, abs=1e-13)
    beliefs = reduced.beliefs(np.full(4, 0.5), 0.0)
    np.testing.assert_array_equal(beliefs.of(1), [1.0, 0.0])
    np.testing.assert_array_equal(beliefs.of(0), [0.5, 0.5])


def test_zeros_of_a_product_are_found_again():
    # Alone, each of the two allows all four states; together they allow one pair.
    one = np.array([[0.0, -np.inf], [-np.inf, 0.0]])
    two = np.array([[0.0, 0.0], [0.0, -np.inf]])
    reduced = reduce(
        problem_of(model_of([2, 2, 2], [([0, 1], one), ([1, 0], two), ([1, 2], DIFFER)]))
    )
    assert reduced.n == 0
    assert reduced.constant == 0.0
    np.testing.assert_array_equal(reduced.alive, [1, 0, 1, 0, 0, 1])


def test_constants_and_lonely_variables_count():
    graph = FactorGraph()
    graph.variable("a", 2)
    graph.variable("b", 3)
    graph.factor(["a"], [0.2, 0.6])
    reduced = reduce(problem_of(graph, {"a": 1}))
    assert reduced.n_states.tolist() == [3]
    assert reduced.constant == pytest.approx(math.log(0.6))


def test_an_impossible_model_has_nothing_left():
    same = np.where(np.eye(2) > 0, 0.0, -np.inf)
    problem = problem_of(model_of([2, 2], [([0, 1], same), ([0, 1], DIFFER)]))
    reduced = reduce(problem)
    assert not reduced.is_possible
    assert reduced.constant == -math.inf
    assert reduced.n == reduced.n_factors == 0
