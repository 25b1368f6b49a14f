# ruff: noqa: PD011 - the values of a column of Credo
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from tests.oracles import tables as oracle

from credo.columns import Numbers, Words, read_table

WORDS = ["b", None, "", "é\u0301 漢字 🙂", "b", "x" * 10_000, "a\0b", " b", "a", ""]


def column(cells):
    return read_table(oracle.object_array(cells), "Test").column(0)


@pytest.mark.parametrize("container", oracle.TEXT)
def test_text_is_words_in_every_container(container):
    found = read_table(oracle.TEXT[container](WORDS), "Test").column(0)
    codes, categories = oracle.words(WORDS)
    assert isinstance(found, Words)
    assert found.codes.tolist() == codes
    assert found.categories == tuple(categories)
    assert {type(value) for value in found.categories} == {str}


@pytest.mark.parametrize(
    "cells", [["b\0", "b", "", "\0", "a\0b", "é🙂", "b"], [b"b", b"a\0b", b"", b"b"]]
)
def test_fixed_width_text_is_what_numpy_shows(cells):
    array = np.array(cells)[:, None]
    found = read_table(np.hstack([array, array]), "Test").column(1)
    codes, categories = oracle.words(array[:, 0].tolist())
    assert found.codes.tolist() == codes
    assert list(found.categories) == categories


@pytest.mark.parametrize(
    "container",
    [name for name in oracle.TEXT if name not in {*oracle.ANY, "masked text", "numpy string"}],
)
def test_text_that_is_all_missing_has_no_categories(container):
    found = read_table(oracle.TEXT[container]([None, None, None]), "Test").column(0)
    assert isinstance(found, Words)
    assert (found.codes.tolist(), found.categories) == ([-1, -1, -1], ())


@pytest.mark.parametrize(
    "cells",
    [
        oracle.object_array([None, np.nan, pd.NA, pd.NaT]),
        pl.DataFrame({"a": [None] * 4}),
        pa.table({"a": pa.nulls(4)}),
        pd.DataFrame({"a": pd.array([None] * 4, pd.ArrowDtype(pa.null()))}),
    ],
    ids=["objects", "polars", "arrow", "pandas"],
)
def test_a_column_without_type_that_is_all_missing_is_numbers(cells):
    table = read_table(cells, "Test")
    np.testing.assert_array_equal(table.column(0).values, [np.nan] * 4)
    assert table.words(0).codes.tolist() == [-1] * 4


def test_mixed_lists_keep_the_kind_of_each_column():
    rows = [[1, "a", True, 0.5, "1"], [2, "b", False, 3, 1], [3, None, None, np.nan, 1.0]]
    table = read_table(rows, "Test")
    kinds = [type(table.column(j)) for j in range(5)]
    assert kinds == [Numbers, Words, Numbers, Numbers, Words]
    assert table.column(0).values.dtype == np.int64
    assert table.column(2).is_bool
    assert table.column(4).categories == ("1", 1)
    assert table.matrix is None
    assert table.names is None


@pytest.mark.parametrize(
    ("cells", "dtype", "is_bool"),
    [
        ([True, False], "bool", True),
        ([True, np.bool_(0)], "bool", True),
        ([True, np.nan], "float64", True),
        ([True, 1.5], "float64", False),
        ([True, 2], "int64", False),
        ([1, np.int8(3)], "int64", False),
        ([2**63, 1], "float64", False),
        ([2**70, 1], "float64", False),
        ([1, pd.NA], "float64", False),
        ([Decimal("1.5"), Fraction(1, 4)], "float64", False),
        ([np.float32(0.1), None], "float64", False),
    ],
)
def test_objects_that_are_numbers_become_numbers(cells, dtype, is_bool):
    found = column(cells)
    assert (found.values.dtype, found.is_bool) == (dtype, is_bool)
    np.testing.assert_array_equal(found.values.astype(float), oracle.numbers(cells))


def test_categories_are_plain_values():
    cells = [
        "t",
        np.str_("a"),
        np.int8(3),
        np.float32(0.5),
        np.bool_(1),
        2.0,
        Decimal("0.25"),
        1e300,
    ]
    found = column(cells).categories
    assert found == ("t", "a", 3, 0.5, True, 2, 0.25, 1e300)
    assert [type(value) for value in found] == [str, str, int, float, bool, int, float, float]


