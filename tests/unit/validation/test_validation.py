import copy

import numpy as np
import pytest

from credo._validation.arrays import as_number, as_vector, in_unit_interval, positive_int
from credo._validation.labels import listing, positions
from credo._validation.probabilities import as_priors, as_weights, per_label
from credo.exceptions import CredoError, FileFormatError, InputError, LabelError, ShapeError

AB = ("a", "b")


def test_positions_find_each_value_by_name():
    np.testing.assert_array_equal(positions(["b", "a", "b"], AB, "f", "truth"), [1, 0, 1])
    mixed = np.array([1, "x"], dtype=object)
    np.testing.assert_array_equal(positions(mixed, ("x", 1), "f", "act"), [1, 0])
    assert positions([], AB, "f", "truth").shape == (0,)


@pytest.mark.parametrize("values", [["a", "c"], np.array(["a", "c"], dtype=object)])
def test_positions_name_the_row_of_a_stranger(values):
    with pytest.raises(LabelError, match=r"f has no truth 'c' \(row 1\). Known: 'a', 'b'."):
        positions(values, AB, "f", "truth")


def test_positions_want_one_dimension():
    with pytest.raises(InputError, match=r"must be 1-D. Got shape \(1, 1\)"):
        positions([["a"]], AB, "f", "truth")


def test_long_listings_are_cut():
    assert listing(range(10)).endswith("7, … (10 in all)")


def test_priors_by_name_or_in_order():
    np.testing.assert_array_equal(as_priors({"b": 0.75, "a": 0.25}, AB, "f"), [0.25, 0.75])
    np.testing.assert_array_equal(as_priors([0.25, 0.75], AB, "f"), [0.25, 0.75])


@pytest.mark.parametrize(
    ("priors", "error", "message"),
    [
        ([0.5, 0.6], InputError, r"must be at least 0 and sum to 1. Got \[0.5, 0.6\], which sums"),
        ([-0.5, 1.5], InputError, "at least 0"),
        ([1.0], ShapeError, "must be 2 numbers, one per label"),
        ({"a": 1.0}, LabelError, "needs 'b', which is missing in the priors"),
        ({"a": 0.5, "b": 0.5, "c": 0}, LabelError, "f does not know 'c', given in the priors"),
        ([np.nan, 1], InputError, "finite"),
    ],
)
def test_bad_priors_are_refused(priors, error, message):
    with pytest.raises(error, match=message):
        as_priors(priors, AB, "f")


def test_per_label_takes_any_finite_numbers():
    np.testing.assert_array_equal(per_label({"a": -5, "b": 7}, AB, "f", "costs"), [-5, 7])


def test_weights():
    np.testing.assert_array_equal(as_weights(None, 2, "f"), [1, 1])
    np.testing.assert_array_equal(as_weights([0, 2], 2, "f"), [0, 2])
    with pytest.raises(ShapeError, match="one sample weight per row, 2"):
        as_weights([1.0], 2, "f")
    for bad in ([-1, 2], [0, 0]):
        with pytest.raises(InputError, match="at least zero and not all zero"):
            as_weights(bad, 2, "f")
    for wild in ([1e-300, 1], [1e300, 1]):
        with pytest.raises(InputError, match="between 1e-100 and 1e"):
            as_weights(wild, 2, "f")


def test_numbers_in_their_ranges():
    assert in_unit_interval(1, "f", "level") == 1.0
    with pytest.raises(InputError, match="strictly between 0 and 1. Got 1"):
        in_unit_interval(1, "f", "level", open_ends=True)
    assert positive_int(np.int64(3), "f", "count") == 3
    for bad in (0, 2.5, True):
        with pytest.raises(InputError, match="whole number, at least 1"):
            positive_int(bad, "f", "count")


def test_vectors():
    np.testing.assert_array_equal(as_vector(3, "f", "x"), [3.0])
    for bad in ([], [[1]]):
        with pytest.raises(ShapeError, match="1-D with at least one entry"):
            as_vector(bad, "f", "x")


def test_a_label_error_reads_as_a_sentence():
    assert str(LabelError("no such thing")) == "no such thing"
    assert str(LabelError()) == ""
    assert issubclass(LabelError, KeyError)
    assert issubclass(LabelError, CredoError)


def test_one_number_is_one_number():
    assert as_number(3, "f", "x") == 3.0
    with pytest.raises(ShapeError, match=r"x of f must be one number. Got shape \(2,\)"):
        as_number([1, 2], "f", "x")


def test_names_that_cannot_be_names_are_refused():
    with pytest.raises(InputError, match="must be names. unhashable"):
        positions([{"a": 1}, "b"], AB, "f", "truth")


def test_a_file_error_survives_the_way_from_another_process():
    error = FileFormatError("odd.", "p.csv", 3)
    again = copy.copy(error)
    assert str(again) == str(error) == "p.csv, line 3: odd."
    assert (again.path, again.line) == ("p.csv", 3)
