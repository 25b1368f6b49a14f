"""``write_report``: an evaluation as one page that stands alone.

What it says is in ``report.html.j2``, how it looks in ``report.css``; here are its numbers and
figures. Whatever is put into the template is written in one line and escaped.
"""

from __future__ import annotations

import io
import os
import re
import warnings
from functools import cache
from html import escape
from pathlib import Path, PurePath
from typing import Any

import matplotlib as mpl
from jinja2 import Environment, FileSystemLoader, StrictUndefined, Template
from markupsafe import Markup
from matplotlib.figure import Figure

from credo._files import written_whole
from credo._version import __version__
from credo.decisions import CoveragePoint, RiskCoverage
from credo.exceptions import InputError
from credo.plots.figures import COLOURS, GREY, draw, one_line

#: Standard errors to either side of a 95 % interval.
_SIDE = 1.96
#: Characters of a text from the data that are shown.
_LONGEST = 80
#: Numbers outside of these are written with an exponent.
_SMALLEST, _LARGEST = 1e-5, 1e9
#: Shares below this are not written out.
_LEAST_PERCENT = 0.1
#: Columns that are listed, and classes whose table of losses or of counts still fits on a page.
_MOST_COLUMNS, _MOST_CLASSES = 60, 40
#: Shares of the cases at which the loss of the surest is written out.
_SHARES = (0.25, 0.5, 0.75, 0.9, 1.0)

#: A colour that is in no figure; it becomes that of the page's letters.
_INK = "#010203"
#: Colours of figures, and the page's own colours that take their place.
_PAGE_COLOURS = {
    _INK: "currentColor",
    COLOURS[0]: "var(--blue)",
    COLOURS[1]: "var(--orange)",
    COLOURS[2]: "var(--green)",
    GREY: "var(--grey)",
}
_SETTINGS: dict[str, Any] = {
    "svg.fonttype": "none",
    "svg.hashsalt": "credo",
    "font.size": 10.0,
    "font.sans-serif": ["DejaVu Sans"],
    "axes.spines.top": False,
    "axes.spines.right": False,
    **dict.fromkeys(
        ("text.color", "axes.edgecolor", "axes.labelcolor", "xtick.color", "ytick.color"), _INK
    ),
    **dict.fromkeys(("figure.facecolor", "axes.facecolor", "savefig.facecolor"), "none"),
}


def write_report(
    evaluation: Any, path: str | os.PathLike[str], *, title: str | None = None
) -> None:
    """Write an evaluation as one HTML page that needs nothing else.

    The page says what the decisions cost and what was saved against predicting the most probable
    class, who got which decision, which cases were doubtful, whether the probabilities can be
    trusted, what happens if losses or frequencies change, which columns matter, and what is in
    the table. It can be read without scripts or a network, on paper and in the dark.

    Parameters
    ----------
    evaluation : TableEvaluation
        What to show.
    path : path
        The file; it appears when it is whole, or not at all.
    title : str, optional
        Heading of the page; by default the model and the name of the table.

    Raises
    ------
    InputError
        If the folder does not exist.

    See Also
    --------
    credo.tables.evaluate_table : Makes the evaluation.

    Notes
    -----
    All numbers are in the page as JSON, in the script element with the id ``credo-numbers``, which
    is data and never run. The same evaluation gives the same bytes with the same versions of
    Credo and Matplotlib. About 100 kB. Needs the ``plots`` extra.

    Examples
    --------
    >>> import credo, pathlib, tempfile
    >>> import pyarrow as pa
    >>> from credo.plots import write_report
    >>> from credo.tables import evaluate_table
    >>> table = pa.table({"age": [20, 31, 42, 53, 35], "y": ["no", "no", "yes", "yes", "no"]})
    >>> model = credo.fit_table(credo.NaiveBayes(), table, target="y")
    >>> path = pathlib.Path(tempfile.mkdtemp(), "report.html")
    >>> write_report(evaluate_table(model, table.slice(1)), path)
    >>> path.read_text().startswith("<!DOCTYPE html>")
    True
    """
    if not hasattr(evaluation, "measures"):
        raise InputError(
            "write_report needs a TableEvaluation. Got "
            f"{type(evaluation).__name__}. Make one with credo.tables.evaluate_table."
        )
    source = PurePath(evaluation.source).name
    found = evaluation.measures
    page = _template().render(
        result=evaluation,
        found=found,
        outcome=found.outcome,
        source=source,
        title=title or f"{evaluation.model} on {source}",
        version=__version__,
        numbers=evaluation.to_dict(),
        most_columns=_MOST_COLUMNS,
        most_classes=_MOST_CLASSES,
        side=_SIDE,
        surest=_surest(found.outcome.risk_coverage),
        figure=_figure,
    )
    with written_whole(path) as stream:
        stream.write(page)


