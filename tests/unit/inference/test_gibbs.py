"""Gibbs sampling: next to enumeration, within its own standard errors; diagnostics of chains."""

import itertools

import numpy as np
import pytest
from scipy.stats import chisquare
from tests.models import numbered
from tests.oracles import gibbs as oracle
from tests.oracles.joint import Joint

import credo
from credo.exceptions import ConvergenceWarning, InputError, LabelError, NumericalError, ShapeError
from credo.inference.gibbs import diagnostics, engine
from credo.inference.gibbs.diagnostics import effective_sample_size, r_hat, split_r_hat


def draw(model, evidence=None, **options):
    """What was sampled, settled or not."""
    return credo.infer(model, evidence, method="gibbs", on_failure="return", **options).answer


def sample(sizes, factors, evidence=None, **options):
    return draw(numbered(sizes, factors), evidence, **options)


BLOCKS = [None, "trees"]
SIZES = [2, 3, 2, 1, 2, 3]
SCOPES = [(0, 1), (1, 0), (1, 2), (2, 0, 4), (4, 3), (5,), (5,), (4, 5), (0,)]


def some_factors(seed=0, zeros=0.0, sizes=SIZES, scopes=SCOPES):
    """Random tables, some cells of which are zero."""
    rng = np.random.default_rng(seed)
    factors = []
    for scope in scopes:
        table = rng.uniform(0.2, 2.0, [sizes[v] for v in scope])
        table[rng.random(table.shape) < zeros] = 0.0
        table.flat[0] = 1.0
        factors.append((scope, table))
    return factors


def joint_of(sizes, factors):
    return Joint.numbered(sizes, factors, log=False)


def marginals_of(sizes, factors):
    """All marginals, one after the other."""
    return np.concatenate([*map(joint_of(sizes, factors).marginal, range(len(sizes)))])


def draws_of(found, n):
    """The states of n variables in all draws that were kept."""
    return np.column_stack([found.joints.states_of(v) for v in range(n)])


def ising(rows, columns, coupling):
    """A grid of two-state variables that like to be equal."""
    site = np.arange(rows * columns).reshape(rows, columns)
    across = zip(site[:, :-1].flat, site[:, 1:].flat, strict=True)
    down = zip(site[:-1].flat, site[1:].flat, strict=True)
    table = np.exp(coupling * np.array([[1.0, -1.0], [-1.0, 1.0]]))
    return [2] * site.size, [((int(a), int(b)), table) for a, b in (*across, *down)]


@pytest.mark.parametrize("blocks", BLOCKS)
def test_standard_errors_are_of_the_right_size(blocks):
    sizes, factors = ising(3, 3, 0.3)
    factors.append(((0,), np.array([1.0, 2.0])))
    truth = marginals_of(sizes, factors)
    runs = [
        sample(sizes, factors, blocks=blocks, seed=seed, draws=400, burn_in=50, log_z=None)
        for seed in range(40)
    ]
    scores = [(run.beliefs.values - truth) / run.details["standard_error"] for run in runs]
    # 40 runs of 9 variables that hang together: about one, give or take a fifth
    assert 0.8 < np.sqrt(np.mean(np.square(scores))) < 1.25


def test_a_sweep_is_that_of_the_definition():
    sizes, scopes = [2, 3, 2, 4, 2], [(0, 1), (1, 0), (1, 2), (2, 0, 3), (4, 3), (4,), (0,)]
    factors = some_factors(3, sizes=sizes, scopes=scopes)
    run = {"draws": 12, "burn_in": 3, "thin": 2, "chains": 1, "log_z": None, "seed": 7}
    found = sample(sizes, factors, **run)
    rng = np.random.default_rng(np.random.SeedSequence(7).spawn(2)[0].spawn(1)[0])
    rng.random(5)  # of the search for a start
    state, sums, seen = [0] * 5, np.zeros(13), []
    for t in range(3 + 2 * 12):
        state, conditionals = oracle.sweep(sizes, factors, state, rng.random(5))
        if t >= 3 and (t - 3) % 2:
            sums += conditionals
            seen.append(state)
    assert draws_of(found, 5).tolist() == seen
    np.testing.assert_allclose(found.beliefs.values, sums / 12, rtol=1e-12)


