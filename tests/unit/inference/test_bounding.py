"""Bounds on log Z from both sides: they hold, are as close as they should be, and say why."""

import math

import numpy as np
import pytest
from tests.oracles import bounds as oracle
from tests.speeds import plain_kernels

import credo
from credo.exceptions import ImpossibleEvidence, InputError, LabelError

QUICK = {"rounds": 2, "sweeps": 40, "restarts": 1, "tolerance": 1e-6}
BY_FOREST = {"lower": "exact forest", "upper": "exact forest"}
SAME = np.where(np.eye(2) > 0, 0.0, -np.inf)
DIFFER = np.where(np.eye(2) > 0, -np.inf, 0.0)
#: Three variables of two states, all different: impossible, which arc consistency does not notice.
RIVALS = [2] * 3, [([0, 1], DIFFER), ([1, 2], DIFFER), ([2, 0], DIFFER)]
ROUNDING = 1e-10
LOWER = pytest.mark.parametrize("method", ["mean_field", "structured_mean_field"])
GRAPHS = pytest.mark.parametrize(
    ("arity", "zeros", "scale"),
    [(2, 0.0, 1.0), (2, 0.0, 4.0), (2, 0.3, 1.0), (3, 0.0, 1.5), (3, 0.35, 1.0)],
    ids=["pairs", "strong", "zeros", "threes", "threes with zeros"],
)


def model_of(sizes, factors):
    """The graph of an oracle as a model; its variables are numbers."""
    graph = credo.FactorGraph()
    for v, k in enumerate(sizes):
        graph.variable(v, int(k))
    for scope, logs in factors:
        graph.factor(scope, logs, log=True)
    return graph


def infer(graph, method, evidence=None, **options):
    """What a method says, settled or not."""
    return credo.infer(model_of(*graph), evidence, method=method, on_failure="return", **options)


def clamped(sizes, factors, evidence):
    """Add factors that allow the observed states only."""
    observed = [
        ([v], np.where(np.arange(sizes[v]) == x, 0.0, -np.inf)) for v, x in evidence.items()
    ]
    return sizes, [*factors, *observed]


def complete(n, rng, scale):
    """All pairs of n variables of two states, with random tables; no unary logs."""
    pairs = [[a, b] for a in range(n) for b in range(a)]
    return [2] * n, [(pair, rng.normal(scale=scale, size=(2, 2))) for pair in pairs]


def marginals_of(post, sizes):
    """The marginals of all variables, one array each."""
    return [post.probabilities(v) for v in range(len(sizes))]


# --- both sides -----------------------------------------------------------------------------------


@GRAPHS
def test_bounds_hold_on_random_graphs(arity, zeros, scale):
    rng = np.random.default_rng(arity + int(10 * zeros + scale))
    loops = 0
    for _ in range(120):
        sizes, factors = oracle.random_graph(rng, 6, arity, zeros, scale)
        evidence = {0: int(rng.integers(sizes[0]))} if rng.random() < 0.3 else {}
        exact = oracle.log_z(*clamped(sizes, factors, evidence))
        if exact == -math.inf:
            continue
        found = credo.bounds(model_of(sizes, factors), evidence, **QUICK)
        assert found.lower <= exact <= found.upper
        assert found.gap == found.upper - found.lower
        if found.by == BY_FOREST:
            assert found.gap < 1e-9
        else:
            loops += 1
    assert loops > 25


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(10))
def test_bounds_hold_to_the_last_digit_on_thousands_of_graphs(seed):
    """Strictly, next to sums in extended precision: with zeros, wide logs, few sweeps, rules."""
    rng = np.random.default_rng(seed)
    met = 0
    for _ in range(400):
        shape = int(rng.integers(2, 4)), float(rng.choice([0.0, 0.0, 0.4]))
        scale = float(rng.choice([1e-3, 1.0, 5.0, 300.0]))
        sizes, factors = oracle.random_graph(rng, 6, *shape, scale)
        if rng.random() < 0.3:  # products of single variables: forests and couplings of zero
            factors = [
                (scope, sum(np.ix_(*(rng.normal(scale=scale, size=sizes[v]) for v in scope))))
                for scope, _ in factors
            ]
        if rng.random() < 0.2:  # a rule with zeros, as a table
            pair = [v for v in range(len(sizes)) if sizes[v] == 2][:2]
            factors += [(pair, SAME if rng.random() < 0.5 else DIFFER)] if len(pair) == 2 else []
        exact = oracle.log_z(sizes, factors, np.longdouble)
        if exact == -math.inf:
            continue
        options = {"rounds": int(rng.integers(3)), "sweeps": int(rng.choice([1, 7, 60]))}
        found = credo.bounds(model_of(sizes, factors), restarts=1, **options)
        slack = np.longdouble(1e-18) * (1 + abs(exact))  # of the oracle
        assert found.lower <= exact + slack
        assert exact - slack <= found.upper
        met += found.gap < 1e-10 * (1 + abs(exact))
    assert met > 40  # where nothing but rounding is between them


