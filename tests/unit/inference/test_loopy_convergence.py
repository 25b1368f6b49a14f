"""How runs of loopy belief propagation end, and that what they settle at is a fixed point."""

import itertools
import math

import numpy as np
import pytest
from tests.oracles import loopy as oracle
from tests.properties.loopy_twins import Twin, random_graph, random_pairs

import credo
from credo.exceptions import ConvergenceWarning, NumericalError

SCHEDULES = ("flooding", "sequential", "residual", "random", "tree")


def loopy(model, **options):
    return credo.infer(model, **{"method": "loopy", "on_failure": "return", **options})


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


def test_adaptive_momentum_leaves_alone_what_settles_by_itself():
    twin = frustrated(coupling=0.2)
    plain = loopy(twin.graph, schedule="flooding", momentum=1.0)
    adaptive = loopy(twin.graph, schedule="flooding", momentum="adaptive")
    assert plain.status == adaptive.status == "CONVERGED"
    assert adaptive.details["momentum"] == 1.0
    np.testing.assert_array_equal(plain.residuals, adaptive.residuals)


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


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_callbacks_see_every_sweep(schedule):
    seen = []
    post = loopy(
        frustrated(0.3).graph,
        schedule=schedule,
        callback=lambda sweep, residual: seen.append((sweep, residual)),
    )
    assert seen == list(enumerate(post.residuals.tolist(), start=1))
    assert post.sweeps == len(seen) > 1


def test_an_error_in_a_callback_comes_through():
    with pytest.raises(ZeroDivisionError):
        loopy(frustrated(0.3).graph, callback=lambda sweep, _: 1 / (sweep - 3))


def test_out_of_sweeps_is_warned_of_where_it_was_asked_or_raised():
    options = {"method": "loopy", "schedule": "flooding", "momentum": 1.0, "sweeps": 3}
    with pytest.warns(ConvergenceWarning, match="did not converge within 3 sweeps") as caught:
        credo.infer(frustrated().graph, **options)
    assert caught[0].filename == __file__
    with pytest.raises(NumericalError, match="did not converge within 3 sweeps"):
        credo.infer(frustrated().graph, on_failure="raise", **options)


def test_updates_count_messages():
    twin = frustrated(0.3)
    for schedule in ("flooding", "sequential", "random"):
        post = loopy(twin.graph, schedule=schedule, sweeps=4, tolerance=0.0)
        assert post.updates == 4 * 12
    queue = loopy(twin.graph, schedule="residual", tolerance=1e-6)
    flood = loopy(twin.graph, schedule="flooding", tolerance=1e-6)
    assert 12 <= queue.updates < flood.updates


@pytest.mark.parametrize("counting", [None, "each"])
@pytest.mark.parametrize("schedule", SCHEDULES)
def test_where_it_converged_every_message_satisfies_its_update(schedule, counting):
    rng = np.random.default_rng(3)
    twin = random_graph(rng, [2, 3, 2, 3, 2, 2], 10, 0.4)
    powers = None if counting is None else rng.uniform(0.6, 1.0, len(twin.factors))
    post = loopy(twin.graph, schedule=schedule, counting=powers, tolerance=1e-11, momentum=0.5)
    assert post.status == "CONVERGED"
    joined = [i for i, (scope, _) in enumerate(twin.factors) if len(scope) > 1]
    net = twin.net(powers=None if powers is None else powers[joined])
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
