"""Where the messages of a net lie if many rows of evidence run through it side by side."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from credo._types import F64
from credo.graphs.wiring import ranges, starts
from credo.inference.loopy._old_net import AT_MOST_ONE, EVEN, NOISY_AND, NOISY_OR, ODD, TABLE, Net

Int64: TypeAlias = npt.NDArray[np.int64]
#: For each type: a number that products of positive numbers may not fall below, well above the
#: least normal one (2e-308 and 1e-38), and a floor for messages, so that two of them stay above.
_LEAST = {np.dtype(np.float64): (1e-300, 1e-140), np.dtype(np.float32): (1e-37, 1e-18)}
#: Coarser floors than this would show in float32, which is good for 6e-8.
_COARSE = 1e-8
#: A floor above all probabilities: every row is given up.
_NOTHING_FITS = 2.0


@dataclass(frozen=True, slots=True, eq=False)
class LaneLayout:
    """A net as the kernels for many rows read it; places are multiples of the number of lanes."""

    variables: Int64
    slots: Int64
    factors: Int64
    values: npt.NDArray[Any]
    floors: npt.NDArray[Any]
    floor: float
    base: F64  #: weights of all states before any evidence: the tables of single variables
    column: Int64  #: where the weights of each variable start
    log_constant: float
    shift: int
    outs: int
    size: int  #: of the room
    is_wide: bool  #: whether numbers of this type do not hold the net


@dataclass(frozen=True, slots=True, eq=False)
class _Cells:
    """Cells of tables, tempered, the largest of each table being one; numbers of rules."""

    values: F64
    least: F64  #: the least positive number of each factor
    log_constant: float  #: the log of what was divided by, in all
    are_lost: bool  #: whether a positive cell is zero here


@dataclass(frozen=True, slots=True, eq=False)
class _Slots:
    """The messages that change: those of factors of two variables or more."""

    scope: Int64
    arity: Int64  #: of each factor
    degree: Int64  #: of each variable
    order: Int64  #: the slots by variable
    rows: Int64  #: where the message of each slot, by variable, starts


def lay_out_lanes(net: Net, wanted: Int64, dtype: Any, temperature: float) -> LaneLayout:
    """Lay out a net for rows side by side; ``wanted`` are the variables of the result, in order."""
    from credo._kernels.loopy_lane_products import LANES, SCRATCH  # noqa: PLC0415

    moving = np.diff(net.scope_start) > 1
    cells, slots = _tempered(net, temperature), _slots(net)
    base, column, are_lost = _weights(net, cells)
    spare, width = _scratch(net, slots)
    weights_at = SCRATCH // LANES + spare + width
    messages_at = weights_at + int(column[-1])
    floors, floor = _floors(net, cells, slots, dtype)
    spans = starts(slots.arity)
    place = np.empty_like(slots.rows[1:])
    place[slots.order] = slots.rows[:-1]
    return LaneLayout(
        variables=_variables(net, slots, column, wanted, (weights_at, messages_at)),
        slots=_columns((messages_at + place) * LANES, net.n_states[slots.scope], slots.scope),
        factors=_columns(net.kind[moving], spans[:-1], spans[1:], net.cell_start[:-1][moving]),
        values=cells.values.astype(dtype),
        floors=floors[slots.order].astype(dtype),
        floor=floor,
        base=base,
        column=column[:-1],
        log_constant=cells.log_constant,
        shift=int(slots.rows[-1]) * LANES,
        outs=SCRATCH + spare * LANES,
        size=int(messages_at + 2 * slots.rows[-1]) * LANES,
        is_wide=cells.are_lost or are_lost or _is_coarse(floors, dtype),
    )


def _columns(*columns: Any) -> Int64:
    """Put columns side by side."""
    return np.ascontiguousarray(np.stack(columns, axis=1), np.int64)


def _slots(net: Net) -> _Slots:
    """List the messages that change."""
    lengths = np.diff(net.scope_start)
    scope = net.scope[np.repeat(lengths > 1, lengths)]
    degree = np.bincount(scope, minlength=len(net.n_states))
    order = np.argsort(scope, kind="stable")
    rows = starts(net.n_states[scope[order]])
    return _Slots(scope, lengths[lengths > 1], degree, order, rows)


def _variables(net: Net, slots: _Slots, column: Int64, wanted: Int64, at: tuple[int, int]) -> Int64:
    """Give the places of each variable; see the kernel for the fields."""
    from credo._kernels.loopy_lane_products import LANES  # noqa: PLC0415

    first = starts(slots.degree)[:-1]
    results = np.full(len(net.n_states), -1, np.int64)
    results[wanted] = starts(net.n_states[wanted])[:-1]
    weights, messages = at[0] + column[:-1], at[1] + slots.rows[first]
    fields = weights * LANES, net.n_states, slots.degree, first, messages * LANES
    return _columns(*fields, column[:-1], results)


def _scratch(net: Net, slots: _Slots) -> tuple[int, int]:
    """Count the rows of scratch space: for products, and for the messages of one factor."""
    products = int((net.n_states * np.maximum(slots.degree, 2)).max(initial=0))
    width = np.diff(starts(net.n_states[slots.scope])[starts(slots.arity)])
    rule = 4 * int(slots.arity.max(initial=0))
    return max(products, rule), int(width.max(initial=0))


def _tempered(net: Net, temperature: float) -> _Cells:
    """Raise tables to the power one over the temperature, and scale them."""
    owner = np.repeat(np.arange(net.n_factors), np.diff(net.cell_start))
    inside = net.kind[owner] == TABLE
    heat, values = temperature or 1.0, net.values.copy()
    top = np.zeros(net.n_factors)
    np.maximum.at(top, owner[inside], values[inside])
    top[top == 0.0] = 1.0
    values[inside] = (values[inside] / top[owner[inside]]) ** (1.0 / heat)
    are_lost = net.problem.is_wide or bool(((values == 0) != (net.values == 0)).any())
    least = np.ones(net.n_factors)
    both = np.where(inside, values, np.minimum(values, 1.0 - values))
    np.minimum.at(least, owner[both > 0], both[both > 0])
    constant = (float(np.log(top).sum()) + net.problem.log_constant) / heat
    nowhere = values[net.cell_start[:-1][np.diff(net.scope_start) == 0]]
    return _Cells(values, least, -np.inf if (nowhere == 0).any() else constant, are_lost)


def _weights(net: Net, cells: _Cells) -> tuple[F64, Int64, bool]:
    """Multiply what single variables are told; give also where each starts, and if terms are lost.

    Rules of a single variable are among it.
    """
    column = starts(net.n_states)
    single = np.flatnonzero(np.diff(net.scope_start) == 1)
    v = net.scope[net.scope_start[single]]
    sizes = net.n_states[v]
    said = np.ones(int(sizes.sum()))
    is_table = net.kind[single] == TABLE
    cut = np.repeat(is_table, sizes)
    said[cut] = cells.values[ranges(net.cell_start[single[is_table]], sizes[is_table])]
    begin = starts(sizes)
    for i in np.flatnonzero(~is_table).tolist():
        f = single[i]
        said[begin[i] : begin[i] + 2] = _alone(int(net.kind[f]), cells.values[net.cell_start[f] :])
    base, zero = np.ones(int(column[-1])), np.zeros(int(column[-1]), np.bool_)
    np.multiply.at(base, ranges(column[v], sizes), said)
    zero[ranges(column[v], sizes)[said == 0]] = True
    return base, column, bool(((base == 0) != zero).any())


def _alone(kind: int, numbers: F64) -> list[float]:
    """Say what a rule of a single variable says."""
    if kind == AT_MOST_ONE:
        return [1.0, 1.0]
    off = float(kind == EVEN) if kind in (EVEN, ODD) else 1.0 - float(numbers[0])
    return [1.0 - off, off] if kind == NOISY_AND else [off, 1.0 - off]


def _floors(net: Net, cells: _Cells, slots: _Slots, dtype: Any) -> tuple[F64, float]:
    """Give floors of what variables say, slot by slot, so that no positive product is lost."""
    tiny, floor = _LEAST[np.dtype(dtype)]
    moving = np.diff(net.scope_start) > 1
    least = np.maximum(cells.least[moving], np.finfo(np.float64).tiny)
    kind = net.kind[moving]
    tables = (tiny / least) ** (1.0 / (slots.arity - 1))
    gates = tiny / floor / least
    floors = np.where(kind == TABLE, tables, np.where(kind >= NOISY_OR, gates, floor))
    return np.repeat(np.clip(floors, floor, _NOTHING_FITS), slots.arity), floor


def _is_coarse(floors: F64, dtype: Any) -> bool:
    """Tell whether floors would show in the answer; float64 gives such rows up instead."""
    return np.dtype(dtype) == np.dtype(np.float32) and bool((floors > _COARSE).any())