@pytest.mark.parametrize("blocks", BLOCKS)
def test_the_stationary_distribution_is_the_joint_one(blocks):
    sizes, scopes = [2, 3, 2, 2], [(0, 1), (1, 2), (2, 3), (0, 3), (0, 1, 3)]
    factors = some_factors(9, sizes=sizes, scopes=scopes)
    run = sample(sizes, factors, blocks=blocks, draws=8000, thin=5, burn_in=50, log_z=None)
    counts = run.joints(np.arange(4)) * run.details["draws"]
    joint = joint_of(sizes, factors).joint(range(4))
    # after five sweeps draws are all but independent
    assert run.details["least_effective_sample_size"] > 0.9 * run.details["draws"]
    assert chisquare(counts.ravel(), joint.ravel() * run.details["draws"]).pvalue > 1e-4


class TestTrees:
    """Blocks that are drawn as a whole."""

    def test_draws_of_a_tree_are_independent_and_its_beliefs_exact(self):
        sizes, factors = ising(1, 12, 1.0)
        factors[3] = ((3, 4), np.array([[1.0, 0.2], [0.0, 3.0]]))
        found = sample(sizes, factors, blocks="trees", draws=2000)
        assert found.details["effective_sample_size"].mean() == pytest.approx(8000, rel=0.1)
        np.testing.assert_allclose(found.beliefs.values, marginals_of(sizes, factors), rtol=1e-10)
        assert found.details["standard_error"].max() < 1e-12

    def test_blocks_mix_far_better_on_a_strongly_coupled_ring(self):
        sizes, factors = ising(1, 30, 1.5)
        factors.append(((0, 29), factors[0][1]))
        problem = numbered(sizes, factors)
        run = {"draws": 4000, "log_z": None}
        alone = draw(problem, **run).details
        together = draw(problem, blocks="trees", **run).details
        assert np.median(together["effective_sample_size"]) > 10 * np.median(
            alone["effective_sample_size"]
        )
        assert together["worst_r_hat"] < 1.02 < alone["worst_r_hat"]

    def test_rules_that_stop_single_changes_do_not_stop_trees(self):
        graph = numbered([2] * 5, [((0,), [1.0, 3.0])])
        graph.parity(range(5))
        problem = graph
        assert draw(problem).details["worst_r_hat"] == np.inf
        found = draw(problem, blocks="trees")
        assert found.details["worst_r_hat"] < 1.02
        np.testing.assert_allclose(found.beliefs.of(0), [0.25, 0.75], rtol=1e-10)
        np.testing.assert_allclose(found.beliefs.of(4), [0.5, 0.5], rtol=1e-10)

    def test_named_blocks(self):
        factors = some_factors(2)
        seen = [(s, t) for s, t in factors if 5 not in s]
        truth = marginals_of(SIZES[:5], [*seen, ((4,), factors[7][1][:, 1])])
        for blocks in ([[0, 1], [4, 3]], [(2, 4, 5)], [], [[5]]):
            found = sample(SIZES, factors, {5: 1}, blocks=blocks)
            off = np.abs(found.beliefs.values - truth)
            assert off.max() < 0.03
            assert (off <= 5 * found.details["standard_error"] + 1e-12).all()


