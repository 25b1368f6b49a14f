"""Loopy belief propagation: answers, how runs end, trees and rules, pairs, settings."""

import contextlib
import itertools
import math
import warnings

import numpy as np
import pytest
from tests.oracles import loopy as oracle
from tests.properties.loopy_twins import Twin, random_graph, random_pairs, random_tree
from tests.work import bytes_in

import credo
from credo.exceptions import (
    ApproximationWarning,
    ExpansionWarning,
    ImpossibleEvidence,
    InputError,
    LabelError,
)

SCHEDULES = ("flooding", "sequential", "residual", "random", "tree")


def loopy(model, evidence=None, **options):
    """Pass messages; nothing is said if they do not settle."""
    return credo.infer(model, evidence, **{"method": "loopy", "on_failure": "return", **options})


@pytest.fixture
def ring():
    """Four variables in a ring, two factors of three across, one of them named."""
    rng = np.random.default_rng(1)
    graph = credo.FactorGraph()
    for name, k in zip("abcd", (2, 3, 2, 4), strict=True):
        graph.variable(name, [f"{name}{i}" for i in range(k)])
    for one, two in ("ab", "bc", "cd", "da"):
        shape = len(graph[one].states), len(graph[two].states)
        graph.factor([one, two], 0.3 * rng.normal(size=shape), log=True, name=one + two)
    graph.factor(["c", "a", "b"], 0.3 * rng.normal(size=(2, 2, 3)), log=True, name="three")
    return graph


def twin_net(graph):
    """The oracle with the factors of a graph."""
    place = {name: v for v, name in enumerate(graph.names)}
    factors = [
        (tuple(place[v.name] for v in factor.variables), oracle.logs_of(factor.values))
        for factor in graph.factors
    ]
    sizes = [len(variable.states) for variable in graph.variables]
    return oracle.Net(sizes, factors)


class TestJoints:
    """Joint beliefs of variables that a factor holds."""

    def test_joints_are_the_beliefs_of_factors(self, ring):
        post, net = loopy(ring, tolerance=1e-13), twin_net(ring)
        assert net.settled()
        np.testing.assert_allclose(post.joint(["d", "c"]).table, net.joint(2).T, atol=1e-11)
        np.testing.assert_allclose(post.joint(["c", "a", "b"]).table, net.joint(4), atol=1e-11)
        summed = net.joint(4).sum(axis=2).T
        np.testing.assert_allclose(post.joint(["a", "c"]).table, summed, atol=1e-11)
        for order in itertools.permutations(range(3)):
            asked = post.joint(["cab"[i] for i in order])
            # each table is divided by its own sum, which is added up in another order
            table = post.joint(list("cab")).table.transpose(order)
            np.testing.assert_array_max_ulp(asked.table, table, maxulp=2)

    def test_observed_variables_may_be_among_them(self, ring):
        post = loopy(ring, {"c": "c1"}, tolerance=1e-13)
        table = post.joint(["a", "c", "b"]).table
        assert table.shape == (2, 2, 3)
        assert (table[:, 0] == 0).all()
        assert table.sum() == pytest.approx(1.0)
        np.testing.assert_allclose(table[:, 1].sum(axis=1), post.probabilities("a"), atol=1e-11)
        assert post.joint(["c"]).table.tolist() == [0.0, 1.0]
        # d is no neighbour of b, but c is observed: b alone is free
        far = post.joint(["c", "b"]).table
        np.testing.assert_array_equal(far[1], post.probabilities("b"))
        both = loopy(ring, {"a": "a1", "c": "c0"}).joint(["a", "c"]).table
        assert both.tolist() == [[0.0, 0.0], [1.0, 0.0]]

    def test_at_temperature_zero_they_are_scaled_maxima(self):
        table = np.random.default_rng(0).random((2, 3, 2))
        graph = credo.FactorGraph()
        for name, k in zip("abc", table.shape, strict=True):
            graph.variable(name, k)
        graph.factor(list("abc"), table)
        post = loopy(graph, temperature=0)
        np.testing.assert_allclose(post.joint(list("abc")).table, table / table.sum())
        pair = table.max(axis=2)
        np.testing.assert_allclose(post.joint(["a", "b"]).table, pair / pair.sum())


class TestMessages:
    """Messages by the names of the nodes."""

    def test_from_variable_to_variable(self, ring):
        post, net = loopy(ring, schedule="flooding", momentum=1.0), twin_net(ring)
        net.sweeps(post.sweeps)
        for f, (one, two) in enumerate([(0, 1), (1, 2), (2, 3), (3, 0)]):
            for source, target in ((one, two), (two, one)):
                message = post.message("abcd"[source], "abcd"[target])
                expected = np.exp(net.messages[f, target])
                np.testing.assert_allclose(message.values, expected, atol=1e-10)
                assert message.values.sum() == pytest.approx(1.0)
                assert (message.source, message.target) == ("abcd"[source], "abcd"[target])
                assert message.states == tuple(ring["abcd"[target]].states)
                by_node = post.message(ring["abcd"[source]], ring["abcd"[target]])
                np.testing.assert_array_equal(by_node.values, message.values)

    def test_from_factor_to_variable_and_back(self, ring):
        post, net = loopy(ring, schedule="flooding", momentum=1.0), twin_net(ring)
        net.sweeps(post.sweeps)
        for v in (0, 1, 2):
            out = post.message("three", "abcd"[v])
            np.testing.assert_allclose(out.values, np.exp(net.messages[4, v]), atol=1e-10)
            back = post.message("abcd"[v], "three")
            expected = np.exp(oracle.scaled(net.heard(v, 4)))
            np.testing.assert_allclose(back.values, expected, atol=1e-10)
            assert out.states == back.states == tuple(ring["abcd"[v]].states)
            belief = out.values * back.values
            np.testing.assert_allclose(
                belief / belief.sum(), post.probabilities("abcd"[v]), atol=1e-10
            )

    @pytest.mark.parametrize(
        ("seen", "source", "target", "error", "words"),
        [
            ({}, "b", "d", InputError, "not joined by a factor of the two alone"),
            ({}, "a", "a", InputError, "not joined by a factor of the two alone"),
            ({}, "a", "c", InputError, "not joined by a factor of the two alone"),
            ({}, "three", "d", InputError, "not linked"),
            ({}, "three", "ab", InputError, "both factors"),
            ({}, "a", "nobody", LabelError, "nobody"),
            ({"a": "a0"}, "a", "b", InputError, "observed"),
            ({"a": "a0"}, "three", "a", InputError, "observed"),
        ],
    )
    def test_who_does_not_talk_is_told(self, ring, seen, source, target, error, words):
        with pytest.raises(error, match=words):
            loopy(ring, seen).message(source, target)

    def test_where_several_factors_join_two_variables_the_factor_must_be_named(self):
        graph = credo.FactorGraph()
        a, b = graph.variable("a", 2), graph.variable("b", 2)
        graph.factor([a, b], [[2, 1], [1, 2]], name="one")
        graph.factor([b, a], [[3, 1], [1, 1]], name="two")
        post = loopy(graph)
        with pytest.raises(InputError, match="joined by 2 factors.*name the factor"):
            post.message("a", "b")
        assert post.message("one", "b").values.sum() == pytest.approx(1.0)


