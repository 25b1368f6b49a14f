"""Textbook F3: the tree with edges (1,2) (1,3) (3,4) (3,5), and 2, 4 and 5 observed."""

import numpy as np
import pytest

import credo

#: Node potentials, of two states each, and of three at node 3 so that axes cannot be mixed up.
NODE = {
    1: np.array([0.6, 0.4]),
    2: np.array([0.7, 0.3]),
    3: np.array([0.5, 0.2, 0.3]),
    4: np.array([1.0, 2.0]),
    5: np.array([0.9, 0.1]),
}
EDGE = {
    (1, 2): np.array([[0.8, 0.2], [0.3, 0.7]]),
    (1, 3): np.array([[2.0, 1.0, 0.5], [0.25, 1.5, 3.0]]),
    (3, 4): np.array([[0.9, 0.1], [0.4, 0.6], [0.2, 0.8]]),
    (3, 5): np.array([[1.0, 3.0], [2.0, 2.0], [4.0, 1.0]]),
}
SEEN = {2: 1, 4: 0, 5: 1}


@pytest.fixture
def network():
    made = credo.MarkovNetwork()
    for name, potential in NODE.items():
        made.node(name, len(potential), potential)
    for ends, potential in EDGE.items():
        made.edge(*ends, potential)
    return made


@pytest.fixture
def passed(network):
    return credo.pass_messages(network, SEEN, root=3)


def whole(message):
    return message.values * np.exp(message.log_scale)


def weight(x1, x3):
    """The joint potential with the evidence, as the lecture writes it out."""
    return (
        (NODE[1][x1] * NODE[3][x3] * NODE[2][1] * NODE[4][0] * NODE[5][1])
        * (EDGE[1, 2][x1, 1] * EDGE[3, 4][x3, 0] * EDGE[3, 5][x3, 1])
        * EDGE[1, 3][x1, x3]
    )


def test_f3_the_messages_are_those_of_the_lecture(passed):
    m53 = [NODE[5][1] * EDGE[3, 5][x3, 1] for x3 in range(3)]
    m43 = [NODE[4][0] * EDGE[3, 4][x3, 0] for x3 in range(3)]
    m21 = [NODE[2][1] * EDGE[1, 2][x1, 1] for x1 in range(2)]
    m13 = [sum(NODE[1][x1] * EDGE[1, 3][x1, x3] * m21[x1] for x1 in range(2)) for x3 in range(3)]
    m31 = [
        sum(NODE[3][x3] * EDGE[1, 3][x1, x3] * m43[x3] * m53[x3] for x3 in range(3))
        for x1 in range(2)
    ]
    for source, target, expected in [
        (5, 3, m53),
        (4, 3, m43),
        (2, 1, m21),
        (1, 3, m13),
        (3, 1, m31),
    ]:
        np.testing.assert_allclose(whole(passed[source, target]), expected, rtol=1e-13)


def test_f3_a_message_is_an_object_one_can_print(passed):
    assert repr(passed[5, 3]) == "m[5 -> 3] = (0: 0.5, 1: 0.333333, 2: 0.166667)"
    assert repr(passed[2, 1]) == "m[2 -> 1] = (0: 0.222222, 1: 0.777778)"


def test_f3_they_are_sent_from_the_leaves_to_the_root_and_back(passed):
    sent = [(message.source, message.target) for message in passed]
    assert sent[:4] == [(2, 1), (5, 3), (4, 3), (1, 3)]
    assert sent[4:] == [(3, 1), (3, 4), (3, 5), (1, 2)]


def test_f3_the_exact_answer_of_infer_has_the_same_messages(network, passed):
    post = credo.infer(network, SEEN)
    for message in passed:
        assert repr(post.message(message.source, message.target)) == repr(message)


def test_f3_beliefs_of_3_and_1_equal_elimination(passed):
    joint = np.array([[weight(x1, x3) for x3 in range(3)] for x1 in range(2)])
    b3, b1 = joint.sum(axis=0) / joint.sum(), joint.sum(axis=1) / joint.sum()
    np.testing.assert_allclose([*passed.beliefs[3].values()], b3, rtol=1e-13)
    np.testing.assert_allclose([*passed.beliefs[1].values()], b1, rtol=1e-13)
    assert passed.log_evidence == pytest.approx(np.log(joint.sum()), rel=1e-13)


def test_f3_beliefs_are_products_of_messages(passed):
    product = NODE[3] * whole(passed[1, 3]) * whole(passed[4, 3])
    product *= whole(passed[5, 3])
    belief = [*passed.beliefs[3].values()]
    np.testing.assert_allclose(product / product.sum(), belief, rtol=1e-13)
    product = NODE[1] * whole(passed[3, 1]) * whole(passed[2, 1])
    belief = [*passed.beliefs[1].values()]
    np.testing.assert_allclose(product / product.sum(), belief, rtol=1e-13)
