"""Blocks of rows on threads, each with a room of its own while it works."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from typing import Any, TypeVar

Block = TypeVar("Block")


def run_in_rooms(
    blocks: Sequence[Block],
    rooms: list[Any],
    run: Callable[[Block, Any], None],
    report: Callable[[Block], None],
) -> None:
    """Run every block in one of the rooms, as many at a time as there are rooms.

    Each block is reported when it is done; after an error those that wait are dropped.
    """

    def work(block: Block) -> Block:
        room = rooms.pop()
        try:
            run(block, room)
        finally:
            rooms.append(room)
        return block

    if len(rooms) <= 1:
        for block in blocks:
            report(work(block))
        return
    with ThreadPoolExecutor(len(rooms)) as pool:
        futures = [pool.submit(work, block) for block in blocks]
        try:
            for future in as_completed(futures):
                report(future.result())
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise
