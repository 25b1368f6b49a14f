"""Contestants on pictures that take turns: credo, NumPy and PGMax, each in its own process."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from _loopy_peers import Row
from _peers import python_of
from _turns import Turns

JOBS, PEERS = (Path(__file__).parent / name for name in ("_grid_jobs.py", "_grid_peers.py"))
CREDO, TWO, WHOLE = "credo", "credo, two threads", "credo.denoise"
OURS = (CREDO, TWO, WHOLE)


class Contestant(Turns):
    """A picture that is set up, and whose sweeps are run by turns."""

    def __init__(self, who: str, job: Row) -> None:
        given = job | {"who": who} | ({"threads": 2} if who == TWO else {"core": 0})
        python = python_of(who) if who == "PGMax" else None
        super().__init__(python or sys.executable, JOBS if who in OURS else PEERS, given)
        self.first = float(self.ready["set-up"] + self.ready["first"])


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
