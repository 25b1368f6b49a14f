"""Loopy belief propagation on trees, with zeros, and through rules."""

import contextlib

import numpy as np
import pytest
from tests.oracles import loopy as oracle
from tests.properties.loopy_twins import Twin, random_graph, random_tree
from tests.work import bytes_in

import credo
from credo.exceptions import ExpansionWarning, ImpossibleEvidence, InputError

SCHEDULES = ("auto", "flooding", "sequential", "residual", "random", "tree")
KINDS = ("even", "odd", "at_most_one", "noisy_or", "noisy_and")


def loopy(model, evidence=None, **options):
    options = {"method": "loopy", "on_failure": "return", **options}
    return credo.infer(model, evidence, **options)


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
    [("even", "flooding"), ("at_most_one", "sequential"), ("noisy_or", "residual")],
)
def test_memory_is_linear_in_the_length_of_a_rule(kind, schedule):
    def peak(n):
        return bytes_in(lambda: loopy(long_rule(kind, np.zeros(n)), schedule=schedule))

    assert peak(3000) < 8 * peak(500)


@pytest.mark.parametrize("is_first", [True, False])
@pytest.mark.parametrize("kind", KINDS)
def test_a_rule_over_one_variable_is_a_table_wherever_it_stands(kind, is_first):
    twin = Twin([2, 2, 2])
    if is_first:
        twin.rule(kind, [1], [], 0.1)
    twin.potential([0, 1], [[2.0, 1.0], [1.0, 3.0]]).potential([1, 2], [[2.0, 1.0], [1.0, 3.0]])
    if not is_first:
        twin.rule(kind, [1], [], 0.1)
    for schedule in SCHEDULES:
        assert_exact(loopy(twin.graph, schedule=schedule), twin.sizes, twin.factors)


def test_a_check_of_one_bit_is_exact():
    graph = credo.graphs.parity_graph(np.array([[1, 1, 0], [0, 0, 1]]))
    seen = {v: [0.6, 0.4] for v in graph.variables}
    exact, post = (credo.infer(graph, likelihood=seen, method=m) for m in ("auto", "loopy"))
    assert post.status == "EXACT"
    for v in graph.variables:
        np.testing.assert_allclose(post.probabilities(v), exact.probabilities(v), rtol=1e-12)


@pytest.mark.parametrize("momentum", [1.0, 0.3])
@pytest.mark.parametrize("schedule", SCHEDULES)
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


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize(
    ("table", "own", "seen", "weights", "conflict"),
    [
        ([[0, 1], [1, 1]], [1, 1], {0: 0, 1: 0}, {}, {0, 1}),  # all variables of a factor
        ([[0, 0], [1, 1]], [1, 1], {0: 0}, {}, {0}),  # a row of zeros
        ([[1, 1], [1, 1]], [1, 0], {0: 1}, {}, {0}),  # a state that a potential forbids
        ([[1, 0], [0, 1]], [1, 1], {}, {0: [1, 0], 1: [0, 1]}, {0, 1}),  # met in the middle
        ([[1, 0], [0, 1]], [1, 1], {0: 1, 1: 0, 2: 1, 3: 0}, {}, {0, 1}),  # others do not matter
    ],
)
def test_conflicts_are_named(table, own, seen, weights, conflict, dtype):
    twin = Twin([2] * 4).potential([0, 1], table).potential([0], own)
    for pair in ((1, 2), (2, 3), (3, 0)):
        twin.potential(pair, [[1, 2], [2, 1]])
    with pytest.raises(ImpossibleEvidence) as caught:
        loopy(twin.graph, seen, likelihood=weights, dtype=dtype)
    assert set(caught.value.conflict) == conflict


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


SIZES = [2, 3, 2, 4, 2, 3, 2, 2, 3]


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


def test_a_ring_is_no_tree_until_evidence_cuts_it():
    twin = Twin([2] * 4)
    for v in range(4):
        twin.potential([v, (v + 1) % 4], [[3.0, 1.0], [1.0, 2.0]])
    whole = loopy(twin.graph)
    assert (whole.status, whole.log_evidence_is) == ("CONVERGED", "ESTIMATE")
    assert_exact(loopy(twin.graph, {0: 0}), twin.sizes, twin.weighed({0: 0}))


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
