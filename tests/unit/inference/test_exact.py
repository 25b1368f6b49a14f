"""Exact answers: by hand, of any range, joints and draws, plans, budgets, compiled trees."""

import collections
import copy
import itertools
import math
import pickle  # noqa: TID251 - the way to another process, not a model file
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given
from scipy import stats
from scipy.special import logsumexp, softmax
from tests.models import graph, sprinkler, star, steps
from tests.oracles import elimination as oracle
from tests.oracles.joint import Joint
from tests.properties.random_graphs import cases
from tests.work import bytes_in, calls_in

import credo
from credo.exceptions import BudgetError, ImpossibleEvidence, InputError, LabelError, NumericalError
from credo.graphs import BayesianNetwork, MarkovNetwork
from credo.inference.question import as_bytes, as_text

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

        assert peak(8_000) < 2.5 * peak(4_000) < 100 * 4_000 * 25 * 8

    def test_many_findings_take_calls_in_proportion_to_the_steps(self):
        def answers(n):
            evidence = {f"x{i}": i % 2 for i in range(0, n, 2)}
            return credo.infer(steps(n), evidence, method="junction_tree").to_dict()

        assert calls_in(answers, 4000) < 2.2 * calls_in(answers, 2000)
        assert answers(4000)["x2"] == {0: 1.0, 1: 0.0}


class TestTheResult:
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

    def test_posteriors_that_contradict_each_other_are_said_to(self):
        with pytest.raises(NumericalError, match="may contradict each other"):
            credo.infer(pair(np.eye(2, 3)), jeffrey={"a": [0.2, 0.8], "b": [0.9, 0.1, 0.0]})

    def test_what_is_impossible_is_refused(self):
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


N = 20_000


class TestJoint:
    def test_of_a_wide_table_is_summed_in_logs(self):
        wide = ("ab", [[0.0, -5000.0], [-5000.0, -9000.0]])
        model = graph("abc", wide, ("bc", [[-5000.0, -np.inf], [-np.inf, 0.0]]), log=True)
        joint = credo.infer(model).joint(["c", "a"])
        np.testing.assert_allclose(joint.table, [[0.5, 0.0], [0.5, 0.0]], rtol=1e-10)

    def test_nothing_one_twice_or_unknown_is_refused(self):
        post = credo.infer(steps(3))
        for names, error, words in [
            ([], InputError, "joint needs"),
            (["x0", "x0"], InputError, "'x0' twice"),
            (["x99"], LabelError, "x99"),
            ("x99", LabelError, "x99"),
            (7, InputError, "list of names"),
        ]:
            with pytest.raises(error, match=words):
                post.joint(names)


def assert_frequencies(draws, probabilities, n=N):
    """Every cell within the binomial bounds that one run in a million of cells leaves."""
    counts = collections.Counter(zip(*draws.values(), strict=True))
    for place, p in np.ndenumerate(probabilities):
        low, high = stats.binom.interval(1 - 1e-6, n, p)
        assert low <= counts.pop(place, 0) <= high
    assert not counts


class TestDraws:
    @pytest.mark.parametrize(
        ("evidence", "likelihood"), [({}, {}), ({1: {0, 2}, 0: 0}, {3: [0.2, 1.0, 3.0]})]
    )
    def test_whole_configurations_are_as_frequent_as_they_are_probable(self, evidence, likelihood):
        rng = np.random.default_rng(5)
        sizes = [2, 3, 2, 3]
        pairs = [(i, (i + 1) % 4) for i in range(4)]
        tables = [rng.random((sizes[i], sizes[j])) for i, j in pairs]
        tables = [np.where(table < 0.3, 0.0, table) for table in tables]
        model = graph(dict(enumerate(sizes)), *zip(pairs, tables, strict=True))
        draws = credo.infer(model, evidence, likelihood=likelihood).sample(N, random_state=1)
        left = Joint.of(model).given(evidence, likelihood)
        assert_frequencies(draws, left.joint(left.names))

    def test_where_scaled_arithmetic_would_lose_a_state(self):
        evidence = {f"leaf{i}": int(i >= 200) for i in range(400)}
        draws = credo.infer(star(400), evidence).sample(2000, random_state=4)
        assert_frequencies({"centre": draws["centre"]}, np.array([0.5, 0.5]), 2000)

    def test_all_variables_come_in_order_whatever_the_query(self):
        draws = credo.infer(sprinkler(), {"wet": "yes"}, query=["rain"]).sample(7, random_state=0)
        assert list(draws) == ["rain", "sprinkler", "wet"]
        assert draws["wet"] == ["yes"] * 7
        assert set(draws["rain"]) <= {"no", "yes"}

    def test_are_others_by_another_seed_and_the_same_by_a_generator(self):
        post = credo.infer(steps(30))
        assert post.sample(50, random_state=3) != post.sample(50, random_state=4)
        again = np.random.default_rng(3)
        assert post.sample(50, random_state=again) == post.sample(50, random_state=3)

    @pytest.mark.parametrize("n", [-1, 2.5, "many"])
    def test_counts_must_be_whole_and_not_negative(self, n):
        with pytest.raises(InputError, match="sample"):
            credo.infer(sprinkler()).sample(n)


