import copy
import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, strategies as st
from tests.strategies import LETTERS, simplices

from credo import Posterior
from credo.exceptions import CredoError, InputError, LabelError, ShapeError

AB = ["a", "b"]


@pytest.fixture
def rows():
    return Posterior.from_probabilities([[0.2, 0.8], [0.5, 0.5], [1.0, 0.0]], AB)


def test_probabilities_down_to_1e_300_survive_a_round_trip():
    p = np.array([1e-300, 3e-200, 1e-16, 1.0])
    posterior = Posterior.from_probabilities(p, list("abcd"))
    again = Posterior(posterior.log_probabilities, list("abcd"))
    np.testing.assert_allclose(posterior.probabilities, p, rtol=1e-15)
    np.testing.assert_allclose(again.probabilities, p, rtol=2e-13)  # |log 1e-300| units of rounding
    assert again["a"] == pytest.approx(1e-300, rel=2e-13)


def test_a_single_string_is_no_list_of_labels():
    with pytest.raises(InputError, match="single string 'ab'; pass \\['ab'\\]"):
        Posterior.from_probabilities([0.5, 0.5], "ab")


@pytest.mark.parametrize(
    ("p", "message"),
    [
        ([[0.5, 0.5], [0.5, 0.6]], "row 1 sums to 1.1, not to 1. Pass normalise=True"),
        ([[0.5, 0.5], [-0.1, 1.1]], "row 1 has the negative entry -0.1 at position 0"),
        ([[0.5, np.nan]], "row 0 has NaN at position 1"),
        ([0.5, 0.6], "Posterior: it sums to 1.1"),
        ([[0.5, np.inf]], "row 0 sums to inf"),
    ],
)
def test_a_row_that_is_no_distribution_is_named(p, message):
    with pytest.raises(InputError, match=message):
        Posterior.from_probabilities(p, AB)


@pytest.mark.parametrize(
    ("log_p", "message"),
    [
        (np.log([[0.5, 0.5], [0.5, 0.6]]), "row 1 sums to 1.1.*from_log_joint"),
        ([[np.nan, 0.0]], "row 0 has NaN at position 0"),
        ([[-np.inf, -np.inf]], "after exp: row 0 sums to 0, not to 1"),
        ([900.0, 0.0], "it sums to inf"),
        ([np.nan, 0.0], "it has NaN at position 0"),
    ],
)
def test_log_probabilities_must_be_normalised(log_p, message):
    with pytest.raises(InputError, match=message):
        Posterior(log_p, AB)


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (["a", "a"], "'a' occurs more than once"),
        (["a", float("nan")], "contain NaN"),
        ([["a"], ["b"]], "hashable names"),
        ([], "at least one"),
        (3, "sequence of hashable names"),
    ],
)
def test_bad_labels_are_refused(labels, message):
    with pytest.raises(InputError, match=message):
        Posterior.from_probabilities([0.5, 0.5], labels)


@pytest.mark.parametrize("p", [[0.5, 0.25, 0.25], [[[0.5, 0.5]]], 1.0])
def test_a_shape_that_does_not_fit_the_labels_is_refused(p):
    with pytest.raises(ShapeError, match=r"K = 2, one column per label"):
        Posterior.from_probabilities(p, AB)


def test_text_is_no_probability():
    with pytest.raises(InputError, match="must be numbers"):
        Posterior.from_probabilities(["half", "half"], AB)


def test_weights_are_divided_by_their_sum_only_when_asked():
    assert Posterior.from_probabilities([3, 1], AB, normalise=True)["a"] == 0.75
    with pytest.raises(InputError, match="sums to 0"):
        Posterior.from_probabilities([0, 0], AB, normalise=True)
    with pytest.raises(InputError, match="negative entry"):
        Posterior.from_probabilities([2, -1], AB, normalise=True)


def test_rounding_to_six_decimals_is_accepted_and_removed():
    p = Posterior.from_probabilities([0.333333, 0.333333, 0.333333], ["a", "b", "c"])
    assert p.probabilities.sum() == pytest.approx(1.0, abs=1e-15)
    with pytest.raises(InputError, match="sums to 0.9999"):
        Posterior.from_probabilities([0.3333, 0.3333, 0.3333], ["a", "b", "c"])


