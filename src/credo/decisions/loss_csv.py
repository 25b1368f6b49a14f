"""Loss matrices as comma-separated files: acts in the first line, truths in the first column."""

from __future__ import annotations

import csv
import math
import os
from pathlib import Path

from credo._files import written_whole
from credo._types import F64, Labels
from credo.exceptions import FileFormatError, InputError

#: A loss matrix is written by hand; a file larger than this is something else.
MOST_BYTES = 16 * 2**20


def read(path: str | os.PathLike[str]) -> tuple[list[list[float]], list[str], list[str]]:
    """Read matrix, truths and acts; every error names the line."""
    name = os.fspath(path)
    if Path(path).stat().st_size > MOST_BYTES:
        raise FileFormatError(
            f"a loss matrix of more than {MOST_BYTES // 2**20} MB is refused.", name
        )
    with Path(path).open(encoding="utf-8-sig", newline="") as stream:
        reader = csv.reader(stream, strict=True)
        try:
            lines = [
                (reader.line_num, line) for line in reader if any(cell.strip() for cell in line)
            ]
        except UnicodeDecodeError as error:
            raise FileFormatError(
                f"the text is not UTF-8 ({error.reason}). Save the file as UTF-8.", name
            ) from error
        except csv.Error as error:
            raise FileFormatError(f"{error}.", name, reader.line_num) from error
    if len(lines) < 2:
        raise FileFormatError(
            "a loss needs a first line with the acts and a line for each truth.", name
        )
    acts = [cell.strip() for cell in lines[0][1][1:]]
    if not acts or not all(acts):
        raise FileFormatError(
            "the first line must have a corner cell and then the name of each act, separated by "
            f"commas. Got {lines[0][1]}.",
            name,
            lines[0][0],
        )
    truths: list[str] = []
    matrix: list[list[float]] = []
    for number, cells in lines[1:]:
        if len(cells) != len(acts) + 1:
            raise FileFormatError(
                f"expected a truth and {len(acts)} losses, got {len(cells)} cells.", name, number
            )
        truths.append(_new_name(cells[0].strip(), truths, name, number))
        matrix.append([_loss(cell, acts[a], name, number) for a, cell in enumerate(cells[1:])])
    return matrix, truths, acts


def _new_name(truth: str, known: list[str], path: str, line: int) -> str:
    """Check the name of a truth: there, and not there before."""
    if not truth or truth in known:
        fault = f"the truth {truth!r} occurs twice" if truth else "the name of the truth is empty"
        raise FileFormatError(f"{fault}.", path, line)
    return truth


def _loss(cell: str, act: str, path: str, line: int) -> float:
    """Read a finite number."""
    try:
        value = float(cell)
    except ValueError:
        value = math.nan
    if not math.isfinite(value) or "_" in cell:
        raise FileFormatError(
            f"the loss of act {act!r} must be a finite number, got {cell!r}.", path, line
        )
    return value


def write(path: str | os.PathLike[str], matrix: F64, truths: Labels, acts: Labels) -> None:
    """Write a matrix with full precision, whole or not at all."""
    if matrix.ndim != 2:
        raise InputError("Loss.to_csv writes one matrix; this loss has one per row.")
    for names in (truths, acts):
        texts = [str(name) for name in names]
        for name in texts:
            bare = name.strip() == name and name.isprintable()
            if not name or not bare or texts.count(name) > 1:
                raise InputError(
                    f"Loss.to_csv: the name {name!r} would not be read back as it is: it is empty, "
                    "not unique as text, has spaces at an end, or has characters that do not print."
                )
    with written_whole(path) as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(["truth \\ act", *acts])
        for truth, row in zip(truths, matrix.tolist(), strict=True):
            writer.writerow([truth, *(repr(value) for value in row)])
