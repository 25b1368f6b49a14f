"""``DaskEngine``: parts of a table worked on by a Dask cluster; and rows of Dask data frames."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial, reduce
from itertools import islice
from types import ModuleType
from typing import Any, Self, final
from warnings import catch_warnings, filterwarnings

import pyarrow as pa

from credo.exceptions import CredoError, InputError, MissingExtraError
from credo.tables.arrow import blaming_input
from credo.tables.pieces import RowPiece, Step, TableRows
from credo.tables.source import Part, Progress, Source, open_source

#: Summaries merged at a time: the tree of 4096 parts is four levels deep.
_FAN = 8
#: Seconds for a scheduler to answer: on a network it takes milliseconds.
_CONNECT = 10.0
#: How Dask begins to say that a scheduler or worker cannot import what it is sent.
_UNREAD = "Error during deserialization"
_NAME = "the Dask data frame"
_LOST = "The connection to the Dask scheduler was lost. Check that it runs, and try again."


@final
class DaskEngine:
    r"""Reduce and map the parts of a table on a Dask cluster.

    Each worker reduces parts to summaries, and summaries are merged in a tree, eight at a time,

    .. math:: s = (s_1 \oplus \dots \oplus s_8) \oplus (s_9 \oplus \dots \oplus s_{16}) \oplus \dots

    always in the order of the parts. So the answer does not depend on which worker does what, and
    a worker that dies changes nothing: Dask computes its parts again elsewhere.

    Parameters
    ----------
    address : str, optional
        A scheduler, as in ``"tcp://127.0.0.1:8786"``.
    client : distributed.Client, optional
        An open client, in place of an address. It is not closed.
    n_workers : int, optional
        Without address and client a cluster of so many processes is started on this machine, one
        thread each, reached by itself only; by default one for each core.
    patience : float
        Seconds after which it is looked whether there are workers, and to wait for one.

    Raises
    ------
    InputError
        If more than one of address, client and n_workers is given, or no scheduler answers.
    MissingExtraError
        If Dask is not installed.

    See Also
    --------
    credo.tables.fit_table, credo.tables.predict_table, credo.tables.evaluate_table : Take one.
    credo.tables.SparkEngine : The same on Spark.

    Notes
    -----
    Workers open the files themselves, so paths must mean the same to all of them. A file that
    cannot be read, or a wrong cell, is the same error as without a cluster.

    References
    ----------
    .. [1] M. Rocklin, "Dask: parallel computation with blocked algorithms and task scheduling",
       Proceedings of the 14th Python in Science Conference, 2015, section 3.

    Examples
    --------
    >>> from distributed import Client
    >>> with Client(processes=False, dashboard_address="127.0.0.1:0") as client:
    ...     with DaskEngine(client=client) as engine:
    ...         list(engine.map(len, ["a", "bcd"]))
    [1, 3]
    """

    def __init__(
        self,
        address: str | None = None,
        *,
        client: Any = None,
        n_workers: int | None = None,
        patience: float = 30.0,
    ) -> None:
        if sum(given is not None for given in (address, client, n_workers)) > 1:
            raise InputError(
                "DaskEngine needs one of address, client and n_workers. Got more than one."
            )
        if n_workers is not None and n_workers < 1:
            raise InputError(f"The n_workers of DaskEngine must be 1 or more. Got {n_workers}.")
        self._address = address
        self._n_workers = n_workers
        self._patience = patience
        self._client = client
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        """Connect, or start a cluster."""
        if self._client is None:
            with ExitStack() as stack:
                where = self._address or stack.enter_context(_local_cluster(self._n_workers))
                self._client = stack.enter_context(_connect(where))
                stack.callback(setattr, self, "_client", None)
                self._stack = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        """Disconnect; a cluster that was started ends."""
        self._stack.close()

    def open(self, source: Any, **options: Any) -> Source:
        """Open a Dask data frame, or files that the workers can reach too.

        Parameters
        ----------
        source : dask.dataframe.DataFrame, path, or list of paths
            The rows.
        **options
            As for ``open_source``; ``threads`` is False by default, since a worker has one.

        Returns
        -------
        Source
            Its parts are what ``reduce`` and ``map`` take.
        """
        if is_dask_frame(source):
            return Source(_NAME, [DaskRows.of(source, self._open())])
        return open_source(source, **{"threads": False, **options})

    def reduce(self, job: Any, parts: Sequence[Part], progress: Progress | None = None) -> Any:
        """Summarise all parts, and merge the summaries.

        Parameters
        ----------
        job : TableJob
            With ``columns``, ``reduce(part)`` and ``merge(first, second)``.
        parts : sequence of Part
            At least one.
        progress : callable, optional
            Called with 0, since rows are counted elsewhere, and the share of the parts done.

        Returns
        -------
        summary
            Of all parts, merged in their order; None if there are no rows.

        Raises
        ------
        CredoError
            What a part raised; or the cluster was lost.
        """
        if not parts:
            return None
        client = self._open()
        leaves = _lazy(job.reduce, parts, job.columns)
        futures = _send(client, [*leaves, _tree(leaves, partial(reduce, job.merge))])
        last = futures.pop()
        try:
            for done, future in enumerate(self._wait_for(futures), start=1):
                _check(future)
                if progress is not None:
                    progress(0, done / len(parts))
            return self._result(last)
        finally:
            _cancel(client, [last])

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
            Takes a part; it is sent to the workers.
        parts : sequence of Part
            What it is applied to.
        progress : callable, optional
            Called with 0, since rows are counted elsewhere, and the share of the parts done.
        columns : sequence of str, optional
            Columns of a data frame that the function needs; all by default.

        Yields
        ------
        result
            One for each part. No more than two per thread of the cluster are under way or wait.

        Raises
        ------
        CredoError
            What the function raised; or the cluster was lost.
        """
        client, lazies = self._open(), iter(_lazy(function, parts, columns))
        most = 2 * max(1, sum(client.nthreads().values()))
        waiting: deque[Any] = deque()
        try:
            for done, _ in enumerate(parts, start=1):
                for lazy in islice(lazies, most - len(waiting)):
                    waiting += _send(client, [lazy])
                yield self._result(waiting[0])
                waiting.popleft()
                if progress is not None:
                    progress(0, done / len(parts))
        finally:
            _cancel(client, waiting)

    def _open(self) -> Any:
        """Return the client, or say that there is none yet."""
        if self._client is None:
            raise InputError(
                "DaskEngine is not connected. Use it as: with DaskEngine(...) as engine."
            )
        return self._client

    def _result(self, future: Any) -> Any:
        """Wait for a future, and return its result."""
        for done in self._wait_for([future]):
            _check(done)
        return future.result()

    def _wait_for(self, futures: list[Any]) -> Iterator[Any]:
        """Yield futures as they are done, as long as there are workers to wait for.

        The list is used up: a summary is forgotten by its worker when nobody holds its future.
        """
        client, waiting = self._open(), set(futures)
        futures.clear()
        while waiting:
            try:
                for future in _distributed().as_completed(
                    set(waiting), loop=client.loop, timeout=self._patience
                ):
                    waiting.discard(future)
                    yield future
            except TimeoutError:
                self._check_workers()

    def _check_workers(self) -> None:
        """Refuse to wait for a cluster that has no worker, nor gets one."""
        try:
            self._open().wait_for_workers(1, timeout=self._patience)
        except TimeoutError:
            raise CredoError(
                f"The Dask cluster has had no worker for {self._patience:g} seconds. Start "
                "workers (dask worker SCHEDULER) and run it again. If they died, look at their "
                "memory: smaller parts need less."
            ) from None
        except (OSError, ValueError, RuntimeError) as error:
            raise CredoError(_LOST) from error


