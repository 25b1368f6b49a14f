"""Parameters and labels of all kinds come back as the same values of the same types."""

import numpy as np
from hypothesis import given, strategies as st

from credo.storage._container import Arrays, read_header, written_parts
from credo.storage._json import parsed, written
from credo.storage._page import Page, Scope
from credo.storage._sequences import read_labels, write_labels
from credo.storage._values import Value

SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats()
    | st.text(st.characters(exclude_categories=()), max_size=5)
)
LABELS = st.lists(SCALARS | st.tuples(SCALARS, SCALARS), max_size=12)
VALUES = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=10)
        | st.lists(inner, max_size=3).map(tuple)
        | st.dictionaries(st.text(max_size=3) | st.integers(), inner, max_size=10)
        | st.frozensets(st.text(max_size=3), max_size=10)
    ),
    max_leaves=20,
)


def returned(tree, page):
    """Send a tree and arrays through the bytes of a file; give what a reader gets."""
    whole = b"".join(written_parts(written(tree), page.arrays))
    length = int.from_bytes(whole[:8], "little")
    header = read_header(whole[8 : 8 + length], len(whole))
    return parsed(header.text, "it"), Scope(Arrays(whole, header), frozenset(header.entries))


def shown(value):
    """Show a value so that what differs in type or in a bit looks different."""
    if isinstance(value, frozenset):
        return f"frozenset {sorted(value)}"
    if isinstance(value, dict):
        return [(shown(key), shown(each)) for key, each in value.items()]
    if isinstance(value, (list, tuple)):
        return [type(value).__name__, *map(shown, value)]
    return repr(value)


@given(VALUES)
def test_any_parameter_comes_back(value):
    page = Page("test")
    tree, scope = returned(Value().write(value, "value", page), page)
    assert shown(Value().read(tree, "value", scope)) == shown(value)


@given(LABELS)
def test_any_labels_come_back(labels):
    for given_as in (labels, tuple(labels)):
        page = Page("test")
        tree, scope = returned(write_labels(given_as, "labels", page), page)
        assert repr(read_labels(tree, "labels", scope)) == repr(given_as)


@given(st.lists(st.text(st.characters(exclude_categories=()), max_size=6), min_size=1))
def test_texts_of_fixed_width_come_back(texts):
    labels = np.array(texts)
    page = Page("test")
    tree, scope = returned(write_labels(labels, "labels", page), page)
    found = read_labels(tree, "labels", scope)
    assert found.dtype == labels.dtype
    assert found.tolist() == labels.tolist()


def test_an_array_that_two_places_share_is_written_once():
    page, array = Page("test"), np.arange(6.0).reshape(2, 3)
    first, second = page.array("a", array), page.array("b", array)
    assert first == second == "a"
    assert page.array("c", array.copy()) == "c"
    assert list(page.arrays) == ["a", "c"]


def test_an_array_that_lies_column_by_column_comes_back_so():
    page, array = Page("test"), np.asfortranarray(np.arange(6.0).reshape(2, 3))
    tree, scope = returned(page.array("a", array), page)
    found = scope.array(tree, "a")
    assert found.flags.f_contiguous
    assert found.tolist() == array.tolist()
