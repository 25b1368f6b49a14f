"""The kernels of clique trees: compiled, and as plain Python."""

import itertools
import math

import numpy as np
import pytest
from scipy.special import logsumexp
from tests.oracles import elimination as oracle
from tests.speeds import both_speeds, plain_kernels

import credo
from credo import _kernels
from credo._kernels import cliques, configurations  # noqa: F401 - found below by their names
from credo._kernels.cliques import LOG_MAX, LOG_SUM, SUM
from credo.graphs import BayesianNetwork, FactorGraph


@pytest.fixture(params=["compiled", "plain"])
def kernels(request, monkeypatch):
    if request.param == "plain":
        plain_kernels(monkeypatch)
    return _kernels


def loops(sizes, inside):
    """Describe a message over some axes of a table as lengths and strides, one loop per axis."""
    strides, step = np.zeros(len(sizes), np.int64), 1
    for axis in reversed(range(len(sizes))):
        if axis in inside:
            strides[axis] = step
            step *= sizes[axis]
    return np.array(sizes, np.int64), strides


SIZES = (3, 2, 4, 2)
PARTS = [part for r in range(5) for part in itertools.combinations(range(4), r)]


@pytest.mark.parametrize("inside", PARTS, ids=str)
class TestLoops:
    """A message over any axes of a table."""

    def table(self):
        return np.random.default_rng(0).random(SIZES) + 0.1

    def message(self, inside):
        shape = [k if axis in inside else 1 for axis, k in enumerate(SIZES)]
        return np.random.default_rng(1).random(shape) + 0.1

    @pytest.mark.parametrize("mode", [SUM, LOG_SUM, LOG_MAX])
    def test_is_multiplied_into_the_table_or_added_where_logs(self, kernels, inside, mode):
        table, message = self.table(), self.message(inside)
        lengths, strides = loops(SIZES, inside)
        source, target = np.append([9.0], table.ravel()), np.full(table.size + 1, -1.0)
        rest = lengths, strides, 0, 4, np.zeros(64, np.int64), mode
        kernels.cliques.spread(target, source, 1, np.append([7.0], message), 1, *rest)
        expected = table * message if mode == SUM else table + message
        np.testing.assert_allclose(target[1:], expected.ravel(), rtol=1e-15)
        assert target[0] == -1.0

    @pytest.mark.parametrize("mode", [SUM, LOG_SUM, LOG_MAX])
    def test_is_gathered_where_whole_rows_may_be_impossible(self, kernels, inside, mode):
        table = self.table() if mode == SUM else np.log(self.table()) * 1000
        table[0] = 0.0 if mode == SUM else -np.inf
        others = tuple(axis for axis in range(4) if axis not in inside)
        by_numpy = {SUM: np.sum, LOG_SUM: logsumexp, LOG_MAX: np.max}
        expected = np.ravel(by_numpy[mode](table, axis=others))
        out = np.full(expected.size + 1, -1.0)
        rest = *loops(SIZES, inside), 0, 4, np.zeros(64, np.int64), mode
        kernels.cliques.gather(table.ravel(), 0, out, 1, expected.size, *rest)
        np.testing.assert_allclose(out[1:], expected, rtol=1e-13)
        assert out[0] == -1.0

    @pytest.mark.parametrize(("least", "lost"), [(1.0, False), (1e-200, False), (1e-280, True)])
    def test_a_table_is_scaled_where_a_product_could_be_lost(self, kernels, inside, least, lost):
        table, message = self.table().ravel() * 1e-150, self.message(inside)
        table[0] = 1e-170
        low, target = np.array([1e-170]), np.empty(table.size)
        smallest = message.min() * least
        rest = *loops(SIZES, inside), 0, 4, np.zeros(64, np.int64), SUM
        divided, is_lost = kernels.cliques.absorb(
            target, table, 0, table.size, low, 0, message.ravel() * least, 0, smallest, *rest
        )
        assert is_lost == lost
        expected = table.reshape(SIZES) * message * (least / divided)
        np.testing.assert_allclose(target, expected.ravel(), rtol=1e-13)
        assert lost or low[0] <= target.min()


