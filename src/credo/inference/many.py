"""``infer_many``: the marginals of many rows of evidence, on one compiled model."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from typing import Any, Literal, final

from credo.inference._many_engine import (
    Engine,
    LoopyEngine,
    Options,
    Progress,
    Table,
    open_engine,
)
from credo.inference._many_result import ManyPosteriors
from credo.inference.question import Budget

__all__ = ["ManyEngine", "ManyPosteriors", "infer_batches", "infer_many"]

OnImpossible = Literal["raise", "nan"]
Method = Literal["auto", "exact", "loopy"]


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
    method : {"auto", "exact", "loopy"}
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
    that scaled arithmetic might lose a term of are computed in the log domain. Memory: the tables
    times the number of rows side by side and of threads, about half a kilobyte per variable for the
    tree, and the results.

    ``method="loopy"`` passes the messages of 64 rows side by side, each row until it is done, in
    time linear in the tables per sweep; parity, at-most-one and noisy gates of n variables cost n.
    It is exact on trees, once messages have crossed them; elsewhere it may not converge, and is
    often too sure. Float64 rows whose messages pass 1e-140 are computed again in the log domain.
    In float32 messages are clipped at 1e-18 (log odds of 41), as decoders do. Memory: two numbers
    for each state in each message, times 64 rows and the threads.

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
    settings = Options(query, on_impossible, budget, threads, seed, method, options)
    table = Table(rows, columns, potentials, log_potentials)
    return open_engine(model, settings, "infer_many").run(table, progress, "infer_many")


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
    settings = Options(query, on_impossible, budget, threads, seed, method, options)
    engine = open_engine(model, settings, "infer_batches")
    return _each(engine, batches, None if columns is None else list(columns))


def _each(
    engine: Engine | LoopyEngine, batches: Iterable[Any], columns: list[Hashable] | None
) -> Iterator[ManyPosteriors]:
    """Answer table after table."""
    for i, rows in enumerate(batches):
        yield engine.run(Table(rows, columns), None, f"infer_batches, table {i}")


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
        settings = Options(query, on_impossible, budget, threads, seed, method, options)
        self._engine = open_engine(model, settings, "ManyEngine")

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
        table = Table(rows, columns, potentials, log_potentials)
        return self._engine.run(table, progress, "ManyEngine.run")
