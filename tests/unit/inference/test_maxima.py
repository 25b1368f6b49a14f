"""The best configurations: exact ones, those of other engines of mpe, and minimum cuts."""

import itertools
import math
import warnings

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.sparse.csgraph import maximum_flow
from tests.models import graph, grid_edges
from tests.oracles import maxima as oracle
from tests.oracles.joint import Joint

from credo import k_best, marginal_map, max_marginals, mpe
from credo.exceptions import ApproximationWarning, BudgetError, InputError, LabelError
from credo.graphs import BayesianNetwork, FactorGraph, MarkovNetwork, chain
from credo.inference import Configuration
from credo.inference.maxima.graph_cut import minimum_cut


def graph_of(shape, factors):
    return graph(dict(enumerate(shape)), *factors)


def joint_of(shape, factors):
    return Joint.numbered(shape, factors, log=False)


def asia():
    """The chest clinic of Lauritzen and Spiegelhalter (1988)."""
    net = BayesianNetwork()
    for name in ("asia", "tub", "smoke", "lung", "bronc", "either", "xray", "dysp"):
        net.variable(name, ["yes", "no"])
    net.cpt("asia", table=[0.01, 0.99])
    net.cpt("tub", ["asia"], table=[[0.05, 0.95], [0.01, 0.99]])
    net.cpt("smoke", table=[0.5, 0.5])
    net.cpt("lung", ["smoke"], table=[[0.1, 0.9], [0.01, 0.99]])
    net.cpt("bronc", ["smoke"], table=[[0.6, 0.4], [0.3, 0.7]])
    net.cpt("either", ["lung", "tub"], table=[[[1, 0], [1, 0]], [[1, 0], [0, 1]]])
    net.cpt("xray", ["either"], table=[[0.98, 0.02], [0.05, 0.95]])
    net.cpt("dysp", ["bronc", "either"], table=[[[0.9, 0.1], [0.8, 0.2]], [[0.7, 0.3], [0.1, 0.9]]])
    return net


def pair(table):
    return graph(dict(zip("ab", np.shape(table), strict=True)), ("ab", table))


def parity(n, *factors):
    model = graph(range(n), *factors)
    model.parity(range(n))
    return model


def fever():
    net = BayesianNetwork()
    for name in ("cold", "flu", "fever"):
        net.variable(name, ["no", "yes"])
    net.cpt("cold", table=[0.7, 0.3])
    net.cpt("flu", table=[0.9, 0.1])
    net.noisy_or("fever", {"cold": 0.4, "flu": 0.9}, leak=0.01)
    return net


def shuffled(largest):
    """The same numbers in another order for the two states of a."""
    weights = np.random.default_rng(8).uniform(1e-6, 1.0, 60) * largest
    twos = zip(weights, weights[::-1], strict=True)
    return graph("ab", *[("ab", [[one, one / 2], [two, two / 2]]) for one, two in twos])


FOUR = [[1, 2], [3, 4]]
NEAR = [[1.0, 1.0 - 1e-12], [1.0, 1.0 - 1e-12]]
TWICE = [("ab", [[0.6, 0.4], [0.4, 0.6]])] * 2
WIDE = [("a", [-2000.0, -1.0]), ("ab", [[0.0, -5000.0], [-np.inf, -3000.0]])]
BITS = [*[([i], [0.2, 0.8]) for i in range(5)], ([3], [0.9, 0.1])]
PATIENT = ["yes", "no", "yes", "no", "yes", "no", "no", "yes"]
LINE = graph(range(6), *[(two, [[1.0, 0.1], [0.1, 1.0]]) for two in itertools.pairwise(range(6))])

