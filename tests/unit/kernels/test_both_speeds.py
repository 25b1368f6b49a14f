"""Whole answers with every kernel at both speeds: not a bit may differ."""

import numpy as np
import pytest
from tests.models import grid_edges, numbered
from tests.properties.loopy_twins import Twin, random_graph, random_pairs
from tests.properties.random_graphs import draw_case
from tests.properties.test_approximate_promises import LAWS
from tests.properties.test_exact_engines import check_exact
from tests.speeds import both_speeds

import credo
from credo.exceptions import InputError
from credo.graphs import GridField, Ising, Potts, TruncatedLinear, TruncatedQuadratic
from credo.graphs.ordering import evaluate_order, find_order
from credo.inference.loopy import engine

SCHEDULES = ("flooding", "sequential", "residual", "random", "tree")


@pytest.fixture(autouse=True)
def _both(monkeypatch):
    both_speeds(monkeypatch)


@pytest.mark.filterwarnings("ignore::credo.exceptions.ExpansionWarning")
@pytest.mark.filterwarnings("ignore::credo.exceptions.ApproximationWarning")
@pytest.mark.parametrize("law", [law for law in LAWS if not law.startswith("draws")])
def test_promises(law):
    for seed in range(4):
        LAWS[law](draw_case(seed, "steep" if seed % 2 else "usual"))


@pytest.mark.parametrize("kind", ["usual", "wide"])
@pytest.mark.parametrize("seed", range(5))
def test_exact_answers(kind, seed):
    case = draw_case(seed, kind)
    post = check_exact(case)
    if post and case.names:
        assert len(post.sample(20, random_state=0)[case.names[0]]) == 20
        assert post.joint(case.names[:2]).table.sum() == pytest.approx(1.0)
    rows = np.full((12, len(case.names)), -1)
    rows[1:6, :1] = rows[3:8, 1:2] = rows[9, 2:3] = 0
    if case.joint.is_possible:
        many = credo.infer_many(case.model, rows, columns=case.names, on_impossible="nan")
        assert not np.isnan(many.log_evidence).any()