class TestLogZ:
    """Annealed importance sampling."""

    @pytest.mark.parametrize("blocks", BLOCKS)
    @pytest.mark.parametrize("zeros", [0.0, 0.2])
    def test_it_is_near_enumeration(self, zeros, blocks):
        for seed in range(4):
            factors = some_factors(seed, zeros=zeros)
            log_sum = joint_of(SIZES, factors).log_sum
            found = sample(SIZES, factors, blocks=blocks, seed=seed)
            error = found.log_z - log_sum
            assert abs(error) < 5 * found.details["log_z_standard_error"] + 1e-9
            assert found.details["log_z_standard_error"] < 0.2
            assert found.log_z_is == "ESTIMATE"
            assert found.beliefs.log_z == found.log_z

    def test_the_sum_itself_is_estimated_without_bias(self):
        factors = some_factors(4, zeros=0.3)
        total = np.exp(joint_of(SIZES, factors).log_sum)
        sums = [
            np.exp(sample(SIZES, factors, draws=4, burn_in=0, chains=1, seed=seed).log_z)
            for seed in range(40)
        ]
        assert abs(np.mean(sums) - total) < 4 * np.std(sums) / np.sqrt(40)

    @pytest.mark.parametrize(
        ("model", "options"),
        [((SIZES, some_factors()), {"log_z": None}), (ising(12, 12, 3.0), {"burn_in": 0})],
        ids=["not asked for", "walks differ too much"],
    )
    def test_there_may_be_none(self, model, options):
        options |= {"method": "gibbs", "draws": 4, "on_failure": "return"}
        post = credo.infer(numbered(*model), **options)
        assert post.log_evidence_is == "NOT_ESTIMATED"
        assert "log_z_standard_error" not in post.details
        with pytest.raises(InputError, match="'gibbs' has no estimate of the probability"):
            _ = post.log_evidence


class TestDeterminism:
    def test_parts_are_as_good_as_the_whole(self, monkeypatch):
        """Random numbers are made, and quantities are looked at, so many at a time."""
        whole = sample(*ising(4, 4, 0.3), draws=60)
        monkeypatch.setattr(engine, "_BLOCK", 50)
        monkeypatch.setattr(diagnostics, "_CHUNK", 1000)
        parts = sample(*ising(4, 4, 0.3), draws=60)
        np.testing.assert_array_equal(whole.beliefs.values, parts.beliefs.values)
        assert whole.log_z == pytest.approx(parts.log_z, rel=1e-12)
        for name in ("effective_sample_size", "standard_error", "never_moved"):
            np.testing.assert_allclose(parts.details[name], whole.details[name], rtol=1e-12)


@pytest.mark.parametrize("blocks", BLOCKS)
def test_chains_that_cannot_meet_are_told_of_with_a_remedy_that_is_not_set_already(blocks):
    model = numbered(*ising(6, 6, 3.0))
    with pytest.warns(ConvergenceWarning, match="its chains disagree .* Draw more,") as told:
        post = credo.infer(model, method="gibbs", blocks=blocks, draws=200, log_z=None)
    assert post.details["worst_r_hat"] > 2
    assert ("blocks='trees'" in str(told[0].message)) is (blocks is None)


def test_a_part_that_all_chains_miss_is_seen():
    """Of at most one of four bits, written as a chain, single changes reach some states only."""
    graph = numbered([2] * 4, [])
    graph.at_most_one([2, 3, 0, 1])
    missed = 0
    for seed in range(40):
        found = draw(graph, draws=50, log_z=None, seed=seed)
        beliefs = np.array([found.beliefs.of(v) for v in range(4)])
        if (beliefs == 0.0).any():
            missed += found.details["r_hat"].max() < 1.5
            assert found.details["worst_r_hat"] == np.inf
    assert missed


