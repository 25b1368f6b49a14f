"""Loopy belief propagation on trees, with zeros, and through rules."""

import math

import numpy as np
import pytest
from tests.oracles import loopy as oracle
from tests.properties.loopy_twins import Twin, random_graph, random_tree
from tests.work import bytes_in

import credo
from credo.exceptions import ExpansionWarning, ImpossibleEvidence, InputError

SCHEDULES = ("auto", "flooding", "sequential", "residual", "random", "tree")
KINDS = ("even", "odd", "one", "or", "and")


def loopy(model, evidence=None, **options):
    options = {"method": "loopy", "on_failure": "return", **options}
    return credo.infer(model, evidence, **options)


def with_rule(kind, n, seed=0, strength=1.0, chances=(0.0, 0.3, 0.8, 1.0), leak=0.1):
    """One rule over n variables, each with a potential."""
    rng = np.random.default_rng(seed)
    twin = Twin([2] * n)
    for v in range(n):
        twin.factor([v], strength * rng.normal(size=2))
    scope = rng.permutation(n).tolist()
    picked = rng.choice(chances, size=n - 1).tolist()
    if kind in ("even", "odd"):
        return twin.parity(scope, even=kind == "even")
    if kind == "one":
        return twin.at_most_one(scope)
    return (twin.noisy_or if kind == "or" else twin.noisy_and)(scope, picked, leak)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n", [1, 2, 3, 5, 12])
def test_one_rule_is_exact(kind, n):
    twin = with_rule(kind, n, seed=n)
    post = loopy(twin.graph)
    expected, log_z = oracle.marginals(twin.sizes, twin.factors)
    for v in range(n):
        np.testing.assert_allclose(post.probabilities(v), expected[v], rtol=1e-12, atol=1e-300)
    assert post.log_evidence == pytest.approx(log_z, rel=1e-12)
    assert post.status == "EXACT"


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("state", [0, 1])
@pytest.mark.parametrize("leak", [0.0, 0.1, 1.0])
def test_evidence_on_each_member_is_exact(kind, state, leak):
    twin = with_rule(kind, 6, seed=3, leak=leak)
    for v in range(6):
        seen, weights = {v: state, (v + 2) % 6: 0}, {(v + 4) % 6: [0.2, 0.9]}
        factors = twin.weighed(seen, weights)
        if not np.isfinite(oracle.log_product(twin.sizes, factors)).any():
            with pytest.raises(ImpossibleEvidence):
                loopy(twin.graph, seen, likelihood=weights)
            continue
        post = loopy(twin.graph, seen, likelihood=weights)
        expected, log_z = oracle.marginals(twin.sizes, factors)
        for u in range(6):
            np.testing.assert_allclose(post.probabilities(u), expected[u], rtol=1e-12, atol=1e-300)
        assert post.log_evidence == pytest.approx(log_z, rel=1e-11)
        assert post.status == "EXACT"


@pytest.mark.parametrize("kind", ["even", "odd", "one"])
def test_maxima_of_rules_are_exact(kind):
    twin = with_rule(kind, 7, seed=5)
    post = loopy(twin.graph, temperature=0)
    expected, best = oracle.marginals(twin.sizes, twin.factors, maximum=True)
    for v in range(7):
        np.testing.assert_allclose(post.probabilities(v), expected[v], rtol=1e-12, atol=1e-300)
    assert post.log_evidence == pytest.approx(best, rel=1e-12)


@pytest.mark.parametrize("kind", ["or", "and"])
@pytest.mark.parametrize("temperature", [0, 0.5, 2.0])
def test_noisy_gates_at_other_temperatures_are_written_out_and_exact(kind, temperature):
    twin = with_rule(kind, 5, seed=6)
    with pytest.warns(ExpansionWarning, match="written out as a table of 32 cells"):
        post = loopy(twin.graph, temperature=temperature)
    heated = [(scope, logs / (temperature or 1)) for scope, logs in twin.factors]
    expected, log_z = oracle.marginals(twin.sizes, heated, maximum=temperature == 0)
    for v in range(5):
        np.testing.assert_allclose(post.probabilities(v), expected[v], rtol=1e-11, atol=1e-300)
    assert post.log_evidence == pytest.approx(log_z, rel=1e-11)


