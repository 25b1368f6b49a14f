"""Draw ``docs/_static/rooms.svg`` from the import graph and the layers in ``pyproject.toml``.

``python docs/draw_rooms.py`` writes the picture; with ``--check`` nothing is written and the exit
code is 1 if the file differs from what would be drawn. Nothing in the picture is typed by hand
except the one-line descriptions below.
"""

from __future__ import annotations

import sys
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from html import escape
from itertools import count, pairwise
from pathlib import Path

import grimp

ROOT = Path(__file__).parent.parent
PICTURE = Path(__file__).parent / "_static" / "rooms.svg"

DESCRIPTIONS = {
    "__main__": "python -m credo",
    "cli": "the command line",
    "studio": "a local web page",
    "testing": "checks for your own parts",
    "storage": "model files",
    "plots": "figures",
    "tables": "tables of any size",
    "classifiers": "scikit-learn estimators",
    "images": "pixels as a graph",
    "decisions": "losses, acts, expected losses",
    "inference": "engines on graphs",
    "formats": "BIF, UAI and other files",
    "graphs": "variables, factors, plans",
    "families": "exponential families",
    "posterior": "labelled log-probabilities",
    "columns": "the door for tables",
    "_checks": "the door for user input",
    "_kernels": "compiled loops on arrays",
    "_threads": "cores, work in order on threads",
    "_files": "written whole or not at all",
    "_records": "reads what summaries and fits declare",
    "_results": "what results have in common",
    "_lazy": "names loaded on first use",
    "_version": "the version number",
    "_types": "names of types",
    "exceptions": "every error",
}

#: Dark members of Okabe and Ito's palette: told apart on white by colour-blind readers too.
INKS = ("#0072B2", "#D55E00", "#00755A", "#A6457F", "#8A5A00", "#333333")
FONT = "font-family=\"'Segoe UI', 'Helvetica Neue', Helvetica, Arial, sans-serif\""

BOX_WIDTH, BOX_HEIGHT = 236, 46
GUTTER, GAP = 78, 38
SIDE, TOP, BOTTOM = 86, 92, 30
COLUMNS = 3
WIDTH = 2 * SIDE + COLUMNS * BOX_WIDTH + (COLUMNS - 1) * GUTTER
PORT_STEP, LANE_STEP, BEND, ARROW_HEAD = 22, 11, 7, 8

#: The last row with arrows. Any room may use what is below; arrows to it would hide the others.
LAST_WITH_ARROWS = "_kernels"

Edge = tuple[str, str]
Point = tuple[int, int]
Span = tuple[int, int]
Ports = dict[Edge, int]
#: A horizontal piece of an arrow: the row above its gap, the arrow, from where to where.
Piece = tuple[int, Edge, Span]


@dataclass(frozen=True)
class Box:
    """A room in the picture."""

    name: str
    row: int
    column: int
    built: bool

    @property
    def left(self) -> int:
        """Left edge."""
        return SIDE + self.column * (BOX_WIDTH + GUTTER)

    @property
    def middle(self) -> int:
        """Centre, horizontally."""
        return self.left + BOX_WIDTH // 2

    @property
    def top(self) -> int:
        """Upper edge."""
        return TOP + self.row * (BOX_HEIGHT + GAP)


# --- what is drawn --------------------------------------------------------------------------------


