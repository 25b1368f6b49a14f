"""Rules in loopy belief propagation: linear time, the same numbers as their tables."""

import numpy as np
import pytest
from tests.oracles import loopy as oracle
from tests.properties.loopy_twins import Twin
from tests.work import bytes_in

import credo
from credo.exceptions import ExpansionWarning, ImpossibleEvidence

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
