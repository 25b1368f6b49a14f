"""``infer_many``: the marginals of many rows of evidence, on one compiled tree."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from typing import Any, Literal, final

from credo.inference._budget import Budget
from credo.inference._many_engine import Engine, Options, Progress
from credo.inference._many_result import ManyPosteriors

__all__ = ["ManyEngine", "ManyPosteriors", "infer_batches", "infer_many"]

OnImpossible = Literal["raise", "nan"]


def infer_many(  # noqa: PLR0913 - a question has these parts, each with a default
    model: Any,
    rows: Any,
    *,
    columns: Iterable[Hashable] | None = None,
    query: Iterable[Hashable] | None = None,
    on_impossible: OnImpossible = "raise",
    budget: Budget = "4GB",
    threads: int | None = None,
    progress: Progress | None = None,
    seed: int = 0,
) -> ManyPosteriors:
    r"""Compute the marginals of a graph's variables for many rows of evidence.

    .. math:: p(x_v \mid e_i) = \frac{1}{Z_i} \sum_{x \setminus x_v} \prod_f \psi_f(x_f)
              \prod_{u \in e_i} [x_u = e_{iu}], \qquad i = 1, \dots, n

    Parameters
    ----------
    model : BayesianNetwork, MarkovNetwork or FactorGraph
        The model. It is compiled, and not changed.
    rows : data frame, list of mappings, mapping of columns or integer array
        Columns are variables, in any order; cells are states. A cell that is empty (null, None,
        NaN) or left out of a mapping was not observed. In an integer array cells are state
        indices, -1 where nothing was observed.
    columns : iterable of Hashable, optional
        Names of the columns of an array; for an array only.
    query : iterable of Hashable, optional
        The variables that are wanted; all by default. Fewer cost less.
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

    Returns
    -------
    ManyPosteriors
        ``many[variable]`` is a :class:`credo.Posterior` with one row for each row of evidence;
        also ``probabilities``, ``log_evidence`` and ``impossible``.

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
    Exact up to rounding, and the same to the last bit for any number of threads, any order of the
    rows and any order of the columns. Rows that are alike are computed once. One junction tree
    serves all rows; up to 64 of them pass through it side by side, which makes a row cheaper by an
    order of magnitude than a question to a ``JunctionTree``. If the tree is large, rows are
    grouped by the variables observed in them, and each group gets what is cheapest for it. Rows
    that scaled arithmetic might lose a term of are computed in the log domain. Memory: the tables
    times the number of rows side by side and of threads, about half a kilobyte per variable for the
    tree, and the results.

    References
    ----------
    .. [1] D. Koller and N. Friedman, *Probabilistic Graphical Models*, 2009, section 10.3.

    Examples
    --------
    >>> import credo
    >>> net = credo.chain([0.5, 0.5], [[0.9, 0.1], [0.2, 0.8]], length=3)
    >>> many = infer_many(net, {"x0": [0, None, 1], "x2": [0, 1, None]})
    >>> many["x1"].probabilities.round(3).tolist()
    [[0.976, 0.024], [0.133, 0.867], [0.2, 0.8]]
    >>> many.log_evidence.round(3).tolist()
    [-0.879, -0.879, -0.693]
    """
    options = Options(query, on_impossible, budget, threads, seed)
    return Engine(model, options, "infer_many").run(rows, columns, progress, "infer_many")


def infer_batches(  # noqa: PLR0913 - as infer_many
    model: Any,
    batches: Iterable[Any],
    *,
    columns: Iterable[Hashable] | None = None,
    query: Iterable[Hashable] | None = None,
    on_impossible: OnImpossible = "raise",
    budget: Budget = "4GB",
    threads: int | None = None,
    seed: int = 0,
) -> Iterator[ManyPosteriors]:
    """Compute marginals for table after table of evidence rows, compiling once.

    Parameters
    ----------
    model : BayesianNetwork, MarkovNetwork or FactorGraph
        The model.
    batches : iterable
        Tables of rows, each as for :func:`infer_many`; a generator is read one table at a time.
    columns, query, on_impossible, budget, threads, seed
        As for :func:`infer_many`.

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
    options = Options(query, on_impossible, budget, threads, seed)
    engine = Engine(model, options, "infer_batches")
    return _each(engine, batches, None if columns is None else list(columns))


def _each(
    engine: Engine, batches: Iterable[Any], columns: list[Hashable] | None
) -> Iterator[ManyPosteriors]:
    """Answer table after table."""
    for i, rows in enumerate(batches):
        yield engine.run(rows, columns, None, f"infer_batches, table {i}")


@final
class ManyEngine:
    """Compile a graph once, then answer table after table of evidence rows.

    Parameters
    ----------
    model : BayesianNetwork, MarkovNetwork or FactorGraph
        The model. It is compiled, and not changed.
    query, on_impossible, budget, threads, seed
        As for :func:`infer_many`.

    See Also
    --------
    infer_many : One table.
    infer_batches : A stream of tables.

    Notes
    -----
    The tree is kept while tables have the same columns. Not for several threads at a time: it
    starts its own.

    Examples
    --------
    >>> import credo
    >>> net = credo.chain([0.5, 0.5], [[0.9, 0.1], [0.2, 0.8]], length=3)
    >>> engine = ManyEngine(net, query=["x1"])
    >>> engine.run([{"x0": 0}])["x1"].probabilities.round(3).tolist()
    [[0.9, 0.1]]
    """

    def __init__(
        self,
        model: Any,
        *,
        query: Iterable[Hashable] | None = None,
        on_impossible: OnImpossible = "raise",
        budget: Budget = "4GB",
        threads: int | None = None,
        seed: int = 0,
    ) -> None:
        options = Options(query, on_impossible, budget, threads, seed)
        self._engine = Engine(model, options, "ManyEngine")

    def run(
        self,
        rows: Any,
        *,
        columns: Iterable[Hashable] | None = None,
        progress: Progress | None = None,
    ) -> ManyPosteriors:
        """Compute the marginals for each row.

        Parameters
        ----------
        rows, columns, progress
            As for :func:`infer_many`.

        Returns
        -------
        ManyPosteriors
            One row for each row of evidence.
        """
        return self._engine.run(rows, columns, progress, "ManyEngine.run")
