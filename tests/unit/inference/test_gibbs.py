"""Gibbs sampling: against enumeration, within its own standard errors."""

import itertools

import numpy as np
import pytest
from scipy.stats import chisquare
from tests.oracles import gibbs as oracle
from tests.unit.inference.test_gibbs_kernels import SIZES, as_problem, some_factors

from credo.graphs import FactorGraph
from credo.graphs.evidence import resolve
from credo.graphs.problems import pose
from credo.inference.chains.gibbs import run_gibbs

BLOCKS = [None, "trees"]


def random_scopes(rng, n):
    """Enough factors of one to three variables to close cycles, some of them twice."""
    scopes = [tuple(rng.permutation(n)[: rng.integers(1, 4)].tolist()) for _ in range(n + 2)]
    return [*scopes, scopes[0]]


def ising(rows, columns, coupling):
    """A grid of two-state variables that like to be equal."""
    site = np.arange(rows * columns).reshape(rows, columns)
    across = zip(site[:, :-1].flat, site[:, 1:].flat, strict=True)
    down = zip(site[:-1].flat, site[1:].flat, strict=True)
    table = np.exp(coupling * np.array([[1.0, -1.0], [-1.0, 1.0]]))
    return [2] * site.size, [((int(a), int(b)), table) for a, b in (*across, *down)]


def chain_of(n, coupling=1.0):
    return ising(1, n, coupling)


@pytest.mark.parametrize("blocks", BLOCKS)
@pytest.mark.parametrize("seed", range(6))
def test_beliefs_are_within_five_standard_errors_of_enumeration(seed, blocks):
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 4, 6).tolist()
    factors = some_factors(seed, sizes=sizes, scopes=random_scopes(rng, 6))
    problem, _ = as_problem(sizes, factors)
    found = run_gibbs(problem, blocks=blocks, seed=seed)
    errors = np.abs(found.beliefs.values - oracle.marginals(sizes, factors))
    assert (errors <= 5 * found.details["standard_error"] + 1e-12).all()
    assert found.details["standard_error"].max() < 0.02
    assert found.details["worst_r_hat"] < 1.02


@pytest.mark.parametrize("blocks", BLOCKS)
@pytest.mark.parametrize("seed", range(4))
def test_zeros_are_kept(seed, blocks):
    sizes = [2, 3, 2, 3, 2]
    scopes = [(0, 1), (1, 2), (2, 3), (3, 4), (0, 4), (1, 2, 3)]
    factors = some_factors(seed, zeros=0.15, sizes=sizes, scopes=scopes)
    truth = oracle.marginals(sizes, factors)
    problem, _ = as_problem(sizes, factors)
    found = run_gibbs(problem, blocks=blocks, seed=seed)
    beliefs = found.beliefs.values
    assert (beliefs[truth == 0] == 0).all()
    if found.details["worst_r_hat"] < 1.05:
        assert (np.abs(beliefs - truth) <= 5 * found.details["standard_error"] + 1e-12).all()


def test_at_least_one_of_the_models_with_zeros_is_connected():
    sizes = [2, 3, 2, 3, 2]
    scopes = [(0, 1), (1, 2), (2, 3), (3, 4), (0, 4), (1, 2, 3)]
    worst = []
    for seed in range(4):
        problem, _ = as_problem(sizes, some_factors(seed, zeros=0.15, sizes=sizes, scopes=scopes))
        worst.append(run_gibbs(problem, blocks="trees", log_z=None).details["worst_r_hat"])
    assert min(worst) < 1.05


@pytest.mark.parametrize("blocks", BLOCKS)
def test_standard_errors_are_of_the_right_size(blocks):
    sizes, factors = ising(3, 3, 0.3)
    factors.append(((0,), np.array([1.0, 2.0])))
    problem, _ = as_problem(sizes, factors)
    truth = oracle.marginals(sizes, factors)
    runs = [
        run_gibbs(problem, blocks=blocks, seed=seed, draws=400, burn_in=50, log_z=None)
        for seed in range(40)
    ]
    scores = [(run.beliefs.values - truth) / run.details["standard_error"] for run in runs]
    # 40 runs of 9 variables that hang together: about one, give or take a fifth
    assert 0.8 < np.sqrt(np.mean(np.square(scores))) < 1.25


@pytest.mark.parametrize("blocks", BLOCKS)
def test_the_stationary_distribution_is_the_joint_one(blocks):
    sizes, scopes = [2, 3, 2, 2], [(0, 1), (1, 2), (2, 3), (0, 3), (0, 1, 3)]
    factors = some_factors(9, sizes=sizes, scopes=scopes)
    problem, _ = as_problem(sizes, factors)
    run = run_gibbs(problem, blocks=blocks, draws=20000, thin=5, burn_in=50, log_z=None)
    counts = run.joints(np.arange(4)) * run.details["draws"]
    joint, _ = oracle.joint(sizes, factors)
    # after five sweeps draws are all but independent
    assert run.details["least_effective_sample_size"] > 0.9 * run.details["draws"]
    assert chisquare(counts.ravel(), joint.ravel() * run.details["draws"]).pvalue > 1e-4


