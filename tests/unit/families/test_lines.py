"""Families of single numbers by SciPy's names: density, distribution function, quantiles."""

from itertools import pairwise

import numpy as np
import pytest
from scipy import integrate, stats

from credo import Loss, decide_value
from credo.decisions import Pinball, bayes_error, regions
from credo.families import (
    Bernoulli,
    Beta,
    Categorical,
    Exponential,
    Gamma,
    Gaussian,
    Histogram,
    Laplace,
    Poisson,
)

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


HISTOGRAMS = {
    "cells": Histogram([0, 1, 4, 5], [0.2, 0.5, 0.3]),
    "tails": Histogram([0, 1, 4, 5], [0.2, 0.5, 0.3], tails=True),
    "one cell with tails": Histogram([-1, 3], [1.0], tails=True),
    "an empty cell in front": Histogram([0, 0, 2, 3], [0, 0.5, 0.5], tails=True),
    "a cell without probability": Histogram([0, 1, 2, 4], [0.5, 0, 0.5]),
}


@pytest.mark.parametrize("name", HISTOGRAMS)
def test_the_cells_of_a_histogram_add_up_to_its_distribution_function(name):
    family = HISTOGRAMS[name]
    breaks = [*family.edges.tolist(), float(family.edges[-2:].mean())]
    for x in (-3.0, 0.2, 0.5, 1.5, 2.2, 4.5, 5.0, 7.0):
        cuts = sorted({-60.0, x, *(cut for cut in breaks if cut < x)})
        area = sum(integrate.quad(family.pdf, a, b, epsabs=1e-13)[0] for a, b in pairwise(cuts))
        assert family.cdf(x) == pytest.approx(area, abs=1e-9)
        assert family.sf(x) == pytest.approx(1 - area, abs=1e-9)
        if family.pdf(x) > 0 and 0 < family.cdf(x) < 1:
            assert family.ppf(family.cdf(x)) == pytest.approx(x, abs=1e-9)
    ends = (-np.inf, np.inf) if family.tails else (0.0, breaks[-2])
    assert tuple(family.ppf([0, 1])) == ends
    assert np.isnan(family.ppf([-0.1, 1.1, np.nan])).all()
    assert np.isnan(family.cdf(np.nan))
    assert (family.cdf([-np.inf, np.inf]).tolist(), family.sf(np.inf)) == ([0, 1], 0)


def test_the_upper_tail_of_a_histogram_keeps_its_digits():
    family = HISTOGRAMS["tails"]
    assert family.sf(104.0) == pytest.approx(0.3 * np.exp(-100), rel=1e-12)


def test_codes_are_counted_up_to_the_distribution_function():
    family = Categorical([0.2, 0.0, 0.8, 0.0])
    assert family.cdf([-1, 0, 0.5, 1, 2, 3, 9]).tolist() == [0, 0.2, 0.2, 0.2, 1, 1, 1]
    np.testing.assert_allclose(family.sf([-1, 0, 1, 2, 3]), [1, 0.8, 0.8, 0, 0])
    assert family.ppf([0, 0.1, 0.2, 0.21, 1]).tolist() == [0, 0, 0, 2, 2]
    assert family.pmf([0, 1, 2, 2.5]).tolist() == [0.2, 0, 0.8, 0]
    assert np.isnan([family.cdf(np.nan), family.pmf(np.nan), family.ppf(2.0)]).all()


def test_histograms_and_categories_have_batches():
    two = Histogram([[0, 1, 2], [0, 2, 4]], [[0.5, 0.5], [0.1, 0.9]])
    np.testing.assert_allclose(two.cdf([[1.0, 1.0], [3.0, 3.0]]), [[0.5, 0.05], [1, 0.55]])
    np.testing.assert_allclose(two.ppf([0.25, 0.55]), [0.5, 3.0])
    codes = Categorical([[0.2, 0.8], [0.5, 0.5]])
    assert (codes.cdf(0).tolist(), codes.ppf(0.3).tolist()) == ([0.2, 0.5], [1, 0])


#: One of each, with its mean, and its 0.9-quantile by SciPy or by hand.
NUMBERS = {
    "exponential": (Exponential(0.7), 1 / 0.7, stats.expon(scale=1 / 0.7).ppf(0.9)),
    "gamma": (Gamma(2.5, 1.5), 2.5 / 1.5, stats.gamma(2.5, scale=1 / 1.5).ppf(0.9)),
    "laplace": (Laplace(1.0, 0.8), 1.0, stats.laplace(1.0, 0.8).ppf(0.9)),
    "beta": (Beta(2.0, 3.5), 2 / 5.5, stats.beta(2.0, 3.5).ppf(0.9)),
    "gaussian": (Gaussian(1.0, 4.0), 1.0, stats.norm(1, 2).ppf(0.9)),
    "histogram": (HISTOGRAMS["cells"], 0.1 + 1.25 + 1.35, 4 + 2 / 3),
    "poisson": (Poisson(2.5), 2.5, 5),
    "bernoulli": (Bernoulli(0.3), 0.3, 1),
    "categorical": (Categorical([0.2, 0.3, 0.5]), 1.3, 2),
}


@pytest.mark.parametrize("name", NUMBERS)
def test_numbers_are_chosen_under_every_family(name):
    family, mean, quantile = NUMBERS[name]
    assert decide_value(family, "squared").value == pytest.approx(mean, rel=1e-12)
    best = decide_value(family, Pinball(0.9))
    assert best.value == pytest.approx(quantile, rel=1e-12)

    def pinball(value, truth):
        return np.maximum(0.9 * (truth - value), 0.1 * (value - truth))

    # The same loss without its name is searched for.
    searched = decide_value(family, pinball)
    assert searched.expected_loss == pytest.approx(best.expected_loss, rel=1e-9)


def test_a_batch_of_a_family_is_a_row_for_each():
    rows = decide_value(Gamma([[2.0, 3.0]], [[1.0], [2.0]]), "squared")
    np.testing.assert_allclose(rows.value, [[2, 3], [1, 1.5]], rtol=1e-12)
    np.testing.assert_allclose(rows.expected_loss, [[2, 3], [0.5, 0.75]], rtol=1e-12)


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


def test_regions_of_histograms_change_at_their_edges():
    a, b = (
        Histogram([0, 1, 4, 5], [0.2, 0.5, 0.3]),
        Histogram([2, 3, 3.001, 6], [0.6, 0.0005, 0.3995]),
    )
    cut = regions({"a": a, "b": b}, [0.5, 0.5], Loss.zero_one(["a", "b"]))
    assert cut.thresholds.tolist() == [2, 3.001, 5]
    assert [interval.act for interval in cut.intervals] == ["a", "b", "a", "b"]
    missed = 0.5 * 1.001 * 0.5 / 3 + 0.5 * 1.999 * 0.3995 / 2.999
    assert cut.bayes_risk == pytest.approx(missed, rel=1e-12)
    assert bayes_error({"a": a, "b": b}, [0.5, 0.5]).value == pytest.approx(missed, rel=1e-12)
