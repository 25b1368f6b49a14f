"""Variables, factor graphs, Bayesian and Markov networks, chains: what they hold and compile to."""

import dataclasses
import itertools
import math
import pickle  # noqa: TID251 - work is sent to processes by it

import numpy as np
import pytest
from tests.oracles import joint as oracle
from tests.work import calls_in

from credo.exceptions import InputError, LabelError, ShapeError
from credo.graphs import BayesianNetwork, FactorGraph, MarkovNetwork, Variable, chain

MODELS = {"factor graph": FactorGraph, "Bayesian": BayesianNetwork, "Markov": MarkovNetwork}


def declare(model, name, states):
    return (
        model.node(name, states)
        if isinstance(model, MarkovNetwork)
        else model.variable(name, states)
    )


class TestAVariable:
    def test_has_its_states_in_the_order_given(self):
        variable = Variable("colour", ["red", "green", "blue"])
        assert variable.states == ("red", "green", "blue")
        assert [variable.index(s) for s in variable.states] == [0, 1, 2]
        assert variable.n_states == 3

    def test_takes_states_of_any_kind(self):
        states = ("a, b", "c d", "é→∞", 1, 2.5, ("pair", 1), None, False)
        variable = Variable("odd name, with comma", states)
        assert variable.states == states
        assert [variable.index(s) for s in states] == list(range(8))

    def test_names_the_nearest_state(self):
        with pytest.raises(LabelError, match=r"'rain' has no state 'Yes'.*Did you mean 'yes'"):
            Variable("rain", ["no", "yes"]).index("Yes")

    def test_tells_numbers_from_text(self):
        with pytest.raises(LabelError, match="'1' is of type str, 1 of type int"):
            Variable("x", ["0", "1"]).index(1)

    @pytest.mark.parametrize(
        ("states", "message"),
        [
            (["no", "no"], "'no' occurs more than once"),
            ([], "at least one"),
            (0, "number of states.*at least 1"),
            (2**24 + 1, "16777216 states at most"),
            (10**20, "16777216 states at most"),
            ("yes", "single string"),
            ({"a"}, "a set has none"),
            (2.5, "sequence of hashable names"),
            (True, "sequence of hashable names"),
            ([[1], [2]], "hashable"),
        ],
        ids=str,
    )
    def test_refuses_what_are_no_states(self, states, message):
        with pytest.raises(InputError, match=message):
            Variable("x", states)

    def test_equals_one_of_the_same_name_and_states(self):
        assert Variable("x", 2) == Variable("x", [0, 1])
        assert Variable("x", 2) != Variable("x", ["0", "1"])
        assert hash(Variable("x", 2)) == hash(Variable("x", [0, 1]))


@pytest.mark.parametrize("kind", MODELS.values(), ids=MODELS)
class TestEveryModel:
    def test_finds_its_variables_by_name(self, kind):
        model = kind()
        made = [declare(model, name, 2) for name in ("b", "a", ("t", 1))]
        assert list(model.variables) == made
        assert list(model.names) == ["b", "a", ("t", 1)]
        assert list(model) == ["b", "a", ("t", 1)]
        assert len(model) == 3
        assert model["a"] == made[1]
        assert model[made[1]] == made[1]
        assert "a" in model
        assert "c" not in model
        assert made[0] in model

    def test_refuses_a_name_that_is_taken(self, kind):
        model = kind()
        declare(model, "a", ["x", "y"])
        with pytest.raises(InputError, match="'a' is declared already, with states 'x', 'y'"):
            declare(model, "a", 3)
        assert len(model) == 1

    def test_names_the_nearest_variable(self, kind):
        model = kind()
        declare(model, "rain", 2)
        with pytest.raises(LabelError, match="no variable 'rian'. Known: 'rain'. Did you mean"):
            model["rian"]

    def test_refuses_a_variable_of_another_model(self, kind):
        model = kind()
        declare(model, "a", 2)
        with pytest.raises(InputError, match="belongs to another model"):
            model[Variable("a", 3)]

    def test_says_honestly_what_it_is(self, kind):
        model = kind()
        assert repr(model) == f"<{kind.__name__}: 0 variables, 0 factors, open>"
        model.compile()
        assert repr(model) == f"<{kind.__name__}: 0 variables, 0 factors, compiled>"

    def test_is_frozen_by_compiling_and_says_what_to_do(self, kind):
        model = kind()
        declare(model, "a", 2)
        if kind is BayesianNetwork:
            model.cpt("a", table=[0.5, 0.5])
        wiring = model.compile()
        assert model.compile() is wiring
        with pytest.raises(InputError, match=r"frozen. Add to a copy: model = model.copy\(\)"):
            declare(model, "b", 2)
        twin = model.copy()
        declare(twin, "b", 2)
        assert len(twin) == 2
        assert len(model) == 1


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


