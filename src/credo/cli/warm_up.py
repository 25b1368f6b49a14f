"""``credo warm-up``: compile everything ahead, by small calls that reach every kernel."""

from __future__ import annotations

import os
import time
import warnings

import typer


def warm_up() -> None:
    """Compile everything ahead, so that no first answer waits for it."""
    from concurrent.futures import ProcessPoolExecutor, as_completed
    from multiprocessing import get_context

    from credo._threads import usable_cores
    from credo.cli.progress import step_progress
    from credo.cli.small_calls import CALLS

    begun, n = time.monotonic(), len(CALLS)
    fresh = get_context("spawn")  # threads of ours, if there are any, do not go along
    with step_progress() as step, ProcessPoolExecutor(min(usable_cores(), n), fresh) as pool:
        step("Compiling", 0, n)
        for done, call in enumerate(as_completed(pool.submit(compile_for, name) for name in CALLS)):
            step(f"Compiled {call.result()}", done + 1, n)
    typer.echo(f"Everything is compiled, in {time.monotonic() - begun:.0f} s.")


def compile_for(name: str) -> str:
    """Make some of the calls, in a process of its own, and return their name."""
    from credo.cli.small_calls import CALLS

    os.environ.setdefault("CREDO_KERNELS", "compiled")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the examples are small, not good
        CALLS[name]()
    return name
