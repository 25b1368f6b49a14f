"""A progress bar on stderr, shown only to a person who waits."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

#: Seconds after which somebody who watches would like to know how sweeps are getting on.
_PATIENCE = 1.0


@contextmanager
def step_progress() -> Iterator[Callable[[str, int, int], None]]:
    """Give a callback for the name of a step, its number and how many there are."""
    if not sys.stderr.isatty():
        yield lambda *_: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=None)

        def moved(name: str, done: int, total: int) -> None:
            bar.update(task, description=name, completed=done, total=total)

        yield moved


@contextmanager
def sweep_progress() -> Iterator[Callable[[int, float], None] | None]:
    """Give a callback for sweeps and residuals, which shows them if it takes long."""
    if not sys.stderr.isatty():
        yield None
        return
    begun = time.monotonic()
    show: Callable[[int, float], None] | None = None
    with ExitStack() as closing:

        def heard(number: int, residual: float) -> None:
            nonlocal show
            if show is None and time.monotonic() - begun >= _PATIENCE:
                show = closing.enter_context(_sweep_bar())
            if show is not None:
                show(number, residual)

        yield heard


@contextmanager
def _sweep_bar() -> Iterator[Callable[[int, float], None]]:
    """Show how often an engine has swept and what still changes; nobody knows how often it will."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    words = TextColumn("sweep {task.completed}, residual {task.fields[residual]:.2g}")
    columns = (BarColumn(), words, TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=None, residual=0.0)
        yield lambda number, residual: bar.update(task, completed=number, residual=residual)