def test_it_does_not_change(rows):
    with pytest.raises(AttributeError, match="does not change"):
        rows.labels = ("x", "y")
    with pytest.raises(ValueError, match="read-only"):
        rows.probabilities[0, 0] = 1
    with pytest.raises(ValueError, match="read-only"):
        rows.log_probabilities[0, 0] = 1


def test_the_callers_array_stays_writable():
    p = np.array([0.5, 0.5])
    Posterior.from_probabilities(p, AB)
    p[0] = 0.0


def test_a_copy_is_equal(rows):
    other = copy.deepcopy(rows)
    assert other.labels == rows.labels
    np.testing.assert_array_equal(other.log_probabilities, rows.log_probabilities)


def test_looking_inside_one_case():
    one = Posterior.from_probabilities([0.25, 0.75], AB)
    assert one.is_single
    assert one.n_rows == 1
    assert one["b"] == 0.75
    assert one.mode() == "b"
    assert one.confidence() == 0.75
    assert one.entropy(base=2) == pytest.approx(0.25 * 2 + 0.75 * np.log2(4 / 3))
    assert one.log_odds("b", "a") == pytest.approx(np.log(3))
    assert one.to_dict() == {"a": 0.25, "b": 0.75}
    assert repr(one) == "Posterior(a 0.25, b 0.75)"


def test_looking_inside_rows(rows):
    assert not rows.is_single
    assert rows.n_rows == 3
    np.testing.assert_array_equal(rows["b"], [0.8, 0.5, 0.0])
    np.testing.assert_array_equal(rows.mode(), ["b", "a", "a"])
    np.testing.assert_allclose(rows.confidence(), [0.8, 0.5, 1.0])
    np.testing.assert_allclose(rows.entropy()[1:], [np.log(2), 0.0])
    np.testing.assert_allclose(rows.log_odds("b", "a"), [np.log(4), 0, -np.inf])
    assert rows.to_dict() == {"a": [0.2, 0.5, 1.0], "b": [0.8, 0.5, 0.0]}
    assert "3 rows over 2 labels" in repr(rows)
    np.testing.assert_array_equal(rows.rows([2, 0])["a"], [1.0, 0.2])
    np.testing.assert_array_equal(rows.rows(slice(1, 3))["a"], [0.5, 1.0])


def test_a_long_table_is_cut_in_print():
    many = Posterior.from_probabilities(np.full((10, 2), 0.5), AB)
    assert repr(many).endswith("… 4 more")


def test_an_unknown_label_is_answered_with_the_nearest(rows):
    with pytest.raises(LabelError, match="no label 'A'. Known: 'a', 'b'. Did you mean 'a'?"):
        rows["A"]
    numbers = Posterior.from_probabilities([0.5, 0.5], [0, 1])
    with pytest.raises(KeyError, match="1 is of type int, '1' of type str: use the same"):
        numbers["1"]


def test_numpy_labels_are_plain_labels():
    posterior = Posterior.from_probabilities([0.5, 0.5], np.array([0, 1]))
    assert posterior.labels == (0, 1)
    assert posterior[np.int64(1)] == 0.5
    assert type(posterior.mode()) is int


def test_mixed_labels_keep_their_types():
    rows = Posterior.from_probabilities([[0.9, 0.1], [0.1, 0.9]], [0, "reject"])
    assert rows.mode().tolist() == [0, "reject"]


def test_odds_of_two_impossible_labels_are_an_error_that_names_the_row():
    rows = Posterior.from_probabilities([[0.5, 0.5, 0], [0, 0, 1]], ["a", "b", "c"])
    with pytest.raises(InputError, match="'a' and 'b' both have probability 0 in row 1"):
        rows.log_odds("a", "b")
    with pytest.raises(InputError, match="both have probability 0, so"):
        Posterior.from_probabilities([0, 0, 1], ["a", "b", "c"]).log_odds("a", "b")


