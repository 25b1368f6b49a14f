"""One pass over the rows of a table: a function of each batch, merged in the order of the rows."""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import cache, partial
from threading import Lock
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias, TypeVar, cast, final

import numpy as np
from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped]  # it has no stubs

from credo import _checks as check
from credo._threads import map_in_order
from credo.classifiers.schema import Batch, TableSchema
from credo.exceptions import FileFormatError, InputError
from credo.tables.arrow import plain_batch
from credo.tables.source import Part, Progress, Source, open_source

if TYPE_CHECKING:
    from credo.tables.dask import DaskEngine
    from credo.tables.spark import SparkEngine

T = TypeVar("T")
Item = TypeVar("Item")
#: What works on the parts of a table elsewhere: a cluster.
Engine: TypeAlias = "DaskEngine | SparkEngine"

#: More threads than this wait for the one that reads, and each holds a batch in memory.
_MOST_THREADS = 4


@final
@dataclass(frozen=True, slots=True, eq=False)
class TableJob:
    """A pass over the rows of a table; it travels to wherever the parts of the table are.

    Parameters
    ----------
    columns : tuple of str
        The columns to read.
    function : callable
        Takes an Arrow batch and the number of rows before it; None is nothing.
    join : callable
        Merges two results, of rows that follow each other.
    words : tuple of str
        Columns of few words, which are read as codes where that is less work.

    Examples
    --------
    >>> import operator
    >>> import pyarrow as pa
    >>> from credo.tables import TableJob, open_source
    >>> job = TableJob(("x",), lambda batch, start: sum(batch["x"].to_pylist()), operator.add)
    >>> job.over(open_source(pa.table({"x": [1, 2, 3]})))
    6
    """

    columns: tuple[str, ...]
    function: Callable[[Any, int], Any]
    join: Callable[[Any, Any], Any]
    words: tuple[str, ...] = ()

    def over(
        self, source: Source, progress: Progress | None = None, threads: int | None = None
    ) -> Any:
        """Work on the rows of a source, batch by batch.

        Parameters
        ----------
        source : Source
            The rows.
        progress : callable, optional
            Called after each batch with the rows done and their share of all, None if unknown.
        threads : int, optional
            How many batches are worked on at once; by default one per core, up to four.

        Returns
        -------
        result
            Merged in the order of the rows, whatever the threads; None if there are no rows.
        """
        found = None
        batches = source.coded(self.words).batches(self.columns, progress)
        with closing(map_batches(self._apply, with_starts(batches), threads)) as results:
            for each in results:
                found = self.merge(found, each)
        return found

    def reduce(self, part: Part) -> Any:
        """Work on the rows of one part, on one thread.

        Parameters
        ----------
        part : Part
            Of a source.

        Returns
        -------
        result
            None if there are no rows.
        """
        with open_part(part) as source:
            return self.over(source, threads=1)

    def merge(self, first: Any, second: Any) -> Any:
        """Join two results, either of which may be None.

        Parameters
        ----------
        first, second
            Results of rows that follow each other.

        Returns
        -------
        result
            Of the rows of both.
        """
        if first is None or second is None:
            return second if first is None else first
        return self.join(first, second)

    def run(self, source: Source, engine: Engine | None, progress: Progress | None) -> Any:
        """Work on all rows, here or on a cluster.

        Parameters
        ----------
        source : Source
            Opened here, or by the engine.
        engine : optional
            Where the work is done; None for this process.
        progress : callable, optional
            As for ``over``; an engine tells of parts, not of rows.

        Returns
        -------
        result
            None if there are no rows.
        """
        if engine is None:
            return self.over(source, progress)
        return engine.reduce(self, source.parts(), progress)

    def _apply(self, batch: tuple[int, Any]) -> Any:
        start, rows = batch
        return self.function(plain_batch(rows), start)


