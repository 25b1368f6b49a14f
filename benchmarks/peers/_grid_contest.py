"""Contestants on pictures that take turns: credo, NumPy and PGMax, each in its own process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from _loopy_peers import Row
from loopy import ONE_THREAD

JOBS, PEERS = (Path(__file__).parent / name for name in ("_grid_jobs.py", "_grid_peers.py"))
#: Where PGMax's interpreter is told.
INTERPRETER = "CREDO_PGMAX_PYTHON"
CREDO, TWO, WHOLE = "credo", "credo, two threads", "credo.denoise"
OURS = (CREDO, TWO, WHOLE)


def has_pgmax() -> bool:
    """Tell whether PGMax is there."""
    return INTERPRETER in os.environ


class Contestant:
    """A process that has set up a picture, and runs its sweeps whenever it is asked."""

    def __init__(self, who: str, job: Row) -> None:
        given = job | {"job": "turns", "who": who}
        given |= {"threads": 2} if who == TWO else {"core": 0}
        self._process: Any = subprocess.Popen(
            [_python(who), str(JOBS if who in OURS else PEERS), json.dumps(given)],
            env=os.environ | ONE_THREAD,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.ready = self._read()
        self.first = float(self.ready["set-up"] + self.ready["first"])
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


def _python(who: str) -> str:
    return os.environ[INTERPRETER] if who == "PGMax" else sys.executable


def contest(who: Sequence[str], job: Row, turns: int) -> dict[str, Contestant]:
    """Let contestants take turns on a picture."""
    contestants = {each: Contestant(each, job) for each in who}
    for _ in range(turns):
        for contestant in contestants.values():
            contestant.run()
    for contestant in contestants.values():
        contestant.close()
    if any(each.ready["sweeps"] != job["sweeps"] for each in contestants.values()):
        raise SystemExit(f"A contestant stopped early on {job}: the times cannot be compared.")
    return contestants
