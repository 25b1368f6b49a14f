"""``ForwardDraws``: configurations of a Bayesian network, each variable drawn given its parents."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from graphlib import TopologicalSorter
from typing import Any

import numpy as np

from credo._types import F64, Label
from credo.graphs.models import scope_of
from credo.graphs.wiring import Int32, Int64, Wiring


class ForwardDraws:
    r"""Draw the variables of a network, parents first, with weights on the states of some.

    A variable with weights :math:`l` is drawn from :math:`p(x \mid \text{parents})\, l(x) / t`, and
    the draw weighs :math:`t = \sum_x p(x \mid \text{parents})\, l(x)` whatever comes out; so what
    was observed is weights of one and zeros. The weight of a configuration is the product of these.

    Parameters
    ----------
    wiring
        Of a Bayesian network; its rules stay rules.
    weights
        On the states of some variables, by their numbers.
    """

    def __init__(self, wiring: Wiring, weights: Mapping[int, F64]) -> None:
        self.n_states, self._weights = wiring.n_states, weights
        self._above: dict[int, list[int]] = {}
        self._given: dict[int, Any] = {}  #: rules, or what ``_sum_up`` makes of tables
        rules, plain = iter(wiring.structured), cache(_sum_table)  # steps in time share a table
        for f, (v, table) in enumerate(zip(wiring.owner.tolist(), wiring.table, strict=True)):
            self._above[v] = list(scope_of(wiring, f)[:-1])
            if table < 0:
                self._given[v] = next(rules)
                continue
            own = wiring, int(table), int(wiring.n_states[v])
            self._given[v] = _sum_table(*own, weights[v]) if v in weights else plain(*own)
        self._order = list(TopologicalSorter(self._above).static_order())

    def draw(self, n: int, rng: np.random.Generator) -> tuple[Int32, F64]:
        """Return the states of n draws, (variables, n), and the logs of their weights, (n,)."""
        u = rng.random((len(self.n_states), n))
        states, logs = np.zeros(u.shape, np.int32), np.zeros(n)
        for v in self._order:
            above, given = tuple(states[p] for p in self._above[v]), self._given[v]
            row: Any = 0
            if not isinstance(given, tuple):
                row, given = ..., _sum_up(given.chances(above), self._weights.get(v))
            elif above:
                row = np.ravel_multi_index(above, self.n_states[self._above[v]].tolist())
            shares, weights = given
            for share in shares:
                states[v] += u[v] >= share[row]
            if weights is not None:
                logs += weights[row]
        return states, logs


def _sum_table(
    wiring: Wiring, table: int, k: int, weights: F64 | None = None
) -> tuple[F64, F64 | None]:
    """Sum up the rows of a table, whose child has k states."""
    first, stop = wiring.table_start[table : table + 2]
    return _sum_up(wiring.values[first:stop].reshape(-1, k).T, weights)


def _sum_up(chances: F64, weights: F64 | None) -> tuple[F64, F64 | None]:
    """Return shares of all states before each but the first, (k - 1, rows), and log weights."""
    top = 1.0 if weights is None or not weights.any() else float(weights.max())
    ends = np.cumsum(chances if weights is None else chances * (weights / top)[:, None], axis=0)
    total = ends[-1]
    shares = np.divide(ends[:-1], total, out=np.ones(ends[:-1].shape), where=total > 0)
    with np.errstate(divide="ignore"):
        return shares, None if weights is None else np.log(total) + np.log(top)


def named(wiring: Wiring, states: Int32 | Int64) -> dict[Label, list[Label]]:
    """Return draws, one row per variable, as the states of each variable by name."""
    return {
        name: [known[x] for x in row]
        for name, known, row in zip(wiring.names, wiring.states, states.tolist(), strict=False)
    }
