"""Loopy belief propagation with every kernel at both speeds: not a bit may differ."""

import warnings
from unittest import mock

import numpy as np
import pytest
from tests.properties.loopy_twins import Twin, random_graph, random_pairs
from tests.speeds import both_speeds

import credo
from credo.exceptions import ExpansionWarning, InputError
from credo.inference.loopy import engine

SCHEDULES = ("flooding", "sequential", "residual", "random", "tree")


@pytest.fixture
def alike(monkeypatch):
    """Give a function that computes at both speeds, which compares all bits."""

    def compare(compute):
        both_speeds(monkeypatch)
        assert len(np.concatenate([np.ravel(part) for part in compute()])) > 0

    return compare


def numbers(twin, evidence=None, **options):
    """Everything that an answer says, or that it was refused."""
    options = {"method": "loopy", "on_failure": "return", **options}
    try:
        post = credo.infer(twin.graph, evidence, **options)
    except InputError:
        return [-1.0]
    beliefs = post.answer.beliefs.values
    return [*beliefs, *post.residuals, post.log_evidence, post.updates, post.sweeps, post.period]


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_any_graph(schedule, alike):
    rng = np.random.default_rng(0)
    twins = [random_graph(rng, [2, 3, 2, 1, 3], 7, strength) for strength in (0.5, 3.0, 600.0)]
    zeros = random_graph(rng, [2, 3, 2, 2], 6, zeros=0.2)

    def compute():
        options = {"schedule": schedule, "sweeps": 5}
        for twin in twins:
            yield numbers(twin, {0: 1}, **options)
            yield numbers(twin, momentum=0.5, **options)
            yield numbers(twin, momentum=0.5, domain="log", temperature=0, **options)
        yield numbers(twins[1], counting=0.7, **options)
        yield numbers(zeros, momentum=0.5, likelihood={1: [1, 0, 2]}, **options)
        yield numbers(zeros, momentum=0.5, domain="log", **options)

    alike(compute)


def ruled(strength, seed=2):
    """Every kind of rule, around variables that pairs join as well."""
    rng = np.random.default_rng(seed)
    twin = Twin([2] * 6)
    for v in range(6):
        twin.factor([v], strength * rng.normal(size=2))
    twin.factor([0, 1], strength * rng.normal(size=(2, 2)))
    return twin.rule("even", [0, 1, 2, 3]).rule("odd", [2, 4, 5]).rule("at_most_one", [1, 3, 4])


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("strength", [1.0, 400.0])
def test_rules(schedule, strength, alike):
    gates = ruled(strength).rule("noisy_or", [0, 4, 5], [0.3, 0.6], 0.1)
    gates.rule("noisy_and", [1, 2, 3], [0.5, 1.0])

    def compute():
        options = {"schedule": schedule, "sweeps": 4, "momentum": 0.6}
        yield numbers(ruled(strength), {5: 1}, temperature=0, **options)
        yield numbers(gates, **options)
        yield numbers(gates, {3: 1}, **options)

    alike(compute)


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_contradictions(schedule, alike):
    """Met by a variable, by a table that says nothing, and by a rule: all are refused."""
    copies = Twin([2] * 4)
    for v in range(4):
        copies.potential([v, (v + 1) % 4], np.eye(2) if v else [[2, 1], [1, 2]])
    apart = Twin([2] * 3).potential([0, 1], [[0, 1], [1, 1]]).potential([1, 2], [[0, 1], [1, 0]])
    apart.potential([0, 2], [[0, 1], [1, 2]]).potential([0], [1, 0]).potential([2], [1, 0])
    silent = Twin([2] * 3).potential([0, 1], [[0, 0], [1, 1]]).potential([0], [1, 0])
    silent.potential([1, 2], [[2, 1], [1, 2]]).potential([2, 0], [[2, 1], [1, 2]])
    odd = Twin([2] * 4).rule("even", [0, 1, 2]).potential([0, 3], np.ones((2, 2)))
    odd.potential([1, 3], [[2, 1], [1, 2]])

    def compute():
        yield numbers(copies, likelihood={1: [1, 0], 3: [0, 1]}, schedule=schedule)
        yield numbers(apart, schedule=schedule)
        yield numbers(silent, schedule=schedule)
        yield numbers(odd, {0: 1, 1: 0, 2: 0}, schedule=schedule)

    alike(compute)
    assert list(compute()) == [[-1.0]] * 4