def test_intervals_of_probabilities_hold_on_random_graphs():
    rng = np.random.default_rng(5)
    for turn in range(60):
        zeros = 0.3 if turn % 2 else 0.0
        sizes, factors = oracle.random_graph(rng, 5, 2 + turn % 2, zeros)
        if oracle.log_z(sizes, factors) == -math.inf:
            continue
        found = credo.bounds(model_of(sizes, factors), **QUICK)
        names = rng.permutation(len(sizes))[:2].tolist()
        table = found.joint(names)
        truth = oracle.joint_probabilities(sizes, factors, names)
        assert table.shape == (*truth.shape, 2)
        # the truth of the oracle is rounded too
        assert (table[..., 0] <= truth * (1 + 1e-12)).all()
        assert (table[..., 1] >= truth * (1 - 1e-12)).all()
        assert ((table >= 0) & (table <= 1)).all()


def test_on_a_forest_both_bounds_are_the_value_and_intervals_are_points():
    net = credo.BayesianNetwork()
    for name in ("rain", "wet", "cold"):
        net.variable(name, ["no", "yes"])
    net.cpt("rain", table=[0.8, 0.2])
    net.cpt("wet", given=["rain"], table=[[0.9, 0.1], [0.2, 0.8]])
    net.cpt("cold", given=["rain"], table=[[0.7, 0.3], [0.4, 0.6]])
    found = credo.bounds(net, {"wet": "yes"})
    assert found.by == BY_FOREST
    assert found.log_z == pytest.approx((math.log(0.24), math.log(0.24)), abs=1e-13)
    np.testing.assert_allclose(found.marginal("rain"), [[1 / 3, 1 / 3], [2 / 3, 2 / 3]], rtol=1e-12)
    assert "exact forest" in repr(found)


def test_an_observed_variable_has_its_state_for_certain():
    found = credo.bounds(model_of(*oracle.ring(4, 0.7, 0.2)), {1: 0})
    np.testing.assert_array_equal(found.marginal(1), [[1.0, 1.0], [0.0, 0.0]])
    table = found.joint([1, 2])
    assert table.shape == (2, 2, 2)
    np.testing.assert_array_equal(table[1], 0.0)
    np.testing.assert_array_equal(table[0], found.marginal(2))


def test_impossible_states_have_probability_zero_for_certain():
    sizes, factors = oracle.ring(3, 0.5)
    never = np.array([[0.0, 0.0], [-np.inf, -np.inf]])
    found = credo.bounds(model_of(sizes, [*factors, ([0, 1], never)]))
    np.testing.assert_array_equal(found.marginal(0), [[1.0, 1.0], [0.0, 0.0]])


def test_zeros_of_a_product_are_found_again():
    """Alone, each of the first two allows all four states; together they allow one pair."""
    but_one = np.array([[0.0, 0.0], [0.0, -np.inf]])
    found = credo.bounds(model_of([2] * 3, [([0, 1], SAME), ([1, 0], but_one), ([1, 2], DIFFER)]))
    assert found.by == BY_FOREST
    assert found.log_z == pytest.approx((0.0, 0.0), abs=1e-14)
    np.testing.assert_array_equal(found.joint([0, 2])[0, 1], 1.0)


