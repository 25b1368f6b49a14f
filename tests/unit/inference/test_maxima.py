"""The engines of mpe beyond the junction tree: their configurations, bounds, ties and warnings."""

import itertools
import math
import warnings

import numpy as np
import pytest
from tests.oracles import cuts as fields, maxima as oracle
from tests.speeds import plain_kernels

import credo
from credo.exceptions import ApproximationWarning, BudgetError, ImpossibleEvidence, InputError
from credo.graphs import FactorGraph, MarkovNetwork
from credo.inference.maximum import Configuration, k_best, marginal_map, max_marginals, mpe

METHODS = ("junction_tree", "tree_reweighted", "loopy", "icm")
#: Sums of at most some twenty logs, none larger than ten.
CLOSE = 1e-11
EQUAL, UNEQUAL = np.eye(2), 1 - np.eye(2)


def graph_of(shape, factors):
    graph = FactorGraph()
    names = [graph.variable(i, k).name for i, k in enumerate(shape)]
    for axes, table in factors:
        graph.factor([names[axis] for axis in axes], table)
    return graph


def frustrated(seed, n_states, rows=3, columns=3, spread=2.0):
    """A grid of random tables: no side of a pair agrees with the other. And its factors."""
    rng = np.random.default_rng(seed)
    edges = fields.grid_edges(rows, columns)
    tables = rng.normal(0.0, spread, (len(edges), n_states, n_states))
    weights = rng.normal(size=(rows * columns, n_states))
    factors = [([i], np.exp(w)) for i, w in enumerate(weights)]
    factors += [(e.tolist(), np.exp(t)) for e, t in zip(edges, tables, strict=True)]
    return MarkovNetwork.from_arrays(weights, edges, tables, log=True), factors


def grid_of(rows, columns, table, seed=0):
    rng = np.random.default_rng(seed)
    edges = fields.grid_edges(rows, columns)
    weights = rng.normal(size=(rows * columns, 2))
    return MarkovNetwork.from_arrays(weights, edges, table(rng, len(edges)), log=True)


def attractive_grid(rows, columns, seed=0):
    return grid_of(rows, columns, lambda *_: 0.7 * EQUAL, seed)


def random_model(seed):
    rng = np.random.default_rng(seed)
    shape, factors = oracle.random_factors(rng) if seed % 10 else oracle.dense_factors(rng)
    return graph_of(shape, factors), oracle.log_product(shape, factors), rng