def _check(future: Any) -> None:
    """Raise what became of a task, if it has no result; say what errors of Dask mean."""
    if future.status == "finished":
        return
    if future.status != "error":
        raise CredoError(_LOST)
    error = future.exception()
    if isinstance(error, _distributed().KilledWorker):
        raise CredoError(
            "Workers of the Dask cluster died again and again with the same part. It probably "
            "needs more memory than a worker has. Cut the table into smaller files or row "
            "groups, or give the workers more memory."
        )
    if isinstance(error, RuntimeError) and _UNREAD in str(error):
        raise CredoError(
            "The Dask cluster cannot read the work. Its scheduler and workers need the versions of "
            "Credo, Dask and Python that are installed here."
        )
    raise error


def _distributed() -> ModuleType:
    """Load Dask's clusters, or say how to install them."""
    try:
        import distributed  # noqa: PLC0415 - an extra, loaded when it is used
    except ImportError as error:
        raise MissingExtraError(
            "A Dask cluster needs dask and distributed, which are not installed. Run: pip install "
            "'credo[dask]'."
        ) from error
    return distributed


def _local_cluster(n_workers: int | None) -> Any:
    """Start processes on this machine that listen to nobody else."""
    return _distributed().LocalCluster(
        n_workers=n_workers,
        threads_per_worker=1,
        host="127.0.0.1",
        dashboard_address="127.0.0.1:0",
    )


def _connect(where: Any) -> Any:
    """Open a client of a scheduler or a cluster."""
    try:
        return _distributed().Client(where, timeout=_CONNECT, set_as_default=False)
    except (OSError, ValueError) as error:
        raise InputError(
            f"No Dask scheduler answers at {where!r}: {error}. Start one with: dask "
            "scheduler, and pass the address it prints, such as tcp://127.0.0.1:8786."
        ) from error


