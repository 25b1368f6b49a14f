"""Run the passes in one arithmetic or another, and scale what comes out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias, final

import numpy as np

from credo._types import F64
from credo.graphs.wiring import Int64, Wiring
from credo.inference._tree_forest import Forest
from credo.inference._tree_layout import (
    Store,
    Tables,
    empty_axes,
    empty_store,
    fill_potentials,
    left_of,
    linear_tables,
    log_tables,
)

Kind: TypeAlias = Literal["numbers", "logs", "maxima"]


@final
@dataclass(frozen=True, slots=True, eq=False)
class Solution:
    """Beliefs, scaled, and the slots with all messages."""

    marginals: F64
    log_z: float
    store: Store
    base: float  #: log of the base of exponents: log 2 for numbers, 1 for logs


@final
@dataclass(frozen=True, slots=True, eq=False)
class Setting:
    """All that a run is about, whatever the arithmetic."""

    wiring: Wiring
    forest: Forest
    logs: F64  #: of the node potentials
    constant: float  #: log of all factors without a variable
    both: bool

    def solved(self, kind: Kind) -> Solution:
        """Pass messages; once more, with logs, if numbers become too small."""
        from credo._kernels import tree_messages as kernels  # noqa: PLC0415 - loads Numba

        linear = kind == "numbers"
        mode = {"numbers": kernels.LINEAR, "logs": kernels.LOG_SUM, "maxima": kernels.LOG_MAX}[kind]
        tables = linear_tables(self.wiring) if linear else log_tables(self.wiring)
        store = empty_store(self.forest)
        beliefs = np.full(len(self.logs), np.nan)
        went, exponent = fill_potentials(store, self.forest, self.logs, linear=linear), 0.0
        if went:
            went, exponent = self._run(tables, store, mode, beliefs)
        if linear and not went:
            return self.solved("logs")
        base = float(np.log(2.0)) if linear else 1.0
        if not went or self.constant == -np.inf:
            return Solution(np.full(self.forest.n_states.sum(), np.nan), -np.inf, store, base)
        beliefs, log_totals = _scaled(beliefs, store.start[: self.forest.n + 1], kind)
        log_z = log_totals[self.forest.up[: self.forest.n] == -1].sum() + base * exponent
        log_z += self.constant + self.wiring.log_scale[self.wiring.table].sum()
        return Solution(self._placed(beliefs), float(log_z), store, base)

    @property
    def n_messages(self) -> int:
        """Count messages: one per direction of an edge, two per link of larger factors."""
        arity = np.diff(self.forest.scope_start)
        n_open = np.bincount(self.forest.factor, self.forest.is_open, len(arity)).astype(int)
        both = np.where(arity == 2, n_open, 2 * n_open)
        one = np.where(arity == 2, np.minimum(n_open, 1), n_open)
        return int((both if self.both else one).sum())

    def _run(self, tables: Tables, store: Store, mode: int, beliefs: F64) -> tuple[bool, float]:
        """Hand everything to the kernel; it tells if that went, and the exponent of the total."""
        from credo._kernels.tree_messages import run_passes  # noqa: PLC0415 - loads Numba

        forest = self.forest
        return run_passes(
            forest.scope_start,
            forest.of_link,
            forest.base,
            tables.index,
            tables.values,
            tables.of_table,
            store.cells,
            store.start,
            store.exponent,
            *empty_axes(forest),
            forest.var_start,
            forest.links,
            forest.order,
            forest.up,
            self.both,
            mode,
            beliefs,
        )

    def _placed(self, beliefs: F64) -> F64:
        """Give the beliefs of all states: none but the observed one where there is one."""
        if len(beliefs) == self.forest.n_states.sum():
            return beliefs
        left = left_of(self.forest)
        marginals = np.zeros(len(left))
        marginals[left] = beliefs
        marginals[left & np.repeat(self.forest.observed >= 0, self.forest.n_states)] = 1.0
        return marginals


def _scaled(beliefs: F64, start: Int64, kind: Kind) -> tuple[F64, F64]:
    """Scale beliefs to sum one, or for maxima to largest one; give the logs of what was there."""
    begin, width = start[:-1], np.diff(start)
    if kind == "numbers":
        total = np.add.reduceat(beliefs, begin)
        return beliefs / np.repeat(total, width), np.log(total)
    largest = np.maximum.reduceat(beliefs, begin)
    beliefs = np.exp(beliefs - np.repeat(largest, width))
    if kind == "maxima":
        return beliefs, largest
    total = np.add.reduceat(beliefs, begin)
    return beliefs / np.repeat(total, width), largest + np.log(total)
