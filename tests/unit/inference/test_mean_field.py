"""Mean field and structured mean field: lower bounds that never fall."""

import math

import numpy as np
import pytest
from tests.oracles import bounds as oracle
from tests.unit.inference.test_certificates import model_of, problem_of

from credo.exceptions import InputError
from credo.graphs import FactorGraph
from credo.inference.certificates.mean_field import run_mean_field
from credo.inference.certificates.structured import run_structured_mean_field

RUNS = {"mean field": run_mean_field, "structured": run_structured_mean_field}
SAME = np.array([[0.0, -np.inf], [-np.inf, 0.0]])
ROUNDING = 1e-10


def marginals_of(found, sizes):
    """The marginals of all variables, one array each."""
    return [found.beliefs.of(v) for v in range(len(sizes))]


def value(found):
    """The bound, also where it is minus infinity."""
    return found.find_log_z() if found.find_log_z else found.log_z


@pytest.mark.parametrize("run", RUNS.values(), ids=RUNS)
@pytest.mark.parametrize(
    ("arity", "zeros", "scale"),
    [(2, 0.0, 1.0), (2, 0.3, 1.0), (3, 0.0, 2.0), (3, 0.4, 1.0)],
    ids=["pairs", "zeros", "threes", "threes with zeros"],
)
def test_the_bound_is_below_log_z_and_never_falls(run, arity, zeros, scale):
    rng = np.random.default_rng(7 * arity + int(10 * zeros))
    useful = 0
    for _ in range(150):
        sizes, factors = oracle.random_graph(rng, 6, arity, zeros, scale)
        exact = oracle.log_z(sizes, factors)
        found = run(problem_of(model_of(sizes, factors)), sweeps=30)
        if exact == -math.inf:
            assert value(found) == -math.inf
            continue
        if found.log_z_is == "EXACT":
            assert found.log_z == pytest.approx(exact, abs=ROUNDING)
            continue
        assert value(found) <= exact
        useful += value(found) > -math.inf
        assert (np.diff(found.details["bounds"]) >= -ROUNDING).all()
        assert found.details["rounding"] < ROUNDING
    assert useful > 25


def test_the_bound_is_that_of_the_marginals():
    rng = np.random.default_rng(2)
    for turn in range(40):
        sizes, factors = oracle.random_graph(rng, 5, 3, 0.3 * (turn % 2))
        found = run_mean_field(problem_of(model_of(sizes, factors)), sweeps=25)
        if value(found) == -math.inf:
            continue
        expected = oracle.lower_bound(sizes, factors, marginals_of(found, sizes))
        assert found.log_z == pytest.approx(expected, abs=ROUNDING)


def test_settled_marginals_satisfy_the_fixed_point():
    sizes, factors = oracle.grid(3, np.random.default_rng(1), 0.6)
    found = run_mean_field(problem_of(model_of(sizes, factors)), tolerance=1e-12)
    assert found.status == "CONVERGED"
    q = marginals_of(found, sizes)
    for v in range(len(sizes)):
        logs = np.zeros(2)
        for scope, table in factors:
            if v in scope:
                weights = [q[u] if u != v else np.ones(2) for u in scope]
                averaged = table * (
                    weights[0][:, None] * weights[1] if len(scope) == 2 else weights[0]
                )
                others = tuple(a for a, u in enumerate(scope) if u != v)
                logs += averaged.sum(axis=others)
        best = np.exp(logs - logs.max())
        np.testing.assert_allclose(q[v], best / best.sum(), atol=1e-10)


def test_blocks_are_at_least_as_good_as_single_variables():
    rng = np.random.default_rng(3)
    gains = []
    for _ in range(40):
        problem = problem_of(model_of(*oracle.grid(3, rng, 1.5)))
        alone, blocks = run_mean_field(problem), run_structured_mean_field(problem)
        assert blocks.log_z >= alone.log_z - ROUNDING
        gains.append(blocks.log_z - alone.log_z)
    assert np.mean(gains) > 0.25