#: A model, evidence, the states, what is tied, and the log of the score or None.
BEST = {
    "the chest clinic": (asia(), {"dysp": "yes", "asia": "yes"},
        dict(zip(asia().names, PATIENT, strict=True)), (),
        math.log(0.01 * 0.95 * 0.5 * 0.9 * 0.6 * 0.95 * 0.8)),
    "equal factors count twice": (graph("ab", *TWICE, ("a", [1, 2])), {},
        {"a": 1, "b": 1}, (), math.log(0.6 * 0.6 * 2)),
    "nothing": (graph(""), {}, {}, (), 0.0),
    "all observed": (pair(FOUR), {"a": 1, "b": 0}, {"a": 1, "b": 0}, (), math.log(3)),
    "separate parts": (graph({"a": 2, "b": 2, "c": 3}, ("ab", FOUR), ("c", [1, 5, 2])), {},
        {"a": 1, "b": 1, "c": 1}, (), math.log(20)),
    "logs of any size": (graph("ab", *WIDE, log=True), {}, {"a": 0, "b": 0}, (), -2000.0),
    "a rule, its helpers not shown": (parity(5, *BITS), {},
        {0: 1, 1: 1, 2: 1, 3: 0, 4: 1}, (), math.log(0.8**4 * 0.2 * 0.9)),
    "a noisy gate": (fever(), {"fever": "yes"},
        {"cold": "yes", "flu": "no", "fever": "yes"}, (), math.log(0.3 * 0.9 * (1 - 0.99 * 0.6))),
    "equal by hand, not in float64": (
        graph("ab", ("a", [0.3, 0.1]), ("ab", [[0.3, 0.1], [0.2, 0.9]])), {},
        {"a": 0, "b": 0}, ("a", "b"), None),
    "the same numbers shuffled": (shuffled(1.0), {}, {"a": 0, "b": 0}, ("a",), None),
    "large ones shuffled": (shuffled(1e9), {}, {"a": 0, "b": 0}, ("a",), None),
    "tiny ones shuffled": (shuffled(1e-300), {}, {"a": 0, "b": 0}, ("a",), None),
    "a near miss beside a tie": (
        graph("abc", ("ab", NEAR), ("bc", [[1.0 - 1e-12, 1.0], [1.0, 1.0]])), {},
        {"a": 0, "b": 0, "c": 1}, ("a",), None),
    "a difference that float64 can see": (pair([[1.0, 0.0], [0.0, 1.0 - 1e-13]]), {},
        {"a": 0, "b": 0}, (), 0.0),
    "those that follow a tied one": (LINE, {}, dict.fromkeys(range(6), 0), (*range(6),), 0.0),
    "until it is seen": (LINE, {3: 1}, dict.fromkeys(range(6), 1), (), 0.0),
    "no factor": (graph({"a": 2, "b": 2, "alone": 3}, ("ab", FOUR)), {},
        {"a": 1, "b": 1, "alone": 0}, ("alone",), math.log(4)),
    "one state is never tied": (pair([[2, 2]]), {}, {"a": 0, "b": 0}, ("b",), math.log(2)),
    "several largest": (pair([[3, 1, 3], [0, 3, 2]]), {},
        {"a": 0, "b": 0}, ("a", "b"), math.log(3)),
}  # fmt: skip


@pytest.mark.filterwarnings("ignore::credo.exceptions.ExpansionWarning")
class TestBest:
    @pytest.mark.parametrize("case", BEST)
    def test_states_score_and_ties(self, case):
        model, evidence, states, tied, score = BEST[case]
        scores = max_marginals(model, evidence)
        for best in (mpe(model, evidence), scores.best, k_best(model, 1, evidence)[0]):
            assert best.states == states
            if score is not None:
                assert best.log_score == pytest.approx(score, rel=1e-14)
        for best in (mpe(model, evidence), scores.best):
            assert (best.tied, best.ties) == (tied, bool(tied))
        for name in scores:
            assert scores.log_values(name).max() == pytest.approx(best.log_score, rel=1e-14)
            twice = np.isclose(scores.log_values(name), best.log_score, rtol=1e-14, atol=1e-14)
            assert (twice.sum() > 1) == (name in tied)

    @pytest.mark.parametrize(
        ("evidence", "score"),
        [
            *[
                ({}, -1.2366269421),
                ({"dysp": "no"}, -1.2366269421),
                ({"bronc": "no"}, -1.2366269421),
            ],
            ({"either": "no", "smoke": "yes"}, -1.60387083739),
        ],
    )
    def test_the_chest_clinic_has_the_maximum_of_another_program(self, evidence, score):
        assert mpe(asia(), evidence).log_score == pytest.approx(score, abs=1e-11)

    @pytest.mark.parametrize("block", range(1))
    def test_on_coarse_tables_and_dense_cliques_ties_are_those_of_all_written_out(self, block):
        tied = 0
        for seed in range(60 * block, 60 * block + 60):
            rng = np.random.default_rng(seed)
            shape, factors = oracle.random_factors(rng) if seed % 10 else oracle.dense_factors(rng)
            model = graph(dict(enumerate(shape)), *factors)
            evidence = {v: int(rng.integers(k)) for v, k in enumerate(shape) if rng.random() < 0.15}
            states = {v: range(k) for v, k in enumerate(shape)}
            left = Joint.product(states, factors).given(evidence)
            some = rng.permutation(len(shape))[: int(rng.integers(len(shape) + 1))].tolist()
            if not left.is_possible:
                continue
            for found, names in (
                (mpe(model, evidence), None),
                (max_marginals(model, evidence).best, None),
                (marginal_map(model, some, evidence), some),
            ):
                score, states, ties = left.tops(names)
                assert found.states in states
                assert found.log_score == pytest.approx(score, rel=1e-12, abs=1e-12)
                assert found.tied == ties
                tied += found.ties
        assert tied > 20


