"""The pairs of a graph whose variables have equally many states, as arrays; or none."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from credo._types import F64
from credo.graphs.evidence import Evidence
from credo.graphs.wiring import Wiring

Int64: TypeAlias = npt.NDArray[np.int64]
UInt32: TypeAlias = npt.NDArray[np.uint32]
#: Logs that a product of all messages to a variable, and a table, may span; in float64 two such
#: products are multiplied for the sum over a pair.
_SPANS = {np.dtype(np.float32): 80.0, np.dtype(np.float64): 300.0}


@dataclass(frozen=True, slots=True, eq=False)
class Pairs:
    """Potentials of free variables, and the pairs between them; all positive."""

    wiring: Wiring
    cold: float  #: one over the temperature: the power that tables are raised to
    variables: Int64  #: the free variables, as numbered in the wiring
    potentials: F64  #: logs, of shape (n, k), largest zero
    left: UInt32
    right: UInt32
    factor: UInt32  #: the factor of the wiring that each pair is
    deep: float  #: how many logs a message spans at most
    reach: float  #: how many all messages to a variable, and one table, span at most
    log_constant: float  #: of all but the pairs of free variables

    @property
    def k(self) -> int:
        """How many states each variable has."""
        return int(self.potentials.shape[1])

    @property
    def are_forest(self) -> bool:
        """Whether no cycle is left."""
        from credo._kernels.loopy_forest import count_cycles  # noqa: PLC0415

        m = len(self.left)
        if m >= max(len(self.potentials), 1):
            return False
        ends = np.stack([self.left, self.right], axis=1).ravel().astype(np.int64)
        return bool(count_cycles(len(self.potentials), np.arange(0, 2 * m + 1, 2), ends) == 0)

    @property
    def arrays(self) -> tuple[Any, ...]:
        """The parts of the wiring that kernels read."""
        return arrays_of(self.wiring)

    def fits(self, dtype: npt.DTypeLike) -> bool:
        """Tell whether products of messages stay within what a type of number holds."""
        return self.reach < _SPANS[np.dtype(dtype)]


def arrays_of(wiring: Wiring) -> tuple[Any, ...]:
    """Give the parts of a wiring that kernels read."""
    return (
        wiring.scope_start,
        wiring.scope,
        wiring.table,
        wiring.table_start,
        wiring.values,
        wiring.n_states,
    )


def find_pairs(wiring: Wiring, evidence: Evidence, temperature: float) -> Pairs | None:
    """Give the pairs of a model, its evidence folded in, or None if it is not of that kind."""
    from credo._kernels.loopy_setup import collect_pairs, count_pairs, widest  # noqa: PLC0415

    k = int(wiring.n_states[0]) if len(wiring.n_states) else 0
    if wiring.structured or wiring.log_values is not None or k < 2:
        return None
    n, cold, arrays = len(wiring.n_states), 1.0 / (temperature or 1.0), arrays_of(wiring)
    observed = evidence.observed(n)
    count = int(count_pairs(k, arrays, observed))
    if count < 0:
        return None
    free = np.flatnonzero(observed < 0)
    logs = np.zeros((n, k))
    left, right, factor = (np.empty(count, np.uint32) for _ in range(3))
    new = np.cumsum(observed < 0) - 1
    constant, least = collect_pairs(k, cold, arrays, observed, new, logs, (left, right, factor))
    for v, weights in evidence.soft(wiring).items():
        with np.errstate(divide="ignore"):
            logs[v] += cold * np.log(weights)
    fixed = np.flatnonzero(observed >= 0)
    constant += float(logs[fixed, observed[fixed]].sum())
    constant += cold * float(wiring.log_scale[wiring.table].sum())
    logs = logs if not len(fixed) else logs[free]
    top = logs.max(axis=1, initial=-np.inf)
    if not np.isfinite(logs).all() or not np.isfinite(constant):
        return None
    logs -= top[:, np.newaxis]
    deep = float(np.log(k) - cold * np.log(least))
    reach = (int(widest((left, right), len(free))) + 1) * deep - float(logs.min(initial=0.0))
    constant += float(top.sum())
    return Pairs(wiring, cold, free, logs, left, right, factor, deep, reach, float(constant))
