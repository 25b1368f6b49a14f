"""Minimum cuts, and the best configurations of attractive fields that they give."""

import math

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.sparse.csgraph import maximum_flow
from tests.oracles import cuts as oracle, maxima as written_out

import credo
from credo.exceptions import InputError
from credo.graphs import FactorGraph, MarkovNetwork
from credo.graphs.evidence import resolve
from credo.graphs.problems import pose
from credo.inference.maxima.cuts import minimum_cut
from credo.inference.maxima.graph_cut import run_graph_cut

#: Sums of at most some twenty logs, none larger than ten.
CLOSE = 1e-11


def posed(model, evidence=None):
    wiring = model.compile().tabulated(sum_product=False)
    return pose(wiring, resolve(wiring, evidence, None, "test"))


def graph_of(shape, factors):
    graph = FactorGraph()
    names = [graph.variable(i, k).name for i, k in enumerate(shape)]
    for axes, table in factors:
        graph.factor([names[axis] for axis in axes], table)
    return graph


class TestMinimumCut:
    @pytest.mark.parametrize("block", range(4))
    def test_the_cut_is_the_least_of_all_written_out(self, block):
        for seed in range(100 * block, 100 * block + 100):
            network = oracle.random_network(np.random.default_rng(seed))
            least, best = oracle.least_cuts(*network)
            cut = minimum_cut(*network)
            if least >= 10**30:
                assert cut.value == cut.flow == np.inf, seed
                continue
            assert cut.value == cut.flow == least, seed
            assert tuple(cut.side > 0) in best, seed
            assert tuple(cut.side >= 0) in best, seed
            differing = [len({nodes[i] for nodes in best}) > 1 for i in range(len(cut.side))]
            assert (cut.side == 0).tolist() == differing, seed

    @pytest.mark.parametrize("seed", range(5))
    def test_the_flow_is_that_of_another_program(self, seed):
        rng = np.random.default_rng(seed)
        n, edges = 400, oracle.grid_edges(20, 20)
        source, sink = rng.integers(0, 30, n), rng.integers(0, 30, n)
        there, back = rng.integers(0, 9, len(edges)), rng.integers(0, 9, len(edges))
        tail = np.concatenate([np.full(n, n), np.arange(n), edges[:, 0], edges[:, 1]])
        head = np.concatenate([np.arange(n), np.full(n, n + 1), edges[:, 1], edges[:, 0]])
        sizes = np.concatenate([source, sink, there, back]).astype(np.int32)
        wanted = maximum_flow(csr_array((sizes, (tail, head)), shape=(n + 2, n + 2)), n, n + 1)
        cut = minimum_cut(*(x.astype(float) for x in (source, sink)), edges,
                          *(x.astype(float) for x in (there, back)))  # fmt: skip
        assert cut.flow == cut.value == wanted.flow_value

    def test_real_capacities_leave_no_gap_but_rounding(self):
        rng = np.random.default_rng(3)
        edges = oracle.grid_edges(60, 60)
        there, back = rng.exponential(1.0, (2, len(edges)))
        source, sink = rng.exponential(2.0, (2, 3600))
        cut = minimum_cut(source, sink, edges, there, back)
        assert cut.flow == pytest.approx(cut.value, rel=1e-14)

    @pytest.mark.parametrize("scale", [1e-310, 1e-200, 1e200])
    def test_capacities_of_any_size_are_cut(self, scale):
        ones = np.full(1, scale)
        cut = minimum_cut(
            np.array([3.0, 0.0]) * scale, np.array([0.0, 2.0]) * scale, np.array([[0, 1]]),
            ones, ones,
        )  # fmt: skip
        assert cut.side.tolist() == [1, -1]
        assert cut.flow == cut.value == scale

    def test_without_nodes_or_edges_there_is_nothing_to_cut(self):
        none, no_edges = np.empty(0), np.empty((0, 2), np.int64)
        assert minimum_cut(none, none, no_edges, none, none).value == 0.0
        cut = minimum_cut(np.array([1.0, 0, 0]), np.array([0, 1.0, 0]), no_edges, none, none)
        assert cut.side.tolist() == [1, -1, 0]

    def test_a_loop_at_a_node_costs_nothing(self):
        one = np.ones(1)
        assert minimum_cut(one, 2 * one, np.zeros((1, 2), np.int64), one, one).value == 1.0


@pytest.mark.parametrize("flipped", [False, True])
@pytest.mark.parametrize("block", range(3))
def test_the_cut_of_an_attractive_field_is_its_best_configuration(flipped, block):
    for seed in range(120 * block, 120 * block + 120):
        shape, factors = oracle.random_field(np.random.default_rng(seed), flipped=flipped)
        largest, best = written_out.best_configurations(written_out.log_product(shape, factors))
        found = run_graph_cut(posed(graph_of(shape, factors)))
        if largest == -math.inf:
            assert found.is_impossible, seed
            assert found.status == "IMPOSSIBLE"
            continue
        assert tuple(found.states.tolist()) in best, seed
        assert found.log_score == pytest.approx(largest, abs=CLOSE), seed
        assert found.log_score <= found.bound <= largest + CLOSE
        assert np.flatnonzero(found.tied).tolist() == written_out.tied_axes(best), seed
        assert found.status == "OPTIMAL"


