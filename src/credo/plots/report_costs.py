"""The parts of a report about decisions: what they cost, and who got which."""

from __future__ import annotations

from typing import TYPE_CHECKING

from credo.plots.report_html import (
    SIDE,
    Cell,
    Row,
    amount,
    bar,
    count,
    note,
    paragraph,
    safe,
    section,
    share,
    table,
    with_error,
)

if TYPE_CHECKING:  # of the room above; a page only reads its numbers
    from credo.tables.evaluate import Alternative, Measures, TableEvaluation

#: Classes whose table of losses or of counts still fits on a page.
_MOST_CLASSES = 40
_AT_END = "It is among the numbers at the end of this file."


def summary_section(result: TableEvaluation) -> str:
    """Say in a few sentences what was found."""
    found = result.measures
    return section(
        "summary",
        "In short",
        paragraph(_mean_loss(result), _against_most_probable(found)),
        paragraph(_against_constant(found), _asked(result)),
        paragraph(_promise(result)),
        _warning(found),
        _tiles(result),
        _loss_table(found),
    )


def costs_section(result: TableEvaluation) -> str:
    """Compare the decisions with other ways to act."""
    found = result.measures
    lost = result.mean_loss
    ways: list[tuple[str, float, Alternative | None]] = [
        ("decisions of this model", lost, None),
        ("always the most probable class", found.most_probable.loss, found.most_probable),
        (f"always “{safe(found.constant.act)}”", found.constant.loss, found.constant),
        ("knowing the truth", found.informed.loss, found.informed),
    ]
    low, high = min(0.0, *(loss for _, loss, _ in ways)), max(0.0, *(loss for _, loss, _ in ways))
    rows: list[Row] = [
        (
            name,
            [
                amount(loss),
                bar(loss, low, high, "other" if other else ""),
                "" if other is None else _saved(other),
            ],
        )
        for name, loss, other in ways
    ]
    head = ["way to decide", "mean loss", "", "saved by this model, per case"]
    return section(
        "costs",
        "What the decisions cost",
        paragraph(
            "Each row of this table is a way to decide the same cases. “Always the most probable "
            "class” ignores what mistakes cost. “Knowing the truth” is the floor that no model can "
            "get below. The last column compares case by case; ± is a 95&nbsp;% interval."
        ),
        table("Mean loss per case", head, rows, "bars"),
        _by_act(result),
    )


def confusion_section(result: TableEvaluation) -> str:
    """Show who got which decision."""
    confusion = result.measures.outcome.confusion
    title = "Who got which decision"
    if len(confusion.truths) > _MOST_CLASSES:
        return section(
            "confusion", title, paragraph(f"The table is too large for a page. {_AT_END}")
        )
    has_reject = confusion.reject is not None
    kinds = ["asked" if has_reject and act == confusion.reject else "" for act in confusion.acts]
    shares = confusion.normalised("truth").tolist()
    rows = [
        (safe(truth), [_count_cell(*cell) for cell in zip(counts, part, kinds, strict=True)])
        for truth, counts, part in zip(
            confusion.truths, confusion.counts.tolist(), shares, strict=True
        )
    ]
    person = (
        f"The column “{safe(confusion.reject)}” holds the cases that are left to a person."
        if has_reject
        else ""
    )
    return section(
        "confusion",
        title,
        paragraph(
            "Rows are what the cases really were, columns what was decided. Percentages are shares "
            "of the row.",
            person,
        ),
        table(
            "Number of cases by truth and decision",
            ["truth", *(safe(act) for act in confusion.acts)],
            rows,
            "cells",
        ),
        paragraph(_right(result)),
    )


def _mean_loss(result: TableEvaluation) -> str:
    """Say what a case cost."""
    lost = result.measures.outcome.expected_loss
    interval = (
        ""
        if lost.low is None or lost.high is None
        else f" (95&nbsp;% interval {amount(lost.low)} to {amount(lost.high)})"
    )
    return (
        f"The model was tried on {count(result.n_rows)} cases whose truth is known. Under the "
        "table of losses below, its decisions cost "
        f"<strong>{amount(lost.value)}</strong> per case on average{interval}."
    )


def _against_most_probable(found: Measures) -> str:
    """Compare with going by the most probable class."""
    other = found.most_probable
    if other.saved == 0 and other.standard_error == 0:
        return "Going by the most probable class leads to the same decisions."
    verb = "saved" if other.saved >= 0 else "cost another"
    ratio = f" ({share(abs(other.saved) / other.loss)})" if other.loss > 0 else ""
    chance = "" if _is_clear(other) else ", a difference that may be chance"
    return (
        "Simply predicting the most probable class would have cost "
        f"{amount(other.loss)}: weighing the losses {verb} "
        f"<strong>{amount(abs(other.saved))}</strong> per case{ratio}{chance}."
    )


