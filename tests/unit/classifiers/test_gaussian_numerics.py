import warnings

import numpy as np
import pytest
from tests.oracles import gaussians as oracle

from credo import GaussianClassifier

X, CODES = oracle.rows_of(150, counts=(30, 35, 40))
SHAPES = pytest.mark.parametrize("shape", oracle.SHAPES)


# --- units and places ------------------------------------------------------------------------


@pytest.mark.parametrize("shape", oracle.LINEAR)
def test_linear_scores_far_from_the_origin_keep_what_double_precision_allows(shape):
    """A score of features near 1e6 is rounded at 1e6 eps = 2e-10, and so may the weights be."""
    rows = CODES < 2
    far = X[rows] + 1e6
    model = GaussianClassifier(shape).fit(far, CODES[rows])
    logs = model.predict_log_proba(far)
    scores = far @ model.coef_[0] + model.intercept_[0]
    np.testing.assert_allclose(scores, logs[:, 1] - logs[:, 0], atol=1e-6)


@pytest.mark.parametrize("shape", oracle.LINEAR)
def test_a_class_far_away_does_not_blur_the_others(shape):
    rows, y = np.vstack([X, X[:5] + 1e7]), np.append(CODES, [3] * 5)
    model = GaussianClassifier(shape).fit(rows, y)
    sigma = model.covariances_
    sigma = sigma if shape == "tied" else np.diag(np.broadcast_to(sigma, 3))
    gap, middle = model.means_[1] - model.means_[0], (model.means_[1] + model.means_[0]) / 2
    expected = (X - middle) @ np.linalg.solve(sigma, gap)
    expected += np.log(model.priors_[1] / model.priors_[0])
    table = model.predict_log_proba(X)
    np.testing.assert_allclose(table[:, 1] - table[:, 0], expected, atol=1e-6)


@pytest.mark.parametrize("near", [1e-3, 1e-6, 1e-9])
def test_a_correlation_near_one_costs_the_digits_of_its_condition_only(near):
    rng = np.random.default_rng(2)
    a, b, c = rng.normal(size=(3, 400))
    rows = np.column_stack([a, a + np.sqrt(2 * near) * b, c])
    y = np.arange(400) % 2
    rows[y == 1, 2] += 1
    model = GaussianClassifier("full", singular="error").fit(rows, y)
    pick = rows[:20].copy()
    pick[::3, 2] = np.nan
    pick[1::3, 1] = np.nan
    for k in range(2):
        exact = [oracle.exact_log_density(x, model.means_[k], model.covariances_[k]) for x in pick]
        found = model.log_joint(pick)[:, k] - np.log(model.priors_[k])
        np.testing.assert_allclose(found, exact, rtol=1e-6, atol=1e-15 / near)


# --- extreme scores --------------------------------------------------------------------------


@SHAPES
@pytest.mark.parametrize("away", [1e2, 1e4, 1e8])
def test_rows_far_away_have_finite_probabilities(shape, away):
    model = GaussianClassifier(shape).fit(X, CODES)
    rows = away * np.array([[1.0, 0.0, 0.0], [-1.0, 2.0, 3.0], [0.0, -1.0, 0.0]])
    proba, logs = model.predict_proba(rows), model.predict_log_proba(rows)
    assert np.isfinite(proba).all()
    np.testing.assert_allclose(proba.sum(axis=1), 1, rtol=1e-14)
    assert np.isfinite(logs).all()
    assert (logs <= 0).all()
    assert np.isfinite(model.log_density(rows)).all()
    np.testing.assert_array_equal(model.predict(rows), proba.argmax(axis=1))
    rows[:, 2] = np.nan
    assert np.isfinite(model.predict_log_proba(rows)).all()


