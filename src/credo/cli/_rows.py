"""Files of rows as ``decide`` and ``infer --rows`` take and write them."""

from __future__ import annotations

import csv
import shutil
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, Any, Literal

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


def texts_of(batch: Any, names: Sequence[str]) -> list[list[str]]:
    """Return the cells of some columns, row by row, as text; empty where missing."""
    import pyarrow as pa

    cells = [column_of(batch, name, pa.string()).fill_null("").to_pylist() for name in names]
    return [list(row) for row in zip(*cells, strict=True)] or [[]] * batch.num_rows


def check_csv(out: Path | None) -> Path | None:
    """Refuse names that promise another format; return None for the standard output."""
    from credo.tables.source import ENDINGS

    if out is None or str(out) == "-":
        return None
    if out.suffix == ".gz":
        raise InputError(f"--out writes plain text. Name it {out.with_suffix('')}.")
    if out.name.lower().endswith((*ENDINGS["Parquet"], *ENDINGS["Arrow"])):
        raise InputError(f"--out writes CSV. Name it {out.with_suffix('.csv')}.")
    return out


def check_names(names: Sequence[str]) -> None:
    """Refuse an output with two columns of one name."""
    for name, count in Counter(names).items():
        if count > 1:
            raise InputError(
                f"The output would have two columns {name!r}. Rename the one in the input, or "
                f"leave --keep {name} out."
            )


def write_csv(stream: IO[str], lines: Sequence[Sequence[Any]]) -> None:
    """Write lines; only quotes around all text keep a carriage return."""
    odd = any("\r" in cell for line in lines for cell in line if isinstance(cell, str))
    quoting: Literal[0, 2] = csv.QUOTE_NONNUMERIC if odd else csv.QUOTE_MINIMAL
    csv.writer(stream, lineterminator="\n", quoting=quoting).writerows(lines)
