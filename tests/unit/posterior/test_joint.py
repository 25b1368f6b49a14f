import copy
import itertools

import numpy as np
import pytest

from credo import JointTable
from credo.exceptions import InputError, LabelError, ShapeError

TWO = {"a": [0, 1], "b": [0, 1]}
STATES = {"a": [0, 1], "b": ["x", "y", "z"], "c": [True, False]}


@pytest.fixture
def joint():
    table = np.random.default_rng(0).random((2, 3, 2))
    return JointTable(table / table.sum(), STATES)


def test_a_marginal_sums_over_all_other_states(joint):
    marginal = joint.marginal("c", "a")
    assert marginal.variables == ("c", "a")
    for i, k in itertools.product(range(2), range(2)):
        expected = sum(joint.table[i, j, k] for j in range(3))
        assert marginal.table[k, i] == pytest.approx(expected)


def test_a_marginal_of_three_in_any_order_keeps_every_cell(joint):
    turned = joint.marginal("c", "a", "b")
    for i, j, k in np.ndindex(2, 3, 2):
        assert turned.table[k, i, j] == pytest.approx(joint.table[i, j, k], rel=1e-14)


def test_conditioning_divides_by_the_evidence(joint):
    given = joint.given({"b": "y"}, c=False)
    assert given.variables == ("a",)
    column = joint.table[:, 1, 1]
    np.testing.assert_allclose(given.table, column / column.sum())


def test_the_probability_of_an_assignment(joint):
    assert joint[{"a": 1}] == pytest.approx(joint.table[1].sum())
    assert joint[{}] == pytest.approx(1.0)


def test_a_conditional_of_an_impossible_parent_is_marked_as_undefined():
    joint = JointTable([[0.5, 0.5], [0.0, 0.0]], TWO)
    table = joint.conditional("b", ["a"])
    np.testing.assert_array_equal(table[0], [0.5, 0.5])
    assert np.isnan(table[1]).all()


def test_cells_by_name_and_print(joint):
    cells = joint.to_dict()
    assert cells[1, "z", False] == joint.table[1, 2, 1]
    assert len(cells) == 12
    assert repr(joint) == "JointTable over a (2), b (3), c (2)"
    assert joint.states["b"] == ("x", "y", "z")


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda j: j.given(b="w"), LabelError, "variable 'b' has no state 'w'. Known: 'x', 'y'"),
        (lambda j: j.given(bb="x"), LabelError, "no variable 'bb'.*Did you mean 'b'"),
        (lambda j: j.given(a=0, b="x", c=True), InputError, "nothing is left"),
        (lambda j: j.posterior(), InputError, "needs one variable left, got a, b, c"),
        (lambda j: j.marginal("q"), LabelError, "no variable 'q'"),
        (
            lambda _: JointTable([[0.5, 0.5], [0.0, 0.0]], TWO).given(a=1),
            InputError,
            "probability 0",
        ),
        (lambda _: JointTable([[1, 1]], {"a": [0], "b": [0, 1]}), InputError, "sums to 2"),
        (lambda _: JointTable([0.5, 0.5], TWO), ShapeError, r"shape \(2, 2\)"),
        (lambda _: JointTable([[0.5, 0.5]], ["a", "b"]), InputError, "{variable: states}"),
        (lambda j: j["a"], InputError, "{variable: state}"),
    ],
)
def test_a_wrong_question_or_table_is_answered_with_the_remedy(joint, call, error, message):
    with pytest.raises(error, match=message):
        call(joint)


def test_dependence_in_a_rare_state_is_not_overlooked():
    rare = 1e-7
    table = np.empty((2, 2, 2))
    table[0] = (1 - rare) * np.outer([0.5, 0.5], [0.5, 0.5])
    table[1] = rare * np.array([[0.5, 0.0], [0.0, 0.5]])
    joint = JointTable(table, {"c": [0, 1], "a": [0, 1], "b": [0, 1]})
    assert not joint.are_independent("a", "b", given=["c"])


def test_it_does_not_change_and_neither_does_a_copy(joint):
    other = copy.deepcopy(joint)
    assert other.states == joint.states
    np.testing.assert_array_equal(other.table, joint.table)
    for table in (joint, other):
        with pytest.raises(AttributeError, match="does not change"):
            table.states = {}
        with pytest.raises(ValueError, match="read-only"):
            table.table[0] = 1