def rules_and_tables(seed):
    """Bits with rules of any width, some with auxiliary variables, and tables; and all scores."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 10))
    graph = FactorGraph()
    bits = [graph.variable(i, 2) for i in range(n)]
    place, logs = np.indices((2,) * n), np.zeros((2,) * n)
    for _ in range(int(rng.integers(1, 5))):
        some = rng.permutation(n)[: int(rng.integers(1, n + 1))].tolist()
        count, kind = place[some].sum(axis=0), rng.integers(4)
        if kind == 0:
            even = bool(rng.integers(2))
            graph.parity([bits[i] for i in some], even)
            logs = logs + np.where((count % 2 == 0) == even, 0.0, -np.inf)
        elif kind == 1:
            graph.at_most_one([bits[i] for i in some])
            logs = logs + np.where(count <= 1, 0.0, -np.inf)
        else:
            table = rng.normal(size=(2,) * len(some[:3]))
            table[rng.random(table.shape) < 0.2] = -np.inf
            table.flat[rng.integers(table.size)] = 0.5
            graph.factor([bits[i] for i in some[:3]], table, log=True)
            logs = logs + table[tuple(place[some[:3]])]
    for i in range(n):
        weights = rng.normal(size=2)
        graph.factor([bits[i]], weights, log=True)
        logs = logs + weights[place[i]]
    return graph, logs


def places(found):
    return tuple(found.states.values())


def assert_honest(found, logs, close=1e-9):
    """The score is that of the states, bounds hold, and what is called exact is."""
    assert found.log_score == pytest.approx(logs[places(found)], rel=1e-12, abs=1e-12)
    largest = logs.max()
    assert found.bound is None or found.bound >= largest - close
    assert found.bound is None or found.bound >= found.log_score
    if found.is_exact:
        assert found.log_score == pytest.approx(largest, abs=close)


class TestEveryEngine:
    @pytest.mark.parametrize("hard", [130, 338, 341])  # auxiliary variables lag behind moves
    def test_the_score_is_that_of_the_states_and_only_what_is_impossible_is_warned_of(self, hard):
        for seed in (*range(hard % 100, hard % 100 + 25), hard):
            model, logs = rules_and_tables(seed)
            for method in (*METHODS, "graph_cut", "auto"):
                options = {"budget": 8} if method == "auto" else {}
                with warnings.catch_warnings(record=True) as told:
                    warnings.simplefilter("always")
                    try:
                        found = mpe(model, method=method, **options)
                    except InputError as error:
                        refused = "graph_cut needs" in str(error)
                        assert refused or logs.max() == -np.inf, (seed, method)
                        continue
                says = any("no configuration of positive" in str(each.message) for each in told)
                assert says == (logs[places(found)] == -np.inf), (seed, method)
                assert_honest(found, logs)

    @pytest.mark.parametrize("method", METHODS)
    def test_the_score_is_never_above_the_best_and_the_bound_never_below(self, method):
        reached = 0
        for seed in range(30):
            model, factors = frustrated(seed, 2)
            logs = oracle.log_product((2,) * 9, factors)
            found = mpe(model, method=method)
            assert found.engine == method
            assert_honest(found, logs)
            reached += found.log_score >= logs.max() - 1e-9
        assert reached >= {"junction_tree": 30, "icm": 5}.get(method, 20)

    def test_evidence_and_likelihood_count(self):
        model, factors = frustrated(3, 3)
        logs = oracle.log_product((3,) * 9, [*factors, ([4], np.array([0.1, 2.0, 0.5]))])
        logs = oracle.observed_only(logs, {0: [2], 8: [0, 1]})
        for method in METHODS:
            found = mpe(model, {0: 2, 8: {0, 1}}, likelihood={4: [0.1, 2.0, 0.5]}, method=method)
            assert_honest(found, logs)

    @pytest.mark.parametrize("method", ["tree_reweighted", "loopy", "icm", "graph_cut"])
    def test_observed_and_single_states_and_empty_scopes(self, method):
        graph = FactorGraph()
        a, b, one, triple = (graph.variable(*v) for v in (("a", 2), ("b", 2), ("one", 1), ("t", 3)))
        graph.factor([a, one, b], np.array([[5, 1], [1, 2]])[:, None, :])
        graph.factor([triple, a], [[1, 2], [1, 90], [1, 1]])
        graph.factor([one], [0.5])
        found = mpe(graph, {"t": 1}, method=method)
        assert places(found) == (1, 1, 0, 1)
        assert found.log_score == pytest.approx(math.log(2 * 90 * 0.5))
        everything = mpe(graph, {"t": 1, "a": 0, "b": 1}, method=method)
        assert everything.log_score == pytest.approx(math.log(1 * 1 * 0.5))
        assert mpe(FactorGraph(), method=method).log_score == 0.0

    @pytest.mark.parametrize("method", ["tree_reweighted", "loopy", "icm", "graph_cut"])
    def test_logs_wider_than_float64_keep_their_differences(self, method):
        graph = FactorGraph()
        a, b = graph.variable("a", 2), graph.variable("b", 2)
        graph.factor([a], [-2000.0, -1.0], log=True)
        graph.factor([a, b], [[0.0, -5000.0], [-np.inf, -3000.0]], log=True)
        found = mpe(graph, method=method, **({"restarts": 3} if method == "icm" else {}))
        assert places(found) == (0, 0)
        assert found.log_score == -2000.0

    def test_plain_python_gives_the_same(self, monkeypatch):
        def answers():
            for seed in range(4):
                models = [random_model(seed)[0], rules_and_tables(seed)[0]]
                models += [frustrated(seed, 2 + seed % 3, 3, 4)[0]]
                models += [
                    graph_of(*fields.random_field(np.random.default_rng(seed), flipped=True))
                ]
                for model, method in itertools.product(models, METHODS[1:]):
                    options = {"restarts": 1, "forests": 3} if method == "icm" else {}
                    try:
                        found = mpe(model, method=method, **options)
                    except InputError:
                        continue
                    yield from (found.log_score, found.bound or 0.0, *places(found))

        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ApproximationWarning)
            first = list(answers())
            plain_kernels(monkeypatch)
            np.testing.assert_array_equal(list(answers()), first)


class TestCuts:
    @pytest.mark.parametrize("flipped", [False, True])
    @pytest.mark.parametrize("block", range(3))
    def test_the_cut_of_an_attractive_field_is_its_best_configuration(self, flipped, block):
        for seed in range(120 * block, 120 * block + 120):
            shape, factors = fields.random_field(np.random.default_rng(seed), flipped=flipped)
            largest, best = oracle.best_configurations(oracle.log_product(shape, factors))
            model = graph_of(shape, factors)
            if largest == -math.inf:
                with pytest.raises(InputError, match="allows no configuration at all"):
                    mpe(model, method="graph_cut")
                continue
            found = mpe(model, method="graph_cut")
            assert places(found) in best, seed
            assert found.log_score == pytest.approx(largest, abs=CLOSE), seed
            assert found.log_score <= found.bound <= largest + CLOSE
            assert list(found.tied) == oracle.tied_axes(best), seed
            assert found.is_exact

    @pytest.mark.parametrize("seed", range(4))
    def test_a_grid_has_the_maximum_of_the_junction_tree(self, seed):
        def tables(rng, n):  # which need not be symmetric
            strength = rng.uniform(0.0, 2.0, n)[:, None, None]
            return strength * EQUAL + rng.normal(0.0, 0.5, (n, 1, 2))

        model = grid_of(12, 12, tables, seed)
        wanted, found = mpe(model), mpe(model, method="graph_cut")
        assert found.states == wanted.states
        assert found.log_score == wanted.log_score

    def test_a_checkerboard_of_swapped_states_is_cut(self):
        model = grid_of(8, 9, lambda rng, n: rng.uniform(0, 2, n)[:, None, None] * UNEQUAL)
        found = mpe(model, method="graph_cut")
        assert found.log_score == pytest.approx(mpe(model).log_score)

    def test_two_factors_that_only_together_attract_are_added_up(self):
        tables = [([0], [1, 1.5])]
        for a, b in ((0, 1), (1, 2), (2, 0)):
            tables += [([a, b], [[1, 3], [2, 1]]), ([b, a], [[4, 1], [1, 4]])]
        model = graph_of((2, 2, 2), tables)
        found = mpe(model, method="graph_cut")
        assert found.log_score == pytest.approx(mpe(model).log_score)

    def test_a_table_that_is_a_product_neither_attracts_nor_repels(self):
        product = np.outer([0.1, 0.7], [0.3, 0.9])  # rounding gives its logs a sign
        ring = [(pair, product) for pair in ((0, 1), (1, 2), (0, 2))]
        assert places(mpe(graph_of((2, 2, 2), ring), method="graph_cut")) == (1, 1, 1)

    @pytest.mark.parametrize(
        ("shape", "scopes", "table", "match"),
        [
            ((2, 3), [(0, 1)], np.ones((2, 3)), "two states. 1 has 3"),
            ((2,) * 3, [(0, 2, 1)], np.ones((2,) * 3), r"There is one over \[0, 2, 1\]"),
            ((2,) * 3, [(0, 1), (1, 2), (2, 0)], 1 + UNEQUAL, r"through \[[12], [12]\] repels"),
            ((2,) * 5, [(0, 1), (1, 2), (2, 3), (3, 4), (4, 2)], 1 + UNEQUAL,
             r"through \[[34], [34]\] repels"),
        ],
        ids=["states", "variables", "cycle", "cycle on a stalk"],
    )  # fmt: skip
    def test_what_cannot_be_cut_is_refused_by_name(self, shape, scopes, table, match):
        with pytest.raises(InputError, match=match):
            mpe(graph_of(shape, [(scope, table) for scope in scopes]), method="graph_cut")

    def test_auxiliary_variables_of_rules_are_named_as_such(self):
        graph = FactorGraph()
        graph.parity([graph.variable(i, 2) for i in range(6)])
        with pytest.raises(InputError, match="'auxiliary 6'"):
            mpe(graph, method="graph_cut")


class TestTreeReweighted:
    @pytest.mark.parametrize("block", range(5))
    def test_bounds_and_scores_hold_on_random_graphs_of_any_shape(self, block):
        for seed in range(block * 60, block * 60 + 60):
            model, logs, _ = random_model(seed)
            if logs.max() > -np.inf:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", ApproximationWarning)
                    assert_honest(mpe(model, method="tree_reweighted"), logs)

    def test_some_frustrated_grids_have_a_gap_that_stays(self):
        exact = set()
        for seed in range(30):
            model, factors = frustrated(seed, 3)
            found = mpe(model, method="tree_reweighted")
            assert_honest(found, oracle.log_product((3,) * 9, factors))
            exact.add(found.is_exact)
        assert exact == {True, False}

    @pytest.mark.parametrize("n_states", [2, 4])
    @pytest.mark.parametrize("seed", range(4))
    def test_the_bound_never_rises(self, n_states, seed):
        model, _ = frustrated(seed, n_states, 15, 16)
        bounds = [
            mpe(model, method="tree_reweighted", sweeps=k, tolerance=0.0).bound
            for k in (1, 2, 3, 5, 10, 30)
        ]
        assert (np.diff(bounds) < 1e-9).all()
        assert bounds[-1] < bounds[0] - 1.0

    @pytest.mark.parametrize("seed", range(40))
    def test_trees_are_solved_in_one_sweep(self, seed):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(1, 9))
        shape = tuple(rng.integers(1, 4, n).tolist())
        label = rng.permutation(n)  # so that parents are anywhere in the order
        factors = [([i], rng.uniform(0.1, 1.0, shape[i])) for i in range(n)]
        for i in range(1, n):
            axes = [int(label[i]), int(label[rng.integers(i)])]
            if rng.random() < 0.9:
                factors.append((axes, rng.uniform(0.0, 1.0, [shape[a] for a in axes])))
        self.assert_solved_at_once(shape, factors)

    def test_trees_of_larger_factors_are_solved_too(self):
        rng = np.random.default_rng(5)
        shape = (2, 3, 2, 2, 3, 2, 2)
        scopes = ([0, 1, 2], [2, 3], [3, 4, 5, 6], [5])
        factors = [(axes, rng.uniform(0.0, 1.0, [shape[a] for a in axes])) for axes in scopes]
        self.assert_solved_at_once(shape, factors)

    def test_a_large_tree_is_solved_in_one_sweep(self):
        rng = np.random.default_rng(0)
        factors = [([i, int(rng.integers(i))], rng.random((3, 3))) for i in range(1, 300)]
        told = []
        options = {"sweeps": 1, "callback": lambda _, gap: told.append(gap)}
        model = graph_of((3,) * 300, factors)
        assert mpe(model, method="tree_reweighted", **options).states == mpe(model).states
        assert told == pytest.approx([0.0], abs=1e-10)

    @staticmethod
    def assert_solved_at_once(shape, factors):
        gaps = []
        options = {"sweeps": 1, "callback": lambda _, gap: gaps.append(gap)}
        found = mpe(graph_of(shape, factors), method="tree_reweighted", **options)
        largest = oracle.log_product(shape, factors).max()
        assert gaps == pytest.approx([0.0], abs=1e-12)  # before any move
        assert found.bound == pytest.approx(largest, rel=1e-13)
        assert found.log_score == pytest.approx(largest, rel=1e-13)

    @pytest.mark.parametrize("seed", range(6))
    def test_trees_that_hang_on_cycles_are_as_if_maximised_out(self, seed):
        rng = np.random.default_rng(seed)
        pairs = itertools.combinations(range(5), 2)
        core = [(pair, np.exp(rng.normal(0.0, 2.0, (3, 3)))) for pair in pairs]
        twigs = [(int(rng.integers(i)), i, rng.normal(0.0, 2.0, (3, 3))) for i in range(5, 15)]
        whole = [*core, *(([above, i], np.exp(logs)) for above, i, logs in twigs)]
        found = mpe(graph_of((3,) * 15, whole), method="tree_reweighted")
        best = np.zeros((15, 3))
        for above, i, logs in reversed(twigs):
            best[above] += (logs + best[i]).max(axis=1)
        singles = [([i], np.exp(best[i])) for i in range(5)]
        alone = mpe(graph_of((3,) * 5, [*core, *singles]), method="tree_reweighted")
        assert found.bound == pytest.approx(alone.bound, abs=1e-6)  # where both stalled

    @pytest.mark.parametrize("seed", range(6))
    def test_attractive_fields_are_solved(self, seed):
        def tables(rng, n):
            return rng.uniform(0.0, 1.0, n)[:, None, None] * EQUAL

        model = grid_of(20, 20, tables, seed)
        found, wanted = (mpe(model, method=m) for m in ("tree_reweighted", "graph_cut"))
        assert found.is_exact
        assert found.log_score == pytest.approx(wanted.log_score, rel=1e-9)

    def test_the_last_bit_of_a_logarithm_decides_nothing(self):
        table = np.array([[0.3, 0.1], [0.1, 0.1 * 3]])
        assert table[0, 0] < table[1, 1]
        for edges in ([(0, 1), (1, 2), (2, 3), (3, 0)], [(0, 1), (1, 2), (2, 3)]):
            model = graph_of((2,) * 4, [(edge, table) for edge in edges])
            found = mpe(model, method="tree_reweighted")
            assert places(found) == (0, 0, 0, 0)  # states so near are tied, and the first is taken
            assert found.is_exact

    def test_impossible_problems_are_known_as_such(self):
        ring = [([0, 1], EQUAL), ([1, 2], EQUAL), ([0, 2], UNEQUAL)]
        with pytest.raises(InputError, match="allows no configuration at all"):
            mpe(graph_of((2, 2, 2), [*ring, ([0], [1.0, 0.0])]), method="tree_reweighted")
        with pytest.warns(ApproximationWarning, match="does not prove that there is none"):
            found = mpe(graph_of((2, 2, 2), ring), method="tree_reweighted")
        assert (found.log_score, found.bound) == (-math.inf, 0.0)  # a bound may not see it

    def test_clusters_lie_between_their_variables_so_that_chains_run_through_them(self):
        rng = np.random.default_rng(2)
        tables = [(range(i, i + 3), np.exp(rng.normal(size=(2, 2, 2)))) for i in range(38)]
        model = graph_of((2,) * 40, tables)
        found, best = mpe(model, method="tree_reweighted", sweeps=300), mpe(model).log_score
        assert best - 1e-10 <= found.bound < 1.15 * best
        assert found.log_score <= best + 1e-10

    def test_each_sweep_is_told_with_its_gap(self):
        told = []
        model, _ = frustrated(1, 3, 5, 5)
        mpe(model, method="tree_reweighted", sweeps=4, callback=lambda *each: told.append(each))
        assert [k for k, _ in told] == [1, 2, 3, 4]
        assert all(gap > 0 for _, gap in told)


class TestMoves:
    @pytest.mark.parametrize("block", range(3))
    def test_icm_is_never_worse_than_its_start_and_no_single_change_helps(self, block):
        for seed in range(block * 100, block * 100 + 100):
            model, logs, rng = random_model(seed)
            start = rng.integers(0, logs.shape)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ApproximationWarning)
                found = mpe(model, method="icm", start=start)
                moved = mpe(model, method="icm", start=start, forests=3, seed=seed)
            assert_honest(found, logs)
            assert_honest(moved, logs)
            assert moved.log_score >= found.log_score >= logs[tuple(start)] - 1e-12, seed
            assert found.bound is None
            if found.log_score > -np.inf:
                for axis, size in enumerate(logs.shape):
                    for k in range(size):
                        near = (*places(found)[:axis], k, *places(found)[axis + 1 :])
                        assert logs[near] <= found.log_score + 1e-12, seed

    def test_a_possible_start_is_never_lost_under_rules(self):
        for seed in range(40):
            model, logs = rules_and_tables(seed)
            start = np.unravel_index(
                np.argmax(np.where(logs < logs.max(), logs, -np.inf)), logs.shape
            )
            if logs[start] > -np.inf:
                found = mpe(model, method="icm", start=[int(x) for x in start])
                assert found.log_score >= logs[start] - 1e-12, seed

    def test_restarts_only_help_and_the_same_seed_gives_the_same(self):
        gains = 0
        for seed in range(40):
            model, _ = frustrated(seed, 3)
            options = {"method": "icm", "start": "random", "seed": seed}
            once, often, again = (mpe(model, **options, restarts=k) for k in (0, 8, 8))
            assert once.log_score <= often.log_score
            assert often.states == again.states
            gains += often.log_score > once.log_score
        assert gains > 5

    def test_it_starts_where_single_factors_point(self):
        factors = [([0], [1.0, 2.0]), ([1], [0.3, 0.1, 0.2]), ([0], [1.0, 0.9])]
        assert places(mpe(graph_of((2, 3, 2), factors), method="icm")) == (1, 0, 0)

    def test_an_impossible_start_is_left_by_way_of_fewer_zeros(self):
        table = np.array([[0.0, 0.0], [0.0, 1.0]])
        model = graph_of((2, 2, 2), [([0, 1], table), ([1, 2], table), ([0], [3.0, 1.0])])
        with pytest.warns(ApproximationWarning, match="no configuration of positive"):
            found = mpe(model, method="icm", start=[0, 0, 0])  # no single one helps
        assert found.log_score == -np.inf
        assert places(mpe(model, method="icm", start=[0, 1, 0])) == (1, 1, 1)
        assert places(mpe(model, method="icm", start=[0, 0, 0], forests=1)) == (1, 1, 1)

    def test_equal_states_are_left_alone(self):
        found = mpe(graph_of((3, 3), [([0, 1], np.ones((3, 3)))]), method="icm", start=[2, 1])
        assert places(found) == (2, 1)

    def test_the_sweeps_can_run_out(self):
        n = 30
        factors = [([i + 1, i], np.array([[1.0, 0.1], [0.1, 1.0]])) for i in range(n - 1)]
        factors += [([i], [1.0, 1.2]) for i in range(n - 1)]
        model = graph_of((2,) * n, [*factors, ([n - 1], [1.0, 50.0])])
        found = mpe(model, method="icm", start=[0] * n, sweeps=3)  # the last one moves first
        assert places(found) == (0,) * (n - 3) + (1,) * 3
        assert places(mpe(model, method="icm", start=[0] * n)) == (1,) * n

    def test_each_start_is_told_with_the_best_score(self):
        told = []
        options = {"restarts": 3, "callback": lambda *each: told.append(each)}
        found = mpe(frustrated(11, 3)[0], method="icm", **options)
        assert [k for k, _ in told] == [1, 2, 3, 4]
        assert told[-1][1] == found.log_score == max(score for _, score in told)

    @pytest.mark.parametrize("seed", range(10))
    def test_one_forest_solves_a_tree(self, seed):
        rng = np.random.default_rng(seed)
        shape = tuple(rng.integers(2, 4, 8).tolist())
        scopes = [[i, int(rng.integers(i))] for i in range(1, 6)] + [[5, 6, 7]]
        factors = [(axes, rng.random([shape[a] for a in axes])) for axes in scopes]
        options = {"start": "random", "forests": 1, "seed": seed}
        found = mpe(graph_of(shape, factors), method="icm", **options)
        assert found.log_score == pytest.approx(oracle.log_product(shape, factors).max())

    def test_forests_help_where_single_moves_are_stuck(self):
        gains = 0
        for seed in range(20):
            model, factors = frustrated(seed, 3)
            best = oracle.log_product((3,) * 9, factors).max()
            alone, moved = mpe(model, method="icm"), mpe(model, method="icm", forests=30)
            gains += moved.log_score > best - 1e-9 > alone.log_score
        assert gains >= 8

    def test_the_same_seed_moves_the_same_forests(self):
        model, _ = frustrated(4, 4, 8, 8)
        once, again, other = (mpe(model, method="icm", forests=3, seed=k) for k in (1, 1, 2))
        assert once.states == again.states != other.states


class TestDecoding:
    def test_where_beliefs_are_tied_neighbours_are_chosen_together(self):
        ring = [([i, (i + 1) % 12], 0.1 + 0.9 * EQUAL) for i in range(12)]
        found = mpe(graph_of((2,) * 12, ring), method="loopy")
        assert found.log_score == pytest.approx(0.0, abs=1e-12)
        assert len(set(places(found))) == 1

    @pytest.mark.parametrize("method", ["tree_reweighted", "loopy"])
    def test_rules_on_a_tree_are_decoded(self, method):
        for seed in range(8):
            rng = np.random.default_rng(seed)
            graph = FactorGraph()
            bits = [graph.variable(i, 2) for i in range(9)]
            graph.parity(bits[:6])
            graph.at_most_one(bits[5:])
            for bit in bits:
                graph.factor([bit], rng.uniform(0.2, 1.0, 2))
            found = mpe(graph, method=method)
            assert list(found.states) == list(range(9))
            assert found.log_score == pytest.approx(mpe(graph).log_score)

    def test_impossible_evidence_is_known_to_max_product_too(self):
        with pytest.raises(ImpossibleEvidence):
            mpe(graph_of((2, 2), [([0, 1], EQUAL)]), {0: 0, 1: 1}, method="loopy")


class TestAuto:
    def test_the_junction_tree_answers_where_it_fits(self):
        found = mpe(frustrated(0, 3)[0])
        assert found.engine == "junction_tree"
        assert found.is_exact

    def test_a_large_attractive_field_is_cut(self):
        model = attractive_grid(25, 25)
        found = mpe(model)
        assert found.engine == "graph_cut"
        assert found.log_score == mpe(model, method="tree_reweighted").log_score

    def test_a_large_field_that_no_cut_solves_goes_to_the_tree(self):
        rng = np.random.default_rng(0)
        chain = [([i, i + 1], rng.random((3, 3))) for i in range(499)]
        assert mpe(graph_of((3,) * 500, chain)).engine == "junction_tree"

    def test_a_small_one_is_cut_if_the_tree_does_not_fit(self):
        model = attractive_grid(10, 10)
        found = mpe(model, budget="1kB")
        assert found.engine == "graph_cut"
        assert found.states == mpe(model).states

    def test_what_is_proven_by_messages_needs_no_warning(self):
        rng = np.random.default_rng(1)
        graph = graph_of((3,) * 9, [([i, i + 1], rng.random((3, 3))) for i in range(8)])
        found = mpe(graph, budget=10)
        assert found.engine == "tree_reweighted"
        assert found.is_exact
        assert found.log_score == pytest.approx(mpe(graph).log_score)

    def test_a_gap_is_warned_of_and_shown(self):
        model, _ = frustrated(2, 3, 6, 6)
        with pytest.warns(ApproximationWarning, match="budget of 1kB.* at most .* below") as caught:
            found = mpe(model, budget="1kB", sweeps=50)
        assert caught[0].filename == __file__
        assert found.log_score <= mpe(model).log_score <= found.bound
        assert found.gap == found.bound - found.log_score > 0
        assert not found.is_exact
        assert f", gap={found.gap:.3g})" in repr(found)

    def test_a_configuration_that_is_impossible_is_said_to_be(self):
        ring = [([i, (i + 1) % 5], UNEQUAL) for i in range(5)]
        with pytest.warns(ApproximationWarning, match="found no configuration of pos") as caught:
            found = mpe(graph_of((2,) * 5, ring), budget=8)
        assert caught[0].filename == __file__
        assert found.log_score == -math.inf

    def test_asked_for_by_name_a_method_does_not_warn(self):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            found = mpe(frustrated(2, 3, 6, 6)[0], method="tree_reweighted", sweeps=50)
        assert not found.is_exact


class TestRefusals:
    def test_the_tree_asked_for_by_name_has_to_fit(self):
        with pytest.raises(BudgetError, match="largest clique"):
            mpe(attractive_grid(4, 4), method="junction_tree", budget=8)

    @pytest.mark.parametrize("method", ["annealing", None, 3])
    def test_an_unknown_method_is_refused(self, method):
        with pytest.raises(InputError, match="The method of mpe must be one of"):
            mpe(FactorGraph(), method=method)

    @pytest.mark.parametrize(
        ("method", "has"),
        [
            ("tree_reweighted", "It has 'sweeps', 'tolerance',"),
            ("graph_cut", "It has none"),
            ("loopy", "It has 'schedule', 'momentum', 'domain', 'sweeps',"),
        ],
    )
    def test_options_of_other_methods_are_refused(self, method, has):
        with pytest.raises(
            InputError, match=f"method='{method}' has no option 'restarts'.*{has}.*of 'icm'"
        ):
            mpe(FactorGraph(), method=method, restarts=3)

    @pytest.mark.parametrize(
        ("method", "option", "value"),
        [
            ("tree_reweighted", "sweeps", 0),
            ("tree_reweighted", "tolerance", -1e-3),
            ("icm", "sweeps", 0),
            ("icm", "restarts", -1),
            ("icm", "forests", 0.5),
            *(("icm", "start", start) for start in ("best", [0, 1, 0], [0, 2], [-1, 0], [0.5, 0])),
            *((method, "seed", -1) for method in ("icm", "loopy", "tree_reweighted", "auto")),
        ],
    )
    def test_options_that_mean_nothing_are_refused(self, method, option, value):
        model = graph_of((2, 2), [([0, 1], np.ones((2, 2)))])
        with pytest.raises(InputError, match=rf"(?i)the {option} of .* must"):
            mpe(model, method=method, **{option: value})

    @pytest.mark.parametrize("method", ["graph_cut", "tree_reweighted", "auto"])
    def test_impossible_evidence_names_the_conflict(self, method):
        graph = graph_of((2, 2, 2), [([0, 1], EQUAL), ([1, 2], np.ones((2, 2)))])
        with pytest.raises(ImpossibleEvidence) as caught:
            mpe(graph, {0: 0, 1: 1, 2: 0}, method=method)
        assert caught.value.conflict == {0: 0, 1: 1}

    @pytest.mark.parametrize(
        ("n", "method"), [(2, "tree_reweighted"), (2, "graph_cut"), (500, "auto")]
    )
    def test_a_model_that_allows_nothing_is_named_as_such(self, n, method):
        zeros = [([0, 1], EQUAL), ([0], [1.0, 0.0]), ([1], [0.0, 1.0])]
        with pytest.raises(InputError, match="mpe: the model allows no configuration at all"):
            mpe(graph_of((2,) * n, zeros), method=method)


class TestConfigurations:
    def test_made_by_hand_nothing_is_known_of_others(self):
        found = Configuration({"a": 1}, -2.0, ("a",))
        assert found.bound is None
        assert found.gap == math.inf
        assert not found.is_exact
        assert repr(found) == "Configuration({'a': 1}, log_score=-2, tied: 'a')"

    def test_without_a_bound_the_gap_is_infinite(self):
        assert repr(mpe(attractive_grid(3, 3), method="icm")).endswith(", gap=inf)")

    def test_exact_answers_are_their_own_bound(self):
        model, _ = frustrated(1, 2)
        best = max_marginals(model).best
        for answer in (mpe(model), best, marginal_map(model, [1, 2]), *k_best(model, 3)):
            assert answer.engine == "junction_tree"
            assert answer.bound == answer.log_score
            assert answer.is_exact
            assert answer.gap == 0.0

    def test_a_bound_within_rounding_proves_the_score(self):
        assert Configuration({}, 1e6, (), 1e6 + 1e-8, "tree_reweighted").is_exact
        near = Configuration({}, 1e6, (), 1e6 + 1e-4, "tree_reweighted")  # another may be better
        assert not near.is_exact
        assert near.gap == pytest.approx(1e-4, rel=1e-3)


def test_the_lobby_has_the_same_door():
    assert credo.mpe is mpe
