"""The parts of a report about the table itself: what columns tell, and what is in them."""

from __future__ import annotations

from math import isfinite
from pathlib import PurePath
from typing import TYPE_CHECKING

from credo.plots.report_html import (
    SIDE,
    Cell,
    Row,
    amount,
    bar,
    count,
    name,
    paragraph,
    safe,
    section,
    share,
    table,
    with_error,
)

if TYPE_CHECKING:  # of the room above; a page only reads its numbers
    from credo.tables.column_report import ColumnSummary, Contributions
    from credo.tables.evaluate import TableEvaluation

#: Columns that are listed; the rest is among the numbers.
_MOST_COLUMNS = 60
_HOW = {
    "hidden": (
        "Each column is hidden in turn, and the model answers without it, exactly, as it does for "
        "a missing value."
    ),
    "shuffled": (
        "The values of each column are dealt out to other cases in turn, because this model needs "
        "a value in every column."
    ),
}


def contributions_section(result: TableEvaluation) -> str:
    """Show what each column tells."""
    found, title = result.contributions, "Which columns matter"
    if found.words:
        return section("columns-matter", "Which words matter", *_words(found))
    if found.how is None:
        left_out = paragraph(f"This part is left out. {safe(found.reason)}")
        return section("columns-matter", title, left_out)
    left_out = (
        f"{count(found.n_left_out)} rows whose truth the model called impossible are left out."
        if found.n_left_out
        else ""
    )
    return section(
        "columns-matter",
        title,
        paragraph(
            _HOW[found.how],
            "The bar is the rise of the mean log loss: how much more surprised the model is by the "
            "truth when it does not know the column. A column that tells the same as another one "
            "has a short bar. Below zero, in orange: on this table the model does better without "
            "the column.",
        ),
        paragraph(
            f"Measured on {_sampled(result)}; ± is a 95&nbsp;% interval.",
            left_out,
            kind="small soft",
        ),
        _rises(found),
        _more(len(found.columns)),
    )


def _rises(found: Contributions) -> str:
    """List columns with their bars."""
    shown = found.columns[:_MOST_COLUMNS]
    low, high = min(0.0, *(c.rise for c in shown)), max(0.0, *(c.rise for c in shown))
    rows: list[Row] = [
        (
            name(each.name),
            [
                bar(each.rise, low, high, "less" if each.rise < 0 else ""),
                with_error(each.rise, SIDE * each.standard_error),
            ],
        )
        for each in shown
    ]
    return table("Rise of the log loss without the column", ["column", "", "rise"], rows, "bars")


def _sampled(result: TableEvaluation) -> str:
    """Say which rows were looked at."""
    found = result.contributions
    if found.n_sample + found.n_left_out == result.n_rows:
        return f"all {count(result.n_rows)} rows"
    return f"{count(found.n_sample)} rows, drawn at random"


def data_section(result: TableEvaluation) -> str:
    """Show classes and columns."""
    counts = result.class_counts
    rows: list[Row] = [
        (safe(label), [count(n), bar(n / result.n_rows, 0.0, 1.0), share(n / result.n_rows)])
        for label, n in list(counts.items())[:_MOST_COLUMNS]
    ]
    weighed = (
        f" Rows are weighted by column “{safe(result.weight)}”; the counts here are not."
        if result.weight is not None
        else ""
    )
    return section(
        "data",
        "The data",
        paragraph(
            f"{count(result.n_rows)} rows of {safe(PurePath(result.source).name)}, labelled in "
            f"column “{safe(result.target)}”.{weighed}"
        ),
        table("Classes", ["class", "rows", "", "share"], rows, "bars"),
        _numbers([c for c in result.columns if c.kind in ("number", "text")]),
        _others([c for c in result.columns if c.kind in ("category", "code", "boolean")]),
    )


