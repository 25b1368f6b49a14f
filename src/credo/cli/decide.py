"""``credo decide``: acts for a file of probabilities."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

from credo import exceptions
from credo.cli._console import Wait, check_out, destination, note, plural, say_json
from credo.cli._options import AsJson, RejectCost, arg, opt
from credo.cli._rows import check_csv, check_names, column_of, open_rows, texts_of, write_csv

_ROWS = (
    "CSV (also .gz or .tsv), Parquet, Arrow or Feather: one row per case, column names are labels. "
    "'-' reads the standard input."
)
_LOSS = "Loss matrix: acts in the first line, a truth at the start of the others."


def decide(
    probabilities: Annotated[str, arg(_ROWS, "PROBABILITIES")],
    loss: Annotated[Path, opt(_LOSS)],
    reject: RejectCost = None,
    keep: Annotated[
        list[str] | None, opt("Column to hand through to the output, such as an id; repeatable.")
    ] = None,
    normalise: Annotated[
        bool, opt("Divide each row by its sum, for rounded values.", "--normalise")
    ] = False,
    out: Annotated[Path | None, opt("Write the acts to this file instead of the terminal.")] = None,
    expected_losses: Annotated[
        bool, opt("Also write each act's expected loss.", "--expected-losses")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Choose the act with the least expected loss for each row of a file.

    The file may be larger than the memory. A bad row is an error that names its line, or its
    number, and then nothing is written.
    """
    import pyarrow as pa

    from credo.decisions import Loss

    table = Loss.from_csv(loss)
    if reject is not None:
        if "reject" in table.acts:
            raise exceptions.InputError(f"{loss} has an act 'reject' already; leave --reject out.")
        table = table.with_reject(reject)
    out, kept = check_csv(out), keep or []
    check_out(out, {"the loss": loss, "the probabilities": probabilities})
    names = [*kept, "act", "risk"]
    names += [f"loss of {act}" for act in table.acts] if expected_losses else []
    check_names(names)
    types = {str(truth): pa.float64() for truth in table.truths} | dict.fromkeys(kept, pa.string())
    job = _Job(table, kept, expected_losses, normalise)
    with (
        destination(out) as stream,
        open_rows(probabilities, types) as rows,
        Wait("deciding") as wait,
    ):
        blocks = job.lines(rows, wait)
        if not as_json or out is not None:
            write_csv(stream, [names])
            for lines in blocks:
                write_csv(stream, lines)
        else:
            stream.write('{"decisions": [')
            for lines in blocks:
                records = (json.dumps(dict(zip(names, line, strict=True))) for line in lines)
                stream.write((", " if job.n_rows > len(lines) else "") + ", ".join(records))
            stream.write(f"], {json.dumps(job.record())[1:]}\n")
    if not as_json:
        note(job.sentence())
    elif out is not None:
        say_json({**job.record(), "out": str(out)})


class _Job:
    """One run over a file, and what is counted on the way."""

    def __init__(self, loss: Any, keep: list[str], losses: bool, normalise: bool) -> None:
        self.loss, self.keep, self.losses, self.normalise = loss, keep, losses, normalise
        self.n_rows = 0
        self.total_risk = 0.0
        self.counts = Counter(dict.fromkeys(loss.acts, 0))

    def lines(self, rows: Any, wait: Wait) -> Iterator[list[list[Any]]]:
        """Decide batch by batch, and name the place of a bad row."""
        import pyarrow as pa

        from credo import _checks as check
        from credo.decisions import decide as choose

        columns = self._columns(rows)
        for batch in rows.batches(list(dict.fromkeys([*columns, *self.keep])), wait.rows):
            found = [column_of(batch, name, pa.float64()) for name in columns]
            whole = pa.RecordBatch.from_arrays(found, names=columns)
            values = whole.to_tensor(null_to_nan=True).to_numpy()  # of columns it would load pandas
            bad = check.first_wrong_row(values, normalise=self.normalise)
            if bad is not None:
                empty = [name for name in columns if not batch.column(name)[bad].is_valid]
                remedy = "" if self.normalise else "Pass --normalise if the values are rounded."
                fault = check.row_fault(
                    values[bad], remedy, normalise=self.normalise, names=tuple(columns)
                )
                reason = f"column {empty[0]!r} is empty." if empty else f"the row {fault}"
                raise rows.fault_at(reason, self.n_rows + bad + 1)
            if self.normalise:
                values = values / values.sum(axis=1, keepdims=True)
            chosen = choose(values, self.loss, labels=columns)
            self.counts.update(chosen.counts())
            self.n_rows += chosen.n_rows
            self.total_risk += float(chosen.risk.sum())
            losses = chosen.expected_losses.tolist() if self.losses else [[]] * chosen.n_rows
            cells = texts_of(batch, self.keep), chosen.acts.tolist(), chosen.risk.tolist(), losses
            yield [[*kept, act, risk, *each] for kept, act, risk, each in zip(*cells, strict=True)]

    def _columns(self, rows: Any) -> list[str]:
        """Match the header with the loss's truths; what is neither truth nor kept is an error."""
        import pyarrow as pa

        from credo import _checks as check
        from credo.decisions import decide as choose

        for name in self.keep:
            check.position(name, tuple(rows.schema.names), "column", rows.name)
        columns = [name for name in rows.schema.names if name not in self.keep]
        try:
            choose(
                [[1 / len(columns)] * len(columns)] if columns else [[]], self.loss, labels=columns
            )
        except exceptions.LabelError as error:
            odd = [name for name in columns if name not in self.loss.truths]
            if not odd or set(columns) == set(self.loss.acts):
                raise
            advice = f"Pass --keep {odd[0]!r} to hand a column through."
            raise exceptions.LabelError(f"{error} {advice}") from None
        for name in columns:
            kind = rows.schema.field(name).type
            numeric = pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal
            if not any(each(kind) for each in numeric):
                raise exceptions.InputError(
                    f"Column {name!r} of {rows.name} must hold numbers. Got {kind}."
                )
        return columns

    def record(self) -> dict[str, Any]:
        """Return the counts and the mean risk."""
        mean = self.total_risk / self.n_rows if self.n_rows else None
        return {"rows": self.n_rows, "acts": self.counts, "mean_risk": mean}

    def sentence(self) -> str:
        """Return the same for a person."""
        shares = ", ".join(f"{act} {count}" for act, count in self.counts.items())
        mean = f"; mean risk {self.total_risk / self.n_rows:.6g}" if self.n_rows else ""
        return f"{plural(self.n_rows, 'row')}: {shares}{mean}"
