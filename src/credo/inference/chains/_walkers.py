"""One chain: where it is, what it keeps, and how it goes on."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from credo._types import F64
from credo.inference.chains._field import Field
from credo.inference.chains._forests import Forests
from credo.inference.chains._records import Record

Int64: TypeAlias = npt.NDArray[np.int64]
T = TypeVar("T")
R = TypeVar("R")
#: Random numbers that are made at a time: 8 MB for each thread.
_BLOCK = 2**20


class Walker:
    """A chain on a field: variable by variable or, with forests, block by block.

    Parameters
    ----------
    field
        What is sampled.
    forests
        Blocks, or None.
    rng
        The chain's own generator: what it does depends on nothing else.
    states
        Where it begins; changed in place.
    cells
        The cells that these point to; changed in place.
    record
        What is kept.
    """

    def __init__(
        self,
        field: Field,
        forests: Forests | None,
        rng: np.random.Generator,
        states: Int64,
        cells: Int64,
        record: Record,
    ) -> None:
        self.cells, self.states = cells, states
        self.record = record
        self._field, self._forests, self._rng = field, forests, rng
        widest = int(np.diff(field.start).max(initial=1))
        self._work = np.empty(widest)
        if forests is not None:
            widest = int(forests.of_family[:, 2].max(initial=1))
            self._room = (
                states,
                cells,
                np.empty(field.n_states),
                np.empty(field.n_states),
                np.empty(widest, np.int64),
                np.empty(widest),
                np.empty(forests.most_cells),
            )

    def advance(self, beta: F64, plan: Int64) -> float:
        """Make a sweep for each row of the plan; give the log of the weight that was gained.

        Sweep t is at inverse temperature ``beta[t + 1]``, after ``beta[t]``.
        """
        gained = 0.0
        step = max(1, _BLOCK // self._field.n_variables)
        for t in range(0, len(plan), step):
            part = plan[t : t + step]
            u = self._rng.random((len(part), self._field.n_variables))
            gained += self._sweep(beta[t : t + len(part) + 1], part, u)
        return gained

    def _sweep(self, beta: F64, plan: Int64, u: F64) -> float:
        """Call the kernel."""
        field = self._field
        out = self.record.sums, self.record.visits, self.record.trace
        if self._forests is None:
            from credo._kernels.gibbs_sweeps import run_sites  # noqa: PLC0415

            return float(
                run_sites(
                    field.start,
                    field.weights,
                    field.near_start,
                    field.near,
                    field.logs,
                    beta,
                    plan,
                    u,
                    self.states,
                    self.cells,
                    self._work,
                    *out,
                )
            )
        from credo._kernels.gibbs_blocks import run_trees  # noqa: PLC0415

        model = (field.start, field.weights, field.near_start, field.near, field.ends, field.logs)
        return float(run_trees(model, self._forests.arrays, self._room, out, beta, plan, u))


def on_threads(work: Callable[[T], R], parts: Sequence[T], threads: int) -> Iterable[R]:
    """Work on independent parts; the order of the answers is that of the parts."""
    if min(threads, len(parts)) <= 1:
        return [work(part) for part in parts]
    with ThreadPoolExecutor(min(threads, len(parts))) as pool:
        return list(pool.map(work, parts))
