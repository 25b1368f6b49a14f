"""Approximate engines through ``infer`` and ``mpe``, next to sums over all configurations."""

import itertools
import pickle  # noqa: TID251 - to send an answer to another process
import warnings

import numpy as np
import pytest
from tests.oracles import inference as oracle

import credo
from credo.exceptions import ApproximationWarning
from credo.inference.engines import ENGINES

SIZES = (2, 3, 2, 2, 3)
RING = ((0, 1), (1, 2), (2, 3), (3, 4), (4, 0))
CONSTANT = 3.0


def model_of(sizes, factors):
    """A factor graph of variables 0, 1, … and tables of logs by their scopes."""
    graph = credo.FactorGraph()
    for v, size in enumerate(sizes):
        graph.variable(v, size)
    for scope, logs in factors:
        graph.factor(list(scope), logs, log=True)
    return graph


def ring(seed, strength=1.0):
    """A ring of five variables with tables whose largest cells are far from one."""
    rng = np.random.default_rng(seed)
    return [
        (scope, CONSTANT + strength * rng.normal(size=[SIZES[v] for v in scope])) for scope in RING
    ]


def left_by(sizes, factors, seen=()):
    """All configurations that agree with what was seen."""
    listed = oracle.configurations(sizes, [oracle.factor(s, t, log=True) for s, t in factors])
    return [(x, p) for x, p in listed if all(x[v] == state for v, state in seen)]


class TestRegions:
    METHODS = pytest.mark.parametrize("method", ["generalised", "double_loop"])

    @METHODS
    def test_one_region_of_everything_is_exact(self, method):
        factors = [*ring(1), ((0, 1), np.array([[1.0, -2.0, 0.5], [0.0, 4.0, 1.0]]))]
        left = left_by(SIZES, factors, [(0, 1), (1, 2)])
        post = credo.infer(
            model_of(SIZES, factors), {0: 1, 1: 2}, method=method, regions=[[2, 3, 4]]
        )
        assert (post.status, post.log_evidence_is) == ("EXACT", "EXACT")
        assert post.log_evidence == pytest.approx(oracle.log_total(left), rel=1e-12)
        for v, marginal in enumerate(oracle.marginals(left, SIZES)):
            np.testing.assert_allclose(post.probabilities(v), marginal, atol=1e-9)

    @METHODS
    def test_joints_have_their_axes_in_the_order_asked_for(self, method):
        factors = ring(2)
        post = credo.infer(model_of(SIZES, factors), method=method, regions=[list(range(5))])
        for names in itertools.permutations((0, 1, 4)):
            expected = oracle.joint(left_by(SIZES, factors), SIZES, names)
            np.testing.assert_allclose(post.joint(names).table, expected, atol=1e-9)

    @METHODS
    def test_a_loop_of_pairs_is_an_estimate(self, method):
        factors = ring(3, strength=2.0)
        post = credo.infer(model_of(SIZES, factors), method=method, regions="bethe")
        assert (post.status, post.log_evidence_is) == ("CONVERGED", "ESTIMATE")
        assert abs(post.log_evidence - oracle.log_total(left_by(SIZES, factors))) > 1e-4


class TestMaxima:
    @staticmethod
    def clique(seed, size=6, strength=2.0):
        """Variables of two states, each pair bound at random: no cut solves it."""
        rng = np.random.default_rng(seed)
        pairs = itertools.combinations(range(size), 2)
        factors = [((v,), rng.normal(size=2)) for v in range(size)]
        return [*factors, *((pair, strength * rng.normal(size=(2, 2))) for pair in pairs)]

    @staticmethod
    def best(factors, size):
        """The largest sum of logs over all configurations."""
        every = itertools.product((0, 1), repeat=size)
        return max(sum(t[tuple(x[v] for v in scope)] for scope, t in factors) for x in every)

    def test_a_bound_of_messages_is_never_below_the_best_and_proves_nothing_where_it_is_above(self):
        above = 0
        for seed in range(10):
            factors = self.clique(seed)
            best = self.best(factors, 6)
            found = credo.mpe(model_of([2] * 6, factors), method="tree_reweighted")
            assert found.log_score <= best + 1e-9 <= found.bound + 2e-9
            assert found.is_exact is (found.bound < found.log_score + 1e-9)
            above += found.bound > best + 1e-3
        assert above

    def test_a_cut_swaps_the_states_of_variables_that_repel_each_other(self):
        repels = np.array([[0.0, 1.5], [1.5, 0.0]])
        for seed in range(5):
            rng = np.random.default_rng(seed)
            factors = [((v,), rng.normal(size=2)) for v in range(6)]
            factors += [((v, (v + 1) % 6), repels) for v in range(6)]
            found = credo.mpe(model_of([2] * 6, factors), method="graph_cut")
            assert found.log_score == pytest.approx(self.best(factors, 6), abs=1e-12)
            assert found.is_exact

    def test_above_the_budget_the_better_of_two_engines_answers(self):
        better = set()
        for seed in (0, 3, 12):
            model = model_of([2] * 9, self.clique(seed, 9, 6.0))
            scores = [credo.mpe(model, method=m).log_score for m in ("tree_reweighted", "loopy")]
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ApproximationWarning)
                found = credo.mpe(model, budget="1B")
            assert found.log_score == pytest.approx(max(scores), abs=1e-9)
            better.add(round(scores[0] - scores[1], 6) > 0)
        assert better == {True, False}


def travelled(post):
    """The same answer in another process."""
    return pickle.loads(pickle.dumps(post))  # noqa: S301 - our own


class TestTravel:
    model = model_of(SIZES, ring(0, strength=0.3))

    @pytest.mark.parametrize(
        "method",
        [name for name, engine in ENGINES.items() if engine.promise != "exact"],
    )
    def test_an_answer_that_travelled_reads_the_same(self, method):
        post = credo.infer(self.model, {0: 1}, method=method)
        there = travelled(post)
        assert there.to_dict() == post.to_dict()
        assert (there.status, there.log_evidence) == (post.status, post.log_evidence)
        np.testing.assert_array_equal(there.joint([1, 2]).table, post.joint([1, 2]).table)

    @pytest.mark.parametrize("dtype", ["float32", "float64"])
    def test_messages_travel_too(self, dtype):
        post = credo.infer(self.model, method="loopy", schedule="flooding", dtype=dtype)
        there = travelled(post)
        assert np.array_equal(there.message(0, 1).values, post.message(0, 1).values)
        again = credo.infer(there.question.model, method="loopy", start=there)
        assert again.sweeps <= 3
