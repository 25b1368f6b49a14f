"""Figures over a line x: decision regions as densities, errors, posteriors and expected losses."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, Literal

import numpy as np
from matplotlib import ticker

from credo import _checks as check
from credo._types import F64, Label
from credo.decisions import Regions
from credo.exceptions import InputError
from credo.plots.figures import (
    COLOURS,
    GREY,
    axes_for,
    draw,
    inches_of,
    inks_of,
    name_of,
    readable,
    write,
)
from credo.posterior.posterior import log_sum_exp

#: Points along the x-axis.
_POINTS = 800
#: Half the width of a bar, on this side of the next one.
_HALF = 0.5 - 1e-9
#: What costs more than it need.
_EXCESS = "#B2182B"
#: Inches that a letter takes.
_LETTER = 0.09
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
    ax.set_xlim(low, high)
    body, sides = _points(result, low, high)
    shown = _VIEWS[show](ax, result, body, np.union1d(body, sides))
    seen = [(max(a, low), min(b, high), act) for a, b, act in result.intervals]
    acts = result.acts, result.loss.reject
    shown += shade_acts(ax, [each for each in seen if each[0] < each[1]], _all_inks(result), acts)
    own = (result, "0.25", (0, (4, 3)))
    for each, colour, dash in (
        (own,) if result.best is result else ((result.best, _EXCESS, ":"), own)
    ):
        for cut in each.thresholds[(each.thresholds > low) & (each.thresholds < high)]:
            ax.axvline(cut, color=colour, linestyle=dash, linewidth=0.8, zorder=2)
    ax.xaxis.set_major_locator(ticker.MaxNLocator(6, integer=bool(result.setting.discrete)))
    ax.set_xlabel("x")
    least = "" if result.best is result else f", at best {result.bayes_risk:.4g}"
    ax.set_title(f"risk {result.risk:.4g}{least}", fontsize="medium")
    legend_beside(ax, shown)
    return ax


# --- what is drawn over the regions ---------------------------------------------------------------


def _densities(ax: Any, result: Regions, body: F64, x: F64) -> list[Any]:
    """Draw prior × density of each class; one that is far lower than others magnified too."""
    heights = _weighted(result, body)
    top = float(heights[np.isfinite(heights)].max())
    # A density may be infinite at the end of its support; the figure stops well before.
    heights = np.minimum(_weighted(result, x), 10 * top)
    ax.set(ylim=(0, 1.08 * top if top > 0 else 1), ylabel=f"prior × {_kind(result)}")
    names = [f"p(x, {name_of(truth)})" for truth in result.truths]
    dashes: dict[int, Any] = {}
    for k, peak in enumerate(heights.max(axis=0).tolist()):
        if 0 < peak < _LOW * top:
            room = 0.8 * top / peak
            ten = 10 ** int(math.log10(room))
            times = ten * max(step for step in (1, 2, 5) if step * ten <= room)
            ax.plot(x, heights[:, k], color=_inks(result)[k], linewidth=2, zorder=3)
            heights[:, k] *= times
            factor = f"{times:,}" if times < 1e6 else f"{times:.0e}"
            names[k], dashes[k] = f"{factor} {names[k]}", (0, (1, 1.5))
    return draw_curves(ax, x, heights, names, _inks(result), dashes)


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
    ax.set(ylim=(0, 1.1), yticks=np.arange(6) / 5, ylabel="posterior probability")
    names = [f"p({name_of(truth)} | x)" for truth in result.truths]
    shown = draw_curves(ax, x, p, names, _inks(result))
    reject = result.loss.reject
    if reject is not None and _counts_errors(result):
        level = 1 - float(result.loss.matrix[0, result.acts.index(reject)])
        label = f"level {level:.3g}: below it, {name_of(reject)}"
        shown.append(ax.axhline(level, color=GREY, linestyle="--", linewidth=1.2, label=label))
    return shown


def _risks(ax: Any, result: Regions, body: F64, x: F64) -> list[Any]:
    """Draw the loss of each act, weighted with the densities; the area below the lowest is risk."""
    risks = _weighted_losses(result, body)
    top = float(risks[np.isfinite(risks)].max())
    risks = np.minimum(_weighted_losses(result, x), 10 * top)
    taken = np.take_along_axis(risks, _taken(result, x)[:, None], axis=1)[:, 0]
    names = [f"loss of {name_of(act)}" for act in result.acts]
    # What nobody would do costs far more than the rest: the acts taken stay readable.
    high = min(1.08 * top, max(4 * float(taken.max()), 1e-300))
    ax.set(ylim=(min(0.0, float(risks.min())), high), ylabel=f"expected loss × {_kind(result)}")
    shown = draw_curves(ax, x, risks, names, [_all_inks(result)[act] for act in result.acts])
    label = f"risk {result.risk:.4g}"
    style = {"color": GREY, "alpha": 0.35, "linewidth": 0, "label": label}
    shown.append(ax.fill_between(x, 0, taken, **style))
    shown += _excess(ax, result, x, None)
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


def draw_curves(
    ax: Any,
    x: F64,
    heights: F64,
    names: Sequence[str],
    colours: Sequence[str],
    dashes: Mapping[int, Any] = MappingProxyType({}),
) -> list[Any]:
    """Draw curves, named where they stand out, or else by the legend: return what it must show.

    The limits of the axes are set before: a name is written within them.
    """
    lines = []
    for k, (name, colour) in enumerate(zip(names, colours, strict=True)):
        dash = dashes.get(k, "-" if k < len(COLOURS) else "--")
        style = {"color": colour, "linestyle": dash, "linewidth": 2, "zorder": 3, "label": name}
        lines += ax.plot(x, heights[:, k], **style)
    low, top = ax.get_ylim()
    seen, n = np.clip(heights, low, low + 0.93 * (top - low)), len(names)
    widths = np.array([_width(ax, name) for name in names])
    places = np.empty((n, 2))
    for k in range(n):
        others = np.delete(seen, k, axis=1)
        inside = np.abs(x - x.mean()) <= 0.46 * np.ptp(x)
        ahead = seen[:, k] - others.max(axis=1, initial=low)
        if ahead[inside].max() <= 0.04 * (top - low):  # below another all the way: far from all
            ahead = np.abs(others - seen[:, [k]]).min(axis=1, initial=np.inf)
        beside = np.pad(ahead, 1, mode="edge")
        ahead = np.minimum(ahead, np.minimum(beside[:-2], beside[2:]))  # not at an upright line
        i = int(np.where(inside, ahead, -np.inf).argmax())
        ends = float(x.min()) + widths[k] / 2, float(x.max()) - widths[k] / 2
        places[k] = min(max(float(x[i]), ends[0]), ends[1]), seen[i, k]
    across, up = np.abs(places[:, None] - places).transpose(2, 0, 1)
    near = (across < (widths[:, None] + widths) / 2) & (up < 0.08 * (top - low))
    if near.sum() > n or (heights.max(axis=0) <= low).any() or widths.max() > np.ptp(x):
        return lines
    for place, line in zip(places, lines, strict=True):
        write(ax, place, line.get_label(), line.get_color())
    return []


def shade_acts(
    ax: Any,
    intervals: Sequence[tuple[float, float, Label]],
    inks: Mapping[Label, str],
    acts: tuple[Sequence[Label], Label | None],
) -> list[Any]:
    """Shade intervals by act and name the acts above; return what a legend must show instead."""
    patches, widest = dict[Label, Any](), dict[Label, tuple[float, float]]()
    for start, stop, act in intervals:
        style = {"facecolor": inks[act], "alpha": 0.16}
        if act == acts[1]:
            style = {"facecolor": "none", "edgecolor": GREY, "hatch": "///", "alpha": 0.55}
        label = f"act: {name_of(act)}"
        patches.setdefault(
            act, ax.axvspan(start, stop, linewidth=0, zorder=0, label=label, **style)
        )
        widest[act] = max(widest.get(act, (0.0, 0.0)), (stop - start, (start + stop) / 2))
    first = min(widest, key=lambda act: widest[act][1], default=None)
    words = {act: f"{'act: ' * (act == first)}{name_of(act)}" for act in widest}
    if any(widest[act][0] < 0.9 * _width(ax, text) for act, text in words.items()):
        return [patches[act] for act in acts[0] if act in patches]
    above = ax.secondary_xaxis("top")  # titles keep clear of an axis
    above.set_xticks([widest[act][1] for act in words], list(words.values()), fontsize="small")
    above.tick_params(length=0, pad=2)
    above.spines[:].set_visible(False)
    for act, text in zip(words, above.get_xticklabels(), strict=True):
        text.set_color(readable(inks[act]))
    return []


def legend_beside(ax: Any, handles: Sequence[Any]) -> None:
    """Put a legend to the right of the axes, if there is something to explain."""
    if handles:
        place: dict[str, Any] = {"loc": "upper left", "bbox_to_anchor": (1.0, 1.0)}
        ax.legend(handles=handles, frameon=False, ncols=math.ceil(len(handles) / 16), **place)


def _width(ax: Any, text: str) -> float:
    """Return about how far a text reaches along the x-axis."""
    low, high = ax.get_xlim()
    return float(high - low) * _LETTER * len(text) / float(inches_of(ax)[0])


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
    heights = np.minimum(_weighted(result, x), np.finfo(np.float64).max)  # infinity times 0 is 0
    with np.errstate(over="ignore"):
        return np.asarray(heights @ result.losses)


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
        bars = np.sort(np.concatenate([x - _HALF, x, x + _HALF]))
        return bars, bars
    densities, levels = result.setting.densities, np.arange(1, 64) / 64
    grid = np.linspace(low, high, _POINTS)
    body = np.unique(np.concatenate([grid, *(each.quantile(levels) for each in densities)]))
    jumps = [end for each in densities for end in each.jumps]
    ends = np.array([*jumps, *result.thresholds, *result.best.thresholds])
    sides = np.concatenate([np.nextafter(ends, -np.inf), np.nextafter(ends, np.inf)])
    return body[(body >= low) & (body <= high)], sides[(sides > low) & (sides < high)]


def _all_inks(result: Regions) -> dict[Label, str]:
    """Return the colours of the true classes and of the acts."""
    return inks_of(result.truths, result.acts, result.loss.reject)


def _inks(result: Regions) -> list[str]:
    """Return the colours of the true classes."""
    return [_all_inks(result)[truth] for truth in result.truths]
