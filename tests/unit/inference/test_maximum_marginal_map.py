"""The best states of some variables, the others summed out."""

import math

import numpy as np
import pytest

from credo.exceptions import BudgetError, ImpossibleEvidence, InputError, LabelError
from credo.graphs import BayesianNetwork, FactorGraph, MarkovNetwork, chain
from credo.inference._infer import infer
from credo.inference.maximum import marginal_map, mpe


def ring(n, seed, k=3):
    rng = np.random.default_rng(seed)
    edges = np.array([(i, (i + 1) % n) for i in range(n)])
    return MarkovNetwork.from_arrays(
        rng.uniform(0.1, 1.0, (n, k)), edges, rng.uniform(0.1, 1.0, (n, k, k))
    )


def test_of_one_variable_it_is_the_state_of_largest_marginal():
    model = ring(9, 1)
    posterior = infer(model, {2: 1})
    for name in (0, 5, 8):
        best = marginal_map(model, [name], {2: 1})
        probabilities = posterior.probabilities(name)
        assert best[name] == np.argmax(probabilities)
        assert best.log_score - posterior.log_evidence == pytest.approx(
            math.log(probabilities.max()), abs=1e-12
        )


def test_of_no_variables_it_is_the_log_of_the_sum():
    model = ring(6, 2)
    best = marginal_map(model, [], {1: 2})
    assert best.states == {}
    assert best.log_score == pytest.approx(infer(model, {1: 2}).log_evidence, rel=1e-13)


def test_of_all_variables_it_is_the_most_probable_configuration():
    model = ring(7, 3)
    best = marginal_map(model, [*range(7)])
    assert best.states == mpe(model).states
    assert best.log_score == mpe(model).log_score


def test_states_come_in_the_order_asked_for_and_observed_ones_are_kept():
    best = marginal_map(ring(7, 4), [5, 0, 3], {3: 1})
    assert list(best.states) == [5, 0, 3]
    assert best[3] == 1


def test_parts_of_the_model_that_are_not_asked_for_count_in_the_score():
    graph = FactorGraph()
    a, b, c = graph.variable("a", 2), graph.variable("b", 2), graph.variable("c", 5)
    graph.factor([a], [1, 2])
    graph.factor([b], [3, 4])
    assert marginal_map(graph, [a]).log_score == pytest.approx(math.log(2 * 7 * 5))
    assert marginal_map(graph, [a], {"c": 1}).log_score == pytest.approx(math.log(2 * 7))
    assert marginal_map(graph, [c]).tied == ("c",)


def test_children_that_nobody_asks_for_are_left_out():
    """Forty leaves of one cause, all pairs of them with a child: too much, and not needed."""
    net = BayesianNetwork()
    net.variable("cause", 2)
    net.cpt("cause", table=[0.3, 0.7])
    for i in range(40):
        net.variable(i, 2)
        net.cpt(i, ["cause"], table=[[0.9, 0.1], [0.2, 0.8]])
    for i in range(40):
        for j in range(i):
            net.variable((i, j), 2)
            net.cpt((i, j), [i, j], table=np.full((2, 2, 2), 0.5))
    best = marginal_map(net, ["cause", 0], budget="1MB")
    assert best.states == {"cause": 1, 0: 1}
    assert math.exp(best.log_score) == pytest.approx(0.7 * 0.8)


def test_noisy_gates_are_summed_without_being_written_out():
    net = BayesianNetwork()
    causes = [f"cause {i}" for i in range(40)]
    for name in causes:
        net.variable(name, ["no", "yes"])
        net.cpt(name, table=[0.99, 0.01])
    net.variable("alarm", ["no", "yes"])
    net.noisy_or("alarm", dict.fromkeys(causes[1:], 0.3) | {causes[0]: 0.95}, leak=0.001)
    best = marginal_map(net, [causes[0], causes[1]], {"alarm": "yes"})
    silent = 0.999 * 0.997**38
    none = math.log(0.99 * 0.99 * (1 - silent))
    first = math.log(0.01 * 0.99 * (1 - silent * 0.05))
    assert none > first
    assert best.states == {causes[0]: "no", causes[1]: "no"}
    assert best.log_score == pytest.approx(none, rel=1e-12)


def test_equal_sums_are_ties():
    graph = FactorGraph()
    a, b = graph.variable("a", 2), graph.variable("b", 3)
    graph.factor([a, b], [[0.1, 0.2, 0.3], [0.3, 0.1, 0.2]])
    best = marginal_map(graph, ["a"])
    assert best.tied == ("a",)
    assert best["a"] == 0
    assert not mpe(graph, {"a": 0}).ties


def test_a_long_chain_does_not_underflow():
    """Only the ends are asked for: the rest is a product of matrices."""
    transition = np.array([[0.7, 0.3], [0.2, 0.8]])
    seen = np.log(np.tile([0.02, 0.01], (5000, 1)))
    model = chain([0.6, 0.4], transition, log_likelihood=seen)
    weights = np.array([0.6, 0.4])[:, None] * np.diag([0.02, 0.01])
    log_scale = 0.0
    for _ in range(4999):
        weights = weights @ transition * [0.02, 0.01]
        log_scale += math.log(weights.sum())
        weights /= weights.sum()
    best = marginal_map(model, ["x0", "x4999"])
    place = np.unravel_index(np.argmax(weights), (2, 2))
    assert tuple(best.states.values()) == place
    assert best.log_score == pytest.approx(log_scale + math.log(weights.max()), rel=1e-12)


def test_sums_before_maxima_can_need_more_memory_and_that_is_said():
    """Summing a chain of 12 hidden variables out ties its 12 leaves together."""
    model = chain(
        [0.5, 0.5],
        [[0.9, 0.1], [0.2, 0.8]],
        emission=[[0.9, 0.1], [0.1, 0.9]],
        length=12,
    )
    leaves = [f"y{t}" for t in range(12)]
    assert len(mpe(model, budget="1kB")) == 24
    with pytest.raises(BudgetError, match="marginal_map needs .* The largest clique has 1[23] var"):
        marginal_map(model, leaves, budget="1kB")


def test_impossible_evidence_is_named():
    graph = FactorGraph()
    a, b = graph.variable("a", 2), graph.variable("b", 2)
    graph.factor([a, b], [[1, 0], [1, 1]])
    with pytest.raises(ImpossibleEvidence) as caught:
        marginal_map(graph, ["a"], {"a": 0, "b": 1})
    assert caught.value.conflict == {"a": 0, "b": 1}


@pytest.mark.parametrize(
    ("variables", "error", "words"),
    [
        ("ab", InputError, "must be a list of names"),
        ([0, 1, 0], InputError, "twice"),
        ([0, 77], LabelError, "has no variable 77"),
    ],
)
def test_names_that_cannot_be_meant_are_refused(variables, error, words):
    with pytest.raises(error, match=words):
        marginal_map(ring(4, 5), variables)
