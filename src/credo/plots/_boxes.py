"""Boxes with bars, and the links between them; lengths are inches before scaling."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from credo.plots._draw import COLOURS, axes_for
from credo.plots._layers import Layers

BELIEVED, OBSERVED, BEFORE = COLOURS[0], COLOURS[1], "#B3B3B3"
_INK, _FRAME, _LINK = "#222222", "#9A9A9A", "#6E6E6E"

#: A box: its width, its head, a line for each state, and what is left below them.
_WIDTH, _HEAD, _LINE, _FOOT = 1.9, 0.28, 0.23, 0.07
#: Where the bars of a box begin and end.
_BARS = 0.68, 1.4
#: Between rows, and below them for the legend.
_BELOW, _LEGEND = 0.45, 0.4
#: Widths of a box and of the bend of a link, with the room beside them.
WIDTHS = _WIDTH + 0.25, 0.35
#: Letters that fit into the head, and before the bars.
_TITLE, _LETTERS = 22, 9


class Box(NamedTuple):
    """A variable as it is drawn."""

    name: str
    lines: list[tuple[str, float, float | None]]  #: state, probability, the one before
    finding: str  #: "state", "weights" or ""

    @property
    def height(self) -> float:
        """Its height."""
        return _HEAD + _LINE * len(self.lines) + _FOOT


class _Stop(NamedTuple):
    """Where a box, or a bend of a link, is; and how high its row is."""

    x: float
    top: float
    height: float
    row_height: float


def draw_boxes(ax: Any, boxes: list[Box], layers: Layers, *, arrows: bool) -> Any:
    """Draw links, boxes and a legend on ``ax``, or on a new figure of the right size."""
    heights = [
        max((boxes[v].height for v in row if v < len(boxes)), default=0.0) for row in layers.rows
    ]
    ends = -np.cumsum([0.0, *(height + _BELOW for height in heights)])
    left, right = min(layers.x) - WIDTHS[0] / 2, max(layers.x) + WIDTHS[0] / 2
    bottom = float(ends[-1]) + _BELOW - _LEGEND
    axes = axes_for(ax, (max(right - left, 3.6), 0.1 - bottom))
    axes.set(xlim=(left, right), ylim=(bottom, 0.1), aspect="equal")
    axes.axis("off")
    scale = _scale(axes)
    rows = layers.row_of
    sizes = [box.height for box in boxes] + [heights[row] for row in rows[len(boxes) :]]
    stops = [
        _Stop(x, float(ends[row]), size, heights[row])
        for x, row, size in zip(layers.x, rows, sizes, strict=True)
    ]
    for route in layers.routes:
        _draw_link(axes, [stops[v] for v in route], arrow=arrows, scale=scale)
    for box, stop in zip(boxes, stops, strict=False):
        _draw_box(axes, box, stop, scale)
    _draw_legend(axes, boxes, scale)
    return axes


def percent(p: float) -> str:
    """Write a probability so that small and near certain ones can be told from 0 and 1."""
    if 0 < p < 0.0005:
        return "<0.1%"
    if 0.9995 <= p < 1:
        return ">99.9%"
    return f"{100 * p:.1f}%" if 0 < p < 0.0995 or 0.995 <= p < 1 else f"{100 * p:.0f}%"


def _scale(axes: Any) -> float:
    """Give the inches on the page of an inch in the drawing."""
    place = axes.get_window_extent()
    inches = np.array([place.width, place.height]) / axes.figure.dpi
    return float(min(inches / np.abs([np.diff(axes.get_xlim()), np.diff(axes.get_ylim())]).ravel()))


def _draw_link(axes: Any, stops: list[_Stop], *, arrow: bool, scale: float) -> None:
    """Draw a smooth line down the stops, which turns between rows only."""
    from matplotlib.patches import FancyArrowPatch  # noqa: PLC0415 - an extra
    from matplotlib.path import Path  # noqa: PLC0415

    first, last = stops[0], stops[-1]
    path, codes = [(first.x, first.top - first.height)], [Path.MOVETO]
    for upper, lower in pairwise(stops):
        floor = upper.top - upper.row_height
        turn = (floor + lower.top) / 2
        path += [(upper.x, floor), (upper.x, turn), (lower.x, turn), (lower.x, lower.top)]
        codes += [Path.LINETO] + [Path.CURVE4] * 3
    if first.top == last.top:  # in the same row: behind the boxes
        path, codes = [(s.x, s.top - s.height / 2) for s in stops], [Path.MOVETO, Path.LINETO]
    style: dict[str, Any] = {"arrowstyle": "-|>" if arrow else "-", "mutation_scale": 11 * scale}
    style |= {"color": _LINK, "linewidth": 1.1 * scale, "shrinkA": 0, "shrinkB": 0, "zorder": 1}
    axes.add_patch(FancyArrowPatch(path=Path(path, codes), **style))


def _draw_box(axes: Any, box: Box, stop: _Stop, scale: float) -> None:
    """Draw the frame, the name, and a line for each state."""
    from matplotlib.patches import FancyBboxPatch  # noqa: PLC0415 - an extra

    x, top = stop.x - _WIDTH / 2, stop.top
    frame: dict[str, Any] = {
        "facecolor": "#FFF6EE" if box.finding else "white",
        "edgecolor": OBSERVED if box.finding else _FRAME,
        "linestyle": "--" if box.finding == "weights" else "-",
        "linewidth": (1.6 if box.finding else 0.9) * scale,
    }
    axes.add_patch(
        FancyBboxPatch(
            (x + 0.05, top - box.height + 0.05),
            _WIDTH - 0.1,
            box.height - 0.1,
            boxstyle="round,pad=0.05",
            zorder=2,
            **frame,
        )
    )
    _write(axes, stop.x, top - _HEAD / 2, _short(box.name, _TITLE), 9.5 * scale, weight="bold")
    for i, line in enumerate(box.lines):
        _draw_state(axes, line, (x, top - _HEAD - (i + 0.5) * _LINE), scale, box.finding)


def _draw_state(
    axes: Any,
    line: tuple[str, float, float | None],
    place: tuple[float, float],
    scale: float,
    finding: str,
) -> None:
    """Draw the name of a state, its bar, below it the bar before, and the percentage."""
    from matplotlib.patches import Rectangle  # noqa: PLC0415 - an extra

    (state, p, before), (x, y) = line, place
    start, length = x + _BARS[0], _BARS[1] - _BARS[0]
    bars = [(y - 0.02, 0.11, p, OBSERVED if finding == "state" else BELIEVED)]
    if before is not None:
        bars.append((y - 0.09, 0.055, before, BEFORE))
    axes.add_patch(
        Rectangle((start, y - 0.09), length, 0.18, facecolor="#F1F1F1", zorder=3, linewidth=0)
    )
    for low, height, value, ink in bars:
        axes.add_patch(
            Rectangle((start, low), length * value, height, facecolor=ink, zorder=4, linewidth=0)
        )
    _write(axes, start - 0.06, y, _short(state, _LETTERS), 8 * scale, ha="right")
    _write(axes, x + _WIDTH - 0.08, y, percent(p), 8 * scale, ha="right")


def _draw_legend(axes: Any, boxes: list[Box], scale: float) -> None:
    """Name the colours that occur."""
    from matplotlib.patches import Patch  # noqa: PLC0415 - an extra

    findings = [box.finding for box in boxes]
    names = {"posterior": BELIEVED} if any(kind != "state" for kind in findings) else {}
    names |= {"observed": OBSERVED} if any(findings) else {}
    names |= {"prior": BEFORE} if any(box.lines[0][2] is not None for box in boxes) else {}
    axes.legend(
        handles=[Patch(facecolor=ink, label=name) for name, ink in names.items()],
        loc="lower center",
        ncols=3,
        frameon=False,
        fontsize=9 * scale,
        borderaxespad=0.1,
    )


def _write(axes: Any, x: float, y: float, text: str, size: float, **style: Any) -> None:
    """Write a text at its middle height."""
    kind = {"ha": "center", "va": "center_baseline", "color": _INK, "zorder": 5}
    axes.text(x, y, text, fontsize=size, **{**kind, **style})


def _short(text: str, letters: int) -> str:
    """Cut a text that is too long."""
    return text if len(text) <= letters else f"{text[: letters - 1]}…"
