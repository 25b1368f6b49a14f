import itertools
import math

import numpy as np
import pytest
from tests.oracles import joint as oracle
from tests.work import calls_in

from credo.exceptions import InputError, LabelError, ShapeError
from credo.graphs import BayesianNetwork, Variable


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


def test_factor_number_v_is_the_cpt_of_variable_v_with_the_child_last():
    wiring = filled().compile()
    assert wiring.owner.tolist() == [0, 1, 2]
    assert wiring.scope.tolist() == [0, 0, 1, 0, 1, 2]
    assert wiring.scope_start.tolist() == [0, 1, 3, 6]
    assert wiring.table_start.tolist() == [0, 2, 6, 18]


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


def test_rows_that_sum_to_one_are_kept_to_the_last_bit():
    net = sprinkler()
    rows = np.random.default_rng(3).dirichlet(np.ones(3), size=(2, 2))
    np.testing.assert_array_equal(net.cpt("grass", ["rain", "sprinkler"], rows).values, rows)


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
    net.cpt("a", ["e", "c"], np.full((2, 2, 2), 0.5))
    with pytest.raises(InputError, match="the cycle 'a' → 'b' → 'c' → 'a'"):
        net.compile()


def test_long_chains_do_not_recurse():
    n = 5000
    parents = [[v + 1] for v in range(n - 1)] + [[]]
    values = np.concatenate([np.full(4 * (n - 1), 0.5), [0.5, 0.5]])
    BayesianNetwork.from_arrays(range(n), [(0, 1)] * n, parents, values).compile()
    parents[-1] = [0]
    with pytest.raises(InputError, match="cycle"):
        BayesianNetwork.from_arrays(range(n), [(0, 1)] * n, parents, np.full(4 * n, 0.5))


class TestFromArrays:
    @pytest.mark.parametrize("seed", range(8))
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

    def test_divides_rounded_rows(self):
        net = BayesianNetwork.from_arrays(["a"], [(0, 1, 2)], [[]], [0.3333, 0.3333, 0.3333])
        np.testing.assert_allclose(net.table("a"), 1 / 3, rtol=1e-15)

    def test_takes_a_thousand_variables_with_few_calls_for_each(self):
        names, states, parents, tables = random_arrays(1, n=1000)
        flat = np.concatenate([table.ravel() for table in tables])
        make = BayesianNetwork.from_arrays
        assert calls_in(lambda: make(names, states, parents, flat).compile()) < 20 * len(names)
