"""Columns of a table, numbers or words, from arrays, lists of rows and data frames of any library.

``read_table`` is the one door: whatever the rows come in, a column is ``Numbers`` (NaN where
missing) or ``Words`` (codes and categories in the order of first appearance, -1 where missing).
"""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from functools import partial
from typing import Any, NoReturn, Self, TypeAlias, final

import numpy as np
import numpy.typing as npt

from credo import _checks as check
from credo._types import F64, Bool, Int
from credo.exceptions import InputError, ShapeError, TableWarning

#: Codes of categories, -1 where missing.
Codes: TypeAlias = npt.NDArray[np.int32]

#: Whole numbers in a range of at most this many, or one per row, are counted instead of sorted.
_RANGE = 2**16
#: Spellings of "missing" that are kept; each NaN may be an object of its own, equal to no other.
_MOST_SPELLINGS = 16
#: Floats below are whole numbers that an int shows exactly.
_EXACT = 2.0**53
#: Among numbers these can only mean that there is none; among words they may be words.
MARKS = tuple(space + mark for mark in ("?", "-", ".", "na", "Null") for space in ("", " "))
_BOOLS = (bool, np.bool_)
_WHOLE = (*_BOOLS, int, np.integer)
_FLOATS = (float, np.floating, Decimal, Fraction)
_MAYBE_NAN = (float, np.floating, np.datetime64, np.timedelta64, Decimal)
_DATES = (dt.date, dt.time, dt.timedelta, np.datetime64, np.timedelta64)


# --- columns --------------------------------------------------------------------------------------


@final
@dataclass(frozen=True, slots=True, eq=False)
class Numbers:
    """Hold a column of numbers.

    Attributes
    ----------
    values : ndarray of shape (n,)
        Booleans, integers, float32 or float64; NaN where missing.
    is_bool : bool
        True for booleans, also if missing ones made them float64.
    """

    values: Any
    is_bool: bool


@final
@dataclass(frozen=True, slots=True, eq=False)
class Words:
    """Hold a column of categories.

    Attributes
    ----------
    codes : ndarray of int32, shape (n,)
        Position among the categories; -1 where missing.
    categories : tuple
        Distinct plain values that occur, in the order of their first appearance.
    declared : tuple
        All values that the type of the column allows, in its order, whether they occur or not:
        those of a pandas categorical, a Polars Enum or an Arrow dictionary. Empty for text and
        numbers, and for a Polars Categorical, which declares none.
    """

    codes: Codes
    categories: tuple[Any, ...]
    declared: tuple[Any, ...] = ()


#: Reads the cells of one column: as what they are, or ``as_words``.
Cells: TypeAlias = Callable[..., Any]


