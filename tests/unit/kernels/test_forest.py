"""Sums, maxima and draws on forests, next to every configuration of a block; at both speeds."""

import numpy as np
import pytest
from tests.oracles import gibbs as oracle
from tests.properties import random_graphs as graphs
from tests.speeds import both_speeds

from credo._kernels import forest as kernel

SIZES = [2, 3, 2, 1, 2, 3, 2]
SCOPES = [(0, 1), (1, 2), (2, 0, 4), (4, 3), (4, 5), (5, 6, 3), (0, 6)]
BLOCKS = [[0, 1], [1, 2, 5], [0, 2, 4, 5], [3], [0, 3, 5, 6], [6, 1]]


class Model:
    """Random factors, some of whose cells are zero, and states that are possible."""

    def __init__(self, seed=0, zeros=0.0, sizes=SIZES, scopes=SCOPES):
        rng = np.random.default_rng(seed)
        self.sizes, self.scopes = sizes, scopes
        self.alone = [rng.normal(size=k) for k in sizes]
        tables = [rng.normal(size=[sizes[v] for v in scope]) for scope in scopes]
        self.states = np.array([rng.integers(k) for k in sizes])
        for scope, table in zip(scopes, tables, strict=True):
            table[(rng.random(table.shape) < zeros)] = -np.inf
            table[tuple(self.states[list(scope)])] = 0.5
        self.factors = list(zip(scopes, tables, strict=True))
        sizes_of = [table.size for table in tables]
        self.logs = np.concatenate([table.ravel() for table in tables])
        self.cell_start = np.concatenate([[0], np.cumsum(sizes_of)])
        lengths = np.cumsum([0, *map(len, scopes)])
        scope = np.array([v for scope in scopes for v in scope])
        self.graph = kernel.make_graph(np.array(sizes), lengths, scope, self.cell_start)
        self.cells = np.empty(len(scopes), np.int64)
        kernel.locate(self.graph, self.states, self.cells)

    def plant(self, block):
        block_of = np.ones(len(self.sizes), np.int64) + np.arange(len(self.sizes))
        block_of[block] = 0
        return kernel.plant(self.graph, np.unique(block_of, return_inverse=True)[1])

    def collect(self, forest, mode, beta=1.0):
        """The log sum of the first block, and the room it was found in."""
        room = kernel.make_scratch(self.graph, forest)
        room.total[:] = np.concatenate(self.alone)
        given = self.graph, forest, 0, self.logs, beta, self.states, self.cells
        kernel.condition(*given, room.total)
        return kernel.collect(*given, mode, room), room


@pytest.fixture(autouse=True)
def _speeds(monkeypatch):
    both_speeds(monkeypatch)


@pytest.mark.parametrize("zeros", [0.0, 0.4])
@pytest.mark.parametrize("block", BLOCKS, ids=str)
class TestBlocks:
    def pose(self, seed, zeros, block, mode):
        """A model, its forest, the log sum with its room, and the log of every configuration."""
        model = Model(seed, zeros)
        forest = model.plant(block)
        table = oracle.scores(SIZES, model.alone, model.factors, model.states, block)
        return model, forest, *model.collect(forest, mode), table

    def test_sums_and_beliefs(self, block, zeros):
        model, forest, found, room, table = self.pose(3, zeros, block, kernel.SUM)
        assert found == pytest.approx(oracle.log_sum(table), rel=1e-13)
        kernel.distribute(model.graph, forest, 0, room)
        for v, wanted in zip(block, oracle.beliefs(table), strict=True):
            got = room.belief[model.graph.start[v] : model.graph.start[v + 1]]
            np.testing.assert_allclose(got, wanted, rtol=1e-12, atol=1e-16)
        cells = np.zeros(len(model.logs))
        kernel.distribute_cells(model.graph, forest, 0, model.states, model.cells, room, cells)
        for f, (scope, logs) in enumerate(model.factors):
            wanted = np.zeros(logs.shape)
            if len({*scope} & {*block}) > 1:
                wanted = oracle.cell_beliefs(table, block, model.states, scope, logs.shape)
            got = cells[model.cell_start[f] : model.cell_start[f + 1]].reshape(logs.shape)
            np.testing.assert_allclose(got, wanted, rtol=1e-12, atol=1e-16)

    def test_maxima(self, block, zeros):
        model, forest, found, room, table = self.pose(4, zeros, block, kernel.MAX)
        assert found == pytest.approx(table.max(), rel=1e-13)
        chosen = model.states.copy()
        kernel.choose_states(model.graph, forest, 0, room, kernel.MAX, np.empty(0), chosen)
        assert tuple(chosen[block]) == np.unravel_index(table.argmax(), table.shape)

    def test_draws(self, block, zeros):
        model, forest, _, room, table = self.pose(5, zeros, block, kernel.SUM)
        truth = np.exp(table - oracle.log_sum(table))
        counts, n, chosen = np.zeros(table.shape), 400, model.states.copy()
        for u in np.random.default_rng(0).random((n, len(SIZES))):
            kernel.choose_states(model.graph, forest, 0, room, kernel.SUM, u, chosen)
            counts[tuple(chosen[block])] += 1
        assert (counts[truth == 0] == 0).all()
        assert (np.abs(counts / n - truth) <= 5 * np.sqrt(truth * (1 - truth) / n) + 1 / n).all()


