"""``SparkEngine``: parts of a table worked on by Spark's executors; and rows of Spark frames."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial, reduce
from itertools import chain, islice
from operator import itemgetter
from re import match
from shutil import which
from subprocess import DEVNULL
from typing import Any, Self, final
from uuid import uuid4
from warnings import catch_warnings, filterwarnings

import pyarrow as pa

from credo.exceptions import CredoError, InputError, MissingExtraError
from credo.tables.arrow import blaming_input
from credo.tables.pieces import BATCH_ROWS, ReaderRows, RowPiece, Step
from credo.tables.source import Part, Progress, Source, open_source

#: Summaries merged at a time: the tree of 4096 parts is four levels deep.
_FAN = 8
#: Seconds between two looks at how far it is.
_LOOK = 0.5
#: Characters of a message of Spark that are passed on; the rest is its way through Java.
_MOST_SAID = 300
#: A session of our own: without web page and chatter, and with batches as large as elsewhere.
_SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "ERROR",
    "spark.sql.execution.arrow.maxRecordsPerBatch": str(BATCH_ROWS),
}
#: On this machine, where nobody else needs to reach it.
_LOCAL = {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}
_NAME = "the Spark data frame"


@final
class SparkEngine:
    r"""Reduce and map the parts of a table on Spark.

    Executors reduce parts, or partitions of a data frame (``mapInArrow``), to summaries, and
    summaries are merged in a tree, eight at a time,

    .. math:: s = (s_1 \oplus \dots \oplus s_8) \oplus (s_9 \oplus \dots \oplus s_{16}) \oplus \dots

    always in the order of the parts. So the answer does not depend on which executor does what.

    Parameters
    ----------
    master : str
        Where to run: ``"local[2]"`` for two processes on this machine, which nobody else can
        reach, or the address of a cluster.
    session : pyspark.sql.SparkSession, optional
        An open session, in place of a master. It is not stopped.

    Attributes
    ----------
    session : pyspark.sql.SparkSession
        The session, once it is open.

    Raises
    ------
    InputError
        If Spark does not start, or a session for another master is open.
    MissingExtraError
        If Spark or Java is not installed.

    See Also
    --------
    credo.tables.fit_table, credo.tables.predict_table, credo.tables.evaluate_table : Take one.
    credo.tables.DaskEngine : The same on Dask.

    Notes
    -----
    Files are opened by Credo on the executors, so that columns have the types that they have
    without a cluster; paths must mean the same to all of them. ``RDD.treeReduce`` is not used: it
    merges in the order in which executors finish, and the last digits would change from run to run.

    References
    ----------
    .. [1] M. Zaharia et al., "Resilient distributed datasets: a fault-tolerant abstraction for
       in-memory cluster computing", NSDI 2012, section 2.

    Examples
    --------
    >>> with SparkEngine("local[2]") as engine:  # doctest: +SKIP
    ...     model = credo.fit_table(credo.NaiveBayes(), "rows.parquet", engine=engine)
    """

    def __init__(self, master: str = "local[2]", *, session: Any = None) -> None:
        self._master = master
        self._session = session
        self._is_own = False

    def __enter__(self) -> Self:
        """Start a session, if none was given."""
        if self._session is None:
            self._session, self._is_own = _open_session(self._master)
        return self

    def __exit__(self, *_: object) -> None:
        """Stop the session, if it was started here."""
        if self._is_own:
            self._session.stop()
            self._session, self._is_own = None, False

    @property
    def session(self) -> Any:
        """The session."""
        if self._session is None:
            raise InputError(
                "SparkEngine has no session yet. Use it as: with SparkEngine(...) as engine."
            )
        return self._session

    def open(self, source: Any, **options: Any) -> Source:
        """Open a Spark data frame, or files that the executors can reach too.

        Parameters
        ----------
        source : pyspark.sql.DataFrame, path, or list of paths
            The rows.
        **options
            As for ``open_source``; ``threads`` is False by default, since a task has one core.

        Returns
        -------
        Source
            Its parts are what ``reduce`` and ``map`` take.
        """
        if is_spark_frame(source):
            return SparkSource(source)
        return open_source(source, **{"threads": False, **options})

    def reduce(self, job: Any, parts: Sequence[Part], progress: Progress | None = None) -> Any:
        """Summarise all parts, and merge the summaries.

        Parameters
        ----------
        job : TableJob
            With ``columns``, ``reduce(part)`` and ``merge(first, second)``.
        parts : sequence of Part
            Of files; or the one part of a Spark data frame.
        progress : callable, optional
            Called with 0, since rows are counted elsewhere, and the share of the work done.

        Returns
        -------
        summary
            Of all parts, merged in their order; None if there are no rows.

        Raises
        ------
        CredoError
            What a part raised, or what Spark says.
        """
        if not parts:
            return None
        work = partial(_try, job.reduce)
        if rows := _frame_rows(parts):
            outcomes = rows.outcomes(work, job.columns)
        else:
            places = self.session.sparkContext.parallelize(list(enumerate(parts)), len(parts))
            outcomes = places.mapValues(work)
        found = self._run(partial(_tree, job, outcomes), progress)
        return _result(_merge(job, found))

    def map(
        self,
        function: Callable[[Any], Any],
        parts: Sequence[Part],
        progress: Progress | None = None,
        columns: Sequence[str] | None = None,
    ) -> Iterator[Any]:
        """Apply a function to each part, and give the results in the order of the parts.

        Parameters
        ----------
        function : callable
            Takes a part; it is sent to the executors.
        parts : sequence of Part
            Of files; or the one part of a Spark data frame, whose partitions are parts then.
        progress : callable, optional
            Called with 0, since rows are counted elsewhere, and the share of the parts done.
        columns : sequence of str, optional
            Columns of a data frame that the function needs; all by default.

        Yields
        ------
        result
            One for each part. No more than two per core of the cluster wait at a time; of a data
            frame's partitions, one.

        Raises
        ------
        CredoError
            What the function raised, or what Spark says.
        """
        context, work = self.session.sparkContext, partial(_try, function)
        batches: Iterable[Iterable[Any]]
        if rows := _frame_rows(parts):
            outcomes = rows.outcomes(work, columns)
            batches, n_parts = [outcomes.values().toLocalIterator()], outcomes.getNumPartitions()
        else:
            rest, size, n_parts = iter(parts), 2 * context.defaultParallelism, len(parts)
            some = iter(lambda: list(islice(rest, size)), [])
            results = (context.parallelize(each, len(each)).map(work) for each in some)
            batches = (self._run(each.collect, None) for each in results)
        with _blaming_spark("Spark could not do it"):
            for done, outcome in enumerate(chain.from_iterable(batches), start=1):
                yield _result(outcome)
                _tell(progress, done / n_parts)

    def _run(self, action: Callable[[], Any], progress: Progress | None) -> Any:
        """Run a job of Spark, and say how far it is."""
        context, group = self.session.sparkContext, uuid4().hex
        with ThreadPoolExecutor(1) as pool, _blaming_spark("Spark could not do it"):
            future, share = pool.submit(_in_group, context, group, action), 0.0
            try:
                while wait([future], timeout=_LOOK).not_done:
                    share = max(share, _share(context.statusTracker(), group))
                    _tell(progress, share)
                result = future.result()
                _tell(progress, 1.0)
                return result
            finally:
                if not future.done():
                    context.cancelJobGroup(group)


def _in_group(context: Any, group: str, action: Callable[[], Any]) -> Any:
    """Run a job under a name by which it can be followed and ended."""
    context.setJobGroup(group, "credo", interruptOnCancel=True)
    return action()


def _tell(progress: Progress | None, share: float) -> None:
    """Say how far it is."""
    if progress is not None:
        progress(0, share)


def _share(tracker: Any, group: str) -> float:
    """Return the share of a job's tasks that are done."""
    jobs = [tracker.getJobInfo(i) for i in tracker.getJobIdsForGroup(group)]
    stages = [tracker.getStageInfo(i) for job in jobs if job is not None for i in job.stageIds]
    known = [stage for stage in stages if stage is not None]
    count = sum(stage.numTasks for stage in known)
    return sum(stage.numCompletedTasks for stage in known) / count if count else 0.0