def ring(n=6):
    """A ring of variables of two and three states in turn."""
    rng = np.random.default_rng(n)
    sizes = {i: 2 + i % 2 for i in range(n)}
    pairs = [(i, (i + 1) % n) for i in range(n)]
    return graph(sizes, *[((i, j), rng.uniform(0.1, 2.0, (sizes[i], sizes[j]))) for i, j in pairs])


def cycle(n, k):
    ones = [([i, (i + 1) % n], np.ones((k, k))) for i in range(n)]
    return graph(dict.fromkeys(range(n), k), *ones)


def lattice(rows, columns):
    sites = [(i, j) for i in range(rows) for j in range(columns)]
    right = [((i, j), (i, j + 1)) for i, j in sites if j + 1 < columns]
    down = [((i, j), (i + 1, j)) for i, j in sites if i + 1 < rows]
    return graph(sites, *[(pair, np.ones((2, 2))) for pair in right + down])


def hub(n):
    """The first variable joined to all others."""
    edges = [[0, i] for i in range(1, n)]
    return MarkovNetwork.from_arrays(np.full((n, 2), 0.5), edges, [[2.0, 1.0], [1.0, 3.0]])


def collider():
    """Two causes, an effect, and what the effect leads to."""
    net = BayesianNetwork()
    for name, k in (("cause", 3), ("other", 2), ("effect", 4), ("trace", 2)):
        net.variable(name, k)
    net.cpt("cause", table=[0.2, 0.3, 0.5])
    net.cpt("other", table=[0.4, 0.6])
    net.cpt("effect", given=["cause", "other"], table=np.full((3, 2, 4), 0.25))
    net.cpt("trace", given=["effect"], table=np.full((4, 2), 0.5))
    return net


NOTHING = {"n_variables": 0, "order": (), "largest_clique": (), "n_bytes": 0, "width": 0}

#: A model, what is asked, and what the plan says.
PLANS = {
    "a chain of three has two cliques of four cells": (steps(3), {},
        {"engine": "junction_tree", "width": 1, "largest_table": 4, "n_bytes": 8 * 8,
         "n_variables": 3, "n_pruned": 0,
         "multiplications": 3 * 4 + 2 * 4}),  # three factors, and a message there and back
    "a cycle needs triangles": (cycle(6, 3), {},
        {"width": 2, "largest_table": 27, "n_bytes": 8 * 4 * 27}),
    "a grid is as wide as it is narrow": (lattice(5, 40), {}, {"width": 5}),
    "a collider marries its parents": (collider(), {},
        {"width": 2, "largest_table": 24, "n_bytes": 8 * (24 + 8)}),
    "evidence cuts tables": (collider(), {"evidence": {"effect": 1}},
        {"width": 1, "largest_table": 6, "n_pruned": 1}),
    "barren children are left out": (collider(), {"query": ["other"]},
        {"n_variables": 1, "largest_table": 2, "n_pruned": 3}),
    "an observed child is needed": (collider(), {"evidence": {"trace": 0}, "query": ["other"]},
        {"n_variables": 3, "largest_table": 24}),
    "weights on a child make it needed": (collider(),
        {"query": ["other"], "likelihood": {"trace": [0.2, 0.9]}}, {"n_variables": 4}),
    "all is observed": (steps(2), {"evidence": {"x0": 0, "x1": 1}}, NOTHING),
    "no variables": (graph(""), {}, NOTHING),
    "nothing asked for": (steps(2), {"query": []}, NOTHING),
    "variables that no table mentions": (graph({"a": 2, "b": 2, "c": 3}, ("a", [0.5, 0.5])),
        {"evidence": {"a": 0}}, {"n_variables": 2, "multiplications": 0}),
    "leaves of a star first": (hub(5), {"order": [1, 2, 3, 4, 0]}, {"largest_table": 4}),
    "the hub first": (hub(5), {"order": range(5)}, {"largest_table": 32, "order": (*range(5),)}),
}  # fmt: skip


