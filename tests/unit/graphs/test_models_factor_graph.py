import itertools

import numpy as np
import pytest
from tests.oracles import joint as oracle

from credo.exceptions import InputError, LabelError, ShapeError
from credo.graphs import FactorGraph

ODD_STATES = {"a, b": ("x y", "x,y", "ÿ→"), 7: (1, "1"), ("t", 0): (None, 2.5)}


def pair(states_a=("no", "yes"), states_b=(0, 1, 2)):
    graph = FactorGraph()
    graph.variable("a", states_a)
    graph.variable("b", states_b)
    return graph


def test_the_joint_is_the_product_of_the_tables():
    rng = np.random.default_rng(5)
    tables = [rng.random(shape) for shape in ((2,), (3, 2), (2, 3, 2))]
    scopes = [("c",), ("b", "a"), ("a", "b", "c")]
    variables = {"a": (0, 1), "b": ("x", "y", "z"), "c": (False, True)}
    graph = FactorGraph()
    for name, states in variables.items():
        graph.variable(name, states)
    for scope, table in zip(scopes, tables, strict=True):
        graph.factor(scope, table)
    described = [
        (scope, oracle.cells(table, *(variables[name] for name in scope)))
        for scope, table in zip(scopes, tables, strict=True)
    ]
    expected = oracle.joint(variables, described)
    np.testing.assert_allclose(oracle.of_wiring(graph.compile()), expected, rtol=1e-14)
    np.testing.assert_allclose(oracle.of_model(graph), expected, rtol=1e-14)


def test_equal_factors_both_count():
    graph = pair()
    table = [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]
    graph.factor(["a", "b"], table)
    graph.factor(["a", "b"], table)
    assert len(graph.factors) == 2
    np.testing.assert_allclose(oracle.of_wiring(graph.compile()), np.square(table))


def test_a_dictionary_may_list_the_cells_in_any_order():
    expected = np.random.default_rng(0).random((3, 2, 2))
    keys = list(itertools.product(*ODD_STATES.values()))
    cells = dict(zip(keys, expected.ravel().tolist(), strict=True))
    for order in (keys, keys[::-1], sorted(keys, key=repr)):
        graph = FactorGraph()
        for name, states in ODD_STATES.items():
            graph.variable(name, states)
        factor = graph.factor(list(ODD_STATES), {key: cells[key] for key in order})
        np.testing.assert_array_equal(factor.table, expected)


def test_a_dictionary_over_one_variable_is_keyed_by_state_even_if_states_are_tuples():
    graph = FactorGraph()
    graph.variable("a", [("x", 1), ("y", 2)])
    first = graph.factor(["a"], {("y", 2): 2.0, ("x", 1): 1.0})
    second = graph.factor(["a"], {(("y", 2),): 2.0, (("x", 1),): 1.0})
    np.testing.assert_array_equal(first.table, [1, 2])
    np.testing.assert_array_equal(second.table, [1, 2])
    with pytest.raises(InputError, match="two values for 'a' = \\('x', 1\\)"):
        graph.factor(["a"], {("y", 2): 2.0, ("x", 1): 1.0, (("x", 1),): 3.0})


@pytest.mark.parametrize(
    ("table", "error", "message"),
    [
        ({("no", 0): 1.0}, InputError, "no value for 'a' = 'no', 'b' = 1"),
        ({("No", 0): 1.0}, LabelError, "'a' has no state 'No'.*Did you mean 'no'"),
        ({("no", "0"): 1.0}, LabelError, "'b' has no state '0'.*type"),
        ({"no": 1.0}, InputError, "one state for each of 'a', 'b'"),
        ([[1, 2], [3, 4], [5, 6]], ShapeError, r"shape \(2, 3\).*'a', 'b'.*Got shape \(3, 2\)"),
        ([1, 2, 3, 4, 5, 6], ShapeError, r"shape \(2, 3\)"),
        ([[1, 2, 3], [4, -5, 6]], InputError, "Got -5 for 'a' = 'yes', 'b' = 1.*log=True"),
        ([[1, 2, 3], [4, np.nan, 6]], InputError, "Got nan for 'a' = 'yes', 'b' = 1"),
        ([[1, 2, np.inf], [4, 5, 6]], InputError, "Got inf for 'a' = 'no', 'b' = 2"),
        (np.zeros((2, 3)), InputError, "no joint state is possible"),
        ([["x"] * 3] * 2, InputError, "numbers"),
        ({(a, b): [1.0] for a in ("no", "yes") for b in range(3)}, ShapeError, "one number"),
    ],
    ids=range(12),
)
def test_a_wrong_table_is_refused_with_its_place(table, error, message):
    graph = pair()
    with pytest.raises(error, match=message):
        graph.factor(["a", "b"], table)
    assert not graph.factors


