from itertools import pairwise

import numpy as np
import pytest
from tests.oracles import trees as oracle

from credo.exceptions import InputError, ShapeError
from credo.inference.tree import is_tree, run_tree


def linear(factors):
    return [(scope, np.exp(table)) for scope, table in factors]


def random_evidence(rng, n_states):
    n = len(n_states)
    observed = np.full(n, -1)
    for v in rng.choice(n, int(rng.integers(0, 3)), replace=False):
        observed[v] = rng.integers(n_states[v])
    soft = {
        int(v): rng.uniform(0.1, 3.0, n_states[v])
        for v in rng.choice(n, int(rng.integers(0, 3)), replace=False)
    }
    return observed, soft


def assert_exact(run, joint, *, maximum=False):
    beliefs, log_z = oracle.answers(joint, maximum=maximum)
    assert run.log_z == pytest.approx(log_z, rel=1e-12, abs=1e-12)
    if beliefs is None:
        assert np.isnan(run.marginals).all()
    else:
        np.testing.assert_allclose(run.marginals, beliefs, rtol=1e-11, atol=1e-300)


@pytest.mark.parametrize("maximum", [False, True])
@pytest.mark.parametrize("zeros", [0.0, 0.3])
@pytest.mark.parametrize("seed", range(12))
def test_beliefs_on_any_forest_equal_those_of_the_whole_table(seed, zeros, maximum):
    rng = np.random.default_rng(seed)
    n_states, factors = oracle.random_tree(rng, zeros=zeros)
    observed, soft = random_evidence(rng, n_states)
    joint = oracle.log_joint(n_states, factors, observed, soft)
    root = int(rng.integers(len(n_states)))
    for log in (False, True):
        wiring = oracle.wiring(n_states, factors if log else linear(factors), log=log)
        assert is_tree(wiring, observed)
        run = run_tree(wiring, observed, soft, root=root, maximum=maximum)
        assert_exact(run, joint, maximum=maximum)


def test_some_of_the_random_trees_with_zeros_are_possible_and_some_are_not():
    totals = []
    for seed in range(12):
        rng = np.random.default_rng(seed)
        n_states, factors = oracle.random_tree(rng, zeros=0.3)
        observed, soft = random_evidence(rng, n_states)
        totals.append(run_tree(oracle.wiring(n_states, linear(factors)), observed, soft).log_z)
    assert 0 < np.isneginf(totals).sum() < 12


RING = [((i, (i + 1) % 4), np.array([[3.0, 1.0], [0.5, 2.0]]) + i) for i in range(4)]


@pytest.mark.parametrize("seen", range(4))
def test_observed_variables_cut_cycles(seen):
    chord = ((1, 3), np.array([[1.0, 4.0], [2.0, 3.0]])) if seen in {1, 3} else ((1,), [2.0, 5.0])
    ears = [((seen,), [0.3, 0.4]), ((), 7.0)]
    factors = [*RING, chord, *ears]
    observed = np.array([int(v == seen) if v == seen else -1 for v in range(4)])
    wiring = oracle.wiring([2] * 4, factors)
    assert is_tree(wiring, observed)
    logs = [(scope, np.log(table)) for scope, table in factors]
    for maximum in (False, True):
        run = run_tree(wiring, observed, {2: np.array([0.5, 2.0])}, maximum=maximum)
        joint = oracle.log_joint([2] * 4, logs, observed, {2: np.array([0.5, 2.0])})
        assert_exact(run, joint, maximum=maximum)


def test_factors_of_observed_variables_alone_count_once():
    factors = [*RING, ((0, 2), [[1.0, 2.0], [0.0, 5.0]])]
    logs = [(scope, np.log(np.maximum(table, 1e-300))) for scope, table in factors]
    run = run_tree(oracle.wiring([2] * 4, factors), [1, -1, 1, -1], {})
    assert_exact(run, oracle.log_joint([2] * 4, logs, [1, -1, 1, -1], {}))
    assert run_tree(oracle.wiring([2] * 4, factors), [1, -1, 0, -1], {}).log_z == -np.inf


def test_a_cycle_is_named_in_order_with_a_remedy():
    wiring = oracle.wiring([2] * 4, RING, names=["a", "b", "c", "d"])
    assert not is_tree(wiring, [-1] * 4)
    with pytest.raises(InputError, match="cycle .*Use method='junction_tree'") as caught:
        run_tree(wiring, [-1] * 4, {})
    named = str(caught.value).split("the cycle ")[1].split(". Use")[0]
    around = [name.strip("'") for name in named.split(", ")]
    assert around[0] == around[-1]
    assert sorted(around[1:]) == ["a", "b", "c", "d"]
    steps = {frozenset(pair) for pair in pairwise(around)}
    assert steps == {frozenset(pair) for pair in ("ab", "bc", "cd", "da")}


