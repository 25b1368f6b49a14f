"""H14: y(x) = E[t | x] of a joint density, the two terms of the expected loss, and vectors."""

import numpy as np
import pytest
from scipy import integrate, stats

from credo import decide_value
from credo.decisions import Pinball, split_squared
from credo.exceptions import InputError, ShapeError
from credo.families import DiagonalGaussian, Gaussian, MultivariateGaussian

JOINT = MultivariateGaussian([1.0, -2.0], [[2.0, 1.2], [1.2, 1.5]])
SCIPY = stats.multivariate_normal([1.0, -2.0], [[2.0, 1.2], [1.2, 1.5]])


def integral(f, x):
    """Integrate f(t) p(x, t) over t."""
    return integrate.quad(lambda t: f(t) * SCIPY.pdf([x, t]), -14, 10, epsabs=1e-13, limit=200)[0]


@pytest.mark.parametrize("x", [-1.0, 0.5, 3.0])
def test_h14_the_best_value_at_x_is_the_mean_of_the_joint_over_t(x):
    given = JOINT.condition([x, np.nan])
    best = decide_value(given, "squared")
    mass = integral(np.ones_like, x)
    mean = integral(lambda t: t, x) / mass
    variance = integral(lambda t: (t - mean) ** 2, x) / mass
    assert best.value == pytest.approx([mean], rel=1e-8)
    assert best.expected_loss == pytest.approx(variance, rel=1e-8)
    # The excess of another value, and the variance that is left: together its expected loss.
    split = split_squared(given, [0.7])
    assert split.squared_bias == pytest.approx((0.7 - mean) ** 2, rel=1e-7)
    total = integral(lambda t: (0.7 - t) ** 2, x) / mass
    assert split.total == pytest.approx(total, rel=1e-8)


def test_h14_a_vector_is_the_mean_and_costs_the_sum_of_the_variances():
    draws = SCIPY.rvs(200_000, random_state=1)
    best = decide_value(JOINT, "squared")
    assert best.value.tolist() == [1.0, -2.0]
    assert best.expected_loss == pytest.approx(3.5)
    for g in ([1.0, -2.0], [0.0, 0.0], [2.0, -1.0]):
        cost = np.square(draws - g).sum(axis=1).mean()
        assert split_squared(JOINT, g).total == pytest.approx(cost, rel=0.02)
    assert split_squared(JOINT, [2.0, 0.0]).squared_bias == pytest.approx(1 + 4)


def test_h14_vectors_have_rows_of_any_shape():
    mean = np.arange(12.0).reshape(2, 3, 2)
    rows = decide_value(DiagonalGaussian(mean, [1.0, 2.0]), "squared")
    np.testing.assert_array_equal(rows.value, mean)
    np.testing.assert_array_equal(rows.expected_loss, np.full((2, 3), 3.0))
    split = split_squared(DiagonalGaussian(mean, [1.0, 2.0]), mean + 1)
    np.testing.assert_array_equal(split.squared_bias, np.full((2, 3), 2.0))
    assert str(rows) == "ValueDecision(6 rows, mean value [5, 6], mean expected_loss 3)"
    assert str(decide_value(JOINT, "squared")) == "ValueDecision(value=[1, -2], expected_loss=3.5)"


def test_h14_each_component_of_a_vector_may_have_another_loss():
    with pytest.raises(InputError, match="for vectors there is the squared loss only. Got Pinball"):
        decide_value(JOINT, Pinball(0.9))
    with pytest.raises(ShapeError, match="do not fit"):
        split_squared(JOINT, [1.0, 2.0, 3.0])
    one = decide_value(Gaussian(JOINT.mean, np.diagonal(JOINT.covariance)), Pinball(0.9))
    np.testing.assert_allclose(one.value, stats.norm(JOINT.mean, np.sqrt([2, 1.5])).ppf(0.9))
