"""Messages on trees, through ``pass_messages`` and the tree engine of ``infer``."""

import math
from itertools import pairwise

import numpy as np
import pytest
from tests.models import graph
from tests.oracles.joint import Joint

import credo
from credo.exceptions import ImpossibleEvidence, InputError, LabelError
from credo.inference.messages import is_tree

NAMES = ["a", "b", "c", "d", "e"]


def model_of(sizes, factors, *, log=False, names=None):
    """Build a graph of factors, (places, table) each, named after their own places."""
    names = [*range(len(sizes))] if names is None else names
    each = [([names[v] for v in scope], t, f"factor {f}") for f, (scope, t) in enumerate(factors)]
    return graph(dict(zip(names, sizes, strict=True)), *each, log=log)


def random_tree(rng, *, n=7, zeros=0.0, join=0.85):
    """Draw a forest of factors of any arity, unary ones included; give states and log factors."""
    sizes = rng.integers(1, 4, n).tolist()
    order = rng.permutation(n).tolist()
    scopes, placed = [], [order.pop()]
    while order:
        new = [order.pop() for _ in range(min(int(rng.integers(1, 4)), len(order)))]
        hook = [placed[int(rng.integers(len(placed)))]] if rng.random() < join else []
        scopes.append([int(v) for v in rng.permutation(hook + new)])
        placed += new
    scopes += [[int(v)] for v in rng.integers(0, n, 4)]
    factors = []
    for i in rng.permutation(len(scopes)):
        table = np.asarray(rng.normal(0.0, 2.0, [sizes[v] for v in scopes[i]]))
        if zeros:
            table = np.where(rng.random(table.shape) < zeros, -np.inf, table)
            table.flat[rng.integers(table.size)] = 0.0
        factors.append((scopes[i], table))
    return sizes, factors


def linear(factors):
    return [(scope, np.exp(table)) for scope, table in factors]


def whole(message):
    return message.values * np.exp(message.log_scale)


def beliefs(passed):
    return np.concatenate([[*belief.values()] for belief in passed.beliefs.values()])


def random_evidence(rng, sizes):
    some = [rng.choice(len(sizes), int(rng.integers(0, 3)), replace=False).tolist() for _ in "ab"]
    seen = {v: int(rng.integers(sizes[v])) for v in some[0]}
    return seen, {v: rng.uniform(0.1, 3.0, sizes[v]) for v in some[1]}


def left_of(sizes, factors, seen=None, soft=None):
    """The joint table that evidence leaves of log factors."""
    states = {v: range(k) for v, k in enumerate(sizes)}
    return Joint.product(states, factors, log=True).given(seen, soft)


def assert_exact(passed, left, *, maximum=False, rtol=1e-11, rel=1e-12):
    log_z = left.top if maximum else left.log_sum
    each = [np.exp(left.largest(v) - left.top) if maximum else left.marginal(v) for v in left.names]
    assert passed.log_evidence == pytest.approx(log_z, rel=rel, abs=rel)
    np.testing.assert_allclose(beliefs(passed), np.concatenate(each), rtol=rtol, atol=1e-300)


