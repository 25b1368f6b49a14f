"""Loopy belief propagation against messages written out one by one, and sums over everything."""

from unittest import mock

import numpy as np
from hypothesis import assume, given, strategies as st
from tests.oracles import loopy as oracle
from tests.oracles.joint import Joint
from tests.properties.loopy_twins import (
    generators,
    random_graph,
    random_pairs,
    random_tree,
)

import credo
from credo.inference.loopy import engine

SCHEDULES = ("flooding", "sequential", "residual", "random", "tree")
etas = st.sampled_from([1.0, 0.5, 0.3])
domains = st.sampled_from(["linear", "log"])
temperatures = st.sampled_from([1.0, 1.0, 0.0, 0.7, 2.0])
few_sizes = st.lists(st.integers(1, 4), min_size=1, max_size=6)


def infer(twin, seen=None, weights=None, **options):
    """Pass messages; nothing is said if they do not settle."""
    options = {"method": "loopy", "on_failure": "return", **options}
    return credo.infer(twin.graph, seen, likelihood=weights, **options)


def findings(rng, sizes, *, zeros=False):
    """Some variables observed, some weighed."""
    seen, weights = {}, {}
    for v, k in enumerate(sizes):
        kind = rng.choice(["nothing", "nothing", "nothing", "state", "weights"])
        if kind == "state":
            seen[v] = int(rng.integers(k))
        if kind == "weights":
            weights[v] = rng.random(k) + 0.1
            if zeros:
                weights[v][1:][rng.random(k - 1) < 0.3] = 0.0
    return seen, weights


def open_scopes(twin, seen):
    """The scopes of factors without what is observed."""
    return [tuple(v for v in scope if v not in seen) for scope, _ in twin.factors]


def assert_beliefs(post, net, seen, atol=1e-10):
    for v in range(len(net.sizes)):
        if v not in seen:
            np.testing.assert_allclose(post.probabilities(v), net.belief(v), rtol=1e-8, atol=atol)


def assert_same_sweeps(post, net, seen, eta, **way):
    """Every belief and every residual after as many sweeps of the oracle."""
    residuals = net.sweeps(post.sweeps, eta, **way)
    np.testing.assert_allclose(post.residuals, residuals, rtol=0, atol=1e-10)
    assert_beliefs(post, net, seen)


@given(
    rng=generators,
    sizes=few_sizes,
    schedule=st.sampled_from(["flooding", "sequential"]),
    eta=etas,
    domain=domains,
    temperature=temperatures,
    zeros=st.sampled_from([0.0, 0.25]),
    sweeps=st.integers(1, 6),
)
def test_sweeps_equal_messages_written_out(
    *, rng, sizes, schedule, eta, domain, temperature, zeros, sweeps
):
    twin = random_graph(rng, sizes, len(sizes) + 3, strength=1.5, zeros=zeros)
    seen, weights = findings(rng, sizes, zeros=zeros > 0)
    assume(Joint.numbered(sizes, twin.weighed(seen, weights)).is_possible)
    post = infer(
        twin,
        seen,
        weights,
        schedule=schedule,
        momentum=eta,
        domain=domain,
        temperature=temperature,
        sweeps=sweeps,
        tolerance=0.0,
    )
    net = twin.net(seen, weights, temperature=temperature)
    way = {"in_logs": domain == "log", "sequential": schedule == "sequential"}
    assert_same_sweeps(post, net, seen, eta, **way)


@given(
    rng=generators,
    k=st.sampled_from([2, 2, 3, 4, 6, 7, 9]),
    eta=etas,
    temperature=temperatures,
    sweeps=st.integers(1, 6),
)
def test_flooding_on_pairs_equals_messages_written_out(rng, k, eta, temperature, sweeps):
    twin = random_pairs(rng, 6, k, 9, strength=1.5)
    seen, weights = findings(rng, twin.sizes)
    with mock.patch.object(engine, "_MANY_PAIRS", 0):
        post = infer(
            twin,
            seen,
            weights,
            schedule="flooding",
            momentum=eta,
            temperature=temperature,
            sweeps=sweeps,
            tolerance=0.0,
        )
    assume("messages" in post.details)  # findings may leave no pair
    assert post.details["messages"].startswith("ratios")
    net = twin.net(seen, weights, temperature=temperature)
    assert_same_sweeps(post, net, seen, eta)


@given(
    rng=generators,
    k=st.sampled_from([2, 3, 7]),
    eta=etas,
    sweeps=st.integers(1, 6),
)
def test_single_precision_is_near_messages_written_out(rng, k, eta, sweeps):
    twin = random_pairs(rng, 6, k, 9, strength=1.5)
    options = {"momentum": eta, "sweeps": sweeps, "tolerance": 0.0, "dtype": "float32"}
    post = infer(twin, schedule="flooding", **options)
    assert post.details["messages"].startswith("ratios")
    net = twin.net()
    np.testing.assert_allclose(post.residuals, net.sweeps(post.sweeps, eta), atol=1e-5)
    assert_beliefs(post, net, {}, atol=3e-5)


