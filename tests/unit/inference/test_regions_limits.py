import itertools

import numpy as np
import pytest
from tests.oracles import regions as oracle
from tests.speeds import plain_kernels
from tests.unit.inference.test_regions import (
    ENGINES,
    assert_exact,
    complete,
    grid,
    ising,
    problem_of,
    random_model,
)

from credo.exceptions import InputError, LabelError
from credo.graphs import FactorGraph
from credo.graphs.problems import pose
from credo.inference.question import ask
from credo.inference.regions.generalised import run_generalised


@pytest.mark.parametrize("run", ENGINES)
@pytest.mark.parametrize("regions", ["auto", "bethe", "plaquettes", "cliques", []])
def test_variables_of_one_state_lonely_ones_and_observed_factors_are_no_trouble(run, regions):
    rng = np.random.default_rng(0)
    sizes = [2, 1, 3, 2, 2, 1, 4]
    scopes = [(0, 1, 2), (2, 3), (3, 0), (1, 5), (4, 3), (3,), (1,)]
    factors = [(s, rng.uniform(0.5, 2, [sizes[v] for v in s])) for s in scopes]
    found = run(problem_of(sizes, factors, {4: 1, 3: 0}), regions=regions)
    seen = [*factors, ((4,), np.eye(2)[1]), ((3,), np.eye(2)[0])]
    joint = oracle.whole(sizes, seen)
    assert found.status == "EXACT"
    assert found.log_z == pytest.approx(np.log(joint.sum()), rel=1e-12)
    for v in (0, 1, 2, 5, 6):
        wanted = oracle.marginal(joint, [v]) / joint.sum()
        np.testing.assert_allclose(found.beliefs.of(v), wanted, rtol=1e-12)
    assert found.beliefs.of(3) is None
    wanted = np.transpose(oracle.marginal(joint, [0, 1, 2, 3]), (2, 3, 1, 0)) / joint.sum()
    np.testing.assert_allclose(found.joints(np.array([2, 3, 1, 0])), wanted, rtol=1e-12)
    np.testing.assert_array_equal(found.joints(np.array([3, 5])), [[1.0], [0.0]])
    assert found.joints(np.array([0, 6])) is None


@pytest.mark.parametrize("run", ENGINES)
def test_nothing_but_observed_variables(run):
    found = run(problem_of([2, 2], [((0, 1), [[1.0, 2.0], [3.0, 5.0]])], {0: 1, 1: 1}))
    assert (found.status, found.log_z) == ("EXACT", pytest.approx(np.log(5)))
    assert found.details["regions"] == 0
    np.testing.assert_array_equal(found.joints(np.array([0, 1])), [[0, 0], [0, 1]])


@pytest.mark.parametrize("run", ENGINES)
@pytest.mark.parametrize("regions", ["bethe", "plaquettes"])
def test_zeros_stay_zero_and_leave_no_noise(run, regions):
    sizes, factors = ising(*grid(3, 3), 0.5, 0.3, 2, mixed=True)
    hard = [((0, 1), [[1.0, 0.0], [0.0, 1.0]]), ((1, 4), [[0.0, 1.0], [1.0, 0.0]])]
    hard += [((4, 5), [[1.0, 1.0], [0.0, 1.0]]), ((8,), [0.0, 2.0])]
    problem = problem_of(sizes, factors + [(s, np.array(t)) for s, t in hard])
    found = run(problem, regions=regions)
    assert found.status == "CONVERGED"
    np.testing.assert_array_equal(found.beliefs.of(8), [0.0, 1.0])
    for scope, table in hard:
        assert (found.joints(np.array(scope))[np.array(table) == 0] == 0.0).all()
    joint = oracle.whole(sizes, factors + [(s, np.array(t)) for s, t in hard])
    if regions == "plaquettes":
        assert found.log_z == pytest.approx(np.log(joint.sum()), abs=1e-3)


@pytest.mark.parametrize("run", ENGINES)
@pytest.mark.parametrize("regions", ["bethe", "plaquettes"])
def test_impossible_evidence_is_minus_infinity(run, regions):
    sizes, factors = ising(*grid(3, 3), 0.5, 0.3, 2)
    equal, unlike = np.eye(2), 1 - np.eye(2)
    loop = [((0, 1), equal), ((1, 4), equal), ((4, 3), equal), ((3, 0), unlike)]
    problem = problem_of(sizes, factors + loop, {0: 1})
    found = run(problem, regions=regions)
    assert found.log_z == found.beliefs.log_z == -np.inf
    assert found.beliefs.are_impossible
    constant = problem_of([2], [((0,), [0.0, 1.0])], {0: 0})
    assert run(constant).log_z == -np.inf


def test_hidden_contradictions_are_not_noticed_by_bethe_but_by_plaquettes():
    equal, unlike = np.eye(2), 1 - np.eye(2)
    factors = [((0, 1), equal), ((1, 2), equal), ((2, 3), equal), ((3, 0), unlike)]
    problem = problem_of([2] * 4, factors)
    assert np.isfinite(run_generalised(problem, regions="bethe").log_z)
    assert run_generalised(problem, regions="plaquettes").log_z == -np.inf