@pytest.mark.parametrize("strength", [1.0, 200.0])
@pytest.mark.parametrize("kind", KINDS)
def test_a_rule_of_thousands_is_finite(kind, strength):
    """A table would have 2^3000 cells."""
    fields = strength * np.random.default_rng(0).normal(size=3000)
    post = loopy(long_rule(kind, 3000, fields))
    beliefs = np.array([post.probabilities(v) for v in range(3000)])
    assert np.isfinite(beliefs).all()
    assert np.isfinite(post.log_evidence)
    assert post.status == "EXACT"
    expected, log_z = closed_form(kind, fields)
    np.testing.assert_allclose(beliefs[:, 1], expected, rtol=1e-8, atol=1e-300)
    assert post.log_evidence == pytest.approx(log_z, rel=1e-11)


def closed_form(kind, fields):
    """Marginals of second states and log Z, from the algebra of each rule."""
    on = np.exp(-np.logaddexp(0.0, -fields))
    whole = np.logaddexp(0.0, fields)
    if kind in ("even", "odd"):
        return _parity(fields, on, whole, 1.0 if kind == "even" else -1.0)
    if kind == "one":
        log_z = np.logaddexp.reduce([0.0, *fields])
        return np.exp(fields - log_z), log_z
    return _gate(kind, fields)


def _parity(fields, on, whole, flip):
    """P(x_v = 1, parity) = on_v (1 - product of the others' E[1 - 2x]) / 2, products by logs."""
    logs = np.log(np.abs(np.tanh(fields / 2)))
    signs = np.where(fields > 0, -1.0, 1.0)
    product = flip * signs.prod() * np.exp(logs.sum())
    others = flip * signs.prod() * signs * np.exp(logs.sum() - logs)
    return on * (1 - others) / (1 + product), whole.sum() + np.log((1 + product) / 2)


def _gate(kind, fields):
    """The gate by its two terms: the child quiet with all failing, or anything but that."""
    parents, child, p, leak = fields[:-1], fields[-1], 0.01, 0.02
    quiet = 1 if kind == "and" else 0  # the state that needs all active parents to fail
    active = 1 - quiet
    pulls = np.stack([np.zeros_like(parents), parents])
    idle, moved = pulls[quiet], pulls[active]
    free = np.logaddexp(idle, moved)
    failing = np.logaddexp(idle, moved + np.log1p(-p))
    log_fail = np.log1p(-leak) + failing.sum()
    log_not = free.sum() + np.log1p(-np.exp(log_fail - free.sum()))
    child_pulls = np.array([0.0, child])
    terms = np.array([child_pulls[quiet] + log_fail, child_pulls[active] + log_not])
    log_z = np.logaddexp(*terms)
    # P(parent on) from both terms; anything but all failing is all less the failing part
    on = pulls[1]
    on_failing = moved + np.log1p(-p) if active == 1 else idle
    quiet_part = np.exp(terms[0] - log_z + on_failing - failing)
    all_free = np.exp(child_pulls[active] + free.sum() - log_z + on - free)
    all_fail = np.exp(child_pulls[active] + log_fail - log_z + on_failing - failing)
    parents_on = quiet_part + all_free - all_fail
    child_on = np.exp(terms[0 if quiet == 1 else 1] - log_z)
    return np.append(parents_on, child_on), log_z


def long_rule(kind, n, pull):
    """One rule of n variables, and a potential on each."""
    model = credo.FactorGraph()
    for v in range(n):
        model.variable(v, 2)
        model.factor([v], [0.0, pull[v]], log=True)
    if kind in ("even", "odd"):
        model.parity(range(n), kind == "even")
    elif kind == "one":
        model.at_most_one(range(n))
    else:
        add = model.noisy_or if kind == "or" else model.noisy_and
        add(n - 1, dict.fromkeys(range(n - 1), 0.01), 0.02)
    return model


