import copy

import numpy as np
import pytest

from credo.columns import Categories
from credo.columns import Words, read_table
from credo.exceptions import InputError


def words(*cells):
    return read_table([[cell] for cell in cells], "Test").words(0)


def test_missing_stays_missing_and_unknown_comes_after_the_known():
    known = Categories.of(["a", "b"])
    codes = known.codes(words("b", None, "c", "a", "d"))
    assert codes.tolist() == [1, -1, 2, 0, 2]
    assert codes.dtype == np.intp


def test_nothing_is_known_to_an_empty_dictionary():
    assert Categories.of([]).codes(words("a", None)).tolist() == [0, -1]
    assert Categories.of(["a"]).codes(words(None, None)).tolist() == [-1, -1]


def test_numbers_are_equal_across_types_and_never_to_text():
    known = Categories.of([1, "1", 0.5])
    assert known.codes(words(*[True, 1.0, "1", 0.5, "0.5"])).tolist() == [0, 0, 1, 2, 3]


def test_merging_says_where_the_other_codes_went():
    union, places = Categories.of(["a", "b"]).merged(Categories.of(["c", "b", 1]))
    assert union.values == ("a", "b", "c", 1)
    assert places.tolist() == [2, 1, 3]
    assert Categories.of([]).merged(Categories.of([]))[1].dtype == np.intp


def test_equal_categories_are_refused():
    with pytest.raises(InputError, match="Categories must be distinct. Got 1 twice"):
        Categories.of([1, "a", True])


def test_a_copy_translates_alike():
    known = copy.deepcopy(Categories.of(["a", "b"]))
    assert known.codes(words("b")).tolist() == [1]


def test_translation_hashes_categories_and_not_rows():
    class Counted(str):
        __slots__ = ()
        hashes = 0

        def __hash__(self):
            Counted.hashes += 1
            return super().__hash__()

        __eq__ = str.__eq__

    column = Words(np.zeros(10_000, np.int32), (Counted("a"),))
    assert not Categories.of(["a"]).codes(column).any()
    assert Counted.hashes == 1
