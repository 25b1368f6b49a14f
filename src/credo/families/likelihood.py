"""Likelihood equations of gamma and Dirichlet, and logarithms without cancellation."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy

from credo._types import F64
from credo.exceptions import NumericalError

#: Newton's method squares the error: after a step of the root of a unit of rounding, what is left
#: is below the unit.
_LAST_STEP = float(np.sqrt(np.finfo(np.float64).eps))
#: Bisection alone would come from 1e-100 ... 1e100 (460 in logarithms) to the last step in 35.
_MOST_STEPS = 50
#: Sums of concentrations are looked for between one over this and this, in logarithms: the largest
#: parameter of a family is 1e100.
_LOG_MOST = 100.0 * float(np.log(10.0))
#: Bernoulli numbers B2, B4, ..., B14, for the expansions of the digamma function at infinity.
_BERNOULLI = np.array([1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6])
#: From here on the expansion is exact to rounding: the first term left out, B16 / (16 a^16), is
#: 9e-16 of the result at 10.
_LARGE = 10.0
#: Below this |r| < 0.053, and six terms of the series of atanh are exact: the next one is
#: r^13 / 15 < 2e-18 of the result.
_NEAR = 0.1


# --- equations ------------------------------------------------------------------------------------


def gamma_shape(gap: F64) -> F64:
    r"""Solve :math:`\log a - \psi(a) = g` for the shape a of a gamma distribution.

    g is the logarithm of the mean minus the mean of the logarithms. Newton's method on the
    logarithms of both sides, which is nearly a line of slope -1. The root is bracketed:
    :math:`1/(2a) < \log a - \psi(a) < 1/a`.
    """

    def equation(log_a: F64) -> tuple[F64, F64]:
        a = np.exp(log_a)
        left = log_minus_digamma(a)
        return np.log(left / gap), -scaled_trigamma_minus_one(a) / left

    low, high = -np.log(2.0 * gap), -np.log(gap)
    start = low + np.log((1.0 + 2.0 * gap) / (1.0 + gap))  # near 1/2g if g is small, 1/g if large
    return np.exp(_root(equation, start, low, high))


def dirichlet_concentration(mean: F64, gap: F64) -> F64:
    r"""Solve :math:`\psi(\alpha_k) - \psi(s) = \log m_k - g_k`, :math:`s = \sum_k \alpha_k`.

    m are the means, which sum to one on the last axis, and g the logarithms of the means minus the
    means of the logarithms. For a given s each :math:`\alpha_k = s m_k e^{u_k}` follows by itself;
    they sum to s if :math:`\sum_k m_k (e^{u_k} - 1) = 0`, one equation for s. The log-likelihood
    is strictly concave, so there is one root. All differences are taken of numbers of order 1/s,
    so that nearly constant data cost no digits.
    """
    pull = (mean * gap).sum(axis=-1)

    def equation(log_s: F64) -> tuple[F64, F64]:
        s = np.exp(log_s)[..., None]
        u = _log_ratios(s, mean, gap)
        alpha = s * mean * np.exp(u)
        beyond = (mean * np.expm1(u)).sum(axis=-1)
        of_s, of_alpha = scaled_trigamma_minus_one(s), scaled_trigamma_minus_one(alpha)
        drift = (mean * np.exp(u) * (of_s - of_alpha) / (1.0 + of_alpha)).sum(axis=-1)
        log_total = np.log1p(beyond)  # about (C - 1) / 2s - pull, so that its log is a line
        return np.log1p(log_total / pull), drift / (1.0 + beyond) / (log_total + pull)

    edge = np.full(pull.shape, _LOG_MOST)
    start = np.log((mean.shape[-1] - 1) / (2.0 * pull))
    s = np.exp(_root(equation, start, -edge, edge))[..., None]
    return s * mean * np.exp(_log_ratios(s, mean, gap))


def _log_ratios(s: F64, mean: F64, gap: F64) -> F64:
    r"""Solve :math:`u - L(s m e^u) + L(s) + g = 0` with :math:`L(a) = \log a - \psi(a)`.

    That is :math:`\psi(\alpha) = \psi(s) + \log m - g` for :math:`\alpha = s m e^u`, a concave
    function of u: from the second step on Newton's method rises to the root. It starts with
    Minka's approximate inverse of the digamma function.
    """
    offset = log_minus_digamma(s) + gap
    goal = np.log(s * mean) - offset
    with np.errstate(divide="ignore"):
        alpha = np.where(
            goal >= -2.22, np.exp(goal) + 0.5, -1.0 / (goal - scipy.special.digamma(1.0))
        )

    def equation(u: F64) -> tuple[F64, F64]:
        a = s * mean * np.exp(u)
        return log_minus_digamma(a) - u - offset, -1.0 - scaled_trigamma_minus_one(a)

    edge = np.full(alpha.shape, np.inf)
    return _root(equation, np.log(alpha / (s * mean)), -edge, edge)


def _root(equation: Callable[[F64], tuple[F64, F64]], start: F64, low: F64, high: F64) -> F64:
    """Find where ``equation``, which gives a value and a slope, falls through zero.

    Newton's method; where a step would leave what is known to hold the root, bisection.
    """
    y = np.clip(start, low, high)
    for _ in range(_MOST_STEPS):
        value, slope = equation(y)
        low, high = np.where(value > 0, y, low), np.where(value > 0, high, y)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            newton = y - value / slope
            middle = 0.5 * (low + high)
        trusted = (slope < 0) & (newton >= low) & (newton <= high)
        y, before = np.where(trusted, newton, middle), y
        if (np.abs(y - before) <= _LAST_STEP).all():
            return y
    raise NumericalError(
        f"The likelihood equation was not solved in {_MOST_STEPS} steps. Rescale the data, or drop "
        "columns that are nearly constant."
    )


# --- logarithms -----------------------------------------------------------------------------------


def excess(x: F64, centre: F64, rest: F64) -> F64:
    r"""Return :math:`x/c - 1 - \log(x/c)` of positive numbers, without cancellation.

    c is the sum of the centre and a rest below its rounding. With :math:`\delta = x/c - 1` and
    :math:`r = \delta / (2 + \delta)`, near zero it is
    :math:`r (\delta - 2 r^2 (1/3 + r^2/5 + r^4/7 + \dots))`, because
    :math:`\log(1 + \delta) = 2 \operatorname{atanh} r`.
    """
    delta = ((x - centre) - rest) / centre
    near = np.abs(delta) < _NEAR
    small = np.where(near, delta, 0.0)
    r = small / (2.0 + small)
    square = r * r
    series = np.zeros_like(square)
    for k in range(13, 1, -2):
        series = series * square + 1.0 / k
    with np.errstate(divide="ignore"):  # x may be too small to be seen beside the centre
        logs = np.where(delta > -0.5, np.log1p(delta), np.log(x) - np.log(centre))
    return np.where(near, r * (small - 2.0 * square * series), delta - logs)


def log_minus_digamma(a: F64) -> F64:
    r"""Return :math:`\log a - \psi(a)`, which lies between 1 / (2a) and 1 / a."""
    large = np.maximum(a, _LARGE)
    orders = 2.0 * np.arange(1, len(_BERNOULLI) + 1)
    expansion = 0.5 / large + _even_powers(large, _BERNOULLI / orders)
    return np.where(a < _LARGE, np.log(a) - scipy.special.digamma(a), expansion)


def scaled_trigamma_minus_one(a: F64) -> F64:
    r"""Return :math:`a\, \psi'(a) - 1`, minus the slope of the above in :math:`\log a`."""
    large = np.maximum(a, _LARGE)
    expansion = 0.5 / large + _even_powers(large, _BERNOULLI)
    return np.where(a < _LARGE, a * scipy.special.zeta(2.0, a) - 1.0, expansion)


def _even_powers(a: F64, coefficients: F64) -> F64:
    """Add up c1 / a² + c2 / a⁴ + ..., by Horner's rule."""
    square = (1.0 / a) ** 2
    total = np.zeros_like(square)
    for coefficient in coefficients[::-1]:
        total = (total + coefficient) * square
    return total


def log_of(p: F64) -> F64:
    """Return the logarithm, minus infinity at zero, without a warning."""
    with np.errstate(divide="ignore"):
        return np.log(p)