def test_constants_and_lonely_variables_count():
    graph = credo.FactorGraph()
    graph.variable("a", 2)
    graph.variable("b", 3)
    graph.factor(["a"], [0.2, 0.6])
    found = credo.bounds(graph, {"a": 1})
    assert found.lower <= math.log(0.6 * 3) <= found.upper < math.log(0.6 * 3) + 1e-14


def test_constants_that_cancel_leave_their_rounding_behind():
    rng = np.random.default_rng(0)
    for _ in range(20):
        scales = rng.normal(scale=1e3, size=30)
        factors = [([0], np.array([c])) for c in (*scales, -math.fsum(scales))]
        exact = math.fsum(float(logs[0]) for _, logs in factors)
        found = credo.bounds(model_of([1], factors))
        assert found.lower <= exact <= found.upper < exact + 1e-9


def test_a_likelihood_multiplies():
    sizes, factors = oracle.ring(4, 0.4, 0.3)
    exact = oracle.log_z(sizes, [*factors, ([2], np.log([0.2, 0.7]))])
    found = credo.bounds(model_of(sizes, factors), likelihood={2: [0.2, 0.7]})
    assert found.lower <= exact <= found.upper < exact + 0.2


def test_rules_are_bounded_too():
    graph = credo.FactorGraph()
    for v in range(4):
        graph.variable(v, 2)
        graph.factor([v], [1.0, 0.3 + 0.1 * v])
    graph.parity([0, 1, 2, 3])
    graph.factor([0, 3], [[2.0, 1.0], [1.0, 2.0]])
    exact = credo.infer(graph)
    found = credo.bounds(graph)
    assert found.lower <= exact.log_evidence <= found.upper
    low, high = found.marginal(1).T
    assert (low <= exact.probabilities(1)).all()
    assert (exact.probabilities(1) <= high).all()


def test_children_that_nobody_observed_do_not_widen_the_bounds():
    net = credo.BayesianNetwork()
    for name in "abcd":
        net.variable(name, 2)
    net.cpt("a", table=[0.3, 0.7])
    net.cpt("b", given=["a"], table=[[0.2, 0.8], [0.6, 0.4]])
    net.cpt("c", given=["a"], table=[[0.5, 0.5], [0.1, 0.9]])
    net.cpt("d", given=["b", "c"], table=np.full((2, 2, 2), 0.5))
    found = credo.bounds(net, {"a": 0})
    assert found.upper == pytest.approx(math.log(0.3), abs=1e-12)
    assert found.gap < 1e-12


def test_more_rounds_narrow_the_interval_and_the_answer_is_the_same_every_time():
    graph = model_of(*oracle.grid(4, np.random.default_rng(0), 1.0))
    gaps = [credo.bounds(graph, rounds=rounds).gap for rounds in (0, 3, 10)]
    assert gaps[0] > gaps[1] > gaps[2]
    assert credo.bounds(graph, seed=3).log_z == credo.bounds(graph, seed=3).log_z


def test_a_joint_is_computed_once_and_read_only_and_the_interval_is_in_the_text():
    found = credo.bounds(model_of(*oracle.ring(4, 0.7)))
    table = found.joint([0, 1])
    assert found.joint([0, 1]) is table
    with pytest.raises(ValueError, match="read-only"):
        table[0] = 0.5
    assert repr(found).startswith("<Bounds: log Z in [")
    assert repr(found).endswith("by structured mean field and tree-reweighted>")


def test_what_cannot_be_is_named_at_once_or_where_it_is_noticed():
    sizes, factors = oracle.ring(3, 0.5)
    graph = model_of(sizes, [*factors, ([0, 1], SAME)])
    with pytest.raises(ImpossibleEvidence, match="bounds: the evidence has probability zero"):
        credo.bounds(graph, {0: 0, 1: 1})
    found = credo.bounds(model_of(*RIVALS))
    assert found.lower == -math.inf
    with pytest.raises(InputError, match="allows no configuration at all"):
        found.marginal(0)


