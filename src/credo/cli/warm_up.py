"""``credo warm-up``: compile everything ahead, by small calls that reach every kernel."""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

import typer


def warm_up() -> None:
    """Compile everything ahead, so that no first answer waits for it."""
    from credo.cli.progress import step_progress
    from credo.cli.small_calls import CALLS

    begun = time.monotonic()
    with _compiled(), step_progress() as step:
        for done, (name, call) in enumerate(CALLS.items()):
            step(f"Compiling {name}", done, len(CALLS))
            call()
    typer.echo(f"Everything is compiled, in {time.monotonic() - begun:.0f} s.")


@contextmanager
def _compiled() -> Iterator[None]:
    """Compile kernels at their first call, in the block, unless something else was asked for."""
    unset = "CREDO_KERNELS" not in os.environ
    os.environ.setdefault("CREDO_KERNELS", "compiled")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the examples are small, not good
            yield
    finally:
        if unset:
            del os.environ["CREDO_KERNELS"]
