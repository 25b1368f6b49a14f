"""Batches on threads: results in order, errors in their place, and no trace left."""

import threading
import time

import pytest
from threadpoolctl import threadpool_info

from credo.tables.batch_threads import map_in_order, with_starts


def threads_of_algebra():
    return {each["num_threads"] for each in threadpool_info() if each["user_api"] == "blas"}


def slowly(number):
    time.sleep(0.002 * (number % 3))
    return number**2


@pytest.mark.parametrize("threads", [None, 1, 2, 5])
def test_results_come_in_the_order_of_the_items(threads):
    assert list(map_in_order(slowly, range(20), threads)) == [n**2 for n in range(20)]


@pytest.mark.parametrize("threads", [1, 3])
def test_an_error_ends_it(threads):
    def broken(number):
        if number == 4:
            raise ValueError(number)
        return number

    found = []
    with pytest.raises(ValueError, match="4"):
        found.extend(map_in_order(broken, range(1000), threads))
    assert len(found) <= 4


def test_items_are_not_made_far_ahead():
    made = []

    def items():
        for number in range(100):
            made.append(number)
            yield number

    results = map_in_order(slowly, items(), 2)
    next(results)
    assert len(made) <= 4
    results.close()


def test_nothing_is_left_running_and_algebra_has_its_threads_again():
    before, algebra = threading.active_count(), threads_of_algebra()
    first, second = (map_in_order(slowly, range(50), 2) for _ in range(2))
    next(first), next(second)
    assert threads_of_algebra() <= {1}
    first.close()
    assert threads_of_algebra() <= {1}
    second.close()
    assert threads_of_algebra() == algebra
    assert threading.active_count() == before


def test_starts_count_rows():
    assert list(with_starts(["ab", "", "cde", "f"])) == [(0, "ab"), (2, ""), (2, "cde"), (5, "f")]
