"""Many variables, many findings, little memory, other processes: what must not break."""

import copy
import pickle  # noqa: TID251 - the way to another process, not a model file

import numpy as np
import pytest
from tests.work import bytes_in, calls_in

import credo
from credo.exceptions import BudgetError, InputError, NumericalError


def steps(n):
    return credo.chain([0.5, 0.5], [[0.9, 0.1], [0.2, 0.8]], length=n)


class TestSets:
    def test_have_no_order_and_are_refused_where_order_matters(self):
        net = credo.BayesianNetwork()
        for name in ("a", "b", "c"):
            net.variable(name, 2)
        with pytest.raises(InputError, match="must be a list of names, in order"):
            net.cpt("c", given={"a", "b"}, table=np.full((2, 2, 2), 0.5))
        post = credo.infer(steps(3))
        for ask in (post.joint, lambda names: credo.infer(steps(3), query=names)):
            with pytest.raises(InputError, match="must be a list of names, in order"):
                ask({"x0", "x1"})

    def test_of_unknown_states_name_the_same_one_each_time(self):
        with pytest.raises(credo.exceptions.LabelError, match="has no state 'pp'"):
            credo.infer(steps(2), {"x0": {"rr", "pp", "qq"}})


class TestBudgets:
    @pytest.mark.parametrize("n", [40, 70])
    @pytest.mark.parametrize("method", ["exact", "loopy", "mean_field"])
    def test_joints_of_observed_variables_are_counted_too(self, n, method):
        post = credo.infer(steps(n), {f"x{i}": 0 for i in range(n)}, method=method)
        with pytest.raises((BudgetError, InputError), match="joint needs"):
            post.joint([f"x{i}" for i in range(n)])

    def test_draws_are_counted(self):
        post = credo.infer(steps(100), budget="1MB")
        with pytest.raises(BudgetError, match="sample needs 1.6 GB for 1000000 draws"):
            post.sample(1_000_000)

    def test_trees_are_counted(self):
        plan = credo.plan(steps(5000))
        assert plan.engine == "tree"
        with pytest.raises(BudgetError, match="for messages and marginals; the budget is 1kB"):
            credo.infer(steps(5000), method="exact", budget="1kB")
        assert credo.infer(steps(5000), budget=plan.n_bytes)["x0"].is_single

    def test_tables_that_factors_share_are_not_copied_before_the_check(self):
        k = 600
        ring = credo.MarkovNetwork.from_arrays(
            np.full((3, k), 1.0 / k), [[0, 1], [1, 2], [2, 0]], np.full((k, k), 1.0)
        )
        ring.compile()

        def ask():
            with pytest.raises(BudgetError, match="The factors alone take 8.65 MB"):
                credo.infer(ring, budget="1MB", method="junction_tree")

        assert bytes_in(ask) < 2e6


class TestManyFindings:
    def test_take_calls_in_proportion_to_the_steps(self):
        def answers(n):
            evidence = {f"x{i}": i % 2 for i in range(0, n, 2)}
            return credo.infer(steps(n), evidence, method="junction_tree").to_dict()

        assert calls_in(answers, 4000) < 2.2 * calls_in(answers, 2000)
        assert answers(4000)["x2"] == {0: 1.0, 1: 0.0}

    def test_take_as_long_a_query_as_there_are_variables(self):
        n = 4000
        assert len(credo.infer(steps(n), query=[f"x{i}" for i in range(n)]).to_dict()) == n

    def test_of_a_tree_of_many_cliques_list_its_separators(self):
        separators = credo.JunctionTree(steps(3000)).separators
        assert sum(len(each) for each in separators) == 2998


class TestResults:
    def test_know_what_they_hold(self):
        net = steps(3)
        post = credo.infer(net, query=["x0"])
        assert "x0" in post
        assert net["x0"] in post
        assert "x1" not in post
        assert "no such" not in post

    def test_give_read_only_arrays_for_observed_variables_too(self):
        post = credo.infer(steps(3), {"x1": 1}, method="junction_tree")
        assert not post.probabilities("x1").flags.writeable

    def test_give_messages_of_models_with_rules(self):
        graph = credo.FactorGraph()
        a, b, c, d = (graph.variable(name, 2) for name in "abcd")
        graph.parity([a, b])
        graph.factor([b, c, d], np.arange(1.0, 9.0).reshape(2, 2, 2), name="three")
        post = credo.infer(graph)
        message = post.message("three", "b")
        np.testing.assert_allclose(message.values, np.array([10.0, 26.0]) / 36, rtol=1e-14)
        assert post.message("three", "b").values is not None

    def test_survive_pickling_and_copying(self):
        net = steps(4)
        post = credo.infer(net, {"x3": 1})
        for again in (pickle.loads(pickle.dumps(post)), copy.deepcopy(post)):  # noqa: S301
            assert again["x0"] == post["x0"]
            assert not again.question.wiring.values.flags.writeable
        long = credo.infer(steps(3000))
        assert long.engine == "tree"
        assert pickle.loads(pickle.dumps(long))["x0"] == long["x0"]  # noqa: S301
        tree = credo.JunctionTree(net)
        other = pickle.loads(pickle.dumps(tree))  # noqa: S301
        assert other.cliques == tree.cliques
        assert other.infer({"x3": 1})["x0"] == tree.infer({"x3": 1})["x0"]


class TestOptions:
    @pytest.mark.parametrize("bad", [{"effort": -1}, {"effort": "x"}, {"seed": -1}, {"seed": 1.5}])
    @pytest.mark.parametrize("door", [credo.infer, credo.plan, credo.JunctionTree])
    def test_of_the_search_are_checked(self, door, bad):
        with pytest.raises(InputError, match=f"The {next(iter(bad))} of {door.__name__}"):
            door(steps(3), **bad)

    def test_a_query_is_a_list(self):
        with pytest.raises(InputError, match="The query of infer must be a list of names"):
            credo.infer(steps(3), query=3)

    def test_posteriors_that_contradict_each_other_are_said_to(self):
        graph = credo.FactorGraph()
        a, b = graph.variable("a", 2), graph.variable("b", 2)
        graph.factor([a, b], np.eye(2))
        with pytest.raises(NumericalError, match="may contradict each other"):
            credo.infer(graph, jeffrey={"a": [0.2, 0.8], "b": [0.9, 0.1]})
