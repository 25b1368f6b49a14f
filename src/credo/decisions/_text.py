"""Labelled tables as text and as HTML."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from credo._types import F64, Label

_MOST_ROWS = 20


def number(value: float) -> str:
    """Write a whole number with all its digits, any other with at most six significant ones."""
    whole = abs(value) < 1e15 and float(value).is_integer()
    return f"{value:.0f}" if whole else f"{value:.6g}"


def text_table(
    cells: F64, rows: Sequence[Label], columns: Sequence[Label], axes: tuple[str, str]
) -> str:
    """Write a 2-D array with its row and column names, and the names of both axes."""
    head = [f"{axes[0]} \\ {axes[1]}", *(str(name) for name in columns)]
    body = [
        [str(name), *(number(v) for v in row)]
        for name, row in zip(rows[:_MOST_ROWS], cells[:_MOST_ROWS], strict=True)
    ]
    widths = [max(len(line[i]) for line in [head, *body]) for i in range(len(head))]
    lines = [
        "  ".join(
            text.ljust(width) if i == 0 else text.rjust(width)
            for i, (text, width) in enumerate(zip(line, widths, strict=True))
        )
        for line in [head, *body]
    ]
    more = [f"… {len(rows) - _MOST_ROWS} more"] if len(rows) > _MOST_ROWS else []
    return "\n".join([*lines, *more])


def html_table(
    cells: F64, rows: Sequence[Label], columns: Sequence[Label], axes: tuple[str, str]
) -> str:
    """Write the same table as HTML, for notebooks."""
    head = "".join(f"<th>{escape(str(name))}</th>" for name in columns)
    body = "".join(
        f"<tr><th>{escape(str(name))}</th>{''.join(f'<td>{number(v)}</td>' for v in row)}</tr>"
        for name, row in zip(rows[:_MOST_ROWS], cells[:_MOST_ROWS], strict=True)
    )
    corner = escape(f"{axes[0]} \\ {axes[1]}")
    return f"<table><tr><th>{corner}</th>{head}</tr>{body}</table>"
