"""The engines of mpe beyond the junction tree: how good they are, their bounds, ties and warnings.

That scores are those of the states, and that bounds hold, is law: see
``properties/test_approximate_promises.py``.
"""

import itertools
import math
import warnings

import numpy as np
import pytest
from tests.oracles import cuts as fields, maxima as oracle
from tests.properties.random_graphs import draw_case
from tests.speeds import plain_kernels

from credo.exceptions import ApproximationWarning, InputError
from credo.graphs import FactorGraph, MarkovNetwork
from credo.inference.maximum import Configuration, k_best, marginal_map, max_marginals, mpe

#: Sums of at most some twenty logs, none larger than ten.
CLOSE = 1e-11
EQUAL, EQUAL_3, UNEQUAL = np.eye(2), 1 + np.eye(3), 1 - np.eye(2)
unwarned = pytest.mark.filterwarnings("ignore::credo.exceptions.ApproximationWarning")


def graph_of(shape, factors):
    graph = FactorGraph()
    names = [graph.variable(i, k).name for i, k in enumerate(shape)]
    for axes, table in factors:
        graph.factor([names[axis] for axis in axes], table)
    return graph


def grid_of(rows, columns, n_states, table, seed=0):
    """A grid of random weights, and of tables (edges, states, states) that a function makes."""
    rng = np.random.default_rng(seed)
    edges = fields.grid_edges(rows, columns)
    weights = rng.normal(size=(rows * columns, n_states))
    return MarkovNetwork.from_arrays(weights, edges, table(rng, len(edges)), log=True)


def frustrated(seed, n_states, rows=3, columns=3):
    """No side of a pair agrees with the other."""
    size = n_states, n_states
    return grid_of(rows, columns, n_states, lambda rng, n: rng.normal(0, 2, (n, *size)), seed)


def attractive(rows, columns, seed=0):
    return grid_of(rows, columns, 2, lambda rng, n: rng.random((n, 1, 1)) * EQUAL, seed)


def places(found):
    return tuple(found.states.values())


@pytest.mark.parametrize(
    ("options", "n_states", "least", "most", "proven"),
    [
        ({"method": "tree_reweighted"}, 2, 28, 30, {True}),
        ({"method": "tree_reweighted"}, 3, 28, 30, {True, False}),  # some gaps stay
        ({"method": "loopy"}, 2, 28, 30, {False}),
        ({"method": "icm"}, 3, 8, 16, {False}),
        ({"method": "icm", "restarts": 8}, 3, 25, 30, {False}),
        ({"method": "icm", "forests": 30}, 3, 25, 30, {False}),
    ],
)
def test_how_often_frustrated_grids_are_solved(options, n_states, least, most, proven):
    models = [frustrated(seed, n_states) for seed in range(30)]
    found = [mpe(model, **options) for model in models]
    reached = [f.log_score >= mpe(m).log_score - 1e-9 for f, m in zip(found, models, strict=True)]
    assert least <= sum(reached) <= most
    assert {f.is_exact for f in found} == proven


@pytest.mark.parametrize("options", [{"restarts": 3, "start": "random"}, {"forests": 3}])
def test_the_seed_decides_what_icm_draws(options):
    once, again, other = (mpe(frustrated(4, 4, 8, 8), method="icm", seed=k, **options)
                          for k in (1, 1, 2))  # fmt: skip
    assert once.states == again.states != other.states


@pytest.mark.parametrize("method", ["tree_reweighted", "loopy", "icm", "graph_cut"])
def test_logs_wider_than_float64_keep_their_differences(method):
    graph = FactorGraph()
    a, b = graph.variable("a", 2), graph.variable("b", 2)
    graph.factor([a], [-2000.0, -1.0], log=True)
    graph.factor([a, b], [[0.0, -5000.0], [-np.inf, -3000.0]], log=True)
    found = mpe(graph, method=method, **({"restarts": 3} if method == "icm" else {}))
    assert places(found) == (0, 0)
    assert found.log_score == -2000.0


