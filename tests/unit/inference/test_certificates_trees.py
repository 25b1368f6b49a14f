"""Tree-reweighted bounds: above log Z, exact on forests, lower with better weights of forests."""

import itertools
import math

import numpy as np
import pytest
from tests.oracles import bounds as oracle
from tests.unit.inference.test_certificates import model_of, problem_of

from credo.exceptions import InputError
from credo.inference.certificates.dual import Dual
from credo.inference.certificates.forests import Mixture, covering_mixture, heaviest_forest
from credo.inference.certificates.reduction import reduce
from credo.inference.certificates.tree_reweighted import run_tree_reweighted, strengths


def dual_of(sizes, factors):
    return Dual(reduce(problem_of(model_of(sizes, factors))))


def complete(n, rng, scale):
    """All pairs of n variables of two states, with random tables; no unary logs."""
    pairs = [[a, b] for a in range(n) for b in range(a)]
    return [2] * n, [(pair, rng.normal(scale=scale, size=(2, 2))) for pair in pairs]


@pytest.mark.parametrize("forests", ["uniform", "optimise"])
@pytest.mark.parametrize(
    ("arity", "zeros", "scale"),
    [(2, 0.0, 1.0), (2, 0.3, 1.0), (3, 0.0, 2.0), (3, 0.4, 1.0)],
    ids=["pairs", "zeros", "threes", "threes with zeros"],
)
def test_the_bound_is_above_log_z(forests, arity, zeros, scale):
    rng = np.random.default_rng(3 * arity + int(10 * zeros))
    loops = 0
    for _ in range(200):
        sizes, factors = oracle.random_graph(rng, 6, arity, zeros, scale)
        exact = oracle.log_z(sizes, factors)
        problem = problem_of(model_of(sizes, factors))
        # messages are far from settled after a few sweeps, and the bound holds all the same
        sweeps = int(rng.integers(1, 20))
        found = run_tree_reweighted(problem, forests=forests, rounds=2, sweeps=sweeps)
        if found.log_z_is == "EXACT":
            assert found.log_z == pytest.approx(exact, abs=1e-9)
            continue
        loops += 1
        assert found.log_z >= exact
        assert found.details["rounding"] < 1e-10
    assert loops > 40


def test_any_messages_give_the_bound_that_enumeration_gives():
    rng = np.random.default_rng(1)
    for _ in range(20):
        sizes, factors = complete(4, rng, 1.0)
        dual = dual_of(sizes, factors)
        mixture = covering_mixture(dual.graph, np.zeros(6), rng)
        shift = rng.normal(size=dual.n_messages)
        start = dual.graph.message_start
        messages = {
            (f, v): shift[start[2 * f + a] : start[2 * f + a + 1]]
            for f, (scope, _) in enumerate(factors)
            for a, v in enumerate(scope)
        }
        forests = [forest.edges.tolist() for forest in mixture.forests]
        found = dual.evaluate(mixture, shift)
        expected = oracle.mixture_bound(sizes, factors, forests, mixture.weights, messages)
        assert found.value == pytest.approx(expected, abs=1e-12)
        assert abs(found.value - expected) <= found.rounding
        assert found.value >= oracle.log_z(sizes, factors)


def test_the_slope_is_the_derivative_of_the_bound():
    rng = np.random.default_rng(2)
    dual = dual_of(*complete(4, rng, 1.5))
    mixture = covering_mixture(dual.graph, np.zeros(6), rng)
    shift = rng.normal(size=dual.n_messages)
    slope = dual.evaluate(mixture, shift).slope
    h = 1e-5
    for i in range(dual.n_messages):
        step = h * (np.arange(dual.n_messages) == i)
        ahead, behind = (dual.evaluate(mixture, shift + sign * step).value for sign in (1, -1))
        assert (ahead - behind) / (2 * h) == pytest.approx(slope[i], abs=1e-8)


def test_settled_messages_are_those_of_the_oracle_and_no_others_do_better():
    rng = np.random.default_rng(3)
    for _ in range(3):
        sizes, factors = complete(4, rng, 0.7)
        problem = problem_of(model_of(sizes, factors))
        found = run_tree_reweighted(problem, forests="uniform", tolerance=1e-12)
        dual = dual_of(sizes, factors)
        mixture = covering_mixture(dual.graph, strengths(dual), np.random.default_rng(0))
        np.testing.assert_array_equal(mixture.rho, found.details["rho"])
        messages = oracle.fractional_messages(sizes, factors, mixture.rho, 90)
        slots = [(f, v) for f, (scope, _) in enumerate(factors) for v in scope]
        shift = np.concatenate([messages[slot] for slot in slots])
        best = dual.evaluate(mixture, shift)
        assert best.residual < 1e-7
        assert found.log_z == pytest.approx(best.value, abs=1e-9)
        for _ in range(20):
            other = dual.evaluate(mixture, shift + rng.normal(scale=0.3, size=len(shift)))
            assert other.value > best.value