class TestTrees:
    """Blocks that are drawn as a whole."""

    def test_draws_of_a_tree_are_independent_and_its_beliefs_exact(self):
        sizes, factors = chain_of(12)
        factors[3] = ((3, 4), np.array([[1.0, 0.2], [0.0, 3.0]]))
        problem, _ = as_problem(sizes, factors)
        found = run_gibbs(problem, blocks="trees", draws=2000)
        worth = found.details["effective_sample_size"]
        assert worth.mean() == pytest.approx(8000, rel=0.1)
        np.testing.assert_allclose(
            found.beliefs.values, oracle.marginals(sizes, factors), rtol=1e-10
        )
        assert found.details["standard_error"].max() < 1e-12
        alone = run_gibbs(problem, draws=2000, log_z=None)
        assert alone.details["effective_sample_size"].min() < 0.2 * worth.min()

    def test_blocks_mix_better_on_a_strongly_coupled_grid(self):
        problem, _ = as_problem(*ising(8, 8, 0.5))
        run = {"draws": 10000, "log_z": None}
        alone = run_gibbs(problem, **run).details["effective_sample_size"]
        together = run_gibbs(problem, blocks="trees", **run).details["effective_sample_size"]
        assert np.median(together) > 1.5 * np.median(alone)

    def test_blocks_mix_far_better_on_a_strongly_coupled_ring(self):
        sizes, factors = chain_of(30, 1.5)
        factors.append(((0, 29), factors[0][1]))
        problem, _ = as_problem(sizes, factors)
        run = {"draws": 4000, "log_z": None}
        alone = run_gibbs(problem, **run).details
        together = run_gibbs(problem, blocks="trees", **run).details
        assert np.median(together["effective_sample_size"]) > 10 * np.median(
            alone["effective_sample_size"]
        )
        assert together["worst_r_hat"] < 1.02 < alone["worst_r_hat"]

    def test_rules_that_stop_single_changes_do_not_stop_trees(self):
        graph = FactorGraph()
        bits = [graph.variable(i, 2) for i in range(5)]
        graph.parity(bits)
        graph.factor([bits[0]], [1.0, 3.0])
        wiring = graph.compile().tabulated(sum_product=True)
        problem = pose(wiring, resolve(wiring, {}, {}, "test"))
        assert run_gibbs(problem).details["worst_r_hat"] == np.inf
        found = run_gibbs(problem, blocks="trees")
        assert found.details["worst_r_hat"] < 1.02
        np.testing.assert_allclose(found.beliefs.of(0), [0.25, 0.75], rtol=1e-10)
        np.testing.assert_allclose(found.beliefs.of(4), [0.5, 0.5], rtol=1e-10)

    def test_partitions_hold_every_factor_of_a_small_grid(self):
        from credo.inference.chains._field import read_field
        from credo.inference.chains._forests import _is_held, tree_blocks

        field = read_field(as_problem(*ising(4, 4, 1.0))[0])
        forests = tree_blocks(field)
        held = np.zeros(24, bool)
        for low, high in itertools.pairwise(forests.part_start.tolist()):
            block_of = np.empty(16, np.int64)
            for b in range(low, high):
                block_of[forests.member[forests.of_block[b, 0] : forests.of_block[b + 1, 0]]] = b
            held |= _is_held(field, block_of)
        assert held.all()

    def test_dense_graphs_are_cut_into_pairs(self):
        n = 40
        pairs = list(itertools.combinations(range(n), 2))
        factors = some_factors(sizes=[2] * n, scopes=pairs)
        problem, _ = as_problem([2] * n, [(s, t**0.02) for s, t in factors])
        assert run_gibbs(problem, blocks="trees", draws=50).details["worst_r_hat"] < 1.2

    def test_named_blocks(self):
        factors = some_factors(2)
        problem, _ = as_problem(SIZES, factors, {5: 1})
        seen = [(s, t) for s, t in factors if 5 not in s]
        seen += [((4,), factors[7][1][:, 1])]
        for blocks in ([[0, 1], [4, 3]], [(2, 4, 5)], [], [[5]]):
            found = run_gibbs(problem, blocks=blocks)
            truth = oracle.marginals(SIZES[:5], seen)
            assert np.abs(found.beliefs.values - truth).max() < 0.03
            assert (
                np.abs(found.beliefs.values - truth) <= 5 * found.details["standard_error"] + 1e-12
            ).all()


