# ruff: noqa: PD011 - the values of a column of Credo
import datetime as dt
import subprocess
import sys
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse
from tests.oracles import tables as oracle

from credo.columns import Categories, Numbers, Words, read_table
from credo.exceptions import InputError, ShapeError, TableWarning

RNG = np.random.default_rng(7)
MATRIX = RNG.normal(size=(11, 4))
#: Rows by the hundred thousand are encoded as few.
MANY = 2**16 + 5


def column(cells):
    return read_table(oracle.object_array(cells), "Test").column(0)


def assert_words(found, cells):
    codes, categories = oracle.words(cells)
    assert isinstance(found, Words)
    assert found.codes.tolist() == codes
    assert list(found.categories) == categories


# --- tables ----------------------------------------------------------------------------------


def test_a_matrix_is_kept_without_a_copy():
    assert read_table(MATRIX, "Test").matrix is MATRIX
    assert np.shares_memory(read_table(MATRIX, "Test").column(2).values, MATRIX)
    assert np.shares_memory(read_table(MATRIX, "Test").floats(range(4), slice(2, 5)), MATRIX)


def test_a_list_of_numbers_of_one_type_is_a_matrix():
    assert read_table([[1, 2], [3, 4]], "Test").matrix.dtype == np.int64
    assert read_table([[1.0, np.nan]], "Test").matrix.dtype == np.float64
    assert read_table([[True, False]], "Test").column(0).is_bool
    assert read_table([[2**63, -1]], "Test").matrix is None


@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame({"a": [1.5, np.nan], "b": [2.0, 3.0]}, dtype="float32"),
        pd.DataFrame({"a": pd.array([1.5, None], "Float64"), "b": pd.array([2.0, 3], "Float64")}),
        pd.DataFrame({"a": [1.5, None], "b": [2.0, 3]}, dtype="double[pyarrow]"),
        pl.DataFrame({"a": [1.5, None], "b": [2.0, 3.0]}),
        pa.table({"a": [1.5, None], "b": [2.0, 3.0]}),
    ],
    ids=["pandas", "nullable", "pandas Arrow", "Polars", "Arrow"],
)
def test_frames_of_floats_are_their_cells_with_names(frame):
    table = read_table(frame, "Test")
    assert table.names == table.labels == ("a", "b")
    np.testing.assert_array_equal(table.floats([0, 1], slice(None)), [[1.5, 2], [np.nan, 3]])
    np.testing.assert_array_equal(table.column(0).values, [1.5, np.nan])
    assert table.words(0).codes.tolist() == [0, -1]


def test_columns_are_encoded_once():
    table = read_table(pd.DataFrame({"a": ["x", None], "b": [1, 2]}), "Test")
    assert table.words(1) is table.words(1)
    assert table.column(0) is table.column(0)
    assert table.words(0) is table.column(0)
    first = read_table([["a"], ["b"]], "Test")
    assert first.words(0).categories == first.column(0).categories == ("a", "b")


@pytest.mark.parametrize(
    "make",
    [
        np.array,
        np.asfortranarray,
        np.float32,
        lambda X: np.round(X * 5).astype(np.int16),
        lambda X: X > 0,
        lambda X: X.astype(object),
        pd.DataFrame,
        lambda X: pd.DataFrame(X).astype({0: "float32"}),
        lambda X: np.ma.masked_less(X, 0),
    ],
    ids=["c", "f", "single", "int", "bool", "object", "pandas", "two types", "masked"],
)
def test_blocks_of_floats_are_the_cells(make):
    X = make(MATRIX)
    whole = np.asarray(np.ma.filled(X, np.nan) if np.ma.isMaskedArray(X) else X, dtype=float)
    for rows in (slice(None), slice(3, 8), slice(8, 99), slice(1, 9, 3)):
        for columns in ([0, 1, 2, 3], [2, 0], [1], []):
            block = read_table(X, "Test").floats(columns, rows)
            np.testing.assert_array_equal(block, whole[rows][:, columns])
            assert block.dtype == np.float64
            assert block.flags.c_contiguous


def test_single_cells_are_plain_values():
    table = read_table([[1, "a"], [None, None]], "Test")
    assert len(table) == 2
    assert [table.values(i) for i in range(2)] == [[1, "a"], [None, None]]


def test_names_are_kept_if_all_are_text():
    for library in pd, pl:
        assert read_table(library.DataFrame({"b": [1], "a": [2]}), "Test").names == ("b", "a")
    for columns in [0, 1], ["a", 1]:
        table = read_table(pd.DataFrame([[1, 2]], columns=columns), "Test")
        assert (table.names, list(table.labels)) == (None, columns)


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
    rows = np.array([None, None])
    rows[:] = [np.ones(2), np.zeros(2)]
    assert read_table(rows, "Test").floats([0, 1], slice(None)).tolist() == [[1, 1], [0, 0]]


