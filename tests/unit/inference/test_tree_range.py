"""Trees of any size, and numbers of any size."""

import math

import numpy as np
import pytest
from tests.oracles import trees as oracle

from credo.graphs.variables import Same
from credo.graphs.wiring import Wiring
from credo.inference._tree_forest import checked, planted
from credo.inference._tree_layout import log_potentials
from credo.inference._tree_passes import Setting
from credo.inference.tree import is_tree, run_tree


def flat(n_states, scopes, tables, index):
    """Wire a large model: scopes (F, arity) each, tables (T, …), the table of each factor."""
    arities = [scope.shape[1] for scope in scopes for _ in range(len(scope))]
    sizes = [table[0].size for table in tables for _ in range(len(table))]
    n, n_tables = len(n_states), len(sizes)
    return Wiring(
        names=range(n),
        states=Same(tuple(range(int(n_states[0]))), n),
        n_states=np.asarray(n_states, np.int64),
        scope_start=np.cumsum([0, *arities], dtype=np.int64),
        scope=np.concatenate([scope.ravel() for scope in scopes]).astype(np.int32),
        table=np.asarray(index, np.int32),
        table_start=np.cumsum([0, *sizes], dtype=np.int64),
        values=np.concatenate([table.ravel() for table in tables]),
        log_scale=np.zeros(n_tables),
        log_values=None,
        owner=np.full(len(arities), -1, np.int32),
    )


def chain(likelihoods, transition):
    n, k = likelihoods.shape
    pairs = np.stack([np.arange(n - 1), np.arange(1, n)], axis=1)
    index = np.concatenate([np.zeros(n - 1), 1 + np.arange(n)])
    return flat(
        np.full(n, k),
        [pairs, np.arange(n)[:, None]],
        [transition[None], likelihoods],
        index,
    )


def forward_backward(log_likelihoods, log_transition):
    """Marginals and the log of the total, in logs, each step scaled to sum one."""
    forward, backward = log_likelihoods.copy(), np.zeros_like(log_likelihoods)
    n = len(forward)
    scales = []
    for t in range(n):
        if t:
            forward[t] += np.logaddexp.reduce(forward[t - 1][:, None] + log_transition, axis=0)
        scales.append(np.logaddexp.reduce(forward[t]))
        forward[t] -= scales[-1]
    for t in range(n - 2, -1, -1):
        after = log_transition + log_likelihoods[t + 1] + backward[t + 1]
        backward[t] = np.logaddexp.reduce(after, axis=1) - scales[t + 1]
    marginals = np.exp(forward + backward)
    return marginals / marginals.sum(axis=1, keepdims=True), math.fsum(scales)


def both_ways(wiring, observed=None, soft=None):
    """Run with numbers first, and with logs from the beginning."""
    observed = np.full(len(wiring.n_states), -1) if observed is None else observed
    run = run_tree(wiring, observed, soft or {})
    forest = planted(wiring, checked(wiring, observed), -1)
    setting = Setting(wiring, forest, *log_potentials(wiring, forest, soft or {}), both=True)
    return run, setting.solved("logs")


def test_a_chain_of_a_hundred_thousand_steps_equals_forward_backward_in_logs():
    rng = np.random.default_rng(0)
    transition = rng.dirichlet(np.full(5, 0.3), 5)
    likelihoods = rng.gamma(0.2, size=(100_000, 5)) + 1e-12
    wiring = chain(likelihoods, transition)
    marginals, log_z = forward_backward(np.log(likelihoods), np.log(transition))
    run, logs = both_ways(wiring)
    for result in (run, logs):
        np.testing.assert_allclose(result.marginals, marginals.ravel(), rtol=1e-10, atol=1e-200)
        assert result.log_z == pytest.approx(log_z, rel=1e-13)
    np.testing.assert_allclose(run.marginals, logs.marginals, rtol=1e-10, atol=1e-200)
    assert run.log_z == pytest.approx(logs.log_z, rel=1e-15)
    assert run.n_messages == 2 * 99_999


@pytest.mark.parametrize("hub", [0, 70_000])
def test_a_star_of_a_hundred_thousand_leaves_is_exact(hub):
    rng = np.random.default_rng(2)
    n = 100_000
    leaves = np.delete(np.arange(n), hub)
    table = np.array([[0.5, 0.5], [0.499, 0.501]])
    wiring = flat(
        np.full(n, 2),
        [np.stack([np.full(n - 1, hub), leaves], axis=1)],
        [table[None]],
        [0] * (n - 1),
    )
    observed = np.full(n, -1)
    observed[leaves] = rng.integers(0, 2, n - 1)
    observed[leaves[:1000]] = -1
    run, logs = both_ways(wiring, observed)
    counts = [(observed[leaves] == x).sum() for x in range(2)]
    log_belief = np.log(table) @ counts
    belief = np.exp(log_belief - np.logaddexp.reduce(log_belief))
    for result in (run, logs):
        np.testing.assert_allclose(result.marginals[2 * hub : 2 * hub + 2], belief, rtol=1e-9)
        free = result.marginals.reshape(-1, 2)[leaves[:1000]]
        np.testing.assert_allclose(free, np.tile(belief @ table, (1000, 1)), rtol=1e-9)
        assert result.log_z == pytest.approx(np.logaddexp.reduce(log_belief), rel=1e-12)


