"""Families of single numbers by SciPy's names: density, distribution function, quantiles."""

import numpy as np
import pytest
from scipy import integrate, stats

from credo import Loss
from credo.decisions import bayes_error, regions
from credo.families import Bernoulli, Beta, Exponential, Gamma, Laplace, Poisson

CONTINUOUS = {
    "exponential": (Exponential(0.7), 0.0),
    "gamma": (Gamma(2.5, 1.5), 0.0),
    "laplace": (Laplace(1.0, 0.8), -40.0),
    "beta": (Beta(2.0, 3.5), 0.0),
}


@pytest.mark.parametrize("name", CONTINUOUS)
def test_the_density_integrates_to_the_distribution_function(name):
    family, low = CONTINUOUS[name]
    for x in (0.1, 0.35, 0.8):
        area = integrate.quad(family.pdf, low, x, epsabs=1e-12, limit=200)[0]
        assert family.cdf(x) == pytest.approx(area, abs=1e-9)
        assert family.sf(x) == pytest.approx(1 - area, abs=1e-9)
        assert family.ppf(family.cdf(x)) == pytest.approx(x, rel=1e-9)
    np.testing.assert_allclose(family.logpdf(0.35), family.log_density(0.35), rtol=1e-14)
    assert np.isnan(family.logpdf(np.nan))
    assert family.pdf(-50.0) < 1e-20


@pytest.mark.parametrize("family", [Bernoulli(0.3), Poisson(2.5)])
def test_probabilities_add_up_to_the_distribution_function(family):
    values = np.arange(6)
    np.testing.assert_allclose(family.cdf(values)[1:2], family.pmf(values)[:2].sum(), rtol=1e-12)
    np.testing.assert_allclose(family.pmf(0), np.exp(family.log_density(0.0)), rtol=1e-14)
    assert family.ppf(family.cdf(1)) == 1
    assert family.sf(0) == pytest.approx(1 - family.pmf(0))


def test_batches_have_one_of_each():
    rates = Exponential([1.0, 2.0])
    np.testing.assert_allclose(rates.cdf(1.0), 1 - np.exp([-1.0, -2.0]))


def test_regions_and_errors_take_every_continuous_family():
    ours = {"a": Exponential(1.0), "b": Gamma(4.0, 1.0)}
    theirs = {"a": stats.expon(), "b": stats.gamma(4.0)}
    loss, priors = Loss.zero_one(["a", "b"]), [0.4, 0.6]
    mine, other = regions(ours, priors, loss), regions(theirs, priors, loss)
    np.testing.assert_allclose(mine.thresholds, other.thresholds, rtol=1e-9)
    # 0.4 exp(-x) = 0.6 x^3 exp(-x) / 6
    np.testing.assert_allclose(mine.thresholds, [4 ** (1 / 3)], rtol=1e-9)
    assert bayes_error(ours, priors).value == pytest.approx(other.bayes_risk, rel=1e-9)
