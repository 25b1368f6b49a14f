"""Many rows of evidence: ``infer_many``, ``infer_batches`` and ``ManyEngine``, exact or loopy."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from functools import partial
from itertools import pairwise
from typing import Any, Literal, final

import numpy as np

from credo import _checks as check
from credo._types import F64
from credo.columns import Codes
from credo.graphs.evidence import Evidence
from credo.graphs.ordering import Order, find_order
from credo.graphs.problems import Problem, pose
from credo.graphs.wiring import Int64, ranges
from credo.inference.cliques import CliqueTables, CliqueTree, calibrate, plant
from credo.inference.engines import ROW_ENGINES, check_options, lookup
from credo.inference.loopy.many import LoopyRows
from credo.inference.many_posteriors import ManyPosteriors
from credo.inference.many_rows import EvidenceRows, Progress, RowEngine, run_in_rooms
from credo.inference.question import Budget, refuse_above

__all__ = ["ManyEngine", "ManyPosteriors", "infer_batches", "infer_many"]

OnImpossible = Literal["raise", "nan"]
Method = Literal["auto", "exact", "loopy"]
#: Seconds per cell and row on a tree with lanes, per cell of a row on its own, per cell for making
#: a tree, and what making one costs anyway, as measured.
_PER_CELL, _PER_OWN_CELL, _PER_NEW_CELL, _TREE = 8e-9, 2e-8, 6e-8, 5e-3
#: Seconds per variable of a row on its own, and bytes per variable of a tree beside its tables: its
#: factors, layout and program; both as measured on chains.
_PER_VARIABLE, _BYTES = 4e-6, 500.0
#: Copies of the tables beside the lanes: factors, and the run without evidence; then one lane.
_COPIES = 4
#: Rows handed to a thread at a time: starting the kernel costs as much as a few rows. Fewer if the
#: tables are so large that a block would take longer than a tenth of a second, at 8 ns per cell.
#: And rows on their own, of one pattern, that share a tree.
_BLOCK, _CELLS_PER_BLOCK, _OWN_BLOCK = 1024, 1.2e7, 8
#: More lanes than this gain nothing; fewer are used while the room passes this many bytes, half of
#: a usual last cache; but eight always pay, as measured on tables of 1e3 to 1e7 cells.
_MOST_LANES, _CACHE, _LEAST_LANES = 64, 16e6, 8


def infer_many(  # noqa: PLR0913 - a question has these parts, each with a default
    model: Any,
    rows: Any = None,
    *,
    columns: Iterable[Hashable] | None = None,
    query: Iterable[Hashable] | None = None,
    method: Method = "auto",
    potentials: Any = None,
    log_potentials: Any = None,
    on_impossible: OnImpossible = "raise",
    budget: Budget = "4GB",
    threads: int | None = None,
    progress: Progress | None = None,
    seed: int = 0,
    **options: Any,
) -> ManyPosteriors:
    r"""Compute the marginals of a graph's variables for many rows of evidence.

    .. math:: p(x_v \mid e_i) = \frac{1}{Z_i} \sum_{x \setminus x_v} \prod_f \psi_f(x_f)
              \prod_{u \in e_i} [x_u = e_{iu}] \prod_u \phi_{iu}(x_u), \qquad i = 1, \dots, n

    Parameters
    ----------
    model : BayesianNetwork, MarkovNetwork or FactorGraph
        The model. It is compiled, and not changed.
    rows : data frame, list of mappings, mapping of columns or integer array, optional
        Columns are variables, in any order; cells are states. A cell that is empty (null, None,
        NaN) or left out of a mapping was not observed. In an integer array cells are state
        indices, -1 where nothing was observed.
    columns : iterable of Hashable, optional
        Names of the columns of an array; for an array only.
    query : iterable of Hashable, optional
        The variables that are wanted; all by default. Fewer cost less.
    method : {"auto", "exact", "loopy"}, or another name of theirs
        "exact" uses junction trees, "loopy" passes messages until they settle; "auto" is exact.
    potentials : mapping of arrays, or array, optional
        Node potentials for each row, which multiply the model; for ``method="loopy"``. Either
        ``{variable: array of shape (n_rows, n_states)}``, or for variables with k states each one
        array of shape (n_rows, n_variables, k), in the order of the model.
    log_potentials : mapping of arrays, or array, optional
        The same as logs, -inf for zero, in place of ``potentials``.
    on_impossible : {"raise", "nan"}
        What to do about rows of probability zero: raise an error that names the first, or give
        them NaN and list them in ``impossible``.
    budget : str, int or None, default "4GB"
        Memory for tables and results.
    threads : int, optional
        Threads; by default one per core that may be used, at most eight.
    progress : callable, optional
        Called with the number of rows that are done, and of all, from time to time.
    seed : int, default 0
        Seed of the search for an elimination order.
    **options
        Settings of ``method="loopy"``: ``sweeps`` (at most so many, 1000), ``tolerance`` (largest
        change of a message at which a row is done; 1e-8, in float32 2e-6), ``momentum`` (the
        share of the new message, 1.0), ``temperature`` (1 sums, 0 maximises), ``dtype``
        ("float64" or "float32"), ``until`` ("converged", or "satisfied": a row is also done once
        its most probable states, variable by variable, are possible together, as when all parity
        checks hold), ``log_evidence`` (whether it is wanted, True), ``schedule`` ("flooding").

    Returns
    -------
    ManyPosteriors
        ``many[variable]`` is a :class:`credo.Posterior` with one row for each row of evidence;
        also ``probabilities``, ``most_probable``, ``log_evidence``, ``impossible``, ``status``,
        and for each row ``statuses``, ``sweeps`` and ``residuals``.

    Raises
    ------
    ImpossibleEvidence
        If a row has probability zero; names it, counted from zero, and a smallest set of findings
        that conflict.
    LabelError
        If a column is no variable, or a cell no state; names both and the row.
    BudgetError
        If tables or results do not fit.

    See Also
    --------
    credo.infer : One row, with likelihoods, messages, joints and samples.
    infer_batches : Rows that do not fit into memory.

    Notes
    -----
    The same to the last bit for any number of threads, any order of the rows and any order of the
    columns. Rows of evidence that are alike are computed once.

    ``method="exact"`` is exact up to rounding. One junction tree
    serves all rows; up to 64 of them pass through it side by side, which makes a row cheaper by an
    order of magnitude than a question to a ``JunctionTree``. If the tree is large, rows are
    grouped by the variables observed in them, and each group gets what is cheapest for it. Rows
    that scaled arithmetic might lose a term of are computed one by one, in the log domain where
    that is needed. Memory: the tables
    times the number of rows side by side and of threads, about half a kilobyte per variable for the
    tree, and the results.

    ``method="loopy"`` passes the messages of 64 rows side by side, each row until it is done, in
    time linear in the tables per sweep; parity, at-most-one and noisy gates of n variables cost n.
    It is exact on trees, once messages have crossed them; elsewhere it may not converge, and is
    often overconfident. Float64 rows whose messages pass 1e-140 are computed again in the log
    domain; with tables of many variables, or small cells, earlier. In float32 messages are clipped
    at 1e-18 (log odds of 41), as decoders do. Memory: two numbers for each state in each message,
    times 64 rows and the threads.

    References
    ----------
    .. [1] D. Koller and N. Friedman, *Probabilistic Graphical Models*, 2009, sections 10.3, 11.3.
    .. [2] F. R. Kschischang, B. J. Frey, H.-A. Loeliger, "Factor graphs and the sum-product
       algorithm", IEEE Transactions on Information Theory 47, 2001, section III.

    Examples
    --------
    >>> import credo
    >>> net = credo.chain([0.5, 0.5], [[0.9, 0.1], [0.2, 0.8]], length=3)
    >>> many = infer_many(net, {"x0": [0, None, 1], "x2": [0, 1, None]})
    >>> many["x1"].probabilities.round(3).tolist()
    [[0.976, 0.024], [0.133, 0.867], [0.2, 0.8]]
    >>> many.log_evidence.round(3).tolist()
    [-0.879, -0.879, -0.693]

    Three bits whose sum is even, received over two noisy channels:

    >>> code = credo.FactorGraph()
    >>> bits = [code.variable(i, 2) for i in range(3)]
    >>> _ = code.parity(bits)
    >>> channel = [[[0.9, 0.1], [0.9, 0.1], [0.4, 0.6]], [[0.2, 0.8], [0.9, 0.1], [0.5, 0.5]]]
    >>> many = infer_many(code, method="loopy", potentials=channel)
    >>> many.most_probable().tolist(), many.status
    ([[0, 0, 0], [1, 0, 1]], 'CONVERGED')
    """
    given = query, method, on_impossible, budget, threads, seed, options
    engine = _open("infer_many", model, given)
    return engine.run(rows, columns, (potentials, log_potentials), progress, "infer_many")


def infer_batches(  # noqa: PLR0913 - as infer_many
    model: Any,
    batches: Iterable[Any],
    *,
    columns: Iterable[Hashable] | None = None,
    query: Iterable[Hashable] | None = None,
    method: Method = "auto",
    on_impossible: OnImpossible = "raise",
    budget: Budget = "4GB",
    threads: int | None = None,
    seed: int = 0,
    **options: Any,
) -> Iterator[ManyPosteriors]:
    """Compute marginals for table after table of evidence rows, compiling once.

    Parameters
    ----------
    model : BayesianNetwork, MarkovNetwork or FactorGraph
        The model.
    batches : iterable
        Tables of rows, each as for :func:`infer_many`; a generator is read one table at a time.
    columns, query, method, on_impossible, budget, threads, seed
        As for :func:`infer_many`.
    **options
        Settings of ``method="loopy"``, as for :func:`infer_many`.

    Yields
    ------
    ManyPosteriors
        For each table.

    Raises
    ------
    ImpossibleEvidence, LabelError, BudgetError
        As for :func:`infer_many`; the text also names the table, counted from zero.

    See Also
    --------
    infer_many : One table.

    Notes
    -----
    Answers are the same however rows are cut into tables: to the last bit if all tables have the
    same columns and the tree has no more than half a million cells, otherwise up to rounding.

    Examples
    --------
    >>> import credo
    >>> net = credo.chain([0.5, 0.5], [[0.9, 0.1], [0.2, 0.8]], length=3)
    >>> for many in infer_batches(net, ([{"x0": x}] for x in (0, 1))):
    ...     print(many["x1"].probabilities.round(3).tolist())
    [[0.9, 0.1]]
    [[0.2, 0.8]]
    """
    given = query, method, on_impossible, budget, threads, seed, options
    engine = _open("infer_batches", model, given)
    names = None if columns is None else list(columns)
    return (
        engine.run(rows, names, (None, None), None, f"infer_batches, table {i}")
        for i, rows in enumerate(batches)
    )


@final
class ManyEngine:
    """Compile a graph once, then answer table after table of evidence rows.

    Parameters
    ----------
    model : BayesianNetwork, MarkovNetwork or FactorGraph
        The model. It is compiled, and not changed.
    query, method, on_impossible, budget, threads, seed
        As for :func:`infer_many`.
    **options
        Settings of ``method="loopy"``, as for :func:`infer_many`.

    See Also
    --------
    infer_many : One table.
    infer_batches : A stream of tables.

    Notes
    -----
    The tree is kept while tables have the same columns; for ``method="loopy"`` the layout of the
    messages is. Not for several threads at a time: it
    starts its own.

    Examples
    --------
    >>> import credo
    >>> net = credo.chain([0.5, 0.5], [[0.9, 0.1], [0.2, 0.8]], length=3)
    >>> engine = ManyEngine(net, query=["x1"])
    >>> engine.run([{"x0": 0}])["x1"].probabilities.round(3).tolist()
    [[0.9, 0.1]]
    """

    def __init__(  # noqa: PLR0913 - as infer_many
        self,
        model: Any,
        *,
        query: Iterable[Hashable] | None = None,
        method: Method = "auto",
        on_impossible: OnImpossible = "raise",
        budget: Budget = "4GB",
        threads: int | None = None,
        seed: int = 0,
        **options: Any,
    ) -> None:
        given = query, method, on_impossible, budget, threads, seed, options
        self._engine = _open("ManyEngine", model, given)

    def run(
        self,
        rows: Any = None,
        *,
        columns: Iterable[Hashable] | None = None,
        potentials: Any = None,
        log_potentials: Any = None,
        progress: Progress | None = None,
    ) -> ManyPosteriors:
        """Compute the marginals for each row.

        Parameters
        ----------
        rows, columns, potentials, log_potentials, progress
            As for :func:`infer_many`.

        Returns
        -------
        ManyPosteriors
            One row for each row of evidence.
        """
        given = potentials, log_potentials
        return self._engine.run(rows, columns, given, progress, "ManyEngine.run")


def _open(owner: str, model: Any, given: tuple[Any, ...]) -> RowEngine:
    """Compile a model for many rows; given are the options that all doors have in common."""
    query, method, on_impossible, budget, threads, seed, options = given
    check.one_of(on_impossible, ("raise", "nan"), f"on_impossible of {owner}")
    engine = lookup(method, ROW_ENGINES, f"method of {owner}")
    check_options(engine, options, ROW_ENGINES, owner)
    shared = {"raises": on_impossible == "raise", "budget": budget, "threads": threads}
    if engine.name == "loopy":
        return LoopyRows(model, query, owner=owner, **shared, **options)
    return ExactRows(model, query, seed=seed, owner=owner, **shared)


class ExactRows(RowEngine):
    """A compiled model that answers table after table of evidence rows, exactly.

    One tree with lanes serves all rows if it is small; else rows are grouped by the variables
    observed in them, and each group gets what is cheapest: that tree, a smaller one with lanes, or
    for each row the tables without what it observes.
    """

    def __init__(
        self, model: Any, query: Iterable[Hashable] | None, *, seed: int, **shared: Any
    ) -> None:
        super().__init__(model, query, **shared)
        self._seed = seed
        self._variables: tuple[int, ...] | None = None
        self._common: LaneTree | None = None

    def _answer(
        self,
        rows: EvidenceRows,
        beliefs: F64,
        log_z: F64,
        report: Callable[[slice], None],
        owner: str,  # noqa: ARG002 - the results fit
    ) -> dict[str, Any]:
        """Answer rows part by part, each with a tree, or one by one."""
        for part, tree, places in self._parts(rows):
            n_rows, size, rooms = part.stop - part.start, _OWN_BLOCK, [np.empty((0, 0))]
            if tree is not None:
                held = sum(t.n_bytes for t in {self._common, tree} if t is not None)
                left = self._memory - beliefs.nbytes - held
                size, rooms = tree.rooms(n_rows, self._threads, left)
            starts_at = range(part.start, part.stop, size)
            blocks = [slice(i, min(i + size, part.stop)) for i in starts_at]
            answer = partial(self._answer_block, rows, tree, places, (beliefs, log_z))
            run_in_rooms(blocks, rooms, answer, report)
        if self._question.is_prior:
            log_z[(rows.codes < 0).all(axis=1)] = 0.0
        return {}

    def _answer_block(
        self,
        rows: EvidenceRows,
        tree: LaneTree | None,
        places: Int64,
        out: tuple[F64, F64],
        block: slice,
        room: F64,
    ) -> None:
        """Answer a block of rows: side by side or, if terms may be lost, one by one."""
        beliefs, log_z = out
        lost = np.arange(block.start, block.stop)
        if tree is not None:
            codes = np.ascontiguousarray(rows.codes[block][:, places])
            lost = lost[tree.run(codes, room, beliefs[block], log_z[block])]
        planted: dict[bytes, CliqueTree] = {}
        for i in lost.tolist():
            problem = self._cut(rows.evidence(self.wiring, i))
            pattern = (rows.codes[i] >= 0).tobytes()
            if pattern not in planted:
                order = self._order(problem, 0.0)
                refuse_above(self._budget, problem, order, self._owner)
                planted = {pattern: plant(problem, order.sequence)}
            found = calibrate(problem, planted[pattern])
            log_z[i] = found.log_z
            if not found.are_impossible:
                every, seen = np.zeros(self._start[-1]), np.flatnonzero(problem.observed >= 0)
                every[self._start[seen] + problem.observed[seen]] = 1.0
                every[ranges(self._start[problem.variables], problem.n_states)] = found.values
                beliefs[i] = every[self._cells]

    def _parts(self, rows: EvidenceRows) -> Iterator[tuple[slice, LaneTree | None, Int64]]:
        """Cut rows, sorted by pattern, into parts with a tree and the columns it takes."""
        if self._variables != rows.variables:  # the next rows will most likely have the same
            self._variables = self._common = None  # first of all, give its memory back
            self._common = self._tree(rows.variables, 2.0, np.inf, 0)
            self._variables = rows.variables
        common, every, n_rows = self._common, np.arange(len(rows.variables)), len(rows.codes)
        if common is not None and _PER_CELL * common.n_cells <= _TREE:
            yield slice(0, n_rows), common, every
            return
        waiting = 0  # rows from here on are for the tree for all, and run together
        observed = rows.codes >= 0
        changes = np.flatnonzero((observed[1:] != observed[:-1]).any(axis=1)) + 1
        for start, stop in pairwise([0, *changes.tolist(), n_rows] if n_rows else []):
            places = np.flatnonzero(observed[start])
            tree = self._cheapest(tuple(rows.variables[j] for j in places), stop - start)
            if tree is not common or common is None:
                if start > waiting:
                    yield slice(waiting, start), common, every
                yield slice(start, stop), tree, places
                waiting = stop
        if n_rows > waiting:
            yield slice(waiting, n_rows), common, every

    def _cheapest(self, observed: tuple[int, ...], n_rows: int) -> LaneTree | None:
        """Choose for one pattern: the tree for all, one of its own, or None for row by row."""
        firsts = EvidenceRows(observed, np.zeros((1, len(observed)), np.int32))
        problem = self._cut(firsts.evidence(self.wiring, 0))
        common = np.inf
        if self._common is not None:
            common = n_rows * _PER_CELL * self._common.n_cells
        own = n_rows * (_TREE + _PER_VARIABLE * len(problem.variables))
        if self._query is None and common <= own:
            return self._common
        own += n_rows * _PER_OWN_CELL * self._order(problem, 0.0).cells
        tree = None
        if self._query is not None:
            tree = self._tree(observed, 0.0, min(own, common), n_rows)
        return tree or (self._common if common <= own else None)

    def _tree(
        self, variables: tuple[int, ...], effort: float, most: float, n_rows: int
    ) -> LaneTree | None:
        """Make a tree for rows with these columns, unless it costs too much or does not fit."""
        needed = None if self._query is None else sorted({*self._query, *variables})
        problem = pose(self.wiring, Evidence(()), needed, whole=True)
        order = self._order(problem, effort)
        left = self._memory - (0.0 if self._common is None else self._common.n_bytes)
        if 8.0 * order.cells * _COPIES + _BYTES * len(problem.variables) > left:
            return None
        if _TREE + (_PER_NEW_CELL + n_rows * _PER_CELL) * order.cells > most:
            return None
        columns = np.searchsorted(problem.variables, np.array(variables, np.int64))
        return LaneTree(problem, order, columns, np.searchsorted(problem.variables, self.wanted))

    def _cut(self, evidence: Evidence) -> Problem:
        """Cut observed variables out; how large the rest is depends on which they are."""
        return pose(self.wiring, evidence, self._query, whole=True)

    def _order(self, problem: Problem, effort: float) -> Order:
        """Find an elimination order."""
        scopes = problem.scope_start, problem.scope
        return find_order(problem.n_states, *scopes, effort=effort, seed=self._seed)


class LaneTree:
    """A junction tree that answers rows of state indices side by side.

    Parameters
    ----------
    problem
        The factors, with nothing observed.
    order
        The order of elimination.
    columns
        The variables that may be observed, in the order of the columns of codes.
    wanted
        The variables whose beliefs are wanted, in the order of the result.
    """

    def __init__(self, problem: Problem, order: Order, columns: Int64, wanted: Int64) -> None:
        from credo._kernels import lanes  # noqa: PLC0415

        tree = plant(problem, order.sequence)
        tables = CliqueTables(problem, tree)
        self._log_scale, self._is_lost = tables.log_scale, problem.is_wide or tables.lost

        # In the room lie tables, then messages with four numbers behind each, then spare cells for
        # a message or the states of a variable, then two for sums that nobody looks at.
        n_nodes, cells, rows = len(tree.parent), np.diff(tree.table_start), np.diff(tree.row_start)
        message = tree.n_cells + tree.row_start[:-1] + 4 * np.arange(n_nodes)
        spare = tree.n_cells + int(tree.row_start[-1]) + 4 * n_nodes
        scratch = spare + int(max(problem.n_states.max(initial=1), rows.max(initial=1)))
        self.n_cells = scratch + 2

        last, read_from = tree.last[columns], tree.read_from[wanted]
        node = np.where(read_from < 0, -1 - read_from, read_from)
        home = np.where(read_from < 0, tree.table_start[node], message[node])
        home_cells = np.where(read_from < 0, cells[node], rows[node])
        marks = np.zeros(n_nodes, np.int64)
        marks[node[read_from >= 0]] = lanes.SEPARATOR
        marks[node[read_from < 0]] = lanes.WHOLE_TABLE
        reads, rescales, heard = marks.tolist(), [0] * n_nodes, [0] * n_nodes
        for k, parent in enumerate(tree.parent.tolist()):  # children come before their parents
            if parent >= 0:
                heard[parent] += 1
                rescales[k] = int(heard[parent] % lanes.RESCALE_AFTER == 0)
                reads[parent] = lanes.WHOLE_TABLE if reads[k] else reads[parent]
        nodes = tree.parent, tree.table_start[:-1], tree.table_start[1:], message, message + rows
        self._program = (
            tables.low,
            np.stack([*nodes, *np.array([rescales, reads], np.int64)], axis=1),
            _states(last, cells[last], problem.n_states[columns], tree.last_step[columns]),
            _states(home, home_cells, problem.n_states[wanted], tree.read_step[wanted]),
            tree.group_start,
            tree.lengths,
            tree.strides,
            spare,
            scratch,
        )
        self._base = self._calm = tables.base
        room, nobody = np.zeros((self.n_cells, 1)), np.full((1, len(columns)), -1, np.int32)
        self.run(nobody, room, np.empty((1, 0)), np.empty(1), upward=True)
        self._calm = room.ravel()

    @property
    def n_bytes(self) -> int:
        """Bytes that the tree takes before it runs any rows."""
        held = self._base, self._calm, *self._program
        return sum(array.nbytes for array in held if isinstance(array, np.ndarray))

    def rooms(self, n_rows: int, threads: int, memory: float) -> tuple[int, list[F64]]:
        """Return the rows of a block, and a room for each thread: as many lanes as pay and fit.

        Where memory is short there are first fewer lanes, then fewer threads, then one lane.
        """
        fitting = max(int(_CACHE / (8 * self.n_cells)), 1)
        lanes = max(_LEAST_LANES, min(_MOST_LANES, 1 << fitting.bit_length() - 1))
        lanes = min(lanes, 1 << max(n_rows - 1, 0).bit_length())
        threads = min(threads, -(-n_rows // lanes))
        while lanes * threads > max(memory / (8.0 * self.n_cells), 1.0):
            if lanes > _LEAST_LANES or threads <= 1:
                lanes //= 2
            else:
                threads -= 1
        size = lanes * int(-(-min(_BLOCK, _CELLS_PER_BLOCK / self.n_cells) // lanes))
        threads = min(threads, -(-n_rows // size))
        return size, [np.zeros((self.n_cells, lanes)) for _ in range(threads)]

    def run(self, codes: Codes, room: F64, out: F64, log_z: F64, *, upward: bool = False) -> Int64:
        """Write the beliefs of rows, and logs of their sums; return the rows that may lack terms.

        With ``upward`` messages are sent to the roots, and no more is done.
        """
        from credo._kernels.lanes import run_lanes  # noqa: PLC0415

        lost = np.ones(len(codes), np.bool_)
        if upward or not self._is_lost:
            run_lanes.expect(2.0 * len(codes) * self.n_cells)  # about two visits in every row
            tables = self._base, self._calm, self._program
            with np.errstate(all="ignore"):  # where kernels run as plain Python: lost rows overflow
                run_lanes(room, *tables, codes, out, log_z, lost, upward)
            log_z += self._log_scale
        return np.flatnonzero(lost)


def _states(where: Int64, cells: Int64, states: Int64, inner: Int64) -> Int64:
    """Return a row for each of several variables, whose states lie in runs of cells."""
    times = cells // (states * inner)
    return np.stack([where, times, states, inner, np.cumsum(states) - states], axis=1)
