import copy
import math
from functools import partial

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


def test_weights_are_divided_by_their_sum_only_when_asked():
    assert Posterior.from_probabilities([3, 1], AB, normalise=True)["a"] == 0.75


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
    assert rows.rows(np.array([True, False, True])).n_rows == 2
    assert rows.rows([]).n_rows == 0


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


def test_scores_far_below_underflow_are_normalised():
    posterior = Posterior.from_log_joint([[-1e5, -1e5 - 1], [1e5, 0]], AB)
    np.testing.assert_allclose(posterior["a"], [1 / (1 + np.exp(-1)), 1.0])
    assert posterior.log_probabilities[1, 1] == -1e5


def test_a_tiny_rest_is_not_lost_beside_the_one():
    posterior = Posterior.from_log_joint([0.0, -40.0], AB)
    assert posterior.log_probabilities[0] == pytest.approx(-np.exp(-40), rel=1e-12)


def test_bayes_rule_takes_many_cases_and_logs():
    prior = {"a": 0.25, "b": 0.75}
    plain = Posterior.from_bayes(prior, {"b": [0.1, 0.2], "a": [0.3, 0.0]})
    np.testing.assert_allclose(plain["a"], [0.5, 0.0])
    logs = Posterior.from_bayes(prior, {"a": -1000.0, "b": -1000.0 + np.log(1 / 3)}, log=True)
    assert logs["a"] == pytest.approx(0.5)


def test_frequencies_count_weights_and_keep_the_types_of_labels():
    assert Posterior.from_frequencies(["a", 1, 1, "a"]).to_dict() == {"a": 0.5, 1: 0.5}
    assert Posterior.from_frequencies(["x", "y", "y"], [2, 1, 1]).to_dict() == {"x": 0.5, "y": 0.5}


@given(st.integers(2, 6).flatmap(simplices))
def test_every_distribution_survives_a_round_trip(p):
    labels = list(LETTERS[: p.shape[1]])
    posterior = Posterior.from_probabilities(p, labels)
    again = Posterior(posterior.log_probabilities, labels)
    np.testing.assert_allclose(again.probabilities, p, rtol=1e-12)
    np.testing.assert_allclose(again.probabilities.sum(axis=1), 1, rtol=1e-14)
    np.testing.assert_allclose(again.confidence(), p.max(axis=1), rtol=1e-12)


def test_many_labels_do_not_make_sums_lax():
    p = np.full(200_000, 1 / 200_000)
    assert Posterior.from_probabilities(p, range(len(p))).n_rows == 1
    with pytest.raises(InputError, match="sums to 0.99"):
        Posterior.from_probabilities(p * 0.99, range(len(p)))


@pytest.mark.parametrize("n_labels", [2, 10, 100, 1000])
def test_rows_of_six_decimals_are_accepted_however_many_labels(n_labels):
    p = np.random.default_rng(0).dirichlet(np.ones(n_labels), size=2000).round(6)
    assert Posterior.from_probabilities(p, range(n_labels)).n_rows == 2000


def test_equality_is_by_labels_and_numbers(rows):
    assert rows == copy.deepcopy(rows)
    assert rows != rows.rows([0, 1])
    assert rows != Posterior.from_probabilities(rows.probabilities, ["b", "a"])
    assert rows != "a posterior"
    with pytest.raises(TypeError, match="unhashable"):
        hash(rows)


def test_labels_come_back_as_they_were_given():
    day = np.datetime64("2026-01-01", "ns")
    for labels in ([2**63, -1], ["a\0", "b"], [day, "x"], [0, "reject"], [(0, 1), (1, 0)]):
        modes = Posterior.from_probabilities([[0.9, 0.1], [0.1, 0.9]], labels).mode()
        assert modes.tolist() == list(labels)


def test_a_rest_far_below_the_rounding_of_one_is_not_lost():
    """Of e and 1, with e = 1e-18, the larger share is 1 / (1 + e): its logarithm is -e."""
    found = Posterior.from_log_joint([math.log(1e-18), 0.0], AB)
    assert found.log_probabilities[1] == pytest.approx(-1e-18, rel=1e-12, abs=0)


