"""Learning curves of two classifiers."""

from __future__ import annotations

from typing import Any

import numpy as np

from credo.classifiers.comparison import LearningCurves
from credo.plots._draw import COLOURS, axes_for, draw


@draw.register
def draw_learning_curves(result: LearningCurves, ax: Any = None) -> Any:
    """Draw the median log loss over training sizes, with the middle half of the repeats.

    Repeats with separable rows are left out.
    """
    ax = axes_for(ax)
    some = ~result.separated.all(axis=1)
    sizes, kept = result.sizes[some], ~result.separated[some]
    for name, losses, colour in zip(result.names, result.log_losses, COLOURS, strict=False):
        bare = np.where(kept, losses[some], np.nan)
        quarters = [0.25, 0.5, 0.75]  # not between two losses: either may be infinite
        low, middle, high = np.nanquantile(bare, quarters, axis=1, method="nearest")
        ax.plot(sizes, middle, color=colour, marker="o", linewidth=2, label=name)
        ax.fill_between(sizes, low, high, color=colour, alpha=0.15, linewidth=0)
    ax.set(xscale="log", yscale="log", xlabel="training rows", ylabel="log loss on test rows")
    ax.legend(frameon=False, fontsize="small")
    return ax