@pytest.mark.parametrize("run", ENGINES)
def test_potentials_beyond_float64_are_summed_in_logs(run):
    rng = np.random.default_rng(0)
    logs = [rng.normal(0, 1000, (2, 2)) for _ in range(4)]
    graph = FactorGraph()
    for v in range(5):
        graph.variable(v, 2)
    for v, table in enumerate(logs):
        graph.factor([v, v + 1], table, log=True)
    question = ask(graph, None, None, None, "1GB", "the test")
    found = run(pose(question.wiring, question.evidence))
    total = logs[0]
    for table in logs[1:]:
        total = np.logaddexp(total[:, [0]] + table[0], total[:, [1]] + table[1])
    assert found.status == "EXACT"
    assert found.log_z == pytest.approx(np.logaddexp.reduce(total.ravel()), rel=1e-12)
    first = np.logaddexp(total[:, 0], total[:, 1])
    shares = np.exp(first - np.logaddexp(*first))
    np.testing.assert_allclose(found.beliefs.of(0), shares, rtol=1e-9)


def test_likelihoods_and_repeated_factors_count():
    sizes, factors = random_model(5, n=5, n_factors=4, most=2)
    factors = [*factors, factors[0], factors[0]]
    weights = {0: np.arange(1.0, sizes[0] + 1)}
    found = run_generalised(problem_of(sizes, factors, None, weights), regions=[range(5)])
    assert_exact(found, sizes, [*factors, ((0,), weights[0])])


def test_counting_numbers_of_any_size_have_a_divisor():
    # every three of six: intersections of one variable are counted 1 - 10 + 5 * 3 times
    regions = list(itertools.combinations(range(6), 3))
    sizes, factors = ising(*complete(6), 0.1, 0.3, 0)
    for run in ENGINES:
        found = run(problem_of(sizes, factors), regions=regions)
        assert found.status == "CONVERGED"
        assert sorted(set(found.details["counting"].tolist())) == [-3, 6]
        assert found.details["counting_total"] == 20 - 3 * 15 + 6 * 6


# --- options --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"sweeps": 0}, "sweeps"),
        ({"tolerance": 0.0}, "The tolerance of generalised belief propagation must be above 0"),
        ({"momentum": 0}, "momentum"),
        ({"momentum": 1.5}, "at most 1. Got 1.5"),
        ({"momentum": "fast"}, "must be 'adaptive', or above 0 and at most 1. Got 'fast'"),
        ({"regions": "squares"}, "must be one of auto, bethe, plaquettes, cliques"),
        ({"regions": 7}, "Got 7"),
        ({"regions": ["01"]}, "must be a list of names"),
    ],
)
def test_wrong_options_are_refused(options, message):
    problem = problem_of(*ising(*grid(2, 2), 0.5, 0.3, 0))
    with pytest.raises(InputError, match=message):
        run_generalised(problem, **options)


def test_regions_are_given_by_names_and_observed_ones_drop_out():
    graph = FactorGraph()
    for name in "abcde":
        graph.variable(name, 2)
    rng = np.random.default_rng(0)
    for pair in ("ab", "bc", "cd", "de", "ea"):
        graph.factor(list(pair), rng.uniform(0.5, 2, (2, 2)))
    question = ask(graph, {"c": 1}, None, None, "1GB", "the test")
    problem = pose(question.wiring, question.evidence)
    found = run_generalised(problem, regions=[["c", "a", "b", "d"], ["e", "d", "a"]])
    assert (found.status, found.details["regions"]) == ("EXACT", 2)
    with pytest.raises(LabelError):
        run_generalised(problem, regions=[["a", "x"]])


def test_plain_python_computes_the_same(monkeypatch):
    sizes, factors = ising(*grid(3, 4), 0.8, 0.3, 1, mixed=True)
    factors.append(((0, 5), np.array([[1.0, 0.0], [0.5, 1.0]])))
    wide = FactorGraph()
    for v in range(4):
        wide.variable(v, 2)
    for v in range(4):
        wide.factor([v, (v + 1) % 4], [[0.0, -900.0], [-800.0, -5.0]], log=True)
    contradiction = [((0, 1), np.eye(2)), ((1, 2), np.eye(2)), ((0,), [0, 1.0]), ((2,), [1.0, 0])]
    cases = [
        (problem_of(sizes, factors, {11: 0}), "auto"),
        (problem_of(*ising(*complete(5), 0.5, 0.3, 0)), "plaquettes"),
        (problem_of(sizes, factors), "bethe"),
        (problem_of(sizes, factors), "cliques"),
        (problem_of([2, 2], [((0, 1), 1 - np.eye(2)), ((0, 1), np.eye(2))]), "auto"),
        (problem_of([2] * 3, contradiction), "bethe"),
    ]
    question = ask(wide, None, None, None, "1GB", "the test")
    cases.append((pose(question.wiring, question.evidence), "bethe"))

    def answers():
        for problem, regions in cases:
            for run in ENGINES:
                found = run(problem, regions=regions, sweeps=6)
                yield found.beliefs.values, found.log_z, found.residuals

    compiled = list(answers())
    plain_kernels(monkeypatch)
    for one, other in zip(compiled, answers(), strict=True):
        for left, right in zip(one, other, strict=True):
            np.testing.assert_array_equal(left, right)
