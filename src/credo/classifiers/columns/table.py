"""A table: columns of numbers or words, from whatever holds rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, final

import numpy as np
from scipy.sparse import issparse

from credo._types import F64
from credo.classifiers.columns.arrays import ArrayColumns, array_of, array_of_rows
from credo.classifiers.columns.frames import cells_of_frame, frame_of, names_of
from credo.classifiers.columns.kinds import AbstractCells, Numbers, Words
from credo.classifiers.columns.refusals import name_column
from credo.exceptions import InputError

__all__ = ["Numbers", "Table", "Words", "read_table"]


@final
@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """Hold the columns of a table, each encoded when first asked for.

    Attributes
    ----------
    n_rows : int
        Number of rows, at least one.
    names : tuple of str, or None
        Column names if the input has them and all are text.
    labels : tuple, or None
        Names of the columns of a frame, of whatever kind.
    matrix : ndarray of shape (n_rows, n_columns), or None
        The input itself if it is an array of numbers.
    owner : str
        Who reads it, for messages.
    """

    n_rows: int
    names: tuple[str, ...] | None
    labels: tuple[Any, ...] | None
    matrix: Any
    owner: str
    _cells: tuple[AbstractCells, ...] | ArrayColumns = field(repr=False)
    _read: dict[int, Numbers | Words] = field(default_factory=dict, repr=False)
    _words: dict[int, Words] = field(default_factory=dict, repr=False)

    def __len__(self) -> int:
        return self.n_rows

    @property
    def n_columns(self) -> int:
        """Number of columns, at least one."""
        return len(self._cells)

    def column(self, j: int) -> Numbers | Words:
        """Give a column as what it is.

        Parameters
        ----------
        j : int
            Its position.

        Returns
        -------
        Numbers or Words
            The same object each time.
        """
        if j not in self._read:
            self._read[j] = self._cells[j].read()
        return self._read[j]

    def values(self, row: int) -> list[Any]:
        """Give the cells of a row as plain values, None where they are missing."""
        return [self._value(row, j) for j in range(self.n_columns)]

    def _value(self, row: int, j: int) -> Any:
        """Give one cell."""
        column = self.column(j)
        if isinstance(column, Numbers):
            value = column.values[row].item()
            return value if value == value else None  # noqa: PLR0124 - NaN is not itself
        code = column.codes[row]
        return column.categories[code] if code >= 0 else None

    def words(self, j: int) -> Words:
        """Give a column as categories; distinct numbers are distinct categories.

        Parameters
        ----------
        j : int
            Its position.

        Returns
        -------
        Words
            The same object each time.

        Notes
        -----
        1, 1.0 and True are one category, shown as an int unless the column is of truth values.
        """
        if j not in self._words:
            known = self._read.get(j)
            self._words[j] = known if isinstance(known, Words) else self._cells[j].words()
        return self._words[j]

    def floats(self, columns: Sequence[int], rows: slice) -> F64:
        """Give a block of columns of numbers as float64, NaN where missing.

        Parameters
        ----------
        columns : sequence of int
            Positions.
        rows : slice
            Which rows.

        Returns
        -------
        ndarray of shape (B, len(columns))
            C-contiguous; a view if the columns are all of a float64 matrix in that order.

        Raises
        ------
        InputError
            If a column holds words.
        """
        if self.matrix is not None and list(columns) == list(range(self.n_columns)):
            return np.ascontiguousarray(self.matrix[rows], dtype=np.float64)
        block = np.empty((len(range(*rows.indices(self.n_rows))), len(columns)))
        for place, j in enumerate(columns):
            block[:, place] = self._numbers(j).values[rows]
        return block

    def _numbers(self, j: int) -> Numbers:
        """Give a column that must be of numbers."""
        column = self.column(j)
        if isinstance(column, Numbers):
            return column
        name = j if self.names is None else self.names[j]
        raise InputError(
            f"{name_column(self.owner, name)} must hold numbers. Got categories such as "
            f"{column.categories[:3]}. Use a family of categories for it."
        )


def read_table(X: Any, owner: str) -> Table:
    """Read a table from an array, a list of rows or a data frame.

    Parameters
    ----------
    X : array, list of rows, or data frame of pandas, Polars, Arrow or any other library
        With at least one row and one column. None, NaN, NA, NaT, nulls and masked cells are
        missing.
    owner : str
        Who asks, for messages.

    Returns
    -------
    Table
        Arrays of numbers are not copied.

    Raises
    ------
    ShapeError
        If it has not two dimensions, or no rows or columns.
    InputError
        If it is sparse or lazy, names repeat, or a column holds neither numbers nor categories.

    Notes
    -----
    Columns are encoded when asked for, so that unused ones cost nothing. An array of objects or a
    list may therefore be refused later, by ``Table.column``.

    Examples
    --------
    >>> table = read_table([[1, "a"], [2.5, None], [None, "b"]], "Example")
    >>> table.column(0).values
    array([1. , 2.5, nan])
    >>> table.column(1)
    Words(codes=array([ 0, -1,  1], dtype=int32), categories=('a', 'b'))
    """
    if issparse(X):
        raise InputError(f"{owner}: X is sparse, and a dense table is needed. Use X.toarray().")
    if isinstance(X, (list, tuple)):
        return _table_of_array(array_of_rows(X, owner), owner)
    frame = None if isinstance(X, np.ndarray) else frame_of(X, owner)
    if frame is None:
        return _table_of_array(array_of(X, owner), owner)
    labels, cells = tuple(frame.columns), cells_of_frame(frame, owner)
    return Table(len(frame), names_of(frame), labels, None, owner, cells)


def _table_of_array(array: Any, owner: str) -> Table:
    """Make a table of a checked array."""
    matrix = array if array.dtype.kind in "biuf" else None
    return Table(len(array), None, None, matrix, owner, ArrayColumns(array, owner))
