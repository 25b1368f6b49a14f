"""``credo predict``: posteriors and acts for every row of a table."""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
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


def predict(
    model: ModelFile,
    tables: TableFiles,
    out: Annotated[
        Path | None,
        typer.Option(
            help="Write to this file: .parquet, .csv, .csv.gz, .arrow or .feather; CSV to the "
            "terminal by default.",
            show_default=False,
        ),
    ] = None,
    keep: Annotated[
        list[str] | None,
        typer.Option(help="Columns to hand through, such as an id: a,b.", show_default=False),
    ] = None,
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
    from credo.cli.table_engines import engine_of
    from credo.cli.table_files import open_model
    from credo.cli.table_options import names_in, source_of
    from credo.cli.table_places import check_place, refuse_inputs
    from credo.cli.table_progress import row_progress
    from credo.cli.table_start import table_command
    from credo.exceptions import InputError

    out = None if out is not None and str(out) == "-" else out
    if out is None and as_json:
        raise InputError("--json prints a summary, and the rows need a place: pass --out.")
    if out is not None:
        check_place(out)
        refuse_inputs(out, {"a table to score": tables, "the model": [model]})
    with table_command():
        known = open_model(model)
        tally = _Tally(known, _loss(known, loss, reject))
        with (
            _written(out) as place,
            engine_of(dask, spark) as engine,
            row_progress("predicting", quiet=quiet) as meter,
        ):
            tally.write(source_of(tables), place, names_in(keep, "--keep"), engine, meter)
    _tell(tally, meter, out, quiet=quiet, as_json=as_json)


def _loss(model: Any, path: Path | None, reject: float | None) -> Any:
    """Give the loss to decide by; None for the model's own, or for a regressor."""
    from credo.cli.table_facts import learner_in
    from credo.cli.table_losses import loss_of, read_loss, refuse_loss

    learner = learner_in(model)
    if path is not None or reject is not None:
        refuse_loss(learner)
    if not hasattr(learner, "classes_"):
        return None
    given = read_loss(path, reject)
    return loss_of(learner.classes_, given, getattr(model, "loss", None), reject, "credo predict")


def _acts(model: Any, loss: Any) -> list[str]:
    """Write the acts there are to choose from, in their order; none for a regressor."""
    from credo.cli.table_facts import learner_in
    from credo.tables.predict import label_text

    known = loss if loss is not None else getattr(model, "loss", None)
    labels = getattr(learner_in(model), "classes_", None)
    acts = known.acts if known is not None else [] if labels is None else labels.tolist()
    return [label_text(act) for act in acts]


class _Tally:
    """Writes scored rows, and counts acts on the way."""

    def __init__(self, model: Any, loss: Any) -> None:
        self.model, self.loss = model, loss
        self.rows = 0
        self.acts: dict[str, int] = dict.fromkeys(_acts(model, loss), 0)
        self.total_risk = 0.0
        self.rejected = 0

    def write(self, source: Any, place: Path, keep: list[str], engine: Any, meter: Any) -> None:
        """Score batch by batch into a file that appears whole."""
        from credo.tables.predict import scored_batches
        from credo.tables.sink import open_sink

        batches = scored_batches(self.model, source, self.loss, tuple(keep), engine, meter)
        first = next(batches)
        with open_sink(place, first.schema) as sink:
            self._take(first, sink)
            for batch in batches:
                self._take(batch, sink)

    def _take(self, batch: Any, sink: Any) -> None:
        """Write a batch and count it."""
        from credo.tables.predict import label_text

        sink.write(batch)
        self.rows += batch.num_rows
        if "act" not in batch.schema.names:
            return
        for pair in batch.column("act").value_counts().to_pylist():
            self.acts[label_text(pair["values"])] += pair["counts"]
        risks = batch.column("expected_loss").to_numpy(zero_copy_only=False)
        self.total_risk += float(risks.sum())
        self.rejected += batch.column("rejected").true_count

    def summary(self) -> dict[str, Any]:
        """Give the counts."""
        found: dict[str, Any] = {"rows": self.rows}
        if self.acts:
            mean = self.total_risk / self.rows if self.rows else None
            found |= {"acts": self.acts, "mean_risk": mean, "rejected": self.rejected}
        return found

    def sentence(self) -> str:
        """Give the same for a person, as credo decide does."""
        rows = "1 row" if self.rows == 1 else f"{self.rows} rows"
        if not self.acts:
            return rows
        shares = ", ".join(f"{act} {count}" for act, count in self.acts.items())
        mean = f"; mean risk {self.total_risk / self.rows:.6g}" if self.rows else ""
        return f"{rows}: {shares}{mean}"


@contextmanager
def _written(out: Path | None) -> Iterator[Path]:
    """Give the file to write to; what is for the terminal goes there when it is complete."""
    from credo.cli.destinations import destination

    if out is not None:
        yield out
        return
    with tempfile.TemporaryDirectory(prefix="credo-") as folder:
        place = Path(folder, "scored.csv")
        yield place
        with place.open(encoding="utf-8", newline="") as rows, destination(None) as stream:
            shutil.copyfileobj(rows, stream)


def _tell(tally: _Tally, meter: Any, out: Path | None, *, quiet: bool, as_json: bool) -> None:
    """Say how many rows got which act."""
    from credo.cli.destinations import say_json

    if as_json:
        say_json({**tally.summary(), **meter.record(), "out": str(out)})
    elif not quiet:
        took = meter.sentence()
        typer.echo(f"{tally.sentence()}; {took}" if took else tally.sentence(), file=sys.stderr)
