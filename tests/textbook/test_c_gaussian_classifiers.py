"""Textbook part C: Gaussian classifiers, and A4 through the classifier itself."""

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.special import expit, softmax
from scipy.stats import multivariate_normal, norm

from credo import GaussianClassifier


def with_moments(means, covariances, n=40, seed=0):
    """Rows of each class whose mean and covariance (divided by N) are exactly these."""
    rng = np.random.default_rng(seed)
    rows, labels = [], []
    for k, (mean, covariance) in enumerate(zip(means, covariances, strict=True)):
        z = rng.normal(size=(n, len(mean)))
        z -= z.mean(axis=0)
        z = z @ np.linalg.inv(np.linalg.cholesky(z.T @ z / n)).T
        rows.append(np.asarray(mean) + z @ np.linalg.cholesky(covariance).T)
        labels += [k] * n
    return np.vstack(rows), np.array(labels)


SIGMA = np.array([[2.0, 0.6], [0.6, 1.0]])
OTHER = np.array([[1.0, -0.3], [-0.3, 0.5]])
MEANS = np.array([[0.0, 0.0], [3.0, 1.0], [-1.0, 2.5]])


# --- A4 --------------------------------------------------------------------------------------


def test_a4_priors_by_frequency_and_given_for_basketball_players():
    """Players 200 ± 8 cm, others 175 ± 9 cm; priors .05 and .95."""
    X, y = with_moments([[175.0], [200.0]], [[[81.0]], [[64.0]]], n=30)
    names = np.array(["other", "player"])[y]
    by_frequency = GaussianClassifier().fit(X, names)
    assert by_frequency.priors_.tolist() == [0.5, 0.5]
    given = GaussianClassifier(priors={"player": 0.05, "other": 0.95}).fit(X, names)
    weighted = 0.05 * norm.pdf(190, 200, 8), 0.95 * norm.pdf(190, 175, 9)
    assert given.predict_proba([[190.0]])[0, 1] == pytest.approx(weighted[0] / sum(weighted))
    assert by_frequency.predict([[190.0]]) == ["player"]
    assert given.predict([[190.0]]) == ["other"]
    shares = GaussianClassifier().fit(np.vstack([X] * 2), np.append(names, ["other"] * 60))
    assert shares.priors_.tolist() == [0.75, 0.25]


# --- C1 --------------------------------------------------------------------------------------


def test_c1_univariate_maximum_likelihood_divides_by_n():
    x = np.array([1.0, 2.0, 6.0, 10.0, 14.0])
    model = GaussianClassifier().fit(x[:, None], ["+", "+", "+", "÷", "÷"])
    assert model.means_.ravel().tolist() == [3.0, 12.0]
    # (4 + 1 + 9) / 3 and (4 + 4) / 2
    np.testing.assert_allclose(model.covariances_.ravel(), [14 / 3, 4.0], rtol=1e-14)
    np.testing.assert_allclose(model.priors_, [3 / 5, 2 / 5])


def test_c1_discriminants_are_likelihood_times_prior():
    x = np.array([1.0, 2.0, 6.0, 10.0, 14.0])
    model = GaussianClassifier().fit(x[:, None], ["+", "+", "+", "÷", "÷"])
    g = [norm.pdf(7, 3, np.sqrt(14 / 3)) * 3 / 5, norm.pdf(7, 12, 2) * 2 / 5]
    np.testing.assert_allclose(np.exp(model.log_joint([[7.0]]))[0], g, rtol=1e-13)
    assert model.predict([[7.0]])[0] == ["+", "÷"][int(np.argmax(g))]


@pytest.mark.parametrize("shape", ["full", "diagonal", "spherical"])
def test_c1_three_univariate_classes_have_nine_parameters(shape):
    X, y = with_moments([[0.0], [2.0], [5.0]], [[[1.0]], [[2.0]], [[3.0]]])
    assert GaussianClassifier(shape).fit(X, y).n_parameters_ == 9


