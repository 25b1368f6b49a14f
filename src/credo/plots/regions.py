"""Decision regions: weighted densities over the stretches where each act is taken."""

from __future__ import annotations

from typing import Any

import numpy as np

from credo._types import F64, Label
from credo.decisions import Regions
from credo.exceptions import InputError
from credo.plots._draw import COLOURS, GREY, axes_for, draw

_POINTS = 800


@draw.register
def draw_regions(
    result: Regions, ax: Any = None, *, x_range: tuple[float, float] | None = None
) -> Any:
    """Draw prior × density of each class, the regions shaded by act, and the thresholds.

    Parameters
    ----------
    result
        The regions.
    ax
        Matplotlib axes; a new figure by default.
    x_range
        Ends of the x-axis; by default all classes are in view.

    Returns
    -------
    matplotlib.axes.Axes
        The axes drawn on.
    """
    low, high = _view(result) if x_range is None else x_range
    if not low < high:
        raise InputError(f"The x_range of Regions.plot must be (low, high). Got {x_range}.")
    axes = axes_for(ax, (7.2, 4.2))
    body = _body(result, low, high)
    heights = result.weighted_densities(body)
    top = float(heights[np.isfinite(heights)].max())
    x = np.union1d(body, _sides(result, low, high))
    # A density may be infinite at the end of its support; the figure stops well before.
    heights = np.minimum(result.weighted_densities(x), 10 * top)
    curves = [
        axes.plot(x, heights[:, k], color=_colour(truth, result), linewidth=2, zorder=3)[0]
        for k, truth in enumerate(result.truths)
    ]
    patches = _shade(axes, result, low, high)
    for threshold in result.thresholds:
        if low < threshold < high:
            axes.axvline(threshold, color="0.25", linewidth=0.8, linestyle=(0, (4, 3)), zorder=2)
    axes.set(xlim=(low, high), xlabel="x", ylabel="prior × density")
    axes.set_ylim(0, 1.08 * top if top > 0 else 1)
    names = [f"p(x, {truth})" for truth in result.truths]
    axes.legend(
        [*curves, *patches.values()],
        [*names, *(f"act: {act}" for act in patches)],
        frameon=False,
        loc="upper left",
        bbox_to_anchor=(1.0, 1.0),
    )
    return axes


def _view(result: Regions) -> tuple[float, float]:
    """Choose a range of x that shows all classes with a prior, and the thresholds near them."""
    ends = []
    for k in result.setting.active:
        quantiles = result.setting.densities[k].quantile(np.array([0.001, 0.25, 0.75, 0.999]))
        low, lower, upper, high = quantiles.tolist()
        # A Gaussian's 0.1 % quantiles are 1.8 interquartile ranges from its quartiles; tails
        # much heavier than that would squeeze the rest of the figure.
        reach = 3 * (upper - lower)
        ends.append((max(low, lower - reach), min(high, upper + reach)))
    start, stop = min(low for low, _ in ends), max(high for _, high in ends)
    width = stop - start
    near = [t for t in result.thresholds.tolist() if start - width / 2 < t < stop + width / 2]
    margin = 0.05 * width
    return min([start, *(t - margin for t in near)]), max([stop, *(t + margin for t in near)])


def _body(result: Regions, low: float, high: float) -> F64:
    """Give points along the x-axis, and the quantiles of each class, however narrow it is."""
    levels = np.arange(1, 64) / 64
    quantiles = [density.quantile(levels) for density in result.setting.densities]
    points = np.unique(np.concatenate([np.linspace(low, high, _POINTS), *quantiles]))
    return points[(points >= low) & (points <= high)]


def _sides(result: Regions, low: float, high: float) -> F64:
    """Give both sides of the ends of supports, where densities may jump."""
    ends = np.array([end for d in result.setting.densities for end in (d.low, d.high)])
    sides = np.concatenate([np.nextafter(ends, -np.inf), np.nextafter(ends, np.inf)])
    return sides[(sides > low) & (sides < high)]


def _colour(name: Label, result: Regions) -> str:
    """Give truths their colours in order, an act of the same name the same one."""
    acts = [act for act in result.acts if act not in result.truths and act != result.loss.reject]
    names = [*result.truths, *acts]
    return COLOURS[names.index(name) % len(COLOURS)]


def _shade(axes: Any, result: Regions, low: float, high: float) -> dict[Label, Any]:
    """Shade the intervals in view; give one patch per act for the legend."""
    patches: dict[Label, Any] = {}
    for start, stop, act in result.intervals:
        if start >= high or stop <= low:
            continue
        style = (
            {"facecolor": "none", "edgecolor": GREY, "hatch": "///", "alpha": 0.55}
            if act == result.loss.reject
            else {"facecolor": _colour(act, result), "alpha": 0.16}
        )
        ends = max(start, low), min(stop, high)
        patches.setdefault(act, axes.axvspan(*ends, linewidth=0, zorder=0, **style))
    return {act: patches[act] for act in result.acts if act in patches}