class TestResults:
    def test_states_are_found_by_name_by_variable_and_by_numpy_number(self):
        field = MarkovNetwork.from_arrays(
            np.array([[1.0, 2.0], [3.0, 1.0]]), [[0, 1]], np.ones((2, 2))
        )
        best = mpe(field)
        assert (best[0], best[np.int64(1)], best[field[1]]) == (1, 0, 0)
        assert (1 in best, 2 in best, list(best)) == (True, False, [0, 1])
        scores = max_marginals(field)
        assert (1 in scores, field[0] in scores, 2 in scores) == (True, True, False)

    def test_an_unknown_name_is_refused_with_the_nearest_one(self):
        for ask in (mpe(asia()).__getitem__, max_marginals(asia()).log_values):
            with pytest.raises(LabelError, match="Did you mean 'smoke'?"):
                ask("smoek")
        with pytest.raises(LabelError, match="configuration has no variable .'smoke'.. Known"):
            mpe(asia())[["smoke"]]

    def test_max_marginals_of_rules_are_those_of_their_variables(self):
        scores = max_marginals(parity(6, ([4], [0.2, 0.8])), {0: 1})
        assert list(scores) == [0, 1, 2, 3, 4, 5]
        assert scores[0] == pytest.approx({0: -math.inf, 1: math.log(0.8)})
        assert scores[4] == pytest.approx({0: math.log(0.2), 1: math.log(0.8)})
        assert scores[5] == pytest.approx({0: math.log(0.8), 1: math.log(0.8)})

    def test_the_text_shows_a_few_states_the_score_and_the_ties(self):
        shown = "Configuration({'a': 1, 'b': 0}, log_score=1.09861)"
        assert repr(mpe(pair([[1, 2], [3, 1]]))) == shown
        assert "(8 in all)}, log_score=" in repr(mpe(asia()))
        assert repr(mpe(pair([[2, 2], [2, 2]]))).endswith("tied: 'a', 'b')")
        assert repr(max_marginals(pair([[1]]))) == "<MaxMarginals: 2 variables, best score 0>"

    def test_a_gate_too_large_to_be_written_out_is_refused_in_few_words(self):
        net = BayesianNetwork()
        causes = [net.variable(i, 2) for i in range(2000)]
        net.variable("alarm", 2)
        net.noisy_or("alarm", dict.fromkeys(causes, 0.1))
        for cause in causes:
            net.cpt(cause, table=[0.9, 0.1])
        with pytest.raises(
            InputError, match=r"has 2\^2001 cells as a table; at most 2\^24"
        ) as caught:
            mpe(net)
        assert len(str(caught.value)) < 400


def dice(n):
    """Fair dice: every throw is as good as every other."""
    return graph(dict.fromkeys(range(n), 6), *[([i], np.ones(6)) for i in range(n)])