# --- numbers and words -----------------------------------------------------------------------


TEXTS = ["b", "a\0b", "é🙂", "", "a", "\0x", "b", "long " * 9, "ab"]


@pytest.mark.parametrize(
    "array",
    [
        np.array(["b\0", "b", "", "\0", "a\0b", "é🙂", "b"]),
        np.array(TEXTS, dtype=">U50"),
        np.array([text.encode() for text in TEXTS]),
        np.array([*TEXTS, None, np.nan, 1, True], dtype=object),
        np.array([""]).astype("U0"),
    ],
    ids=["text", "backwards", "bytes", "objects", "empty"],
)
@pytest.mark.parametrize("n", [None, MANY], ids=["few", "many"])
def test_cells_of_an_array_are_what_numpy_shows(array, n):
    rows = np.resize(array, n or len(array))[:, None]
    found = read_table(np.hstack([rows, rows]), "Test").words(1)
    codes, categories = oracle.words(array.tolist())
    assert list(found.categories) == categories
    np.testing.assert_array_equal(found.codes, np.resize(codes, len(rows)))


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


@pytest.mark.parametrize("cells", [[1, "?", 2.5, None], ["-", 1.0, 2, "-"], [True, "na", False]])
def test_marks_among_numbers_are_missing(cells):
    marks = [cell for cell in cells if isinstance(cell, str)]
    told = f"Example: column 0 has {marks[0]!r} {len(marks)} times? among its numbers: taken as"
    with pytest.warns(TableWarning, match=told.replace("'?'", r"'\?'")):
        column = read_table(np.array(cells, dtype=object)[:, None], "Example").column(0)
    expected = [np.nan if cell is None or isinstance(cell, str) else cell for cell in cells]
    np.testing.assert_array_equal(column.values, np.array(expected, dtype=float))


@pytest.mark.parametrize("cells", [["?", "-"], ["1", "?"], [1, "?", "x"], ["?", None], [b"?", 1]])
def test_marks_among_words_are_words(cells):
    column = read_table(np.array(cells, dtype=object)[:, None], "Example").column(0)
    assert column.categories == tuple(cell for cell in cells if cell is not None)
    with_number = np.array([[1.0], ["?"]], dtype=object)
    assert read_table(with_number, "Example").words(0).categories == (1, "?")  # if asked for


@pytest.mark.parametrize(
    "missing",
    [None, np.nan, float("nan"), np.float32("nan"), pd.NA, pd.NaT, Decimal("NaN")],
    ids=["none", "nan", "other nan", "single nan", "na", "nat", "decimal nan"],
)
def test_every_spelling_of_missing_is_missing(missing):
    assert column(["a", missing, "b"]).codes.tolist() == [0, -1, 1]
    np.testing.assert_array_equal(column([1, missing, 2]).values, [1, np.nan, 2])
    others = ["a", *(float("nan") for _ in range(1000)), missing, "b"]
    assert_words(column(others), others)


def test_categories_are_plain_values_and_equal_ones_are_one():
    cells = ["t", np.str_("a"), np.int8(3), np.float32(0.5), np.bool_(1), 2.0, Decimal("0.25")]
    found = column([*cells, 1e300]).categories
    assert found == ("t", "a", 3, 0.5, True, 2, 0.25, 1e300)
    assert [type(value) for value in found] == [str, str, int, float, bool, int, float, float]
    alike = column(["1", 1, 1.0, True, np.int64(1), np.bool_(1), Decimal(1), b"1"])
    assert alike.codes.tolist() == [0, 1, 1, 2, 1, 2, 1, 3]
    assert [type(value) for value in alike.categories] == [str, int, bool, bytes]
    shown = column(["t", 0.1, Decimal("0.1"), Decimal("0.1")])
    assert (shown.codes.tolist(), shown.categories) == ([0, 1, 1, 1], ("t", 0.1))


NUMBERS = {
    "small ints": RNG.integers(-3, 4, 200),
    "unsigned": RNG.integers(0, 5, 200).astype(np.uint64),
    "wide ints": RNG.integers(-(2**62), 2**62, 9)[RNG.integers(0, 9, 200)],
    "widest": np.array([2**64 - 1, 0, 2**63, 2**64 - 1], dtype=np.uint64),
    "int8": RNG.integers(-128, 128, 300).astype(np.int8),
    "booleans": RNG.random(50) < 0.5,
    "whole floats": np.array([2.0, -0.0, 0.0, np.nan, 2.0, -3.0]),
    "floats": np.array([0.5, np.inf, -np.inf, np.nan, -0.0, 0.0, 0.5, 1e300]),
    "single": np.array([0.1, np.nan, 0.1, 7], dtype=np.float32),
    "far": np.array([1e18, 2.0, 1e18, -1e18]),
    "nothing": np.full(3, np.nan),
    "late": np.repeat([0, 2, 1], [40_000, 9_999, 1]),
}


