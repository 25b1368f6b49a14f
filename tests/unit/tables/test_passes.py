"""One pass over a table: results in order, errors in their place, and no trace left."""

import operator
import pickle  # noqa: TID251 - jobs travel by whatever a cluster uses
import threading
import time

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from threadpoolctl import threadpool_info

from credo.exceptions import LabelError
from credo.tables import TableJob, open_source
from credo.tables.passes import map_batches


def places(batch, start):
    """Each value with the number of its row."""
    return [(start + i, x) for i, x in enumerate(batch["x"].to_pylist())]


def broken(batch, start):
    if seven := [i for i, x in enumerate(batch["x"].to_pylist()) if x == 7]:
        raise LabelError(f"row {start + seven[0] + 1} is wrong.")


@pytest.fixture
def path(tmp_path):
    table = pa.table({"x": range(200_000), "y": ["a", "b"] * 100_000})
    pq.write_table(table, tmp_path / "t.parquet", row_group_size=50_000)
    return tmp_path / "t.parquet"


@pytest.mark.parametrize("threads", [None, 1, 3])
def test_a_job_sees_every_row_once_and_in_order(path, threads):
    job = TableJob(("x",), places, operator.add)
    heard = []
    found = job.over(open_source(path), lambda *seen: heard.append(seen), threads)
    assert found == [(i, i) for i in range(200_000)]
    assert heard[-1] == (200_000, 1.0)


def test_a_job_travels_to_the_parts_of_a_table(path):
    job = TableJob(("y", "x"), places, operator.add, words=("y",))
    there = pickle.loads(pickle.dumps(job))  # noqa: S301
    parts = pickle.loads(pickle.dumps(open_source(path).parts()))  # noqa: S301
    assert len(parts) == 2
    found = there.merge(None, there.merge(there.reduce(parts[0]), there.reduce(parts[1])))
    assert [x for _, x in found] == list(range(200_000))


def test_a_job_without_rows_has_no_result():
    job = TableJob(("x",), places, operator.add)
    assert job.over(open_source(pa.table({"x": pa.array([], pa.int64())}))) is None
    assert job.merge(None, None) is None


def test_an_error_of_a_part_says_where_its_rows_are_counted_from(path):
    job = TableJob(("x",), broken, operator.add)
    with pytest.raises(LabelError, match="^row 8 is wrong.$"):
        job.over(open_source(path))
    with pytest.raises(LabelError, match=r"row 8 is wrong. Rows are counted from .* one part of"):
        job.reduce(open_source(path).parts()[0])


def threads_of_algebra():
    return {each["num_threads"] for each in threadpool_info() if each["user_api"] == "blas"}


def slowly(number):
    time.sleep(0.002 * (number % 3))
    return number**2


@pytest.mark.parametrize("threads", [None, 1, 2, 5])
def test_results_come_in_the_order_of_the_items(threads):
    assert list(map_batches(slowly, range(20), threads)) == [n**2 for n in range(20)]


@pytest.mark.parametrize("threads", [1, 3])
def test_an_error_ends_it(threads):
    def broken(number):
        if number == 4:
            raise ValueError(number)
        return number

    found = []
    with pytest.raises(ValueError, match="4"):
        found.extend(map_batches(broken, range(1000), threads))
    assert len(found) <= 4


def test_items_are_not_made_far_ahead():
    made = []

    def items():
        for number in range(100):
            made.append(number)
            yield number

    results = map_batches(slowly, items(), 2)
    next(results)
    assert len(made) <= 4
    results.close()


def test_nothing_is_left_running_and_algebra_has_its_threads_again():
    before, algebra = threading.active_count(), threads_of_algebra()
    first, second = (map_batches(slowly, range(50), 2) for _ in range(2))
    next(first), next(second)
    assert threads_of_algebra() <= {1}
    first.close()
    assert threads_of_algebra() <= {1}
    second.close()
    assert threads_of_algebra() == algebra
    assert threading.active_count() == before
