"""Rows of evidence: any table as a matrix of state indices, and what engines of rows share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeVar

import numpy as np

from credo import _checks as check
from credo._types import F64
from credo.columns import (
    Codes,
    first_unhashable,
    frame_of,
    name_column,
    plain,
    words_of,
)
from credo.exceptions import BudgetError, ImpossibleEvidence, InputError, LabelError, ShapeError
from credo.graphs.evidence import Evidence, Finding
from credo.graphs.wiring import Int64, Wiring, ranges, starts
from credo.inference._explain import impossible
from credo.inference.many_posteriors import ManyPosteriors
from credo.inference.question import Budget, as_bytes, as_text, ask

Progress: TypeAlias = Callable[[int, int], object]
Block = TypeVar("Block")


@dataclass(frozen=True, slots=True, eq=False)
class EvidenceRows:
    """Rows of evidence: one column per variable that may be observed, -1 where it is not."""

    variables: tuple[int, ...]
    codes: Codes
    cells: Int64 | None = None  #: the states that have potentials, among all
    logs: F64 | None = None  #: of these potentials, row by row

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
        With potentials, all rows differ.
        """
        codes = self.codes
        if self.logs is not None:
            return self, np.arange(len(codes)), np.arange(len(codes))
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


class RowEngine(ABC):
    """A compiled model that answers table after table of rows: what all ways to do so share.

    Parameters
    ----------
    model
        The model.
    query
        The wanted variables; None for all.
    raises
        Whether impossible rows raise an error.
    budget, threads
        Memory, and the number of threads.
    owner
        Who asks.
    keep_rules
        Whether rules are not to be written out as tables.
    """

    #: Numbers that are kept of each row beside its beliefs.
    beside = 1

    def __init__(  # noqa: PLR0913 - what the doors take
        self,
        model: Any,
        query: Iterable[Hashable] | None,
        *,
        raises: bool,
        budget: Budget,
        threads: int | None,
        owner: str,
        keep_rules: bool = False,
    ) -> None:
        self._raises, self._budget, self._owner = raises, budget, owner
        self._memory = as_bytes(budget, owner)
        self._threads = check.threads(threads, f"threads of {owner}")
        self._question = ask(model, None, None, query, budget, owner, keep_rules=keep_rules)
        self.wiring, self._query = self._question.wiring, self._question.query
        n_states, visible = self.wiring.n_states, range(len(self.wiring.names))
        self.wanted = np.array(visible if self._query is None else self._query, np.int64)
        self._start = starts(n_states)
        self._cells = ranges(self._start[self.wanted], n_states[self.wanted])

    def run(
        self,
        rows: Any,
        columns: Iterable[Hashable] | None,
        potentials: tuple[Any, Any],
        progress: Progress | None,
        owner: str,
    ) -> ManyPosteriors:
        """Answer one table; ``owner`` is how messages call it.

        Potentials come as they are, or as logs, or None for both.
        """
        alone, first, which = self._read(rows, columns, potentials, owner).distinct()
        n_rows, width = len(first), len(self._cells)
        needed = 8.0 * n_rows * (width + self.beside)
        if needed > self._memory:
            raise BudgetError(
                f"{owner}: the marginals of {n_rows} {'distinct ' if alone.logs is None else ''}"
                f"rows, {width} numbers each, take {as_text(needed)}; the budget is "
                f"{as_text(self._memory)}. Ask for fewer variables (query=[...]), pass the rows in "
                "parts (infer_batches), or raise budget=."
            )
        beliefs, log_z = np.empty((n_rows, width)), np.empty(n_rows)
        counts, done = np.bincount(which, minlength=n_rows), 0

        def report(block: Any) -> None:
            nonlocal done
            done += int(counts[block].sum())
            if progress is not None:
                progress(done, len(which))

        more = self._answer(alone, beliefs, log_z, report, owner)
        bad = np.flatnonzero(np.isneginf(log_z))
        if len(bad) and self._raises:
            worst = bad[np.argmin(first[bad])]
            raise self._refusal(alone, worst, f"{owner}, row {first[worst]}")
        beliefs[bad] = np.nan
        return ManyPosteriors(self.wiring, self.wanted, beliefs, log_z, which, **more)

    def _read(
        self,
        rows: Any,
        columns: Iterable[Hashable] | None,
        potentials: tuple[Any, Any],
        owner: str,
    ) -> EvidenceRows:
        """Read one table."""
        if any(given is not None for given in potentials):
            raise InputError(
                f"{owner}: node potentials of rows need method='loopy'. For one row, exactly, use "
                "infer(likelihood=...)."
            )
        return read_rows(self.wiring, rows, columns, owner)

    @abstractmethod
    def _answer(
        self,
        rows: EvidenceRows,
        beliefs: F64,
        log_z: F64,
        report: Callable[[Any], None],
        owner: str,
    ) -> dict[str, Any]:
        """Write beliefs and logs of sums, report what is done, return what else is known."""

    def _refusal(self, rows: EvidenceRows, row: int, who: str) -> ImpossibleEvidence | InputError:
        """Return the error about a row that is impossible."""
        evidence = rows.evidence(self.wiring, row)
        if rows.logs is None:
            tables = self.wiring.tabulated(sum_product=True)
            return impossible(tables, evidence, who, self._budget)
        return ImpossibleEvidence(
            f"{who}: potentials and evidence allow no configuration: messages contradict each "
            "other. Give zeros a small potential, or use on_impossible='nan'.",
            {finding.name: finding.given for finding in evidence.findings},
        )


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
            f"{owner}: a column is not a variable. {error} Drop columns that the model does not "
            "know."
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
    if isinstance(rows, Mapping):
        columns = {name: _list_cells(column, name, owner) for name, column in rows.items()}
        n_rows = max(map(len, columns.values()), default=0)
    else:
        frame = frame_of(rows, owner)
        if frame is None or not hasattr(frame, "columns"):
            raise InputError(
                f"{owner} needs rows as a data frame, a list of mappings, a mapping of columns or "
                f"an integer array. Got {type(rows).__name__}."
            )
        columns, n_rows = dict(zip(frame.columns, frame.iter_columns(), strict=True)), len(frame)
    variables = _variables(wiring, columns, owner)
    codes = np.empty((n_rows, len(columns)), np.int32)
    for j, (v, (name, column)) in enumerate(zip(variables, columns.items(), strict=True)):
        if len(column) != n_rows:
            longest = next(other for other, each in columns.items() if len(each) == n_rows)
            raise ShapeError(
                f"{owner}: the column {name!r} has {len(column)} cells and {longest!r} has "
                f"{n_rows}. All columns need one cell per row."
            )
        codes[:, j] = _find_codes(wiring, v, column, owner)
    return variables, codes


