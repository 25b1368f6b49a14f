"""H6, H7: risks in several dimensions, and the geometry of Gaussians whose parameters are known."""

import numpy as np
import pytest
from scipy import stats

import credo
from credo import Loss
from credo.decisions import bayes_error
from credo.exceptions import InputError, LabelError, ShapeError
from credo.families import Gaussian

MEANS = {"a": [0.0, 0.0], "b": [2.0, 1.0]}
SHARED = [[2.0, 0.6], [0.6, 1.0]]
OWN = {"a": [[1.0, 0.2], [0.2, 1.0]], "b": [[2.0, -0.5], [-0.5, 0.8]]}
PRIORS = {"a": 0.3, "b": 0.7}
CANCER = Loss([[0, 10], [1, 0]], ["a", "b"], ["treat", "wait"])


def integral(values):
    """Sum over a fine grid that holds all of the mass."""
    axis = np.linspace(-9, 11, 601)
    places = np.stack(np.meshgrid(axis, axis), axis=-1)
    return values(places).sum() * (axis[1] - axis[0]) ** 2


def joint(places):
    return np.stack(
        [PRIORS[k] * stats.multivariate_normal(MEANS[k], OWN[k]).pdf(places) for k in "ab"], axis=-1
    )


@pytest.mark.parametrize(
    "loss",
    [
        CANCER,
        Loss.zero_one(["a", "b"]).with_reject(0.15),
        Loss([[-2, 3, 1], [4, -1, 1]], ["a", "b"], ["x", "y", "z"]),
    ],
)
def test_h6_the_bayes_risk_in_two_dimensions_is_the_integral_of_the_least_loss(loss):
    expected = integral(lambda places: (joint(places) @ loss.matrix).min(axis=-1))
    found = bayes_error({k: (MEANS[k], OWN[k]) for k in "ab"}, PRIORS, loss=loss, n_samples=200_000)
    assert found.what == "risk"
    assert found.low - 1e-4 <= expected <= found.high + 1e-4
    assert found.value == pytest.approx(expected, abs=4e-3 * np.abs(loss.matrix).max())


def test_h6_on_a_line_the_risk_is_that_of_the_regions():
    lines = {"a": Gaussian(0, 1), "b": Gaussian(2, 1)}
    found = bayes_error(lines, PRIORS, loss=CANCER)
    t = 1 + np.log(10 * 0.3 / 0.7) / 2  # wait above it
    expected = 0.3 * 10 * stats.norm.sf(t) + 0.7 * stats.norm.cdf(t - 2)
    assert (found.method, found.value) == ("quadrature", pytest.approx(expected, rel=1e-12))
    with pytest.raises(LabelError):
        bayes_error(lines, PRIORS, loss=Loss.zero_one(["x", "y"]))


def test_h7_linear_geometry_from_given_parameters():
    known = credo.GaussianClassifier.from_parameters(MEANS, SHARED, PRIORS)
    gap = np.subtract(MEANS["a"], MEANS["b"])
    w = np.linalg.solve(SHARED, gap)
    middle = np.add(MEANS["a"], MEANS["b"]) / 2
    x0 = middle - np.log(0.3 / 0.7) / (gap @ w) * gap
    line = known.boundary("a", "b")
    np.testing.assert_allclose(line.normal, w, rtol=1e-13)
    np.testing.assert_allclose(line.point, x0, rtol=1e-13)
    rows = np.random.default_rng(0).normal(1, 2, (50, 2))
    # C7: the nearer mean by Mahalanobis distance, with twice the log prior taken off.
    distances = known.mahalanobis(rows)
    gaps = rows - MEANS["b"]
    np.testing.assert_allclose(
        distances[:, 1],
        np.einsum("ni,ij,nj->n", gaps, np.linalg.inv(SHARED), gaps),
        rtol=1e-12,
    )
    nearest = (distances - 2 * np.log([0.3, 0.7])).argmin(axis=1)
    np.testing.assert_array_equal(known.predict(rows), np.array(["a", "b"])[nearest])
    odds = np.log(known.predict_proba(rows)[:, 0] / known.predict_proba(rows)[:, 1])
    np.testing.assert_allclose(odds, (rows - x0) @ w, rtol=1e-9, atol=1e-12)


