"""The pairs of a graph whose variables have equally many states, as arrays; or none."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from credo._types import F64
from credo.graphs.evidence import Evidence
from credo.graphs.wiring import Wiring

Int64: TypeAlias = npt.NDArray[np.int64]
#: Logs that a product of all messages to a variable may span, with some room to spare.
_SPANS = {np.dtype(np.float32): 80.0, np.dtype(np.float64): 650.0}


@dataclass(frozen=True, slots=True, eq=False)
class Pairs:
    """Potentials of free variables, and the pairs between them; all positive."""

    wiring: Wiring
    variables: Int64  #: the free variables, as numbered in the wiring
    potentials: F64  #: logs, of shape (n, k), largest zero
    left: Int64
    right: Int64
    factor: Int64  #: the factor of the wiring that each pair is
    table: Int64  #: the table of each pair
    tables: F64  #: logs, of shape (T, k, k), largest zero
    log_constant: float

    @property
    def k(self) -> int:
        """How many states each variable has."""
        return int(self.potentials.shape[1])

    @property
    def are_forest(self) -> bool:
        """Whether no cycle is left."""
        from credo._kernels.loopy_forest import count_cycles  # noqa: PLC0415

        m = len(self.left)
        if m >= len(self.potentials):
            return False
        ends = np.stack([self.left, self.right], axis=1).ravel()
        return bool(count_cycles(len(self.potentials), np.arange(0, 2 * m + 1, 2), ends) == 0)

    def fits(self, dtype: npt.DTypeLike) -> bool:
        """Tell whether products of messages stay within what a type of number holds."""
        deep = self.tables.max(axis=(1, 2)) - self.tables.min(axis=(1, 2)) + np.log(self.k)
        reach = np.ptp(self.potentials, axis=1)
        reach = reach + np.bincount(self.left, deep[self.table], len(reach))
        reach += np.bincount(self.right, deep[self.table], len(reach))
        return bool(reach.max(initial=0.0) < _SPANS[np.dtype(dtype)])


def find_pairs(wiring: Wiring, evidence: Evidence, temperature: float) -> Pairs | None:
    """Give the pairs of a model, its evidence folded in, or None if it is not of that kind."""
    lengths = np.diff(wiring.scope_start)
    k = int(wiring.n_states[0]) if len(wiring.n_states) else 0
    if wiring.structured or k < 2 or lengths.max(initial=0) > 2 or lengths.min(initial=1) < 1:
        return None
    if (wiring.n_states != k).any():
        return None
    log_tables = _logs(wiring) / (temperature or 1.0)
    scales = wiring.log_scale / (temperature or 1.0)
    singles, pairs = np.flatnonzero(lengths == 1), np.flatnonzero(lengths == 2)
    if not np.isfinite(log_tables[_cells_of(wiring, pairs, k * k)]).all():
        return None
    observed = evidence.observed(len(wiring.n_states))
    logs = np.zeros((len(wiring.n_states), k))
    _add(logs, wiring.scope[wiring.scope_start[singles]], _rows(wiring, log_tables, singles, k))
    for v, weights in evidence.soft(wiring).items():
        with np.errstate(divide="ignore"):
            logs[v] += np.log(weights) / (temperature or 1.0)
    constant = float(scales[wiring.table].sum()) if scales.any() else 0.0
    return _folded(wiring, observed, logs, log_tables, pairs, constant)


def _folded(
    wiring: Wiring, observed: Int64, logs: F64, log_tables: F64, pairs: Int64, constant: float
) -> Pairs | None:
    """Turn pairs with an observed end into potentials of the other one."""
    k = logs.shape[1]
    left = wiring.scope[wiring.scope_start[pairs]].astype(np.int64)
    right = wiring.scope[wiring.scope_start[pairs] + 1].astype(np.int64)
    begin = wiring.table_start[wiring.table[pairs]]
    seen_left, seen_right = observed[left], observed[right]
    both = np.flatnonzero((seen_left >= 0) & (seen_right >= 0))
    constant += float(log_tables[begin[both] + seen_left[both] * k + seen_right[both]].sum())
    for seen, other, stride, step in ((seen_left, right, k, 1), (seen_right, left, 1, k)):
        one = np.flatnonzero((seen >= 0) & (observed[other] < 0))
        cells = (begin[one] + seen[one] * stride)[:, np.newaxis] + step * np.arange(k)
        _add(logs, other[one], log_tables[cells])
    fixed = np.flatnonzero(observed >= 0)
    constant += float(logs[fixed, observed[fixed]].sum())
    free = np.flatnonzero(observed < 0)
    if not np.isfinite(logs[free]).all() or not np.isfinite(constant):
        return None
    new = np.cumsum(observed < 0) - 1
    open_ = np.flatnonzero((seen_left < 0) & (seen_right < 0))
    table, used = _used(wiring.table[pairs[open_]], len(wiring.log_scale))
    cells = wiring.table_start[used][:, np.newaxis] + np.arange(k * k)
    tables = log_tables[cells].reshape(-1, k, k)
    top, peak = logs[free].max(axis=1, initial=-np.inf), tables.max(axis=(1, 2), initial=-np.inf)
    constant += float(top.sum() + peak[table].sum())
    return Pairs(
        wiring,
        free,
        logs[free] - top[:, np.newaxis],
        new[left[open_]],
        new[right[open_]],
        pairs[open_],
        table,
        tables - peak[:, np.newaxis, np.newaxis],
        constant,
    )


def _logs(wiring: Wiring) -> F64:
    """Give the logs of all tables."""
    if wiring.log_values is not None:
        return wiring.log_values
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(wiring.values))


def _cells_of(wiring: Wiring, factors: Int64, size: int) -> Int64:
    """List the cells of the tables of some factors, each table once."""
    _, used = _used(wiring.table[factors], len(wiring.log_scale))
    return (wiring.table_start[used][:, np.newaxis] + np.arange(size)).ravel()


def _used(table: npt.NDArray[np.int32], n_tables: int) -> tuple[Int64, Int64]:
    """Renumber the tables that are used; give the new numbers, and the old ones in order."""
    is_used = np.zeros(n_tables, np.bool_)
    is_used[table] = True
    return (np.cumsum(is_used) - 1)[table], np.flatnonzero(is_used)


def _rows(wiring: Wiring, logs: F64, factors: Int64, k: int) -> F64:
    """Give the tables of some single-variable factors, a row each."""
    cells = wiring.table_start[wiring.table[factors]][:, np.newaxis] + np.arange(k)
    return np.asarray(logs[cells])


def _add(logs: F64, variables: npt.NDArray[np.integer], rows: F64) -> None:
    """Add rows to those of variables, which may repeat."""
    if len(variables) and len(np.unique(variables)) == len(variables):
        logs[variables] += rows
    else:
        np.add.at(logs, variables, rows)
