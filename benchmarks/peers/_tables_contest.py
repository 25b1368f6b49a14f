"""Contestants of ``tables.py`` that take turns: each turn is a process of its own, on its cores."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from _peers import python_of

Row = dict[str, Any]

HERE = Path(__file__).parent
#: A contestant whose first turn is slower than so many seconds takes no more than so many turns.
SLOW, FEW = 3.0, 2
_THREADS = (
    "OPENBLAS_NUM_THREADS",
    "OMP_NUM_THREADS",  # Arrow reads it too
    "MKL_NUM_THREADS",
    "NUMBA_NUM_THREADS",
    "POLARS_MAX_THREADS",
)
_SETTINGS = {"SPARK_LOCAL_IP": "127.0.0.1", "PYTHONWARNINGS": "ignore"}


@dataclass(slots=True)
class Contestant:
    """A library's way to a model, and how long it took.

    ``script`` names ``_tables_<script>.py``; None if the job holds a whole ``command``. A job with
    ``workers`` has one thread in each of them, others have one on each core.
    """

    library: str
    model: str
    script: str | None
    job: Row
    cores: int = 1
    most: int = 100
    turns: int = 0
    best: float = float("inf")
    peak: float = 0.0
    told: Row = field(default_factory=dict, repr=False)

    def run(self) -> None:
        """Take a turn, unless this one had enough, as slow ones have soon."""
        if self.turns >= (min(FEW, self.most) if self.best > SLOW else self.most):
            return
        self.told = self._script() if self.script else self._command()
        self.turns += 1
        self.best = min(self.best, self.told["seconds"])
        self.peak = max(self.peak, self.told["peak"])
        took = "{seconds:.3g} s, on a core {cpu:.3g} s, {peak:.3g} bytes".format(**self.told)
        print(f"  {self.turns}  {self.library}, {self.model}: {took}", flush=True)

    @property
    def found(self) -> Any:
        """What a script found."""
        return self.told.get("found")

    def _script(self) -> Row:
        """Run a job of a script: it times itself after its imports."""
        job = {"model": self.model, "threads": self.cores} | self.job
        threads = 1 if "workers" in job else self.cores
        said, *_ = _run(_called(self.script, job), self.cores, threads)
        told: Row = json.loads(said.splitlines()[-1])
        return told

    def _command(self) -> Row:
        """Run a whole command, imports and all."""
        _, took, cpu, peak = _run(self.job["command"], self.cores, self.cores)
        return {"seconds": took, "cpu": cpu, "peak": peak}


def _called(script: str | None, job: Row) -> list[str]:
    """Name the command that does a job of a script."""
    python = python_of("dask-ml") if script == "dask_ml" else None
    return [python or sys.executable, str(HERE / f"_tables_{script}.py"), json.dumps(job)]


def contest(contestants: Sequence[Contestant], turns: int) -> None:
    """Let contestants take turns, so that noise hits all alike."""
    for _ in range(turns):
        for each in contestants:
            each.run()


def _run(command: Sequence[str], cores: int, threads: int) -> tuple[str, float, float, int]:
    """Run a command on so many cores, and as many threads as told of linear algebra.

    Give what it said, its seconds, those on a core, and its peak in bytes.

    Linux counts the peak of this small process in too, if a command takes less.
    """
    variables = os.environ | dict.fromkeys(_THREADS, str(threads)) | _SETTINGS
    with tempfile.TemporaryFile("w+") as said, tempfile.TemporaryFile("w+") as complaint:
        start = time.perf_counter()
        with _on_cores(cores):
            process = subprocess.Popen(command, env=variables, stdout=said, stderr=complaint)
        _, status, used = os.wait4(process.pid, 0)
        took = time.perf_counter() - start
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            complaint.seek(0)
            raise SystemExit(f"{command} failed:\n{complaint.read()}")
        said.seek(0)
        return said.read(), took, used.ru_utime + used.ru_stime, used.ru_maxrss * 1024


@contextmanager
def _on_cores(count: int) -> Iterator[None]:
    """Let processes that are started meanwhile run on the last so many cores (Linux)."""
    allowed = os.sched_getaffinity(0)
    os.sched_setaffinity(0, sorted(allowed)[-count:])
    try:
        yield
    finally:
        os.sched_setaffinity(0, allowed)


def make_file(spec: Row) -> str:
    """Generate a file in a process of its own, so that this one stays small; give its path."""
    path: str = json.loads(_run(_called("files", spec), 1, 1)[0].splitlines()[-1])
    return path


def apart(one: Any, other: Any) -> float:
    """Compare two nested lists: the greatest difference, relative to the greatest entry."""
    ours, theirs = list(_numbers(one)), list(_numbers(other))
    gaps = (abs(a - b) for a, b in zip(ours, theirs, strict=True))
    return max(gaps) / max(map(abs, ours))


def _numbers(nested: Any) -> Iterator[float]:
    """Go through the numbers of nested lists."""
    if isinstance(nested, list):
        for each in nested:
            yield from _numbers(each)
    else:
        yield nested