def test_more_starts_are_never_worse():
    rng = np.random.default_rng(4)
    for _ in range(10):
        problem = problem_of(model_of(*oracle.grid(3, rng, 3.0)))
        once, often = run_mean_field(problem), run_mean_field(problem, restarts=8)
        assert often.log_z >= once.log_z


@pytest.mark.parametrize("run", RUNS.values(), ids=RUNS)
def test_a_symmetric_field_is_not_left_on_its_ridge(run):
    sizes, factors = oracle.ring(6, 2.0)
    found = run(problem_of(model_of(sizes, factors)))
    # all alike: 6 couplings of 2 each; the uniform start has an average of zero
    assert found.log_z > 12.0


def test_structured_mean_field_is_exact_on_a_forest():
    rng = np.random.default_rng(5)
    for _ in range(20):
        sizes = rng.integers(1, 4, size=6).tolist()
        links = [(v, int(rng.integers(v))) for v in range(1, 6)]
        factors = [([v, w], rng.normal(scale=3.0, size=(sizes[v], sizes[w]))) for v, w in links]
        found = run_structured_mean_field(problem_of(model_of(sizes, factors)))
        assert (found.status, found.log_z_is) == ("EXACT", "EXACT")
        assert found.log_z == pytest.approx(oracle.log_z(sizes, factors), abs=1e-9)
        for v in range(6):
            truth = oracle.joint_probabilities(sizes, factors, [v])
            np.testing.assert_allclose(found.beliefs.of(v), truth, atol=1e-12)


def test_zeros_inside_a_block_cost_nothing():
    sizes, factors = oracle.ring(4, 0.3, 0.2)
    factors = [*factors[1:], ([0, 1], SAME)]
    problem = problem_of(model_of(sizes, factors))
    exact = oracle.log_z(sizes, factors)
    alone, blocks = run_mean_field(problem), run_structured_mean_field(problem)
    assert alone.log_z < exact - 0.3  # one of the two states that agree has to go
    assert exact - 0.1 < blocks.log_z <= exact


def test_a_configuration_is_found_through_hard_constraints():
    sizes = [2] * 6
    differ = np.where(np.eye(2) > 0, -np.inf, 0.0)
    factors = [([v, v + 1], differ) for v in range(5)]
    factors += [([0, 5], differ), ([0], np.log([0.9, 0.1]))]
    found = run_mean_field(problem_of(model_of(sizes, factors)))
    assert found.log_z == pytest.approx(math.log(0.9), abs=ROUNDING)


@pytest.mark.parametrize("run", RUNS.values(), ids=RUNS)
def test_wide_logs_are_bounded(run):
    sizes, factors = oracle.ring(4, 800.0, 5.0)
    exact = oracle.log_z(sizes, factors)
    found = run(problem_of(model_of(sizes, factors)))
    assert exact - 1.0 < found.log_z <= exact


@pytest.mark.parametrize("run", RUNS.values(), ids=RUNS)
def test_nothing_possible_is_minus_infinity(run):
    sizes, factors = [2, 2], [([0, 1], SAME), ([1, 0], SAME[::-1])]
    found = run(problem_of(model_of(sizes, factors)))
    assert (found.log_z, found.log_z_is) == (-math.inf, "EXACT")
    assert found.beliefs.are_impossible


@pytest.mark.parametrize("run", RUNS.values(), ids=RUNS)
def test_where_no_start_is_found_the_bound_is_minus_infinity_but_not_a_proof(run):
    # Every pair of three variables of two states differs: arc consistency does not notice.
    differ = np.where(np.eye(2) > 0, -np.inf, 0.0)
    found = run(
        problem_of(model_of([2] * 3, [([0, 1], differ), ([1, 2], differ), ([2, 0], differ)]))
    )
    assert found.log_z_is == "LOWER_BOUND"
    assert found.find_log_z() == -math.inf
    assert not found.beliefs.are_impossible
    assert found.beliefs.of(0).sum() == pytest.approx(1.0)