def sprinkler(**options):
    net = BayesianNetwork(**options)
    net.variable("rain", ["no", "yes"])
    net.variable("sprinkler", ["off", "on"])
    net.variable("grass", ["dry", "damp", "wet"])
    return net


GRASS = np.array([[[0.9, 0.1, 0.0], [0.2, 0.3, 0.5]], [[0.1, 0.3, 0.6], [0.0, 0.1, 0.9]]])


def filled():
    net = sprinkler()
    net.cpt("grass", ["rain", "sprinkler"], GRASS)  # children may come first
    net.cpt("sprinkler", given=["rain"], table=[[0.6, 0.4], [0.99, 0.01]])
    net.cpt("rain", table=[0.8, 0.2])
    return net


def random_arrays(seed, n=7, most_parents=3):
    """A random network whose variables are not in topological order."""
    rng = np.random.default_rng(seed)
    order = rng.permutation(n).tolist()
    k = rng.integers(1, 4, n).tolist()
    parents = [[] for _ in range(n)]
    for i, v in enumerate(order):
        count = int(rng.integers(0, min(i, most_parents) + 1))
        parents[v] = rng.choice(order[:i], count, replace=False).tolist() if count else []
    tables = []
    for v in range(n):
        table = rng.random([*(k[p] for p in parents[v]), k[v]]) + 0.01
        tables.append(table / table.sum(axis=-1, keepdims=True))
    names = [f"v{i}" for i in range(n)]
    states = [tuple(f"s{j}" for j in range(each)) for each in k]
    return names, states, parents, tables


def test_the_joint_is_the_product_of_the_conditionals():
    net = filled()
    variables = {v.name: v.states for v in net.variables}
    expected = oracle.joint(
        variables,
        [
            (["rain"], lambda r: 0.2 if r == "yes" else 0.8),
            (
                ["rain", "sprinkler"],
                lambda r, s: {"noon": 0.4, "nooff": 0.6, "yeson": 0.01, "yesoff": 0.99}[r + s],
            ),
            (["rain", "sprinkler", "grass"], oracle.cells(GRASS, *variables.values())),
        ],
    )
    np.testing.assert_allclose(oracle.of_wiring(net.compile()), expected, rtol=1e-15)
    np.testing.assert_allclose(oracle.of_model(net), expected, rtol=1e-15)
    assert expected.sum() == pytest.approx(1.0)


def test_parents_children_and_tables_can_be_looked_up():
    net = filled()
    assert net.parents("grass") == ("rain", "sprinkler")
    assert net.children("rain") == ("sprinkler", "grass")
    assert net.children("grass") == ()
    np.testing.assert_array_equal(net.table("grass"), GRASS)
    assert [factor.child.name for factor in net.factors] == ["rain", "sprinkler", "grass"]


def test_rows_may_be_given_by_state_in_any_order():
    net = sprinkler()
    states = [("no", "off"), ("no", "on"), ("yes", "off"), ("yes", "on")]
    rows = dict(zip(states, GRASS.reshape(4, 3).tolist(), strict=True))
    rows["yes", "on"] = {"wet": 0.9, "dry": 0.0, "damp": 0.1}
    for order in itertools.permutations(states):
        twin = net.copy()
        twin.cpt("grass", ["rain", "sprinkler"], {key: rows[key] for key in order})
        np.testing.assert_array_equal(twin.table("grass"), GRASS)
    net.cpt("rain", table={"yes": 0.25, "no": 0.75})
    net.cpt("sprinkler", ["rain"], {"yes": [0.5, 0.5], "no": {"on": 1, "off": 0}})
    np.testing.assert_array_equal(net.table("rain"), [0.75, 0.25])
    np.testing.assert_array_equal(net.table("sprinkler"), [[0, 1], [0.5, 0.5]])