class TestTheKBest:
    def test_all_configurations_are_found_once_and_no_more(self):
        found = k_best(dice(3), 10_000)
        throws = {tuple(best.states.values()) for best in found}
        assert throws == set(itertools.product(range(6), repeat=3))
        assert {best.log_score for best in found} == {0.0}
        assert [best.states for best in k_best(graph(""), 5)] == [{}]

    def test_scores_never_rise_where_products_are_equal_but_for_rounding(self):
        rng = np.random.default_rng(0)
        for _ in range(60):
            unary = [([v], rng.choice([0.1, 0.2, 0.3, 0.6, 0.7], 2)) for v in range(5)]
            pairs = [([v, v + 1], rng.choice([0.1, 0.2, 0.3, 0.6, 0.7], (2, 2))) for v in range(4)]
            scores = [found.log_score for found in k_best(graph(range(5), *unary, *pairs), 32)]
            assert (np.diff(scores) <= 0).all()

    def test_the_second_best_path_of_a_long_chain_is_one_change_away(self):
        """Two states that prefer to stay, seen exactly but for one doubtful step."""
        likelihood = np.log(np.tile([0.9, 0.1], (20_000, 1)))
        likelihood[777] = np.log([0.6, 0.4])
        model = chain([0.5, 0.5], [[0.6, 0.4], [0.4, 0.6]], log_likelihood=likelihood)
        first, second = k_best(model, 2)
        assert [name for name in first if first[name] != second[name]] == ["x777"]
        lost = math.log(0.6 / 0.4) + 2 * math.log(0.6 / 0.4)
        assert first.log_score - second.log_score == pytest.approx(lost, abs=1e-9)

    def test_more_than_fits_the_budget_is_refused(self):
        with pytest.raises(BudgetError, match="1000000000 configurations of 40 free variables"):
            k_best(dice(40), 10**9)


class TestMarginalMap:
    def test_children_that_nobody_asks_for_are_left_out(self):
        """Forty leaves of one cause, all pairs of them with a child: too much, and not needed."""
        net = BayesianNetwork()
        net.variable("cause", 2)
        net.cpt("cause", table=[0.3, 0.7])
        for i in range(40):
            net.variable(i, 2)
            net.cpt(i, ["cause"], table=[[0.9, 0.1], [0.2, 0.8]])
        for two in itertools.combinations(range(40), 2):
            net.variable(two, 2)
            net.cpt(two, list(two), table=np.full((2, 2, 2), 0.5))
        best = marginal_map(net, ["cause", 0], budget="1MB")
        assert best.states == {"cause": 1, 0: 1}
        assert math.exp(best.log_score) == pytest.approx(0.7 * 0.8)

    def test_noisy_gates_are_summed_without_being_written_out(self):
        net = BayesianNetwork()
        causes = [f"cause {i}" for i in range(40)]
        for name in causes:
            net.variable(name, ["no", "yes"])
            net.cpt(name, table=[0.99, 0.01])
        net.variable("alarm", ["no", "yes"])
        net.noisy_or("alarm", dict.fromkeys(causes[1:], 0.3) | {causes[0]: 0.95}, leak=0.001)
        best = marginal_map(net, [causes[0], causes[1]], {"alarm": "yes"})
        silent = 0.999 * 0.997**38
        none = math.log(0.99 * 0.99 * (1 - silent))
        assert none > math.log(0.01 * 0.99 * (1 - silent * 0.05))
        assert best.states == {causes[0]: "no", causes[1]: "no"}
        assert best.log_score == pytest.approx(none, rel=1e-12)

    def test_a_long_chain_does_not_underflow(self):
        """Only the ends are asked for: the rest is a product of matrices."""
        transition = np.array([[0.7, 0.3], [0.2, 0.8]])
        seen = np.log(np.tile([0.02, 0.01], (5000, 1)))
        model = chain([0.6, 0.4], transition, log_likelihood=seen)
        weights = np.array([0.6, 0.4])[:, None] * np.diag([0.02, 0.01])
        log_scale = 0.0
        for _ in range(4999):
            weights = weights @ transition * [0.02, 0.01]
            log_scale += math.log(weights.sum())
            weights /= weights.sum()
        best = marginal_map(model, ["x0", "x4999"])
        assert tuple(best.states.values()) == np.unravel_index(np.argmax(weights), (2, 2))
        assert best.log_score == pytest.approx(log_scale + math.log(weights.max()), rel=1e-12)

    def test_sums_before_maxima_can_need_more_memory_and_that_is_said(self):
        """Summing a chain of 12 hidden variables out ties its 12 leaves together."""
        emission = [[0.9, 0.1], [0.1, 0.9]]
        model = chain([0.5, 0.5], [[0.9, 0.1], [0.2, 0.8]], emission=emission, length=12)
        assert len(mpe(model, budget="1kB")) == 24
        said = "marginal_map needs .* The largest clique has 1[23] var"
        with pytest.raises(BudgetError, match=said):
            marginal_map(model, [f"y{t}" for t in range(12)], budget="1kB")