class TestFilling:
    """Tables grow axis by axis, as the factors need them."""

    @pytest.mark.parametrize("mode", [SUM, LOG_MAX])
    @pytest.mark.parametrize("sizes", [(3, 2), (3, 2, 4, 2), (3, 5, 2, 4, 3)], ids=str)
    @pytest.mark.parametrize("least", [0, 1, 2])
    def test_all_factors_are_multiplied_in(self, kernels, sizes, least, mode):
        rng = np.random.default_rng(3)
        axes = range(len(sizes))
        counts = range(least, len(sizes) + 1)
        parts = [part for r in counts for part in itertools.combinations(axes, r)]
        parts = [parts[i] for i in rng.permutation(len(parts))]
        logs = [
            rng.normal(size=[k if a in part else 1 for a, k in enumerate(sizes)]) for part in parts
        ]
        lengths, strides = zip(*(loops(sizes, part) for part in parts), strict=True)
        target, low = np.full(math.prod(sizes) + 1, np.nan), np.empty(1)
        values = np.concatenate([table.ravel() for table in logs])
        log_scale, lost = kernels.cliques.fill(
            target,
            low,
            np.array([0, math.prod(sizes)]),
            np.array([0 if part else -1 for part in parts]),
            np.cumsum([0, *map(len, lengths)]),
            np.concatenate(lengths),
            np.concatenate(strides),
            np.cumsum([0, *(table.size for table in logs)]),
            np.exp(values) if mode == SUM else values,
            mode,
        )
        got = target[:-1] if mode != SUM else np.log(target[:-1])
        wanted = sum(logs, np.zeros(sizes)).ravel()
        np.testing.assert_allclose(got + log_scale, wanted, rtol=0, atol=1e-12)
        assert np.isnan(target[-1])
        assert not lost
        if mode == SUM:
            assert (target[:-1].max(), target[:-1].min()) == (1.0, low[0])

    @pytest.mark.parametrize("mode", [SUM, LOG_SUM])
    def test_a_table_without_factors_is_one(self, kernels, mode):
        none, first = np.empty(0, np.int64), np.zeros(1, np.int64)
        for cells in (2, 1000):
            target, low = np.full(cells, np.nan), np.empty(1)
            places = target, low, np.array([0, cells])
            found = kernels.cliques.fill(*places, none, first, none, none, first, np.empty(0), mode)
            assert found == (0.0, False)
            np.testing.assert_array_equal(target, 1.0 if mode == SUM else 0.0)


class TestScales:
    def test_are_the_old_maximum_and_the_new_least(self, kernels):
        table = np.array([7.0, 0.0, 4.0, 8.0, 7.0])
        assert kernels.cliques.rescale(table, 1, 4, SUM) == (8.0, 0.5)
        np.testing.assert_array_equal(table, [7.0, 0.0, 0.5, 1.0, 7.0])
        assert kernels.cliques.rescale(table, 1, 5, LOG_SUM)[0] == 7.0
        np.testing.assert_array_equal(table, [7.0, -7.0, -6.5, -6.0, 0.0])

    def test_zeros_stay(self, kernels):
        for mode, nothing in ((SUM, 0.0), (LOG_MAX, -np.inf)):
            table = np.full(3, nothing)
            assert kernels.cliques.rescale(table, 0, 3, mode)[0] == nothing
            np.testing.assert_array_equal(table, nothing)

    def test_a_product_of_many_is_kept_where_float64_ends(self, kernels):
        product = np.array([1.0, 0.0])
        assert kernels.cliques.log_of(product) == 0.0
        for x in (1e300, 3.0, 1e300, 5e-324, 1e-150, 1e-300):
            for _ in range(50):
                kernels.cliques.count_in(product, x)
        logs = (300 * 2 - 150 - 300) * math.log(10) + math.log(3) + math.log(5e-324)
        assert kernels.cliques.log_of(product) == pytest.approx(50 * logs, rel=1e-12)
        kernels.cliques.count_in(product, 0.0)
        assert kernels.cliques.log_of(product) == -math.inf


