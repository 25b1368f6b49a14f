"""Textbook F5: max-product, decoding with ties, and best states against the best configuration."""

import math

import numpy as np
import pytest
from tests.oracles import maxima as oracle
from tests.oracles.joint import Joint

import credo
from credo.graphs import FactorGraph, chain
from credo.inference._infer import infer
from credo.inference.maximum import k_best, marginal_map, max_marginals, mpe


def two_sites(table):
    graph = FactorGraph()
    a, b = graph.variable("a", 2), graph.variable("b", 2)
    graph.factor([a, b], table)
    return graph


def test_f5_the_best_states_are_not_the_best_configuration():
    """Weights 0, 3, 2, 2: a is 1 with probability 4/7, but the best pair is (0, 1) with 3/7."""
    graph = two_sites([[0, 3], [2, 2]])
    posterior = infer(graph)
    assert posterior.probabilities("a") == pytest.approx([3 / 7, 4 / 7])
    assert posterior.probabilities("b") == pytest.approx([2 / 7, 5 / 7])
    assert mpe(graph).states == {"a": 0, "b": 1}
    assert math.exp(mpe(graph).log_score) == pytest.approx(3)
    assert marginal_map(graph, ["a"]).states == {"a": 1}
    assert math.exp(marginal_map(graph, ["a"]).log_score) == pytest.approx(4)


def test_f5_the_best_states_together_can_even_be_impossible():
    graph = FactorGraph()
    a, b = graph.variable("a", 3), graph.variable("b", 3)
    graph.factor([a, b], [[0.0, 0.2, 0.2], [0.2, 0.0, 0.0], [0.2, 0.0, 0.2]])
    posterior = infer(graph)
    assert np.argmax(posterior.probabilities("a")) == 0
    assert np.argmax(posterior.probabilities("b")) == 0
    assert mpe(graph).log_score > -math.inf
    assert max_marginals(graph, {"a": 0})["b"][0] == -math.inf


def test_f5_max_marginals_of_the_five_node_tree_are_the_maxima_written_out():
    rng = np.random.default_rng(5)
    shape = (2, 2, 3, 2, 2)
    factors = [([i], rng.uniform(0.1, 1.0, k)) for i, k in enumerate(shape)]
    edges = [(0, 1), (0, 2), (2, 3), (2, 4)]
    factors += [([*edge], rng.uniform(0.1, 1.0, [shape[i] for i in edge])) for edge in edges]
    graph = FactorGraph()
    nodes = [graph.variable(i + 1, k) for i, k in enumerate(shape)]
    for axes, table in factors:
        graph.factor([nodes[i] for i in axes], table)
    whole = Joint.numbered(shape, factors, log=False)
    scores = max_marginals(graph)
    for i in range(5):
        np.testing.assert_allclose(scores.log_values(i + 1), whole.largest(i), rtol=1e-13)
    passed = credo.pass_messages(graph, root=3, max_product=True)
    for name, belief in passed.beliefs.items():
        found = np.log([*belief.values()]) + passed.log_evidence
        np.testing.assert_allclose(found, scores.log_values(name), rtol=1e-12)
    decoded = {name: max(scores[name], key=scores[name].get) for name in scores}
    assert decoded == scores.best.states == mpe(graph).states
    assert not scores.best.ties


def test_f5_with_ties_the_best_states_one_by_one_are_no_configuration():
    """Both (0, 1) and (1, 0) are best: all max-marginals are equal, and (0, 0) is impossible."""
    graph = two_sites([[0, 1], [1, 0]])
    scores = max_marginals(graph)
    assert scores["a"] == scores["b"] == {0: 0.0, 1: 0.0}
    assert scores.best.ties
    assert scores.best.tied == ("a", "b")
    assert scores.best.log_score == 0.0
    assert {tuple(best.states.values()) for best in k_best(graph, 4)} == {(0, 1), (1, 0)}


@pytest.mark.parametrize(("length", "k"), [(200, 3), (100_000, 4)])
def test_f5_the_best_path_of_a_long_chain_does_not_underflow(length, k):
    rng = np.random.default_rng(length)
    initial = rng.dirichlet(np.ones(k))
    transition = rng.dirichlet(np.ones(k), size=k)
    weights = rng.uniform(0.01, 1.0, (length, k))
    best = mpe(chain(initial, transition, log_likelihood=np.log(weights)))
    path, log_score = oracle.viterbi(initial, transition, weights)
    assert log_score < -0.5 * length
    assert best.log_score == pytest.approx(log_score, rel=1e-13)
    assert list(best.states.values()) == path
    assert not best.ties


def test_f5_the_same_numbers_in_another_order_are_a_tie_in_a_long_chain():
    """Whether the path changes at step 3 or 4 of an unseen stretch makes no difference."""
    seen = np.zeros((1000, 2))
    seen[:3] = np.log([0.9, 0.1])
    seen[4:] = np.log([0.1, 0.9])
    best = mpe(chain([0.5, 0.5], [[0.7, 0.3], [0.3, 0.7]], log_likelihood=seen))
    assert best.tied == ("x3",)
    assert [best[f"x{t}"] for t in range(6)] == [0, 0, 0, 0, 1, 1]
