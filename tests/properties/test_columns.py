import numpy as np
import pytest
from hypothesis import example, given, strategies as st
from tests.oracles import tables as oracle

from credo.columns import Categories, Numbers, read_table

MISSING = [None, float("nan"), np.float32("nan")]

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=5)
whole = st.integers(-(2**63), 2**63 - 1)
floats = st.floats(width=64)
mixed = st.one_of(
    texts, st.integers(), floats, st.booleans(), st.sampled_from(MISSING), st.binary(max_size=3)
)


def columns(cells):
    return st.lists(st.one_of(cells, st.none()), min_size=1, max_size=30)


def assert_words(column, cells):
    codes, categories = oracle.words(cells)
    assert column.codes.tolist() == codes
    assert column.codes.dtype == np.int32
    assert list(column.categories) == categories
    gaps = [None if oracle.is_missing(cell) else cell for cell in cells]
    assert oracle.decoded(column) == gaps


@pytest.mark.parametrize("container", oracle.ANY)
@given(st.lists(mixed, min_size=1, max_size=30))
def test_any_mixture_comes_back_from_its_codes(container, cells):
    table = read_table(oracle.ANY[container](cells), "Test")
    assert_words(table.words(0), cells)


@pytest.mark.parametrize("container", oracle.TEXT)
@given(columns(texts))
@example(["b", None, "", "é\u0301 漢字 🙂", "b", "x" * 10_000, "a\0b", " b", "a", ""])
@example([None, None, None])
def test_text_comes_back_from_its_codes(container, cells):
    if container == "pandas category" and "never" in cells:
        return
    if container == "masked text" and any(str(cell).endswith("\0") for cell in cells):
        return  # NumPy's text ends where the last zeros begin
    table = read_table(oracle.TEXT[container](cells), "Test")
    nothing = not any(cell is not None for cell in cells)
    assert_words(table.words(0) if nothing else table.column(0), cells)
    assert {type(value) for value in table.words(0).categories} <= {str}


@pytest.mark.parametrize("container", oracle.BYTES)
@given(columns(st.binary(max_size=4)))
def test_bytes_come_back_from_their_codes(container, cells):
    assert_words(read_table(oracle.BYTES[container](cells), "Test").words(0), cells)


@pytest.mark.parametrize("container", oracle.WHOLE)
@given(columns(whole))
def test_whole_numbers_are_numbers_and_exact_as_words(container, cells):
    table = read_table(oracle.WHOLE[container](cells), "Test")
    column = table.column(0)
    assert isinstance(column, Numbers)
    assert not column.is_bool
    np.testing.assert_array_equal(column.values.astype(float), oracle.numbers(cells))
    assert_words(table.words(0), cells)
    assert all(type(value) is int for value in table.words(0).categories)


@pytest.mark.parametrize("container", oracle.TRUTH)
@given(columns(st.booleans()))
def test_booleans_are_numbers_that_know_it(container, cells):
    table = read_table(oracle.TRUTH[container](cells), "Test")
    column = table.column(0)
    if any(cell is not None for cell in cells):
        assert column.is_bool
    np.testing.assert_array_equal(column.values.astype(float), oracle.numbers(cells))
    assert_words(table.words(0), cells)


@pytest.mark.parametrize("container", oracle.FLOATS)
@given(columns(floats))
def test_floats_are_numbers_with_nan_where_missing(container, cells):
    table = read_table(oracle.FLOATS[container](cells), "Test")
    np.testing.assert_array_equal(table.column(0).values, oracle.numbers(cells))
    np.testing.assert_array_equal(table.floats([0], slice(None))[:, 0], oracle.numbers(cells))
    assert_words(table.words(0), cells)


@given(columns(mixed), columns(mixed))
def test_a_dictionary_translates_cell_by_cell(first, second):
    words = [read_table(oracle.object_array(cells), "Test").words(0) for cells in (first, second)]
    known = Categories.of(words[0].categories)
    places = [*known.values]
    expected = [
        -1 if oracle.is_missing(cell) else places.index(cell) if cell in places else len(places)
        for cell in second
    ]
    assert known.codes(words[1]).tolist() == expected


@given(columns(mixed), columns(mixed))
def test_merging_dictionaries_gives_the_union_and_the_way_there(first, second):
    one, other = (
        Categories.of(read_table(oracle.object_array(cells), "Test").words(0).categories)
        for cells in (first, second)
    )
    union, places = one.merged(other)
    assert list(union.values) == oracle.words([*first, *second])[1]
    assert [union.values[i] for i in places] == list(other.values)
    assert union.merged(one)[0] is union
