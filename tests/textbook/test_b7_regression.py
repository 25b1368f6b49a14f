"""B7: the best y(x) for each loss, on joint densities p(x, t) that are known."""

import math
from itertools import pairwise

import numpy as np
import pytest
from scipy.integrate import dblquad, quad

from credo import decide_value
from credo.decisions import Absolute, Pinball, Samples, Squared, ZeroOne, split_squared
from credo.families import Gaussian

X = np.linspace(0.1, 3.0, 5)


def curve(x):
    """The mean of t given x: a sine."""
    return math.sin(x)


def noise(x):
    """The standard deviation of t given x: it grows with x."""
    return 0.1 + x / 10


def joint(x, t):
    """Density of (x, t): x uniform from 0 to pi, t Gaussian around the sine."""
    z = (t - curve(x)) / noise(x)
    return math.exp(-0.5 * z * z) / (noise(x) * math.sqrt(2 * math.pi)) / math.pi


def over_t(f, x, *breaks):
    """Integrate f(t) p(x, t) over t, ten standard deviations to either side."""
    cuts = sorted({*breaks, *(curve(x) + noise(x) * z for z in (-10, -3, -1, 0, 1, 3, 10))})
    return math.fsum(
        quad(lambda t: f(t) * joint(x, t), a, b, epsabs=1e-14)[0] for a, b in pairwise(cuts)
    )


def conditional(f, x, *breaks):
    """Expectation of f(t) given x, from the joint density alone."""
    return over_t(f, x, *breaks) / over_t(lambda _: 1.0, x)


PREDICTIVE = Gaussian(np.sin(X), (0.1 + X / 10) ** 2)


def test_squared_loss_is_least_at_the_conditional_mean():
    chosen = decide_value(PREDICTIVE, Squared())
    for x, y, expected in zip(X, chosen.value, chosen.expected_loss, strict=True):
        assert y == pytest.approx(conditional(lambda t: t, x), abs=1e-9)
        risks = [conditional(lambda t, v=v: (v - t) ** 2, x) for v in (y, y - 0.01, y + 0.01)]
        assert risks[0] == pytest.approx(expected, rel=1e-8)
        assert risks[0] < min(risks[1:])


def test_expected_squared_loss_splits_in_two_terms_at_each_x():
    proposed = 0.3 * X  # some other regression function
    parts = split_squared(PREDICTIVE, proposed)
    for i, x in enumerate(X):
        mean = conditional(lambda t: t, x)
        variance = conditional(lambda t, m=mean: (t - m) ** 2, x)
        total = conditional(lambda t, v=proposed[i]: (v - t) ** 2, x)
        assert parts.squared_bias[i] == pytest.approx((proposed[i] - mean) ** 2, abs=1e-9)
        assert parts.variance[i] == pytest.approx(variance, rel=1e-8)
        assert parts.total[i] == pytest.approx(total, rel=1e-8)


def test_expected_squared_loss_splits_in_two_terms_over_the_joint_density():
    whole = dblquad(
        lambda t, x: (0.3 * x - t) ** 2 * joint(x, t),
        0,
        math.pi,
        lambda x: curve(x) - 9 * noise(x),
        lambda x: curve(x) + 9 * noise(x),
    )[0]

    def part(name):
        def at(x):
            return getattr(split_squared(Gaussian(curve(x), noise(x) ** 2), 0.3 * x), name)

        return quad(at, 0, math.pi)[0] / math.pi

    assert part("squared_bias") + part("variance") == pytest.approx(whole, rel=1e-8)
    # The second term does not depend on the regression function: the mean of (0.1 + x / 10)².
    assert part("variance") == pytest.approx(10 / 3 * ((0.1 + math.pi / 10) ** 3 - 1e-3) / math.pi)


def test_absolute_loss_is_least_at_the_conditional_median():
    chosen = decide_value(PREDICTIVE, Absolute())
    for x, y, expected in zip(X, chosen.value, chosen.expected_loss, strict=True):
        assert conditional(lambda t, v=y: float(t <= v), x, y) == pytest.approx(0.5, abs=1e-9)
        assert conditional(lambda t, v=y: abs(v - t), x, y) == pytest.approx(expected, rel=1e-8)


@pytest.mark.parametrize("q", [0.1, 0.75])
def test_pinball_loss_is_least_at_the_conditional_quantile(q):
    chosen = decide_value(PREDICTIVE, Pinball(q))
    for x, y, expected in zip(X, chosen.value, chosen.expected_loss, strict=True):
        assert conditional(lambda t, v=y: float(t <= v), x, y) == pytest.approx(q, abs=1e-9)
        loss = conditional(lambda t, v=y: q * max(t - v, 0) + (1 - q) * max(v - t, 0), x, y)
        assert expected == pytest.approx(loss, rel=1e-8)


def test_zero_one_loss_is_least_at_the_conditional_mode():
    chosen = decide_value(PREDICTIVE, ZeroOne())
    for x, y in zip(X, chosen.value, strict=True):
        grid = np.linspace(-2, 2, 4001)
        assert y == pytest.approx(grid[np.argmax([joint(x, t) for t in grid])], abs=1e-3)


def test_in_a_bivariate_gaussian_the_best_line_is_the_regression_line():
    mean, cov = np.array([1.0, 2.0]), np.array([[2.0, 1.2], [1.2, 1.5]])
    precision = np.linalg.inv(cov)

    def density(x, t):
        d = np.array([x, t]) - mean
        return math.exp(-0.5 * d @ precision @ d)

    x = 2.5
    moments = [quad(lambda t, k=k: t**k * density(x, t), -8, 14)[0] for k in range(3)]
    conditional_mean = moments[1] / moments[0]
    slope = cov[0, 1] / cov[0, 0]
    given_x = Gaussian(mean[1] + slope * (x - mean[0]), cov[1, 1] - slope * cov[0, 1])
    chosen = decide_value(given_x, "squared")
    assert chosen.value == pytest.approx(conditional_mean, rel=1e-8)
    assert chosen.expected_loss == pytest.approx(
        moments[2] / moments[0] - conditional_mean**2, rel=1e-7
    )


def test_where_t_is_skewed_mean_median_and_mode_differ():
    # t given x is exponential with rate x: mean 1/x, median log(2)/x, mode 0.
    x = 2.0
    draws = Samples(-np.log1p(-(np.arange(20_000) + 0.5) / 20_000) / x)
    assert decide_value(draws, "squared").value == pytest.approx(1 / x, abs=1e-3)
    assert decide_value(draws, "absolute").value == pytest.approx(math.log(2) / x, abs=1e-3)
    assert decide_value(draws, ZeroOne(0.01)).value == pytest.approx(0.005, abs=1e-3)
