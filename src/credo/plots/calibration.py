"""The reliability diagram."""

from __future__ import annotations

from typing import Any

import numpy as np

from credo.decisions import Calibration
from credo.plots._draw import COLOURS, GREY, axes_for, draw


@draw.register
def draw_calibration(result: Calibration, ax: Any = None) -> Any:
    """Draw observed frequencies over predicted probabilities, and where the rows are."""
    ax = axes_for(ax, (5.4, 5.0))
    _draw_shares(result, ax)
    ax.plot([0, 1], [0, 1], color=GREY, linestyle="--", linewidth=1, label="calibrated")
    error = np.stack([result.observed - result.low, result.high - result.observed])
    ax.errorbar(
        result.predicted,
        result.observed,
        yerr=np.maximum(error, 0.0),
        color=COLOURS[0],
        marker="o",
        markersize=5,
        linewidth=1.5,
        elinewidth=1,
        capsize=2.5,
        label="observed, 95 % interval",
    )
    what = "confidence" if result.label is None else f"probability of {result.label}"
    seen = "share right" if result.label is None else f"frequency of {result.label}"
    ax.set(
        xlim=(-0.02, 1.02),
        ylim=(-0.02, 1.03),
        xlabel=f"predicted {what}",
        ylabel=f"observed {seen}",
    )
    ax.set_title(
        f"Calibration error {result.expected_calibration_error:.3f}, "
        f"Brier score {result.brier:.3f}",
        fontsize="medium",
    )
    ax.legend(loc="upper left", frameon=False, fontsize="small")
    return ax


def _draw_shares(result: Calibration, ax: Any) -> None:
    """Draw the share of the rows in each bin as pale bars."""
    left, right = result.edges.T
    # A quantile bin may hold one repeated value; half a hundredth keeps its bar visible.
    width = np.maximum(right - left, 0.005)
    share = result.weight / result.weight.sum()
    middle = (left + right) / 2
    ax.bar(middle, share, width, color=GREY, alpha=0.25, linewidth=0, label="share of rows")