@pytest.mark.parametrize(
    ("kind", "schedule"), [("even", "flooding"), ("one", "sequential"), ("or", "residual")]
)
def test_memory_is_linear_in_the_length_of_a_rule(kind, schedule):
    def peak(n):
        return bytes_in(lambda: loopy(long_rule(kind, n, np.zeros(n)), schedule=schedule))

    assert peak(3000) < 8 * peak(500)


@pytest.mark.parametrize("flipped", [(0,), (1, 4), (0, 2, 5)])
def test_parities_around_a_ring_outvote_flipped_bits(flipped):
    """Each bit equals the next: seven noisy copies of one bit, most of which are zero."""
    twin = Twin([2] * 7)
    for v in range(7):
        twin.potential([v], [0.1, 0.9] if v in flipped else [0.9, 0.1])
        twin.parity([v, (v + 1) % 7])
    post = loopy(twin.graph)
    assert post.status == "CONVERGED"
    assert [int(post.probabilities(v).argmax()) for v in range(7)] == [0] * 7


def test_deterministic_children_are_tables():
    twin = Twin([3, 3, 3])
    twin.graph.deterministic(2, [0, 1], max)
    table = np.zeros((3, 3, 3))
    for a in range(3):
        for b in range(3):
            table[a, b, max(a, b)] = 1.0
    twin.factors.append(((0, 1, 2), oracle.logs_of(table)))
    post = loopy(twin.graph, {2: 1})
    expected, log_z = oracle.marginals(twin.sizes, twin.weighed({2: 1}))
    for v in range(3):
        np.testing.assert_allclose(post.probabilities(v), expected[v], rtol=1e-13, atol=1e-300)
    assert post.log_evidence == pytest.approx(log_z)


class TestOneVariable:
    """A rule over one variable is a table of that variable, wherever it stands."""

    @pytest.mark.parametrize("schedule", ["auto", "flooding", "sequential", "residual", "tree"])
    @pytest.mark.parametrize("rule", ["even", "odd", "at_most_one", "noisy_or", "noisy_and"])
    @pytest.mark.parametrize("is_first", [True, False])
    def test_alone_and_beside_others(self, rule, schedule, is_first):
        twin = Twin([2, 2, 2])
        table = [[2.0, 1.0], [1.0, 3.0]]
        if not is_first:
            twin.potential([0, 1], table).potential([1, 2], table)
        if rule in ("even", "odd"):
            twin.parity([1], even=rule == "even")
        elif rule == "at_most_one":
            twin.at_most_one([1])
        else:
            getattr(twin, rule)([1], [], 0.1)
        if is_first:
            twin.potential([0, 1], table).potential([1, 2], table)
        exact, post = credo.infer(twin.graph), loopy(twin.graph, schedule=schedule)
        assert post.status == "EXACT"
        assert post.log_evidence == pytest.approx(exact.log_evidence, rel=1e-12)
        for v in range(3):
            np.testing.assert_allclose(post.probabilities(v), exact.probabilities(v), rtol=1e-12)

    def test_a_check_of_one_bit(self):
        graph = credo.graphs.parity_graph(np.array([[1, 1, 0], [0, 0, 1]]))
        seen = {v: [0.6, 0.4] for v in graph.variables}
        exact, post = (
            credo.infer(graph, likelihood=seen, method=method) for method in ("auto", "loopy")
        )
        assert post.status == "EXACT"
        for v in graph.variables:
            np.testing.assert_allclose(post.probabilities(v), exact.probabilities(v), rtol=1e-12)


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