def test_forests_of_pairs_span_and_their_shares_are_in_the_polytope():
    rng = np.random.default_rng(4)
    sizes, factors = complete(5, rng, 1.0)
    for forests in ("uniform", "optimise"):
        problem = problem_of(model_of(sizes, factors))
        details = run_tree_reweighted(problem, forests=forests, rounds=6).details
        rho, scopes = details["rho"], [scope.tolist() for scope in details["scopes"]]
        assert sorted(map(sorted, scopes)) == sorted(sorted(scope) for scope, _ in factors)
        assert (rho > 0).all()
        assert rho.sum() == pytest.approx(len(sizes) - 1)
        assert details["weights"].sum() == pytest.approx(1.0)
        assert oracle.is_in_forest_polytope(len(sizes), scopes, rho)


def test_two_parts_have_two_trees():
    sizes, factors = oracle.ring(4, 0.5)
    more = [([v + 4 for v in scope], logs) for scope, logs in factors]
    found = run_tree_reweighted(problem_of(model_of(sizes * 2, factors + more)))
    assert found.details["rho"].sum() == pytest.approx(8 - 2)


def test_optimising_lowers_the_bound_every_round():
    rng = np.random.default_rng(5)
    for coupling in (0.5, 1.0, 2.0):
        sizes, factors = oracle.grid(3, rng, coupling)
        problem = problem_of(model_of(sizes, factors))
        plain = run_tree_reweighted(problem, forests="uniform")
        better = run_tree_reweighted(problem, rounds=8)
        assert oracle.log_z(sizes, factors) <= better.log_z < plain.log_z
        assert (np.diff(better.details["rounds"]) < 0).all()
        assert better.details["rounds"][0] == pytest.approx(plain.log_z, abs=1e-7)


def test_a_ring_of_equal_couplings_has_equal_shares():
    n, coupling = 6, 0.7
    found = run_tree_reweighted(problem_of(model_of(*oracle.ring(n, coupling))), rounds=60)
    rho = (n - 1) / n
    # with equal shares each tree is a chain of couplings over rho: 2 (2 cosh J / rho)^(n - 1)
    best = math.log(2.0) + (n - 1) * math.log(2.0 * math.cosh(coupling / rho))
    assert best <= found.log_z < best + 1e-4
    np.testing.assert_allclose(found.details["rho"], rho, atol=0.02)


def test_on_a_forest_it_is_exact():
    sizes, factors = oracle.ring(5, 1.0, 0.3)
    found = run_tree_reweighted(problem_of(model_of(sizes, factors[1:])))
    assert (found.status, found.log_z_is) == ("EXACT", "EXACT")
    assert found.log_z == pytest.approx(oracle.log_z(sizes, factors[1:]), abs=1e-12)
    np.testing.assert_array_equal(found.details["rho"], 1.0)
    for v in range(5):
        truth = oracle.joint_probabilities(sizes, factors[1:], [v])
        np.testing.assert_allclose(found.beliefs.of(v), truth, atol=1e-13)
    pair = oracle.joint_probabilities(sizes, factors[1:], [3, 2])
    np.testing.assert_allclose(found.joints(np.array([3, 2])), pair, atol=1e-13)


def test_factors_with_the_same_variables_are_one():
    rng = np.random.default_rng(6)
    factors = [([0, 1], rng.normal(size=(2, 3))), ([1, 0], rng.normal(size=(3, 2)))]
    factors += [([1], rng.normal(size=3)), ([2, 1, 0], rng.normal(size=(2, 3, 2)))]
    found = run_tree_reweighted(problem_of(model_of([2, 3, 2], factors)))
    assert found.log_z_is == "EXACT"
    assert found.log_z == pytest.approx(oracle.log_z([2, 3, 2], factors), abs=1e-12)


def test_joint_beliefs_agree_with_marginals():
    sizes, factors = oracle.grid(3, np.random.default_rng(7), 0.8)
    found = run_tree_reweighted(problem_of(model_of(sizes, factors), {8: 1}))
    assert found.status == "CONVERGED"
    pair = found.joints(np.array([1, 0]))
    np.testing.assert_allclose(pair.sum(axis=1), found.beliefs.of(1), atol=1e-6)
    np.testing.assert_allclose(pair.sum(axis=0), found.beliefs.of(0), atol=1e-6)
    assert found.joints(np.array([0, 4])) is None
    assert found.joints(np.array([0, 8])) is None
    np.testing.assert_array_equal(found.joints(np.array([0])), found.beliefs.of(0))


