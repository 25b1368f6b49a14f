"""Decision curves and cost curves."""

from __future__ import annotations

from typing import Any

import numpy as np

from credo.decisions import CostCurve, NetBenefit
from credo.plots._draw import COLOURS, GREY, axes_for, draw


@draw.register
def draw_net_benefit(result: NetBenefit, ax: Any = None) -> Any:
    """Draw net benefit over thresholds: the model, acting always, acting never."""
    ax = axes_for(ax)
    t = result.thresholds
    ax.axhline(0.0, color=GREY, linewidth=1, label="act never")
    ax.plot(t, result.treat_all, color=COLOURS[4], linestyle="--", label="act always")
    ax.plot(t, result.model, color=COLOURS[0], linewidth=2, label="act on the model")
    top = max(float(result.model.max()), float(result.treat_all.max()), 0.0) or 1.0
    # Far below zero nothing is decided; a fifth of the height shows which curves fall.
    low = max(-0.2 * top, min(float(result.model.min()), float(result.treat_all.min())))
    ax.set_ylim(low - 0.03 * top, 1.08 * top)
    own = result.loss_threshold
    if own is not None:
        ax.axvline(own, color=COLOURS[1], linestyle=":", linewidth=1.5, label=f"loss: {own:.3g}")
    ax.set(
        xlim=(float(t.min()), float(t.max())) if len(t) > 1 else None,
        xlabel=f"threshold on the probability of {result.positive}",
        ylabel="net benefit (true positives per row)",
    )
    ax.legend(frameon=False, fontsize="small")
    return ax


@draw.register
def draw_cost_curve(result: CostCurve, ax: Any = None) -> Any:
    """Draw normalised expected cost over operating conditions, with the loss's own condition."""
    ax = axes_for(ax)
    order = np.argsort(result.conditions, kind="stable")
    x = result.conditions[order]
    trivial = result.trivial[order]
    ax.fill_between(x, trivial, 0.5, color=GREY, alpha=0.12, linewidth=0)
    ax.plot(x, trivial, color=GREY, linestyle="--", linewidth=1, label="best constant act")
    ax.plot(x, result.curve[order], color=COLOURS[0], linewidth=2, label="Bayes rule")
    ax.plot(
        x,
        result.envelope[order],
        color=COLOURS[2],
        linewidth=1.2,
        label="best threshold, hindsight",
    )
    ax.plot(
        [result.operating_condition],
        [result.operating_cost],
        color=COLOURS[1],
        marker="o",
        linestyle="none",
        label=f"this loss: {result.operating_cost:.3g}",
    )
    top = max(0.5, 1.05 * float(result.curve.max()), 1.05 * result.operating_cost)
    ax.set(
        xlim=(0, 1),
        ylim=(0, top),
        xlabel=f"probability-cost of {result.positive}",
        ylabel="normalised expected cost",
    )
    ax.legend(frameon=False, fontsize="small", loc="upper left")
    return ax
