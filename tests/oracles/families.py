"""Slow twins of the families: SciPy's distributions, and sums with sixty digits."""

from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal, localcontext
from fractions import Fraction
from math import comb
from typing import Any

import numpy as np
from scipy import special, stats
from tests.oracles.histograms import histogram_log_density, histogram_moments

from credo import families

DIGITS = 60


# --- many digits -----------------------------------------------------------------------------


def bernoulli_numbers(most):
    """B0, B1, ..., by their recurrence."""
    numbers = [Fraction(1)]
    for n in range(1, most + 1):
        total = sum(comb(n + 1, k) * number for k, number in enumerate(numbers))
        numbers.append(-total / (n + 1))
    return numbers


_BERNOULLI = bernoulli_numbers(60)


def digamma(a):
    """The digamma function of a Decimal: recurrence up to 60, then the expansion at infinity."""
    with localcontext() as context:
        context.prec = DIGITS
        shift = Decimal(0)
        while a < 60:
            shift -= 1 / a
            a += 1
        series = a.ln() - 1 / (2 * a)
        for n in range(1, 31):
            b = _BERNOULLI[2 * n]
            series -= Decimal(b.numerator) / Decimal(b.denominator) / (2 * n * a ** (2 * n))
        return shift + series


def log_minus_digamma(a):
    """log a - psi(a) with sixty digits, as a float."""
    with localcontext() as context:
        context.prec = DIGITS
        exact = Decimal(float(a))
        return float(exact.ln() - digamma(exact))


def excess(x, centre):
    """x / c - 1 - log(x / c) with sixty digits, as a float."""
    with localcontext() as context:
        context.prec = DIGITS
        ratio = Decimal(float(x)) / Decimal(float(centre))
        return float(ratio - 1 - ratio.ln())


def dirichlet_statistics(concentration):
    """The means of a Dirichlet, and the logarithms of the means minus the means of logarithms."""
    with localcontext() as context:
        context.prec = DIGITS
        alpha = [Decimal(float(a)) for a in concentration]
        total = sum(alpha)
        means = [a / total for a in alpha]
        gaps = [m.ln() - digamma(a) + digamma(total) for m, a in zip(means, alpha, strict=True)]
        return np.array([float(m) for m in means]), np.array([float(g) for g in gaps])


def weighted_moments(values, weights):
    """Mean and centred scatter with sixty digits, as floats."""
    with localcontext() as context:
        context.prec = DIGITS
        x, w = [Decimal(float(v)) for v in values], [Decimal(float(v)) for v in weights]
        mean = sum(a * b for a, b in zip(x, w, strict=True)) / sum(w)
        scatter = sum(b * (a - mean) ** 2 for a, b in zip(x, w, strict=True))
        return float(mean), float(scatter)


def weighted_median(values, weights):
    """The middle of the numbers that leave at most half of the weight on either side."""
    x, w = [Fraction(v) for v in values], [Fraction(v) for v in weights]
    half = sum(w) / 2

    def splits(m):
        below = sum(b for a, b in zip(x, w, strict=True) if a < m)
        above = sum(b for a, b in zip(x, w, strict=True) if a > m)
        return below <= half and above <= half

    good = [a for a, b in zip(x, w, strict=True) if b > 0 and splits(a)]
    return float((min(good) + max(good)) / 2)


# --- every family next to SciPy's ------------------------------------------------------------


@dataclass(frozen=True)
class Case:
    """A family with three sets of parameters, its peer, and what is known of it.

    ``log_density(x, *p)`` is the peer's, of one event; ``rows(rng, shape)`` draws events;
    ``statistics(*p)`` are the means of T.
    """

    family: Any
    parameters: tuple[Any, ...]
    log_density: Callable[..., Any]
    rows: Callable[..., Any]
    statistics: Callable[..., Any]
    moments: Callable[..., Any]
    outside: tuple[Any, ...]
    vectors: bool = False

    def one(self, k):
        """Parameters of the k-th of the three."""
        return tuple(np.asarray(p)[k] for p in self.parameters)


def _frozen_moments(peer):
    """Mean, variance and excess kurtosis of a SciPy distribution."""
    return lambda *p: tuple(np.asarray(m, dtype=float) for m in peer(*p).stats("mvk"))


def _indicators(p):
    """Moments of zeros and ones."""
    p = np.asarray(p)
    return p, p * (1 - p), (1 - 6 * p * (1 - p)) / (p * (1 - p))


def _beta_moments(a, b):
    """Moments of shares, by those of the beta distribution."""
    return tuple(np.asarray(m, dtype=float) for m in stats.beta(a, b).stats("mvk"))


def _shares(rng, shape):
    return rng.dirichlet([2.0, 3.0, 5.0], shape)


def _multinomial(x, p):
    return stats.multinomial.logpmf(x, int(x.sum()), p / p.sum())


_SIMPLEX = [[0.2, 0.3, 0.5], [0.6, 0.3, 0.1], [0.05, 0.05, 0.9]]
_BATCH = np.array([0.5, 2.0, 7.0])

