"""Sessions of Spark: started quietly, for this machine only, and what they complain of."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from re import match
from shutil import which
from subprocess import DEVNULL
from typing import Any

from credo.exceptions import CredoError, InputError, MissingExtraError
from credo.tables.pieces import BATCH_ROWS
from credo.tables.spark_frames import quiet

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


def open_session(master: str) -> tuple[Any, bool]:
    """Start a session, or take the one that is open; say whether it was started here."""
    try:
        from pyspark import SparkContext  # noqa: PLC0415 - an extra, loaded when it is used
        from pyspark.sql import SparkSession  # noqa: PLC0415 - see above
    except ImportError as error:
        raise MissingExtraError(
            "Spark is not installed. Run: pip install 'credo[spark]'."
        ) from error
    if SparkContext._active_spark_context is not None:  # noqa: SLF001 - the one of this process
        return _checked(SparkSession.builder.getOrCreate(), master), False
    if which("java") is None and "JAVA_HOME" not in os.environ:
        raise MissingExtraError("Spark needs Java 17 or later, and there is no java to run.")
    what = f"Spark does not start with master {master!r}; it needs Java 17 or later"
    with quiet(), blaming_spark(what, InputError):
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


def _checked(session: Any, master: str) -> Any:
    """Refuse a session that runs elsewhere than was asked for."""
    found = session.sparkContext.master
    if found != master:
        raise InputError(
            f"A Spark session for {found!r} is open, and there is one in a process. Got master "
            f"{master!r}. Pass session=, or stop the other one."
        )
    return session


@contextmanager
def blaming_spark(what: str, kind: type[CredoError] = CredoError) -> Iterator[None]:
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
