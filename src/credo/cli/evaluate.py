"""``credo evaluate``: what the decisions of a model cost on labelled rows."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from credo.cli import _options as given
from credo.cli._console import Wait, check_out, plural, say, say_json, shown, table_text
from credo.cli._options import opt
from credo.cli._tables import (
    MOST_CLASSES,
    classes_text,
    engine_of,
    listed,
    loss_of,
    open_model,
    source_of,
)
from credo.exceptions import InputError

_TARGET = "Column of labels, if it is called otherwise than in the table that was fitted."
_WEIGHT = "Column of weights; rows count the same by default."
_REPORT = "Also write a page with figures: report.html."


def evaluate(
    model: given.ModelFile,
    tables: given.TableFiles,
    target: Annotated[str | None, opt(_TARGET, given.READ)] = None,
    weight: Annotated[str | None, opt(_WEIGHT, given.READ)] = None,
    loss: given.LossFile = None,
    reject: given.RejectCost = None,
    dask: given.DaskAddress = None,
    spark: given.SparkMaster = None,
    report: Annotated[Path | None, opt(_REPORT, given.OUTPUT)] = None,
    quiet: given.Quiet = False,
    as_json: given.AsJson = False,
) -> None:
    """Measure the decisions and the probabilities of a model on labelled rows.

    Their mean loss is shown next to that of other ways to act: taking the most probable class for
    certain, and always the best single act.
    """
    check_out(report, {"a table": tables, "the model": model, "the loss": loss})
    if report is not None and report.suffix.lower() not in {".html", ".htm"}:
        raise InputError(f"--report writes HTML. Name it {report.with_suffix('.html')}.")
    with Wait("evaluating", quiet=quiet) as wait:
        from credo.tables import evaluate_table

        known = open_model(model)
        wait.start_clock()
        with engine_of(dask, spark) as engine:
            found = evaluate_table(
                known,
                source_of(tables),
                target=target,
                loss=loss_of(known, loss, reject, more=True),
                weight=weight,
                engine=engine,
                progress=wait.rows,
            )
        if report is not None:
            from credo.plots import write_report

            write_report(found, report)
    record = {**found.to_dict(), "report": report and str(report)}
    if as_json:
        say_json(record)
    elif not quiet:
        say(_text(record))


def _text(record: dict[str, Any]) -> str:
    """Write an evaluation briefly: losses of several ways to act, and the probabilities."""
    rows = plural(record["n_rows"], "row")
    classes = dict(zip(record["classes"], record["class_counts"], strict=True))
    told = classes_text({"classes": record["classes"], "class_weights": classes}, MOST_CLASSES)
    own, others = record["expected_loss"], record["alternatives"]
    interval = ""
    if own["low"] is not None and own["high"] is not None:
        interval = f"{100 * own['level']:g} % interval {own['low']:.4g} to {own['high']:.4g}"
    acts = [("", "mean loss", ""), ("decisions of the model", f"{own['value']:.4g}", interval)]
    names = {
        "most_probable": "most probable class",
        "constant": f"always {others['constant']['act']}",
    }
    for which, name in names.items():
        other = others[which]
        more = f"{abs(other['saved']):.4g} {'more' if other['saved'] >= 0 else 'less'}"
        acts.append((name, f"{other['loss']:.4g}", f"{more} ± {other['standard_error']:.2g}"))
    facts = [
        ("accuracy of the most probable class", f"{100 * record['accuracy']:.4g} %"),
        ("log loss", "infinite" if record["log_loss"] is None else f"{record['log_loss']:.4g}"),
        ("loss the model expected", f"{record['predicted_loss']:.4g}"),
    ]
    if record["unseen"]:
        unseen = listed((f"{shown(a)} {n}" for a, n in record["unseen"].items()), MOST_CLASSES)
        facts.append(("rows with labels unseen in fit", unseen))
    if record["loss"]["reject"] is not None:
        facts.append(("rejected", f"{100 * record['rejected_share']:.4g} %"))
    page = "" if record["report"] is None else f"\nThe page is in {record['report']}."
    return f"{rows}: {told}\n\n{table_text(acts)}\n\n{table_text(facts)}{page}"
