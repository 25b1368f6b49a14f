"""Working on batches on several threads, with the results in order."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from threading import Lock
from typing import Any, TypeAlias, TypeVar

from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]  # it has no stubs

from credo._validation.cores import usable_cores

#: Anything with a number of rows.
Sized: TypeAlias = Any
Item = TypeVar("Item")
Result = TypeVar("Result")

#: More threads than this wait for the one that reads, and each holds a batch in memory.
_MOST_THREADS = 4


def map_in_order(
    function: Callable[[Item], Result], items: Iterable[Item], threads: int | None = None
) -> Generator[Result]:
    """Give the results of a function for items that are made, one after the other, meanwhile.

    The items are made by the thread that asks for results, with at most one more under way than
    there are threads; by default as many as the process may use, up to four. With one thread
    nothing runs beside anything. An error ends it; who stops asking closes the iterator. Meanwhile
    linear algebra runs on one thread for each batch, so that threads do not wait for each other
    and sums do not depend on their number.
    """
    count = min(usable_cores(), _MOST_THREADS) if threads is None else threads
    with _one_thread_of_algebra():
        if count == 1:
            yield from map(function, items)
        else:
            yield from _mapped(function, items, count)


def _mapped(
    function: Callable[[Item], Result], items: Iterable[Item], count: int
) -> Iterator[Result]:
    """Map on some threads."""
    waiting: deque[Future[Result]] = deque()
    pool = ThreadPoolExecutor(count)
    try:
        for item in items:
            waiting.append(pool.submit(function, item))
            if len(waiting) > count:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        pool.shutdown(cancel_futures=True)


class _Limit:
    """The limit on the threads of linear algebra, which is one for the whole process."""

    def __init__(self) -> None:
        self._lock, self._users = Lock(), 0
        self._set: Any = None

    def take(self) -> None:
        """Set the limit, if nobody has yet."""
        with self._lock:
            if not self._users:
                self._set = threadpool_limits(1, "blas")
            self._users += 1

    def leave(self) -> None:
        """Lift the limit, if nobody else needs it."""
        with self._lock:
            self._users -= 1
            if not self._users and self._set is not None:
                self._set.restore_original_limits()


_LIMIT = _Limit()


@contextmanager
def _one_thread_of_algebra() -> Iterator[None]:
    """Let linear algebra run on one thread, until the last of those who asked for it is done."""
    _LIMIT.take()
    try:
        yield
    finally:
        _LIMIT.leave()


def with_starts(batches: Iterable[Sized]) -> Iterator[tuple[int, Sized]]:
    """Give batches with the number of rows before each of them."""
    start = 0
    for batch in batches:
        yield start, batch
        start += len(batch)
