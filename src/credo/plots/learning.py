"""Learning curves of two classifiers."""

from __future__ import annotations

from typing import Any

import numpy as np

from credo.classifiers.learning_curves import LearningCurves
from credo.plots._draw import COLOURS, axes_for, draw


@draw.register
def draw_learning_curves(result: LearningCurves, ax: Any = None) -> Any:
    """Draw the median log loss over training sizes, with the middle half of the repeats."""
    ax = axes_for(ax)
    for name, losses, colour in zip(result.names, result.log_losses, COLOURS, strict=False):
        low, middle, high = np.quantile(losses, [0.25, 0.5, 0.75], axis=1)
        ax.plot(result.sizes, middle, color=colour, marker="o", linewidth=2, label=name)
        ax.fill_between(result.sizes, low, high, color=colour, alpha=0.15, linewidth=0)
    ax.set(xscale="log", yscale="log", xlabel="training rows", ylabel="log loss on test rows")
    ax.legend(frameon=False, fontsize="small")
    return ax