make, of_logs = Posterior.from_probabilities, partial(Posterior, labels=AB)
score = partial(Posterior.from_log_joint, labels=AB)
EVEN, CERTAIN = make([0.5, 0.5], AB), make([[0.5, 0.5, 0], [0, 0, 1]], ["a", "b", "c"])
HALF = {"a": 0.5, "b": 0.5}
REFUSED = {
    InputError: [
        (lambda: make([0.5, 0.5], "ab"), r"single string 'ab'; pass \['ab'\]"),
        (lambda: make([0.5, 0.5], ["a", "a"]), "'a' occurs more than once"),
        (lambda: make([0.5, 0.5], ["a", float("nan")]), "contain NaN"),
        (lambda: make([0.5, 0.5], [pd.NA, "a"]), "contain NaN"),
        (lambda: make([0.5, 0.5], [["a"], ["b"]]), "hashable names"),
        (lambda: make([0.5, 0.5], []), "at least one"),
        (lambda: make([0.5, 0.5], 3), "sequence of hashable names"),
        (lambda: make([[0.5, 0.5], [0.5, 0.6]], AB), "row 1 sums to 1.1, not to 1. Pass"),
        (lambda: make([[0.5, 0.5], [-0.1, 1.1]], AB), "row 1 has the negative entry -0.1"),
        (lambda: make([[0.5, np.nan]], AB), "row 0 has NaN at position 1"),
        (lambda: make([0.5, 0.6], AB), "Posterior: it sums to 1.1"),
        (lambda: make([[0.5, np.inf]], AB), "row 0 sums to inf"),
        (lambda: make(["half", "half"], AB), "must be numbers"),
        (lambda: make([0.5j, 0.5], AB), "complex"),
        (lambda: make([0, 0], AB, normalise=True), "sums to 0, not to a positive, finite number.$"),
        (lambda: make([2, -1], AB, normalise=True), "negative entry"),
        (lambda: of_logs(np.log([[0.5, 0.5], [0.5, 0.6]])), "row 1 sums to 1.1.*from_log_joint"),
        (lambda: of_logs([[np.nan, 0.0]]), "row 0 has NaN at position 0"),
        (lambda: of_logs([[-np.inf, -np.inf]]), "after exp: row 0 sums to 0, not to 1"),
        (lambda: of_logs([900.0, 0.0]), "it sums to inf"),
        (lambda: of_logs([np.nan, 0.0]), "it has NaN at position 0"),
        (lambda: score([[0, 0], [np.nan, 0]]), "row 1 holds NaN"),
        (lambda: score([[np.inf, 0]]), "row 0 holds plus infinity"),
        (lambda: score([-np.inf, -np.inf]), "impossible under all of them"),
        (lambda: Posterior.from_bayes(HALF, {"a": -1.0, "b": 1.0}), "at least 0.*log=True"),
        (lambda: Posterior.from_bayes(HALF, {"a": 0.0, "b": 0.0}), "impossible"),
        (lambda: Posterior.from_bayes({"a": 0.5, "b": 0.6}, HALF), "sums to 1.1"),
        (lambda: Posterior.from_bayes([0.5, 0.5], HALF), "priors by label"),
        (lambda: Posterior.from_frequencies(AB, [1, -1]), "at least zero and not all zero"),
        (lambda: Posterior.from_frequencies([AB]), "must be 1-D"),
        (lambda: Posterior.from_frequencies([{"a": 1}, "b"]), "cannot be names. unhashable"),
        (lambda: Posterior.from_frequencies([]), "at least one"),
        (lambda: CERTAIN.log_odds("a", "b"), "'a' and 'b' both have probability 0 in row 1"),
        (lambda: make([0, 0, 1], list("abc")).log_odds("a", "b"), "both have probability 0, so"),
        (lambda: EVEN.rows([0]), "single case"),
        (lambda: CERTAIN.rows([0, 2]), "there is no row 2; there are 2 rows"),
        *((lambda x=x: CERTAIN.rows(x), "Posterior.rows") for x in ([0.5], "x", [[0]], [True] * 3)),
        *((lambda x=x: EVEN.entropy(x), "must be positive, not 1") for x in (-2, 0, 1)),
    ],
    ShapeError: [
        *((lambda p=p: make(p, AB), "K = 2, one column") for p in ([1, 0, 0], [[[0.5, 0.5]]], 1)),
        (lambda: Posterior.from_frequencies(AB, [1]), "one sample weight per row, 2"),
        (lambda: Posterior.from_bayes(HALF, {"a": [1, 2], "b": [1, 2, 3]}), r"\(2,\), \(3,\)"),
    ],
    LabelError: [
        (lambda: Posterior.from_bayes(HALF, {"a": 1.0}), "needs 'b', which is missing in"),
        (lambda: Posterior.from_bayes(HALF, {**HALF, "c": 1.0}), "does not know 'c', given in"),
    ],
}


@pytest.mark.parametrize("error", REFUSED)
def test_what_is_no_posterior_is_refused_with_its_place(error):
    assert issubclass(error, CredoError)
    assert issubclass(error, ValueError)
    for call, message in REFUSED[error]:
        with pytest.raises(error, match=message):
            call()