class TestBeliefs:
    @pytest.mark.parametrize("maximum", [False, True])
    @pytest.mark.parametrize("zeros", [0.0, 0.3])
    def test_on_any_forest_they_are_those_of_the_whole_table(self, zeros, maximum):
        possible = 0
        for seed in range(12):
            rng = np.random.default_rng(seed)
            sizes, factors = random_tree(rng, zeros=zeros)
            seen, soft = random_evidence(rng, sizes)
            left = left_of(sizes, factors, seen, soft)
            asked = {"root": int(rng.integers(len(sizes))), "max_product": maximum}
            asked["likelihood"] = soft
            for log in (False, True):
                model = model_of(sizes, factors if log else linear(factors), log=log)
                if not left.is_possible:
                    with pytest.raises(InputError, match="pass_messages: the (evidence|model)"):
                        credo.pass_messages(model, seen, **asked)
                    continue
                possible += 1
                assert_exact(credo.pass_messages(model, seen, **asked), left, maximum=maximum)
                if not maximum:
                    post = credo.infer(model, seen, likelihood=soft, method="tree")
                    assert post.log_evidence == pytest.approx(left.log_sum, rel=1e-13, abs=1e-13)
        assert possible == 24 if not zeros else 0 < possible < 24

    def test_a_model_without_factors_is_uniform_and_one_without_variables_is_empty(self):
        passed = credo.pass_messages(model_of([2, 3], []), {1: 2})
        assert passed.beliefs == {0: {0: 0.5, 1: 0.5}, 1: {0: 0.0, 1: 0.0, 2: 1.0}}
        assert passed.log_evidence == pytest.approx(np.log(2))
        assert repr(passed) == "<MessagePassing: 0 messages, root 0, log_evidence 0.693147>"
        empty = credo.pass_messages(graph(""))
        assert (len(empty), empty.beliefs, empty.log_evidence) == (0, {}, 0.0)

    def test_one_pass_gives_those_of_roots_and_of_what_was_observed(self):
        rng = np.random.default_rng(3)
        factors = [((0, 1), rng.random((2, 3))), ((1, 2), rng.random((3, 2))), ((3,), [1.0, 4.0])]
        model = model_of([2, 3, 2, 2], factors)
        both = credo.pass_messages(model)
        for root in range(4):
            one = credo.pass_messages(model, root=root, passes=1)
            assert set(one.beliefs) == ({root, 3} if root < 3 else {0, 3})
            for name, belief in one.beliefs.items():
                assert belief == pytest.approx(both.beliefs[name], rel=1e-14)
            assert one.log_evidence == pytest.approx(both.log_evidence, rel=1e-14)
            assert (one.root, len(one), len(both)) == (root, 2, 4)
        seen = credo.pass_messages(model, {1: 2}, root=0, passes=1)
        assert seen.beliefs[1] == {0: 0.0, 1: 0.0, 2: 1.0}
        with pytest.raises(InputError, match="belief of 2 is not known.*root=2"):
            seen.belief(2)

    def test_after_some_messages_they_are_the_potential_times_what_was_heard(self):
        passed, nodes, _ = pairwise_tree(1, {}, {})
        heard = dict(enumerate(nodes))
        for k, message in enumerate(passed, start=1):
            j = NAMES.index(message.target)
            heard[j] = heard[j] * message.values
            for v, name in enumerate(NAMES):
                now = [*passed[:k].belief(name).values()]
                np.testing.assert_allclose(now, heard[v] / heard[v].sum(), rtol=1e-13)
        for name in NAMES:
            assert passed.belief(name) == pytest.approx(passed[:8].belief(name), rel=1e-13)

    def test_rules_take_part_as_tables(self):
        model = graph("abcde", *[(name, [0.3, 0.7]) for name in "abcde"])
        model.parity(list("abcde"))
        passed = credo.pass_messages(model)
        assert np.exp(passed.log_evidence) == pytest.approx((1 + (0.3 - 0.7) ** 5) / 2, rel=1e-13)
        assert list(passed.beliefs) == list("abcde")
        assert any("auxiliary" in str(message.source) for message in passed)
        mixed = graph("abcd", ("bcd", np.arange(1.0, 9.0).reshape(2, 2, 2), "three"))
        mixed.parity(["a", "b"])
        message = credo.infer(mixed).message("three", "b")
        np.testing.assert_allclose(message.values, np.array([10.0, 26.0]) / 36, rtol=1e-14)


RING = [((i, (i + 1) % 4), np.array([[3.0, 1.0], [0.5, 2.0]]) + i) for i in range(4)]


