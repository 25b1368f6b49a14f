"""H3 to H5: areas of errors, expected losses and the reject band, as numbers and as drawn."""

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest
from scipy import integrate, optimize, stats

from credo import GaussianClassifier, Loss

PRIORS = {"cancer": 0.4, "normal": 0.6}
KNOWN = {"cancer": stats.norm(2.6, 1.3**0.5), "normal": stats.norm(0.0, 1.3**0.5)}
#: Where the weighted densities cross: half-way, and the prior's share of it.
CROSSING = 1.3 + 1.3 / 2.6 * np.log(0.6 / 0.4)


@pytest.fixture
def scan():
    return GaussianClassifier.from_parameters({"cancer": 2.6, "normal": 0.0}, 1.3, PRIORS)


@pytest.fixture(autouse=True)
def figures():
    with mpl.rc_context({"backend": "agg"}):
        yield
    plt.close("all")


def weighted(truth, x):
    return PRIORS[truth] * KNOWN[truth].pdf(x)


def areas(axes):
    """The areas that were filled, by what their labels say before the number."""
    found = {}
    for each in axes.collections:
        size = 0.0
        for path in each.get_paths():
            for x, y in (polygon.T for polygon in path.to_polygons()):
                size += abs(np.dot(x, np.roll(y, 1)) - np.dot(y, np.roll(x, 1))) / 2
        found[each.get_label().split(":")[0].split(" 0")[0]] = size
    return found


def curve(axes, label):
    (line,) = [each for each in axes.lines if each.get_label() == label]
    return line.get_data()


def test_h3_the_coloured_areas_are_the_two_kinds_of_errors(scan):
    best = scan.regions()
    np.testing.assert_allclose(best.thresholds, [CROSSING], rtol=1e-12)
    missed = 0.4 * KNOWN["cancer"].cdf(CROSSING)
    needless = 0.6 * KNOWN["normal"].sf(CROSSING)
    assert best.probability_of_error == pytest.approx(missed + needless, rel=1e-12)
    drawn = areas(best.plot(show="errors", x_range=(-8, 11)))
    assert drawn["cancer, act normal"] == pytest.approx(missed, rel=2e-3)
    assert drawn["normal, act cancer"] == pytest.approx(needless, rel=2e-3)


@pytest.mark.parametrize("threshold", [0.2, 2.4])
def test_h3_a_moved_threshold_adds_the_area_between_the_densities(scan, threshold):
    moved = scan.regions().moved([threshold])
    excess, _ = integrate.quad(
        lambda x: abs(weighted("cancer", x) - weighted("normal", x)),
        *sorted([CROSSING, threshold]),
    )
    assert moved.risk - moved.bayes_risk == pytest.approx(excess, rel=1e-9)
    assert excess > 0.03
    drawn = areas(moved.plot(show="errors", x_range=(-8, 11)))
    assert drawn["more than the least"] == pytest.approx(excess, rel=5e-3)
    both = drawn["cancer, act normal"] + drawn["normal, act cancer"]
    assert both == pytest.approx(moved.probability_of_error, rel=2e-3)


def test_h4_the_curves_are_the_summed_losses_and_the_least_one_is_taken(scan):
    regions = scan.regions(Loss([[0, 10], [1, 0]], ["cancer", "normal"], ["treat", "discharge"]))
    axes = regions.plot(show="risks", x_range=(-8, 11))
    x, treat = curve(axes, "loss of treat")
    _, discharge = curve(axes, "loss of discharge")
    shown = slice(None, np.searchsorted(x, 1.0))  # further right it is cut off
    np.testing.assert_allclose(treat, 1 * weighted("normal", x), rtol=1e-9, atol=1e-15)
    expected = 10 * weighted("cancer", x)
    np.testing.assert_allclose(discharge[shown], expected[shown], rtol=1e-9, atol=1e-15)
    cut = CROSSING - 1.3 / 2.6 * np.log(10)
    apart = np.abs(x - cut) > 1e-9
    least = np.where(treat < expected, "treat", "discharge")[apart]
    assert regions.act_at(x[apart]).tolist() == least.tolist()
    # The area below the lower curve is the expected loss.
    loss = 10 * 0.4 * KNOWN["cancer"].cdf(cut) + 0.6 * KNOWN["normal"].sf(cut)
    assert regions.risk == pytest.approx(loss, rel=1e-12)
    assert areas(axes)["risk"] == pytest.approx(loss, rel=2e-3)


def test_h5_the_band_is_where_no_posterior_reaches_the_level(scan):
    regions = scan.regions(Loss.zero_one(["cancer", "normal"]).with_reject(0.2, name="ask"))

    def posterior(x):
        return weighted("cancer", x) / (weighted("cancer", x) + weighted("normal", x))

    ends = [optimize.brentq(lambda x, p=p: posterior(x) - p, -5, 8) for p in (0.2, 0.8)]
    np.testing.assert_allclose(regions.thresholds, ends, rtol=1e-9)
    assert [act for _, _, act in regions.intervals] == ["normal", "ask", "cancer"]
    axes = regions.plot(show="posteriors")
    x, p = curve(axes, "p(cancer | x)")
    np.testing.assert_allclose(p, posterior(x), rtol=1e-9)
    _, level = curve(axes, "level 0.8: below it, ask")
    assert set(level) == {0.8}
    (band,) = [each for each in axes.patches if each.get_label() == "act: ask"]
    np.testing.assert_allclose([band.get_x(), band.get_x() + band.get_width()], ends, rtol=1e-9)