class TestCounts:
    @pytest.mark.parametrize("case", PLANS)
    def test_are_those_counted_by_hand(self, case):
        model, question, said = PLANS[case]
        plan = credo.plan(model, **question)
        assert {name: getattr(plan, name) for name in said} == said
        assert "estimated time" in str(plan)

    def test_the_largest_clique_is_named_and_evidence_separates(self):
        assert set(credo.plan(collider()).largest_clique) == {"cause", "other", "effect"}
        plan = credo.plan(steps(100), {"x50": 0}, ["x70"])
        assert plan.n_variables <= 50
        assert "x10" not in plan.order

    @given(case=cases("tables"))
    def test_are_those_of_eliminating_sets(self, case):
        plan = credo.plan(case.model)
        order = [case.names.index(name) for name in plan.order]
        assert sorted(order) == list(range(len(case.sizes)))
        largest, cells, _, width = oracle.cost(case.sizes, case.scopes, order)
        assert (plan.width, plan.n_bytes) == (width, 8 * cells)
        assert plan.largest_table == pytest.approx(2**largest, rel=1e-12)
        named = frozenset(case.names.index(name) for name in plan.largest_clique)
        assert oracle.cells_of(case.sizes, named) == pytest.approx(2**largest, rel=1e-12)
        assert not order or named in oracle.cliques(len(case.sizes), case.scopes, order)
        if case.joint.is_possible:
            followed = credo.infer(case.model).plan
            assert (followed.order, followed.n_bytes) == (plan.order, plan.n_bytes)


class TestAGivenOrder:
    @pytest.mark.parametrize("method", ["junction_tree", "elimination"])
    def test_does_not_change_the_answer(self, method):
        usual = credo.infer(hub(5), {4: 1}, method=method)
        for order in ([1, 2, 3, 4, 0], [0, 1, 2, 3, 4]):
            post = credo.infer(hub(5), {4: 1}, method=method, order=order)
            for name in usual:
                got = post.probabilities(name)
                np.testing.assert_allclose(got, usual.probabilities(name), rtol=1e-13)

    def test_may_leave_out_what_is_asked_for_and_nothing_else(self):
        post = credo.infer(steps(3), {"x2": 0}, query=["x0"], order=["x1"])
        usual = credo.infer(steps(3), {"x2": 0}).probabilities("x0")
        np.testing.assert_allclose(post.probabilities("x0"), usual, rtol=1e-14)
        with pytest.raises(InputError, match="The order leaves out 'x1', which the answer needs"):
            credo.infer(steps(3), order=["x0", "x2"])
        with pytest.raises(InputError, match="The order of infer names 'x0' twice"):
            credo.infer(steps(3), order=["x0", "x0", "x1", "x2"])
        even = graph("abcd")
        even.parity(list("abcd"))
        with pytest.raises(InputError, match="auxiliary variables that have no name"):
            credo.infer(even, order=list("abcd"))