@pytest.mark.parametrize("seed", range(4))
def test_a_grid_has_the_maximum_of_the_junction_tree(seed):
    rng = np.random.default_rng(seed)
    edges = oracle.grid_edges(12, 12)
    coupling = rng.uniform(0.0, 2.0, len(edges))[:, None, None] * np.eye(2)
    coupling += rng.normal(0.0, 0.5, (len(edges), 1, 2))  # tables need not be symmetric
    field = MarkovNetwork.from_arrays(rng.normal(size=(144, 2)), edges, coupling, log=True)
    wanted = credo.mpe(field)
    found = run_graph_cut(posed(field))
    assert found.states.tolist() == list(wanted.states.values())
    assert found.log_score == wanted.log_score


def test_a_checkerboard_of_swapped_states_is_cut():
    rng = np.random.default_rng(1)
    edges = oracle.grid_edges(8, 9)
    repelling = rng.uniform(0.0, 2.0, len(edges))[:, None, None] * (1 - np.eye(2))
    field = MarkovNetwork.from_arrays(rng.normal(size=(72, 2)), edges, repelling, log=True)
    assert run_graph_cut(posed(field)).log_score == pytest.approx(credo.mpe(field).log_score)


def test_two_factors_that_only_together_attract_are_added_up():
    graph = FactorGraph()
    a, b, c = (graph.variable(i, 2) for i in range(3))
    for pair in ((a, b), (b, c), (c, a)):
        graph.factor(pair, [[1, 3], [2, 1]])
        graph.factor(pair[::-1], [[4, 1], [1, 4]])
    graph.factor([a], [1, 1.5])
    assert run_graph_cut(posed(graph)).log_score == pytest.approx(credo.mpe(graph).log_score)


def test_observed_variables_and_those_of_one_state_are_no_nodes():
    graph = FactorGraph()
    a, b, one, triple = (graph.variable(*v) for v in (("a", 2), ("b", 2), ("one", 1), ("t", 3)))
    graph.factor([a, one, b], np.array([[5, 1], [1, 2]])[:, None, :])
    graph.factor([triple, a], [[1, 2], [1, 90], [1, 1]])
    graph.factor([one], [0.5])
    found = run_graph_cut(posed(graph, {"t": 1}))
    assert found.states.tolist() == [1, 1, 0]
    assert found.log_score == pytest.approx(math.log(2 * 90 * 0.5))
    everything = run_graph_cut(posed(graph, {"t": 1, "a": 0, "b": 1}))
    assert everything.log_score == pytest.approx(math.log(1 * 1 * 0.5))


def test_a_model_of_nothing_has_the_score_zero():
    assert run_graph_cut(posed(FactorGraph())).log_score == 0.0


def test_logs_wider_than_float64_are_cut():
    graph = FactorGraph()
    a, b = graph.variable("a", 2), graph.variable("b", 2)
    graph.factor([a], [-2000.0, -1.0], log=True)
    graph.factor([a, b], [[0.0, -5000.0], [-np.inf, -3000.0]], log=True)
    found = run_graph_cut(posed(graph))
    assert found.states.tolist() == [0, 0]
    assert found.log_score == -2000.0


def test_a_table_that_is_a_product_neither_attracts_nor_repels():
    graph = FactorGraph()
    a, b, c = (graph.variable(i, 2) for i in range(3))
    one, other = np.array([0.1, 0.7]), np.array([0.3, 0.9])
    for pair in ((a, b), (b, c), (a, c)):  # rounding gives these logs a sign, which means nothing
        graph.factor(pair, np.outer(one, other))
    assert run_graph_cut(posed(graph)).states.tolist() == [1, 1, 1]


class TestRefusals:
    def test_three_states_are_refused_by_name(self):
        graph = graph_of((2, 3), [([0, 1], np.ones((2, 3)))])
        with pytest.raises(InputError, match="two states. 1 has 3"):
            run_graph_cut(posed(graph))

    def test_a_factor_of_three_variables_is_refused(self):
        graph = graph_of((2, 2, 2), [([0, 2, 1], np.ones((2, 2, 2)))])
        with pytest.raises(InputError, match=r"two variables. There is one over \[0, 2, 1\]"):
            run_graph_cut(posed(graph))

    def test_a_cycle_that_repels_is_refused(self):
        tables = [([i, (i + 1) % 3], np.array([[1.0, 2.0], [2.0, 1.0]])) for i in range(3)]
        with pytest.raises(InputError, match=r"cycle through \[1, 2\] repels"):
            run_graph_cut(posed(graph_of((2, 2, 2), tables)))

    def test_auxiliary_variables_of_rules_are_named_as_such(self):
        graph = FactorGraph()
        graph.parity([graph.variable(i, 2) for i in range(6)])
        with pytest.raises(InputError, match="'auxiliary 0'"):
            run_graph_cut(posed(graph))
