"""``credo decide``: acts for a file of probabilities."""

from __future__ import annotations

import json
import math
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, TYPE_CHECKING, Annotated, Any

import typer

from credo.cli import row_files
from credo.cli.destinations import destination

if TYPE_CHECKING:
    from collections.abc import Iterator

    from credo.decisions import Loss
    from credo.tables import Source


def decide(
    probabilities: Annotated[
        str,
        typer.Argument(
            help="CSV (also .gz or .tsv), Parquet, Arrow or Feather: one row per case, column "
            "names are labels. '-' reads the standard input."
        ),
    ],
    loss: Annotated[
        Path,
        typer.Option(
            help="Loss matrix: acts in the first line, a truth at the start of the others."
        ),
    ],
    reject: Annotated[
        float | None, typer.Option(help="Add a reject act with this cost.", show_default=False)
    ] = None,
    keep: Annotated[
        list[str] | None,
        typer.Option(help="Column to hand through to the output, such as an id; repeatable."),
    ] = None,
    normalise: Annotated[
        bool, typer.Option("--normalise", help="Divide each row by its sum, for rounded values.")
    ] = False,
    out: Annotated[
        Path | None, typer.Option(help="Write the acts to this file instead of the terminal.")
    ] = None,
    expected_losses: Annotated[
        bool, typer.Option("--expected-losses", help="Also write each act's expected loss.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> None:
    """Choose the act with the least expected loss for each row of a file.

    The file may be larger than the memory. A bad row is an error that names its line, or its
    number, and then nothing is written.
    """
    import pyarrow as pa

    from credo.cli.table_progress import row_progress
    from credo.decisions import Loss
    from credo.exceptions import InputError

    table = Loss.from_csv(loss)
    if reject is not None:
        if not math.isfinite(reject):
            raise InputError(f"--reject must be a finite cost. Got {reject}.")
        if "reject" in table.acts:
            raise InputError(f"{loss} has an act 'reject' already; leave --reject out.")
        table = table.with_reject(reject)
    out = row_files.checked_out(out)
    types = {str(truth): pa.float64() for truth in table.truths}
    types |= {name: pa.string() for name in keep or ()}
    with (
        destination(out) as stream,
        row_progress("deciding") as progress,
        row_files.open_rows(probabilities, types) as rows,
    ):
        job = _Job(rows, table, tuple(keep or ()), expected_losses, normalise)
        job.write(stream, progress, as_json=as_json and out is None)
    if as_json and out is not None:
        typer.echo(json.dumps({**job.summary(), "out": str(out)}))
    elif not as_json:
        typer.echo(job.sentence(), err=True)


@dataclass
class _Job:
    """One run over a file: what is counted on the way and how rows are written."""

    rows: Source
    loss: Loss
    keep: tuple[str, ...]
    expected_losses: bool
    normalise: bool
    n_rows: int = 0
    total_risk: float = 0.0
    counts: Counter[Any] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self.columns = _probability_columns(self.rows, self.loss, self.keep)
        losses = [f"loss of {act}" for act in self.loss.acts] if self.expected_losses else []
        self.names = [*self.keep, "act", "risk", *losses]
        row_files.refuse_twice(self.names)
        self.counts.update(dict.fromkeys(self.loss.acts, 0))

    def write(self, stream: IO[str], progress: Any, *, as_json: bool) -> None:
        """Decide batch by batch and write rows as CSV, or as one JSON object."""
        if not as_json:
            writer = row_files.RowWriter(stream, self.names, self.loss.acts)
            for kept, lines in self._decided(progress):
                writer.write(lines, kept)
            return
        stream.write('{"decisions": [')
        for _, lines in self._decided(progress):
            records = (json.dumps(dict(zip(self.names, line, strict=True))) for line in lines)
            stream.write((", " if self.n_rows > len(lines) else "") + ", ".join(records))
        stream.write(f"], {json.dumps(self.summary())[1:]}\n")

    def _decided(self, progress: Any) -> Iterator[tuple[list[list[str]], list[list[Any]]]]:
        """Decide each batch, count, and name the place of a bad row; with the kept cells."""
        import pyarrow as pa

        from credo import _checks as check
        from credo.decisions import decide

        wanted = dict.fromkeys([*self.columns, *self.keep])
        for batch in self.rows.batches(list(wanted), progress):
            found = [row_files.cast_column(batch, name, pa.float64()) for name in self.columns]
            whole = pa.RecordBatch.from_arrays(found, names=list(self.columns))
            values = whole.to_tensor(null_to_nan=True).to_numpy()  # of columns it would load pandas
            bad = check.first_wrong_row(values, normalise=self.normalise)
            if bad is not None:
                empty = [n for n in self.columns if not batch.column(n)[bad].is_valid]
                remedy = "" if self.normalise else "Pass --normalise if the values are rounded."
                fault = check.row_fault(
                    values[bad], remedy, normalise=self.normalise, names=self.columns
                )
                reason = f"column {empty[0]!r} is empty." if empty else f"the row {fault}"
                raise self.rows.fault_at(reason, self.n_rows + bad + 1)
            if self.normalise:
                values = values / values.sum(axis=1, keepdims=True)
            choice = decide(values, self.loss, labels=self.columns)
            self.counts.update(choice.counts())
            self.n_rows += choice.n_rows
            self.total_risk += float(choice.risk.sum())
            kept = row_files.as_texts(batch, self.keep)
            losses = choice.expected_losses.tolist() if self.expected_losses else [[]] * len(kept)
            answers = zip(kept, choice.acts.tolist(), choice.risk.tolist(), losses, strict=True)
            yield kept, [[*cells, act, risk, *each] for cells, act, risk, each in answers]

    def summary(self) -> dict[str, Any]:
        """Return the counts and the mean risk."""
        mean = self.total_risk / self.n_rows if self.n_rows else None
        return {"rows": self.n_rows, "acts": self.counts, "mean_risk": mean}

    def sentence(self) -> str:
        """Return the same for a person."""
        shares = ", ".join(f"{act} {count}" for act, count in self.counts.items())
        mean = f"; mean risk {self.total_risk / self.n_rows:.6g}" if self.n_rows else ""
        rows = "1 row" if self.n_rows == 1 else f"{self.n_rows} rows"
        return f"{rows}: {shares}{mean}"


def _probability_columns(rows: Source, loss: Loss, keep: tuple[str, ...]) -> tuple[str, ...]:
    """Match the header with the loss's truths; what is neither truth nor kept is an error."""
    from credo import _checks as check
    from credo.exceptions import InputError, LabelError
    from credo.tables.arrow import is_number

    header = tuple(rows.schema.names)
    for name in keep:
        check.position(name, header, "column", rows.name)
    columns = tuple(name for name in header if name not in keep)
    try:
        loss.rows_for(columns, rows.name)
    except LabelError as error:
        extra = [name for name in columns if name not in loss.truths]
        advice = f" Pass --keep {extra[0]!r} to hand a column through." if extra else ""
        raise LabelError(f"{error}{'' if set(columns) == set(loss.acts) else advice}") from None
    for name in columns:
        kind = rows.schema.field(name).type
        if not is_number(kind):
            raise InputError(f"Column {name!r} of {rows.name} must hold numbers. Got {kind}.")
    return columns
