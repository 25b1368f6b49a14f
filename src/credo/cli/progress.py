"""A progress bar on stderr, shown only to a person who waits."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def file_progress(what: str) -> Iterator[Callable[[int, int | None], None] | None]:
    """Give a callback for bytes read; None if nobody watches stderr."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn(what), BarColumn(), DownloadColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=None)

        def moved(done: int, total: int | None) -> None:
            bar.update(task, completed=done, total=total)

        yield moved