@pytest.mark.parametrize("name", NUMBERS)
def test_numbers_become_categories_by_value(name):
    values = NUMBERS[name]
    found = read_table(values[:, None], "Test").words(0)
    assert_words(found, [float(str(x)) if values.dtype == np.float32 else x for x in values])
    whole = [value for value in found.categories if value == np.floor(value) and abs(value) < 2**53]
    assert {type(value) for value in whole} <= {bool if name == "booleans" else int}
    many = read_table(np.resize(values, MANY)[:, None], "Test").words(0)
    assert many.categories == found.categories
    np.testing.assert_array_equal(many.codes, np.resize(found.codes, MANY))


def test_many_distinct_values_are_told_apart():
    values = RNG.permutation(MANY)
    text = np.char.add("row ", values.astype(str))
    for each in (text, text.astype("S"), text.astype(object), values * 2**40, values + 0.5):
        found = read_table(each[:, None], "Test").words(0)
        np.testing.assert_array_equal(found.codes, np.arange(MANY))
        assert list(found.categories) == each.tolist()


# --- declared categories ---------------------------------------------------------------------

SEEN, DECLARED = ["ulm", None, "bonn", "ulm"], ("never", "bonn", "ulm")


def coded(cells, index=None):
    """An Arrow dictionary of all declared categories."""
    places = [None if cell is None else DECLARED.index(cell) for cell in cells]
    return pa.DictionaryArray.from_arrays(pa.array(places, index or pa.int8()), list(DECLARED))


@pytest.mark.parametrize(
    ("frame", "declared"),
    [
        (pd.DataFrame({"a": pd.Categorical(SEEN, DECLARED)}), DECLARED),
        (pd.DataFrame({"a": pd.Categorical(SEEN, DECLARED, ordered=True)}), DECLARED),
        (pd.DataFrame({"a": pd.arrays.ArrowExtensionArray(coded(SEEN))}), DECLARED),
        (pl.DataFrame({"a": pl.Series(SEEN, dtype=pl.Enum(DECLARED))}), DECLARED),
        (pl.DataFrame({"a": pl.Series(SEEN, dtype=pl.Categorical)}), ()),
        (pa.table({"a": coded(SEEN)}), DECLARED),
        (pa.table({"a": coded(SEEN, pa.uint32())}), DECLARED),
        (pa.table({"a": SEEN}), ()),
        (pd.DataFrame({"a": SEEN}), ()),
    ],
)
def test_what_a_type_declares_is_known_beside_what_occurs(frame, declared):
    found = read_table(frame, "Test").column(0)
    assert_words(found, SEEN)
    assert found.declared == declared


def test_arrow_dictionaries_may_differ_repeat_values_or_hold_nulls():
    repeated = pa.DictionaryArray.from_arrays(
        pa.array([3, 0, 2, 1, None], pa.uint16()), pa.array(["a", "b", None, "a", "c"])
    )
    found = read_table(pa.table({"x": repeated}), "Test").column(0)
    assert (found.codes.tolist(), found.categories) == ([0, 0, -1, 1, -1], ("a", "b"))
    assert found.declared == ("a", "b", "c")
    parts = [[f"{part}{i}" for i in range(100)] for part in "ab"]  # more than one byte tells apart
    bytes_ = pa.dictionary(pa.int8(), pa.string())
    table = pa.table({"x": pa.chunked_array([pa.array(part).cast(bytes_) for part in parts])})
    assert read_table(table, "Test").column(0).declared == (*parts[0], *parts[1])


def test_declared_numbers_and_intervals_are_categories():
    frame = pd.DataFrame({"a": pd.Categorical([3.0, None, 1.0], [1.0, 2.0, 3.0])})
    found = read_table(frame, "Test").column(0)
    assert (found.codes.tolist(), found.categories) == ([0, -1, 1], (3, 1))
    assert found.declared == (1, 2, 3)
    bins = pd.cut(pd.Series([1.0, 9.0, 2.0]), 3)
    found = read_table(pd.DataFrame({"a": bins}), "Test").column(0)
    assert found.codes.tolist() == [0, 1, 0]
    assert found.categories == (bins[0], bins[1])
    assert found.declared == tuple(bins.cat.categories)


# --- dictionaries ----------------------------------------------------------------------------


def test_equal_categories_are_refused():
    with pytest.raises(InputError, match="Categories must be distinct. Got 1 twice"):
        Categories.of([1, "a", 1.0])
    with pytest.raises(InputError, match="Got True twice"):
        Categories.of([1, True, "a", True])