@unwarned
def test_plain_python_gives_the_same(monkeypatch):
    def answers():
        for seed in range(8):
            field = fields.random_field(np.random.default_rng(seed), flipped=True)
            models = [draw_case(seed).model, frustrated(seed, 2 + seed % 3, 3, 4), graph_of(*field)]
            for model, method in itertools.product(models, ("tree_reweighted", "loopy", "icm")):
                options = {"restarts": 1, "forests": 3} if method == "icm" else {}
                try:
                    found = mpe(model, method=method, **options)
                except InputError:
                    continue
                yield from (found.log_score, found.bound or 0.0, str(places(found)))

    first = list(answers())
    plain_kernels(monkeypatch)
    assert list(answers()) == first


class TestCuts:
    @pytest.mark.parametrize("flipped", [False, True])
    def test_the_cut_of_an_attractive_field_is_its_best_configuration(self, flipped):
        for seed in range(360):
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

    @pytest.mark.parametrize("kind", [EQUAL, UNEQUAL], ids=["attractive", "swapped"])
    @pytest.mark.parametrize("seed", range(4))
    def test_a_grid_has_the_maximum_of_the_junction_tree(self, seed, kind):
        def tables(rng, n):  # which need not be symmetric
            return rng.uniform(0.0, 2.0, (n, 1, 1)) * kind + rng.normal(0.0, 0.5, (n, 1, 2))

        model = grid_of(12, 12, 2, tables, seed)
        wanted, found = mpe(model), mpe(model, method="graph_cut")
        assert (found.states, found.log_score) == (wanted.states, wanted.log_score)

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


