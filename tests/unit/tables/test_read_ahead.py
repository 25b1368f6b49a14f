"""Reading ahead changes nothing but the time."""

import threading

import pytest

from credo.exceptions import InputError
from credo.tables.sources import read_ahead


@pytest.fixture(autouse=True)
def _no_thread_is_left():
    before = threading.active_count()
    yield
    assert threading.active_count() == before


@pytest.mark.parametrize("depth", [1, 2, 5])
@pytest.mark.parametrize("count", [0, 1, 2, 50])
def test_the_items_are_the_same_in_the_same_order(depth, count):
    assert list(read_ahead(range(count), depth)) == list(range(count))


@pytest.mark.parametrize("depth", [1, 3])
@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_an_error_comes_in_its_place(depth, error):
    def broken():
        yield 1
        yield 2
        raise error("there")

    found = []
    with pytest.raises(error, match="there"):
        found.extend(read_ahead(broken(), depth))
    items = read_ahead(broken(), depth)
    assert [next(items), next(items)] == [1, 2]
    with pytest.raises(error):
        next(items)


@pytest.mark.parametrize("taken", [1, 2, 7])
def test_an_iteration_that_ends_early_ends_the_thread_and_closes_the_source(taken):
    closed = threading.Event()

    def endless():
        try:
            number = 0
            while True:
                yield number
                number += 1
        finally:
            closed.set()

    items = read_ahead(endless())
    assert [next(items) for _ in range(taken)] == list(range(taken))
    items.close()
    assert closed.is_set()


def test_an_iteration_that_never_begins_starts_no_thread():
    read_ahead(range(3))


def test_no_more_is_read_ahead_than_asked_for():
    made = []

    def counted():
        for number in range(100):
            made.append(number)
            yield number

    items = read_ahead(counted(), depth=2)
    for number in range(20):
        assert next(items) == number
        assert len(made) <= number + 5  # two wait, one is being handed over, one is being made
    items.close()


@pytest.mark.parametrize("depth", [0, -1, 1.5])
def test_the_depth_is_a_positive_whole_number(depth):
    with pytest.raises(InputError, match="depth of read_ahead"):
        list(read_ahead([1], depth))
