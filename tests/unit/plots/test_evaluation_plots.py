import numpy as np
import pytest
from matplotlib import pyplot as plt

import credo.plots.calibration
import credo.plots.curves
import credo.plots.evaluation
from credo import Loss, Posterior
from credo.decisions import (
    calibration,
    confusion_matrix,
    cost_curve,
    evaluate,
    net_benefit,
    risk_coverage,
)
from credo.exceptions import InputError

LABELS = ["well", "ill"]
LOSS = Loss([[0, 1], [4, 0]], LABELS, ["wait", "treat"])


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    p = rng.uniform(0.02, 0.98, 300)
    y = np.where(rng.random(300) < p, "ill", "well")
    return y, Posterior.from_probabilities(np.stack([1 - p, p], axis=1), LABELS)


def texts(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def line(ax, label):
    return next(item for item in ax.get_lines() if item.get_label() == label)


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
    assert ax.get_xlabel() == f"predicted {'confidence' if label is None else 'probability of ill'}"
    assert f"{report.expected_calibration_error:.3f}" in ax.get_title()


def test_a_confusion_matrix_is_drawn_with_its_counts(rows):
    y, p = rows
    table = evaluate(y, p, LOSS.with_reject(0.5)).confusion
    ax = table.plot()
    written = [text.get_text() for text in ax.texts]
    assert written == [f"{count:g}" for count in table.counts.ravel()]
    assert [tick.get_text() for tick in ax.get_xticklabels()] == ["wait", "treat", "reject"]
    np.testing.assert_array_equal(ax.images[0].get_array(), table.normalised("truth"))
    assert len(ax.get_lines()) == 1  # the line before the reject act


def test_a_large_confusion_matrix_has_no_counts_and_turned_names():
    names = [f"label {i}" for i in range(20)]
    ax = confusion_matrix(names, names).plot()
    assert not ax.texts
    assert ax.get_xticklabels()[0].get_rotation() == 40


def test_a_risk_coverage_curve_ends_at_the_risk_of_all_rows(rows):
    y, p = rows
    curve = risk_coverage(y, p, LOSS.with_reject(0.5))
    ax = curve.plot()
    assert ax.get_lines()[0].get_ydata()[-1] == curve.risk[-1]
    assert any(text.startswith("with the reject act") for text in texts(ax))
    never = risk_coverage(y, p, LOSS.with_reject(0.0))
    assert len(texts(never.plot())) == 2
    assert len(texts(risk_coverage(y, p).plot())) == 2


def test_a_decision_curve_shows_the_model_and_the_threshold_of_the_loss(rows):
    benefit = net_benefit(*rows, LOSS)
    ax = benefit.plot()
    np.testing.assert_array_equal(line(ax, "act on the model").get_ydata(), benefit.model)
    assert "loss: 0.2" in texts(ax)
    assert ax.get_ylim()[0] >= -0.25 * max(benefit.model.max(), benefit.treat_all.max())
    assert "loss: 0.2" not in texts(net_benefit(*rows).plot())


def test_a_decision_curve_of_one_threshold_or_without_benefit_is_drawn(rows):
    _, p = rows
    ax = net_benefit(["well"] * 300, p, thresholds=[0.5]).plot()
    low, high = ax.get_ylim()
    assert low < high


def test_a_cost_curve_shows_the_rule_the_envelope_and_the_operating_point(rows):
    grid = [1.0, 0.0, 0.5]
    costs = cost_curve(*rows, LOSS, conditions=grid)
    ax = costs.plot()
    np.testing.assert_array_equal(line(ax, "Bayes rule").get_xdata(), [0.0, 0.5, 1.0])
    np.testing.assert_array_equal(line(ax, "Bayes rule").get_ydata(), costs.curve[[1, 2, 0]])
    point = ax.get_lines()[-1]
    assert point.get_xdata()[0] == costs.operating_condition
    assert point.get_ydata()[0] == costs.operating_cost


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
    assert ("its interval" in texts(panels[1, 1])) == (n_bootstrap > 0)
    figure.canvas.draw()


def test_an_evaluation_takes_the_place_of_a_subplot(rows):
    figure, (left, right) = plt.subplots(1, 2, layout="constrained")
    panels = evaluate(*rows).plot(ax=right)
    assert right not in figure.axes
    assert left in figure.axes
    assert len(figure.axes) == 1 + panels.size


def test_an_evaluation_needs_a_subplot_to_take_the_place_of(rows):
    free = plt.figure().add_axes((0.1, 0.1, 0.5, 0.5))
    with pytest.raises(InputError, match="four panels in the place of a subplot"):
        evaluate(*rows).plot(ax=free)


def test_a_figure_may_be_drawn_on_given_axes(rows):
    _, ax = plt.subplots()
    assert calibration(*rows).plot(ax=ax) is ax
    assert credo.plots.draw(net_benefit(*rows), ax=ax) is ax


def test_an_evaluation_of_foreign_acts_leaves_the_curves_panel_empty():
    p = Posterior.from_probabilities([[0.9, 0.1], [0.2, 0.8]], ["a", "b"])
    panels = evaluate(["a", "b"], p, acts=["b", "a"], n_bootstrap=0).plot()
    assert not panels[0, 1].axison
