"""Iterated conditional modes: never worse than the start, and nothing near is better."""

import itertools

import numpy as np
import pytest
from tests.oracles import maxima as oracle
from tests.unit.inference.test_maxima_cuts import graph_of, posed
from tests.unit.inference.test_maxima_trws import frustrated

from credo.exceptions import InputError
from credo.inference.maxima.local_moves import run_icm


def random_problem(seed):
    rng = np.random.default_rng(seed)
    shape, factors = oracle.random_factors(rng) if seed % 10 else oracle.dense_factors(rng)
    return posed(graph_of(shape, factors)), oracle.log_product(shape, factors), rng


def neighbours(states, shape):
    """All configurations that differ in one variable."""
    for axis, k in itertools.chain.from_iterable(
        ((a, x) for x in range(size)) for a, size in enumerate(shape)
    ):
        yield (*states[:axis], k, *states[axis + 1 :])


@pytest.mark.parametrize("block", range(3))
def test_it_is_never_worse_than_its_start_and_no_single_change_helps(block):
    for seed in range(block * 100, block * 100 + 100):
        problem, logs, rng = random_problem(seed)
        start = rng.integers(0, logs.shape)
        found = run_icm(problem, start=start)
        states = tuple(found.states.tolist())
        assert found.log_score == pytest.approx(logs[states], abs=1e-12), seed
        assert found.log_score >= logs[tuple(start)] - 1e-12, seed
        assert found.status == "CONVERGED"
        assert found.bound == np.inf
        if found.log_score > -np.inf:
            around = max(logs[near] for near in neighbours(states, logs.shape))
            assert around <= found.log_score + 1e-12, seed


def test_restarts_only_help_and_the_same_seed_gives_the_same():
    gains = 0
    for seed in range(60):
        problem, logs, _ = random_problem(seed)
        once = run_icm(problem, start="random", seed=seed)
        often = run_icm(problem, start="random", seed=seed, restarts=8)
        again = run_icm(problem, start="random", seed=seed, restarts=8)
        assert once.log_score <= often.log_score <= logs.max() + 1e-12
        assert often.states.tolist() == again.states.tolist()
        gains += often.log_score > once.log_score
    assert gains > 5


def test_it_starts_where_single_factors_point():
    factors = [([0], np.array([1.0, 2.0])), ([1], np.array([0.3, 0.1, 0.2])), ([0], [1.0, 0.9])]
    found = run_icm(posed(graph_of((2, 3, 2), factors)))
    assert found.states.tolist() == [1, 0, 0]
    assert found.log_score == pytest.approx(np.log(1.8 * 0.3))


def test_an_impossible_start_is_left_by_way_of_fewer_zeros():
    table = np.array([[0.0, 0.0], [0.0, 1.0]])
    factors = [([0, 1], table), ([1, 2], table), ([0], [3.0, 1.0]), ([2], [2.0, 0.0])]
    problem = posed(graph_of((2, 2, 2), factors[:3]))
    assert run_icm(problem, start=np.array([0, 0, 0])).log_score == -np.inf  # no single one helps
    assert run_icm(problem, start=np.array([0, 1, 0])).states.tolist() == [1, 1, 1]
    assert run_icm(posed(graph_of((2, 2, 2), factors)), restarts=20).log_score == -np.inf


def test_equal_states_are_left_alone():
    problem = posed(graph_of((3, 3), [([0, 1], np.ones((3, 3)))]))
    assert run_icm(problem, start=np.array([2, 1])).states.tolist() == [2, 1]


def test_the_sweeps_can_run_out():
    n = 30
    factors = [([i + 1, i], np.array([[1.0, 0.1], [0.1, 1.0]])) for i in range(n - 1)]
    factors += [([i], np.array([1.0, 1.2])) for i in range(n - 1)]
    problem = posed(graph_of((2,) * n, [*factors, ([n - 1], np.array([1.0, 50.0]))]))
    found = run_icm(problem, start=np.zeros(n, int), sweeps=3)  # the last one moves first
    assert found.status == "MAX_SWEEPS"
    assert found.states.tolist() == [0] * (n - 3) + [1] * 3
    assert run_icm(problem, start=np.zeros(n, int)).states.tolist() == [1] * n


def test_each_start_is_told_with_the_best_score():
    problem, _, _ = random_problem(11)
    told = []
    found = run_icm(problem, restarts=3, callback=lambda k, score: told.append((k, score)))
    assert [k for k, _ in told] == [1, 2, 3, 4]
    assert told[-1][1] == found.log_score == max(score for _, score in told)


@pytest.mark.parametrize(
    "start", ["best", np.array([0, 1, 0]), np.array([0, 2]), np.array([-1, 0]), np.array([0.5, 0])],
    ids=["word", "long", "large", "small", "half"],
)  # fmt: skip
def test_a_start_that_is_none_is_refused(start):
    problem = posed(graph_of((2, 2), [([0, 1], np.ones((2, 2)))]))
    with pytest.raises(InputError, match="The start of icm must"):
        run_icm(problem, start=start)


@pytest.mark.parametrize(("option", "value"), [("sweeps", 0), ("restarts", -1), ("seed", "x")])
def test_options_that_mean_nothing_are_refused(option, value):
    with pytest.raises(InputError, match=f"The {option} of icm"):
        run_icm(posed(graph_of((2,), [])), **{option: value})


class TestForests:
    @pytest.mark.parametrize("block", range(2))
    def test_they_never_lose_and_the_score_is_that_of_the_states(self, block):
        for seed in range(block * 100, block * 100 + 100):
            problem, logs, rng = random_problem(seed)
            start = rng.integers(0, logs.shape)
            found = run_icm(problem, start=start, forests=5, seed=seed)
            alone = run_icm(problem, start=start)
            assert alone.log_score <= found.log_score <= logs.max() + 1e-12, seed
            states = tuple(found.states.tolist())
            assert found.log_score == pytest.approx(logs[states], abs=1e-12), seed

    @pytest.mark.parametrize("seed", range(20))
    def test_one_move_solves_a_tree(self, seed):
        rng = np.random.default_rng(seed)
        shape = tuple(rng.integers(2, 4, 8).tolist())
        scopes = [[i, int(rng.integers(i))] for i in range(1, 6)] + [[5, 6, 7]]
        factors = [(axes, rng.random([shape[a] for a in axes])) for axes in scopes]
        problem = posed(graph_of(shape, factors))
        found = run_icm(problem, start="random", forests=1, seed=seed)
        assert found.log_score == pytest.approx(oracle.log_product(shape, factors).max())

    def test_they_help_where_single_moves_are_stuck(self):
        gains = 0
        for seed in range(20):
            model, factors = frustrated(np.random.default_rng(seed), 3)
            best = oracle.log_product((3,) * 9, factors).max()
            problem = posed(model)
            alone, moved = run_icm(problem), run_icm(problem, forests=30)
            assert alone.log_score <= moved.log_score <= best + 1e-9
            gains += moved.log_score > best - 1e-9 > alone.log_score
        assert gains >= 8

    def test_the_same_seed_moves_the_same_forests(self):
        problem = posed(frustrated(np.random.default_rng(4), 4, 8, 8)[0])
        once, again, other = (run_icm(problem, forests=3, seed=seed) for seed in (1, 1, 2))
        assert once.states.tolist() == again.states.tolist()
        assert once.states.tolist() != other.states.tolist()
