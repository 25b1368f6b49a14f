"""The k best configurations: in order, all different, and no more than there are."""

import itertools
import math

import numpy as np
import pytest

from credo.exceptions import BudgetError, ImpossibleEvidence, InputError
from credo.graphs import FactorGraph, MarkovNetwork, chain
from credo.inference.maximum import k_best, mpe


def dice(n):
    """Fair dice: every throw is as good as every other."""
    graph = FactorGraph()
    for i in range(n):
        graph.factor([graph.variable(i, 6)], np.ones(6))
    return graph


def test_all_configurations_are_found_once_and_no_more():
    found = k_best(dice(3), 10_000)
    throws = {tuple(best.states.values()) for best in found}
    assert throws == set(itertools.product(range(6), repeat=3))
    assert {best.log_score for best in found} == {0.0}


def test_scores_never_rise_where_products_are_equal_but_for_rounding():
    rng = np.random.default_rng(0)
    for _ in range(60):
        graph = FactorGraph()
        for v in range(5):
            graph.variable(v, 2)
            graph.factor([v], rng.choice([0.1, 0.2, 0.3, 0.6, 0.7], 2))
        for v in range(4):
            graph.factor([v, v + 1], rng.choice([0.1, 0.2, 0.3, 0.6, 0.7], (2, 2)))
        scores = [found.log_score for found in k_best(graph, 32)]
        assert (np.diff(scores) <= 0).all()


def test_those_of_zero_probability_are_left_out():
    graph = FactorGraph()
    a, b = graph.variable("a", 3), graph.variable("b", 3)
    graph.factor([a, b], [[0, 0, 5], [0, 4, 0], [1, 0, 0]])
    scores = [best.log_score for best in k_best(graph, 9)]
    assert scores == pytest.approx([math.log(5), math.log(4), 0.0])


def test_rules_give_each_configuration_once():
    graph = FactorGraph()
    bits = [graph.variable(i, 2) for i in range(5)]
    graph.parity(bits)
    graph.at_most_one(bits[:3])
    graph.factor([bits[0]], [0.3, 0.7])
    found = [tuple(best.states.values()) for best in k_best(graph, 100)]
    wanted = [
        bits
        for bits in itertools.product((0, 1), repeat=5)
        if sum(bits) % 2 == 0 and sum(bits[:3]) <= 1
    ]
    assert sorted(found) == wanted
    assert all(bits[0] == 1 for bits in found[:2])


def test_the_best_of_a_large_grid_are_those_of_its_paths():
    """Independent columns: the k best sums of one number of each list."""
    rng = np.random.default_rng(3)
    lists = rng.uniform(0.1, 1.0, (6, 4))
    graph = FactorGraph()
    for i, weights in enumerate(lists):
        graph.factor([graph.variable(i, 4)], weights)
    sums = sorted((math.fsum(row) for row in itertools.product(*np.log(lists))), reverse=True)
    found = [best.log_score for best in k_best(graph, 300)]
    np.testing.assert_allclose(found, sums[:300], rtol=1e-12)


def test_the_second_best_path_of_a_long_chain_is_one_change_away():
    """Two states that prefer to stay, seen exactly but for one doubtful step."""
    likelihood = np.log(np.tile([0.9, 0.1], (20_000, 1)))
    likelihood[777] = np.log([0.6, 0.4])
    model = chain([0.5, 0.5], [[0.6, 0.4], [0.4, 0.6]], log_likelihood=likelihood)
    first, second = k_best(model, 2)
    changed = [name for name in first if first[name] != second[name]]
    assert changed == ["x777"]
    lost = math.log(0.6 / 0.4) + 2 * math.log(0.6 / 0.4)
    assert first.log_score - second.log_score == pytest.approx(lost, abs=1e-9)


def test_the_first_is_the_most_probable_one_and_evidence_holds_in_all():
    rng = np.random.default_rng(11)
    edges = np.array([(i, (i + 1) % 8) for i in range(8)])
    ring = MarkovNetwork.from_arrays(
        rng.uniform(0.1, 1.0, (8, 3)), edges, rng.uniform(0.1, 1.0, (8, 3, 3))
    )
    found = k_best(ring, 25, {3: 2}, likelihood={5: [1.0, 0.5, 0.0]})
    assert found[0].states == mpe(ring, {3: 2}, likelihood={5: [1.0, 0.5, 0.0]}).states
    assert all(best[3] == 2 and best[5] != 2 for best in found)


def test_an_empty_model_has_one_configuration():
    assert [best.states for best in k_best(FactorGraph(), 5)] == [{}]


@pytest.mark.parametrize("k", [0, -1, 2.0, True, "3"], ids=repr)
def test_a_count_that_is_no_positive_whole_number_is_refused(k):
    with pytest.raises(InputError, match="must be a whole number of at least one"):
        k_best(dice(1), k)


def test_more_than_fits_the_budget_is_refused():
    with pytest.raises(BudgetError, match="1000000000 configurations of 40 free variables"):
        k_best(dice(40), 10**9)


def test_impossible_evidence_is_named():
    graph = FactorGraph()
    a, b = graph.variable("a", 2), graph.variable("b", 2)
    graph.factor([a, b], [[1, 0], [1, 1]])
    with pytest.raises(ImpossibleEvidence) as caught:
        k_best(graph, 2, {"a": 0, "b": 1})
    assert caught.value.conflict == {"a": 0, "b": 1}
