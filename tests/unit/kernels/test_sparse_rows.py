"""The kernels of sparse rows: compiled, and as plain Python."""

import numpy as np
import pytest
from scipy.sparse import csr_array, random_array
from tests.speeds import plain_kernels

from credo._kernels import sparse_rows


@pytest.fixture(params=["compiled", "plain"])
def kernels(request, monkeypatch):
    if request.param == "plain":
        plain_kernels(monkeypatch)
    return sparse_rows


def rows_of(n=37, d=23, density=0.25, seed=0, index=np.int32):
    """Rows with 0 to about 12 entries, and one row of none and one of all."""
    X = random_array((n, d), density=density, format="csr", rng=np.random.default_rng(seed))
    dense = X.toarray()
    dense[3], dense[5] = 0.0, np.arange(1, d + 1)
    X = csr_array(dense)
    return X.indptr.astype(index), X.indices.astype(index), X.data, dense


@pytest.mark.parametrize("index", [np.int32, np.int64])
@pytest.mark.parametrize("n_classes", [1, 2, 3, 5])
def test_counts_are_sums_over_the_rows_of_each_class(kernels, n_classes, index):
    starts, columns, values, dense = rows_of(index=index)
    rng = np.random.default_rng(1)
    codes, weights = rng.integers(0, n_classes, 37), rng.uniform(0, 2, 37)
    counts = np.full((n_classes, 23), 0.5)
    kernels.add_counts(starts, columns, values, codes, weights, counts)
    expected = [(weights * (codes == k)) @ dense + 0.5 for k in range(n_classes)]
    np.testing.assert_allclose(counts, expected, rtol=1e-13)


@pytest.mark.parametrize("index", [np.int32, np.int64])
@pytest.mark.parametrize("n_classes", [1, 2, 4, 7])
def test_scores_are_products_of_rows_and_table(kernels, n_classes, index):
    starts, columns, values, dense = rows_of(index=index)
    table = np.random.default_rng(2).normal(size=(23, n_classes))
    scores = np.full((n_classes, 37), 2.5)
    kernels.add_scores(starts, columns, values, table, scores)
    np.testing.assert_allclose(scores, (dense @ table).T + 2.5, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("n_entries", range(10))
def test_any_number_of_entries_is_added_up(kernels, n_entries):
    """Four at a time, and then the rest."""
    starts = np.array([0, n_entries, n_entries], dtype=np.int32)
    columns = np.arange(n_entries, dtype=np.int32)[::-1].copy()
    values, table = np.arange(1.0, n_entries + 1), np.arange(20.0).reshape(10, 2)
    scores = np.zeros((2, 2))
    kernels.add_scores(starts, columns, values, table, scores)
    expected = sum((v * table[c] for v, c in zip(values, columns, strict=True)), np.zeros(2))
    np.testing.assert_allclose(scores[:, 0], expected, rtol=1e-14)
    assert scores[:, 1].tolist() == [0.0, 0.0]


def test_rows_from_the_middle_start_where_they_say(kernels):
    """Blocks hand over starts that count from the block's own first entry, or do not."""
    starts, columns, values, dense = rows_of()
    table = np.random.default_rng(3).normal(size=(23, 3))
    first, last = starts[10], starts[20]
    scores = np.zeros((3, 10))
    kernels.add_scores(
        starts[10:21] - first, columns[first:last], values[first:last], table, scores
    )
    np.testing.assert_allclose(scores, (dense[10:20] @ table).T, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize(
    ("values", "most", "whole", "expected"),
    [
        ([], 1.0, True, -1),
        ([0.0, 1.0, 1.0], 1.0, True, -1),
        ([0.0, 1.0, 2.0, 3.0], 1.0, True, 2),
        ([0.0, 0.5, 2.0], 9.0, True, 1),
        ([0.0, 0.5, 2.0], 9.0, False, -1),
        ([3.0, -1.0, 0.5], 9.0, True, 1),
        ([3.0, 1.0, np.nan], 9.0, False, 2),
        ([3.0, np.inf, np.nan], 2.0**53, False, 1),
        ([-np.inf], 2.0**53, False, 0),
        ([2.0**53], 2.0**53, True, -1),
        ([-0.0], 1.0, True, -1),
    ],
)
def test_the_first_fault_is_found(kernels, values, most, whole, expected):
    assert kernels.first_fault(np.array(values), most, whole) == expected


def test_plain_and_compiled_agree_on_many_rows(kernels):
    starts, columns, values, _ = rows_of(n=200, d=300, density=0.05, seed=4)
    table = np.random.default_rng(5).normal(size=(300, 3))
    scores, compiled = np.zeros((3, 200)), np.zeros((3, 200))
    kernels.add_scores(starts, columns, values, table, scores)
    sparse_rows.add_scores(starts, columns, values, table, compiled)
    np.testing.assert_allclose(scores, compiled, rtol=1e-13, atol=1e-14)
