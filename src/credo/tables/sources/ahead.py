"""Reading ahead: the next batch is made while the last one is worked on."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator
from contextlib import suppress
from queue import Empty, Queue
from threading import Event, Thread
from typing import TypeVar

from credo._validation.arrays import positive_int

T = TypeVar("T")


def read_ahead(items: Iterable[T], depth: int = 2) -> Iterator[T]:
    """Make the next items in a thread while the last one is worked on.

    Parameters
    ----------
    items : iterable
        What to read; an error in it reaches the caller in its place.
    depth : int
        Most items made ahead.

    Yields
    ------
    item
        The same items in the same order.

    Notes
    -----
    The thread ends with the iteration, also if that ends early. It pays where both sides compute
    outside the interpreter, as Arrow and NumPy do.

    Examples
    --------
    >>> from credo.tables.sources import read_ahead
    >>> list(read_ahead(range(4)))
    [0, 1, 2, 3]
    """
    queue: Queue[tuple[T] | BaseException | None] = Queue(
        positive_int(depth, "read_ahead", "depth")
    )
    left = Event()
    thread = Thread(target=_make, args=(iter(items), queue, left), daemon=True)
    thread.start()
    try:
        while (made := queue.get()) is not None:
            if isinstance(made, BaseException):
                raise made
            yield made[0]
    finally:
        left.set()
        _drain(queue)  # a thread that waits to hand over goes on, and sees that nobody is there
        thread.join()


def _make(items: Iterator[T], queue: Queue[tuple[T] | BaseException | None], left: Event) -> None:
    """Hand over one item after another, then an error or None, as long as somebody is there."""
    last: BaseException | None = None
    try:
        for item in items:
            if left.is_set():
                break
            queue.put((item,))
        if isinstance(items, Generator):
            items.close()
    except BaseException as error:  # noqa: BLE001 - it is raised where the items are wanted
        last = error
    if not left.is_set():
        queue.put(last)


def _drain(queue: Queue[T]) -> None:
    """Take out what nobody wants any more."""
    with suppress(Empty):
        while True:
            queue.get_nowait()
