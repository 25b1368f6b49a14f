"""TRW-S: bounds that hold and never rise, and configurations that are what they say."""

import math

import numpy as np
import pytest
from tests.oracles import cuts as fields, maxima as oracle
from tests.unit.inference.test_maxima_cuts import graph_of, posed

import credo
from credo.exceptions import InputError
from credo.graphs import FactorGraph, MarkovNetwork
from credo.inference.maxima.graph_cut import run_graph_cut
from credo.inference.maxima.trws import run_trws

#: Relative: bounds are sums of some hundred messages, of some tens in all.
CLOSE = 1e-12


def assert_honest(found, logs, seed):
    """The bound holds, and the score is that of the states."""
    largest = logs.max()
    scale = max(1.0, abs(largest)) if largest > -np.inf else 1.0
    assert found.bound >= largest - CLOSE * scale, seed
    assert found.bound >= found.log_score
    assert found.log_score <= largest + CLOSE * scale
    if found.log_score > -np.inf:
        states = tuple(found.states.tolist())
        assert found.log_score == pytest.approx(logs[states], rel=CLOSE, abs=CLOSE), seed
    if found.status == "OPTIMAL":
        assert found.log_score == pytest.approx(largest, abs=1e-9 * scale), seed
    if found.status == "IMPOSSIBLE":
        assert found.bound == largest == -np.inf


def frustrated(rng, n_states, rows=3, columns=3, spread=2.0):
    """A grid of random tables: no side of a pair agrees with the other."""
    edges = fields.grid_edges(rows, columns)
    tables = rng.normal(0.0, spread, (len(edges), n_states, n_states))
    weights = rng.normal(size=(rows * columns, n_states))
    factors = [([i], np.exp(w)) for i, w in enumerate(weights)]
    factors += [(e.tolist(), np.exp(t)) for e, t in zip(edges, tables, strict=True)]
    return MarkovNetwork.from_arrays(weights, edges, tables, log=True), factors


@pytest.mark.parametrize("block", range(5))
def test_bounds_and_scores_hold_on_random_graphs_of_any_shape(block):
    for seed in range(block * 100, block * 100 + 100):
        rng = np.random.default_rng(seed)
        shape, factors = oracle.random_factors(rng) if seed % 10 else oracle.dense_factors(rng)
        found = run_trws(posed(graph_of(shape, factors)))
        assert_honest(found, oracle.log_product(shape, factors), seed)


@pytest.mark.parametrize("n_states", [2, 3])
def test_bounds_hold_on_frustrated_grids(n_states):
    statuses = set()
    for seed in range(40):
        model, factors = frustrated(np.random.default_rng(seed), n_states)
        found = run_trws(posed(model))
        assert_honest(found, oracle.log_product((n_states,) * 9, factors), seed)
        statuses.add(found.status)
    assert {"OPTIMAL", "CONVERGED"} <= statuses  # some of them have a gap that stays


@pytest.mark.parametrize("n_states", [2, 4])
@pytest.mark.parametrize("seed", range(6))
def test_the_bound_never_rises(n_states, seed):
    model, _ = frustrated(np.random.default_rng(seed), n_states, 15, 16)
    found = run_trws(posed(model), sweeps=60, tolerance=0.0)
    assert found.sweeps >= 5
    assert (np.diff(found.bounds) <= CLOSE * abs(found.bound)).all()
    assert found.bounds[-1] < found.bounds[0]


@pytest.mark.parametrize("seed", range(40))
def test_trees_are_solved_in_one_sweep(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 9))
    shape = tuple(rng.integers(1, 4, n).tolist())
    label = rng.permutation(n)  # so that parents are anywhere in the order
    factors = [([i], rng.uniform(0.1, 1.0, shape[i])) for i in range(n)]
    for i in range(1, n):
        axes = [int(label[i]), int(label[rng.integers(i)])]
        if rng.random() < 0.9:
            factors.append((axes, rng.uniform(0.0, 1.0, [shape[a] for a in axes])))
    found = run_trws(posed(graph_of(shape, factors)), sweeps=1)
    largest = oracle.log_product(shape, factors).max()
    assert found.status == "OPTIMAL"
    assert found.bound == pytest.approx(largest, rel=1e-13)
    assert found.log_score == pytest.approx(largest, rel=1e-13)


def test_trees_of_larger_factors_are_solved_too():
    rng = np.random.default_rng(5)
    shape = (2, 3, 2, 2, 3, 2, 2)
    factors = [(axes, rng.uniform(0.0, 1.0, [shape[a] for a in axes]))
               for axes in ([0, 1, 2], [2, 3], [3, 4, 5, 6], [5])]  # fmt: skip
    found = run_trws(posed(graph_of(shape, factors)), sweeps=1)
    assert found.status == "OPTIMAL"
    assert found.log_score == pytest.approx(oracle.log_product(shape, factors).max())


