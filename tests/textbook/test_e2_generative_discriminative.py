"""Textbook E2: the same data, learned generatively and discriminatively."""

import warnings

import numpy as np
import pytest
from scipy.special import expit

from credo import GaussianClassifier, LogisticClassifier, compare_generative_discriminative
from credo.exceptions import SeparationWarning

SIGMA = np.array([[1.0, 0.5], [0.5, 2.0]])
MEANS = np.array([[0.0, 0.0], [1.5, 1.0]])


def lda_data(n, seed=0):
    """Rows of two Gaussians with one covariance."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 2
    return rng.multivariate_normal(np.zeros(2), SIGMA, n) + MEANS[y], y


def best_log_loss(n=200_000):
    """Log loss of the true posterior, by simulation."""
    X, y = lda_data(n, seed=99)
    w = np.linalg.solve(SIGMA, MEANS[1] - MEANS[0])
    p = expit((X - MEANS.mean(axis=0)) @ w)
    return -np.log(np.where(y == 1, p, 1 - p)).mean()


def test_e2_lda_data_fitted_by_logistic_regression_give_the_same_boundary_in_the_limit():
    truth = np.linalg.solve(SIGMA, MEANS[1] - MEANS[0])
    gaps = []
    for n in (200, 20_000, 200_000):
        X, y = lda_data(n)
        generative = GaussianClassifier("tied").fit(X, y)
        discriminative = LogisticClassifier().fit(X, y)
        gaps.append(np.abs(generative.coef_[0] - discriminative.coef_[0]).max())
    np.testing.assert_allclose(generative.coef_[0], truth, atol=0.03)
    np.testing.assert_allclose(discriminative.coef_[0], truth, atol=0.03)
    assert gaps[-1] < 0.01
    assert gaps[-1] < gaps[0]


def test_e2_learning_curves_meet_at_the_log_loss_of_the_truth():
    X, y = lda_data(12_000)
    curves = compare_generative_discriminative(
        X, y, sizes=[10, 60, 8400], n_repeats=8, random_state=0
    )
    limit = best_log_loss()
    np.testing.assert_allclose(curves.mean_log_losses[:, -1], limit, rtol=0.03)
    assert curves.agreement[-1].min() > 0.999
    assert (curves.mean_log_losses[:, 0] > 1.05 * limit).all()


def test_e2_the_generative_one_needs_fewer_rows_if_its_gaussians_are_right():
    X, y = lda_data(3000)
    curves = compare_generative_discriminative(
        X, y, sizes=[30, 60], n_repeats=60, test_share=0.5, random_state=0
    )
    generative, discriminative = curves.mean_log_losses
    assert (generative < discriminative).all()


def test_e2_the_discriminative_one_wins_if_they_are_wrong():
    """Outliers far on the right side drag means and covariance, but not the posterior."""
    rng = np.random.default_rng(0)
    X, y = lda_data(3000)
    far = rng.random(3000) < 0.1
    X[far & (y == 1)] += 30
    curves = compare_generative_discriminative(X, y, sizes=[2000], n_repeats=5, random_state=0)
    generative, discriminative = curves.mean_log_losses
    assert discriminative[0] < 0.95 * generative[0]


def test_e2_separable_data_are_detected_and_said_so():
    X = np.array([[0.0], [1.0], [2.0], [3.0]])
    with pytest.warns(SeparationWarning):
        LogisticClassifier().fit(X, [0, 0, 1, 1])
    rows, y = lda_data(60)
    rows += 20 * y[:, None]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        curves = compare_generative_discriminative(rows, y, n_repeats=3, random_state=0)
    assert curves.separated.all()
    assert "100 %" in repr(curves)
    mixed, labels = lda_data(600)
    curves = compare_generative_discriminative(
        mixed, labels, sizes=[6, 400], n_repeats=10, random_state=0
    )
    assert curves.separated[0].any()
    assert not curves.separated[1].any()
