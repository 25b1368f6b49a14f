"""Many rows through loopy belief propagation: the kernels as plain Python, what a browser runs."""

import numpy as np
import pytest
from tests.speeds import plain_kernels
from tests.unit.inference.test_loopy_many import answers, quietly

from credo.graphs import FactorGraph
from credo.inference.many import infer_many


def of_every_kind():
    """A graph with factors and rules of every kind, and a lonely variable."""
    rng = np.random.default_rng(9)
    graph = FactorGraph()
    for v, k in enumerate([2, 2, 2, 3, 3, 2, 1]):
        graph.variable(v, k)
    for scope in ([0, 1], [3, 4], [2, 3], [0, 3, 5], [1]):
        graph.factor(scope, rng.uniform(0.2, 1.0, size=[graph[v].n_states for v in scope]))
    graph.parity([0, 1, 2])
    graph.parity([1, 5], even=False)
    graph.at_most_one([0, 2, 5])
    graph.noisy_or(2, {0: 0.5, 1: 0.3}, 0.1)
    graph.noisy_and(5, {2: 0.9}, 0.2)
    return graph


def compute_some(dtype):
    """Answers that meet every kernel."""
    graph, rng = of_every_kind(), np.random.default_rng(10)
    for settings in (
        {},
        {"temperature": 0.0, "momentum": 0.7},
        {"until": "satisfied"},
        {"temperature": 2.0, "log_evidence": False},
    ):
        many = quietly(
            infer_many,
            graph,
            {3: [None, 0], 0: [None, 1]},
            method="loopy",
            potentials={v: rng.uniform(0.5, 1.0, size=(2, graph[v].n_states)) for v in (0, 3, 6)},
            sweeps=3,
            dtype=dtype,
            on_impossible="nan",
            **settings,
        )
        yield from np.nan_to_num(answers(many), nan=-1.0, neginf=-2.0).ravel().tolist()
    many = loopy_extremes(dtype)
    yield from np.nan_to_num(answers(many), nan=-1.0, neginf=-2.0).ravel().tolist()


def loopy_extremes(dtype):
    """Rows that float64 does not hold, at once or on the way; rows that are impossible."""
    graph = FactorGraph()
    for v, k in enumerate([2, 3, 2, 2]):
        graph.variable(v, k)
    graph.factor([0, 1], [[1.0, 0.0, 1e-90], [0.0, 1e-90, 1.0]])
    graph.factor([1, 2], [[1.0, 1e-90], [0.0, 0.0], [1e-90, 1.0]])
    graph.factor([0, 1, 2], np.arange(12.0).reshape(2, 3, 2))
    graph.at_most_one([2, 3])
    logs = np.zeros((6, 2))
    logs[1:] = [[0.0, -400.0], [-np.inf, -np.inf], [-np.inf, 0.0], [0.0, -250.0], [-900.0, 0.0]]
    rows = {1: [None, None, None, 0, None, 2], 3: [None, 1, 0, 1, None, 1]}
    return infer_many(
        graph,
        rows,
        method="loopy",
        log_potentials={0: logs},
        sweeps=4,
        dtype=dtype,
        on_impossible="nan",
    )


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_extremes_are_told_from_what_is_impossible(dtype):
    assert loopy_extremes(dtype).impossible.tolist() == [2, 3]


def test_kernels_are_the_same_as_plain_python(monkeypatch):
    compiled = list(compute_some("float64"))
    plain_kernels(monkeypatch)
    np.testing.assert_array_equal(list(compute_some("float64")), compiled)
