"""What Gibbs sampling keeps and tells, odd problems, and wrong options."""

import numpy as np
import pytest
from tests.oracles import gibbs as oracle
from tests.unit.inference.test_gibbs import BLOCKS, ising
from tests.unit.inference.test_gibbs_kernels import SIZES, as_problem, some_factors

from credo.exceptions import InputError, LabelError, NumericalError
from credo.graphs import FactorGraph
from credo.graphs.evidence import resolve
from credo.graphs.problems import pose
from credo.inference.chains import _records, _starts
from credo.inference.chains.diagnostics import effective_sample_size, split_r_hat
from credo.inference.chains.gibbs import run_gibbs


class TestRecords:
    """What is kept, and told."""

    def test_diagnostics_are_those_of_the_indicators(self):
        problem, _ = as_problem(SIZES, some_factors(1))
        found = run_gibbs(problem, draws=301, thin=2, burn_in=7)
        traces = np.stack(found.joints.traces).astype(int)
        owner = np.repeat(np.arange(6), SIZES)
        state = np.concatenate([np.arange(k) for k in SIZES])
        indicators = (traces[:, :, owner] == state).astype(float)
        np.testing.assert_allclose(found.details["r_hat"], split_r_hat(indicators))
        np.testing.assert_allclose(
            found.details["effective_sample_size"], effective_sample_size(indicators), rtol=1e-9
        )
        assert found.details["kept"] == 301
        assert found.details["draws"] == 1204
        assert found.details["never_moved"].tolist() == [False] * 7 + [True] + [False] * 5
        assert found.details["effective_sample_size"][7] == 1204
        assert found.updates == 4 * (7 + 602) * 6
        assert found.status == "SAMPLED"

    def test_conditionals_vary_less_than_counts(self):
        sizes, factors = ising(3, 3, 0.1)
        problem, _ = as_problem(sizes, factors)
        found = run_gibbs(problem, log_z=None)
        p = found.beliefs.values
        by_counting = np.sqrt(p * (1 - p) / found.details["effective_sample_size"])
        assert (found.details["standard_error"] < 0.6 * by_counting).all()

    def test_memory_is_bounded(self, monkeypatch):
        problem, _ = as_problem(*ising(4, 4, 0.3))
        whole = run_gibbs(problem, draws=1000, log_z=None)
        monkeypatch.setattr(_records, "_BYTES", 4 * 16 * 100)  # a hundred draws of each chain
        small = run_gibbs(problem, draws=1000, log_z=None)
        assert small.details["kept"] == 100
        assert len(small.joints.traces[0]) == 100
        np.testing.assert_array_equal(small.joints.traces[0], whole.joints.traces[0][::10])
        np.testing.assert_allclose(small.beliefs.values, whole.beliefs.values, rtol=1e-12)
        np.testing.assert_array_equal(small.details["r_hat"], whole.details["r_hat"])
        assert small.details["effective_sample_size"].max() < 1100
        ratio = small.details["standard_error"] / whole.details["standard_error"]
        assert 0.5 < np.median(ratio) < 2.0

    def test_quantities_are_looked_at_in_parts(self, monkeypatch):
        problem, _ = as_problem(*ising(4, 4, 0.3))
        whole = run_gibbs(problem, draws=50, log_z=None)
        monkeypatch.setattr(_records, "_CHUNK", 1000)
        parts = run_gibbs(problem, draws=50, log_z=None)
        for name in ("effective_sample_size", "standard_error", "never_moved"):
            np.testing.assert_allclose(parts.details[name], whole.details[name], rtol=1e-12)

    def test_many_states_are_kept_whole(self):
        factors = [((0, 1), np.random.default_rng(0).uniform(0.5, 1, (300, 2)))]
        problem, _ = as_problem([300, 2], factors)
        found = run_gibbs(problem, draws=500, log_z=None)
        assert max(trace.max() for trace in found.joints.traces) > 255
        error = np.abs(found.beliefs.values - oracle.marginals([300, 2], factors))
        assert error.max() < 0.02

    def test_joint_beliefs_are_frequencies(self):
        problem, _ = as_problem(SIZES, some_factors(2), {1: 2})
        found = run_gibbs(problem, draws=500, log_z=None)
        table = found.joints(np.array([4, 1, 0]))
        assert table.shape == (2, 3, 2)
        assert table.sum() == pytest.approx(1)
        assert (table[:, :2] == 0).all()
        counted = np.mean([(t[:, 3] == 1) & (t[:, 0] == 0) for t in found.joints.traces])
        assert table[1, 2, 0] == pytest.approx(counted)
        assert found.joints(np.array([], np.int64)) == 1.0

    def test_joint_tables_that_would_be_too_large_are_not_made(self):
        problem, _ = as_problem(*ising(1, 21, 0.1))
        assert run_gibbs(problem, draws=4, log_z=None).joints(np.arange(21)) is None

    def test_the_callback_hears_of_sweeps_and_changes(self):
        problem, _ = as_problem(SIZES, some_factors())
        heard = []
        found = run_gibbs(
            problem, draws=200, burn_in=10, thin=3, callback=lambda *told: heard.append(told)
        )
        assert [sweep for sweep, _ in heard] == [10 + 60 * i for i in range(1, 11)]
        assert [change for _, change in heard] == found.residuals.tolist()
        assert (np.diff(found.residuals[[0, 1, -1]]) < 0).all()
        assert len(run_gibbs(problem, draws=4).residuals) == 4