def test_a_single_case_has_no_rows_to_choose_from():
    with pytest.raises(InputError, match="single case"):
        Posterior.from_probabilities([0.5, 0.5], AB).rows([0])


def test_scores_far_below_underflow_are_normalised():
    posterior = Posterior.from_log_joint([[-1e5, -1e5 - 1], [1e5, 0]], AB)
    np.testing.assert_allclose(posterior["a"], [1 / (1 + np.exp(-1)), 1.0])
    assert posterior.log_probabilities[1, 1] == -1e5


def test_a_tiny_rest_is_not_lost_beside_the_one():
    posterior = Posterior.from_log_joint([0.0, -40.0], AB)
    assert posterior.log_probabilities[0] == pytest.approx(-np.exp(-40), rel=1e-12)


@pytest.mark.parametrize(
    ("scores", "message"),
    [
        ([[0, 0], [np.nan, 0]], "row 1 holds NaN"),
        ([[np.inf, 0]], "row 0 holds plus infinity"),
        ([-np.inf, -np.inf], "impossible under all of them"),
    ],
)
def test_scores_that_cannot_be_normalised_are_refused(scores, message):
    with pytest.raises(InputError, match=message):
        Posterior.from_log_joint(scores, AB)


def test_bayes_rule_takes_many_cases_and_logs():
    prior = {"a": 0.25, "b": 0.75}
    plain = Posterior.from_bayes(prior, {"b": [0.1, 0.2], "a": [0.3, 0.0]})
    np.testing.assert_allclose(plain["a"], [0.5, 0.0])
    logs = Posterior.from_bayes(prior, {"a": -1000.0, "b": -1000.0 + np.log(1 / 3)}, log=True)
    assert logs["a"] == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("likelihoods", "error", "message"),
    [
        ({"a": 1.0}, LabelError, "needs 'b', which is missing in the likelihoods"),
        ({"a": 1.0, "b": 1.0, "c": 1.0}, LabelError, "does not know 'c', given in the likelihoods"),
        ({"a": -1.0, "b": 1.0}, InputError, "at least 0.*log=True"),
        ({"a": 0.0, "b": 0.0}, InputError, "impossible"),
    ],
)
def test_bayes_rule_refuses_what_does_not_fit(likelihoods, error, message):
    with pytest.raises(error, match=message):
        Posterior.from_bayes({"a": 0.5, "b": 0.5}, likelihoods)


def test_priors_must_sum_to_one():
    with pytest.raises(InputError, match="sums to 1.1"):
        Posterior.from_bayes({"a": 0.5, "b": 0.6}, {"a": 1, "b": 1})


def test_frequencies_count_weights():
    assert Posterior.from_frequencies(["x", "y", "y"], [2, 1, 1]).to_dict() == {"x": 0.5, "y": 0.5}


def test_an_error_is_a_credo_error_and_a_value_error():
    with pytest.raises(CredoError):
        Posterior.from_probabilities([2.0], ["a"])
    with pytest.raises(ValueError, match="sums to 2"):
        Posterior.from_probabilities([2.0], ["a"])


@given(st.integers(2, 6).flatmap(simplices))
def test_every_distribution_survives_a_round_trip(p):
    labels = list(LETTERS[: p.shape[1]])
    posterior = Posterior.from_probabilities(p, labels)
    again = Posterior(posterior.log_probabilities, labels)
    np.testing.assert_allclose(again.probabilities, p, rtol=1e-12)
    np.testing.assert_allclose(again.probabilities.sum(axis=1), 1, rtol=1e-14)
    np.testing.assert_allclose(again.confidence(), p.max(axis=1), rtol=1e-12)


@pytest.mark.parametrize(
    ("y", "weights", "error", "message"),
    [
        (["a", "b"], [1, -1], InputError, "at least zero and not all zero"),
        (["a", "b"], [1], ShapeError, "one sample weight per row, 2"),
        ([["a", "b"]], None, InputError, "must be 1-D"),
        ([{"a": 1}, "b"], None, InputError, "cannot be names. unhashable"),
        ([], None, InputError, "at least one"),
    ],
)
def test_frequencies_of_what_cannot_be_counted_are_refused(y, weights, error, message):
    with pytest.raises(error, match=message):
        Posterior.from_frequencies(y, weights)


