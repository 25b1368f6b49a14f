"""``draw``: a figure for every result with a ``plot`` method, chosen by its type.

Networks are in ``credo.plots.networks``, what is drawn over a line in ``credo.plots.line``, images
in ``credo.plots.pictures``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import singledispatch
from typing import Any

import numpy as np
from matplotlib import colors, patheffects, pyplot as plt, ticker

from credo._types import Label
from credo.classifiers import LearningCurves
from credo.decisions import (
    Calibration,
    Confusion,
    CostCurve,
    Evaluation,
    NetBenefit,
    RiskCoverage,
    RocCurve,
)
from credo.exceptions import InputError

#: Okabe and Ito's eight colours, told apart by colour-blind readers too; then eight of Tol's.
COLOURS = (
    *("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#F0E442"),
    *("#332288", "#882255", "#117733", "#999933", "#AA4499", "#44AA99", "#661100", "#DDCC77"),
)
#: What is not a class of its own: reference lines, the reject band.
GREY = "#8C8C8C"
#: Inches that a line of text takes, and most inches of the cells or bars of many classes.
_LINE, MOST_INCHES = 0.17, 13.0
#: Above so many cells of a confusion matrix the counts would be too small to read.
_MOST_CELLS_WITH_TEXT = 150
#: More letters below a confusion matrix are turned, so that they do not run into each other.
_MOST_LETTERS_UPRIGHT = 32


@singledispatch
def draw(result: Any, ax: Any = None, **options: Any) -> Any:  # noqa: ARG001
    """Draw a result on ``ax``, or on a new figure, and return the axes.

    Parameters
    ----------
    result
        Any result of Credo that has a ``plot`` method.
    ax
        Matplotlib axes; a new figure by default.
    **options
        Of decision regions: ``show``, one of "densities", "errors", "posteriors" and "risks";
        ``x_range``, the ends of the x-axis. Of the posterior of a network: ``n_variables``, how
        many variables to draw (20); ``prior``, whether to draw the probabilities without the
        evidence too (True). Of a restoration and of beliefs on a grid: ``truth``, the true picture;
        ``sweeps``, after how many to show it too. Of beliefs on a grid also ``labels``, those whose
        beliefs are drawn.

    Returns
    -------
    matplotlib.axes.Axes
        The axes drawn on; of an ``Evaluation`` its four axes, as an array of shape (2, 2).
    """
    raise InputError(f"credo.plots has no figure for {type(result).__name__}.")


def axes_for(ax: Any, size: tuple[float, float] = (6.4, 4.0)) -> Any:
    """Return ``ax``, or the axes of a new figure with a plain style."""
    return _without_box(plt.subplots(figsize=size, layout="constrained")[1]) if ax is None else ax


def _without_box(ax: Any) -> Any:
    """Leave out the upper and the right line round the axes."""
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def one_line(value: Any, longest: int) -> str:
    """Write a value in one line, without control characters; of a long one both ends."""
    text = str(value).encode("utf-8", "replace").decode("utf-8")
    text = "".join(
        c if c.isprintable() or c == "\xa0" else "\N{REPLACEMENT CHARACTER}" for c in text
    )
    tail = longest // 3
    return text if len(text) <= longest else f"{text[: longest - 1 - tail]}…{text[-tail:]}"


def name_of(label: Any, longest: int = 28) -> str:
    """Write a name as Matplotlib needs it, which takes a text between dollars for mathematics."""
    return one_line(label, longest).replace("$", r"\$")


def inks_of(
    truths: Sequence[Label], acts: Sequence[Label] = (), reject: Label | None = None
) -> dict[Label, str]:
    """Return a colour for each class, whatever their order, then for each act; rejecting is grey.

    The same classes have the same colours in all figures, and an act that of its class.
    """
    try:
        names = sorted(truths)  # type: ignore[type-var]
    except TypeError:
        names = sorted(truths, key=str)
    names = list(dict.fromkeys([*names, *(act for act in acts if act != reject)]))
    inks = {name: COLOURS[i % len(COLOURS)] for i, name in enumerate(names)}
    return inks if reject is None else inks | {reject: GREY}


def readable(colour: str) -> Any:
    """Return a colour, darker if it is too light for text."""
    red, green, blue = colors.to_rgb(colour)
    light = 0.2126 * red**2.2 + 0.7152 * green**2.2 + 0.0722 * blue**2.2
    return np.array([red, green, blue]) * min(1.0, (0.17 / max(light, 1e-9)) ** (1 / 2.2))


def write(ax: Any, place: Any, text: str, colour: str, **style: Any) -> Any:
    """Write a name in a colour, dark enough to be read, with a white rim."""
    rim = [patheffects.withStroke(linewidth=2.5, foreground="white", alpha=0.8)]
    style = {"ha": "center", "va": "bottom", "zorder": 5, "path_effects": rim} | style
    style = {"xytext": (0, 3), "textcoords": "offset points"} | style
    return ax.annotate(text, place, color=readable(colour), **style)


def inches_of(ax: Any) -> Any:
    """Return width and height of axes in inches, as far as they are known before drawing."""
    return ax.get_window_extent().size / ax.figure.dpi


def _with_room(names: list[str], inches: float) -> tuple[range, list[str]]:
    """Return places and names for an axis: all of them, or every second, third ... of too many."""
    step = math.ceil(len(names) * _LINE / inches)
    return range(0, len(names), step), names[::step]


def _legend_above(ax: Any) -> None:
    """Put the legend above the curves, where room is made for it."""
    low, high = ax.get_ylim()
    legend = ax.legend(frameon=False, fontsize="small", loc="upper left")
    ax.set_ylim(low, high + (0.05 + 0.08 * len(legend.get_texts())) * (high - low))


# --- evaluation -----------------------------------------------------------------------------------


@draw.register
def _(result: Calibration, ax: Any = None) -> Any:
    """Draw observed frequencies over predicted probabilities, and where the cases are."""
    ax = axes_for(ax, (5.4, 5.8))
    left, right = result.edges.T
    label = result.label
    ink = COLOURS[0] if label is None else inks_of(result._labels)[label]  # noqa: SLF001
    # Of a rare class nothing is said above its largest probability: that part is left out.
    top = max(float(right.max()), float(result.high.max()))
    top = 1.0 if top > 0.5 else top
    # A quantile bin may hold one repeated value; half a hundredth keeps its bar visible.
    width, share = np.maximum(right - left, 0.005 * top), result.weight / result.weight.sum()
    style = {"color": GREY, "alpha": 0.25, "linewidth": 0}
    scale = "" if top == 1 else f" × {top:.2g}"
    ax.bar((left + right) / 2, top * share, width, label=f"share of the cases{scale}", **style)
    ax.plot(
        [0, top], [0, top], color=GREY, linestyle="--", linewidth=1, label="perfectly calibrated"
    )
    error = np.stack([result.observed - result.low, result.high - result.observed])
    style = {"color": ink, "marker": "o", "markersize": 5, "elinewidth": 1, "capsize": 2.5}
    points = result.predicted, result.observed, np.maximum(error, 0.0)
    ax.errorbar(*points, label="observed, 95 % interval", **style)
    named, seen = "the most probable class", "share of the cases where it was right"
    if label is not None:
        named = name_of(label)
        seen = f"observed frequency of {named}"
    ax.set(xlim=(-0.02 * top, 1.02 * top), ylim=(-0.02 * top, 1.03 * top))
    ax.set_yticks(
        np.arange(6) / 5 if top == 1 else [0.0, *ticker.MaxNLocator(5).tick_values(0, top)[1:-1]]
    )
    ax.set(xlabel=f"predicted probability of {named}", ylabel=seen)
    ax.spines["left"].set_bounds(-0.02 * top, 1.03 * top)
    errors = f"error {result.expected_calibration_error:.3f}, Brier score {result.brier:.3f}"
    ax.set_title(f"{result.n_rows:,} cases: calibration {errors}", fontsize="medium")
    _legend_above(ax)
    return ax


@draw.register
def _(result: Confusion, ax: Any = None) -> Any:
    """Draw the share of each act under each true class, with the counts written in."""
    n_truths, n_acts = result.counts.shape
    is_written = result.counts.size <= _MOST_CELLS_WITH_TEXT
    wide, high = (0.9, 0.7) if is_written else (0.34, 0.3)
    size = min(wide * n_acts, MOST_INCHES), min(high * n_truths, MOST_INCHES)
    ax = axes_for(ax, (1.8 + size[0], 1.4 + size[1]))
    width, height = inches_of(ax)
    share = result.normalised("truth")
    ax.imshow(share, cmap="Blues", vmin=0, vmax=1, aspect="auto")
    if is_written:
        texts = {cell: f"{count:.6g}" for cell, count in np.ndenumerate(result.counts)}
        letters = min(10.0, 100 * width / n_acts / max(map(len, texts.values())))  # points
        for (k, a), text in texts.items():
            ink = "white" if share[k, a] > 0.6 else "black"
            ax.text(a, k, text, ha="center", va="center", color=ink, fontsize=letters)
    acts = [name_of(act) for act in result.acts]
    is_upright = sum(map(len, acts)) <= _MOST_LETTERS_UPRIGHT
    turn = 0 if is_upright else 40 if n_acts <= 12 else 90
    side = "right" if turn == 40 else "center"
    ax.set_xticks(*_with_room(acts, width), rotation=turn, ha=side)
    ax.set_yticks(*_with_room([name_of(truth) for truth in result.truths], height))
    shades = "" if is_written else " (the darker, the larger its share of the true class)"
    ax.set(xlabel=f"act{shades}", ylabel="true class")
    ax.spines[:].set_visible(False)
    ax.tick_params(length=0)
    ax.set_title(f"{result.counts.sum():,.6g} cases by true class and act", fontsize="medium")
    if result.reject is not None:
        left = result.acts.index(result.reject) - 0.5
        style = {"facecolor": "none", "edgecolor": GREY, "hatch": "///", "alpha": 0.55}
        ax.axvspan(left, left + 1, linewidth=0, zorder=1.5, **style)
    return ax


@draw.register
def _(result: RiskCoverage, ax: Any = None) -> Any:
    """Draw the mean loss among decided cases over the share decided."""
    ax = axes_for(ax)
    coverage, risk = np.append(0.0, result.coverage), np.append(result.risk[0], result.risk)
    surest = f"the surest cases, area {result.area:.3g}"
    ax.plot(coverage, risk, color=COLOURS[0], linewidth=2, label=surest)
    every = f"all cases decided: {risk[-1]:.3g}"
    ax.axhline(float(risk[-1]), color=GREY, linestyle="--", linewidth=1, label=every)
    own = result.operating_point
    if own is not None and own.risk is not None:
        rejecting = f"with the reject act: {own.risk:.3g} at {100 * own.coverage:.3g} %"
        ax.plot([own.coverage], [own.risk], "o", color=COLOURS[1], label=rejecting)
    ax.set(xlim=(0, 1.01), ylabel="mean loss of these cases")
    ax.set_xlabel("share of the cases decided, the surest first")
    ax.set_title(f"{result.n_rows:,} cases: loss and coverage", fontsize="medium")
    _legend_above(ax)
    return ax


@draw.register
def _(result: RocCurve, ax: Any = None) -> Any:
    """Draw the share of positives found over the share of false alarms."""
    ax = axes_for(ax, (5.0, 5.0))
    false, true = result.false_positive_rate, result.true_positive_rate
    ink = inks_of(result._labels)[result.positive]  # noqa: SLF001
    ax.fill_between(false, true, color=ink, alpha=0.08, linewidth=0)
    ax.plot([0, 1], [0, 1], color=GREY, linestyle="--", linewidth=1, label="by chance")
    ax.plot(false, true, color=ink, linewidth=2, label=f"the model, area {result.area:.3g}")
    if result.operating_point is not None:
        x, y = result.operating_point
        told = f"under the loss: {100 * y:.3g} % at {100 * x:.3g} %"
        ax.plot([x], [y], "o", color="black", label=told, zorder=4, clip_on=False)
    name = name_of(result.positive)
    ax.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.03), aspect="equal")
    ax.set(xlabel=f"share of the others taken for {name}", ylabel=f"share of {name} found")
    ax.set_title(f"{result.n_rows:,} cases, {name} against the rest", fontsize="medium")
    ax.legend(frameon=False, fontsize="small", loc="lower right")
    return ax


@draw.register
def _(result: NetBenefit, ax: Any = None) -> Any:
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
        label = f"threshold of the loss: {own:.3g}"
        ax.axvline(own, color=COLOURS[1], linestyle=":", linewidth=1.5, label=label)
    ax.set_title(f"{result.n_rows:,} cases", fontsize="medium")
    seen = t if own is None else np.append(t, own)
    ax.set(
        xlim=(float(seen.min()), float(seen.max())) if len(t) > 1 else None,
        xlabel=f"threshold on the probability of {name_of(result.positive)}",
        ylabel="net benefit (true positives per case)",
    )
    ax.legend(frameon=False, fontsize="small")
    return ax


@draw.register
def _(result: CostCurve, ax: Any = None) -> Any:
    """Draw normalised expected cost over operating conditions, with the loss's own condition."""
    ax = axes_for(ax)
    order = np.argsort(result.conditions, kind="stable")
    x, trivial = result.conditions[order], result.trivial[order]
    ax.fill_between(x, trivial, 0.5, color=GREY, alpha=0.12, linewidth=0)
    ax.plot(x, trivial, color=GREY, linestyle="--", linewidth=1, label="best constant act")
    ax.plot(x, result.curve[order], color=COLOURS[0], linewidth=2, label="decisions of the model")
    hindsight = "best threshold in hindsight"
    ax.plot(x, result.envelope[order], color=COLOURS[2], linewidth=1.2, label=hindsight)
    own, label = result.operating_cost, f"under this loss: {result.operating_cost:.3g}"
    ax.plot([result.operating_condition], [own], "o", color=COLOURS[1], label=label, clip_on=False)
    top = max(0.5, 1.05 * float(result.curve.max()), 1.05 * own)
    ax.set(xlim=(0, 1), ylim=(0, top), ylabel="expected cost, as a share of the worst")
    ax.set_xlabel(f"weight of {name_of(result.positive)} (probability × cost)")
    ax.set_title(f"{result.n_rows:,} cases", fontsize="medium")
    _legend_above(ax)
    return ax


