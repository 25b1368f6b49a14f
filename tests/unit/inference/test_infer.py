"""``infer`` on models whose answers are known by hand, at the edges, and Jeffrey's rule."""

import copy
import itertools
import math
import pickle  # noqa: TID251 - the way to another process, not a model file

import numpy as np
import pytest
from scipy.special import logsumexp, softmax
from tests.models import graph, sprinkler, star, steps
from tests.work import bytes_in, calls_in

import credo
from credo.exceptions import ImpossibleEvidence, InputError, LabelError, NumericalError
from credo.graphs import BayesianNetwork, MarkovNetwork

METHODS = ["auto", "junction_tree", "elimination", "enumeration", "tree", "JunctionTree"]
every_method = pytest.mark.parametrize("method", METHODS)


def ask(model, evidence=None, *, method, query=None, **options):
    """Ask by a method, or a tree that is compiled first and always asked for everything."""
    if method == "JunctionTree":
        return credo.JunctionTree(model).infer(evidence, **options)
    return credo.infer(model, evidence, method=method, query=query, **options)


def shared_tables():
    """A ring whose three edges share one table in logs, and the log of its sum."""
    logs = np.array([[300.0, 299.0], [298.0, 300.5]])
    edges = [[0, 1], [1, 2], [2, 0]]
    ring = MarkovNetwork.from_arrays(np.zeros((3, 2)), edges, logs, log=True)
    sums = [logs[a, b] + logs[b, c] + logs[c, a] for a, b, c in itertools.product((0, 1), repeat=3)]
    return ring, 900.0 + math.log(sum(math.exp(each - 900.0) for each in sums))


PAIR = ("ab", [[1.0, 2.0], [3.0, 4.0]])
WET = 0.2 * (0.99 * 0.8 + 0.01 * 0.99), 0.8 * 0.4 * 0.9  # with rain and without
DAMP = 0.1 * 0.2 + 0.6 * WET[0], 0.1 * 0.8 + 0.6 * WET[1]
ARRAYS = ([[1.0, 2.0], [1.0, 1.0], [3.0, 1.0]], [[0, 1]], [[2.0, 1.0], [1.0, 2.0]])
#: A model, what is asked, beliefs and the log of the evidence.
BY_HAND = {
    "the sprinkler explains wet grass": (sprinkler(), {"evidence": {"wet": "yes"}},
        {"rain": [WET[1] / sum(WET), WET[0] / sum(WET)], "wet": [0.0, 1.0]}, math.log(sum(WET))),
    "a likelihood of a child that is not asked for counts": (sprinkler(),
        {"likelihood": {"wet": {"no": 0.1, "yes": 0.7}}, "query": ["rain"]},
        {"rain": [DAMP[1] / sum(DAMP), DAMP[0] / sum(DAMP)]}, math.log(sum(DAMP))),
    "equal factors all count": (graph("a", *[("a", [1.0, 2.0])] * 3), {},
        {"a": [1 / 9, 8 / 9]}, math.log(9)),
    "a variable without factors is uniform": (graph({"a": 2, "b": 2, "alone": 3}, PAIR), {},
        {"alone": [1 / 3] * 3}, math.log(30)),
    "no variables at all": (graph(""), {}, {}, 0.0),
    "everything observed": (graph("ab", PAIR), {"evidence": {"a": 1, "b": 0}},
        {"a": [0, 1], "b": [1, 0]}, math.log(3)),
    "nothing asked for": (graph("ab", PAIR), {"evidence": {"a": 1}, "query": []}, {}, math.log(7)),
    "parts that the query does not touch count": (
        graph({"a": 2, "b": 2, "c": 3, "d": 5}, PAIR, ("c", [1.0, 2.0, 4.0])), {"query": ["b"]},
        {"b": [0.4, 0.6]}, math.log(10 * 7 * 5)),
    "states that no factor mentions": (
        graph(dict.fromkeys("abc", 3), ("b", [1.0, 2.0, 3.0]), ("c", [1.0, 2.0, 3.0])),
        {"evidence": {"a": {0, 1}}, "query": ["b"]},
        {"b": [1 / 6, 1 / 3, 1 / 2]}, math.log(2 * 36)),
    "states and a likelihood of them multiply": (graph({"v": 3}, ("v", [0.5, 0.3, 0.2])),
        {"evidence": {"v": [0, 1]}, "likelihood": {"v": [0.2, 0.5, 0.9]}},
        {"v": [0.4, 0.6, 0.0]}, math.log(0.25)),
    "a Markov network of arrays": (MarkovNetwork.from_arrays(*map(np.array, ARRAYS)),
        {"evidence": {2: 0}}, {0: [1 / 3, 2 / 3]}, math.log(3 * (2 + 1 + 2 + 4))),
    "the size of a table counts for each edge": (shared_tables()[0], {}, {}, shared_tables()[1]),
}  # fmt: skip
LOOPS = [*list(BY_HAND)[:2], list(BY_HAND)[-1]]
LOGS = [[-900.0, 0.0], [5.0], [-2000.0, -np.inf, -2001.0], [300.0, 301.0, -500.0, 300.0]]