class TestRecords:
    """What is kept, and told."""

    def test_diagnostics_are_those_of_the_indicators(self):
        found = sample(SIZES, some_factors(1), draws=301, thin=2, burn_in=7)
        traces = np.stack([found.joints.states_of(v).reshape(4, 301) for v in range(6)], axis=2)
        owner = np.repeat(np.arange(6), SIZES)
        state = np.concatenate([np.arange(k) for k in SIZES])
        indicators = (traces[:, :, owner] == state).astype(float)
        np.testing.assert_allclose(found.details["r_hat"], split_r_hat(indicators))
        np.testing.assert_allclose(
            found.details["effective_sample_size"], effective_sample_size(indicators), rtol=1e-9
        )
        assert (found.details["kept"], found.details["draws"]) == (301, 1204)
        assert found.details["never_moved"].tolist() == [False] * 7 + [True] + [False] * 5
        assert found.details["effective_sample_size"][7] == 1204
        assert found.details["blocks"] is None
        assert found.updates == 4 * (7 + 602) * 6
        assert found.status == "SAMPLED"

    def test_memory_is_bounded(self, monkeypatch):
        problem = numbered(*ising(4, 4, 0.3))
        whole = draw(problem, draws=1000, log_z=None)
        monkeypatch.setattr(engine, "_BYTES", 4 * 16 * 100)  # a hundred draws of each chain
        small = draw(problem, draws=1000, log_z=None)
        assert small.details["kept"] == 100
        np.testing.assert_array_equal(draws_of(small, 16), draws_of(whole, 16)[::10])
        np.testing.assert_allclose(small.beliefs.values, whole.beliefs.values, rtol=1e-12)
        np.testing.assert_array_equal(small.details["r_hat"], whole.details["r_hat"])
        assert small.details["effective_sample_size"].max() < 1100
        ratio = small.details["standard_error"] / whole.details["standard_error"]
        assert 0.5 < np.median(ratio) < 2.0

    def test_many_states_are_kept_whole(self):
        factors = [((0, 1), np.random.default_rng(0).uniform(0.5, 1, (300, 2)))]
        found = sample([300, 2], factors, draws=500, log_z=None)
        assert found.joints.states_of(0).max() > 255
        error = np.abs(found.beliefs.values - marginals_of([300, 2], factors))
        assert error.max() < 0.02

    def test_joint_beliefs_are_frequencies(self):
        found = sample(SIZES, some_factors(2), {1: 2}, draws=500, log_z=None)
        states = draws_of(found, 5)[:, [4, 1, 0]]
        counted = [(states == cell).all(axis=1).mean() for cell in np.ndindex(2, 3, 2)]
        table = found.joints(np.array([4, 1, 0]))
        np.testing.assert_allclose(table, np.reshape(counted, (2, 3, 2)), rtol=1e-12)
        assert found.joints(np.array([], np.int64)) == 1.0
        long = sample(*ising(1, 21, 0.1), draws=4, log_z=None)
        assert long.joints(np.arange(21)) is None  # it would be mostly empty


class TestStarts:
    """Where chains begin."""

    @pytest.mark.parametrize("zeros", [0.3, 0.7])
    def test_they_are_possible_and_so_is_what_is_drawn_from_them(self, zeros):
        for seed, blocks in itertools.product(range(5), BLOCKS):
            factors = some_factors(seed, zeros=zeros)
            found = sample(SIZES, factors, draws=9, burn_in=0, seed=seed, blocks=blocks, log_z=None)
            assert all(oracle.weight(factors, state) > 0 for state in draws_of(found, 6))

    def test_the_first_two_chains_begin_at_both_ends(self):
        # nobody leaves
        found = sample(*ising(4, 4, 20.0), draws=4, burn_in=0, log_z=None)
        chains = draws_of(found, 16).reshape(4, 4, 16)
        assert (chains[0] == 0).all()
        assert (chains[1] == 1).all()

    def test_a_wrong_choice_is_made_first_the_next_time(self):
        """Random exact covers: an ordered dive fails on most, one in a few hundred is enough."""
        rng = np.random.default_rng(1)
        hidden = rng.integers(0, 2, 24)
        factors = []
        for _ in range(40):
            scope = tuple(rng.permutation(24)[:3].tolist())
            table = (rng.random((2, 2, 2)) < 0.5).astype(float)
            table[tuple(hidden[list(scope)])] = 1.0
            factors.append((scope, table))
        found = sample([2] * 24, factors, draws=4, burn_in=0, log_z=None)
        assert all(oracle.weight(factors, state) > 0 for state in draws_of(found, 24))