def test_the_allowance_for_rounding_stays_small_on_long_chains():
    n, coupling = 5000, 1.3
    sizes, factors = oracle.ring(n, coupling)
    found = credo.bounds(model_of(sizes, factors[1:]))
    exact = math.log(2.0) + (n - 1) * math.log(2.0 * math.cosh(coupling))
    assert found.lower <= exact <= found.upper
    assert found.gap < 1e-8


def test_questions_are_checked():
    graph = model_of(*oracle.ring(4, 0.5))
    with pytest.raises(LabelError, match="9"):
        credo.bounds(graph, {9: 0})
    with pytest.raises(InputError, match="rounds of bounds must be a whole number, at least 0"):
        credo.bounds(graph, rounds=-1)
    with pytest.raises(InputError, match="restarts of bounds must be a whole number, at least 1"):
        credo.bounds(graph, restarts=0)
    with pytest.raises(InputError, match="tolerance"):
        credo.bounds(graph, tolerance=-1.0)
    with pytest.raises(InputError, match="needs a BayesianNetwork"):
        credo.bounds([1, 2])
    found = credo.bounds(graph, query=[0, 1])
    with pytest.raises(InputError, match="2 was not asked for"):
        found.marginal(2)
    with pytest.raises(InputError, match="twice"):
        found.joint([0, 0])
    with pytest.raises(InputError, match="at most 4096. Got 8192"):
        credo.bounds(model_of([2] * 13, [([v], np.zeros(2)) for v in range(13)])).joint(range(13))


def test_probabilities_follow_from_bounds_on_sums():
    """A state is least probable where its own sum is least and the others' are greatest."""
    sizes, factors = oracle.grid(3, np.random.default_rng(3), 1.0)
    model = model_of(sizes, factors)
    sums = [credo.bounds(model, {4: x}) for x in range(2)]
    for one, other, row in zip(sums, sums[::-1], credo.bounds(model).marginal(4), strict=True):
        least = 1 / (1 + math.exp(other.upper - one.lower))
        most = 1 / (1 + math.exp(other.lower - one.upper))
        assert row == pytest.approx((least, most), rel=1e-9)


# --- from above -----------------------------------------------------------------------------------


@pytest.mark.parametrize("forests", ["uniform", "optimise"])
@GRAPHS
def test_the_upper_bound_is_above_log_z(forests, arity, zeros, scale):
    rng = np.random.default_rng(3 * arity + int(10 * zeros))
    loops = 0
    for _ in range(120):
        graph = oracle.random_graph(rng, 6, arity, zeros, scale)
        exact = oracle.log_z(*graph)
        # messages are far from settled after a few sweeps, and the bound holds all the same
        sweeps = int(rng.integers(1, 20))
        try:
            found = infer(graph, "tree_reweighted", forests=forests, rounds=2, sweeps=sweeps)
        except InputError:
            assert exact == -math.inf
            continue
        if found.log_evidence_is == "EXACT":
            assert found.log_evidence == pytest.approx(exact, abs=1e-9)
            continue
        loops += 1
        assert found.log_evidence >= exact
        assert found.details["rounding"] < ROUNDING
    assert loops > 25


def test_settled_messages_are_those_of_the_oracle_and_so_is_their_free_energy():
    rng = np.random.default_rng(3)
    for scale in (0.7, 0.7, 1.2):
        sizes, factors = complete(4, rng, scale)
        found = infer((sizes, factors), "tree_reweighted", tolerance=1e-12, rounds=3)
        scopes = [sorted(scope.tolist()) for scope in found.details["scopes"]]
        rho = dict(zip(map(tuple, scopes), found.details["rho"], strict=True))
        powers = [rho[tuple(sorted(scope))] for scope, _ in factors]
        messages = oracle.fractional_messages(sizes, factors, powers, 150)
        value = oracle.reweighted_free_energy(sizes, factors, powers, messages)
        assert found.log_evidence == pytest.approx(value, abs=1e-9)


