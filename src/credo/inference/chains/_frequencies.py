"""Joint beliefs from draws: how often they have each combination of states."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from credo._types import F64
from credo.graphs.problems import Problem

Int64: TypeAlias = npt.NDArray[np.int64]
#: Joint tables of more cells than this would be mostly empty.
_MOST_CELLS = 2**20


@dataclass(frozen=True, slots=True, eq=False)
class Frequencies:
    """Joint beliefs of any few variables: how often the draws that were kept have each state."""

    problem: Problem
    traces: list[npt.NDArray[Any]]

    def __call__(self, variables: Int64) -> F64 | None:
        """Give the table of some variables of the wiring; None if it is too large."""
        shape = self.problem.wiring.n_states[variables].tolist()
        if np.prod(shape, dtype=np.float64) > _MOST_CELLS:
            return None
        columns = [self._column(int(v)) for v in variables]
        cells = np.ravel_multi_index(tuple(columns), shape) if columns else np.zeros(1, np.int64)
        counts = np.bincount(cells, minlength=int(np.prod(shape, dtype=np.int64)))
        return np.asarray(counts.reshape(shape) / len(cells))

    def _column(self, variable: int) -> Int64:
        """Give the states of a variable in all draws, also of an observed one."""
        n = sum(len(trace) for trace in self.traces)
        if self.problem.observed[variable] >= 0:
            return np.full(n, self.problem.observed[variable])
        i = int(np.searchsorted(self.problem.variables, variable))
        return np.concatenate([trace[:, i] for trace in self.traces]).astype(np.int64)
