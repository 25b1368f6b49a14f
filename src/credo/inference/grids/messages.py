"""Messages on a grid: what sweeps need, whatever a message is made of."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from credo.graphs import GridField
from credo.inference.grids.blocks import Block, Colours, cut, run_blocks, sweeps_at_a_time
from credo.inference.grids.layout import Floats, Layout
from credo.inference.grids.rotations import Rotation, rotations
from credo.posterior import PosteriorMap

#: The colours of the pixels that messages go to, in the order of a sweep. -1 stands for all of
#: them; on a checkerboard the even pixels send first, to the odd ones.
_COLOURS = {"flooding": (-1,), "checkerboard": (1, 0)}


@dataclass(frozen=True, slots=True)
class Settings:
    """How messages are passed."""

    maximum: bool
    momentum: float
    schedule: str
    dtype: Any


class AbstractMessages(ABC):
    """The messages of a field; they begin uniform."""

    def __init__(
        self, field: GridField, settings: Settings, slab_bytes: int, weights: Floats, threads: int
    ) -> None:
        self._layout = Layout.of(field.shape, field.axes)
        self._field = field
        self._type = settings.dtype
        self._eta = settings.dtype(settings.momentum)
        self._maximum = settings.maximum
        self._colours = _COLOURS.get(settings.schedule, ())
        self._weights = weights
        slabs, count = self._layout.slabs, threads if self._colours else 1
        self._at_a_time = sweeps_at_a_time(slab_bytes, weights.shape[1], slabs, count)
        self.blocks = cut(slabs, self._part, count, self._at_a_time)
        self._rotations: list[tuple[Rotation, Block]] = []
        if not self._colours:
            every = rotations(self._layout, field.axes)
            self._rotations = [(rotation, self._turned(rotation)) for rotation in every]

    def _part(self, first: int, last: int) -> tuple[Floats, Floats, Floats]:
        """Make the potentials, the first messages and the weights of a range of slabs."""
        own = self._weights
        if len(own) > 1:
            own = own[first:last]
        return self._nodes(first, last), self._initial(last - first), own

    @abstractmethod
    def _nodes(self, first: int, last: int) -> Floats:
        """Lay out the potentials of a range of slabs."""

    @abstractmethod
    def _initial(self, slabs: int) -> Floats:
        """Give uniform messages, directions first."""

    @abstractmethod
    def _flood(self, block: Block, colours: Colours) -> None:
        """Make a sweep on a block for each colour."""

    @abstractmethod
    def _pass(self, block: Block, layout: Layout, *, backward: bool) -> None:
        """Pass messages through a block, slab by slab."""

    @abstractmethod
    def posterior(self) -> PosteriorMap:
        """Give the beliefs."""

    @abstractmethod
    def _compared(self, before: Floats, after: Floats) -> float:
        """Tell how far messages are from others."""

    def advance(self, sweeps: int) -> None:
        """Make sweeps."""
        if self._colours:
            colours = np.tile(np.array(self._colours, np.int64), sweeps)
            run_blocks(self.blocks, self._run, colours, self._at_a_time)
            return
        for _ in range(sweeps):
            for rotation, turned in self._rotations:
                self._pass_through(rotation, turned)

    def advance_one(self) -> float:
        """Make a sweep; give the largest change of a message, before it was mixed with the old."""
        before = [messages.copy() for messages in self._cores()]
        self.advance(1)
        moves = [self._compared(b, a) for b, a in zip(before, self._cores(), strict=True)]
        return max(moves) / float(self._eta)

    def _cores(self) -> list[Floats]:
        """Give the messages between pixels, block by block, without the rims."""
        return [self._layout.pixels(block.messages[block.core]) for block in self.blocks]

    def _run(self, block: Block, colours: Colours) -> None:
        """Make sweeps on a block, whose first slab may be an odd one."""
        self._flood(block, np.where(colours < 0, colours, (colours + block.first) % 2))

    def _pass_through(self, rotation: Rotation, turned: Block) -> None:
        """Pass messages forth and back along a dimension."""
        own = self.blocks[0]
        turned.messages = _turned(own.messages, rotation.there, rotation.directions)
        self._pass(turned, rotation.layout, backward=False)
        self._pass(turned, rotation.layout, backward=True)
        home = np.argsort(rotation.directions)
        own.messages = _turned(turned.messages, rotation.back, home)

    def _turned(self, rotation: Rotation) -> Block:
        """Make a block of the rotated picture."""
        own, length = self.blocks[0], rotation.layout.length
        if all(isinstance(strength, float) for strength in self._field.strengths):
            weights = own.weights[:, rotation.directions]
            wide = (*weights.shape[:-1], length)
            weights = np.ascontiguousarray(np.broadcast_to(weights[..., :1], wide))
        else:
            weights = _turned(own.weights, rotation.there, rotation.directions)
        nodes = _turned(own.nodes[:, np.newaxis], rotation.there)[:, 0]
        return Block(0, 0, rotation.layout.slabs, nodes, own.messages, weights)


def _turned(lines: Floats, turn: Callable[[Floats], Floats], ways: Any = slice(None)) -> Floats:
    """Rotate lines (slabs, directions, …, length), and name the directions as they are then."""
    there = turn(np.moveaxis(lines, 0, -2)[ways])
    return np.ascontiguousarray(np.moveaxis(there, -2, 0))
