"""``infer`` with regions: which are chosen, where answers are exact, and how runs settle."""

import itertools

import numpy as np
import pytest
from tests.oracles import inference as exactly, regions as oracle
from tests.speeds import plain_kernels

import credo
from credo.exceptions import ImpossibleEvidence, InputError, LabelError
from credo.inference.regions import choose, engine

METHODS = ("generalised", "double_loop")
both_methods = pytest.mark.parametrize("method", METHODS)


def model_of(sizes, factors, *, log=False):
    """A factor graph whose variables are named by their numbers."""
    graph = credo.FactorGraph()
    for v, k in enumerate(sizes):
        graph.variable(v, k)
    for scope, table in factors:
        graph.factor(list(scope), table, log=log)
    return graph


def infer(model, evidence=None, method="generalised", **options):
    """Whatever comes out, settled or not."""
    return credo.infer(model, evidence, method=method, on_failure="return", **options)


def ising(n, edges, coupling, field, seed, *, mixed=False):
    """Spins with couplings of a scale and fields of a scale."""
    rng = np.random.default_rng(seed)
    fields = field * rng.normal(size=n)
    factors = [((v,), np.exp([h, -h])) for v, h in enumerate(fields)]
    for a, b in edges:
        w = coupling * rng.uniform(0.5, 1.5) * (rng.choice([-1, 1]) if mixed else 1)
        factors.append(((a, b), np.exp([[w, -w], [-w, w]])))
    return [2] * n, factors


def grid(rows, columns):
    """Sites and pairs of neighbours."""
    site = np.arange(rows * columns).reshape(rows, columns)
    across = zip(site[:, :-1].ravel().tolist(), site[:, 1:].ravel().tolist(), strict=True)
    down = zip(site[:-1].ravel().tolist(), site[1:].ravel().tolist(), strict=True)
    return rows * columns, [*across, *down]


def torus(k):
    site = np.arange(k * k).reshape(k, k)
    return k * k, [
        tuple(sorted(pair))
        for shifted in (np.roll(site, -1, 0), np.roll(site, -1, 1))
        for pair in zip(site.ravel().tolist(), shifted.ravel().tolist(), strict=True)
    ]


def complete(n):
    return n, list(itertools.combinations(range(n), 2))


def random_edges(seed, n=9, share=0.45):
    rng = np.random.default_rng(seed)
    return n, [e for e in itertools.combinations(range(n), 2) if rng.random() < share]


def pairs_only(n, edges, states=2):
    return model_of([states] * n, [(e, np.ones([states] * 2)) for e in edges])


