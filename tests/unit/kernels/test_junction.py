"""The kernels of the junction tree: compiled, and as plain Python."""

import itertools
import math

import numpy as np
import pytest
from scipy.special import logsumexp
from tests.oracles import inference as oracle
from tests.speeds import both_speeds, plain_kernels

import credo
from credo import _kernels
from credo._kernels import (  # noqa: F401 - found below by their names
    clique_tables,
    junction_decode,
    junction_fill,
    junction_layout,
    junction_logs,
    junction_samples,
)
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

    def test_multiplies_into_the_table(self, kernels, inside):
        table, message = self.table(), self.message(inside)
        lengths, strides = loops(SIZES, inside)
        source = np.append([9.0], table.ravel())
        target = np.full(source.size, -1.0)
        kernels.clique_tables.multiply(
            target, source, 1, message.ravel(), 0, lengths, strides, 0, 4, np.zeros(64, np.int64)
        )
        np.testing.assert_allclose(target[1:], (table * message).ravel(), rtol=1e-15)
        assert target[0] == -1.0

    def test_watching_multiplies_the_same_and_sees_what_is_lost(self, kernels, inside):
        table, message = self.table(), self.message(inside)
        lengths, strides = loops(SIZES, inside)
        target, counters = table.ravel().copy(), np.zeros(64, np.int64)
        watched = kernels.clique_tables.multiply_watched
        assert not watched(target, 0, message.ravel(), 0, lengths, strides, 0, 4, counters)
        np.testing.assert_allclose(target, (table * message).ravel(), rtol=1e-15)
        target[-1] = 1e-250
        small = message.ravel() * 1e-100
        assert watched(target, 0, small, 0, lengths, strides, 0, 4, counters)

    def test_adds_the_table_up(self, kernels, inside):
        table = self.table()
        lengths, strides = loops(SIZES, inside)
        others = tuple(axis for axis in range(4) if axis not in inside)
        expected = table.sum(axis=others).ravel()
        out = np.full(expected.size, -1.0)
        kernels.clique_tables.add_up(
            table.ravel(), 0, out, out.size, lengths, strides, 0, 4, np.zeros(64, np.int64)
        )
        np.testing.assert_allclose(out, expected, rtol=1e-14)

    def test_adds_logs_to_the_table(self, kernels, inside):
        table, message = np.log(self.table()), np.log(self.message(inside))
        lengths, strides = loops(SIZES, inside)
        target = np.append([9.0], table.ravel())
        source = np.append([7.0], message.ravel())
        counters = np.zeros(64, np.int64)
        kernels.junction_logs.add(target, 1, source, 1, lengths, strides, 0, 4, counters)
        np.testing.assert_array_equal(target[1:], (table + message).ravel())
        assert target[0] == 9.0

    @pytest.mark.parametrize("maximum", [False, True])
    def test_gathers_logs_where_whole_rows_may_be_impossible(self, kernels, inside, maximum):
        table = np.log(self.table()) * 1000
        table[0] = -np.inf
        lengths, strides = loops(SIZES, inside)
        others = tuple(axis for axis in range(4) if axis not in inside)
        expected = table.max(axis=others) if maximum else logsumexp(table, axis=others)
        out = np.zeros(int(np.prod([SIZES[axis] for axis in inside])))
        counters = np.zeros(64, np.int64)
        kernels.junction_logs.gather(
            table.ravel(), 0, out, 0, out.size, lengths, strides, 0, 4, counters, maximum
        )
        np.testing.assert_allclose(out, np.ravel(expected), rtol=1e-13)


