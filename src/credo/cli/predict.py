"""``credo predict``: posteriors and acts for every row of a table."""

from __future__ import annotations

from itertools import chain
from typing import Annotated, Any

from credo.cli import _options as given
from credo.cli._console import Wait, check_out, note, say_json
from credo.cli._options import names_in, opt
from credo.cli._rows import count_rows, counts_text, place_for, write_rows
from credo.cli._tables import engine_of, learner_in, loss_of, open_model, source_of
from credo.exceptions import InputError


def predict(
    model: given.ModelFile,
    tables: given.TableFiles,
    loss: given.LossFile = None,
    reject: given.RejectCost = None,
    dask: given.DaskAddress = None,
    spark: given.SparkMaster = None,
    keep: Annotated[
        list[str] | None, opt("Columns to hand through, such as an id: a,b.", given.OUTPUT)
    ] = None,
    out: given.RowsOut = None,
    quiet: given.Quiet = False,
    as_json: given.AsJson = False,
) -> None:
    """Score every row of a table: probabilities, act, expected loss, log density, rejected.

    The table may be larger than the memory. Its columns may be in another order, and more than
    the model knows. The file appears when it is complete.
    """
    roles = {"a table to score": tables, "the model": model, "the loss": loss}
    out = check_out(out, roles, or_stream=True)
    if out is None and as_json:
        raise InputError("--json prints a summary, and the rows need a place: pass --out.")
    kept, record = tuple(names_in(keep, "--keep")), dict[str, Any]()
    with place_for(out) as place, Wait("predicting", quiet=quiet) as wait:
        from credo.tables.predict import label_text, scored_batches

        known = open_model(model)
        used = loss_of(known, loss, reject)
        labels = getattr(learner_in(known), "classes_", None)
        acts = used.acts if used else [] if labels is None else labels.tolist()
        wait.start_clock()
        with engine_of(dask, spark) as engine:
            scored = scored_batches(known, source_of(tables), used, kept, engine, wait.rows)
            first = next(scored)
            every = chain([first], scored)
            batches = count_rows(every, acts, "expected_loss", record, label_text)
            write_rows(place, first.schema, batches)
    if acts:
        reject_act = None if used is None else used.reject
        record["rejected"] = 0 if reject_act is None else record["acts"][label_text(reject_act)]
    if as_json:
        say_json({**record, **wait.record(), "out": str(out)})
    elif not quiet:
        note("; ".join(filter(None, [counts_text(record), wait.sentence()])))
