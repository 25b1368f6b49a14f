"""Threads: how many are worth having, and work that they do in order."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

from credo import _checks as check

T = TypeVar("T")
Item = TypeVar("Item")

#: More threads than this wait for memory more than they compute.
_MOST_THREADS = 8


def usable_cores() -> int:
    """Count the cores that this process may use."""
    allowed = getattr(os, "sched_getaffinity", None)
    return len(allowed(0)) if allowed is not None else os.cpu_count() or 1


def count_threads(threads: int | None, owner: str) -> int:
    """Return the number of threads: by default one per core that may be used, at most eight."""
    if threads is not None:
        return check.count(threads, f"threads of {owner}")
    return min(usable_cores(), _MOST_THREADS)


def map_in_order(
    function: Callable[[Item], T], items: Iterable[Item], threads: int
) -> Generator[T]:
    """Yield the results of a function for items that are made, one after the other, meanwhile.

    The items are made by the thread that asks for results, at most one more than there are
    threads: memory stays bounded, and no thread has to wait for the next item.
    """
    if threads == 1:
        yield from map(function, items)
        return
    waiting: deque[Future[T]] = deque()
    pool = ThreadPoolExecutor(threads)
    try:
        for item in items:
            waiting.append(pool.submit(function, item))
            if len(waiting) > threads:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        pool.shutdown(cancel_futures=True)
