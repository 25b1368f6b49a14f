import os
import subprocess
import sys
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from tests.oracles import tables as oracle

from credo.columns import Words, read_table

RNG = np.random.default_rng(7)
MATRIX = RNG.normal(size=(11, 4))


def test_a_matrix_is_kept_without_a_copy():
    assert read_table(MATRIX, "Test").matrix is MATRIX
    assert np.shares_memory(read_table(MATRIX, "Test").column(2).values, MATRIX)


def test_a_list_of_numbers_of_one_type_is_a_matrix():
    assert read_table([[1, 2], [3, 4]], "Test").matrix.dtype == np.int64
    assert read_table([[1.0, np.nan]], "Test").matrix.dtype == np.float64
    assert read_table([[True, False]], "Test").column(0).is_bool
    assert read_table([[2**63, -1]], "Test").matrix is None


def test_columns_are_encoded_once():
    table = read_table(pd.DataFrame({"a": ["x", None], "b": [1, 2]}), "Test")
    assert table.column(0) is table.column(0)
    assert table.words(0) is table.column(0)
    assert table.words(1) is table.words(1)


@pytest.mark.parametrize("rows", [slice(None), slice(3, 8), slice(8, 99), slice(1, 9, 3)])
@pytest.mark.parametrize("columns", [[0, 1, 2, 3], [2, 0], [1], []])
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
        lambda X: np.ma.masked_less(X, 0),
    ],
    ids=["c", "f", "single", "int", "bool", "object", "pandas", "masked"],
)
def test_blocks_of_floats_are_the_cells(make, columns, rows):
    X = make(MATRIX)
    block = read_table(X, "Test").floats(columns, rows)
    whole = np.asarray(np.ma.filled(X, np.nan) if np.ma.isMaskedArray(X) else X, dtype=float)
    np.testing.assert_array_equal(block, whole[rows][:, columns])
    assert block.dtype == np.float64
    assert block.flags.c_contiguous


def test_all_columns_of_a_float_matrix_are_a_view():
    block = read_table(MATRIX, "Test").floats(range(4), slice(2, 5))
    assert np.shares_memory(block, MATRIX)


def test_single_cells_are_plain_values():
    table = read_table([[1, "a"], [None, None]], "Test")
    assert len(table) == 2
    assert [table.values(i) for i in range(2)] == [[1, "a"], [None, None]]


def assert_words(column, cells):
    codes, categories = oracle.words(cells)
    assert column.codes.tolist() == codes
    assert list(column.categories) == categories


NUMBERS = {
    "small ints": RNG.integers(-3, 4, 200),
    "unsigned": RNG.integers(0, 5, 200).astype(np.uint64),
    "wide ints": RNG.integers(-(2**62), 2**62, 9)[RNG.integers(0, 9, 200)],
    "widest": np.array([2**64 - 1, 0, 2**63, 2**64 - 1], dtype=np.uint64),
    "int8": RNG.integers(-128, 128, 300).astype(np.int8),
    "truth": RNG.random(50) < 0.5,
    "whole floats": np.array([2.0, -0.0, 0.0, np.nan, 2.0, -3.0]),
    "floats": np.array([0.5, np.inf, -np.inf, np.nan, -0.0, 0.0, 0.5, 1e300]),
    "single": np.array([0.1, np.nan, 0.1, 7], dtype=np.float32),
    "far": np.array([1e18, 2.0, 1e18, -1e18]),
    "nothing": np.full(3, np.nan),
}


@pytest.mark.parametrize("name", NUMBERS)
def test_numbers_become_categories_by_value(name):
    values = NUMBERS[name]
    found = read_table(values[:, None], "Test").words(0)
    assert_words(found, values.tolist())
    whole = [value for value in found.categories if value == np.floor(value) and abs(value) < 2**53]
    assert {type(value) for value in whole} <= {bool if name == "truth" else int}


MANY = 2**16 + 5


@pytest.mark.parametrize("name", [name for name in NUMBERS if name not in {"nothing", "int8"}])
def test_many_numbers_are_encoded_as_few(name):
    values = np.resize(NUMBERS[name], MANY)
    found = read_table(values[:, None], "Test").words(0)
    few = read_table(NUMBERS[name][:, None], "Test").words(0)
    assert found.categories == few.categories
    np.testing.assert_array_equal(found.codes, np.resize(few.codes, MANY))


TEXTS = ["b", "a\0b", "é🙂", "", "a", "\0x", "b", "long " * 9, "ab"]


