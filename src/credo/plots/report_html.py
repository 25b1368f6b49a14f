"""Words, numbers and tables as HTML; whatever comes from data is escaped here."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any, TypeAlias

#: Standard errors to either side of a 95 % interval.
SIDE = 1.96
#: Characters of a name that are shown in a cell or a sentence, and in a figure.
_LONGEST, _LONGEST_IN_FIGURE = 120, 28
#: Numbers outside of these are written with an exponent.
_SMALLEST, _LARGEST = 1e-5, 1e9
#: Shares below this are not written out.
_LEAST_PERCENT = 0.1


def plain_text(value: Any, longest: int = _LONGEST) -> str:
    """Write a value in one line: no control characters, no halves of characters, not too long."""
    text = str(value).encode("utf-8", "replace").decode("utf-8")
    text = "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


def in_figure(value: Any) -> str:
    """Write a name for a figure."""
    return plain_text(value, _LONGEST_IN_FIGURE)


def safe(value: Any) -> str:
    """Write a value from data as HTML."""
    return escape(plain_text(value), quote=True)


def name(value: Any) -> str:
    """Write a name that may be broken after the marks that names have in place of spaces."""
    return re.sub(r"([_./\\-])(?=[^\s<])", r"\1<wbr>", safe(value))


def amount(value: float) -> str:
    """Write a number with three significant digits, or all those before the point."""
    if value == 0:
        return "0"
    if not _SMALLEST <= abs(value) < _LARGEST:
        return _signed(f"{value:.3g}")
    text = f"{value:,.{max(0, 2 - _exponent(value))}f}"
    return _signed(text.rstrip("0").rstrip(".") if "." in text else text)


def with_error(value: float, half: float) -> str:
    """Write a number and half its interval, as far as the two first digits of that."""
    if not _SMALLEST <= half < _LARGEST:
        return f"{amount(value)} ±\N{NO-BREAK SPACE}{amount(half)}"
    digits = max(0, 1 - _exponent(half))
    return _signed(f"{value:,.{digits}f} ±\N{NO-BREAK SPACE}{half:,.{digits}f}")


def _signed(text: str) -> str:
    """Write a minus sign in place of a hyphen."""
    return text.replace("-", "\N{MINUS SIGN}")


def _exponent(value: float) -> int:
    """Give the power of ten of the first digit, after rounding to three."""
    return int(f"{value:.2e}".split("e")[1])


def count(value: float) -> str:
    """Write a number of rows, or a sum of weights."""
    return f"{value:,.0f}" if float(value).is_integer() else amount(value)


def share(value: float) -> str:
    """Write a share in per cent, with one digit after the point."""
    percent = 100 * value
    if 0 < percent < _LEAST_PERCENT:
        return f"below {_LEAST_PERCENT}\N{NO-BREAK SPACE}%"
    text = f"{percent:.1f}".removesuffix(".0") if percent in (0, 100) else f"{percent:.1f}"
    return f"{_signed(text)}\N{NO-BREAK SPACE}%"


def paragraph(*sentences: str, kind: str = "") -> str:
    """Join sentences, which are HTML already; nothing if there are none."""
    text = " ".join(sentence for sentence in sentences if sentence)
    name = f' class="{kind}"' if kind else ""
    return f"<p{name}>{text}</p>" if text else ""


def note(*sentences: str) -> str:
    """Make sentences stand out."""
    return f'<div class="note">{paragraph(*sentences)}</div>'


def section(name: str, title: str, *parts: str) -> str:
    """Make a section with a heading."""
    body = "\n".join(part for part in parts if part)
    return (
        f'<section id="{name}" aria-labelledby="{name}-title">\n'
        f'<h2 id="{name}-title">{title}</h2>\n{body}\n</section>'
    )


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell of a table: HTML, and how it is shown."""

    html: str
    kind: str = ""
    style: str = ""

    def write(self, tag: str) -> str:
        """Write the cell as an element."""
        kind = f' class="{self.kind}"' if self.kind else ""
        style = f' style="{self.style}"' if self.style else ""
        return f"<{tag}{kind}{style}>{self.html}</{tag.split(maxsplit=1)[0]}>"


def _as_cell(content: Cell | str) -> Cell:
    """Take HTML for a plain cell."""
    return content if isinstance(content, Cell) else Cell(content)


#: The name of a row, and its cells.
Row: TypeAlias = tuple[str, "Sequence[Cell | str]"]


def table(caption: str, head: Sequence[Cell | str], rows: Iterable[Row], kind: str) -> str:
    """Make a table from a head and rows of a name and cells; all of it is HTML already."""
    columns = "".join(_as_cell(name).write('th scope="col"') for name in head)
    body = "\n".join(
        f'<tr><th scope="row">{name}</th>'
        + "".join(_as_cell(cell).write("td") for cell in cells)
        + "</tr>"
        for name, cells in rows
    )
    # A region that scrolls can be reached with the keyboard.
    return (
        f'<div class="scroll" tabindex="0" role="region" aria-label="table">\n'
        f'<table class="{kind}">\n<caption>{caption}</caption>\n'
        f"<thead><tr>{columns}</tr></thead>\n<tbody>\n{body}\n</tbody>\n</table>\n</div>"
    )


def bar(value: float, low: float, high: float, kind: str = "") -> Cell:
    """Draw a bar from zero to a value, on a scale from ``low`` (at most 0) to ``high``."""
    span = high - low or 1.0
    start, width = (min(value, 0.0) - low) / span, abs(value) / span
    gap = f'<i class="gap" style="width:{100 * start:.2f}%"></i>' if start > 0 else ""
    name = f' class="{kind}"' if kind else ""
    drawn = f'<span class="track">{gap}<i{name} style="width:{100 * width:.2f}%"></i></span>'
    return Cell(drawn, "bar")


def json_block(numbers: dict[str, Any]) -> str:
    """Write numbers as JSON that nothing in them can end or turn into markup."""
    text = json.dumps(
        numbers, allow_nan=False, ensure_ascii=True, separators=(",", ":"), default=str
    )
    for mark in "<>&":
        text = text.replace(mark, f"\\u{ord(mark):04x}")
    return f'<script type="application/json" id="credo-numbers">{text}</script>'