def test_h7_quadratic_posterior_from_given_parameters():
    known = credo.GaussianClassifier.from_parameters(MEANS, OWN, PRIORS)
    rows = np.random.default_rng(1).normal(1, 2, (40, 2))
    p = joint(rows)
    np.testing.assert_allclose(known.predict_proba(rows), p / p.sum(1, keepdims=True), rtol=1e-12)
    np.testing.assert_allclose(known.log_density(rows), np.log(p.sum(axis=1)), rtol=1e-12)
    hidden = [[np.nan, 1.0]]
    line = [PRIORS[k] * stats.norm(MEANS[k][1], OWN[k][1][1] ** 0.5).pdf(1.0) for k in "ab"]
    np.testing.assert_allclose(known.predict_proba(hidden)[0], np.divide(line, sum(line)))
    x, y = known.sample(20_000, random_state=0)
    assert np.mean(y == "b") == pytest.approx(0.7, abs=0.02)
    np.testing.assert_allclose(np.cov(x[y == "b"].T), OWN["b"], atol=0.08)


def test_h7_one_feature_has_thresholds():
    equal = credo.GaussianClassifier.from_parameters([0.0, 3.0], 2.0, [0.9, 0.1])
    expected = 1.5 + 2.0 / 3.0 * np.log(0.9 / 0.1)
    np.testing.assert_allclose(equal.regions().thresholds, [expected], rtol=1e-13)
    unequal = credo.GaussianClassifier.from_parameters({"n": 0, "w": 0}, {"n": 1, "w": 9})
    root = np.sqrt(9 / 8 * 2 * np.log(3))
    np.testing.assert_allclose(unequal.regions().thresholds, [-root, root], rtol=1e-13)
    loss = Loss([[0, 1], [20, 0]], [0, 1], ["stay", "leave"])
    moved = 1.5 + 2.0 / 3.0 * (np.log(9) - np.log(20))
    np.testing.assert_allclose(equal.regions(loss).thresholds, [moved], rtol=1e-12)


def test_h7_a_known_model_is_kept_in_a_file_and_takes_other_priors(tmp_path):
    known = credo.GaussianClassifier.from_parameters(MEANS, OWN, PRIORS)
    known.save(tmp_path / "known.credo")
    again = credo.load(tmp_path / "known.credo")
    rows = [[1.0, 0.5], [0.0, 2.0]]
    np.testing.assert_array_equal(again.predict_proba(rows), known.predict_proba(rows))
    np.testing.assert_allclose(known.with_priors("uniform").priors_, [0.5, 0.5])
    assert not hasattr(known, "log_likelihood_")
    assert known.summary_ is None
    with pytest.raises(InputError):
        known.partial_fit(rows, ["a", "b"])


@pytest.mark.parametrize(
    ("means", "covariances", "error", "message"),
    [
        ([0, 1], [1, -1], InputError, "covariance of 1: .* must be positive. Got -1"),
        ([[0, 0], [1, 1]], [[1, 2], [2, 1]], InputError, "positive definite"),
        ([[0, 0], [1, 1]], np.ones((3, 2, 2)), ShapeError, "needs a mean of 2 classes"),
        ({"a": 0, "b": 1}, {"a": 1, "c": 1}, LabelError, "c"),
        ([[0, np.nan], [1, 1]], np.eye(2), InputError, "means"),
    ],
)
def test_h7_wrong_parameters_are_named(means, covariances, error, message):
    with pytest.raises(error, match=message):
        credo.GaussianClassifier.from_parameters(means, covariances)