@pytest.mark.parametrize("k", [2, 3, 7])
def test_pairs(k, alike):
    twin = random_pairs(np.random.default_rng(k), 7, k, 11, 0.5)
    ends = twin.factors[-1][0]  # a pair both of whose ends are observed
    three = random_pairs(np.random.default_rng(k), 7, k, 5, 0.5).factor(
        [0, 1, 2], [[[0] * k] * k] * k
    )

    def compute():
        with mock.patch.object(engine, "_MANY_PAIRS", 0):
            options = {"schedule": "flooding", "sweeps": 4}
            found = [
                numbers(twin, dict.fromkeys(ends, 0), momentum=0.7, **options),
                numbers(twin, temperature=0, **options),
                numbers(three, **options),
                numbers(twin, temperature=2.0, momentum=0.5, **options),
            ]
            post = credo.infer(twin.graph, method="loopy", on_failure="return", **options)
            again = credo.infer(
                twin.graph, method="loopy", on_failure="return", start=post, **options
            )
        yield from found
        yield again.residuals

    alike(compute)


@pytest.mark.parametrize("domain", ["linear", "log"])
def test_mixing_numbers_too_small_for_float64(domain, alike):
    apart = [[0.0, -2000.0], [-2000.0, 0.0]]
    twin = Twin([2] * 3).factor([0, 1], apart).factor([1, 2], apart).factor([0], [0.0, -1500.0])
    twin.factor([0, 2], [[0.0, 0.1], [0.2, 0.0]])

    def compute():
        options = {"method": "loopy", "schedule": "flooding", "on_failure": "return"}
        plain = credo.infer(twin.graph, momentum=1.0, sweeps=4, **options)
        mixed = credo.infer(
            twin.graph, momentum=0.5, domain=domain, sweeps=3, start=plain, tolerance=0.0, **options
        )
        for source, target in ((0, 1), (1, 2), (2, 1), (1, 0)):
            yield mixed.message(source, target).values
        yield [mixed.log_evidence]

    alike(compute)


def test_a_queue_that_is_refilled(alike):
    """Enough messages for entries to climb and sink in the queue."""
    twin = random_pairs(np.random.default_rng(8), 9, 2, 20, 1.0)

    def compute():
        yield numbers(twin, schedule="residual", sweeps=12, momentum=0.5, domain="log")
        yield numbers(twin, schedule="residual", sweeps=12, counting=0.8)

    alike(compute)


def test_rows_side_by_side(alike):
    """Every kind of factor, and numbers that float64 does not hold."""
    rng, sizes = np.random.default_rng(9), [2, 2, 2, 3, 3, 2, 1]
    twin = Twin(sizes)
    for scope in ([0, 1], [3, 4], [2, 3], [0, 3, 5], [1]):
        twin.factor(scope, rng.normal(size=[sizes[v] for v in scope]))
    twin.rule("even", [0, 1, 2]).rule("odd", [1, 5]).rule("at_most_one", [0, 2, 5])
    twin.rule("noisy_or", [0, 1, 2], [0.5, 0.3], 0.1).rule("noisy_and", [2, 5], [0.9], 0.2)
    logs = {v: rng.normal(size=(2, sizes[v])) for v in (0, 3, 6)}
    logs[4] = np.array([[0.0, -400.0, 1.0], [-900.0, 0.0, -np.inf]])

    def compute():
        for options in (
            {},
            {"temperature": 0.0, "momentum": 0.7},
            {"until": "satisfied"},
            {"temperature": 2.0, "log_evidence": False},
        ):
            rows, given = {3: [None, 0], 0: [None, 1]}, {"log_potentials": logs, "sweeps": 3}
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ExpansionWarning)
                many = credo.infer_many(twin.graph, rows, method="loopy", **given, **options)
            yield from (many.probabilities(v) for v in range(7))
            yield [*many.log_evidence, *many.sweeps, *many.residuals]

    alike(compute)
