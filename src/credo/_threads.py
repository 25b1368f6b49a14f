"""Work that threads do in order."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")
Item = TypeVar("Item")


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
