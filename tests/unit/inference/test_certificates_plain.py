"""Bounds with the kernels as plain Python: the same numbers as compiled."""

import numpy as np
import pytest
from tests.oracles import bounds as oracle
from tests.speeds import plain_kernels
from tests.unit.inference.test_certificates import model_of, problem_of

from credo.inference.certificates.bounding import bounds
from credo.inference.certificates.mean_field import run_mean_field
from credo.inference.certificates.structured import run_structured_mean_field
from credo.inference.certificates.tree_reweighted import run_tree_reweighted

FEW = {"sweeps": 4, "restarts": 1}


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


def numbers(graph):
    """All that bounds come to, one after the other."""
    model = model_of(*graph)
    problem = problem_of(model)
    found = bounds(model, rounds=1, **FEW)
    yield from found.log_z
    yield from found.marginal(0).ravel()
    for answer in (
        run_mean_field(problem, **FEW),
        run_structured_mean_field(problem, **FEW),
        run_tree_reweighted(problem, rounds=1, sweeps=4),
    ):
        yield answer.log_z
        yield from answer.beliefs.values


@pytest.mark.parametrize("name", ["grid", "triples", "forest", "wide", "long"])
def test_plain_python_gives_the_same_numbers(name, monkeypatch):
    graph = graphs()[name]
    compiled = list(numbers(graph))
    plain_kernels(monkeypatch)
    plain = list(numbers(graph))
    assert len(plain) == len(compiled) > 5
    np.testing.assert_array_equal(plain, compiled)
