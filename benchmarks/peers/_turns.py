"""Processes that take turns: each has set up its problem, and runs it whenever it is asked."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

from _loopy_peers import Row

#: One thread for everyone, and no remarks of JAX on how long it compiles.
ONE_THREAD = {
    "TF_CPP_MIN_LOG_LEVEL": "3",
    "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1",
    **dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1"),
}


class Turns:
    """A process that has set up a problem, and runs it once for each line that it is sent."""

    def __init__(self, python: str, script: Path, job: Row) -> None:
        self._process: Any = subprocess.Popen(
            [python, str(script), json.dumps(job | {"job": "turns"})],
            env=os.environ | ONE_THREAD,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.ready = self._read()
        self.best = float("inf")

    def _read(self) -> Row:
        line = self._process.stdout.readline()
        if not line:
            raise SystemExit(f"A contestant ended without an answer: {self._process.args!r}")
        told: Row = json.loads(line)
        return told

    def run(self) -> None:
        """Run once more, and keep the best time."""
        self._process.stdin.write("run\n")
        self._process.stdin.flush()
        self.best = min(self.best, self._read()["seconds"])

    def close(self) -> None:
        """Let the process end."""
        self._process.communicate()