@pytest.mark.parametrize("run", RUNS.values(), ids=RUNS)
def test_a_graph_without_factors_is_exact(run):
    graph = FactorGraph()
    graph.variable("a", 3)
    graph.variable("b", 1)
    found = run(problem_of(graph))
    assert found.log_z == pytest.approx(math.log(3))
    assert found.log_z_is == "EXACT"
    np.testing.assert_allclose(found.beliefs.of(0), 1 / 3)
    np.testing.assert_array_equal(found.beliefs.of(1), 1.0)


def test_a_callback_hears_of_every_sweep_of_every_start():
    heard = []
    sizes, factors = oracle.grid(3, np.random.default_rng(0), 1.0)
    problem = problem_of(model_of(sizes, factors))
    run_mean_field(problem, restarts=3, callback=lambda *said: heard.append(said))
    assert [number for number, _ in heard] == list(range(1, len(heard) + 1))
    assert sum(residual <= 1e-8 for _, residual in heard) == 3


def test_few_sweeps_are_a_status():
    sizes, factors = oracle.grid(4, np.random.default_rng(0), 1.0)
    found = run_mean_field(problem_of(model_of(sizes, factors)), sweeps=2)
    assert found.status == "MAX_SWEEPS"
    assert len(found.residuals) == 2
    assert found.updates == 32


class TestGivenBlocks:
    sizes, factors = oracle.ring(6, 0.8, 0.3)

    def run(self, blocks):
        return run_structured_mean_field(
            problem_of(model_of(self.sizes, self.factors)), blocks=blocks
        )

    def test_are_used(self):
        found = self.run([[0, 1, 2], [3, 4]])
        assert [block.tolist() for block in found.details["blocks"]] == [[0, 1, 2], [3, 4], [5]]
        assert found.log_z <= oracle.log_z(self.sizes, self.factors)

    def test_are_independent_of_each_other_and_not_inside(self):
        found = self.run([[0, 1, 2], [3, 4, 5]])
        pair = found.joints(np.array([2, 1]))
        np.testing.assert_allclose(pair.sum(axis=1), found.beliefs.of(2), atol=1e-12)
        np.testing.assert_allclose(pair.sum(axis=0), found.beliefs.of(1), atol=1e-12)
        third = found.joints(np.array([2, 4, 1]))
        expected = np.einsum("ac,b->abc", pair, found.beliefs.of(4))
        np.testing.assert_allclose(third, expected, atol=1e-15)
        assert abs(pair[0, 0] - found.beliefs.of(2)[0] * found.beliefs.of(1)[0]) > 0.01
        assert found.joints(np.array([0, 2])) is None

    def test_observed_variables_are_passed_over(self):
        problem = problem_of(model_of(self.sizes, self.factors), {0: 1})
        found = run_structured_mean_field(problem, blocks=[[0, 1, 2, 3, 4, 5]])
        assert found.log_z_is == "EXACT"

    @pytest.mark.parametrize(
        ("blocks", "message"),
        [
            ([[0, 1, 2, 3, 4, 5]], "no cycle of factors. Got one with 0, 1, 2, 3, 4, 5"),
            ([[0, 1], [1, 2]], "name 1 twice"),
            ("tree", "must be 'forest' or a list of lists of names. Got 'tree'"),
            (7, "Got 7"),
        ],
        ids=["cycle", "twice", "word", "number"],
    )
    def test_that_cannot_be_are_refused(self, blocks, message):
        with pytest.raises(InputError, match=message):
            self.run(blocks)


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ({"sweeps": 0}, "sweeps of mean field must be a whole number, at least 1"),
        ({"tolerance": -1.0}, "tolerance of mean field must be at least 0"),
        ({"restarts": 0}, "restarts of mean field must be a whole number, at least 1"),
        ({"seed": -1}, "seed of mean field must be a whole number, at least 0"),
        ({"callback": 3}, "callback of mean field must be a function"),
    ],
    ids=["sweeps", "tolerance", "restarts", "seed", "callback"],
)
def test_settings_are_checked(option, message):
    with pytest.raises(InputError, match=message):
        run_mean_field(problem_of(model_of(*oracle.ring(3, 1.0))), **option)
