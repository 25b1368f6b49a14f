"""Bounds on log Z from both sides: they hold, are as close as they should be, and say why."""

import functools
import math

import numpy as np
import pytest
from tests.models import numbered
from tests.oracles import bounds as oracle
from tests.oracles.joint import Joint

import credo
from credo.exceptions import InputError, LabelError

BY_FOREST = {"lower": "exact forest", "upper": "exact forest"}
SAME = np.where(np.eye(2) > 0, 0.0, -np.inf)
DIFFER = np.where(np.eye(2) > 0, -np.inf, 0.0)
#: Three variables of two states, all different: impossible, which arc consistency does not notice.
RIVALS = [2] * 3, [([0, 1], DIFFER), ([1, 2], DIFFER), ([2, 0], DIFFER)]
ROUNDING = 1e-10
LOWER = pytest.mark.parametrize("method", ["mean_field", "structured_mean_field"])


def infer(graph, method, evidence=None, **options):
    """What a method says, settled or not."""
    return credo.infer(
        numbered(*graph, log=True), evidence, method=method, on_failure="return", **options
    )


def complete(n, rng, scale):
    """All pairs of n variables of two states, with random tables; no unary logs."""
    pairs = [[a, b] for a in range(n) for b in range(a)]
    return [2] * n, [(pair, rng.normal(scale=scale, size=(2, 2))) for pair in pairs]


def marginals_of(post, sizes):
    """The marginals of all variables, one array each."""
    return [post.probabilities(v) for v in range(len(sizes))]


# --- both sides -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("seed", "count"),
    [(0, 60), *(pytest.param(s, 400, marks=pytest.mark.slow) for s in range(1, 6))],
)
def test_bounds_hold_to_the_last_digit_on_thousands_of_graphs(seed, count):
    """Strictly, next to sums in extended precision: with zeros, wide logs, few sweeps, rules."""
    rng = np.random.default_rng(seed)
    met = 0
    for _ in range(count):
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
        exact = Joint.numbered(sizes, factors).log_sum
        if exact == -math.inf:
            continue
        options = {"rounds": int(rng.integers(3)), "sweeps": int(rng.choice([1, 7, 60]))}
        found = credo.bounds(numbered(sizes, factors, log=True), restarts=1, **options)
        slack = np.longdouble(1e-18) * (1 + abs(exact))  # of the oracle
        assert found.lower <= exact + slack
        assert exact - slack <= found.upper
        met += found.gap < 1e-10 * (1 + abs(exact))
    assert met > count // 10  # where nothing but rounding is between them


def test_on_a_forest_both_bounds_are_the_value_and_intervals_are_points():
    tables = [([0], [0.8, 0.2]), ([0, 1], [[0.9, 0.1], [0.2, 0.8]]), ([0, 2], [[0.7, 0.3]] * 2)]
    found = credo.bounds(
        numbered([2] * 3, [(scope, np.log(p)) for scope, p in tables], log=True), {1: 1}
    )
    assert found.by == BY_FOREST
    assert found.log_z == pytest.approx((math.log(0.24), math.log(0.24)), abs=1e-13)
    np.testing.assert_allclose(found.marginal(0), [[1 / 3, 1 / 3], [2 / 3, 2 / 3]], rtol=1e-12)
    assert "exact forest" in repr(found)


def test_observed_and_impossible_states_are_so_for_certain():
    found = credo.bounds(numbered(*oracle.ring(4, 0.7, 0.2), log=True), {1: 0})
    np.testing.assert_array_equal(found.marginal(1), [[1.0, 1.0], [0.0, 0.0]])
    table = found.joint([1, 2])
    assert table.shape == (2, 2, 2)
    np.testing.assert_array_equal(table[1], 0.0)
    np.testing.assert_array_equal(table[0], found.marginal(2))
    sizes, factors = oracle.ring(3, 0.5)
    never = np.array([[0.0, 0.0], [-np.inf, -np.inf]])
    found = credo.bounds(numbered(sizes, [*factors, ([0, 1], never)], log=True))
    np.testing.assert_array_equal(found.marginal(0), [[1.0, 1.0], [0.0, 0.0]])


def test_zeros_of_a_product_are_found_again():
    """Alone, each of the first two allows all four states; together they allow one pair."""
    but_one = np.array([[0.0, 0.0], [0.0, -np.inf]])
    found = credo.bounds(
        numbered([2] * 3, [([0, 1], SAME), ([1, 0], but_one), ([1, 2], DIFFER)], log=True)
    )
    assert found.by == BY_FOREST
    assert found.log_z == pytest.approx((0.0, 0.0), abs=1e-14)
    np.testing.assert_array_equal(found.joint([0, 2])[0, 1], 1.0)