@final
@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """Hold the columns of a table, each encoded when first asked for.

    Attributes
    ----------
    n_rows, n_columns : int
        Numbers of rows and columns, at least one of each.
    names : tuple of str, or None
        Column names if the input has them and all are text.
    labels : tuple, or None
        Names of the columns of a frame, of whatever kind.
    matrix : ndarray of shape (n_rows, n_columns), or None
        The input itself if it is an array of numbers, or a frame of floats of one type.
    owner : str
        Who reads it, for messages.
    """

    n_rows: int
    n_columns: int
    names: tuple[str, ...] | None
    labels: tuple[Any, ...] | None
    matrix: Any
    owner: str
    _cells: Callable[[int], Cells] = field(repr=False)
    _read: dict[int, Numbers | Words] = field(default_factory=dict, repr=False)
    _words: dict[int, Words] = field(default_factory=dict, repr=False)

    def __len__(self) -> int:
        return self.n_rows

    def where(self, j: int) -> str:
        """Return how messages call a column.

        Parameters
        ----------
        j : int
            Its position.

        Returns
        -------
        str
            Its owner, and its name, or its position if it has none.
        """
        return name_column(self.owner, j if self.labels is None else self.labels[j])

    def column(self, j: int) -> Numbers | Words:
        """Return a column as what it is.

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
            self._read[j] = self._check_categories(self._cells(j)(as_words=False), j)
        return self._read[j]

    def words(self, j: int) -> Words:
        """Return a column as categories; distinct numbers are distinct categories.

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
        1 and 1.0 are one category, shown as an int; True is another. A number of fewer digits than
        float64 is taken as it is written: 0.1 in float32 is 0.1.
        """
        if j not in self._words:
            known = self._read.get(j)
            if not isinstance(known, Words):
                known = self._check_categories(self._cells(j)(as_words=True), j)
            self._words[j] = known
        return self._words[j]

    def _check_categories(self, column: Any, j: int) -> Any:
        """Refuse values that are hashable but no categories."""
        if isinstance(column, Words):
            for value in (*column.categories, *column.declared):
                if isinstance(value, (complex, np.complexfloating)):
                    _refuse(self.where(j), "complex")
                if isinstance(value, _DATES):
                    _refuse(self.where(j), f"dates such as {value!r}")
                if isinstance(value, tuple):
                    _refuse(self.where(j), f"lists such as {value!r}")
        return column

    def values(self, row: int) -> list[Any]:
        """Return the cells of a row as plain values, None where they are missing."""
        return [self._value(row, j) for j in range(self.n_columns)]

    def _value(self, row: int, j: int) -> Any:
        """Return one cell."""
        column = self.column(j)
        if isinstance(column, Numbers):
            value = column.values[row].item()
            return value if value == value else None  # noqa: PLR0124 - NaN is not itself
        code = column.codes[row]
        return column.categories[code] if code >= 0 else None

    def floats(self, columns: Sequence[int], rows: slice) -> F64:
        """Return a block of columns of numbers as float64, NaN where missing.

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
            column = self.column(j)
            if isinstance(column, Words):
                raise InputError(
                    f"{self.where(j)} must hold numbers. Got categories such as "
                    f"{column.categories[:3]}. Use a family of categories for it."
                )
            block[:, place] = column.values[rows]
        return block


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
    Words(codes=array([ 0, -1,  1], dtype=int32), categories=('a', 'b'), declared=())
    """
    if hasattr(X, "tocsr"):
        raise InputError(f"{owner}: X is sparse, and a dense table is needed. Use X.toarray().")
    is_listed = isinstance(X, np.ndarray) and X.ndim == 1 and X.dtype.kind == "O"
    if isinstance(X, (list, tuple)) or is_listed:
        X = _of_rows(list(X), owner)
    frame: Any = None if isinstance(X, np.ndarray) else frame_of(X, owner)
    labels: Any = None
    if frame is not None:
        _check_shape(frame.shape, owner)
        labels = tuple(frame.columns)
    names = labels if labels and all(isinstance(label, str) for label in labels) else None
    array = _of_array(X, owner) if frame is None else _floats_of(frame)
    if array is None:
        columns = zip(labels, frame.iter_columns(), strict=True)
        cells = [_series(series, name_column(owner, label)) for label, series in columns]
        n, d = frame.shape
        return Table(n, d, names, labels, None, owner, cells.__getitem__)
    n, d = array.shape
    matrix = array if array.dtype.kind in "biuf" else None
    return Table(n, d, names, labels, matrix, owner, partial(_of_place, array, owner))


def _of_place(array: Any, owner: str, j: int) -> Cells:
    """Choose how to read a column of an array."""
    if array.dtype.kind in "biuf":
        return partial(_numbers, array[:, j])
    return partial(_objects, array[:, j], name_column(owner, j))


def name_column(owner: str, label: Any) -> str:
    """Return how messages call a column."""
    return f"{owner}: column {label!r}"


# --- categories -----------------------------------------------------------------------------------


@final
@dataclass(frozen=True, slots=True, eq=False)
class Categories:
    """Hold the dictionary of one column, from value to code.

    Attributes
    ----------
    values : tuple
        The categories; the code of each is its position.

    Notes
    -----
    Immutable. 1 and 1.0 are one category; True, which Python takes for equal, and "1" are others.
    Rows are translated through a table of the categories that occur, never one by one.

    Examples
    --------
    >>> from credo.columns import read_table
    >>> known = Categories.of(["red", "blue"])
    >>> known.codes(read_table([["blue"], [None], ["green"]], "Example").words(0))
    array([ 1, -1,  2])
    """

    values: tuple[Any, ...]
    _codes: dict[Any, int] = field(repr=False)

    @classmethod
    def of(cls, values: Iterable[Any]) -> Self:
        """Code distinct values in the order given.

        Parameters
        ----------
        values : iterable
            Distinct and hashable.

        Returns
        -------
        Categories
            With these values.

        Raises
        ------
        InputError
            If two values are equal.
        """
        kept = tuple(values)
        codes = {category_key(value): code for code, value in enumerate(kept)}
        if len(codes) < len(kept):
            twice = next(
                value for code, value in enumerate(kept) if codes[category_key(value)] != code
            )
            raise InputError(f"Categories must be distinct. Got {twice!r} twice: give it once.")
        return cls(kept, codes)

    def codes(self, words: Words) -> Int:
        """Translate the codes of a column into those of this dictionary.

        Parameters
        ----------
        words : Words
            A column.

        Returns
        -------
        ndarray of shape (n,)
            -1 where missing; the number of categories where unknown.
        """
        unknown = len(self.values)
        lookup = [self._codes.get(category_key(value), unknown) for value in words.categories]
        return np.array([*lookup, -1], dtype=np.intp)[words.codes]

    def merged(self, other: Categories) -> tuple[Categories, Int]:
        """Append the categories of another dictionary that are not known yet.

        Parameters
        ----------
        other : Categories
            Of the same column in other rows.

        Returns
        -------
        Categories
            The union; the ones of this dictionary keep their codes.
        ndarray of shape (len(other.values),)
            The new code of each category of the other.
        """
        keys = [category_key(value) for value in other.values]
        fresh = tuple(category_of(key) for key in keys if key not in self._codes)
        union = Categories.of((*self.values, *fresh)) if fresh else self
        places = [union._codes[key] for key in keys]  # noqa: SLF001 - of its own kind
        return union, np.array(places, dtype=np.intp)


def is_missing(cell: Any) -> bool:
    """Tell None, NaN, NA and NaT from values."""
    if cell is None or type(cell).__name__ in {"NAType", "NaTType"}:
        return True
    return isinstance(cell, _MAYBE_NAN) and bool(cell != cell)  # noqa: PLR0124 - NaN alone does


def category_key(value: Any) -> Any:
    """Return what tells a category from others: to Python, booleans are equal to numbers."""
    return (bool, bool(value)) if isinstance(value, _BOOLS) else value


def category_of(key: Any) -> Any:
    """Return the category of a key."""
    return key[1] if isinstance(key, tuple) and key[:1] == (bool,) else key


def plain(value: Any) -> Any:
    """Return a value as Python's own: no NumPy scalars or subclasses; an int if it is whole.

    Of float32 and float16 the shortest number that they round to themselves: 0.1 stays 0.1.
    """
    if isinstance(value, (np.float32, np.float16)) and not _is_whole(float(value)):
        return float(np.format_float_scientific(value))
    value = check.plain(value)
    if isinstance(value, str):
        return value if type(value) is str else str.__str__(value)
    if isinstance(value, _FLOATS):
        number = float(value)
        return int(number) if _is_whole(number) else number
    if isinstance(value, int) and not isinstance(value, bool):
        return int(value)
    return value


def _is_whole(number: float) -> bool:
    """Tell whether a float is a whole number that an int shows exactly."""
    return abs(number) < _EXACT and number.is_integer()


class _Dictionary(dict[Any, int]):
    """Codes of values in the order of first appearance, -1 for anything missing.

    Looking up a new value gives it the next code.
    """

    def __init__(self) -> None:
        super().__init__()
        self.categories: list[Any] = []
        self.spellings = 0

    def __missing__(self, cell: Any) -> int:
        if is_missing(cell):
            if self.spellings < _MOST_SPELLINGS:
                self.spellings += 1
                self[cell] = -1
            return -1
        value = plain(cell)
        code = self.get(value)
        if code is None:
            code = self[value] = len(self.categories)
            self.categories.append(value)
        self[cell] = code
        return code


def words_of(column: Any, where: str) -> Words:
    """Return a list or a series as categories of any kind, dates and tuples too."""
    if isinstance(column, list):
        return _encode(column, where)
    return _series(column, where, strict=False)(as_words=True)


def first_unhashable(cells: Iterable[Any]) -> tuple[int, Any]:
    """Return the row and the cell that no dictionary takes, of cells that have one."""
    for row, cell in enumerate(cells):
        try:
            hash(cell)
        except TypeError:
            return row, cell
    raise AssertionError


def _encode(cells: Any, where: str) -> Words:
    """Encode cells of any hashable kind, an array or a list."""
    codes = _Dictionary()
    try:
        found = np.fromiter(map(codes.__getitem__, cells), np.int32, len(cells))
    except TypeError:
        row, cell = first_unhashable(cells)
        _refuse(f"{where}, row {row},", f"a {type(cell).__name__}")
    if 0 in codes or 1 in codes:
        kinds = set(map(type, cells))
        if kinds.intersection(_BOOLS) and kinds.difference(_BOOLS):  # some may be equal to numbers
            codes = _Dictionary()
            found = np.fromiter((codes[category_key(cell)] for cell in cells), np.int32, len(cells))
            codes.categories = [category_of(key) for key in codes.categories]
    return Words(found, tuple(codes.categories))


def _encode_coded(codes: Any, values: Any, *, declared: bool = False) -> Words:
    """Encode cells that come as codes of values, which may repeat, be missing or not occur."""
    n, size = len(codes), len(values)
    first = np.full(size + 1, n, dtype=np.intp)  # a code of -1 falls on the last place
    first[codes[::-1]] = np.arange(n - 1, -1, -1)  # of equal places the last is kept
    order = np.argsort(first[:size], kind="stable")[: np.count_nonzero(first[:size] < n)]
    found, lookup = _Dictionary(), np.full(size + 1, -1, dtype=np.int32)
    lookup[order] = [found[values[i]] for i in order]
    every = _encode(values, "").categories if declared else ()
    return Words(lookup[codes], tuple(found.categories), every)


def _encode_numbers(values: Any, missing: Any) -> Words:
    """Return each distinct number as a category."""
    known = ~np.isnan(values) if values.dtype.kind == "f" else np.ones(len(values), dtype=bool)
    if missing is not None:
        known &= ~missing
    kept, codes = values[known], np.full(len(values), -1)
    if kept.dtype.kind in "biu" and kept.size:
        low, high = int(kept.min()), int(kept.max())
        if high - low < max(_RANGE, len(kept)) and max(-low, high) < 2**62:
            codes[known] = np.subtract(kept, low, dtype=np.int64, casting="unsafe")
            return _encode_coded(codes, np.arange(low, high + 1).astype(kept.dtype))
    distinct, codes[known] = np.unique(kept, return_inverse=True)
    return _encode_coded(codes, distinct)


# --- cells ----------------------------------------------------------------------------------------


def _numbers(values: Any, missing: Any = None, *, as_words: bool) -> Numbers | Words:
    """Read an array of numbers, with a mask of the missing ones beside NaN."""
    values = values.astype(values.dtype.newbyteorder("="), copy=False)
    if as_words:
        return _encode_numbers(values, missing)
    if values.dtype.kind == "f" and values.dtype.itemsize not in {4, 8}:
        values = values.astype(np.float32 if values.dtype.itemsize < 4 else np.float64)
    is_bool = values.dtype.kind == "b"
    if missing is None or not missing.any():
        return Numbers(values, is_bool)
    return Numbers(np.where(missing, np.nan, values.astype(np.float64)), is_bool)


def _objects(cells: Any, where: str, *, as_words: bool) -> Numbers | Words:
    """Read Python objects or text: numbers if all that is there are but marks, else words.

    An empty text is a category, not missing.
    """
    first = next((cell for cell in cells if not is_missing(cell)), None)
    if not as_words and (not isinstance(first, (str, bytes)) or first in MARKS):
        found = _numbers_in(cells, where)
        if found is not None:
            return found
    return _encode(cells if cells.dtype.kind == "O" else cells.tolist(), where)


def _numbers_in(cells: Any, where: str) -> Numbers | None:
    """Return the numbers among objects, or None if something else is there."""
    types = set(map(type, cells))
    if any(issubclass(kind, str) for kind in types):
        marks = Counter(cell for cell in cells if isinstance(cell, str))
        cells = np.array([None if isinstance(cell, str) else cell for cell in cells], dtype=object)
        types = set(map(type, cells))
        if not marks.keys() <= set(MARKS) or all(map(is_missing, cells)):
            return None
        check.warn(
            f"{where} has {marks_text(marks)} among its numbers: taken as missing.", TableWarning
        )
    absent = {kind for kind in types if kind.__name__ in {"NoneType", "NAType", "NaTType"}}
    kinds = types - absent
    if not all(issubclass(kind, (*_WHOLE, *_FLOATS)) for kind in kinds):
        return None
    bools = [kind for kind in kinds if issubclass(kind, _BOOLS)]
    try:
        if kinds and not absent and all(issubclass(kind, _WHOLE) for kind in kinds):
            values = np.array(cells.tolist())
            is_held = values.dtype.kind in "biu"  # else no integer type holds them
            return Numbers(values if is_held else cells.astype(float), len(bools) == len(kinds))
        if absent - {type(None)}:
            missing = np.fromiter((type(cell) in absent for cell in cells), bool, len(cells))
            cells = np.where(missing, None, cells)
        is_bool = bool(bools) and all(isinstance(c, _BOOLS) or is_missing(c) for c in cells)
        return Numbers(cells.astype(np.float64), is_bool)
    except OverflowError as error:
        raise InputError(
            f"{where} holds a whole number that no float can hold. Scale the column, or turn it "
            "into text if its values are categories."
        ) from error


def marks_text(marks: Mapping[Any, float]) -> str:
    """Write marks with the number of times that they occur."""
    return " and ".join(
        f"{mark!r} {times:.6g} time{'s' * (times != 1)}" for mark, times in marks.items()
    )


# --- arrays and lists -----------------------------------------------------------------------------


def without_mask(X: Any) -> Any:
    """Return a masked array as plain numbers, NaN where masked; anything else as it is."""
    return np.ma.filled(X.astype(np.float64), np.nan) if np.ma.isMaskedArray(X) else X


def _of_array(X: Any, owner: str) -> Any:
    """Return a checked 2-D array of numbers, objects or text; numbers are not copied."""
    if np.ma.isMaskedArray(X) and X.dtype.kind in "bOUST":
        mask, X = np.ma.getmaskarray(X), X.data.astype(object)
        X[mask] = None
    is_masked = np.ma.isMaskedArray(X) and X.dtype.kind in "iuf"
    array = np.asarray(without_mask(X) if is_masked else X)
    kind = array.dtype.kind
    if kind == "O" and not array.ndim:
        raise ShapeError(
            f"{owner}: X must be a table: an array, a list of rows or a data frame. Got a "
            f"{type(X).__name__}. Reshape your data, or use pandas.DataFrame(X)."
        )
    _check_shape(array.shape, owner)
    if kind in "Mm":
        _refuse(name_column(owner, 0), str(array.dtype))
    if kind not in "biufOUST":
        _refuse(f"{owner}: X", "structured records" if kind == "V" else str(array.dtype))
    if kind == "T":
        return array.astype(object)
    return array if array.dtype.isnative else array.astype(array.dtype.newbyteorder("="))


def _of_rows(rows: list[Any], owner: str) -> Any:
    """Return a list of rows as an array: of numbers if all are of one type, else of objects."""

    def is_row(row: Any) -> bool:
        return isinstance(row, (list, tuple)) or (isinstance(row, np.ndarray) and row.ndim > 0)

    try:
        cells = np.array(rows, dtype=object)
    except ValueError:
        cells = np.empty(0, dtype=object)  # arrays of shapes that do not fit together
    if cells.ndim == 1 and any(map(is_row, rows)):
        lengths = sorted({len(row) if is_row(row) else 1 for row in rows})
        raise ShapeError(
            f"{owner}: the rows of X must be equally long, and their cells single values. Got rows "
            f"of lengths {lengths}. Use None where a cell is missing."
        )
    _check_shape(cells.shape, owner)
    first, *others = set(map(type, cells.ravel()))
    if not others and issubclass(first, (bool, int, float, np.number)):
        numbers = np.array(cells.tolist())
        cells = cells if numbers.dtype.kind == "f" and issubclass(first, int) else numbers
    return cells


# --- data frames, through Narwhals ----------------------------------------------------------------


def frame_of(X: Any, owner: str) -> Any:
    """Return the Narwhals frame, or series, of a data frame; None if it is none."""
    import narwhals as nw  # noqa: PLC0415 - arrays do without it
    from narwhals.exceptions import DuplicateError  # noqa: PLC0415

    try:
        frame: Any = nw.from_native(X, allow_series=True, pass_through=True)
        if not isinstance(frame, (nw.DataFrame, nw.LazyFrame, nw.Series)):
            streams = hasattr(X, "__arrow_c_stream__") and not hasattr(X, "__array__")
            if not streams and not hasattr(X, "__dataframe__"):
                return None
            import pyarrow as pa  # noqa: PLC0415 - loaded with the first frame of an unknown library
            from pyarrow.interchange import from_dataframe  # noqa: PLC0415

            frame = nw.from_native(pa.table(X) if streams else from_dataframe(X))
    except DuplicateError as error:
        said = " ".join(str(error).split())
        raise InputError(f"{owner}: column names must differ. {said}. Rename them.") from error
    if isinstance(frame, nw.LazyFrame):
        raise InputError(f"{owner}: a lazy frame has no rows yet. Use its collect().")
    return frame


def _floats_of(frame: Any) -> Any:
    """Return a frame of floats of one type as an array; None if it holds others, too."""
    import narwhals as nw  # noqa: PLC0415 - the frame has loaded it

    kinds = set(frame.schema.dtypes())
    array = frame.to_numpy() if kinds in ({nw.Float64}, {nw.Float32}) else None
    return array if array is not None and array.dtype.kind == "f" else None  # else it holds NA


def _series(series: Any, where: str, *, strict: bool = True) -> Cells:
    """Choose how to read a series by its type; unless strict, dates and others are categories."""
    import narwhals as nw  # noqa: PLC0415 - the series has loaded it

    dtype, native = series.dtype, series.to_native()
    kind = getattr(native, "dtype", None)
    if isinstance(kind, np.dtypes.ObjectDType):  # as in pandas: Narwhals guesses from some of them
        return partial(_objects, native.to_numpy(), where)
    is_float = isinstance(kind, np.dtype) and kind.kind == "f"  # some have no name in Narwhals
    if dtype.is_numeric() or dtype == nw.Boolean or is_float:
        return partial(_number_series, series)
    if dtype in {nw.String, nw.Categorical} or dtype == nw.Enum:
        return partial(_word_series, series, where)
    is_null = dtype == nw.Unknown and series.null_count() == len(series)
    if strict and dtype not in {nw.Object, nw.Binary} and not is_null:
        _refuse(where, str(dtype if dtype != nw.Unknown else kind or native.type))
    return partial(_object_series, series, where)


def _object_series(series: Any, where: str, *, as_words: bool) -> Numbers | Words:
    """Read bytes, nulls or anything."""
    cells = np.empty(len(series), dtype=object)
    cells[:] = series.to_list()
    return _objects(cells, where, as_words=as_words)


def _number_series(series: Any, *, as_words: bool) -> Numbers | Words:
    """Read numbers or booleans; whole ones stay exact beside nulls."""
    import narwhals as nw  # noqa: PLC0415 - the series has loaded it

    dtype = series.dtype
    if dtype.is_decimal() or dtype in {nw.Int128, nw.UInt128}:
        series = series.cast(nw.Float64)
    if (dtype.is_integer() or dtype == nw.Boolean) and series.null_count():
        filled = series.fill_null(value=False if dtype == nw.Boolean else 0)
        return _numbers(filled.to_numpy(), series.is_null().to_numpy(), as_words=as_words)
    return _numbers(series.to_numpy(), as_words=as_words)


def _word_series(series: Any, where: str, *, as_words: bool) -> Words:  # noqa: ARG001 - they are
    """Encode text or categories by the dictionary of the library."""
    native, library = series.to_native(), series.implementation
    if library.is_polars():
        return _polars_words(native)
    if library.is_pyarrow():
        return _arrow_words(native)
    if hasattr(native.dtype, "pyarrow_dtype"):
        return _arrow_words(native.array.__arrow_array__())
    if hasattr(native, "cat"):
        return _encode_coded(native.cat.codes.to_numpy(), native.cat.categories, declared=True)
    if getattr(native.dtype, "storage", None) == "python":
        return _encode(native.to_numpy(dtype=object), where)
    return _encode_coded(*native.factorize())


def _polars_words(series: Any) -> Words:
    """Encode a Polars column."""
    import narwhals as nw  # noqa: PLC0415 - the series has loaded it

    declared = str(series.dtype).startswith("Enum")
    if declared:
        values = series.dtype.categories
    else:
        series = series.cast(str)
        values = series.unique(maintain_order=True).drop_nulls()
        series = series.cast(nw.get_native_namespace(series).Enum(values))
    codes = series.to_physical().cast(int).fill_null(-1).to_numpy()
    return _encode_coded(codes, values.to_list(), declared=declared)


def _arrow_words(column: Any) -> Words:
    """Encode an Arrow column; chunks may have dictionaries of their own."""
    import pyarrow as pa  # noqa: PLC0415 - the column has loaded it

    declared = pa.types.is_dictionary(column.type)
    kind = column.type.value_type if declared else column.type
    if pa.types.is_string_view(kind):
        kind = pa.large_string()
    if not declared:
        column = column.cast(kind).dictionary_encode()
    column = column.cast(pa.dictionary(pa.int32(), kind))  # which hold what they have together
    whole = column.unify_dictionaries().combine_chunks()
    codes = whole.indices.fill_null(-1).to_numpy(zero_copy_only=False)
    values = whole.dictionary.to_pylist()
    if pa.types.is_floating(kind):  # which a list would hold as float64
        values = whole.dictionary.to_numpy(zero_copy_only=False)
    return _encode_coded(codes, values, declared=declared)


# --- whole tables ---------------------------------------------------------------------------------


def kind_of(X: Any) -> str | None:
    """Return the name of a data frame's library, or None for arrays and lists."""
    if isinstance(X, (np.ndarray, list, tuple)) or hasattr(X, "tocsr"):
        return None
    frame = frame_of(X, "kind_of")
    return None if frame is None else str(frame.implementation.value)