def test_equal_values_are_one_category_and_text_another():
    assert column(["1", 1, 1.0, True, np.int64(1), Decimal(1), b"1"]).codes.tolist() == [
        *(0, 1, 1, 1, 1, 1, 2)
    ]


def test_values_that_are_shown_alike_are_one_category():
    found = column(["t", 0.1, Decimal("0.1"), Decimal("0.1")])
    assert (found.codes.tolist(), found.categories) == ([0, 1, 1, 1], ("t", 0.1))


def test_declared_categories_keep_only_what_occurs():
    frame = pd.DataFrame({"a": pd.Categorical([3.0, None, 1.0], [1.0, 2.0, 3.0])})
    found = read_table(frame, "Test").column(0)
    assert (found.codes.tolist(), found.categories) == ([0, -1, 1], (3, 1))


def test_arrow_dictionaries_may_repeat_values_or_hold_nulls():
    repeated = pa.DictionaryArray.from_arrays(
        pa.array([3, 0, 2, 1, None], pa.uint16()), pa.array(["a", "b", None, "a", "c"])
    )
    found = read_table(pa.table({"x": repeated}), "Test").column(0)
    assert (found.codes.tolist(), found.categories) == ([0, 0, -1, 1, -1], ("a", "b"))


def test_intervals_are_categories():
    bins = pd.cut(pd.Series([1.0, 9.0, 2.0]), 2)
    found = read_table(pd.DataFrame({"a": bins}), "Test").column(0)
    assert found.codes.tolist() == [0, 1, 0]
    assert found.categories == (bins[0], bins[1])


@pytest.mark.parametrize(
    "cells",
    [
        pl.DataFrame({"a": pl.Series([Decimal("1.5"), None], dtype=pl.Decimal(9, 2))}),
        pa.table({"a": pa.array([1.5, None], pa.float16())}),
        pd.DataFrame({"a": np.array([1.5, np.nan], np.longdouble)}),
        np.array([[1.5], [np.nan]], np.float16),
        np.array([[1.5], [np.nan]], ">f4"),
    ],
    ids=["decimal", "half", "long double", "half matrix", "backwards"],
)
def test_unusual_numbers_become_usual_ones(cells):
    found = read_table(cells, "Test").column(0).values
    assert found.dtype in {np.dtype("f4"), np.dtype("f8")}
    np.testing.assert_array_equal(found, [1.5, np.nan])


def test_names_are_kept_if_all_are_text():
    assert read_table(pd.DataFrame({"b": [1], "a": [2]}), "Test").names == ("b", "a")
    assert read_table(pl.DataFrame({"b": [1], "a": [2]}), "Test").names == ("b", "a")
    assert read_table(pd.DataFrame([[1, 2]]), "Test").names is None
    assert read_table(pd.DataFrame([[1, 2]], columns=["a", 1]), "Test").names is None


class Exchange:
    """A frame of a library nobody knows."""

    def __init__(self, frame):
        self.frame = frame

    def __dataframe__(self, **options):
        return self.frame.__dataframe__(**options)


class Stream:
    """A stream of Arrow batches."""

    def __init__(self, frame):
        self.frame = frame

    def __arrow_c_stream__(self, requested_schema=None):
        return self.frame.__arrow_c_stream__(requested_schema)


@pytest.mark.parametrize("wrap", [Exchange, Stream])
def test_unknown_libraries_are_read_through_their_protocols(wrap):
    table = read_table(wrap(pa.table({"x": [1, 2], "y": ["a", None]})), "Test")
    assert table.names == ("x", "y")
    assert table.column(0).values.tolist() == [1, 2]
    assert table.column(1).codes.tolist() == [0, -1]


def test_anything_that_gives_an_array_is_read_as_one():
    class Tensor:
        def __array__(self, dtype=None, copy=None):
            return np.array([[1.0, 2.0]])

    assert read_table(Tensor(), "Test").matrix.tolist() == [[1.0, 2.0]]


@pytest.mark.parametrize(
    "missing",
    [None, np.nan, float("nan"), np.float32("nan"), pd.NA, pd.NaT, Decimal("NaN")],
    ids=["none", "nan", "other nan", "single nan", "na", "nat", "decimal nan"],
)
def test_every_spelling_of_missing_is_missing(missing):
    assert column(["a", missing, "b"]).codes.tolist() == [0, -1, 1]
    np.testing.assert_array_equal(column([1, missing, 2]).values, [1, np.nan, 2])
