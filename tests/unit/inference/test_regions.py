"""``infer`` with regions: which are chosen, where answers are exact, and how runs settle."""

import itertools

import numpy as np
import pytest
from tests.models import grid_edges, numbered
from tests.oracles import regions as oracle

import credo
from credo.exceptions import InputError
from credo.inference.regions import choose


def grid(rows, columns):
    """Sites and pairs of neighbours."""
    return rows * columns, [tuple(pair) for pair in grid_edges(rows, columns).tolist()]


METHODS = ("generalised", "double_loop")
both_methods = pytest.mark.parametrize("method", METHODS)


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
    return numbered([states] * n, [(e, np.ones([states] * 2)) for e in edges])


def random_model(seed, n=8, n_factors=9, most=3):
    """Factors of up to three variables of two to four states."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(2, 5, n).tolist()
    factors = []
    for _ in range(n_factors):
        scope = tuple(rng.permutation(n)[: rng.integers(1, most + 1)].tolist())
        factors.append((scope, np.exp(rng.normal(size=[sizes[v] for v in scope]))))
    return sizes, factors


def regions_of(model, regions):
    """The outer regions: the largest groups of variables that have a joint belief."""
    post = infer(model, regions=regions, sweeps=1)
    found, groups = [], [(v,) for v in post]
    while groups:
        found += groups
        larger = [(*group, v) for group in groups for v in post if v > group[-1]]
        groups = [group for group in larger if post.answer.joints(np.array(group)) is not None]
    return sorted(g for g in found if not any(set(g) < set(other) for other in found))


def errors_of(model, **options):
    """How far beliefs and log Z are off, at the worst; where the run has converged."""
    post, exact = infer(model, **options), credo.infer(model)
    assert post.status == "CONVERGED"
    errors = [np.abs(post.probabilities(v) - exact.probabilities(v)).max() for v in post]
    return max(errors), abs(post.log_evidence - exact.log_evidence)


# --- where it is exact ----------------------------------------------------------------------


@both_methods
@pytest.mark.parametrize("regions", ["bethe", "cliques"])
@pytest.mark.parametrize("scale", [60.0, 1000.0])
def test_small_probabilities_of_a_tree_are_exact_too(method, regions, scale):
    """Shares of 1e-60 come from far away, and sweeps in any order miss them."""
    for seed in range(5):
        rng = np.random.default_rng(seed)
        order, sizes = rng.permutation(9).tolist(), rng.integers(2, 4, 9).tolist()
        near = [(order[i], order[rng.integers(max(0, i - 3), i)]) for i in range(1, 9)]
        factors = [((a, b), rng.normal(0, scale, (sizes[a], sizes[b]))) for a, b in near]
        model = numbered(sizes, factors, log=True)
        post, exact = infer(model, method=method, regions=regions), credo.infer(model)
        assert post.status == "EXACT"
        assert post.log_evidence == pytest.approx(exact.log_evidence, rel=1e-12)
        for v in post:
            np.testing.assert_allclose(post.probabilities(v), exact.probabilities(v), rtol=1e-9)


@both_methods
def test_a_junction_tree_takes_two_sweeps(method):
    sizes, factors = ising(6, [(i, i + 1) for i in range(5)], 0.7, 0.4, 0)
    for sweeps, status in ((1, "MAX_SWEEPS"), (2, "EXACT"), (100, "EXACT")):
        post = infer(numbered(sizes, factors), method=method, sweeps=sweeps)
        assert (post.status, post.sweeps) == (status, min(sweeps, 2))


# --- fixed points ---------------------------------------------------------------------------


@both_methods
@pytest.mark.parametrize("seed", range(2))
def test_bethe_regions_give_the_fixed_point_of_loopy_belief_propagation(method, seed):
    rng = np.random.default_rng(seed)
    sizes = [2, 3, 2, 2, 3]
    scopes = [(0, 1, 2), (3, 1, 2), (4, 3, 0)]
    tables = [np.exp(rng.normal(scale=0.7, size=[sizes[v] for v in s])) for s in scopes]
    threes = sizes, list(zip(scopes, tables, strict=True))
    for case in (ising(*grid(3, 4), 0.4, 0.5, seed, mixed=True), threes):
        model = numbered(*case)
        wanted = infer(model, method="loopy", tolerance=1e-10)
        post = infer(model, method=method, regions="bethe", tolerance=1e-10)
        assert post.status == wanted.status == "CONVERGED"
        assert post.log_evidence == pytest.approx(wanted.log_evidence, rel=1e-9)
        for v in post:
            np.testing.assert_allclose(post.probabilities(v), wanted.probabilities(v), atol=1e-8)
        for scope, _ in case[1]:
            np.testing.assert_allclose(
                post.joint(scope).table, wanted.joint(scope).table, atol=1e-8
            )
    closed = infer(model, method=method, regions=[], tolerance=1e-10)
    assert abs(closed.log_evidence - post.log_evidence) > 1e-4  # a pair that two factors share


@both_methods
@pytest.mark.parametrize("regions", ["plaquettes", "cliques", [[0, 1, 2, 3, 4, 5], [4, 5, 6, 7]]])
def test_beliefs_agree_on_what_regions_share(method, regions):
    model = numbered(*random_model(1, most=2, n_factors=14))
    post = infer(model, method=method, regions=regions)
    assert post.status in {"CONVERGED", "EXACT"}
    for a, b in itertools.combinations(regions_of(model, regions), 2):
        shared = sorted(set(a) & set(b))
        one, other = (
            oracle.marginal(post.joint(r).table, [r.index(v) for v in shared]) for r in (a, b)
        )
        np.testing.assert_allclose(one, other, atol=1e-7)
        if len(shared) == 1:
            np.testing.assert_allclose(one, post.probabilities(shared[0]), atol=1e-7)


@both_methods
@pytest.mark.parametrize("seed", range(2))
def test_the_kikuchi_free_energy_is_stationary(method, seed):
    sizes, factors = ising(*grid(3, 3), 0.7, 0.4, seed, mixed=True)
    post = infer(numbered(sizes, factors), method=method, tolerance=1e-11, sweeps=5000)
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


@pytest.mark.parametrize(
    ("regions", "coupling", "fall", "rise"),
    [
        ("bethe", 0.5, 0.01, 1e-11),
        ("plaquettes", 0.5, 0.01, 1e-11),
        ("bethe", 1.0, 0.01, 1e-11),
        ("plaquettes", 1.0, 0.01, 1e-11),
        ("bethe", 2.0, 1e-3, 1e-3),
    ],
)
def test_the_free_energy_never_rises_in_the_double_loop(regions, coupling, fall, rise):
    model = numbered(*ising(*grid(5, 5), coupling, 0.3, 1, mixed=True))
    post = infer(model, method="double_loop", regions=regions)
    energies = post.details["free_energies"]
    assert post.status == "CONVERGED"
    assert len(energies) > 10
    assert post.details["free_energy"] == pytest.approx(energies[-1], rel=1e-12)
    assert energies[0] - energies[-1] > fall
    assert np.diff(energies).max() < rise


@both_methods
def test_updates_count_messages_both_ways(method):
    post = infer(numbered(*ising(*grid(3, 3), 0.4, 0.3, 0)), method=method)
    links = 4 * 2 + 4  # four inner edges in two faces each, one site in four
    assert post.updates == 2 * links * post.sweeps


def test_plaquettes_are_far_better_than_bethe_on_strongly_coupled_grids():
    for mixed, gain, log_gain in ((False, 100, 50), (True, 5, 20)):
        models = [numbered(*ising(*grid(4, 4), 1.0, 0.3, k, mixed=mixed)) for k in range(4)]
        bethe, kikuchi = (
            np.mean([errors_of(model, regions=regions) for model in models], axis=0)
            for regions in ("bethe", "plaquettes")
        )
        assert kikuchi[0] * gain < bethe[0]
        assert kikuchi[1] * log_gain < bethe[1]


def test_independent_triangles_mend_the_over_confidence_of_a_complete_graph():
    model = numbered(*ising(*complete(9), 0.3, 0.3, 0))
    assert errors_of(model)[0] < 0.01
    assert errors_of(model, regions="bethe")[0] > 0.2


def test_the_double_loop_converges_where_belief_propagation_turns_in_circles():
    model = numbered(*ising(*complete(6), 1.0, 0.3, 1, mixed=True))
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
    model = numbered(*ising(*complete(4), -3.0, 0.3, 0))
    post = infer(model, regions="bethe", momentum=1.0)
    assert (post.status, post.period) == ("OSCILLATING", 4)
    assert post.sweeps <= 32
    for earlier, gap in ((4, (0.0, 1e-3)), (2, (0.5, 1.0))):
        before = infer(model, regions="bethe", momentum=1.0, sweeps=post.sweeps - earlier)
        moved = max(np.abs(before.probabilities(v) - post.probabilities(v)).max() for v in post)
        assert gap[0] <= moved <= gap[1]


# --- which regions ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("scopes", "regions", "wanted"),
    [
        (grid(3, 4)[1], "auto", [(c, c + 1, c + 4, c + 5) for c in (0, 1, 2, 4, 5, 6)]),
        (complete(7)[1], "auto", [(0, a, b) for a, b in itertools.combinations(range(1, 7), 2)]),
        ([(0, 1, 2, 3), (3, 4), (4, 5), (5, 0), (4, 0)], "auto",
         [(0, 1, 2, 3), (0, 3, 4), (0, 4, 5)]),
        ([*complete(5)[1], (0, 5), (0, 6)], "cliques", [(0, 1, 2, 3, 4), (0, 5), (0, 6)]),
    ],
    ids=["faces of a grid", "triangles of a vertex", "a factor's own cycles", "cliques"],
)  # fmt: skip
def test_regions_that_are_chosen(scopes, regions, wanted):
    n = 1 + max(map(max, scopes))
    model = numbered([2] * n, [(s, np.ones([2] * len(s))) for s in scopes])
    assert regions_of(model, regions) == wanted


#: So that independent cycles cannot be found.
LAZY = {"MANY_CYCLES": 20, "MOST_WORK": -1}
BIPARTITE = 14, [(a, b) for a in (0, 1) for b in range(2, 14)]


@pytest.mark.parametrize(
    ("edges", "states", "limits", "kind", "count"),
    [
        (grid(3, 3), 8, {}, "plaquettes", 4),
        (grid(3, 3), 9, {}, "bethe", 12),  # plaquettes would be large
        ((5, [(0, 1), (1, 2), (3, 4)]), 2, {}, "bethe", 3),
        (grid(6, 6), 2, {}, "plaquettes", 25),
        (grid(6, 6), 2, LAZY, "plaquettes", 25),
        (torus(6), 2, {}, "plaquettes", 35),  # the last is the sum of all others
        (torus(6), 2, LAZY, "plaquettes", 36),
        (torus(4), 2, LAZY, "bethe", 32),  # cycles of four go round, too
        (torus(4), 2, {"_BLOCK": 3}, "plaquettes", 17),
        (BIPARTITE, 2, {}, "plaquettes", 11),
        (BIPARTITE, 2, {"MOST_CYCLES": 12}, "bethe", 24),
    ],
)
def test_how_many_plaquettes_are_taken(edges, states, limits, kind, count, monkeypatch):
    for limit, value in limits.items():
        monkeypatch.setattr(choose, limit, value)
    details = infer(pairs_only(*edges, states=states), sweeps=1).details
    assert (details["kind"], details["regions"]) == (kind, count)
    if limits is not LAZY and kind == "plaquettes":  # two ways round a torus are in no face
        assert details["counting_total"] == (-1 if edges == torus(6) else 1)


def test_hubs_of_many_factors_are_one_inner_region_or_none():
    for hub, spokes in ((0, range(1, 1_001)), (1_000, range(1_000))):
        model = pairs_only(1_001, [(hub, i) for i in spokes])
        for regions in ("auto", []):
            post = infer(model, regions=regions)
            assert (post.status, post.details["counting"].tolist()) == ("EXACT", [1 - 1_000])
    post = infer(numbered([2], [((0,), [1.0, 1.0 + 1e-6])] * 20_000))
    assert (post.status, post.details["regions"]) == ("EXACT", 1)
    assert post.probabilities(0)[1] == pytest.approx(1 / (1 + np.exp(-20_000 * np.log1p(1e-6))))


@pytest.mark.parametrize("share", [0.25, 0.45, 0.8])
@pytest.mark.parametrize("seed", range(2))
def test_plaquettes_are_independent_short_cycles_and_all_others_are_their_sums(seed, share):
    n, edges = random_edges(seed, share=share)
    model = pairs_only(n, edges)
    every = oracle.short_cycles(n, edges)
    few = [region for region in regions_of(model, "plaquettes") if len(region) > 2]
    assert set(few) <= set(every)
    assert len(few) == oracle.rank(few, edges) == oracle.rank(every, edges)


@pytest.mark.parametrize("seed", range(2))
def test_where_independent_cycles_are_hard_to_find_all_or_none_are_taken(seed, monkeypatch):
    monkeypatch.setattr(choose, "MOST_WORK", -1)
    n, edges = random_edges(seed, share=0.6)
    model = pairs_only(n, edges)
    cycles = [region for region in regions_of(model, "plaquettes") if len(region) > 2]
    assert cycles == oracle.short_cycles(n, edges)
    assert infer(model, sweeps=1).details["kind"] == "bethe"


@pytest.mark.parametrize("seed", range(3))
def test_cliques_are_those_of_a_search_through_all_groups(seed):
    n, edges = random_edges(seed, n=8, share=0.3 + 0.1 * seed)
    assert regions_of(pairs_only(n, edges), "cliques") == oracle.cliques(n, edges)


@pytest.mark.parametrize("regions", ["auto", "bethe", "plaquettes", "cliques", [[0, 3], [2, 3, 4]]])
@pytest.mark.parametrize("seed", range(2))
def test_regions_cover_every_factor_and_given_ones_are_kept(regions, seed):
    sizes, factors = random_model(seed, n_factors=7)
    chosen = [set(r) for r in regions_of(numbered(sizes, factors), regions)]
    scopes = [set(scope) for scope, _ in factors]
    given = [] if isinstance(regions, str) else map(set, regions)
    assert all(any(one <= r for r in chosen) for one in (*scopes, *given))
    assert set().union(*chosen) == set(range(8))
    if regions == "bethe":
        assert all(r in scopes or len(r) == 1 for r in chosen)


def test_unbalanced_plaquettes_are_left_alone_unless_asked_for():
    kinds = set()
    for seed in range(12):
        n, edges = random_edges(seed, n=11, share=0.75)
        details = infer(pairs_only(n, edges), regions="plaquettes", sweeps=1).details
        assert details["kind"] == "plaquettes"
        left = len(edges) - n + 1 - oracle.rank(oracle.short_cycles(n, edges), edges)
        balance = details["counting_total"] == 1 - left
        usual = infer(pairs_only(n, edges), sweeps=1).details["kind"]
        assert usual == ("plaquettes" if balance else "bethe")
        kinds.add(balance)
    assert kinds == {True, False}


def random_sets(seed):
    """Maximal sets of nine, many of which overlap."""
    rng = np.random.default_rng(seed)
    drawn = {frozenset(rng.permutation(9)[: rng.integers(2, 6)].tolist()) for _ in range(7)}
    return [s for s in sorted(drawn, key=sorted) if not any(s < t for t in drawn)]


@pytest.mark.parametrize("seed", range(12))
def test_counting_numbers_are_those_of_the_definition_and_junction_trees_are_recognised(seed):
    outer, rng = random_sets(seed), np.random.default_rng(seed)
    factors = [(sorted(s), np.exp(rng.normal(size=[2] * len(s)))) for s in outer]
    model = numbered([2] * 9, factors)
    post, is_forest = infer(model, regions=[], sweeps=2), oracle.has_junction_tree(outer)
    assert (post.status == "EXACT") == is_forest
    if is_forest:
        assert post.log_evidence == pytest.approx(credo.infer(model).log_evidence, abs=1e-12)
    inner = [c for s, c in oracle.counting(outer, oracle.closure(outer)).items() if s not in outer]
    assert sorted(post.details["counting"]) == sorted(c for c in inner if c or not is_forest)
    n = len(outer) + 9 - len(frozenset().union(*outer))
    assert post.details["regions"] == n
    assert post.details["counting_total"] == n + sum(inner)


@pytest.mark.parametrize(
    ("sets", "counting"),
    [
        (list(itertools.combinations(range(9), 5)), [-4] * 126 + [10] * 84 + [-20] * 36 + [35] * 9),
        # 0 is counted zero times, and yet two parts of the sets agree on it by nothing else
        ([(0, 1, 2), (0, 1, 3), (0, 4, 5), (0, 5, 6), (0, 4, 6)], [-1, -1, -1, -1, 0]),
    ],
)
def test_counting_numbers_of_nested_intersections(sets, counting):
    details = infer(numbered([2] * 9, []), regions=sets, sweeps=1).details
    assert sorted(details["counting"]) == sorted(counting)


# --- limits -----------------------------------------------------------------------------------


def test_regions_beyond_the_limits_are_refused_by_name(monkeypatch):
    model = numbered([2] * 17, [((0,), np.ones(2))])
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
    monkeypatch.setattr(choose, "MOST_CYCLES", 12)
    with pytest.raises(InputError, match="too many triangles and cycles of four"):
        infer(pairs_only(*BIPARTITE), regions="plaquettes")
    monkeypatch.setattr(choose, "MOST_ENTRIES", 10)
    with pytest.raises(InputError, match="The 6 regions overlap in too many ways"):
        infer(numbered([2] * 4, []), regions=list(itertools.combinations(range(4), 2)))


@both_methods
@pytest.mark.parametrize("regions", ["auto", "bethe", "plaquettes", "cliques", []])
def test_joints_hold_observed_variables_and_those_of_one_state(method, regions):
    rng, sizes = np.random.default_rng(0), [2, 1, 3, 2, 4]
    scopes = [(0, 1, 2), (2, 3), (3, 0), (1,), (3,)]
    model = numbered(sizes, [(s, rng.uniform(0.5, 2, [sizes[v] for v in s])) for s in scopes])
    post, exact = infer(model, {3: 1}, method, regions=regions), credo.infer(model, {3: 1})
    wanted = exact.joint([2, 0]).table[:, None, None, :] * np.eye(2)[1][None, :, None, None]
    np.testing.assert_allclose(post.joint([2, 3, 1, 0]).table, wanted, rtol=1e-12)
    np.testing.assert_array_equal(post.joint([3, 1]).table, [[0.0], [1.0]])


@both_methods
@pytest.mark.parametrize("regions", ["bethe", "plaquettes"])
def test_zeros_stay_zero_and_leave_no_noise(method, regions):
    sizes, factors = ising(*grid(3, 3), 0.5, 0.3, 2, mixed=True)
    hard = [((0, 1), np.eye(2)), ((1, 4), 1 - np.eye(2)), ((4, 5), np.array([[1.0, 1.0], [0, 1]]))]
    hard += [((8,), np.array([0.0, 2.0]))]
    model = numbered(sizes, factors + hard)
    post = infer(model, method=method, regions=regions)
    assert post.status == "CONVERGED"
    if regions == "plaquettes":
        assert post.log_evidence == pytest.approx(credo.infer(model).log_evidence, abs=1e-3)
    np.testing.assert_array_equal(post.probabilities(8), [0.0, 1.0])
    for scope, table in hard:
        assert (post.joint(scope).table[table == 0] == 0.0).all()


@both_methods
def test_contradictions_are_found_and_hidden_ones_by_plaquettes_only(method):
    equal, unlike = np.eye(2), 1 - np.eye(2)
    loop = [((0, 1), equal), ((1, 4), equal), ((4, 3), equal), ((3, 0), unlike)]
    model = numbered([2] * 9, ising(*grid(3, 3), 0.5, 0.3, 2)[1] + loop)
    for evidence, regions in (({0: 1}, "bethe"), ({0: 1}, "plaquettes"), ({}, "plaquettes")):
        with pytest.raises(InputError, match="allows no configuration"):
            infer(model, evidence, method, regions=regions)
    assert np.isfinite(infer(model, {}, method, regions="bethe").answer.log_z)


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
        ({"regions": [[0, "x"]]}, "'x'"),
    ],
)
def test_wrong_options_are_refused(options, message):
    with pytest.raises(InputError, match=message):
        infer(numbered(*ising(*grid(2, 2), 0.5, 0.3, 0)), **options)
