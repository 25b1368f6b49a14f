"""Whole answers with every kernel at both speeds: not a bit may differ."""

import numpy as np
import pytest
from tests.speeds import both_speeds
from tests.unit.kernels.test_cliques import some_models

import credo
from credo.graphs.ordering import evaluate_order, find_order


@pytest.fixture(autouse=True)
def _both(monkeypatch):
    both_speeds(monkeypatch)


def places(model, configuration):
    return [model[name].index(configuration[name]) for name in configuration.states]


@pytest.mark.parametrize("name", ["ring", "network", "wide"])
def test_maxima(name):
    model = some_models()[name]

    def compute():
        for evidence in ({}, {2: 1}):
            best = credo.mpe(model, evidence)
            yield from (best.log_score, *places(model, best))
            for one in credo.k_best(model, 5, evidence):
                yield from (one.log_score, *places(model, one))
            part = credo.marginal_map(model, [0, 1], evidence)
            yield from (part.log_score, *places(model, part))
            found = credo.max_marginals(model, evidence)
            for variable in model.names:
                yield from np.nan_to_num(found.log_values(variable), neginf=-1e9)

    assert np.isfinite(np.array(list(compute()), float)).all()


@pytest.mark.parametrize("name", ["ring", "network", "wide"])
def test_many_rows(name):
    model = some_models()[name]
    rows = np.full((12, len(model)), -1)
    rows[1:6, 0] = rows[3:8, 1] = rows[9, 2] = 0

    def compute():
        found = credo.infer_many(model, rows, columns=list(model.names), on_impossible="nan")
        yield from np.nan_to_num(found.log_evidence, neginf=-1e9)
        for variable in model.names:
            yield from np.nan_to_num(found.probabilities(variable)).ravel()

    assert np.isfinite(np.array(list(compute()), float)).all()


@pytest.mark.parametrize("maximum", [False, True])
@pytest.mark.parametrize("wide", [False, True])
def test_messages_on_trees(maximum, wide):
    rng = np.random.default_rng(0)
    graph = credo.FactorGraph()
    for i in range(9):
        graph.variable(i, 2 + i % 2)
    for i in range(1, 7):
        logs = rng.normal(0, 1500.0 if wide else 1.0, (2 + (i // 2) % 2, 2 + i % 2))
        graph.factor([i // 2, i], logs, log=True)
    graph.factor([6, 7, 8], rng.random((2, 3, 2)))
    graph.factor([0], [0.3, 0.7])

    def compute():
        found = credo.pass_messages(graph, {4: 1}, likelihood={3: [0.2, 0.5, 1.0]}, maximum=maximum)
        yield found.log_evidence
        for belief in found.beliefs.values():
            yield from belief.values()
        for message in found:
            yield from (message.log_scale, *message.values)

    assert np.isfinite(np.array(list(compute()), float)).all()


@pytest.mark.parametrize("heuristic", ["min-fill", "weighted-min-fill", "min-degree", "min-weight"])
def test_greedy_orders(heuristic):
    rng = np.random.default_rng(1)
    hub = [[0, i] for i in range(1, 40)]
    pairs = np.array([*hub, *rng.permutation(40)[:38].reshape(-1, 2), [3, 9], [9, 17], [17, 3]])
    scopes = np.arange(0, 2 * len(pairs) + 1, 2), pairs.ravel()
    n_states = rng.integers(1, 5, 40)

    def compute():
        found = find_order(n_states, *scopes, last=[5, 0], heuristic=heuristic)
        told = evaluate_order(n_states, *scopes, found.sequence)
        yield from (*found.sequence, found.cells, told.cells, told.cells_all, told.width)

    assert np.isfinite(np.array(list(compute()), float)).all()


def test_refined_orders():
    k = 9
    site = np.arange(k * k).reshape(k, k)
    across = np.column_stack([site[:, :-1].ravel(), site[:, 1:].ravel()])
    down = np.column_stack([site[:-1].ravel(), site[1:].ravel()])
    pairs = np.vstack([across, down])
    scopes = np.arange(0, 2 * len(pairs) + 1, 2), pairs.ravel()

    def compute():
        found = find_order(np.full(k * k, 3), *scopes, effort=0.0005)
        assert found.tries > 3  # pieces were eliminated again
        yield from (*found.sequence, found.cells)

    assert np.isfinite(np.array(list(compute()), float)).all()
