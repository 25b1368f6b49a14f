"""Working on batches on several threads, with the results in order."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeAlias, TypeVar

from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]  # it has no stubs

#: Anything with a number of rows.
Sized: TypeAlias = Any
Item = TypeVar("Item")
Result = TypeVar("Result")

#: More threads than this wait for the one that reads, and each holds a batch in memory.
_MOST_THREADS = 4


def map_in_order(
    function: Callable[[Item], Result], items: Iterable[Item], threads: int | None = None
) -> Iterator[Result]:
    """Give the results of a function for items that are made, one after the other, meanwhile.

    The items are made by the thread that asks for results, with at most one more under way than
    there are threads; by default as many as the machine has, up to four. With one thread nothing
    runs beside anything. An error ends it. Meanwhile linear algebra runs on one thread for each
    batch, so that threads do not wait for each other and sums do not depend on their number.
    """
    count = min(os.cpu_count() or 1, _MOST_THREADS) if threads is None else threads
    if count == 1:
        yield from map(function, items)
        return
    waiting: deque[Future[Result]] = deque()
    pool = ThreadPoolExecutor(count)
    limit = threadpool_limits(1, "blas")
    try:
        for item in items:
            waiting.append(pool.submit(function, item))
            if len(waiting) > count:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        pool.shutdown(cancel_futures=True)
        limit.restore_original_limits()


def with_starts(batches: Iterable[Sized]) -> Iterator[tuple[int, Sized]]:
    """Give batches with the number of rows before each of them."""
    start = 0
    for batch in batches:
        yield start, batch
        start += len(batch)
