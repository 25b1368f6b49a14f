"""``bounds``: intervals hold, are as narrow as they should be, and say where they come from."""

import math

import numpy as np
import pytest
from tests.oracles import bounds as oracle

import credo
from credo.exceptions import ImpossibleEvidence, InputError, LabelError
from credo.graphs import BayesianNetwork, FactorGraph
from credo.graphs.problems import pose
from credo.inference.certificates.bounding import bounds
from credo.inference.certificates.intervals import probabilities
from credo.inference.question import ask

QUICK = {"rounds": 2, "sweeps": 40, "restarts": 1, "tolerance": 1e-6}
BY_FOREST = {"lower": "exact forest", "upper": "exact forest"}


def model_of(sizes, factors):
    """The graph of an oracle as a model; its variables are numbers."""
    graph = FactorGraph()
    for v, k in enumerate(sizes):
        graph.variable(v, int(k))
    for scope, logs in factors:
        graph.factor(scope, logs, log=True)
    return graph


def problem_of(model, evidence=None, likelihood=None):
    """All of a model, given evidence."""
    question = ask(model, evidence, likelihood, None, None, "test")
    return pose(question.wiring, question.evidence)


def clamped(sizes, factors, evidence):
    """Add factors that allow the observed states only."""
    observed = [
        ([v], np.where(np.arange(sizes[v]) == x, 0.0, -np.inf)) for v, x in evidence.items()
    ]
    return sizes, [*factors, *observed]


@pytest.mark.parametrize(
    ("arity", "zeros", "scale"),
    [(2, 0.0, 1.0), (2, 0.0, 4.0), (2, 0.3, 1.0), (3, 0.0, 1.5), (3, 0.35, 1.0)],
    ids=["pairs", "strong", "zeros", "threes", "threes with zeros"],
)
def test_bounds_hold_on_random_graphs(arity, zeros, scale):
    rng = np.random.default_rng(arity + int(10 * zeros + scale))
    loops = 0
    for _ in range(150):
        sizes, factors = oracle.random_graph(rng, 6, arity, zeros, scale)
        evidence = {0: int(rng.integers(sizes[0]))} if rng.random() < 0.3 else {}
        exact = oracle.log_z(*clamped(sizes, factors, evidence))
        if exact == -math.inf:
            continue
        found = bounds(model_of(sizes, factors), evidence, **QUICK)
        assert found.lower <= exact <= found.upper
        assert found.gap == found.upper - found.lower
        if found.by == BY_FOREST:
            assert found.gap < 1e-9
        else:
            loops += 1
    assert loops > 30


def test_intervals_of_probabilities_hold_on_random_graphs():
    rng = np.random.default_rng(5)
    for turn in range(60):
        zeros = 0.3 if turn % 2 else 0.0
        sizes, factors = oracle.random_graph(rng, 5, 2 + turn % 2, zeros)
        if oracle.log_z(sizes, factors) == -math.inf:
            continue
        found = bounds(model_of(sizes, factors), **QUICK)
        names = rng.permutation(len(sizes))[:2].tolist()
        table = found.joint(names)
        truth = oracle.joint_probabilities(sizes, factors, names)
        assert table.shape == (*truth.shape, 2)
        # the truth of the oracle is rounded too
        assert (table[..., 0] <= truth * (1 + 1e-12)).all()
        assert (table[..., 1] >= truth * (1 - 1e-12)).all()
        assert ((table >= 0) & (table <= 1)).all()


def test_on_a_forest_both_bounds_are_the_value_and_intervals_are_points():
    net = BayesianNetwork()
    for name in ("rain", "wet", "cold"):
        net.variable(name, ["no", "yes"])
    net.cpt("rain", table=[0.8, 0.2])
    net.cpt("wet", given=["rain"], table=[[0.9, 0.1], [0.2, 0.8]])
    net.cpt("cold", given=["rain"], table=[[0.7, 0.3], [0.4, 0.6]])
    found = bounds(net, {"wet": "yes"})
    assert found.by == BY_FOREST
    assert found.log_z == pytest.approx((math.log(0.24), math.log(0.24)), abs=1e-13)
    np.testing.assert_allclose(found.marginal("rain"), [[1 / 3, 1 / 3], [2 / 3, 2 / 3]], rtol=1e-12)
    assert "exact forest" in repr(found)


def test_an_observed_variable_has_its_state_for_certain():
    found = bounds(model_of(*oracle.ring(4, 0.7, 0.2)), {1: 0})
    np.testing.assert_array_equal(found.marginal(1), [[1.0, 1.0], [0.0, 0.0]])
    table = found.joint([1, 2])
    assert table.shape == (2, 2, 2)
    np.testing.assert_array_equal(table[1], 0.0)
    np.testing.assert_array_equal(table[0], found.marginal(2))


def test_impossible_states_have_probability_zero_for_certain():
    sizes, factors = oracle.ring(3, 0.5)
    never = np.array([[0.0, 0.0], [-np.inf, -np.inf]])
    found = bounds(model_of(sizes, [*factors, ([0, 1], never)]))
    np.testing.assert_array_equal(found.marginal(0), [[1.0, 1.0], [0.0, 0.0]])


def test_a_likelihood_multiplies():
    sizes, factors = oracle.ring(4, 0.4, 0.3)
    exact = oracle.log_z(sizes, [*factors, ([2], np.log([0.2, 0.7]))])
    found = bounds(model_of(sizes, factors), likelihood={2: [0.2, 0.7]})
    assert found.lower <= exact <= found.upper < exact + 0.2


