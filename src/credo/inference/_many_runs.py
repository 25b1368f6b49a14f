"""Many rows: those that are alike once, the others in blocks, on threads, within a budget."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from credo._types import F64
from credo._validation.arrays import positive_int
from credo._validation.cores import usable_cores
from credo.inference._many_rows import Codes
from credo.inference._many_tree import RowTree
from credo.inference._threads import run_in_rooms

Int64: TypeAlias = npt.NDArray[np.int64]
Report: TypeAlias = Callable[[slice], None]
#: More threads than this wait for memory more than they compute.
_MOST_THREADS = 8
#: Rows handed to a thread at a time: starting the kernel costs as much as a few rows. Fewer if the
#: tables are so large that a block would take longer than a tenth of a second, at 8 ns per cell.
_BLOCK, _CELLS_PER_BLOCK = 1024, 1.2e7
#: Copies of the tables beside the lanes: factors, and the run without evidence.
COPIES = 2


def count_threads(threads: int | None, owner: str) -> int:
    """Give the number of threads: by default one per core that may be used, at most eight."""
    if threads is not None:
        return positive_int(threads, owner, "threads")
    return min(usable_cores(), _MOST_THREADS)


def distinct(codes: Codes) -> tuple[Int64, Int64]:
    """Find the rows that differ, and which of them each row is.

    Rows with the same columns observed lie together, in the order in which they first come.
    """
    keys = np.random.default_rng(0).integers(1, 2**63, (2, codes.shape[1]), dtype=np.uint64)
    row_hash = np.zeros(len(codes), np.uint64)
    pattern_hash = np.zeros(len(codes), np.uint64)
    for j, column in enumerate(codes.T):
        row_hash += (column + 1).astype(np.uint64) * keys[0, j]
        pattern_hash += (column >= 0) * keys[1, j]
    _, first, inverse = np.unique(row_hash, return_index=True, return_inverse=True)
    if not np.array_equal(codes[first][inverse], codes):  # two rows of one hash: almost never
        _, first, inverse = np.unique(codes, axis=0, return_index=True, return_inverse=True)
    order = np.lexsort((first, pattern_hash[first]))
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    return first[order], rank[inverse.ravel()]


def patterns(codes: Codes) -> Iterator[tuple[slice, Int64]]:
    """Cut rows that are sorted by pattern; give each part and the columns observed in it."""
    observed = codes >= 0
    changes = np.flatnonzero((observed[1:] != observed[:-1]).any(axis=1)) + 1
    edges = [0, *changes.tolist(), len(codes)]
    for start, stop in pairwise(edges):
        if stop > start:
            yield slice(start, stop), np.flatnonzero(observed[start])


def run_blocks(  # noqa: PLR0913 - where to read, where to write, and what with
    tree: RowTree,
    codes: Codes,
    out: F64,
    log_z: F64,
    *,
    threads: int,
    memory: float,
    report: Report,
) -> None:
    """Run rows in blocks on threads; the answer does not depend on either."""
    lanes, threads = _fitting(tree, len(codes), threads, memory)
    size = int(min(_BLOCK, max(1.0, _CELLS_PER_BLOCK / tree.n_cells)))
    size = lanes * -(-size // lanes)
    blocks = [slice(i, min(i + size, len(codes))) for i in range(0, len(codes), size)]
    rooms = [tree.room(lanes) for _ in range(min(threads, len(blocks)))]

    def run(block: slice, room: Any) -> None:
        tree.run(codes[block], room, out[block], log_z[block])

    run_in_rooms(blocks, rooms, run, report)


def _fitting(tree: RowTree, n_rows: int, threads: int, memory: float) -> tuple[int, int]:
    """Choose lanes and threads whose rooms fit: first fewer lanes, then threads, then one lane."""
    lanes = min(tree.lanes, 1 << max(n_rows - 1, 0).bit_length())
    threads = min(threads, -(-n_rows // lanes))
    most = memory / (8.0 * tree.n_cells)
    while lanes > 8 and lanes * threads > most:
        lanes //= 2
    while threads > 1 and lanes * threads > most:
        threads -= 1
    while lanes > 1 and lanes * threads > most:
        lanes //= 2
    return lanes, threads