@pytest.mark.parametrize(
    ("child", "given", "table", "error", "message"),
    [
        ("rain", [], [0.8, 0.3], InputError, "CPT of 'rain': it sums to 1.1, not to 1"),
        ("rain", [], [0.8, -0.2], InputError, "it has the negative entry -0.2"),
        ("rain", [], [1.5, -0.5], InputError, "it has the negative entry -0.5"),
        ("rain", [], [0.8, math.nan], InputError, "CPT of 'rain' must be finite. Got nan"),
        ("rain", [], [math.inf, 0.0], InputError, "must be finite. Got inf"),
        ("rain", [], [0.0, 0.0], InputError, "it sums to 0, not to 1"),
        ("rain", [], None, InputError, "needs a table"),
        ("rain", [], [1.0], ShapeError, "'rain' must be 2 numbers, one per label"),
        ("rain", [], {"yes": 1.0}, LabelError, "needs 'no', which is missing"),
        ("rain", [], {"yes": 1.0, "No": 0.0}, LabelError, "'no'.*missing.*Did you mean 'No'"),
        (
            "sprinkler",
            ["rain"],
            [[0.5, 0.5], [0.5, 0.6]],
            InputError,
            "CPT of 'sprinkler': the row for 'rain' = 'yes' sums to 1.1",
        ),
        (
            "grass",
            ["rain", "sprinkler"],
            np.moveaxis(GRASS, -1, 0),
            ShapeError,
            r"\(2, 2, 3\).*the child on the last. Got shape \(3, 2, 2\)",
        ),
        ("sprinkler", ["rain"], {"yes": [1, 0]}, InputError, "no value for 'rain' = 'no'"),
        ("sprinkler", ["rain"], {"yes": [1, 0], "on": [1, 0]}, LabelError, "no state 'on'"),
        ("sprinkler", ["sprinkler"], [[1, 0], [1, 0]], InputError, "its own parent"),
        ("sprinkler", ["rain", "rain"], [[1, 0]], InputError, "'rain' twice"),
        ("sprinkler", "rain", [[1, 0]], InputError, "must be a list of names, in order"),
        ("sprinkler", ["snow"], [[1, 0]], LabelError, "no variable 'snow'"),
    ],
    ids=range(18),
)
def test_a_wrong_cpt_is_refused_by_name(child, given, table, error, message):
    net = sprinkler()
    with pytest.raises(error, match=message):
        net.cpt(child, given, table)
    assert not net.factors


def test_the_row_at_fault_is_named_by_all_parents():
    table = GRASS.copy()
    table[1, 0] = [0.1, 0.3, 0.5]
    with pytest.raises(InputError, match="for 'rain' = 'yes', 'sprinkler' = 'off' sums to 0.9"):
        sprinkler().cpt("grass", ["rain", "sprinkler"], table)


def test_rounded_rows_are_divided_by_their_sum_once():
    net = sprinkler()
    third = net.cpt("grass", ["rain"], [[0.3333, 0.3333, 0.3333], [0.3334, 0.3334, 0.3333]]).values
    np.testing.assert_allclose(third.sum(axis=-1), 1.0, rtol=1e-15)
    np.testing.assert_allclose(third[0], 1 / 3)
    twice = sprinkler().cpt("grass", ["rain"], third).values
    np.testing.assert_array_equal(twice, third)


def test_the_tolerance_is_the_users_choice():
    assert sprinkler(tolerance=0.2).cpt("rain", table=[0.8, 0.3]).values.sum() == pytest.approx(1)
    with pytest.raises(InputError, match="sums to 1.00001"):
        sprinkler(tolerance=1e-6).cpt("rain", table=[0.8, 0.20001])
    with pytest.raises(InputError, match="at least 0"):
        BayesianNetwork(tolerance=-1)
    loose = sprinkler(tolerance=0.2).copy()
    loose.cpt("rain", table=[0.8, 0.3])


def test_a_second_cpt_is_refused():
    net = filled()
    with pytest.raises(InputError, match="'rain' has its CPT already"):
        net.cpt("rain", table=[0.5, 0.5])


def test_a_variable_without_cpt_is_named():
    net = sprinkler()
    net.cpt("rain", table=[0.8, 0.2])
    with pytest.raises(InputError, match="'sprinkler', 'grass' have no CPT"):
        net.compile()
    with pytest.raises(InputError, match="Variable 'grass' has no CPT"):
        net.table("grass")
    net.cpt("grass", ["rain"], GRASS[0])  # it is still open
    with pytest.raises(InputError, match="Variable 'sprinkler' has no CPT"):
        net.compile()


def test_a_cycle_is_named_in_order():
    net = BayesianNetwork()
    for name in "abcde":
        net.variable(name, 2)
    half = np.full((2, 2), 0.5)
    net.cpt("e", table=[0.5, 0.5])
    net.cpt("d", ["c"], half)  # hangs on the cycle
    for parent, child in ("ab", "bc"):
        net.cpt(child, [parent], half)
    with pytest.raises(InputError, match="the cycle 'a' → 'b' → 'c' → 'a'"):
        net.cpt("a", ["e", "c"], np.full((2, 2, 2), 0.5))


