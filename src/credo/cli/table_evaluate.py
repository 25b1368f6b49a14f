"""``credo evaluate``: what the decisions of a model cost on labelled rows."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from credo.cli.options import AsJson
from credo.cli.table_options import (
    DaskAddress,
    LossFile,
    ModelFile,
    Quiet,
    RejectCost,
    SparkMaster,
    TableFiles,
)

#: Classes that are listed on one line.
_MOST_CLASSES = 8


def evaluate(
    model: ModelFile,
    tables: TableFiles,
    loss: LossFile = None,
    reject: RejectCost = None,
    target: Annotated[
        str | None,
        typer.Option(
            help="Column of labels, if it is called otherwise than in the table that was fitted.",
            show_default=False,
        ),
    ] = None,
    weight: Annotated[
        str | None,
        typer.Option(help="Column of weights; rows count the same by default.", show_default=False),
    ] = None,
    report: Annotated[
        Path | None,
        typer.Option(help="Also write a page with figures: report.html.", show_default=False),
    ] = None,
    dask: DaskAddress = None,
    spark: SparkMaster = None,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Measure the decisions and the probabilities of a model on labelled rows.

    Their mean loss is shown next to that of other ways to act: taking the most probable class for
    certain, and always the best single act.
    """
    from credo.cli.table_engines import engine_of
    from credo.cli.table_facts import learner_in
    from credo.cli.table_files import open_model
    from credo.cli.table_losses import loss_of, read_loss
    from credo.cli.table_options import source_of
    from credo.cli.table_places import check_place, refuse_inputs
    from credo.cli.table_progress import row_progress
    from credo.cli.table_start import table_command

    if report is not None:
        check_place(report)
        inputs = {"a table": tables, "the model": [model], "the loss": [loss] if loss else []}
        refuse_inputs(report, inputs)
    with table_command():
        from credo.tables.evaluate import evaluate_table

        known = open_model(model)
        used = None
        if hasattr(learner_in(known), "classes_"):
            own, given = getattr(known, "loss", None), read_loss(loss, reject)
            used = loss_of(learner_in(known).classes_, given, own, reject, "credo evaluate")
        with (
            engine_of(dask, spark) as engine,
            row_progress("evaluating", quiet=quiet) as meter,
        ):
            found = evaluate_table(
                known,
                source_of(tables),
                target=target,
                loss=used,
                weight=weight,
                engine=engine,
                progress=meter,
            )
        if report is not None:
            from credo.plots import write_report

            write_report(found, report)
    _tell(found, report, quiet=quiet, as_json=as_json)


def _tell(found: Any, report: Path | None, *, quiet: bool, as_json: bool) -> None:
    """Print the numbers, or all of them for another program."""
    from credo.cli.destinations import say, say_json

    if as_json:
        say_json({**found.to_dict(), "report": None if report is None else str(report)})
    elif not quiet:
        last = "" if report is None else f"\nThe page is in {report}."
        say(f"{table_of(found)}{last}")


def table_of(found: Any) -> str:
    """Write an evaluation briefly: losses of several ways to act, and the probabilities."""
    from credo.cli.text_tables import columns_table, shown

    measures = found.measures
    outcome, constant = measures.outcome.expected_loss, measures.constant
    acts = columns_table(
        ("", "mean loss", ""),
        [
            ("decisions of the model", _four(outcome.value), _interval(outcome)),
            ("most probable class", *_other(measures.most_probable)),
            (f"always {shown(constant.act)}", *_other(constant)),
        ],
    )
    facts = [
        ("log loss", _four(found.log_loss)),
        ("loss the model expected", _four(found.predicted_loss)),
    ]
    if measures.loss.reject is not None:
        facts.append(("rejected", _percent(found.rejected_share)))
    shares = columns_table(("accuracy of the most probable class", _percent(found.accuracy)), facts)
    return f"{_rows(found)}\n\n{acts}\n\n{shares}"


def _rows(found: Any) -> str:
    """Tell how many rows there are, and of which classes."""
    from credo.cli.text_tables import shown

    counts = [f"{shown(label)} {n}" for label, n in found.class_counts.items()]
    more = "" if len(counts) <= _MOST_CLASSES else f", … ({len(counts)} classes)"
    rows = "1 row" if found.n_rows == 1 else f"{found.n_rows} rows"
    return f"{rows}: {', '.join(counts[:_MOST_CLASSES])}{more}"


def _interval(outcome: Any) -> str:
    """Write the interval of the mean loss."""
    if outcome.low is None or outcome.high is None:
        return ""
    return f"{100 * outcome.level:g} % interval {_four(outcome.low)} to {_four(outcome.high)}"


def _other(other: Any) -> tuple[str, str]:
    """Write the loss of another way to act, and the difference with its standard error."""
    more = "more" if other.saved >= 0 else "less"
    return _four(other.loss), f"{_four(abs(other.saved))} {more} ± {other.standard_error:.2g}"


def _four(value: float) -> str:
    return f"{value:.4g}"


def _percent(share: float) -> str:
    return f"{100 * share:.4g} %"