def random_scopes(rng, n):
    return [
        rng.choice(n, size=rng.integers(0, min(n, 4) + 1), replace=False).tolist()
        for _ in range(rng.integers(0, 2 * n))
    ]


class TestLayout:
    def test_cliques_are_those_of_eliminating_sets(self, kernels):
        rng = np.random.default_rng(0)
        for _ in range(60):
            n = int(rng.integers(1, 9))
            scopes = random_scopes(rng, n)
            order = rng.permutation(n)
            start, scope = oracle.flat(scopes)
            position, found, *_ = kernels.cliques.elimination_cliques(
                np.full(n, 2), start, scope.astype(np.int64), order, np.inf
            )
            first, members, parent, cells = found
            expected = oracle.cliques(n, scopes, order.tolist())
            for i, clique in enumerate(expected):
                got = members[first[i] : first[i + 1]]
                assert got.tolist() == sorted(position[v] for v in clique)
                assert cells[i] == 2.0 ** len(clique)
                later = [int(q) for q in got if q > i]
                assert parent[i] == (later[0] if later else -1)
            node, bottom, residual, _ = kernels.cliques.clique_tree(*found)
            kept = [expected[i] for i in bottom]
            assert len(kept) == len(oracle.maximal(expected))
            assert set(kept) == set(oracle.maximal(expected))
            assert residual.sum() == n
            assert all(order[i] in kept[node[i]] for i in range(n))


class TestDraws:
    @pytest.mark.parametrize(
        ("u", "state"), [(0.0, 1), (0.24, 1), (0.26, 2), (np.nextafter(1.0, 0.0), 2)]
    )
    def test_never_take_a_state_of_probability_zero(self, kernels, u, state):
        out = np.full((1, 1), -1, np.int64)
        one = np.array([0, 1])
        kernels.configurations.draw_down(
            np.array([0.0, 1.0, 3.0, 0.0]),
            (np.array([0, 4]), one, one, np.array([0]), np.array([1]), np.array([4])),
            np.array([[u]]),
            out,
        )
        assert out[0, 0] == state


def some_models():
    """A ring with a rule, a network with zeros, and logs that float64 cannot hold."""
    rng = np.random.default_rng(2)
    ring = FactorGraph()
    for i in range(5):
        ring.variable(i, 2 + i % 2)
    for i in range(5):
        j = (i + 1) % 5
        ring.factor([i, j], rng.random((2 + i % 2, 2 + j % 2)))
    ring.parity([0, 2, 4])
    net = BayesianNetwork()
    for i in range(4):
        net.variable(i, 2)
    net.cpt(0, table=[0.2, 0.8])
    net.cpt(1, given=[0], table=[[1.0, 0.0], [0.3, 0.7]])
    net.cpt(2, given=[0, 1], table=rng.dirichlet([1, 1], size=(2, 2)))
    net.cpt(3, given=[2], table=[[0.5, 0.5], [0.0, 1.0]])
    wide = FactorGraph()
    for i in range(3):
        wide.variable(i, 2)
    wide.factor([0, 1], [[0.0, -2000.0], [-1.0, -np.inf]], log=True)
    wide.factor([1, 2], [[-2000.0, -1999.0], [0.0, 1.0]], log=True)
    return {"ring": ring, "network": net, "wide": wide}


@pytest.mark.parametrize("name", ["ring", "network", "wide"])
def test_whole_engines_answer_alike_at_both_speeds(name, monkeypatch):
    both_speeds(monkeypatch)
    model = some_models()[name]
    questions = (
        [{}, {"evidence": {0: 1}}, {"likelihood": {1: [0.2, 1.0]}}]
        if name != "ring"
        else [
            {},
            {"evidence": {1: {0, 2}}},
        ]
    )

    for question in questions:
        for method in ("auto", "elimination", "enumeration"):
            post = credo.infer(model, **question, method=method)
            assert np.isfinite(post.log_evidence)
        assert np.isfinite(post.joint([2, 0]).table).all()
        tree = credo.JunctionTree(model).infer(**question)
        assert len(tree.sample(20, random_state=0)[2]) == 20
