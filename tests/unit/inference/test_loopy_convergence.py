"""How runs of loopy belief propagation end, and that what they settle at is a fixed point."""

import itertools
import math
import warnings

import numpy as np
import pytest
from tests.oracles import loopy as oracle
from tests.properties.loopy_twins import Twin, random_graph, random_pairs

import credo
from credo.exceptions import ConvergenceWarning, NumericalError


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


def test_a_run_that_settled_has_a_last_residual_below_its_tolerance(strong_runs):
    for _, post in strong_runs:
        if post.status == "CONVERGED":
            assert post.residuals[-1] <= 1e-8
            assert post.period == 0
        else:
            assert post.residuals[-1] > 1e-8


def test_a_run_out_of_sweeps_says_so(strong_runs):
    for _, post in strong_runs:
        assert len(post.residuals) == post.sweeps <= 300
        assert (post.status == "MAX_SWEEPS") <= (post.sweeps == 300)
    post = loopy(frustrated(0.3).graph, schedule="flooding", momentum=1.0, sweeps=3)
    assert (post.status, post.sweeps, post.period) == ("MAX_SWEEPS", 3, 0)


@pytest.mark.parametrize("schedule", ["flooding", "sequential", "residual", "random", "tree"])
@pytest.mark.parametrize("tolerance", [1e-3, 1e-6, 1e-10])
def test_the_tolerance_is_met(schedule, tolerance):
    twin = frustrated(0.3)
    post = loopy(twin.graph, schedule=schedule, momentum=1.0, tolerance=tolerance)
    assert post.status == "CONVERGED"
    assert post.residuals[-1] <= tolerance
    again = loopy(twin.graph, schedule="flooding", momentum=1.0, start=post, sweeps=1)
    assert again.residuals[0] <= 2 * tolerance


def test_a_tighter_tolerance_takes_more_sweeps():
    twin = frustrated(0.3)
    counts = [
        loopy(twin.graph, schedule="flooding", momentum=1.0, tolerance=10.0**-digits).sweeps
        for digits in (2, 4, 8, 12)
    ]
    assert counts == sorted(set(counts))


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


def test_failure_is_returned_warned_of_or_raised():
    model = frustrated().graph
    options = {"method": "loopy", "schedule": "flooding", "momentum": 1.0}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert credo.infer(model, on_failure="return", **options).status == "OSCILLATING"
    said = "oscillates: its messages come back every 2 sweeps"
    with pytest.warns(ConvergenceWarning, match=said):
        assert credo.infer(model, **options).status == "OSCILLATING"
    with pytest.raises(NumericalError, match=said):
        credo.infer(model, on_failure="raise", **options)
    short = options | {"sweeps": 3}
    with pytest.warns(ConvergenceWarning, match="did not converge within 3 sweeps"):
        credo.infer(model, **short)
    with pytest.raises(NumericalError, match="did not converge within 3 sweeps"):
        credo.infer(model, on_failure="raise", **short)


@pytest.mark.parametrize("on_failure", ["return", "warn", "raise"])
def test_nothing_is_said_of_a_run_that_settles(on_failure):
    post = credo.infer(frustrated(0.2).graph, method="loopy", on_failure=on_failure)
    assert post.status == "CONVERGED"


def test_the_warning_points_at_the_caller():
    with pytest.warns(ConvergenceWarning) as caught:
        credo.infer(frustrated().graph, method="loopy", sweeps=2)
    assert caught[0].filename == __file__


@pytest.mark.parametrize("schedule", ["flooding", "sequential", "residual", "random", "tree"])
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
    def stop(sweep, _):
        if sweep == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        loopy(frustrated(0.3).graph, schedule="flooding", callback=stop)


def test_updates_count_messages():
    twin = frustrated(0.3)
    for schedule in ("flooding", "sequential", "random"):
        post = loopy(twin.graph, schedule=schedule, sweeps=4, tolerance=0.0)
        assert post.updates == 4 * 12
    queue = loopy(twin.graph, schedule="residual", tolerance=1e-6)
    flood = loopy(twin.graph, schedule="flooding", tolerance=1e-6)
    assert 12 <= queue.updates < flood.updates


def test_the_residual_schedule_computes_fewer_messages_where_little_changes():
    """One end of a long ladder is pulled: most messages hardly move."""
    n = 40
    twin = Twin([2] * 2 * n)
    twin.factor([0], [0.0, 3.0])
    weak = [[0.3, 0.0], [0.0, 0.3]]
    for i in range(n):
        twin.factor([2 * i, 2 * i + 1], weak)
        if i:
            twin.factor([2 * i - 2, 2 * i], weak).factor([2 * i - 1, 2 * i + 1], weak)
    queue = loopy(twin.graph, schedule="residual", momentum=1.0)
    flood = loopy(twin.graph, schedule="flooding", momentum=1.0)
    assert queue.status == flood.status == "CONVERGED"
    assert 2 * queue.updates < flood.updates
    for v in (0, 1, 10, 79):
        np.testing.assert_allclose(queue.probabilities(v), flood.probabilities(v), atol=1e-7)


