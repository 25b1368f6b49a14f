"""``write_report``: an evaluation as one page that stands alone."""

from __future__ import annotations

import os
from pathlib import PurePath
from typing import TYPE_CHECKING

from credo._files import written_whole
from credo._version import __version__
from credo.exceptions import InputError
from credo.plots.report_columns import contributions_section, data_section
from credo.plots.report_costs import confusion_section, costs_section, summary_section
from credo.plots.report_html import count, json_block, paragraph, safe
from credo.plots.report_style import STYLE
from credo.plots.report_trust import calibration_section, conditions_section, coverage_section

if TYPE_CHECKING:  # of the room above; a page only reads its numbers
    from credo.tables.evaluate import TableEvaluation

#: Nothing may be loaded and nothing may run; the style is that of the page itself.
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
_LINKS = {
    "summary": "In short",
    "costs": "Costs",
    "confusion": "Decisions",
    "coverage": "Doubtful cases",
    "calibration": "Probabilities",
    "conditions": "Other conditions",
    "columns-matter": "Columns",
    "data": "Data",
}


_PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="generator" content="Credo {version}">
<title>{title}</title>
<style>
{style}
</style>
</head>
<body>
<div class="page">
<header>
<h1>{title}</h1>
{subtitle}
<nav aria-label="Parts of this page"><ul>
{links}
</ul></nav>
</header>
<main>
{body}
</main>
<footer>
<p class="small soft">Made by Credo {version}. A loss is in the units of the table of
losses; a case is a row of the table. All numbers of this page, and more, are inside the file as
JSON, in the element with the id <code>credo-numbers</code>.</p>
</footer>
</div>
{numbers}
</body>
</html>
"""


def write_report(
    evaluation: TableEvaluation, path: str | os.PathLike[str], *, title: str | None = None
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
    MissingExtraError
        If Matplotlib, which draws the figures, is not installed.

    See Also
    --------
    credo.tables.evaluate_table : Makes the evaluation.

    Notes
    -----
    All numbers are in the page as JSON, in the script element with the id ``credo-numbers``, which
    is data and never run. The same evaluation gives the same bytes with the same versions of
    Credo and Matplotlib. About 100 kB.

    Examples
    --------
    >>> import credo, pathlib, tempfile
    >>> import pyarrow as pa
    >>> from credo.plots import write_report
    >>> from credo.tables import evaluate_table
    >>> table = pa.table({"age": [20, 31, 42, 53, 35], "y": ["no", "no", "yes", "yes", "no"]})
    >>> model = credo.fit_table(credo.NaiveBayes(), table, target="y")
    >>> path = pathlib.Path(tempfile.mkdtemp(), "report.html")
    >>> write_report(evaluate_table(model, table), path)
    >>> path.read_text().startswith("<!DOCTYPE html>")
    True
    """
    if not hasattr(evaluation, "measures"):
        raise InputError(
            "write_report needs a TableEvaluation. Got "
            f"{type(evaluation).__name__}. Make one with credo.tables.evaluate_table."
        )
    page = _page(evaluation, title or f"{evaluation.model} on {PurePath(evaluation.source).name}")
    with written_whole(path) as stream:
        stream.write(page)


def _page(result: TableEvaluation, title: str) -> str:
    """Put the page together."""
    body = "\n".join(
        [
            summary_section(result),
            costs_section(result),
            confusion_section(result),
            coverage_section(result),
            calibration_section(result),
            conditions_section(result),
            contributions_section(result),
            data_section(result),
        ]
    )
    links = "\n".join(f'<li><a href="#{name}">{text}</a></li>' for name, text in _LINKS.items())
    subtitle = paragraph(
        f"{safe(result.model)}, evaluated on {count(result.n_rows)} labelled cases of "
        f"{safe(PurePath(result.source).name)}.",
        kind="soft",
    )
    return _PAGE.format(
        policy=_POLICY,
        version=safe(__version__),
        title=safe(title),
        style=STYLE,
        subtitle=subtitle,
        links=links,
        body=body,
        numbers=json_block(result.to_dict()),
    )