# --- C2 --------------------------------------------------------------------------------------


def test_c2_the_pooled_covariance_is_the_weighted_mean_of_class_covariances():
    X, y = with_moments(MEANS[:2], [SIGMA, OTHER])
    keep = np.append(np.arange(40), np.arange(40, 60))
    model = GaussianClassifier("tied").fit(X[keep], y[keep])
    own = [np.cov(X[keep][y[keep] == k].T, bias=True) for k in (0, 1)]
    np.testing.assert_allclose(model.covariances_, (40 * own[0] + 20 * own[1]) / 60, rtol=1e-12)


def test_c2_two_classes_have_a_logistic_sigmoid():
    X, y = with_moments(MEANS[:2], [SIGMA, SIGMA])
    phi = 0.3
    model = GaussianClassifier("tied", priors=[1 - phi, phi]).fit(X, y)
    inverse = np.linalg.inv(SIGMA)
    w = inverse @ (MEANS[1] - MEANS[0])
    w0 = -MEANS[1] @ inverse @ MEANS[1] / 2 + MEANS[0] @ inverse @ MEANS[0] / 2
    w0 += np.log(phi / (1 - phi))
    np.testing.assert_allclose(model.coef_[0], w, rtol=1e-10)
    assert model.intercept_[0] == pytest.approx(w0, rel=1e-10)
    np.testing.assert_allclose(model.predict_proba(X)[:, 1], expit(X @ w + w0), rtol=1e-9)