def test_booleans_and_the_numbers_that_they_are_equal_to_are_different_categories():
    ones, truths = Categories.of([1, 0, "a"]), Categories.of([True, "a", False])
    both, places = ones.merged(truths)
    assert [repr(value) for value in both.values] == ["1", "0", "'a'", "True", "False"]
    assert places.tolist() == [3, 2, 4]
    cells = read_table([[True], [1], [0.0], [None], [np.bool_(0)]], "Test").words(0)
    assert ones.codes(cells).tolist() == [3, 0, 1, -1, 3]
    assert truths.codes(cells).tolist() == [0, 3, 3, -1, 2]
    assert both.codes(cells).tolist() == [3, 0, 1, -1, 4]


WRITTEN = [0.1, 100000.3, -2.5e-7, 1e30, 3.0]


@pytest.mark.parametrize(
    "make",
    [
        lambda values: values[:, None],
        oracle.object_array,
        lambda values: pd.DataFrame({"a": values}),
        lambda values: pd.DataFrame({"a": pd.Categorical(values)}),
        lambda values: pl.DataFrame({"a": values, "b": 1}),
        lambda values: pa.table({"a": pa.array(values).dictionary_encode()}),
    ],
    ids=["array", "objects", "pandas", "categorical", "polars", "arrow"],
)
def test_the_same_number_written_in_fewer_digits_is_the_same_category(make):
    """What a number is written as in decimals is what it means, in 32 bits as in 64."""
    known = Categories.of(read_table(make(np.array(WRITTEN)), "Test").words(0).categories)
    few = read_table(make(np.array(WRITTEN, dtype=np.float32)), "Test").words(0)
    assert known.codes(few).tolist() == [0, 1, 2, 3, 4]
    half = read_table(np.array([[0.1], [7.0], [-0.25]], dtype=np.float16), "Test").words(0)
    assert half.categories == (0.1, 7, -0.25)


# --- refusals --------------------------------------------------------------------------------


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


RAGGED = np.array([None, None])
RAGGED[:] = [np.ones(2), np.ones(3)]


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (np.empty((0, 3)), r"0 sample\(s\) \(shape=\(0, 3\)\) while a minimum of 1 is required"),
        (np.empty((12, 0)), r"0 feature\(s\) \(shape=\(12, 0\)\) while a minimum of 1 is required"),
        (pd.DataFrame({"a": []}), r"0 sample\(s\) \(shape=\(0, 1\)\)"),
        (pd.DataFrame(index=range(3)), r"0 feature\(s\) \(shape=\(3, 0\)\)"),
        (pl.DataFrame({"a": []}), r"0 sample\(s\)"),
        ([[], []], r"0 feature\(s\) \(shape=\(2, 0\)\)"),
        (np.ones((2, 2, 2)), "Owner: X must have two dimensions.* Got 3.*reshape"),
        ([[1, 2], [3]], r"Owner: the rows of X must be equally long.* lengths \[1, 2\]. Use None"),
        ([[1, 2, 4], 3], r"Owner: the rows of X .* lengths \[1, 3\]"),
        (RAGGED, r"Owner: the rows of X .* lengths \[2, 3\]"),
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
        ((1, [2]), "column 1, row 2, holds a tuple"),
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
def test_a_cell_that_is_neither_number_nor_category_is_named(cell, message):
    for before in ("text", 1, None):
        array = np.full((3, 2), before, dtype=object)
        array[2, 1] = cell
        for read in read_table(array, "Owner").column, read_table(array, "Owner").words:
            with pytest.raises(InputError, match=message):
                read(1)


def test_a_number_beyond_floats_is_refused_as_a_number_and_taken_as_a_category():
    table = read_table([[10**400], [None]], "Owner")
    with pytest.raises(InputError, match="Owner: column 0 holds a whole number.*Scale"):
        table.column(0)
    assert table.words(0).categories == (10**400,)


def test_floats_of_a_column_of_words_are_refused_by_name():
    table = read_table(pd.DataFrame({"x": [1, 2], "y": ["a", "b"]}), "Owner")
    with pytest.raises(InputError, match="Owner: column 'y' must hold numbers.*'a', 'b'"):
        table.floats([0, 1], slice(None))


# --- other processes -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("library", "rows", "absent"),
    [
        ("sys", "[[1, 'a']]", {"narwhals", "pandas", "polars", "pyarrow", "numba", "scipy"}),
        ("polars as pl", "pl.DataFrame({'a': ['x'], 'b': [1]})", {"pandas", "pyarrow"}),
    ],
)
def test_no_library_is_loaded_that_the_rows_do_not_come_in(library, rows, absent):
    code = (
        f"import sys, {library}\n"
        "before = set(sys.modules)\n"
        "from credo.columns import read_table\n"
        f"table = read_table({rows}, 'Test')\n"
        "for j in range(2): table.column(j), table.words(j)\n"
        "print(*(set(sys.modules) - before))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert {name.split(".")[0] for name in done.stdout.split()}.isdisjoint(absent)
