"""Dense counts of a group of columns."""

from __future__ import annotations

import numpy as np

from credo._types import F64
from credo.classifiers.columns.table import Table
from credo.classifiers.naive.parts import ColumnNames, Part
from credo.exceptions import InputError


def counts_of(table: Table, part: Part, block: slice, names: ColumnNames) -> F64:
    """Give the counts of a block of rows, and check that none is negative or infinite."""
    x = table.floats(part.columns, block)
    wrong = (x < 0) | np.isinf(x)
    if wrong.any():
        row, column = (int(i) for i in np.argwhere(wrong)[0])
        raise InputError(
            f"{names.owner}, {part.family}: counts are numbers, 0 or more. Got {x[row, column]:g} "
            f"in row {block.start + row}, column {names.names[part.columns[column]]!r}."
        )
    return x