@given(
    rng=generators,
    sizes=st.lists(st.integers(1, 3), min_size=1, max_size=8),
    schedule=st.sampled_from(["auto", *SCHEDULES]),
    momentum=st.sampled_from([1.0, 0.4, "adaptive"]),
    temperature=st.sampled_from([1.0, 1.0, 0.0]),
    zeros=st.sampled_from([0.0, 0.3]),
    strength=st.sampled_from([1.0, 30.0]),
)
def test_trees_are_exact_with_every_schedule(
    *, rng, sizes, schedule, momentum, temperature, zeros, strength
):
    twin = random_tree(rng, sizes, strength, zeros)
    seen, weights = findings(rng, sizes)
    factors = twin.weighed(seen, weights)
    assume(Joint.numbered(sizes, factors).is_possible)
    options = {"schedule": schedule, "momentum": momentum, "temperature": temperature}
    post = infer(twin, seen, weights, **options)
    expected, log_z = oracle.marginals(sizes, factors, maximum=temperature == 0)
    for v, marginal in enumerate(expected):
        np.testing.assert_allclose(post.probabilities(v), marginal, rtol=1e-9, atol=1e-300)
    assert abs(post.log_evidence - log_z) <= 1e-10 * max(1.0, abs(log_z))
    assert (post.status, post.log_evidence_is) == ("EXACT", "EXACT")


@given(
    rng=generators,
    sizes=st.lists(st.integers(2, 3), min_size=3, max_size=6),
    schedule=st.sampled_from(["flooding", "sequential"]),
    eta=etas,
    temperature=st.sampled_from([1.0, 0.0, 0.5]),
    sweeps=st.integers(1, 5),
)
def test_counting_numbers_are_powers_of_factors_and_messages(
    rng, sizes, schedule, eta, temperature, sweeps
):
    twin = random_graph(rng, sizes, len(sizes) + 3)
    seen, weights = findings(rng, sizes)
    shared = rng.uniform(0.3, 1.7)
    counting = shared if rng.random() < 0.3 else rng.uniform(0.3, 1.7, len(twin.factors))
    joined = [len(scope) > 1 for scope in open_scopes(twin, seen)]
    powers = np.broadcast_to(counting, len(joined))[joined]
    post = infer(
        twin,
        seen,
        weights,
        counting=counting,
        schedule=schedule,
        momentum=eta,
        temperature=temperature,
        sweeps=sweeps,
        tolerance=0.0,
    )
    net = twin.net(seen, weights, powers=powers, temperature=temperature)
    assert_same_sweeps(post, net, seen, eta, sequential=schedule == "sequential")
    assert post.log_evidence_is == "ESTIMATE"


@st.composite
def with_a_rule(draw):
    """A graph of two-state variables with a rule over some of them."""
    rng = draw(generators)
    n = draw(st.integers(3, 7))
    twin = random_graph(rng, [2] * n, n, strength=0.7)
    scope = rng.permutation(n)[: draw(st.integers(2, n))].tolist()
    chances = rng.choice([0.0, 0.3, 0.8, 1.0], size=len(scope) - 1).tolist()
    leak = float(rng.choice([0.0, 0.1, 1.0]))
    kind = draw(st.sampled_from(["even", "odd", "at_most_one", "noisy_or", "noisy_and"]))
    return rng, twin.rule(kind, scope, chances, leak), scope, kind


@given(case=with_a_rule(), eta=etas, sweeps=st.integers(1, 5))
def test_rules_equal_their_tables_sweep_by_sweep(case, eta, sweeps):
    rng, twin, scope, kind = case
    seen, weights = findings(rng, twin.sizes)
    assume(Joint.numbered(twin.sizes, twin.weighed(seen, weights)).is_possible)
    # what is observed of a rule is a weight, not a slice
    outside = {v: x for v, x in seen.items() if v not in scope}
    inside = {v: np.eye(2)[x] for v, x in seen.items() if v in scope}
    temperature = float(rng.choice([1.0, 0.0])) if not kind.startswith("noisy") else 1.0
    options = {"momentum": eta, "sweeps": sweeps, "tolerance": 0.0, "temperature": temperature}
    post = infer(twin, seen, weights, schedule="flooding", **options)
    net = twin.net(outside, weights | inside, temperature=temperature)
    assert_same_sweeps(post, net, seen, eta)


@given(
    rng=generators,
    sizes=few_sizes,
    schedule=st.sampled_from(SCHEDULES),
    eta=etas,
    temperature=st.sampled_from([1.0, 0.0]),
)
def test_zeros_are_exact_and_what_is_possible_is_never_refused(
    rng, sizes, schedule, eta, temperature
):
    twin = random_graph(rng, sizes, len(sizes) + 2, zeros=0.35)
    seen, weights = findings(rng, sizes, zeros=True)
    whole = Joint.numbered(sizes, twin.weighed(seen, weights))
    assume(whole.is_possible)
    options = {"schedule": schedule, "momentum": eta, "temperature": temperature, "sweeps": 3}
    post = infer(twin, seen, weights, **options)
    for v in range(len(sizes)):
        belief = post.probabilities(v)
        assert np.isfinite(belief).all()
        assert (belief[np.isfinite(whole.largest(v))] > 0).all()
