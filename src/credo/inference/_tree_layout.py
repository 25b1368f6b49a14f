"""Lay tables and potentials out for the tree kernels: numbers in range, or logs, in slots."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np

from credo._types import F64, Bool
from credo.exceptions import ShapeError
from credo.graphs.wiring import Int32, Int64, Wiring, ranges
from credo.inference._tree_forest import Forest, fixed

#: Tables whose largest value is outside 2**±100 are scaled first: sums and products of a table
#: and two messages then stay far from overflow, and no message is pushed towards underflow.
_WIDE = 100
#: A power of two that float64 holds, and whose inverse it holds.
_MOST = 1000
#: Potentials this far below the largest, in logs, are smaller than the kernels' ``FLOOR``.
_LOW = -690.0


@final
@dataclass(frozen=True, slots=True, eq=False)
class Tables:
    """Tables as numbers, each times a power of two, or as logs."""

    index: Int32  #: of each factor
    values: F64
    of_table: F64  #: power of two taken out; the least positive value, or one; (2, T)


def linear_tables(wiring: Wiring) -> Tables:
    """Give the tables, with powers of two taken out of those far from one."""
    of_table = np.zeros((2, len(wiring.log_scale)))
    values = wiring.values
    least = np.min(values, where=values > 0.0, initial=1.0)
    of_table[1] = least
    if least < 2.0**-_WIDE or values.max(initial=0.0) > 2.0**_WIDE:
        start = wiring.table_start[:-1]
        power = np.frexp(np.maximum.reduceat(values, start))[1].astype(np.int64)
        power = np.where(np.abs(power) > _WIDE, np.clip(power, -_MOST, _MOST), 0)
        smallest = np.minimum.reduceat(np.where(values > 0.0, values, np.inf), start)
        values = np.ldexp(values, -np.repeat(power, np.diff(wiring.table_start)))
        of_table[:] = power, np.minimum(np.ldexp(smallest, -power), 1.0)
    return Tables(fixed(wiring.table), fixed(values), of_table)


def log_tables(wiring: Wiring) -> Tables:
    """Give the tables as logs, without their own log scale."""
    logs = wiring.log_values
    values = logarithms(wiring.values) if logs is None else logs
    of_table = np.zeros((2, len(wiring.log_scale)))
    return Tables(fixed(wiring.table), fixed(values), of_table)


@final
@dataclass(frozen=True, slots=True, eq=False)
class Store:
    """Slots for vectors; the words are those of the kernels."""

    cells: F64
    start: Int64
    exponent: F64  #: whole numbers


def empty_store(forest: Forest) -> Store:
    """Make a slot for each potential and each message, and two to work with."""
    width = np.where(forest.observed >= 0, 1, forest.n_states)
    of_link = forest.of_link[0] * forest.is_open
    most = width.max(initial=1)
    start = np.cumsum(np.concatenate([[0], width, of_link, of_link, [most, most]]))
    return Store(np.empty(start[-1]), start, np.zeros(len(start) - 1))


def empty_axes(forest: Forest) -> tuple[Int64, F64, F64]:
    """Make room for the place in a factor, for its weights, and for the sums of a message."""
    arity = int(np.diff(forest.scope_start).max(initial=1))
    most = int(forest.n_states.max(initial=1))
    return np.zeros((5, arity + 1), np.int64), np.zeros(arity + 1), np.zeros(most)


def log_potentials(wiring: Wiring, forest: Forest, soft: dict[int, F64]) -> tuple[F64, float]:
    """Give logs of node potentials, soft evidence times unary factors, for all states left.

    Also gives the log of all factors that the evidence leaves without a variable.
    """
    n_states = forest.n_states
    begin = np.concatenate([[0], np.cumsum(n_states)])
    logs = np.zeros(begin[-1])
    for v, weights in soft.items():
        if np.shape(weights) != (n_states[v],):
            raise ShapeError(
                f"The evidence on variable {wiring.names[v]!r} needs {n_states[v]} weights. Got "
                f"shape {np.shape(weights)}."
            )
    if soft:
        known = np.fromiter(soft, np.int64, len(soft))
        logs[ranges(begin[known], n_states[known])] = logarithms(np.concatenate([*soft.values()]))
    arity = np.diff(wiring.scope_start)
    unary = np.flatnonzero(arity == 1)
    variables = wiring.scope[wiring.scope_start[unary]]
    cells = ranges(wiring.table_start[wiring.table[unary]], n_states[variables])
    places = ranges(begin[variables], n_states[variables])
    np.add.at(logs, places, logs_at(wiring, cells))
    constant = logs_at(wiring, forest.base[(forest.up[forest.n :] == -2) & (arity != 1)])
    return logs[left_of(forest)], float(constant.sum())


def left_of(forest: Forest) -> Bool:
    """Tell which states of all variables the observations leave."""
    n_states, observed = forest.n_states, forest.observed
    left = np.repeat(observed < 0, n_states)
    left[(np.cumsum(n_states) - n_states + observed)[observed >= 0]] = True
    return left


def fill_potentials(store: Store, forest: Forest, logs: F64, *, linear: bool) -> bool:
    """Write node potentials to their slots: numbers that sum to one at most, or logs near zero.

    Tells if that went: none is zero for all states, and no number is too small.
    """
    begin, width = store.start[: forest.n], np.diff(store.start[: forest.n + 1])
    largest = np.maximum.reduceat(logs, begin) if forest.n else logs
    if (largest == -np.inf).any():
        return False
    if linear:
        shift = np.ceil(largest / np.log(2.0) + np.log2(width))
        store.cells[: len(logs)] = np.exp(logs - np.repeat(shift * np.log(2.0), width))
        below = logs - np.repeat(largest, width)
        went = not ((below < _LOW) & (below > -np.inf)).any()
    else:
        shift = np.rint(largest)
        store.cells[: len(logs)] = logs - np.repeat(shift, width)
        went = True
    store.exponent[: forest.n] = shift
    return went


def logs_at(wiring: Wiring, cells: Int64) -> F64:
    """Give the logs of cells of the tables, without the scale of their table."""
    if wiring.log_values is not None:
        return wiring.log_values[cells]
    return logarithms(wiring.values[cells])


def logarithms(values: F64) -> F64:
    """Take logs; minus infinity of zero."""
    with np.errstate(divide="ignore"):
        result: F64 = np.log(values)
    return result
