"""``credo predict``: posteriors and acts for every row of a table."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import Annotated, Any

from credo.cli._console import Wait, check_out, destination, note, plural, say_json
from credo.cli._options import (
    AsJson,
    DaskAddress,
    LossFile,
    ModelFile,
    Quiet,
    RejectCost,
    SparkMaster,
    TableFiles,
    names_in,
    opt,
)
from credo.cli._tables import engine_of, learner_in, loss_of, open_model, source_of
from credo.exceptions import InputError


def predict(
    model: ModelFile,
    tables: TableFiles,
    out: Annotated[
        Path | None,
        opt(
            "Write to this file: .parquet, .csv, .csv.gz, .arrow or .feather; CSV to the terminal "
            "by default."
        ),
    ] = None,
    keep: Annotated[list[str] | None, opt("Columns to hand through, such as an id: a,b.")] = None,
    loss: LossFile = None,
    reject: RejectCost = None,
    dask: DaskAddress = None,
    spark: SparkMaster = None,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Score every row of a table: probabilities, act, expected loss, log density, rejected.

    The table may be larger than the memory. Its columns may be in another order, and more than
    the model knows. The file appears when it is complete.
    """
    out = None if str(out) == "-" else out
    if out is None and as_json:
        raise InputError("--json prints a summary, and the rows need a place: pass --out.")
    check_out(out, {"a table to score": tables, "the model": model, "the loss": loss})

    from credo.tables.predict import label_text, scored_batches

    known = open_model(model)
    used = loss_of(known, loss, reject)
    labels = getattr(learner_in(known), "classes_", None)
    acts = used.acts if used else [] if labels is None else labels.tolist()
    record: dict[str, Any] = {"rows": 0}
    if acts:
        record |= {"acts": {label_text(act): 0 for act in acts}, "mean_risk": 0.0, "rejected": 0}
    kept = tuple(names_in(keep, "--keep"))
    with (
        _written(out) as place,
        engine_of(dask, spark) as engine,
        Wait("predicting", quiet=quiet) as wait,
    ):
        scored = scored_batches(known, source_of(tables), used, kept, engine, wait.rows)
        _write(scored, place, record)
    if as_json:
        say_json({**record, **wait.record(), "out": str(out)})
    elif not quiet:
        note("; ".join(filter(None, [_text(record), wait.sentence()])))


def _write(batches: Iterator[Any], place: Path, record: dict[str, Any]) -> None:
    """Write scored rows to a file, and count them in the record."""
    from credo.tables import open_sink
    from credo.tables.predict import label_text

    first = next(batches)
    with open_sink(place, first.schema) as sink:
        for batch in chain([first], batches):
            sink.write(batch)
            record["rows"] += batch.num_rows
            if "acts" in record:
                for pair in batch.column("act").value_counts().to_pylist():
                    record["acts"][label_text(pair["values"])] += pair["counts"]
                risks = batch.column("expected_loss").to_numpy(zero_copy_only=False)
                record["mean_risk"] += float(risks.sum())
                record["rejected"] += batch.column("rejected").true_count
    if "acts" in record:
        record["mean_risk"] = record["mean_risk"] / record["rows"] if record["rows"] else None


def _text(record: dict[str, Any]) -> str:
    """Write the record in a line, as credo decide does."""
    rows = plural(record["rows"], "row")
    if "acts" not in record:
        return rows
    acts = ", ".join(f"{act} {count}" for act, count in record["acts"].items())
    mean = record["mean_risk"]
    return f"{rows}: {acts}" + ("" if mean is None else f"; mean risk {mean:.6g}")


@contextmanager
def _written(out: Path | None) -> Iterator[Path]:
    """Return the file to write to; what is for the terminal goes there when it is complete."""
    if out is not None:
        yield out
        return
    with tempfile.TemporaryDirectory(prefix="credo-") as folder:
        place = Path(folder, "scored.csv")
        yield place
        with place.open(encoding="utf-8", newline="") as rows, destination(None) as stream:
            shutil.copyfileobj(rows, stream)
