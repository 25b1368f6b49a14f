"""``DaskEngine``: parts of a table summarised and scored by the workers of a Dask cluster."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from functools import partial, reduce
from itertools import islice
from queue import Empty, SimpleQueue
from time import monotonic
from typing import Any, Self, final

from credo.exceptions import CredoError, InputError
from credo.tables.dask_cluster import (
    connected_to,
    count_workers,
    drop,
    local_cluster,
    send,
    translated,
)
from credo.tables.dask_frames import DaskSource, delayed, is_dask_frame, lazy_parts
from credo.tables.source import Part, Progress, Source, open_source

#: Summaries merged at a time: the tree of 4096 parts is four levels deep.
_FAN = 8
#: Seconds between two looks at the workers while nothing is finished.
_LOOK = 1.0


class _Told:
    """Counts the parts that are done, and says how far it is."""

    def __init__(self, n_parts: int, progress: Progress | None) -> None:
        self._n_parts, self._progress, self._done = n_parts, progress, 0

    def one_more(self) -> None:
        """Say that another part is done."""
        self._done += 1
        if self._progress is not None:
            self._progress(0, self._done / self._n_parts)

    def the_rest(self) -> None:
        """Say that all are done; the last ones may not have been heard of."""
        if self._done < self._n_parts:
            self._done = self._n_parts - 1
            self.one_more()


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
        Seconds to wait while there is no worker at all.

    Raises
    ------
    InputError
        If more than one of address, client and n_workers is given, or no scheduler answers.
    MissingExtraError
        If Dask is not installed.

    See Also
    --------
    credo.tables.fit_table : Takes an engine.
    credo.tables.spark_engine.SparkEngine : The same on Spark.

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
                where = self._address or stack.enter_context(local_cluster(self._n_workers))
                self._client = stack.enter_context(connected_to(where))
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
            return DaskSource(source, self._open())
        return open_source(source, **{"threads": False, **options})

    def reduce(self, job: Any, parts: Sequence[Part], progress: Progress | None = None) -> Any:
        """Summarise all parts, and merge the summaries.

        Parameters
        ----------
        job : FitJob
            With ``reduce(part)`` and ``merge(first, second)``.
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
        client, told = self._open(), _Told(len(parts), progress)
        leaves = lazy_parts(job.reduce, parts, job.reducer.columns)
        *futures, last = send(client, [*leaves, _tree(leaves, partial(_merged, job))])
        finished: SimpleQueue[Any] = SimpleQueue()
        for future in (*futures, last):
            future.add_done_callback(finished.put)
        del future, futures  # a summary is forgotten by its worker when nobody holds its future
        try:
            summary = self._result(last, finished, told)
        finally:
            drop(client, [last])
        told.the_rest()
        return summary

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
            Takes a part; it is sent to the workers.
        parts : sequence of Part
            What it is applied to.
        progress : callable, optional
            Called with 0, since rows are counted elsewhere, and the share of the parts done.

        Yields
        ------
        result
            One for each part. No more than two per thread of the cluster are under way or wait.

        Raises
        ------
        CredoError
            What the function raised; or the cluster was lost.
        """
        client, told = self._open(), _Told(len(parts), progress)
        lazies = iter(lazy_parts(function, parts) if parts else [])
        most = 2 * max(1, sum(client.nthreads().values()))
        waiting: deque[tuple[Any, SimpleQueue[Any]]] = deque()
        try:
            for _ in parts:
                for lazy in islice(lazies, most - len(waiting)):
                    waiting.append(_sent(client, lazy))
                yield self._result(*waiting[0])
                waiting.popleft()
                told.one_more()
        finally:
            drop(client, [future for future, _ in waiting])

    def _open(self) -> Any:
        """Give the client, or say that there is none yet."""
        if self._client is None:
            raise InputError(
                "DaskEngine is not connected. Use it as: with DaskEngine(...) as engine."
            )
        return self._client

    def _result(self, last: Any, finished: SimpleQueue[Any], told: _Told | None = None) -> Any:
        """Wait for a future, tell of those that are done before it, and give its result."""
        while self._next(finished) is not last:
            if told is not None:
                told.one_more()
        if last.status == "cancelled":
            raise CredoError(
                "The connection to the Dask scheduler was lost. Look whether it still runs, and "
                "run this again."
            )
        if last.status == "error":
            raise translated(last.exception())
        return last.result()

    def _next(self, finished: SimpleQueue[Any]) -> Any:
        """Wait for the next future that is done, as long as there are workers to wait for."""
        lonely_since = None
        while True:
            try:
                return finished.get(timeout=_LOOK)
            except Empty:
                alone = count_workers(self._open()) == 0
                lonely_since = (lonely_since or monotonic()) if alone else None
            if lonely_since is not None and monotonic() - lonely_since >= self._patience:
                raise CredoError(
                    f"The Dask cluster has had no worker for {self._patience:g} seconds. Start "
                    "workers (dask worker SCHEDULER) and run it again. If they died, look at "
                    "their memory: smaller parts need less."
                )


def _tree(leaves: list[Any], merge: Callable[[list[Any]], Any]) -> Any:
    """Merge neighbours, eight at a time, until one is left."""
    level = leaves
    while True:
        level = [delayed(merge)(level[i : i + _FAN]) for i in range(0, len(level), _FAN)]
        if len(level) == 1:
            return level[0]


def _sent(client: Any, lazy: Any) -> tuple[Any, SimpleQueue[Any]]:
    """Send one task off; it is put into the queue when it is done."""
    (future,), finished = send(client, [lazy]), SimpleQueue[Any]()
    future.add_done_callback(finished.put)
    return future, finished


def _merged(job: Any, summaries: list[Any]) -> Any:
    """Merge summaries from the first to the last."""
    return reduce(job.merge, summaries)