SCHEDULES = ("flooding", "sequential", "residual", "random", "tree")


def grid(rng, side, k, strength):
    """A grid of pairs."""
    twin = Twin([k] * side**2)
    for v in range(side**2):
        twin.factor([v], 0.5 * rng.normal(size=k))
        if v % side < side - 1:
            twin.factor([v, v + 1], strength * rng.normal(size=(k, k)))
        if v < side * (side - 1):
            twin.factor([v, v + side], strength * rng.normal(size=(k, k)))
    return twin


def graphs():
    """Graphs with cycles: pairs, many states, factors of up to four variables."""
    rng = np.random.default_rng(3)
    return {
        "grid": grid(rng, 3, 2, 0.6),
        "states": random_pairs(rng, 6, 4, 9, 0.4),
        "factors": random_graph(rng, [2, 3, 2, 3, 2, 2], 10, 0.4),
    }


NAMES = tuple(graphs())


def taken_over(twin, post, powers=None):
    """The oracle with the messages of an answer in it."""
    net = twin.net(powers=powers)
    places = [i for i, (scope, _) in enumerate(twin.factors) if len(scope) > 1]
    for f, i in enumerate(places):
        for v in twin.factors[i][0]:
            net.messages[f, v] = oracle.logs_of(post.message(f"f{i}", v).values)
    return net


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("name", NAMES)
class TestConverged:
    """An answer that has converged."""

    def post(self, name, schedule, **options):
        twin = graphs()[name]
        post = credo.infer(twin.graph, method="loopy", schedule=schedule, **options)
        assert post.status == "CONVERGED"
        return twin, post

    def test_every_message_satisfies_its_update(self, name, schedule):
        twin, post = self.post(name, schedule)
        net = taken_over(twin, post)
        for f, v in net.messages:
            away = np.exp(net.computed(f, v)) - np.exp(net.messages[f, v])
            assert np.abs(away).max() < 1e-8

    def test_beliefs_are_locally_consistent(self, name, schedule):
        twin, post = self.post(name, schedule, tolerance=1e-10)
        for scope, _ in twin.factors:
            table = post.joint(scope).table
            assert table.sum() == pytest.approx(1.0, abs=1e-12)
            for axis, v in enumerate(scope):
                others = tuple(a for a in range(len(scope)) if a != axis)
                away = table.sum(axis=others) - post.probabilities(v)
                assert np.abs(away).max() < 1e-8

    def test_the_estimate_is_less_the_free_energy_of_the_beliefs(self, name, schedule):
        twin, post = self.post(name, schedule, tolerance=1e-11)
        net = twin.net()
        singles = [post.probabilities(v) for v in range(len(twin.sizes))]
        joints = [joint_of(twin, post, net, f) for f in range(len(net.factors))]
        expected = oracle.free_energy(net, singles, joints)
        assert post.free_energy == pytest.approx(expected, abs=1e-9)
        assert post.log_evidence == -post.free_energy

    def test_beliefs_are_those_of_the_oracle(self, name, schedule):
        twin, post = self.post(name, schedule, tolerance=1e-11)
        net = twin.net()
        assert net.settled()
        for v in range(len(twin.sizes)):
            np.testing.assert_allclose(post.probabilities(v), net.belief(v), atol=1e-9)
        assert post.log_evidence == pytest.approx(net.log_z(), abs=1e-9)


def joint_of(twin, post, net, f):
    """The belief of one factor, though another may have the same variables: its own messages."""
    scope = net.factors[f][0]
    if sum(set(other) == set(scope) for other, _ in net.factors) == 1:
        covered = [other for other, _ in net.factors if set(scope) <= set(other)]
        if len(covered) == 1:
            return post.joint(scope).table
    return taken_over(twin, post, net.powers).joint(f)


def directions(net, joints, rng):
    """Ways to move beliefs that keep them summing to one, and consistent with each other."""
    for f, (scope, _) in enumerate(net.factors):  # the marginals of a factor stay as they are
        move = 1.0
        for axis, v in enumerate(scope):
            step = rng.normal(size=net.sizes[v])
            shape = [-1 if a == axis else 1 for a in range(len(scope))]
            move = move * (step - step.mean()).reshape(shape)
        yield {}, {f: move}
    for v, k in enumerate(net.sizes):  # a marginal moves, and all factors around it with it
        step = rng.normal(size=k)
        step -= step.mean()
        around = {}
        for f, (scope, _) in enumerate(net.factors):
            if v in scope:
                axis = scope.index(v)
                others = joints[f].sum(axis=axis, keepdims=True)
                shape = [-1 if a == axis else 1 for a in range(len(scope))]
                around[f] = others * step.reshape(shape)
        yield {v: step}, around