def star(ratios):
    """A hub of two states that hears 1 : exp(ratio) from each leaf."""
    n = len(ratios)
    factors = [
        (
            (0, i + 1),
            [[1.0, 0.0], [np.exp(min(r, 0.0)), 1.0]] if r < 0 else [[np.exp(-r), 0], [1, 1]],
        )
        for i, r in enumerate(ratios)
    ]
    observed = [-1] + [0] * n
    return oracle.wiring([2] * (n + 1), factors), observed


@pytest.mark.parametrize("order", [[0, 1, 2, 3, 4, 5], [0, 3, 1, 4, 2, 5], [5, 4, 3, 2, 1, 0]])
def test_terms_that_underflow_and_come_back_are_not_lost(order):
    """Each message is harmless, 1 : 1e-150; three of them are 1e-450; three more bring it back."""
    ratios = np.log(10.0) * np.array([-150, -150, -150, 150, 150, 150.0])[order]
    wiring, observed = star(ratios)
    run = run_tree(wiring, observed, {})
    np.testing.assert_allclose(run.marginals[:2], [0.5, 0.5], rtol=1e-12)
    assert run.log_z == pytest.approx(np.log(2) - 450 * np.log(10), rel=1e-14)


def test_terms_that_underflow_along_a_chain_are_not_lost():
    """A left-to-right chain: to stay is 1e-3 as likely, until the end says that it stayed."""
    n = 400
    stay, move = 1e-3, 1.0
    pairs = [((t, t + 1), [[stay, move], [0.0, 1.0]]) for t in range(n)]
    wiring = oracle.wiring([2] * (n + 1), [((0,), [1.0, 0.0]), *pairs])
    observed = np.full(n + 1, -1)
    observed[n] = 0
    run = run_tree(wiring, observed, {})
    np.testing.assert_allclose(run.marginals.reshape(-1, 2)[:, 0], 1.0)
    assert run.log_z == pytest.approx(n * np.log(stay), rel=1e-13)


@pytest.mark.parametrize("maximum", [False, True])
@pytest.mark.parametrize("span", [1e2, 1e4, 1e6])
@pytest.mark.parametrize("seed", range(3))
def test_log_tables_of_any_span_are_exact(seed, span, maximum):
    rng = np.random.default_rng(seed)
    n_states, factors = oracle.random_tree(rng, n=6, zeros=0.1)
    factors = [(scope, span * table) for scope, table in factors]
    observed = np.full(6, -1)
    joint = oracle.log_joint(n_states, factors, observed, {})
    run = run_tree(oracle.wiring(n_states, factors, log=True), observed, {}, maximum=maximum)
    beliefs, log_z = oracle.answers(joint, maximum=maximum)
    assert run.log_z == pytest.approx(log_z, rel=1e-14)
    if beliefs is not None:
        np.testing.assert_allclose(run.marginals, beliefs, rtol=1e-7, atol=1e-300)


@pytest.mark.parametrize("size", [1e300, 1e-300, 1.7e308, 5e-324])
def test_potentials_of_any_size_are_scaled(size):
    edge = np.array([[1.0, 0.25], [0.5, 1.0]]) if size > 1e-310 else np.ones((2, 2))
    factors = [((t, t + 1), size * edge) for t in range(9)]
    factors += [((t,), [size, size]) for t in range(10)] * 3
    run = run_tree(oracle.wiring([2] * 10, factors), [-1] * 10, {0: np.array([size, 0.5 * size])})
    plain = run_tree(
        oracle.wiring([2] * 10, factors[:0] + [((t, t + 1), edge) for t in range(9)]),
        [-1] * 10,
        {0: np.array([size, 0.5 * size]) / size},
    )
    np.testing.assert_allclose(run.marginals, plain.marginals, rtol=1e-12)
    assert run.log_z == pytest.approx(plain.log_z + 40 * np.log(size), rel=1e-13)


def test_a_table_may_span_all_of_float64():
    table = np.array([[1e308, 1e-308], [1e-308, 1e308]])
    wiring = oracle.wiring([2] * 3, [((0, 1), table), ((1, 2), table), ((0,), [1.0, 0.0])])
    run = run_tree(wiring, [-1, -1, 1], {})
    assert run.log_z == pytest.approx(np.log(2.0), rel=1e-14)  # 1e308 times 1e-308, two ways
    np.testing.assert_allclose(run.marginals, [1, 0, 0.5, 0.5, 0, 1], rtol=1e-13)


def test_numbers_and_logs_agree_where_both_hold():
    rng = np.random.default_rng(5)
    for _ in range(10):
        n_states, factors = oracle.random_tree(rng, n=40, zeros=0.02)
        wiring = oracle.wiring(n_states, [(scope, np.exp(table)) for scope, table in factors])
        run, logs = both_ways(wiring)
        np.testing.assert_allclose(run.marginals, logs.marginals, rtol=1e-11, atol=1e-250)
        assert run.log_z == pytest.approx(logs.log_z, rel=1e-13)


def test_a_large_graph_with_cycles_is_refused_at_once():
    side = 300
    at = np.arange(side * side).reshape(side, side)
    pairs = np.concatenate(
        [
            np.stack([at[:, :-1].ravel(), at[:, 1:].ravel()], 1),
            np.stack([at[:-1].ravel(), at[1:].ravel()], 1),
        ]
    )
    grid = flat(np.full(side * side, 2), [pairs], [np.ones((1, 2, 2))], [0] * len(pairs))
    assert not is_tree(grid, np.full(side * side, -1))
    columns = np.where(np.arange(side * side) % side % 2, 0, -1)
    assert is_tree(grid, columns)
    run = run_tree(grid, columns, {})
    assert run.log_z == pytest.approx((columns < 0).sum() * np.log(2), rel=1e-14)
