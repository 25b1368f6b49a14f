"""Figures of evaluations, learning curves and images."""

import subprocess
import sys
from itertools import pairwise

import numpy as np
import pytest
from matplotlib import colors, pyplot as plt

import credo
from credo import Loss, Posterior
from credo.classifiers import LearningCurves
from credo.decisions import (
    calibration,
    confusion_matrix,
    cost_curve,
    evaluate,
    net_benefit,
    risk_coverage,
    roc_curve,
)
from credo.exceptions import InputError
from credo.plots import draw
from credo.plots.figures import COLOURS

LABELS = ["well", "ill"]
LOSS = Loss([[0, 1], [4, 0]], LABELS, ["wait", "treat"])


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    p = rng.uniform(0.02, 0.98, 300)
    y = np.where(rng.random(300) < p, "ill", "well")
    return y, Posterior.from_probabilities(np.stack([1 - p, p], axis=1), LABELS)


def evaluated(truth, names):
    sure = Posterior.from_probabilities(np.eye(len(names)), names)
    return evaluate(truth, sure, n_bootstrap=0)


def legend(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def line(ax, label):
    return next(item for item in ax.get_lines() if item.get_label() == label)


def test_something_else_has_no_figure():
    with pytest.raises(InputError, match="no figure for dict"):
        draw({})


@pytest.mark.parametrize("library", ["matplotlib", "jinja2"])
def test_without_its_libraries_the_extra_is_named(library):
    code = (
        f"import sys; sys.modules[{library!r}] = None\n"
        "import credo, credo.decisions\n"
        "try: credo.decisions.confusion_matrix(['a'], ['a']).plot()\n"
        "except ImportError as error: print(type(error).__name__, error)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("MissingExtraError")
    assert "pip install 'credo[plots]'" in done.stdout


# --- evaluation -----------------------------------------------------------------------------------


@pytest.mark.parametrize("label", [None, "ill"])
@pytest.mark.parametrize("strategy", ["uniform", "quantile"])
def test_a_reliability_diagram_shows_each_bin(rows, label, strategy):
    report = calibration(*rows, label=label, strategy=strategy)
    ax = report.plot()
    points = ax.containers[1].lines[0]
    np.testing.assert_array_equal(points.get_xdata(), report.predicted)
    np.testing.assert_array_equal(points.get_ydata(), report.observed)
    heights = [bar.get_height() for bar in ax.patches]
    np.testing.assert_allclose(heights, report.weight / 300)
    assert ax.get_xlabel() == f"predicted probability of {label or 'the most probable class'}"
    assert f"300 cases: calibration error {report.expected_calibration_error:.3f}" in ax.get_title()


def test_a_confusion_matrix_is_drawn_with_its_counts(rows):
    table = evaluate(*rows, LOSS.with_reject(0.5)).confusion
    ax = table.plot()
    written = [text.get_text() for text in ax.texts]
    assert written == [f"{count:g}" for count in table.counts.ravel()]
    assert [tick.get_text() for tick in ax.get_xticklabels()] == ["wait", "treat", "reject"]
    np.testing.assert_array_equal(ax.images[0].get_array(), table.normalised("truth"))
    (band,) = ax.patches  # over the reject act
    assert (band.get_x(), band.get_width(), band.get_hatch()) == (1.5, 1, "///")
    assert ax.get_title() == "300 cases by true class and act"
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("act", "true class")


def test_a_large_confusion_matrix_has_no_counts_and_turned_names():
    names = [f"label {i}" for i in range(20)]
    ax = confusion_matrix(names, names).plot()
    assert not ax.texts
    assert "darker" in ax.get_xlabel()
    assert ax.get_xticklabels()[0].get_rotation() == 90
    assert len(ax.get_xticklabels()) == 20
    few = confusion_matrix(names[:6], names[:6]).plot()
    assert few.get_xticklabels()[0].get_rotation() == 40


@pytest.mark.parametrize("make", [confusion_matrix, evaluated])
def test_names_of_very_many_classes_are_thinned_until_they_fit(make):
    names = [f"label {i}" for i in range(120)]
    panels = np.atleast_1d(make(names, names).plot())
    figure = panels.flat[0].figure
    assert max(figure.get_size_inches()) < 20
    figure.canvas.draw()
    for ax in panels.flat:
        for labels, side in ((ax.get_xticklabels(), "x"), (ax.get_yticklabels(), "y")):
            shown = [label.get_window_extent() for label in labels if "label" in label.get_text()]
            ends = sorted((getattr(b, f"{side}0"), getattr(b, f"{side}1")) for b in shown)
            assert all(right <= left for (_, right), (left, _) in pairwise(ends))


def test_counts_of_narrow_cells_have_small_digits():
    names = [f"label {i}" for i in range(12)]
    _, ax = plt.subplots(figsize=(4, 4))
    drawn = confusion_matrix(names, names, sample_weight=np.full(12, 123456.0)).plot(ax)
    drawn.figure.canvas.draw()
    cell = drawn.get_window_extent().width / 12
    assert max(text.get_window_extent().width for text in drawn.texts) < cell


def test_names_are_cut_cleaned_and_no_mathematics():
    names = [r"$\frac{1$", "x" * 50, "a\x00b", "x" * 50 + "y"]
    ax = confusion_matrix(names, names).plot()
    ax.figure.canvas.draw()
    shown = [tick.get_text() for tick in ax.get_yticklabels()]
    long = "x" * 18 + "…" + "x" * 8
    assert set(shown) == {r"\$\frac{1\$", long + "x", long + "y", "a\N{REPLACEMENT CHARACTER}b"}


def test_a_risk_coverage_curve_ends_at_the_loss_of_all_cases(rows):
    y, p = rows
    curve = risk_coverage(y, p, LOSS.with_reject(0.5))
    ax = curve.plot()
    assert ax.get_lines()[0].get_ydata()[-1] == curve.risk[-1]
    assert any(text.startswith("with the reject act") for text in legend(ax))
    never = risk_coverage(y, p, LOSS.with_reject(0.0))
    assert len(legend(never.plot())) == 2
    assert len(legend(risk_coverage(y, p).plot())) == 2


def test_a_decision_curve_shows_the_model_and_the_threshold_of_the_loss(rows):
    benefit = net_benefit(*rows, LOSS)
    ax = benefit.plot()
    np.testing.assert_array_equal(line(ax, "act on the model").get_ydata(), benefit.model)
    assert "threshold of the loss: 0.2" in legend(ax)
    assert ax.get_ylim()[0] >= -0.25 * max(benefit.model.max(), benefit.treat_all.max())
    assert len(legend(net_benefit(*rows).plot())) == 3


def test_a_decision_curve_of_one_threshold_or_without_benefit_is_drawn(rows):
    low, high = net_benefit(["well"] * 300, rows[1], thresholds=[0.5]).plot().get_ylim()
    assert low < high


def test_a_cost_curve_shows_the_rule_the_envelope_and_the_operating_point(rows):
    costs = cost_curve(*rows, LOSS, conditions=[1.0, 0.0, 0.5])
    ax = costs.plot()
    x, y = line(ax, "decisions of the model").get_data()
    np.testing.assert_array_equal(x, [0.0, 0.5, 1.0])
    np.testing.assert_array_equal(y, costs.curve[[1, 2, 0]])
    point = ax.get_lines()[-1]
    assert point.get_xdata()[0] == costs.operating_condition
    assert point.get_ydata()[0] == costs.operating_cost


def test_an_roc_curve_shows_its_points_its_area_and_the_operating_point(rows):
    curve = roc_curve(*rows, LOSS)
    ax = curve.plot()
    drawn = line(ax, f"the model, area {curve.area:.3g}")
    np.testing.assert_array_equal(drawn.get_xdata(), curve.false_positive_rate)
    np.testing.assert_array_equal(drawn.get_ydata(), curve.true_positive_rate)
    assert curve.area == pytest.approx(np.trapezoid(drawn.get_ydata(), drawn.get_xdata()))
    assert tuple(ax.get_lines()[-1].get_xydata()[0]) == curve.operating_point
    assert ax.get_title() == "300 cases, ill against the rest"
    assert len(roc_curve(*rows).plot().get_lines()) == 2


def test_legends_are_above_the_curves(rows):
    for result in (calibration(*rows), risk_coverage(*rows), cost_curve(*rows, LOSS)):
        ax = result.plot()
        ax.figure.canvas.draw()
        box = ax.get_legend().get_window_extent()
        tops = [ax.transData.transform(each.get_xydata())[:, 1].max() for each in ax.get_lines()]
        assert box.y0 > max(tops)


@pytest.mark.parametrize("n_bootstrap", [0, 200])
def test_an_evaluation_is_drawn_as_four_panels(rows, n_bootstrap):
    report = evaluate(*rows, LOSS.with_reject(0.5), n_bootstrap=n_bootstrap)
    panels = report.plot()
    assert panels.shape == (2, 2)
    figure = panels[0, 0].figure
    assert len(figure.axes) == 4
    bars = [bar.get_width() for bar in panels[1, 1].patches]
    acts = report.by_act
    assert bars[0] == report.predicted_risk
    assert bars[1 + len(acts)] == report.expected_loss.value
    assert bars[1 : 1 + len(acts)] == [entry.predicted for entry in acts]
    assert ("its interval" in panels[1, 1].get_title()) == (n_bootstrap > 0)
    figure.canvas.draw()


def test_an_evaluation_takes_the_place_of_a_subplot_and_needs_one(rows):
    figure, (left, right) = plt.subplots(1, 2, layout="constrained")
    panels = evaluate(*rows).plot(ax=right)
    assert right not in figure.axes
    assert left in figure.axes
    assert len(figure.axes) == 1 + panels.size
    free = plt.figure().add_axes((0.1, 0.1, 0.5, 0.5))
    with pytest.raises(InputError, match="four panels in the place of a subplot"):
        evaluate(*rows).plot(ax=free)


def test_an_evaluation_of_foreign_acts_leaves_the_curves_panel_empty():
    p = Posterior.from_probabilities([[0.9, 0.1], [0.2, 0.8]], ["a", "b"])
    panels = evaluate(["a", "b"], p, acts=["b", "a"], n_bootstrap=0).plot()
    assert not panels[0, 1].axison


def test_a_class_has_the_colour_it_has_in_other_figures():
    p = Posterior.from_probabilities(np.full((4, 3), 1 / 3), ["c", "a", "b"])
    y = ["a", "b", "c", "a"]
    for label, colour in zip("abc", COLOURS, strict=False):
        ax = calibration(y, p, label=label).plot()
        assert ax.containers[1].lines[0].get_color() == colour
        assert roc_curve(y, p, positive=label).plot().get_lines()[1].get_color() == colour


def test_calibration_of_a_rare_class_is_seen_close():
    p = np.linspace(0.001, 0.03, 500)
    rare = Posterior.from_probabilities(np.stack([1 - p, p], axis=1), LABELS)
    y = np.where(np.arange(500) % 50 == 0, "ill", "well")
    report = calibration(y, rare, label="ill", strategy="quantile", n_bins=4)
    ax = report.plot()
    top = ax.get_xlim()[1]
    assert report.high.max() <= top < 0.2
    bars = [bar.get_height() for bar in ax.patches]
    np.testing.assert_allclose(np.divide(bars, bars[0]), report.weight / report.weight[0])


def test_a_figure_may_be_drawn_on_given_axes(rows):
    _, ax = plt.subplots()
    assert calibration(*rows).plot(ax=ax) is ax
    assert draw(net_benefit(*rows), ax=ax) is ax


# --- learning curves ------------------------------------------------------------------------------


def learning_curves(losses):
    flags = np.zeros((3, 9), dtype=bool)
    names = ("Generative", "Discriminative")
    return LearningCurves(names, np.array([5, 50, 500]), losses, losses / 9, flags, losses[0] / 9)


LOSSES = np.random.default_rng(0).uniform(0.2, 2, (2, 3, 9)) * np.array([3, 2, 1])[:, None]


def test_two_lines_show_the_median_and_two_bands_the_middle_half():
    ax = learning_curves(LOSSES).plot()
    lines, bands = ax.get_lines(), ax.collections
    assert [each.get_label() for each in lines] == ["Generative", "Discriminative"] == legend(ax)
    assert lines[0].get_color() != lines[1].get_color()
    assert len(bands) == 2
    for losses, middle, band in zip(LOSSES, lines, bands, strict=True):
        np.testing.assert_array_equal(middle.get_xdata(), [5, 50, 500])
        np.testing.assert_allclose(middle.get_ydata(), np.median(losses, axis=1))
        heights = band.get_paths()[0].vertices[:, 1]
        low, high = np.quantile(losses, [0.25, 0.75], axis=1)
        assert heights.min() == pytest.approx(low.min())
        assert heights.max() == pytest.approx(high.max())


def test_axes_of_learning_curves_are_logarithmic_with_plain_numbers():
    ax = learning_curves(LOSSES).plot()
    ax.figure.canvas.draw()
    assert (ax.get_xscale(), ax.get_yscale()) == ("log", "log")
    assert ax.get_xlabel() == "training rows (median of 9 repeats; shaded: the middle half)"
    assert "log loss" in ax.get_ylabel()
    shown = [label.get_text() for label in ax.get_xticklabels(which="both")]
    assert {"10", "20", "50", "100"} <= set(shown)
    assert not any("$" in text for text in shown)


@pytest.mark.parametrize("spread", [1.1, 3.0, 1000.0])
def test_axes_of_learning_curves_have_a_few_numbers_however_long_they_are(spread):
    losses = np.full((2, 3, 9), 0.5) * np.array([spread, 1.05, 1.0])[:, None]
    ax = learning_curves(losses).plot()
    low, high = ax.get_ylim()
    assert 2 <= sum(low <= tick <= high for tick in ax.get_yticks()) <= 12


def test_infinite_losses_are_left_out_without_a_warning():
    """Some classifiers rule the true class out; in most repeats there is then no median."""
    losses = LOSSES.copy()
    losses[1, 0, :8] = np.inf
    ax = learning_curves(losses).plot()
    ax.figure.canvas.draw()
    assert np.isfinite(ax.get_lines()[0].get_ydata()).all()
    assert np.isfinite(ax.get_lines()[1].get_ydata()[1:]).all()


def test_curves_of_a_comparison_are_drawn():
    y = np.repeat([0, 1], 60)
    X = np.random.default_rng(0).normal(size=(120, 2)) + y[:, None]
    compare = credo.compare_generative_discriminative
    result = compare(X, y, sizes=[10, 80], n_repeats=3, random_state=0)
    assert [each.get_label() for each in result.plot().get_lines()] == list(result.names)


# --- images ---------------------------------------------------------------------------------------


def test_a_restoration_shows_the_noisy_image_the_restored_one_and_what_is_not_sure():
    noisy = credo.add_noise(np.zeros((20, 32), bool), 0.2, seed=1)
    found = credo.denoise(noisy, 0.2, 0.5, loss=0.2)
    axes = found.plot()
    names = [label.get_text() for label in axes.get_xticklabels()]
    assert names == ["noisy", "restored\norange: rejected", "dark: unsure"]
    (picture,) = axes.images
    pixels = picture.get_array()
    assert np.array_equal(pixels[:, :32, 0], noisy)
    rejected = pixels[:, 33:65][found.rejected]
    assert len(rejected) > 0
    assert np.allclose(rejected, colors.to_rgb(COLOURS[1]))
    kept = pixels[:, 33:65, 0][~found.rejected]
    assert np.array_equal(kept, found.image[~found.rejected])
    sure, unsure = pixels[:, 66:, 0], found.channels[0].posterior.confidence
    assert sure.max() == 1.0
    assert np.argmin(sure) == np.argmin(unsure)


def test_a_colour_image_is_drawn_in_colours_and_as_unsure_as_its_least_sure_channel():
    image = np.zeros((8, 10, 3), bool)
    image[:, 5:, 0] = image[:4, :, 1] = True
    found = credo.denoise(image, 0.1, 0.5)
    pixels = found.plot().images[0].get_array()
    assert np.array_equal(pixels[:, :10], image)
    assert np.array_equal(pixels[:, 11:21], found.image)
    least = np.min([each.posterior.confidence for each in found.channels], axis=0)
    assert np.argmin(pixels[:, 22:, 0]) == np.argmin(least)


def test_a_segmentation_shows_labels_before_and_after():
    posterior = np.random.default_rng(0).dirichlet([1.0, 1.0, 1.0], size=(6, 9))
    found = credo.segment(credo.PosteriorMap(posterior, ["sky", "sea", "land"]), 0.7)
    axes = found.plot()
    assert [t.get_text() for t in axes.get_xticklabels()] == ["before", "smoothed", "dark: unsure"]
    inks = np.array([colors.to_rgb(COLOURS[k]) for k in (2, 1, 0)])  # by the order of the names
    before = axes.images[0].get_array()[:, :9]
    assert np.array_equal(before, inks[np.argmax(posterior, axis=-1)])
    named = [text.get_text() for text in axes.get_legend().get_texts()]
    assert named == ["sky", "sea", "land"]


def test_labels_that_are_numbers_are_shades_and_rejected_pixels_orange():
    posterior = np.random.default_rng(0).dirichlet([1.0, 1.0, 1.0], size=(6, 9))
    found = credo.segment(credo.PosteriorMap(posterior, [0, 5, 7]), 0.7, loss=0.3)
    axes = found.plot()
    pixels = axes.images[0].get_array()
    assert np.array_equal(pixels[:, :9, 0], np.argmax(posterior, axis=-1) / 2)
    orange = np.all(pixels[:, 10:19] == colors.to_rgb(COLOURS[1]), axis=-1)
    assert np.array_equal(orange, found.rejected)
    assert axes.get_legend() is None