def test_constants_that_cancel_leave_their_rounding_behind():
    rng = np.random.default_rng(0)
    for _ in range(20):
        scales = rng.normal(scale=1e3, size=30)
        factors = [([0], np.array([c])) for c in (*scales, -math.fsum(scales))]
        exact = math.fsum(float(logs[0]) for _, logs in factors)
        found = credo.bounds(numbered([1], factors, log=True))
        assert found.lower <= exact <= found.upper < exact + 1e-9


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


def test_weights_above_one_are_no_probabilities():
    net = credo.BayesianNetwork()
    net.variable("v", 2)
    net.cpt("v", table=[0.25, 0.75])
    found = credo.bounds(net, likelihood={"v": [2.0, 10.0]})
    assert found.lower <= math.log(8.0) <= found.upper


def test_more_rounds_narrow_the_interval():
    graph = numbered(*oracle.grid(4, np.random.default_rng(0), 1.0), log=True)
    gaps = [credo.bounds(graph, rounds=rounds).gap for rounds in (0, 3, 10)]
    assert gaps[0] > gaps[1] > gaps[2]


def test_a_joint_is_computed_once_and_read_only_and_the_interval_is_in_the_text():
    found = credo.bounds(numbered(*oracle.ring(4, 0.7), log=True))
    table = found.joint([0, 1])
    assert found.joint([0, 1]) is table
    with pytest.raises(ValueError, match="read-only"):
        table[0] = 0.5
    assert repr(found).startswith("<Bounds: log Z in [")
    assert repr(found).endswith("by structured mean field and tree-reweighted>")


def test_what_cannot_be_is_named_where_it_is_noticed():
    found = credo.bounds(numbered(*RIVALS, log=True))
    assert found.lower == -math.inf
    with pytest.raises(InputError, match="allows no configuration at all"):
        found.marginal(0)


def test_the_allowance_for_rounding_stays_small_on_long_chains():
    n, coupling = 2000, 1.3
    sizes, factors = oracle.ring(n, coupling)
    found = credo.bounds(numbered(sizes, factors[1:], log=True))
    exact = math.log(2.0) + (n - 1) * math.log(2.0 * math.cosh(coupling))
    assert found.lower <= exact <= found.upper
    assert found.gap < 1e-8


def test_questions_of_an_interval_are_checked():
    found = credo.bounds(numbered([2] * 13, [], log=True), query=range(13))
    with pytest.raises(InputError, match="names 0 twice"):
        found.joint([0, 0])
    with pytest.raises(InputError, match="at most 4096. Got 8192"):
        found.joint(range(13))


def test_probabilities_follow_from_bounds_on_sums():
    """A state is least probable where its own sum is least and the others' are greatest."""
    sizes, factors = oracle.grid(3, np.random.default_rng(3), 1.0)
    model = numbered(sizes, factors, log=True)
    sums = [credo.bounds(model, {4: x}) for x in range(2)]
    for one, other, row in zip(sums, sums[::-1], credo.bounds(model).marginal(4), strict=True):
        least = 1 / (1 + math.exp(other.upper - one.lower))
        most = 1 / (1 + math.exp(other.lower - one.upper))
        assert row == pytest.approx((least, most), rel=1e-9)


# --- from above -----------------------------------------------------------------------------------


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
        assert Joint.numbered(*graph).log_sum <= better.log_evidence < plain.log_evidence
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


def test_one_factor_and_none_are_summed_exactly_those_with_the_same_variables_being_one():
    rng = np.random.default_rng(6)
    factors = [([0, 1], rng.normal(size=(2, 3))), ([1, 0], rng.normal(size=(3, 2)))]
    factors += [([1], rng.normal(size=3)), ([2, 1, 0], rng.normal(size=(2, 3, 2)))]
    for listed, method in ((factors, "tree_reweighted"), ([], "mean_field")):
        found = infer(([2, 3, 2], listed), method)
        assert found.log_evidence_is == "EXACT"
        assert found.log_evidence == pytest.approx(
            Joint.numbered([2, 3, 2], listed).log_sum, abs=1e-12
        )


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


