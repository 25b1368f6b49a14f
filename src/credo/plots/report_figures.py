"""Figures of a report, as SVG that takes its colours and its letters from the page."""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Callable
from dataclasses import replace
from html import escape
from typing import Any

from credo.decisions import Calibration, CostCurve, RiskCoverage
from credo.exceptions import MissingExtraError
from credo.plots._draw import COLOURS, GREY, draw
from credo.plots.report_html import in_figure

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
    "text.parse_math": False,
    "font.size": 10.0,
    "font.sans-serif": ["DejaVu Sans"],
    "legend.frameon": False,
    **dict.fromkeys(
        ("text.color", "axes.edgecolor", "axes.labelcolor", "xtick.color", "ytick.color"), _INK
    ),
    **dict.fromkeys(("figure.facecolor", "axes.facecolor", "savefig.facecolor"), "none"),
}


def risk_coverage_figure(curve: RiskCoverage) -> str:
    """Draw the loss of the surest cases."""

    def drawn(ax: Any) -> None:
        draw(curve, ax=ax)
        ax.set(
            xlabel="share of the cases that the model decides, the surest first",
            ylabel="mean loss of these cases",
        )
        own = curve.operating_point
        here = (
            f"as decided here: {own.risk:.3g}" if own is not None and own.risk is not None else ""
        )
        _rename(
            ax,
            {
                "by the posterior": "the surest cases",
                "all rows decided": f"all cases: {curve.risk[-1]:.3g}",
                "with the reject act": here,
            },
        )

    return _svg("risk", "Mean loss over the share of cases that the model decides", drawn)


def calibration_figure(result: Calibration) -> str:
    """Draw what was said against what came."""
    of = "its most probable class" if result.label is None else in_figure(result.label)

    def drawn(ax: Any) -> None:
        draw(replace(result, label=None), ax=ax)
        seen = "how often it was right" if result.label is None else f"share that was {of}"
        ax.set(xlabel=f"probability that the model gave to {of}", ylabel=seen, title="")
        ax.set(yticks=[0.0, 0.2, 0.4, 0.6, 0.8, 1.0], ylim=(-0.02, 1.3))  # room for the legend
        _rename(
            ax,
            {
                "calibrated": "as it should be",
                "share of rows": "share of the cases",
                "observed": "what came, with 95 % interval",
            },
        )

    return _svg("calibration", "What came over the probability the model gave", drawn, (5.2, 4.6))


def cost_curve_figure(result: CostCurve) -> str:
    """Draw the cost over all operating conditions."""
    named = in_figure(result.positive)

    def drawn(ax: Any) -> None:
        draw(result, ax=ax)
        ax.set(
            xlabel=f"weight of {named}: how frequent times how dear to miss",
            ylabel="cost, as a share of the worst",
            ylim=(0.0, 1.35 * ax.get_ylim()[1]),  # room for the legend
        )
        _rename(
            ax,
            {
                "best constant act": "always the same act",
                "Bayes rule": "this model",
                "best threshold": "its best threshold, in hindsight",
                "this loss": f"here: {result.operating_cost:.3g}",
            },
        )

    return _svg("costs", "Cost of the decisions over the weight of one class", drawn)


def _rename(ax: Any, words: dict[str, str]) -> None:
    """Write the legend in other words, found by how the old ones begin."""
    place = ax.get_legend()._loc  # noqa: SLF001 - Matplotlib has no other way to ask
    handles, labels = ax.get_legend_handles_labels()
    new = [next(words[start] for start in words if old.startswith(start)) for old in labels]
    ax.legend(handles, new, loc=place, fontsize="small")


def _svg(
    name: str,
    label: str,
    drawn: Callable[[Any], None],
    size: tuple[float, float] = (5.2, 3.6),
) -> str:
    """Draw on new axes and give SVG for the page; the same input gives the same text."""
    try:
        import matplotlib as mpl  # noqa: PLC0415 - an extra, loaded when something is drawn
        from matplotlib.figure import Figure  # noqa: PLC0415
    except ImportError as error:
        raise MissingExtraError(
            "A report has figures, which need Matplotlib. Install the extra: "
            "pip install 'credo[plots]'."
        ) from error
    stream = io.StringIO()
    with mpl.rc_context(), warnings.catch_warnings():
        # The page's letters are used, so it does not matter which ones Matplotlib has.
        warnings.filterwarnings("ignore", message="Glyph .* missing", category=UserWarning)
        mpl.rcdefaults()
        mpl.rcParams.update(_SETTINGS)
        figure = Figure(figsize=size, layout="constrained")
        ax = figure.subplots()
        ax.spines[["top", "right"]].set_visible(False)
        drawn(ax)
        figure.savefig(stream, format="svg", metadata={"Date": None})
    return _for_page(stream.getvalue(), name, label)


def _for_page(svg: str, name: str, label: str) -> str:
    """Cut a file of SVG down to its element, with its own names and the page's colours."""
    text = svg[svg.index("<svg") :].strip()
    for unwanted in ("metadata", "style"):  # the date of making, and rules for the whole page
        text = re.sub(rf"<{unwanted}\b.*?</{unwanted}>\s*", "", text, flags=re.DOTALL)
    head, rest = text.split(">", 1)
    box = re.search(r'viewBox="([^"]*)"', head)
    assert box is not None  # noqa: S101 - Matplotlib always writes it
    inside = re.sub(r"<[^>]*>", lambda tag: _own_tag(tag[0], name), rest)
    title = escape(label, quote=True)
    return f'<svg viewBox="{box[1]}" role="img" aria-label="{title}">{inside}'


def _own_tag(tag: str, name: str) -> str:
    """Give a tag names that no other figure has, and the colours of the page."""
    tag = re.sub(r'\bid="', f'id="{name}-', tag)
    tag = re.sub(r'(?:xlink:)?href="#', f'href="#{name}-', tag)
    tag = tag.replace("url(#", f"url(#{name}-")
    for colour, own in _PAGE_COLOURS.items():
        tag = tag.replace(colour.lower(), own)
    return tag
