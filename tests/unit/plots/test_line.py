"""Figures over a line x: decision regions as densities, errors, posteriors and expected losses."""

import numpy as np
import pytest
from matplotlib import colors, pyplot as plt
from scipy import integrate, stats

from credo import Loss
from credo.decisions import regions
from credo.exceptions import InputError
from credo.families import Bernoulli, Gamma, Gaussian, Poisson
from credo.plots.figures import COLOURS

TWO = Loss.zero_one(["a", "b"])
PAIR = {"a": Gaussian(0, 1), "b": Gaussian(3, 1)}


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


def legend(ax):
    there = ax.get_legend()
    return [] if there is None else [text.get_text() for text in there.get_texts()]


def named(ax):
    """Return the names of curves; those of acts stand above the axes."""
    return [text.get_text() for text in ax.texts if not isinstance(text.xycoords, tuple)]


def acts_above(ax):
    """Return the names of acts, with the places where they stand."""
    above = [text for each in ax.child_axes for text in each.get_xticklabels()]
    return {text.get_text(): text.get_position()[0] for text in above}


def area(shape):
    """Return the area of all polygons of a shaded shape, by the shoelace formula."""
    total = 0.0
    for path in shape.get_paths():
        for polygon in path.to_polygons(closed_only=False):
            x, y = polygon.T
            total += abs(np.sum(x * np.roll(y, -1) - y * np.roll(x, -1))) / 2
    return total


def shapes(ax):
    return {shape.get_label(): area(shape) for shape in ax.collections}


def spans(axes):
    return [(patch.get_x(), patch.get_x() + patch.get_width()) for patch in axes.patches]


def test_regions_show_curves_acts_and_thresholds():
    cut = regions(PAIR, [0.6, 0.4], TWO.with_reject(0.2))
    axes = cut.plot()
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("x", "prior × density")
    assert named(axes) == ["p(x, a)", "p(x, b)"]
    low, high = axes.get_xlim()
    first, second = cut.thresholds
    middles = [(low + first) / 2, (first + second) / 2, (second + high) / 2]
    above = acts_above(axes)
    assert list(above) == ["act: a", "reject", "b"]
    assert list(above.values()) == pytest.approx(middles)
    assert axes.get_title() == f"risk {cut.risk:.4g}"
    expected = [(low, first), (first, second), (second, high)]
    np.testing.assert_allclose(spans(axes), expected, rtol=1e-12)
    curves, lines = axes.lines[:2], axes.lines[2:]
    assert [each.get_xdata()[0] for each in lines] == pytest.approx([first, second])
    x, height = curves[1].get_data()
    np.testing.assert_allclose(height, 0.4 * stats.norm.pdf(x, 3, 1), rtol=1e-12)


def test_an_act_has_the_colour_of_the_class_it_is_named_after_or_its_own():
    axes = regions(PAIR, [0.6, 0.4], TWO.with_reject(0.2)).plot()
    assert [each.get_color() for each in axes.lines[:2]] == list(COLOURS[:2])
    shades = [colors.to_hex(patch.get_facecolor()).upper() for patch in axes.patches]
    assert [shades[0], shades[2]] == list(COLOURS[:2])
    assert axes.patches[1].get_hatch() == "///"
    loss = Loss([[0, 9], [1, 0]], ["a", "b"], ["treat", "discharge"])
    axes = regions(PAIR, [0.5, 0.5], loss).plot()
    used = {colors.to_hex(patch.get_facecolor()).upper() for patch in axes.patches}
    assert used == set(COLOURS[2:4])


def test_the_range_can_be_chosen_and_must_have_a_width():
    found = regions(PAIR, [0.5, 0.5], TWO)
    _, axes = plt.subplots()
    assert found.plot(axes, x_range=(2, 9)) is axes
    assert axes.get_xlim() == (2, 9)
    assert spans(axes) == [(2, 9)]
    assert len(axes.lines) == 2
    assert acts_above(axes) == {"act: b": 5.5}
    assert found.plot(x_range=(100, 200)).get_ylim() == (0, 1)  # no density there
    with pytest.raises(InputError, match=r"must be \(low, high\)"):
        found.plot(x_range=(1, 1))


def test_heavy_tails_do_not_squeeze_the_figure():
    low, high = regions({"a": stats.cauchy(), "b": stats.norm()}, [0.5, 0.5], TWO).plot().get_xlim()
    assert -10 < low < -3
    assert 3 < high < 10


def test_many_classes_have_lines_of_their_own_and_all_of_their_legend():
    many = {f"k{i}": Gaussian(2 * i, 1) for i in range(12)}
    axes = regions(many, np.full(12, 1 / 12), Loss.zero_one(list(many))).plot()
    axes.figure.canvas.draw()
    lines = [(each.get_color(), each.get_linestyle()) for each in axes.lines[:12]]
    assert len(set(lines)) == 12
    box = axes.get_legend().get_window_extent()
    assert box.y0 > 0
    assert box.x1 <= axes.figure.bbox.width