class TestFilling:
    """Tables of few cells, filled factor by factor, and of many, which grow axis by axis."""

    @pytest.mark.parametrize("sizes", [(3, 2), (3, 2, 4, 2), (3, 5, 2, 4, 3)], ids=str)
    @pytest.mark.parametrize("least", [0, 1, 2])
    def test_adds_all_factors_up(self, kernels, sizes, least):
        rng = np.random.default_rng(3)
        axes = range(len(sizes))
        counts = range(least, len(sizes) + 1)
        parts = [part for r in counts for part in itertools.combinations(axes, r)]
        parts = [parts[i] for i in rng.permutation(len(parts))]
        tables = [
            rng.normal(size=[k if a in part else 1 for a, k in enumerate(sizes)]) for part in parts
        ]
        lengths, strides = zip(*(loops(sizes, part) for part in parts), strict=True)
        home = np.array([0 if part else -1 for part in parts])
        target = np.full(math.prod(sizes) + 1, np.nan)
        constant = kernels.junction_fill.fill_outward(
            target,
            np.array([0, math.prod(sizes)]),
            home,
            np.cumsum([0, *map(len, lengths)]),
            np.concatenate(lengths),
            np.concatenate(strides),
            np.cumsum([0, *(table.size for table in tables)]),
            np.concatenate([table.ravel() for table in tables]),
        )
        wanted = sum((t for t, part in zip(tables, parts, strict=True) if part), np.zeros(sizes))
        np.testing.assert_allclose(target[:-1], wanted.ravel(), rtol=0, atol=1e-13)
        assert np.isnan(target[-1])
        alone = [t.item() for t, part in zip(tables, parts, strict=True) if not part]
        assert constant == pytest.approx(sum(alone))

    def test_a_table_without_factors_is_zero(self, kernels):
        none = np.empty(0, np.int64)
        for cells in (2, 1000):
            target = np.full(cells, np.nan)
            start = np.array([0, cells])
            first = np.zeros(1, np.int64)
            arguments = (none, first, none, none, first, np.empty(0))
            assert kernels.junction_fill.fill_outward(target, start, *arguments) == 0.0
            np.testing.assert_array_equal(target, 0.0)

    @pytest.mark.parametrize("filled", [1, 3])
    def test_repeats_the_first_cells(self, kernels, filled):
        table = np.append(np.arange(5.0), np.full(11, np.nan))
        assert kernels.junction_fill.repeat(table, 2, filled, 12) == 12
        np.testing.assert_array_equal(table[2:14], np.tile(2.0 + np.arange(filled), 12 // filled))
        assert np.isnan(table[14:]).all()


class TestScales:
    def test_are_the_old_maximum_and_the_new_least(self, kernels):
        table = np.array([7.0, 0.0, 4.0, 8.0, 7.0])
        largest, least = kernels.clique_tables.rescale(table, 1, 4)
        assert (largest, least) == (8.0, 0.5)
        np.testing.assert_array_equal(table, [7.0, 0.0, 0.5, 1.0, 7.0])

    def test_zeros_stay(self, kernels):
        table = np.zeros(3)
        assert kernels.clique_tables.rescale(table, 0, 3)[0] == 0.0
        np.testing.assert_array_equal(table, 0.0)

    def test_a_product_of_many_is_kept_where_float64_ends(self, kernels):
        product = np.array([1.0, 0.0])
        assert kernels.clique_tables.log_of(product) == 0.0
        for x in (1e300, 3.0, 1e300, 5e-324, 1e-150, 1e-300):
            for _ in range(50):
                kernels.clique_tables.count_in(product, x)
        logs = (300 * 2 - 150 - 300) * math.log(10) + math.log(3) + math.log(5e-324)
        assert kernels.clique_tables.log_of(product) == pytest.approx(50 * logs, rel=1e-12)
        kernels.clique_tables.count_in(product, 0.0)
        assert kernels.clique_tables.log_of(product) == -math.inf


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
            start = np.cumsum([0, *map(len, scopes)])
            flat = np.array([v for scope in scopes for v in scope], np.int64)
            position, first, members, parent = kernels.junction_layout.elimination_cliques(
                start, flat, order
            )
            expected = oracle.cliques_of_order(scopes, order.tolist())
            for i, clique in enumerate(expected):
                got = members[first[i] : first[i + 1]]
                assert got.tolist() == sorted(position[v] for v in clique)
                later = [int(q) for q in got if q > i]
                assert parent[i] == (later[0] if later else -1)
            node, bottom, residual, _ = kernels.junction_layout.maximal_cliques(first, parent)
            kept = [expected[i] for i in bottom]
            assert len(kept) == len(oracle.maximal(expected))
            assert set(kept) == set(oracle.maximal(expected))
            assert residual.sum() == n
            assert all(order[i] in kept[node[i]] for i in range(n))


class TestStates:
    def test_row_and_cell_are_where_numpy_has_them(self, kernels):
        """A node over variables 2, 0, 3, of which the last two end in it."""
        sizes = np.array([3, 9, 2, 4])
        shape = np.array([0, 3]), np.array([2, 0, 3]), np.array([2]), sizes
        for place in np.ndindex(2, 3, 4):
            states = np.zeros(4, np.int64)
            states[[2, 0, 3]] = place
            row = kernels.junction_decode.row_of(0, *shape, states)
            assert row == place[0]
            states[[0, 3]] = -1
            kernels.junction_decode.put(0, place[1] * 4 + place[2], *shape, states)
            assert tuple(states[[2, 0, 3]]) == place
            assert states[1] == 0


class TestDraws:
    @pytest.mark.parametrize(
        ("u", "state"), [(0.0, 1), (0.24, 1), (0.26, 2), (np.nextafter(1.0, 0.0), 2)]
    )
    def test_never_take_a_state_of_probability_zero(self, kernels, u, state):
        out = np.full((1, 1), -1, np.int64)
        one = np.array([0, 1])
        kernels.junction_samples.draw_down(
            np.array([0.0, 1.0, 3.0, 0.0]),
            np.array([0, 4]),
            one,
            np.array([-1]),
            one,
            np.array([0]),
            np.array([1]),
            np.array([4]),
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