def _against_constant(found: Measures) -> str:
    """Compare with the best single act."""
    other = found.constant
    said = (
        f"Without a model, the best single decision for all cases is “{safe(other.act)}”, at "
        f"{amount(other.loss)} per case"
    )
    if other.saved <= 0:
        return f"{said}."
    ratio = f" ({share(other.saved / other.loss)})" if other.loss > 0 else ""
    chance = "" if _is_clear(other) else ", a difference that may be chance"
    return f"{said}: the model saved {amount(other.saved)}{ratio}{chance}."


def _asked(result: TableEvaluation) -> str:
    """Say how often a person is asked."""
    confusion = result.measures.outcome.confusion
    if confusion.reject is None:
        return "There is no way to say “ask a person” in this table of losses."
    asked = confusion.counts[:, confusion.acts.index(confusion.reject)].sum()
    return (
        f"The model left <strong>{share(result.rejected_share)}</strong> of the cases to a person "
        f"(“{safe(confusion.reject)}”, {count(asked)} of {count(confusion.counts.sum())})."
    )


def _promise(result: TableEvaluation) -> str:
    """Compare the loss with what the model expected."""
    lost, own = result.measures.outcome.expected_loss, result.predicted_loss
    said = f"The model itself expected {amount(own)} per case."
    if lost.low is None or lost.high is None:
        return said
    if own < lost.low:
        return f"{said} It came dearer: the probabilities are surer than they should be."
    if own > lost.high:
        return f"{said} It came cheaper: the probabilities are less sure than they could be."
    return f"{said} That is within the interval: its probabilities fit what came."


def _warning(found: Measures) -> str:
    """Say so if the model does not pay."""
    if found.constant.saved >= 0:
        return ""
    chance = "" if _is_clear(found.constant) else " The difference may be chance."
    return note(
        f"Under these losses the model does not pay: always to decide “{safe(found.constant.act)}” "
        f"costs {amount(-found.constant.saved)} less per case.{chance}"
    )


def _is_clear(other: Alternative) -> bool:
    """Tell whether a difference is beyond its 95 % interval."""
    return abs(other.saved) > SIDE * other.standard_error


def _tiles(result: TableEvaluation) -> str:
    """Show the four numbers that everyone asks for."""
    found = result.measures
    tiles = [
        ("mean loss per case", amount(result.mean_loss)),
        ("saved against the most probable class", amount(found.most_probable.saved)),
        ("right, going by the most probable class", share(result.accuracy)),
    ]
    if found.loss.reject is not None:
        tiles.insert(2, ("left to a person", share(result.rejected_share)))
    items = "\n".join(
        f'<div class="tile"><dt>{name}</dt><dd class="value">{value}</dd></div>'
        for name, value in tiles
    )
    return f'<dl class="tiles">\n{items}\n</dl>'


def _loss_table(found: Measures) -> str:
    """Show the losses."""
    loss = found.loss
    if len(loss.truths) > _MOST_CLASSES:
        return paragraph(f"The table of losses is too large for a page. {_AT_END}")
    rows = [
        (safe(truth), [Cell(amount(value)) for value in row])
        for truth, row in zip(loss.truths, loss.matrix.tolist(), strict=True)
    ]
    head = ["if it is", *(f"decide “{safe(act)}”" for act in loss.acts)]
    return "<h3>The table of losses</h3>" + table(
        "What a decision (column) costs if the case is of a class (row)", head, rows, "cells"
    )


def _saved(other: Alternative) -> str:
    """Write what was saved, with its interval."""
    return with_error(other.saved, SIDE * other.standard_error)


def _by_act(result: TableEvaluation) -> str:
    """Show promise and outcome of each decision."""
    rows = [
        (
            f"“{safe(entry.act)}”",
            [share(entry.share), amount(entry.predicted), amount(entry.actual)],
        )
        for entry in result.measures.outcome.by_act[:_MOST_CLASSES]
    ]
    head = ["decision", "share of the cases", "loss the model expected", "loss that came"]
    return "<h3>Decision by decision</h3>" + table("Mean loss per case", head, rows, "plain")


def _count_cell(number: float, part: float, kind: str) -> Cell:
    """Make a cell darker the larger its share of the row."""
    # Beyond half, letters would be hard to read on the shade.
    style = f"background:rgb(var(--shade) / {0.5 * part:.3f})"
    text = f'{count(number)}<span class="part">{share(part)}</span>'
    return Cell(text, kind, style)


def _right(result: TableEvaluation) -> str:
    """Say how often decisions were right, where that means something."""
    confusion = result.measures.outcome.confusion
    if confusion.accuracy is None:
        return ""
    of = "the decisions" if confusion.reject is None else "the cases the model decided itself"
    return f"Of {of}, {share(confusion.accuracy)} were right."
