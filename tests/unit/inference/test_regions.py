import itertools

import numpy as np
import pytest
from tests.oracles import regions as oracle

from credo.graphs import FactorGraph
from credo.graphs.problems import pose
from credo.inference.question import ask
from credo.inference.regions import _loops
from credo.inference.regions.choice import choose_regions
from credo.inference.regions.generalised import run_double_loop, run_generalised

ENGINES = (run_generalised, run_double_loop)


def model_of(sizes, factors):
    """A factor graph whose variables are named by their numbers."""
    graph = FactorGraph()
    for v, k in enumerate(sizes):
        graph.variable(v, k)
    for scope, table in factors:
        graph.factor(list(scope), table)
    return graph


def problem_of(sizes, factors, evidence=None, likelihood=None):
    """Factors as an engine sees them."""
    question = ask(model_of(sizes, factors), evidence, likelihood, None, "1GB", "the test")
    return pose(question.wiring, question.evidence)


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


def complete(n):
    return n, list(itertools.combinations(range(n), 2))


def random_model(seed, n=8, n_factors=9, most=3):
    """Factors of up to three variables of two to four states."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(2, 5, n).tolist()
    factors = []
    for _ in range(n_factors):
        scope = tuple(rng.permutation(n)[: rng.integers(1, most + 1)].tolist())
        factors.append((scope, np.exp(rng.normal(size=[sizes[v] for v in scope]))))
    return sizes, factors


def assert_exact(found, sizes, factors, rtol=1e-9):
    """Log Z and every marginal equal those by enumeration."""
    joint = oracle.whole(sizes, factors)
    assert found.log_z == pytest.approx(np.log(joint.sum()), rel=1e-12, abs=1e-9)
    assert found.beliefs.log_z == found.log_z
    for v in range(len(sizes)):
        wanted = oracle.marginal(joint, [v]) / joint.sum()
        np.testing.assert_allclose(found.beliefs.of(v), wanted, rtol=rtol, atol=1e-9)


def worst_error(found, sizes, factors):
    joint = oracle.whole(sizes, factors)
    shares = joint / joint.sum()
    errors = [
        np.abs(found.beliefs.of(v) - oracle.marginal(shares, [v])).max() for v in range(len(sizes))
    ]
    return max(errors), abs(found.log_z - np.log(joint.sum()))


# --- where it is exact ----------------------------------------------------------------------


@pytest.mark.parametrize("run", ENGINES)
@pytest.mark.parametrize("seed", range(4))
def test_one_region_of_all_variables_is_exact(run, seed):
    sizes, factors = random_model(seed, n=6)
    found = run(problem_of(sizes, factors), regions=[range(6)])
    assert (found.status, found.log_z_is) == ("EXACT", "EXACT")
    assert (found.details["regions"], found.details["inner"]) == (1, 0)
    assert_exact(found, sizes, factors)


@pytest.mark.parametrize("run", ENGINES)
@pytest.mark.parametrize("regions", ["bethe", "auto", "cliques", "plaquettes"])
def test_a_tree_is_exact_and_says_so(run, regions):
    rng = np.random.default_rng(3)
    sizes = [2, 3, 4, 2, 3, 2, 2]
    scopes = [(0, 1), (2, 1), (1, 3, 4), (5, 4), (0,), (3,)]
    factors = [(s, np.exp(rng.normal(size=[sizes[v] for v in s]))) for s in scopes]
    found = run(problem_of(sizes, factors), regions=regions)
    assert (found.status, found.log_z_is) == ("EXACT", "EXACT")
    assert_exact(found, sizes, factors, rtol=1e-7)


def test_regions_that_have_a_junction_tree_are_exact():
    sizes, factors = ising(*grid(2, 6), 0.8, 0.5, 0, mixed=True)
    for regions in ("plaquettes", [[0, 1, 6, 7, 2, 8], [2, 3, 8, 9], [3, 4, 5, 9, 10, 11]]):
        found = run_generalised(problem_of(sizes, factors), regions=regions)
        assert found.status == "EXACT"
        assert_exact(found, sizes, factors, rtol=1e-7)


def test_a_loop_of_five_is_not_called_exact():
    sizes, factors = ising(5, [(i, (i + 1) % 5) for i in range(5)], 0.7, 0.4, 0)
    found = run_generalised(problem_of(sizes, factors))
    assert (found.status, found.log_z_is, found.details["kind"]) == (
        "CONVERGED",
        "ESTIMATE",
        "bethe",
    )
    assert worst_error(found, sizes, factors)[1] > 1e-3


# --- fixed points ---------------------------------------------------------------------------


@pytest.mark.parametrize("run", ENGINES)
@pytest.mark.parametrize("seed", range(3))
def test_bethe_regions_give_the_fixed_point_of_ordinary_belief_propagation(run, seed):
    sizes, factors = ising(*grid(3, 4), 0.4, 0.5, seed, mixed=True)
    marginals, joints, log_z = oracle.belief_propagation(sizes, factors, sweeps=300)
    found = run(problem_of(sizes, factors), regions="bethe", tolerance=1e-10)
    assert found.status == "CONVERGED"
    assert found.log_z == pytest.approx(log_z, rel=1e-9)
    for v, wanted in enumerate(marginals):
        np.testing.assert_allclose(found.beliefs.of(v), wanted, atol=1e-8)
    for (scope, _), wanted in zip(factors, joints, strict=True):
        np.testing.assert_allclose(found.joints(np.array(scope)), wanted, atol=1e-8)


@pytest.mark.parametrize("seed", range(3))
def test_bethe_regions_of_three_variables_share_single_variables_only(seed):
    rng = np.random.default_rng(seed)
    sizes = [2, 3, 2, 2, 3]
    scopes = [(0, 1, 2), (3, 1, 2), (4, 3, 0)]
    factors = [(s, np.exp(rng.normal(scale=0.7, size=[sizes[v] for v in s]))) for s in scopes]
    marginals, _, log_z = oracle.belief_propagation(sizes, factors, sweeps=300)
    found = run_generalised(problem_of(sizes, factors), regions="bethe", tolerance=1e-10)
    assert found.log_z == pytest.approx(log_z, rel=1e-9)
    for v, wanted in enumerate(marginals):
        np.testing.assert_allclose(found.beliefs.of(v), wanted, atol=1e-8)
    closed = run_generalised(problem_of(sizes, factors), regions=[], tolerance=1e-10)
    assert abs(closed.log_z - log_z) > 1e-4  # the pair that two factors share is counted


@pytest.mark.parametrize("regions", ["bethe", "plaquettes"])
@pytest.mark.parametrize("seed", range(3))
def test_both_loops_find_the_same_beliefs(regions, seed):
    sizes, factors = ising(*grid(4, 4), 0.6, 0.5, seed, mixed=True)
    problem = problem_of(sizes, factors)
    one, two = (run(problem, regions=regions, tolerance=1e-10) for run in ENGINES)
    assert one.status == two.status == "CONVERGED"
    assert one.log_z == pytest.approx(two.log_z, rel=1e-10)
    np.testing.assert_allclose(one.beliefs.values, two.beliefs.values, atol=1e-7)


@pytest.mark.parametrize("run", ENGINES)
@pytest.mark.parametrize("regions", ["plaquettes", "cliques", [[0, 1, 2, 3, 4, 5], [4, 5, 6, 7]]])
@pytest.mark.parametrize("seed", range(2))
def test_beliefs_agree_on_what_regions_share(run, regions, seed):
    sizes, factors = random_model(seed, most=2, n_factors=14)
    problem = problem_of(sizes, factors)
    found = run(problem, regions=regions)
    assert found.status in {"CONVERGED", "EXACT"}
    outer = choose_regions(problem, regions)
    tables = [found.joints(np.array(region)) for region in outer]
    for (a, one), (b, other) in itertools.combinations(zip(outer, tables, strict=True), 2):
        shared = set(a) & set(b)
        if shared:
            left = one.sum(axis=tuple(i for i, v in enumerate(a) if v not in shared))
            right = other.sum(axis=tuple(i for i, v in enumerate(b) if v not in shared))
            np.testing.assert_allclose(left, right, atol=1e-7)
    for region, table in zip(outer, tables, strict=True):
        for axis, v in enumerate(region):
            single = table.sum(axis=tuple(i for i in range(len(region)) if i != axis))
            np.testing.assert_allclose(single, found.beliefs.of(v), atol=1e-7)


@pytest.mark.parametrize("run", ENGINES)
@pytest.mark.parametrize("seed", range(3))
def test_the_kikuchi_free_energy_is_stationary(run, seed):
    sizes, factors = ising(*grid(3, 3), 0.7, 0.4, seed, mixed=True)
    problem = problem_of(sizes, factors)
    found = run(problem, regions="plaquettes", tolerance=1e-11, sweeps=5000)
    outer = [(0, 1, 3, 4), (1, 2, 4, 5), (3, 4, 6, 7), (4, 5, 7, 8)]
    tables = [found.joints(np.array(region)) for region in outer]
    energy = oracle.kikuchi_energy(sizes, factors, outer, tables)
    assert found.details["free_energy"] == pytest.approx(energy, rel=1e-9)
    assert found.log_z == pytest.approx(-energy, rel=1e-9)
    rng = np.random.default_rng(seed)
    for _ in range(5):  # beliefs of any distribution agree, so the way towards them is allowed
        other = rng.dirichlet(np.ones(2**9)).reshape([2] * 9)
        steps = [
            oracle.marginal(other, region) - t for region, t in zip(outer, tables, strict=True)
        ]
        near = [
            oracle.kikuchi_energy(
                sizes, factors, outer, [t + e * d for t, d in zip(tables, steps, strict=True)]
            )
            for e in (1e-5, -1e-5)
        ]
        assert abs(near[0] - near[1]) / 2e-5 < 1e-6
        assert min(near) > energy  # here it is a minimum


@pytest.mark.parametrize("regions", ["bethe", "plaquettes"])
@pytest.mark.parametrize("coupling", [0.5, 1.0])
def test_the_free_energy_never_rises_in_the_double_loop(regions, coupling):
    sizes, factors = ising(*grid(5, 5), coupling, 0.3, 1, mixed=True)
    found = run_double_loop(problem_of(sizes, factors), regions=regions)
    energies = found.details["free_energies"]
    assert found.status == "CONVERGED"
    assert len(energies) > 10
    assert found.details["free_energy"] == pytest.approx(energies[-1], rel=1e-12)
    assert energies[0] - energies[-1] > 0.01
    assert np.diff(energies).max() < 1e-11


def test_frozen_couplings_leave_the_free_energy_falling_too_if_inner_loops_are_long(monkeypatch):
    sizes, factors = ising(*grid(5, 5), 2.0, 0.3, 1, mixed=True)
    problem = problem_of(sizes, factors)
    usual = run_double_loop(problem, regions="bethe").details["free_energies"]
    assert np.diff(usual).max() < 1e-3
    monkeypatch.setattr(_loops, "MOST_LEFT", 1e-9)
    precise = run_double_loop(problem, regions="bethe").details["free_energies"]
    assert np.diff(precise).max() < 1e-8


# --- gains ----------------------------------------------------------------------------------


def test_plaquettes_are_far_better_than_bethe_on_strongly_coupled_grids():
    for mixed, gain, log_gain in ((False, 100, 50), (True, 5, 20)):
        errors = {"bethe": [], "plaquettes": []}
        for seed, regions in itertools.product(range(4), errors):
            sizes, factors = ising(*grid(4, 4), 1.0, 0.3, seed, mixed=mixed)
            found = run_generalised(problem_of(sizes, factors), regions=regions)
            assert found.status == "CONVERGED"
            errors[regions].append(worst_error(found, sizes, factors))
        bethe, kikuchi = (np.mean(errors[r], axis=0) for r in ("bethe", "plaquettes"))
        assert kikuchi[0] * gain < bethe[0]
        assert kikuchi[1] * log_gain < bethe[1]


def test_independent_triangles_mend_the_over_confidence_of_a_complete_graph():
    sizes, factors = ising(*complete(9), 0.3, 0.3, 0)
    problem = problem_of(sizes, factors)
    found = run_generalised(problem)
    assert (found.status, found.details["counting_total"]) == ("CONVERGED", 1)
    assert worst_error(found, sizes, factors)[0] < 0.01
    assert worst_error(run_generalised(problem, regions="bethe"), sizes, factors)[0] > 0.2


# --- convergence ----------------------------------------------------------------------------


def test_the_double_loop_converges_where_belief_propagation_turns_in_circles():
    sizes, factors = ising(*complete(6), 1.0, 0.3, 1, mixed=True)
    problem = problem_of(sizes, factors)
    for momentum in (1.0, 0.5):
        plain = run_generalised(problem, regions="bethe", momentum=momentum, sweeps=500)
        assert plain.status in {"OSCILLATING", "MAX_SWEEPS"}
        assert plain.residuals[-1] > 0.01
    double = run_double_loop(problem, regions="bethe")
    careful = run_generalised(problem, regions="bethe")
    assert double.status == careful.status == "CONVERGED"
    assert careful.details["relaxation"] > 0
    assert careful.log_z == pytest.approx(double.log_z, rel=1e-9)


def test_a_circle_is_told_with_its_period():
    sizes, factors = ising(*complete(4), -3.0, 0.3, 0)
    problem = problem_of(sizes, factors)
    found = run_generalised(problem, regions="bethe", momentum=1.0)
    assert (found.status, found.period) == ("OSCILLATING", 4)
    assert len(found.residuals) == 20  # that is 16, and the period
    again = run_generalised(problem, regions="bethe", momentum=1.0, sweeps=16)
    assert again.status == "MAX_SWEEPS"
    np.testing.assert_allclose(again.beliefs.values, found.beliefs.values, atol=1e-3)
    half = run_generalised(problem, regions="bethe", momentum=1.0, sweeps=18)
    assert np.abs(half.beliefs.values - found.beliefs.values).max() > 0.5


def test_caution_grows_step_by_step_and_ends():
    caution = _loops.Caution(0.0, 1.0)
    steps = [(caution.relaxation, caution.momentum) for _ in range(20) if caution.grow()]
    assert steps[:3] == [(0.5, 1.0), (1.0, 1.0), (1.5, 1.0)]
    assert steps[3:] == [(1.5, 2.0**-k) for k in range(1, 5)]


def test_too_few_sweeps_are_told():
    sizes, factors = ising(*grid(4, 4), 0.6, 0.3, 0)
    for run in ENGINES:
        found = run(problem_of(sizes, factors), sweeps=3)
        assert (found.status, found.log_z_is) == ("MAX_SWEEPS", "ESTIMATE")
        assert len(found.residuals) == 3
        assert np.isfinite(found.log_z)


@pytest.mark.parametrize("run", ENGINES)
def test_the_callback_hears_of_every_sweep(run):
    heard = []
    sizes, factors = ising(*grid(3, 3), 0.4, 0.3, 0)
    found = run(problem_of(sizes, factors), callback=lambda *told: heard.append(told))
    assert [number for number, _ in heard] == list(range(1, len(found.residuals) + 1))
    assert [residual for _, residual in heard] == found.residuals.tolist()
    assert found.residuals[-1] <= 1e-8
    links = 4 * 2 + 4  # four inner edges in two faces each, one site in four
    assert found.updates == 2 * links * len(found.residuals)


def test_momentum_changes_the_way_and_not_the_end():
    sizes, factors = ising(*grid(4, 4), 0.6, 0.3, 0)
    problem = problem_of(sizes, factors)
    slow, quick = (run_generalised(problem, momentum=m, tolerance=1e-10) for m in (0.25, 1.0))
    assert slow.details["momentum"] == 0.25
    assert len(slow.residuals) > len(quick.residuals)
    np.testing.assert_allclose(slow.beliefs.values, quick.beliefs.values, atol=1e-8)


def test_runs_repeat_bit_by_bit():
    sizes, factors = random_model(0, n_factors=14)
    problem = problem_of(sizes, factors)
    for run in ENGINES:
        one, other = run(problem, sweeps=50), run(problem, sweeps=50)
        np.testing.assert_array_equal(one.beliefs.values, other.beliefs.values)
        np.testing.assert_array_equal(one.residuals, other.residuals)
        assert one.log_z == other.log_z