class TestFollowing:
    """``infer(plan=...)`` runs what ``plan`` printed."""

    @pytest.mark.parametrize(
        "question",
        [{}, {"query": [3]}, {"evidence": {0: 1}}, {"evidence": {0: 1}, "query": [2, 4]}],
    )
    def test_the_plan_itself_is_followed(self, question):
        for order in (None, [0, 2, 4, 1, 3, 5], [5, 4, 3, 2, 1, 0]):
            made = credo.plan(ring(), order=order, **question)
            model = made.question.model
            post = credo.infer(model, plan=made, **question)
            assert post.plan is made
            wanted = credo.infer(model, method="enumeration", **question)
            for name in wanted:
                np.testing.assert_allclose(post.probabilities(name), wanted.probabilities(name))
            assert post.log_evidence == pytest.approx(wanted.log_evidence, abs=1e-12)

    @pytest.mark.parametrize("query", [None, [1], [1, 5]])
    def test_states_and_weights_may_differ(self, query):
        model = ring()
        order = [5, 4, 3, 2, 1, 0]
        made = credo.plan(model, {0: 1}, query, likelihood={3: [1, 2, 3]}, order=order)
        likelihood = {3: [0.5, 0.1, 0.2]}
        post = credo.infer(model, {0: 0}, query=query, likelihood=likelihood, plan=made)
        assert (post.plan.engine, post.plan.order) == (made.engine, made.order)
        wanted = credo.infer(model, {0: 0}, query=query, likelihood=likelihood)
        for name in wanted:
            np.testing.assert_allclose(post.probabilities(name), wanted.probabilities(name))

    @pytest.mark.parametrize(
        ("question", "difference"),
        [
            ({"evidence": {0: 1, 1: 0}}, "evidence on 0, not 0, 1"),
            ({"evidence": {}}, "evidence on 0, not nothing"),
            ({"evidence": {0: 1}, "likelihood": {2: [1, 2]}}, "a likelihood of nothing, not 2"),
            ({"evidence": {0: 1}, "query": [2]}, "a query of everything, not 2"),
        ],
    )
    def test_another_question_is_refused(self, question, difference):
        model = ring()
        with pytest.raises(InputError, match=f"made for {difference}. Call credo.plan again"):
            credo.infer(model, plan=credo.plan(model, {0: 1}), **question)

    def test_another_model_is_refused(self):
        with pytest.raises(InputError, match="another model: only one of the two has 5"):
            credo.infer(ring(5), plan=credo.plan(ring(6)))
        other = ring().copy()
        other.factor([0, 3], np.ones((2, 3)))
        with pytest.raises(InputError, match="another model: it has other factors"):
            credo.infer(other, plan=credo.plan(ring()))

    @pytest.mark.parametrize(
        ("more", "error", "match"),
        [
            ({"method": "junction_tree"}, InputError, "Leave out method='junction_tree'"),
            ({"order": [0, 1]}, InputError, "Leave out order"),
            ({"jeffrey": {0: [0.5, 0.5]}}, InputError, "Leave out jeffrey"),
            ({"method": "loopy"}, InputError, "plan needs an exact method"),
            ({"plan": "junction_tree"}, InputError, "must be one of credo.plan. Got str"),
            ({"budget": 8}, BudgetError, "the budget is 8"),
        ],
    )
    def test_what_it_decides_is_not_asked_for_again(self, more, error, match):
        model = ring()
        with pytest.raises(error, match=match):
            credo.infer(model, **{"plan": credo.plan(model), **more})


def random_ring(n=8, k=3, seed=0):
    rng = np.random.default_rng(seed)
    pairs = [([i, (i + 1) % n], rng.random((k, k)) + 0.05) for i in range(n)]
    return graph(dict.fromkeys(range(n), k), *pairs)


def bits(post):
    """All beliefs, to the last bit."""
    return [x.hex() for name in post for x in post.probabilities(name).tolist()]


