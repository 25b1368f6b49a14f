import datetime as dt

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse

from credo.columns import read_table
from credo.exceptions import InputError, ShapeError


@pytest.mark.parametrize(
    "flat",
    [
        [1, 2],
        ["a", "b"],
        np.ones(3),
        5,
        pd.Series([1]),
        pl.Series([1]),
        pa.array([1]),
        pa.chunked_array([[1]]),
        None,
        {"a": [1]},
    ],
    ids=lambda flat: f"{type(flat).__module__}.{type(flat).__name__} {flat!r}"[:40],
)
def test_flat_input_is_told_to_reshape(flat):
    with pytest.raises(ShapeError, match="^Owner: X must .* Reshape your data"):
        read_table(flat, "Owner")


@pytest.mark.parametrize(
    ("empty", "message"),
    [
        (np.empty((0, 3)), r"0 sample\(s\) \(shape=\(0, 3\)\) while a minimum of 1 is required"),
        (np.empty((12, 0)), r"0 feature\(s\) \(shape=\(12, 0\)\) while a minimum of 1 is required"),
        (pd.DataFrame({"a": []}), r"0 sample\(s\) \(shape=\(0, 1\)\)"),
        (pd.DataFrame(index=range(3)), r"0 feature\(s\) \(shape=\(3, 0\)\)"),
        (pl.DataFrame({"a": []}), r"0 sample\(s\)"),
        ([[], []], r"0 feature\(s\) \(shape=\(2, 0\)\)"),
    ],
)
def test_empty_input_is_refused_with_its_shape(empty, message):
    with pytest.raises(ShapeError, match=message):
        read_table(empty, "Owner")


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (np.ones((2, 2, 2)), "Owner: X must have two dimensions.* Got 3.*reshape"),
        ([[1, 2], [3]], r"Owner: the rows of X must be equally long.* lengths \[1, 2\]. Use None"),
        ([[1, 2, 4], 3], r"Owner: the rows of X .* lengths \[1, 3\]"),
        ([np.ones((2, 2)), np.ones((2, 3))], "Owner: the rows of X must be equally long"),
        (sparse.csr_array(np.eye(2)), "Owner: X is sparse.*toarray"),
        (sparse.csr_matrix(np.eye(2)), "Owner: X is sparse.*toarray"),
        (pl.LazyFrame({"a": [1]}), "Owner: a lazy frame has no rows yet.*collect"),
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), "names must differ.*'a' 2 times.* Rename"),
        (np.array([[1j]]), "Complex data not supported"),
        (np.ma.array([[1j]]), "Complex data not supported"),
        (np.array([["2020"]], "M8[D]"), "holds dates or durations.*Turn it into numbers"),
        (np.zeros((1, 1), "i4,f4"), "holds structured records"),
        (pd.DataFrame({"day": pd.to_datetime(["2020"])}), "column 'day' holds dates.*weekday"),
        (pd.DataFrame({"day": pd.to_timedelta([1])}), "column 'day' holds dates or durations"),
        (pd.DataFrame({"day": pd.period_range("2020", periods=2)}), "column 'day' holds dates"),
        (pd.DataFrame({"z": [1j]}), "column 'z': Complex data not supported"),
        (pd.DataFrame({"s": pd.arrays.SparseArray([0, 1])}), "column 's' is sparse.*to_dense"),
        (pl.DataFrame({"l": [[1], [2]]}), "column 'l' holds List.*Turn it into numbers"),
        (pl.DataFrame({"s": [{"a": 1}]}), "column 's' holds Struct"),
        (pl.DataFrame({"d": [dt.date(2020, 1, 1)]}), "column 'd' holds dates or durations"),
        (pa.table({"t": pa.array([1], pa.time64("us"))}), "column 't' holds dates or durations"),
    ],
    ids=lambda value: None if isinstance(value, str) else f"{type(value).__name__}",
)
def test_what_is_no_table_is_refused_at_the_door(wrong, message):
    with pytest.raises(InputError, match=message):
        read_table(wrong, "Owner")


@pytest.mark.parametrize(
    ("cell", "message"),
    [
        ([1], "Owner: column 1, row 2, holds a list.*Turn it into numbers"),
        ({}, "column 1, row 2, holds a dict"),
        (np.zeros(2), "column 1, row 2, holds a ndarray"),
        ((1, 2), r"column 1 holds lists such as \(1, 2\)"),
        (1j, "column 1: Complex data not supported"),
        (np.complex64(1j), "column 1: Complex data not supported"),
        (dt.date(2020, 1, 1), "column 1 holds dates or durations.*2020"),
        (dt.timedelta(1), "column 1 holds dates or durations"),
        (np.datetime64("2020"), "column 1 holds dates or durations"),
        (pd.Timestamp("2020"), "column 1 holds dates or durations"),
    ],
    ids=lambda value: None if isinstance(value, str) else type(value).__name__,
)
@pytest.mark.parametrize("before", ["text", 1, None])
@pytest.mark.parametrize("times", [1, 30_000], ids=["few", "many"])
def test_a_cell_that_is_neither_number_nor_category_is_named(cell, message, before, times):
    array = np.full((3 * times, 2), before, dtype=object)
    array[2, 1] = cell
    with pytest.raises(InputError, match=message):
        read_table(array, "Owner").column(1)
    with pytest.raises(InputError, match=message):
        read_table(array, "Owner").words(1)


def test_a_number_beyond_floats_is_refused_as_a_number_and_taken_as_a_category():
    table = read_table([[10**400], [None]], "Owner")
    with pytest.raises(InputError, match="Owner: column 0 holds a whole number.*Scale"):
        table.column(0)
    assert table.words(0).categories == (10**400,)


def test_floats_of_a_column_of_words_are_refused_by_name():
    table = read_table(pd.DataFrame({"x": [1, 2], "y": ["a", "b"]}), "Owner")
    with pytest.raises(InputError, match="Owner: column 'y' must hold numbers.*'a', 'b'"):
        table.floats([0, 1], slice(None))
