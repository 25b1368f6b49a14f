"""Moments of columns: equal to the textbook's sums, and to those of rows."""

import numpy as np
import pytest
from hypothesis import given, strategies as st

from credo.families.gaussians.columnar import reduce_columns
from credo.families.gaussians.reduction import reduce_rows


@st.composite
def labelled(draw):
    """Random columns about large and small means, codes and maybe weights."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n, d, k = draw(st.integers(1, 60)), draw(st.integers(1, 5)), draw(st.integers(1, 6))
    centre = draw(st.sampled_from([0.0, 1.0, -1e6]))
    columns = [rng.normal(centre, 1.0, n) for _ in range(d)]
    codes = rng.integers(0, k, n)
    weights = rng.uniform(0.1, 3.0, n) if draw(st.booleans()) else None
    return columns, codes, weights, k


def slowly(columns, codes, weights, n_classes):
    """Means and scatter matrices by the definition, one class at a time."""
    X = np.column_stack(columns)
    w = np.ones(len(X)) if weights is None else weights
    means, scatter = np.zeros((n_classes, X.shape[1])), []
    for k in range(n_classes):
        mine, own = X[codes == k], w[codes == k]
        if len(mine):
            means[k] = np.average(mine, axis=0, weights=own)
        gaps = mine - means[k]
        scatter.append((own[:, None] * gaps).T @ gaps)
    return means, np.array(scatter)


@given(labelled())
def test_moments_of_columns_are_those_of_the_definition(problem):
    columns, codes, weights, k = problem
    means, scatter = slowly(*problem)
    full = reduce_columns(columns, codes, weights, k, "full")
    np.testing.assert_allclose(full.means, means, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(full.scatter, scatter, rtol=1e-7, atol=1e-7)
    tied = reduce_columns(columns, codes, weights, k, "tied")
    np.testing.assert_allclose(tied.scatter, scatter.sum(axis=0), rtol=1e-7, atol=1e-7)
    flat = reduce_columns(columns, codes, weights, k, "diagonal")
    np.testing.assert_allclose(
        flat.scatter, np.diagonal(scatter, axis1=1, axis2=2), rtol=1e-7, atol=1e-7
    )
    counted = np.bincount(codes, minlength=k)
    assert np.array_equal(full.counts, counted)


@pytest.mark.parametrize("detail", ["full", "tied", "diagonal"])
@pytest.mark.parametrize("n_classes", [3, 700])
@pytest.mark.parametrize("weighted", [False, True])
def test_many_blocks_equal_the_reduction_of_rows(detail, n_classes, weighted):
    rng = np.random.default_rng(5)
    X = rng.normal(3.0, 2.0, (50_000, 20))
    codes = rng.integers(0, n_classes, len(X))
    codes[:20_000] = np.minimum(codes[:20_000], 1)  # classes that begin in a later block
    weights = rng.uniform(0.5, 2.0, len(X)) if weighted else None
    found = reduce_columns(list(np.ascontiguousarray(X.T)), codes, weights, n_classes, detail)
    expected = reduce_rows(X, codes, weights, n_classes, detail)
    np.testing.assert_allclose(found.means, expected.means, rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(found.scatter, expected.scatter, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(found.weights, expected.weights, rtol=1e-13)


def test_a_large_mean_costs_no_digits_of_the_scatter():
    rng = np.random.default_rng(1)
    z = rng.normal(size=40_000)
    codes = rng.integers(0, 2, len(z))
    near = reduce_columns([z], codes, None, 2, "diagonal")
    far = reduce_columns([z * 2.0**-3 + 2.0**20], codes, None, 2, "diagonal")
    np.testing.assert_allclose(far.scatter, near.scatter / 64, rtol=1e-8)


def test_missing_values_are_left_in_the_means():
    columns = [np.array([1.0, np.nan, 3.0]), np.array([1.0, 2.0, 3.0])]
    found = reduce_columns(columns, np.array([0, 1, 0]), None, 2, "diagonal")
    assert np.isnan(found.means).any(axis=0).tolist() == [True, False]


def test_a_far_row_of_next_to_no_weight_costs_no_digits():
    values, weights = np.array([1e9, 1.0, 2.0, 4.0]), np.array([1e-30, 1.0, 1.0, 1.0])
    found = reduce_columns([values], np.zeros(4, dtype=int), weights, 1, "diagonal")
    alone = np.array([1.0, 2.0, 4.0])
    np.testing.assert_allclose(found.scatter[0, 0], ((alone - alone.mean()) ** 2).sum(), rtol=1e-9)


def test_a_constant_column_has_no_scatter_below_zero():
    values = np.full(1001, 0.1)
    for detail in ("full", "tied", "diagonal"):
        found = reduce_columns([values, values**2], np.arange(1001) % 3, None, 3, detail)
        assert np.min(found.diagonals() if detail != "tied" else found.pooled_diagonal()) >= 0


@pytest.mark.parametrize("detail", ["tied", "diagonal"])
@pytest.mark.parametrize("distance", [1.0, 15.0, 40.0, 1e6])
def test_classes_far_apart_keep_their_digits(detail, distance):
    rng = np.random.default_rng(3)
    codes = rng.integers(0, 3, 30_000)
    z = rng.normal(size=(2, len(codes)))
    near = reduce_columns(list(z), codes, None, 3, "diagonal")
    far = reduce_columns([line + distance * codes for line in z], codes, None, 3, detail)
    spread = near.scatter if detail == "diagonal" else near.scatter.sum(axis=0)
    found = far.scatter if detail == "diagonal" else np.diagonal(far.scatter)
    rounding = 1e-15 * distance  # of the values themselves
    np.testing.assert_allclose(found, spread, rtol=1e-11 + rounding)
