"""Approximate engines through ``infer`` and ``bounds``, next to sums over all configurations."""

import itertools
import warnings
from decimal import Decimal

import numpy as np
import pytest
from tests.oracles import inference as oracle

import credo
from credo.exceptions import ApproximationWarning

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


def log_z_of(configurations):
    """The log of the sum, with more digits than a float has."""
    return oracle.CONTEXT.ln(oracle.total(configurations))


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


class TestBounds:
    def test_on_a_forest_they_hold_to_the_last_digit(self):
        """The sum is divided by itself, so that rounding is all that is left of its log."""
        for seed in range(5):
            factors = ring(seed)[:-1]
            whole = float(log_z_of(left_by(SIZES, factors)))
            factors.append(((0,), np.full(SIZES[0], -whole)))
            found = credo.bounds(model_of(SIZES, factors))
            exact = log_z_of(left_by(SIZES, factors))
            assert Decimal(found.lower) < exact < Decimal(found.upper)
            assert found.gap < 1e-12

    def test_from_above_they_hold_where_nothing_but_rounding_is_between(self):
        """Tables of the ring that are products bind nothing: the bound is the sum itself."""
        for seed in range(10):
            rng = np.random.default_rng(seed)
            factors = [
                (scope, np.add.outer(*(rng.normal(CONSTANT, 1.0, SIZES[v]) for v in scope)))
                for scope in RING
            ]
            found = credo.bounds(model_of(SIZES, factors), tolerance=1e-13)
            exact = log_z_of(left_by(SIZES, factors))
            assert Decimal(found.upper) > exact
            assert found.upper - float(exact) < 1e-9

    def test_probabilities_lie_between_theirs(self):
        for seed in range(5):
            factors = ring(seed, strength=3.0)
            found = credo.bounds(model_of(SIZES, factors), {4: 1}, rounds=0)
            left = left_by(SIZES, factors, [(4, 1)])
            for v, marginal in enumerate(oracle.marginals(left, SIZES)):
                low, high = found.marginal(v).T
                assert (low <= marginal).all()
                assert (marginal <= high).all()

    def test_weights_above_one_are_no_probabilities(self):
        net = credo.BayesianNetwork()
        net.variable("v", 2)
        net.cpt("v", table=[0.25, 0.75])
        found = credo.bounds(net, likelihood={"v": [2.0, 10.0]})
        assert found.lower <= np.log(8.0) <= found.upper


class TestGibbs:
    def test_draws_begin_after_the_burn_in(self):
        """Of one seed, the mean of eight draws is that of the first four and the four after."""
        model = model_of(SIZES, ring(4))

        def mean(burn_in, draws):
            options = {"chains": 1, "thin": 1, "log_z": None, "seed": 5, "on_failure": "return"}
            post = credo.infer(model, method="gibbs", burn_in=burn_in, draws=draws, **options)
            return np.concatenate([post.probabilities(v) for v in range(5)])

        np.testing.assert_allclose(mean(0, 8), (mean(0, 4) + mean(4, 4)) / 2, rtol=1e-12)
        assert np.abs(mean(0, 4) - mean(4, 4)).max() > 0.01

    def test_annealing_finds_the_log_of_the_sum(self):
        """The weights of walks are unbiased, and the mean of their logarithms is not."""
        factors = ring(6, strength=5.0)
        exact = oracle.log_total(left_by(SIZES, factors))
        options = {"draws": 4, "burn_in": 0, "chains": 1, "on_failure": "return"}
        off, errors = [], []
        for seed in range(16):
            post = credo.infer(model_of(SIZES, factors), method="gibbs", seed=seed, **options)
            off.append(post.log_evidence - exact)
            errors.append(post.details["log_z_standard_error"])
        assert abs(np.mean(off)) < 3 * np.mean(errors) / np.sqrt(len(off))


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
