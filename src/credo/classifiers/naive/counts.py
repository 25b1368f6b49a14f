"""Cells that a family cannot have, named by row and column."""

from __future__ import annotations

from typing import Any

import numpy as np

from credo._types import F64, Bool, Int
from credo.classifiers.columns.table import Table
from credo.classifiers.naive.parts import ColumnNames, Part
from credo.exceptions import InputError
from credo.families import AbstractFamily

#: A part, and the names of its columns.
PartOf = tuple[Part, ColumnNames]


def counts_of(table: Table, part: Part, block: slice, names: ColumnNames) -> F64:
    """Give the counts of a block of rows, and check that none is negative or infinite."""
    x = table.floats(part.columns, block)
    wrong = (x < 0) | np.isinf(x)
    if wrong.any():
        what = _cell(x, wrong, np.arange(block.start, block.stop), part, names)
        raise InputError(f"{names.owner}: counts are numbers, 0 or more. Got {what}.")
    return x


def refuse_infinite(x: F64, rows: Int, part: Part, names: ColumnNames) -> None:
    """Refuse infinite cells; ``rows`` are the numbers of the rows."""
    wrong = np.isinf(x)
    if wrong.any():
        what = _cell(x, wrong, rows, part, names)
        raise InputError(f"{names.owner}: X contains infinity: {what}. Missing values are NaN.")


def located(
    error: InputError, family: type[AbstractFamily[Any]], x: F64, block: slice, of: PartOf
) -> InputError:
    """Say which cell of a block a family does not know, where it counted within the block."""
    part, names = of
    wrong = ~family.contains(x)
    if not wrong.any():
        return InputError(f"{names.owner}, {part.family} of {names.of(part.columns)}: {error}")
    wrong = wrong[:, None] & np.ones(x.shape, bool) if wrong.ndim < x.ndim else wrong
    what = _cell(x, wrong, np.arange(block.start, block.stop), part, names)
    needs = str(error).split(". Got")[0].partition(" needs ")[2]
    return InputError(f"{names.owner}: the family {part.family!r} needs {needs}. Got {what}.")


def _cell(x: F64, wrong: Bool, rows: Int, part: Part, names: ColumnNames) -> str:
    """Name the first wrong cell."""
    row, column = (int(i) for i in np.argwhere(wrong)[0])
    name = names.names[part.columns[column]]
    return f"{x[row, column]:g} in row {rows[row]}, column {name!r}"