class TestCycles:
    @pytest.mark.parametrize("seen", range(4))
    def test_observed_variables_cut_them(self, seen):
        chord = ((1, 3), [[1.0, 4.0], [2.0, 3.0]]) if seen in {1, 3} else ((1,), [2.0, 5.0])
        factors = [*RING, chord, ((seen,), [0.3, 0.4])]
        logs = [(scope, np.log(table)) for scope, table in factors]
        soft = {(seen + 1) % 4: np.array([0.5, 2.0])}
        left = left_of([2] * 4, logs, {seen: 1}, soft)
        model = model_of([2] * 4, factors)
        for maximum in (False, True):
            passed = credo.pass_messages(model, {seen: 1}, likelihood=soft, max_product=maximum)
            assert_exact(passed, left, maximum=maximum)

    def test_factors_of_observed_variables_alone_count_once(self):
        factors = [*RING, ((0, 2), [[1.0, 2.0], [0.0, 5.0]])]
        logs = [(scope, np.log(np.maximum(table, 1e-300))) for scope, table in factors]
        model = model_of([2] * 4, factors)
        assert_exact(credo.pass_messages(model, {0: 1, 2: 1}), left_of([2] * 4, logs, {0: 1, 2: 1}))
        with pytest.raises(ImpossibleEvidence):
            credo.pass_messages(model, {0: 1, 2: 0})

    def test_one_is_named_in_order_with_a_remedy(self):
        model = model_of([2] * 4, RING, names=NAMES[:4])
        with pytest.raises(InputError, match="cycle .*Use method='junction_tree'") as caught:
            credo.pass_messages(model)
        named = str(caught.value).split("the cycle ")[1].split(". Use")[0]
        around = [name.strip("'") for name in named.split(", ")]
        assert around[0] == around[-1]
        assert sorted(around[1:]) == ["a", "b", "c", "d"]
        steps = {frozenset(pair) for pair in pairwise(around)}
        assert steps == {frozenset(pair) for pair in ("ab", "bc", "cd", "da")}

    def test_a_large_grid_is_refused_at_once_and_taken_where_evidence_cuts_it(self):
        side = 300
        site = np.arange(side * side).reshape(side, side)
        across = np.stack([site[:, :-1].ravel(), site[:, 1:].ravel()], 1)
        down = np.stack([site[:-1].ravel(), site[1:].ravel()], 1)
        ones = np.ones((side * side, 2))
        grid = credo.MarkovNetwork.from_arrays(ones, np.vstack([across, down]), np.ones((2, 2)))
        nothing = np.full(side * side, -1)
        assert not is_tree(grid.compile(), nothing)
        columns = np.where(np.arange(side * side) % side % 2, 0, -1)
        assert is_tree(grid.compile(), columns)
        seen = {int(v): 0 for v in np.flatnonzero(columns == 0)}
        post = credo.infer(grid, seen)
        assert post.engine == "tree"
        assert post.log_evidence == pytest.approx((columns < 0).sum() * np.log(2), rel=1e-14)


EDGES = [(0, 1), (0, 2), (2, 3), (4, 2)]


def pairwise_tree(seed, seen, soft, *, log=False, **options):
    """Draw a tree of five variables; return what was passed, and potentials of nodes and edges."""
    rng = np.random.default_rng(seed)
    n_states = [2, 3, 2, 1, 3]
    nodes = [rng.uniform(0.1, 5.0, k) for k in n_states]
    edges = {(i, j): rng.uniform(0.1, 5.0, (n_states[i], n_states[j])) for i, j in EDGES}
    factors = [*edges.items(), *(((v,), table) for v, table in enumerate(nodes))]
    given = [(scope, np.log(table)) for scope, table in factors] if log else factors
    model = model_of(n_states, given, log=log, names=NAMES)
    for name, weights in soft.items():
        nodes[NAMES.index(name)] = nodes[NAMES.index(name)] * weights
    for name, state in seen.items():
        v = NAMES.index(name)
        nodes[v] = nodes[v] * (np.arange(n_states[v]) == state)
    return credo.pass_messages(model, seen, likelihood=soft, **options), nodes, edges


def lecture(i, j, nodes, edges, choose=np.sum):
    """The message as the lecture writes it, by recursion."""
    edge = edges[i, j] if (i, j) in edges else edges[j, i].T
    near = [b if a == i else a for a, b in edges if i in {a, b}]
    product = nodes[i].copy()
    for k in near:
        if k != j:
            product = product * lecture(k, i, nodes, edges, choose)
    return choose(edge * product[:, None], axis=0)


