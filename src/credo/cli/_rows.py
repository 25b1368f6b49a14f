"""Files of rows as ``decide``, ``infer --rows`` and ``predict`` take and write them."""

from __future__ import annotations

import shutil
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from credo.cli._console import destination, plural
from credo.exceptions import InputError


@contextmanager
def open_rows(path: str, types: Mapping[str, Any]) -> Iterator[Any]:
    """Open rows in which only empty cells are missing; '-' is the standard input.

    A pipe, and text whose name does not end as such, is copied to a file that does.
    """
    from credo.tables import open_source
    from credo.tables.source import ENDINGS

    place, endings = Path(path), tuple(chain.from_iterable(ENDINGS.values()))
    if place.is_dir() or (place.is_file() and path.lower().endswith(endings)):
        yield open_source(path, types=types, usual_missing=False)
        return
    if path == "-" and sys.stdin is None:
        raise InputError("There is no standard input to read from.")
    with TemporaryDirectory(prefix="credo-") as folder:
        with nullcontext(sys.stdin.buffer) if path == "-" else place.open("rb") as stream:
            start = stream.read(6)
            aside = Path(folder, "rows" if start.startswith((b"PAR1", b"ARROW1")) else "rows.csv")
            with aside.open("wb") as copy:
                copy.write(start)
                shutil.copyfileobj(stream, copy)
        name = "standard input" if path == "-" else path
        yield open_source(aside, types=types, usual_missing=False, name=name)


def column_of(batch: Any, name: str, kind: Any) -> Any:
    """Return a column in another type, or say that it cannot be."""
    import pyarrow as pa

    from credo.tables.arrow import blaming_input, in_types

    with blaming_input(f"Column {name!r}", f"taken as {kind}"):
        return in_types(batch.select([name]), pa.schema([(name, kind)])).column(0)


@contextmanager
def place_for(out: Path | None) -> Iterator[Path]:
    """Return the file to write to; what is for a stream goes there when it is complete."""
    if out is not None and (out.is_file() or not out.exists()):
        yield out
        return
    with TemporaryDirectory(prefix="credo-") as folder:
        place = Path(folder, "rows.csv")
        yield place
        with place.open(encoding="utf-8", newline="") as rows, destination(out) as stream:
            shutil.copyfileobj(rows, stream)


def write_rows(place: Path, schema: Any, batches: Iterable[Any]) -> None:
    """Write batches of rows; the ending of the name tells the format."""
    from credo.tables import open_sink

    with open_sink(place, schema) as sink:
        for batch in batches:
            sink.write(batch)


def check_names(names: Sequence[str]) -> None:
    """Refuse an output with two columns of one name."""
    for name, count in Counter(names).items():
        if count > 1:
            raise InputError(
                f"The output would have two columns {name!r}. Rename the one in the input, or "
                f"leave --keep {name} out."
            )


def count_rows(
    batches: Iterable[Any],
    acts: Sequence[Any],
    risk: str,
    record: dict[str, Any],
    text: Callable[[Any], str] = str,
) -> Iterator[Any]:
    """Hand batches on; count rows and acts in a record, if any, with the mean of their risks."""
    import pyarrow.compute as pc

    total, counts = 0.0, Counter(dict.fromkeys(map(text, acts), 0))
    record |= {"rows": 0, "acts": counts, "mean_risk": None} if acts else {"rows": 0}
    for batch in batches:
        record["rows"] += batch.num_rows
        if acts and batch.num_rows:
            for pair in batch.column("act").value_counts().to_pylist():
                counts[text(pair["values"])] += pair["counts"]
            total += pc.sum(batch.column(risk)).as_py()
            record["mean_risk"] = total / record["rows"]
        yield batch


def counts_text(record: dict[str, Any]) -> str:
    """Write the counts of a record in a line."""
    rows = plural(record["rows"], "row")
    if "acts" not in record:
        return rows
    acts = ", ".join(f"{act} {count}" for act, count in record["acts"].items())
    mean = record["mean_risk"]
    return f"{rows}: {acts}" + ("" if mean is None else f"; mean risk {mean:.6g}")
