import numpy as np
import pytest
from credo.families.gaussians import observed
from credo.families.gaussians.observed import reduce_observed
from tests.oracles import gaussians as oracle

X, Y = oracle.rows_of(4, counts=(20, 25, 30))
HOLES = oracle.with_holes(X, 5, 0.4)
WEIGHTS = np.random.default_rng(6).integers(0, 3, len(Y)) * 0.75


def assert_observed(found, X, y, weights, rtol=1e-12):
    expected = oracle.observed_variances(X, y, weights).values()
    seen, means, scatter = (np.array(each) for each in zip(*expected, strict=True))
    np.testing.assert_allclose(found.observed, seen, rtol=1e-13)
    np.testing.assert_allclose(found.means, means, rtol=rtol, atol=1e-13)
    np.testing.assert_allclose(found.scatter, scatter, rtol=rtol, atol=1e-13)
    w = np.ones(len(y)) if weights is None else weights
    np.testing.assert_allclose(found.weights, [w[y == k].sum() for k in range(3)])
    np.testing.assert_array_equal(found.counts, [(w[y == k] > 0).sum() for k in range(3)])


@pytest.mark.parametrize("size", [1000, 11])
@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["plain", "weighted"])
def test_each_feature_learns_from_its_observed_entries(weights, size, monkeypatch):
    monkeypatch.setattr(observed, "block_rows", lambda _: size)
    assert_observed(reduce_observed(HOLES, Y, weights, 3), HOLES, Y, weights)


def test_a_mean_of_a_hundred_million_keeps_ten_digits():
    far = HOLES + np.array([1e8, -1e8, 3e8])
    far[0] = np.nan
    found = reduce_observed(far, Y, None, 3)
    for k in range(3):
        for j in range(3):
            column = far[k == Y, j]
            mean, variance = oracle.exact_moments(column[~np.isnan(column)][:, None])
            assert found.means[k, j] == pytest.approx(mean[0], rel=1e-15)
            n = (~np.isnan(column)).sum()
            assert found.scatter[k, j] == pytest.approx(n * variance[0, 0], rel=1e-10)


def test_classes_far_apart_keep_ten_digits():
    far = HOLES + 1e8 * Y[:, None]
    found = reduce_observed(far, Y, None, 3)
    assert_observed(found, far, Y, None, rtol=1e-10)


def test_a_feature_that_a_class_never_showed_weighs_nothing():
    rows = HOLES.copy()
    rows[Y == 1, 2] = np.nan
    found = reduce_observed(rows, Y, None, 3)
    assert found.observed[1, 2] == found.means[1, 2] == found.scatter[1, 2] == 0.0
    assert found.weights[1] == 25


def test_rows_without_any_entry_still_count_for_their_class():
    rows = np.vstack([HOLES, np.full((4, 3), np.nan)])
    found = reduce_observed(rows, np.concatenate([Y, [2, 2, 2, 2]]), None, 3)
    assert found.counts.tolist() == [20, 25, 34]
    np.testing.assert_allclose(found.means, reduce_observed(HOLES, Y, None, 3).means)


@pytest.mark.parametrize("rubbish", [np.nan, np.inf, -np.inf, 1e300])
def test_rows_of_weight_zero_are_absent_whatever_they_hold(rubbish):
    rows = np.vstack([np.full(3, rubbish), HOLES, np.full(3, rubbish)])
    weights = np.concatenate([[0.0], WEIGHTS, [0.0]])
    found = reduce_observed(rows, np.concatenate([[1], Y, [2]]), weights, 3)
    assert_observed(found, HOLES, Y, WEIGHTS)


def test_a_row_of_weight_zero_costs_the_others_no_digits():
    far = HOLES + 1e8
    rows = np.vstack([np.full(3, 1e20), far])
    found = reduce_observed(rows, np.concatenate([[1], Y]), np.append(0.0, np.ones(len(Y))), 3)
    assert_observed(found, far, Y, None, rtol=1e-10)


@pytest.mark.parametrize("kind", [np.float32, np.float16])
def test_single_precision_is_summed_in_double(kind):
    rows = HOLES.astype(kind)
    found = reduce_observed(rows, Y, None, 3)
    assert_observed(found, rows.astype(np.float64), Y, None)