def test_shares_of_forests_are_in_the_polytope_and_two_parts_have_two_trees():
    sizes, factors = complete(5, np.random.default_rng(4), 1.0)
    for forests in ("uniform", "optimise"):
        details = infer((sizes, factors), "tree_reweighted", forests=forests, rounds=6).details
        rho, scopes = details["rho"], [scope.tolist() for scope in details["scopes"]]
        assert sorted(map(sorted, scopes)) == sorted(sorted(scope) for scope, _ in factors)
        assert (rho > 0).all()
        assert rho.sum() == pytest.approx(len(sizes) - 1)
        assert details["weights"].sum() == pytest.approx(1.0)
        assert oracle.is_in_forest_polytope(len(sizes), scopes, rho)
    sizes, factors = oracle.ring(4, 0.5)
    more = [([v + 4 for v in scope], logs) for scope, logs in factors]
    found = infer((sizes * 2, factors + more), "tree_reweighted")
    assert found.details["rho"].sum() == pytest.approx(8 - 2)


def test_optimising_lowers_the_bound_every_round():
    rng = np.random.default_rng(5)
    for coupling in (0.5, 1.0, 2.0):
        graph = oracle.grid(3, rng, coupling)
        plain = infer(graph, "tree_reweighted", forests="uniform")
        better = infer(graph, "tree_reweighted", rounds=8)
        assert oracle.log_z(*graph) <= better.log_evidence < plain.log_evidence
        assert (np.diff(better.details["rounds"]) < 0).all()
        assert better.details["rounds"][0] == pytest.approx(plain.log_evidence, abs=1e-7)


def test_a_ring_of_equal_couplings_has_equal_shares():
    n, coupling = 6, 0.7
    found = infer(oracle.ring(n, coupling), "tree_reweighted", rounds=60)
    rho = (n - 1) / n
    # with equal shares each tree is a chain of couplings over rho: 2 (2 cosh J / rho)^(n - 1)
    best = math.log(2.0) + (n - 1) * math.log(2.0 * math.cosh(coupling / rho))
    assert best <= found.log_evidence < best + 1e-4
    np.testing.assert_allclose(found.details["rho"], rho, atol=0.02)


@pytest.mark.parametrize("method", ["tree_reweighted", "structured_mean_field"])
def test_a_forest_is_summed_exactly(method):
    rng = np.random.default_rng(5)
    for _ in range(10):
        sizes = rng.integers(1, 4, size=6).tolist()
        links = [(v, int(rng.integers(v))) for v in range(1, 6)]
        factors = [([v, w], rng.normal(scale=3.0, size=(sizes[v], sizes[w]))) for v, w in links]
        found = infer((sizes, factors), method)
        assert (found.status, found.log_evidence_is) == ("EXACT", "EXACT")
        assert found.log_evidence == pytest.approx(oracle.log_z(sizes, factors), abs=1e-9)
        for v in range(6):
            truth = oracle.joint_probabilities(sizes, factors, [v])
            np.testing.assert_allclose(found.probabilities(v), truth, atol=1e-12)
        pair = oracle.joint_probabilities(sizes, factors, links[2])
        np.testing.assert_allclose(found.joint(links[2]).table, pair, atol=1e-12)


def test_factors_with_the_same_variables_are_one():
    rng = np.random.default_rng(6)
    factors = [([0, 1], rng.normal(size=(2, 3))), ([1, 0], rng.normal(size=(3, 2)))]
    factors += [([1], rng.normal(size=3)), ([2, 1, 0], rng.normal(size=(2, 3, 2)))]
    found = infer(([2, 3, 2], factors), "tree_reweighted")
    assert found.log_evidence_is == "EXACT"
    assert found.log_evidence == pytest.approx(oracle.log_z([2, 3, 2], factors), abs=1e-12)


