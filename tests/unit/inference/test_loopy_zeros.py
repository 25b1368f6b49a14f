"""Zeros, conflicts and wide logs in loopy belief propagation."""

import numpy as np
import pytest
from tests.oracles import loopy as oracle
from tests.properties.loopy_twins import Twin, random_graph

import credo
from credo.exceptions import ImpossibleEvidence, InputError

SCHEDULES = ("flooding", "sequential", "residual", "random", "tree")


def loopy(model, evidence=None, **options):
    options = {"method": "loopy", "on_failure": "return", **options}
    return credo.infer(model, evidence, **options)


def cycle_of_copies(n=5, k=3):
    """All variables are equal, and the ring is closed by a factor that only favours that."""
    twin = Twin([k] * n)
    for v in range(n - 1):
        twin.potential([v, v + 1], np.eye(k))
    return twin.potential([n - 1, 0], 1.0 + np.eye(k))


@pytest.mark.parametrize("momentum", [1.0, 0.3])
@pytest.mark.parametrize("schedule", SCHEDULES)
class TestZeros:
    """Zeros travel exactly, however messages are mixed."""

    def test_an_impossible_state_has_belief_zero_everywhere(self, schedule, momentum):
        twin = cycle_of_copies().potential([2], [0.4, 0.0, 0.6])
        post = loopy(twin.graph, schedule=schedule, momentum=momentum)
        for v in range(5):
            assert post.probabilities(v)[1] == 0.0
            assert (post.probabilities(v)[[0, 2]] > 0).all()
        assert post.message(1, 0).values[1] == 0.0
        table = post.joint([3, 4]).table
        assert (table[~np.eye(3, dtype=bool)] == 0).all()

    def test_what_is_certain_at_one_place_is_certain_everywhere(self, schedule, momentum):
        twin = cycle_of_copies()
        post = loopy(twin.graph, {0: 2}, schedule=schedule, momentum=momentum)
        for v in range(5):
            assert post.probabilities(v).tolist() == [0.0, 0.0, 1.0]
        assert post.log_evidence == pytest.approx(np.log(2.0), abs=1e-12)

    def test_zeros_that_meet_name_the_conflict(self, schedule, momentum):
        twin = cycle_of_copies()
        with pytest.raises(ImpossibleEvidence, match="cannot all be true") as caught:
            loopy(twin.graph, {0: 2, 3: 1}, schedule=schedule, momentum=momentum)
        assert caught.value.conflict == {0: 2, 3: 1}

    def test_a_model_without_any_configuration_is_told_apart(self, schedule, momentum):
        twin = cycle_of_copies().potential([0], [1, 0, 0]).potential([2], [0, 1, 1])
        with pytest.raises(InputError, match="allows no configuration"):
            loopy(twin.graph, schedule=schedule, momentum=momentum)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
class TestConflicts:
    """Evidence that is impossible, met at once or on the way."""

    def pair(self, table):
        return Twin([2, 2]).potential([0, 1], table).graph

    def test_a_factor_all_of_whose_variables_are_observed(self, dtype):
        with pytest.raises(ImpossibleEvidence) as caught:
            loopy(self.pair([[0, 1], [1, 1]]), {0: 0, 1: 0}, dtype=dtype)
        assert caught.value.conflict == {0: 0, 1: 0}

    def test_a_row_of_zeros(self, dtype):
        with pytest.raises(ImpossibleEvidence) as caught:
            loopy(self.pair([[0, 0], [1, 1]]), {0: 0}, dtype=dtype)
        assert caught.value.conflict == {0: 0}

    def test_a_state_that_a_factor_of_one_variable_forbids(self, dtype):
        graph = Twin([2, 2]).potential([0], [1, 0]).potential([0, 1], np.ones((2, 2))).graph
        with pytest.raises(ImpossibleEvidence) as caught:
            loopy(graph, {0: 1}, dtype=dtype)
        assert caught.value.conflict == {0: 1}

    def test_weights_that_meet_in_the_middle(self, dtype):
        graph = Twin([2, 2]).potential([0, 1], np.eye(2)).graph
        with pytest.raises(ImpossibleEvidence) as caught:
            loopy(graph, likelihood={0: [1, 0], 1: [0, 1]}, dtype=dtype)
        assert set(caught.value.conflict) == {0, 1}

    def test_only_the_findings_that_conflict_are_named(self, dtype):
        twin = Twin([2] * 6)
        for v in range(5):
            twin.potential([v, v + 1], np.eye(2) if v in (1, 2) else np.ones((2, 2)))
        twin.potential([0, 5], [[1, 2], [2, 1]])
        with pytest.raises(ImpossibleEvidence) as caught:
            loopy(twin.graph, {0: 1, 1: 0, 3: 1, 5: 0}, dtype=dtype)
        assert caught.value.conflict == {1: 0, 3: 1}


