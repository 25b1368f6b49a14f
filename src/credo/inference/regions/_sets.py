"""Sets of variables one after the other in flat arrays: scopes of factors, and regions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from credo._types import F64, Bool
from credo.graphs.problems import Problem
from credo.graphs.wiring import ranges, starts

Int64: TypeAlias = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Sets:
    """Ascending sets of variables: set s is ``members[start[s]:start[s + 1]]``."""

    start: Int64
    members: Int64

    @classmethod
    def of(cls, sets: Iterable[Sequence[int]]) -> Sets:
        """Take ascending sequences."""
        listed = list(sets)
        members = [v for one in listed for v in one]
        return cls(starts(np.array([len(one) for one in listed], int)), np.array(members, np.int64))

    @classmethod
    def of_rows(cls, rows: Int64) -> Sets:
        """Take the rows of a matrix, ascending but for -1 at the end of short ones."""
        return cls(starts((rows >= 0).sum(axis=1)), rows[rows >= 0])

    def __len__(self) -> int:
        return len(self.start) - 1

    @property
    def sizes(self) -> Int64:
        """The number of members of each set."""
        return np.diff(self.start)

    def tuples(self) -> list[tuple[int, ...]]:
        """Give the sets as tuples."""
        members, start = self.members.tolist(), self.start.tolist()
        return [tuple(members[a:b]) for a, b in pairwise(start)]

    def joined(self, other: Sets) -> Sets:
        """Append the sets of another."""
        start = np.concatenate([self.start, self.start[-1] + other.start[1:]])
        return Sets(start, np.concatenate([self.members, other.members]))

    def chosen(self, which: Bool | Int64) -> Sets:
        """Keep the sets that are marked, or those that are listed, in their order."""
        sizes = self.sizes[which]
        return Sets(starts(sizes), self.members[ranges(self.start[:-1][which], sizes)])

    def holders(self, n_variables: int) -> Sets:
        """Give, for each variable, the sets that hold it."""
        return inverse(self.start, self.members, n_variables)

    def cells(self, n_states: Int64) -> F64:
        """Count the cells of the table of each set; floats, for they may be very many."""
        cells, filled = np.ones(len(self)), self.sizes > 0
        if filled.any():
            with np.errstate(over="ignore"):
                lengths = n_states[self.members].astype(float)
                cells[filled] = np.multiply.reduceat(lengths, self.start[:-1][filled])
        return cells

    def maximal(self, n_variables: int) -> Sets:
        """Leave out empty sets, and those that lie in another one."""
        from credo._kernels.region_sets import maximal_sets  # noqa: PLC0415

        holders = self.holders(n_variables)
        return self.chosen(maximal_sets(self.start, self.members, holders.start, holders.members))


def inverse(start: Int64, entries: Int64, n_values: int) -> Sets:
    """Give, for each value, the rows whose entries have it; rows ascend."""
    rows = np.repeat(np.arange(len(start) - 1), np.diff(start))
    by_value = np.argsort(entries, kind="stable")
    return Sets(starts(np.bincount(entries, minlength=n_values)), rows[by_value])


def live_scopes(problem: Problem) -> Sets:
    """Give the scopes of the factors, ascending, without the variables that have one state."""
    live = problem.n_states[problem.scope] > 1
    factor = np.repeat(np.arange(len(problem.scope_start) - 1), np.diff(problem.scope_start))[live]
    members = problem.scope[live]
    counts = np.bincount(factor, minlength=len(problem.scope_start) - 1)
    return Sets(starts(counts), members[np.lexsort((members, factor))])
