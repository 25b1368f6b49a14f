import itertools

import numpy as np
import pytest
from tests.oracles import joint as oracle
from tests.work import calls_in

from credo.exceptions import InputError, ShapeError
from credo.graphs import BayesianNetwork, MarkovNetwork, chain

INITIAL = [0.6, 0.3, 0.1]
MOVES = np.array([[0.7, 0.2, 0.1], [0.0, 0.5, 0.5], [0.3, 0.3, 0.4]])
SHOWS = np.array([[0.9, 0.1], [0.5, 0.5], [0.2, 0.8]])
PER_STEP = np.stack([MOVES, MOVES[::-1]])


def joint_by_hand(length, moves, seen=None):
    """The probability of every path of hidden states, and of what was seen on it."""
    table = np.empty((3,) * length)
    for path in itertools.product(range(3), repeat=length):
        p = INITIAL[path[0]]
        for t in range(1, length):
            p *= moves[t - 1][path[t - 1], path[t]]
        for t, symbol in enumerate([] if seen is None else seen):
            p *= SHOWS[path[t], symbol]
        table[path] = p
    return table


@pytest.mark.parametrize("length", [1, 2, 4])
def test_a_chain_multiplies_its_transitions(length):
    net = chain(INITIAL, MOVES, length=length)
    assert isinstance(net, BayesianNetwork)
    expected = joint_by_hand(length, [MOVES] * length)
    np.testing.assert_allclose(oracle.of_wiring(net.compile()), expected, rtol=1e-14)
    np.testing.assert_allclose(oracle.of_model(net), expected, rtol=1e-14)
    assert list(net.names) == [f"x{t}" for t in range(length)]


def test_each_step_may_have_its_own_transition():
    net = chain(INITIAL, PER_STEP)
    np.testing.assert_allclose(oracle.of_wiring(net.compile()), joint_by_hand(3, PER_STEP))
    np.testing.assert_array_equal(net.table("x2"), PER_STEP[1])


def test_a_chain_of_one_step_has_no_transitions():
    net = chain(INITIAL, np.empty((0, 3, 3)))
    np.testing.assert_array_equal(oracle.of_wiring(net.compile()), INITIAL)


def test_with_emissions_the_symbols_are_variables():
    net = chain(INITIAL, MOVES, length=3, emission=SHOWS)
    assert list(net.names) == ["x0", "x1", "x2", "y0", "y1", "y2"]
    assert net.parents("y1") == ("x1",)
    assert net.children("x1") == ("x2", "y1")
    full = oracle.of_wiring(net.compile())
    assert full.sum() == pytest.approx(1.0)
    for seen in itertools.product(range(2), repeat=3):
        expected = joint_by_hand(3, [MOVES] * 2, seen)
        np.testing.assert_allclose(full[(..., *seen)], expected, rtol=1e-13)


@pytest.mark.parametrize("moves", [MOVES, PER_STEP], ids=["shared", "own"])
def test_with_observations_only_the_hidden_states_are_left(moves):
    seen = [1, 0, 1]
    net = chain(INITIAL, moves, emission=SHOWS, observations=seen)
    assert isinstance(net, MarkovNetwork)
    expected = joint_by_hand(3, np.broadcast_to(moves, (2, 3, 3)), seen)
    np.testing.assert_allclose(oracle.of_wiring(net.compile()), expected, rtol=1e-13)


def test_log_likelihoods_stand_for_observations_of_any_kind():
    seen = [1, 0, 1]
    logs = np.log(SHOWS.T[seen])
    wiring = chain(INITIAL, MOVES, log_likelihood=logs - 5000.0).compile()
    np.testing.assert_allclose(wiring.log_scale[:3].sum() + 15000, np.log(wiring_scale(seen)))
    expected = joint_by_hand(3, [MOVES] * 2, seen)
    got = oracle.of_wiring(chain(INITIAL, MOVES, log_likelihood=logs).compile())
    np.testing.assert_allclose(got, expected, rtol=1e-13)


def wiring_scale(seen):
    """The product of the largest weight of each step."""
    weights = SHOWS.T[seen] * np.array([INITIAL, [1, 1, 1], [1, 1, 1]])
    return weights.max(axis=1).prod()


def test_a_dictionary_names_the_states():
    net = chain({"dry": 0.75, "wet": 0.25}, [[1, 0], [0.5, 0.5]], length=2)
    assert net["x1"].states == ("dry", "wet")
    np.testing.assert_array_equal(net.table("x0"), [0.75, 0.25])


def test_a_shared_transition_is_held_once():
    assert chain(INITIAL, MOVES, length=1000, emission=SHOWS).compile().values.size == 3 + 9 + 6


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({}, InputError, "needs its length"),
        ({"length": 0}, InputError, "length"),
        ({"length": 2, "transition": MOVES[:2]}, ShapeError, r"\(3, 3\) or"),
        ({"length": 2, "transition": 0.5}, ShapeError, "transition"),
        ({"length": 2, "transition": MOVES * 2}, InputError, r"transition.*row \[0\] sums to 2"),
        ({"transition": PER_STEP * [[[1]], [[2]]]}, InputError, r"row \[1, 0\] sums to 2"),
        ({"length": 4, "transition": PER_STEP}, ShapeError, "length 4, steps in the transition 3"),
        ({"length": 2, "initial": [0.5, 0.6]}, InputError, "initial of a chain: it sums to 1.1"),
        ({"length": 2, "initial": [[0.5, 0.5]]}, ShapeError, "initial"),
        ({"length": 2, "emission": SHOWS[:2]}, ShapeError, r"emission.*shape \(3, m\)"),
        ({"length": 2, "emission": -SHOWS}, InputError, "emission.*negative"),
        ({"observations": [0, 1]}, InputError, "needs an emission"),
        ({"emission": SHOWS, "observations": [0, 2]}, InputError, r"Got 2 at index \[1\]"),
        ({"emission": SHOWS, "observations": [-1]}, InputError, r"Got -1 at index \[0\]"),
        ({"emission": SHOWS, "observations": [0.5]}, InputError, "whole numbers"),
        ({"emission": SHOWS, "observations": []}, ShapeError, "positive"),
        ({"emission": SHOWS, "observations": [0], "length": 2}, ShapeError, "must agree"),
        ({"emission": SHOWS, "log_likelihood": SHOWS}, InputError, "not both"),
        ({"log_likelihood": SHOWS}, ShapeError, r"log_likelihood.*shape \(T, 3\)"),
        ({"log_likelihood": [[-np.inf] * 3]}, InputError, "Node 'x0' allows no state"),
    ],
    ids=range(20),
)
def test_what_does_not_fit_is_refused(arguments, error, message):
    with pytest.raises(error, match=message):
        chain(**({"initial": INITIAL, "transition": MOVES} | arguments))


def test_a_long_chain_compiles_with_a_call_for_each_variable():
    n = 10_000
    seen = {"length": n, "emission": SHOWS}
    assert calls_in(lambda: chain(INITIAL, MOVES, **seen).compile()) < 2.1 * n
    one = chain(INITIAL, MOVES, **seen).compile()
    other = chain(INITIAL, MOVES, log_likelihood=np.zeros((n, 3))).compile()
    assert len(one.table) == 2 * n
    assert len(other.table) == 2 * n - 1
    assert one.index(f"y{n - 1}") == 2 * n - 1
