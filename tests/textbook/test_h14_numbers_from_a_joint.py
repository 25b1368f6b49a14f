"""H14: y(x) = E[t | x] of a joint density, the two terms of the expected loss, and vectors."""

import numpy as np
import pytest
from scipy import integrate, stats

from credo import decide_value
from credo.decisions import JointDensity, Pinball, ZeroOne, split_squared
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


# --- a joint density that is given as a function --------------------------------------------------

INVERSE = np.linalg.inv(JOINT.covariance)


def density(x, t):
    """Give the bivariate Gaussian above, up to a factor: E[t | x] = -2.6 + 0.6 x, variance 0.78."""
    a, b = x - 1, t + 2
    return 3 * np.exp(
        -0.5 * (INVERSE[0, 0] * a * a + INVERSE[1, 1] * b * b) - INVERSE[0, 1] * a * b
    )


GIVEN = JointDensity(density, x=(-8, 10), t=(-11, 7))


@pytest.mark.parametrize(
    ("loss", "shift", "expected"),
    [
        ("squared", 0.0, 0.78),
        ("absolute", 0.0, np.sqrt(2 * 0.78 / np.pi)),
        (Pinball(0.9), stats.norm.ppf(0.9) * np.sqrt(0.78), None),
        (ZeroOne(), 0.0, 1.0),
        (lambda v, t: np.cosh(v - t) - 1, 0.0, np.exp(0.39) - 1),
    ],
)
def test_h14_y_of_x_is_the_best_value_of_the_density_of_t_given_x(loss, shift, expected):
    x = np.array([[-1.0, 0.5], [3.0, 1.0]])
    best = decide_value(GIVEN.given(x), loss)
    np.testing.assert_allclose(best.value, -2.6 + 0.6 * x + shift, atol=1e-6)
    if expected is not None:
        np.testing.assert_allclose(best.expected_loss, np.full((2, 2), expected), rtol=1e-9)
    one = decide_value(GIVEN.given(3.0), loss)
    assert one.value == pytest.approx(best.value[1, 0], abs=1e-12)


def test_h14_the_expected_loss_of_a_function_is_its_excess_and_the_variance_that_is_left():
    # y - E[t | x] = 2.6 - 0.1 x, with mean 2.5 and variance 0.02.
    split = split_squared(GIVEN, lambda x: 0.5 * x)
    assert split.squared_bias == pytest.approx(2.5**2 + 0.02, rel=1e-9)
    assert split.variance == pytest.approx(0.78, rel=1e-9)
    best = split_squared(GIVEN, lambda x: -2.6 + 0.6 * x)
    assert best.squared_bias == pytest.approx(0.0, abs=1e-15)
    assert best.total == pytest.approx(0.78, rel=1e-9)


def test_h14_the_two_terms_of_a_joint_with_a_curved_mean_are_those_of_quadrature():
    # x is uniform on [0, 1], and t exponential with mean 1 + x².
    joint = JointDensity(lambda x, t: np.exp(-t / (1 + x * x)) / (1 + x * x), x=(0, 1), t=(0, 90))
    split = split_squared(joint, lambda x: np.where(x < 0.3, 1.0, 2 * x))
    low = integrate.quad(lambda x: x**4, 0, 0.3)[0]
    high = integrate.quad(lambda x: (2 * x - 1 - x * x) ** 2, 0.3, 1)[0]
    assert split.squared_bias == pytest.approx(low + high, rel=1e-6)
    assert split.variance == pytest.approx(1 + 2 / 3 + 1 / 5, rel=1e-9)  # E[(1 + x²)²]
    medians = decide_value(joint.given([0.0, 1.0]), "absolute").value
    np.testing.assert_allclose(medians, [np.log(2), 2 * np.log(2)], rtol=1e-12)


def test_h14_a_joint_density_says_what_is_wrong_with_it():
    assert str(GIVEN) == "JointDensity(x from -8 to 10, t from -11 to 7)"
    with pytest.raises(InputError, match=r"a function of x. Pass joint.given\(x\)"):
        decide_value(GIVEN, "squared")
    with pytest.raises(InputError, match="x must be from -8 to 10, its range. Got 20"):
        GIVEN.given([0.0, 20.0])
    with pytest.raises(InputError, match="needs a function y"):
        split_squared(GIVEN, 1.0)
    with pytest.raises(ShapeError, match="one number per x"):
        split_squared(GIVEN, lambda _: 1.0)
    for wrong, words in [((1, 0), "the lower end first"), ((0, 1, 2), "must be a pair")]:
        with pytest.raises(InputError, match=words):
            JointDensity(lambda x, t: x + t, x=wrong, t=(0, 1))
    with pytest.raises(InputError, match="needs a function density"):
        JointDensity(1.0, x=(0, 1), t=(0, 1))
    with pytest.raises(InputError, match="finite and at least 0. Got -"):
        JointDensity(lambda x, t: x - t, x=(0, 1), t=(0, 1)).given(0.5)
    with pytest.raises(ShapeError, match="one number for each x and t"):
        JointDensity(lambda *_: 1.0, x=(0, 1), t=(0, 1)).given(0.5)
    empty = JointDensity(lambda _, t: 0 * t, x=(0, 1), t=(0, 1))
    with pytest.raises(InputError, match="at x = 0.5 the density is 0"):
        empty.given(0.5)
    with pytest.raises(InputError, match="is 0 wherever it was looked at"):
        split_squared(empty, np.ones_like)


def test_h14_the_excess_of_a_constant_over_a_line_of_densities_is_a_logarithm():
    # p(x, t) = x + t on the unit square: E[t | x] - 1/2 = 1/12 / (x + 1/2), p(x) = x + 1/2.
    split = split_squared(JointDensity(np.add, x=(0, 1), t=(0, 1)), lambda x: np.full_like(x, 0.5))
    assert split.squared_bias == pytest.approx(np.log(3) / 144, rel=1e-9)
    assert split.total == pytest.approx(1 / 12, rel=1e-9)
