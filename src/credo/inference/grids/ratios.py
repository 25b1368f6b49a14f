"""Two labels: messages as ratios, in planes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, final

import numpy as np

from credo._validation.arrays import frozen
from credo.exceptions import InputError
from credo.graphs import GridField
from credo.inference.grids.blocks import Block, Colours, on_threads
from credo.inference.grids.jobs import rooms_needed
from credo.inference.grids.layout import Floats, Layout, directed_strengths
from credo.inference.grids.messages import AbstractMessages, Settings
from credo.posterior import PosteriorMap

#: Pixels that are looked at together, few enough for the cache.
_AT_A_TIME = 2**16


@dataclass(frozen=True, slots=True)
class Range:
    """How far logs may go before the numbers themselves overflow in a product of messages.

    A message lies between exp(-w) and exp(w), w being the largest weight of an edge, in logs. A
    product of D of them with a node's ratio exp(h), times what the update multiplies it by, stays
    below exp(h + (D + 2) w). Pixels that are more certain than that allows are held at the most
    that it does; nobody can tell, as long as even then all their neighbours together leave them
    certain to the last digit.
    """

    most: float  #: the largest log ratio of a node
    is_enough: bool  #: whether a node that is held at it is certain to the last digit
    fits: bool  #: whether there is room for nodes at all

    @classmethod
    def of(cls, weight: float, n_directions: int, dtype: Any) -> Range:
        """Find the range of a type of number."""
        info = np.finfo(dtype)
        top = float(np.log(info.max)) - 3.0  # sums of four such terms, and their rounding
        most = top - (n_directions + 2) * weight
        needed = (n_directions + 1) * weight - float(np.log(info.eps))
        return cls(most, most >= needed, most > 0.0)


def number_type(field: GridField, dtype: Any, who: str) -> Any:
    """Choose the type of number: the one asked for; by default float32 if that is safe."""
    layout = Layout.of(field.shape, field.axes)
    unit = field.smoothness.units(2)
    strongest = max(float(np.abs(s).max(initial=0.0)) for s in map(np.asarray, field.strengths))
    weight = strongest * abs(float(unit[0] - unit[1]))
    largest = max(
        float(np.abs(field.log_odds_of(rows)).max(initial=0.0))
        for rows in _few(0, layout.slabs, layout.length)
    )
    wanted = (np.float32, np.float64) if dtype is None else (dtype,)
    for kind in wanted:
        room = Range.of(weight, 2 * len(field.axes), kind)
        if room.fits and (largest <= room.most or room.is_enough):
            return kind
    raise InputError(
        f"{who}: edges that weigh up to {weight:.3g} in logs are too strong for messages in "
        f"{np.dtype(wanted[-1]).name}. Use a weaker coupling, dtype='float64' if it is not "
        "that, or for the best labels credo.mpe or denoise(method='graph-cut'), which take any."
    )


def _few(first: int, last: int, length: int) -> Iterator[slice]:
    """Give slices of slabs, few enough of them for the cache."""
    count = max(1, _AT_A_TIME // max(1, length))
    for low in range(first, last, count):
        yield slice(low, min(low + count, last))


def log_weights(field: GridField, layout: Layout) -> Floats:
    """Give the log of how much more equal labels weigh than unequal ones, for each message."""
    unit = field.smoothness.units(2)
    return directed_strengths(field, layout) * float(unit[0] - unit[1])


@final
class RatioMessages(AbstractMessages):
    """The messages of a field of two labels: the second label's number over the first's."""

    def __init__(self, field: GridField, settings: Settings, threads: int = 1) -> None:
        layout = Layout.of(field.shape, field.axes)
        logs = log_weights(field, layout)
        strongest = float(np.abs(logs).max(initial=0.0))
        self._most = Range.of(strongest, logs.shape[1], settings.dtype).most
        weights = np.exp(logs).astype(settings.dtype)
        size = layout.length * weights.itemsize
        super().__init__(field, settings, size, weights, threads)

    def _nodes(self, first: int, last: int) -> Floats:
        ratios = np.empty((last - first, *self._layout.shape[1:]), self._type)
        for rows in _few(0, last - first, self._layout.length):
            odds = self._field.log_odds_of(slice(first + rows.start, first + rows.stop))
            np.exp(np.clip(odds, -self._most, self._most), out=ratios[rows], dtype=self._type)
        return self._layout.lines(ratios, 1.0)

    def _initial(self, slabs: int) -> Floats:
        return np.ones((slabs, 2 * len(self._layout.axes), self._layout.length), self._type)

    def _flood(self, block: Block, colours: Colours) -> None:
        from credo._kernels import grid_ratios  # noqa: PLC0415

        layout = self._layout
        count = rooms_needed(len(layout.axes), len(colours))
        grid_ratios.flood(
            block.nodes, block.messages, block.weights, layout.axes, layout.outside, layout.margin,
            self._eta, self._maximum, colours, self._rooms(layout, count),
        )  # fmt: skip

    def _pass(self, block: Block, layout: Layout, *, backward: bool) -> None:
        from credo._kernels import grid_ratios  # noqa: PLC0415

        grid_ratios.sweep(
            block.nodes, block.messages, block.weights, layout.axes, layout.outside, layout.margin,
            self._eta, self._maximum, backward, self._rooms(layout, 1),
        )  # fmt: skip

    def _rooms(self, layout: Layout, count: int) -> Floats:
        """Make room for lines of products, with ones at either end."""
        return np.ones((count, layout.length + 2 * layout.margin), self._type)

    def posterior(self) -> PosteriorMap:
        """Give the beliefs: a node's ratio times its messages."""
        lines = np.empty((self._layout.slabs, self._layout.length), self._type)
        on_threads([partial(self._believe, block, lines) for block in self.blocks])
        return PosteriorMap.of_two(self._layout.planes(frozen(lines)), self._field.labels)

    @staticmethod
    def _believe(block: Block, lines: Floats) -> None:
        """Write the beliefs of a block, a few slabs at a time."""
        for rows in _few(block.low, block.high, lines.shape[1]):
            here = slice(rows.start - block.first, rows.stop - block.first)
            belief = lines[rows]
            np.multiply(block.nodes[here], block.messages[here, 0], out=belief)
            for way in range(1, block.messages.shape[1]):
                belief *= block.messages[here, way]
            belief /= belief + 1  # of a ratio r of probabilities the upper one is r / (1 + r)

    def _compared(self, before: Floats, after: Floats) -> float:
        """Give the largest change of a probability."""
        return float(np.abs(before / (1 + before) - after / (1 + after)).max(initial=0.0))
