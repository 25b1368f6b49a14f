"""Jobs done in order, a few at a time, so that memory stays bounded."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")
R = TypeVar("R")


def in_order(jobs: Iterable[T], work: Callable[[T], R], threads: int) -> Iterator[R]:
    """Do jobs on threads and give their results in order; jobs are made as they are needed.

    Jobs are taken, and results handed over, by the caller's thread. There is one job more than
    there are threads, so that none has to wait for the next.
    """
    if threads == 1:
        yield from map(work, jobs)
        return
    under_way: deque[Future[R]] = deque()
    pool = ThreadPoolExecutor(threads)
    try:
        for job in jobs:
            under_way.append(pool.submit(work, job))
            if len(under_way) > threads:
                yield under_way.popleft().result()
        while under_way:
            yield under_way.popleft().result()
    finally:
        pool.shutdown(cancel_futures=True)
