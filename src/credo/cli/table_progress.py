"""How far a table has been read: rows, rows per second and the time left, on stderr."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

#: Below this many seconds a rate says how fast a program starts, not how fast it works.
_TELLING = 1.0


class Meter:
    """Counts the rows that were read; called with those of this pass and their share of all."""

    def __init__(self, show: Callable[[Meter], None] | None = None) -> None:
        self.rows = 0
        self.passes = 1
        self.share: float | None = None
        self._before = 0
        self._show = show
        self._begun = time.perf_counter()
        self._took: float | None = None

    def __call__(self, rows: int, share: float | None) -> None:
        """Take note of how far it is; fewer rows than before begin a new pass."""
        if rows < self.rows:
            self._before += self.rows
            self.passes += 1
        self.rows, self.share = rows, share
        if self._show is not None:
            self._show(self)

    def stop(self) -> None:
        """Stop the clock."""
        self._took = time.perf_counter() - self._begun

    @property
    def seconds(self) -> float:
        """Time since the start, or until the clock was stopped."""
        return time.perf_counter() - self._begun if self._took is None else self._took

    @property
    def rate(self) -> float:
        """Rows per second, those of all passes."""
        return (self._before + self.rows) / max(self.seconds, 1e-9)

    def sentence(self) -> str:
        """Tell how long it took, if somebody had to wait; else nothing."""
        if self.seconds < _TELLING:
            return ""
        passes = f" in {self.passes} passes" if self.passes > 1 else ""
        rate = f", {_three(self.rate)} rows per second{passes}" if self.rows else ""
        return f"{self.seconds:.3g} s{rate}"

    def record(self) -> dict[str, Any]:
        """Give the same for another program."""
        rate = self.rate if self.rows else None
        return {"seconds": self.seconds, "rows_per_second": rate, "passes": self.passes}


@contextmanager
def row_progress(what: str, *, quiet: bool = False) -> Iterator[Meter]:
    """Give a meter, whose hand somebody who watches stderr can see."""
    if quiet or not sys.stderr.isatty():
        meter = Meter()
        try:
            yield meter
        finally:
            meter.stop()
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.fields[told]}"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=None, told="", rows=0)

        def show(meter: Meter) -> None:
            if meter.rows < bar.tasks[0].fields["rows"]:  # a new pass has a clock of its own
                bar.reset(task, total=1.0)
            told = f"{meter.rows} rows, {_three(meter.rate)} rows/s" if meter.rows else ""
            named = what if meter.passes == 1 else f"{what}, pass {meter.passes}"
            total = None if meter.share is None else 1.0
            bar.update(
                task, completed=meter.share or 0.0, total=total, told=told, description=named
            )

        meter = Meter(show)
        try:
            yield meter
        finally:
            meter.stop()


def _three(number: float) -> str:
    """Write a number with three digits that say something, and no exponent."""
    return f"{float(f'{number:.3g}'):.0f}" if number >= 100 else f"{number:.3g}"