@pytest.mark.parametrize(
    ("variables", "message"),
    [
        (["a", "a"], "'a' twice"),
        ([], "at least one variable"),
        *((each, "must be a list of names, in order") for each in (None, 7, "a")),
        ({"a"}, "in order. Got {'a'}"),
        (["a", "c"], "no variable 'c'"),
    ],
    ids=str,
)
def test_wrong_variables_are_refused(variables, message):
    graph = pair()
    with pytest.raises(InputError, match=message):
        graph.factor(variables, [[1.0, 1.0], [1.0, 1.0]])
    assert not graph.factors


def test_a_data_frame_in_another_order_is_refused():
    pd = pytest.importorskip("pandas")
    graph = pair()
    frame = pd.DataFrame([[1.0, 2.0, 3.0]] * 2, index=["yes", "no"], columns=[0, 1, 2])
    with pytest.raises(InputError, match="another order"):
        graph.factor(["a", "b"], frame)
    frame.index = ["no", "yes"]
    assert graph.factor(["a", "b"], frame).table.tolist() == [[1, 2, 3]] * 2
    np.testing.assert_array_equal(
        graph.factor(["a"], pd.Series({"yes": 2.0, "no": 1.0})).table, [1, 2]
    )


def test_the_table_of_the_caller_is_copied_and_the_factor_is_read_only():
    graph = pair()
    table = np.ones((2, 3))
    factor = graph.factor(["a", "b"], table)
    table[0, 0] = 9.0
    assert factor.table[0, 0] == 1.0
    with pytest.raises(ValueError, match="read-only"):
        factor.values[0, 0] = 9.0


def test_logs_are_scaled_by_their_largest():
    graph = pair()
    factor = graph.factor(["a"], [-1000.0, -1002.0], log=True)
    np.testing.assert_allclose(factor.values, [1.0, np.exp(-2.0)], rtol=1e-15)
    assert factor.log_scale == -1000.0
    assert factor.log_values is None
    wiring = graph.compile()
    assert wiring.log_scale.tolist() == [-1000.0]
    assert wiring.log_values is None
    np.testing.assert_allclose(factor.log_table, [-1000.0, -1002.0])


def test_logs_of_a_wide_range_are_kept():
    graph = pair()
    graph.factor(["b"], [1.0, 0.0, 4.0])
    graph.factor(["a"], [5.0, -2000.0], log=True)
    wiring = graph.compile()
    assert wiring.values.tolist() == [1.0, 0.0, 4.0, 1.0, 0.0]
    np.testing.assert_allclose(wiring.log_values, [0.0, -np.inf, np.log(4.0), 0.0, -2005.0])
    np.testing.assert_allclose(graph.factors[1].log_table, [5.0, -2000.0])


def test_minus_infinity_is_the_log_of_zero_and_does_not_make_a_range_wide():
    factor = pair().factor(["a"], [-np.inf, 3.0], log=True)
    assert factor.values.tolist() == [0.0, 1.0]
    assert factor.log_values is None


@pytest.mark.parametrize(
    ("logs", "message"),
    [
        ([-np.inf, -np.inf], "no joint state is possible"),
        ([np.inf, 0.0], "Got inf for 'a' = 'no'"),
        ([0.0, np.nan], "Got nan for 'a' = 'yes'"),
    ],
    ids=["zeros", "infinite", "nan"],
)
def test_wrong_logs_are_refused(logs, message):
    with pytest.raises(InputError, match=message):
        pair().factor(["a"], logs, log=True)


def test_factors_say_what_they_are_over():
    graph = pair()
    assert repr(graph.factor(["a"], [1, 2], name="prior")) == "<Factor 'prior' over 'a', 2 cells>"
