"""Where rows are worked on: in this process, or on a cluster that an option names."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def engine_of(dask: str | None, spark: str | None) -> Iterator[Any]:
    """Connect to the cluster that was asked for; None for this process."""
    from credo.exceptions import InputError

    if dask is not None and spark is not None:
        raise InputError("--dask and --spark are two places to run. Pass one of them.")
    if dask is not None:
        from credo.tables.dask import DaskEngine

        with DaskEngine(None if dask == "local" else dask) as engine:
            yield engine
    elif spark is not None:
        from credo.tables.spark import SparkEngine

        with SparkEngine(spark) as engine:
            yield engine
    else:
        yield None


def opened(source: Any, missing: tuple[str, ...], engine: Any) -> Any:
    """Open a table, here or where the engine is, to look at its columns and first rows."""
    from credo.tables.source import open_source

    opening = open_source if engine is None else engine.open
    return opening(source, missing=missing or None)
