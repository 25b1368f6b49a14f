"""Rows of evidence: any table as a matrix of state indices, and blocks of rows on threads."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import suppress
from dataclasses import dataclass
from decimal import Decimal
from operator import length_hint
from typing import Any, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from credo import _checks as check
from credo.exceptions import InputError, LabelError, ShapeError
from credo.graphs.evidence import Evidence, Finding
from credo.graphs.wiring import Int64, Wiring

Codes: TypeAlias = npt.NDArray[np.int32]
Block = TypeVar("Block")
_FLOATING = (float, np.floating, np.datetime64, np.timedelta64, Decimal)


@dataclass(frozen=True, slots=True, eq=False)
class EvidenceRows:
    """Rows of evidence: one column per variable that may be observed, -1 where it is not."""

    variables: tuple[int, ...]
    codes: Codes

    def evidence(self, wiring: Wiring, row: int) -> Evidence:
        """Return what one row observes."""
        return Evidence(
            tuple(
                Finding(v, x, None, wiring.names[v], wiring.states[v][x])
                for v, x in zip(self.variables, self.codes[row].tolist(), strict=True)
                if x >= 0
            )
        )

    def distinct(self) -> tuple[EvidenceRows, Int64, Int64]:
        """Return the rows that differ, where each comes first, and which of them each row is.

        Rows with the same columns observed lie together, in the order in which they first come.
        """
        codes = self.codes
        keys = np.random.default_rng(0).integers(1, 2**63, (2, codes.shape[1]), dtype=np.uint64)
        row_hash = np.zeros(len(codes), np.uint64)
        pattern_hash = np.zeros(len(codes), np.uint64)
        for j, column in enumerate(codes.T):
            row_hash += (column + 1).astype(np.uint64) * keys[0, j]
            pattern_hash += (column >= 0) * keys[1, j]
        _, first, inverse = np.unique(row_hash, return_index=True, return_inverse=True)
        if not np.array_equal(codes[first][inverse], codes):  # two rows of one hash: almost never
            _, first, inverse = np.unique(codes, axis=0, return_index=True, return_inverse=True)
        order = np.lexsort((first, pattern_hash[first]))
        rank = np.empty_like(order)
        rank[order] = np.arange(len(order))
        first = first[order]
        return EvidenceRows(self.variables, codes[first]), first, rank[inverse.ravel()]


def run_in_rooms(
    blocks: Sequence[Block],
    rooms: list[Any],
    run: Callable[[Block, Any], None],
    report: Callable[[Block], None],
) -> None:
    """Run every block in one of the rooms, as many at a time as there are rooms, on threads.

    Each block is reported when it is done; after an error those that wait are dropped.
    """

    def work(block: Block) -> Block:
        room = rooms.pop()
        try:
            run(block, room)
        finally:
            rooms.append(room)
        return block

    if len(rooms) <= 1:
        for block in blocks:
            report(work(block))
        return
    with ThreadPoolExecutor(len(rooms)) as pool:
        futures = [pool.submit(work, block) for block in blocks]
        try:
            for future in as_completed(futures):
                report(future.result())
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise


def read_rows(
    wiring: Wiring, rows: Any, columns: Iterable[Hashable] | None, owner: str
) -> EvidenceRows:
    """Read rows of evidence; columns come in the order of the variables.

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
        variables, codes = _of_array(wiring, rows, columns, owner)
    elif columns is not None:
        raise InputError(f"{owner}: columns= names the columns of an array; these rows have names.")
    elif isinstance(rows, (list, tuple)):
        variables, codes = _of_mappings(wiring, rows, owner)
    else:
        variables, codes = _of_columns(wiring, rows, owner)
    order = np.argsort(variables, kind="stable")
    codes = np.ascontiguousarray(codes[:, order], np.int32)
    return EvidenceRows(tuple(variables[j] for j in order), codes)


def _variables(wiring: Wiring, names: Iterable[Any], owner: str) -> list[int]:
    """Find the variables that columns name; each once."""
    try:
        return wiring.variables.find_each(names, f"{owner}: the list of columns")
    except LabelError as error:
        raise LabelError(
            f"{owner}: a column is no variable. {error} Drop columns that the model does not know."
        ) from None


def _of_array(
    wiring: Wiring, rows: Any, columns: Iterable[Hashable] | None, owner: str
) -> tuple[list[int], Any]:
    """Read a matrix of state indices."""
    if columns is None:
        raise InputError(
            f"{owner}: an array has no names. Pass columns=[...], one variable per column; cells "
            "are state indices, -1 where nothing was observed."
        )
    variables = _variables(wiring, columns, owner)
    if rows.ndim != 2 or rows.shape[1] != len(variables):
        form = f"(rows, {len(variables)}), one column per name"
        raise ShapeError(f"{owner}: the array must have shape {form}. Got {rows.shape}.")
    array = np.ma.filled(rows, -1) if isinstance(rows, np.ma.MaskedArray) else rows
    if array.dtype.kind not in "iu":
        raise InputError(
            f"{owner}: an array must hold integers: state indices, -1 where nothing was observed. "
            f"Got {array.dtype}. For state names pass a data frame or a mapping of columns."
        )
    most = wiring.n_states[variables]
    wrong = np.argwhere((array < -1) | (array >= most))
    if len(wrong):
        i, j = wrong[0].tolist()
        raise LabelError(
            f"{owner}: row {i} has state index {array[i, j]} for {wiring.names[variables[j]]!r}, "
            f"which has {most[j]} states. Use 0 to {most[j] - 1}, or -1 if nothing was observed."
        )
    return variables, array