def _surest(curve: RiskCoverage | None) -> list[CoveragePoint]:
    """Look up what the surest cases cost, each share of them once."""
    points = {} if curve is None else {p.coverage: p for p in map(curve.at_coverage, _SHARES)}
    return [point for point in points.values() if point.risk is not None]


@cache
def _template() -> Template:
    """Read the template; whatever is put in that is not HTML already is escaped."""
    made = Environment(
        loader=FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        finalize=lambda value: value if isinstance(value, Markup) else one_line(value, _LONGEST),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {
        "amount": amount,
        "count": count,
        "share": share,
        "with_error": with_error,
        "breakable": breakable,
        "whole": lambda text: Markup(escape(one_line(text, 1000))),  # noqa: S704 - escaped
    }
    numbers = {"allow_nan": False, "separators": (",", ":"), "default": str}
    made.policies["json.dumps_kwargs"] = numbers
    return made.get_template("report.html.j2")


# --- numbers and names ----------------------------------------------------------------------------


def amount(value: float | None) -> str:
    """Write a number with three significant digits, or all those before the point."""
    if value is None:
        return ""
    if value == 0:
        return "0"
    if not _SMALLEST <= abs(value) < _LARGEST:
        return _signed(f"{value:.3g}")
    text = f"{value:,.{max(0, 2 - _exponent(value))}f}"
    return _signed(text.rstrip("0").rstrip(".") if "." in text else text)


def with_error(value: float, standard_error: float) -> str:
    """Write a number and half its interval, as far as the two first digits of that."""
    half = _SIDE * standard_error
    if not _SMALLEST <= half < _LARGEST:
        return f"{amount(value)} ±\N{NO-BREAK SPACE}{amount(half)}"
    digits = max(0, 1 - _exponent(half))
    return _signed(f"{value:,.{digits}f} ±\N{NO-BREAK SPACE}{half:,.{digits}f}")


def _signed(text: str) -> str:
    """Write a minus sign in place of a hyphen."""
    return text.replace("-", "\N{MINUS SIGN}")


def _exponent(value: float) -> int:
    """Return the power of ten of the first digit, after rounding to three."""
    return int(f"{value:.2e}".split("e")[1])


def count(value: float, what: str = "") -> str:
    """Write a number of rows, or a sum of weights; and of what, in the singular or plural."""
    text = f"{value:,.0f}" if float(value).is_integer() else amount(value)
    return f"{text} {what}{'' if value == 1 else 's'}" if what else text


def share(value: float) -> str:
    """Write a share in per cent, with one digit after the point."""
    percent = 100 * value
    if 0 < percent < _LEAST_PERCENT:
        return f"below {_LEAST_PERCENT}\N{NO-BREAK SPACE}%"
    digits = 0 if percent in (0, 100) else 1
    return f"{_signed(f'{percent:.{digits}f}')}\N{NO-BREAK SPACE}%"


def breakable(name: Any) -> Markup:
    """Write a name that may be broken after the marks that names have in place of spaces."""
    text = escape(one_line(name, _LONGEST))
    return Markup(re.sub(r"([_./\\-])(?=[^\s<])", r"\1<wbr>", text))  # noqa: S704 - escaped


# --- figures --------------------------------------------------------------------------------------


def _figure(result: Any, name: str, label: str, height: float = 3.6) -> Markup:
    """Draw a result as SVG with the page's colours and letters; the same input, the same text."""
    stream = io.StringIO()
    with mpl.rc_context(), warnings.catch_warnings():
        # The page's letters are used, so it does not matter which ones Matplotlib has.
        warnings.filterwarnings("ignore", message="Glyph .* missing", category=UserWarning)
        mpl.rcdefaults()
        mpl.rcParams.update(_SETTINGS)
        figure = Figure(figsize=(5.2, height), layout="constrained")
        draw(result, ax=figure.subplots()).set_title("")
        figure.savefig(stream, format="svg", metadata={"Date": None})
    text = stream.getvalue()
    # The date of making, and rules for the whole page.
    text = re.sub(r"<(metadata|style)\b.*?</\1>\s*", "", text, flags=re.DOTALL)
    head, inside = text[text.index("<svg") :].split(">", 1)
    box = head.split('viewBox="')[1].split('"')[0]
    inside = re.sub(r"<[^>]*>", lambda tag: _own_tag(tag[0], name), inside.strip())
    return Markup(f'<svg viewBox="{box}" role="img" aria-label="{escape(label)}">{inside}')  # noqa: S704 - texts are escaped by Matplotlib


def _own_tag(tag: str, name: str) -> str:
    """Write a tag with names that no other figure has, and the colours of the page."""
    tag = re.sub(r'\bid="', f'id="{name}-', tag)
    tag = re.sub(r'(?:xlink:)?href="#', f'href="#{name}-', tag)
    tag = tag.replace("url(#", f"url(#{name}-")
    for colour, own in _PAGE_COLOURS.items():
        tag = tag.replace(colour.lower(), own)
    return tag
