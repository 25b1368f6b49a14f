"""Rows of evidence in any shape, as a matrix of state indices."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from credo._types import Labels
from credo._validation.labels import hint, listing, plain
from credo.exceptions import InputError, LabelError, ShapeError
from credo.graphs.wiring import Wiring

Codes: TypeAlias = npt.NDArray[np.int32]
#: Spellings of "missing" that are kept; each NaN may be an object of its own, equal to no other.
_MOST_SPELLINGS = 16
_FLOATING = (float, np.floating, np.datetime64, np.timedelta64, Decimal)


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """Evidence rows: one column per variable that may be observed, -1 where it is not."""

    variables: tuple[int, ...]
    codes: Codes

    def by_variable(self) -> Rows:
        """Give the columns in the order of the variables: theirs is of no consequence."""
        order = np.argsort(self.variables, kind="stable")
        variables = tuple(self.variables[j] for j in order)
        return Rows(variables, np.ascontiguousarray(self.codes[:, order]))


class _Lookup(dict[Any, int]):
    """Indices of the states of a variable; -1 for anything missing."""

    def __init__(self, states: Labels, name: Any, owner: str) -> None:
        super().__init__((state, i) for i, state in enumerate(states))
        self.states, self.name, self.owner = states, name, owner
        self.spellings = 0
        if None in self:
            raise InputError(
                f"{owner}: None is a state of {name!r} and cannot be told from an empty cell. Pass "
                "an integer array of state indices."
            )

    def __missing__(self, cell: Any) -> int:
        if _is_missing(cell):
            if self.spellings < _MOST_SPELLINGS:
                self.spellings += 1
                self[cell] = -1
            return -1
        value = plain(cell)
        if type(value) is type(cell) or value not in self:
            raise LookupError
        return self[value]

    def codes(self, cells: Sequence[Any]) -> Codes:
        """Find the index of each cell; name the first that is no state."""
        try:
            return np.fromiter(map(self.__getitem__, cells), np.int32, len(cells))
        except (LookupError, TypeError):
            row = next(i for i, cell in enumerate(cells) if not self._knows(cell))
            raise self.unknown(cells[row], row) from None

    def _knows(self, cell: Any) -> bool:
        try:
            return self[cell] >= -1
        except (LookupError, TypeError):
            return False

    def unknown(self, cell: Any, row: int) -> LabelError:
        """Word the error for a cell that is no state."""
        value = plain(cell)
        return LabelError(
            f"{self.owner}: row {row} has {value!r} for {self.name!r}, which is none of its "
            f"states: {listing(self.states)}.{hint(value, self.states)} Leave a cell empty if "
            "nothing was observed."
        )


def _is_missing(cell: Any) -> bool:
    """Tell None, NaN, NA and NaT from values."""
    if cell is None or type(cell).__name__ in {"NAType", "NaTType"}:
        return True
    return isinstance(cell, _FLOATING) and bool(cell != cell)  # noqa: PLR0124 - NaN alone does


def read_rows(wiring: Wiring, rows: Any, columns: Iterable[Hashable] | None, owner: str) -> Rows:
    """Read rows of evidence.

    Parameters
    ----------
    wiring
        The compiled model.
    rows
        A data frame, a mapping of columns, a list of mappings, or an integer array.
    columns
        Names of the columns of an array.
    owner
        Who asks, for messages.
    """
    if isinstance(rows, np.ndarray):
        return _of_array(wiring, rows, columns, owner).by_variable()
    if columns is not None:
        raise InputError(f"{owner}: columns= names the columns of an array; these rows have names.")
    if isinstance(rows, Mapping):
        return _of_columns(wiring, list(rows), list(rows.values()), owner).by_variable()
    if isinstance(rows, (list, tuple)):
        return _of_mappings(wiring, rows, owner).by_variable()
    return _of_frame(wiring, rows, owner).by_variable()


def _variables(wiring: Wiring, names: Iterable[Any], owner: str) -> tuple[int, ...]:
    """Find the variables that columns name; each once."""
    found: dict[int, Any] = {}
    for name in names:
        try:
            v = wiring.index(name)
        except LabelError as error:
            raise LabelError(
                f"{owner}: the column {plain(name)!r} is no variable. {error} Drop columns that "
                "the model does not know."
            ) from None
        if v in found:
            raise InputError(f"{owner}: the column {plain(name)!r} is there twice.")
        found[v] = name
    return tuple(found)


def _lookup(wiring: Wiring, v: int, owner: str) -> _Lookup:
    return _Lookup(tuple(wiring.states[v]), wiring.names[v], owner)


def _matrix(n_rows: int, columns: Sequence[Codes]) -> Codes:
    """Put columns beside each other."""
    matrix = np.empty((n_rows, len(columns)), np.int32)
    for j, column in enumerate(columns):
        matrix[:, j] = column
    return matrix


def _of_columns(wiring: Wiring, names: list[Any], cells: list[Any], owner: str) -> Rows:
    """Read a mapping of columns, which must be of one length."""
    variables = _variables(wiring, names, owner)
    lists = [_listed(column, name, owner) for column, name in zip(cells, names, strict=True)]
    sizes = [len(column) for column in lists]
    for name, size in zip(names, sizes, strict=True):
        if size != sizes[0]:
            raise ShapeError(
                f"{owner}: the column {name!r} has {size} cells and {names[0]!r} has {sizes[0]}. "
                "All columns need one cell per row."
            )
    codes = [_lookup(wiring, v, owner).codes(c) for v, c in zip(variables, lists, strict=True)]
    return Rows(variables, _matrix(sizes[0] if sizes else 0, codes))


def _listed(column: Any, name: Any, owner: str) -> list[Any]:
    """Give the cells of a column as a list."""
    if isinstance(column, (str, bytes)) or not isinstance(column, Iterable):
        raise InputError(
            f"{owner}: the column {name!r} must be a list of cells, one per row. Got {column!r}; "
            "for one row pass [{...}], a list with one mapping."
        )
    tolist = getattr(column, "tolist", None)
    cells = list(column) if tolist is None else tolist()
    return cells if isinstance(cells, list) else [cells]


def _of_mappings(wiring: Wiring, rows: Sequence[Any], owner: str) -> Rows:
    """Read a list of mappings; what a row does not mention is not observed."""
    names: dict[Any, None] = {}
    for i, row in enumerate(rows):
        if not isinstance(row, Mapping):
            raise InputError(
                f"{owner} needs rows as mappings {{variable: state}}, a data frame, a mapping of "
                f"columns or an integer array. Row {i} is {type(row).__name__}."
            )
        names.update(dict.fromkeys(row))
    variables = _variables(wiring, names, owner)
    places = {name: j for j, name in enumerate(names)}
    lookups = {name: _lookup(wiring, v, owner) for name, v in zip(names, variables, strict=True)}
    codes = np.full((len(rows), len(names)), -1, np.int32)
    for i, row in enumerate(rows):
        for name, cell in row.items():
            try:
                codes[i, places[name]] = lookups[name][cell]
            except (LookupError, TypeError):
                raise lookups[name].unknown(cell, i) from None
    return Rows(variables, codes)


def _of_array(wiring: Wiring, rows: Any, columns: Iterable[Hashable] | None, owner: str) -> Rows:
    """Read a matrix of state indices."""
    if columns is None:
        raise InputError(
            f"{owner}: an array has no names. Pass columns=[...], one variable per column; cells "
            "are state indices, -1 where nothing was observed."
        )
    variables = _variables(wiring, columns, owner)
    if rows.ndim != 2 or rows.shape[1] != len(variables):
        raise ShapeError(
            f"{owner}: the array must have shape (rows, {len(variables)}), one column per name. "
            f"Got {rows.shape}."
        )
    array = np.ma.filled(rows, -1) if isinstance(rows, np.ma.MaskedArray) else rows
    if array.dtype.kind not in "iu":
        raise InputError(
            f"{owner}: an array must hold integers: state indices, -1 where nothing was observed. "
            f"Got {array.dtype}. For state names pass a data frame or a mapping of columns."
        )
    most = wiring.n_states[list(variables)]
    wrong = np.argwhere((array < -1) | (array >= most))
    if len(wrong):
        i, j = wrong[0].tolist()
        raise LabelError(
            f"{owner}: row {i} has state index {array[i, j]} for {wiring.names[variables[j]]!r}, "
            f"which has {most[j]} states. Use 0 to {most[j] - 1}, or -1 if nothing was observed."
        )
    return Rows(variables, np.ascontiguousarray(array, np.int32))


def _of_frame(wiring: Wiring, rows: Any, owner: str) -> Rows:
    """Read a data frame of any library that Narwhals knows."""
    import narwhals as nw  # noqa: PLC0415 - other rows do without it
    from narwhals.exceptions import DuplicateError  # noqa: PLC0415

    try:
        frame: Any = nw.from_native(rows, allow_series=True, pass_through=True)
    except DuplicateError as error:
        said = " ".join(str(error).split())
        raise InputError(f"{owner}: column names must differ. {said}. Rename them.") from error
    if isinstance(frame, nw.LazyFrame):
        raise InputError(f"{owner}: a lazy frame has no rows yet. Use rows.collect().")
    if not isinstance(frame, nw.DataFrame):
        raise InputError(
            f"{owner} needs rows as a data frame, a list of mappings, a mapping of columns or an "
            f"integer array. Got {type(rows).__name__}."
        )
    variables = _variables(wiring, frame.columns, owner)
    codes = [
        _of_series(series, _lookup(wiring, v, owner))
        for series, v in zip(frame.iter_columns(), variables, strict=True)
    ]
    return Rows(variables, _matrix(len(frame), codes))


def _of_series(series: Any, lookup: _Lookup) -> Codes:
    """Find the states of a column; text in Arrow is slow to take out, and looked up there."""
    import narwhals as nw  # noqa: PLC0415 - the series has loaded it

    states = list(lookup.states)
    is_text = series.dtype in {nw.String, nw.Categorical} and {type(s) for s in states} == {str}
    if series.implementation.is_pyarrow() and is_text:
        text, places = series.cast(nw.String), list(range(len(states)))
        with suppress(ValueError):  # a cell that is no state: named below
            found = text.replace_strict(states, places, return_dtype=nw.Int32)
            return np.asarray(found.fill_null(-1).to_numpy(), np.int32)
    return lookup.codes(series.to_list())
