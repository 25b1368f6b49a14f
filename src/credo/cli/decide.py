"""``credo decide``: acts for a file of probabilities."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

from credo import exceptions
from credo.cli import _options as given
from credo.cli._console import Wait, check_out, note, say_json
from credo.cli._options import arg, opt
from credo.cli._rows import (
    check_names,
    column_of,
    count_rows,
    counts_text,
    open_rows,
    place_for,
    write_rows,
)
from credo.cli._tables import read_loss

_ROWS = (
    "CSV (also .gz or .tsv), Parquet, Arrow or Feather: one row per case, column names are labels. "
    "'-' reads the standard input."
)


def decide(
    probabilities: Annotated[str, arg(_ROWS, "PROBABILITIES")],
    *,
    normalise: Annotated[
        bool, opt("Divide each row by its sum, for rounded values.", given.READ, "--normalise")
    ] = False,
    loss: Annotated[Path, opt(given.LOSS, given.DECISIONS)],
    reject: given.RejectCost = None,
    keep: Annotated[
        list[str] | None,
        opt("Column to hand through to the output, such as an id; repeatable.", given.OUTPUT),
    ] = None,
    expected_losses: Annotated[
        bool, opt("Also write each act's expected loss.", given.OUTPUT, "--expected-losses")
    ] = False,
    out: given.RowsOut = None,
    as_json: given.AsJson = False,
) -> None:
    """Choose the act with the least expected loss for each row of a file.

    The file may be larger than the memory. A bad row is an error that names its line, or its
    number, and then nothing is written.
    """
    import pyarrow as pa

    table, kept = read_loss(loss, reject), keep or []
    roles = {"the loss": loss, "the probabilities": probabilities}
    out = check_out(out, roles, or_stream=True)
    types = {str(truth): pa.float64() for truth in table.truths} | dict.fromkeys(kept, pa.string())
    losses = [f"loss of {act}" for act in table.acts] if expected_losses else []
    check_names([*kept, "act", "risk", *losses])
    fields = [(name, pa.string()) for name in (*kept, "act")]
    schema = pa.schema([*fields, *((name, pa.float64()) for name in ("risk", *losses))])
    record: dict[str, Any] = {}
    with (
        place_for(out) as place,
        open_rows(probabilities, types) as rows,
        Wait("deciding") as wait,
    ):
        decided = _decide_rows(rows, table, schema, normalise, wait)
        batches = count_rows(decided, table.acts, "risk", record)
        if as_json and out is None:
            _write_json(place, batches, record)
        else:
            write_rows(place, schema, batches)
    if not as_json:
        note(counts_text(record))
    elif out is not None:
        say_json({**record, "out": str(out)})


def _write_json(place: Path, batches: Iterator[Any], record: dict[str, Any]) -> None:
    """Write decisions one after the other, and what was counted."""
    with place.open("w", encoding="utf-8") as stream:
        stream.write('{"decisions": [')
        for i, batch in enumerate(batches):
            stream.write(", " * (i > 0) + ", ".join(map(json.dumps, batch.to_pylist())))
        stream.write(f"], {json.dumps(record)[1:]}\n")


def _decide_rows(rows: Any, loss: Any, schema: Any, normalise: bool, wait: Wait) -> Iterator[Any]:
    """Decide batch by batch, and name the place of a bad row."""
    import pyarrow as pa

    from credo import _checks as check
    from credo.decisions import decide as choose

    kept = schema.names[: schema.names.index("act")]
    columns, n_rows = _columns(rows, loss, kept), 0
    acts = pa.array(loss.acts, pa.string())
    for batch in rows.batches(list(dict.fromkeys([*columns, *kept])), wait.rows):
        found = [column_of(batch, name, pa.float64()) for name in columns]
        whole = pa.RecordBatch.from_arrays(found, names=columns)
        values = whole.to_tensor(null_to_nan=True).to_numpy()
        bad = check.first_wrong_row(values, normalise=normalise)
        if bad is not None:
            empty = [name for name in columns if not batch.column(name)[bad].is_valid]
            remedy = "" if normalise else "Pass --normalise if the values are rounded."
            fault = check.row_fault(values[bad], remedy, normalise=normalise, names=tuple(columns))
            reason = f"column {empty[0]!r} is empty." if empty else f"the row {fault}"
            raise rows.fault_at(reason, n_rows + bad + 1)
        if normalise:
            values = values / values.sum(axis=1, keepdims=True)
        chosen = choose(values, loss, labels=columns)
        n_rows += chosen.n_rows
        texts = [column_of(batch, name, pa.string()) for name in kept]
        numbers = [chosen.risk, *chosen.expected_losses.T][: len(schema) - len(kept) - 1]
        cells = [*texts, acts.take(pa.array(chosen.act_index)), *map(pa.array, numbers)]
        yield pa.RecordBatch.from_arrays(cells, schema=schema)


def _columns(rows: Any, loss: Any, kept: list[str]) -> list[str]:
    """Match the header with the loss's truths; what is neither truth nor kept is an error."""
    from credo import _checks as check
    from credo.decisions import decide as choose
    from credo.tables.arrow import is_number

    for name in kept:
        check.position(name, tuple(rows.schema.names), "column", rows.name)
    columns = [name for name in rows.schema.names if name not in kept]
    try:
        choose([[1 / len(columns)] * len(columns)] if columns else [[]], loss, labels=columns)
    except exceptions.LabelError as error:
        odd = [name for name in columns if name not in loss.truths]
        if not odd or set(columns) == set(loss.acts):
            raise
        advice = f"Pass --keep {odd[0]!r} to hand a column through."
        raise exceptions.LabelError(f"{error} {advice}") from None
    for name in columns:
        kind = rows.schema.field(name).type
        if not is_number(kind):
            raise exceptions.InputError(
                f"Column {name!r} of {rows.name} must hold numbers. Got {kind}."
            )
    return columns