def test_c2_more_classes_have_a_softmax():
    X, y = with_moments(MEANS, [SIGMA] * 3)
    model = GaussianClassifier("tied").fit(X, y)
    inverse = np.linalg.inv(SIGMA)
    w = MEANS @ inverse
    w0 = -np.einsum("ki,ij,kj->k", MEANS, inverse, MEANS) / 2 + np.log(1 / 3)
    np.testing.assert_allclose(model.coef_, w, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(model.intercept_, w0, rtol=1e-9)
    np.testing.assert_allclose(
        model.predict_proba(X), softmax(X @ w.T + w0, axis=1), rtol=1e-8, atol=1e-12
    )


def test_c2_the_log_likelihood_of_the_fit_is_reported():
    X, y = with_moments(MEANS[:2], [SIGMA, OTHER])
    model = GaussianClassifier("tied").fit(X, y)
    pooled = (SIGMA + OTHER) / 2
    by_hand = sum(
        multivariate_normal.logpdf(x, MEANS[k], pooled) + np.log(0.5)
        for x, k in zip(X, y, strict=True)
    )
    assert model.log_likelihood_ == pytest.approx(by_hand, rel=1e-10)


# --- C3 --------------------------------------------------------------------------------------


def test_c3_own_covariances_give_quadratic_discriminants_with_their_determinants():
    X, y = with_moments(MEANS[:2], [SIGMA, OTHER])
    model = GaussianClassifier(priors=[0.7, 0.3]).fit(X, y)
    grid = np.random.default_rng(1).normal(size=(50, 2)) * 3
    g = [
        np.log(p)
        - np.log(np.linalg.det(c)) / 2
        - np.einsum("ni,ij,nj->n", grid - m, np.linalg.inv(c), grid - m) / 2
        for p, m, c in zip([0.7, 0.3], MEANS[:2], [SIGMA, OTHER], strict=True)
    ]
    np.testing.assert_array_equal(model.predict(grid), np.argmax(g, axis=0))
    np.testing.assert_allclose(model.decision_function(grid), g[1] - g[0], rtol=1e-8, atol=1e-8)


# --- C4 --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "number"),
    [
        # C priors and C·D means in each; C = 3 classes, D = 4 features
        ({"covariance": "full"}, 3 + 12 + 3 * 4 * 5 // 2),
        ({"covariance": "tied"}, 3 + 12 + 4 * 5 // 2),
        ({"covariance": "proportional"}, 3 + 12 + 4 * 5 // 2 + 2),
        ({"covariance": "diagonal"}, 3 + 12 + 12),
        ({"covariance": "full", "subspace": 2}, 3 + 6 + 3 * 3),
    ],
)
def test_c4_simplifications_have_fewer_parameters(options, number):
    X = np.random.default_rng(2).normal(size=(90, 4))
    model = GaussianClassifier(**options).fit(X, np.arange(90) % 3)
    assert model.n_parameters_ == number


def test_c4_proportional_covariances_are_found_again():
    X, y = with_moments(MEANS, [0.5 * SIGMA, SIGMA, 4 * SIGMA])
    model = GaussianClassifier("proportional").fit(X, y)
    np.testing.assert_allclose(model.proportions_ / model.proportions_[1], [0.5, 1, 4], rtol=1e-9)
    np.testing.assert_allclose(model.proportions_[2] * model.covariances_, 4 * SIGMA, rtol=1e-9)
    full = GaussianClassifier("full").fit(X, y)
    np.testing.assert_allclose(model.predict_proba(X), full.predict_proba(X), rtol=1e-7, atol=1e-12)


def test_c4_naive_bayes_is_the_product_of_univariate_densities():
    X, y = with_moments(MEANS[:2], [SIGMA, OTHER])
    model = GaussianClassifier("diagonal").fit(X, y)
    x = np.array([1.0, 0.7])
    by_hand = [
        np.log(0.5) + norm.logpdf(x, m, np.sqrt(np.diag(c))).sum()
        for m, c in zip(MEANS[:2], [SIGMA, OTHER], strict=True)
    ]
    np.testing.assert_allclose(model.log_joint([x])[0], by_hand, rtol=1e-10)


def test_c4_projection_on_the_first_principal_component():
    X, y = with_moments([[0.0, 0.0], [4.0, 4.0]], [np.eye(2), np.eye(2)])
    model = GaussianClassifier("tied", subspace=1).fit(X, y)
    # within variance 1 everywhere, the means 4 √2 apart along (1, 1)
    np.testing.assert_allclose(model.components_, [[np.sqrt(0.5), np.sqrt(0.5)]], rtol=1e-9)
    np.testing.assert_allclose(model.means_.ravel(), [-2 * np.sqrt(2), 2 * np.sqrt(2)], rtol=1e-9)
    np.testing.assert_allclose(model.covariances_, [[1.0]], rtol=1e-9)


# --- C5 --------------------------------------------------------------------------------------


def test_c5_the_boundary_is_a_hyperplane_through_x0():
    X, y = with_moments(MEANS[:2], [SIGMA, SIGMA])
    model = GaussianClassifier("tied", priors=[0.8, 0.2]).fit(X, y)
    plane = model.boundary(0, 1)
    gap = MEANS[0] - MEANS[1]
    w = np.linalg.solve(SIGMA, gap)
    x0 = (MEANS[0] + MEANS[1]) / 2 - np.log(0.8 / 0.2) / (gap @ w) * gap
    np.testing.assert_allclose(plane.normal, w, rtol=1e-9)
    np.testing.assert_allclose(plane.point, x0, rtol=1e-9)
    along = np.array([-w[1], w[0]])
    for t in (-3.0, 0.0, 5.0):
        np.testing.assert_allclose(model.predict_proba([x0 + t * along]), [[0.5, 0.5]], rtol=1e-9)


def test_c5_a_spherical_covariance_is_the_special_case():
    X, y = with_moments(MEANS[:2], [4 * np.eye(2)] * 2)
    plane = GaussianClassifier("tied_spherical", priors=[0.8, 0.2]).fit(X, y).boundary(0, 1)
    gap = MEANS[0] - MEANS[1]
    x0 = (MEANS[0] + MEANS[1]) / 2 - 4 / (gap @ gap) * np.log(4) * gap
    np.testing.assert_allclose(plane.normal, gap / 4, rtol=1e-9)
    np.testing.assert_allclose(plane.point, x0, rtol=1e-9)


# --- C6 --------------------------------------------------------------------------------------


@pytest.mark.parametrize("p0", [0.5, 0.9, 0.1, 1 - 1e-9])
def test_c6_equal_variances_have_one_threshold(p0):
    X, y = with_moments([[1.0], [4.0]], [[[2.0]]] * 2)
    model = GaussianClassifier("tied", priors=[p0, 1 - p0]).fit(X, y)
    threshold = (1 + 4) / 2 + 2 / (4 - 1) * np.log(p0 / (1 - p0))
    assert model.boundary(0, 1).point[0] == pytest.approx(threshold, rel=1e-9)
    below, above = threshold - 1e-6, threshold + 1e-6
    assert model.predict([[below], [above]]).tolist() == [0, 1]


def test_c6_the_threshold_goes_to_infinity_with_the_prior():
    X, y = with_moments([[1.0], [4.0]], [[[2.0]]] * 2)
    model = GaussianClassifier("tied").fit(X, y)
    shares = 1 - 10.0 ** -np.arange(1, 16)
    places = [model.with_priors([p, 1 - p]).boundary(0, 1).point[0] for p in shares]
    assert (np.diff(places) > 1).all()
    certain = model.with_priors([1.0, 0.0])
    assert certain.predict([[1e6]]).tolist() == [0]


def test_c6_unequal_variances_have_two_thresholds_or_none():
    X, y = with_moments([[0.0], [1.0]], [[[1.0]], [[9.0]]])
    model = GaussianClassifier("full").fit(X, y)
    found = model.boundary(0, 1).thresholds()

    def gap(x):
        return norm.logpdf(x, 0, 1) - norm.logpdf(x, 1, 3)

    np.testing.assert_allclose(found, [brentq(gap, -10, 0), brentq(gap, 0, 10)], rtol=1e-8)
    assert model.predict([[found[0] - 0.01], [0.0], [found[1] + 0.01]]).tolist() == [1, 0, 1]
    # at its peak the narrow class has three times the density: too little for odds of 1 to 9
    assert model.with_priors([0.1, 0.9]).boundary(0, 1).thresholds().size == 0


# --- C7 --------------------------------------------------------------------------------------


def test_c7_the_rule_is_the_least_mahalanobis_distance_with_the_prior():
    X, y = with_moments(MEANS, [SIGMA] * 3)
    priors = np.array([0.6, 0.3, 0.1])
    model = GaussianClassifier("tied", priors=priors).fit(X, y)
    grid = np.random.default_rng(3).normal(size=(200, 2)) * 3
    gaps = grid[:, None] - MEANS
    distances = np.einsum("nki,ij,nkj->nk", gaps, np.linalg.inv(SIGMA), gaps)
    np.testing.assert_allclose(model.mahalanobis(grid), distances, rtol=1e-8, atol=1e-9)
    np.testing.assert_array_equal(
        model.predict(grid), (distances - 2 * np.log(priors)).argmin(axis=1)
    )


# --- C8 --------------------------------------------------------------------------------------


def test_c8_synthetic_rows_have_the_moments_of_the_model():
    X, y = with_moments(MEANS[:2], [SIGMA, OTHER])
    rows, labels = GaussianClassifier(priors=[0.25, 0.75]).fit(X, y).sample(20_000, random_state=0)
    assert (labels == 1).mean() == pytest.approx(0.75, abs=6 * np.sqrt(0.75 * 0.25 / 20_000))
    own = rows[labels == 0]
    bound = 6 * np.sqrt(np.diag(SIGMA) / len(own))
    assert (np.abs(own.mean(axis=0) - MEANS[0]) < bound).all()
    assert np.cov(own.T)[0, 1] == pytest.approx(0.6, abs=6 * np.sqrt((2 + 0.36) / len(own)))


def test_c8_outliers_have_a_low_density():
    X, y = with_moments(MEANS[:2], [SIGMA, OTHER])
    model = GaussianClassifier().fit(X, y)
    by_hand = np.log(
        0.5 * multivariate_normal.pdf([8.0, -9.0], MEANS[0], SIGMA)
        + 0.5 * multivariate_normal.pdf([8.0, -9.0], MEANS[1], OTHER)
    )
    found = model.log_density([[8.0, -9.0]])[0]
    assert found == pytest.approx(by_hand, rel=1e-9)
    assert found < model.log_density(X).min()


def test_c8_missing_values_are_marginalised():
    X, y = with_moments(MEANS[:2], [SIGMA, OTHER])
    model = GaussianClassifier().fit(X, y)
    g = np.array([norm.pdf(2.0, 0.0, np.sqrt(2.0)), norm.pdf(2.0, 3.0, 1.0)])
    np.testing.assert_allclose(model.predict_proba([[2.0, np.nan]])[0], g / g.sum(), rtol=1e-10)


def test_c8_some_features_are_predicted_from_others():
    X, y = with_moments(MEANS[:2], [SIGMA, OTHER])
    model = GaussianClassifier().fit(X, y)
    given = model.conditional([[1.0, np.nan]], label=0)
    # slope 0.6 / 2, and what is left of the variance: 1 - 0.6² / 2
    np.testing.assert_allclose(given.mean, [[1.0, 0.3]], rtol=1e-9)
    np.testing.assert_allclose(given.covariance, [[[0, 0], [0, 0.82]]], rtol=1e-9)
    share = norm.pdf(1.0, [0.0, 3.0], [np.sqrt(2.0), 1.0])
    share /= share.sum()
    mixed = share @ [0.3, 1.0 - 0.3 * (1.0 - 3.0)]
    np.testing.assert_allclose(model.impute([[1.0, np.nan]]), [[1.0, mixed]], rtol=1e-9)


# --- Fisher's criterion ----------------------------------------------------------------------


def test_fishers_direction_of_two_classes_is_the_gap_of_the_means_by_the_covariance():
    """Bishop (2006), section 4.1.4: w is proportional to the inverse of S_W times the gap."""
    X, y = with_moments(MEANS[:2], [SIGMA, SIGMA])
    model = GaussianClassifier("tied").fit(X, y)
    w = np.linalg.solve(SIGMA, MEANS[1] - MEANS[0])
    expected = (X - MEANS[:2].mean(axis=0)) @ (w / np.sqrt(w @ SIGMA @ w))
    np.testing.assert_allclose(model.transform(X)[:, 0], expected, atol=1e-12)


def test_no_angle_has_a_larger_ratio_of_scatter_than_fishers():
    """J(a) = a S_B a / a S_W a at ten thousand angles; the worst is that of the last column."""
    X, y = with_moments(MEANS, [SIGMA] * 3)
    model = GaussianClassifier("tied").fit(X, y)
    gaps = MEANS - MEANS.mean(axis=0)
    between = gaps.T @ gaps / 3

    def ratio(a):
        return np.einsum("in,ij,jn->n", a, between, a) / np.einsum("in,ij,jn->n", a, SIGMA, a)

    angle = np.linspace(0, np.pi, 10_001)
    every = ratio(np.stack([np.cos(angle), np.sin(angle)]))
    rows = model.transform(np.eye(2)) - model.transform(np.zeros((1, 2)))  # columns of A
    best, worst = ratio(rows)
    assert every.max() == pytest.approx(best, rel=1e-6)
    assert every.max() <= best * (1 + 1e-12)
    assert every.min() == pytest.approx(worst, rel=1e-6)
    shares = [best / (best + worst), worst / (best + worst)]
    np.testing.assert_allclose(model.explained_variance_ratio_, shares, rtol=1e-12)