def test_joint_beliefs_agree_with_marginals():
    graph = oracle.grid(3, np.random.default_rng(7), 0.8)
    found = infer(graph, "tree_reweighted", {8: 1})
    assert found.status == "CONVERGED"
    pair = found.joint([1, 0]).table
    np.testing.assert_allclose(pair.sum(axis=1), found.probabilities(1), atol=1e-6)
    np.testing.assert_allclose(pair.sum(axis=0), found.probabilities(0), atol=1e-6)
    with pytest.raises(InputError, match="hold"):
        found.joint([0, 4])
    sizes, factors = oracle.ring(4, 0.8)
    found = infer((sizes, [*factors, ([0], np.array([-np.inf, 0.0]))]), "tree_reweighted")
    pair = found.joint([0, 2]).table  # one state is left of the first
    np.testing.assert_array_equal(pair[0], 0.0)
    np.testing.assert_allclose(pair[1], found.probabilities(2), atol=1e-15)


@pytest.mark.parametrize("scale", [800.0, 1e5], ids=["wide", "wider"])
def test_wide_logs_are_bounded(scale):
    graph = oracle.ring(5, scale, 0.3)
    exact = oracle.log_z(*graph)
    found = infer(graph, "tree_reweighted")
    assert exact <= found.log_evidence < exact * (1 + 1e-3)
    assert found.details["rounding"] < 1e-12 * exact
    for method in ("mean_field", "structured_mean_field"):
        assert exact - 1.0 < infer(graph, method).log_evidence <= exact


def test_a_bound_is_found_where_messages_do_not_settle():
    graph = complete(7, np.random.default_rng(8), 6.0)
    exact = oracle.log_z(*graph)
    few, many = (infer(graph, "tree_reweighted", sweeps=n, rounds=0) for n in (5, 400))
    assert few.status == "MAX_SWEEPS"
    assert exact <= many.log_evidence <= few.log_evidence


# --- from below -----------------------------------------------------------------------------------


@LOWER
@GRAPHS
def test_the_lower_bound_is_below_log_z_and_never_falls(method, arity, zeros, scale):
    rng = np.random.default_rng(7 * arity + int(10 * zeros))
    useful = 0
    for _ in range(100):
        graph = oracle.random_graph(rng, 6, arity, zeros, scale)
        exact = oracle.log_z(*graph)
        try:
            found = infer(graph, method, sweeps=30)
        except InputError:
            assert exact == -math.inf
            continue
        value = found.log_evidence
        if found.log_evidence_is == "EXACT":
            assert value == pytest.approx(exact, abs=ROUNDING)
            continue
        assert value <= exact
        if value > -math.inf:
            useful += 1
            assert (np.diff(found.details["bounds"]) >= -ROUNDING).all()
            assert found.details["rounding"] < ROUNDING * scale
        if value > -math.inf and method == "mean_field":
            expected = oracle.lower_bound(*graph, marginals_of(found, graph[0]))
            assert value == pytest.approx(expected, abs=ROUNDING)
    assert useful > 15


def test_settled_marginals_satisfy_the_fixed_point():
    sizes, factors = oracle.grid(3, np.random.default_rng(1), 0.6)
    found = infer((sizes, factors), "mean_field", tolerance=1e-12)
    assert found.status == "CONVERGED"
    q = marginals_of(found, sizes)
    for v in range(len(sizes)):
        logs = np.zeros(2)
        for scope, table in factors:
            if v in scope:
                others = [u for u in scope if u != v]
                turned = np.moveaxis(table, scope.index(v), 0)
                logs += turned @ q[others[0]] if others else turned
        best = np.exp(logs - logs.max())
        np.testing.assert_allclose(q[v], best / best.sum(), atol=1e-10)