class TestMessages:
    @pytest.mark.parametrize("log", [False, True])
    @pytest.mark.parametrize("seen", [{}, {"b": 2, "d": 0, "e": 1}, {"a": 1, "c": 0}])
    def test_between_variables_they_are_those_of_the_lecture_exactly(self, seen, log):
        soft = {"b": np.array([0.2, 1.0, 3.0])} if "b" not in seen else {}
        passed, nodes, edges = pairwise_tree(1, seen, soft, log=log)
        largest, *_ = pairwise_tree(1, seen, soft, log=log, max_product=True)
        for i, j in [*EDGES, *((j, i) for i, j in EDGES)]:
            message = passed[NAMES[i], NAMES[j]]
            assert message.values.sum() == pytest.approx(1.0, rel=1e-14)
            expected = lecture(i, j, nodes, edges)
            np.testing.assert_allclose(whole(message), expected, rtol=1e-12, err_msg=f"{i}->{j}")
            top = largest.message(NAMES[i], NAMES[j])
            assert top.values.max() == 1.0
            np.testing.assert_allclose(whole(top), lecture(i, j, nodes, edges, np.max), rtol=1e-12)

    @pytest.mark.parametrize("log", [False, True])
    @pytest.mark.parametrize("seed", range(3))
    def test_what_goes_both_ways_along_a_link_multiplies_to_the_total_of_the_tree(self, seed, log):
        rng = np.random.default_rng(seed)
        sizes, factors = random_tree(rng, n=8, join=1.0)
        seen = {int(rng.integers(8)): 0}
        passed = credo.pass_messages(
            model_of(sizes, factors if log else linear(factors), log=log), seen
        )
        log_z = left_of(sizes, factors, seen).log_sum
        links = [(f, v) for f, (scope, _) in enumerate(factors) for v in scope if len(scope) > 1]
        assert len(links) >= 8
        for f, v in links:
            one, two = passed.message(v, f"factor {f}"), passed.message(f"factor {f}", v)
            total = np.log(one.values @ two.values) + one.log_scale + two.log_scale
            assert total == pytest.approx(log_z, rel=1e-12, abs=1e-12)
            assert one.states == two.states == tuple(range(sizes[v]))
            belief = one.values * two.values / (one.values @ two.values)
            np.testing.assert_allclose(belief, [*passed.belief(v).values()], rtol=1e-12)

    @pytest.mark.parametrize("root", [0, 3, 7])
    def test_they_come_after_all_that_they_depend_on_and_first_towards_the_root(self, root):
        rng = np.random.default_rng(root)
        sizes, factors = random_tree(rng, n=8, join=1.0)
        passed = credo.pass_messages(model_of(sizes, linear(factors)), root=root)
        sent = [(message.source, message.target) for message in passed]
        assert len(set(sent)) == len(sent) == len(passed)
        into_root = [i for i, (_, target) in enumerate(sent) if target == root]
        assert max(into_root) < len(sent) // 2
        for i, (source, target) in enumerate(sent):
            needed = {(a, b) for a, b in sent if b == source and a != target}
            assert needed <= set(sent[:i])
        assert [repr(m) for m in passed.messages] == [repr(passed[pair]) for pair in sent]
        assert repr(passed[-1]) == repr(passed.messages[-1])

    def test_a_cut_off_variable_sends_the_edge_alone(self):
        tables = [np.array([[1.0, 2.0], [3.0, 4.0]]) * (i + 1) for i in range(3)]
        ring = [((i, (i + 1) % 3), table) for i, table in enumerate(tables)] + [((0,), [5.0, 7.0])]
        passed = credo.pass_messages(model_of([2] * 3, ring, names=NAMES[:3]), {"a": 1})
        np.testing.assert_allclose(whole(passed["a", "b"]), tables[0][1])
        rest = tables[1] @ tables[2][:, 1]  # c summed out, with a observed there
        np.testing.assert_allclose(whole(passed["b", "a"]), tables[0] @ rest)
        own = passed["a", "factor 0"]
        assert (own.values.tolist(), own.log_scale) == ([0.0, 1.0], 0.0)
        assert np.exp(passed.log_evidence) == pytest.approx(7 * tables[0][1] @ rest)
        both = credo.pass_messages(model_of([2] * 3, ring, names=NAMES[:3]), {"a": 1, "b": 0})
        np.testing.assert_allclose(whole(both["a", "b"]), [3.0, 4.0])
        assert len(both) == 6

    def test_those_that_do_not_exist_are_refused_with_a_reason(self):
        passed, *_ = pairwise_tree(2, {}, {})
        for source, target, reason in [
            ("b", "c", "'b' and 'c' are not neighbours"),
            ("a", "a", "'a' and 'a' are not neighbours"),
            ("factor 0", "factor 1", "both factors"),
            ("factor 0", "e", "'factor 0' and variable 'e' are not linked. .* over 'a', 'b'"),
            ("factor 4", "a", "has one variable"),
            ("a", "factor 4", "has one variable"),
        ]:
            with pytest.raises(InputError, match=reason):
                passed.message(source, target)
        with pytest.raises(LabelError, match="'ax'"):
            passed.message("ax", "a")
        for key in ("a", slice(1, 3), slice(0, 4, 2), ("a", "b", "c"), None):
            with pytest.raises(InputError, match="by source and target"):
                passed[key]
        with pytest.raises(IndexError):
            passed[len(passed)]
        with pytest.raises(LabelError, match="'ax'"):
            credo.pass_messages(model_of([2], [], names=["a"]), root="ax")
        one, *_ = pairwise_tree(2, {}, {}, root="a", passes=1)
        assert one["b", "a"].values.tolist() == passed["b", "a"].values.tolist()
        for away in (("a", "b"), ("c", "d"), ("a", "factor 0")):
            with pytest.raises(InputError, match="away from the root.*passes=2"):
                one.message(*away)

    def test_variables_around_a_larger_factor_talk_to_the_factor(self):
        model = graph("abc", ("abc", np.arange(8.0).reshape(2, 2, 2)))
        passed = credo.pass_messages(model)
        assert len(passed) == 6
        with pytest.raises(InputError, match="three variables or more.*name the factor"):
            passed.message("a", "b")
        np.testing.assert_allclose(whole(passed[("a", "b", "c"), "a"]), [6.0, 22.0])
        assert [m.source for m in passed if m.target == ("a", "b", "c")] == ["c", "b", "a"]
        assert len(credo.pass_messages(model, passes=1)) == 3

    def test_two_factors_that_join_an_observed_variable_are_told_apart_by_name(self):
        tables = np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([[5.0, 6.0], [7.0, 8.0]])
        model = model_of([2, 2], [((0, 1), table) for table in tables], names=["a", "b"])
        passed = credo.pass_messages(model, {"b": 1})
        with pytest.raises(InputError, match="joined by 2 factors"):
            passed.message("b", "a")
        np.testing.assert_allclose(whole(passed["factor 1", "a"]), [6.0, 8.0])
        post = credo.infer(model, {"b": 1})
        np.testing.assert_allclose(whole(post.message("factor 1", "a")), [6.0, 8.0])

    def test_of_many_only_the_first_are_printed(self):
        n = 3000
        links = np.stack([np.arange(n - 1), np.arange(1, n)], 1)
        model = credo.MarkovNetwork.from_arrays(np.ones((n, 2)), links, [[2.0, 1.0], [1.0, 2.0]])
        text = str(credo.pass_messages(model, {0: 1}, root=0))
        assert text.count("\n") == 206
        assert text.count("… 2959 more") == 2
        assert "… 2960 more" in text


