"""Plans that are followed: ``infer(plan=...)``."""

import numpy as np
import pytest

import credo
from credo.exceptions import BudgetError, InputError
from credo.graphs import FactorGraph


def ring(n=6):
    rng = np.random.default_rng(n)
    graph = FactorGraph()
    for i in range(n):
        graph.variable(i, 2 + i % 2)
    for i in range(n):
        graph.factor([i, (i + 1) % n], rng.uniform(0.1, 2.0, (2 + i % 2, 2 + (i + 1) % n % 2)))
    return graph


class TestFollowing:
    """``infer(plan=...)`` runs what ``plan`` printed."""

    @pytest.mark.parametrize(
        "question",
        [{}, {"query": [3]}, {"evidence": {0: 1}}, {"evidence": {0: 1}, "query": [2, 4]}],
    )
    @pytest.mark.parametrize("order", [None, [0, 2, 4, 1, 3, 5], [5, 4, 3, 2, 1, 0]])
    def test_the_plan_itself_is_followed(self, question, order):
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

    def test_a_copy_of_the_model_may_be_asked(self):
        model = ring()
        post = credo.infer(model.copy(), plan=credo.plan(model, order=[5, 4, 3, 2, 1, 0]))
        assert post.plan.order == (5, 4, 3, 2, 1, 0)

    def test_a_long_chain_is_followed(self):
        net = credo.chain([0.5, 0.5], [[0.9, 0.1], [0.2, 0.8]], length=3000)
        made = credo.plan(net)
        assert made.engine == credo.infer(net, plan=made).engine == "tree"

    def test_a_bad_order_is_kept(self):
        star = FactorGraph()
        for i in range(8):
            star.variable(i, 2)
        for i in range(1, 8):
            star.factor([0, i], [[2.0, 1.0], [1.0, 3.0]])
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
        ("more", "match"),
        [
            ({"method": "junction_tree"}, "Leave out method='junction_tree'"),
            ({"order": [0, 1]}, "Leave out order"),
            ({"jeffrey": {0: [0.5, 0.5]}}, "Leave out jeffrey"),
            ({"method": "loopy"}, "plan needs an exact method"),
        ],
    )
    def test_what_it_decides_is_not_asked_for_again(self, more, match):
        model = ring()
        with pytest.raises(InputError, match=match):
            credo.infer(model, plan=credo.plan(model), **more)

    def test_it_is_a_plan(self):
        with pytest.raises(InputError, match="must be one of credo.plan. Got str"):
            credo.infer(ring(), plan="junction_tree")

    def test_above_the_budget_nothing_else_runs(self):
        model = ring()
        with pytest.raises(BudgetError, match="the budget is 8"):
            credo.infer(model, plan=credo.plan(model), budget=8)