def test_a_variable_with_one_state_left_is_certain_in_joint_beliefs():
    sizes, factors = oracle.ring(4, 0.8)
    only = ([0], np.array([-np.inf, 0.0]))
    found = run_tree_reweighted(problem_of(model_of(sizes, [*factors, only])))
    pair = found.joints(np.array([0, 2]))
    np.testing.assert_array_equal(pair[0], 0.0)
    np.testing.assert_allclose(pair[1], found.beliefs.of(2), atol=1e-15)


@pytest.mark.parametrize("scale", [800.0, 1e5], ids=["wide", "wider"])
def test_wide_logs_are_bounded(scale):
    sizes, factors = oracle.ring(5, scale, 0.3)
    exact = oracle.log_z(sizes, factors)
    found = run_tree_reweighted(problem_of(model_of(sizes, factors)))
    assert exact <= found.log_z < exact * (1 + 1e-3)
    assert found.details["rounding"] < 1e-14 * exact * 10


def test_a_bound_is_found_where_messages_do_not_settle():
    rng = np.random.default_rng(8)
    sizes, factors = complete(7, rng, 6.0)
    exact = oracle.log_z(sizes, factors)
    few = run_tree_reweighted(problem_of(model_of(sizes, factors)), sweeps=5, rounds=0)
    many = run_tree_reweighted(problem_of(model_of(sizes, factors)), sweeps=400, rounds=0)
    assert few.status == "MAX_SWEEPS"
    assert exact <= many.log_z <= few.log_z


def test_nothing_possible_is_minus_infinity():
    differ = np.where(np.eye(2) > 0, -np.inf, 0.0)
    same = np.where(np.eye(2) > 0, 0.0, -np.inf)
    found = run_tree_reweighted(problem_of(model_of([2, 2], [([0, 1], same), ([0, 1], differ)])))
    assert (found.log_z, found.log_z_is, found.status) == (-math.inf, "EXACT", "EXACT")


def test_a_callback_hears_of_sweeps_in_order():
    heard = []
    sizes, factors = oracle.grid(3, np.random.default_rng(0), 1.0)
    run_tree_reweighted(
        problem_of(model_of(sizes, factors)), rounds=2, callback=lambda *said: heard.append(said)
    )
    assert [number for number, _ in heard] == list(range(1, len(heard) + 1))
    assert heard[-1][1] <= 1e-8


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ({"forests": "all"}, "forests"),
        ({"rounds": -1}, "rounds of tree-reweighted propagation must be a whole number"),
        ({"sweeps": 0}, "sweeps"),
        ({"tolerance": -1.0}, "tolerance"),
        ({"seed": -1}, "seed"),
        ({"callback": 3}, "callback"),
    ],
    ids=["forests", "rounds", "sweeps", "tolerance", "seed", "callback"],
)
def test_settings_are_checked(option, message):
    with pytest.raises(InputError, match=message):
        run_tree_reweighted(problem_of(model_of(*oracle.ring(3, 1.0))), **option)


def test_the_heaviest_forest_is_heavier_than_any_other():
    rng = np.random.default_rng(9)
    dual = dual_of(*complete(5, rng, 1.0))
    weights = rng.normal(size=10)
    forest = heaviest_forest(dual.graph, weights)
    scopes = dual.graph.scope.reshape(-1, 2).tolist()
    trees = [
        chosen
        for chosen in itertools.combinations(range(10), 4)
        if oracle.most_of_a_forest(5, scopes, chosen) == 4
    ]
    assert len(trees) == 5**3  # Cayley's formula
    assert weights[forest.edges].sum() == max(weights[list(tree)].sum() for tree in trees)


def test_moving_weight_to_a_known_forest_adds_no_other():
    rng = np.random.default_rng(10)
    dual = dual_of(*complete(4, rng, 1.0))
    mixture = covering_mixture(dual.graph, np.zeros(6), rng)
    moved = mixture.moved(mixture.forests[0], 0.25)
    assert len(moved.forests) == len(mixture.forests)
    assert moved.weights[0] == pytest.approx(0.75 * mixture.weights[0] + 0.25)
    gone = Mixture.of(mixture.forests, np.eye(len(mixture.forests))[0], 6)
    assert len(gone.forests) == 1
