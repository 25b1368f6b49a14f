import numpy as np
import pytest
from matplotlib import pyplot as plt

import credo.plots.learning
from credo import compare_generative_discriminative
from credo.classifiers.comparison import LearningCurves


@pytest.fixture
def curves():
    rng = np.random.default_rng(0)
    losses = rng.uniform(0.2, 2, (2, 3, 9)) * np.array([3, 2, 1])[:, None]
    flags = np.zeros((3, 9), dtype=bool)
    names = ("Generative", "Discriminative")
    return LearningCurves(names, np.array([5, 50, 500]), losses, losses / 9, flags, losses[0] / 9)


def test_two_lines_show_the_median_and_two_bands_the_middle_half(curves):
    ax = curves.plot()
    lines = ax.get_lines()
    assert [line.get_label() for line in lines] == ["Generative", "Discriminative"]
    for m, line in enumerate(lines):
        np.testing.assert_array_equal(line.get_xdata(), [5, 50, 500])
        np.testing.assert_allclose(line.get_ydata(), np.median(curves.log_losses[m], axis=1))
    bands = ax.collections
    assert len(bands) == 2
    for m, band in enumerate(bands):
        heights = band.get_paths()[0].vertices[:, 1]
        low, high = np.quantile(curves.log_losses[m], [0.25, 0.75], axis=1)
        assert heights.min() == pytest.approx(low.min())
        assert heights.max() == pytest.approx(high.max())
    assert lines[0].get_color() != lines[1].get_color()


def test_axes_are_logarithmic_and_named(curves):
    ax = curves.plot()
    assert (ax.get_xscale(), ax.get_yscale()) == ("log", "log")
    assert ax.get_xlabel() == "training rows"
    assert "log loss" in ax.get_ylabel()
    shown = [text.get_text() for text in ax.get_legend().get_texts()]
    assert shown == ["Generative", "Discriminative"]


def test_given_axes_are_drawn_on(curves):
    _, ax = plt.subplots()
    assert curves.plot(ax=ax) is ax
    assert credo.plots.learning.draw_learning_curves(curves, ax) is ax
    assert len(ax.get_lines()) == 4


def test_curves_of_a_comparison_are_drawn():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 60)
    X = rng.normal(size=(120, 2)) + y[:, None]
    result = compare_generative_discriminative(X, y, sizes=[10, 80], n_repeats=3, random_state=0)
    ax = result.plot()
    ax.figure.canvas.draw()
    assert [line.get_label() for line in ax.get_lines()] == list(result.names)


def test_infinite_losses_are_left_out_without_a_warning(curves):
    """Some classifiers rule the truth out; in most repeats there is then no median."""
    losses = curves.log_losses.copy()
    losses[1, 0, :8] = np.inf
    result = LearningCurves(
        curves.names, curves.sizes, losses, curves.error_rates, curves.separated, curves.agreement
    )
    ax = result.plot()
    ax.figure.canvas.draw()
    assert np.isfinite(ax.get_lines()[0].get_ydata()).all()
    assert np.isfinite(ax.get_lines()[1].get_ydata()[1:]).all()