@draw.register
def _(result: Evaluation, ax: Any = None) -> Any:
    """Draw calibration, loss and coverage, the confusion matrix, and losses by act."""
    lower = min(max(4.2, 2.2 + 0.25 * len(result.by_act)), MOST_INCHES)
    ax = axes_for(ax, (11.0, 4.2 + lower))
    place = ax.get_subplotspec()
    if place is None:
        raise InputError(
            "An Evaluation is drawn as four panels in the place of a subplot; these axes are not "
            "one. Leave ax out, or pass axes made by plt.subplots."
        )
    ax.remove()
    panels = place.subgridspec(2, 2, height_ratios=(4.2, lower)).subplots()
    for panel in panels.flat:
        _without_box(panel)
    draw(result.calibration, ax=panels[0, 0])
    if result.risk_coverage is None:
        panels[0, 1].set_axis_off()
    else:
        draw(result.risk_coverage, ax=panels[0, 1])
    draw(result.confusion, ax=panels[1, 0])
    _draw_by_act(result, panels[1, 1])
    return panels


def _draw_by_act(result: Evaluation, ax: Any) -> None:
    """Draw the expected loss beside the mean loss, for all cases and for each act."""
    names = ["all cases", *(name_of(entry.act, 18) for entry in result.by_act)]
    expected = [result.predicted_risk, *(entry.predicted for entry in result.by_act)]
    actual = [result.expected_loss.value, *(entry.actual for entry in result.by_act)]
    y = np.arange(len(names))
    ax.barh(y - 0.19, expected, 0.36, color=COLOURS[5])
    ax.barh(y + 0.19, actual, 0.36, color=COLOURS[0])
    interval = ""
    ends = [result.expected_loss.low, result.expected_loss.high]
    if None not in ends:
        ax.plot(ends, [0.19, 0.19], color="black", linewidth=1.5)
        interval = " (line: its interval)"
    ax.set_yticks(*_with_room(names, inches_of(ax)[1]))
    ax.set_ylim(len(names) - 0.4, -0.6)
    ax.axvline(0.0, color=GREY, linewidth=1)
    ax.set_xlabel("loss per case")
    told = f"Light: expected loss. Dark: loss that came{interval}"
    ax.set_title(told, fontsize="medium")


@draw.register
def _(result: LearningCurves, ax: Any = None) -> Any:
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
        ax.plot(sizes, middle, color=colour, marker="o", linewidth=2, label=name_of(name))
        ax.fill_between(sizes, low, high, color=colour, alpha=0.15, linewidth=0)
    ax.set(xscale="log", yscale="log", ylabel="log loss on test rows")
    ax.set_xlabel(f"training rows (median of {kept.shape[1]} repeats; shaded: the middle half)")
    # Plain numbers, few enough not to run into each other.
    for axis in (ax.xaxis, ax.yaxis):
        low, high = axis.get_view_interval()
        few = ticker.MaxNLocator(5, steps=[1, 2, 5, 10])
        axis.set_major_locator(ticker.LogLocator(subs=(1, 2, 5)) if high > 8 * low else few)
        axis.set_major_formatter(ticker.FuncFormatter(lambda value, _: f"{value:g}"))
        axis.set_minor_locator(ticker.NullLocator())
    ax.legend(frameon=False, fontsize="small")
    return ax
