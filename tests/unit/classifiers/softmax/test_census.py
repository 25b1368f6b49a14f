import numpy as np
import pytest
import scipy.sparse as sp

from credo.classifiers.softmax.batches import Batch, cut
from credo.classifiers.softmax.census import Census, Sample

RNG = np.random.default_rng(61)
X = RNG.normal(3.0, 2.0, size=(101, 4)) * [1, 10, 0.1, 1e4]
WEIGHTS = RNG.uniform(0.5, 2.0, 101)


def census_of(parts, kind=np.asarray, weights=None):
    census = Census(X.shape[1])
    for part in parts:
        some = None if weights is None else weights[part]
        census.add(Batch(kind(X[part]), np.zeros(len(part), dtype=int), some))
    return census


@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["plain", "weighted"])
@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize("n_parts", [1, 7])
def test_mean_and_deviation_are_those_of_all_rows(kind, n_parts, weights):
    census = census_of(np.array_split(np.arange(101), n_parts), kind, weights)
    mean = np.average(X, axis=0, weights=weights)
    deviation = np.sqrt(np.average((X - mean) ** 2, axis=0, weights=weights))
    np.testing.assert_allclose(census.mean, mean, rtol=1e-12)
    np.testing.assert_allclose(census.scaling(intercept=True).scale, deviation, rtol=1e-12)
    size = np.sqrt(np.average(X**2, axis=0, weights=weights))
    np.testing.assert_allclose(census.scaling(intercept=False).scale, size, rtol=1e-12)
    assert census.n_rows == 101


def test_sparse_columns_are_not_centred():
    assert not census_of([np.arange(101)], sp.csr_array).scaling(intercept=True).centre.any()
    assert census_of([np.arange(101)]).scaling(intercept=True).centre.all()


def test_constant_columns_keep_a_scale():
    census = Census(2)
    census.add(Batch(np.tile([0.1, 0.0], (50, 1)), np.zeros(50, dtype=int), None))
    np.testing.assert_allclose(census.scaling(intercept=True).scale, [0.1, 1.0])


@pytest.mark.parametrize("n_parts", [1, 13])
def test_a_sample_takes_every_so_many_rows_of_any_split(n_parts):
    rows = np.arange(1000.0)[:, None]
    sample = Sample(20)
    for part in np.array_split(np.arange(1000), n_parts):
        sample.add(Batch(rows[part], part, np.ones(len(part))))
    taken = sample.rows
    steps = np.diff(taken.x[:, 0])
    assert (steps == steps[0]).all()
    assert taken.x[0, 0] == 0
    assert 20 <= len(taken) <= 41
    np.testing.assert_array_equal(taken.codes, taken.x[:, 0])
    assert sample.is_worth_it
    assert sample.would_be_worth_it(1000)
    assert len(taken.weights) == len(taken)


def test_a_sample_of_few_rows_is_all_of_them():
    sample = Sample(20)
    sample.add(Batch(X[:30], np.arange(30), None))
    assert not sample.is_worth_it
    assert not sample.would_be_worth_it(30)
    np.testing.assert_array_equal(sample.rows.x, X[:30])
    assert sample.rows.weights is None


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
def test_blocks_are_the_rows_in_order(kind):
    rows = RNG.normal(size=(5000, 60)) * (RNG.random((5000, 60)) < 0.3)
    batch = Batch(kind(rows.astype(np.float32)), np.arange(5000), np.arange(5000.0))
    parts = list(cut(batch, 100_000))
    assert len(parts) > 1
    found = [part.x.toarray() if sp.issparse(part.x) else part.x for part in parts]
    np.testing.assert_array_equal(np.vstack(found), rows.astype(np.float32))
    assert found[0].dtype == np.float64
    np.testing.assert_array_equal(np.concatenate([part.codes for part in parts]), np.arange(5000))