def _of_mappings(wiring: Wiring, rows: Sequence[Any], owner: str) -> tuple[list[int], Codes]:
    """Read a list of mappings; what a row does not mention is not observed."""
    found: dict[Any, tuple[list[int], list[Any]]] = defaultdict(lambda: ([], []))
    for i, row in enumerate(rows):
        if not isinstance(row, Mapping):
            raise InputError(
                f"{owner} needs rows as mappings {{variable: state}}, a data frame, a mapping of "
                f"columns or an integer array. Row {i} is {type(row).__name__}."
            )
        for name, cell in row.items():
            places, cells = found[name]
            places.append(i)
            cells.append(cell)
    variables = _variables(wiring, found, owner)
    codes = np.full((len(rows), len(found)), -1, np.int32)
    for j, (v, (places, cells)) in enumerate(zip(variables, found.values(), strict=True)):
        codes[places, j] = _find_codes(wiring, v, cells, owner, places)
    return variables, codes


def _of_columns(wiring: Wiring, rows: Any, owner: str) -> tuple[list[int], Codes]:
    """Read a mapping of columns, which must be of one length, or a data frame."""
    frame: Any = None if isinstance(rows, Mapping) else _as_frame(rows, owner)
    names = list(rows) if frame is None else frame.columns
    variables = _variables(wiring, names, owner)
    if frame is None:
        columns = [_listed(column, name, owner) for name, column in rows.items()]
        n_rows = len(columns[0]) if columns else 0
    else:
        columns, n_rows = list(frame.iter_columns()), len(frame)
    for name, column in zip(names, columns, strict=True):
        if len(column) != n_rows:
            raise ShapeError(
                f"{owner}: the column {name!r} has {len(column)} cells and {names[0]!r} has "
                f"{n_rows}. All columns need one cell per row."
            )
    codes = np.empty((n_rows, len(names)), np.int32)
    for j, (v, column) in enumerate(zip(variables, columns, strict=True)):
        find = _find_codes if frame is None else _of_series
        codes[:, j] = find(wiring, v, column, owner)
    return variables, codes


def _listed(column: Any, name: Any, owner: str) -> list[Any]:
    """Return the cells of a column as a list."""
    if isinstance(column, (str, bytes)) or not isinstance(column, Iterable):
        raise InputError(
            f"{owner}: the column {name!r} must be a list of cells, one per row. Got {column!r}; "
            "for one row pass [{...}], a list with one mapping."
        )
    tolist = getattr(column, "tolist", None)
    cells = list(column) if tolist is None else tolist()
    return cells if isinstance(cells, list) else [cells]


def _as_frame(rows: Any, owner: str) -> Any:
    """Return a data frame, of any library that Narwhals knows, as one of Narwhals."""
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
    return frame


def _of_series(wiring: Wiring, variable: int, series: Any, owner: str) -> Codes:
    """Find the states of a column; text in Arrow is slow to take out, and looked up there."""
    import narwhals as nw  # noqa: PLC0415 - the series has loaded it

    states = list(wiring.states[variable])
    is_text = series.dtype in {nw.String, nw.Categorical} and {type(s) for s in states} == {str}
    if series.implementation.is_pyarrow() and is_text:
        text, places = series.cast(nw.String), list(range(len(states)))
        with suppress(ValueError):  # a cell that is no state: named below
            found = text.replace_strict(states, places, return_dtype=nw.Int32)
            return np.asarray(found.fill_null(-1).to_numpy(), np.int32)
    return _find_codes(wiring, variable, series.to_list(), owner)


def _find_codes(
    wiring: Wiring, variable: int, cells: list[Any], owner: str, rows: Sequence[int] | None = None
) -> Codes:
    """Find the state of each cell, -1 for none; name the first that is no state, and its row."""
    states, name = tuple(wiring.states[variable]), wiring.names[variable]
    if None in states:
        raise InputError(
            f"{owner}: None is a state of {name!r} and cannot be told from an empty cell. Pass an "
            "integer array of state indices."
        )
    known, left = _Codes({state: i for i, state in enumerate(states)} | {None: -1}), iter(cells)
    try:
        return np.fromiter(map(known.__getitem__, left), np.int32, len(cells))
    except (LookupError, TypeError):
        i = len(cells) - length_hint(left) - 1
    value = check.plain(cells[i])
    raise LabelError(
        f"{owner}: row {i if rows is None else rows[i]} has {value!r} for {name!r}, which is none "
        f"of its states: {check.listing(states)}.{check.hint(value, states)} Leave a cell empty if "
        "nothing was observed."
    )


class _Codes(dict[Any, int]):
    """Indices of states; -1 for anything missing, which is often one and the same object."""

    def __missing__(self, cell: Any) -> int:
        if _is_missing(cell):
            self[cell] = -1
            return -1
        value = check.plain(cell)
        if type(value) is type(cell):
            raise LookupError
        return self[value]


def _is_missing(cell: Any) -> bool:
    """Tell None, NaN, NA and NaT from values."""
    if cell is None or type(cell).__name__ in {"NAType", "NaTType"}:
        return True
    return isinstance(cell, _FLOATING) and bool(cell != cell)  # noqa: PLR0124 - NaN alone does
