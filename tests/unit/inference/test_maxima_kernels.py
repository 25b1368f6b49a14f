"""The kernels of the engines for maxima as plain Python: the same numbers as compiled."""

import numpy as np
import pytest
from tests.oracles import cuts as fields, maxima as oracle
from tests.speeds import plain_kernels
from tests.unit.inference.test_maxima_cuts import graph_of, posed
from tests.unit.inference.test_maxima_trws import frustrated

from credo.graphs import FactorGraph
from credo.inference.maxima.cuts import minimum_cut
from credo.inference.maxima.decoding import decode
from credo.inference.maxima.graph_cut import run_graph_cut
from credo.inference.maxima.local_moves import Climber, run_icm
from credo.inference.maxima.trws import run_trws
from credo.inference.question import Beliefs


def problems():
    """Problems of every kind, built before the compiled kernels are forgotten."""
    for seed in range(12):
        rng = np.random.default_rng(seed)
        yield posed(graph_of(*fields.random_field(rng, flipped=bool(seed % 2))))
        yield posed(graph_of(*oracle.random_factors(rng)))
        yield posed(frustrated(rng, 2 + seed % 3, 3, 4)[0])
    graph = FactorGraph()
    bits = [graph.variable(i, 2) for i in range(6)]
    graph.parity(bits)
    graph.factor([bits[0], bits[3]], [[1.0, 2.0], [3.0, 0.5]])
    yield posed(graph)
    equal, unequal = np.eye(2), 1 - np.eye(2)
    ring = [([0, 1], equal), ([1, 2], equal), ([0, 2], unequal)]
    yield posed(graph_of((2, 2, 2), ring))
    yield posed(graph_of((2, 2, 2), [*ring, ([0], np.array([1.0, 0.0]))]))
    yield posed(graph_of((2, 2, 3), [([0, 1], equal), ([1, 2], np.ones((2, 3))), *ring[:1]]))


def numbers(found):
    return [found.log_score, found.bound, *found.states.tolist(), *found.bounds.tolist()]


def answers(every):
    for problem in every:
        yield from numbers(run_trws(problem, sweeps=30))
        yield from numbers(run_icm(problem, restarts=2, forests=3))
        yield from numbers(run_icm(problem, sweeps=1, start="random"))
        start = np.concatenate([[0], np.cumsum(problem.n_states)])
        values = np.round(np.random.default_rng(0).random(int(start[-1])), 1)
        beliefs = Beliefs(problem.variables, start, values, 0.0)
        yield from decode(Climber.of(problem), beliefs).tolist()
        try:
            yield from numbers(run_graph_cut(problem))
        except ValueError:
            yield -1.0


def cuts():
    for seed in range(40):
        cut = minimum_cut(*fields.random_network(np.random.default_rng(seed)))
        yield from (cut.flow, cut.value, *cut.side.tolist())
    rng = np.random.default_rng(0)
    edges = fields.grid_edges(15, 15)
    cut = minimum_cut(*rng.exponential(2.0, (2, 225)), edges, *rng.random((2, len(edges))))
    yield from (cut.flow, cut.value, *cut.side.tolist())


@pytest.mark.parametrize("compute", [cuts, lambda: answers(problems())], ids=["cuts", "answers"])
def test_plain_python_gives_the_same(compute, monkeypatch):
    first = list(compute())
    plain_kernels(monkeypatch)
    second = list(compute())
    np.testing.assert_array_equal(second, first)
