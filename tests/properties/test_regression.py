"""Laws of the joint Gaussian of features and target."""

import numpy as np
import pytest
from hypothesis import given, strategies as st

from credo.classifiers.regression import GaussianRegressor


@st.composite
def tables(draw, most_features=5):
    """Rows that determine their coefficients, with a target, and the same with holes."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    d = draw(st.integers(1, most_features))
    n = draw(st.integers(3 * d + 6, 60))
    mix = rng.normal(size=(d, d)) + 2 * np.eye(d)
    X = rng.normal(size=(n, d)) @ mix + rng.normal(size=d)
    y = X @ rng.normal(size=d) + draw(st.sampled_from([0.1, 1.0, 10.0])) * rng.normal(size=n)
    holes = np.where(rng.random(X.shape) < draw(st.sampled_from([0.1, 0.5])), np.nan, X)
    return X, y, holes, rng


def assert_same(model, other, rows, digits=1e-9):
    """Compare two regressors by what they learned and by what they say."""
    np.testing.assert_allclose(model.variance_, other.variance_, rtol=digits)
    for a, b in zip(
        model.predict(rows, return_std=True), other.predict(rows, return_std=True), strict=True
    ):
        np.testing.assert_allclose(a, b, rtol=digits, atol=digits * np.abs(b).max())


# A part may have too few rows to determine a model; the whole has enough.
@pytest.mark.filterwarnings("ignore::credo.exceptions.SingularWarning")
@given(tables(), st.sampled_from([None, 0.2, "oas"]), st.data())
def test_any_split_in_any_order_learns_the_same(table, shrinkage, data):
    X, y, holes, _ = table
    weights = np.array(data.draw(st.lists(st.integers(1, 3), min_size=len(y), max_size=len(y))))
    whole = GaussianRegressor(shrinkage=shrinkage).fit(X, y, weights)
    owner = np.array(data.draw(st.lists(st.integers(0, 2), min_size=len(y), max_size=len(y))))
    parts = [np.flatnonzero(owner == k) for k in data.draw(st.permutations(range(3)))]
    parts = [part for part in parts if part.size]
    streamed = GaussianRegressor(shrinkage=shrinkage)
    for part in parts:
        streamed.partial_fit(X[part], y[part], weights[part])
    assert_same(streamed, whole, holes)
    models = [
        GaussianRegressor(shrinkage=shrinkage).partial_fit(X[part], y[part], weights[part])
        for part in parts
    ]
    merged = models[-1]
    for model in models[-2::-1]:
        merged = merged.merge(model)
    assert_same(merged, whole, holes)
    np.testing.assert_allclose(merged.log_likelihood_, whole.log_likelihood_, rtol=1e-9)


@given(tables(), st.booleans(), st.data())
def test_a_whole_weight_is_a_repetition(table, missing, data):
    X, y, holes, _ = table
    weights = np.array(data.draw(st.lists(st.integers(0, 3), min_size=len(y), max_size=len(y))))
    weights[::2] += 1
    rows = holes if missing else X
    if np.isnan(rows[weights > 0]).all(axis=0).any():
        return
    options = {"shrinkage": 0.1, "max_iter": 5, "tol": 1e3}  # one step of EM, whatever the rows
    weighted = GaussianRegressor(**options).fit(rows, y, weights)
    repeated = GaussianRegressor(**options).fit(np.repeat(rows, weights, axis=0), y.repeat(weights))
    assert_same(weighted, repeated, holes)
    np.testing.assert_allclose(weighted.log_likelihood_, repeated.log_likelihood_, rtol=1e-9)


@given(tables(), st.sampled_from([None, 0.2, "auto", "oas"]))
def test_units_origins_and_order_of_the_features_do_not_matter(table, shrinkage):
    X, y, holes, rng = table
    d = X.shape[1]
    scale, shift = 10.0 ** rng.uniform(-6, 6, d), rng.normal(size=d)
    order = rng.permutation(d)

    def other(rows):
        return ((rows + shift) * scale)[:, order]

    model = GaussianRegressor(shrinkage=shrinkage).fit(X, y)
    moved = GaussianRegressor(shrinkage=shrinkage).fit(other(X), y)
    for rows in (X, holes):
        for a, b in zip(
            model.predict(rows, return_std=True),
            moved.predict(other(rows), return_std=True),
            strict=True,
        ):
            np.testing.assert_allclose(b, a, rtol=1e-8, atol=1e-8 * np.abs(a).max())


@given(tables(), st.data())
def test_leaving_a_feature_unseen_is_regressing_on_the_others(table, data):
    X, y, _, _ = table
    d = X.shape[1]
    gone = np.array(data.draw(st.lists(st.booleans(), min_size=d, max_size=d)))
    model = GaussianRegressor().fit(X, y)
    if gone.all():
        expected = np.full(len(y), y.mean()), np.full(len(y), y.std())
    else:
        expected = GaussianRegressor().fit(X[:, ~gone], y).predict(X[:, ~gone], return_std=True)
    found = model.predict(np.where(gone, np.nan, X), return_std=True)
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-8, atol=1e-8 * np.abs(b).max())


@given(tables())
def test_seeing_less_never_makes_one_surer(table):
    X, y, holes, rng = table
    model = GaussianRegressor().fit(X, y)
    more = np.where(rng.random(X.shape) < 0.3, np.nan, holes)
    full, some, few = (model.predict(rows, return_std=True)[1] for rows in (X, holes, more))
    assert (some >= full).all()
    assert (few >= some * (1 - 1e-9)).all()


@given(tables())
def test_the_likelihood_of_what_was_observed_never_falls(table):
    X, y, holes, _ = table
    holes[::2] = X[::2]  # half the rows are complete, so that there is a maximum
    model = GaussianRegressor(tol=1e-6, max_iter=10_000).fit(holes, y)
    trace = model.log_likelihood_trace_
    assert (np.diff(trace) >= -1e-9 * (1 + np.abs(trace[:-1]))).all()