def test_a_threshold_a_little_outside_is_brought_into_view():
    cut = regions({"a": Gaussian(0, 1), "b": Gaussian(2, 2)}, [0.5, 0.5], TWO)
    low, high = cut.plot().get_xlim()
    assert low < cut.thresholds[0] < stats.norm.ppf(0.001) < cut.thresholds[1] < high


def test_narrow_and_infinite_densities_stay_in_the_picture():
    axes = regions({"a": stats.beta(0.5, 0.5), "b": stats.norm(0.5, 1e-5)}, [0.5, 0.5], TWO).plot()
    peak = 0.5 * stats.norm.pdf(0, 0, 1e-5)
    assert axes.get_ylim()[1] == pytest.approx(1.08 * peak, rel=1e-3)
    assert np.isfinite(axes.lines[0].get_ydata()).all()


def test_jumps_are_drawn_upright():
    axes = regions({"a": stats.uniform(0, 1), "b": stats.uniform(2, 1)}, [0.5, 0.5], TWO).plot()
    x, height = axes.lines[0].get_data()
    steps = np.flatnonzero(np.diff(height))
    assert all(x[i + 1] - x[i] < 1e-12 for i in steps)
    assert set(height) == {0.0, 0.5}


def test_a_rare_class_is_drawn_magnified_as_well():
    axes = regions(PAIR, [0.99, 0.01], TWO).plot()
    assert named(axes) == ["p(x, a)", "50 p(x, b)"]
    rare, large = axes.lines[0].get_ydata(), axes.lines[2].get_ydata()
    np.testing.assert_allclose(large, 50 * rare)
    assert 0.3 * axes.get_ylim()[1] < large.max() < axes.get_ylim()[1]
    assert named(regions(PAIR, [0.9, 0.1], TWO).plot()) == ["p(x, a)", "p(x, b)"]


def test_errors_are_areas_that_add_up_to_the_probability_of_error():
    cut = regions(PAIR, [0.7, 0.3], TWO)
    axes = cut.plot(show="errors", x_range=(-8, 11))
    found = shapes(axes)
    t = cut.thresholds[0]
    taken = {"a, act b": 0.7 * stats.norm.sf(t), "b, act a": 0.3 * stats.norm.cdf(t - 3)}
    assert list(found) == [f"{kind}: {share:.3g}" for kind, share in taken.items()]
    np.testing.assert_allclose(list(found.values()), list(taken.values()), rtol=2e-3)
    assert sum(found.values()) == pytest.approx(cut.probability_of_error, rel=2e-3)


def test_errors_of_three_classes_lie_on_each_other_and_rejecting_is_none():
    densities = {"a": Gaussian(0, 1), "b": Gaussian(1, 1), "c": Gaussian(2, 1)}
    cut = regions(densities, [0.4, 0.3, 0.3], Loss.zero_one(list("abc")).with_reject(0.5))
    axes = cut.plot(show="errors", x_range=(-7, 9))
    assert "reject" in dict.fromkeys(act for *_, act in cut.intervals)
    assert sum(shapes(axes).values()) == pytest.approx(cut.probability_of_error, rel=5e-3)


def test_moved_thresholds_show_the_best_ones_and_the_excess():
    cut = regions(PAIR, [0.5, 0.5], TWO)
    moved = cut.moved([2.2])
    axes = moved.plot(show="errors", x_range=(-8, 11))
    excess = integrate.quad(lambda x: 0.5 * (stats.norm.pdf(x - 3) - stats.norm.pdf(x)), 1.5, 2.2)[
        0
    ]
    assert shapes(axes)[f"more than the least: {excess:.3g}"] == pytest.approx(excess, rel=1e-2)
    upright = [line.get_xdata()[0] for line in axes.lines[2:]]
    assert upright == pytest.approx([1.5, 2.2])
    assert not any("more" in label for label in shapes(cut.plot(show="errors")))
    assert cut.best is cut
    assert moved.best.risk == cut.risk
    np.testing.assert_array_equal(moved.best.thresholds, cut.thresholds)


def test_posteriors_are_bayes_rule_with_the_level_of_rejecting():
    cut = regions(PAIR, [0.6, 0.4], TWO.with_reject(0.1))
    axes = cut.plot(show="posteriors")
    assert named(axes) == ["p(a | x)", "p(b | x)"]
    assert "level 0.9: below it, reject" in legend(axes)
    x, p = axes.lines[0].get_data()
    joint = 0.6 * stats.norm.pdf(x), 0.4 * stats.norm.pdf(x, 3)
    np.testing.assert_allclose(p, joint[0] / sum(joint), rtol=1e-9)
    level = next(line for line in axes.lines if line.get_label().startswith("level"))
    assert level.get_ydata()[0] == pytest.approx(0.9)
    # The band is where no posterior reaches the level.
    low, high = cut.thresholds
    np.testing.assert_allclose(np.interp([low, high], x, p), [0.9, 0.1], atol=1e-3)
    unequal = Loss([[0, 5], [1, 0]], ["a", "b"], ["a", "b"]).with_reject(0.1)
    others = regions(PAIR, [0.6, 0.4], unequal).plot(show="posteriors")
    assert not any("level" in label for label in legend(others))