@final
@dataclass(frozen=True, slots=True, eq=False)
class Labelling:
    """How a model takes the rows of a table; it travels to wherever these are."""

    schema: TableSchema
    owner: str
    #: What rows are to the model: "numbers", "columns" or "documents".
    kind: str
    #: Joins features, target and weights, for a regressor.
    join: Callable[..., Any] | None

    @classmethod
    def of(cls, model: Any, schema: TableSchema, owner: str) -> Labelling:
        """Ask a model what it takes."""
        return cls(schema, owner, model.kind, getattr(model, "_joined", None))

    def apply(self, function: Callable[[Any], T | None], rows: Any, start: int) -> T | None:
        """Return a function of the labelled rows of an Arrow batch; None if none has a weight."""
        batch = Batch(rows, self.schema, self.owner, start).weighted()
        if not len(batch):
            return None
        labelled = batch.labelled(self.kind, self.join)
        with batch.naming_rows():
            found = function(labelled)
        if found is None:
            raise InputError(
                f"{self.owner}: {batch.first(np.isnan, 'no value')} Correlations are learned from "
                "missing values by EM over all rows at once: read the table into a frame and call "
                "fit, or use a model without correlations, such as NaiveBayes."
            )
        return found


@final
@dataclass(frozen=True, slots=True, eq=False)
class TablePasses:
    """The labelled rows of a table, which a model may ask again and again."""

    source: Source
    labelling: Labelling
    engine: Engine | None
    progress: Progress | None
    #: Rows are read anew for each question.
    in_memory: ClassVar[bool] = False

    def reduce(self, function: Callable[[Any], T], merge: Callable[[T, T], T]) -> T:
        """Return a function of each labelled batch, merged in the order of the rows."""
        schema, owner = self.labelling.schema, self.labelling.owner
        asked = partial(self.labelling.apply, function)
        job = TableJob(schema.columns, asked, merge, words=(schema.target,))
        found = job.run(self.source, self.engine, self.progress)
        if found is None:
            raise InputError(f"{owner}: {self.source.name} has no rows with a positive weight.")
        return cast("T", found)


@contextmanager
def open_part(part: Part) -> Iterator[Source]:
    """Open a part of a table; an error that names a row says where it is counted from."""
    source = part.open()
    try:
        yield source
    except FileFormatError:
        raise
    except InputError as error:
        if not re.search(r"\brow \d", str(error)):
            raise
        told = f"{error} Rows are counted from the start of one part of {source.name}."
        raise type(error)(told) from error


def open_table(source: Any, engine: Engine | None, **options: Any) -> Source:
    """Open a table, here or where the engine is."""
    opening = open_source if engine is None else engine.open
    return opening(source, **options)


def with_starts(batches: Iterable[Any]) -> Iterator[tuple[int, Any]]:
    """Yield batches with the number of rows before each of them."""
    start = 0
    for batch in batches:
        yield start, batch
        start += len(batch)


def map_batches(
    function: Callable[[Item], T], batches: Iterable[Item], threads: int | None = None
) -> Generator[T]:
    """Yield the results of a function for batches, in order; by default on up to four threads.

    Meanwhile linear algebra runs on one thread, so that sums depend on no other.
    """
    count = min(check.usable_cores(), _MOST_THREADS) if threads is None else threads
    with _one_thread_of_algebra():
        yield from map_in_order(function, batches, count)


#: The limit on the threads of linear algebra is one for the process; the last to leave lifts it.
_LOCK = Lock()
_LIMITS: list[Any] = []


@cache
def _libraries() -> Any:
    """Find the libraries of linear algebra, which takes milliseconds."""
    return ThreadpoolController()


@contextmanager
def _one_thread_of_algebra() -> Iterator[None]:
    """Let linear algebra run on one thread, until the last of those who asked for it is done."""
    with _LOCK:
        _LIMITS.append(_LIMITS[0] if _LIMITS else _libraries().limit(limits=1, user_api="blas"))
    try:
        yield
    finally:
        with _LOCK:
            limit = _LIMITS.pop()
            if not _LIMITS:
                limit.restore_original_limits()