class TestRuns:
    """What is said of a run."""

    def test_what_ran_is_told(self, ring):
        post = loopy(ring, momentum=0.7, schedule="sequential")
        assert (post.engine, post.why) == ("loopy", ())
        assert dict(post.details) == {"schedule": "sequential", "momentum": 0.7}
        assert loopy(ring).details["schedule"] == "residual"
        assert post.free_energy == -post.log_evidence


def grid(side, coupling, *, mixed=False, field=0.1, seed=0):
    """A square field of two-state variables; couplings all attract, or half of them repel."""
    rng = np.random.default_rng(seed)
    site = np.arange(side**2).reshape(side, side)
    across = np.column_stack([site[:, :-1].ravel(), site[:, 1:].ravel()])
    down = np.column_stack([site[:-1].ravel(), site[1:].ravel()])
    edges = np.vstack([across, down])
    signs = rng.choice([-1.0, 1.0], len(edges)) if mixed else np.ones(len(edges))
    tables = coupling * signs[:, None, None] * np.array([[1.0, -1.0], [-1.0, 1.0]])
    pulls = field * rng.normal(size=side**2)
    potentials = np.column_stack([-pulls, pulls])
    return credo.MarkovNetwork.from_arrays(potentials, edges, tables, log=True)


def test_too_wide_a_graph_is_answered_by_messages_with_a_warning():
    model = grid(14, 0.2)
    with pytest.warns(ApproximationWarning, match="engine 'loopy', CONVERGED") as caught:
        post = credo.infer(model, budget="100kB")
    assert caught[0].filename == __file__
    assert "method='exact'" in str(caught[0].message)
    assert (post.engine, post.status, post.log_evidence_is) == ("loopy", "CONVERGED", "ESTIMATE")
    assert post.why[0].startswith("no exact engine fits")
    assert post.why[1] == "loopy belief propagation with adaptive damping"
    exact = credo.infer(model)
    gap = max(
        np.abs(post.probabilities(v) - exact.probabilities(v)).max() for v in range(0, 196, 7)
    )
    assert gap < 0.01  # weak couplings
    assert post.log_evidence == pytest.approx(exact.log_evidence, rel=5e-3)
    assert post.log_evidence < exact.log_evidence  # all pairs attract: Bethe's is a lower bound


def test_where_messages_do_not_settle_regions_are_next():
    model = grid(10, 1.5, mixed=True)
    options = {"method": "loopy", "momentum": "adaptive", "on_failure": "return"}
    assert credo.infer(model, **options).status != "CONVERGED"
    with pytest.warns(ApproximationWarning, match="engine '(generalised|double_loop)'"):
        post = credo.infer(model, budget="10kB")
    assert post.engine in ("generalised", "double_loop")
    assert post.why[1].startswith("loopy belief propagation with adaptive damping ended as ")
    assert post.why[2].startswith("generalised belief propagation on regions")
    assert post.status == "CONVERGED"
    exact = credo.infer(model)
    assert post.log_evidence == pytest.approx(exact.log_evidence, rel=0.02)


