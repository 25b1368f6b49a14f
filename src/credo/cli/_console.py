"""What reaches a terminal or a file: results, notes, tables of text, and the bar of a wait."""

from __future__ import annotations

import decimal
import io
import json
import math
import os
import shutil
import sys
import tempfile
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import IO, Any, Self

import typer

from credo._files import refuse_place, written_whole
from credo.exceptions import InputError

#: Seconds after which somebody who watches would like to know how it is getting on. Below it, a
#: rate says how fast a program starts, not how fast it works.
_PATIENCE = 1.0
#: What becomes of characters that no file can hold, as in names that are no UTF-8: \udcff in JSON
#: is such a character again.
_ODD = "backslashreplace"


@contextmanager
def destination(out: Path | None) -> Iterator[IO[str]]:
    """Open a stream that reaches the file, or the standard output, only if all goes well."""
    if out is not None:
        with written_whole(out) as stream:
            yield stream
        return
    if sys.stdout is None:
        raise InputError("There is no standard output to write to. Pass --out.")
    with (
        tempfile.TemporaryFile() as spool,
        io.TextIOWrapper(spool, "utf-8", _ODD, newline="", write_through=True) as stream,
    ):
        yield stream
        spool.seek(0)
        try:
            sys.stdout.flush()
            shutil.copyfileobj(spool, sys.stdout.buffer)
            sys.stdout.flush()
        except BrokenPipeError:  # the reader has seen enough, as in `credo … | head`
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def say(text: str) -> None:
    """Print a result; UTF-8 whatever the terminal speaks, and no complaint if nobody reads."""
    with destination(None) as stream:
        stream.write(f"{text}\n")


def say_json(record: Any) -> None:
    """Print a result for another program; numbers that JSON lacks become text."""
    say(json.dumps(_jsonable(record), ensure_ascii=False, allow_nan=False))


def note(text: str) -> None:
    """Print a sentence beside the result, on the standard error."""
    typer.echo(text.encode("utf-8", _ODD).decode(), err=True)


def check_out(
    out: Path | None,
    inputs: Mapping[str, Any] | None = None,
    *,
    or_stream: bool = False,
) -> Path | None:
    """Refuse a file that cannot be written, or is an input, or lies in a folder of inputs.

    ``inputs``, each a path or several, are by their role. Return the file, or None for the
    standard output.
    """
    if out is None or (or_stream and str(out) == "-"):
        return None
    if str(out) == "-":
        raise InputError("Cannot write -: the result is a file, which needs a name.")
    refuse_place(out)
    folder = out.resolve().parent
    for role, given in (inputs or {}).items():
        for path in map(Path, [given] if isinstance(given, (str, Path)) else given or ()):
            if out.is_file() and path.exists() and out.samefile(path):
                raise InputError(f"The output {out} is also {role}. Choose another name.")
            if path.is_dir() and folder == path.resolve():
                raise InputError(
                    f"The output {out} would lie in the folder {path}, which is {role}. Choose "
                    "another place."
                )
    return out


