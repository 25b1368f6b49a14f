"""``credo warm-up``: compile everything ahead, by small calls that reach every kernel."""

from __future__ import annotations

import os
import warnings

from credo.cli._console import Wait, say


def warm_up() -> None:
    """Compile everything ahead, so that no first answer waits for it."""
    from concurrent.futures import ProcessPoolExecutor, as_completed
    from multiprocessing import get_context

    from credo.cli._small_calls import CALLS

    n, fresh = len(CALLS), get_context("spawn")  # threads of ours do not go along
    with Wait("Compiling") as wait, ProcessPoolExecutor(_cores(), fresh) as pool:
        calls = as_completed([pool.submit(compile_for, name) for name in CALLS])
        try:
            for done, call in enumerate(calls, 1):
                wait.steps(f"Compiled {call.result()}", done, n)
        except BaseException:  # whoever stops it does not wait for what was not begun
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    say(f"Everything is compiled, in {wait.seconds:.0f} s.")


def _cores() -> int:
    """Return how many processes may run at a time."""
    allowed = getattr(os, "sched_getaffinity", lambda _: range(os.cpu_count() or 1))
    return len(allowed(0))


def compile_for(name: str) -> str:
    """Make some of the calls, in a process of its own, and return their name."""
    from credo.cli._small_calls import CALLS

    os.environ.setdefault("CREDO_KERNELS", "compiled")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the examples are small, not good
        CALLS[name]()
    return name