def rebuilt(columns: list[Any], names: Any, kind: Any) -> Any:
    """Put columns together: a data frame of that library, or an array."""
    if kind is not None:
        import narwhals as nw  # noqa: PLC0415 - arrays do without it

        data = {name: column.tolist() for name, column in zip(names, columns, strict=True)}
        return nw.from_dict(data, backend=kind).to_native()
    if all(column.dtype != object for column in columns):
        return np.column_stack([column.astype(np.float64) for column in columns])
    result = np.empty((len(columns[0]), len(columns)), dtype=object)
    for place, column in enumerate(columns):
        result[:, place] = column
    return result


def with_weight(X: Any, kept: Bool, owner: str) -> Any:
    """Keep the rows that have a weight, of an array, a sparse array, a list or a data frame."""
    if isinstance(X, (list, tuple)):
        return [row for row, keep in zip(X, kept.tolist(), strict=True) if keep]
    if hasattr(X, "tocsr"):
        return X.tocsr()[kept]
    frame = None if isinstance(X, np.ndarray) else frame_of(X, owner)
    if frame is not None:
        return frame.filter(kept.tolist()).to_native()
    return X[kept] if isinstance(X, np.ndarray) else np.asarray(X)[kept]


# --- refusals -------------------------------------------------------------------------------------