def _words(found: Contributions) -> list[str]:
    """List the words of each class, with their weights."""
    labels = list(dict.fromkeys(each.label for each in found.words))
    parts = [
        paragraph(
            "These words speak most for each class: frequent in it, and more frequent than "
            "elsewhere. The number is what one more occurrence adds to the log odds of the class "
            "against the others."
        )
    ]
    for label in labels[:_MOST_COLUMNS]:
        own = [each for each in found.words if each.label == label]
        high = max((w.weight for w in own if isfinite(w.weight)), default=1.0)
        rows: list[Row] = [
            (safe(w.word), [bar(min(w.weight, high), 0.0, high), amount(w.weight)]) for w in own
        ]
        caption = f"Words for “{safe(label)}”"
        parts.append(table(caption, ["word", "", "log odds"], rows, "bars"))
    return parts


def _numbers(columns: list[ColumnSummary]) -> str:
    """Describe columns of numbers, and of text by its length."""
    if not columns:
        return ""
    head = ["column", "missing", "mean", "standard deviation", "least", "greatest", "shift"]
    rows = [
        (name(each.name) + (" (characters)" if each.kind == "text" else ""), _number_cells(each))
        for each in columns[:_MOST_COLUMNS]
    ]
    moved = paragraph(
        "Shift: how far the mean has moved since the model was fitted, in standard deviations of "
        "then. Beyond about 0.5 to either side, ask whether these are still the same kind of "
        "cases.",
        kind="small soft",
    )
    described = table("Numbers", head, rows, "plain")
    return "<h3>Columns of numbers</h3>" + described + _after(columns, moved)


def _number_cells(each: ColumnSummary) -> list[str]:
    """Write what is in a column of numbers."""
    numbers = (each.mean, each.deviation, each.least, each.greatest, each.shift)
    return [_missing(each), *map(_amount, numbers)]


def _others(columns: list[ColumnSummary]) -> str:
    """Describe columns of categories and of truth values."""
    if not columns:
        return ""
    frequent = Cell("most frequent", "text")
    head: list[Cell | str] = ["column", "missing", "values", frequent, "never seen before", "shift"]
    rows = [(name(each.name), _category_cells(each)) for each in columns[:_MOST_COLUMNS]]
    moved = paragraph(
        "Shift: the share of the cases that would have to change their value to look like the rows "
        "that the model was fitted to.",
        kind="small soft",
    )
    described = table("Categories", head, rows, "plain")
    return "<h3>Columns of categories</h3>" + described + _after(columns, moved)


def _after(columns: list[ColumnSummary], moved: str) -> str:
    """Say what a shift is, if one is known, and how many columns are left out."""
    known = any(each.shift is not None for each in columns)
    return (moved if known else "") + _more(len(columns))


def _category_cells(each: ColumnSummary) -> list[Cell | str]:
    """Write what is in a column of categories or truth values."""
    present = each.n_rows - each.n_missing
    if each.kind == "boolean":
        yes = "" if each.mean is None else f"true {share(each.mean)}"
        return [_missing(each), "2", Cell(yes, "text"), "", _amount(each.shift)]
    pairs = [f"{safe(value)}&nbsp;{share(n / present)}" for value, n in each.most_frequent]
    unknown = "" if each.n_unknown is None else count(each.n_unknown)
    moved = "" if each.shift is None else share(each.shift)
    n_values = "over 10,000" if each.n_values is None else count(each.n_values)
    return [_missing(each), n_values, Cell(", ".join(pairs), "text"), unknown, moved]


def _missing(each: ColumnSummary) -> str:
    """Write how many values are missing."""
    if not each.n_missing:
        return "0"
    return f"{count(each.n_missing)} ({share(each.n_missing / each.n_rows)})"


def _amount(value: float | None) -> str:
    """Write a number, or nothing."""
    return "" if value is None else amount(value)


def _more(n_columns: int) -> str:
    """Say that not all columns are listed."""
    if n_columns <= _MOST_COLUMNS:
        return ""
    return paragraph(
        f"{count(n_columns - _MOST_COLUMNS)} more are among the numbers at the end of this file.",
        kind="small soft",
    )
