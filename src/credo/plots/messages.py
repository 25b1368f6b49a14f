"""Figures of message passing: how far messages still move, sweep by sweep."""

from __future__ import annotations

from typing import Any

import numpy as np

from credo.exceptions import InputError
from credo.inference.approximate_result import ApproximatePosterior
from credo.plots._draw import COLOURS, axes_for, draw


@draw.register
def draw_residuals(result: ApproximatePosterior, ax: Any = None) -> Any:
    """Draw the largest change of a message in each sweep, on a log scale.

    Parameters
    ----------
    result
        The approximate posterior.
    ax
        Matplotlib axes; a new figure by default.

    Returns
    -------
    matplotlib.axes.Axes
        The axes drawn on.
    """
    if not result.sweeps:
        raise InputError(
            f"There is no trace to draw: engine {result.engine!r} made no sweeps. Its marginals "
            "are in probabilities(name)."
        )
    axes = axes_for(ax)
    sweeps = np.arange(1, result.sweeps + 1)
    positive = result.residuals > 0
    axes.plot(sweeps[positive], result.residuals[positive], color=COLOURS[0], marker=".")
    axes.set_yscale("log")
    axes.set_xlabel("sweep")
    axes.set_ylabel("largest change of a message")
    period = f", every {result.period} sweeps" if result.period else ""
    axes.set_title(f"{result.engine}: {result.status}{period}", fontsize=10)
    return axes