def test_long_chains_do_not_recurse():
    n = 5000
    parents = [[v + 1] for v in range(n - 1)] + [[]]
    values = np.concatenate([np.full(4 * (n - 1), 0.5), [0.5, 0.5]])
    BayesianNetwork.from_arrays(range(n), [(0, 1)] * n, parents, values).compile()
    parents[-1] = [0]
    with pytest.raises(InputError, match="cycle"):
        BayesianNetwork.from_arrays(range(n), [(0, 1)] * n, parents, np.full(4 * n, 0.5))


class TestNetworkFromArrays:
    @pytest.mark.parametrize("seed", range(3))
    def test_is_the_same_model_as_one_built_by_hand(self, seed):
        names, states, parents, tables = random_arrays(seed)
        flat = np.concatenate([table.ravel() for table in tables])
        net = BayesianNetwork.from_arrays(names, states, parents, flat)
        hand = BayesianNetwork()
        for name, each in zip(names, states, strict=True):
            hand.variable(name, each)
        for name, above, table in reversed(list(zip(names, parents, tables, strict=True))):
            hand.cpt(name, [names[p] for p in above], table)
        for name, table in zip(names, tables, strict=True):
            assert net.parents(name) == hand.parents(name)
            assert net.children(name) == hand.children(name)
            np.testing.assert_array_equal(net.table(name), table)
        one, other = net.compile(), hand.compile()
        for field in ("n_states", "scope_start", "scope", "table", "table_start", "owner"):
            got, expected = getattr(one, field), getattr(other, field)
            np.testing.assert_array_equal(got, expected)
            assert got.dtype == expected.dtype, field
        np.testing.assert_array_equal(one.values, other.values)
        assert list(one.states) == list(other.states)
        np.testing.assert_allclose(oracle.of_model(net), oracle.of_model(hand), rtol=1e-14)

    def test_can_be_added_to_until_it_is_compiled(self):
        net = BayesianNetwork.from_arrays(["a"], [("x", "y")], [[]], [0.25, 0.75])
        before = net.compile()
        twin = net.copy()
        twin.variable("b", 2)
        twin.cpt("b", ["a"], [[1, 0], [0, 1]])
        assert len(before.names) == 1
        np.testing.assert_array_equal(oracle.of_wiring(twin.compile()), [[0.25, 0], [0, 0.75]])
        assert twin.compile().owner.tolist() == [0, 1]

    def test_makes_variables_when_they_are_looked_at(self):
        net = BayesianNetwork.from_arrays(["a", "b"], [(0, 1)] * 2, [[], [0]], [0.5] * 6)
        assert net.variables[1] == Variable("b", 2)
        assert list(net.variables[:1]) == [Variable("a", 2)]
        assert net.factors[1].child == Variable("b", 2)
        assert len(net.factors[:1]) == 1
        assert repr(net.factors) == "<2 factors>"
        assert repr(net.variables) == "<2 variables: 'a', 'b'>"

    @pytest.mark.parametrize(
        ("change", "error", "message"),
        [
            ({"names": ["a", "a"]}, InputError, "'a' occurs more than once"),
            ({"states": [(0, 1)]}, ShapeError, "2 names needs as many lists of states. Got 1"),
            ({"states": [(0, 1), (0, 0)]}, InputError, "variable 'b'.*0 occurs more than once"),
            ({"states": [(0, 1), ()]}, InputError, "at least one"),
            ({"states": [(0, 1), (0, math.nan)]}, InputError, "NaN"),
            ({"parents": [[]]}, ShapeError, "as many lists of parents. Got 1"),
            ({"parents": [[], [2]]}, InputError, "'b' has the parent number 2"),
            ({"parents": [[], [-1]]}, InputError, "'b' has the parent number -1"),
            ({"parents": [[], [1]]}, InputError, "the cycle 'b' → 'b'"),
            ({"parents": [[1], [0]], "values": [0.5] * 8}, InputError, "'a' → 'b' → 'a'"),
            ({"parents": [[], [0, 0]]}, InputError, "'b' has the parent 'a' twice"),
            ({"values": [0.5] * 7}, ShapeError, "6 cells in all. Got 7"),
            (
                {"values": [0.5, 0.5, 0.5, 0.5, 0.5, 0.6]},
                InputError,
                "CPT of 'b': the row for 'a' = 1 sums to 1.1",
            ),
            ({"values": [0.5, 0.6, 0.5, 0.5, 0.5, 0.5]}, InputError, "CPT of 'a': it sums to 1.1"),
            ({"values": [0.5, 0.5, 1.5, -0.5, 0.5, 0.5]}, InputError, "'a' = 0 has the negative"),
        ],
        ids=range(15),
    )
    def test_names_what_is_wrong(self, change, error, message):
        arrays = {
            "names": ["a", "b"],
            "states": [(0, 1)] * 2,
            "parents": [[], [0]],
            "values": [0.5] * 6,
        }
        with pytest.raises(error, match=message):
            BayesianNetwork.from_arrays(**(arrays | change))

    def test_refuses_tables_larger_than_any_memory_without_making_them(self):
        n = 80
        parents = [[]] * (n - 1) + [list(range(n - 1))]
        with pytest.raises(ShapeError, match="cells in all. Got 4"):
            BayesianNetwork.from_arrays(range(n), [(0, 1)] * n, parents, [0.5] * 4)

    def test_takes_a_thousand_variables_with_few_calls_for_each(self):
        names, states, parents, tables = random_arrays(1, n=1000)
        flat = np.concatenate([table.ravel() for table in tables])
        make = BayesianNetwork.from_arrays
        assert calls_in(lambda: make(names, states, parents, flat).compile()) < 20 * len(names)


