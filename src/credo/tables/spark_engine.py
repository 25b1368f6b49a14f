"""``SparkEngine``: parts of a table summarised and scored by the executors of Spark."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from functools import partial, reduce
from itertools import islice
from operator import itemgetter
from typing import Any, Self, final
from uuid import uuid4

from credo.exceptions import CredoError, InputError
from credo.storage import pack, unpack
from credo.tables.source import Part, Progress, Source, open_source
from credo.tables.spark_frames import Outcome, SparkPart, SparkSource, is_spark_frame
from credo.tables.spark_session import blaming_spark, open_session

#: Summaries merged at a time: the tree of 4096 parts is four levels deep.
_FAN = 8
#: Seconds between two looks at how far it is.
_LOOK = 0.5


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
    credo.tables.fit_table : Takes an engine.
    credo.tables.dask_engine.DaskEngine : The same on Dask.

    Notes
    -----
    Files are opened by Credo on the executors, so that columns have the types that they have
    without a cluster; paths must mean the same to all of them. Summaries travel as bytes of the
    model file format. ``RDD.treeReduce`` is not used: it merges in the order in which executors
    finish, and the last digits would change from run to run.

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
            self._session, self._is_own = open_session(self._master)
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
        job : FitJob
            With ``reduce(part)`` and ``merge(first, second)``.
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
        outcomes = self._outcomes(job, parts)
        found = self._run(partial(_tree, job, outcomes), progress)
        return _opened(_merged(job, found))

    def map(
        self,
        function: Callable[[Any], Any],
        parts: Sequence[Part],
        progress: Progress | None = None,
    ) -> Iterator[Any]:
        """Apply a function to each part, and give the results in the order of the parts.

        Parameters
        ----------
        function : callable
            Takes a part; it is sent to the executors.
        parts : sequence of Part
            Of files; for data frames there is ``predict_partitions``.
        progress : callable, optional
            Called with 0, since rows are counted elsewhere, and the share of the parts done.

        Yields
        ------
        result
            One for each part. No more than two per core of the cluster wait at a time.

        Raises
        ------
        CredoError
            What the function raised, or what Spark says.
        """
        context = self.session.sparkContext
        rest, done = iter(parts), 0
        while some := list(islice(rest, 2 * context.defaultParallelism)):
            results = context.parallelize(some, len(some)).map(partial(_tried, function))
            for result in self._run(results.collect, None):
                if isinstance(result, CredoError):
                    raise result
                yield result
                done += 1
                _tell(progress, done / len(parts))

    def _outcomes(self, job: Any, parts: Sequence[Any]) -> Any:
        """Give an RDD of places and what becomes of the parts there."""
        summarise = partial(_summary, job)
        if isinstance(parts[0], SparkPart):
            return parts[0].outcomes(summarise, job.reducer.columns)
        places = self.session.sparkContext.parallelize(list(enumerate(parts)), len(parts))
        return places.mapValues(partial(_tried, summarise))

    def _run(self, action: Callable[[], Any], progress: Progress | None) -> Any:
        """Run a job of Spark, and say how far it is."""
        context, group = self.session.sparkContext, uuid4().hex
        with ThreadPoolExecutor(1) as pool, blaming_spark("Spark could not do it"):
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
    """Give the share of a job's tasks that are done."""
    jobs = [tracker.getJobInfo(i) for i in tracker.getJobIdsForGroup(group)]
    stages = [tracker.getStageInfo(i) for job in jobs if job is not None for i in job.stageIds]
    known = [stage for stage in stages if stage is not None]
    count = sum(stage.numTasks for stage in known)
    return sum(stage.numCompletedTasks for stage in known) / count if count else 0.0


def _tree(job: Any, outcomes: Any) -> list[Outcome]:
    """Merge neighbours, eight at a time, until no more than eight are left."""
    count = outcomes.getNumPartitions()
    while count > _FAN:
        count = -(-count // _FAN)
        groups = outcomes.map(_with_group).groupByKey(count)
        outcomes = groups.mapValues(partial(_merged_group, job))
    return [outcome for _, outcome in sorted(outcomes.collect(), key=itemgetter(0))]


def _with_group(placed: tuple[int, Outcome]) -> tuple[int, tuple[int, Outcome]]:
    """Put an outcome into the group of its neighbours."""
    return placed[0] // _FAN, placed


def _merged_group(job: Any, group: Iterable[tuple[int, Outcome]]) -> Outcome:
    """Merge a group in the order of its places."""
    return _merged(job, [outcome for _, outcome in sorted(group, key=itemgetter(0))])


def _merged(job: Any, outcomes: list[Outcome]) -> Outcome:
    """Merge summaries from the first to the last; the first error is the outcome of all."""
    summaries = []
    for outcome in outcomes:
        if isinstance(outcome, CredoError):
            return outcome
        if outcome is not None:
            summaries.append(unpack(outcome))
    return _tried(partial(_packed_sum, job), summaries) if summaries else None


def _packed_sum(job: Any, summaries: list[Any]) -> bytes:
    """Merge summaries, at least one."""
    return pack(reduce(job.merge, summaries))


def _summary(job: Any, part: Any) -> bytes | None:
    """Summarise a part."""
    found = job.reduce(part)
    return None if found is None else pack(found)


def _tried(function: Callable[[Any], Any], part: Any) -> Any:
    """Call a function; an error of ours is a result, so that it comes home as it is."""
    try:
        return function(part)
    except CredoError as error:
        return error


def _opened(outcome: Outcome) -> Any:
    """Give the summary, or raise the error."""
    if isinstance(outcome, CredoError):
        raise outcome
    return None if outcome is None else unpack(outcome)