class TestLogZ:
    """Annealed importance sampling."""

    @pytest.mark.parametrize("blocks", BLOCKS)
    @pytest.mark.parametrize("zeros", [0.0, 0.2])
    def test_it_is_near_enumeration(self, zeros, blocks):
        for seed in range(4):
            factors = some_factors(seed, zeros=zeros)
            problem, constant = as_problem(SIZES, factors)
            _, total = oracle.joint(SIZES, factors)
            found = run_gibbs(problem, blocks=blocks, seed=seed)
            error = found.log_z + np.log(constant) - np.log(total)
            assert abs(error) < 5 * found.details["log_z_standard_error"] + 1e-9
            assert found.details["log_z_standard_error"] < 0.2
            assert found.log_z_is == "ESTIMATE"
            assert found.beliefs.log_z == found.log_z

    def test_the_sum_itself_is_estimated_without_bias(self):
        factors = some_factors(4, zeros=0.3)
        problem, constant = as_problem(SIZES, factors)
        _, total = oracle.joint(SIZES, factors)
        sums = [
            np.exp(run_gibbs(problem, draws=4, burn_in=0, chains=1, seed=seed).log_z) * constant
            for seed in range(60)
        ]
        assert abs(np.mean(sums) - total) < 4 * np.std(sums) / np.sqrt(60)

    def test_independent_variables_are_summed_exactly(self):
        factors = some_factors(scopes=[(0,), (1,), (5,)])
        problem, _ = as_problem(SIZES, factors)
        found = run_gibbs(problem, draws=4)
        assert found.log_z == pytest.approx(np.log(oracle.joint(SIZES, factors)[1]), rel=1e-12)
        assert found.details["log_z_standard_error"] < 1e-12

    def test_none_is_given_if_none_was_asked_for(self):
        problem, _ = as_problem(SIZES, some_factors())
        found = run_gibbs(problem, draws=4, log_z=None)
        assert found.log_z == 0.0
        assert found.beliefs.log_z is None
        assert found.details["no_log_z"]

    def test_none_is_given_if_walks_differ_too_much(self):
        problem, _ = as_problem(*ising(12, 12, 3.0))
        found = run_gibbs(problem, draws=4, burn_in=0)
        assert found.details["no_log_z"]
        assert found.beliefs.log_z is None

    def test_it_does_not_change_the_chains(self):
        problem, _ = as_problem(SIZES, some_factors())
        one, other = (run_gibbs(problem, draws=50, log_z=how) for how in ("ais", None))
        np.testing.assert_array_equal(one.beliefs.values, other.beliefs.values)

    def test_parts_that_were_left_out_leave_none_to_the_beliefs(self):
        graph = FactorGraph()
        a, b = graph.variable("a", 2), graph.variable("b", 2)
        graph.factor([a], [1.0, 2.0])
        graph.factor([b], [1.0, 3.0])
        wiring = graph.compile()
        problem = pose(wiring, resolve(wiring, {}, {}, "test"), [0])
        assert not problem.is_complete
        assert run_gibbs(problem, draws=4).beliefs.log_z is None


class TestDeterminism:
    @pytest.mark.parametrize("blocks", BLOCKS)
    def test_threads_change_nothing(self, blocks):
        problem, _ = as_problem(*ising(4, 4, 0.3))
        one, two = (
            run_gibbs(problem, draws=100, burn_in=10, blocks=blocks, threads=n) for n in (1, 2)
        )
        np.testing.assert_array_equal(one.beliefs.values, two.beliefs.values)
        assert one.log_z == two.log_z
        np.testing.assert_array_equal(one.residuals, two.residuals)
        for name in ("r_hat", "effective_sample_size", "standard_error"):
            np.testing.assert_array_equal(one.details[name], two.details[name])

    def test_seeds_and_chains_differ(self):
        problem, _ = as_problem(*ising(4, 4, 0.3))
        first, second = (run_gibbs(problem, draws=50, seed=seed) for seed in (0, 1))
        assert (first.beliefs.values != second.beliefs.values).any()
        assert first.log_z != second.log_z
        a, b = first.joints.traces[2:]
        assert (a != b).any()

    def test_random_numbers_in_blocks_are_those_made_at_once(self, monkeypatch):
        from credo.inference.chains import _walkers

        problem, _ = as_problem(*ising(4, 4, 0.3))
        whole = run_gibbs(problem, draws=60)
        monkeypatch.setattr(_walkers, "_BLOCK", 50)
        parts = run_gibbs(problem, draws=60)
        np.testing.assert_array_equal(whole.beliefs.values, parts.beliefs.values)
        assert whole.log_z == pytest.approx(parts.log_z, rel=1e-12)


@pytest.mark.parametrize("blocks", BLOCKS)
def test_chains_that_cannot_meet_are_seen(blocks):
    problem, _ = as_problem(*ising(6, 6, 3.0))
    assert run_gibbs(problem, blocks=blocks, draws=200, log_z=None).details["worst_r_hat"] > 2