def test_blocks_and_more_starts_are_never_worse():
    rng = np.random.default_rng(3)
    gains = []
    for _ in range(20):
        graph = oracle.grid(3, rng, 1.5)
        alone, often = (infer(graph, "mean_field", restarts=n).log_evidence for n in (1, 8))
        blocks = infer(graph, "structured_mean_field").log_evidence
        assert often >= alone
        assert blocks >= alone - ROUNDING
        gains.append(blocks - alone)
    assert np.mean(gains) > 0.25


@LOWER
def test_a_symmetric_field_is_not_left_on_its_ridge(method):
    # all alike: 6 couplings of 2 each; the uniform start has an average of zero
    assert infer(oracle.ring(6, 2.0), method).log_evidence > 12.0


def test_zeros_cost_something_between_blocks_only():
    sizes, factors = oracle.ring(4, 0.3, 0.2)
    graph = sizes, [*factors[1:], ([0, 1], SAME)]
    exact = oracle.log_z(*graph)
    # one of the two states that agree has to go
    assert infer(graph, "mean_field").log_evidence < exact - 0.3
    assert exact - 0.1 < infer(graph, "structured_mean_field").log_evidence <= exact


def test_a_configuration_is_found_through_hard_constraints():
    factors = [([v, v + 1], DIFFER) for v in range(5)]
    factors += [([0, 5], DIFFER), ([0], np.log([0.9, 0.1]))]
    found = infer(([2] * 6, factors), "mean_field")
    assert found.log_evidence == pytest.approx(math.log(0.9), abs=ROUNDING)


@pytest.mark.parametrize("method", ["mean_field", "structured_mean_field", "tree_reweighted"])
def test_what_is_impossible_or_without_factors(method):
    with pytest.raises(InputError, match="allows no configuration at all"):
        infer(([2, 2], [([0, 1], SAME), ([1, 0], SAME[::-1])]), method)
    found = infer(([3, 1], []), method)
    assert found.log_evidence == pytest.approx(math.log(3))
    assert found.log_evidence_is == "EXACT"
    np.testing.assert_allclose(found.probabilities(0), 1 / 3)
    np.testing.assert_array_equal(found.probabilities(1), 1.0)


@LOWER
def test_where_no_start_is_found_the_bound_is_minus_infinity_but_not_a_proof(method):
    found = infer(RIVALS, method)
    assert found.log_evidence_is == "LOWER_BOUND"
    assert found.log_evidence == -math.inf
    assert found.probabilities(0).sum() == pytest.approx(1.0)


def test_few_sweeps_are_a_status():
    found = infer(oracle.grid(4, np.random.default_rng(0), 1.0), "mean_field", sweeps=2)
    assert found.status == "MAX_SWEEPS"
    assert len(found.residuals) == 2
    assert found.updates == 32


class TestGivenBlocks:
    graph = oracle.ring(6, 0.8, 0.3)

    def run(self, blocks, evidence=None):
        return infer(self.graph, "structured_mean_field", evidence, blocks=blocks)

    def test_are_used(self):
        found = self.run([[0, 1, 2], [3, 4]])
        assert [block.tolist() for block in found.details["blocks"]] == [[0, 1, 2], [3, 4], [5]]
        assert found.log_evidence <= oracle.log_z(*self.graph)

    def test_are_independent_of_each_other_and_not_inside(self):
        found = self.run([[0, 1, 2], [3, 4, 5]])
        pair = found.joint([2, 1]).table
        np.testing.assert_allclose(pair.sum(axis=1), found.probabilities(2), atol=1e-12)
        np.testing.assert_allclose(pair.sum(axis=0), found.probabilities(1), atol=1e-12)
        expected = np.einsum("ac,b->abc", pair, found.probabilities(4))
        np.testing.assert_allclose(found.joint([2, 4, 1]).table, expected, atol=1e-15)
        assert abs(pair[0, 0] - found.probabilities(2)[0] * found.probabilities(1)[0]) > 0.01
        with pytest.raises(InputError, match="hold"):
            found.joint([0, 2])

    def test_observed_variables_are_passed_over(self):
        assert self.run([[0, 1, 2, 3, 4, 5]], {0: 1}).log_evidence_is == "EXACT"

    @pytest.mark.parametrize(
        ("blocks", "message"),
        [
            ([[0, 1, 2, 3, 4, 5]], "no cycle of factors. Got one with 0, 1, 2, 3, 4, 5"),
            ([[0, 1], [1, 2]], "name 1 twice"),
            ("tree", "must be 'forest' or a list of lists of names. Got 'tree'"),
            (7, "Got 7"),
        ],
        ids=["cycle", "twice", "word", "number"],
    )
    def test_that_cannot_be_are_refused(self, blocks, message):
        with pytest.raises(InputError, match=message):
            self.run(blocks)