def _tree(job: Any, outcomes: Any) -> list[Any]:
    """Merge neighbours, eight at a time, until no more than eight are left."""
    count = outcomes.getNumPartitions()
    while count > _FAN:
        count = -(-count // _FAN)
        groups = outcomes.map(lambda placed: (placed[0] // _FAN, placed)).groupByKey(count)
        outcomes = groups.mapValues(partial(_merge_group, job))
    return [outcome for _, outcome in sorted(outcomes.collect(), key=itemgetter(0))]


def _merge_group(job: Any, group: Iterable[tuple[int, Any]]) -> Any:
    """Merge a group in the order of its places."""
    return _merge(job, [outcome for _, outcome in sorted(group, key=itemgetter(0))])


def _merge(job: Any, outcomes: list[Any]) -> Any:
    """Merge results from the first to the last; the first error is the outcome of all."""
    for outcome in outcomes:
        if isinstance(outcome, CredoError):
            return outcome
    return _try(partial(reduce, job.merge), outcomes) if outcomes else None


def _try(function: Callable[[Any], Any], part: Any) -> Any:
    """Call a function; an error of ours is a result, so that it comes home as it is."""
    try:
        return function(part)
    except CredoError as error:
        return error


def _result(outcome: Any) -> Any:
    """Return a result, or raise the error that it is."""
    if isinstance(outcome, CredoError):
        raise outcome
    return outcome


# --- data frames ----------------------------------------------------------------------------------


def is_spark_frame(frame: Any) -> bool:
    """Tell a Spark data frame from others, without loading Spark."""
    return type(frame).__module__.startswith("pyspark.sql") and hasattr(frame, "mapInArrow")


@final
class SparkSource(Source):
    """Rows of a Spark data frame."""

    def __init__(self, frame: Any) -> None:
        if not hasattr(type(frame), "rdd") or "connect" in type(frame).__module__:
            raise InputError(
                "Data frames of Spark Connect have no tree reduction. Use a session that runs "
                "its driver here: SparkSession.builder.master(…).getOrCreate()."
            )
        self._frame = frame
        super().__init__(_NAME, [SparkRows(name=_NAME, schema=_schema_of(frame), frame=frame)])

    def head(self, columns: Sequence[str] | None = None, n: int = BATCH_ROWS) -> pa.Table:
        """Let Spark find the first rows; see ``Source.head``."""
        return Source.head(SparkSource(self._frame.limit(n)), columns, n)


@dataclass(frozen=True, kw_only=True)
class SparkRows(RowPiece):
    """A data frame, whose cutting is left to Spark."""

    frame: Any

    def steps(self, names: list[str]) -> Iterator[Step]:
        """Fetch one partition after the other."""
        for _, table in self.outcomes(_whole, names).toLocalIterator():
            yield from ((batch, None) for batch in table.to_batches())

    def outcomes(self, work: Callable[[Any], Any], columns: Sequence[str] | None) -> Any:
        """Return an RDD of partition numbers and what becomes of each."""
        names = list(self.frame.columns if columns is None else columns)
        fields = pa.schema([self.schema.field(name) for name in names])
        with _quiet():
            rows = _plain(self.frame, names).mapInArrow(
                partial(_on_partition, work, fields), "outcome binary"
            )
            return rows.rdd.map(_load)


def _frame_rows(parts: Sequence[Any]) -> SparkRows | None:
    """Return the data frame that is the one part of a source, if it is one."""
    pieces = [getattr(part, "_pieces", [part])[0] for part in parts[:1]]
    return pieces[0] if pieces and isinstance(pieces[0], SparkRows) else None


def _whole(source: Source) -> pa.Table:
    """Return all rows of a partition."""
    return pa.Table.from_batches(source.batches())


def answer(frame: Any, answering: Any) -> Any:
    """Return the answers to a frame's rows as another frame."""
    from pyspark.sql.pandas.types import from_arrow_schema  # noqa: PLC0415 - the frame's own

    fields = pa.schema([_schema_of(frame).field(name) for name in answering.columns])
    answers = answering(fields.empty_table()).schema
    with _quiet():
        return _plain(frame, answering.columns).mapInArrow(
            partial(_answers, answering), from_arrow_schema(answers)
        )


def _answers(answering: Any, batches: Iterable[Any]) -> Iterator[Any]:
    """Answer batch after batch of a partition."""
    for batch in batches:
        table = pa.Table.from_batches([batch.rename_columns(list(answering.columns))])
        yield from answering(table).combine_chunks().to_batches()


def _plain(frame: Any, names: Sequence[str]) -> Any:
    """Choose columns, and number them: Spark takes dots in names for paths."""
    quoted = ("`" + name.replace("`", "``") + "`" for name in names)
    return frame.select(*(frame[name].alias(f"c{i}") for i, name in enumerate(quoted)))


def _schema_of(frame: Any) -> pa.Schema:
    """Return the Arrow types of a frame's columns."""
    from pyspark.sql.pandas.types import to_arrow_schema  # noqa: PLC0415 - the frame's own

    with blaming_input(_NAME):
        return to_arrow_schema(frame.schema)


def _on_partition(
    work: Callable[[Any], Any], schema: pa.Schema, batches: Iterable[Any]
) -> Iterator[Any]:
    """Work on a partition; one outcome, as bytes, or none if it has no rows."""
    from pyspark import TaskContext  # noqa: PLC0415 - runs in Spark's workers
    from pyspark.cloudpickle import dumps  # noqa: PLC0415 - as above

    context, rest = TaskContext.get(), iter(batches)
    first = next(rest, None)
    if first is None or context is None:
        return
    named = (batch.rename_columns(schema.names) for batch in chain([first], rest))
    outcome = work(Source(_NAME, [ReaderRows(name=_NAME, schema=schema, left=[named])]))
    sent = dumps((context.partitionId(), outcome))  # type: ignore[no-untyped-call]  # no types
    yield pa.record_batch({"outcome": pa.array([sent], pa.binary())})


def _load(row: Any) -> tuple[int, Any]:
    """Read what ``_on_partition`` wrote."""
    from pyspark.cloudpickle import loads  # noqa: PLC0415 - runs in Spark's workers

    return loads(bytes(row[0]))


# --- sessions -------------------------------------------------------------------------------------


@contextmanager
def _quiet() -> Iterator[None]:
    """Do without what PySpark says of pandas 3: only its Arrow side is used."""
    with catch_warnings():
        filterwarnings("ignore", "PySpark does not yet fully support pandas", FutureWarning)
        yield


def _open_session(master: str) -> tuple[Any, bool]:
    """Start a session, or take the one that is open; say whether it was started here."""
    try:
        from pyspark import SparkContext  # noqa: PLC0415 - an extra, loaded when it is used
        from pyspark.sql import SparkSession  # noqa: PLC0415 - see above
    except ImportError as error:
        raise MissingExtraError(
            "Spark is not installed. Run: pip install 'credo[spark]'."
        ) from error
    if SparkContext._active_spark_context is not None:  # noqa: SLF001 - the one of this process
        session = SparkSession.builder.getOrCreate()
        found = session.sparkContext.master
        if found == master:
            return session, False
        raise InputError(
            f"A Spark session for {found!r} is open, and there is one in a process. Got master "
            f"{master!r}. Pass session=, or stop the other one."
        )
    if which("java") is None and "JAVA_HOME" not in os.environ:
        raise MissingExtraError("Spark needs Java 17 or later, and there is no java to run.")
    what = f"Spark does not start with master {master!r}; it needs Java 17 or later"
    with _quiet(), _blaming_spark(what, InputError):
        return SparkSession(_context(master)), True


def _context(master: str) -> Any:
    """Start Spark; what Java says on the way is not for our readers."""
    from pyspark import SparkConf, SparkContext  # noqa: PLC0415 - an extra
    from pyspark.java_gateway import launch_gateway  # noqa: PLC0415 - an extra

    is_local = master.startswith("local")
    settings = {"spark.app.name": "credo", "spark.master": master, **(_LOCAL if is_local else {})}
    conf = SparkConf().setAll([*settings.items(), *_SETTINGS.items()])
    if SparkContext._gateway is None:  # noqa: SLF001 - there is one Java to a process
        silent = {"stderr": DEVNULL}
        gateway = launch_gateway(conf, silent)  # type: ignore[no-untyped-call]  # it has no types
        context = SparkContext(conf=conf, gateway=gateway)
    else:
        context = SparkContext(conf=conf)
    if is_local and "PYSPARK_PYTHON" not in os.environ:
        context.pythonExec = sys.executable
    return context


@contextmanager
def _blaming_spark(what: str, kind: type[CredoError] = CredoError) -> Iterator[None]:
    """Turn what Spark says, which is long, into one sentence."""
    from py4j.protocol import Py4JError  # type: ignore[import-untyped]  # noqa: PLC0415 - Spark's
    from pyspark.errors import PySparkException  # noqa: PLC0415 - an extra

    try:
        yield
    except (Py4JError, PySparkException) as error:
        lines = [line.strip(": ") for line in str(error).splitlines() if line.strip()]
        java = [line for line in lines if "Exception: " in line]
        python = [line for line in lines if match(r"[A-Z]\w*(Error|Exception): ", line)]
        said = [*lines[:1], *java[:1], *python[-1:]][-1]
        raise kind(f"{what}: {said[:_MOST_SAID]}") from error