def _list_cells(column: Any, name: Any, owner: str) -> list[Any]:
    """Return the cells of a column as a list."""
    if isinstance(column, (str, bytes)) or not isinstance(column, Iterable):
        raise InputError(
            f"{owner}: the column {name!r} must be a list of cells, one per row. Got {column!r}; "
            "for one row pass [{...}], a list with one mapping."
        )
    tolist = getattr(column, "tolist", None)
    cells = list(column) if tolist is None else tolist()
    return cells if isinstance(cells, list) else [cells]


def _find_codes(
    wiring: Wiring, variable: int, column: Any, owner: str, rows: Sequence[int] | None = None
) -> Any:
    """Find the state of each cell, -1 for none; name the first that is not a state, and its row."""
    states, name = tuple(wiring.states[variable]), wiring.names[variable]
    if None in states:
        raise InputError(
            f"{owner}: None is a state of {name!r} and cannot be told from an empty cell. Pass an "
            "integer array of state indices."
        )
    try:
        words = words_of(column, name_column(owner, name))
    except TypeError:
        row, value = first_unhashable(column)
    else:
        places = {plain(state): place for place, state in enumerate(states)}
        lookup = [places.get(value, len(states)) for value in words.categories]
        codes = np.array([*lookup, -1], dtype=np.intp)[words.codes]
        row = int(np.argmax(codes == len(states))) if len(codes) else 0
        if not len(codes) or codes[row] < len(states):
            return codes
        value = words.categories[words.codes[row]]
    raise LabelError(
        f"{owner}: row {row if rows is None else rows[row]} has {value!r} for {name!r}, which is "
        f"none of its states: {check.listing(states)}.{check.hint(value, states)} Leave a cell "
        "empty if nothing was observed."
    )