class KindError(InputError, TypeError):
    """A column of something else; scikit-learn expects a TypeError of some."""


def _check_shape(shape: tuple[int, ...], owner: str) -> None:
    """Check for two dimensions, and at least one row and one column."""
    if len(shape) < 2:
        raise ShapeError(
            f"{owner}: X must have two dimensions, rows and columns. Got shape {shape}. Reshape "
            "your data: X.reshape(-1, 1) if it is one column, X.reshape(1, -1) if it is one row."
        )
    if len(shape) > 2:
        raise ShapeError(
            f"{owner}: X must have two dimensions, rows and columns. Got {len(shape)}, shape "
            f"{shape}. Use X.reshape(len(X), -1)."
        )
    for count, what in zip(shape, ("sample(s)", "feature(s)"), strict=True):
        if not count:
            raise ShapeError(
                f"{owner}: found 0 {what} (shape={shape}) while a minimum of 1 is required."
            )


def _refuse(where: str, kind: str) -> NoReturn:
    """Refuse a column by the name of its kind, which says what is in it."""
    if "complex" in kind.lower():
        raise KindError(
            f"{where}: Complex data not supported. Split it into real and imaginary parts."
        )
    if kind.lower().startswith(("date", "time", "duration", "period")):
        raise KindError(
            f"{where} holds dates or durations ({kind}). Turn it into numbers, such as days since "
            "the first, or categories, such as the weekday as text."
        )
    if kind.startswith("Sparse"):
        raise KindError(f"{where} is sparse, and must be dense. Use X.sparse.to_dense().")
    raise KindError(
        f"{where} holds {kind}, and each cell of this argument must be a string, a boolean or a "
        "number. Turn it into numbers, booleans or text, or leave it out."
    )