def test_risks_are_the_expected_losses_and_the_area_below_is_the_risk():
    loss = Loss([[0, 10], [1, 0]], ["a", "b"], ["treat", "wait"])
    cut = regions(PAIR, [0.3, 0.7], loss)
    axes = cut.plot(show="risks", x_range=(-8, 11))
    x, waiting = axes.lines[1].get_data()
    np.testing.assert_allclose(waiting, 10 * 0.3 * stats.norm.pdf(x), rtol=1e-9, atol=1e-300)
    assert shapes(axes) == {f"risk {cut.risk:.4g}": pytest.approx(cut.risk, rel=2e-3)}
    moved = cut.moved([1.0])
    found = shapes(moved.plot(show="risks", x_range=(-8, 11)))
    more = moved.risk - cut.risk
    assert found[f"more than the least: {more:.3g}"] == pytest.approx(more, rel=1e-2)


COUNTS = {"a": Poisson(2), "b": Poisson(6)}


def test_bars_of_counts_have_the_area_of_their_probabilities():
    axes = regions(COUNTS, [0.7, 0.3], TWO).plot()
    for line, prior, rate in zip(axes.lines, (0.7, 0.3), (2, 6), strict=False):
        x, y = line.get_data()
        heights = prior * stats.poisson(rate).pmf(np.rint(x))
        np.testing.assert_allclose(y, heights, rtol=1e-9)
    assert axes.get_xlim() == (-0.5, 15.5)
    assert axes.get_ylabel() == "prior × probability"


def test_errors_and_risk_of_counts_are_areas_that_add_up():
    cut = regions(COUNTS, [0.7, 0.3], TWO)
    found = shapes(cut.plot(show="errors", x_range=(-0.5, 40.5)))
    assert found["a, act b: 0.0369"] == pytest.approx(0.7 * stats.poisson(2).sf(4), rel=1e-6)
    assert found["b, act a: 0.0855"] == pytest.approx(0.3 * stats.poisson(6).cdf(4), rel=1e-6)
    risks = shapes(cut.plot(show="risks", x_range=(-0.5, 40.5)))
    assert risks["risk 0.1224"] == pytest.approx(cut.risk, rel=1e-6)


def test_posteriors_of_counts_are_bayes_rule_at_each_count():
    axes = regions(COUNTS, [0.7, 0.3], TWO).plot(show="posteriors")
    x, y = axes.lines[0].get_data()
    a, b = 0.7 * stats.poisson(2).pmf(np.rint(x)), 0.3 * stats.poisson(6).pmf(np.rint(x))
    np.testing.assert_allclose(y, a / (a + b), rtol=1e-9)


def test_names_of_curves_stand_within_the_picture_and_apart():
    loss = Loss([[0, 1], [50, 0]], ["a", "b"], ["a", "b"])
    for show in ("densities", "posteriors", "risks"):
        for priors in ([0.5, 0.5], [0.997, 0.003]):
            axes = regions(PAIR, priors, loss).plot(show=show)
            axes.figure.canvas.draw()
            frame = axes.get_window_extent()
            texts = [text for text in axes.texts if not isinstance(text.xycoords, tuple)]
            assert len(texts) == 2
            first, second = (text.get_window_extent() for text in texts)
            assert not first.overlaps(second)
            assert frame.y0 <= min(first.y0, second.y0)
            assert max(first.y1, second.y1) <= frame.y1 + 2


def test_a_class_has_the_same_colour_whatever_the_order_of_the_classes():
    turned = dict(reversed(PAIR.items()))
    one, other = regions(PAIR, [0.6, 0.4], TWO).plot(), regions(turned, [0.4, 0.6], TWO).plot()
    assert one.lines[0].get_color() == other.lines[1].get_color() == COLOURS[0]
    assert len(set(COLOURS)) == 16


def test_what_is_shown_has_a_name():
    with pytest.raises(InputError, match="show of Regions"):
        regions(PAIR, [0.5, 0.5], TWO).plot(show="density")


def test_a_name_stands_over_the_middle_of_a_bar():
    cut = regions({"a": Bernoulli(0.2), "b": Bernoulli(0.7)}, [0.3, 0.7], TWO)
    ax = cut.plot()
    places = {text.get_text(): text.xy[0] for text in ax.texts}
    assert (places["p(x, a)"], places["p(x, b)"]) == (0, 1)


def test_a_class_far_lower_than_another_has_a_short_factor():
    cut = regions({"a": Gaussian(0, 1e-30), "b": Gaussian(0, 1e30)}, [0.3, 0.7], TWO)
    assert "2e+29 p(x, b)" in [*named(cut.plot()), *legend(cut.plot())]


@pytest.mark.parametrize("show", ["densities", "errors", "risks"])
def test_a_density_beyond_the_largest_number_is_drawn(show):
    cut = regions({"a": Gamma(0.01, 1), "b": Gamma(2, 1)}, [0.3, 0.7], TWO)
    curves = cut.plot(show=show).lines
    assert all(np.isfinite(curve.get_ydata()).all() for curve in curves)
