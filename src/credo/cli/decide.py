"""``credo decide``: acts for a file of probabilities."""

from __future__ import annotations

import csv
import json
import math
from pathlib import Path
from typing import IO, TYPE_CHECKING, Annotated, Any

import typer

from credo.cli.destinations import destination

if TYPE_CHECKING:
    from collections.abc import Iterator

    from credo.decisions import Decisions, Loss
    from credo.tables import CsvRows, RowBlock


def decide(
    probabilities: Annotated[
        str,
        typer.Argument(
            help="Comma-separated file, one row per case; column names are labels. "
            "'.gz' is unpacked, '-' reads the standard input."
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

    The file may be larger than the memory. A bad row is an error that names its line, and then
    nothing is written.
    """
    from credo.cli.progress import file_progress
    from credo.decisions import Loss
    from credo.exceptions import InputError
    from credo.tables import open_csv

    table = Loss.from_csv(loss)
    if reject is not None:
        if not math.isfinite(reject):
            raise InputError(f"--reject must be a finite cost. Got {reject}.")
        if "reject" in table.acts:
            raise InputError(f"{loss} has an act 'reject' already; leave --reject out.")
        table = table.with_reject(reject)
    if out is not None and out.suffix == ".gz":
        raise InputError(f"--out writes plain text. Name it {out.with_suffix('')}.")
    out = None if out is not None and str(out) == "-" else out
    with (
        destination(out) as stream,
        file_progress("deciding") as progress,
        open_csv(probabilities, progress) as rows,
    ):
        job = _Job(rows, table, tuple(keep or ()), expected_losses, normalise)
        job.write(stream, as_json=as_json and out is None)
    if as_json and out is not None:
        typer.echo(json.dumps({**job.summary(), "out": str(out)}))
    elif not as_json:
        typer.echo(job.sentence(), err=True)


class _Job:
    """One run over a file: what is counted on the way and how rows are written."""

    def __init__(
        self,
        rows: CsvRows,
        loss: Loss,
        keep: tuple[str, ...],
        expected_losses: bool,
        normalise: bool,
    ) -> None:
        self.rows = rows
        self.loss = loss
        self.keep = keep
        self.expected_losses = expected_losses
        self.normalise = normalise
        self.columns = _probability_columns(rows, loss, keep)
        self.names = _output_names(loss, keep, expected_losses=expected_losses)
        self.counts = dict.fromkeys(loss.acts, 0)
        self.n_rows = 0
        self.total_risk = 0.0

    def write(self, stream: IO[str], *, as_json: bool) -> None:
        """Decide block by block and write rows as CSV, or as one JSON object."""
        names = self.names
        writer = csv.writer(stream, lineterminator="\n")
        careful = csv.writer(stream, lineterminator="\n", quoting=csv.QUOTE_NONNUMERIC)
        odd = any("\r" in str(name) for name in (*names, *self.loss.acts))
        if as_json:
            stream.write('{"decisions": [')
        else:
            (careful if odd else writer).writerow(names)
        for block, choice in self._decided():
            lines = self._lines(block, choice)
            if as_json:
                comma = ", " if self.n_rows > choice.n_rows else ""
                records = [json.dumps(dict(zip(names, line, strict=True))) for line in lines]
                stream.write(comma + ", ".join(records))
            else:  # a carriage return is only quoted by a writer that quotes all text
                inside = odd or any("\r" in cell for row in block.texts for cell in row)
                (careful if inside else writer).writerows(lines)
        if as_json:
            stream.write(f"], {json.dumps(self.summary())[1:]}\n")

    def _decided(self) -> Iterator[tuple[RowBlock, Decisions]]:
        """Decide each block, count, and name the line of a bad row."""
        from credo._validation.probabilities import first_wrong_row, row_fault
        from credo.decisions import decide
        from credo.exceptions import FileFormatError

        for block in self.rows.blocks(self.columns, self.keep):
            values = block.values
            bad = first_wrong_row(values, normalise=self.normalise)
            if bad is not None:
                remedy = "" if self.normalise else "Pass --normalise if the values are rounded."
                fault = row_fault(values[bad], remedy, normalise=self.normalise, names=self.columns)
                raise FileFormatError(f"the row {fault}", self.rows.name, block.lines[bad])
            if self.normalise:
                values /= values.sum(axis=1, keepdims=True)
            choice = decide(values, self.loss, labels=self.columns)
            for act, count in choice.counts().items():
                self.counts[act] += count
            self.n_rows += choice.n_rows
            self.total_risk += float(choice.risk.sum())
            yield block, choice

    def _lines(self, block: RowBlock, choice: Decisions) -> Iterator[list[Any]]:
        """Put together the output rows of one block."""
        extra = choice.expected_losses.tolist() if self.expected_losses else None
        for i, (kept, act, risk) in enumerate(
            zip(block.texts, choice.acts.tolist(), choice.risk.tolist(), strict=True)
        ):
            yield [*kept, act, risk, *(extra[i] if extra else ())]

    def summary(self) -> dict[str, Any]:
        """Give the counts and the mean risk."""
        mean = self.total_risk / self.n_rows if self.n_rows else None
        return {"rows": self.n_rows, "acts": self.counts, "mean_risk": mean}

    def sentence(self) -> str:
        """Give the same for a person."""
        shares = ", ".join(f"{act} {count}" for act, count in self.counts.items())
        mean = f"; mean risk {self.total_risk / self.n_rows:.6g}" if self.n_rows else ""
        rows = "1 row" if self.n_rows == 1 else f"{self.n_rows} rows"
        return f"{rows}: {shares}{mean}"


def _probability_columns(rows: CsvRows, loss: Loss, keep: tuple[str, ...]) -> tuple[Any, ...]:
    """Match the header with the loss's truths; what is neither truth nor kept is an error."""
    from credo._validation.labels import position
    from credo.decisions.loss_matching import rows_for
    from credo.exceptions import LabelError

    for name in keep:
        position(name, rows.header, rows.name, "column")
    columns = tuple(name for name in rows.header if name not in keep)
    try:
        rows_for(loss, columns, rows.name)
    except LabelError as error:
        extra = [name for name in columns if name not in loss.truths]
        advice = f" Pass --keep {extra[0]!r} to hand a column through." if extra else ""
        raise LabelError(f"{error}{'' if set(columns) == set(loss.acts) else advice}") from None
    return columns


def _output_names(loss: Loss, keep: tuple[str, ...], *, expected_losses: bool) -> list[str]:
    """Name the columns of the output, each once."""
    from credo.exceptions import InputError

    losses = [f"loss of {act}" for act in loss.acts] if expected_losses else []
    names = [*keep, "act", "risk", *losses]
    twice = [name for i, name in enumerate(names) if name in names[:i]]
    if twice:
        raise InputError(
            f"The output would have two columns {twice[0]!r}. Rename the one in the input, or "
            f"leave --keep {twice[0]} out."
        )
    return names
