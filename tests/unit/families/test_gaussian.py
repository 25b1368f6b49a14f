from functools import reduce

import numpy as np
import pytest
from scipy.stats import norm
from tests.oracles import families as oracle

from credo.exceptions import InputError, ShapeError
from credo.families import DiagonalGaussian, Gaussian, Laplace


def test_it_agrees_with_scipy_far_into_the_tails():
    x = np.array([-40.0, -3.0, 0.5, 3.0, 40.0])
    ours, peer = Gaussian(0.5, 4.0), norm(0.5, 2.0)
    for name in ("pdf", "logpdf", "cdf", "sf", "logcdf"):
        np.testing.assert_allclose(getattr(ours, name)(x), getattr(peer, name)(x), rtol=1e-12)
    q = np.array([1e-300, 0.1, 0.5, 1 - 1e-16])
    np.testing.assert_allclose(ours.ppf(q), peer.ppf(q), rtol=1e-12)
    assert ours.scale == 2.0


def test_means_and_variances_are_broadcast():
    many = Gaussian([0.0, 1.0], 4.0)
    np.testing.assert_array_equal(many.variance, [4.0, 4.0])
    np.testing.assert_array_equal(many.cdf([0.0, 1.0]), [0.5, 0.5])


def test_bad_parameters_are_refused():
    with pytest.raises(InputError, match="must be positive. Got -1. It is the square"):
        Gaussian(0, -1)
    with pytest.raises(InputError, match="mean of Gaussian must be finite"):
        Gaussian(np.nan, 1)
    with pytest.raises(ShapeError, match="do not fit together"):
        Gaussian([0, 1], [1, 1, 1])


@pytest.mark.parametrize(("mean", "variance"), [(1e160, 1), (0, 1e308), (0, 1e-320)])
def test_numbers_whose_squares_overflow_are_refused(mean, variance):
    with pytest.raises(InputError, match="squares are no longer numbers. Rescale"):
        Gaussian(mean, variance)


# --- as a family -----------------------------------------------------------------------------


def test_the_log_density_reaches_far_into_the_tails():
    x = np.array([-1e10, -40.0, 0.5, 40.0, 1e10])
    np.testing.assert_allclose(
        Gaussian(0.5, 4.0).log_density(x), norm.logpdf(x, 0.5, 2.0), rtol=1e-14
    )
    assert Gaussian(0.0, 1e-100).log_density(1e300) == -np.inf


@pytest.mark.parametrize("family", [Gaussian, DiagonalGaussian])
@pytest.mark.parametrize("pieces", [1, 2, 7])
def test_a_mean_of_a_hundred_million_costs_no_digits_of_the_variance(family, pieces):
    rng = np.random.default_rng(3)
    rows = 1e8 + rng.normal(size=(1000, 2))
    weight = rng.uniform(0.1, 3.0, 1000)
    merged = _merged(family, np.array_split(rows, pieces), np.array_split(weight, pieces))
    fitted = family.estimate(merged)
    for column in range(2):
        mean, scatter = oracle.weighted_moments(rows[:, column], weight)
        assert fitted.mean[column] == pytest.approx(mean, rel=1e-15)
        assert fitted.variance[column] == pytest.approx(scatter / weight.sum(), rel=1e-13)


def _merged(family, batches, weights):
    """Summaries of batches, merged from the right."""
    summaries = [family.summarise(x, w) for x, w in zip(batches, weights, strict=True)]
    return reduce(lambda left, right: right.merge(left), reversed(summaries))


def test_the_estimate_is_that_of_numpy_and_scipy():
    rows = np.random.default_rng(0).gamma(2.0, size=(50, 4))
    fitted = Gaussian.fit(rows)
    np.testing.assert_allclose(fitted.mean, rows.mean(axis=0), rtol=1e-15)
    np.testing.assert_allclose(fitted.variance, rows.var(axis=0), rtol=1e-14)
    assert norm.fit(rows[:, 0]) == pytest.approx((fitted.mean[0], fitted.scale[0]))


def test_a_feature_that_is_missing_is_left_out_of_the_sum():
    normal = DiagonalGaussian([0.0, 1.0, 2.0], [1.0, 4.0, 9.0])
    row = [0.3, np.nan, -5.0]
    expected = norm.logpdf([0.3, -5.0], [0.0, 2.0], [1.0, 3.0]).sum()
    assert normal.log_density(row) == pytest.approx(expected, rel=1e-14)
    assert normal.log_density([np.nan, np.inf, 0.0]) == -np.inf


def test_a_vector_needs_features():
    with pytest.raises(ShapeError, match="last axis of features.*use Gaussian"):
        DiagonalGaussian(0.0, 1.0)


def test_values_too_large_for_their_squares_are_refused():
    with pytest.raises(InputError, match="up to 1e\\+100.*Got 1e\\+120 in row 1. Rescale"):
        Gaussian.fit([0.0, 1e120])


@pytest.mark.parametrize("family", [Gaussian, Laplace])
def test_values_that_differ_by_rounding_only_are_constant(family):
    with pytest.raises(InputError, match="all values are equal, up to rounding"):
        family.fit([0.1 + 0.2, 0.3, 0.3])
    family.fit([0.3, 0.3 + 1e-10])