RNG = np.random.default_rng(9)
POTENTIALS = RNG.random((4, 3)) + 0.1
EDGES = [[0, 1], [2, 1], [3, 2], [0, 1]]  # the last is the first again
SHARED = RNG.random((3, 3)) + 0.1
OWN = RNG.random((4, 3, 3)) + 0.1


def by_hand(edge_tables):
    net = MarkovNetwork()
    for i, row in enumerate(POTENTIALS):
        net.node(i, 3, row)
    for (a, b), table in zip(EDGES, edge_tables, strict=True):
        net.edge(a, b, table)
    return net


@pytest.mark.parametrize("tables", [SHARED, OWN], ids=["shared", "own"])
@pytest.mark.parametrize("log", [False, True], ids=["linear", "log"])
def test_arrays_give_the_same_model_as_nodes_and_edges(tables, log):
    given = (np.log(POTENTIALS), EDGES, np.log(tables)) if log else (POTENTIALS, EDGES, tables)
    net = MarkovNetwork.from_arrays(*given, log=log)
    hand = by_hand(np.broadcast_to(tables, (4, 3, 3)))
    expected = oracle.joint(
        dict.fromkeys(range(4), (0, 1, 2)),
        [((i,), oracle.cells(row, (0, 1, 2))) for i, row in enumerate(POTENTIALS)]
        + [
            (tuple(pair), oracle.cells(table, (0, 1, 2), (0, 1, 2)))
            for pair, table in zip(EDGES, np.broadcast_to(tables, (4, 3, 3)), strict=True)
        ],
    )
    np.testing.assert_allclose(oracle.of_wiring(net.compile()), expected, rtol=1e-13)
    np.testing.assert_allclose(oracle.of_wiring(hand.compile()), expected, rtol=1e-13)
    np.testing.assert_allclose(oracle.of_model(net), expected, rtol=1e-13)
    one, other = net.compile(), hand.compile()
    for field in ("n_states", "scope_start", "scope", "owner"):
        np.testing.assert_array_equal(getattr(one, field), getattr(other, field))
        assert getattr(one, field).dtype == getattr(other, field).dtype


def test_a_shared_potential_is_held_once():
    wiring = MarkovNetwork.from_arrays(POTENTIALS, EDGES, SHARED).compile()
    assert wiring.table.tolist() == [0, 1, 2, 3, 4, 4, 4, 4]
    assert wiring.values.size == POTENTIALS.size + SHARED.size


def test_nodes_need_no_potential_and_come_before_edges():
    net = MarkovNetwork()
    net.node("a", 2)
    net.edge("a", net.node("b", ["x", "y"], {"y": 2.0, "x": 1.0}), np.ones((2, 2)))
    net.node("c", 2, [0.0, -800.0], log=True)
    wiring = net.compile()
    assert wiring.scope.tolist() == [1, 2, 0, 1]
    assert wiring.values[:4].tolist() == [1.0, 2.0, 1.0, 0.0]
    np.testing.assert_allclose(wiring.log_values[:4], [0.0, np.log(2.0), 0.0, -800.0])
    assert len(net.factors) == 3


