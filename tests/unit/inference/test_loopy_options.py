"""Settings of loopy belief propagation are checked at the door, in words."""

import numpy as np
import pytest

import credo
from credo.exceptions import InputError

WHO = "of Loopy belief propagation"
REFUSED = {
    "momentum": ([0, -0.5, 1.0001, np.nan, np.inf, "fast", None, [0.5, 0.5]], f"momentum {WHO}"),
    "schedule": (["fast", None, 3, ["flooding"]], "'auto', 'flooding', 'sequential', 'residual'"),
    "temperature": ([-1, -1e-9, np.nan, np.inf, "hot", None], f"temperature {WHO}"),
    "tolerance": ([-1e-9, np.nan, np.inf, "small"], f"tolerance {WHO}"),
    "sweeps": ([0, -1, 1.5, "3", None], f"sweeps {WHO}.*whole number"),
    "threads": ([0, -1, 1.5, "3", None], f"threads {WHO}.*whole number"),
    "seed": ([-1, 1.5], "seed"),
    "dtype": (["int8", "rubbish", 3, None, np.int64, [1]], "must be 'float64' or 'float32'"),
    "domain": (["logs", None, 1], "domain of Loopy.*'linear', 'log'"),
    "counting": (
        [0, -1, np.nan, [1, 1], [1, 1, 0], [[1, 1, 1]], np.inf, [1, 1, 1, 1], "many"],
        f"counting numbers {WHO}",
    ),
    "callback": ([3], "callback of .*function of .*sweep and residual"),
    "on_failure": (["ignore"], "'return', 'warn', 'raise'"),
    "start": ([3], "must be an answer of method='loopy'. Got int"),
    "damping": ([0.5], "has no option 'damping'.*'schedule', 'momentum'"),
    "jeffrey": ([{"a": [0.5, 0.5]}], "jeffrey needs an exact method"),
    "order": ([["a", "b", "c"]], "order needs an exact method"),
}


@pytest.fixture
def ring():
    model = credo.MarkovNetwork()
    for name in "abc":
        model.node(name, 2, [0.6, 0.4])
    for one, two in ("ab", "bc", "ca"):
        model.edge(one, two, [[2.0, 1.0], [1.0, 2.0]])
    return model


def loopy(model, **options):
    return credo.infer(model, method="loopy", **options)


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused_and_why(ring, name):
    values, words = REFUSED[name]
    for value in values:
        with pytest.raises(InputError, match=words):
            loopy(ring, **{name: value})


@pytest.mark.parametrize("value", ["float32", np.float32, np.dtype("float32")], ids=repr)
def test_the_type_of_number_may_be_given_in_any_way(ring, value):
    assert loopy(ring, schedule="flooding", dtype=value).details["messages"] == "ratios, float32"


def test_a_start_is_an_answer_about_the_same_model(ring):
    with pytest.raises(InputError, match="must be an answer of method='loopy'. Got GraphPosterior"):
        loopy(ring, start=credo.infer(ring))
    with pytest.raises(InputError, match="about the same model"):
        loopy(ring, start=loopy(ring.copy()))


def test_momentum_one_as_a_whole_number_will_do(ring):
    assert loopy(ring, momentum=1).details["momentum"] == 1.0