def _send(client: Any, lazies: list[Any]) -> list[Any]:
    """Send tasks off; a table in memory goes with them, however large."""
    with catch_warnings():
        filterwarnings("ignore", "Sending large graph", UserWarning)
        return list(client.compute(lazies))


def _cancel(client: Any, futures: Iterable[Any]) -> None:
    """Call off what is still to be done, unless nobody is there to hear it."""
    left = list(futures)
    if left and client.status == "running":
        client.cancel(left)


def _delay(function: Callable[..., Any]) -> Callable[..., Any]:
    """Put a call off; what the function holds is sent as it is."""
    from dask.delayed import delayed  # noqa: PLC0415 - an extra, loaded when it is used

    return delayed(function, pure=False, traverse=False)


def _lazy(
    function: Callable[[Any], Any], parts: Sequence[Any], columns: Sequence[str] | None = None
) -> list[Any]:
    """Put off the work on each part; of a data frame only these columns are computed."""
    pieces = [getattr(part, "_pieces", [part])[0] for part in parts]  # of a source
    if not pieces or not isinstance(pieces[0], DaskRows):
        return [_delay(partial(function, part))() for part in parts]
    frame = pieces[0].frame if columns is None else pieces[0].frame[list(columns)]
    work = _delay(partial(_on_partition, function, _schema_of(frame)))
    partitions = frame.to_delayed()
    return [work(partitions[piece.places[0]]) for piece in pieces]


def _tree(leaves: list[Any], merge: Callable[[list[Any]], Any]) -> Any:
    """Merge neighbours, eight at a time, until one is left."""
    level = leaves
    while True:
        level = [_delay(merge)(level[i : i + _FAN]) for i in range(0, len(level), _FAN)]
        if len(level) == 1:
            return level[0]


# --- data frames ----------------------------------------------------------------------------------


def is_dask_frame(frame: Any) -> bool:
    """Tell a Dask data frame from others, without loading Dask."""
    return type(frame).__module__.startswith("dask") and hasattr(frame, "to_delayed")


@dataclass(frozen=True, kw_only=True)
class DaskRows(RowPiece):
    """Some partitions of a Dask data frame, yet to be computed by a client."""

    frame: Any
    places: range
    client: Any

    @classmethod
    def of(cls, frame: Any, client: Any) -> DaskRows:
        """Take all partitions of a frame."""
        schema, places = _schema_of(frame), range(frame.npartitions)
        return cls(name=_NAME, schema=schema, frame=frame, places=places, client=client)

    def split(self) -> list[DaskRows]:
        """Make each partition a part."""
        return [replace(self, places=range(place, place + 1)) for place in self.places]

    def steps(self, names: list[str]) -> Iterator[Step]:
        """Compute one partition after the other, and fetch its rows."""
        frame = self.frame[names]
        schema = _schema_of(frame)
        for done, place in enumerate(self.places, start=1):
            rows = frame.get_partition(place).compute(scheduler=self.client)
            for batch in _table(schema, rows).to_batches():
                yield batch, done / len(self.places)


def answer(frame: Any, answering: Any) -> Any:
    """Return the answers to a frame's rows as another frame with the same partitions and index."""
    chosen = frame[list(answering.columns)]
    work = partial(_answers, answering, _schema_of(chosen))
    return chosen.map_partitions(work, meta=work(chosen._meta))  # noqa: SLF001 - its name in Dask


def _answers(answering: Any, schema: pa.Schema, frame: Any) -> Any:
    """Answer the rows of a pandas data frame; what is kept stays as it was."""
    answers = answering(_table(schema, frame)).to_pandas()
    answers.index = frame.index
    for name in answering.keep:
        answers[name] = frame[name]
    return answers


def _on_partition(function: Callable[[Any], Any], schema: pa.Schema, frame: Any) -> Any:
    """Work on a partition that is here as a pandas data frame."""
    return function(Source(_NAME, [TableRows.of(_table(schema, frame), _NAME)]))


def _table(schema: pa.Schema, frame: Any) -> pa.Table:
    """Take a pandas data frame over into Arrow."""
    with blaming_input(_NAME):
        table = pa.Table.from_pandas(frame, schema, preserve_index=False)
    return table.replace_schema_metadata()


def _schema_of(frame: Any) -> pa.Schema:
    """Find the Arrow types of a frame's columns from what Dask knows of them."""
    from dask.dataframe import utils  # noqa: PLC0415 - the frame has loaded it

    types = frame._meta  # noqa: SLF001 - Dask's name for a frame without rows
    example = utils.meta_nonempty(types)  # type: ignore[attr-defined]  # not listed in __all__
    with blaming_input(_NAME):
        return pa.Schema.from_pandas(example, preserve_index=False).remove_metadata()