def test_a_node_that_is_refused_is_not_declared():
    net = MarkovNetwork()
    with pytest.raises(InputError, match="Node 'a'.*Got -1 for 'a' = 0"):
        net.node("a", 2, [-1.0, 1.0])
    net.node("a", 2)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (("a", "a", np.ones((2, 2))), InputError, "cannot join node 'a' to itself"),
        (("a", "c", np.ones((2, 2))), LabelError, "no variable 'c'"),
        (("a", "b", np.ones((3, 2))), ShapeError, r"shape \(2, 3\).*Got shape \(3, 2\)"),
    ],
    ids=["loop", "unknown", "shape"],
)
def test_a_wrong_edge_is_refused(arguments, error, message):
    net = MarkovNetwork()
    net.node("a", 2)
    net.node("b", 3)
    with pytest.raises(error, match=message):
        net.edge(*arguments)


class TestFieldFromArrays:
    def test_names_and_states_are_lazy_numbers(self):
        net = MarkovNetwork.from_arrays(POTENTIALS, EDGES, SHARED)
        wiring = net.compile()
        assert wiring.names == range(4)
        assert wiring.states[3] == (0, 1, 2)
        assert len(wiring.states) == 4
        assert len(wiring.states[1:]) == 3
        assert wiring.index(3) == 3
        assert net[3] == Variable(3, 3)
        assert 4 not in net
        with pytest.raises(LabelError, match="no variable '3'.*type"):
            wiring.index("3")

    def test_can_be_added_to_until_it_is_compiled(self):
        net = MarkovNetwork.from_arrays(
            POTENTIALS, EDGES, SHARED, names=list("abcd"), states=list("xyz")
        )
        net.node("e", 2)
        net.edge("d", "e", [[1, 2], [3, 4], [5, 6]])
        assert net["a"].states == ("x", "y", "z")
        table = oracle.of_wiring(net.compile())
        before = oracle.of_wiring(MarkovNetwork.from_arrays(POTENTIALS, EDGES, SHARED).compile())
        expected = before[..., np.newaxis] * np.array([[1, 2], [3, 4], [5, 6]])
        np.testing.assert_allclose(table, expected, rtol=1e-14)

    def test_needs_no_edges(self):
        wiring = MarkovNetwork.from_arrays([[1.0, 2.0]], [], np.ones((2, 2))).compile()
        np.testing.assert_array_equal(oracle.of_wiring(wiring), [1.0, 2.0])

    @pytest.mark.parametrize(
        ("change", "error", "message"),
        [
            ({"edges": [[0, 4]]}, InputError, r"from 0 to 3. Got 4 at index \[0, 1\]"),
            ({"edges": [[0, 1], [-1, 2]]}, InputError, r"Got -1 at index \[1, 0\]"),
            ({"edges": [[0, 1], [2, 2]]}, InputError, "Edge 1 joins node 2 to itself"),
            ({"edges": [[0.0, 1.0]]}, InputError, "whole numbers"),
            ({"edges": [0, 1]}, ShapeError, r"\(n_edges, 2\)"),
            ({"edge_potentials": np.ones((2, 2))}, ShapeError, r"\(3, 3\).*Got shape \(2, 2\)"),
            ({"edge_potentials": -SHARED}, InputError, "edge potential needs.*log=True"),
            ({"edge_potentials": OWN * 0}, InputError, r"Edge 0, \[0, 1\], allows no state"),
            ({"node_potentials": POTENTIALS[0]}, ShapeError, r"\(n_nodes, n_states\)"),
            (
                {"node_potentials": POTENTIALS * [[1], [1], [0], [1]]},
                InputError,
                "Node 2 allows no",
            ),
            ({"node_potentials": POTENTIALS * np.nan}, InputError, "Node 0 needs.*Got nan"),
            ({"node_potentials": POTENTIALS * np.inf, "log": True}, InputError, "Got inf"),
            ({"names": ["a"]}, ShapeError, "4 names and 3 states. Got 1 and 3"),
            ({"names": list("abca")}, InputError, "'a' occurs more than once"),
            ({"states": ["x", "y"]}, ShapeError, "Got 4 and 2"),
        ],
        ids=range(15),
    )
    def test_names_what_is_wrong(self, change, error, message):
        arrays = {"node_potentials": POTENTIALS, "edges": EDGES, "edge_potentials": SHARED}
        with pytest.raises(error, match=message):
            MarkovNetwork.from_arrays(**(arrays | change))

    def test_takes_a_hundred_thousand_nodes_without_a_call_for_each(self):
        n = 100_000
        first = np.arange(n - 1)
        edges = np.concatenate([np.column_stack([first, first + 1])] * 3)
        arrays = (np.ones((n, 2)), edges, np.ones((2, 2)))
        assert calls_in(lambda: MarkovNetwork.from_arrays(*arrays).compile()) < 1000
        assert len(MarkovNetwork.from_arrays(*arrays).compile().table) == n + 3 * (n - 1)


