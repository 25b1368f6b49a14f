"""Confusion matrices, risk-coverage curves, and the four panels of an evaluation."""

from __future__ import annotations

from typing import Any

import numpy as np

from credo.decisions import Confusion, Evaluation, RiskCoverage
from credo.exceptions import InputError
from credo.plots._draw import COLOURS, GREY, axes_for, draw

#: Above so many cells the counts would be too small to read.
_MOST_CELLS_WITH_TEXT = 150
#: Names longer than this are turned, so that they do not run into each other.
_LONGEST_NAMES_UPRIGHT = 32


@draw.register
def draw_confusion(result: Confusion, ax: Any = None) -> Any:
    """Draw the share of each act under each truth, with the counts written in."""
    n_truths, n_acts = result.counts.shape
    ax = axes_for(ax, (1.8 + 0.9 * n_acts, 1.4 + 0.7 * n_truths))
    share = result.normalised("truth")
    ax.imshow(share, cmap="Blues", vmin=0, vmax=1, aspect="auto")
    if share.size <= _MOST_CELLS_WITH_TEXT:
        for (k, a), count in np.ndenumerate(result.counts):
            colour = "white" if share[k, a] > 0.6 else "black"
            ax.text(a, k, f"{count:.6g}", ha="center", va="center", color=colour)
    acts = [str(act) for act in result.acts]
    turned = sum(map(len, acts)) > _LONGEST_NAMES_UPRIGHT
    ax.set_xticks(
        range(n_acts), acts, rotation=40 if turned else 0, ha="right" if turned else "center"
    )
    ax.set_yticks(range(n_truths), [str(truth) for truth in result.truths])
    ax.set(xlabel="act", ylabel="truth")
    ax.spines[:].set_visible(False)
    ax.tick_params(length=0)
    if result.reject is not None:
        ax.axvline(result.acts.index(result.reject) - 0.5, color=GREY, linestyle=":", linewidth=1.5)
    return ax


@draw.register
def draw_risk_coverage(result: RiskCoverage, ax: Any = None) -> Any:
    """Draw the mean loss among decided rows over the share decided."""
    ax = axes_for(ax)
    ax.plot(
        np.append(0.0, result.coverage),
        np.append(result.risk[0], result.risk),
        color=COLOURS[0],
        linewidth=2,
        label=f"by the posterior, area {result.area:.3g}",
    )
    ax.axhline(
        float(result.risk[-1]),
        color=GREY,
        linestyle="--",
        linewidth=1,
        label=f"all rows decided: {result.risk[-1]:.3g}",
    )
    own = result.operating_point
    if own is not None and own.risk is not None:
        ax.plot(
            [own.coverage],
            [own.risk],
            color=COLOURS[1],
            marker="o",
            linestyle="none",
            label=f"with the reject act: {own.risk:.3g} at {100 * own.coverage:.3g} %",
        )
    ax.set(xlim=(0, 1.01), xlabel="coverage (share of rows decided)", ylabel="mean loss of these")
    low, high = ax.get_ylim()
    # Room above the curve for the legend.
    ax.set_ylim(low, high + 0.35 * (high - low))
    ax.legend(frameon=False, fontsize="small", loc="upper left")
    return ax


@draw.register
def draw_evaluation(result: Evaluation, ax: Any = None) -> Any:
    """Draw calibration, risk and coverage, the confusion matrix, and risk against loss by act.

    Returns the four axes, as an array of shape (2, 2).
    """
    ax = axes_for(ax, (11.0, 8.4))
    place = ax.get_subplotspec()
    if place is None:
        raise InputError(
            "An Evaluation is drawn as four panels in the place of a subplot; these axes are not "
            "one. Leave ax out, or pass axes made by plt.subplots."
        )
    figure = ax.figure
    ax.remove()
    panels = place.subgridspec(2, 2).subplots()
    for panel in panels.flat:
        panel.spines[["top", "right"]].set_visible(False)
    draw(result.calibration, ax=panels[0, 0])
    if result.risk_coverage is None:
        panels[0, 1].set_axis_off()
    else:
        draw(result.risk_coverage, ax=panels[0, 1])
        panels[0, 1].set_title("Risk and coverage", fontsize="medium")
    draw(result.confusion, ax=panels[1, 0])
    panels[1, 0].set_title("Rows by truth and act", fontsize="medium")
    _draw_by_act(result, panels[1, 1])
    figure.align_labels()
    return panels


def _draw_by_act(result: Evaluation, ax: Any) -> None:
    """Draw predicted risk beside mean loss, for all rows and for each act."""
    names = ["all rows", *(str(entry.act) for entry in result.by_act)]
    predicted = [result.predicted_risk, *(entry.predicted for entry in result.by_act)]
    actual = [result.expected_loss.value, *(entry.actual for entry in result.by_act)]
    places = np.arange(len(names))
    shown = [
        ax.barh(places - 0.19, predicted, height=0.36, color=COLOURS[5], label="predicted risk"),
        ax.barh(places + 0.19, actual, height=0.36, color=COLOURS[0], label="mean loss"),
    ]
    low, high = result.expected_loss.low, result.expected_loss.high
    if low is not None and high is not None:
        ends = [low, high]
        shown += ax.plot(ends, [0.19, 0.19], color="black", linewidth=1.5, label="its interval")
    ax.set_yticks(places, names)
    # Room below the bars for the legend.
    ax.set_ylim(len(names) + 0.4, -0.6)
    ax.axvline(0.0, color=GREY, linewidth=1)
    ax.set_xlabel("loss per row")
    ax.set_title("What the posterior promised, and what came", fontsize="medium")
    ax.legend(handles=shown, frameon=False, fontsize="small", loc="lower right", ncols=3)
