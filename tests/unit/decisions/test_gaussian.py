import numpy as np
import pytest
from scipy.stats import norm

from credo.decisions import Gaussian
from credo.exceptions import InputError, ShapeError


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
