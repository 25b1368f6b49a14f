"""F1: a Markov random field with node and edge potentials; evidence; Z and Z^E."""

import itertools
import math

import numpy as np
import pytest

import credo
from credo.graphs import FactorGraph, MarkovNetwork

METHODS = ["auto", "junction_tree", "elimination", "enumeration", "tree"]
NODES = {"x1": [1.0, 2.0], "x2": [3.0, 1.0], "x3": [1.0, 1.0]}
EDGES = {("x1", "x2"): [[2.0, 1.0], [1.0, 3.0]], ("x2", "x3"): [[1.0, 4.0], [2.0, 1.0]]}


def field(factor=1.0, *, turned=False):
    """Three nodes in a row, each of two states; edges times a number, perhaps the other way."""
    net = MarkovNetwork()
    for name, potential in NODES.items():
        net.node(name, 2, potential)
    for pair, potential in EDGES.items():
        table = factor * np.array(potential)
        net.edge(*(pair[::-1] if turned else pair), table.T if turned else table)
    return net


def weight(x1, x2, x3):
    """The product of all potentials, written out."""
    product = NODES["x1"][x1] * NODES["x2"][x2] * NODES["x3"][x3]
    return product * EDGES["x1", "x2"][x1][x2] * EDGES["x2", "x3"][x2][x3]


@pytest.mark.parametrize("method", METHODS)
class TestByHand:
    def test_the_eight_products_sum_to_z(self, method):
        products = [weight(*x) for x in itertools.product(range(2), repeat=3)]
        assert products == [6.0, 24.0, 2.0, 1.0, 6.0, 24.0, 12.0, 6.0]
        post = credo.infer(field(), method=method)
        assert post.log_evidence == pytest.approx(math.log(81), rel=1e-14)
        np.testing.assert_allclose(post.probabilities("x1"), [33 / 81, 48 / 81], rtol=1e-14)
        np.testing.assert_allclose(post.probabilities("x2"), [60 / 81, 21 / 81], rtol=1e-14)
        np.testing.assert_allclose(post.probabilities("x3"), [26 / 81, 55 / 81], rtol=1e-14)

    def test_evidence_leaves_the_products_that_agree_with_it(self, method):
        post = credo.infer(field(), {"x3": 1}, method=method)
        assert post.log_evidence == pytest.approx(math.log(24 + 1 + 24 + 6), rel=1e-14)
        np.testing.assert_allclose(post.probabilities("x1"), [25 / 55, 30 / 55], rtol=1e-14)

    def test_z_with_evidence_over_z_is_the_probability_of_the_evidence(self, method):
        whole = credo.infer(field(), method=method)
        for name in NODES:
            for state in range(2):
                part = credo.infer(field(), {name: state}, method=method)
                assert math.exp(part.log_evidence - whole.log_evidence) == pytest.approx(
                    whole.probabilities(name)[state], rel=1e-13
                )

    def test_z_is_the_sum_of_z_with_evidence_over_the_states(self, method):
        parts = [
            math.exp(credo.infer(field(), {"x1": i, "x2": j}, method=method).log_evidence)
            for i in range(2)
            for j in range(2)
        ]
        assert parts == pytest.approx([30.0, 3.0, 30.0, 18.0], rel=1e-13)
        assert sum(parts) == pytest.approx(81.0, rel=1e-13)


class TestTheModel:
    def test_multiplying_a_potential_by_a_number_changes_z_only(self):
        one, other = credo.infer(field()), credo.infer(field(10.0))
        assert other.log_evidence == pytest.approx(one.log_evidence + 2 * math.log(10), rel=1e-14)
        for name in NODES:
            np.testing.assert_allclose(
                one.probabilities(name), other.probabilities(name), rtol=1e-14
            )

    def test_an_edge_may_be_given_either_way_round(self):
        turned = field(turned=True)
        for name in NODES:
            np.testing.assert_allclose(
                credo.infer(turned).probabilities(name),
                credo.infer(field()).probabilities(name),
                rtol=1e-14,
            )

    def test_is_the_factor_graph_of_its_potentials(self):
        graph = FactorGraph()
        for name, potential in NODES.items():
            graph.variable(name, 2)
            graph.factor([name], potential)
        for pair, potential in EDGES.items():
            graph.factor(pair, np.log(potential), log=True)
        assert credo.infer(graph).log_evidence == pytest.approx(math.log(81), rel=1e-14)

    def test_a_loop_is_summed_exactly(self):
        """An Ising triangle: Z = 2 e^(3J) + 6 e^(-J)."""
        coupling = 0.7
        net = MarkovNetwork()
        for name in "abc":
            net.node(name, 2)
        edge = np.exp(coupling * np.array([[1.0, -1.0], [-1.0, 1.0]]))
        for a, b in ("ab", "bc", "ca"):
            net.edge(a, b, edge)
        expected = 2 * math.exp(3 * coupling) + 6 * math.exp(-coupling)
        for method in METHODS[:-1]:
            post = credo.infer(net, method=method)
            assert post.log_evidence == pytest.approx(math.log(expected), rel=1e-14)
        pair = post.joint(["a", "b"]).table
        same = (2 * math.exp(3 * coupling) + 2 * math.exp(-coupling)) / expected
        assert pair[0, 0] + pair[1, 1] == pytest.approx(same, rel=1e-13)
