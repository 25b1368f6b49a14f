"""Any number of labels: messages as lines of numbers that sum to one, or of logs."""

from __future__ import annotations

import math
from collections.abc import Iterable
from functools import partial
from typing import Any, final

import numpy as np

from credo._validation.arrays import frozen
from credo.exceptions import InputError
from credo.graphs import GridField, Potts, TruncatedLinear, TruncatedQuadratic
from credo.inference.grids.blocks import Block, Colours, on_threads
from credo.inference.grids.jobs import flood_jobs, rooms_needed, sweep_jobs
from credo.inference.grids.layout import Floats, Int64, Layout, directed_strengths
from credo.inference.grids.messages import AbstractMessages, Settings
from credo.posterior import PosteriorMap


def number_type(field: GridField, dtype: Any, who: str, *, maximum: bool) -> Any:
    """Choose the type of number: the one asked for; by default float32 if that is safe.

    Potentials of nodes are scaled so that the largest is one. A message that sums to one is at
    least exp(-w) / K, w being the most that the labels of an edge can differ by in logs, so that
    the product of D of them with the largest potential stays above exp(-D w) / K^D.
    """
    kinds = (np.float32, np.float64) if dtype is None else (dtype,)
    if maximum:
        return kinds[0]
    strongest = max(float(np.abs(s).max(initial=0.0)) for s in map(np.asarray, field.strengths))
    spread = float(np.ptp(field.smoothness.units(field.n_labels))) * strongest
    most = sum(_most_ends(field.shape, axis) for axis in field.axes)
    least = most * (spread + math.log(field.n_labels))
    for kind in kinds:
        if least < -float(np.log(np.finfo(kind).tiny)):
            return kind
    raise InputError(
        f"{who}: edges whose labels differ by up to {spread:.3g} in logs are too strong for sums "
        f"in {np.dtype(kinds[-1]).name}. Use a weaker or truncated smoothness, dtype='float64' if "
        "it is not that, or method='max-product', which takes any."
    )


def _most_ends(shape: tuple[int, ...], axis: tuple[int, ...]) -> int:
    """Count the edges along an axis that a pixel can have: none, one or two."""
    return min(min(n - 1, 2) for n, step in zip(shape, axis, strict=True) if step)