class TestOddProblems:
    def test_lonely_observed_and_settled_variables(self):
        graph = FactorGraph()
        a, b, c = graph.variable("a", 2), graph.variable("b", 3), graph.variable("c", 1)
        graph.variable("lonely", 4)
        graph.factor([a, b], [[1, 2, 3], [4, 5, 6]])
        graph.factor([b, c], [[1], [2], [3]])
        wiring = graph.compile()
        problem = pose(wiring, resolve(wiring, {"a": 1}, {}, "test"))
        for blocks in BLOCKS:
            found = run_gibbs(problem, blocks=blocks)
            assert found.beliefs.of(0) is None
            np.testing.assert_allclose(found.beliefs.of(1), np.array([4, 10, 18]) / 32, rtol=1e-12)
            np.testing.assert_array_equal(found.beliefs.of(2), [1.0])
            np.testing.assert_allclose(found.beliefs.of(3), 0.25, rtol=1e-12)
            error = abs(found.log_z - np.log(4 * 32))
            assert error < 5 * found.details["log_z_standard_error"] < 0.1

    def test_nothing_is_free(self):
        problem, _ = as_problem([2, 2], [((0, 1), np.array([[1, 2], [3, 4]]))], {0: 1, 1: 0})
        found = run_gibbs(problem)
        assert found.log_z == pytest.approx(np.log(3))
        assert found.status == "EXACT"
        assert not len(found.beliefs.values)

    @pytest.mark.parametrize(
        ("factors", "evidence"),
        [
            ([((0,), [1, 0]), ((0,), [0, 1])], {}),
            ([((0, 1), [[1, 0], [0, 1]]), ((1, 0), [[0, 1], [1, 0]])], {}),
            ([((0, 1), [[0, 0], [0, 1]])], {0: 0, 1: 0}),
            ([((0, 1), [[0, 0], [0, 1]])], {0: 0}),
        ],
        ids=["weights", "factors of the same variables", "constant", "slice"],
    )
    def test_what_is_plainly_impossible_has_sum_zero(self, factors, evidence):
        problem, _ = as_problem([2, 2], [(s, np.array(t, float)) for s, t in factors], evidence)
        found = run_gibbs(problem)
        assert found.log_z == -np.inf
        assert found.beliefs.are_impossible

    def test_no_possible_start_is_a_clear_error(self, monkeypatch):
        monkeypatch.setattr(_starts, "_LEAST_CHANGES", 1000)
        differ = 1.0 - np.eye(2)
        ring = [((0, 1), differ), ((1, 2), differ), ((2, 0), differ)]
        problem, _ = as_problem([2] * 3, ring)
        with pytest.raises(NumericalError, match="Gibbs sampling needs states of positive prob"):
            run_gibbs(problem)

    def test_a_hard_puzzle_is_solved(self):
        # colour a ring of fifteen with three colours, one of them given
        differ = 1.0 - np.eye(3)
        ring = [((i, (i + 1) % 15), differ) for i in range(15)]
        problem, _ = as_problem([3] * 15, ring, {7: 2})
        found = run_gibbs(problem, blocks="trees")
        assert found.details["worst_r_hat"] < 1.05
        np.testing.assert_allclose(found.beliefs.of(6), [0.5, 0.5, 0.0], atol=0.03)
        assert found.log_z == pytest.approx(np.log((2**15 - 2) / 3), abs=0.5)

    @pytest.mark.parametrize("blocks", BLOCKS)
    def test_factors_that_float64_does_not_hold(self, blocks):
        rng = np.random.default_rng(0)
        graph = FactorGraph()
        for i in range(4):
            graph.variable(i, 2)
        near = rng.normal(size=(2, 2))
        graph.factor([0, 1], near + np.array([[0, -1000], [-1000, -1000]]), log=True)
        graph.factor([1, 2], near - np.array([[1000, 0], [1000, 0]]), log=True)
        graph.factor([2, 3], near, log=True)
        graph.factor([3], [-2000.0, -2000.5], log=True)
        wiring = graph.compile()
        problem = pose(wiring, resolve(wiring, {}, {}, "test"))
        assert problem.is_wide
        found = run_gibbs(problem, blocks=blocks, draws=4000)
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
            ({"seed": -1}, "The seed of Gibbs sampling"),
            ({"threads": 0}, "The threads of Gibbs sampling"),
            ({"log_z": "yes"}, "The log_z of Gibbs sampling must be one of 'ais', None"),
            ({"callback": 3}, "The callback of Gibbs sampling must be a function"),
            ({"blocks": "tree"}, "must be None, 'trees', or a list of lists of names. Got 'tree'"),
            ({"blocks": 7}, "must be None, 'trees', or a list of lists of names. Got 7"),
            ({"blocks": ["ab"]}, "must be a list of names, in order. Got 'ab'"),
            ({"blocks": [[0, 1], [1]]}, "must have no variable in common. 1 is in two"),
            ({"blocks": [[0, 0]]}, "names 0 twice"),
            ({"blocks": [[0, 1, 2]]}, "factors may close no cycle. Those of 0, 1, 2 close one"),
        ],
        ids=str,
    )
    def test_a_wrong_option_is_named(self, options, message):
        pairs = [((0, 1), np.ones((2, 2))), ((1, 2), np.ones((2, 2))), ((2, 0), np.ones((2, 2)))]
        problem, _ = as_problem([2] * 3, pairs)
        with pytest.raises(InputError, match=message):
            run_gibbs(problem, **options)

    def test_an_unknown_name_in_a_block_is_named(self):
        problem, _ = as_problem(SIZES, some_factors())
        with pytest.raises(LabelError, match="99"):
            run_gibbs(problem, blocks=[[0, 99]])
