import numpy as np
import pytest

from credo.exceptions import InputError, LabelError
from credo.graphs import BayesianNetwork, FactorGraph, MarkovNetwork, Variable

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

    def test_of_k_states_counts_from_zero(self):
        assert Variable("die", 3).states == (0, 1, 2)
        assert Variable("die", np.int64(2)).states == (0, 1)

    def test_takes_states_of_any_kind(self):
        states = ("a, b", "c d", "é→∞", 1, 2.5, ("pair", 1), None, False)
        variable = Variable("odd name, with comma", states)
        assert variable.states == states
        assert [variable.index(s) for s in states] == list(range(8))

    def test_turns_numpy_states_into_python_values(self):
        variable = Variable("x", np.array(["no", "yes"]))
        assert [type(s) for s in variable.states] == [str, str]

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

    def test_cannot_be_changed(self):
        with pytest.raises(AttributeError):
            Variable("x", 2).name = "y"

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
