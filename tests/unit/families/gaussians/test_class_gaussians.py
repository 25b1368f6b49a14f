import numpy as np
import pytest
from scipy.stats import multivariate_normal
from tests.oracles import gaussians as oracle

from credo.families.class_gaussians import ClassGaussians

X, Y = oracle.rows_of(20)
#: Distance between the classes: expanded into products if near, one by one if far.
GAPS = [1.5, 1000.0]


def models(shape, gap=1.5):
    model = oracle.fit(*oracle.rows_of(20, gap=gap), shape)
    return model, oracle.as_class_gaussians(model, shape)


@pytest.mark.parametrize("gap", GAPS)
@pytest.mark.parametrize("shape", oracle.SHAPES)
def test_log_densities_are_those_of_scipy(shape, gap):
    rows, _ = oracle.rows_of(20, gap=gap)
    model, ours = models(shape, gap)
    assert ours.are_near == (gap < 100) or shape == "full"
    expected = [
        multivariate_normal.logpdf(rows, m, c)
        for m, c in zip(model.means, model.covariances, strict=True)
    ]
    np.testing.assert_allclose(ours.log_densities(rows), expected, rtol=1e-9)


@pytest.mark.parametrize("gap", GAPS)
@pytest.mark.parametrize("shape", oracle.SHAPES)
def test_distances_are_those_of_a_loop(shape, gap):
    rows, _ = oracle.rows_of(20, gap=gap)
    model, ours = models(shape, gap)
    expected = oracle.table(rows, model, oracle.distance).T
    np.testing.assert_allclose(ours.distances(rows), expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("shape", oracle.SHAPES)
def test_a_row_at_the_mean_has_no_distance(shape):
    _, ours = models(shape)
    own = np.diagonal(ours.distances(ours.means))
    assert (own >= 0).all()
    np.testing.assert_allclose(own, 0, atol=1e-12)


@pytest.mark.parametrize("gap", GAPS)
@pytest.mark.parametrize("shape", oracle.SHAPES)
def test_discriminants_differ_from_log_densities_by_a_term_of_the_row(shape, gap):
    rows, _ = oracle.rows_of(20, gap=gap)
    _, ours = models(shape, gap)
    found, dense = ours.discriminants(rows), ours.log_densities(rows)
    scale = np.abs(dense).max()
    np.testing.assert_allclose(found - found[0], dense - dense[0], rtol=1e-9, atol=1e-13 * scale)


@pytest.mark.parametrize("shape", oracle.SHAPES)
def test_the_matrices_of_a_class_are_one_anothers_inverse(shape):
    model, ours = models(shape)
    for k in range(3):
        np.testing.assert_allclose(ours.covariance_of(k), model.covariances[k], rtol=1e-9)
        np.testing.assert_allclose(
            ours.precision_of(k), np.linalg.inv(model.covariances[k]), rtol=1e-9, atol=1e-12
        )
        w = ours.whitener_of(k)
        w = w if w.ndim == 2 else np.diag(w)
        np.testing.assert_allclose(w @ model.covariances[k] @ w.T, np.eye(3), atol=1e-10)


@pytest.mark.parametrize("kind", [np.float64, np.float32, np.float16, np.int32, np.bool_])
@pytest.mark.parametrize("shape", oracle.SHAPES)
def test_rows_of_any_real_type_are_scored_in_double_precision(shape, kind):
    rows = (3 * X).astype(kind)
    before = rows.copy()
    model, ours = models(shape)
    found = ours.log_densities(rows)
    assert found.dtype == np.float64
    expected = oracle.table(rows.astype(np.float64), model, oracle.log_density).T
    np.testing.assert_allclose(found, expected, rtol=1e-9)
    np.testing.assert_array_equal(rows, before)


@pytest.mark.parametrize("shape", oracle.SHAPES)
def test_rows_in_another_layout_are_scored_alike(shape):
    _, ours = models(shape)
    expected = ours.log_densities(X)
    strided = np.repeat(X, 2, axis=0)[::2]
    np.testing.assert_array_equal(ours.log_densities(strided), expected)
    np.testing.assert_allclose(ours.log_densities(np.asfortranarray(X)), expected, rtol=1e-13)


@pytest.mark.parametrize("shape", oracle.SHAPES)
def test_no_rows_have_no_scores(shape):
    _, ours = models(shape)
    assert ours.log_densities(X[:0]).shape == (3, 0)
    assert ours.discriminants(X[:0]).shape == (3, 0)


@pytest.mark.parametrize("shape", oracle.SHAPES)
@pytest.mark.parametrize("size", [1, 2, 9])
def test_any_number_of_features_and_classes_works(shape, size):
    rows, y = oracle.rows_of(21, counts=(15, 20), n_features=size)
    model = oracle.fit(rows, y, shape)
    ours = oracle.as_class_gaussians(model, shape)
    np.testing.assert_allclose(
        ours.log_densities(rows), oracle.table(rows, model, oracle.log_density).T, rtol=1e-9
    )


def test_the_kind_of_a_shape_is_known():
    for shape in oracle.SHAPES:
        _, ours = models(shape)
        assert ours.is_linear == (shape in oracle.LINEAR)
        assert ours.has_correlations == (shape in oracle.CORRELATED)
        assert (ours.n_classes, ours.n_features) == (3, 3)


def test_a_mean_of_a_hundred_million_keeps_ten_digits():
    exact_at_1e8 = np.round(X * 2**20) / 2**20  # 1e8 needs 27 bits: adding it is exact
    for shape in oracle.SHAPES:
        model = oracle.fit(exact_at_1e8, Y, shape)
        near = oracle.as_class_gaussians(model, shape)
        rounded = np.round(near.means * 2**20) / 2**20
        near = _moved(near, rounded)
        far = _moved(near, rounded + 1e8)
        np.testing.assert_allclose(
            far.log_densities(exact_at_1e8 + 1e8), near.log_densities(exact_at_1e8), rtol=1e-10
        )
        assert (far.means - 1e8 == rounded).all()


def _moved(model, means):
    return ClassGaussians(
        model.shape,
        means,
        model.covariances,
        model.whiteners,
        model.log_determinants,
        model.active,
        model.factors,
    )


@pytest.mark.parametrize("shape", oracle.LINEAR)
@pytest.mark.parametrize("far", [1e4, 1e6])
def test_a_class_far_away_does_not_blur_the_odds_of_the_others(shape, far):
    """Two classes a unit apart, and a third so far away that its square swamps theirs."""
    means = np.array([[0.1, 0.2], [1.3, 0.3], [1.1 * far, 0.7 * far]])
    variance = 1.7
    model = oracle.Model([0, 1, 2], np.full(3, 1 / 3), list(means), [variance * np.eye(2)] * 3)
    x = np.array([[0.9, 3.1]])
    found = oracle.as_class_gaussians(model, shape).discriminants(x)
    log_odds = (means[1] - means[0]) @ (x[0] - (means[0] + means[1]) / 2) / variance
    assert found[1, 0] - found[0, 0] == pytest.approx(log_odds, abs=1e-8)