def late(*, turned):
    """Both ends speak for the first state by 660 powers of ten, the rest by 700 against."""
    ends = {
        i: [([i], [1.0, 1e-165])] * 2 if i in (0, 8) else [([i], [1e-100, 1.0])] for i in range(9)
    }
    unary = [each for i in (range(9)[::-1] if turned else range(9)) for each in ends[i]]
    return graph(range(9), *[([i, i + 1], np.eye(2)) for i in range(8)], *unary)


def sized(size):
    """A chain of twelve with potentials of one size."""
    nodes = [([i], [size, 3 * size]) for i in range(12)]
    return graph(range(12), *nodes, *[([i, i + 1], np.full((2, 2), size)) for i in range(11)])


NARROW = ("ab", [[1.0, 3.0], [1.0, 1.0]])
STEEP = ("a", [0.0, -1e4, -2e4]), ("ab", [[-np.inf, -np.inf, -1e4]] + [[0.0, -np.inf, -np.inf]] * 2)
BELOW = graph("a", ("a", [0.0, -5000.0]), log=True)
#: The same where numbers would underflow or overflow on the way.
OF_ANY_RANGE = {
    "logs of any range": (
        graph({i: len(row) for i, row in enumerate(LOGS)},
              *[([i], row) for i, row in enumerate(LOGS)], log=True), {},
        {i: softmax(row) for i, row in enumerate(LOGS)}, sum(map(logsumexp, LOGS))),
    "the only term that survives was tiny before": (
        graph("a", *[("a", [1.0, 1e-200])] * 2, *[("a", [1e-50, 1.0])] * 9), {},
        {"a": [1e-50, 1.0]}, -400 * math.log(10)),
    "a term that is lost early wins late": (late(turned=False), {},
        {i: [1e-40, 1.0] for i in range(9)}, -660 * math.log(10)),
    "and backward": (late(turned=True), {},
        {i: [1e-40, 1.0] for i in range(9)}, -660 * math.log(10)),
    "large potentials": (sized(1e300), {},
        {5: [0.25, 0.75]}, 23 * math.log(1e300) + 12 * math.log(4)),
    "small potentials": (sized(1e-300), {},
        {5: [0.25, 0.75]}, 23 * math.log(1e-300) + 12 * math.log(4)),
    "large weights": (graph("ab", NARROW), {"likelihood": {"a": [1e300] * 2, "b": [1e300] * 2}},
        {"a": [2 / 3, 1 / 3]}, 2 * math.log(1e300) + math.log(6)),
    "small weights": (graph("ab", NARROW), {"likelihood": {"a": [1e-300] * 2, "b": [1e-300] * 2}},
        {"a": [2 / 3, 1 / 3]}, 2 * math.log(1e-300) + math.log(6)),
    "logs that span ten thousand": (graph({"a": 3, "b": 3}, *STEEP, log=True), {},
        {"a": [0.5, 0.5, 0.0], "b": [0.5, 0.0, 0.5]}, -1e4 + math.log(2)),
    "a state that only logs can tell from impossible": (BELOW, {"evidence": {"a": 1}},
        {"a": [0.0, 1.0]}, -5000.0),
    "weights of such a state": (BELOW, {"likelihood": {"a": [0.0, 0.5]}},
        {"a": [0.0, 1.0]}, -5000.0 + math.log(0.5)),
}  # fmt: skip