def test_frequencies_keep_the_types_of_mixed_labels():
    assert Posterior.from_frequencies(["a", 1, 1, "a"]).to_dict() == {"a": 0.5, 1: 0.5}


def test_many_labels_do_not_make_sums_lax():
    p = np.full(200_000, 1 / 200_000)
    assert Posterior.from_probabilities(p, range(len(p))).n_rows == 1
    with pytest.raises(InputError, match="sums to 0.99"):
        Posterior.from_probabilities(p * 0.99, range(len(p)))


@pytest.mark.parametrize("n_labels", [2, 10, 100, 1000])
def test_rows_of_six_decimals_are_accepted_however_many_labels(n_labels):
    p = np.random.default_rng(0).dirichlet(np.ones(n_labels), size=2000).round(6)
    assert Posterior.from_probabilities(p, range(n_labels)).n_rows == 2000


def test_weights_that_cannot_be_normalised_get_no_advice_to_normalise():
    with pytest.raises(InputError, match="sums to 0, not to a positive, finite number.$"):
        Posterior.from_probabilities([0, 0], AB, normalise=True)


def test_equality_is_by_labels_and_numbers(rows):
    assert rows == copy.deepcopy(rows)
    assert rows != rows.rows([0, 1])
    assert rows != Posterior.from_probabilities(rows.probabilities, ["b", "a"])
    assert rows != "a posterior"
    with pytest.raises(TypeError, match="unhashable"):
        hash(rows)


def test_labels_may_be_tuples():
    pairs = Posterior.from_probabilities([[0.1, 0.9]], [(0, 1), (1, 0)])
    assert pairs.mode().tolist() == [(1, 0)]


@pytest.mark.parametrize("base", [-2, 0, 1])
def test_an_entropy_needs_a_base_of_logarithms(base):
    with pytest.raises(InputError, match="must be positive, not 1"):
        Posterior.from_probabilities([0.5, 0.5], AB).entropy(base)


def test_a_row_that_is_not_there_is_named(rows):
    with pytest.raises(InputError, match="there is no row 3; there are 3 rows"):
        rows.rows([0, 3])
    assert rows.rows(np.array([True, False, True])).n_rows == 2


def test_labels_come_back_as_they_were_given():
    for labels in ([2**63, -1], ["a\0", "b"], [np.datetime64("2026-01-01", "ns"), "x"]):
        modes = Posterior.from_probabilities([[0.9, 0.1], [0.1, 0.9]], labels).mode()
        assert modes.tolist() == list(labels)


def test_what_is_no_label_is_refused():
    with pytest.raises(InputError, match="contain NaN"):
        Posterior.from_probabilities([0.5, 0.5], [pd.NA, "a"])
    with pytest.raises(InputError, match="complex"):
        Posterior.from_probabilities([0.5j, 0.5], AB)


def test_bayes_rule_needs_names_and_fitting_lengths():
    with pytest.raises(InputError, match="priors by label"):
        Posterior.from_bayes([0.5, 0.5], {"a": 1, "b": 1})
    with pytest.raises(ShapeError, match=r"Got shapes \(2,\), \(3,\)"):
        Posterior.from_bayes({"a": 0.5, "b": 0.5}, {"a": [1, 2], "b": [1, 2, 3]})


@pytest.mark.parametrize("which", [[0.5], "x", [[0]], [True, False]])
def test_rows_are_asked_for_by_number_or_mask(rows, which):
    with pytest.raises(InputError, match="Posterior.rows"):
        rows.rows(which)
    assert rows.rows([]).n_rows == 0


def test_a_rest_far_below_the_rounding_of_one_is_not_lost():
    """Of e and 1, with e = 1e-18, the larger share is 1 / (1 + e): its logarithm is -e."""
    found = Posterior.from_log_joint([math.log(1e-18), 0.0], AB)
    assert found.log_probabilities[1] == pytest.approx(-1e-18, rel=1e-12, abs=0)
