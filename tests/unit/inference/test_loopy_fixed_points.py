"""Where messages settle: every message satisfies its update, and the free energy is stationary."""

import itertools

import numpy as np
import pytest
from tests.oracles import loopy as oracle
from tests.properties.loopy_twins import Twin, random_graph, random_pairs

import credo

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
