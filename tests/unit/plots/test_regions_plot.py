import numpy as np
import pytest
from matplotlib import colors, pyplot as plt
from scipy import stats

import credo.plots.regions  # noqa: F401 - registers the figure
from credo import Loss
from credo.decisions import regions
from credo.exceptions import InputError
from credo.families import Gaussian
from credo.plots._draw import COLOURS

TWO = Loss.zero_one(["a", "b"])
PAIR = {"a": Gaussian(0, 1), "b": Gaussian(3, 1)}


def legend(axes):
    return [text.get_text() for text in axes.get_legend().get_texts()]


def spans(axes):
    return [(patch.get_x(), patch.get_x() + patch.get_width()) for patch in axes.patches]


def test_the_figure_shows_curves_regions_and_thresholds():
    cut = regions(PAIR, [0.6, 0.4], TWO.with_reject(0.2))
    axes = cut.plot()
    assert axes.get_xlabel() == "x"
    assert axes.get_ylabel() == "prior × density"
    assert legend(axes) == ["p(x, a)", "p(x, b)", "act: a", "act: b", "act: reject"]
    low, high = axes.get_xlim()
    first, second = cut.thresholds
    expected = [(low, first), (first, second), (second, high)]
    np.testing.assert_allclose(spans(axes), expected, rtol=1e-12)
    curves, lines = axes.lines[:2], axes.lines[2:]
    assert [line.get_xdata()[0] for line in lines] == pytest.approx([first, second])
    x, height = curves[1].get_data()
    np.testing.assert_allclose(height, 0.4 * stats.norm.pdf(x, 3, 1), rtol=1e-12)


def test_an_act_has_the_colour_of_the_truth_it_is_named_after():
    axes = regions(PAIR, [0.6, 0.4], TWO.with_reject(0.2)).plot()
    assert [line.get_color() for line in axes.lines[:2]] == list(COLOURS[:2])
    shades = [colors.to_hex(patch.get_facecolor()) for patch in axes.patches]
    assert [shades[0].upper(), shades[2].upper()] == list(COLOURS[:2])
    assert axes.patches[1].get_hatch() == "///"


def test_acts_with_names_of_their_own_have_colours_of_their_own():
    loss = Loss([[0, 9], [1, 0]], ["a", "b"], ["treat", "discharge"])
    axes = regions(PAIR, [0.5, 0.5], loss).plot()
    used = {colors.to_hex(patch.get_facecolor()).upper() for patch in axes.patches}
    assert used == set(COLOURS[2:4])


def test_the_range_can_be_chosen_and_axes_given():
    _, axes = plt.subplots()
    drawn = regions(PAIR, [0.5, 0.5], TWO).plot(axes, x_range=(2, 9))
    assert drawn is axes
    assert axes.get_xlim() == (2, 9)
    assert spans(axes) == [(2, 9)]
    assert len(axes.lines) == 2
    assert legend(axes) == ["p(x, a)", "p(x, b)", "act: b"]


def test_a_range_without_density_is_drawn_flat():
    axes = regions(PAIR, [0.5, 0.5], TWO).plot(x_range=(100, 200))
    assert axes.get_ylim() == (0, 1)


def test_a_range_must_have_a_width():
    with pytest.raises(InputError, match=r"must be \(low, high\)"):
        regions(PAIR, [0.5, 0.5], TWO).plot(x_range=(1, 1))


def test_heavy_tails_do_not_squeeze_the_figure():
    axes = regions({"a": stats.cauchy(), "b": stats.norm()}, [0.5, 0.5], TWO).plot()
    low, high = axes.get_xlim()
    assert -10 < low < -3
    assert 3 < high < 10


def test_a_threshold_a_little_outside_is_brought_into_view():
    cut = regions({"a": Gaussian(0, 1), "b": Gaussian(2, 2)}, [0.5, 0.5], TWO)
    axes = cut.plot()
    low, high = axes.get_xlim()
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
