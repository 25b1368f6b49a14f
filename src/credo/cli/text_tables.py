"""Tables of text for a person who reads a terminal."""

from __future__ import annotations

import decimal
import shutil
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

#: Width of the lines where nobody watches, so that the output is the same everywhere.
_WIDTH = 100


def shown(label: Any) -> str:
    """Write a label on one line: line ends and other control characters are spelled out."""
    text = str(label)
    if text.isprintable():
        return text
    return "".join(
        each if each.isprintable() else each.encode("unicode_escape").decode("ascii")
        for each in text
    )


def bound_text(value: float, kind: str, digits: int = 8) -> str:
    """Write a number briefly; a lower bound is rounded down and an upper bound up, so both hold."""
    ways = {"lower bound": decimal.ROUND_FLOOR, "upper bound": decimal.ROUND_CEILING}
    context = decimal.Context(digits, ways.get(kind))
    return f"{float(context.create_decimal_from_float(float(value))):.{digits}g}"


def marginals_table(marginals: Mapping[Any, Mapping[Any, float]]) -> str:
    """List variables, with the probabilities of their states beside them."""
    rows = [
        (shown(name), [f"{shown(state)} {p:.6g}" for state, p in states.items()])
        for name, states in marginals.items()
    ]
    first = max(len("variable"), *(len(name) for name, _ in rows))
    widest = max(len(cell) for _, row in rows for cell in row)
    room = max(1, (_line_width() - first) // (widest + 2))
    lines = [f"{'variable':<{first}}  probabilities"]
    widths = [
        max((len(c) for _, row in rows for c in row[i::room]), default=0) for i in range(room)
    ]
    for name, row in rows:
        for i in range(0, len(row), room):
            cells = zip(row[i : i + room], widths, strict=False)
            padded = "  ".join(f"{cell:<{width}}" for cell, width in cells)
            lines.append(f"{'' if i else name:<{first}}  {padded}".rstrip())
    return "\n".join(lines)


def columns_table(header: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """Line up columns of text."""
    table = [list(header), *([shown(cell) for cell in row] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    return "\n".join(
        "  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in table
    )


def _line_width() -> int:
    """Give the width of the terminal."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else _WIDTH