@pytest.mark.parametrize(
    "array",
    [
        np.array(TEXTS),
        np.array(TEXTS, dtype=">U50"),
        np.array([text.encode() for text in TEXTS]),
        np.array([*TEXTS, None, np.nan, 1, True], dtype=object),
        np.array([""]).astype("U0"),
    ],
    ids=["text", "backwards", "bytes", "shared objects", "empty"],
)
def test_many_texts_are_encoded_as_few(array):
    rows = np.resize(array, MANY)[:, None]
    found = read_table(np.hstack([rows, rows]), "Test").words(1)
    codes, categories = oracle.words(array.tolist())
    assert list(found.categories) == categories
    np.testing.assert_array_equal(found.codes, np.resize(codes, MANY))


def test_many_distinct_values_are_told_apart():
    values = RNG.permutation(MANY)
    text = np.char.add("row ", values.astype(str))
    for column in (text, text.astype("S"), text.astype(object), values * 2**40, values + 0.5):
        found = read_table(column[:, None], "Test").words(0)
        np.testing.assert_array_equal(found.codes, np.arange(MANY))
        assert list(found.categories) == column.tolist()


@pytest.mark.parametrize("size", [254, 255, 256, 257, 300])
@pytest.mark.parametrize("times", [3, 400], ids=["one block", "blocks"])
def test_objects_are_encoded_alike_around_the_number_of_bytes(size, times):
    cells = [*(f"value {i}" for i in range(size)), None]
    array = np.array(["".join(cell) if cell else None for cell in cells * times], dtype=object)
    found = read_table(array[:, None], "Test").column(0)
    np.testing.assert_array_equal(found.codes, np.tile([*range(size), -1], times))
    assert list(found.categories) == cells[:-1]


def test_late_categories_come_last():
    values = np.zeros(50_000, dtype=int)
    values[[40_000, 49_999]] = 2, 1
    found = read_table(values[:, None], "Test").words(0)
    assert found.categories == (0, 2, 1)
    assert found.codes[[0, 40_000, 49_999]].tolist() == [0, 1, 2]


def test_nan_objects_of_their_own_do_not_fill_the_dictionary():
    cells = np.array(["a", *(float("nan") for _ in range(1000)), "b"], dtype=object)
    found = read_table(cells[:, None], "Test").words(0)
    assert found.categories == ("a", "b")
    assert (found.codes == -1).sum() == 1000


def _run(code, seed="0"):
    result = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONHASHSEED": seed},
    )
    return result.stdout


def test_codes_are_the_same_under_any_hash_seed():
    code = (
        "import numpy as np, polars as pl\n"
        "from credo.columns import read_table\n"
        "cells = [*'the quick brown fox', None, 1, 2.5, True, b'x'] * 2\n"
        "text = [*'jumps over the lazy dog', None]\n"
        "for X in ([[c] for c in cells], pl.DataFrame({'a': text}),\n"
        "          pl.DataFrame({'a': pl.Series(text, dtype=pl.Categorical)})):\n"
        "    words = read_table(X, 'Test').words(0)\n"
        "    print(words.codes.tolist(), words.categories)\n"
    )
    outputs = [_run(code, seed) for seed in ("0", "1")]
    assert all(first == second for first, second in pairwise(outputs))
    assert "fox" not in outputs[0]
    assert "'t', 'h', 'e'" in outputs[0]


def test_arrays_load_no_library_of_frames():
    code = (
        "import sys\n"
        "from credo.columns import read_table\n"
        "before = set(sys.modules)\n"
        "read_table([[1, 'a']], 'Test').words(1)\n"
        "print(*(set(sys.modules) - before))\n"
    )
    loaded = {name.split(".")[0] for name in _run(code).split()}
    assert loaded.isdisjoint({"narwhals", "pandas", "polars", "pyarrow", "numba"})


def test_polars_frames_load_neither_pandas_nor_pyarrow():
    code = (
        "import sys, polars as pl\n"
        "from credo.columns import read_table\n"
        "before = set(sys.modules)\n"
        "frame = pl.DataFrame({'a': ['x', None], 'b': [1, None], 'c': [True, None]})\n"
        "table = read_table(frame, 'Test')\n"
        "for j in range(3): table.column(j), table.words(j)\n"
        "print(*(set(sys.modules) - before))\n"
    )
    loaded = {name.split(".")[0] for name in _run(code).split()}
    assert loaded.isdisjoint({"pandas", "pyarrow"})


def test_words_are_words_also_when_asked_first():
    table = read_table([["a"], ["b"]], "Test")
    assert table.words(0).categories == ("a", "b")
    assert isinstance(table.column(0), Words)
