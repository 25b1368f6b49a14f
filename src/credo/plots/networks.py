"""Networks: with a bar for each state, bare, as trees of messages and of cliques; and traces."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import combinations, pairwise
from textwrap import wrap
from typing import Any, Literal, NamedTuple

import numpy as np
from matplotlib import ticker
from matplotlib.font_manager import FontProperties
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch, Patch, Rectangle
from matplotlib.path import Path
from matplotlib.textpath import TextPath

from credo import _checks as check
from credo._types import F64, Label
from credo.exceptions import InputError
from credo.graphs import FactorGraph, Wiring
from credo.graphs.models import AbstractModel
from credo.inference import GraphPosterior, JunctionTree, Plan, WeightOfEvidence, infer
from credo.inference.message_passing import MessagePassing
from credo.plots.figures import COLOURS, axes_for, draw, inches_of, name_of
from credo.plots.layout import Arc, Layers, arrange

BELIEVED, OBSERVED, BEFORE, _PALE = COLOURS[0], COLOURS[1], "#B3B3B3", "#FFF6EE"
_INK, _FRAME, _LINK = "#222222", "#9A9A9A", "#6E6E6E"
#: States shown of one variable.
_SHOWN = 5
#: Variables whose beliefs are drawn beside messages.
_MOST_BARS = 40
#: Sweeps whose points can be told apart.
_MOST_POINTS = 150

# Lengths are inches before scaling.
#: A box: its width, its head, a line for each state or of text, and what is left below.
_WIDTH, _HEAD, _LINE, _NOTE, _FOOT = 1.9, 0.28, 0.23, 0.15, 0.07
#: The width of a box without bars, and the side of a factor's square.
_NARROW, _SQUARE = 1.15, 0.2
#: Where the bars of a box begin and end.
_BARS = 0.68, 1.4
#: Between rows, and below them for the legend.
_BELOW, _LEGEND = 0.45, 0.5
#: Widths of a box and of the bend of a link, with the room beside them.
_WIDTHS = _WIDTH + 0.25, 0.35
#: Most letters of a name in the head, and before the bars.
_TITLE, _LETTERS = 22, 10


class _Box(NamedTuple):
    """A variable as it is drawn."""

    name: str
    lines: list[tuple[str, float, float | None]]  #: state, probability, the one before
    finding: str  #: "state", "weights" or ""; "factor" for a square
    notes: tuple[str, ...] = ()  #: lines of text below the name

    @property
    def height(self) -> float:
        if self.finding == "factor":
            return _SQUARE
        return _HEAD + _LINE * len(self.lines) + _NOTE * len(self.notes) + _FOOT


class _Stop(NamedTuple):
    """Where a box, or a bend of a link, is; and how high its row is."""

    x: float
    top: float
    height: float
    row_height: float


@draw.register
def _(
    result: GraphPosterior,
    ax: Any = None,
    *,
    show: Literal["marginals", "residuals"] = "marginals",
    n_variables: int = 20,
    prior: bool = True,
) -> Any:
    """Draw the variables in layers, parents above children, with a bar for each state.

    ``show="residuals"`` draws how far messages moved, sweep by sweep. If there are more than
    ``n_variables``, those whose marginals the evidence changed most (in total variation) are taken;
    without priors, which approximate answers have none of, the first.
    """
    most = check.count(n_variables, "n_variables of draw")
    if check.one_of(show, ("marginals", "residuals"), "show of plot") == "residuals":
        return _draw_residuals(result, ax)
    if not len(result):
        raise InputError("There is nothing to draw: the query of infer was empty.")
    question = result.question
    before = None
    if prior and question.evidence.findings and result.plan is not None:
        query = None if question.query is None else result.variables
        before = infer(question.model, query=query, method="exact", budget=question.budget)
    names = _most_changed(result, before, most)
    wiring = question.model.compile()
    is_directed = bool((wiring.owner >= 0).all())
    boxes = [_box(result, before, name) for name in names]
    layers = arrange(len(boxes), _arcs(wiring, names), _WIDTHS, directed=is_directed)
    axes, scale, _ = _draw_boxes(ax, boxes, layers, arrows=is_directed)
    _explain_colours(axes, boxes, scale)
    told = [] if result.plan is not None else [f"{result.engine}: {result.status}"]
    if len(names) < len(result):
        which = "first" if before is None else "most changed"
        told.append(f"{len(names)} of {len(result)} variables, the {which}")
    if told:
        axes.set_title(", ".join(told), fontsize=9)
    return axes


@draw.register
def _(result: AbstractModel, ax: Any = None) -> Any:
    """Draw a network as it is: arcs of a Bayesian network, edges, and squares for other factors."""
    wiring = result.compile()
    n = len(wiring.names)
    if not n:
        raise InputError("There is nothing to draw: the model has no variables.")
    boxes = [_Box(str(name), [], "") for name in wiring.names]
    is_directed = bool((wiring.owner >= 0).all())
    arity = np.diff(wiring.scope_start)
    squares = [] if is_directed else np.flatnonzero(arity > 2).tolist()
    if isinstance(result, FactorGraph):
        squares = list(range(len(arity)))
    arcs = _arcs(wiring, list(wiring.names), but=squares)
    for f in squares:
        scope = wiring.scope[wiring.scope_start[f] : wiring.scope_start[f + 1]].tolist()
        arcs += [(v, len(boxes)) for v in scope if v < n]
        boxes.append(_Box("", [], "factor"))
    layers = arrange(len(boxes), arcs, (_NARROW + 0.2, _WIDTHS[1]), directed=is_directed)
    return _draw_boxes(ax, boxes, layers, arrows=is_directed)[0]


@draw.register
def _(result: JunctionTree, ax: Any = None, *, n_cliques: int = 60) -> Any:
    """Draw the cliques, as the plan of the tree does."""
    return draw(result.plan, ax=ax, n_cliques=n_cliques)


@draw.register
def _(result: Plan, ax: Any = None, *, n_cliques: int = 60) -> Any:
    """Draw the tree of cliques, roots on top: the cells of each table, and its variables.

    Beside a link stands what two cliques share; the largest table is marked. Of more than
    ``n_cliques`` the largest are drawn, below the nearest one above them that is.
    """
    names, sizes, parents = result.cliques, result.clique_sizes, result.parents
    if not names:
        raise InputError("There is nothing to draw: no variable takes part in the answer.")
    most, top = check.count(n_cliques, "n_cliques of plot"), max(sizes)
    kept = sorted(np.argsort([-size for size in sizes], kind="stable")[:most].tolist())
    place, arcs, direct = {k: i for i, k in enumerate(kept)}, list[Arc](), list[int]()
    for k in kept:
        above = parents[k]
        while above is not None and above not in place:
            above = parents[above]
        if above is not None:
            arcs.append((place[above], place[k]))
            direct += [k] if above == parents[k] else []
    marked = ["state" if sizes[k] == top else "" for k in kept]
    boxes = [
        _Box(f"{sizes[k]:,} cells", [], mark, _wrapped(names[k]))
        for k, mark in zip(kept, marked, strict=True)
    ]
    layers = arrange(len(boxes), arcs, _WIDTHS, directed=True)
    axes, scale, stops = _draw_boxes(ax, boxes, layers, arrows=False, width=_WIDTH)
    for k in direct:
        shared, stop = name_of(", ".join(map(str, result.separators[k])), _TITLE), stops[place[k]]
        style = {"ha": "center", "va": "center", "size": 7.5 * scale, "color": _INK}
        box = {"facecolor": "white", "edgecolor": _FRAME, "linewidth": 0.6, "pad": 1.5}
        axes.text(stop.x, stop.top + 0.14, shared, bbox=box, zorder=6, **style)
    told = f"{len(kept)} of {len(names)} cliques, the largest"
    if len(kept) == len(names):
        told = f"{len(names)} clique{'s' * (len(names) > 1)}"
    axes.set_title(f"{result.engine}: {told}; width {result.width}", fontsize=9)
    return axes


def _wrapped(names: Iterable[Label]) -> tuple[str, ...]:
    """Write names in a few short lines."""
    lines = wrap(", ".join(map(str, names)), 28)
    return tuple(lines if len(lines) <= 4 else [*lines[:3], f"… {len(lines) - 3} more lines"])


@draw.register
def _(result: MessagePassing, ax: Any = None) -> Any:
    """Draw the tree with an arrow for each message, numbered in the order of sending.

    Green arrows go to the root, pink ones come from it, with the values of up to three states; bars
    are beliefs as shares, of ``passed[:k]`` those after k messages; grey arrows are still to come.
    """
    if not result.variables:
        raise InputError("There is nothing to draw: the model has no variables.")
    whole, known = result.whole, result[:].beliefs
    ends = [result.root, *(end for each in whole for end in (each.source, each.target))]
    place = {end: i for i, end in enumerate(dict.fromkeys([*ends, *result.variables]))}
    boxes = [_Box("", [], "factor") for _ in place]
    for name, belief in known.items():
        shares = np.array([*belief.values()]) / sum(belief.values())
        lines = _lines(belief, shares) if len(known) <= _MOST_BARS else []
        seen = "state" if name in result.observed else ""
        boxes[place[name]] = _Box(str(name), lines, seen)
    down = {(place[m.target], place[m.source]): None for m in whole.messages[: whole.n_towards]}
    layers = arrange(len(boxes), list(down), (_WIDTH + 0.6, _WIDTHS[1]), directed=True)
    axes, scale, stops = _draw_boxes(ax, boxes, layers, arrows=False, below=1.1)
    for number, each in enumerate(whole, 1):
        ends_of = stops[place[each.source]], stops[place[each.target]]
        words = f"{number}. "
        if len(each.values) <= 3:
            words += ", ".join(f"{value:.3g}" for value in each.values)
        is_up = number <= whole.n_towards
        _draw_message(axes, ends_of, words if number <= len(result) else "", scale, is_up=is_up)
    told = f"{len(result)} of {len(whole)}" if len(result) < len(whole) else f"{len(whole)}"
    told += f" messages{' of max-product' * result.max_product}: to {name_of(result.root)} (green)"
    axes.set_title(told + " and back (pink)" * (len(whole) > whole.n_towards), fontsize=9)
    return axes


@draw.register
def _(result: WeightOfEvidence, ax: Any = None) -> Any:
    """Draw the weight of each finding, given the others and alone, the most telling on top.

    An infinite weight, which proves or excludes the state, reaches the edge.
    """
    axes = axes_for(ax, (6.4, 1.4 + 0.4 * len(result.weights)))
    own = [weight.given_others for weight in result.weights]
    alone = [weight.alone for weight in result.weights]
    edge = 1.25 * max([0.5, *(abs(w) for w in (*own, *alone) if math.isfinite(w))])
    y = np.arange(len(own))
    inks = [BELIEVED if w > 0 else COLOURS[3] for w in own]
    bars = np.clip(own, -edge, edge)
    axes.barh(y, bars, height=0.55, color=inks, label="given the other findings")
    marks: dict[str, Any] = {"color": _INK, "markeredgecolor": "white", "markersize": 6}
    marks |= {"label": "alone", "zorder": 3, "clip_on": False}
    axes.plot(np.clip(alone, -edge, edge), y, "D", **marks)
    axes.axvline(0, color=_INK, linewidth=0.8)
    for place, weight in enumerate(own):
        if math.isinf(weight):
            sign = "∞" if weight > 0 else "−∞"
            axes.text(0.9 * bars[place], place, sign, color="white", ha="center", va="center")
    names = [f"{name_of(w.variable)} = {name_of(w.finding)}" for w in result.weights]
    axes.set_yticks(y, names)
    axes.invert_yaxis()
    axes.set_xlim(-edge, edge)
    axes.set_xlabel("weight of evidence (log10 odds)")
    change = f"{_percent(result.prior)} → {_percent(result.posterior)}"
    axes.set_title(f"{name_of(result.target)} = {name_of(result.state)}: {change}", fontsize=10)
    axes.legend(frameon=False, fontsize="small", loc="best")
    return axes


def _draw_residuals(result: GraphPosterior, ax: Any) -> Any:
    """Draw the largest change of a message in each sweep, on a log scale."""
    if not result.sweeps:
        raise InputError(
            f"There is no trace to draw: engine {result.engine!r} made no sweeps. Its marginals "
            "are in probabilities(name)."
        )
    axes = axes_for(ax)
    seen, is_sampled = result.residuals > 0, result.status == "SAMPLED"
    sweeps = np.arange(1, result.sweeps + 1)
    point = "." if result.sweeps <= _MOST_POINTS else ""
    axes.plot(sweeps[seen], result.residuals[seen], color=COLOURS[0], marker=point)
    axes.set_yscale("log")
    axes.xaxis.set_major_locator(ticker.MaxNLocator(integer=True))
    axes.set_xlabel(f"part of the draws (of {result.sweeps})" if is_sampled else "sweep")
    is_belief = is_sampled or "mean_field" in result.engine
    axes.set_ylabel(f"largest change of a {'belief' if is_belief else 'message'}")
    period = f", every {result.period} sweeps" if result.period else ""
    axes.set_title(f"{result.engine}: {result.status}{period}", fontsize=10)
    return axes


# --- what to draw ---------------------------------------------------------------------------------


def _most_changed(result: GraphPosterior, before: GraphPosterior | None, most: int) -> list[Label]:
    """Choose the variables to draw, in their order."""
    names = list(result.variables)
    if len(names) <= most or before is None:
        return names[:most]
    change = [-np.abs(result.probabilities(v) - before.probabilities(v)).sum() for v in names]
    return [names[i] for i in np.sort(np.argsort(change, kind="stable")[:most])]


def _arcs(wiring: Wiring, names: list[Label], but: Sequence[int] = ()) -> list[Arc]:
    """List parents and children, or neighbours, among the named, by their places there.

    Factors in ``but`` are left out.
    """
    place = {wiring.index(name): i for i, name in enumerate(names)}
    factor = np.repeat(np.arange(len(wiring.table)), np.diff(wiring.scope_start))
    arcs: dict[Arc, None] = {}
    for f in np.setdiff1d(factor[np.isin(wiring.scope, list(place))], but).tolist():
        scope = wiring.scope[wiring.scope_start[f] : wiring.scope_start[f + 1]].tolist()
        child = int(wiring.owner[f])
        parents = [(p, child) for p in scope if p != child]
        pairs = parents if child >= 0 else combinations(sorted(scope), 2)
        arcs |= {(place[a], place[b]): None for a, b in pairs if a in place and b in place}
    return list(arcs)


def _box(result: GraphPosterior, before: GraphPosterior | None, name: Label) -> _Box:
    """Say what is drawn of a variable."""
    question = result.question
    v = question.wiring.index(name)
    earlier = None if before is None else before.probabilities(name)
    lines = _lines(question.wiring.states[v], result.probabilities(name), earlier)
    kinds = [f.weights is None for f in question.evidence.findings if f.variable == v]
    return _Box(str(name), lines, "" if not kinds else "state" if all(kinds) else "weights")


def _lines(
    states: Iterable[Label], now: F64, earlier: F64 | None = None
) -> list[tuple[str, float, float | None]]:
    """List states with their probabilities; of many states, the most probable ones and the rest."""
    names = list(map(str, states))
    n_kept = len(now) if len(now) <= _SHOWN else _SHOWN - 1
    kept, others = np.split(np.argsort(-now, kind="stable"), [n_kept])
    lines = [(names[s], *_sums(now, earlier, [s])) for s in sorted(kept.tolist())]
    if len(others):
        lines.append((f"{len(others)} others", *_sums(now, earlier, others)))
    return lines


def _sums(now: F64, before: F64 | None, states: Any) -> tuple[float, float | None]:
    """Sum probabilities of states, and those before, if there are any."""
    return float(now[states].sum()), None if before is None else float(before[states].sum())


def _percent(p: float) -> str:
    """Write a probability so that small and near certain ones can be told from 0 and 1."""
    return _percents([p, 1 - p])[0]


def _percents(shares: Sequence[float]) -> list[str]:
    """Write probabilities that sum to one as percentages that sum to 100.

    Whole ones, or with a decimal where there are small ones; what rounding down leaves goes to the
    largest rests.
    """
    near = any(0 < p < 0.0995 or 0.995 <= p < 1 for p in shares)
    unit = 1000 if near else 100
    exact = unit * np.asarray(shares) / sum(shares)
    whole = np.floor(exact + 1e-9)
    rests = np.argsort(whole - exact, kind="stable")
    whole[rests[: round(unit - whole.sum())]] += 1
    return [_written(p, w / unit, near) for p, w in zip(shares, whole.tolist(), strict=True)]


def _written(p: float, rounded: float, near: bool) -> str:  # noqa: FBT001 - one of two ways
    """Write a percentage that was rounded; what is not 0 or 1 is never written as these."""
    if 0 < p < 0.0005:
        return "<0.1%"
    if 0.9995 <= p < 1:
        return ">99.9%"
    return f"{100 * rounded:.1f}%" if near and 0 < p < 1 else f"{100 * rounded:.0f}%"


# --- boxes and links ------------------------------------------------------------------------------


def _draw_boxes(
    ax: Any,
    boxes: list[_Box],
    layers: Layers,
    *,
    arrows: bool,
    width: float | None = None,
    below: float = _BELOW,
) -> tuple[Any, float, list[_Stop]]:
    """Draw links and boxes on ``ax``, or on a new figure of the right size.

    Returns the axes, inches on the page of an inch in the drawing, and where the boxes are.
    """
    wide = width or (_WIDTH if any(box.lines for box in boxes) else _NARROW)
    heights = [
        max((boxes[v].height for v in row if v < len(boxes)), default=0.0) for row in layers.rows
    ]
    tops = -np.cumsum([0.0, *(height + below for height in heights)])
    left, right = min(layers.x) - wide / 2 - 0.15, max(layers.x) + wide / 2 + 0.15
    bottom = float(tops[-1]) + below - (_LEGEND if any(box.lines for box in boxes) else 0.1)
    axes = axes_for(ax, (max(right - left, 3.6), 0.1 - bottom))
    axes.set(xlim=(left, right), ylim=(bottom, 0.1), aspect="equal")
    axes.axis("off")
    scale = float(min(inches_of(axes) / [right - left, 0.1 - bottom]))
    sizes = [box.height for box in boxes]
    sizes += [heights[row] for row in layers.row_of[len(boxes) :]]
    stops = [
        _Stop(x, float(tops[row]), size, heights[row])
        for x, row, size in zip(layers.x, layers.row_of, sizes, strict=True)
    ]
    for route in layers.routes if below == _BELOW else ():
        _draw_link(axes, [stops[v] for v in route], "-|>" if arrows else "-", scale)
    for box, stop in zip(boxes, stops, strict=False):
        _draw_box(axes, box, stop, scale, wide)
    return axes, scale, stops


def _explain_colours(axes: Any, boxes: list[_Box], scale: float) -> None:
    """Put a legend below the boxes."""
    kinds, has_prior = {box.finding for box in boxes}, boxes[0].lines[0][2] is not None
    weighted: dict[str, Any] = {"facecolor": _PALE, "edgecolor": OBSERVED, "linestyle": "--"}
    believed = "posterior" if has_prior or kinds != {""} else "probability"
    is_drawn = {
        Patch(facecolor=BELIEVED, label=believed): kinds != {"state"},
        Patch(facecolor=OBSERVED, label="observed"): "state" in kinds,
        Patch(**weighted, label="observed with weights"): "weights" in kinds,
        Patch(facecolor=BEFORE, label="prior"): has_prior,
    }
    handles = [patch for patch, drawn in is_drawn.items() if drawn]
    style: dict[str, Any] = {"loc": "lower center", "ncols": 4, "borderaxespad": 0.1}
    axes.legend(handles=handles, frameon=False, fontsize=9 * scale, **style)


def _draw_link(axes: Any, stops: list[_Stop], arrow: str, scale: float) -> None:
    """Draw a smooth line down the stops, which turns between rows only."""
    path, codes = [(stops[0].x, stops[0].top - stops[0].height)], [Path.MOVETO]
    for upper, lower in pairwise(stops):
        floor = upper.top - upper.row_height
        is_beside = upper.top == lower.top  # then below the boxes between
        end = lower.top - lower.height * is_beside
        turn = floor - 0.3 if is_beside else (floor + end) / 2
        path += [(upper.x, floor), (upper.x, turn), (lower.x, turn), (lower.x, end)]
        codes += [Path.LINETO] + [Path.CURVE4] * 3
        if is_beside and abs(upper.x - lower.x) < 1.5 * _WIDTHS[0]:  # with no box between
            path, codes = [(s.x, s.top - s.height / 2) for s in stops], [Path.MOVETO, Path.LINETO]
    style: dict[str, Any] = {"arrowstyle": arrow, "mutation_scale": 11 * scale, "zorder": 1}
    style |= {"color": _LINK, "linewidth": 1.1 * scale, "shrinkA": 0, "shrinkB": 0}
    axes.add_patch(FancyArrowPatch(path=Path(path, codes), **style))


def _draw_message(
    axes: Any, ends_of: tuple[_Stop, _Stop], words: str, scale: float, *, is_up: bool
) -> None:
    """Draw an arrow and its words; without words it is still to come."""
    upper, lower = ends_of[::-1] if is_up else ends_of
    side, slant = -1 if is_up else 1, lower.x - upper.x
    # The arrows of a link leave a box where they point to, side by side.
    ends = np.array([[upper.x, upper.top - upper.height], [lower.x, lower.top]])
    ends[0, 0] += np.clip(0.3 * slant, -0.6, 0.6) * (upper.height > _SQUARE)
    ends[:, 0] += 0.1 * side
    ink = _FRAME if not words else COLOURS[2] if is_up else COLOURS[3]
    tail, head = ends[::-1] if is_up else ends
    style: dict[str, Any] = {"arrowstyle": "-|>", "mutation_scale": 10 * scale, "color": ink}
    style |= {"linewidth": (1.4 if words else 0.6) * scale, "shrinkA": 0, "shrinkB": 0}
    axes.add_patch(FancyArrowPatch(tail, head, zorder=3, **style))
    x, y = ends[0] + (0.75 if is_up else 0.45) * (ends[1] - ends[0])
    above = "center" if abs(slant) < 0.3 else "bottom" if slant * side > 0 else "top"
    text = {"color": _INK, "size": 8.5 * scale, "va": above, "zorder": 6}
    if words:
        axes.text(x + 0.06 * side, y, words, ha="right" if is_up else "left", **text)


def _draw_box(axes: Any, box: _Box, stop: _Stop, scale: float, wide: float) -> None:
    """Draw the frame, the name, and for each state its name, bars and percentage."""
    x, top = stop.x - wide / 2, stop.top
    if box.finding == "factor":
        place = stop.x - _SQUARE / 2, top - box.height
        axes.add_patch(Rectangle(place, _SQUARE, _SQUARE, facecolor=_LINK, zorder=2))
        return
    frame: dict[str, Any] = {
        "facecolor": _PALE if box.finding else "white",
        "edgecolor": OBSERVED if box.finding else _FRAME,
        "linestyle": "--" if box.finding == "weights" else "-",
        "linewidth": (1.6 if box.finding else 0.9) * scale,
        "boxstyle": "round,pad=0.05",
        "zorder": 2,
    }
    corner = x + 0.05, top - box.height + 0.05
    axes.add_patch(FancyBboxPatch(corner, wide - 0.1, box.height - 0.1, **frame))
    bold, plain = FontProperties(size=9.5, weight="bold"), FontProperties(size=8)
    text: dict[str, Any] = {"va": "center_baseline", "color": _INK, "zorder": 5}
    head = name_of(box.name, _TITLE)
    size = scale * _size(head, bold, wide - 0.1)
    middle = top - (_HEAD / 2 if box.lines or box.notes else box.height / 2)
    axes.text(stop.x, middle, head, ha="center", size=size, weight="bold", **text)
    for i, note in enumerate(box.notes):
        words = name_of(note, 40)
        y, size = top - _HEAD - (i + 0.3) * _NOTE, scale * _size(words, plain, wide - 0.1)
        axes.text(stop.x, y, words, ha="center", size=size, **text)
    start, length = x + _BARS[0], _BARS[1] - _BARS[0]
    ink = OBSERVED if box.finding == "state" else BELIEVED
    percents = _percents([p for _, p, _ in box.lines]) if box.lines else []
    for i, (state, p, before) in enumerate(box.lines):
        y = top - _HEAD - (i + 0.5) * _LINE
        bars = [(-0.09, 0.18, 1.0, "#F1F1F1", 3), (-0.02, 0.11, p, ink, 4)]
        bars += [] if before is None else [(-0.09, 0.055, before, BEFORE, 4)]
        for low, height, value, colour, layer in bars:
            style: dict[str, Any] = {"facecolor": colour, "zorder": layer, "linewidth": 0}
            axes.add_patch(Rectangle((start, y + low), length * value, height, **style))
        for right, words in (
            (start - 0.06, name_of(state, _LETTERS)),
            (x + _WIDTH - 0.08, percents[i]),
        ):
            size = scale * _size(words, plain, _BARS[0] - 0.12)
            axes.text(right, y, words, ha="right", size=size, **text)


def _size(text: str, font: FontProperties, inches: float) -> float:
    """Return the size of a font, in points, or a smaller one at which a text is so wide."""
    width = TextPath((0, 0), text, prop=font).vertices[:, 0].max(initial=0.0) / 72
    return font.get_size_in_points() * min(1.0, inches / max(width, 1e-9))
