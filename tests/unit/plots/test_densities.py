"""Figures of values against densities, and of likelihoods."""

import numpy as np
import pytest
from matplotlib import pyplot as plt
from scipy import stats

import credo
from credo.exceptions import InputError
from credo.families import Bernoulli, Gaussian, Laplace, Poisson

VALUES = np.random.default_rng(5).normal(10, 2, 80)


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


def test_bars_have_area_one_and_curves_are_the_densities():
    given = {"Gaussian": Gaussian.fit(VALUES), "t": stats.t(5, 10, 2)}
    ax = credo.plots.histogram(np.r_[VALUES, np.nan], given)
    assert sum(bar.get_width() * bar.get_height() for bar in ax.patches) == pytest.approx(1)
    own = stats.norm(VALUES.mean(), VALUES.std())
    for line, each in zip(ax.lines, (own, given["t"]), strict=True):
        np.testing.assert_allclose(line.get_ydata(), each.pdf(line.get_xdata()), rtol=1e-9)
    assert ax.get_title() == "n = 80"
    shares, edges = np.histogram(VALUES, [4, 8, 10, 12, 16], density=True)
    bars = credo.plots.histogram(VALUES, given, bins=edges).patches
    np.testing.assert_allclose([bar.get_height() for bar in bars], shares)


def test_whole_numbers_have_a_bar_each():
    counts = np.array([0, 1, 1, 2, 5])
    ax = credo.plots.histogram(counts, {"Poisson": Poisson(2.0)})
    assert [bar.get_height() for bar in ax.patches] == pytest.approx([0.2, 0.4, 0.2, 0, 0, 0.2])
    x, p = ax.lines[0].get_data()
    np.testing.assert_allclose(p, stats.poisson.pmf(x, 2.0))


def test_log_likelihoods_are_curves_with_their_maxima_at_the_estimates():
    ax = credo.plots.likelihood([Gaussian, Laplace], VALUES)
    spread, gap = VALUES.std(), np.abs(VALUES - np.median(VALUES)).mean()
    middle = np.sort(VALUES)[[39, 40]]
    laws = (lambda m: stats.norm(m, spread)), (lambda m: stats.laplace(m, gap))
    for (curve, point), law in zip(zip(*[iter(ax.lines)] * 2, strict=True), laws, strict=True):
        x, height = curve.get_data()
        expected = [law(m).logpdf(VALUES).sum() for m in x]
        np.testing.assert_allclose(height, expected, rtol=1e-3)
        assert point.get_ydata()[0] == pytest.approx(height.max())
    assert ax.lines[1].get_xdata()[0] == pytest.approx(VALUES.mean())
    assert middle[0] <= ax.lines[3].get_xdata()[0] <= middle[1]


def test_a_likelihood_ends_where_the_family_does_and_says_what_it_takes():
    ax = credo.plots.likelihood(Bernoulli, [0, 1, 1, 0, 0, 0, 1])
    low, high = ax.get_xlim()
    assert 0 <= low < 3 / 7 < high <= 1
    assert ax.get_xlabel() == "probability"
    variance = credo.plots.likelihood(Gaussian, VALUES, "variance")
    assert variance.lines[1].get_xdata()[0] == pytest.approx(VALUES.var())
    drop = np.nanmax(variance.lines[0].get_ydata()) - variance.lines[0].get_ydata()[[0, -1]]
    assert (drop > 4).all()
    with pytest.raises(InputError, match="has no 'rate'. It has 'mean', 'variance'"):
        credo.plots.likelihood(Gaussian, VALUES, "rate")