def random_model(seed, n=8, n_factors=9, most=3):
    """Factors of up to three variables of two to four states."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(2, 5, n).tolist()
    factors = []
    for _ in range(n_factors):
        scope = tuple(rng.permutation(n)[: rng.integers(1, most + 1)].tolist())
        factors.append((scope, np.exp(rng.normal(size=[sizes[v] for v in scope]))))
    return sizes, factors


def regions_of(model, regions, **options):
    """The outer regions: the largest groups of variables that have a joint belief."""
    post = infer(model, regions=regions, sweeps=1, **options)
    free = [v for v in post if post.question.observed[v] < 0]
    held, found = {(v,) for v in free}, set()
    while held:
        larger = {
            (*group, v)
            for group in held
            for v in free
            if v > group[-1] and post.answer.joints(np.array([*group, v])) is not None
        }
        inside = {
            frozenset(part)
            for group in larger
            for part in itertools.combinations(group, len(group) - 1)
        }
        found |= {group for group in held if frozenset(group) not in inside}
        held = larger
    return sorted(found)


def kind_of(model, regions="auto"):
    return infer(model, regions=regions, sweeps=1).details["kind"]


def assert_exact(post, sizes, factors, rtol=1e-9):
    """Log Z and every marginal equal those by enumeration, small ones too."""
    joint = oracle.whole(sizes, factors)
    assert (post.status, post.log_evidence_is) == ("EXACT", "EXACT")
    assert post.log_evidence == pytest.approx(np.log(joint.sum()), rel=1e-12, abs=1e-12)
    for v in range(len(sizes)):
        wanted = oracle.marginal(joint, [v]) / joint.sum()
        np.testing.assert_allclose(post.probabilities(v), wanted, rtol=rtol)


def worst_error(post, sizes, factors):
    joint = oracle.whole(sizes, factors)
    shares = joint / joint.sum()
    errors = [
        np.abs(post.probabilities(v) - oracle.marginal(shares, [v])).max()
        for v in range(len(sizes))
    ]
    return max(errors), abs(post.log_evidence - np.log(joint.sum()))


# --- where it is exact ----------------------------------------------------------------------


@both_methods
@pytest.mark.parametrize("scale", [10.0, 60.0, 1000.0])
@pytest.mark.parametrize("seed", range(5))
def test_small_probabilities_of_a_tree_are_exact_too(method, scale, seed):
    """Relatively: shares of 1e-60 come from far away, and sweeps in any order miss them."""
    rng = np.random.default_rng(seed)
    order, sizes = rng.permutation(9), rng.integers(2, 4, 9).tolist()
    near = [(int(order[i]), int(order[rng.integers(max(0, i - 3), i)])) for i in range(1, 9)]
    factors = [((a, b), rng.normal(0, scale, (sizes[a], sizes[b]))) for a, b in near]
    listed = exactly.configurations(sizes, [exactly.factor(s, t, log=True) for s, t in factors])
    wanted = exactly.marginals(listed, sizes)
    windows = [[a, b, c] for (a, b), (c, d) in itertools.permutations(near, 2) if d in (a, b)]
    for regions in ("bethe", "cliques", windows[:3]):
        post = infer(model_of(sizes, factors, log=True), method=method, regions=regions)
        is_tree = regions in ("bethe", "cliques")
        assert post.status == "EXACT" or not is_tree
        if post.status == "EXACT":
            assert post.log_evidence == pytest.approx(exactly.log_total(listed), rel=1e-12)
            for v in range(9):
                np.testing.assert_allclose(post.probabilities(v), wanted[v], rtol=1e-9)


@pytest.mark.parametrize(
    ("method", "options"), [("generalised", {"momentum": 0.5}), ("double_loop", {})]
)
def test_regions_that_have_a_junction_tree_are_exact(method, options):
    sizes, factors = ising(*grid(2, 6), 0.8, 0.5, 0, mixed=True)
    for regions in ("plaquettes", [[0, 1, 6, 7, 2, 8], [2, 3, 8, 9], [3, 4, 5, 9, 10, 11]]):
        for power in (1.0, 20.0):
            strong = [(scope, table**power) for scope, table in factors]
            post = infer(model_of(sizes, strong), method=method, regions=regions, **options)
            assert_exact(post, sizes, strong)


@both_methods
def test_a_junction_tree_takes_two_sweeps(method):
    sizes, factors = ising(6, [(i, i + 1) for i in range(5)], 0.7, 0.4, 0)
    for sweeps, status in ((1, "MAX_SWEEPS"), (2, "EXACT"), (100, "EXACT")):
        post = infer(model_of(sizes, factors), method=method, sweeps=sweeps)
        assert (post.status, post.sweeps) == (status, min(sweeps, 2))


def test_a_loop_of_five_is_not_called_exact():
    sizes, factors = ising(5, [(i, (i + 1) % 5) for i in range(5)], 0.7, 0.4, 0)
    post = infer(model_of(sizes, factors))
    assert (post.status, post.log_evidence_is) == ("CONVERGED", "ESTIMATE")
    assert post.details["kind"] == "bethe"
    assert worst_error(post, sizes, factors)[1] > 1e-3


# --- fixed points ---------------------------------------------------------------------------


@both_methods
@pytest.mark.parametrize("seed", range(2))
def test_bethe_regions_give_the_fixed_point_of_ordinary_belief_propagation(method, seed):
    rng = np.random.default_rng(seed)
    sizes = [2, 3, 2, 2, 3]
    threes = [
        (s, rng.normal(scale=0.7, size=[sizes[v] for v in s]))
        for s in ((0, 1, 2), (3, 1, 2), (4, 3, 0))
    ]
    cases = [
        ising(*grid(3, 4), 0.4, 0.5, seed, mixed=True),
        (sizes, [(s, np.exp(t)) for s, t in threes]),
    ]
    for sizes, factors in cases:
        marginals, joints, log_z = oracle.belief_propagation(sizes, factors, sweeps=300)
        model = model_of(sizes, factors)
        post = infer(model, method=method, regions="bethe", tolerance=1e-10)
        assert post.status == "CONVERGED"
        assert post.log_evidence == pytest.approx(log_z, rel=1e-9)
        for v, wanted in enumerate(marginals):
            np.testing.assert_allclose(post.probabilities(v), wanted, atol=1e-8)
        for (scope, _), wanted in zip(factors, joints, strict=True):
            np.testing.assert_allclose(post.joint(scope).table, wanted, atol=1e-8)
    closed = infer(model, method=method, regions=[], tolerance=1e-10)
    assert abs(closed.log_evidence - log_z) > 1e-4  # the pair that two factors share is counted


@both_methods
@pytest.mark.parametrize("regions", ["plaquettes", "cliques", [[0, 1, 2, 3, 4, 5], [4, 5, 6, 7]]])
def test_beliefs_agree_on_what_regions_share(method, regions):
    sizes, factors = random_model(1, most=2, n_factors=14)
    model = model_of(sizes, factors)
    post = infer(model, method=method, regions=regions)
    assert post.status in {"CONVERGED", "EXACT"}
    outer = regions_of(model, regions)
    tables = [post.joint(region).table for region in outer]
    singles = [((v,), post.probabilities(v)) for v in post]
    beliefs = [*zip(outer, tables, strict=True), *singles]
    for (a, one), (b, other) in itertools.combinations(beliefs, 2):
        shared = set(a) & set(b)
        if shared:
            left = one.sum(axis=tuple(i for i, v in enumerate(a) if v not in shared))
            right = other.sum(axis=tuple(i for i, v in enumerate(b) if v not in shared))
            np.testing.assert_allclose(left, right, atol=1e-7)


@both_methods
@pytest.mark.parametrize("seed", range(2))
def test_the_kikuchi_free_energy_is_stationary(method, seed):
    sizes, factors = ising(*grid(3, 3), 0.7, 0.4, seed, mixed=True)
    post = infer(model_of(sizes, factors), method=method, tolerance=1e-11, sweeps=5000)
    outer = [(0, 1, 3, 4), (1, 2, 4, 5), (3, 4, 6, 7), (4, 5, 7, 8)]
    tables = [post.joint(region).table for region in outer]
    energy = oracle.kikuchi_energy(sizes, factors, outer, tables)
    assert post.details["free_energy"] == pytest.approx(energy, rel=1e-9)
    assert post.log_evidence == pytest.approx(-energy, rel=1e-9)
    rng = np.random.default_rng(seed)
    for _ in range(5):  # beliefs of any distribution agree, so the way towards them is allowed
        other = rng.dirichlet(np.ones(2**9)).reshape([2] * 9)
        ways = [(t, oracle.marginal(other, r) - t) for r, t in zip(outer, tables, strict=True)]
        near = [
            oracle.kikuchi_energy(sizes, factors, outer, [t + e * d for t, d in ways])
            for e in (1e-5, -1e-5)
        ]
        assert abs(near[0] - near[1]) / 2e-5 < 1e-6
        assert min(near) > energy  # here it is a minimum


@pytest.mark.parametrize("regions", ["bethe", "plaquettes"])
@pytest.mark.parametrize("coupling", [0.5, 1.0])
def test_the_free_energy_never_rises_in_the_double_loop(regions, coupling):
    model = model_of(*ising(*grid(5, 5), coupling, 0.3, 1, mixed=True))
    post = infer(model, method="double_loop", regions=regions)
    energies = post.details["free_energies"]
    assert post.status == "CONVERGED"
    assert len(energies) > 10
    assert post.details["free_energy"] == pytest.approx(energies[-1], rel=1e-12)
    assert energies[0] - energies[-1] > 0.01
    assert np.diff(energies).max() < 1e-11


def test_frozen_couplings_leave_the_free_energy_falling_too_if_inner_loops_are_long(monkeypatch):
    model = model_of(*ising(*grid(5, 5), 2.0, 0.3, 1, mixed=True))
    usual = infer(model, method="double_loop", regions="bethe").details["free_energies"]
    assert np.diff(usual).max() < 1e-3
    monkeypatch.setattr(engine, "MOST_LEFT", 1e-9)
    precise = infer(model, method="double_loop", regions="bethe").details["free_energies"]
    assert np.diff(precise).max() < 1e-8


# --- gains and convergence --------------------------------------------------------------------


def test_plaquettes_are_far_better_than_bethe_on_strongly_coupled_grids():
    for mixed, gain, log_gain in ((False, 100, 50), (True, 5, 20)):
        errors = {"bethe": [], "plaquettes": []}
        for seed, regions in itertools.product(range(4), errors):
            sizes, factors = ising(*grid(4, 4), 1.0, 0.3, seed, mixed=mixed)
            post = infer(model_of(sizes, factors), regions=regions)
            assert post.status == "CONVERGED"
            errors[regions].append(worst_error(post, sizes, factors))
        bethe, kikuchi = (np.mean(errors[r], axis=0) for r in ("bethe", "plaquettes"))
        assert kikuchi[0] * gain < bethe[0]
        assert kikuchi[1] * log_gain < bethe[1]


def test_independent_triangles_mend_the_over_confidence_of_a_complete_graph():
    sizes, factors = ising(*complete(9), 0.3, 0.3, 0)
    post = infer(model_of(sizes, factors))
    assert (post.status, post.details["counting_total"]) == ("CONVERGED", 1)
    assert worst_error(post, sizes, factors)[0] < 0.01
    assert worst_error(infer(model_of(sizes, factors), regions="bethe"), sizes, factors)[0] > 0.2


def test_the_double_loop_converges_where_belief_propagation_turns_in_circles():
    model = model_of(*ising(*complete(6), 1.0, 0.3, 1, mixed=True))
    for momentum in (1.0, 0.5):
        plain = infer(model, regions="bethe", momentum=momentum, sweeps=500)
        assert plain.status in {"OSCILLATING", "MAX_SWEEPS"}
        assert plain.residuals[-1] > 0.01
        assert np.isfinite(plain.answer.log_z)
    double = infer(model, method="double_loop", regions="bethe")
    careful = infer(model, regions="bethe")
    assert double.status == careful.status == "CONVERGED"
    assert careful.details["relaxation"] > 0
    assert careful.log_evidence == pytest.approx(double.log_evidence, rel=1e-9)


def test_a_circle_is_told_with_its_period():
    model = model_of(*ising(*complete(4), -3.0, 0.3, 0))
    post = infer(model, regions="bethe", momentum=1.0)
    assert (post.status, post.period) == ("OSCILLATING", 4)
    assert post.sweeps <= 32
    for earlier, gap in ((4, (0.0, 1e-3)), (2, (0.5, 1.0))):
        before = infer(model, regions="bethe", momentum=1.0, sweeps=post.sweeps - earlier)
        moved = max(np.abs(before.probabilities(v) - post.probabilities(v)).max() for v in post)
        assert gap[0] <= moved <= gap[1]


def test_caution_grows_step_by_step_and_ends(monkeypatch):
    """With no patience at all: relaxations one after the other, then momenta; then a circle."""
    monkeypatch.setattr(engine, "PATIENCE", (1, 1))
    monkeypatch.setattr(engine, "SHARE", 0.0)
    model = model_of(*ising(*complete(4), -3.0, 0.3, 0))
    steps = []
    for sweeps in range(1, 40):
        details = infer(model, regions="bethe", sweeps=sweeps).details
        if (details["relaxation"], details["momentum"]) not in steps:
            steps.append((details["relaxation"], details["momentum"]))
    assert steps[:4] == [(0.0, 1.0), (0.5, 1.0), (1.0, 1.0), (1.5, 1.0)]
    assert steps[4:] == [(1.5, 2.0**-k) for k in range(1, 5)]


@both_methods
def test_too_few_sweeps_are_told(method):
    post = infer(model_of(*ising(*grid(4, 4), 0.6, 0.3, 0)), method=method, sweeps=3)
    assert (post.status, post.log_evidence_is, post.sweeps) == ("MAX_SWEEPS", "ESTIMATE", 3)
    assert np.isfinite(post.answer.log_z)


@both_methods
def test_the_callback_hears_of_every_sweep(method):
    heard = []
    model = model_of(*ising(*grid(3, 3), 0.4, 0.3, 0))
    post = infer(model, method=method, callback=lambda *told: heard.append(told))
    assert heard == list(enumerate(post.residuals.tolist(), 1))
    assert post.residuals[-1] <= 1e-8
    links = 4 * 2 + 4  # four inner edges in two faces each, one site in four
    assert post.updates == 2 * links * post.sweeps


def test_momentum_changes_the_way_and_not_the_end():
    model = model_of(*ising(*grid(4, 4), 0.6, 0.3, 0))
    slow, quick = (infer(model, momentum=m, tolerance=1e-10) for m in (0.25, 1.0))
    assert slow.details["momentum"] == 0.25
    assert slow.sweeps > quick.sweeps
    for v in slow:
        np.testing.assert_allclose(slow.probabilities(v), quick.probabilities(v), atol=1e-8)


# --- which regions ----------------------------------------------------------------------------


def test_the_plaquettes_of_a_grid_are_its_faces():
    model = pairs_only(*grid(3, 4))
    faces = [(c, c + 1, c + 4, c + 5) for c in (0, 1, 2, 4, 5, 6)]
    assert regions_of(model, "plaquettes") == regions_of(model, "auto") == faces
    assert kind_of(model) == "plaquettes"


@pytest.mark.parametrize("share", [0.25, 0.45, 0.8])
@pytest.mark.parametrize("seed", range(4))
def test_plaquettes_are_independent_short_cycles_and_all_others_are_their_sums(seed, share):
    n, edges = random_edges(seed, share=share)
    model = pairs_only(n, edges)
    every = oracle.short_cycles(n, edges)
    few = [region for region in regions_of(model, "plaquettes") if len(region) > 2]
    assert set(few) <= set(every)
    assert len(few) == oracle.rank(few, edges) == oracle.rank(every, edges)


@pytest.mark.parametrize("seed", range(4))
def test_where_independent_cycles_are_hard_to_find_all_or_none_are_taken(seed, monkeypatch):
    monkeypatch.setattr(choose, "MOST_WORK", -1)
    n, edges = random_edges(seed, share=0.6)
    model = pairs_only(n, edges)
    cycles = [region for region in regions_of(model, "plaquettes") if len(region) > 2]
    assert cycles == oracle.short_cycles(n, edges)
    assert kind_of(model) == "bethe"


def test_of_a_complete_graph_the_triangles_of_one_vertex_are_kept():
    triangles = regions_of(pairs_only(*complete(7)), "auto")
    assert triangles == [(0, a, b) for a, b in itertools.combinations(range(1, 7), 2)]


def test_cycles_inside_a_factor_are_known_already():
    scopes = [(0, 1, 2, 3), (3, 4), (4, 5), (5, 0), (4, 0)]
    model = model_of([2] * 6, [(s, np.ones([2] * len(s))) for s in scopes])
    assert regions_of(model, "auto") == [(0, 1, 2, 3), (0, 3, 4), (0, 4, 5)]


@pytest.mark.parametrize("seed", range(6))
def test_cliques_are_those_of_a_search_through_all_groups(seed):
    n, edges = random_edges(seed, n=8, share=0.3 + 0.1 * seed)
    assert regions_of(pairs_only(n, edges), "cliques") == oracle.cliques(n, edges)


def test_cliques_of_parts_of_different_density():
    edges = [*complete(5)[1], (0, 5), (0, 6), *((a + 7, b + 7) for a, b in complete(4)[1])]
    cliques = [(0, 1, 2, 3, 4), (0, 5), (0, 6), (7, 8, 9, 10)]
    assert regions_of(pairs_only(11, edges), "cliques") == cliques
    shifted = [(10 - b, 10 - a) for a, b in edges]
    wanted = sorted(tuple(sorted(10 - v for v in clique)) for clique in cliques)
    assert regions_of(pairs_only(11, shifted), "cliques") == wanted
    large = pairs_only(*complete(6), states=7)  # 7 ** 6 cells: left to the factors
    assert regions_of(large, "cliques") == complete(6)[1]


@pytest.mark.parametrize("regions", ["auto", "bethe", "plaquettes", "cliques", [[0, 3], [2, 3, 4]]])
@pytest.mark.parametrize("seed", range(2))
def test_regions_cover_every_factor_and_given_ones_are_kept(regions, seed):
    sizes, factors = random_model(seed, n_factors=7)
    chosen = [set(r) for r in regions_of(model_of(sizes, factors), regions)]
    scopes = [set(scope) for scope, _ in factors]
    given = [] if isinstance(regions, str) else map(set, regions)
    assert all(any(one <= r for r in chosen) for one in (*scopes, *given))
    assert set().union(*chosen) == set(range(8))
    if regions == "bethe":
        assert all(r in scopes or len(r) == 1 for r in chosen)


def test_fixed_and_observed_variables_are_in_no_region():
    model = model_of([2, 2, 1, 3, 2], [((4, 0), np.ones((2, 2)))])
    assert infer(model, regions=[[3, 2, 1], [3], [2], []]).details["regions"] == 2
    assert infer(model, {3: 1}, regions=[[3, 2, 1], [3], [2], []]).details["regions"] == 2
    assert infer(model, regions="cliques").details["regions"] == 3


def test_a_hub_of_many_spokes_is_one_inner_region():
    for hub, spokes in ((0, range(1, 5_001)), (5_000, range(5_000))):
        model = pairs_only(5_001, [(hub, i) for i in spokes])
        for regions in ("auto", []):
            post = infer(model, regions=regions)
            assert (post.status, post.details["counting"].tolist()) == ("EXACT", [1 - 5_000])


def test_very_many_factors_of_one_variable_are_one_region():
    model = model_of([2], [((0,), [1.0, 1.0 + 1e-6])] * 20_000)
    post = infer(model)
    assert (post.status, post.details["regions"]) == ("EXACT", 1)
    assert post.probabilities(0)[1] == pytest.approx(1 / (1 + np.exp(-20_000 * np.log1p(1e-6))))


def test_auto_takes_factors_where_plaquettes_would_be_large_or_are_none():
    assert kind_of(pairs_only(*grid(3, 3), states=8)) == "plaquettes"
    assert kind_of(pairs_only(*grid(3, 3), states=9)) == "bethe"
    assert kind_of(pairs_only(5, [(0, 1), (1, 2), (3, 4)])) == "bethe"


def test_very_many_plaquettes_are_all_taken_if_they_balance(monkeypatch):
    monkeypatch.setattr(choose, "MANY_CYCLES", 20)
    monkeypatch.setattr(choose, "MOST_WORK", -1)  # so that independent ones cannot be found
    assert infer(pairs_only(*grid(6, 6)), sweeps=1).details["regions"] == 25
    assert infer(pairs_only(*torus(6)), sweeps=1).details["regions"] == 36
    assert kind_of(pairs_only(*torus(4))) == "bethe"  # cycles of four go round, too


def test_a_torus_is_thinned_to_its_independent_faces():
    details = infer(pairs_only(*torus(6)), sweeps=1).details
    assert (details["kind"], details["regions"]) == (
        "plaquettes",
        35,
    )  # the last is all others' sum
    assert details["counting_total"] == 1 - 2  # two ways round the torus are in no face
    assert infer(pairs_only(*grid(6, 6)), sweeps=1).details["counting_total"] == 1


def test_very_many_plaquettes_are_thinned_if_they_do_not_balance(monkeypatch):
    n, edges = random_edges(47, n=11, share=0.4)
    assert len(oracle.short_cycles(n, edges)) == 5 == len(edges) - n + 2  # one vertex is alone
    usual = regions_of(pairs_only(n, edges), "auto")
    monkeypatch.setattr(choose, "MANY_CYCLES", 0)
    assert regions_of(pairs_only(n, edges), "auto") == usual
    assert sum(len(region) > 2 for region in usual) == 4


def test_unbalanced_plaquettes_are_left_alone_unless_asked_for():
    kinds = set()
    for seed in range(20):
        n, edges = random_edges(seed, n=11, share=0.75)
        details = infer(pairs_only(n, edges), regions="plaquettes", sweeps=1).details
        assert details["kind"] == "plaquettes"
        left = len(edges) - n + 1 - oracle.rank(oracle.short_cycles(n, edges), edges)
        balance = details["counting_total"] == 1 - left
        assert kind_of(pairs_only(n, edges)) == ("plaquettes" if balance else "bethe")
        kinds.add(balance)
    assert kinds == {True, False}


def random_sets(seed):
    """Maximal sets of nine, many of which overlap."""
    rng = np.random.default_rng(seed)
    drawn = {frozenset(rng.permutation(9)[: rng.integers(2, 6)].tolist()) for _ in range(7)}
    return [s for s in sorted(drawn, key=sorted) if not any(s < t for t in drawn)]


@pytest.mark.parametrize("seed", range(30))
def test_inner_regions_and_counting_numbers_are_those_of_the_definition(seed):
    outer = random_sets(seed)
    numbers = oracle.counting(outer, oracle.closure(outer))
    inner = [c for s, c in numbers.items() if s not in outer]
    details = infer(model_of([2] * 9, []), regions=map(sorted, outer), sweeps=2).details
    covered = len(frozenset().union(*outer))
    assert details["regions"] == len(outer) + 9 - covered
    assert details["counting_total"] == len(outer) + sum(inner) + 9 - covered
    is_forest = oracle.has_junction_tree(outer)
    assert sorted(details["counting"]) == sorted(c for c in inner if c or not is_forest)


@pytest.mark.parametrize("seed", range(30))
def test_junction_trees_are_recognised(seed):
    outer = random_sets(seed)
    rng = np.random.default_rng(seed)
    factors = [(sorted(s), np.exp(rng.normal(size=[2] * len(s)))) for s in outer]
    post = infer(model_of([2] * 9, factors), regions=[], sweeps=2)
    assert (post.status == "EXACT") == oracle.has_junction_tree(outer)
    if post.status == "EXACT":
        assert_exact(post, [2] * 9, factors)


@pytest.mark.parametrize(
    ("sets", "counting"),
    [
        ([(0, 1, 2), (1, 2, 3), (1, 2, 4), (1, 5)], [-2, -1]),
        ([(0, 1, 2), (2, 3), (4, 5)], [-1]),
        (list(itertools.combinations(range(9), 5)), [-4] * 126 + [10] * 84 + [-20] * 36 + [35] * 9),
        # 0 is counted zero times, and yet two parts of the sets agree on it by nothing else
        ([(0, 1, 2), (0, 1, 3), (0, 4, 5), (0, 5, 6), (0, 4, 6)], [-1, -1, -1, -1, 0]),
    ],
)
def test_counting_numbers_of_nested_intersections(sets, counting):
    details = infer(model_of([2] * 9, []), regions=sets, sweeps=1).details
    assert sorted(details["counting"]) == sorted(counting)


# --- limits -----------------------------------------------------------------------------------


def test_regions_beyond_the_limits_are_refused_by_name(monkeypatch):
    model = model_of([2] * 17, [((0,), np.ones(2))])
    with pytest.raises(InputError, match=r"variables 0, 1, 2, .* has 131072\. Choose smaller"):
        infer(model, regions=[range(17)])
    with pytest.raises(InputError, match="has 83521"):
        infer(pairs_only(*grid(2, 2), states=17), regions="plaquettes")
    monkeypatch.setattr(choose, "MOST_CELLS_IN_ALL", 30)
    with pytest.raises(InputError, match="need 34 cells in all; at most 30"):
        infer(model, regions="bethe")
    monkeypatch.setattr(choose, "MOST_CLIQUES", 5)
    with pytest.raises(InputError, match="more than 5 maximal cliques"):
        infer(model, regions="cliques")
    monkeypatch.setattr(choose, "MOST_ENTRIES", 10)
    with pytest.raises(InputError, match="The 6 regions overlap in too many ways"):
        infer(model_of([2] * 4, []), regions=list(itertools.combinations(range(4), 2)))


def test_very_many_plaquettes_are_refused_or_not_taken(monkeypatch):
    model = pairs_only(14, [(a, b) for a in (0, 1) for b in range(2, 14)])
    assert infer(model, regions="plaquettes", sweeps=1).details["regions"] == 11
    monkeypatch.setattr(choose, "MOST_CYCLES", 12)
    assert kind_of(model) == "bethe"
    with pytest.raises(InputError, match="too many triangles and cycles of four"):
        infer(model, regions="plaquettes")


def test_short_cycles_are_found_block_by_block(monkeypatch):
    n, edges = random_edges(0, share=0.6)
    usual = regions_of(pairs_only(n, edges), "plaquettes")
    monkeypatch.setattr(choose, "_BLOCK", 3)
    assert regions_of(pairs_only(n, edges), "plaquettes") == usual


def test_rules_are_written_out_as_tables():
    net = credo.BayesianNetwork()
    names = [net.variable(f"x{i}", 2).name for i in range(18)]
    for name in names[:-1]:
        net.cpt(name, table=[0.5, 0.5])
    net.noisy_or(names[-1], dict.fromkeys(names[:-1], 0.5))
    post = infer(net)
    assert post.status == "EXACT"
    assert post.probabilities("x17")[0] == pytest.approx(0.75**17, rel=1e-9)


@both_methods
@pytest.mark.parametrize("regions", ["auto", "bethe", "plaquettes", "cliques", []])
def test_variables_of_one_state_lonely_ones_and_observed_factors_are_no_trouble(method, regions):
    rng = np.random.default_rng(0)
    sizes = [2, 1, 3, 2, 2, 1, 4]
    scopes = [(0, 1, 2), (2, 3), (3, 0), (1, 5), (4, 3), (3,), (1,)]
    factors = [(s, rng.uniform(0.5, 2, [sizes[v] for v in s])) for s in scopes]
    seen = [*factors, ((4,), np.eye(2)[1]), ((3,), np.eye(2)[0])]
    post = infer(model_of(sizes, factors), {4: 1, 3: 0}, method, regions=regions)
    assert_exact(post, sizes, seen, rtol=1e-12)
    joint = oracle.whole(sizes, seen)
    wanted = np.transpose(oracle.marginal(joint, [0, 1, 2, 3]), (2, 3, 1, 0)) / joint.sum()
    np.testing.assert_allclose(post.joint([2, 3, 1, 0]).table, wanted, rtol=1e-12)
    np.testing.assert_array_equal(post.joint([3, 5]).table, [[1.0], [0.0]])
    with pytest.raises(InputError, match="No table or region"):
        post.joint([0, 6])


@both_methods
def test_nothing_but_observed_variables(method):
    post = infer(model_of([2, 2], [((0, 1), [[1.0, 2.0], [3.0, 5.0]])]), {0: 1, 1: 1}, method)
    assert (post.status, post.log_evidence) == ("EXACT", pytest.approx(np.log(5)))
    assert post.details["regions"] == 0
    np.testing.assert_array_equal(post.joint([0, 1]).table, [[0, 0], [0, 1]])


@both_methods
@pytest.mark.parametrize("regions", ["bethe", "plaquettes"])
def test_zeros_stay_zero_and_leave_no_noise(method, regions):
    sizes, factors = ising(*grid(3, 3), 0.5, 0.3, 2, mixed=True)
    hard = [((0, 1), np.eye(2)), ((1, 4), 1 - np.eye(2)), ((4, 5), np.array([[1.0, 1.0], [0, 1]]))]
    hard += [((8,), np.array([0.0, 2.0]))]
    post = infer(model_of(sizes, factors + hard), method=method, regions=regions)
    assert post.status == "CONVERGED"
    np.testing.assert_array_equal(post.probabilities(8), [0.0, 1.0])
    for scope, table in hard:
        assert (post.joint(scope).table[table == 0] == 0.0).all()
    if regions == "plaquettes":
        total = oracle.whole(sizes, factors + hard).sum()
        assert post.log_evidence == pytest.approx(np.log(total), abs=1e-3)


@both_methods
def test_contradictions_are_found_and_hidden_ones_by_plaquettes_only(method):
    equal, unlike = np.eye(2), 1 - np.eye(2)
    loop = [((0, 1), equal), ((1, 4), equal), ((4, 3), equal), ((3, 0), unlike)]
    model = model_of([2] * 9, ising(*grid(3, 3), 0.5, 0.3, 2)[1] + loop)
    for evidence, regions in (({0: 1}, "bethe"), ({0: 1}, "plaquettes"), ({}, "plaquettes")):
        with pytest.raises(InputError, match="allows no configuration"):
            infer(model, evidence, method, regions=regions)
    assert np.isfinite(infer(model, {}, method, regions="bethe").answer.log_z)
    with pytest.raises(ImpossibleEvidence):
        infer(model_of([2], [((0,), [0.0, 1.0])]), {0: 0}, method)


@both_methods
def test_counting_numbers_of_any_size_have_a_divisor(method):
    # every three of six: intersections of one variable are counted 1 - 10 + 5 * 3 times
    regions = list(itertools.combinations(range(6), 3))
    post = infer(model_of(*ising(*complete(6), 0.1, 0.3, 0)), method=method, regions=regions)
    assert post.status == "CONVERGED"
    assert sorted(set(post.details["counting"].tolist())) == [-3, 6]
    assert post.details["counting_total"] == 20 - 3 * 15 + 6 * 6


# --- options ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"sweeps": 0}, "sweeps of generalised belief propagation must be"),
        ({"tolerance": -1.0}, "tolerance of generalised belief propagation must be at least 0"),
        ({"momentum": 0}, "momentum of generalised belief propagation"),
        ({"momentum": 1.5}, "at most 1, or 'adaptive'. Got 1.5"),
        ({"momentum": "fast"}, "'adaptive'. Got 'fast'"),
        ({"regions": "squares"}, "must be one of auto, bethe, plaquettes, cliques"),
        ({"regions": 7}, "Got 7"),
        ({"regions": ["01"]}, "must be a list of names"),
    ],
)
def test_wrong_options_are_refused(options, message):
    with pytest.raises(InputError, match=message):
        infer(model_of(*ising(*grid(2, 2), 0.5, 0.3, 0)), **options)


def test_regions_are_given_by_names_and_observed_ones_drop_out():
    graph = credo.FactorGraph()
    for name in "abcde":
        graph.variable(name, 2)
    rng = np.random.default_rng(0)
    for pair in ("ab", "bc", "cd", "de", "ea"):
        graph.factor(list(pair), rng.uniform(0.5, 2, (2, 2)))
    post = infer(graph, {"c": 1}, regions=[["c", "a", "b", "d"], ["e", "d", "a"]])
    assert (post.status, post.details["regions"]) == ("EXACT", 2)
    with pytest.raises(LabelError):
        infer(graph, regions=[["a", "x"]])


def test_runs_repeat_bit_by_bit_and_plain_python_computes_the_same(monkeypatch):
    sizes, factors = ising(*grid(3, 4), 0.8, 0.3, 1, mixed=True)
    factors.append(((0, 5), np.array([[1.0, 0.0], [0.5, 1.0]])))
    wide = [((v, (v + 1) % 4), [[0.0, -900.0], [-800.0, -5.0]]) for v in range(4)]
    cases = [
        (model_of(sizes, factors), {11: 0}, "auto"),
        (model_of(*ising(*complete(5), 0.5, 0.3, 0)), {}, "plaquettes"),
        (model_of(sizes, factors), {}, "bethe"),
        (model_of(sizes, factors), {}, "cliques"),
        (model_of(*random_model(0, n_factors=14)), {}, "auto"),
        (model_of([2] * 4, wide, log=True), {}, "bethe"),
    ]

    def answers():
        for (model, evidence, regions), method in itertools.product(cases, METHODS):
            found = infer(model, evidence, method, regions=regions, sweeps=6).answer
            yield found.beliefs.values, found.log_z, found.residuals

    first, again = list(answers()), list(answers())
    plain_kernels(monkeypatch)
    for runs in zip(first, again, answers(), strict=True):
        for one, *others in zip(*runs, strict=True):
            for other in others:
                np.testing.assert_array_equal(one, other)