SIZES = [2, 3, 2, 4, 2, 3, 2, 2, 3]


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("seed", range(3))
def test_marginals_evidence_and_joints_equal_enumeration(schedule, seed):
    rng = np.random.default_rng(seed)
    twin = random_tree(rng, SIZES, strength=2.0)
    seen, weights = {4: 1, 7: 0}, {3: [0.2, 1.0, 3.0, 0.5]}
    post = loopy(twin.graph, seen, likelihood=weights, schedule=schedule)
    factors = twin.weighed(seen, weights)
    expected, log_z = oracle.marginals(SIZES, factors)
    for v, marginal in enumerate(expected):
        np.testing.assert_allclose(post.probabilities(v), marginal, rtol=1e-12, atol=1e-300)
    assert post.log_evidence == pytest.approx(log_z, rel=1e-12)
    assert post.free_energy == -post.log_evidence
    for scope, _ in twin.factors:
        joint = oracle.joint(SIZES, factors, list(scope))
        np.testing.assert_allclose(post.joint(scope).table, joint, rtol=1e-11, atol=1e-300)
    assert (post.status, post.log_evidence_is, post.period) == ("EXACT", "EXACT", 0)


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_at_temperature_zero_beliefs_are_max_marginals(schedule):
    rng = np.random.default_rng(5)
    twin = random_tree(rng, SIZES, strength=2.0)
    post = loopy(twin.graph, {2: 1}, schedule=schedule, temperature=0)
    best = credo.max_marginals(twin.graph, {2: 1})
    for v in range(len(SIZES)):
        scores = np.exp(best.log_values(v) - best.log_values(v).max())
        np.testing.assert_allclose(post.probabilities(v), scores / scores.sum(), rtol=1e-12)
    assert post.log_evidence == pytest.approx(best.best.log_score, rel=1e-12)
    assert post.status == "EXACT"


@pytest.mark.parametrize("k", [2, 3, 7])
def test_temperatures_are_powers_of_the_model(k):
    rng = np.random.default_rng(k)
    twin = random_tree(rng, [k] * 5, strength=1.0)
    for temperature in (0.25, 0.5, 3.0):
        post = loopy(twin.graph, temperature=temperature)
        heated = [(scope, logs / temperature) for scope, logs in twin.factors]
        expected, log_z = oracle.marginals(twin.sizes, heated)
        for v, marginal in enumerate(expected):
            np.testing.assert_allclose(post.probabilities(v), marginal, rtol=1e-11)
        assert post.log_evidence == pytest.approx(log_z, rel=1e-11)


def test_small_temperatures_approach_max_marginals():
    rng = np.random.default_rng(11)
    twin = random_tree(rng, [2, 3, 2, 3], strength=1.0)
    best = credo.max_marginals(twin.graph)
    away = []
    for temperature in (0.2, 0.1, 0.05):
        post = loopy(twin.graph, temperature=temperature)
        # T log b is a score, up to a constant, and T log Z goes to the best one
        scores = [temperature * np.log(post.probabilities(v)) for v in range(4)]
        gaps = [np.ptp(score - best.log_values(v)) for v, score in enumerate(scores)]
        away.append(max(*gaps, abs(temperature * post.log_evidence - best.best.log_score)))
    assert away[0] > away[1] > away[2]
    assert away[2] < 0.05 * math.log(36)  # at most T times the log of the number of configurations


def test_the_tree_schedule_passes_every_message_once():
    rng = np.random.default_rng(1)
    twin = random_tree(rng, SIZES)
    post = loopy(twin.graph, schedule="tree")
    assert post.updates == sum(len(scope) for scope, _ in twin.factors if len(scope) > 1)
    assert post.sweeps == 1
    assert post.details["schedule"] == "tree"


@pytest.mark.parametrize("n", [2, 3, 50])
def test_a_chain_of_n_variables_passes_twice_n_less_one_messages(n):
    rng = np.random.default_rng(n)
    twin = Twin([2] * n)
    for v in range(n - 1):
        twin.factor([v, v + 1], rng.normal(size=(2, 2)))
    assert loopy(twin.graph).updates == 2 * (n - 1)


