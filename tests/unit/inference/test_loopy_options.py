"""Settings of loopy belief propagation are checked at the door, in words."""

import numpy as np
import pytest

import credo
from credo.exceptions import InputError


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


@pytest.mark.parametrize("value", [0, -0.5, 1.0001, np.nan, np.inf, "fast", None, [0.5, 0.5]])
def test_the_momentum_is_a_share_or_adaptive(ring, value):
    with pytest.raises(InputError, match="momentum of Loopy belief propagation"):
        loopy(ring, momentum=value)


@pytest.mark.parametrize("value", ["fast", None, 3, ["flooding"], "Flooding"])
def test_schedules_are_listed(ring, value):
    with pytest.raises(InputError, match="one of 'auto', 'flooding', 'sequential', 'residual'"):
        loopy(ring, schedule=value)


@pytest.mark.parametrize("value", [-1, -1e-9, np.nan, np.inf, "hot", None])
def test_temperatures_are_at_least_zero(ring, value):
    with pytest.raises(InputError, match="temperature of Loopy belief propagation"):
        loopy(ring, temperature=value)


@pytest.mark.parametrize("value", [-1e-9, np.nan, np.inf, "small"])
def test_the_tolerance_is_at_least_zero(ring, value):
    with pytest.raises(InputError, match="tolerance of Loopy belief propagation"):
        loopy(ring, tolerance=value)


@pytest.mark.parametrize("name", ["sweeps", "threads"])
@pytest.mark.parametrize("value", [0, -1, 1.5, "3", None])
def test_counts_are_whole_and_positive(ring, name, value):
    with pytest.raises(InputError, match=f"{name} of Loopy belief propagation.*whole number"):
        loopy(ring, **{name: value})


@pytest.mark.parametrize("value", ["int8", "rubbish", 3, None, np.int64, "float16", [1]])
def test_the_type_of_number_is_one_of_two(ring, value):
    with pytest.raises(InputError, match="must be 'float64' or 'float32'"):
        loopy(ring, dtype=value)


@pytest.mark.parametrize("value", ["float32", np.float32, np.dtype("float32")], ids=repr)
def test_the_type_of_number_may_be_given_in_any_way(ring, value):
    assert loopy(ring, schedule="flooding", dtype=value).status == "CONVERGED"


@pytest.mark.parametrize("value", ["logs", None, 1])
def test_domains_are_linear_or_log(ring, value):
    with pytest.raises(InputError, match="domain of Loopy.*'linear', 'log'"):
        loopy(ring, domain=value)


@pytest.mark.parametrize(
    "value", [0, -1, np.nan, [1, 1], [1, 1, 0], [[1, 1, 1]], np.inf, [1, 1, 1, 1]]
)
def test_counting_numbers_are_positive_one_for_each_factor(ring, value):
    with pytest.raises(InputError, match="counting numbers of Loopy belief propagation"):
        loopy(ring, counting=value)
    with pytest.raises(InputError, match="counting"):
        loopy(ring, counting="many")


def test_unknown_options_name_those_there_are(ring):
    with pytest.raises(InputError, match="has no option 'damping'.*'schedule', 'momentum'"):
        loopy(ring, damping=0.5)


@pytest.mark.parametrize("method", ["auto", "exact", "junction_tree", "enumeration"])
def test_exact_methods_take_no_options(ring, method):
    has = "has no option 'momentum'. It has 'order', 'effort', 'seed'.*an option of 'loopy'"
    with pytest.raises(InputError, match=f"method='{method}' {has}"):
        credo.infer(ring, method=method, momentum=0.5)


def test_what_only_exact_methods_can_do_is_refused(ring):
    with pytest.raises(InputError, match="jeffrey needs an exact method"):
        loopy(ring, jeffrey={"a": [0.5, 0.5]})
    with pytest.raises(InputError, match="order needs an exact method"):
        loopy(ring, order=["a", "b", "c"])


def test_on_failure_is_one_of_three(ring):
    with pytest.raises(InputError, match="'return', 'warn', 'raise'"):
        loopy(ring, on_failure="ignore")


def test_a_callback_can_be_called(ring):
    with pytest.raises(InputError, match="callback of .*function of .*sweep and residual"):
        loopy(ring, callback=3)


def test_a_seed_is_whole(ring):
    with pytest.raises(InputError, match="seed"):
        loopy(ring, seed=-1)
    with pytest.raises(InputError, match="seed"):
        loopy(ring, seed=1.5)


def test_a_start_is_an_answer_about_the_same_model(ring):
    with pytest.raises(InputError, match="must be an answer of method='loopy'. Got int"):
        loopy(ring, start=3)
    with pytest.raises(InputError, match="must be an answer of method='loopy'. Got GraphPosterior"):
        loopy(ring, start=credo.infer(ring))
    with pytest.raises(InputError, match="about the same model"):
        loopy(ring, start=loopy(ring.copy()))


def test_unknown_methods_are_refused(ring):
    with pytest.raises(InputError, match="method of infer must be one of"):
        credo.infer(ring, method="lopy")


def test_momentum_one_as_a_whole_number_will_do(ring):
    assert loopy(ring, momentum=1).details["momentum"] == 1.0
