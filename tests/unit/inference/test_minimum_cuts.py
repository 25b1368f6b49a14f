"""Minimum cuts against all cuts written out, and against another program."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.sparse.csgraph import maximum_flow
from tests.oracles import cuts as oracle

from credo.inference.maxima.graph_cut import minimum_cut


@pytest.mark.parametrize("block", range(4))
def test_the_cut_is_the_least_of_all_written_out(block):
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
def test_the_flow_is_that_of_another_program(seed):
    rng = np.random.default_rng(seed)
    n, edges = 400, oracle.grid_edges(20, 20)
    source, sink = rng.integers(0, 30, (2, n))
    there, back = rng.integers(0, 9, (2, len(edges)))
    tail = np.concatenate([np.full(n, n), np.arange(n), edges[:, 0], edges[:, 1]])
    head = np.concatenate([np.arange(n), np.full(n, n + 1), edges[:, 1], edges[:, 0]])
    sizes = np.concatenate([source, sink, there, back]).astype(np.int32)
    wanted = maximum_flow(csr_array((sizes, (tail, head)), shape=(n + 2, n + 2)), n, n + 1)
    source, sink, there, back = (x.astype(float) for x in (source, sink, there, back))
    cut = minimum_cut(source, sink, edges, there, back)
    assert cut.flow == cut.value == wanted.flow_value


def test_real_capacities_leave_no_gap_but_rounding():
    rng = np.random.default_rng(3)
    edges = oracle.grid_edges(60, 60)
    there, back = rng.exponential(1.0, (2, len(edges)))
    source, sink = rng.exponential(2.0, (2, 3600))
    cut = minimum_cut(source, sink, edges, there, back)
    assert cut.flow == pytest.approx(cut.value, rel=1e-14)


@pytest.mark.parametrize("scale", [1e-310, 1e-200, 1e200])
def test_capacities_of_any_size_are_cut(scale):
    ones, edges = np.full(1, scale), np.array([[0, 1]])
    ends = np.array([[3.0, 0.0], [0.0, 2.0]]) * scale
    cut = minimum_cut(*ends, edges, ones, ones)
    assert cut.side.tolist() == [1, -1]
    assert cut.flow == cut.value == scale


def test_without_nodes_or_edges_there_is_nothing_to_cut():
    none, no_edges, one = np.empty(0), np.empty((0, 2), np.int64), np.ones(1)
    assert minimum_cut(none, none, no_edges, none, none).value == 0.0
    cut = minimum_cut(np.array([1.0, 0, 0]), np.array([0, 1.0, 0]), no_edges, none, none)
    assert cut.side.tolist() == [1, -1, 0]
    loop = np.zeros((1, 2), np.int64)  # from a node to itself: costs nothing
    assert minimum_cut(one, 2 * one, loop, one, one).value == 1.0