def test_momentum_and_few_sweeps_do_not_spoil_a_tree():
    rng = np.random.default_rng(2)
    twin = random_tree(rng, SIZES)
    exact = credo.infer(twin.graph)
    for schedule in SCHEDULES:
        post = loopy(twin.graph, schedule=schedule, momentum=0.1, tolerance=0.05)
        assert post.status == "EXACT"
        for v in range(len(SIZES)):
            np.testing.assert_allclose(post.probabilities(v), exact.probabilities(v), rtol=1e-10)


def test_a_forest_with_lonely_and_certain_variables_is_exact():
    twin = Twin([2, 3, 1, 2, 4])
    twin.potential([0, 1], [[1, 2, 3], [4, 0, 6]]).potential([2], [5.0]).potential([2, 3], [[2, 7]])
    post = loopy(twin.graph)
    expected, log_z = oracle.marginals(twin.sizes, twin.factors)
    for v, marginal in enumerate(expected):
        np.testing.assert_allclose(post.probabilities(v), marginal, rtol=1e-13)
    assert post.log_evidence == pytest.approx(log_z, rel=1e-13)
    assert post.status == "EXACT"


def test_evidence_that_cuts_all_cycles_leaves_a_tree():
    ring = credo.MarkovNetwork()
    for name in "abcd":
        ring.node(name, 2, [0.3, 0.7])
    for one, two in ("ab", "bc", "cd", "da"):
        ring.edge(one, two, [[3.0, 1.0], [1.0, 2.0]])
    assert loopy(ring).status == "CONVERGED"
    post = loopy(ring, {"a": 0})
    exact = credo.infer(ring, {"a": 0})
    assert post.status == post.log_evidence_is == "EXACT"
    assert post.log_evidence == pytest.approx(exact.log_evidence, rel=1e-13)
    for name in "abcd":
        np.testing.assert_allclose(post.probabilities(name), exact.probabilities(name), rtol=1e-13)


def test_two_factors_between_the_same_variables_are_a_cycle_and_no_tree():
    twin = Twin([2, 2])
    twin.factor([0, 1], [[0.5, 0.0], [0.0, 0.5]]).factor([1, 0], [[0.2, 0.0], [0.1, 0.5]])
    post = loopy(twin.graph)
    assert (post.status, post.log_evidence_is) == ("CONVERGED", "ESTIMATE")


def test_a_long_chain_is_exact():
    rng = np.random.default_rng(8)
    n, k = 30_000, 3
    transition = rng.dirichlet(np.ones(k), size=k)
    model = credo.graphs.chain(np.ones(k) / k, transition, log_likelihood=rng.normal(size=(n, k)))
    post, exact = loopy(model), credo.infer(model, method="tree")
    assert post.status == "EXACT"
    assert post.log_evidence == pytest.approx(exact.log_evidence, rel=1e-12)
    for name in ("x0", "x14999", "x29999"):
        np.testing.assert_allclose(post.probabilities(name), exact.probabilities(name), rtol=1e-10)


@pytest.mark.parametrize("schedule", ["flooding", "sequential", "tree"])
def test_with_counting_numbers_a_tree_is_an_estimate(schedule):
    twin = random_tree(np.random.default_rng(8), SIZES, strength=2.0)
    post = loopy(twin.graph, counting=0.7, schedule=schedule)
    assert (post.status, post.log_evidence_is) == ("CONVERGED", "ESTIMATE")
    marginals, log_z = oracle.marginals(SIZES, twin.factors)
    assert max(np.abs(post.probabilities(v) - p).max() for v, p in enumerate(marginals)) > 1e-3
    assert abs(post.log_evidence - log_z) > 1e-3


def test_graphs_with_cycles_are_never_called_exact():
    for seed in range(20):
        rng = np.random.default_rng(seed)
        twin = random_graph(rng, [2, 2, 3, 2, 2], 9, strength=0.3)
        twin.factor([0, 1], rng.normal(size=(2, 2))).factor([1, 0], rng.normal(size=(2, 2)))
        post = loopy(twin.graph)
        assert post.status == "CONVERGED"
        assert post.log_evidence_is == "ESTIMATE"