def assert_answers(case, method, rtol):
    model, asked, beliefs, log_evidence = case
    post = ask(model, **asked, method=method)
    assert post.log_evidence == pytest.approx(log_evidence, rel=1e-14, abs=1e-14)
    assert str(post.plan).startswith("engine")
    for name, expected in beliefs.items():
        np.testing.assert_allclose(post.probabilities(name), expected, rtol=rtol)


@every_method
class TestAnswers:
    @pytest.mark.parametrize("case", BY_HAND)
    def test_by_hand(self, case, method):
        if method == "tree" and case in LOOPS:
            with pytest.raises(InputError, match="cycle"):
                ask(BY_HAND[case][0], method=method)
            return
        assert_answers(BY_HAND[case], method, 1e-14)

    @pytest.mark.parametrize("case", OF_ANY_RANGE)
    def test_neither_underflow_nor_overflow_nor_a_term_lost_on_the_way(self, case, method):
        assert_answers(OF_ANY_RANGE[case], method, 1e-12)

    @pytest.mark.parametrize(("n", "belief"), [(401, [0.01, 0.99]), (2000, [0.5, 0.5])])
    def test_a_star_with_balanced_evidence_is_decided_by_one_leaf(self, n, belief, method):
        seen = {f"leaf{i}": int(i >= n // 2) for i in range(n)}
        post = ask(star(n), seen, method=method)
        np.testing.assert_allclose(post.probabilities("centre"), belief, rtol=1e-9)
        expected = n // 2 * (math.log(0.99) + math.log(0.01)) - n % 2 * math.log(2)
        assert post.log_evidence == pytest.approx(expected, rel=1e-12)


def test_max_marginals_of_logs_have_any_range():
    scores = credo.max_marginals(OF_ANY_RANGE["logs of any range"][0])
    for i, row in enumerate(LOGS):
        below = scores.log_values(i) - scores.best.log_score
        np.testing.assert_allclose(below, np.array(row) - max(row), rtol=1e-12)


class TestWork:
    def test_a_large_table_that_the_query_does_not_need_is_not_filled(self):
        net = BayesianNetwork()
        for i in range(22):
            net.variable(f"r{i}", 2)
            net.cpt(f"r{i}", table=[0.25, 0.75])
        net.variable("or", 2)
        net.cpt("or", given=[f"r{i}" for i in range(20)], table=np.full((2,) * 20 + (2,), 0.5))
        post = credo.infer(net, query=["r0", "r21"])
        np.testing.assert_allclose(post.probabilities("r0"), [0.25, 0.75], rtol=1e-14)
        assert post.plan.largest_table <= 2

    def test_memory_is_linear_in_the_length_and_in_the_square_of_the_states(self):
        def peak(n):
            model = steps(n, [0.2] * 5, np.full((5, 5), 0.2))
            model.compile()
            return bytes_in(credo.infer, model, {"x0": 1})

        assert peak(20_000) < 2.5 * peak(10_000) < 100 * 10_000 * 25 * 8

    def test_many_findings_take_calls_in_proportion_to_the_steps(self):
        def answers(n):
            evidence = {f"x{i}": i % 2 for i in range(0, n, 2)}
            return credo.infer(steps(n), evidence, method="junction_tree").to_dict()

        assert calls_in(answers, 4000) < 2.2 * calls_in(answers, 2000)
        assert answers(4000)["x2"] == {0: 1.0, 1: 0.0}

    def test_a_query_may_be_as_long_as_there_are_variables(self):
        n = 4000
        assert len(credo.infer(steps(n), query=[f"x{i}" for i in range(n)]).to_dict()) == n


class TestTheResult:
    def test_is_the_same_whether_asked_by_name_or_by_variable(self):
        model = graph("ab", PAIR)
        post = credo.infer(model, {model["a"]: 0}, query=[model["b"]])
        np.testing.assert_allclose(post.probabilities(model["b"]), [1 / 3, 2 / 3], rtol=1e-14)
        assert "b" in post
        assert model["b"] in post
        assert not any(name in post for name in ("a", "no such"))

    def test_survives_pickling_and_copying(self):
        post = credo.infer(steps(4), {"x3": 1})
        for again in (pickle.loads(pickle.dumps(post)), copy.deepcopy(post)):  # noqa: S301
            assert again["x0"] == post["x0"]
            assert not again.question.wiring.values.flags.writeable
        long = credo.infer(steps(3000))
        assert long.engine == "tree"
        assert pickle.loads(pickle.dumps(long))["x0"] == long["x0"]  # noqa: S301

    def test_a_marginal_is_made_once(self):
        post = credo.infer(steps(3))
        assert post["x1"] is post["x1"]
        with pytest.raises(InputError, match="no variable"):
            post[["x1"]]


class TestNoEvidence:
    """Conditional tables sum to one, so the probability of no evidence is one to the last bit."""

    def nets(self):
        rng = np.random.default_rng(3)
        net = BayesianNetwork()
        for v in range(8):
            net.variable(v, 3)
            given = list(range(max(0, v - 2), v))
            net.cpt(v, given=given, table=rng.dirichlet([1, 1, 1], [3] * len(given)))
        gates = BayesianNetwork()
        for name in "abc":
            gates.variable(name, 2)
        gates.cpt("a", table=[0.3, 0.7])
        gates.cpt("b", table=[0.1, 0.9])
        gates.noisy_or("c", {"a": 0.3, "b": 0.2})
        return net, gates

    @every_method
    def test_it_is_certain(self, method):
        for net in [steps(4)] if method == "tree" else self.nets():
            assert ask(net, method=method).log_evidence == 0.0
            some = ask(net, query=list(net.names)[:1], method=method)
            assert some.probability_of_evidence == 1.0

    def test_with_jeffreys_rule_and_in_rows_too(self):
        assert credo.infer(steps(4), jeffrey={"x0": [0.2, 0.8]}).log_evidence == 0.0
        for net in self.nets():
            found = credo.infer_many(net, [{}, {net.names[0]: 1}, {}]).log_evidence
            assert found[0] == found[2] == 0.0 > found[1]

    def test_evidence_is_counted(self):
        assert credo.infer(steps(4), likelihood={"x0": [0.5, 0.5]}).log_evidence < -0.6


TABLE = np.array([[0.1, 0.2, 0.1], [0.3, 0.1, 0.2]])


def pair(table=TABLE):
    return graph({"a": ["no", "yes"], "b": 3}, ("ab", table))


class TestJeffreysRule:
    """Posteriors that variables must have, against likelihoods, which multiply."""

    def test_is_not_the_likelihood_of_the_same_numbers(self):
        likelihood = credo.infer(pair(), likelihood={"a": [0.9, 0.1]})
        expected = np.array([0.4 * 0.9, 0.6 * 0.1])
        got = likelihood.probabilities("a")
        np.testing.assert_allclose(got, expected / expected.sum(), rtol=1e-14)
        assert likelihood.log_evidence == pytest.approx(np.log(expected.sum()), rel=1e-13)
        post = credo.infer(pair(), jeffrey={"a": {"yes": 0.1, "no": 0.9}})
        np.testing.assert_allclose(post.probabilities("a"), [0.9, 0.1], rtol=1e-14)

    def test_certainty_is_evidence(self):
        sure = credo.infer(pair(), jeffrey={"a": [0.0, 1.0]})
        seen = credo.infer(pair(), {"a": "yes"})
        np.testing.assert_allclose(sure.probabilities("b"), seen.probabilities("b"), rtol=1e-13)

    def test_on_an_observed_variable_may_only_repeat_what_was_seen(self):
        post = credo.infer(pair(), {"a": "yes"}, jeffrey={"a": [0.0, 1.0]})
        np.testing.assert_array_equal(post.probabilities("a"), [0.0, 1.0])
        with pytest.raises(ImpossibleEvidence, match="positive probability of a = no"):
            credo.infer(pair(), {"a": "yes"}, jeffrey={"a": [0.5, 0.5]})

    @pytest.mark.parametrize("query", [None, ["rain"]])
    def test_the_log_evidence_is_that_of_the_evidence(self, query):
        options = {"jeffrey": {"rain": [0.1, 0.9]}, "query": query}
        post = credo.infer(sprinkler(), {"wet": "yes"}, **options)
        assert post.log_evidence == pytest.approx(math.log(sum(WET)), rel=1e-12)

    @pytest.mark.parametrize("method", ["auto", "JunctionTree"])
    def test_several_variables_have_their_posteriors_and_the_odds_ratios_stay(self, method):
        wanted = {"a": [0.2, 0.8], "b": [0.5, 0.25, 0.25]}
        post = ask(pair(), jeffrey=wanted, method=method)
        for name, q in wanted.items():
            np.testing.assert_allclose(post.probabilities(name), q, rtol=0, atol=1e-11)

        def odds_ratios(table):
            return table[0, :-1] * table[1, 1:] / (table[0, 1:] * table[1, :-1])

        joint = post.joint(["a", "b"]).table
        np.testing.assert_allclose(odds_ratios(joint), odds_ratios(TABLE), rtol=1e-10)
        assert post.log_evidence == pytest.approx(0.0, abs=1e-10)

    def test_posteriors_that_contradict_each_other_are_said_to(self):
        with pytest.raises(NumericalError, match="may contradict each other"):
            credo.infer(pair(np.eye(2, 3)), jeffrey={"a": [0.2, 0.8], "b": [0.9, 0.1, 0.0]})

    @pytest.mark.parametrize(
        ("given", "match"),
        [
            ([0.5, 0.6], "must sum to one"),
            ([1.0], "one weight per state"),
            ([-0.5, 1.5], "at least 0"),
            ([np.nan, 1.0], "finite|NaN"),
            ({"no": 1.0}, "lack the state 'yes'"),
        ],
    )
    def test_what_is_no_distribution_is_refused(self, given, match):
        with pytest.raises(InputError, match=match):
            credo.infer(pair(), jeffrey={"a": given})

    def test_what_is_no_mapping_or_impossible_is_refused(self):
        with pytest.raises(InputError, match="jeffrey"):
            credo.infer(pair(), jeffrey=[0.5, 0.5])
        model = pair([[0.1, 0.2, 0.0], [0.3, 0.4, 0.0]])
        with pytest.raises(ImpossibleEvidence, match="b = 2") as caught:
            credo.infer(model, jeffrey={"b": [0.5, 0.25, 0.25]})
        assert caught.value.conflict == {"b": 2}


class TestRefusals:
    def test_sets_have_no_order_and_are_refused_where_order_matters(self):
        net = steps(3)
        net.variable("new", 2)
        for call in (
            lambda names: net.cpt("new", given=names, table=np.full((2, 2, 2), 0.5)),
            lambda names: credo.infer(steps(3), query=names),
            credo.infer(steps(3)).joint,
        ):
            with pytest.raises(InputError, match="must be a list of names, in order"):
                call({"x0", "x1"})
        with pytest.raises(LabelError, match="has no state 'pp'"):  # the same one each time
            credo.infer(steps(2), {"x0": {"rr", "pp", "qq"}})

    @pytest.mark.parametrize("bad", [{"effort": -1}, {"effort": "x"}, {"seed": -1}, {"seed": 1.5}])
    def test_options_of_the_search_are_checked(self, bad):
        for door in (credo.infer, credo.plan, credo.JunctionTree):
            with pytest.raises(InputError, match=f"The {next(iter(bad))} of {door.__name__}"):
                door(steps(3), **bad)
