"""Structured factors become tables over auxiliary variables."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from credo._types import F64
from credo.graphs._expansions import Expansion

if TYPE_CHECKING:  # a wiring calls this module
    from credo.graphs.wiring import Wiring


def tabulate(wiring: Wiring, *, sum_product: bool) -> Wiring:
    """Replace the structured factors of a wiring by tables, which come after its own."""
    expansions = [rule.expansion(sum_product=sum_product) for rule in wiring.structured]
    added = _Added(len(wiring.n_states), len(wiring.log_scale))
    rules = np.flatnonzero(wiring.table < 0)
    for rule, expansion in zip(rules.tolist(), expansions, strict=True):
        start, stop = wiring.scope_start[rule : rule + 2]
        added.take(expansion, wiring.scope[start:stop].tolist(), owned=wiring.owner[rule] >= 0)
    kept = wiring.table >= 0
    lengths = np.diff(wiring.scope_start)
    scope_start = np.concatenate([[0], np.cumsum([*lengths[kept], *added.lengths])])
    values = np.concatenate([wiring.values, *(table.ravel() for table in added.tables)])
    table_start = wiring.values.size + np.cumsum([table.size for table in added.tables])
    return replace(
        wiring,
        n_states=np.append(wiring.n_states, np.full(added.n_auxiliaries, 2)),
        scope_start=scope_start.astype(np.int64),
        scope=np.append(wiring.scope[np.repeat(kept, lengths)], added.scope).astype(np.int32),
        table=np.append(wiring.table[kept], added.table).astype(np.int32),
        table_start=np.append(wiring.table_start, table_start).astype(np.int64),
        values=values,
        log_scale=np.append(wiring.log_scale, np.zeros(len(added.tables))),
        log_values=_logs(wiring, added.tables),
        owner=np.append(wiring.owner[kept], added.owner).astype(np.int32),
        structured=(),
    )


def _logs(wiring: Wiring, tables: list[F64]) -> F64 | None:
    """Append the logs of added tables, if the wiring keeps logs."""
    if wiring.log_values is None:
        return None
    with np.errstate(divide="ignore"):
        return np.concatenate([wiring.log_values, *(np.log(table).ravel() for table in tables)])


class _Added:
    """Collect the tables of expansions; tables that are the same object are held once."""

    def __init__(self, n_variables: int, n_tables: int) -> None:
        self.first_auxiliary = n_variables
        self.first_table = n_tables
        self.n_auxiliaries = 0
        self.lengths: list[int] = []
        self.scope: list[int] = []
        self.table: list[int] = []
        self.owner: list[int] = []
        self.tables: list[F64] = []
        self._held: dict[int, int] = {}

    def take(self, expansion: Expansion, scope: list[int], *, owned: bool) -> None:
        """Add the pieces of one rule over ``scope``."""
        base = self.first_auxiliary + self.n_auxiliaries
        for piece in expansion.pieces:
            places = [scope[i] if i >= 0 else base - 1 - i for i in piece.scope]
            self.lengths.append(len(places))
            self.scope += places
            self.owner.append(places[-1] if owned else -1)
            self.table.append(self._held_at(piece.values))
        self.n_auxiliaries += expansion.n_auxiliaries

    def _held_at(self, values: F64) -> int:
        """Give the index of a table, which is added if it is new."""
        where = self._held.get(id(values))
        if where is None:
            where = self._held[id(values)] = self.first_table + len(self.tables)
            self.tables.append(values)
        return where