def _jsonable(value: Any) -> Any:
    """Return the value with keys as text, and infinite numbers as 'inf' and '-inf'."""
    if isinstance(value, Mapping):
        return {str(key): _jsonable(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_jsonable(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value


def shown(label: Any) -> str:
    """Return a label on one line: line ends and other control characters are spelled out."""
    return "".join(
        each if each.isprintable() else each.encode("unicode_escape").decode("ascii")
        for each in str(label)
    )


def table_text(rows: Iterable[Sequence[Any]]) -> str:
    """Line up columns of text; a header is simply the first row."""
    cells = [[shown(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return "\n".join(
        "  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in cells
    )


def bound_text(value: float, kind: str, digits: int = 8) -> str:
    """Write a number briefly; a lower bound is rounded down and an upper bound up, so both hold."""
    ways = {"lower bound": decimal.ROUND_FLOOR, "upper bound": decimal.ROUND_CEILING}
    context = decimal.Context(digits, ways.get(kind))
    return f"{float(context.create_decimal_from_float(float(value))):.{digits}g}"


def count_text(number: float) -> str:
    """Write a number of things; weighted ones need not be whole."""
    return f"{number:.0f}" if float(number).is_integer() else f"{number:.6g}"


def plural(number: float, one: str, many: str | None = None) -> str:
    """Write a number and what it counts."""
    return f"{count_text(number)} {one if number == 1 else many or f'{one}s'}"


class Wait:
    """A clock, and the one bar of the command line.

    The bar is for a terminal and for waits above a second; it appears even if nothing reports.
    ``rows``, ``sweeps``, ``draws`` and ``steps`` are the callbacks to hand to what one waits for.
    """

    def __init__(self, what: str, *, quiet: bool = False) -> None:
        self.done = 0  #: rows of this pass
        self.passes = 1
        self._what = what
        self._before = 0  #: rows of earlier passes
        self._facts = {"description": what, "text": "", "completed": 0.0, "total": None}
        self._watched = not quiet and sys.stderr is not None and sys.stderr.isatty()
        self._timer = threading.Timer(_PATIENCE, self._show)
        self._timer.daemon = True
        self._lock = threading.RLock()
        self._bar: Any = None
        self._entered = self._begun = self._pass_begun = time.perf_counter()
        self._took: float | None = None

    def __enter__(self) -> Self:
        """Start the clock."""
        if self._watched:
            self._timer.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Stop the clock and take the bar away."""
        self._timer.cancel()
        with self._lock:
            self._took = time.perf_counter() - self._begun
            if self._bar is not None:
                self._bar.stop()

    def start_clock(self) -> None:
        """Start the clock anew, now that all is loaded; the bar goes on."""
        self._begun = self._pass_begun = time.perf_counter()

    def rows(self, rows: int, share: float | None) -> None:
        """Report how many rows of a table were read, and their share of all if it is known."""
        if rows < self.done:  # fewer than before begin a new pass
            self._before += self.done
            self.passes += 1
            self._pass_begun = time.perf_counter()
        self.done = rows
        text = f"{rows} rows, {_three(self.rate)} rows/s" if rows else ""
        if share and share < 1:
            left = (time.perf_counter() - self._pass_begun) * (1 / share - 1)
            text += f", {share:.0%}, {timedelta(seconds=round(left))} left"
        name = self._what if self.passes == 1 else f"{self._what}, pass {self.passes}"
        ends = share is None or share >= 1  # nobody knows how long what follows the rows takes
        self._report(name, text, share or 0.0, None if ends else 1.0)

    def sweeps(self, number: int, residual: float) -> None:
        """Report a sweep, and what still changes; nobody knows how many there will be."""
        self._report(self._what, f"sweep {number}, residual {residual:.2g}", 0.0, None)

    def draws(self, number: int, change: float) -> None:
        """Report the draws so far, and by how much the last ones changed a probability."""
        self._report(self._what, f"{number} draws, change {change:.2g}", 0.0, None)

    def steps(self, name: str, done: int, total: int) -> None:
        """Report a step: its name, how many are done, and of how many."""
        self._report(name, f"{done} of {total}", done, total)

    @property
    def seconds(self) -> float:
        """Time since the start, or until the clock was stopped."""
        return time.perf_counter() - self._begun if self._took is None else self._took

    @property
    def rate(self) -> float:
        """Rows per second, those of all passes."""
        return (self._before + self.done) / max(self.seconds, 1e-9)

    def sentence(self) -> str:
        """Tell how long it took, if somebody had to wait; else nothing."""
        if self.seconds < _PATIENCE:
            return ""
        passes = f" in {self.passes} passes" if self.passes > 1 else ""
        rate = f", {_three(self.rate)} rows per second{passes}" if self.done else ""
        return f"{self.seconds:.3g} s{rate}"

    def record(self) -> dict[str, Any]:
        """Return the same for another program."""
        rate = self.rate if self.done else None
        return {"seconds": self.seconds, "rows_per_second": rate, "passes": self.passes}

    def _report(self, name: str, text: str, completed: float, total: float | None) -> None:
        facts = {"description": name, "text": text, "completed": completed, "total": total}
        with self._lock:
            self._facts = facts
            if self._bar is not None:
                self._bar.tasks[0].total = total  # of an update, none would leave the old one
                self._bar.update(self._bar.task_ids[0], **facts)
            elif self._watched and self.seconds >= _PATIENCE:
                self._show()

    def _show(self) -> None:
        """Show the bar, unless it is there or the wait is over."""
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

        with self._lock:
            if self._bar is None and self._took is None:
                words = TextColumn("{task.description}"), TextColumn("{task.fields[text]}")
                columns = (words[0], BarColumn(), words[1], TimeElapsedColumn())
                self._bar = Progress(
                    *columns,
                    console=Console(stderr=True),
                    transient=True,
                    redirect_stdout=False,
                    get_time=time.perf_counter,
                )
                self._bar.add_task(**self._facts)
                self._bar.tasks[0].start_time = self._entered
                self._bar.start()


def _three(number: float) -> str:
    """Write a number with three digits that say something, and no exponent."""
    return f"{float(f'{number:.3g}'):.0f}" if number >= 100 else f"{number:.3g}"
