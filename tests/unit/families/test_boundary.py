import numpy as np
import pytest
from scipy.stats import norm
from tests.oracles import gaussians as oracle

from credo.exceptions import InputError, ShapeError
from credo.families.boundary import Hyperplane, Quadric, boundary_between

X, Y = oracle.rows_of(70)
PRIORS = np.array([0.2, 0.3, 0.5])


def models(shape):
    model = oracle.fit(X, Y, shape, priors=PRIORS)
    return model, oracle.as_class_gaussians(model, shape)


@pytest.mark.parametrize("shape", oracle.SHAPES)
def test_calling_a_boundary_gives_the_log_odds(shape):
    model, ours = models(shape)
    joint = oracle.log_joint(X, model)
    for i, j in [(0, 1), (1, 0), (2, 0)]:
        surface = boundary_between(ours, np.log(PRIORS), i, j, "Owner")
        assert isinstance(surface, Hyperplane if shape in oracle.LINEAR else Quadric)
        np.testing.assert_allclose(surface(X), joint[:, i] - joint[:, j], rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("shape", oracle.LINEAR)
def test_a_hyperplane_follows_the_formula(shape):
    model, ours = models(shape)
    surface = boundary_between(ours, np.log(PRIORS), 2, 0, "Owner")
    gap = model.means[2] - model.means[0]
    w = np.linalg.inv(model.covariances[0]) @ gap
    x0 = (model.means[2] + model.means[0]) / 2 - np.log(0.5 / 0.2) / (gap @ w) * gap
    np.testing.assert_allclose(surface.normal, w, rtol=1e-10)
    np.testing.assert_allclose(surface.point, x0, rtol=1e-10)


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


def test_unequal_variances_have_two_thresholds_where_the_densities_cross():
    surface = boundary_between(
        line_model([0, 1], [1, 4], "full"), np.log([0.6, 0.4]), 0, 1, "Owner"
    )
    found = surface.thresholds()
    assert found.shape == (2,)
    assert found[0] < found[1]
    np.testing.assert_allclose(0.6 * norm.pdf(found, 0, 1), 0.4 * norm.pdf(found, 1, 2), rtol=1e-12)


def test_a_wide_class_with_a_large_prior_leaves_no_threshold():
    surface = boundary_between(
        line_model([0, 0.1], [1, 4], "full"), np.log([0.01, 0.99]), 0, 1, "Owner"
    )
    assert surface.thresholds().shape == (0,)
    grid = np.linspace(-20, 20, 999)[:, None]
    assert (surface(grid) < 0).all()


def test_equal_means_have_thresholds_on_both_sides_alike():
    surface = boundary_between(line_model([2, 2], [1, 9], "full"), np.log([0.5, 0.5]), 0, 1, "O")
    # (x - 2)² (1 - 1/9) = log 9
    away = np.sqrt(np.log(9) / (1 - 1 / 9))
    np.testing.assert_allclose(surface.thresholds(), [2 - away, 2 + away], rtol=1e-10)


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


def test_a_prior_of_zero_has_no_boundary():
    for shape in ("full", "tied"):
        with np.errstate(divide="ignore"), pytest.raises(InputError, match="Owner.*positive prior"):
            boundary_between(models(shape)[1], np.log([0.0, 0.5, 0.5]), 0, 1, "Owner")


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