CASES = {
    "Gaussian": Case(
        families.Gaussian,
        ([-1.0, 0.0, 30.0], [0.25, 1.0, 9.0]),
        lambda x, m, v: stats.norm.logpdf(x, m, np.sqrt(v)),
        lambda rng, shape: rng.normal(3.0, 2.0, shape),
        lambda m, v: [m, v + m**2],
        _frozen_moments(lambda m, v: stats.norm(m, np.sqrt(v))),
        (),
    ),
    "DiagonalGaussian": Case(
        families.DiagonalGaussian,
        ([[-1.0, 0.0], [0.0, 5.0], [30.0, 1.0]], [[0.25, 1.0], [1.0, 4.0], [9.0, 2.0]]),
        lambda x, m, v: stats.norm.logpdf(x, m, np.sqrt(v)).sum(),
        lambda rng, shape: rng.normal(3.0, 2.0, (*shape, 2)),
        lambda m, v: [*m, *(v + m**2)],
        _frozen_moments(lambda m, v: stats.norm(m, np.sqrt(v))),
        (),
        vectors=True,
    ),
    "Laplace": Case(
        families.Laplace,
        ([-1.0, 0.0, 30.0], [0.25, 1.0, 9.0]),
        stats.laplace.logpdf,
        lambda rng, shape: rng.laplace(3.0, 2.0, shape),
        lambda _, b: [b],
        _frozen_moments(stats.laplace),
        (),
    ),
    "Histogram": Case(
        families.Histogram,
        (
            [[-2.0, 0.5, 3.0, 3.5, 9.0], [0.0, 1.0, 2.0, 4.0, 8.0], [-1.0, 1.0, 2.5, 4.0, 5.0]],
            [[0.1, 0.2, 0.3, 0.4], [0.4, 0.1, 0.25, 0.25], [0.2, 0.3, 0.1, 0.4]],
            [0.0, 0.0, 1.0],
        ),
        histogram_log_density,
        lambda rng, shape: rng.normal(3.0, 2.0, shape),
        lambda _, p, __: p,
        histogram_moments,
        (),
    ),
    "Bernoulli": Case(
        families.Bernoulli,
        ([0.1, 0.5, 0.97],),
        stats.bernoulli.logpmf,
        lambda rng, shape: rng.integers(0, 2, shape).astype(float),
        lambda p: [p],
        _indicators,
        (-1.0, 0.5, 2.0),
    ),
    "Categorical": Case(
        families.Categorical,
        (_SIMPLEX,),
        lambda x, p: np.log(p[int(x)]),
        lambda rng, shape: rng.integers(0, 3, shape).astype(float),
        lambda p: p,
        _indicators,
        (-1.0, 0.5, 3.0),
    ),
    "Multinomial": Case(
        families.Multinomial,
        (_SIMPLEX,),
        _multinomial,
        lambda rng, shape: rng.multinomial(6, [0.2, 0.5, 0.3], shape).astype(float),
        lambda p: 6 * p,
        _indicators,
        ([1.0, -1.0, 1.0], [0.5, 0.5, 0.0]),
        vectors=True,
    ),
    "Poisson": Case(
        families.Poisson,
        (_BATCH,),
        stats.poisson.logpmf,
        lambda rng, shape: rng.poisson(3.0, shape).astype(float),
        lambda r: [r],
        _frozen_moments(stats.poisson),
        (-1.0, 0.5),
    ),
    "Exponential": Case(
        families.Exponential,
        (_BATCH,),
        lambda x, r: stats.expon.logpdf(x, scale=1 / r),
        lambda rng, shape: rng.exponential(3.0, shape),
        lambda r: [1 / r],
        _frozen_moments(lambda r: stats.expon(scale=1 / r)),
        (-1.0, -1e-300),
    ),
    "Gamma": Case(
        families.Gamma,
        (_BATCH, [3.0, 0.5, 20.0]),
        lambda x, a, b: stats.gamma.logpdf(x, a, scale=1 / b),
        lambda rng, shape: rng.gamma(2.0, 3.0, shape),
        lambda a, b: [special.digamma(a) - np.log(b), a / b],
        _frozen_moments(lambda a, b: stats.gamma(a, scale=1 / b)),
        (-1.0, 0.0),
    ),
    "Beta": Case(
        families.Beta,
        (_BATCH, [3.0, 0.5, 20.0]),
        stats.beta.logpdf,
        lambda rng, shape: rng.beta(2.0, 3.0, shape),
        lambda a, b: special.digamma(np.array([a, b])) - special.digamma(a + b),
        _beta_moments,
        (0.0, 1.0, -0.5, 1.5),
    ),
    "Dirichlet": Case(
        families.Dirichlet,
        ([[0.5, 2.0, 3.0], [1.0, 1.0, 1.0], [20.0, 7.0, 0.3]],),
        stats.dirichlet.logpdf,
        _shares,
        lambda a: special.digamma(a) - special.digamma(a.sum()),
        lambda a: _beta_moments(a, a.sum(axis=-1, keepdims=True) - a),
        ([0.5, 0.5, 0.0], [0.2, 0.2, 0.2], [1.2, -0.1, -0.1]),
        vectors=True,
    ),
}


def _correlated_moments(mean, covariance, *_):
    """Moments of the features of a Gaussian vector; none has more or less kurtosis."""
    variance = np.diagonal(covariance, axis1=-2, axis2=-1)
    return mean, variance, np.zeros_like(variance)


#: A summary of it needs complete rows, so that not everything that holds for the others does.
MULTIVARIATE = Case(
    families.MultivariateGaussian,
    (
        [[-1.0, 0.0], [0.0, 5.0], [30.0, 1.0]],
        [[[0.25, 0.3], [0.3, 1.0]], [[1.0, 0.0], [0.0, 4.0]], [[9.0, -4.0], [-4.0, 2.0]]],
    ),
    stats.multivariate_normal.logpdf,
    lambda rng, shape: rng.multivariate_normal([3.0, 1.0], [[4.0, 1.0], [1.0, 2.0]], shape),
    lambda m, c, *_: [*m, *(c + np.outer(m, m)).ravel()],
    _correlated_moments,
    (),
    vectors=True,
)
EVERY = {**CASES, "MultivariateGaussian": MULTIVARIATE}
