"""B1: minimum misclassification, decision regions, p(mistake) and the optimal threshold."""

import math

import numpy as np
import pytest
from scipy import integrate, stats

from credo import Loss, Posterior, decide
from credo.decisions import regions
from credo.families import Gaussian

LABELS = ["C1", "C2"]
DENSITIES = {"C1": Gaussian(0, 1), "C2": Gaussian(2.5, 2.25)}
PRIORS = {"C1": 0.6, "C2": 0.4}
LOSS = Loss.zero_one(LABELS)


def weighted_1(x):
    return 0.6 * stats.norm.pdf(x, 0, 1)


def weighted_2(x):
    return 0.4 * stats.norm.pdf(x, 2.5, 1.5)


def test_p_mistake_is_the_sum_of_two_integrals():
    cut = regions(DENSITIES, PRIORS, LOSS)
    mistake = 0.0
    for low, high, act in cut.intervals:
        wrong = weighted_2 if act == "C1" else weighted_1
        mistake += integrate.quad(wrong, low, high, epsabs=1e-13)[0]
    assert cut.probability_of_error == pytest.approx(mistake, abs=1e-12)
    assert cut.bayes_risk == pytest.approx(mistake, abs=1e-12)


def test_the_weighted_densities_cross_at_the_optimal_threshold():
    cut = regions(DENSITIES, PRIORS, LOSS)
    assert len(cut.thresholds) == 2  # unequal variances
    for threshold in cut.thresholds:
        assert weighted_1(threshold) == pytest.approx(weighted_2(threshold), rel=1e-12)
    np.testing.assert_allclose(
        cut.weighted_densities(cut.thresholds)[:, 0],
        [weighted_1(t) for t in cut.thresholds],
        rtol=1e-13,
    )


@pytest.mark.parametrize("by", [-1.0, -0.1, -1e-3, 1e-3, 0.1, 1.0])
def test_moving_the_threshold_only_adds_the_area_between_the_curves(by):
    cut = regions(DENSITIES, PRIORS, LOSS)
    low, high = cut.thresholds
    moved = cut.moved([low, high + by])
    ends = sorted([high, high + by])
    area = integrate.quad(lambda x: abs(weighted_1(x) - weighted_2(x)), *ends, epsabs=1e-14)[0]
    assert area > 0
    assert moved.risk - cut.risk == pytest.approx(area, rel=1e-6, abs=1e-13)


def test_no_threshold_on_a_fine_grid_does_better():
    cut = regions({"C1": Gaussian(0, 1), "C2": Gaussian(2, 1)}, PRIORS, LOSS)
    expected = 1 + 0.5 * math.log(0.6 / 0.4)
    np.testing.assert_allclose(cut.thresholds, [expected], rtol=1e-14)
    grid = np.linspace(-3, 5, 10_001)
    mistakes = 0.6 * stats.norm.sf(grid) + 0.4 * stats.norm.cdf(grid - 2)
    assert cut.bayes_risk <= mistakes.min()
    assert grid[mistakes.argmin()] == pytest.approx(expected, abs=8e-4)


def test_minimum_misclassification_is_maximum_posterior():
    cut = regions(DENSITIES, PRIORS, LOSS)
    x = np.linspace(-8, 10, 4001)
    likelihoods = {"C1": stats.norm.logpdf(x, 0, 1), "C2": stats.norm.logpdf(x, 2.5, 1.5)}
    posterior = Posterior.from_bayes(PRIORS, likelihoods, log=True)
    np.testing.assert_array_equal(cut.act_at(x), posterior.mode())
    np.testing.assert_array_equal(cut.act_at(x), decide(posterior, LOSS).acts)


def test_the_bayes_risk_is_the_expected_posterior_risk():
    cut = regions(DENSITIES, PRIORS, LOSS)

    def density_times_risk(x):
        total = weighted_1(x) + weighted_2(x)
        return total * (1 - max(weighted_1(x), weighted_2(x)) / total)

    points = cut.thresholds.tolist()
    value = integrate.quad(density_times_risk, -20, 25, points=points, epsabs=1e-13, limit=200)[0]
    assert cut.bayes_risk == pytest.approx(value, abs=1e-11)