def read_layers() -> list[list[str]]:
    """Read the rooms of each layer, top first; brackets mark rooms that may be absent."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contracts = settings["tool"]["importlinter"]["contracts"]
    rooms = next(contract for contract in contracts if contract["id"] == "rooms")
    return [[name.strip(" ()") for name in layer.split("|")] for layer in rooms["layers"]]


def read_imports() -> tuple[set[str], set[Edge]]:
    """Find the rooms that exist and which imports which; the lobby itself is no room."""
    graph = grimp.build_graph("credo", exclude_type_checking_imports=True, cache_dir=None)
    inner = [module for module in graph.modules if module != "credo"]
    edges = {
        (_room(module), _room(other))
        for module in inner
        for other in graph.find_modules_directly_imported_by(module)
        if other != "credo" and _room(module) != _room(other)
    }
    return {_room(module) for module in inner}, edges


def _room(module: str) -> str:
    """Name the room of a module: ``credo.posterior.joint`` is in ``posterior``."""
    return module.split(".")[1]


def reduced(edges: set[Edge]) -> list[Edge]:
    """Drop arrows that longer paths imply (the transitive reduction)."""
    targets: dict[str, set[str]] = {}
    for a, b in edges:
        targets.setdefault(a, set()).add(b)

    def reaches(a: str, b: str) -> bool:
        return a == b or any(reaches(c, b) for c in targets.get(a, ()))

    return sorted((a, b) for a, b in edges if not any(reaches(c, b) for c in targets[a] if c != b))


def place(layers: list[list[str]], built: set[str]) -> dict[str, Box]:
    """Give every room its place: one row per layer, a room alone in the middle."""
    columns = {1: [1], 2: [0, 2], 3: [0, 1, 2]}
    return {
        name: Box(name, row, column, name in built)
        for row, names in enumerate(layers)
        for name, column in zip(names, columns[len(names)], strict=True)
    }


# --- where the arrows go --------------------------------------------------------------------------


def lanes(edges: list[Edge], boxes: dict[str, Box]) -> dict[Edge, int]:
    """Choose for each arrow that skips rows a vertical lane that meets no box."""
    taken: dict[int, list[Span]] = {}
    chosen = {}
    wanted = [
        (*_nearest(boxes[a], boxes[b], boxes), (a, b))
        for a, b in edges
        if boxes[b].row > boxes[a].row + 1
    ]
    for _, base, (a, b) in sorted(wanted):
        chosen[a, b] = _slot(base, (boxes[a].row, boxes[b].row), taken)
    return chosen


def _nearest(start: Box, end: Box, boxes: dict[str, Box]) -> tuple[int, int]:
    """Find the lane with the shortest way: a gutter, or the end's own column if it is empty."""
    full = {box.column for box in boxes.values() if start.row < box.row < end.row}
    gutters = [SIDE - GUTTER // 2 + i * (BOX_WIDTH + GUTTER) for i in range(COLUMNS + 1)]
    free = gutters if end.column in full else [*gutters, end.middle]
    return min((abs(x - start.middle) + abs(x - end.middle), x) for x in free)


def _slot(base: int, span: Span, taken: dict[int, list[Span]]) -> int:
    """Move aside from ``base``, left and right in turn, until no arrow is in the way."""
    tries = (base + (i + 1) // 2 * LANE_STEP * (1 if i % 2 else -1) for i in count())
    x = next(x for x in tries if all(span[1] <= a or b <= span[0] for a, b in taken.get(x, [])))
    taken.setdefault(x, []).append(span)
    return x


def ports(edges: list[Edge], boxes: dict[str, Box], lane: dict[Edge, int], end: int) -> Ports:
    """Spread arrows along the lower (``end`` 0) or upper (1) edge of their box, in lane order."""
    found = {}
    for name, box in boxes.items():
        mine = [edge for edge in edges if edge[end] == name]
        mine.sort(key=lambda edge: (lane.get(edge, boxes[edge[1 - end]].middle), edge))
        for i, edge in enumerate(mine):
            found[edge] = box.middle + (2 * i - len(mine) + 1) * PORT_STEP // 2
    return found


def settle(boxes: dict[str, Box], lane: Ports, out: Ports, into: Ports) -> None:
    """Save bends where an arrow can run straight, and keep arrivals clear of departures above."""
    for edge in into:
        start, end = boxes[edge[0]], boxes[edge[1]]
        way = lane.get(edge, end.middle)
        above = [out[e] for e in out if e != edge and boxes[e[0]].row == end.row - 1]
        if into[edge] in above:
            into[edge] += PORT_STEP // 2 if way > end.middle else -PORT_STEP // 2
        if way == start.middle and [b for _, b in into].count(end.name) == 1:
            into[edge] = out[edge]
        if abs(way - end.middle) < BOX_WIDTH // 2:
            lane[edge] = into[edge]


def routes(edges: list[Edge], boxes: dict[str, Box]) -> dict[Edge, list[Point]]:
    """Give each arrow its corners: down, along a track, down a lane, along a track, down."""
    lane = lanes(edges, boxes)
    out, into = ports(edges, boxes, lane, 0), ports(edges, boxes, lane, 1)
    settle(boxes, lane, out, into)
    pieces: list[Piece] = []
    for edge in edges:
        first, last = boxes[edge[0]].row, boxes[edge[1]].row - 1
        stops = [out[edge], lane[edge], into[edge]] if first < last else [out[edge], into[edge]]
        turns = zip([first, last], pairwise(stops), strict=False)
        pieces += [(gap, edge, xs) for gap, xs in turns if xs[0] != xs[1]]
    paths = {edge: [(out[edge], boxes[edge[0]].top + BOX_HEIGHT)] for edge in edges}
    for (_, edge, xs), y in tracks(pieces).items():
        paths[edge] += [(x, y) for x in xs]
    return {edge: [*path, (into[edge], boxes[edge[1]].top)] for edge, path in paths.items()}


def tracks(pieces: list[Piece]) -> dict[Piece, int]:
    """Give each horizontal piece a height in its gap, so that no two lie on each other.

    The first come highest: pieces that go left from the left, pieces that go right from the
    right, so that neighbours bend around each other and do not cross.
    """
    levels: dict[int, list[list[Span]]] = {}
    level = {}
    for piece in sorted(pieces, key=lambda p: (p[0], p[2][0] if p[2][0] > p[2][1] else -p[2][0])):
        low, high = min(piece[2]) - 2 * BEND, max(piece[2]) + 2 * BEND
        gap = levels.setdefault(piece[0], [])
        free = [i for i, row in enumerate(gap) if all(high < a or b < low for a, b in row)]
        level[piece] = free[0] if free else len(gap)
        if not free:
            gap.append([])
        gap[level[piece]].append((low, high))
    return {
        piece: TOP
        + piece[0] * (BOX_HEIGHT + GAP)
        + BOX_HEIGHT
        + (i + 1) * (GAP - ARROW_HEAD) // (len(levels[piece[0]]) + 1)
        for piece, i in level.items()
    }


# --- ink ------------------------------------------------------------------------------------------


def curve(points: list[Point]) -> str:
    """Write a path with rounded corners."""
    corners = [p for i, p in enumerate(points) if i == 0 or p != points[i - 1]]
    text = f"M{corners[0][0]} {corners[0][1]}"
    for before, here, after in zip(corners, corners[1:], corners[2:], strict=False):
        a, b = _towards(here, before), _towards(here, after)
        text += f" L{a[0]} {a[1]} Q{here[0]} {here[1]} {b[0]} {b[1]}"
    return f"{text} L{corners[-1][0]} {corners[-1][1] - 7}"


def _towards(here: Point, there: Point) -> Point:
    """Go from a corner towards the next one, by the bend's radius or half the way."""
    dx, dy = there[0] - here[0], there[1] - here[1]
    step = min(BEND, (abs(dx) + abs(dy)) // 2)
    return here[0] + (dx > 0) * step - (dx < 0) * step, here[1] + (dy > 0) * step - (dy < 0) * step


def arrow(points: list[Point], ink: str) -> Iterator[str]:
    """Draw an arrow along its corners, on a white edge that parts it from those below."""
    path = curve(points)
    x, y = points[-1]
    yield f'<path d="{path}" fill="none" stroke="#FFFFFF" stroke-width="5"/>'
    yield f'<path d="{path}" fill="none" stroke="{ink}" stroke-width="1.8"/>'
    yield f'<path d="M{x - 5} {y - 9} L{x} {y - 1} L{x + 5} {y - 9} Z" fill="{ink}"/>'


def room(box: Box, ink: str) -> Iterator[str]:
    """Draw a room: name and description; pale and dashed if it is not built yet."""
    fill, edge, dash = ("#F3F7FA", ink, "") if box.built else ("#FFFFFF", "#B8B8B8", "6 4")
    dark, soft = ("#1A1A1A", "#4A4A4A") if box.built else ("#7A7A7A", "#8A8A8A")
    dashed = f' stroke-dasharray="{dash}"' if dash else ""
    yield (
        f'<rect x="{box.left}" y="{box.top}" width="{BOX_WIDTH}" height="{BOX_HEIGHT}" rx="9" '
        f'fill="{fill}" stroke="{edge}" stroke-width="1.6"{dashed}/>'
    )
    yield _text(
        box.middle, box.top + 20, box.name, f'font-size="15" font-weight="600" fill="{dark}"'
    )
    description = DESCRIPTIONS[box.name]
    yield _text(box.middle, box.top + 37, description, f'font-size="12.5" fill="{soft}"')


def _text(x: int, y: int, words: str, style: str, anchor: str = "middle") -> str:
    """Write a line of text."""
    return f'<text x="{x}" y="{y}" text-anchor="{anchor}" {FONT} {style}>{escape(words)}</text>'


def ground(boxes: dict[str, Box]) -> Iterator[str]:
    """Draw what the rows below the last arrows stand on, and say why no arrow goes there."""
    top = boxes[LAST_WITH_ARROWS].top + BOX_HEIGHT + GAP // 2
    height = max(box.top for box in boxes.values()) + BOX_HEIGHT + 14 - top
    left, width = SIDE - 44, WIDTH - 2 * (SIDE - 44)
    yield f'<rect x="{left}" y="{top}" width="{width}" height="{height}" rx="12" fill="#ECEFF2"/>'
    x, y = left + 20, top + height // 2
    style = f'font-size="12.5" fill="#4A4A4A" transform="rotate(-90 {x} {y})"'
    yield _text(x, y, "used by any room", style)


def heading() -> Iterator[str]:
    """Write the title and say how to read the picture."""
    yield _text(
        SIDE, 38, "The rooms of Credo", 'font-size="21" font-weight="600" fill="#1A1A1A"', "start"
    )
    caption = (
        "An arrow is an import; arrows that longer paths imply are left out. "
        "Dashed rooms are planned. Imports only go down."
    )
    yield _text(SIDE, 61, caption, 'font-size="13" fill="#4A4A4A"', "start")


def picture() -> str:
    """Draw everything."""
    layers = read_layers()
    built, edges = read_imports()
    boxes = place(layers, built)
    last = boxes[LAST_WITH_ARROWS].row
    arrows = routes([(a, b) for a, b in reduced(edges) if boxes[b].row <= last], boxes)
    sources = sorted({a for a, _ in arrows}, key=lambda name: (boxes[name].row, boxes[name].column))
    inks = {name: INKS[i % len(INKS)] for i, name in enumerate(sources)}
    height = TOP + len(layers) * (BOX_HEIGHT + GAP) - GAP + BOTTOM
    size = f'width="{WIDTH}" height="{height}"'
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" {size}>',
        "<title>The rooms of Credo and their imports</title>",
        f'<rect {size} fill="#FFFFFF"/>',
        *heading(),
        *ground(boxes),
    ]
    for edge, points in arrows.items():
        lines += [
            f"<g><title>{edge[0]} imports {edge[1]}</title>",
            *arrow(points, inks[edge[0]]),
            "</g>",
        ]
    for box in boxes.values():
        lines += room(box, inks.get(box.name, "#6B7785"))
    return "\n".join([*lines, "</svg>", ""])


def main(arguments: list[str]) -> int:
    """Write the picture, or compare it with the file."""
    drawn = picture()
    if arguments == ["--check"]:
        current = PICTURE.exists() and PICTURE.read_text(encoding="utf-8") == drawn
        print(f"{PICTURE.name} is {'current' if current else 'out of date: run make rooms'}")
        return 0 if current else 1
    PICTURE.parent.mkdir(exist_ok=True)
    PICTURE.write_text(drawn, encoding="utf-8")
    print(PICTURE)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