def test_rules_are_bounded_too():
    graph = FactorGraph()
    for v in range(4):
        graph.variable(v, 2)
        graph.factor([v], [1.0, 0.3 + 0.1 * v])
    graph.parity([0, 1, 2, 3])
    graph.factor([0, 3], [[2.0, 1.0], [1.0, 2.0]])
    exact = credo.infer(graph)
    found = bounds(graph)
    assert found.lower <= exact.log_evidence <= found.upper
    truth = exact.probabilities(1)
    low, high = found.marginal(1).T
    assert (low <= truth).all()
    assert (truth <= high).all()


def test_children_that_nobody_observed_do_not_widen_the_bounds():
    net = BayesianNetwork()
    for name in "abcd":
        net.variable(name, 2)
    net.cpt("a", table=[0.3, 0.7])
    net.cpt("b", given=["a"], table=[[0.2, 0.8], [0.6, 0.4]])
    net.cpt("c", given=["a"], table=[[0.5, 0.5], [0.1, 0.9]])
    net.cpt("d", given=["b", "c"], table=np.full((2, 2, 2), 0.5))
    found = bounds(net, {"a": 0})
    assert found.upper == pytest.approx(math.log(0.3), abs=1e-12)
    assert found.gap < 1e-12


def test_more_rounds_narrow_the_interval():
    graph = model_of(*oracle.grid(4, np.random.default_rng(0), 1.0))
    gaps = [bounds(graph, rounds=rounds).gap for rounds in (0, 3, 10)]
    assert gaps[0] > gaps[1] > gaps[2]


def test_the_answer_is_the_same_every_time():
    graph = model_of(*oracle.grid(4, np.random.default_rng(0), 2.0))
    assert bounds(graph, seed=3).log_z == bounds(graph, seed=3).log_z


def test_a_joint_is_computed_once_and_read_only():
    found = bounds(model_of(*oracle.ring(4, 0.7)))
    table = found.joint([0, 1])
    assert found.joint([0, 1]) is table
    with pytest.raises(ValueError, match="read-only"):
        table[0] = 0.5


def test_the_interval_is_in_the_text():
    found = bounds(model_of(*oracle.ring(3, math.log(2) / 2)))
    assert repr(found).startswith("<Bounds: log Z in [")
    assert repr(found).endswith("by structured mean field and tree-reweighted>")


def test_evidence_that_cannot_be_is_named():
    sizes, factors = oracle.ring(3, 0.5)
    same = np.array([[0.0, -np.inf], [-np.inf, 0.0]])
    graph = model_of(sizes, [*factors, ([0, 1], same)])
    with pytest.raises(ImpossibleEvidence, match="bounds: the evidence has probability zero"):
        bounds(graph, {0: 0, 1: 1})


def test_a_model_found_to_be_impossible_later_is_named_then():
    differ = np.where(np.eye(2) > 0, -np.inf, 0.0)
    found = bounds(model_of([2] * 3, [([0, 1], differ), ([1, 2], differ), ([2, 0], differ)]))
    assert found.lower == -math.inf
    with pytest.raises(InputError, match="allows no configuration at all"):
        found.marginal(0)


def test_the_allowance_for_rounding_stays_small_on_long_chains():
    n, coupling = 5000, 1.3
    sizes, factors = oracle.ring(n, coupling)
    found = bounds(model_of(sizes, factors[1:]))
    exact = math.log(2.0) + (n - 1) * math.log(2.0 * math.cosh(coupling))
    assert found.lower <= exact <= found.upper
    assert found.gap < 1e-8


def test_questions_are_checked():
    graph = model_of(*oracle.ring(4, 0.5))
    with pytest.raises(LabelError, match="9"):
        bounds(graph, {9: 0})
    with pytest.raises(InputError, match="rounds of bounds must be a whole number, at least 0"):
        bounds(graph, rounds=-1)
    with pytest.raises(InputError, match="restarts of bounds must be a whole number, at least 1"):
        bounds(graph, restarts=0)
    with pytest.raises(InputError, match="tolerance"):
        bounds(graph, tolerance=-1.0)
    with pytest.raises(InputError, match="needs a BayesianNetwork"):
        bounds([1, 2])
    found = bounds(graph, query=[0, 1])
    with pytest.raises(InputError, match="2 was not asked for"):
        found.marginal(2)
    with pytest.raises(InputError, match="twice"):
        found.joint([0, 0])


def test_too_many_joint_states_are_refused():
    graph = model_of([2] * 13, [([v], np.zeros(2)) for v in range(13)])
    with pytest.raises(InputError, match="at most 4096. Got 8192"):
        bounds(graph).joint(range(13))


def test_probabilities_follow_from_bounds_on_sums():
    low, high = np.log([1.0, 2.0, 0.5]), np.log([2.0, 3.0, 1.0])
    found = probabilities(low, high)
    for s in range(3):
        others = [t for t in range(3) if t != s]
        least = 1 / (1 + sum(math.exp(high[t] - low[s]) for t in others))
        most = 1 / (1 + sum(math.exp(low[t] - high[s]) for t in others))
        assert found[s] == pytest.approx((least, most), rel=1e-12)
    unknown = probabilities(np.array([-np.inf, 0.0]), np.array([1.0, 2.0]))
    assert unknown[0] == pytest.approx((0.0, math.e / (math.e + 1.0)), rel=1e-12)
    assert unknown[1] == pytest.approx((1.0 / (1.0 + math.e), 1.0), rel=1e-12)