INITIAL = [0.6, 0.3, 0.1]
MOVES = np.array([[0.7, 0.2, 0.1], [0.0, 0.5, 0.5], [0.3, 0.3, 0.4]])
SHOWS = np.array([[0.9, 0.1], [0.5, 0.5], [0.2, 0.8]])
PER_STEP = np.stack([MOVES, MOVES[::-1]])


def joint_by_hand(length, moves, seen=None):
    """The probability of every path of hidden states, and of what was seen on it."""
    table = np.empty((3,) * length)
    for path in itertools.product(range(3), repeat=length):
        p = INITIAL[path[0]]
        for t in range(1, length):
            p *= moves[t - 1][path[t - 1], path[t]]
        for t, symbol in enumerate([] if seen is None else seen):
            p *= SHOWS[path[t], symbol]
        table[path] = p
    return table


@pytest.mark.parametrize("length", [1, 2, 4])
def test_a_chain_multiplies_its_transitions(length):
    net = chain(INITIAL, MOVES, length=length)
    assert isinstance(net, BayesianNetwork)
    expected = joint_by_hand(length, [MOVES] * length)
    np.testing.assert_allclose(oracle.of_wiring(net.compile()), expected, rtol=1e-14)
    np.testing.assert_allclose(oracle.of_model(net), expected, rtol=1e-14)
    assert list(net.names) == [f"x{t}" for t in range(length)]


def test_each_step_may_have_its_own_transition():
    net = chain(INITIAL, PER_STEP)
    np.testing.assert_allclose(oracle.of_wiring(net.compile()), joint_by_hand(3, PER_STEP))
    np.testing.assert_array_equal(net.table("x2"), PER_STEP[1])


def test_with_emissions_the_symbols_are_variables():
    net = chain(INITIAL, MOVES, length=3, emission=SHOWS)
    assert list(net.names) == ["x0", "x1", "x2", "y0", "y1", "y2"]
    assert net.parents("y1") == ("x1",)
    assert net.children("x1") == ("x2", "y1")
    full = oracle.of_wiring(net.compile())
    assert full.sum() == pytest.approx(1.0)
    for seen in itertools.product(range(2), repeat=3):
        expected = joint_by_hand(3, [MOVES] * 2, seen)
        np.testing.assert_allclose(full[(..., *seen)], expected, rtol=1e-13)


@pytest.mark.parametrize("moves", [MOVES, PER_STEP], ids=["shared", "own"])
def test_with_observations_only_the_hidden_states_are_left(moves):
    seen = [1, 0, 1]
    net = chain(INITIAL, moves, emission=SHOWS, observations=seen)
    assert isinstance(net, MarkovNetwork)
    expected = joint_by_hand(3, np.broadcast_to(moves, (2, 3, 3)), seen)
    np.testing.assert_allclose(oracle.of_wiring(net.compile()), expected, rtol=1e-13)


def test_log_likelihoods_stand_for_observations_of_any_kind():
    seen = [1, 0, 1]
    logs = np.log(SHOWS.T[seen])
    wiring = chain(INITIAL, MOVES, log_likelihood=logs - 5000.0).compile()
    np.testing.assert_allclose(wiring.log_scale[:3].sum() + 15000, np.log(wiring_scale(seen)))
    expected = joint_by_hand(3, [MOVES] * 2, seen)
    got = oracle.of_wiring(chain(INITIAL, MOVES, log_likelihood=logs).compile())
    np.testing.assert_allclose(got, expected, rtol=1e-13)


def wiring_scale(seen):
    """The product of the largest weight of each step."""
    weights = SHOWS.T[seen] * np.array([INITIAL, [1, 1, 1], [1, 1, 1]])
    return weights.max(axis=1).prod()


def test_a_dictionary_names_the_states():
    net = chain({"dry": 0.75, "wet": 0.25}, [[1, 0], [0.5, 0.5]], length=2)
    assert net["x1"].states == ("dry", "wet")
    np.testing.assert_array_equal(net.table("x0"), [0.75, 0.25])