def forward_backward(likelihoods, transition):
    """Marginals and the log of the total, each step scaled to sum one."""
    n = len(likelihoods)
    forward, backward, scales = likelihoods.copy(), np.ones_like(likelihoods), np.ones(n)
    for t in range(n):
        if t:
            forward[t] *= forward[t - 1] @ transition
        scales[t] = forward[t].sum()
        forward[t] /= scales[t]
    for t in range(n - 2, -1, -1):
        backward[t] = transition @ (likelihoods[t + 1] * backward[t + 1]) / scales[t + 1]
    return forward * backward, math.fsum(np.log(scales))


def in_numbers_and_in_logs(potentials, links, table, seen=()):
    """Run a tree as it is, and with a lonely variable whose potentials float64 does not hold."""
    n, k = potentials.shape
    wide = np.zeros((n + 1, k))
    wide[:n], wide[n, 1:] = np.log(potentials), -5000.0
    numbers = credo.MarkovNetwork.from_arrays(potentials, links, table)
    logs = credo.MarkovNetwork.from_arrays(wide, links, np.log(table), log=True)
    assert logs.compile().log_values is not None
    for model in (numbers, logs):
        post = credo.infer(model, dict(seen), method="tree")
        yield np.stack([post.probabilities(v) for v in range(n)]), post.log_evidence


