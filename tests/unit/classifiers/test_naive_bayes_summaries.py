"""What ``NaiveBayes`` learns from: summaries whose classes can be placed among others."""

import numpy as np
import pytest
from tests.oracles import naive_bayes as oracle

from credo import NaiveBayes
from credo.exceptions import InputError
from credo.families import (
    Bernoulli,
    Beta,
    Dirichlet,
    Exponential,
    Gamma,
    Gaussian,
    Laplace,
    MultivariateGaussian,
    Poisson,
)

ROWS, _ = oracle.mixed_rows(40, seed=80)
GROUPS = np.arange(40) % 2
COLUMNS = {
    Gaussian: [0, 5],
    Laplace: [1, 0],
    Bernoulli: [2],
    Poisson: [4],
    Exponential: [5, 6],
    Gamma: [6, 5],
    Beta: [7],
    Dirichlet: [11, 12, 13],
    MultivariateGaussian: [14, 15],
}


def rows_of(family):
    return np.array([[row[j] for j in COLUMNS[family]] for row in ROWS], dtype=float)


@pytest.mark.parametrize("family", COLUMNS, ids=lambda f: f.__name__)
def test_spreading_puts_groups_where_they_are_told_and_leaves_the_others_empty(family):
    X = rows_of(family)
    two = family.summarise(X, None, GROUPS, 2)
    places = np.array([3, 1])
    four = two.spread(places, 4)
    expected = family.summarise(X, None, places[GROUPS], 4)
    whole = four.merge(family.summarise(X, None, np.array([0, 2])[GROUPS], 4))
    straight = family.summarise(
        np.vstack([X, X]), None, np.append(places[GROUPS], np.array([0, 2])[GROUPS]), 4
    )
    np.testing.assert_allclose(four.weight, expected.weight)
    a, b = family.estimate(whole), family.estimate(straight)
    np.testing.assert_allclose(a.mean, b.mean, rtol=1e-9)
    np.testing.assert_allclose(a.variance, b.variance, rtol=1e-9)


@pytest.mark.parametrize("family", COLUMNS, ids=lambda f: f.__name__)
def test_an_empty_group_is_neutral(family):
    X = rows_of(family)
    summary = family.summarise(X, None, np.zeros(40, dtype=int), 1)
    nothing = family.summarise(X, None, np.zeros(40, dtype=int), 1).spread(np.array([1]), 2)
    whole = summary.spread(np.array([0]), 2).merge(nothing)
    estimate, expected = family.estimate(whole), family.estimate(summary)
    for k in (0, 1):
        np.testing.assert_allclose(estimate.mean[k], expected.mean[0], rtol=1e-12)
        np.testing.assert_allclose(estimate.variance[k], expected.variance[0], rtol=1e-12)


def test_a_laplace_scale_is_raised_where_it_is_below_the_least():
    x = np.array([[1.0, 10.0], [2.0, 10.0], [6.0, 10.0]])
    summary = Laplace.summarise(x)
    np.testing.assert_allclose(Laplace.estimate(summary, [0.1, 0.5]).scale, [5 / 3, 0.5])
    np.testing.assert_allclose(Laplace.estimate(summary, 3.0).scale, [3.0, 3.0])
    np.testing.assert_allclose(Laplace.estimate(summary, 3.0).location, [2.0, 10.0])
    with pytest.raises(InputError, match="equal"):
        Laplace.estimate(summary)
    with pytest.raises(InputError, match="least_scale"):
        Laplace.estimate(summary, np.nan)


def test_the_summary_of_a_classifier_is_of_the_rows_and_not_of_the_options():
    rows = [["x", 1.0], ["y", 3.0], ["y", 2.0], ["x", 5.0]]
    one = NaiveBayes(smoothing=1).fit(rows, [0, 0, 1, 1])
    other = NaiveBayes(smoothing=7, priors="uniform").fit(rows, [0, 0, 1, 1])
    joined = one.merge(other).summary_
    assert joined.weights.tolist() == [4.0, 4.0]
    assert joined.classes.tolist() == [0, 1]
    assert one.summary_.weights.tolist() == [2.0, 2.0]


def test_a_summary_cannot_be_changed_by_accident():
    summary = Gaussian.summarise(rows_of(Gaussian), None, GROUPS, 2).spread(np.array([2, 0]), 3)
    with pytest.raises(ValueError, match="read-only"):
        summary.weight[0] = 5.0