#: Sums of at most some twenty logs, none larger than ten.
CLOSE = 1e-11
EQUAL, EQUAL_3, UNEQUAL = np.eye(2), 1 + np.eye(3), 1 - np.eye(2)
unwarned = pytest.mark.filterwarnings("ignore::credo.exceptions.ApproximationWarning")


def grid_of(rows, columns, n_states, table, seed=0):
    """A grid of random weights, and of tables (edges, states, states) that a function makes."""
    rng = np.random.default_rng(seed)
    edges = grid_edges(rows, columns)
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


class TestCuts:
    @pytest.mark.parametrize("flipped", [False, True])
    def test_the_cut_of_an_attractive_field_is_its_best_configuration(self, flipped):
        for seed in range(120):
            shape, factors = oracle.random_field(np.random.default_rng(seed), flipped=flipped)
            model, left = graph_of(shape, factors), joint_of(shape, factors)
            if not left.is_possible:
                with pytest.raises(InputError, match="allows no configuration at all"):
                    mpe(model, method="graph_cut")
                continue
            largest, best, tied = left.tops()
            found = mpe(model, method="graph_cut")
            assert found.states in best, seed
            assert found.log_score == pytest.approx(largest, abs=CLOSE), seed
            assert found.log_score <= found.bound <= largest + CLOSE
            assert found.tied == tied, seed
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
        with pytest.raises(InputError, match="'auxiliary 6'"):
            mpe(parity(6), method="graph_cut")


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

    @pytest.mark.parametrize("tree", [*map(random_tree, range(10)), wide_tree(), large_tree()])
    def test_trees_are_solved_in_one_sweep(self, tree):
        model, gaps = graph_of(*tree), []
        options = {"sweeps": 1, "callback": lambda _, gap: gaps.append(gap)}
        found, wanted = mpe(model, method="tree_reweighted", **options), mpe(model)
        assert gaps == pytest.approx([0.0], abs=1e-12 * len(tree[0]))  # before any move
        assert found.states == wanted.states
        assert found.log_score == wanted.log_score
        assert found.bound == pytest.approx(wanted.log_score, rel=1e-13)

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


class TestMoves:
    @unwarned
    def test_icm_is_never_worse_than_its_start_and_no_single_change_helps(self):
        for seed in range(60):
            rng = np.random.default_rng(seed)
            shape, factors = oracle.random_factors(rng) if seed % 10 else oracle.dense_factors(rng)
            model, logs = graph_of(shape, factors), joint_of(shape, factors).logs
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

    def test_the_sweeps_can_run_out(self):
        n = 30
        factors = [([i + 1, i], np.array([[1.0, 0.1], [0.1, 1.0]])) for i in range(n - 1)]
        factors += [([i], [1.0, 1.2]) for i in range(n - 1)]
        model = graph_of((2,) * n, [*factors, ([n - 1], [1.0, 50.0])])
        found = mpe(model, method="icm", start=[0] * n, sweeps=3)  # the last one moves first
        assert places(found) == (0,) * (n - 3) + (1,) * 3
        assert places(mpe(model, method="icm", start=[0] * n)) == (1,) * n

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
        ("icm", {"start": "best"}, "start of icm must be 'single', 'random', 'annealed' or states"),
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

    def test_a_bound_within_rounding_proves_the_score(self):
        assert Configuration({}, 1e6, (), 1e6 + 1e-8, "tree_reweighted").is_exact
        near = Configuration({}, 1e6, (), 1e6 + 1e-4, "tree_reweighted")  # another may be better
        assert not near.is_exact
        assert near.gap == pytest.approx(1e-4, rel=1e-3)


