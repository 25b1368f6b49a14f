"""Options that the commands for tables share, and how lists in them are read."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, TypeAlias

import typer

TableFiles: TypeAlias = Annotated[
    list[Path],
    typer.Argument(
        help="The rows: CSV (also .gz or .tsv), Parquet, Arrow or Feather; a folder of such files, "
        "or several of them.",
        metavar="TABLE",
        show_default=False,
    ),
]
ModelFile: TypeAlias = Annotated[
    Path,
    typer.Argument(help="The model, as credo fit writes it.", metavar="MODEL", show_default=False),
]
LossFile: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        "--loss",
        help="Loss matrix: acts in the first line, a truth at the start of the others.",
        show_default=False,
    ),
]
RejectCost: TypeAlias = Annotated[
    float | None,
    typer.Option("--reject", help="Add a reject act with this cost.", show_default=False),
]
MissingWords: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--missing",
        help="Cell of a text file that means missing, such as ?; empty, NA and NaN always do. "
        "Repeatable.",
        show_default=False,
    ),
]
DaskAddress: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--dask",
        help="Work on a Dask cluster: the address of its scheduler, tcp://host:8786, or "
        "local to start one here.",
        show_default=False,
    ),
]
SparkMaster: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--spark",
        help="Work on Spark: its master, spark://host:7077, or local[2] for two processes here.",
        show_default=False,
    ),
]
Quiet: TypeAlias = Annotated[
    bool, typer.Option("--quiet", help="Say nothing but warnings and errors; no bar.")
]


def names_in(texts: Sequence[str] | None, option: str) -> list[str]:
    """Read the columns of an option that lists them, a,b; each once."""
    from credo.cli.findings import words_in
    from credo.exceptions import InputError

    names = [word.text for text in texts or () for word in words_in(text, option)]
    for place, name in enumerate(names):
        if name in names[:place]:
            raise InputError(f"{option} names {name!r} twice.")
    return names


def source_of(tables: Sequence[Path]) -> str | list[str]:
    """Give one file or folder by its name, several as a list; all must be there."""
    for table in tables:
        table.stat()
    names = [str(table) for table in tables]
    return names[0] if len(names) == 1 else names