class TestOddProblems:
    def test_lonely_observed_and_settled_variables(self):
        factors = [((0, 1), [[1, 2, 3], [4, 5, 6]]), ((1, 2), [[1], [2], [3]])]
        problem = numbered([2, 3, 1, 4], factors)
        for blocks in BLOCKS:
            found = draw(problem, {0: 1}, blocks=blocks)
            np.testing.assert_allclose(found.beliefs.of(1), np.array([4, 10, 18]) / 32, rtol=1e-12)
            np.testing.assert_array_equal(found.beliefs.of(2), [1.0])
            np.testing.assert_allclose(found.beliefs.of(3), 0.25, rtol=1e-12)
            assert found.log_z == pytest.approx(np.log(4 * 32), rel=1e-14)

    def test_nothing_is_free_where_rules_settle_the_rest(self):
        graph = numbered([2] * 6, [((4, 5), [[1.0, 2.0], [3.0, 4.0]])])
        graph.parity(range(6))
        post = credo.infer(graph, dict.fromkeys(range(5), 1), method="gibbs")
        assert (post.status, post.log_evidence_is) == ("EXACT", "EXACT")
        assert post.log_evidence == pytest.approx(np.log(4.0))
        assert post.probabilities(5).tolist() == [0.0, 1.0]
        assert post.joint([4, 5]).table.tolist() == [[0.0, 0.0], [0.0, 1.0]]

    def test_no_possible_start_is_a_clear_error(self):
        differ = 1.0 - np.eye(2)
        ring = [((0, 1), differ), ((1, 2), differ), ((2, 0), differ)]
        with pytest.raises(NumericalError, match="Gibbs sampling needs states of positive prob"):
            sample([2] * 3, ring)

    @pytest.mark.parametrize("blocks", BLOCKS)
    def test_factors_that_float64_does_not_hold(self, blocks):
        rng = np.random.default_rng(0)
        graph, near = numbered([2] * 4, []), rng.normal(size=(2, 2))
        graph.factor([0, 1], near + np.array([[0, -1000], [-1000, -1000]]), log=True)
        graph.factor([1, 2], near - np.array([[1000, 0], [1000, 0]]), log=True)
        graph.factor([2, 3], near, log=True)
        graph.factor([3], [-2000.0, -2000.5], log=True)
        problem = graph
        found = draw(problem, blocks=blocks, draws=4000)
        assert np.isfinite(found.beliefs.values).all()
        assert found.beliefs.of(0)[0] == pytest.approx(1.0)
        assert found.beliefs.of(2)[1] == pytest.approx(1.0)
        p = np.exp(near[1] + np.array([0, -0.5]))
        np.testing.assert_allclose(found.beliefs.of(3), p / p.sum(), atol=0.02)


class TestErrors:
    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"draws": 3}, "The draws of Gibbs sampling must be a whole number, at least 4. Got 3"),
            ({"draws": 10.0}, "The draws of Gibbs sampling"),
            ({"burn_in": -1}, "The burn_in of Gibbs sampling"),
            ({"chains": 0}, "The chains of Gibbs sampling must be a whole number, at least 1"),
            ({"thin": 0}, "The thin of Gibbs sampling"),
            ({"threads": 0}, "The threads of Gibbs sampling"),
            ({"log_z": "yes"}, "The log_z of Gibbs sampling must be one of 'ais', None"),
            ({"blocks": "tree"}, "must be None, 'trees', or a list of lists of names. Got 'tree'"),
            ({"blocks": 7}, "must be None, 'trees', or a list of lists of names. Got 7"),
            ({"blocks": ["ab"]}, "must be a list of names, in order. Got 'ab'"),
            ({"blocks": [[0, 1], [1]]}, "must have no variable in common. 1 is in two"),
            ({"blocks": [[0, 0]]}, "names 0 twice"),
            ({"blocks": [[0, 99]]}, "99"),
            ({"blocks": [[0, 1, 2]]}, "factors may close no cycle. Those of 0, 1, 2 close one"),
        ],
        ids=str,
    )
    def test_a_wrong_option_is_named(self, options, message):
        pairs = [((a, b), np.ones((2, 2))) for a, b in ((0, 1), (1, 2), (2, 0))]
        with pytest.raises((InputError, LabelError), match=message):
            sample([2] * 3, pairs, **options)


def autoregressive(phi, shape, seed=0):
    """Stationary processes x_t = phi x_(t-1) + noise along the second axis."""
    x = np.random.default_rng(seed).normal(size=shape)
    x[:, 0] /= np.sqrt(1 - phi**2)
    for t in range(1, shape[1]):
        x[:, t] += phi * x[:, t - 1]
    return x


