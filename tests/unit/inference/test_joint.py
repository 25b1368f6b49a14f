"""Joint tables of a few variables, in one clique or across the graph."""

import numpy as np
import pytest
from tests.oracles import inference as oracle

import credo
from credo.exceptions import InputError, LabelError
from credo.graphs import FactorGraph, chain

FIRST, MOVE = np.array([0.3, 0.7]), np.array([[0.9, 0.1], [0.2, 0.8]])


def walk(length=6):
    return chain(FIRST, MOVE, length=length)


class TestAChain:
    @pytest.mark.parametrize("gap", [1, 2, 5])
    def test_two_steps_apart_are_the_power_of_the_transition(self, gap):
        joint = credo.infer(walk()).joint(["x0", f"x{gap}"])
        expected = FIRST[:, None] * np.linalg.matrix_power(MOVE, gap)
        np.testing.assert_allclose(joint.table, expected, rtol=1e-13)

    def test_axes_come_in_the_order_asked_for(self):
        post = credo.infer(walk())
        there, back = post.joint(["x1", "x3"]), post.joint(["x3", "x1"])
        assert back.variables == ("x3", "x1")
        np.testing.assert_allclose(back.table, there.table.T, rtol=1e-14)

    def test_neighbours_in_the_middle_share_a_clique(self):
        joint = credo.infer(walk()).joint(["x2", "x3"])
        middle = FIRST @ np.linalg.matrix_power(MOVE, 2)
        np.testing.assert_allclose(joint.table, middle[:, None] * MOVE, rtol=1e-13)

    def test_an_observed_variable_keeps_its_axis(self):
        joint = credo.infer(walk(), {"x1": 1}).joint(["x2", "x1", "x0"])
        expected = np.zeros((2, 2, 2))
        expected[:, 1, :] = MOVE[1][:, None] * FIRST * MOVE[:, 1]
        np.testing.assert_allclose(joint.table, expected / expected.sum(), rtol=1e-13)

    def test_of_observed_variables_only_is_a_certainty(self):
        joint = credo.infer(walk(), {"x1": 1, "x4": 0}).joint(["x4", "x1"])
        np.testing.assert_array_equal(joint.table, [[0.0, 1.0], [0.0, 0.0]])

    def test_of_one_variable_is_its_marginal(self):
        post = credo.infer(walk(), {"x5": 1})
        np.testing.assert_allclose(post.joint(["x2"]).table, post.probabilities("x2"), rtol=1e-13)

    def test_may_go_beyond_the_query(self):
        post = credo.infer(walk(), {"x5": 1}, query=["x0"])
        whole = credo.infer(walk(), {"x5": 1}).joint(["x2", "x3"])
        np.testing.assert_allclose(post.joint(["x2", "x3"]).table, whole.table, rtol=1e-13)

    def test_holds_the_weights_of_jeffrey(self):
        post = credo.infer(walk(), jeffrey={"x1": [0.5, 0.5]})
        joint = post.joint(["x1", "x2"])
        np.testing.assert_allclose(joint.table, 0.5 * MOVE, rtol=1e-12)


class TestShapes:
    @pytest.mark.parametrize("sizes", [(2, 1, 3), (1, 1, 1), (3, 1, 1)])
    def test_variables_of_one_state_keep_their_axes(self, sizes):
        rng = np.random.default_rng(0)
        graph = FactorGraph()
        for i, k in enumerate(sizes):
            graph.variable(i, k)
        tables = [rng.random(sizes[:2]) + 0.1, rng.random(sizes[1:]) + 0.1]
        graph.factor([0, 1], tables[0])
        graph.factor([1, 2], tables[1])
        twins = [oracle.factor((0, 1), tables[0]), oracle.factor((1, 2), tables[1])]
        everything = oracle.configurations(sizes, twins)
        for names in ([0, 1, 2], [2, 0, 1], [1, 2, 0], [0, 1], [1, 0], [1, 2], [2, 0], [1]):
            joint = credo.infer(graph).joint(names)
            np.testing.assert_allclose(
                joint.table, oracle.joint(everything, sizes, names), rtol=1e-13
            )

    def test_unconnected_variables_are_independent(self):
        graph = FactorGraph()
        for name in "abc":
            graph.variable(name, 2)
        graph.factor(["a"], [1.0, 3.0])
        graph.factor(["c"], [1.0, 1.0])
        joint = credo.infer(graph).joint(["c", "a", "b"])
        expected = np.einsum("i,j,k->ijk", [0.5, 0.5], [0.25, 0.75], [0.5, 0.5])
        np.testing.assert_allclose(joint.table, expected, rtol=1e-14)

    def test_a_wide_table_is_summed_in_logs(self):
        graph = FactorGraph()
        for name in "abc":
            graph.variable(name, 2)
        graph.factor(["a", "b"], [[0.0, -5000.0], [-5000.0, -9000.0]], log=True)
        graph.factor(["b", "c"], [[-5000.0, -np.inf], [-np.inf, 0.0]], log=True)
        joint = credo.infer(graph).joint(["c", "a"])
        np.testing.assert_allclose(joint.table, [[0.5, 0.0], [0.5, 0.0]], rtol=1e-10)

    def test_of_twenty_variables_along_a_chain(self):
        names = [f"x{i}" for i in range(20)]
        table = credo.infer(walk(20)).joint(names).table
        assert table.shape == (2,) * 20
        assert table[(0,) * 20] == pytest.approx(0.3 * 0.9**19, rel=1e-12)


class TestRefusals:
    def test_nothing_one_twice_unknown_or_a_string(self):
        post = credo.infer(walk())
        with pytest.raises(InputError, match="joint needs"):
            post.joint([])
        with pytest.raises(InputError, match="'x0' twice"):
            post.joint(["x0", "x0"])
        with pytest.raises(LabelError, match="x99"):
            post.joint(["x99"])
        with pytest.raises(InputError, match="list of names"):
            post.joint("x0")