def random_tree(seed):
    """Variables of one to three states, whose parents are anywhere in the order; some parts."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 9))
    shape = rng.integers(1, 4, n).tolist()
    label = rng.permutation(n).tolist()
    scopes = [(i,) for i in range(n)]
    scopes += [(label[i], label[rng.integers(i)]) for i in range(1, n) if rng.random() < 0.9]
    return shape, [(axes, rng.uniform(0.01, 1.0, [shape[a] for a in axes])) for axes in scopes]


def wide_tree():
    rng, shape = np.random.default_rng(5), (2, 3, 2, 2, 3, 2, 2)
    scopes = ([0, 1, 2], [2, 3], [3, 4, 5, 6], [5])
    return shape, [(axes, rng.uniform(0.0, 1.0, [shape[a] for a in axes])) for axes in scopes]


def large_tree():
    rng = np.random.default_rng(0)
    return (3,) * 300, [([i, int(rng.integers(i))], rng.random((3, 3))) for i in range(1, 300)]


class TestTreeReweighted:
    @pytest.mark.parametrize("n_states", [2, 4])
    @pytest.mark.parametrize("seed", range(4))
    def test_the_bound_never_rises(self, n_states, seed):
        model = frustrated(seed, n_states, 15, 16)
        bounds = [
            mpe(model, method="tree_reweighted", sweeps=k, tolerance=0.0).bound
            for k in (1, 2, 3, 5, 10, 30)
        ]
        assert (np.diff(bounds) < 1e-9).all()
        assert bounds[-1] < bounds[0] - 1.0

    @pytest.mark.parametrize("tree", [*map(random_tree, range(30)), wide_tree(), large_tree()])
    def test_trees_are_solved_in_one_sweep(self, tree):
        model, gaps = graph_of(*tree), []
        options = {"sweeps": 1, "callback": lambda _, gap: gaps.append(gap)}
        found, wanted = mpe(model, method="tree_reweighted", **options), mpe(model)
        assert gaps == pytest.approx([0.0], abs=1e-12 * len(tree[0]))  # before any move
        assert found.states == wanted.states
        assert found.log_score == wanted.log_score
        assert found.bound == pytest.approx(wanted.log_score, rel=1e-13)

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
        model = attractive(20, 20, seed)
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

    def test_a_bound_may_not_see_that_nothing_is_possible(self):
        ring = [([0, 1], EQUAL), ([1, 2], EQUAL), ([0, 2], UNEQUAL)]
        with pytest.raises(InputError, match="allows no configuration at all"):
            mpe(graph_of((2, 2, 2), [*ring, ([0], [1.0, 0.0])]), method="tree_reweighted")
        with pytest.warns(ApproximationWarning, match="does not prove that there is none"):
            found = mpe(graph_of((2, 2, 2), ring), method="tree_reweighted")
        assert (found.log_score, found.bound) == (-math.inf, 0.0)

    def test_clusters_lie_between_their_variables_so_that_chains_run_through_them(self):
        rng = np.random.default_rng(2)
        tables = [(range(i, i + 3), np.exp(rng.normal(size=(2, 2, 2)))) for i in range(38)]
        model = graph_of((2,) * 40, tables)
        found, best = mpe(model, method="tree_reweighted", sweeps=300), mpe(model).log_score
        assert best - 1e-10 <= found.bound < 1.15 * best

    def test_each_sweep_is_told_with_its_gap(self):
        told, options = [], {"sweeps": 4, "callback": lambda *each: told.append(each)}
        mpe(frustrated(1, 3, 5, 5), method="tree_reweighted", **options)
        assert [k for k, _ in told] == [1, 2, 3, 4]
        assert all(gap > 0 for _, gap in told)


class TestMoves:
    @unwarned
    def test_icm_is_never_worse_than_its_start_and_no_single_change_helps(self):
        for seed in range(300):
            rng = np.random.default_rng(seed)
            shape, factors = oracle.random_factors(rng) if seed % 10 else oracle.dense_factors(rng)
            model, logs = graph_of(shape, factors), oracle.log_product(shape, factors)
            start = rng.integers(0, shape)
            found = mpe(model, method="icm", start=start)
            moved = mpe(model, method="icm", start=start, forests=3, seed=seed)
            assert moved.log_score >= found.log_score >= logs[tuple(start)] - 1e-12, seed
            assert found.bound is None
            if found.log_score > -np.inf:
                for axis, size in enumerate(shape):
                    for k in range(size):
                        near = (*places(found)[:axis], k, *places(found)[axis + 1 :])
                        assert logs[near] <= found.log_score + 1e-12, seed

    def test_a_possible_start_is_never_lost_under_rules(self):
        for case in map(draw_case, range(60)):
            logs = case.joint.logs
            start = np.unravel_index(
                np.argmax(np.where(logs < logs.max(), logs, -np.inf)), logs.shape
            )
            if logs.size and logs[start] > -np.inf:
                found = mpe(case.model, method="icm", start=np.array(start, int))
                assert found.log_score >= logs[start] - 1e-9, case

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
        told, options = [], {"restarts": 3, "callback": lambda *each: told.append(each)}
        found = mpe(frustrated(11, 3), method="icm", **options)
        assert [k for k, _ in told] == [1, 2, 3, 4]
        assert told[-1][1] == found.log_score == max(score for _, score in told)

    @pytest.mark.parametrize("seed", range(10))
    def test_one_forest_solves_a_tree(self, seed):
        model = graph_of(*(random_tree(seed) if seed else wide_tree()))
        found = mpe(model, method="icm", start="random", forests=1, seed=seed)
        assert found.log_score == pytest.approx(mpe(model).log_score)


class TestDecoding:
    def test_where_beliefs_are_tied_neighbours_are_chosen_together(self):
        ring = [([i, (i + 1) % 12], 0.1 + 0.9 * EQUAL) for i in range(12)]
        found = mpe(graph_of((2,) * 12, ring), method="loopy")
        assert found.log_score == pytest.approx(0.0, abs=1e-12)

    @pytest.mark.parametrize("method", ["tree_reweighted", "loopy"])
    @pytest.mark.parametrize("seed", range(8))
    def test_rules_on_a_tree_are_decoded(self, method, seed):
        rng, graph = np.random.default_rng(seed), FactorGraph()
        bits = [graph.variable(i, 2) for i in range(9)]
        graph.parity(bits[:6])
        graph.at_most_one(bits[5:])
        for bit in bits:
            graph.factor([bit], rng.uniform(0.2, 1.0, 2))
        found = mpe(graph, method=method)
        assert list(found.states) == list(range(9))
        assert found.log_score == pytest.approx(mpe(graph).log_score)


class TestAuto:
    @pytest.mark.parametrize(
        ("model", "budget", "engine"),
        [
            (frustrated(0, 3), "4GB", "junction_tree"),
            (graph_of((3,) * 500, [([i, i + 1], EQUAL_3) for i in range(499)]), "4GB",
             "junction_tree"),
            (attractive(25, 25), "4GB", "graph_cut"),
            (attractive(10, 10), "1kB", "graph_cut"),
            (graph_of(*random_tree(1)), 10, "tree_reweighted"),
        ],
        ids=["small", "large, no cut", "large, cut", "over budget, cut", "over budget, proven"],
    )  # fmt: skip
    def test_what_is_proven_is_not_warned_of(self, model, budget, engine):
        found = mpe(model, budget=budget)
        assert found.engine == engine
        assert found.is_exact
        assert found.log_score == pytest.approx(mpe(model, method="tree_reweighted").log_score)

    def test_a_gap_is_warned_of_and_shown_unless_the_method_was_asked_for(self):
        model = frustrated(3, 3, 6, 6)
        with pytest.warns(ApproximationWarning, match="budget of 1kB.* at most .* below") as caught:
            found = mpe(model, budget="1kB", sweeps=50)
        assert caught[0].filename == __file__
        assert found.log_score <= mpe(model).log_score <= found.bound
        assert found.gap == found.bound - found.log_score > 0
        assert not found.is_exact
        assert f", gap={found.gap:.3g})" in repr(found)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert not mpe(model, method="tree_reweighted", sweeps=50).is_exact

    def test_a_configuration_that_is_impossible_is_said_to_be(self):
        ring = [([i, (i + 1) % 5], UNEQUAL) for i in range(5)]
        with pytest.warns(ApproximationWarning, match="found no configuration of pos") as caught:
            found = mpe(graph_of((2,) * 5, ring), budget=8)
        assert caught[0].filename == __file__
        assert found.log_score == -math.inf

    def test_a_large_model_that_allows_nothing_is_named_as_such(self):
        zeros = [([0, 1], EQUAL), ([0], [1.0, 0.0]), ([1], [0.0, 1.0])]
        with pytest.raises(InputError, match="mpe: the model allows no configuration at all"):
            mpe(graph_of((2,) * 500, zeros))


@pytest.mark.parametrize(
    ("method", "options", "match"),
    [
        ("graph_cut", {"restarts": 3}, "has no option 'restarts'. It has none.*of 'icm'"),
        ("tree_reweighted", {"sweeps": 0}, "sweeps of tree_reweighted must"),
        ("tree_reweighted", {"tolerance": -1e-3}, "tolerance of tree_reweighted must"),
        ("icm", {"sweeps": 0}, "sweeps of icm must"),
        ("icm", {"restarts": -1}, "restarts of icm must"),
        ("icm", {"forests": 0.5}, "forests of icm must"),
        ("icm", {"start": "best"}, "start of icm must be 'single', 'random' or states"),
        *(("icm", {"start": start}, "start of icm must have one state, as a number from zero")
          for start in ([0, 1, 0], [0, 2], [-1, 0], [0.5, 0])),
        *((method, {"seed": -1}, "seed of mpe must")
          for method in ("icm", "loopy", "tree_reweighted", "auto")),
    ],
)  # fmt: skip
def test_options_that_mean_nothing_are_refused(method, options, match):
    with pytest.raises(InputError, match=match):
        mpe(graph_of((2, 2), [([0, 1], np.ones((2, 2)))]), method=method, **options)


class TestConfigurations:
    def test_made_by_hand_nothing_is_known_of_others(self):
        found = Configuration({"a": 1}, -2.0, ("a",))
        assert (found.bound, found.gap, found.is_exact) == (None, math.inf, False)
        assert repr(found) == "Configuration({'a': 1}, log_score=-2, tied: 'a')"
        assert repr(mpe(attractive(3, 3), method="icm")).endswith(", gap=inf)")

    def test_exact_answers_are_their_own_bound(self):
        model = frustrated(1, 2)
        best = max_marginals(model).best
        for answer in (mpe(model), best, marginal_map(model, [1, 2]), *k_best(model, 3)):
            assert (answer.engine, answer.is_exact, answer.gap) == ("junction_tree", True, 0.0)
            assert answer.bound == answer.log_score

    def test_a_bound_within_rounding_proves_the_score(self):
        assert Configuration({}, 1e6, (), 1e6 + 1e-8, "tree_reweighted").is_exact
        near = Configuration({}, 1e6, (), 1e6 + 1e-4, "tree_reweighted")  # another may be better
        assert not near.is_exact
        assert near.gap == pytest.approx(1e-4, rel=1e-3)
