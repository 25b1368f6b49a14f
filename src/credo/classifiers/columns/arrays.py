"""Arrays and lists of rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final

import numpy as np

from credo.classifiers._labels import without_mask
from credo.classifiers.columns.kinds import AbstractCells
from credo.classifiers.columns.numeric import NumberCells
from credo.classifiers.columns.objects import ObjectCells
from credo.classifiers.columns.refusals import check_shape, name_column, refuse_kind
from credo.classifiers.columns.text import TextCells
from credo.exceptions import ShapeError


def array_of(X: Any, owner: str) -> Any:
    """Give a checked 2-D array of numbers, objects or text; numbers are not copied."""
    array = without_gaps(X) if np.ma.isMaskedArray(X) else np.asarray(X)
    if array.dtype.kind == "O" and not array.ndim:
        raise ShapeError(
            f"{owner}: X must be a table: an array, a list of rows or a data frame. Got a "
            f"{type(X).__name__}. Reshape your data, or use pandas.DataFrame(X)."
        )
    kind = array.dtype.kind
    check_shape(array.shape, owner)
    if kind not in "biufOUST":
        refuse_kind(f"{owner}: X", "structured records" if kind == "V" else str(array.dtype))
    if kind == "T":
        return array.astype(object)
    return array if array.dtype.isnative else array.astype(array.dtype.newbyteorder("="))


def array_of_rows(rows: Any, owner: str) -> Any:
    """Give a list of rows as an array: of numbers if all are of one type, else of objects."""
    try:
        cells = np.array(rows, dtype=object)
    except ValueError:
        cells = np.empty(0, dtype=object)  # arrays of shapes that do not fit together
    if cells.ndim == 1 and any(map(_is_row, rows)):
        lengths = sorted({len(row) if _is_row(row) else 1 for row in rows})
        raise ShapeError(
            f"{owner}: the rows of X must be equally long, and their cells single values. Got rows "
            f"of lengths {lengths}. Use None where a cell is missing."
        )
    check_shape(cells.shape, owner)
    first, *others = set(map(type, cells.ravel()))
    if not others and issubclass(first, (bool, int, float, np.number)):
        numbers = np.array(cells.tolist())
        changed = numbers.dtype.kind == "f" and issubclass(first, int)
        cells = cells if changed else numbers
    return array_of(cells, owner)


def _is_row(row: Any) -> bool:
    """Tell a row of cells from a single cell."""
    return isinstance(row, (list, tuple)) or (isinstance(row, np.ndarray) and row.ndim > 0)


def without_gaps(X: Any) -> Any:
    """Give a masked array as floats with NaN, or as objects with None."""
    if X.dtype.kind not in "bOUST":
        return without_mask(X) if X.dtype.kind in "iuf" else X.data
    cells = X.data.astype(object)
    cells[np.ma.getmaskarray(X)] = None
    return cells


@final
@dataclass(frozen=True, slots=True, eq=False)
class ArrayColumns:
    """The columns of a checked array, cut when asked: there may be very many."""

    array: Any
    owner: str

    def __len__(self) -> int:
        return int(self.array.shape[1])

    def __getitem__(self, column: int) -> AbstractCells:
        values = self.array[:, column]
        where = name_column(self.owner, column)
        if self.array.dtype.kind == "O":
            return ObjectCells(values, where)
        return TextCells(values, where) if self.array.dtype.kind in "US" else NumberCells(values)