def some_chains():
    rng = np.random.default_rng(3)
    walk = autoregressive(0.8, (3, 51))
    return {
        "independent": rng.normal(size=(4, 40)),
        "odd number": walk,
        "one chain": walk[:1],
        "apart": walk + np.arange(3)[:, None],
        "spread apart": rng.normal(size=(3, 60)) * np.array([[1.0], [1.0], [4.0]]),
        "heavy tails": rng.standard_cauchy((4, 30)),
        "balancing": autoregressive(-0.6, (2, 60)),
        "few values": rng.integers(0, 3, (4, 30)).astype(float),
        "indicator": (rng.random((4, 50)) < 0.2).astype(float),
        "as few as can be": rng.normal(size=(2, 4)),
    }


@pytest.mark.parametrize("name", some_chains())
def test_each_is_that_of_plain_loops(name):
    chains = some_chains()[name]
    listed = chains.tolist()
    assert r_hat(chains) == pytest.approx(oracle.r_hat(listed), rel=1e-9)
    wanted = oracle.plain_r_hat(oracle.split(listed))
    assert split_r_hat(chains) == pytest.approx(wanted, rel=1e-9)
    wanted = oracle.effective_sample_size(listed)
    assert effective_sample_size(chains) == pytest.approx(wanted, rel=1e-8)


@pytest.mark.parametrize("phi", [-0.5, 0.0, 0.5, 0.9])
def test_an_autoregressive_process_is_worth_what_theory_says(phi):
    chains = autoregressive(phi, (4, 2000, 25))
    worth = effective_sample_size(chains)
    wanted = 8000 * (1 - phi) / (1 + phi)
    # the mean of 25 estimates, each off by a tenth or so
    assert worth.mean() == pytest.approx(wanted, rel=0.06)
    assert r_hat(chains).max() < 1.03


def test_many_quantities_are_as_one_after_the_other():
    chains = autoregressive(0.3, (3, 33, 5), seed=2)
    for measure in (r_hat, split_r_hat, effective_sample_size):
        each = [measure(chains[:, :, q]) for q in range(5)]
        together = measure(chains)
        assert together.shape == (5,)
        assert each[0].shape == ()
        np.testing.assert_allclose(together, each, rtol=1e-12)


def test_what_never_moved_agrees_and_counts_in_full():
    for value in (0.0, 1.0, 0.1):
        draws = np.full((4, 25), value)
        assert r_hat(draws) == 1.0
        assert split_r_hat(draws) == 1.0
        assert effective_sample_size(draws) == 100.0


def test_chains_at_rest_at_different_places_are_infinitely_far_apart():
    draws = np.repeat([[0.1], [0.1], [0.3]], 9, axis=1)
    assert r_hat(draws) == np.inf
    assert split_r_hat(draws) == np.inf
    assert effective_sample_size(draws) < 4
    jumps = np.repeat([[0.0, 1.0]], 20, axis=1)
    assert r_hat(jumps) == np.inf  # each half is at rest


def test_ranks_see_through_heavy_tails_and_folding_sees_chains_of_different_spread():
    heavy = np.random.default_rng(0).standard_cauchy((4, 1000))
    heavy[0] += 2.0
    assert r_hat(heavy) > 1.03
    spread = np.random.default_rng(0).normal(size=(4, 1000))
    spread[0] *= 4.0
    assert r_hat(spread) > 1.05
    assert max(split_r_hat(heavy), split_r_hat(spread)) < 1.01


@pytest.mark.parametrize("measure", [r_hat, split_r_hat, effective_sample_size])
def test_draws_are_checked(measure):
    for shape in ((5,), (2, 3), (0, 8), (1, 8, 1, 1)):
        with pytest.raises(ShapeError, match=f"draws of {measure.__name__} must have shape"):
            measure(np.zeros(shape))
    draws = np.zeros((2, 8))
    draws[1, 3] = np.nan
    with pytest.raises(InputError, match="must be finite. Got nan at index \\[1, 3\\]"):
        measure(draws)
