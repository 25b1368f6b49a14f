"""Gaussians of classes: scores of any rows, samples, and the boundaries between two."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import chi2
from tests.oracles import gaussians as oracle

from credo.exceptions import InputError, ShapeError
from credo.families.boundary import Quadric, boundary_between

SIZE = 4
#: Distance between the classes: expanded into products if near, one by one if far.
GAPS = [1.5, 1000.0]
PATTERNS = np.array([[(p >> j) & 1 for j in range(SIZE)] for p in range(2**SIZE)], dtype=bool)
shapes = pytest.mark.parametrize("shape", oracle.SHAPES)
gaps = pytest.mark.parametrize("gap", GAPS)


def setting(shape, gap=1.5, seed=20, counts=(20, 25, 30), size=SIZE):
    """A model by the formulas, the same of ours, and its rows."""
    X, y = oracle.rows_of(seed, counts=counts, n_features=size, gap=gap)
    model = oracle.fit(X, y, shape)
    return model, oracle.as_class_gaussians(model, shape), X


def with_every_pattern(X):
    """Rows of which four each have the same entries missing, complete ones among them."""
    return np.where(np.repeat(PATTERNS, 4, axis=0), np.nan, X[: 4 * len(PATTERNS)])


@gaps
@shapes
def test_scores_are_those_of_a_loop_over_observed_entries(shape, gap):
    model, ours, X = setting(shape, gap)
    assert ours.are_near == (gap < 100) or shape == "full"
    for rows in (X, with_every_pattern(X)):
        densities = oracle.table(rows, model, oracle.log_density).T
        np.testing.assert_allclose(ours.scores(rows, "densities"), densities, rtol=1e-8, atol=1e-8)
        distances = oracle.table(rows, model, oracle.distance).T
        np.testing.assert_allclose(ours.scores(rows, "distances"), distances, rtol=1e-8, atol=1e-8)
        found = ours.scores(rows, "discriminants")
        scale = 1e-13 * np.abs(densities).max()
        np.testing.assert_allclose(
            found - found[0], densities - densities[0], rtol=1e-7, atol=1e-7 + scale
        )


@shapes
def test_rows_far_away_are_scored_until_their_squares_are_no_numbers(shape):
    model, ours, _ = setting(shape)
    rows = np.array([[1e8, -1e8, 3e8, 1e8], [1e8, np.nan, 1e8, 1.0]])
    expected = oracle.table(rows, model, oracle.log_density).T
    np.testing.assert_allclose(ours.scores(rows, "densities"), expected, rtol=1e-9)
    with pytest.raises(InputError, match="Row 1 is so far from a class"):
        ours.scores(np.vstack([rows[0], np.full(SIZE, 1e200)]), "densities")


@pytest.mark.parametrize("shape", oracle.LINEAR)
def test_rows_far_away_keep_their_odds_by_what_is_observed(shape):
    """Linear scores need no squares of the rows, which would swamp the difference."""
    model, ours, _ = setting(shape)
    row = np.array([[1e9, np.nan, -2e9, 3e9]])
    seen = [0, 2, 3]
    inverse = np.linalg.inv(model.covariances[0][np.ix_(seen, seen)])
    a, b = (model.means[k][seen] for k in (0, 1))
    expected = (a - b) @ inverse @ (row[0, seen] - (a + b) / 2)
    found = ours.scores(row, "discriminants")
    assert found[0, 0] - found[1, 0] == pytest.approx(expected, rel=1e-11)


@pytest.mark.parametrize("near", [1e-3, 1e-9])
@pytest.mark.parametrize("shape", ["full", "tied"])
def test_a_correlation_near_one_costs_few_digits(near, shape):
    """Against exact fractions: two features nearly the same, and others of another unit."""
    rng = np.random.default_rng(2)
    mixer = rng.normal(size=(4, 4))
    covariance = mixer @ mixer.T + np.eye(4)
    covariance[1] = (1 - near) * covariance[0]
    covariance[:, 1] = (1 - near) * covariance[:, 0]
    covariance[1, 1] = covariance[0, 0]
    scale = np.array([1.0, 1.0, 1e-4, 1e5])
    covariance = 0.5 * (covariance + covariance.T) * np.outer(scale, scale)
    means = [np.zeros(4), 0.5 * scale]
    model = oracle.Model([0, 1], np.array([0.5, 0.5]), means, [covariance] * 2)
    ours = oracle.as_class_gaussians(model, shape)
    rows = (np.linalg.cholesky(covariance) @ rng.normal(size=(4, 30))).T
    patterns = [[3], [2], [1], [0], [2, 3], [1, 2, 3], [0, 2], [1, 3], [0, 1]]
    for i, row in enumerate(rows):
        row[patterns[i % len(patterns)]] = np.nan
    expected = [[oracle.exact_log_density(r, m, covariance) for r in rows] for m in means]
    np.testing.assert_allclose(ours.scores(rows, "densities"), expected, rtol=1e-7, atol=1e-7)
    for part, values, *_ in ours.filled(rows, 0):
        exact = np.array([oracle.exact_parts(rows[i], means[0], covariance)[2] for i in part])
        np.testing.assert_allclose(values / scale, exact / scale, rtol=1e-6, atol=1e-6)


def test_patterns_of_more_features_than_bits_in_a_word_are_told_apart():
    rng = np.random.default_rng(5)
    size = 70
    mixer = rng.normal(size=(size, size)) / 9 + np.eye(size)
    model = oracle.Model([0], np.ones(1), [np.zeros(size)], [mixer @ mixer.T])
    rows = rng.normal(size=(12, size))
    for i, j in enumerate([0, 1, 63, 64, 69, 0, 1, 63, 64, 69, 0, 1]):
        rows[i, j] = np.nan
    found = oracle.as_class_gaussians(model, "full").scores(rows, "densities")
    expected = oracle.table(rows, model, oracle.log_density).T
    np.testing.assert_allclose(found, expected, rtol=1e-9)


@shapes
def test_rows_are_drawn_from_their_class(shape):
    """Six standard errors: of a mean √(v/n), of a covariance √((v_i v_j + c_ij²)/n)."""
    model, ours, _ = setting(shape, size=3)
    n_all, priors = 40_000, np.array([0.2, 0.0, 0.8])
    rows, codes = ours.sample(priors, n_all, np.random.default_rng(0))
    assert set(codes) == {0, 2}
    for k in (0, 2):
        own, covariance = rows[codes == k], model.covariances[k]
        n, variances = len(own), np.diag(covariance)
        assert n == pytest.approx(n_all * priors[k], abs=6 * np.sqrt(n_all * 0.16))
        wrong = np.abs(own.mean(axis=0) - model.means[k]) / np.sqrt(variances / n)
        assert wrong.max() < 6
        error = np.sqrt((np.outer(variances, variances) + covariance**2) / n)
        assert (np.abs(np.cov(own.T, bias=True) - covariance) / error).max() < 6
        distances = ours.distances(own)[k]
        for q in (0.05, 0.5, 0.95):
            share = (distances <= chi2.ppf(q, 3)).mean()
            assert share == pytest.approx(q, abs=6 * np.sqrt(q * (1 - q) / n))
    again = ours.sample(priors, n_all, np.random.default_rng(0))
    np.testing.assert_array_equal(again[0], rows)
    np.testing.assert_array_equal(again[1], codes)


def test_factors_belong_to_the_proportional_shape_alone():
    for shape in ("full", "proportional"):
        ours = setting(shape)[1]
        ours._check()
        wrong = np.ones(3) if ours.factors is None else None
        with pytest.raises(InputError, match="factors of the covariances"):
            replace(ours, factors=wrong)._check()


X, Y = oracle.rows_of(70)
PRIORS = np.array([0.2, 0.3, 0.5])


def models(shape):
    model = oracle.fit(X, Y, shape, priors=PRIORS)
    return model, oracle.as_class_gaussians(model, shape)


@pytest.mark.parametrize("shape", ["full", "diagonal", "spherical", "proportional"])
def test_a_quadric_follows_the_formula(shape):
    model, ours = models(shape)
    surface = boundary_between(ours, np.log(PRIORS), 0, 1, "Owner")
    p, q = (np.linalg.inv(model.covariances[k]) for k in (0, 1))
    m, n = model.means[:2]
    np.testing.assert_allclose(surface.matrix, (q - p) / 2, rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(surface.vector, p @ m - q @ n, rtol=1e-8, atol=1e-10)
    volumes = (
        np.linalg.slogdet(model.covariances[0])[1] - np.linalg.slogdet(model.covariances[1])[1]
    )
    constant = np.log(0.2 / 0.3) - volumes / 2 - m @ p @ m / 2 + n @ q @ n / 2
    assert surface.constant == pytest.approx(constant, rel=1e-8)
    np.testing.assert_array_equal(surface.matrix, surface.matrix.T)


def line_model(means, variances, shape):
    """Classes on a line."""
    covariances = [np.array([[float(v)]]) for v in variances]
    centres = [np.array([float(m)]) for m in means]
    model = oracle.Model([0, 1], np.array([0.5, 0.5]), centres, covariances)
    return oracle.as_class_gaussians(model, shape)


@pytest.mark.parametrize(
    ("a", "b", "c", "roots"),
    [
        (1, 0, -4, [-2, 2]),
        (1, 2, 1, [-1]),
        (1, 0, 0, [0]),
        (1, 0, 4, []),
        (0, 2, -3, [1.5]),
        (0, 0, 1, []),
        (-2, 6, -4, [1, 2]),
        (1, -1e8, 1, [1e-8, 1e8]),
        (1, 1e8, 1, [-1e8, -1e-8]),
    ],
)
def test_thresholds_are_the_real_roots(a, b, c, roots):
    surface = Quadric(np.array([[float(a)]]), np.array([float(b)]), float(c))
    np.testing.assert_allclose(surface.thresholds(), roots, rtol=1e-14)


def test_thresholds_need_one_feature():
    surface = boundary_between(models("full")[1], np.log(PRIORS), 0, 1, "Owner")
    with pytest.raises(InputError, match="needs one feature. Got 3"):
        surface.thresholds()


def test_equal_means_with_one_covariance_have_no_boundary():
    same = line_model([3, 3], [2, 2], "tied")
    with pytest.raises(InputError, match="Owner: the two classes have the same mean"):
        boundary_between(same, np.log([0.5, 0.5]), 0, 1, "Owner")


def test_rows_are_checked_and_results_are_read_only():
    plane = boundary_between(models("tied")[1], np.log(PRIORS), 0, 1, "Owner")
    curve = boundary_between(models("full")[1], np.log(PRIORS), 0, 1, "Owner")
    for surface in (plane, curve):
        with pytest.raises(ShapeError, match=r"rows of 3 features.*Got shape \(3,\)"):
            surface(X[0])
        with pytest.raises(ShapeError, match=r"Got shape \(5, 2\)"):
            surface(X[:5, :2])
        with pytest.raises(InputError, match="must be finite"):
            surface(np.full((1, 3), np.nan))
    assert not plane.normal.flags.writeable
    assert not curve.matrix.flags.writeable


def test_a_mean_of_a_hundred_million_keeps_the_hyperplane():
    means = [np.array([1e8, 0.0]), np.array([1e8 + 1, 0.0])]
    model = oracle.Model([0, 1], np.array([0.5, 0.5]), means, [np.eye(2)] * 2)
    plane = boundary_between(
        oracle.as_class_gaussians(model, "tied"), np.log([0.5, 0.5]), 1, 0, "Owner"
    )
    assert plane.normal.tolist() == [1.0, 0.0]
    assert plane(np.array([[1e8 + 0.75, 3.0]]))[0] == pytest.approx(0.25, abs=1e-7)