def test_a_local_conflict_in_a_wide_graph_is_named():
    """No exact engine fits, but the two findings lie side by side."""
    side = 25
    twin = Twin([2] * side**2)
    for v in range(side**2):
        if v % side < side - 1:
            twin.potential([v, v + 1], [[2, 1], [1, 2]] if v else [[1, 0], [0, 1]])
        if v < side * (side - 1):
            twin.potential([v, v + side], [[2, 1], [1, 2]])
    with pytest.raises(ImpossibleEvidence, match="cannot all be true") as caught:
        loopy(twin.graph, {0: 0, 1: 1, 400: 1}, schedule="flooding", budget="10MB")
    assert caught.value.conflict == {0: 0, 1: 1}


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_zeros_of_an_earlier_answer_do_not_bind_a_later_one(schedule):
    chain = Twin([2] * 5)
    for v in range(4):
        chain.potential([v, v + 1], np.eye(2))
    chain.potential([0, 4], [[2, 1], [1, 2]])
    before = loopy(chain.graph, likelihood={0: [1, 0], 4: [1, 0]}, schedule=schedule)
    post = loopy(chain.graph, likelihood={2: [0, 1]}, start=before, schedule=schedule)
    for v in range(5):
        assert post.probabilities(v).tolist() == [0.0, 1.0]


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize(("momentum", "domain"), [(1.0, "linear"), (0.5, "linear"), (0.5, "log")])
def test_wide_logs_stay_finite(schedule, momentum, domain):
    """Far more than float64 holds; the smaller penalty decides, all around the cycle."""
    apart = [[0.0, -2000.0], [-2000.0, 0.0]]
    twin = Twin([2] * 3).factor([0, 1], apart).factor([1, 2], apart)
    twin.factor([0], [0.0, -1500.0]).factor([2], [-1400.0, 0.0]).factor(
        [0, 2], [[0, 0.1], [0.2, 0]]
    )
    post = loopy(twin.graph, schedule=schedule, momentum=momentum, domain=domain)
    for v in range(3):
        assert post.probabilities(v)[0] == 1.0
        assert post.probabilities(v)[1] < 1e-40
    assert post.log_evidence == pytest.approx(-1400.0, abs=1e-9)


@pytest.mark.parametrize("schedule", ["flooding", "sequential"])
def test_sweeps_on_wide_logs_equal_messages_written_out(schedule):
    for seed in range(25):
        rng = np.random.default_rng(seed)
        twin = random_graph(rng, [2, 3, 2, 3, 2], 8, strength=1000.0)
        twin.factor([0, 1], 1000 * rng.normal(size=(2, 3))).factor([1, 0], rng.normal(size=(3, 2)))
        post = loopy(twin.graph, schedule=schedule, momentum=0.5, domain="log", sweeps=4)
        net = twin.net()
        net.sweeps(post.sweeps, 0.5, in_logs=True, sequential=schedule == "sequential")
        for v in range(5):
            np.testing.assert_allclose(post.probabilities(v), net.belief(v), rtol=1e-7)
        assert np.isfinite(post.log_evidence)


def test_factors_of_any_scale_give_the_same_beliefs():
    rng = np.random.default_rng(2)
    plain, scaled = Twin([2] * 4), Twin([2] * 4)
    shift = 0.0
    for a, b in ((0, 1), (1, 2), (2, 3), (3, 0), (0, 2)):
        table, away = rng.normal(size=(2, 2)), float(rng.choice([-3000.0, 900.0]))
        plain.factor([a, b], table)
        scaled.factor([a, b], table + away)
        shift += away
    for options in ({}, {"schedule": "flooding", "dtype": "float32"}):
        one, two = loopy(plain.graph, **options), loopy(scaled.graph, **options)
        for v in range(4):
            np.testing.assert_allclose(one.probabilities(v), two.probabilities(v), atol=1e-7)
        assert two.log_evidence - shift == pytest.approx(one.log_evidence, abs=1e-6)


def test_an_observed_graph_and_an_empty_one_have_nothing_left_to_pass():
    twin = Twin([2, 3]).potential([0, 1], [[1, 2, 3], [4, 5, 6]])
    for schedule in SCHEDULES:
        post = loopy(twin.graph, {0: 1, 1: 2}, schedule=schedule)
        assert (post.status, post.updates) == ("EXACT", 0)
        assert post.log_evidence == pytest.approx(np.log(6.0))
        assert post.to_dict() == {0: {0: 0.0, 1: 1.0}, 1: {0: 0.0, 1: 0.0, 2: 1.0}}
        empty = loopy(credo.FactorGraph(), schedule=schedule)
        assert (empty.status, empty.log_evidence, len(empty)) == ("EXACT", 0.0, 0)


def test_beliefs_of_a_graph_with_zeros_and_cycles_are_those_of_the_oracle():
    settled = 0
    for seed in range(14):
        rng = np.random.default_rng(seed)
        twin = random_graph(rng, [2, 3, 2, 3], 7, strength=0.5, zeros=0.15)
        if not np.isfinite(oracle.log_product(twin.sizes, twin.factors)).any():
            continue
        net = twin.net()
        if not net.settled(most=60):
            continue
        settled += 1
        post = loopy(twin.graph, tolerance=1e-12)
        for v in range(4):
            np.testing.assert_allclose(post.probabilities(v), net.belief(v), atol=1e-8)
            assert ((post.probabilities(v) == 0) == (net.belief(v) == 0)).all()
        assert post.log_evidence == pytest.approx(net.log_z(), abs=1e-8)
    assert settled > 6
