"""``fit_table`` and ``update_table``: models learn from tables of any size, batch by batch."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from typing import Any, Protocol, TypeVar, final

from credo.classifiers.logistic import LogisticClassifier
from credo.classifiers.logistic_rows import LabelledBatch
from credo.classifiers.streaming.cells import labels_of
from credo.classifiers.streaming.matrices import table_of
from credo.classifiers.streaming.planning import adopt, fitted_learner, learner_of, schema_of
from credo.classifiers.streaming.reducers import Batch, Reducer
from credo.classifiers.table_schema import TableSchema
from credo.exceptions import InputError
from credo.families.moments import Rows
from credo.tables.batch_threads import map_in_order, with_starts
from credo.tables.checking import open_checked, schema_of_model
from credo.tables.sources import Part, Progress, Source, open_source, read_ahead
from credo.tables.sources.arrow import plain_batch

T = TypeVar("T")


class Engine(Protocol):
    """Something that summarises the parts of a table elsewhere: a cluster."""

    def open(self, source: Any, **options: Any) -> Source:
        """Open a table that the engine can reach; its schema, first rows and parts are used."""
        ...

    def reduce(self, job: FitJob, parts: Sequence[Part], progress: Progress | None = None) -> Any:
        """Give the summary of the rows of all parts, merged in a fixed order."""
        ...


@final
@dataclass(frozen=True, slots=True)
class FitJob:
    """The work of summarising a table; it travels to wherever the parts of the table are.

    Parameters
    ----------
    reducer
        Turns batches into summaries and merges them.
    """

    reducer: Reducer

    def reduce(self, part: Part) -> Any:
        """Summarise the rows of one part on one thread; None if there are none."""
        return self.over(part.open(), threads=1)

    def over(
        self, source: Source, progress: Progress | None = None, threads: int | None = None
    ) -> Any:
        """Summarise the rows of a source, batch by batch; None if there are none.

        The summaries are merged in the order of the rows, whatever the threads.
        """
        summary = None
        labels = source.coded([self.reducer.schema.target])  # few words: Parquet has them coded
        numbered = with_starts(labels.batches(self.reducer.columns, progress))
        with closing(map_in_order(self._summarise, numbered, threads)) as summaries:
            for found in summaries:
                summary = self.merge(summary, found)
        return summary

    def _summarise(self, batch: tuple[int, Any]) -> Any:
        start, rows = batch
        return self.reducer.summarise(plain_batch(rows), start)

    def merge(self, first: Any, second: Any) -> Any:
        """Join two summaries, either of which may be None."""
        return self.reducer.merge(first, second)


def fit_table(  # noqa: PLR0913 - what to learn from, and how to get at it
    model: Any,
    source: Any,
    target: str = "y",
    features: Sequence[str] | None = None,
    weight: str | None = None,
    *,
    missing: Sequence[str] = (),
    engine: Engine | None = None,
    progress: Progress | None = None,
) -> Any:
    r"""Fit a model to a table of any size, in one pass and bounded memory.

    Models with closed-form estimates learn from a summary of the rows, which is merged batch by
    batch; logistic regression reads the table once per iteration.

    Parameters
    ----------
    model : GaussianClassifier, GaussianRegressor, NaiveBayes, TextClassifier, LogisticClassifier
        Or a ``DecisionClassifier`` of one. It is fitted in place.
    source : path, list of paths, data frame or Arrow table
        CSV (also gzipped), Parquet, Arrow and Feather files, folders of them, frames of pandas and
        Polars, Arrow tables, batches and data sets; frames of Dask and Spark with their engine.
    target : str
        Column of labels (of numbers for a regressor).
    features : list of str, optional
        Columns to learn from; by default all but the target and the weight.
    weight : str, optional
        Column of weights: 2 counts as the row twice, 0 as no row.
    missing : sequence of str
        Words for a missing cell in text files, such as ``"?"``; empty cells, NA and NaN always
        are.
    engine : optional
        ``credo.tables.DaskEngine`` or ``SparkEngine``: summarise on a cluster.
    progress : callable, optional
        Called after each batch with the rows done and their share of all, None if unknown.
        Logistic regression begins anew with each pass, and calls it from another thread.

    Returns
    -------
    model
        The same object, with ``schema_``: which columns it learned from, and as what.

    Raises
    ------
    LabelError
        If a column is not there; names the nearest.
    InputError
        If a column is nothing that the model learns from (dates, text for a Gaussian), or a label
        is missing.

    See Also
    --------
    credo.predict_table : Score a table with the model.
    credo.update_table : Add the rows of another table.

    Notes
    -----
    One pass; memory is a few batches of 65 536 rows and the summary. Numbers equal those of
    ``fit`` on all rows at once to rounding. Numbers and truth values are taken as they are, text
    as categories; logistic regression sees a category as one column of zeros and ones for each
    value but the first. ``NaiveBayes(families="auto")`` chooses families by the first 65 536 rows.
    Missing values: ``NaiveBayes`` and diagonal Gaussians leave them out, the others refuse them.

    References
    ----------
    .. [1] T. F. Chan, G. H. Golub and R. J. LeVeque, "Algorithms for computing the sample
       variance", The American Statistician 37, 1983, section 3.

    Examples
    --------
    >>> import credo
    >>> import pyarrow as pa
    >>> table = pa.table({"size": [1.0, 2.0, 5.0, 7.0], "colour": ["red", "red", "blue", "red"],
    ...                   "y": ["no", "no", "yes", "yes"]})
    >>> model = credo.fit_table(credo.NaiveBayes(), table, target="y")
    >>> model.families_
    {'size': 'gaussian', 'colour': 'categorical'}
    """
    owner = "fit_table"
    learner = learner_of(model, owner)
    opened = _opened(source, missing, engine)
    schema = schema_of(
        learner, opened.schema, target, features, weight, owner=owner, fault=opened.fault_of
    )
    schema = replace(schema, missing=tuple(missing or ()))
    if isinstance(learner, LogisticClassifier):
        if engine is not None:
            raise InputError(
                f"{owner}: logistic regression has no summary that a cluster could reduce; it "
                "reads the table once per iteration. Leave the engine out."
            )
        learner._fit_passes(_TablePasses(opened, schema, progress), schema.names)  # noqa: SLF001
        return adopt(model, learner, schema)
    head = _head(opened, schema) if learner.kind == "columns" else None
    reducer = Reducer(learner, schema, owner, head)
    summary = _summary(FitJob(reducer), opened, engine, progress)
    reducer.finish(learner, summary)
    return adopt(model, learner, schema)


def update_table(
    model: Any,
    source: Any,
    *,
    engine: Engine | None = None,
    progress: Progress | None = None,
) -> Any:
    """Add the rows of another table to a model; the result is that of one fit to all rows.

    Parameters
    ----------
    model : fitted model
        Fitted by ``fit_table``, or loaded from a file with its summary. Changed in place.
    source : path, list of paths, data frame or Arrow table
        As for ``fit_table``; with the same columns, in any order.
    engine : optional
        ``credo.tables.DaskEngine`` or ``SparkEngine``: summarise on a cluster.
    progress : callable, optional
        Called after each batch with the rows done and their share of all, None if unknown.

    Returns
    -------
    model
        The same object.

    Raises
    ------
    InputError
        If the model keeps no summary (logistic regression, EM), or a column is missing or retyped.

    See Also
    --------
    credo.fit_table : The first fit.

    Notes
    -----
    One pass over the new rows only. New classes and categories may appear.

    Examples
    --------
    >>> import credo
    >>> import pyarrow as pa
    >>> first = pa.table({"x": [1.0, 2.0, 5.0, 7.0], "y": ["no", "no", "yes", "yes"]})
    >>> model = credo.fit_table(credo.GaussianClassifier(), first)
    >>> model = credo.update_table(model, pa.table({"x": [9.0], "y": ["yes"]}))
    >>> model.means_
    array([[1.5],
           [7. ]])
    """
    owner = "update_table"
    schema, learner = schema_of_model(model, owner), fitted_learner(model)
    before = getattr(learner, "summary_", None)
    if before is None:
        raise InputError(
            f"{owner}: the {type(learner).__name__} keeps no summary of its rows to add to. Fit "
            "all rows at once."
        )
    opened = open_checked(source, schema, owner, labels=True, engine=engine)
    reducer = Reducer(learner, schema, owner)
    added = _summary(FitJob(reducer), opened, engine, progress)
    changed = learner if learner is model else copy.copy(learner)  # a policy may refuse it yet
    reducer.finish(changed, reducer.merge(before, added))
    return adopt(model, changed, schema)


def _opened(source: Any, missing: Sequence[str], engine: Engine | None) -> Source:
    """Open a table, here or where the engine is."""
    opening = open_source if engine is None else engine.open
    return opening(source, missing=missing or None)


def _head(source: Source, schema: TableSchema) -> Any:
    """Read the first rows, of which there must be some."""
    head = source.head(schema.names)
    if not head.num_rows:
        raise InputError(f"fit_table: {source.name} has no rows.")
    return plain_batch(head.combine_chunks().to_batches()[0])


def _summary(job: FitJob, source: Source, engine: Engine | None, progress: Progress | None) -> Any:
    """Summarise all rows, here or on a cluster."""
    if engine is None:
        found = job.over(source, progress)
    else:
        found = engine.reduce(job, source.parts(), progress)
    if found is None:
        raise InputError(f"{job.reducer.owner}: {source.name} has no rows with a positive weight.")
    return found


@dataclass(frozen=True, slots=True)
class _TablePasses:
    """The rows of a source, read anew for each pass."""

    source: Source
    schema: TableSchema
    progress: Progress | None
    in_memory: bool = False

    def reduce(
        self, function: Callable[[LabelledBatch], T], merge: Callable[[T, T], T]
    ) -> T | None:
        """Return a function of each batch, merged in the order of the rows."""
        schema, start, found = self.schema, 0, None
        weight = () if schema.weight is None else (schema.weight,)
        columns = (*schema.names, schema.target, *weight)
        for raw in read_ahead(self.source.batches(columns, self.progress)):
            batch = Batch.of(plain_batch(raw), schema, "fit_table", start)
            if len(batch):
                try:
                    new = function(self._labelled(batch))
                except InputError as error:
                    told = f"rows {batch.number(0)} to {batch.number(len(batch) - 1)}"
                    raise InputError(
                        f"fit_table: {told}, counted from 0 in what follows: {error}"
                    ) from error
                found = new if found is None else merge(found, new)
            start += len(raw)
        return found

    def _labelled(self, batch: Batch) -> LabelledBatch:
        """Return a batch as the model takes it."""
        schema, column = self.schema, batch.rows.column(self.schema.target)
        classes, codes = labels_of(
            column, schema.label_kind, schema.target, "fit_table", batch.number
        )
        inputs = table_of(batch.rows, schema, "fit_table")
        return Rows(inputs, codes, batch.weights, len(classes)), classes