@pytest.mark.parametrize("mode", [kernel.SUM, kernel.MAX])
def test_what_is_impossible_has_log_sum_minus_infinity(mode):
    model = Model()
    model.logs[: model.cell_start[1]] = -np.inf  # the factor of 0 and 1
    assert model.collect(model.plant([0, 1, 5]), mode)[0] == -np.inf
    assert model.collect(model.plant([2, 1]), mode)[0] == -np.inf
    assert model.collect(model.plant([2, 4]), mode)[0] > -np.inf
    model.alone[4][:] = -np.inf
    assert model.collect(model.plant([2, 4]), mode)[0] == -np.inf


def test_what_weighs_nothing_is_never_drawn():
    weights = np.array([7.0, 0.0, 0.5, 0.5, 0.0])
    chosen = [kernel.pick(weights, 1, 4, 1.0, u) for u in (0.0, 0.49, 0.5, 0.99, 1.0)]
    assert chosen == [1, 1, 2, 2, 2]


def test_factors_weigh_less_at_a_lower_inverse_temperature():
    model = Model(6)
    found, _ = model.collect(model.plant([0, 2, 4, 5]), kernel.SUM, 0.25)
    cooler = [(scope, 0.25 * logs) for scope, logs in model.factors]
    table = oracle.scores(SIZES, model.alone, cooler, model.states, [0, 2, 4, 5])
    assert found == pytest.approx(oracle.log_sum(table), rel=1e-13)


def is_forest(scopes, block):
    """Whether variables of a block and factors of two or more of them close no cycle."""
    return graphs.is_forest(block, [[v for v in scope if v in block] for scope in scopes])


def random_scopes(rng, n=12, count=14):
    return [tuple(rng.permutation(n)[: rng.integers(2, 4)].tolist()) for _ in range(count)]


@pytest.mark.parametrize("most", [1, 3, 12])
def test_grown_blocks_are_forests_to_which_nobody_else_fits(most):
    rng = np.random.default_rng(most)
    for seed in range(4):
        scopes = random_scopes(rng)
        model = Model(seed, sizes=[2] * 12, scopes=scopes)
        order = rng.permutation(12)
        block_of = kernel.grow(model.graph, order, rng.random(14), most)
        assert sorted(set(block_of.tolist())) == list(range(block_of.max() + 1))
        for b in range(block_of.max() + 1):
            assert is_forest(scopes, np.flatnonzero(block_of == b).tolist())
        first = np.flatnonzero(block_of == 0).tolist()
        for v in np.flatnonzero(block_of > 0).tolist() if most == 1 else ():
            assert not is_forest(scopes, [*first, v])
        forest = kernel.plant(model.graph, block_of)
        for b in range(block_of.max() + 1):
            inside = forest.member[forest.block[b, 0] : forest.block[b + 1, 0]]
            assert sorted(inside.tolist()) == np.flatnonzero(block_of == b).tolist()


def test_spanning_forests_take_the_first_in_rank_and_share_one_graph():
    rng = np.random.default_rng(1)
    for seed in range(2):
        scopes = random_scopes(rng)
        model = Model(seed, sizes=[2] * 12, scopes=scopes)
        rankings = [rng.permutation(14) for _ in range(3)]
        taken = np.array([kernel.span(model.graph, ranking) for ranking in rankings])
        for ranking, marks in zip(rankings, taken, strict=True):
            held = []
            for f in ranking.tolist():
                if is_forest([scopes[g] for g in [*held, f]], range(12)):
                    held.append(f)
            assert sorted(held) == np.flatnonzero(marks).tolist()
        forest = kernel.plant(model.graph, np.zeros((3, 12), np.int64), taken)
        room = kernel.make_scratch(model.graph, forest)
        for b in range(3):
            room.total[:] = np.concatenate(model.alone)
            where = np.zeros(12, np.int64), model.graph.cell_start[:-1]
            given = model.graph, forest, b, model.logs, 1.0, *where, kernel.SUM, room
            held = [model.factors[f] for f in np.flatnonzero(taken[b])]
            table = oracle.scores([2] * 12, model.alone, held, [0] * 12, list(range(12)))
            assert kernel.collect(*given) == pytest.approx(oracle.log_sum(table), rel=1e-13)