class TestStructure:
    @given(case=cases("tables"))
    def test_is_a_tree_of_maximal_cliques_with_running_intersections(self, case):
        tree = credo.JunctionTree(case.model)
        cliques = [frozenset(clique) for clique in tree.cliques]
        assert len(cliques) == len(tree.parents) == len(tree.separators)
        assert all(p is None or p > i for i, p in enumerate(tree.parents))
        for scope in case.scopes:
            assert any({case.names[v] for v in scope} <= clique for clique in cliques)
        order = [case.names.index(name) for name in tree.plan.order]
        expected = oracle.maximal(oracle.cliques(len(case.sizes), case.scopes, order))
        assert len(cliques) == len(expected)
        assert set(cliques) == {frozenset(case.names[v] for v in each) for each in expected}
        for i, (p, separator) in enumerate(zip(tree.parents, tree.separators, strict=True)):
            shared = frozenset() if p is None else cliques[i] & cliques[p]
            assert frozenset(separator) == shared
        for name in case.names:  # the cliques that hold a variable hang together
            holding = [i for i, clique in enumerate(cliques) if name in clique]
            assert len([i for i in holding if tree.parents[i] not in holding]) == 1

    def test_is_linear_where_the_model_is(self):
        tree = credo.JunctionTree(star(2000))
        assert len(tree.cliques) == 2000
        assert all(len(clique) == 2 for clique in tree.cliques)
        assert sum(map(len, credo.JunctionTree(steps(3000)).separators)) == 2998

    def test_auxiliaries_of_rules_are_not_shown(self):
        model = graph(range(6))
        model.parity(range(6))
        tree = credo.JunctionTree(model)
        assert {name for clique in tree.cliques for name in clique} == set(range(6))

    def test_is_shown_and_copied_whole(self):
        tree = credo.JunctionTree(random_ring(6))
        assert repr(tree) == "<JunctionTree: 4 cliques, 864 B>"
        other = pickle.loads(pickle.dumps(tree))  # noqa: S301 - our own
        assert other.cliques == tree.cliques
        assert bits(other.infer({3: 1})) == bits(tree.infer({3: 1}))
        assert credo.JunctionTree(graph("")).cliques == ()


class TestQuestions:
    def test_answers_repeat_to_the_last_bit_after_evidence_of_every_kind(self):
        tree = credo.JunctionTree(random_ring())
        before = bits(tree.infer())
        first = bits(tree.infer({0: 1}))
        tree.infer({3: {0, 2}}, likelihood={5: [0.1, 0.0, 4.0]})
        tree.infer(jeffrey={2: [0.2, 0.2, 0.6], 6: [0.5, 0.25, 0.25]})
        with pytest.raises(InputError):
            tree.infer({0: 1}, likelihood={0: [1.0, 0.0, 0.0]})
        assert bits(tree.infer()) == before
        assert bits(tree.infer({0: 1})) == first

    def test_an_earlier_answer_does_not_change_with_a_later_question(self):
        tree = credo.JunctionTree(sprinkler())
        first = tree.infer({"wet": "yes"})
        before = first.to_dict(), first.log_evidence
        tree.infer({"wet": "no", "rain": "yes"})
        assert (first.to_dict(), first.log_evidence) == before
        joint = first.joint(["rain", "sprinkler"])
        assert joint[{"rain": "yes", "sprinkler": "no"}] == pytest.approx(0.3533, abs=5e-5)
        assert first.sample(3, random_state=0)["wet"] == ["yes"] * 3

    def test_two_threads_that_ask_the_same_tree_get_what_one_gets(self):
        tree = credo.JunctionTree(steps(300, [0.2] * 5, np.full((5, 5), 0.1) + np.eye(5) * 0.5))
        questions = [{f"x{i}": i % 5, f"x{(7 * i) % 300}": {0, i % 5}} for i in range(1, 60)]
        alone = [bits(tree.infer(question)) for question in questions]
        with ThreadPoolExecutor(2) as pool:
            together = list(pool.map(lambda question: bits(tree.infer(question)), questions * 2))
        assert together == alone * 2


def complete(n):
    pairs = itertools.combinations([f"v{i}" for i in range(n)], 2)
    return graph([f"v{i}" for i in range(n)], *[(pair, np.ones((2, 2))) for pair in pairs])


def gate(n=16):
    net = BayesianNetwork()
    for i in range(n):
        net.variable(i, 2)
        net.cpt(i, table=[0.5, 0.5])
    net.variable("sum", 2)
    net.cpt("sum", given=list(range(n)), table=np.full((2,) * (n + 1), 0.5))
    return net


def refused(question, *arguments, **options):
    """Ask a question that must be refused at little cost; return the message."""
    messages = []

    def ask():
        with pytest.raises(BudgetError) as caught:
            question(*arguments, **options)
        messages.append(str(caught.value))

    assert bytes_in(ask) < 60e6
    assert messages[0] == messages[1]
    return messages[0]