def test_evidence_may_make_an_exact_engine_fit():
    model, side = grid(20, 0.2), 20
    cut = {v: 1 for v in range(side**2) if (v // side) % 3 == 1}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert credo.infer(model, cut, budget="1MB").status == "EXACT"


def frustrated(coupling=1.0, field=0.4):
    """Four variables, each of which wants to differ from all others: no two pairs agree."""
    twin = Twin([2] * 4)
    for v in range(4):
        twin.factor([v], [0.0, field])
    for pair in itertools.combinations(range(4), 2):
        twin.factor(pair, [[-coupling, coupling], [coupling, -coupling]])
    return twin


def ratios(coupling, field, count):
    """All messages are alike: the log ratio of one, sweep by sweep, by the formula of tanh.

    A message between two variables of log ratio L is 2 atanh(tanh(-J) tanh(L / 2)).
    """
    ratio, found = 0.0, []
    for _ in range(count):
        heard = field + 2 * ratio
        ratio = 2 * math.atanh(math.tanh(-coupling) * math.tanh(heard / 2))
        found.append(ratio)
    return found


def test_a_frustrated_graph_oscillates_and_the_period_is_right():
    post = loopy(frustrated().graph, schedule="flooding", momentum=1.0)
    assert (post.status, post.period) == ("OSCILLATING", 2)
    orbit = ratios(1.0, 0.4, post.sweeps)
    assert orbit[-1] == pytest.approx(orbit[-3], abs=1e-6)
    assert abs(orbit[-1] - orbit[-2]) > 1.0
    said = post.message(0, 1).values
    assert math.log(said[1] / said[0]) == pytest.approx(orbit[-1], abs=1e-9)
    chances = 1 / (1 + np.exp(-np.array([0.0, *orbit])))
    np.testing.assert_allclose(post.residuals, np.abs(np.diff(chances)), atol=1e-10)
    assert post.residuals[-1] > 0.5
    assert post.log_evidence_is == "ESTIMATE"


def test_a_run_that_creeps_is_not_said_to_come_back():
    """On a ring messages change as a matrix does that is applied again and again.

    Once round turns a deviation and shortens it to the ratio of the two eigenvalues: here, twice
    round are six sweeps that leave all but two millionths of it. So it settles, and is not said to
    go round in circles, although one sweep moves messages by far more than that.
    """
    coupling, field = 7.75, 0.3
    twin, once = Twin([2] * 3), np.eye(2)
    twin.factor([0], [field, -field])
    for v, strength in enumerate([-coupling, coupling, coupling]):
        logs = np.array([[strength, -strength], [-strength, strength]])
        twin.factor([v, (v + 1) % 3], logs)
        once = once @ np.exp(logs)
    small, large = sorted(np.linalg.eigvals(np.diag(np.exp([field, -field])) @ once), key=abs)
    post = loopy(twin.graph, schedule="flooding", momentum=1.0, sweeps=400)
    assert (post.status, post.sweeps, post.period) == ("MAX_SWEEPS", 400, 0)
    shortened = 1 - post.residuals[-1] / post.residuals[-7]
    assert shortened == pytest.approx(1 - (small / large) ** 2, rel=0.01)
    assert shortened == pytest.approx(2.3e-6, rel=0.05)


@pytest.mark.parametrize("momentum", [0.5, 0.3, "adaptive"])
@pytest.mark.parametrize("domain", ["linear", "log"])
def test_momentum_settles_what_oscillates_without(momentum, domain):
    options = {"schedule": "flooding", "domain": domain}
    assert loopy(frustrated().graph, momentum=1.0, **options).status == "OSCILLATING"
    post = loopy(frustrated().graph, momentum=momentum, **options)
    assert post.status == "CONVERGED"
    assert post.period == 0
    assert post.residuals[-1] <= 1e-8
    assert post.details["momentum"] < 1.0
    net = frustrated().net()
    assert net.settled(eta=0.4)
    np.testing.assert_allclose(post.probabilities(2), net.belief(2), atol=1e-7)


@pytest.mark.parametrize("domain", ["linear", "log"])
def test_momentum_is_the_share_of_the_new_message(domain):
    """Five sweeps by the formula of tanh, a quarter of the new message mixed in each time."""
    coupling, field, share = 1.0, 0.4, 0.25
    options = {"schedule": "flooding", "domain": domain, "momentum": share, "sweeps": 5}
    said = loopy(frustrated(coupling, field).graph, **options).message(0, 1).values
    ratio = 0.0
    for _ in range(5):
        new = 2 * math.atanh(math.tanh(-coupling) * math.tanh((field + 2 * ratio) / 2))
        if domain == "log":
            ratio = share * new + (1 - share) * ratio
        else:
            one, two = (1 / (1 + math.exp(-each)) for each in (new, ratio))
            mixed = share * one + (1 - share) * two
            ratio = math.log(mixed / (1 - mixed))
    assert math.log(said[1] / said[0]) == pytest.approx(ratio, rel=1e-10)


def test_small_entries_that_have_far_to_go_are_waited_for():
    """Two witnesses contradict each other, one surer than the other by a factor of a thousand.

    With half of the old message kept, the small entries of both are still 1e-8 and alike when no
    probability moves by more than that. A ring beside them keeps the graph from being a tree.
    """
    twin = Twin([2] * 6)
    twin.potential([0, 1], [[1.0, 1e-15]] * 2).potential([2, 1], [[1e-12, 1.0]] * 2)
    for pair in ((3, 4), (4, 5), (5, 3)):
        twin.potential(pair, [[1.5, 1.0], [1.0, 1.5]])
    post = loopy(twin.graph, schedule="flooding", momentum=0.5)
    assert post.status == "CONVERGED"
    assert post.probabilities(1)[0] == pytest.approx(1000 / 1001, rel=1e-6)


def strong(seed):
    rng = np.random.default_rng(seed)
    n, k = int(rng.integers(3, 6)), int(rng.integers(2, 4))
    return random_pairs(rng, n, k, 2 * n, float(rng.choice([2.0, 4.0, 6.0])))


@pytest.fixture(scope="module")
def strong_runs():
    twins = [strong(seed) for seed in range(150)]
    options = {"schedule": "flooding", "momentum": 1.0, "sweeps": 300}
    return [(twin, loopy(twin.graph, **options)) for twin in twins]


def test_strong_couplings_end_in_every_way(strong_runs):
    ends = [post.status for _, post in strong_runs]
    assert {"CONVERGED", "OSCILLATING", "MAX_SWEEPS"} == set(ends)
    assert len({post.period for _, post in strong_runs}) > 4
    for _, post in strong_runs:
        assert (post.residuals[-1] <= 1e-8) == (post.status == "CONVERGED")
        assert (post.period > 0) == (post.status == "OSCILLATING")
        assert len(post.residuals) == post.sweeps <= 300
        assert (post.status == "MAX_SWEEPS") <= (post.sweeps == 300)


def test_periods_are_true_and_none_shorter_is(strong_runs):
    """The oracle, started afresh, comes back after that many sweeps and not before."""
    checked = 0
    for twin, post in strong_runs:
        if post.status != "OSCILLATING" or post.period > 12 or checked == 8:
            continue
        net = twin.net()
        net.sweeps(post.sweeps)
        before = {key: np.exp(message) for key, message in net.messages.items()}
        away = []
        for _ in range(post.period):
            net.flood()
            away.append(
                max(np.abs(np.exp(net.messages[key]) - old).max() for key, old in before.items())
            )
        assert away[-1] < 1e-6
        assert min(away[:-1]) > 1e-3
        checked += 1
    assert checked == 8


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("tolerance", [1e-3, 1e-6, 1e-10])
def test_the_tolerance_is_met(schedule, tolerance):
    twin = frustrated(0.3)
    post = loopy(twin.graph, schedule=schedule, momentum=1.0, tolerance=tolerance)
    assert post.status == "CONVERGED"
    assert post.residuals[-1] <= tolerance
    again = loopy(twin.graph, schedule="flooding", momentum=1.0, start=post, sweeps=1)
    assert again.residuals[0] <= 2 * tolerance


def test_slow_progress_is_no_oscillation():
    """Near the point where beliefs part, messages creep: in single precision too."""
    n = 60
    ring = np.array([(i, (i + step) % n) for step in (1, 7) for i in range(n)])
    table = 0.6 * np.array([[0.5, -0.5], [-0.5, 0.5]])
    net = credo.MarkovNetwork.from_arrays(np.tile([0.0, 0.0003], (n, 1)), ring, table, log=True)
    for dtype in ("float64", "float32"):
        post = loopy(net, schedule="flooding", momentum=0.3, dtype=dtype)
        assert (np.diff(post.residuals[:200]) < 0).sum() > 0.9 * min(post.sweeps, 200)
        assert post.status != "OSCILLATING"


def test_updates_count_messages():
    twin = frustrated(0.3)
    for schedule in ("flooding", "sequential", "random"):
        post = loopy(twin.graph, schedule=schedule, sweeps=4, tolerance=0.0)
        assert post.updates == 4 * 12
    queue = loopy(twin.graph, schedule="residual", tolerance=1e-6)
    flood = loopy(twin.graph, schedule="flooding", tolerance=1e-6)
    assert 12 <= queue.updates < flood.updates


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_where_it_converged_every_message_satisfies_its_update(schedule):
    rng = np.random.default_rng(3)
    twin = random_graph(rng, [2, 3, 2, 3, 2, 2], 10, 0.4)
    powers = rng.uniform(0.6, 1.0, len(twin.factors))
    post = loopy(twin.graph, schedule=schedule, counting=powers, tolerance=1e-11, momentum=0.5)
    assert post.status == "CONVERGED"
    joined = [i for i, (scope, _) in enumerate(twin.factors) if len(scope) > 1]
    net = twin.net(powers=powers[joined])
    for f, i in enumerate(joined):
        for v in twin.factors[i][0]:
            net.messages[f, v] = oracle.logs_of(post.message(f"f{i}", v).values)
    for f, v in net.messages:
        away = np.exp(net.computed(f, v)) - np.exp(net.messages[f, v])
        assert np.abs(away).max() < 1e-10
    for v in range(6):
        np.testing.assert_allclose(post.probabilities(v), net.belief(v), atol=1e-9)
    assert post.log_evidence == pytest.approx(net.log_z(), abs=1e-9)
    assert post.free_energy == -post.log_evidence


EVERY = ("auto", "flooding", "sequential", "residual", "random", "tree")
KINDS = ("even", "odd", "at_most_one", "noisy_or", "noisy_and")


def with_rule(kind, n, seed=0):
    """One rule over n variables, each with a potential."""
    rng = np.random.default_rng(seed)
    twin = Twin([2] * n)
    for v in range(n):
        twin.factor([v], rng.normal(size=2))
    chances = rng.choice([0.0, 0.3, 0.8, 1.0], size=n - 1).tolist()
    return twin.rule(kind, rng.permutation(n).tolist(), chances, 0.1)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n", [1, 2, 3, 12])
def test_one_rule_is_exact(kind, n):
    twin = with_rule(kind, n, seed=n)
    assert_exact(loopy(twin.graph), twin.sizes, twin.factors)


def assert_exact(post, sizes, factors, *, maximum=False, rtol=1e-12):
    """All marginals and log Z are those of the joint table, and said to be so."""
    expected, log_z = oracle.marginals(sizes, factors, maximum=maximum)
    for v, marginal in enumerate(expected):
        np.testing.assert_allclose(post.probabilities(v), marginal, rtol=rtol, atol=1e-300)
    assert post.log_evidence == pytest.approx(log_z, rel=rtol)
    assert (post.status, post.log_evidence_is) == ("EXACT", "EXACT")


@pytest.mark.parametrize("kind", [*KINDS, "tree"])
@pytest.mark.parametrize("temperature", [0, 0.5, 3.0])
def test_temperatures_are_powers_of_the_model(kind, temperature):
    """Noisy gates are written out then."""
    tree = random_tree(np.random.default_rng(1), [3, 2, 3, 3, 2])
    twin = tree if kind == "tree" else with_rule(kind, 5, seed=6)
    told = pytest.warns(ExpansionWarning, match="written out as a table of 32 cells")
    with told if kind.startswith("noisy") else contextlib.nullcontext():
        post = loopy(twin.graph, temperature=temperature)
    heated = [(scope, logs / (temperature or 1)) for scope, logs in twin.factors]
    assert_exact(post, twin.sizes, heated, maximum=temperature == 0, rtol=1e-11)


@pytest.mark.parametrize("strength", [1.0, 200.0])
@pytest.mark.parametrize("kind", KINDS)
def test_a_rule_of_thousands_is_finite(kind, strength):
    """A table would have 2^3000 cells."""
    fields = strength * np.random.default_rng(0).normal(size=3000)
    if kind.startswith("noisy"):
        fields[-1] = 0.0
    post = loopy(long_rule(kind, fields))
    beliefs = np.array([post.probabilities(v)[1] for v in range(3000)])
    expected, log_z = closed_form(kind, fields)
    np.testing.assert_allclose(beliefs, expected, rtol=1e-8, atol=1e-300)
    assert post.log_evidence == pytest.approx(log_z, rel=1e-11)
    assert post.status == "EXACT"


def closed_form(kind, fields):
    """Marginals of second states and log Z, from the algebra of each rule."""
    on, whole = np.exp(-np.logaddexp(0.0, -fields)), np.logaddexp(0.0, fields)
    if kind == "at_most_one":
        log_z = np.logaddexp.reduce([0.0, *fields])
        return np.exp(fields - log_z), log_z
    if kind.startswith("noisy"):  # nothing is known of the child: its parents are independent
        active = on if kind == "noisy_or" else 1 - on
        on[-1] = 0.98 * np.prod(1 - 0.01 * active[:-1])
        on[-1] = 1 - on[-1] if kind == "noisy_or" else on[-1]
        return on, whole[:-1].sum()
    # P(x_v = 1, parity) = on_v (1 - product of the others' E[1 - 2x]) / 2, products by logs
    logs, signs = np.log(np.abs(np.tanh(fields / 2))), np.where(fields > 0, -1.0, 1.0)
    flip = signs.prod() * (1.0 if kind == "even" else -1.0)
    product, others = flip * np.exp(logs.sum()), flip * signs * np.exp(logs.sum() - logs)
    return on * (1 - others) / (1 + product), whole.sum() + np.log((1 + product) / 2)


def long_rule(kind, fields):
    """One rule, and a potential on each of its variables."""
    model, n = credo.FactorGraph(), len(fields)
    for v, field in enumerate(fields):
        model.variable(v, 2)
        model.factor([v], [0.0, field], log=True)
    if kind in ("even", "odd"):
        model.parity(range(n), kind == "even")
    elif kind == "at_most_one":
        model.at_most_one(range(n))
    else:
        getattr(model, kind)(n - 1, dict.fromkeys(range(n - 1), 0.01), 0.02)
    return model


@pytest.mark.parametrize(
    ("kind", "schedule"),
    [("even", "flooding"), ("noisy_or", "residual")],
)
def test_memory_is_linear_in_the_length_of_a_rule(kind, schedule):
    def peak(n):
        return bytes_in(lambda: loopy(long_rule(kind, np.zeros(n)), schedule=schedule))

    assert peak(3000) < 8 * peak(500)


@pytest.mark.parametrize("momentum", [1.0, 0.3])
@pytest.mark.parametrize("schedule", EVERY)
def test_zeros_travel_exactly_however_messages_are_mixed(schedule, momentum):
    """All variables are equal, and the ring is closed by a factor that only favours that."""

    def ask(evidence=None, own=()):
        copies = Twin([3] * 5).potential([4, 0], 1.0 + np.eye(3))
        for v in range(4):
            copies.potential([v, v + 1], np.eye(3))
        for v, weights in own:
            copies.potential([v], weights)
        return loopy(copies.graph, evidence, schedule=schedule, momentum=momentum)

    certain = ask({0: 2})
    assert {tuple(certain.probabilities(v)) for v in range(5)} == {(0.0, 0.0, 1.0)}
    assert certain.log_evidence == pytest.approx(np.log(2.0), abs=1e-12)
    with pytest.raises(ImpossibleEvidence, match="cannot all be true") as caught:
        ask({0: 2, 3: 1})
    assert caught.value.conflict == {0: 2, 3: 1}
    post = ask(own=[(2, [0.4, 0.0, 0.6])])
    assert all((post.probabilities(v) == 0).tolist() == [False, True, False] for v in range(5))
    assert post.message(1, 0).values[1] == 0.0
    assert (post.joint([3, 4]).table[~np.eye(3, dtype=bool)] == 0).all()
    with pytest.raises(InputError, match="allows no configuration"):
        ask(own=[(0, [1, 0, 0]), (2, [0, 1, 1])])


@pytest.mark.parametrize("schedule", EVERY)
def test_zeros_of_an_earlier_answer_do_not_bind_a_later_one(schedule):
    chain = Twin([2] * 5)
    for v in range(4):
        chain.potential([v, v + 1], np.eye(2))
    chain.potential([0, 4], [[2, 1], [1, 2]])
    before = loopy(chain.graph, likelihood={0: [1, 0], 4: [1, 0]}, schedule=schedule)
    post = loopy(chain.graph, likelihood={2: [0, 1]}, start=before, schedule=schedule)
    for v in range(5):
        assert post.probabilities(v).tolist() == [0.0, 1.0]


@pytest.mark.parametrize("schedule", EVERY)
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
    for schedule in EVERY:
        post = loopy(twin.graph, {0: 1, 1: 2}, schedule=schedule)
        assert (post.status, post.updates) == ("EXACT", 0)
        assert post.log_evidence == pytest.approx(np.log(6.0))
        assert post.to_dict() == {0: {0: 0.0, 1: 1.0}, 1: {0: 0.0, 1: 0.0, 2: 1.0}}
        empty = loopy(credo.FactorGraph(), schedule=schedule)
        assert (empty.status, empty.log_evidence, len(empty)) == ("EXACT", 0.0, 0)


SIZES = [2, 3, 2, 4, 2, 3, 2, 2, 3]


@pytest.mark.parametrize("n", [2, 50])
def test_a_chain_of_n_variables_passes_twice_n_less_one_messages(n):
    rng = np.random.default_rng(n)
    twin = Twin([2] * n)
    for v in range(n - 1):
        twin.factor([v, v + 1], rng.normal(size=(2, 2)))
    assert loopy(twin.graph).updates == 2 * (n - 1)


def test_a_ring_is_no_tree_until_evidence_cuts_it():
    twin = Twin([2] * 4)
    for v in range(4):
        twin.potential([v, (v + 1) % 4], [[3.0, 1.0], [1.0, 2.0]])
    whole = loopy(twin.graph)
    assert (whole.status, whole.log_evidence_is) == ("CONVERGED", "ESTIMATE")
    assert_exact(loopy(twin.graph, {0: 0}), twin.sizes, twin.weighed({0: 0}))


@pytest.mark.parametrize("schedule", ["flooding", "sequential", "tree"])
def test_with_counting_numbers_a_tree_is_an_estimate(schedule):
    twin = random_tree(np.random.default_rng(8), SIZES, strength=2.0)
    post = loopy(twin.graph, counting=0.7, schedule=schedule)
    assert (post.status, post.log_evidence_is) == ("CONVERGED", "ESTIMATE")
    marginals, log_z = oracle.marginals(SIZES, twin.factors)
    assert max(np.abs(post.probabilities(v) - p).max() for v, p in enumerate(marginals)) > 1e-3
    assert abs(post.log_evidence - log_z) > 1e-3


def kind(post):
    return post.details.get("messages", "logs")


def all_numbers(post):
    """Every number of an answer."""
    beliefs = post.answer.beliefs.values
    return np.concatenate([beliefs, post.residuals, [post.log_evidence, post.updates]])


def field(n, m, k, seed=0, strength=0.3):
    """Pairs with tables of their own between n variables."""
    rng = np.random.default_rng(seed)
    ends = rng.integers(0, n, (2 * m, 2))
    ends = ends[ends[:, 0] != ends[:, 1]][:m]
    tables = strength * rng.normal(size=(m, k, k))
    return credo.MarkovNetwork.from_arrays(rng.normal(size=(n, k)), ends, tables, log=True)


def large_graph():
    """Enough cells of tables of three variables to be cut."""
    rng = np.random.default_rng(0)
    graph = credo.FactorGraph()
    for v in range(3000):
        graph.variable(v, 3)
    for _ in range(3000):
        scope = rng.choice(3000, 3, replace=False).tolist()
        graph.factor(scope, 0.3 * rng.normal(size=(3, 3, 3)), log=True)
    return graph


@pytest.mark.parametrize(
    ("k", "options", "messages"),
    [
        (2, {"dtype": "float64"}, "ratios, float64"),
        (7, {"dtype": "float32"}, "ratios, float32"),
        (None, {"domain": "linear"}, "logs"),
    ],
)
def test_threads_do_not_change_a_bit(k, options, messages):
    model = large_graph() if k is None else field(10_000, 100_500, k, seed=k, strength=0.2)
    options = {"schedule": "flooding", "momentum": 0.7, "sweeps": 3, **options}
    posts = [loopy(model, threads=threads, **options) for threads in (1, 2, 3)]
    assert {kind(post) for post in posts} == {messages}
    for post in posts[1:]:
        np.testing.assert_array_equal(all_numbers(post), all_numbers(posts[0]))


def test_the_seed_decides_the_random_order_and_nothing_else():
    twin = random_pairs(np.random.default_rng(4), 8, 3, 14, 0.5)
    one, same, other = (
        loopy(twin.graph, schedule="random", seed=seed, sweeps=3, tolerance=0.0)
        for seed in (1, 1, 2)
    )
    np.testing.assert_array_equal(all_numbers(one), all_numbers(same))
    assert np.abs(one.residuals - other.residuals).max() > 1e-9
    for schedule in ("flooding", "sequential", "residual", "tree"):
        a, b = (loopy(twin.graph, schedule=schedule, seed=seed) for seed in (1, 2))
        np.testing.assert_array_equal(all_numbers(a), all_numbers(b))


class TestWarmStart:
    """Beginning with the messages of an earlier answer."""

    @pytest.mark.parametrize("schedule", ["flooding", "sequential", "residual", "random", "tree"])
    def test_the_same_fixed_point_in_fewer_sweeps(self, schedule):
        twin = random_pairs(np.random.default_rng(3), 10, 2, 18, 0.5).rule("even", [0, 2, 4, 5])
        before = loopy(twin.graph, {0: 1}, schedule=schedule, momentum=1.0)
        options = {"likelihood": {5: [1.0, 1.01]}, "schedule": schedule}
        cold, warm = (loopy(twin.graph, {0: 1}, start=s, **options) for s in (None, before))
        assert warm.status == cold.status == "CONVERGED"
        assert warm.updates < cold.updates
        assert warm.sweeps <= cold.sweeps
        for v in range(10):
            np.testing.assert_allclose(warm.probabilities(v), cold.probabilities(v), atol=1e-7)
        for evidence in ({}, {2: 1, 3: 0, 0: 0}):  # findings may be taken back, and added
            warm = loopy(twin.graph, evidence, schedule=schedule, start=before)
            cold = loopy(twin.graph, evidence, schedule="flooding")
            for v in range(10):
                np.testing.assert_allclose(warm.probabilities(v), cold.probabilities(v), atol=1e-7)

    def test_a_run_goes_on_where_it_stopped(self):
        twin = random_pairs(np.random.default_rng(3), 10, 3, 18, 0.5)
        options = {"schedule": "flooding", "momentum": 0.6, "tolerance": 0.0}
        whole = loopy(twin.graph, sweeps=9, **options)
        first = loopy(twin.graph, sweeps=4, **options)
        rest = loopy(twin.graph, sweeps=5, start=first, **options)
        residuals = np.concatenate([first.residuals, rest.residuals])
        np.testing.assert_allclose(residuals, whole.residuals, atol=1e-14)
        for v in range(10):
            np.testing.assert_allclose(rest.probabilities(v), whole.probabilities(v), atol=1e-13)

    @pytest.mark.parametrize("k", [2, 8])
    def test_from_pairs_to_any_schedule_and_back(self, k):
        twin = random_pairs(np.random.default_rng(k), 10, k, 18, 0.4)
        pairs = loopy(twin.graph, schedule="flooding", dtype="float32", tolerance=1e-5)
        assert kind(pairs).startswith("ratios")
        exact = loopy(twin.graph, schedule="flooding", tolerance=1e-12)
        finer = loopy(twin.graph, schedule="sequential", start=pairs)
        assert kind(finer) == "logs"
        assert finer.residuals[0] < 1e-4
        back = loopy(twin.graph, schedule="flooding", dtype="float32", start=exact)
        assert kind(back).startswith("ratios")
        assert back.residuals[0] < 1e-6
        for v in range(10):
            np.testing.assert_allclose(back.probabilities(v), exact.probabilities(v), atol=1e-5)


class TestWhoRuns:
    """Pairs of one number of states are flooded by an engine of their own."""

    def test_many_pairs_do(self):
        model = field(800, 2500, 2)
        assert kind(loopy(model)) == "ratios, float64"
        assert loopy(model).details["schedule"] == "flooding"
        assert kind(loopy(model, schedule="flooding")) == "ratios, float64"
        assert kind(loopy(model, schedule="flooding", domain="log")) == "logs"
        assert kind(loopy(model, schedule="sequential")) == "logs"
        assert kind(loopy(model, schedule="flooding", counting=0.9)) == "logs"

    def test_few_pairs_do_in_single_precision_only(self):
        model = field(30, 60, 3)
        assert kind(loopy(model, schedule="flooding")) == "logs"
        assert kind(loopy(model, schedule="flooding", dtype="float32")) == "ratios, float32"

    def test_zeros_and_wide_tables_do_not(self):
        zeros = random_pairs(np.random.default_rng(0), 6, 2, 9).potential([0, 1], np.eye(2))
        wide = random_pairs(np.random.default_rng(0), 6, 2, 9).factor([0, 1], [[0, -700], [0, 0]])
        for twin in (zeros, wide):
            post = loopy(twin.graph, schedule="flooding", dtype="float32")
            assert kind(post) == "logs"
        soft = random_pairs(np.random.default_rng(0), 6, 2, 9)
        post = loopy(soft.graph, likelihood={2: [1, 0]}, dtype="float32", schedule="flooding")
        assert kind(post) == "logs"
        assert post.probabilities(2).tolist() == [1.0, 0.0]

    def test_what_single_precision_cannot_hold_is_computed_in_double(self):
        twin = random_pairs(np.random.default_rng(0), 6, 2, 9, 0.3).factor(
            [0, 1], [[0, -90], [0, 0]]
        )
        post = loopy(twin.graph, schedule="flooding", dtype="float32", tolerance=1e-12)
        exact = loopy(twin.graph, schedule="flooding", tolerance=1e-12)
        for v in range(6):
            np.testing.assert_allclose(post.probabilities(v), exact.probabilities(v), atol=1e-11)


@pytest.mark.parametrize("k", [2, 9])
def test_both_engines_agree_on_joints_messages_and_the_estimate(k):
    model = field(900, 2200, k, seed=k)
    evidence, likelihood = {3: 1, 17: 0}, {5: np.linspace(0.5, 1.5, k)}
    options = {"schedule": "flooding", "likelihood": likelihood, "tolerance": 1e-12}
    fast = loopy(model, evidence, **options)
    slow = loopy(model, evidence, counting=1.0, **options)
    assert (kind(fast), kind(slow)) == ("ratios, float64", "logs")
    assert fast.log_evidence == pytest.approx(slow.log_evidence, rel=1e-11)
    wiring = model.compile()
    starts = wiring.scope_start[:-1][np.diff(wiring.scope_start) == 2]
    for at in starts[:5]:
        one, two = wiring.scope[at : at + 2].tolist()
        if one in evidence or two in evidence:
            continue
        np.testing.assert_allclose(
            fast.joint([two, one]).table, slow.joint([two, one]).table, atol=1e-10
        )
        np.testing.assert_allclose(
            fast.message(one, two).values, slow.message(one, two).values, atol=1e-10
        )


@pytest.mark.parametrize("k", [2, 3, 8])
def test_hubs_neither_overflow_nor_underflow(k):
    """One variable hears so many others that products of probabilities would vanish."""
    degree = 200
    rng = np.random.default_rng(degree)
    ends = np.stack([np.zeros(degree, np.int64), np.arange(1, degree + 1)], axis=1)
    ends = np.vstack([ends, [[1, 2], [2, 3]]])
    tables = rng.normal(size=(len(ends), k, k))
    potentials = rng.normal(size=(degree + 1, k))
    model = credo.MarkovNetwork.from_arrays(potentials, ends, tables, log=True)
    safe = loopy(model, schedule="flooding", counting=1.0)
    for dtype in ("float64", "float32"):
        post = loopy(model, schedule="flooding", dtype=dtype)
        assert post.status == "CONVERGED"
        gap = post.answer.beliefs.values - safe.answer.beliefs.values
        assert np.abs(gap).max() < 1e-4
        assert post.log_evidence == pytest.approx(safe.log_evidence, rel=1e-6)


def test_pairs_along_a_tree_have_exact_beliefs():
    n = 2500
    rng = np.random.default_rng(1)
    ends = np.stack([rng.integers(0, np.arange(1, n)), np.arange(1, n)], axis=1)
    model = credo.MarkovNetwork.from_arrays(
        rng.normal(size=(n, 2)), ends, rng.normal(size=(n - 1, 2, 2)), log=True
    )
    exact = credo.infer(model, method="tree")
    assert loopy(model).status == loopy(model).log_evidence_is == "EXACT"
    for options in ({}, {"schedule": "flooding"}, {"schedule": "flooding", "momentum": 0.5}):
        post = loopy(model, **options)
        assert post.log_evidence == pytest.approx(exact.log_evidence, rel=1e-10)
        for v in (0, 1000, 2499):
            np.testing.assert_allclose(post.probabilities(v), exact.probabilities(v), rtol=1e-9)


def test_all_or_all_but_one_observed_leaves_nothing_to_pass():
    twin = random_pairs(np.random.default_rng(2), 5, 2, 8)
    for seen in ({v: v % 2 for v in range(5)}, {v: v % 2 for v in range(4)}):
        exact = credo.infer(twin.graph, seen)
        post = loopy(twin.graph, seen, schedule="flooding", dtype="float32")
        assert not post.residuals.any()
        assert post.log_evidence == pytest.approx(exact.log_evidence, rel=1e-6)
        np.testing.assert_allclose(post.probabilities(4), exact.probabilities(4), rtol=1e-6)


WHO = "of Loopy belief propagation"

REFUSED = {
    "momentum": ([0, -0.5, 1.0001, np.nan, np.inf, "fast", None, [0.5, 0.5]], f"momentum {WHO}"),
    "schedule": (["fast", None, 3, ["flooding"]], "'auto', 'flooding', 'sequential', 'residual'"),
    "temperature": ([-1, -1e-9, np.nan, np.inf, "hot", None], f"temperature {WHO}"),
    "tolerance": ([-1e-9, np.nan, np.inf, "small"], f"tolerance {WHO}"),
    "sweeps": ([0, -1, 1.5, "3", None], f"sweeps {WHO}.*whole number"),
    "threads": ([0, -1, 1.5, "3", None], f"threads {WHO}.*whole number"),
    "seed": ([-1, 1.5], "seed"),
    "dtype": (["int8", "rubbish", 3, None, np.int64, [1]], "must be 'float64' or 'float32'"),
    "domain": (["logs", None, 1], "domain of Loopy.*'linear', 'log'"),
    "counting": (
        [0, -1, np.nan, [1, 1], [1, 1, 0], [[1, 1, 1]], np.inf, [1, 1, 1, 1], "many"],
        f"counting numbers {WHO}",
    ),
    "callback": ([3], "callback of .*function of .*sweep and residual"),
    "on_failure": (["ignore"], "'return', 'warn', 'raise'"),
    "start": ([3], "must be an answer of method='loopy'. Got int"),
    "damping": ([0.5], "has no option 'damping'.*'schedule', 'momentum'"),
    "jeffrey": ([{"a": [0.5, 0.5]}], "jeffrey needs an exact method"),
    "order": ([["a", "b", "c"]], "order needs an exact method"),
}


@pytest.fixture
def triangle():
    model = credo.MarkovNetwork()
    for name in "abc":
        model.node(name, 2, [0.6, 0.4])
    for one, two in ("ab", "bc", "ca"):
        model.edge(one, two, [[2.0, 1.0], [1.0, 2.0]])
    return model


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused_and_why(triangle, name):
    values, words = REFUSED[name]
    for value in values:
        with pytest.raises(InputError, match=words):
            loopy(triangle, **{name: value})


@pytest.mark.parametrize("value", ["float32", np.float32, np.dtype("float32")], ids=repr)
def test_the_type_of_number_may_be_given_in_any_way(triangle, value):
    assert (
        loopy(triangle, schedule="flooding", dtype=value).details["messages"] == "ratios, float32"
    )


def test_a_start_is_an_answer_about_the_same_model(triangle):
    with pytest.raises(InputError, match="must be an answer of method='loopy'. Got GraphPosterior"):
        loopy(triangle, start=credo.infer(triangle))
    with pytest.raises(InputError, match="about the same model"):
        loopy(triangle, start=loopy(triangle.copy()))


@pytest.mark.parametrize("coupling", [0.7, 0.8, 0.9])
def test_spins_that_agree_settle_on_the_side_of_most(coupling):
    """Of two fixed points, the one of the fields' majority is near the exact answer."""
    rng, site = np.random.default_rng(0), np.arange(64).reshape(8, 8)
    across, down = (np.stack([a, b], -1).reshape(-1, 2) for a, b in (
        (site[:, :-1], site[:, 1:]), (site[:-1], site[1:])))  # fmt: skip
    field = rng.normal(0, 0.3, 64)
    agree = coupling * np.array([[1.0, -1.0], [-1.0, 1.0]])
    net = credo.MarkovNetwork.from_arrays(
        np.stack([-field, field], 1), np.vstack([across, down]), agree, log=True
    )
    exact, found = credo.infer(net), credo.infer(net, method="loopy")
    assert found.status == "CONVERGED"
    assert found.sweeps < 40
    assert found.log_evidence == pytest.approx(exact.log_evidence, abs=0.5)


@pytest.mark.parametrize("k", [2, 3, 9])
@pytest.mark.parametrize("n", [2000, 2048])
def test_flooding_settles_single_edges_at_once_however_many_there_are(k, n):
    """Blocks of pairs that are filled up count as far as they hold pairs."""
    rng = np.random.default_rng(0)
    edges = np.arange(2 * n).reshape(n, 2)
    table = np.exp(rng.normal(size=(k, k)))
    net = credo.MarkovNetwork.from_arrays(rng.random((2 * n, k)) + 0.1, edges, table)
    post = credo.infer(net, method="loopy", schedule="flooding")
    assert post.details["messages"].startswith("ratios")
    assert post.sweeps <= 3
    assert post.residuals[1] < 1e-12