def test_a_shared_transition_is_held_once():
    assert chain(INITIAL, MOVES, length=1000, emission=SHOWS).compile().values.size == 3 + 9 + 6


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({}, InputError, "needs its length"),
        ({"length": 0}, InputError, "length"),
        ({"length": 2, "transition": MOVES[:2]}, ShapeError, r"\(3, 3\) or"),
        ({"length": 2, "transition": 0.5}, ShapeError, "transition"),
        ({"length": 2, "transition": MOVES * 2}, InputError, r"transition.*row \[0\] sums to 2"),
        ({"transition": PER_STEP * [[[1]], [[2]]]}, InputError, r"row \[1, 0\] sums to 2"),
        ({"length": 4, "transition": PER_STEP}, ShapeError, "length 4, steps in the transition 3"),
        ({"length": 2, "initial": [0.5, 0.6]}, InputError, "initial of a chain: it sums to 1.1"),
        ({"length": 2, "initial": [[0.5, 0.5]]}, ShapeError, "initial"),
        ({"length": 2, "emission": SHOWS[:2]}, ShapeError, r"emission.*shape \(3, m\)"),
        ({"length": 2, "emission": -SHOWS}, InputError, "emission.*negative"),
        ({"observations": [0, 1]}, InputError, "needs an emission"),
        ({"emission": SHOWS, "observations": [0, 2]}, InputError, r"Got 2 at index \[1\]"),
        ({"emission": SHOWS, "observations": [-1]}, InputError, r"Got -1 at index \[0\]"),
        ({"emission": SHOWS, "observations": [0.5]}, InputError, "whole numbers"),
        ({"emission": SHOWS, "observations": []}, ShapeError, "positive"),
        ({"emission": SHOWS, "observations": [0], "length": 2}, ShapeError, "must agree"),
        ({"emission": SHOWS, "log_likelihood": SHOWS}, InputError, "not both"),
        ({"log_likelihood": SHOWS}, ShapeError, r"log_likelihood.*shape \(T, 3\)"),
        ({"log_likelihood": [[-np.inf] * 3]}, InputError, "Node 'x0' allows no state"),
    ],
    ids=range(20),
)
def test_a_chain_that_does_not_fit_is_refused(arguments, error, message):
    with pytest.raises(error, match=message):
        chain(**({"initial": INITIAL, "transition": MOVES} | arguments))


def test_a_long_chain_compiles_with_a_call_for_each_variable():
    n = 10_000
    seen = {"length": n, "emission": SHOWS}
    assert calls_in(lambda: chain(INITIAL, MOVES, **seen).compile()) < 2.1 * n
    one = chain(INITIAL, MOVES, **seen).compile()
    other = chain(INITIAL, MOVES, log_likelihood=np.zeros((n, 3))).compile()
    assert len(one.table) == 2 * n
    assert len(other.table) == 2 * n - 1
    assert one.index(f"y{n - 1}") == 2 * n - 1


def small():
    graph = FactorGraph()
    a, b = graph.variable("a", ["x", "y"]), graph.variable("b", 3)
    graph.factor([b, a], np.arange(6.0).reshape(3, 2))
    graph.parity([a])
    graph.factor([a], [-1.0, -900.0], log=True)
    return graph


def ways():
    """Wirings made in every way there is."""
    net = BayesianNetwork.from_arrays(["a", "b"], [(0, 1)] * 2, [[], [0]], [0.5] * 6)
    field = MarkovNetwork.from_arrays(np.ones((3, 2)), [[0, 1]], np.ones((2, 2)))
    tables = [[0.5, 0.5], [[0.5, 0.5], [0.1, 0.9]]]
    return {
        "objects": small().compile(),
        "tables only": small().compile().tabulated(sum_product=True),
        "network arrays": net.compile(),
        "field arrays": field.compile(),
        "chain": chain(*tables, length=3, emission=tables[1]).compile(),
        "hidden chain": chain(*tables, log_likelihood=[[0, -1], [0, -900.0]]).compile(),
        "empty": FactorGraph().compile(),
    }


WAYS = ways()


@pytest.mark.parametrize("wiring", WAYS.values(), ids=WAYS)
def test_every_wiring_has_read_only_arrays_that_fit_together(wiring):
    every = [getattr(wiring, field.name) for field in dataclasses.fields(wiring)]
    arrays = [each for each in every if isinstance(each, np.ndarray)]
    assert len(arrays) >= 8
    assert not any(array.flags.writeable for array in arrays)
    assert [len(s) for s in wiring.states] == wiring.n_states[: len(wiring.names)].tolist()
    assert wiring.scope_start[-1] == len(wiring.scope)
    assert wiring.table_start[-1] == len(wiring.values)
    assert (wiring.table < 0).sum() == len(wiring.structured)
    twin = pickle.loads(pickle.dumps(wiring))  # noqa: S301 - our own bytes
    np.testing.assert_array_equal(twin.values, wiring.values)
    assert [twin.index(name) for name in wiring.names] == list(range(len(wiring.names)))