def slopes(net, singles, joints, rng):
    """Slopes of the free energy, and how it curves, along such ways."""
    middle = oracle.free_energy(net, singles, joints)
    for single_moves, joint_moves in directions(net, joints, rng):
        shares = [np.abs(move / singles[v]).max() for v, move in single_moves.items()]
        shares += [np.abs(move / joints[f]).max() for f, move in joint_moves.items()]
        size = 1e-4 / max(shares)  # no belief changes by more than a ten thousandth of itself
        ends = []
        for sign in (1, -1):
            ones = [b + sign * size * single_moves.get(v, 0) for v, b in enumerate(singles)]
            many = [b + sign * size * joint_moves.get(f, 0) for f, b in enumerate(joints)]
            ends.append(oracle.free_energy(net, ones, many))
        yield (ends[0] - ends[1]) / (2 * size), (sum(ends) - 2 * middle) / size**2


@pytest.mark.parametrize("counting", [None, 0.7])
@pytest.mark.parametrize("name", NAMES)
def test_the_gradient_of_the_free_energy_vanishes(name, counting):
    rng = np.random.default_rng(17)
    twin = graphs()[name]
    options = {"tolerance": 1e-12, "schedule": "flooding", "counting": counting}
    post = credo.infer(twin.graph, method="loopy", **options)
    net = twin.net(powers=counting)
    singles = [post.probabilities(v) for v in range(len(twin.sizes))]
    joints = [joint_of(twin, post, net, f) for f in range(len(net.factors))]
    found = np.array(list(slopes(net, singles, joints, rng)))
    assert np.abs(found[:, 0]).max() < 1e-6
    assert np.abs(found[:, 1]).max() > 0.1  # it does curve
    # and it would have been seen: the same beliefs, a little further along
    away = np.array(list(slopes(net, *moved(net, singles, joints, rng), rng)))
    assert np.abs(away[:, 0]).max() > 1e-3


def moved(net, singles, joints, rng):
    """Consistent beliefs a hundredth away."""
    for single_moves, joint_moves in itertools.islice(directions(net, joints, rng), 3):
        singles = [b + 0.01 * single_moves.get(v, 0) for v, b in enumerate(singles)]
        joints = [b + 0.01 * joint_moves.get(f, 0) for f, b in enumerate(joints)]
    return singles, joints


@pytest.mark.parametrize("counting", [0.5, 0.9, 1.4])
def test_with_counting_numbers_the_estimate_is_less_their_free_energy(counting):
    twin = graphs()["factors"]
    post = credo.infer(twin.graph, method="loopy", counting=counting, tolerance=1e-11, momentum=0.5)
    assert (post.status, post.log_evidence_is) == ("CONVERGED", "ESTIMATE")
    net = taken_over(twin, post, powers=counting)
    assert post.log_evidence == pytest.approx(net.log_z(), abs=1e-8)
    for v in range(len(twin.sizes)):
        np.testing.assert_allclose(post.probabilities(v), net.belief(v), atol=1e-9)


def test_each_factor_may_have_its_own_counting_number():
    rng = np.random.default_rng(4)
    twin = grid(rng, 3, 3, 0.5)
    powers = rng.uniform(0.4, 1.0, len(twin.factors))  # those of single variables do not matter
    joined = [len(scope) > 1 for scope, _ in twin.factors]
    post = credo.infer(twin.graph, method="loopy", counting=powers, tolerance=1e-12)
    net = twin.net(powers=powers[joined])
    assert net.settled(eta=0.5)
    for v in range(9):
        np.testing.assert_allclose(post.probabilities(v), net.belief(v), atol=1e-9)
    assert post.log_evidence == pytest.approx(net.log_z(), abs=1e-9)


def test_counting_numbers_of_one_change_nothing():
    twin = graphs()["grid"]
    plain = credo.infer(twin.graph, method="loopy", schedule="flooding")
    counted = credo.infer(twin.graph, method="loopy", schedule="flooding", counting=1.0)
    np.testing.assert_array_equal(plain.residuals, counted.residuals)
    assert plain.to_dict() == counted.to_dict()
    assert plain.log_evidence == counted.log_evidence


def test_on_a_single_cycle_beliefs_of_two_states_lean_the_right_way():
    """On one cycle the more probable of two states is found, though not how probable it is."""
    for seed in range(20):
        rng = np.random.default_rng(seed)
        twin = Twin([2] * 5)
        for v in range(5):
            twin.factor([v], rng.normal(size=2)).factor([v, (v + 1) % 5], rng.normal(size=(2, 2)))
        post = credo.infer(twin.graph, method="loopy")
        exact, _ = oracle.marginals(twin.sizes, twin.factors)
        assert post.status == "CONVERGED"
        assert [int(post.probabilities(v).argmax()) for v in range(5)] == [
            int(b.argmax()) for b in exact
        ]


def test_the_estimate_of_a_single_attractive_cycle_is_the_largest_eigenvalue():
    """A ring of one symmetric table: Z = l1^n + l2^n, and the estimate of Bethe is n log l1."""
    n, table = 7, np.array([[2.0, 1.0], [1.0, 2.0]])
    twin = Twin([2] * n)
    for v in range(n):
        twin.potential([v, (v + 1) % n], table)
    post = credo.infer(twin.graph, method="loopy")
    assert post.log_evidence == pytest.approx(n * np.log(3.0), abs=1e-8)
    exact = credo.infer(twin.graph)
    assert exact.log_evidence == pytest.approx(np.log(3.0**n + 1.0), rel=1e-12)
