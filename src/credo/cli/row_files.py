"""Files of rows as the command line takes them: by name, or from the standard input."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from itertools import chain
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

if TYPE_CHECKING:
    from credo.tables import Source


@contextmanager
def open_rows(path: str, types: Mapping[str, Any]) -> Iterator[Source]:
    """Open rows in which only empty cells are missing.

    A pipe, and text whose name does not end as such, is copied to a file that does.
    """
    import shutil
    import sys
    from tempfile import TemporaryDirectory

    from credo.exceptions import InputError
    from credo.tables.source import ENDINGS, open_source

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


def checked_out(out: Path | None) -> Path | None:
    """Return the file to write rows to, None for the standard output."""
    from credo.exceptions import InputError
    from credo.tables.source import ENDINGS

    if out is not None and out.suffix == ".gz":
        raise InputError(f"--out writes plain text. Name it {out.with_suffix('')}.")
    if out is not None and out.name.lower().endswith((*ENDINGS["Parquet"], *ENDINGS["Arrow"])):
        raise InputError(f"--out writes CSV. Name it {out.with_suffix('.csv')}.")
    return None if out is not None and str(out) == "-" else out


def as_texts(batch: Any, names: Sequence[str]) -> list[list[str]]:
    """Return the cells of some columns of a batch, row by row, as text; empty where missing."""
    import pyarrow as pa

    cells = [cast_column(batch, name, pa.string()).fill_null("").to_pylist() for name in names]
    return [list(row) for row in zip(*cells, strict=True)] or [[]] * batch.num_rows


def cast_column(batch: Any, name: str, kind: Any) -> Any:
    """Return a column in another type, or say that it cannot be."""
    import pyarrow as pa

    from credo.tables.arrow import blaming_input, in_types

    with blaming_input(f"Column {name!r}", f"taken as {kind}"):
        return in_types(batch.select([name]), pa.schema([(name, kind)])).column(0)


def refuse_twice(names: Sequence[str]) -> None:
    """Refuse an output with two columns of one name."""
    from credo.exceptions import InputError

    for name, count in Counter(names).items():
        if count > 1:
            raise InputError(
                f"The output would have two columns {name!r}. Rename the one in the input, or "
                f"leave --keep {name} out."
            )


class RowWriter:
    """Rows of text on their way out; only quotes around all text keep a carriage return."""

    def __init__(self, stream: IO[str], names: Sequence[str], words: Sequence[Any] = ()) -> None:
        self._plain = csv.writer(stream, lineterminator="\n")
        self._careful = csv.writer(stream, lineterminator="\n", quoting=csv.QUOTE_NONNUMERIC)
        self._odd = any("\r" in str(word) for word in (*names, *words))
        self.write([names], [])

    def write(self, lines: Iterable[Sequence[Any]], kept: list[list[str]]) -> None:
        """Write lines, in which the kept cells may hold anything."""
        odd = self._odd or any("\r" in cell for row in kept for cell in row)
        (self._careful if odd else self._plain).writerows(lines)
