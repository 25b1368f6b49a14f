"""Plans: counts by hand, against elimination with sets, and followed by ``infer(plan=...)``."""

import math

import numpy as np
import pytest
from hypothesis import given, strategies as st
from tests.models import graph, steps
from tests.oracles import elimination as oracle
from tests.properties.graph_strategies import bayesian_networks, factor_graphs

import credo
from credo.exceptions import BudgetError, InputError
from credo.graphs import BayesianNetwork, MarkovNetwork


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
BY_HAND = {
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
    @pytest.mark.parametrize("case", BY_HAND)
    def test_by_hand(self, case):
        model, question, said = BY_HAND[case]
        plan = credo.plan(model, **question)
        assert {name: getattr(plan, name) for name in said} == said
        assert "estimated time" in str(plan)

    def test_the_largest_clique_is_named_and_evidence_separates(self):
        assert set(credo.plan(collider()).largest_clique) == {"cause", "other", "effect"}
        plan = credo.plan(steps(100), {"x50": 0}, ["x70"])
        assert plan.n_variables <= 50
        assert "x10" not in plan.order

    @given(case=factor_graphs(rules=False))
    def test_are_those_of_eliminating_sets(self, case):
        plan = credo.plan(case.model)
        order = [case.names.index(name) for name in plan.order]
        assert sorted(order) == list(range(len(case.sizes)))
        scopes = [scope for scope, _ in case.factors]
        largest, cells, _, width = oracle.cost(case.sizes, scopes, order)
        assert (plan.width, plan.n_bytes) == (width, 8 * cells)
        assert plan.largest_table == pytest.approx(2**largest, rel=1e-12)
        named = frozenset(case.names.index(name) for name in plan.largest_clique)
        assert oracle.cells_of(case.sizes, named) == pytest.approx(2**largest, rel=1e-12)
        assert named in oracle.cliques(len(case.sizes), scopes, order)
        if case.configurations:
            followed = credo.infer(case.model).plan
            assert (followed.order, followed.n_bytes) == (plan.order, plan.n_bytes)

    @given(case=bayesian_networks(), data=st.data())
    def test_of_a_query_are_never_more_than_of_everything(self, case, data):
        wanted = data.draw(st.lists(st.sampled_from(case.names), min_size=1, unique=True))
        part, whole = credo.plan(case.model, query=wanted), credo.plan(case.model)
        assert part.n_variables <= whole.n_variables
        assert part.n_variables + part.n_pruned == len(case.sizes)

    def test_are_all_shown(self):
        shown = str(credo.plan(cycle(6, 3)))
        for words in ("junction_tree", "variables        6 (0", "width            2"):
            assert words in shown
        assert "27 cells" in shown
        assert "864 B" in shown

    def test_of_a_hopeless_plan_are_told_in_years(self):
        rng = np.random.default_rng(0)
        pairs = [(i, j) for i in range(70) for j in rng.choice(70, 12, replace=False).tolist()]
        ones = [(pair, np.ones((2, 2))) for pair in pairs if pair[0] != pair[1]]
        plan = credo.plan(graph(range(70), *ones), effort=0.0)
        assert plan.width > 35
        assert plan.seconds > 60
        assert math.isfinite(plan.n_bytes)

    def test_repeat_by_effort_and_seed(self):
        orders = {credo.plan(cycle(9, 3), effort=1.0, seed=5).order for _ in range(3)}
        assert len(orders) == 1


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

    def test_a_copy_of_the_model_a_long_chain_and_a_bad_order_are_followed(self):
        model = ring()
        post = credo.infer(model.copy(), plan=credo.plan(model, order=[5, 4, 3, 2, 1, 0]))
        assert post.plan.order == (5, 4, 3, 2, 1, 0)
        long = steps(3000)
        made = credo.plan(long)
        assert made.engine == credo.infer(long, plan=made).engine == "tree"
        star = hub(8)
        bad = credo.plan(star, order=range(8))
        assert credo.infer(star, {}, plan=bad).plan.width == bad.width == 7

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