def test_scores_of_ten_thousand_neither_overflow_nor_vanish():
    """Classes 200 standard deviations apart: log odds of 2e4 at a mean, by hand."""
    rng = np.random.default_rng(3)
    z = rng.normal(size=50)
    z = (z - z.mean()) / z.std()
    rows = np.concatenate([z, z + 200])[:, None]
    for shape in oracle.SHAPES:
        model = GaussianClassifier(shape).fit(rows, np.repeat(["a", "b"], 50))
        logs = model.predict_log_proba([[0.0], [200.0], [100.0]])
        np.testing.assert_allclose(logs[0], [0.0, -20_000], rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(logs[1], [-20_000, 0.0], rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(logs[2], np.log([0.5, 0.5]), atol=1e-6)
        np.testing.assert_array_equal(model.predict_proba([[0.0], [200.0]]), [[1, 0], [0, 1]])
        assert model.decision_function([[0.0]])[0] == pytest.approx(-20_000, rel=1e-9)


def test_log_probabilities_near_zero_keep_their_digits():
    """p(a) = 1 - 1e-18: the logarithm of it is -1e-18, not zero."""
    rng = np.random.default_rng(4)
    z = rng.normal(size=50)
    z = (z - z.mean()) / z.std()
    rows = np.concatenate([z, z + 10])[:, None]
    model = GaussianClassifier("tied").fit(rows, np.repeat(["a", "b"], 50))
    x = 5 - np.log(1e18) / 10
    logs = model.predict_log_proba([[x]])[0]
    np.testing.assert_allclose(logs, [-1e-18, np.log(1e-18)], rtol=1e-9)


@SHAPES
@pytest.mark.parametrize("units", [1e-25, 1e-6, 1.0, 1e6, 1e15])
def test_single_precision_rows_have_single_precision_probabilities(shape, units):
    """Log odds move by 2.5e-4 at most, so a probability by a quarter of that."""
    rows = (X * units).astype(np.float32)
    model = GaussianClassifier(shape).fit(rows, CODES)
    proba, wide = model.predict_proba(rows), model.predict_proba(rows.astype(np.float64))
    assert proba.dtype == np.float32
    np.testing.assert_allclose(proba, wide, rtol=1e-3, atol=7e-5)
    np.testing.assert_allclose(proba.sum(axis=1), 1, rtol=1e-6)
    assert model.posterior(rows).probabilities.dtype == np.float64
    np.testing.assert_allclose(model.posterior(rows).probabilities, wide, rtol=1e-12, atol=1e-300)
    holes = oracle.with_holes(rows, 7).astype(np.float32)
    np.testing.assert_allclose(
        model.predict_proba(holes),
        model.predict_proba(holes.astype(np.float64)),
        rtol=1e-3,
        atol=7e-5,
    )


# --- the same again --------------------------------------------------------------------------


@SHAPES
def test_the_same_rows_give_the_same_bits(shape):
    holes = oracle.with_holes(X, 5)
    runs = [GaussianClassifier(shape, max_iter=50) for _ in range(2)]
    for model in runs:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(holes, CODES)
    one, other = runs
    for name in ("means_", "covariances_", "priors_", "log_likelihood_trace_"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
    np.testing.assert_array_equal(one.predict_proba(holes), other.predict_proba(holes))


@SHAPES
def test_a_row_has_the_same_posterior_alone_and_among_others(shape):
    model = GaussianClassifier(shape).fit(X, CODES)
    holes = oracle.with_holes(X, 6)
    together = model.predict_proba(holes)
    alone = np.vstack([model.predict_proba(row[None]) for row in holes])
    np.testing.assert_allclose(alone, together, rtol=1e-10, atol=1e-14)


def test_a_million_rows_with_missing_values_are_scored_at_their_own_places():
    """More of them than are held back at once, complete rows in between."""
    both = np.column_stack([X[:, 0], X[:, 0] ** 2])
    model = GaussianClassifier("tied_diagonal").fit(both, CODES)
    n, few = 1_200_000, both[:100].copy()
    few[np.arange(100) % 10 > 0, 1] = np.nan
    rows = np.tile(few, (n // 100, 1))
    assert np.isnan(rows[:, 1]).sum() > 2**20
    found = model.predict_proba(rows).reshape(n // 100, 100, 3)
    expected = np.vstack([model.predict_proba(row[None]) for row in few])
    np.testing.assert_allclose(found - expected, 0, atol=1e-12)
