"""Figures over a line x: decision regions as densities, errors, posteriors and expected losses."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from credo import _checks as check
from credo._types import F64, Label
from credo.decisions import Regions
from credo.exceptions import InputError
from credo.plots.figures import COLOURS, GREY, axes_for, draw, name_of
from credo.posterior.posterior import log_sum_exp

#: Points along the x-axis.
_POINTS = 800
#: Half the width of a bar, on this side of the next one.
_HALF = 0.5 - 1e-9
#: What costs more than it need.
_EXCESS = "#B2182B"
#: A class whose curve is lower than this share of the highest is drawn magnified too.
_LOW = 0.05

#: Kinds of errors that a legend lists; of more, the colours of the true classes must do.
_MOST_KINDS = 12

Show = Literal["densities", "errors", "posteriors", "risks"]


@draw.register
def _(
    result: Regions,
    ax: Any = None,
    *,
    show: Show = "densities",
    x_range: tuple[float, float] | None = None,
) -> Any:
    """Draw curves over the regions, which are shaded by act, and the thresholds.

    "densities" are prior × density of each class; "errors" colours the area under them by the
    kind of error; "posteriors" are the probabilities of the classes, with the level below which a
    case is rejected; "risks" are the expected losses of the acts, as densities. Of moved regions,
    the best thresholds and what they would save are drawn too. Whole numbers have bars of width
    one, so that areas are sums. Without ``x_range`` all classes are in view.
    """
    check.one_of(show, tuple(_VIEWS), "show of Regions.plot")
    low, high = _view(result) if x_range is None else x_range
    if not low < high:
        raise InputError(f"The x_range of Regions.plot must be (low, high). Got {x_range}.")
    ax = axes_for(ax, (7.2, 4.2))
    body, sides = _points(result, low, high)
    shown = _VIEWS[show](ax, result, body, np.union1d(body, sides))
    shown += _shade(ax, result, low, high)
    own = (result, "0.25", (0, (4, 3)))
    for each, colour, dash in (
        (own,) if result.best is result else ((result.best, _EXCESS, ":"), own)
    ):
        for cut in each.thresholds[(each.thresholds > low) & (each.thresholds < high)]:
            ax.axvline(cut, color=colour, linestyle=dash, linewidth=0.8, zorder=2)
    ax.set(xlim=(low, high), xlabel="x")
    if result.setting.discrete:
        ax.xaxis.get_major_locator().set_params(integer=True)
    place: dict[str, Any] = {"loc": "upper left", "bbox_to_anchor": (1.0, 1.0)}
    ax.legend(handles=shown, frameon=False, ncols=math.ceil(len(shown) / 16), **place)
    return ax


# --- what is drawn over the regions ---------------------------------------------------------------


def _densities(ax: Any, result: Regions, body: F64, x: F64) -> list[Any]:
    """Draw prior × density of each class; one that is far lower than others magnified too."""
    heights = _weighted(result, body)
    top = float(heights[np.isfinite(heights)].max())
    # A density may be infinite at the end of its support; the figure stops well before.
    heights = np.minimum(_weighted(result, x), 10 * top)
    names = [f"p(x, {name_of(truth)})" for truth in result.truths]
    shown = _curves(ax, x, heights, names, _inks(result))
    for k, peak in enumerate(heights.max(axis=0).tolist()):
        if 0 < peak < _LOW * top:
            room = 0.8 * top / peak
            ten = 10 ** int(math.log10(room))
            times = ten * max(step for step in (1, 2, 5) if step * ten <= room)
            label, colour = f"{times:,} p(x, {name_of(result.truths[k])})", _inks(result)[k]
            style = {"color": colour, "linestyle": (0, (1, 1.5)), "linewidth": 1.6}
            shown += ax.plot(x, times * heights[:, k], label=label, **style)
    ax.set(ylim=(0, 1.08 * top if top > 0 else 1), ylabel=f"prior × {_kind(result)}")
    return shown


def _errors(ax: Any, result: Regions, body: F64, x: F64) -> list[Any]:
    """Colour the area under the densities by the kind of error: true class and act."""
    shown = _densities(ax, result, body, x)
    top = ax.get_ylim()[1]
    heights = np.minimum(_weighted(result, x), 10 * top)
    taken, wrong = _taken(result, x), result.is_error
    floor = np.zeros(len(x))
    shares = result.priors[:, None] * result.probability_table
    kinds = np.argwhere(wrong & (shares > 0)).tolist()
    for k, a in kinds:
        here = np.where(taken == a, heights[:, k], 0.0)
        kind = f"{name_of(result.truths[k])}, act {name_of(result.acts[a])}: {shares[k, a]:.3g}"
        style = {"facecolor": _inks(result)[k], "alpha": 0.6, "linewidth": 0, "label": kind}
        area = ax.fill_between(x, floor, floor + here, where=taken == a, **style)
        shown += [area] * (len(kinds) <= _MOST_KINDS)
        floor = floor + here
    if _counts_errors(result):
        shown += _excess(ax, result, x, heights)
    return shown


def _posteriors(ax: Any, result: Regions, body: F64, x: F64) -> list[Any]:
    """Draw the probabilities of the classes, and the level below which a case is rejected."""
    del body
    joint = result.setting.log_joint(np.rint(x) if result.setting.discrete else x)
    with np.errstate(invalid="ignore"):
        p = np.exp(joint - log_sum_exp(joint)[:, None])
    names = [f"p({name_of(truth)} | x)" for truth in result.truths]
    shown = _curves(ax, x, p, names, _inks(result))
    reject = result.loss.reject
    if reject is not None and _counts_errors(result):
        level = 1 - float(result.loss.matrix[0, result.acts.index(reject)])
        label = f"level {level:.3g}: below it, {name_of(reject)}"
        shown.append(ax.axhline(level, color=GREY, linestyle="--", linewidth=1.2, label=label))
    ax.set(ylim=(0, 1.1), yticks=np.arange(6) / 5, ylabel="posterior probability")
    return shown


def _risks(ax: Any, result: Regions, body: F64, x: F64) -> list[Any]:
    """Draw the loss of each act, weighted with the densities; the area below the lowest is risk."""
    risks = _weighted_losses(result, body)
    top = float(risks[np.isfinite(risks)].max())
    risks = np.minimum(_weighted_losses(result, x), 10 * top)
    taken = np.take_along_axis(risks, _taken(result, x)[:, None], axis=1)[:, 0]
    names = [f"loss of {name_of(act)}" for act in result.acts]
    shown = _curves(ax, x, risks, names, [_colour(act, result) for act in result.acts])
    label = f"risk {result.risk:.4g}"
    style = {"color": GREY, "alpha": 0.35, "linewidth": 0, "label": label}
    shown.append(ax.fill_between(x, 0, taken, **style))
    shown += _excess(ax, result, x, None)
    low = min(0.0, float(risks.min()))
    # What nobody would do costs far more than the rest: the acts taken stay readable.
    high = min(1.08 * top, max(4 * float(taken.max()), 1e-300))
    ax.set(ylim=(low, high), ylabel=f"expected loss × {_kind(result)}")
    return shown


def _kind(result: Regions) -> str:
    """Return what the classes give a value of x."""
    return "probability" if result.setting.discrete else "density"


_VIEWS = {
    "densities": _densities,
    "errors": _errors,
    "posteriors": _posteriors,
    "risks": _risks,
}


def _curves(
    ax: Any, x: F64, heights: F64, names: Sequence[str], colours: Sequence[str]
) -> list[Any]:
    """Draw curves, named where they stand out, or else by the legend: return what it must show."""
    lines = []
    for k, (name, colour) in enumerate(zip(names, colours, strict=True)):
        dash = "-" if k < len(COLOURS) else "--"
        style = {"color": colour, "linestyle": dash, "linewidth": 2, "zorder": 3, "label": name}
        lines += ax.plot(x, heights[:, k], **style)
    n = len(names)
    rest = [np.delete(heights, k, axis=1).max(axis=1, initial=0.0) for k in range(n)]
    middle = np.abs(x - x.mean()) <= 0.42 * np.ptp(x)  # a name has room there
    ahead = [int(np.where(middle, heights[:, k] - rest[k], -np.inf).argmax()) for k in range(n)]
    places = np.array([(x[i], heights[i, k]) for k, i in enumerate(ahead)])
    reach = np.array([np.ptp(x) / 5, (heights.max() or 1.0) / 10])
    near = (np.abs(places[:, None] - places) < reach).all(axis=2)
    if near.sum() > n or not (places[:, 1] > 0).all():
        return lines
    for place, line in zip(places, lines, strict=True):
        style = {"color": line.get_color(), "ha": "center", "va": "bottom", "zorder": 4}
        ax.annotate(line.get_label(), place, (0, 3), textcoords="offset points", **style)
    return []


def _excess(ax: Any, result: Regions, x: F64, heights: F64 | None) -> list[Any]:
    """Draw what these regions cost above the best ones, as the area between two curves."""
    if not result.risk > result.bayes_risk:
        return []
    losses = _weighted_losses(result, x) if heights is None else heights @ result.is_error
    mine, best = (
        np.take_along_axis(losses, _taken(each, x)[:, None], axis=1)[:, 0]
        for each in (result, result.best)
    )
    label = f"more than the least: {result.risk - result.bayes_risk:.3g}"
    style = {"facecolor": _EXCESS, "alpha": 0.75, "linewidth": 0, "zorder": 2.5, "label": label}
    return [ax.fill_between(x, best, mine, where=mine > best, **style)]


def _weighted_losses(result: Regions, x: F64) -> F64:
    r"""Return :math:`\sum_k L_{ka} \pi_k p_k(x)` of each act, (n, A)."""
    return _weighted(result, x) @ result.losses


def _weighted(result: Regions, x: F64) -> F64:
    """Return prior × density of each class (n, K); of whole numbers, that of the nearest one."""
    return result.weighted_densities(np.rint(x) if result.setting.discrete else x)


def _taken(result: Regions, x: F64) -> Any:
    """Return the position of the act taken at each point."""
    order = np.array([result.acts.index(interval.act) for interval in result.intervals])
    return order[np.searchsorted(result.thresholds, x, side="left")]


def _counts_errors(result: Regions) -> bool:
    """Tell whether every error costs one, and rejecting the same in every case."""
    rejects = np.array([act == result.loss.reject for act in result.acts])
    alike = np.ptp(result.losses[:, rejects], axis=0) == 0
    return bool((result.losses == result.is_error)[:, ~rejects].all() and alike.all())


def _view(result: Regions) -> tuple[float, float]:
    """Choose a range of x that shows all classes with a prior, and the thresholds near them."""
    ends = []
    for k in result.setting.active:
        quantiles = result.setting.densities[k].quantile(np.array([0.001, 0.25, 0.75, 0.999]))
        low, lower, upper, high = quantiles.tolist()
        # A Gaussian's 0.1 % quantiles are 1.8 interquartile ranges from its quartiles; tails
        # much heavier than that would squeeze the rest of the figure.
        reach = 3 * max(upper - lower, float(result.setting.discrete))
        ends.append((max(low, lower - reach), min(high, upper + reach)))
    start, stop = min(low for low, _ in ends), max(high for _, high in ends)
    if result.setting.discrete:
        return np.floor(start) - 0.5, np.ceil(stop) + 0.5
    width = stop - start
    near = [t for t in result.thresholds.tolist() if start - width / 2 < t < stop + width / 2]
    return min([start, *near]) - 0.05 * width, max([stop, *near]) + 0.05 * width


def _points(result: Regions, low: float, high: float) -> tuple[F64, F64]:
    """Return points in view where each class is seen, and both sides of jumps and thresholds."""
    if result.setting.discrete:
        x = np.arange(np.ceil(low), np.floor(high) + 1)
        both = np.sort(np.concatenate([x - _HALF, x + _HALF]))
        return both, both
    densities, levels = result.setting.densities, np.arange(1, 64) / 64
    grid = np.linspace(low, high, _POINTS)
    body = np.unique(np.concatenate([grid, *(each.quantile(levels) for each in densities)]))
    jumps = [end for each in densities for end in each.jumps]
    ends = np.array([*jumps, *result.thresholds, *result.best.thresholds])
    sides = np.concatenate([np.nextafter(ends, -np.inf), np.nextafter(ends, np.inf)])
    return body[(body >= low) & (body <= high)], sides[(sides > low) & (sides < high)]


def _inks(result: Regions) -> list[str]:
    """Return the colours of the true classes."""
    return [_colour(truth, result) for truth in result.truths]


def _colour(name: Label, result: Regions) -> str:
    """Return the colour of a true class, by their order, or of an act: the same for one name."""
    if name == result.loss.reject:
        return GREY
    acts = [act for act in result.acts if act not in result.truths and act != result.loss.reject]
    return COLOURS[[*result.truths, *acts].index(name) % len(COLOURS)]


def _shade(ax: Any, result: Regions, low: float, high: float) -> list[Any]:
    """Shade the intervals in view; return one patch per act for the legend."""
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
        label = f"act: {name_of(act)}"
        patches.setdefault(act, ax.axvspan(*ends, linewidth=0, zorder=0, label=label, **style))
    return [patches[act] for act in result.acts if act in patches]
