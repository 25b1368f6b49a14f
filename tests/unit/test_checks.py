import copy

import numpy as np
import pandas as pd
import pytest

from credo import _checks as check
from credo.exceptions import CredoError, FileFormatError, InputError, LabelError, ShapeError

AB = ("a", "b")


def test_positions_find_each_value_by_name():
    np.testing.assert_array_equal(check.positions(["b", "a", "b"], AB), [1, 0, 1])
    mixed = np.array([1, "x"], dtype=object)
    np.testing.assert_array_equal(check.positions(mixed, ("x", 1)), [1, 0])
    assert check.positions([], AB).shape == (0,)


@pytest.mark.parametrize("values", [["a", "c"], np.array(["a", "c"], dtype=object)])
def test_positions_name_the_row_of_a_stranger(values):
    with pytest.raises(LabelError, match=r"f has no truth 'c' \(row 1\). Known: 'a', 'b'."):
        check.positions(values, AB, "truth", "f")
    with pytest.raises(LabelError, match=r"There is no label 'c' \(row 1\). Known: 'a', 'b'."):
        check.positions(values, AB)


def test_positions_want_one_dimension():
    with pytest.raises(InputError, match=r"The truths given to f must be 1-D. Got shape \(1, 1\)"):
        check.positions([["a"]], AB, "truth", "f")


def test_names_that_cannot_be_names_are_refused():
    with pytest.raises(InputError, match="The labels must be names. unhashable"):
        check.positions([{"a": 1}, "b"], AB)


def test_a_position_is_found_or_the_nearest_name_is_told():
    assert check.position(np.str_("b"), AB) == 1
    with pytest.raises(LabelError, match="There is no label 'B'. Known: 'a', 'b'. Did you mean"):
        check.position("B", AB)
    with pytest.raises(LabelError, match="the model has no class 'B'."):
        check.position("B", AB, "class", "the model")


def test_long_listings_are_cut():
    assert check.listing(range(10)).endswith("7, … (10 in all)")


def test_priors_by_name_or_in_order():
    np.testing.assert_array_equal(check.priors({"b": 0.75, "a": 0.25}, AB), [0.25, 0.75])
    np.testing.assert_array_equal(check.priors([0.25, 0.75], AB), [0.25, 0.75])
    np.testing.assert_array_equal(check.priors(pd.Series([0.25, 0.75]), AB), [0.25, 0.75])


@pytest.mark.parametrize(
    ("priors", "error", "message"),
    [
        ([0.5, 0.6], InputError, r"must be at least 0 and sum to 1. Got \[0.5, 0.6\], which sums"),
        ([-0.5, 1.5], InputError, "at least 0"),
        ([1.0], ShapeError, "priors of f must be 2 numbers, one per label"),
        ({"a": 1.0}, LabelError, "needs 'b', which is missing in the priors of f: 'a'"),
        ({"a": 0.5, "b": 0.5, "c": 0}, LabelError, "does not know 'c', given in the priors of f"),
        ([np.nan, 1], InputError, r"priors of f must be finite. Got nan at index \[0\]"),
    ],
)
def test_bad_priors_are_refused(priors, error, message):
    with pytest.raises(error, match=message):
        check.priors(priors, AB, "priors of f")


def test_per_label_takes_any_finite_numbers():
    np.testing.assert_array_equal(check.per_label({"a": -5, "b": 7}, AB, "costs"), [-5, 7])


def test_weights():
    np.testing.assert_array_equal(check.weights(None, 2), [1, 1])
    np.testing.assert_array_equal(check.weights([0, 2], 2), [0, 2])
    with pytest.raises(ShapeError, match="one sample weight per row, 2"):
        check.weights([1.0], 2)
    for bad in ([-1, 2], [0, 0]):
        with pytest.raises(InputError, match="at least zero and not all zero"):
            check.weights(bad, 2)
    for wild in ([1e-300, 1], [1e300, 1]):
        with pytest.raises(InputError, match="between 1e-100 and 1e"):
            check.weights(wild, 2)


def test_numbers_in_their_ranges():
    assert check.number(1, "level", 0, 1) == 1.0
    with pytest.raises(InputError, match="The level must be between 0 and 1. Got 2"):
        check.number(2, "level", 0, 1)
    with pytest.raises(InputError, match="The cost must be at least 0. Got -1"):
        check.number(-1, "cost", 0)
    with pytest.raises(InputError, match="strictly between 0 and 1. Got 1"):
        check.level(1, "level")
    assert check.count(np.int64(3), "draws") == 3
    for bad in (0, 2.5, True):
        with pytest.raises(InputError, match="The draws must be a whole number, at least 1"):
            check.count(bad, "draws")


def test_one_number_is_one_number():
    assert check.number(3, "x") == 3.0
    with pytest.raises(ShapeError, match=r"The x must be one number. Got shape \(2,\)"):
        check.number([1, 2], "x")
    with pytest.raises(InputError, match="The x must be a number. Got 'two'"):
        check.number("two", "x")
    with pytest.raises(InputError, match="The x must be finite. Got inf"):
        check.number(np.inf, "x")


def test_vectors():
    np.testing.assert_array_equal(check.vector(3, "x"), [3.0])
    for bad in ([], [[1]]):
        with pytest.raises(ShapeError, match="1-D with at least one entry"):
            check.vector(bad, "x")


def test_a_generator_is_made_from_a_seed_or_kept():
    given = np.random.default_rng(0)
    assert check.generator(given) is given
    assert check.generator(3).random() == np.random.default_rng(3).random()
    with pytest.raises(InputError, match="random_state must be a seed or a generator"):
        check.generator("x")


def test_an_option_is_one_of_the_known_words():
    assert check.one_of(None, ["auto", None], "rule") is None
    with pytest.raises(InputError, match="The rule must be one of 'auto', None. Got 'atuo'. Did"):
        check.one_of("atuo", ["auto", None], "rule")


def test_a_view_of_what_can_be_written_to_is_not_read_only():
    base = np.zeros(3)
    assert not check.is_read_only(check.frozen(base[:]))
    assert check.is_read_only(check.frozen(base)[:])


def test_a_frame_in_another_order_is_not_relabelled():
    table = pd.DataFrame([[0.1, 0.9]], columns=["b", "a"])
    with pytest.raises(InputError, match="the columns of the table: 'b', 'a'. They are the same"):
        check.frame(table, AB, "labels")
    check.frame(table, ("x", "y"), "labels")


@pytest.mark.parametrize("n_rows", [1, 7, 10])
def test_blocks_cover_every_row_once(n_rows):
    rows = [row for block in check.blocks(n_rows, 3) for row in range(n_rows)[block]]
    assert rows == list(range(n_rows))


def test_the_first_wrong_row_is_found_beyond_the_first_block():
    p = np.full((2 * check.block_rows(2) + 3, 2), 0.5)
    assert check.first_wrong_row(p) is None
    p[-2] = [0.5, 0.6]
    p[-1] = [-0.5, 1.5]
    assert check.first_wrong_row(p) == len(p) - 2
    assert check.first_wrong_row(p, normalise=True) == len(p) - 1


def test_a_label_error_reads_as_a_sentence():
    assert str(LabelError("no such thing")) == "no such thing"
    assert str(LabelError()) == ""
    assert issubclass(LabelError, KeyError)
    assert issubclass(LabelError, CredoError)


def test_a_file_error_survives_the_way_from_another_process():
    error = FileFormatError("odd.", "p.csv", 3)
    again = copy.copy(error)
    assert str(again) == str(error) == "p.csv, line 3: odd."
    assert (again.path, again.line) == ("p.csv", 3)