@pytest.mark.parametrize("scale", [800.0, 1e5])
def test_wide_logs_are_bounded(scale):
    graph = oracle.ring(5, scale, 0.3)
    exact = Joint.numbered(*graph).log_sum
    found = infer(graph, "tree_reweighted")
    assert exact <= found.log_evidence < exact * (1 + 1e-3)
    assert found.details["rounding"] < 1e-12 * exact
    for method in ("mean_field", "structured_mean_field"):
        assert exact - 1.0 < infer(graph, method).log_evidence <= exact


def test_a_bound_is_found_where_messages_do_not_settle():
    graph = complete(7, np.random.default_rng(8), 6.0)
    exact = Joint.numbered(*graph).log_sum
    few, many = (infer(graph, "tree_reweighted", sweeps=n, rounds=0) for n in (5, 400))
    assert (few.status, many.status) == ("MAX_SWEEPS", "CONVERGED")  # by descent in the end
    assert exact <= many.log_evidence <= few.log_evidence


# --- from below -----------------------------------------------------------------------------------


@LOWER
@pytest.mark.parametrize(
    ("arity", "zeros", "scale"),
    [(2, 0.0, 4.0), (2, 0.3, 1.0), (3, 0.35, 1.0)],
    ids=["strong", "zeros", "threes with zeros"],
)
def test_the_lower_bound_is_below_log_z_and_never_falls(method, arity, zeros, scale):
    rng = np.random.default_rng(7 * arity + int(10 * zeros))
    useful = 0
    for _ in range(50):
        graph = oracle.random_graph(rng, 6, arity, zeros, scale)
        exact = Joint.numbered(*graph).log_sum
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
    assert useful > 7


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
    for _ in range(10):
        graph = oracle.grid(3, rng, 1.5)
        alone, often = (infer(graph, "mean_field", restarts=n).log_evidence for n in (1, 8))
        blocks = infer(graph, "structured_mean_field").log_evidence
        assert often >= alone
        assert blocks >= alone - ROUNDING
        gains.append(blocks - alone)
    assert np.mean(gains) > 0.25


def test_a_configuration_is_found_through_hard_constraints():
    factors = [([v, v + 1], DIFFER) for v in range(5)]
    factors += [([0, 5], DIFFER), ([0], np.log([0.9, 0.1]))]
    found = infer(([2] * 6, factors), "mean_field")
    assert found.log_evidence == pytest.approx(math.log(0.9), abs=ROUNDING)


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
        assert found.log_evidence <= Joint.numbered(*self.graph).log_sum

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
    ("method", "option", "message"),
    [
        ("bounds", {"rounds": -1}, "rounds of bounds must be a whole number, at least 0"),
        ("bounds", {"restarts": 0}, "restarts of bounds must be a whole number, at least 1"),
        ("bounds", {"tolerance": -1.0}, "tolerance of bounds must be at least 0"),
        ("bounds", {"seed": -1}, "seed of bounds must be a whole number, at least 0"),
        ("bounds", {"evidence": {9: 0}}, "9"),
        ("bounds", {"model": [1, 2]}, "needs a BayesianNetwork"),
        ("trw", {"forests": "all"}, "forests of tree-reweighted propagation must be one of"),
        ("trw", {"rounds": -1}, "rounds of tree-reweighted propagation must be a whole number"),
        ("trw", {"sweeps": 0}, "sweeps of tree-reweighted propagation must be a whole number"),
        ("trw", {"tolerance": -1}, "tolerance of tree-reweighted propagation must be at least 0"),
        ("trw", {"seed": -1}, "seed of infer must be"),
        ("mean_field", {"sweeps": 0}, "sweeps of mean field must be a whole number, at least 1"),
        ("mean_field", {"restarts": 0}, "restarts of mean field must be a whole number, at least"),
        ("mean_field", {"tolerance": -1}, "tolerance of mean field must be at least 0"),
        ("smf", {"restarts": 0}, "restarts of structured mean field must be a whole number"),
        ("smf", {"blocks": [range(6)]}, "Those of 0, 1, 2, 3, 4, 5 close one.*blocks='forest'"),
        ("smf", {"blocks": [[0, 1], [1, 2]]}, "must have no variable in common. 1 is in two"),
        ("smf", {"blocks": "tree"}, "must be 'forest', or a list of lists of names. Got 'tree'"),
        ("smf", {"blocks": 7}, "must be 'forest', or a list of lists of names. Got 7"),
    ],
    ids=str,
)
def test_settings_are_checked(method, option, message):
    ask = credo.bounds if method == "bounds" else functools.partial(credo.infer, method=method)
    with pytest.raises((InputError, LabelError), match=message):
        ask(**{"model": numbered(*oracle.ring(6, 0.8), log=True), **option})
