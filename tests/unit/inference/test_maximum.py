"""``mpe``, ``max_marginals``, ``k_best`` and ``marginal_map``: what they hold and refuse."""

import itertools
import math

import numpy as np
import pytest
from tests.models import graph
from tests.oracles import maxima as oracle
from tests.oracles.joint import Joint

from credo import k_best, marginal_map, max_marginals, mpe
from credo.exceptions import BudgetError, InputError, LabelError
from credo.graphs import BayesianNetwork, MarkovNetwork, chain


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

    @pytest.mark.parametrize("block", range(3))
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

    def test_max_marginals_cannot_be_written_to(self):
        values = max_marginals(asia(), {"dysp": "yes"})
        for name in ("smoke", "dysp"):
            with pytest.raises(ValueError, match="read-only"):
                values.log_values(name)[0] = 0.0

    def test_the_same_question_has_the_same_answer_whatever_the_seed_and_asks_change_nothing(self):
        rng = np.random.default_rng(7)
        edges = [(i, j) for i in range(12) for j in range(i) if rng.random() < 0.3]
        field = MarkovNetwork.from_arrays(
            rng.uniform(0.1, 1.0, (12, 3)),
            np.array(edges),
            rng.uniform(0.1, 1.0, (len(edges), 3, 3)),
        )
        first = mpe(field)
        mpe(field, {0: 1}, likelihood={1: [0.1, 0.9, 1.0]})
        others = [*(mpe(field, seed=seed) for seed in (0, 1)), *k_best(field, 1)]
        for other in (*others, marginal_map(field, range(12))):
            assert (other.states, other.log_score) == (first.states, first.log_score)

    @pytest.mark.parametrize("seed", ["x", -1, 1.5])
    def test_a_seed_that_is_no_whole_number_is_refused(self, seed):
        with pytest.raises(InputError, match="seed of mpe"):
            mpe(asia(), seed=seed)

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

    def test_of_many_they_are_the_best_sums_of_one_number_of_each_list(self):
        lists = np.random.default_rng(3).uniform(0.1, 1.0, (6, 4))
        model = graph(dict.fromkeys(range(6), 4), *[([i], row) for i, row in enumerate(lists)])
        sums = sorted((math.fsum(row) for row in itertools.product(*np.log(lists))), reverse=True)
        found = [best.log_score for best in k_best(model, 300)]
        np.testing.assert_allclose(found, sums[:300], rtol=1e-12)

    def test_the_second_best_path_of_a_long_chain_is_one_change_away(self):
        """Two states that prefer to stay, seen exactly but for one doubtful step."""
        likelihood = np.log(np.tile([0.9, 0.1], (20_000, 1)))
        likelihood[777] = np.log([0.6, 0.4])
        model = chain([0.5, 0.5], [[0.6, 0.4], [0.4, 0.6]], log_likelihood=likelihood)
        first, second = k_best(model, 2)
        assert [name for name in first if first[name] != second[name]] == ["x777"]
        lost = math.log(0.6 / 0.4) + 2 * math.log(0.6 / 0.4)
        assert first.log_score - second.log_score == pytest.approx(lost, abs=1e-9)

    @pytest.mark.parametrize("k", [0, -1, 2.0, True, "3"], ids=repr)
    def test_a_count_that_is_no_positive_whole_number_is_refused(self, k):
        with pytest.raises(InputError, match="must be a whole number of at least one"):
            k_best(dice(1), k)

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
