"""Blocks of slabs: each has its own messages and a rim of its neighbours', and runs by itself."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

Floats: TypeAlias = npt.NDArray[Any]
Colours: TypeAlias = npt.NDArray[np.int64]
Result = TypeVar("Result")

#: Slabs of several sweeps that a core works on at a time should stay in its share of the caches.
#: From half a megabyte to eight, two labels took the same time; 64 labels took a third less at
#: four than at a half.
_CACHE = 2**22
#: More sweeps at a time than this gain nothing, and each costs a slab on either side of a block.
_MOST_SWEEPS = 20


@dataclass(slots=True, eq=False)
class Block:
    """Some slabs: those from ``low`` to ``high`` count, the others, from ``first`` on, are rim."""

    first: int
    low: int
    high: int
    nodes: Floats  #: potentials, slabs first
    messages: Floats  #: for each slab those of all directions
    weights: Floats  #: for each slab those of all directions, or one slab for all

    @property
    def core(self) -> slice:
        """The slabs that count, as places in the arrays."""
        return slice(self.low - self.first, self.high - self.first)


#: Makes sweeps on a block, one for each colour.
Run: TypeAlias = Callable[[Block, Colours], None]


def sweeps_at_a_time(slab_bytes: int, n_directions: int, slabs: int, threads: int) -> int:
    """Tell how many sweeps run one behind the other, by what fits into a core's cache."""
    most = max(1, min(_MOST_SWEEPS, _CACHE // (slab_bytes * (1 + n_directions))))
    return max(1, min(most, slabs // (2 * threads))) if threads > 1 else most


def cut(
    slabs: int, make: Callable[[int, int], tuple[Floats, Floats, Floats]], threads: int, rim: int
) -> list[Block]:
    """Cut a picture into as many blocks as there are threads, if each has slabs enough.

    ``make`` gives the potentials, the first messages and the weights of a range of slabs.
    """
    count = max(1, min(threads, slabs // max(rim, 1)))
    bounds = np.linspace(0, slabs, count + 1).astype(int).tolist()

    def made(low: int, high: int) -> Block:
        first, last = max(0, low - rim), min(slabs, high + rim)
        return Block(first, low, high, *make(first, last))

    return on_threads([partial(made, low, high) for low, high in pairwise(bounds)])


def on_threads(jobs: Sequence[Callable[[], Result]]) -> list[Result]:
    """Run jobs side by side, and give what they give."""
    if len(jobs) == 1:
        return [jobs[0]()]
    with ThreadPoolExecutor(len(jobs)) as pool:
        return [future.result() for future in [pool.submit(job) for job in jobs]]


def run_blocks(blocks: Sequence[Block], run: Run, colours: Colours, at_a_time: int) -> None:
    """Make sweeps on all blocks, a few at a time, and tell neighbours after each few."""
    rounds = -(-len(colours) // at_a_time)
    few = np.array_split(colours, rounds) if rounds else []
    if len(blocks) == 1:
        for some in few:
            run(blocks[0], some)
        return
    with ThreadPoolExecutor(len(blocks) - 1) as pool:
        for some in few:
            others = [pool.submit(run, block, some) for block in blocks[1:]]
            run(blocks[0], some)
            for other in others:
                other.result()
            for above, below in pairwise(blocks):
                _exchange(above, below)


def _exchange(above: Block, below: Block) -> None:
    """Copy to the rim of each of two blocks what the other has computed there."""
    rim = slice(below.first - above.first, below.low - above.first)
    below.messages[: below.low - below.first] = above.messages[rim]
    reach = len(above.messages) - (above.high - above.first)
    start = below.low - below.first
    above.messages[above.high - above.first :] = below.messages[start : start + reach]