@final
class LabelMessages(AbstractMessages):
    """The messages of a field of any number of labels."""

    def __init__(self, field: GridField, settings: Settings, threads: int = 1) -> None:
        layout = Layout.of(field.shape, field.axes)
        self._n = field.n_labels
        smooth = field.smoothness
        self._limit = 1.0
        if isinstance(smooth, (TruncatedLinear, TruncatedQuadratic)):
            self._limit = float(smooth.limit)
        power = 2 if isinstance(smooth, TruncatedQuadratic) else 1
        steps = np.arange(1, self._n, dtype=np.float64) ** power
        self._reach = int(np.count_nonzero(steps < self._limit))
        self._kind = _kind(smooth, self._reach, self._n, maximum=settings.maximum)
        self._far = _far(self._kind, self._reach, settings.dtype(self._limit))
        self._places = _places(layout)
        weights = self._falls(directed_strengths(field, layout), settings)
        size = layout.length * self._n * weights.itemsize
        super().__init__(field, settings, size, weights, threads)

    def _nodes(self, first: int, last: int) -> Floats:
        """Lay potentials out (slabs, labels, length), the largest of each pixel being one."""
        logs = np.moveaxis(self._field.log_potentials[first:last], -1, 0)
        with np.errstate(over="ignore"):
            logs = logs - logs.max(axis=0)
            values = (logs if self._maximum else np.exp(logs)).astype(self._type)
        lines = self._layout.lines(values, 0.0 if self._maximum else 1.0)
        return np.ascontiguousarray(np.swapaxes(lines, 0, 1))

    def _falls(self, strengths: Floats, settings: Settings) -> Floats:
        """Give what a step weighs, and what labels beyond the reach do."""
        if settings.maximum:
            both = np.stack([strengths, strengths], axis=2)
        else:
            beyond = np.exp(-strengths * self._limit) if self._limit < math.inf else 0 * strengths
            step = beyond if self._reach == 0 else np.exp(-strengths)
            both = np.stack([step, beyond], axis=2)
        return both.astype(settings.dtype)

    def _initial(self, slabs: int) -> Floats:
        shape = (slabs, 2 * len(self._layout.axes), self._n, self._layout.length)
        return np.full(shape, 0.0 if self._maximum else 1.0 / self._n, self._type)

    def _flood(self, block: Block, colours: Colours) -> None:
        cross = self._layout.axes[:, 1]
        jobs = flood_jobs(len(block.nodes), cross, colours)
        self._do(jobs, block, self._places, rooms_needed(len(cross), len(colours)))

    def _pass(self, block: Block, layout: Layout, *, backward: bool) -> None:
        jobs = sweep_jobs(len(block.nodes), layout.axes[:, 1], backward=backward)
        self._do(jobs, block, _places(layout), 1)

    def _do(self, jobs: Iterable[Int64], block: Block, places: Int64, n_rooms: int) -> None:
        """Run jobs on a block."""
        from credo._kernels import grid_labels, grid_messages  # noqa: PLC0415

        if self._n == 1:  # then there is nothing to say
            return
        shape = block.nodes.shape[1:]
        rooms = np.ones((n_rooms, *shape), self._type)
        old = np.empty(shape, self._type)
        work = np.empty((grid_messages.work_rows(self._n), shape[1]), self._type)
        run = getattr(grid_labels, self._kind)
        for some in jobs:
            run(
                some, block.nodes, block.messages, block.weights, places, rooms, old, work,
                self._eta, *self._far,
            )  # fmt: skip

    def posterior(self) -> PosteriorMap:
        """Give the beliefs, normalised; those of maxima are max-marginals divided by their sum."""
        shape = (self._layout.slabs, *self._layout.shape[1:], self._n)
        found = np.empty(shape, self._type)
        on_threads([partial(self._believe, block, found) for block in self.blocks])
        return PosteriorMap(frozen(found), self._field.labels)

    def _believe(self, block: Block, found: Floats) -> None:
        """Write the beliefs of a block, slab by slab."""
        for slab in range(block.low, block.high):
            here = slab - block.first
            messages = block.messages[here]
            if self._maximum:
                belief = block.nodes[here] + messages.sum(axis=0)
                belief = np.exp(belief - belief.max(axis=0))
            else:
                belief = block.nodes[here] * messages.prod(axis=0)
            belief /= belief.sum(axis=0, dtype=np.float64)  # a row for each label: no pairwise sum
            full = belief.reshape(self._n, *self._layout.shape[1:-1], self._layout.pitch)
            found[slab] = np.moveaxis(full[..., : self._layout.shape[-1]], 0, -1)

    def _compared(self, before: Floats, after: Floats) -> float:
        """Give the largest change of a number."""
        moved = after - before
        if self._maximum:
            with np.errstate(invalid="ignore"):
                moved = np.where(after == before, 0, moved)
        return float(np.abs(moved).max(initial=0.0))


def _kind(smooth: Any, reach: int, n_labels: int, *, maximum: bool) -> str:
    """Name the kernel that makes the messages."""
    if isinstance(smooth, Potts) or (reach == 0 and not maximum):
        return "potts_maxima" if maximum else "potts_sums"
    shape = "linear" if isinstance(smooth, TruncatedLinear) else "quadratic"
    is_cut = shape == "linear" and reach < n_labels - 1 and not maximum
    return f"{'cut_' * is_cut}{shape}_{'maxima' if maximum else 'sums'}"


def _far(kind: str, reach: int, limit: Any) -> tuple[Any, ...]:
    """Give what a kernel wants to know about labels that are far apart."""
    if kind.endswith("maxima"):
        return () if kind == "potts_maxima" else (limit,)
    return (reach,) if kind in ("cut_linear_sums", "quadratic_sums") else ()


def _places(layout: Layout) -> Int64:
    """Give, for each direction, its offset, and the places to which no message of it comes.

    Rows are as long as the longest; their second number tells how many places follow.
    """
    inside = np.ones(layout.length, bool)
    inside[layout.outside] = False
    rows = []
    for offset in layout.axes[:, 0].tolist():
        for step in (offset, -offset):
            source = np.arange(layout.length) - step
            known = (source >= 0) & (source < layout.length)
            known[known] = inside[source[known]]
            blank = np.flatnonzero(~known)
            rows.append([step, len(blank), *blank.tolist()])
    table = np.zeros((len(rows), max(map(len, rows))), np.int64)
    for row, numbers in zip(table, rows, strict=True):
        row[: len(numbers)] = numbers
    return table
