"""Clusters of Dask: started or reached, sent to, and what they complain of."""

from __future__ import annotations

from typing import Any
from warnings import catch_warnings, filterwarnings

from credo.exceptions import CredoError, InputError
from credo.tables.dask_frames import distributed

#: Seconds for a scheduler to answer: on a network it takes milliseconds.
_CONNECT = 10.0
#: How Dask begins to say that a scheduler or worker cannot import what it is sent.
_UNREAD = "Error during deserialization"
#: Log level of a cluster of our own: what goes wrong is raised, and need not be printed too.
_SILENT = 50


def local_cluster(n_workers: int | None) -> Any:
    """Start processes on this machine that listen to nobody else."""
    return distributed().LocalCluster(
        n_workers=n_workers,
        threads_per_worker=1,
        processes=True,
        host="127.0.0.1",
        dashboard_address="127.0.0.1:0",
        silence_logs=_SILENT,
    )


def connected_to(where: Any) -> Any:
    """Open a client of a scheduler or a cluster."""
    try:
        return distributed().Client(where, timeout=_CONNECT, set_as_default=False)
    except (OSError, ValueError) as error:
        raise InputError(
            f"No Dask scheduler answers at {where!r}: {error}. Start one with: dask "
            "scheduler, and pass the address it prints, such as tcp://127.0.0.1:8786."
        ) from error


def send(client: Any, lazies: list[Any]) -> list[Any]:
    """Send tasks off; a table in memory goes with them, however large."""
    with catch_warnings():
        filterwarnings("ignore", "Sending large graph", UserWarning)
        futures: list[Any] = client.compute(lazies)
    return futures


def drop(client: Any, futures: list[Any]) -> None:
    """Call off what is still to be done, unless nobody is there to hear it."""
    if futures and client.status == "running":
        client.cancel(futures)


def count_workers(client: Any) -> int:
    """Count the workers; none if the scheduler does not answer."""
    if client.status != "running":
        return 0
    try:
        return len(client.nthreads())
    except OSError:
        return 0


def translated(error: BaseException) -> BaseException:
    """Say what the errors of Dask mean; others say it themselves."""
    if isinstance(error, distributed().KilledWorker):
        return CredoError(
            "Workers of the Dask cluster died again and again with the same part. It probably "
            "needs more memory than a worker has. Cut the table into smaller files or row "
            "groups, or give the workers more memory."
        )
    if isinstance(error, RuntimeError) and _UNREAD in str(error):
        return CredoError(
            "The Dask cluster cannot read the work. Its scheduler and workers need the versions of "
            "Credo, Dask and Python that are installed here."
        )
    return error
