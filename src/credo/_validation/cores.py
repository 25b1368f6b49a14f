"""How many threads are worth having."""

from __future__ import annotations

import os

from credo._validation.arrays import positive_int

#: More threads than this wait for memory more than they compute.
_MOST_THREADS = 8


def usable_cores() -> int:
    """Count the cores that this process may use."""
    allowed = getattr(os, "sched_getaffinity", None)
    return len(allowed(0)) if allowed is not None else os.cpu_count() or 1


def count_threads(threads: int | None, owner: str) -> int:
    """Return the number of threads: by default one per core that may be used, at most eight."""
    if threads is not None:
        return positive_int(threads, owner, "threads")
    return min(usable_cores(), _MOST_THREADS)
