"""Models from the flat arrays of a UAI file."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np

from credo._types import F64, Int
from credo.exceptions import InputError
from credo.formats._uai_tables import Tables
from credo.graphs.bayesian_network import TOLERANCE, BayesianNetwork
from credo.graphs.factor_graph import FactorGraph
from credo.graphs.wiring import Wiring, from_logs

Names: TypeAlias = list[Any]
States: TypeAlias = list[tuple[Any, ...]]


def network(tables: Tables, names: Names, states: States, *, log: bool) -> BayesianNetwork | None:
    """Make a network of a BAYES file, or None if it is not one."""
    ends = tables.scope[tables.scope_start[1:] - 1]
    with np.errstate(over="ignore", under="ignore"):
        values = np.exp(tables.values) if log else tables.values
    if sorted(ends.tolist()) != list(range(len(names))) or not _sum_to_one(tables, ends, values):
        return None
    order = np.argsort(ends).tolist()
    scopes, cells = tables.scope_start.tolist(), tables.table_start.tolist()
    try:
        return BayesianNetwork.from_arrays(
            names,
            states,
            [tables.scope[scopes[f] : scopes[f + 1] - 1].tolist() for f in order],
            np.concatenate([np.empty(0), *(values[cells[f] : cells[f + 1]] for f in order)]),
        )
    except InputError:  # a cycle: all else has been checked
        return None


def _sum_to_one(tables: Tables, ends: Int, values: F64) -> bool:
    """Tell whether each row, over the states of the last variable, sums to one."""
    columns = tables.sizes[ends]
    widths = np.repeat(columns, np.diff(tables.table_start) // columns)
    starts = np.cumsum(widths) - widths
    with np.errstate(over="ignore"):
        sums = np.add.reduceat(values, starts) if len(starts) else np.ones(0)
    return bool((np.abs(sums - 1) <= TOLERANCE).all())


def graph(tables: Tables, names: Names, states: States, *, log: bool) -> FactorGraph:
    """Make a factor graph of checked arrays, without an object for each factor."""
    count = len(tables.scope_start) - 1
    values, log_scale, log_values = tables.values, np.zeros(count), None
    if log:
        values, log_scale, log_values = from_logs(tables.values, tables.table_start)
    return FactorGraph._of_arrays(  # noqa: SLF001 - the way for arrays that were checked
        Wiring(
            names=tuple(names),
            states=tuple(states),
            n_states=tables.sizes.astype(np.int64),
            scope_start=tables.scope_start.astype(np.int64),
            scope=tables.scope.astype(np.int32),
            table=np.arange(count, dtype=np.int32),
            table_start=tables.table_start.astype(np.int64),
            values=values,
            log_scale=log_scale,
            log_values=log_values,
            owner=np.full(count, -1, dtype=np.int32),
        )
    )