@pytest.mark.parametrize("seed", range(10))
def test_attractive_fields_are_solved(seed):
    rng = np.random.default_rng(seed)
    edges = fields.grid_edges(20, 20)
    coupling = rng.uniform(0.0, 1.0, len(edges))[:, None, None] * np.eye(2)
    problem = posed(MarkovNetwork.from_arrays(rng.normal(size=(400, 2)), edges, coupling, log=True))
    found, wanted = run_trws(problem), run_graph_cut(problem)
    assert found.status == "OPTIMAL"
    assert found.bound == pytest.approx(wanted.log_score, rel=1e-9)
    assert found.log_score == pytest.approx(wanted.log_score, rel=1e-9)


def test_parity_checks_are_sorted_out_by_their_zeros():
    rng = np.random.default_rng(0)
    graph = FactorGraph()
    bits = [graph.variable(i, 2) for i in range(12)]
    for k in range(5):
        graph.parity([bits[i] for i in rng.permutation(12)[:5]], even=bool(k % 2))
    for bit in bits:
        graph.factor([bit], rng.uniform(0.1, 1.0, 2))
    found = run_trws(posed(graph))
    assert found.bound >= credo.mpe(graph).log_score - 1e-12


def test_impossible_problems_are_known_as_such():
    equal, unequal = np.eye(2), 1 - np.eye(2)
    ring = [([0, 1], equal), ([1, 2], equal), ([0, 2], unequal), ([0], np.array([1.0, 0.0]))]
    found = run_trws(posed(graph_of((2, 2, 2), ring)))
    assert found.status == "IMPOSSIBLE"
    assert found.bound == found.log_score == -math.inf
    assert found.is_impossible


def test_where_all_is_zero_around_a_ring_a_bound_may_not_see_it():
    equal, unequal = np.eye(2), 1 - np.eye(2)
    ring = [([0, 1], equal), ([1, 2], equal), ([0, 2], unequal)]
    found = run_trws(posed(graph_of((2, 2, 2), ring)))
    assert found.log_score == -math.inf
    assert found.bound == 0.0
    assert found.status == "CONVERGED"


def test_observed_and_single_states_and_empty_scopes():
    graph = FactorGraph()
    a, b, one = graph.variable("a", 3), graph.variable("b", 2), graph.variable("one", 1)
    graph.factor([a, one, b], np.arange(1.0, 7.0).reshape(3, 1, 2))
    graph.factor([one], [0.5])
    graph.factor([b, a], [[7, 1, 1], [1, 1, 1]])
    found = run_trws(posed(graph))
    assert found.states.tolist() == [0, 0, 0]
    assert found.log_score == pytest.approx(math.log(7 * 1 * 0.5))
    seen = run_trws(posed(graph, {"a": 2, "b": 1}))
    assert seen.log_score == seen.bound == pytest.approx(math.log(6 * 0.5))
    assert run_trws(posed(FactorGraph())).log_score == 0.0


def test_wide_logs_keep_their_differences():
    graph = FactorGraph()
    x = [graph.variable(i, 2) for i in range(3)]
    for i in range(3):
        graph.factor([x[i], x[(i + 1) % 3]], [[0.0, -4000.0], [-9000.0, -1.0]], log=True)
    found = run_trws(posed(graph))
    assert found.states.tolist() == [0, 0, 0]
    assert found.bound == pytest.approx(0.0, abs=1e-9)


def test_clusters_lie_between_their_variables_so_that_chains_run_through_them():
    rng = np.random.default_rng(2)
    n = 40
    graph = FactorGraph()
    x = [graph.variable(i, 2) for i in range(n)]
    for i in range(n - 2):
        graph.factor(x[i : i + 3], rng.normal(size=(2, 2, 2)), log=True)
    found = run_trws(posed(graph), sweeps=300)
    best = credo.mpe(graph).log_score
    assert found.bound >= best - 1e-10
    assert found.bound - best < 0.15 * best
    assert found.log_score <= best + 1e-10


def test_each_sweep_is_told_with_its_gap():
    model, _ = frustrated(np.random.default_rng(1), 3, 5, 5)
    told = []
    found = run_trws(posed(model), sweeps=4, callback=lambda k, gap: told.append((k, gap)))
    assert [k for k, _ in told] == list(range(1, found.sweeps + 1))
    assert told[-1][1] == pytest.approx(found.bound - found.log_score, abs=1e-9)
    assert found.status == "MAX_SWEEPS"


@pytest.mark.parametrize(("option", "value"), [("sweeps", 0), ("tolerance", -1e-3)])
def test_options_that_mean_nothing_are_refused(option, value):
    with pytest.raises(InputError, match=f"The {option} of tree_reweighted"):
        run_trws(posed(FactorGraph()), **{option: value})