class TestRange:
    def test_a_chain_of_twenty_thousand_steps_equals_forward_and_backward(self):
        rng = np.random.default_rng(0)
        transition = rng.dirichlet(np.full(5, 0.3), 5)
        likelihoods = rng.gamma(0.2, size=(20_000, 5)) + 1e-12
        marginals, log_z = forward_backward(likelihoods, transition)
        links = np.stack([np.arange(19_999), np.arange(1, 20_000)], axis=1)
        for found, log_evidence in in_numbers_and_in_logs(likelihoods, links, transition):
            np.testing.assert_allclose(found, marginals, rtol=1e-10, atol=1e-200)
            assert log_evidence == pytest.approx(log_z, rel=1e-13)

    @pytest.mark.parametrize("order", [[0, 1, 2, 3, 4, 5], [0, 3, 1, 4, 2, 5], [5, 4, 3, 2, 1, 0]])
    def test_terms_that_underflow_and_come_back_are_not_lost(self, order):
        """Messages are harmless, 1 : 1e-150; three of them are 1e-450; three more bring it back."""
        ratios = 10.0 ** np.array([-150, -150, -150, 150, 150, 150.0])[order]
        factors = [
            ((0, i + 1), [[min(1 / r, 1.0), 0], [min(r, 1.0), 1]]) for i, r in enumerate(ratios)
        ]
        passed = credo.pass_messages(model_of([2] * 7, factors), dict.fromkeys(range(1, 7), 0))
        assert passed.belief(0) == pytest.approx({0: 0.5, 1: 0.5}, rel=1e-12)
        assert passed.log_evidence == pytest.approx(np.log(2) - 450 * np.log(10), rel=1e-14)

    def test_terms_that_underflow_along_a_chain_are_not_lost(self):
        """A left-to-right chain: to stay is 1e-3 as likely, until the end says that it stayed."""
        n, stay = 400, 1e-3
        pairs = [((t, t + 1), [[stay, 1.0], [0.0, 1.0]]) for t in range(n)]
        model = model_of([2] * (n + 1), [((0,), [1.0, 0.0]), *pairs])
        passed = credo.pass_messages(model, {n: 0})
        np.testing.assert_allclose([belief[0] for belief in passed.beliefs.values()], 1.0)
        assert passed.log_evidence == pytest.approx(n * np.log(stay), rel=1e-13)

    @pytest.mark.parametrize("span", [1e2, 1e6])
    def test_log_tables_of_any_span_are_exact(self, span):
        for seed in range(3):
            sizes, factors = random_tree(np.random.default_rng(seed), n=6, zeros=0.1)
            factors = [(scope, span * table) for scope, table in factors]
            left, model = left_of(sizes, factors), model_of(sizes, factors, log=True)
            for maximum in (False, True):
                passed = credo.pass_messages(model, max_product=maximum)
                assert_exact(passed, left, maximum=maximum, rtol=1e-7, rel=1e-14)

    def test_numbers_that_a_scale_would_push_below_float64_are_not_lost(self):
        """A sum of 1e30 is scaled down by 2**-98 while 1e-299 is in it; both matter in the end."""
        factors = [((0, 1), np.diag([1e30, 1e-299])), ((1, 2), [[0.0, 1.0], [1.0, 0.0]])]
        factors += [((v, v + 1), np.diag([1.0, 1e-110])) for v in (2, 3, 4)]
        passed = credo.pass_messages(model_of([2] * 6, factors), root=5, passes=1)
        assert passed.log_evidence == pytest.approx(np.log(11) - 300 * np.log(10), rel=1e-13)
        assert passed.belief(5) == pytest.approx({0: 10 / 11, 1: 1 / 11}, rel=1e-12)