# --- every method ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("method", "options", "starts"),
    [("tree_reweighted", {"rounds": 2}, 1), ("mean_field", {"restarts": 3}, 3)],
)
def test_a_callback_hears_of_every_sweep_in_order(method, options, starts):
    heard = []
    graph = oracle.grid(3, np.random.default_rng(0), 1.0)
    infer(graph, method, callback=lambda *said: heard.append(said), **options)
    assert [number for number, _ in heard] == list(range(1, len(heard) + 1))
    assert heard[-1][1] <= 1e-8
    assert sum(residual <= 1e-8 for _, residual in heard) >= starts


@pytest.mark.parametrize(
    ("method", "option", "message"),
    [
        ("tree_reweighted", {"forests": "all"}, "forests"),
        (
            "tree_reweighted",
            {"rounds": -1},
            "rounds of tree-reweighted propagation must be a whole",
        ),
        (
            "mean_field",
            {"restarts": 0},
            "restarts of mean field must be a whole number, at least 1",
        ),
        *(
            (method, option, f"{name} of {who} must be {what}")
            for method, who in {
                "tree_reweighted": "tree-reweighted propagation",
                "mean_field": "mean field",
            }.items()
            for name, option, what in (
                ("sweeps", {"sweeps": 0}, "a whole number, at least 1"),
                ("tolerance", {"tolerance": -1.0}, "at least 0"),
            )
        ),
        *(
            (method, option, message)
            for method in ("tree_reweighted", "mean_field", "structured_mean_field")
            for option, message in (({"seed": -1}, "seed"), ({"callback": 3}, "callback"))
        ),
    ],
)
def test_settings_are_checked(method, option, message):
    with pytest.raises(InputError, match=message):
        infer(oracle.ring(3, 1.0), method, **option)


def graphs():
    rng = np.random.default_rng(11)
    triples = [([0, 1, 2], rng.normal(size=(2, 3, 2))), ([1, 2, 3], rng.normal(size=(3, 2, 2)))]
    triples += [([3, 0], rng.normal(size=(2, 2))), ([1], np.array([0.1, -np.inf, 0.3]))]
    triples += [([2, 3], np.array([[0.0, -np.inf], [0.4, 1.0]]))]
    return {
        "grid": oracle.grid(3, rng, 1.0),
        "triples": ([2, 3, 2, 2], triples),
        "forest": (oracle.ring(5, 0.5, 0.1)[0], oracle.ring(5, 0.5, 0.1)[1][1:]),
        "wide": oracle.ring(4, 800.0, 0.2),
        "long": ([2] * 300, [([v, (v + 1) % 300], rng.normal(size=(2, 2))) for v in range(300)]),
    }


@pytest.mark.parametrize("name", ["grid", "triples", "forest", "wide", "long"])
def test_plain_python_gives_the_same_numbers(name, monkeypatch):
    graph = graphs()[name]

    def numbers():
        found = credo.bounds(model_of(*graph), rounds=1, sweeps=4, restarts=1)
        yield from found.log_z
        yield from found.marginal(0).ravel()
        for method in ("mean_field", "structured_mean_field", "tree_reweighted"):
            post = infer(graph, method, sweeps=4)
            yield post.log_evidence
            yield from np.concatenate(marginals_of(post, graph[0]))

    compiled = list(numbers())
    plain_kernels(monkeypatch)
    np.testing.assert_array_equal(list(numbers()), compiled)