def test_a_cycle_off_the_root_is_named_without_the_way_to_it():
    factors = [((i, i + 1), np.ones((2, 2))) for i in range(5)] + [((5, 3), np.ones((2, 2)))]
    with pytest.raises(InputError, match=r"cycle [345](, [345]){3}\."):
        run_tree(oracle.wiring([2] * 6, factors), [-1] * 6, {})


def test_two_edges_between_two_variables_are_a_cycle():
    wiring = oracle.wiring([2, 2], [((0, 1), np.ones((2, 2))), ((1, 0), np.ones((2, 2)))])
    assert not is_tree(wiring, [-1, -1])
    assert is_tree(wiring, [-1, 0])
    with pytest.raises(InputError, match="cycle 0, 1, 0|cycle 1, 0, 1"):
        run_tree(wiring, [-1, -1], {})


def test_equal_unary_factors_all_count():
    factors = [((0,), [1.0, 2.0])] * 3
    run = run_tree(oracle.wiring([2], factors), [-1], {})
    np.testing.assert_allclose(run.marginals, [1 / 9, 8 / 9], rtol=1e-15)


def test_a_model_without_factors_is_uniform_and_one_without_variables_is_its_constant():
    run = run_tree(oracle.wiring([2, 3], []), [-1, 2], {})
    np.testing.assert_allclose(run.marginals, [0.5, 0.5, 0, 0, 1])
    assert run.log_z == pytest.approx(np.log(2))
    assert run.n_messages == 0
    assert repr(run) == "<TreeRun: 2 variables, 0 messages, log_z 0.693147>"
    empty = run_tree(oracle.wiring([], [((), 3.0)]), [], {})
    assert empty.log_z == pytest.approx(np.log(3))
    assert len(empty.marginals) == 0


def test_one_pass_gives_the_beliefs_of_roots_alone_and_two_all():
    rng = np.random.default_rng(3)
    factors = [((0, 1), rng.random((2, 3))), ((1, 2), rng.random((3, 2))), ((3,), [1.0, 4.0])]
    wiring = oracle.wiring([2, 3, 2, 2], factors)
    both = run_tree(wiring, [-1] * 4, {})
    for root in range(4):
        one = run_tree(wiring, [-1] * 4, {}, root=root, both_passes=False)
        known = {root, 3} if root < 3 else {0, 3}
        for v in range(4):
            own = slice(one.start[v], one.start[v + 1])
            if v in known:
                np.testing.assert_allclose(one.marginals[own], both.marginals[own], rtol=1e-14)
            else:
                assert np.isnan(one.marginals[own]).all()
        assert one.log_z == pytest.approx(both.log_z, rel=1e-14)
        assert (one.n_messages, both.n_messages) == (2, 4)


def test_one_pass_knows_what_was_observed():
    wiring = oracle.wiring([2, 3], [((0, 1), np.ones((2, 3)))])
    run = run_tree(wiring, [-1, 2], {}, both_passes=False)
    np.testing.assert_allclose(run.marginals, [0.5, 0.5, 0, 0, 1])


def test_the_answer_does_not_depend_on_the_root_and_never_changes():
    rng = np.random.default_rng(4)
    n_states, factors = oracle.random_tree(rng, n=30, join=1.0)
    wiring = oracle.wiring(n_states, linear(factors))
    runs = [run_tree(wiring, [-1] * 30, {}, root=root) for root in range(30)]
    for run in runs:
        np.testing.assert_allclose(run.marginals, runs[0].marginals, rtol=1e-12)
        assert run.n_messages == runs[0].n_messages
    again = run_tree(wiring, [-1] * 30, {}, root=0)
    np.testing.assert_array_equal(again.marginals, runs[0].marginals)
    with pytest.raises(ValueError, match="read-only"):
        again.marginals[0] = 1.0


def test_evidence_that_does_not_fit_is_refused():
    wiring = oracle.wiring([2, 3], [((0, 1), np.ones((2, 3)))], names=["a", "b"])
    with pytest.raises(ShapeError, match=r"each of its 2 variables. Got shape \(3,\)"):
        run_tree(wiring, [-1, -1, -1], {})
    with pytest.raises(ShapeError, match=r"variable 'b' needs 3 weights. Got shape \(2,\)"):
        run_tree(wiring, [-1, -1], {1: np.ones(2)})
    with pytest.raises(InputError, match="position of one of 2 variables. Got 2"):
        run_tree(wiring, [-1, -1], {}, root=2)


def test_structured_factors_are_run_as_tables():
    from credo.graphs import FactorGraph

    graph = FactorGraph()
    for name in "abcde":
        graph.factor([graph.variable(name, 2)], [0.3, 0.7])
    graph.parity(list("abcde"))
    wiring = graph.compile()
    with pytest.raises(InputError, match="1 structured factors; use wiring.tabulated"):
        run_tree(wiring, [-1] * 5, {})
    tables = wiring.tabulated(sum_product=True)
    run = run_tree(tables, [-1] * len(tables.n_states), {})
    assert np.exp(run.log_z) == pytest.approx((1 + (0.3 - 0.7) ** 5) / 2, rel=1e-13)
