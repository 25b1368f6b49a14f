"""Differences of logarithms and digammas, without cancellation."""

from __future__ import annotations

import numpy as np
from scipy.special import digamma, zeta

from credo._types import F64

#: Bernoulli numbers B2, B4, ..., B14, for the expansions of the digamma function at infinity.
_BERNOULLI = np.array([1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6])
#: From here on the expansion is exact to rounding: the first term left out, B16 / (16 a^16), is
#: 9e-16 of the result at 10.
_LARGE = 10.0
#: Below this |r| < 0.053, and six terms of the series of atanh are exact: the next one is
#: r^13 / 15 < 2e-18 of the result.
_NEAR = 0.1


def excess(x: F64, centre: F64, rest: F64) -> F64:
    r"""Give :math:`x/c - 1 - \log(x/c)` of positive numbers, without cancellation.

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
    r"""Give :math:`\log a - \psi(a)`, which lies between 1 / (2a) and 1 / a."""
    large = np.maximum(a, _LARGE)
    orders = 2.0 * np.arange(1, len(_BERNOULLI) + 1)
    expansion = 0.5 / large + _even_powers(large, _BERNOULLI / orders)
    return np.where(a < _LARGE, np.log(a) - digamma(a), expansion)


def scaled_trigamma_minus_one(a: F64) -> F64:
    r"""Give :math:`a\, \psi'(a) - 1`, minus the slope of the above in :math:`\log a`."""
    large = np.maximum(a, _LARGE)
    expansion = 0.5 / large + _even_powers(large, _BERNOULLI)
    return np.where(a < _LARGE, a * zeta(2.0, a) - 1.0, expansion)


def _even_powers(a: F64, coefficients: F64) -> F64:
    """Add up c1 / a² + c2 / a⁴ + ..., by Horner's rule."""
    square = (1.0 / a) ** 2
    total = np.zeros_like(square)
    for coefficient in coefficients[::-1]:
        total = (total + coefficient) * square
    return total


def log_of(p: F64) -> F64:
    """Give the logarithm, minus infinity at zero, without a warning."""
    with np.errstate(divide="ignore"):
        return np.log(p)