@pytest.mark.parametrize("maximum", [False, True])
@pytest.mark.parametrize("wide", [False, True])
def test_messages_on_trees(maximum, wide):
    rng = np.random.default_rng(0)
    sizes = [2 + i % 2 for i in range(9)]
    scopes = [*((i // 2, i) for i in range(1, 7)), (6, 7, 8), (0,)]
    shapes = [[sizes[v] for v in scope] for scope in scopes]
    tables = [rng.normal(0, 1500.0 if wide else 1.0, shape) for shape in shapes]
    tree = numbered(sizes, zip(scopes, tables, strict=True), log=True)
    found = credo.pass_messages(tree, {4: 1}, likelihood={3: [0.2, 0.5, 1.0]}, max_product=maximum)
    assert np.isfinite(found.log_evidence)
    assert all(np.isfinite(message.log_scale) for message in found)


@pytest.mark.parametrize("heuristic", ["min-fill", "weighted-min-fill", "min-degree", "min-weight"])
def test_greedy_orders(heuristic):
    rng = np.random.default_rng(1)
    hub = [[0, i] for i in range(1, 40)]
    pairs = np.array([*hub, *rng.permutation(40)[:38].reshape(-1, 2), [3, 9], [9, 17], [17, 3]])
    scopes = np.arange(0, 2 * len(pairs) + 1, 2), pairs.ravel()
    n_states = rng.integers(1, 5, 40)
    found = find_order(n_states, *scopes, last=[5, 0], heuristic=heuristic)
    assert evaluate_order(n_states, *scopes, found.sequence).cells == found.cells


def test_refined_orders():
    pairs = grid_edges(9, 9)
    scopes = np.arange(0, 2 * len(pairs) + 1, 2), pairs.ravel()
    assert find_order(np.full(81, 3), *scopes, effort=0.0005).tries > 3  # of its pieces


def loopy(twin, evidence=None, **options):
    """What an answer says, or None where it is refused."""
    options = {"method": "loopy", "on_failure": "return", **options}
    try:
        return credo.infer(twin.graph, evidence, **options)
    except InputError:
        return None


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_any_graph(schedule):
    rng = np.random.default_rng(0)
    twins = [random_graph(rng, [2, 3, 2, 1, 3], 7, strength) for strength in (0.5, 3.0, 600.0)]
    zeros = random_graph(rng, [2, 3, 2, 2], 6, zeros=0.2)
    options = {"schedule": schedule, "sweeps": 5}
    for twin in twins:
        assert loopy(twin, {0: 1}, **options)
        assert loopy(twin, momentum=0.5, **options)
        assert loopy(twin, momentum=0.5, domain="log", temperature=0, **options)
    assert loopy(twins[1], counting=0.7, **options)
    loopy(zeros, momentum=0.5, likelihood={1: [1, 0, 2]}, **options)
    loopy(zeros, momentum=0.5, domain="log", **options)


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_contradictions(schedule):
    """Met by a variable, by a table that says nothing, and by a rule: all are refused."""
    copies = Twin([2] * 4)
    for v in range(4):
        copies.potential([v, (v + 1) % 4], np.eye(2) if v else [[2, 1], [1, 2]])
    silent = Twin([2] * 3).potential([0, 1], [[0, 0], [1, 1]]).potential([0], [1, 0])
    silent.potential([1, 2], [[2, 1], [1, 2]]).potential([2, 0], [[2, 1], [1, 2]])
    odd = Twin([2] * 4).rule("even", [0, 1, 2]).potential([0, 3], np.ones((2, 2)))
    odd.potential([1, 3], [[2, 1], [1, 2]])
    assert loopy(copies, likelihood={1: [1, 0], 3: [0, 1]}, schedule=schedule) is None
    assert loopy(silent, schedule=schedule) is None
    assert loopy(odd, {0: 1, 1: 0, 2: 0}, schedule=schedule) is None


@pytest.mark.parametrize("k", [2, 3, 7])
def test_pairs(k, monkeypatch):
    monkeypatch.setattr(engine, "_MANY_PAIRS", 0)
    twin = random_pairs(np.random.default_rng(k), 7, k, 11, 0.5)
    ends = twin.factors[-1][0]  # a pair both of whose ends are observed
    options = {"schedule": "flooding", "sweeps": 4}
    assert loopy(twin, dict.fromkeys(ends, 0), momentum=0.7, **options)
    assert loopy(twin, temperature=0, **options)
    first = loopy(twin, temperature=2.0, momentum=0.5, **options)
    assert loopy(twin, start=first, **options)


@pytest.mark.filterwarnings("ignore::credo.exceptions.ExpansionWarning")
def test_rows_side_by_side():
    """Every kind of factor, and numbers that float64 does not hold."""
    rng, sizes = np.random.default_rng(9), [2, 2, 2, 3, 3, 2, 1]
    twin = Twin(sizes)
    for scope in ([0, 1], [3, 4], [2, 3], [0, 3, 5], [1]):
        twin.factor(scope, rng.normal(size=[sizes[v] for v in scope]))
    twin.rule("even", [0, 1, 2]).rule("odd", [1, 5]).rule("at_most_one", [0, 2, 5])
    twin.rule("noisy_or", [0, 1, 2], [0.5, 0.3], 0.1).rule("noisy_and", [2, 5], [0.9], 0.2)
    logs = {v: rng.normal(size=(2, sizes[v])) for v in (0, 3, 6)}
    logs[4] = np.array([[0.0, -400.0, 1.0], [-900.0, 0.0, -np.inf]])
    rows, given = {3: [None, 0], 0: [None, 1]}, {"log_potentials": logs, "sweeps": 3}
    for options in (
        {},
        {"temperature": 0.0, "momentum": 0.7},
        {"until": "satisfied"},
        {"temperature": 2.0, "log_evidence": False},
    ):
        many = credo.infer_many(twin.graph, rows, method="loopy", **given, **options)
        assert many.sweeps.max() <= 3


@pytest.mark.parametrize("repels", [False, True])
def test_cuts(repels):
    rng = np.random.default_rng(3)
    table = np.eye(2)[::-1] if repels else np.eye(2)
    field = credo.MarkovNetwork.from_arrays(
        rng.normal(size=(20, 2)), grid_edges(4, 5), table, log=True
    )
    assert credo.mpe(field, method="graph_cut").is_exact


@pytest.mark.parametrize("schedule", ["flooding", "checkerboard", "sweep"])
@pytest.mark.parametrize("method", ["sum-product", "max-product"])
@pytest.mark.parametrize(
    ("labels", "smooth"),
    [
        (2, Ising(0.4)),
        (3, Potts([0.6, -0.4])),
        (3, TruncatedLinear(0.5, 1.5)),
        (5, TruncatedQuadratic(0.3, 5.0)),
    ],
    ids=str,
)
def test_grids(schedule, method, labels, smooth):
    field = GridField(np.random.default_rng(5).normal(size=(4, 5, labels)), smooth)
    found = credo.infer_grid(field, schedule=schedule, method=method, sweeps=3)
    assert np.isfinite(found.posterior.probabilities).all()