def exp_graph(shape, factors):
    return graph(dict(enumerate(shape)), *factors, log=True)


class TestMaxima:
    @staticmethod
    def clique(seed, size=6, strength=2.0):
        """Variables of two states, each pair bound at random: no cut solves it."""
        rng = np.random.default_rng(seed)
        pairs = itertools.combinations(range(size), 2)
        factors = [((v,), rng.normal(size=2)) for v in range(size)]
        return [*factors, *((pair, strength * rng.normal(size=(2, 2))) for pair in pairs)]

    def test_above_the_budget_the_better_of_two_engines_answers(self):
        better = set()
        for seed in (0, 3, 12):
            model = exp_graph([2] * 9, self.clique(seed, 9, 6.0))
            scores = [mpe(model, method=m).log_score for m in ("tree_reweighted", "loopy")]
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ApproximationWarning)
                found = mpe(model, budget="1B")
            assert found.log_score == pytest.approx(max(scores), abs=1e-9)
            better.add(round(scores[0] - scores[1], 6) > 0)
        assert better == {True, False}


@pytest.mark.parametrize("block", range(2))
def test_the_cut_is_the_least_of_all_written_out(block):
    for seed in range(100 * block, 100 * block + 100):
        network = oracle.random_network(np.random.default_rng(seed))
        least, best = oracle.least_cuts(*network)
        cut = minimum_cut(*network)
        if least >= 10**30:
            assert cut.value == cut.flow == np.inf, seed
            continue
        assert cut.value == cut.flow == least, seed
        assert tuple(cut.side > 0) in best, seed
        assert tuple(cut.side >= 0) in best, seed
        differing = [len({nodes[i] for nodes in best}) > 1 for i in range(len(cut.side))]
        assert (cut.side == 0).tolist() == differing, seed


@pytest.mark.parametrize("seed", range(2))
def test_the_flow_is_that_of_another_program(seed):
    rng = np.random.default_rng(seed)
    n, edges = 400, grid_edges(20, 20)
    source, sink = rng.integers(0, 30, (2, n))
    there, back = rng.integers(0, 9, (2, len(edges)))
    tail = np.concatenate([np.full(n, n), np.arange(n), edges[:, 0], edges[:, 1]])
    head = np.concatenate([np.arange(n), np.full(n, n + 1), edges[:, 1], edges[:, 0]])
    sizes = np.concatenate([source, sink, there, back]).astype(np.int32)
    wanted = maximum_flow(csr_array((sizes, (tail, head)), shape=(n + 2, n + 2)), n, n + 1)
    source, sink, there, back = (x.astype(float) for x in (source, sink, there, back))
    cut = minimum_cut(source, sink, edges, there, back)
    assert cut.flow == cut.value == wanted.flow_value


@pytest.mark.parametrize("scale", [1e-310, 1e-200, 1e200])
def test_capacities_of_any_size_are_cut(scale):
    ones, edges = np.full(1, scale), np.array([[0, 1]])
    ends = np.array([[3.0, 0.0], [0.0, 2.0]]) * scale
    cut = minimum_cut(*ends, edges, ones, ones)
    assert cut.side.tolist() == [1, -1]
    assert cut.flow == cut.value == scale


def test_without_nodes_or_edges_there_is_nothing_to_cut():
    none, no_edges, one = np.empty(0), np.empty((0, 2), np.int64), np.ones(1)
    assert minimum_cut(none, none, no_edges, none, none).value == 0.0
    cut = minimum_cut(np.array([1.0, 0, 0]), np.array([0, 1.0, 0]), no_edges, none, none)
    assert cut.side.tolist() == [1, -1, 0]
    loop = np.zeros((1, 2), np.int64)  # from a node to itself: costs nothing
    assert minimum_cut(one, 2 * one, loop, one, one).value == 1.0