class TestRefusal:
    def test_a_complete_graph_of_forty_needs_eight_terabytes(self):
        forty = complete(40)
        efforts = {"exact": 0.0, "elimination": 0.5, "junction_tree": 0.0, "enumeration": 0.5}
        said = [refused(credo.infer, forty, method=m, effort=e) for m, e in efforts.items()]
        assert all(word in said[0] for word in ("query", "evidence", "budget", "loopy"))
        for message in (*said, refused(credo.JunctionTree, forty, effort=0.0)):
            assert "8.8 TB" in message or "17.6 TB" in message

    def test_a_kilobyte_holds_a_hundred_and_twenty_five_cells(self):
        fits, larger = (steps(n, [0.2] * 5, np.full((5, 5), 0.2)) for n in (6, 7))
        assert credo.infer(fits, budget="1kB", method="junction_tree").plan.n_bytes == 1000
        assert credo.infer(fits, budget=1000, method="junction_tree").status == "EXACT"
        with pytest.raises(BudgetError, match="1.2 kB.*the budget is 1kB"):
            credo.infer(larger, budget="1kB", method="junction_tree")
        with pytest.raises(BudgetError, match="budget is 1000"):
            credo.JunctionTree(fits, budget=1000)

    def test_what_evidence_or_a_query_makes_small_is_answered(self):
        evidence = {f"v{i}": 0 for i in range(20)}
        post = credo.infer(complete(30), evidence, budget="1MB", effort=0.0)
        assert post.probabilities("v29")[0] == 0.5
        post = credo.infer(gate(), query=[3], budget="1kB")
        assert post.probabilities(3)[0] == 0.5
        with pytest.raises(BudgetError, match="sample"):
            post.sample(1)
        with pytest.raises(BudgetError):
            credo.infer(gate(), {"sum": 1}, query=[3], method="exact", budget="1kB")

    def test_trees_are_counted(self):
        plan = credo.plan(steps(5000))
        assert plan.engine == "tree"
        with pytest.raises(BudgetError, match="for messages and marginals; the budget is 1kB"):
            credo.infer(steps(5000), method="exact", budget="1kB")
        assert credo.infer(steps(5000), budget=plan.n_bytes)["x0"].is_single

    @pytest.mark.parametrize("seen", [0, 40])
    def test_joints_are_counted_of_observed_variables_too(self, seen):
        post = credo.infer(steps(40), {f"x{i}": 0 for i in range(seen)})
        assert refused(post.joint, [f"x{i}" for i in range(40)]).startswith("joint needs")
        with pytest.raises(InputError, match="joint needs"):
            credo.infer(steps(70), {f"x{i}": 0 for i in range(70)}).joint(steps(70).names)

    def test_draws_are_counted(self):
        post = credo.infer(steps(100), budget="1MB")
        with pytest.raises(BudgetError, match="sample needs 1.6 GB for 1000000 draws"):
            post.sample(1_000_000)

    def test_tables_that_factors_share_are_not_copied_before_the_check(self):
        k = 600
        ring = MarkovNetwork.from_arrays(
            np.full((3, k), 1.0 / k), [[0, 1], [1, 2], [2, 0]], np.full((k, k), 1.0)
        )
        ring.compile()

        def ask():
            with pytest.raises(BudgetError, match="The factors alone take 8.65 MB"):
                credo.infer(ring, budget="1MB", method="junction_tree")

        assert bytes_in(ask) < 2e6


class TestWriting:
    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            *[("4GB", 4e9), ("500 MiB", 500 * 2**20), (" 1.5kb ", 1500), ("12", 12), ("12 B", 12)],
            *[("2tb", 2e12), (7, 7), (2.5e9, 2.5e9), (np.int64(9), 9), (0, 0)],
            *[(None, float("inf")), (float("inf"), float("inf"))],
        ],
    )
    def test_is_read(self, text, expected):
        assert as_bytes(text, "infer") == expected

    @pytest.mark.parametrize(
        "text",
        ["", "GB", "4 G", "-1GB", "1e9", "4GB!", "four", "1,5GB", -1, float("nan"), True, [1], {}],
        ids=repr,
    )
    def test_is_refused_where_it_makes_no_sense(self, text):
        with pytest.raises(InputError, match="budget of infer must be bytes or text"):
            as_bytes(text, "infer")

    def test_sizes_are_written_for_people(self):
        texts = {0: "0 B", 12: "12 B", 1200: "1.2 kB", 4.4e12: "4.4 TB", 1e18: "1e+03 PB"}
        assert [as_text(size) for size in texts] == list(texts.values())
